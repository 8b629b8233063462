# SPDX-License-Identifier: Apache-2.0
"""Query: a statement, what it answered, how it was carried out, and the statements that were saved or typed before.

Nothing is decided here (D18): what is typed is read, or written once it was agreed to; decisions and erasures are told
where they are made. The language is loaded on the worker thread, when this place is looked at first.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Final, TypeVar, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from deja_tui.console.feed import Reviews, Statements
from deja_tui.console.typed import Past
from deja_tui.engine.objects import Detail
from deja_tui.errors import DejaError
from deja_tui.present.line import Line, Span, line
from deja_tui.present.words import fenced
from deja_tui.screens import query_lines as told
from deja_tui.screens.asked import Came, Plan, asking, explaining, offset
from deja_tui.screens.base import EDGED, SIDE
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.filtering import FILTER_KEYS
from deja_tui.screens.place import PlaceScreen
from deja_tui.screens.resting import Resting
from deja_tui.text import clean
from deja_tui.widgets.hints import Hints
from deja_tui.widgets.oneline import OneLine
from deja_tui.widgets.pager import Pager
from deja_tui.widgets.reason import Reason
from deja_tui.widgets.rows import Rows
from deja_tui.widgets.statement import MOST, Statement

if TYPE_CHECKING:
    from deja_tui.console.asking import Outcome, Question, Saved
    from deja_tui.present.query import Item, Sheet

Found = TypeVar("Found")
BELOW: Final = 6
SETTLE_SECONDS: Final = 0.15
# A letter that belongs to a word somebody goes on typing is no answer to a question.
REST_SECONDS: Final = 0.3
# What took longer is not run again by itself: not for its plan, not because the file changed.
QUICK_SECONDS: Final = 0.3


class QueryScreen(PlaceScreen):
    """The editor above; below it rows, a text, or both in turn; EXPLAIN beside them where there is room."""

    scope = "query"
    DEFAULT_CSS = f"""
    QueryScreen #lead {{ display: none; height: 1; }}
    QueryScreen.-lead #lead {{ display: block; }}
    QueryScreen #head {{ display: none; }}
    QueryScreen.-head #head {{ display: block; }}
    QueryScreen #side {{ height: 1fr; }}
    QueryScreen #text {{ display: none; }}
    QueryScreen.-text #text {{ display: block; }}
    QueryScreen.-text #list {{ display: none; }}
    QueryScreen #beside {{ display: none; height: {BELOW}; }}
    QueryScreen.-beside #beside {{ display: block; }}
    QueryScreen.-wide #side {{ width: 1fr; }}
    QueryScreen.-wide #beside {{ width: {SIDE}; height: 1fr; }}
    QueryScreen #filter {{ display: none; }}
    QueryScreen.-filtering #filter {{ display: block; }}
    """

    def __init__(self) -> None:
        super().__init__()
        self.section = "saved"
        self.came = Came()
        self.explaining = False
        self.question: Question | None = None
        self.plan: Plan | None = None
        self.plan_of = ""
        self.queries: Sequence[Saved] | None = None
        self.shown: list[int] = []
        self.stop: Event | None = None
        self.asked = ""
        self.began = 0.0
        self.wanted = ""
        # The key of the row that is selected in each section.
        self.chosen_keys: dict[str, str] = {}
        self.past = Past()
        self.painted: float | None = 0.0
        self.quiet_until = float("-inf")
        self.visited = False
        self.resting = Resting(self, self.draw_beside)

    def compose_body(self) -> ComposeResult:
        hint = line(Span("i types a statement, for example ", "dim"), Span(told.EXAMPLE, "dim"))
        yield Statement(told.pieces, id="cal", hint=hint)
        yield OneLine(id="told")
        with Container(id="body"):
            with Container(id="side"):
                yield Pager(id="lead")
                yield OneLine(id="head")
                yield Rows(id="list", moved=self.moved)
                yield Pager(id="text", more="j goes on", leads=True)
            yield Pager(id="beside", edge=False)
        yield Reason(id="filter")

    # --- parts --------------------------------------------------------------------------------------

    @property
    def editor(self) -> Statement:
        return self.part(Statement, "cal")

    @property
    def text_pager(self) -> Pager:
        return self.part(Pager, "text")

    @property
    def filtering(self) -> Reason:
        return self.part(Reason, "filter")

    @property
    def door(self) -> Statements:
        """The memory, for statements; used on the feed's thread only."""
        return cast(Statements, self.console_app.file_of)

    @property
    def room(self) -> int:
        """The cells of a line of the main part."""
        return self.app.size.width - (SIDE + 1 if self.wide and self.has_beside else 0)

    @property
    def in_answer(self) -> bool:
        """Whether the section is one of what came of the statement."""
        return self.section in self.came.answers

    @property
    def sections(self) -> tuple[str, ...]:
        return (*self.came.answers, "saved", "history")

    @property
    def reading_text(self) -> bool:
        """Whether the main part is a text that scrolls."""
        if self.question is not None or self.explaining:
            return True
        return self.in_answer and self.came.is_text(self.section)

    # --- reading ------------------------------------------------------------------------------------

    def load(self) -> None:
        """Saved queries and, at the first visit, what was typed before; asked to read again, also the statement."""
        self.count_pending()
        again = self.asked_again
        self.ask("saved", self.read_queries, self.queries_came, self.unreadable, typed=True)
        if not self.visited:
            self.visited = True
            typed = self.console_app.typed
            self.ask("typed", lambda reviews: _tried(typed.read), self.typed_came, typed=True)
        if again and self.came.reads:
            self.run(self.came.statement)

    def reload(self) -> None:
        """The file changed: what was quick is read again, the rest says that it is old."""
        self.load()
        if self.came.reads and self.stop is None and self.question is None:
            if self.came.took <= QUICK_SECONDS:
                self.run(self.came.statement)
            else:
                self.say("the file changed since: r runs the statement again")

    def read_queries(self, reviews: Reviews) -> list[Saved]:
        from deja_tui.console.asking import saved

        return saved(self.door)

    def queries_came(self, found: list[Saved]) -> None:
        self.queries = found
        self.draw()
        if self.linked:
            self.follow()
        if self.asked_again and not self.came.statement:
            self.told_again()

    def unreadable(self, fault: DejaError) -> None:
        self.asked_again = False
        self.say_error(fault)
        self.draw()

    def typed_came(self, found: list[str] | str) -> None:
        if isinstance(found, str):
            self.say(f"what was typed before cannot be read: {found}", "warning")
        else:
            self.console_app.typed.begin(found)
        self.draw()

    # --- links --------------------------------------------------------------------------------------

    def about(self, what: str) -> None:
        """A saved query by its name, or a statement."""
        self.linked = what
        if self.ready and self.queries is not None:
            self.follow()

    def follow(self) -> None:
        from deja_tui.console.asking import is_statement

        what, self.linked = self.linked, ""
        for place, query in enumerate(self.queries or ()):
            if query.name == what:
                self.go_to("saved")
                self.listing.move_to(self.shown.index(place))
                self.run_saved(query)
                return
        if is_statement(what):
            # What was being typed can be had back with the arrow.
            self.console_app.typed.add(self.editor.text)
            self.editor.put(what)
            self.run(self.editor.text)
            return
        self.say(f"there is no saved query {clean(what, 60)}", "warning")

    # --- running ------------------------------------------------------------------------------------

    def run(self, text: str, *, agreed: bool = False) -> None:
        """Have a statement judged, and run where that is allowed; what ran before is stopped."""
        if self.stop is not None:
            self.stop.set()
        stop = self.stop = Event()
        self.asked, self.question = text, None
        self.began = self.console_app.ticks.now()
        app = self.console_app
        closing = app.feed.closing
        work = asking(
            self.door,
            text,
            app.rights,
            lambda: stop.is_set() or closing.is_set(),
            agreed=agreed,
            file=shlex.quote(app.file),
            now_ms=app.now_ms(),
        )

        def failed(fault: DejaError) -> None:
            if stop is self.stop:
                self.refused(fault, stop)

        self.ask("statement", work, self.answered, failed, typed=True)
        self.set_timer(QUICK_SECONDS, lambda: self.tell_running(stop))

    def tell_running(self, stop: Event) -> None:
        """Say that a statement still runs, and for how long, until it ends."""
        if stop is not self.stop or not self.is_attached:
            return
        seconds = int(self.console_app.ticks.now() - self.began)
        self.say(f"reading … {seconds} s, Esc stops it" if seconds else "reading … Esc stops it")
        self.set_timer(1.0, lambda: self.tell_running(stop))

    def answered(self, found: tuple[Outcome, Sheet | None]) -> None:
        from deja_tui.console.asking import Answered, Question

        outcome, sheet = found
        self.stop = None
        took = self.console_app.ticks.now() - self.began
        self.explaining, self.plan, self.plan_of = False, None, ""
        if isinstance(outcome, Question):
            self.came = replace(self.came, fault=None, took=took)
            self.question, self.section = outcome, self.came.answers[0]
            self.painted = None
            self.call_after_refresh(self.mark_painted)
            self.draw()
            return
        again = self.asked == self.came.statement
        reads = isinstance(outcome, Answered) and outcome.reads
        self.came = Came(self.asked, sheet, reads=reads, took=took)
        if self.editor.text == self.asked:
            self.editor.end()
        if reads and self.wide and took <= QUICK_SECONDS:
            self.ask_plan()
        self.go_to(self.came.answers[0], fresh=not again)
        if sheet is not None and sheet.warnings:
            self.say("; ".join(sheet.warnings), "warning")
        else:
            self.told_again()
        if isinstance(outcome, Answered) and not outcome.reads:
            self.load()

    def mark_painted(self) -> None:
        self.painted = self.console_app.ticks.now()

    def refused(self, fault: DejaError, stop: Event) -> None:
        """The statement did not run, or did not end: code, caret, next step; who typed it goes on typing."""
        self.stop = None
        self.asked_again = False
        if stop.is_set():
            self.say("stopped: nothing more is read", "warning")
            self.draw()
            return
        self.explaining = False
        self.came = Came(self.asked, fault=fault, took=self.came.took)
        place = getattr(fault, "place", None)
        if self.editor.active and self.editor.text == self.asked and place is not None:
            self.editor.put(self.asked, offset(self.asked, place.line, place.column))
        self.go_to("result", fresh=True)

    def ask_plan(self) -> None:
        """Ask how the statement that is shown was carried out."""
        if self.plan_of == self.came.statement:
            return
        self.plan_of = self.came.statement
        work = explaining(self.door, self.plan_of, self.console_app.feed.closing.is_set)
        self.ask("plan", work, self.explained, typed=True)

    def explained(self, plan: Plan) -> None:
        if self.plan_of == self.came.statement:
            self.plan = plan
            self.draw()

    # --- drawing ------------------------------------------------------------------------------------

    def draw(self) -> None:
        """Everything, from what is known."""
        self.set_class(self.has_beside, "-beside")
        self.set_class(self.reading_text, "-text")
        self.draw_lead()
        if self.reading_text:
            lines = self.text_lines()
            self.text_pager.show(lines, top=self.text_pager.top if lines == self.text_pager.lines else 0)
            self.set_class(False, "-head")
        else:
            self.draw_rows()
        self.draw_beside()
        self.draw_around()

    @property
    def has_beside(self) -> bool:
        """Whether there is a second part: the selected saved query, or where there is room the plan of a result."""
        if self.question is not None or self.explaining:
            return False
        if self.section == "saved":
            return bool(self.queries)
        planned = self.plan_of == self.came.statement != ""
        return self.in_answer and self.came.answered and self.wide and planned

    def draw_beside(self) -> None:
        pane = self.part(Pager, "beside")
        pane.edge = self.wide
        pane.more = "e shows all" if self.in_answer else "E edits it"
        if self.has_beside:
            room = EDGED if self.wide else self.app.size.width
            saved = self.section == "saved"
            pane.show(
                told.saved_card(self.chosen, room, whole=not self.wide)
                if saved
                else told.plan_text(self.plan, room)
            )

    def draw_lead(self) -> None:
        sheet = self.came.sheet if self.in_answer and not self.reading_text else None
        lead = told.lead_lines(sheet, self.room) if sheet is not None else []
        self.set_class(bool(lead), "-lead")
        pager = self.part(Pager, "lead")
        if lead and (pager.styles.height is None or pager.styles.height.value != len(lead)):
            pager.styles.height = len(lead)
        pager.show(lead)

    def text_lines(self) -> list[Line]:
        """The text of the main part."""
        if self.question is None and self.explaining:
            return told.plan_text(self.plan, self.room)
        return told.main_text(self.came, self.question, self.room)

    def all_rows(self) -> list[told.ListRow]:
        """The rows of this section, before filtering."""
        if self.section == "saved":
            return told.saved_rows(self.queries)
        if self.section == "history":
            return told.typed_rows(self.console_app.typed.statements)
        sheet = self.came.sheet
        return [told.ListRow(item.key, item.line) for item in sheet.items] if sheet is not None else []

    def draw_rows(self) -> None:
        rows, room = self.all_rows(), self.room - 1
        shown = self.shown = told.matching(rows, self.wanted, room)
        sheet = self.came.sheet if self.in_answer else None
        head = sheet.head if sheet is not None else None
        self.set_class(head is not None and bool(shown), "-head")
        self.part(OneLine, "head").show(line(" ", head(room)) if head is not None else ())
        self.listing.show(
            [rows[place].key for place in shown],
            lambda index: rows[shown[index]].draw(room),
            empty=self.emptiness(),
        )

    def draw_around(self) -> None:
        """Title, sections and hints."""
        count = len(self.shown)
        place = "" if self.reading_text or not count else f"{self.listing.selected + 1}/{count}"
        self.place_title(place, *((Span("  filter ", "dim"), fenced(self.wanted, 40)) if self.wanted else ()))
        self.part(OneLine, "told").show(self.told_line())
        self.draw_hints()

    def told_line(self) -> Line:
        """The sections, this one in brackets; then what the result is."""
        counts = {
            "saved": None if self.queries is None else len(self.queries),
            "history": len(self.console_app.typed.statements),
        }
        waits = line(Span("waits for a yes", "warning"))
        outcome = (waits if self.question is not None else self.came.told()) if self.in_answer else ()
        return told.section_line(self.sections, self.section, counts, outcome, explaining=self.explaining)

    def draw_hints(self) -> None:
        hints = self.part(Hints, "hints")
        if self.question is not None:
            hints.show_hints(told.ASKED_KEYS)
        elif self.filtering.active:
            hints.show_hints(FILTER_KEYS)
        elif self.editor.active:
            hints.show_hints(told.EDITOR_KEYS)
        else:
            without = {name for name, here in self.possible().items() if not here}
            words = {"open": {"saved": "run", "history": "take up"}.get(self.section, "open")}
            self.set_hints(without=tuple(without), words=words)

    def possible(self) -> dict[str, bool]:
        """Which keys have something to act on."""
        rows = not self.reading_text and bool(self.shown)
        read = self.in_answer and self.came.answered and self.came.reads
        return {
            "open": rows,
            "explain": read,
            "edit": self.section == "saved" and rows,
            "define": read,
            "filter": rows or bool(self.wanted),
        }

    def emptiness(self) -> list[Line]:
        """What to say when there is no row."""
        if self.wanted:
            return told.no_match(self.wanted)
        if self.section == "saved":
            return told.no_saved(read=self.queries is not None)
        if self.section == "history":
            return told.no_typed()
        return told.no_rows(self.came.sheet, clean(shlex.quote(self.console_app.file), 200))

    def moved(self) -> None:
        """Another row is selected: title and second part follow in the same paint, under a held key once it rests."""
        self.draw_around()
        if self.section == "saved":
            self.resting.step()

    def go_to(self, section: str, *, fresh: bool = False) -> None:
        """Another section, on the row that was selected there; a fresh result on its first."""
        if self.listing.key is not None and not self.reading_text:
            self.chosen_keys[self.section] = self.listing.key
        if fresh:
            self.chosen_keys.pop(section, None)
            self.text_pager.top = 0
        if section != self.section or fresh:
            self.wanted = ""
        self.section, self.explaining = section, False
        self.draw()
        keys, wanted = list(self.listing.keys), self.chosen_keys.get(section)
        self.listing.move_to(keys.index(wanted) if wanted in keys else 0)

    # --- what is selected ---------------------------------------------------------------------------

    @property
    def place(self) -> int | None:
        """The number of the selected row in its section, before filtering."""
        if not self.shown or self.listing.selected >= len(self.shown):
            return None
        return self.shown[self.listing.selected]

    @property
    def chosen(self) -> Saved | None:
        """The selected saved query."""
        queries, place = self.queries, self.place
        if self.section != "saved" or not queries:
            return None
        return queries[place] if place is not None and place < len(queries) else queries[0]

    @property
    def item(self) -> Item | None:
        """The selected row of a result."""
        sheet = self.came.sheet if self.in_answer and not self.reading_text else None
        return sheet.items[self.place] if sheet is not None and self.place is not None else None

    @property
    def remembered(self) -> str:
        """The selected statement of the history."""
        if self.section != "history" or self.place is None:
            return ""
        typed = self.console_app.typed.statements
        return typed[len(typed) - 1 - self.place]

    # --- keys ---------------------------------------------------------------------------------------

    def early(self, event: events.Event) -> bool:
        """Whether a question was not read yet when a key was pressed, or the key goes on with a word."""
        if self.question is None:
            return False
        arrived = self.console_app.ticks.arrived(event)
        if self.painted is None or arrived < max(self.painted + SETTLE_SECONDS, self.quiet_until):
            self.quiet_until = arrived + REST_SECONDS
            return True
        return False

    def press(self, key: str, character: str | None) -> None:
        if self.small:
            super().press(key, character)
        elif self.question is not None:
            self.settle(key, character)
        elif self.filtering.active:
            self.type_filter(key, character)
        elif self.editor.active:
            self.type(key, character)
        else:
            super().press(key, character)

    def settle(self, key: str, character: str | None) -> None:
        """Keys while a write waits for a yes."""
        if character == "y":
            self.question = None
            self.run(self.asked, agreed=True)
        elif key in ("escape", "enter") or character in ("n", "h", "q"):
            if key == "enter":
                self.say("y writes it, Esc writes nothing", "warning")
                return
            self.question = None
            self.draw()
            self.say("nothing was written")
        elif key in ("down", "up"):
            self.text_pager.scroll_by(1 if key == "down" else -1)
        elif character is not None:
            self.quiet_until = self.console_app.ticks.now() + REST_SECONDS
        else:
            self.anywhere(key)

    def type(self, key: str, character: str | None) -> None:
        """Keys while a statement is typed."""
        if self.flash.text:
            self.flash.clear()
        if key == "enter":
            self.submit()
        elif key == "escape":
            if self.stop is not None:
                self.do_back()
            else:
                self.editor.end()
                self.draw()
        elif key == "tab":
            self.complete()
        elif key in ("ctrl+p", "ctrl+n"):
            self.recall(1 if key == "ctrl+p" else -1)
        elif self.editor.take(key, character):
            if key not in ("left", "right", "home", "end"):
                self.past.leave()
        elif key in ("up", "down"):
            self.recall(1 if key == "up" else -1)
        else:
            self.anywhere(key)

    def submit(self) -> None:
        """Run what was typed, and remember it."""
        text = self.editor.text
        if not text.strip():
            self.say("there is no statement: type one, or Esc")
            return
        self.past.leave()
        typed, now_ms = self.console_app.typed, self.console_app.now_ms()
        if typed.add(text):
            self.ask("keep", lambda reviews: _tried(lambda: typed.keep(text, now_ms)), self.kept, typed=True)
        self.run(text)

    def kept(self, found: object) -> None:
        if isinstance(found, str):
            self.console_app.typed.shared = False
            self.console_app.typed.path = None
            self.say(f"the statement is remembered in this sitting only: {found}", "warning")

    def recall(self, by: int) -> None:
        """One step back or forth through what was typed before; in front of it is what was being typed."""
        found = self.past.step(by, self.editor.text, self.console_app.typed.statements)
        if found is not None:
            self.editor.put(found)

    def complete(self) -> None:
        """Go on with the word at the caret as far as all words that begin so are the same; else list them."""
        from deja_tui.cal.pieces import completion

        edited = self.editor.edited
        found = completion(edited.text, edited.caret)
        if not found.words:
            self.say("no word of the language begins so")
            return
        begun = edited.text[found.start : edited.caret]
        rest = found.common[len(begun) :] + (" " if len(found.words) == 1 else "")
        if rest:
            self.editor.paste(rest)
        if len(found.words) > 1:
            self.say(" ".join(found.words))

    def type_filter(self, key: str, character: str | None) -> None:
        """Keys while the filter is typed."""
        if key in ("enter", "escape"):
            self.wanted = "" if key == "escape" else self.wanted
            self.filtering.put_away()
            self.remove_class("-filtering")
            self.draw()
        elif self.filtering.take(key, character):
            self.wanted = self.filtering.text
            self.draw()
        else:
            self.anywhere(key)

    def pasted(self, event: events.Paste) -> None:
        if self.small or self.question is not None:
            return
        if self.filtering.active:
            self.filtering.paste(event.text)
            self.wanted = self.filtering.text
            self.draw()
        elif self.editor.active and not self.editor.paste(event.text):
            self.say(
                f"a statement has at most {MOST:,} characters here: deja cal --file takes longer ones",
                "warning",
            )

    # --- what keys do -------------------------------------------------------------------------------

    def do_type(self) -> None:
        """Go on with what stands there, from its end: ^u then makes room for another statement."""
        self.editor.put(self.editor.text)
        self.begin_typing()

    def begin_typing(self) -> None:
        self.editor.begin()
        self.draw_hints()

    def do_open(self) -> None:
        query, item, remembered = self.chosen, self.item, self.remembered
        if query is not None:
            self.run_saved(query)
        elif item is not None:
            self.open_item(item)
        elif remembered:
            self.take_up(remembered)

    def run_saved(self, query: Saved) -> None:
        """Run it, or have the values typed that it needs."""
        if not query.runs:
            self.say("its name cannot stand in a statement", "warning")
            return
        statement, caret = query.call()
        if query.missing:
            self.take_up(statement, caret)
            needs = ", ".join(f"${name}" for name in query.missing)
            self.say(f"it needs {needs}: type the value, then Enter")
        else:
            self.editor.put(statement)
            self.run(self.editor.text)

    def take_up(self, text: str, caret: int | None = None) -> None:
        """Put a text into the editor, to be typed on."""
        self.editor.put(text, caret)
        self.begin_typing()
        if len(text) > MOST:
            self.say(f"cut: a statement has at most {MOST:,} characters here", "warning")

    def open_item(self, item: Item) -> None:
        """The recommendation, or everything about a grain."""
        if item.recommendation:
            self.ask("open", lambda reviews: reviews.show(item.address), self.open_recommendation)
        elif item.address:
            from deja_tui.screens.grain import GrainScreen

            self.app.push_screen(GrainScreen(item.address), lambda _: self.reload())

    def open_recommendation(self, detail: Detail) -> None:
        screen = DetailScreen(detail.recommendation.address, known=detail)
        self.app.push_screen(screen, lambda _: self.reload())

    def do_explain(self) -> None:
        """The plan instead of the rows, and back."""
        if self.explaining:
            self.do_back()
        elif self.in_answer and self.came.answered and self.came.reads:
            self.explaining = True
            self.ask_plan()
            self.draw()
        else:
            self.say("there is no read to explain: run a statement first")

    def do_edit(self) -> None:
        """Put a saved query into the editor: its definition, or where that cannot be changed its body."""
        query = self.chosen
        if query is None:
            return
        may = self.console_app.rights.may("write")
        self.take_up(query.body.strip() if query.builtin or not may else query.definition())
        if query.builtin:
            self.say("built in: this is its body, to be run or saved under a name of your own")

    def do_define(self) -> None:
        """Put the statement that is shown into a definition, the caret where its name belongs."""
        if not self.in_answer or not self.came.reads:
            self.say("only a statement that reads can be saved: run one first")
            return
        begins = 'DEFINE QUERY "'
        self.take_up(f'{begins}" AS {{ {self.came.statement.strip().rstrip(";")} }}', len(begins))
        self.say("type a name, then Enter")

    def do_filter(self) -> None:
        if self.reading_text:
            self.say("a text has no rows to filter: ] goes to the rows")
            return
        self.add_class("-filtering")
        self.filtering.ask("Filter", self.wanted, limit=None)
        self.draw()

    def do_back(self) -> None:
        """Stop what runs, else leave what covers the rows, else clear the filter."""
        if self.stop is not None:
            self.stop.set()
        elif self.explaining:
            self.explaining = False
            self.draw()
        elif self.wanted:
            self.wanted = ""
            self.draw()

    def do_next_section(self) -> None:
        self.step(1)

    def do_previous_section(self) -> None:
        self.step(-1)

    def step(self, by: int) -> None:
        found = self.sections
        at = found.index(self.section) if self.section in found else 0
        self.go_to(found[(at + by) % len(found)])

    def cal_of_panel(self) -> str:
        query = self.chosen
        if query is not None:
            return query.call()[0] if query.runs else ""
        return self.remembered if self.section == "history" else self.came.statement

    def do_command(self) -> None:
        text = self.cal_of_panel()
        if not text:
            self.say("nothing was asked yet")
            return
        file = shlex.quote(self.console_app.file)
        self.copy(f"deja cal {shlex.quote(text)} --db {file}", "command line")

    def do_copy(self) -> None:
        query, item = self.chosen, self.item
        if query is not None:
            self.copy(query.name, "name")
        elif item is not None and item.address:
            self.copy(item.address, "address")
        else:
            self.say("no address here: Y sends the statement")

    # --- moving -------------------------------------------------------------------------------------

    def do_down(self) -> None:
        self.text_pager.scroll_by(1) if self.reading_text else self.listing.move(1)

    def do_up(self) -> None:
        self.text_pager.scroll_by(-1) if self.reading_text else self.listing.move(-1)

    def do_first(self) -> None:
        self.text_pager.scroll_to_line(0) if self.reading_text else self.listing.move_to(0)

    def do_last(self) -> None:
        lines = len(self.text_pager.lines)
        self.text_pager.scroll_to_line(lines) if self.reading_text else self.listing.move_to(
            len(self.listing.keys) - 1
        )

    def do_page_down(self) -> None:
        self.text_pager.page(1) if self.reading_text else self.listing.page(1)

    def do_page_up(self) -> None:
        self.text_pager.page(-1) if self.reading_text else self.listing.page(-1)


def _tried(work: Callable[[], Found]) -> Found | str:
    """What ``work`` gives, or why the file of statements could not be used, in words."""
    try:
        return work()
    except OSError as error:
        return error.strerror or type(error).__name__
