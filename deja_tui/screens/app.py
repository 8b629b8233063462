# SPDX-License-Identifier: Apache-2.0
"""The app: who is here, what is open, and the screens. Drawing and keys are the screens' own."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, Final, cast

from textual import events
from textual.app import App
from textual.driver import Driver
from textual.screen import Screen

from deja_tui.console import mishap
from deja_tui.console import theme as themes
from deja_tui.console.actions import PLACE_SCOPES, Rights
from deja_tui.console.feed import Feed, Grains, Reviews, Upkeep
from deja_tui.console.hinting import Hintbook
from deja_tui.console.keymap import Keymap
from deja_tui.console.terminal import Terminal, clipboard
from deja_tui.console.typed import Typed as TypedBefore
from deja_tui.engine.objects import Receipt
from deja_tui.errors import DejaError
from deja_tui.present.reasons import Sitting
from deja_tui.screens.base import DejaScreen, Ticks, Typed
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.place import PlaceScreen
from deja_tui.screens.walk import Walk

ABORTED: Final = 130
# Textual's own blank screen lies under the place.
_BELOW_PLACE: Final = 1


def _host_now() -> int:
    return time.time_ns() // 1_000_000


class Places(dict[str, PlaceScreen]):
    """The places, each loaded and made when somebody first goes there: a start waits for one of them, not for eight."""

    def __init__(self, app: DejaApp) -> None:
        super().__init__()
        self.app = app

    def __missing__(self, name: str) -> PlaceScreen:
        kind = getattr(import_module(f"deja_tui.screens.{name}"), f"{name.capitalize()}Screen")
        made = self[name] = cast(PlaceScreen, kind())
        self.app.install_screen(made, name)
        return made


class DejaApp(App[None], inherit_bindings=False):
    """The console on one memory.

    Args:
        reviews: the memory's recommendations; used on the feed's thread only.
        file: the path of the memory, for the title and command lines.
        actor: who decides, for the title (D18) and the check against deciding about one's own.
        rights: what this person may do.
        theme: the name of a theme.
        keymap: the keys in force.
        now_ms: the clock ages are counted from, epoch ms UTC.
        ticks: monotonic time of keys and paints.
        at: where to begin: a place (``overview``, ``queue``), or a thing of it (``queue/ADDRESS``); None: the queue.
        poll_seconds: how often to ask whether the file changed; 0: never.
        driver: what reads the terminal and writes to it; None: Textual's own.
        terminal: what the terminal is; None: nothing is known of it.
        hintbook: the hints of the first time; None: none.
        file_of: the memory as a file: sizes, verification; used on the feed's threads only.
        grains: the memory to look around in; used on the feed's thread only.
        notice: what is said as the console opens.
        reports: where a fault of the console's own is reported; None: nowhere.
        remembers: whether statements typed here join those of the shell of this person.
        fill_seconds: how long a row is looked at before its preview is filled up where there is room; 0: never.
    """

    ENABLE_COMMAND_PALETTE = False
    TITLE = "deja"
    # The fault that nothing caught.
    ended_by: DejaError | None = None
    CSS = """
    Screen { background: $background; color: $foreground; overflow: hidden; }
    #small { display: none; }
    .-small > * { display: none; }
    .-small > #small { display: block; }
    #body { height: 1fr; layout: vertical; }
    .-wide #body { layout: horizontal; }
    """

    def __init__(
        self,
        reviews: Reviews,
        *,
        file: str = "",
        actor: str = "user:local",
        rights: Rights | None = None,
        theme: str = "dark",
        keymap: Keymap | None = None,
        now_ms: Callable[[], int] = _host_now,
        ticks: Ticks | None = None,
        at: str | None = None,
        poll_seconds: float = 1.0,
        driver: type[Driver] | None = None,
        terminal: Terminal | None = None,
        hintbook: Hintbook | None = None,
        file_of: Upkeep | None = None,
        grains: Grains | None = None,
        remembers: bool = False,
        reports: Path | None = None,
        notice: str = "",
        fill_seconds: float = 0.8,
    ) -> None:
        first = themes.load(theme)
        self.terminal = terminal or Terminal()
        super().__init__(driver_class=driver, ansi_color=first.ansi)
        self.animation_level = "none"
        self.feed = Feed(reviews)
        self.file_of = file_of
        self.grains = grains
        self.file = file
        self.actor = actor
        self.rights = rights or Rights.of(None)
        self.keymap = keymap or Keymap()
        self.now_ms = now_ms
        self.ticks = ticks or Ticks()
        self.at = at
        self.poll_seconds = poll_seconds
        self.fill_seconds = fill_seconds
        self.sitting = Sitting()
        self.typed = TypedBefore(shared=remembers)
        self.receipts: list[Receipt] = []
        self.walk: Walk | None = None
        self.pending: int | None = None
        self.places = Places(self)
        self.polling = False
        self.reports = reports
        self.notice = notice
        # Exceptions that were no coded errors, and what was said of each.
        self.mishaps: list[BaseException] = []
        self.reported: dict[str, DejaError] = {}
        self.hintbook = hintbook or Hintbook()
        self.mouse_on = self.terminal.mouse
        self.offered = ""
        self.theme_name = self.first_theme = theme
        self.paint = replace(themes.paint(first), ascii=self.terminal.ascii)
        self.wear(first)

    @property
    def file_name(self) -> str:
        """The file without its folders."""
        return PurePath(self.file).name or self.file

    @property
    def quoted_file(self) -> str:
        """The file as a shell takes it, for command lines that are copied."""
        return shlex.quote(self.file)

    # --- keys ---------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Keys and pasted text go to the screen on top at once.

        Textual would queue them at the screen that was on top when they arrived, where letters typed after a decision
        key would wait behind it and then act as commands.
        """
        if isinstance(event, events.Key | events.Paste) and isinstance(self.top, DejaScreen):
            self.app_focus = True
            self.route(event)
        else:
            await super().on_event(event)

    def route(self, event: Typed) -> None:
        """Hand something that was typed to the screen on top."""
        if isinstance(event, events.Key) and event.key == "ctrl+c":
            self.abort()
        elif isinstance(self.top, DejaScreen):
            try:
                self.top.take(event)
            except Exception as error:  # noqa: BLE001 - one key's fault costs that key, not what was typed or is shown
                fault = self.went_wrong(error)
                if isinstance(self.top, DejaScreen):
                    self.top.say_error(fault)

    @property
    def top(self) -> Screen[Any] | None:
        """The screen on top, None before the first and after the last."""
        return self.screen_stack[-1] if self.screen_stack else None

    # --- the terminal -------------------------------------------------------------------------------

    def offer(self, text: str) -> bool:
        """Offer a text to the terminal's clipboard, through the driver (DRIVER-3); False where it is too long."""
        told = clipboard(text, self.terminal)
        driver = self._driver
        if told is None:
            return False
        self.offered = text
        if driver is not None:
            driver.write(told)
        return True

    @property
    def clipboard(self) -> str:
        """What was offered last; what the terminal made of it nobody can know."""
        return self.offered

    def toggle_mouse(self) -> bool | None:
        """Ask the terminal for its mouse, or give it back; None where the driver has no way to."""
        switch = getattr(self._driver, "switch_mouse", None)
        if switch is None:
            return None
        self.mouse_on = not self.mouse_on
        switch(self.mouse_on)
        return self.mouse_on

    @property
    def bytes_sent(self) -> int | None:
        """What the driver has sent so far, in characters; None for a driver that does not count."""
        canvas = getattr(self._driver, "canvas", None)
        return None if canvas is None else int(canvas.sent)

    # --- life ---------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        place, _, what = (self.at or "queue").partition("/")
        known = place in PLACE_SCOPES
        here = self.places[place if known else "queue"]
        self.push_screen(here)
        if not known:
            there = f"there are {', '.join(PLACE_SCOPES)}, queue/HASH, sessions/THREAD, memories/HASH"
            here.call_after_refresh(here.say, f"--at {self.at} is no place; {there}", "warning")
        elif what and place == "queue":
            self.push_screen(DetailScreen(what))
        elif what:
            here.about(what)
        if self.notice:
            here.call_after_refresh(here.say, self.notice, "warning")
        if self.poll_seconds:
            self.set_interval(self.poll_seconds, self.poll)

    def on_unmount(self) -> None:
        self.feed.close()

    def leave(self) -> None:
        """End the console."""
        self.exit(return_code=0)

    def abort(self) -> None:
        """End the console because of ctrl+c (D47)."""
        self.exit(return_code=ABORTED)

    def go(self, name: str, about: str = "") -> None:
        """Another place, with its selection as it was left, or on what a link is about."""
        while len(self.screen_stack) > _BELOW_PLACE + 1:
            self.pop_screen()
        there = self.places[name]
        if about:
            there.about(about)
        if self.screen_stack[-1] is not there:
            self.switch_screen(there)

    # --- faults -------------------------------------------------------------------------------------

    def went_wrong(self, error: BaseException) -> DejaError:
        """The coded fault of an exception: its own, else CON-E005 with a report of it."""
        if isinstance(error, DejaError):
            return error
        self.mishaps.append(error)
        where = mishap.place(error)
        if where not in self.reported:  # a key that is held does not fill a folder
            self.reported[where] = mishap.told(error, self.reports, self.now_ms())
        return self.reported[where]

    def _handle_exception(self, error: Exception) -> None:
        """What nothing else caught ends the console. Textual would print the locals of every frame: text of grains."""
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self.ended_by = self.ended_by or self.went_wrong(error)
        self._close_messages_no_wait()

    # --- the file changed ---------------------------------------------------------------------------

    def poll(self) -> None:
        """Ask whether the file changed, while somebody looks; at most one question at a time."""
        if self.app_focus and not self.polling:
            self.polling = True
            self.run_worker(self.polled(), group="poll", exit_on_error=True)

    async def polled(self) -> None:
        try:
            changed = await self.feed.changed()
        except Exception as error:  # noqa: BLE001 - what the panel shows is still there, with its age
            if isinstance(self.screen, DejaScreen):
                self.screen.say_error(self.went_wrong(error))
            return
        finally:
            self.polling = False
        if changed:
            for screen in {*self.screen_stack, *self.places.values()}:
                if isinstance(screen, DejaScreen):
                    screen.outdated = screen is not self.screen
            if isinstance(self.screen, DejaScreen):
                self.screen.reload()

    # --- theme --------------------------------------------------------------------------------------

    def wear(self, found: themes.ThemeFile) -> None:
        """Draw with a theme from now on."""
        self.theme_name = found.name
        self.paint = replace(themes.paint(found), ascii=self.terminal.ascii)
        dressed = themes.textual_theme(found)
        self.register_theme(dressed)
        self.theme = dressed.name
        self.ansi_color = found.ansi

    def next_theme(self) -> None:
        """The next theme of those there are."""
        known = themes.names()
        place = known.index(self.theme_name) if self.theme_name in known else -1
        self.wear(themes.load(known[(place + 1) % len(known)]))
        for screen in self.screen_stack:
            for widget in screen.query("*"):
                widget.refresh()
