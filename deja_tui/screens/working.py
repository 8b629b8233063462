# SPDX-License-Identifier: Apache-2.0
"""What places that work share: long work one at a time, and a text that is typed at the bottom of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event
from typing import Final

from textual import events

from deja_tui.console.feed import Reviews, Upkeep
from deja_tui.console.looking import Looked, look
from deja_tui.errors import DejaError
from deja_tui.present.line import Span, line
from deja_tui.present.overview import ran
from deja_tui.screens.place import PlaceScreen
from deja_tui.text import REASON_MAX
from deja_tui.watch import watched
from deja_tui.widgets.hints import Hint, Hints
from deja_tui.widgets.reason import Reason

CHECKING: Final = "a verification"
# Between two lines that say how far it is.
BETWEEN_SECONDS: Final = 0.25


class Stopped(Exception):
    """Somebody stopped what was under way."""


class WorkingScreen(PlaceScreen):
    """Runs analyzers on the slow thread; Esc stops at the next pause."""

    # The orders the list can stand in, the first as it comes; none: it has only that one.
    orders: tuple[str, ...] = ()
    order = ""

    def __init__(self) -> None:
        super().__init__()
        self.working = ""
        self.stop = Event()

    def begin(self, what: str, told: str) -> bool:
        """Note that long work begins; False where some is under way."""
        if self.working:
            self.say(f"{self.working} is under way: Esc stops it at the next pause", "warning")
            return False
        self.working = what
        self.stop.clear()
        self.say(told)
        return True

    def run_all(self, names: Sequence[str], *, quick: bool) -> None:
        """Run analyzers, at most five seconds (D29)."""
        if not self.begin("a run", "the analyzers run …"):
            return
        stop = self.stop

        def progress(done: int) -> None:
            # not waited for: the console may be ending, and wait for this thread
            self.call_later(self.told_so_far, f"{done} of {len(names)} analyzers ran …")

        self.ask(
            "run",
            lambda reviews: look(reviews, names, quick=quick, stop=stop, progress=progress),
            self.ran,
            self.broke,
            slow=True,
        )

    def verify_file(self, upkeep: Upkeep, done: Callable[[int], None]) -> None:
        """Verify the file, telling how far it is; Esc and leaving the console end it. ``done`` gets the number of faults."""
        if not self.begin(CHECKING, "file and audit chains are verified, Esc stops it …"):
            return
        stop, closing, now = self.stop, self.console_app.feed.closing, self.console_app.ticks.now
        told_at = float("-inf")

        def watcher(count: int, total: int, unit: str) -> None:
            nonlocal told_at
            if stop.is_set() or closing.is_set():
                raise Stopped
            if unit != "checks" and total and now() - told_at >= BETWEEN_SECONDS:
                told_at = now()
                told = f"verified so far: {count:,} of {total:,} {unit}, Esc stops it …"
                self.call_later(self.told_so_far, told)

        def work(_: Reviews) -> int | None:
            try:
                with watched(watcher):
                    return len(upkeep.verify())
            except Stopped:
                return None

        def came(faults: int | None) -> None:
            self.working = ""
            if faults is None:
                self.say("the verification was stopped: nothing is known of the file anew")
            else:
                done(faults)

        self.ask("verify", work, came, self.broke, slow=True)

    def told_so_far(self, told: str) -> None:
        """How far the work under way is; what comes after its end, or after it was stopped, is not said any more."""
        if self.working and not self.stop.is_set() and self.is_current:
            self.say(told)

    def ran(self, found: Looked) -> None:
        self.working = ""
        self.load()
        self.flash.show_line(line(" ", ran(found.outcomes, found.done, found.of, self.console_app.file)))

    def broke(self, fault: DejaError) -> None:
        self.working = ""
        self.say_error(fault)

    def do_sort(self) -> None:
        """The next of the orders."""
        if self.orders:
            at = self.orders.index(self.order) if self.order in self.orders else 0
            self.order = self.orders[(at + 1) % len(self.orders)]
            self.draw()
            self.say(f"sorted by {self.order}" if self.order != self.orders[0] else f"in order: {self.order}")

    @property
    def order_told(self) -> Span:
        """The order, for the title, where it is not the first."""
        sorted_by = self.order if self.orders and self.order not in ("", self.orders[0]) else ""
        return Span(f"  by {sorted_by}" if sorted_by else "", "dim")

    def do_stop(self) -> None:
        if self.working:
            self.stop.set()
            self.say(f"{self.working} stops at the next pause")


class TypingScreen(WorkingScreen):
    """A place in which a value and a reason can be typed; yields a `Reason` with the id ``typed`` in its body."""

    DEFAULT_CSS = """
    TypingScreen #typed { display: none; }
    TypingScreen.-typing #typed { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.use: Callable[[str], None] = lambda text: None
        # The prompt, the use and the text of the reason that an act was asked for with.
        self.reasoned: tuple[str, Callable[[str], None], str] | None = None

    @property
    def editor(self) -> Reason:
        return self.part(Reason, "typed")

    def ask_text(
        self, prompt: str, use: Callable[[str], None], text: str = "", *, limit: int | None = None
    ) -> None:
        """Have a text typed; Enter hands it to ``use``, which may ask for another one, Esc drops it."""
        self.use = use
        self.add_class("-typing")
        self.editor.ask(prompt, text, limit=limit)
        self.draw_typing()

    def ask_because(self, prompt: str, use: Callable[[str], None], text: str = "") -> None:
        """Have a reason typed (D16): not blank, not over-long, not one of this sitting.

        ``use`` asks for the act, with `reason_used` when it was done and `reason_kept` when it was not.
        """

        def judge(text: str) -> None:
            why_not = self.console_app.sitting.refusal(text)
            if why_not:
                self.say(why_not, "warning")
                return
            self.stop_typing()
            self.reasoned = prompt, use, text
            use(text.strip())

        self.ask_text(f"{prompt} BECAUSE", judge, text, limit=REASON_MAX)

    def reason_used(self) -> None:
        """The act was done: its reason counts as given in this sitting."""
        if self.reasoned is not None:
            self.console_app.sitting.record(self.reasoned[2])
        self.reasoned = None

    def reason_kept(self, fault: DejaError) -> None:
        """The act was not done: the reason stands in its row again, for another try."""
        reasoned, self.reasoned = self.reasoned, None
        if reasoned is not None and not self.editor.active:
            self.ask_because(*reasoned)
        self.say_typed(fault)

    def stop_typing(self) -> None:
        self.editor.put_away()
        self.remove_class("-typing")
        self.draw()

    def draw_typing(self) -> None:
        keys = [Hint("Enter", "goes on"), Hint("Esc", "changes nothing"), Hint("^u", "empties")]
        self.part(Hints, "hints").show_hints(keys)

    def press(self, key: str, character: str | None) -> None:
        if not self.editor.active or self.small:
            super().press(key, character)
            return
        self.flash.clear()
        if key == "enter" or self.retried(key):
            self.retries = False
            self.use(self.editor.text)
        elif key == "escape":
            self.stop_typing()
        elif not self.editor.take(key, character):
            self.anywhere(key)

    def pasted(self, event: events.Paste) -> None:
        if self.editor.active:
            self.editor.paste(event.text)
