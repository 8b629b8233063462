# SPDX-License-Identifier: Apache-2.0
"""What every screen shares: keys through the one table, questions to the feed, title, hints, flash.

No widget takes focus: a key comes to the screen, the key map names an action, the action names a method ``do_…``. That
is the only way a key does something, so a screen can also refuse keys that were pressed too early.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from deja_tui.console.actions import (
    ACTIONS,
    DECISIONS,
    Action,
    Case,
    refusal,
)
from deja_tui.console.feed import Reviews
from deja_tui.console.keymap import key_name, label
from deja_tui.console.launch import LEAST
from deja_tui.console.outside import one_line, page
from deja_tui.errors import DejaError
from deja_tui.present.line import Line, Span, line, width
from deja_tui.present.words import fenced
from deja_tui.screens.hinted import hints_of
from deja_tui.screens.panel import following, matches, searched, stand_on, standing, text_lines
from deja_tui.text import cells, clean, fold
from deja_tui.widgets.flash import Flash
from deja_tui.widgets.hints import Hint, Hints
from deja_tui.widgets.oneline import OneLine
from deja_tui.widgets.reason import Reason
from deja_tui.widgets.titlebar import TitleBar

if TYPE_CHECKING:
    from deja_tui.screens.app import DejaApp

Answered = TypeVar("Answered")
Typed: TypeAlias = "events.Key | events.Paste"
# Fingers that type a reason rest less than this between two letters.
PAUSE_SECONDS: Final = 0.3
WIDE: Final = 110
SIDE: Final = 46
EDGED: Final = SIDE - 2
LOCKED: Final = "STO-E004"
_WHEN_SMALL: Final = ("app.quit", "app.repaint", "app.suspend")
_WHEN_TYPING: Final = ("app.repaint", "app.suspend")
_TIER_MEANINGS: Final = {"READ-ONLY": "dim", "REVIEW": "ok", "APPLY": "warning", "DESTRUCTIVE": "error"}


@dataclass(frozen=True, slots=True)
class Ticks:
    """Monotonic seconds: now, and when a key event arrived. Tests give their own."""

    now: Callable[[], float] = time.monotonic
    arrived: Callable[[events.Event], float] = lambda event: event.time


class DejaScreen(Screen[None]):
    """A screen of the console."""

    AUTO_FOCUS = None
    scope = "queue"
    # The file changed while another screen was on top.
    outdated = False
    # Somebody asked to read again and waits for an answer.
    asked_again = False
    # What was typed could not be used because another process held the file.
    retries = False
    # What is known about deciding the recommendation that the hints are about.
    case_here: Case | None = None
    # What was copied by the key before this one: asking for it again prints it.
    copied_last = ""
    # What is looked for, and whether it is being typed.
    sought = ""
    seeking = False
    DEFAULT_CSS = """
    DejaScreen #find { display: none; }
    DejaScreen.-seeking #find { display: block; }
    DejaScreen.-seeking #flash { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        # What was typed before this screen was there; it is used, in order, once it is.
        self.ready = False
        self.waiting: list[Typed] = []
        self.pressed: Typed | None = None
        # A decision key that led to no prompt, and until when what is typed after it was meant for one.
        self.unheard = ""
        self.deaf_until = float("-inf")

    @property
    def console_app(self) -> DejaApp:
        return cast("DejaApp", self.app)

    # --- parts --------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        yield OneLine(id="small")
        yield TitleBar(id="title")
        yield from self.compose_body()
        yield Reason(id="find")
        yield Flash(id="flash")
        yield Hints(id="hints")

    def compose_body(self) -> ComposeResult:
        """The widgets between title and flash."""
        yield from ()

    def part(self, kind: type[Answered], id: str) -> Answered:
        """A widget of this screen by its id."""
        return cast(Answered, self.query_one(f"#{id}"))

    @property
    def flash(self) -> Flash:
        return self.part(Flash, "flash")

    @property
    def wide(self) -> bool:
        """Whether there is room for a second pane."""
        return self.app.size.width >= WIDE

    @property
    def main_room(self) -> int:
        """The cells of the main pane: all of them, or what a second pane leaves."""
        return self.app.size.width - (SIDE + 1 if self.wide else 0)

    @property
    def title_room(self) -> int:
        """The cells of the title left of actor and tier."""
        return max(0, self.app.size.width - width(self.title_right()) - 2)

    @property
    def small(self) -> bool:
        """Whether the window is too small to draw in."""
        return self.app.size.width < LEAST[0] or self.app.size.height < LEAST[1]

    # --- life ---------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        self.fit()
        self.load()
        self.ready = True
        waiting, self.waiting = self.waiting, []
        for event in waiting:
            self.console_app.route(event)
        self.give_hint()

    def give_hint(self) -> None:
        """What is worth knowing the first time somebody is here; said once."""
        told = self.console_app.hintbook.take(self.scope)
        if told and not self.flash.text:
            for action in ACTIONS:
                told = told.replace(f"{{{action.id}}}", self.console_app.keymap.first(action.id) or "?")
            self.say(told)

    def on_resize(self) -> None:
        self.fit()

    def on_screen_resume(self) -> None:
        self.fit()
        if self.outdated:
            self.outdated = False
            self.reload()

    def fit(self) -> None:
        """Adapt to the size of the window, then draw everything."""
        self.set_class(self.wide, "-wide")
        self.set_class(self.small, "-small")
        has = f"{self.app.size.width}x{self.app.size.height}"
        leave = self.console_app.keymap.first("app.quit")
        needs = f"needs {LEAST[0]}x{LEAST[1]}, has {has}; {leave} leaves"
        self.part(OneLine, "small").show(line(needs))
        self.draw()

    def draw(self) -> None:
        """Draw everything from what is known."""

    def load(self) -> None:
        """Ask the memory for what this screen shows."""

    def reload(self) -> None:
        """The file changed: ask again, keep the place."""
        self.load()

    # --- title, hints, flash ------------------------------------------------------------------------

    def set_title(self, left: Line) -> None:
        """Title at the left; actor and tier at the right, always (D18)."""
        self.part(TitleBar, "title").show_both(line(" ", left), self.title_right())

    def title_right(self) -> Line:
        app = self.console_app
        tier = app.rights.tier
        return line(
            Span(f"{clean(app.actor, 24)}  ", "dim"),
            Span(tier, _TIER_MEANINGS[tier]),
            Span(" w" if app.rights.writes else "", "dim"),
            " ",
        )

    def set_hints(
        self,
        case: Case | None = None,
        *,
        without: Collection[str] = (),
        words: Mapping[str, str] | None = None,
    ) -> None:
        """The keys of this state, as `hints_of` picks them."""
        self.case_here = case
        if self.seeking:
            return
        app = self.console_app
        hints = hints_of(self.scope, case, app.keymap, app.rights, app.actor, without, words)
        self.part(Hints, "hints").show_hints(*hints)

    def say(self, text: str, meaning: str = "") -> None:
        """A message above the hints."""
        self.flash.say(clean(text), meaning)

    def say_error(self, fault: DejaError) -> None:
        """Code, one sentence, next step."""
        step = f" Next: {fault.next_step}" if fault.next_step else ""
        self.say(f"{fault.code} {fault.message}.{step}", "error")

    def say_typed(self, fault: DejaError) -> None:
        """An act with typed text was refused: the text stands there still. After a lock the reload key tries again (§9)."""
        self.retries = fault.code == LOCKED
        if not self.retries:
            self.say_error(fault)
            return
        again = self.console_app.keymap.first("app.reload")
        self.say(
            f"{fault.code} {fault.message}. {again} or Enter tries again, other keys type on; nothing is lost.",
            "error",
        )

    def retried(self, key: str) -> bool:
        """Whether a key of a prompt is the one that tries again after a lock: only the first key is."""
        retries, self.retries = self.retries, False
        return retries and self.console_app.keymap.first("app.reload") == key

    # --- keys ---------------------------------------------------------------------------------------

    def take(self, event: Typed) -> None:
        """Something that was typed, as the app hands it out: in the order it arrived."""
        if not self.ready:
            self.waiting.append(event)
        elif isinstance(event, events.Paste):
            self.pasted(event)
        else:
            self.key(event)

    def key(self, event: events.Key) -> None:
        """A key: it counts unless it came too early, or belongs to a reason that cannot be typed."""
        if self.unmeant(event):
            return
        self.pressed = event
        if not self.early(event):
            self.press(event.key, event.character)
        elif self.decides(event):
            self.unhear()
            self.say(
                f"{label(key_name(event.key, event.character))} came too early: press it again", "warning"
            )

    def pasted(self, event: events.Paste) -> None:
        """Pasted text; only a state in which something is typed has a use for it."""
        if self.seeking:
            self.finder.paste(event.text)

    def decides(self, event: events.Key) -> bool:
        """Whether a key begins a decision in this state."""
        action = self.console_app.keymap.find(self.scope, key_name(event.key, event.character))
        return action is not None and action.id.rpartition(".")[2] in DECISIONS

    def unhear(self) -> None:
        """The decision key that was just pressed opens no prompt: what follows at once must not act as commands."""
        if self.pressed is not None:
            self.unheard = getattr(self.pressed, "key", "")
            self.deaf_until = self.console_app.ticks.arrived(self.pressed) + PAUSE_SECONDS

    def unmeant(self, event: events.Key) -> bool:
        """Whether a key continues the text somebody began to type after a decision key that was not heard."""
        now = self.console_app.ticks.arrived(event)
        if now >= self.deaf_until or event.key == self.unheard:
            return False
        if event.key != "enter" and not (event.character or "").isprintable():
            return False
        self.deaf_until = now + PAUSE_SECONDS
        return True

    def anywhere(self, key: str) -> None:
        """While text is typed, the keys that are no text and work in every state."""
        action = self.console_app.keymap.find(self.scope, key)
        if action is not None and action.id in _WHEN_TYPING:
            self.act(action)

    def early(self, event: events.Event) -> bool:
        """Whether a key was pressed before what it would act on was on the screen."""
        return False

    def press(self, key: str, character: str | None) -> None:
        """Do what the key map says."""
        if self.seeking and not self.small:
            self.seek_key(key, character)
            return
        action = self.console_app.keymap.find(self.scope, key_name(key, character))
        if action is None or (self.small and action.id not in _WHEN_SMALL):
            return
        self.perform(action)

    def perform(self, action: Action) -> None:
        """Do what an action says, or say why it is off."""
        self.flash.clear()
        if not action.id.startswith("app.co"):
            self.copied_last = ""
        missing = self.console_app.rights.missing(action.right)
        if missing:
            self.say(missing, "warning")
            self.unhear()
            return
        self.act(action)

    def act(self, action: Action) -> None:
        handler = getattr(self, action.handler, None)
        if handler is not None:
            handler()

    def why_off(self, action: Action) -> str | None:
        """Why an action of this state does nothing now, as one sentence, or None."""
        app, verb = self.console_app, action.id.rpartition(".")[2]
        if verb in DECISIONS:
            if self.case_here is None:
                return app.rights.missing(action.right) or "nothing is selected that could be decided"
            return refusal(verb, self.case_here, app.rights, app.actor)
        return app.rights.missing(action.right)

    def do_quit(self) -> None:
        self.dismiss()

    def do_back(self) -> None:
        self.dismiss()

    def do_palette(self) -> None:
        from deja_tui.screens.palette import PaletteScreen

        self.app.push_screen(PaletteScreen(self))

    def do_mouse(self) -> None:
        on = self.console_app.toggle_mouse()
        if on is None:
            self.say("this terminal driver has no mouse to switch", "warning")
        else:
            self.say("mouse on: it selects and scrolls" if on else "mouse off: the terminal selects text")

    def do_help(self) -> None:
        from deja_tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.scope))

    def do_theme(self) -> None:
        self.console_app.next_theme()
        self.draw()
        self.say(f"theme {self.console_app.theme_name}")

    def do_repaint(self) -> None:
        """Draw every cell anew: a terminal may have lost what it showed."""
        for widget in self.query("*"):
            widget.refresh()
        self.app.refresh(layout=True)

    def do_suspend(self) -> None:
        self.app.action_suspend_process()

    # --- places -------------------------------------------------------------------------------------

    def do_overview(self) -> None:
        self.console_app.go("overview")

    def do_sessions(self) -> None:
        self.console_app.go("sessions", self.links_to("sessions"))

    def do_setup(self) -> None:
        self.console_app.go("setup", self.links_to("setup"))

    def do_queue(self) -> None:
        self.console_app.go("queue")

    def do_analyzers(self) -> None:
        self.console_app.go("analyzers", self.links_to("analyzers"))

    def do_outcomes(self) -> None:
        self.console_app.go("outcomes", self.links_to("outcomes"))

    def do_query(self) -> None:
        self.console_app.go("query", self.links_to("query"))

    def do_memories(self) -> None:
        self.console_app.go("memories", self.links_to("memories"))

    def links_to(self, place: str) -> str:
        """What a place should show when one comes to it from here; empty: as it was left."""
        return ""

    # --- questions ----------------------------------------------------------------------------------

    def ask(
        self,
        kind: str,
        work: Callable[[Reviews], Answered],
        done: Callable[[Answered], None],
        failed: Callable[[DejaError], None] | None = None,
        *,
        slow: bool = False,
        typed: bool = False,
        filling: bool = False,
    ) -> None:
        """Have ``work`` done off the UI thread; ``done`` gets the answer unless a newer question replaced it."""

        async def asking() -> None:
            try:
                answer = await self.console_app.feed.ask(
                    f"{id(self)} {kind}", work, slow=slow, typed=typed, filling=filling
                )
                if self.is_attached and not answer.late:
                    done(answer.value)
            except Exception as error:  # noqa: BLE001 - a panel that cannot be filled says so; the others go on
                fault = self.console_app.went_wrong(error)
                if self.is_attached:
                    self.tell_fault(fault, failed)

        self.run_worker(asking(), group=kind, exit_on_error=True)

    def tell_fault(self, fault: DejaError, failed: Callable[[DejaError], None] | None) -> None:
        """Say it as the panel does; what cannot even be drawn for that reason is said in the flash line alone."""
        try:
            (failed or self.say_error)(fault)
        except Exception as error:  # noqa: BLE001 - the panel's own drawing is what is broken
            self.console_app.went_wrong(error)
            self.say_error(fault)

    # --- decisions ----------------------------------------------------------------------------------

    def decide(self, decision: str, address: str, case: Case) -> None:
        """Open the reason flow for exactly one recommendation (D15), or say why not."""
        why_not = refusal(decision, case, self.console_app.rights, self.console_app.actor)
        if why_not:
            self.say(why_not, "warning")
            self.unhear()
            return
        from deja_tui.screens.walker import WalkerScreen

        walker = WalkerScreen([address], intent=decision)
        walker.pressed = self.pressed
        self.app.push_screen(walker, lambda _: self.reload())

    def do_reload(self) -> None:
        self.asked_again = True
        self.load()

    def told_again(self) -> None:
        """Say that what is shown was read just now, if that was asked for."""
        if self.asked_again:
            self.asked_again = False
            self.say("read again")

    def cal_of_panel(self) -> str:
        """One CAL statement that reads what this panel shows; empty where nothing is shown yet."""
        return ""

    def do_copy_cal(self) -> None:
        statement = self.cal_of_panel()
        if statement:
            self.copy(statement, "CAL")
        else:
            self.say("nothing is shown yet that CAL could read")

    def copy(self, text: str, what: str) -> None:
        """Offer text to the terminal's clipboard; whether it arrives there nobody can know, so it is shown as well.

        It stands on a row of its own. Asked for a second time it is printed as one whole line, outside of this screen,
        where a terminal selects it across its own line ends.
        """
        again, self.copied_last = self.copied_last == text, text
        if again:
            self.outside(lambda: one_line(text))
            return
        sent = self.console_app.offer(text)
        head = (
            f" {what} sent to the terminal:" if sent else f" {what} is too long for the terminal's clipboard:"
        )
        shown = clean(text)
        fits_here = cells(shown) <= self.app.size.width
        more = "" if fits_here else " the same key again prints it as one line"
        self.flash.show_lines([line(head, Span(more, "dim")), line(shown)])

    # --- the whole text -----------------------------------------------------------------------------

    def text_of_panel(self) -> list[str]:
        """The whole text of what is shown here, as plain lines."""
        return text_lines(self)

    def do_pager(self) -> None:
        lines = self.text_of_panel()
        if lines:
            self.outside(lambda: page(lines))
        else:
            self.say("there is no text here yet")

    def outside(self, work: Callable[[], None]) -> None:
        """Give the terminal away while ``work`` is done; then everything is drawn anew."""
        from textual.app import SuspendNotSupported

        try:
            with self.app.suspend():
                work()
        except SuspendNotSupported:
            self.say("this terminal cannot be given away", "warning")
        except DejaError as fault:
            self.say_error(fault)

    # --- looking for a text -------------------------------------------------------------------------

    @property
    def finder(self) -> Reason:
        return self.part(Reason, "find")

    def do_find(self) -> None:
        """Type a text to look for; Enter goes to the first place that has it."""
        self.seeking = True
        self.add_class("-seeking")
        self.finder.ask("Find", self.sought, limit=None)
        keys = [Hint("Enter", "finds"), Hint("Esc", "leaves"), Hint("^u", "empties")]
        self.part(Hints, "hints").show_hints(keys)

    def seek_key(self, key: str, character: str | None) -> None:
        if key == "enter":
            self.sought = self.finder.text
            self.end_seeking()
            self.seek(1, here=True)
        elif key == "escape":
            self.end_seeking()
        elif not self.finder.take(key, character):
            self.anywhere(key)

    def end_seeking(self) -> None:
        self.seeking = False
        self.finder.put_away()
        self.remove_class("-seeking")
        self.draw()

    def do_next_match(self) -> None:
        self.seek(1)

    def do_previous_match(self) -> None:
        self.seek(-1)

    def seek(self, by: int, *, here: bool = False) -> None:
        """Go to the next (1) or the previous (-1) place that holds the text; ``here``: this place counts, too."""
        sought = fold(self.sought)
        if not sought:
            self.say(f"{self.console_app.keymap.first('move.find')} looks for a text first")
            return
        part = searched(self)
        places = matches(part, sought)
        if not places:
            self.say(f"{fenced(self.sought, 40).text} is not here", "warning")
            return
        target = following(places, standing(part), by, here=here)
        stand_on(part, target)
        self.say(f"match {places.index(target) + 1} of {len(places)}")
