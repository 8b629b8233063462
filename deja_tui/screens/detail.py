# SPDX-License-Identifier: Apache-2.0
"""One recommendation: the literal change, its evidence, its audit trail, the facts around it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from textual.app import ComposeResult
from textual.containers import Container

from deja_tui.console.actions import Case
from deja_tui.engine.objects import Detail
from deja_tui.errors import DejaError
from deja_tui.present import recommendation as shown
from deja_tui.present.line import Line, Span, line, wrap
from deja_tui.present.words import short, thread_of
from deja_tui.screens.base import EDGED, SIDE, DejaScreen
from deja_tui.screens.reading import ReadingScreen
from deja_tui.text import clean
from deja_tui.widgets.pager import Pager

BESIDE: Final = ("trail", "finding")
_WHOLE: Final = re.compile(r"[0-9a-f]{64}")


def case_of(detail: Detail) -> Case:
    """What the console knows about deciding this one."""
    # of an approved one: what an apply would do; before that, what it would do by default
    chosen = dict(enumerate(detail.recommendation.choices)).get(detail.choice or 0)
    operations = chosen.operations if chosen else ()
    return Case(
        status=detail.status,
        foreign=detail.foreign,
        destructive=any(operation.destructive for operation in operations),
        rollbackable=bool(operations) and all(operation.undoable for operation in operations),
        verified=detail.chain.verified,
        creator=detail.creator,
        replaced_by=detail.replaced_by,
        outside=detail.plan is not None and detail.plan.outside,
    )


@dataclass(frozen=True, slots=True)
class ModelText:
    """How text that a model or a command wrote is dealt with: hidden at first, the key that shows it."""

    key: str
    shown: bool = False


def opening(detail: Detail, now_ms: int, room: int, *, hidden: bool = False) -> list[Line]:
    """The summary in full, and where it comes from; ``hidden``: it is a text of somebody's own and stands below."""
    told = f"a finding of {clean(detail.creator, 80)}, in words of its own" if hidden else detail.summary
    summary = line(Span(clean(told, limit=shown.SUMMARY_LIMIT), "strong"))
    return [*wrap(summary, room, 2), *wrap(shown.about(detail, now_ms), room, 2)]


def flow(
    parts: Sequence[shown.Section], room: int, before: Sequence[Line] = ()
) -> tuple[list[Line], dict[str, int]]:
    """Sections one below the other, and the line each begins on."""
    lines, starts = list(before), {}
    for part in parts:
        starts[part.id] = len(lines)
        lines.extend(shown.section_lines(part, room))
    return lines, starts


def fill(
    detail: Detail,
    now_ms: int,
    main: Pager,
    room: int,
    side: Pager | None = None,
    *,
    whole: bool = False,
    before: Sequence[Line] = (),
    top: int | None = None,
    model: ModelText | None = None,
) -> None:
    """Put a recommendation into one pager, or into two where there is room."""
    parts = shown.sections(detail, now_ms, room, whole=whole)
    own = shown.own_words(detail) if model is not None else None
    if own is not None and model is not None:
        parts.insert(1, shown.own_section(*own, model.key, room, shown=model.shown))
    if side is not None:
        beside = [part for part in shown.sections(detail, now_ms, EDGED) if part.id in BESIDE]
        side.show(*flow(beside, EDGED))
        parts = [part for part in parts if part.id not in BESIDE]
    hidden = own is not None
    lines, starts = flow(parts, room, [*before, *opening(detail, now_ms, room, hidden=hidden)])
    main.show(lines, starts, top=main.top if top is None else top)


def command_line(file: str, address: str) -> str:
    """The command that shows the same on the command line."""
    return shlex.join(("deja", "loop", "show", short(address), "--db", file))


def statement(address: str) -> str:
    """The statement that reads the recommendation itself; ``""`` where its whole address is not known yet."""
    return f'RECALL recommendations WHERE hash = "{address}"' if _WHOLE.fullmatch(address) else ""


def trail_statement(address: str) -> str:
    """The statement that reads the audit chain of a recommendation."""
    return f'RUN "Audit of" ($recommendation = "{address}")'


class DetailScreen(ReadingScreen):
    """Everything a reviewer needs to decide about one recommendation. ``address`` may be a unique start of one."""

    scope = "detail"
    DEFAULT_CSS = f"""
    DetailScreen #beside {{ display: none; width: {SIDE}; height: 1fr; }}
    DetailScreen.-wide #beside {{ display: block; }}
    """

    def __init__(self, address: str, *, at: str | None = None, known: Detail | None = None) -> None:
        super().__init__()
        self.address = address
        self.section = at
        # What the queue has read already is shown at once, and read again.
        self.detail = known
        self.whole = False
        self.model_shown = False
        # Whether the chain is what one looks at.
        self.on_trail = False

    def compose_body(self) -> ComposeResult:
        with Container(id="body"):
            yield Pager(id="text", more="j goes on", leads=True)
            yield Pager(id="beside", edge=True)

    def load(self) -> None:
        destructive = self.console_app.rights.tier == "DESTRUCTIVE"
        address = self.address
        self.ask(
            "detail",
            lambda reviews: reviews.show(address, allow_destructive=destructive),
            self.came,
            self.failed,
        )

    def came(self, detail: Detail) -> None:
        self.detail = detail
        self.address = detail.recommendation.address
        self.draw()
        self.told_again()
        if self.section is not None:
            self.pager.go(self.section)
            self.section = None

    def failed(self, fault: DejaError) -> None:
        self.asked_again = False
        below = self.app.screen_stack[-2]
        if self.detail is not None or not isinstance(below, DejaScreen) or not self.is_current:
            self.say_error(fault)
            return
        # A page with nothing on it helps nobody: back to the list, with the reason.
        self.dismiss()
        told = self.address
        below.say_error(DejaError(fault.code, f"{clean(told, 80)}: {fault.message}", fault.next_step))

    def draw(self) -> None:
        if self.detail is None:
            self.set_title(line(Span("reading …", "dim")))
            self.set_hints()
            return
        self.set_title(shown.identity(self.detail, self.title_room))
        self.set_hints(case_of(self.detail))
        fill(
            self.detail,
            self.console_app.now_ms(),
            self.pager,
            self.main_room,
            self.part(Pager, "beside") if self.wide else None,
            whole=self.whole,
            model=ModelText(self.console_app.keymap.first("detail.model"), self.model_shown),
        )

    def links_to(self, place: str) -> str:
        if self.detail is None:
            return ""
        body = self.detail.recommendation
        if place == "sessions":
            threads = (thread_of(one.fields or {}) for one in self.detail.evidence)
            return next((thread for thread in threads if thread), "")
        measured = body.address if self.detail.outcomes else body.analyzer
        there = {"analyzers": body.analyzer, "outcomes": measured, "query": body.evidence_query or ""}
        return there.get(place, "")

    # --- what keys do -------------------------------------------------------------------------------

    def do_evidence(self) -> None:
        self.pager.go("evidence")

    def do_trail(self) -> None:
        self.on_trail = self.detail is not None
        if not self.pager.go("trail"):
            self.part(Pager, "beside").go("trail")

    def do_grains(self) -> None:
        """The grains it has to do with, each a page of its own."""
        from deja_tui.screens.grain import GrainsScreen

        if self.detail is not None:
            self.app.push_screen(GrainsScreen(self.detail), lambda _: self.reload())

    def do_model(self) -> None:
        """Show or hide what a model or a command wrote in its own words."""
        if self.detail is None or shown.own_words(self.detail) is None:
            self.say("nothing here was written by a model")
            return
        self.model_shown = not self.model_shown
        self.draw()
        self.pager.go("model")

    def do_whole(self) -> None:
        self.whole = not self.whole
        self.draw()
        self.pager.go("evidence")

    def do_dry_run(self) -> None:
        destructive = self.console_app.rights.tier == "DESTRUCTIVE"
        address = self.address
        self.ask(
            "dry run",
            lambda reviews: reviews.dry_run(address, allow_destructive=destructive),
            lambda plan: self.flash.show_line(line(" ", shown.plan(plan))),
        )

    def do_copy(self) -> None:
        self.copy(self.address, "address")

    def do_command(self) -> None:
        self.copy(command_line(self.console_app.file, self.address), "command line")

    def cal_of_panel(self) -> str:
        """The chain where one looks at it, else the recommendation."""
        return trail_statement(self.address) if self.on_trail else statement(self.address)

    def scrolled(self) -> None:
        self.on_trail = False

    def do_approve(self) -> None:
        self.decide_here("approve")

    def do_reject(self) -> None:
        self.decide_here("reject")

    def do_apply(self) -> None:
        self.decide_here("apply")

    def do_rollback(self) -> None:
        self.decide_here("rollback")

    def do_mark_applied(self) -> None:
        self.decide_here("mark_applied")

    def decide_here(self, decision: str) -> None:
        if self.detail is not None:
            self.decide(decision, self.address, case_of(self.detail))
