# SPDX-License-Identifier: Apache-2.0
"""The review walker: one recommendation, one typed reason, one receipt, then the next (D15, D16).

States: READ → (a or x) → REASON → Enter → RECEIPT → Enter → next. Queue and Detail open the same flow for a single
recommendation. Each state discards keys that arrived before it was painted plus 150 ms, so a held Enter, or keys typed
ahead, cannot decide twice or about something not yet seen. Text is another matter: what is typed after a decision key
was heard belongs to its reason and waits for the prompt, only Enter does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from deja_tui.console.actions import refusal
from deja_tui.engine.objects import Detail, Plan, Receipt
from deja_tui.errors import DejaError
from deja_tui.present import recommendation as shown
from deja_tui.present.line import Line, Span, heading, line
from deja_tui.present.reasons import unseen
from deja_tui.present.words import plural
from deja_tui.screens import decided as told
from deja_tui.screens.base import SIDE, Typed
from deja_tui.screens.detail import ModelText, case_of, command_line, fill, statement, trail_statement
from deja_tui.screens.reading import ReadingScreen
from deja_tui.screens.walk import Walk
from deja_tui.text import clean
from deja_tui.widgets.hints import Hint, Hints
from deja_tui.widgets.oneline import OneLine
from deja_tui.widgets.pager import Pager
from deja_tui.widgets.reason import Reason

SETTLE_SECONDS: Final = 0.15
ASKED_DIGITS: Final = 4
# Refusals that say the recommendation is not what the reviewer saw any more.
MOVED_ON: Final = ("LOP-E020", "LOP-E024", "LOP-E040")
SCOPE_OF: Final = {"receipt": "receipt", "notice": "receipt", "summary": "summary"}
_SAID: Final = {
    "approve": "approve",
    "reject": "reject",
    "apply": "apply",
    "rollback": "roll back",
    "mark_applied": "mark done",
}
_TYPING: Final = ("reason", "confirm")
_READING: Final = ("reading", "read", "reason", "confirm", "working")


class WalkerScreen(ReadingScreen):
    """Review of one or more recommendations. ``intent``: the decision a key in Queue or Detail asked for."""

    scope = "walker"
    DEFAULT_CSS = f"""
    WalkerScreen #beside {{ display: none; width: {SIDE}; height: 1fr; }}
    WalkerScreen.-wide.-reading #beside {{ display: block; }}
    """

    def __init__(self, addresses: list[str], *, intent: str | None = None) -> None:
        super().__init__()
        self.given = addresses
        self.intent = intent
        self.single = intent is not None
        self.way = Walk(addresses)
        self.state = "reading"
        self.painted: float | None = None
        self.detail: Detail | None = None
        self.plan: Plan | None = None
        self.decision = ""
        self.verb = ""
        self.choice = 0
        self.because = ""
        self.receipt: Receipt | None = None
        self.notice: list[Line] = []
        self.whole = False
        self.model_shown = False
        self.seen_all = False
        # From a decision key to its prompt: what is typed meanwhile.
        self.expecting = self.single
        self.ahead: list[Typed] = []
        # What was done on the way before this screen: a walk on which nothing more was done is left without a sum.
        self.acts_before = 0

    def compose_body(self) -> ComposeResult:
        yield OneLine(id="who")
        with Container(id="body"):
            yield Pager(id="text", more="j goes on", leads=True)
            yield Pager(id="beside", edge=True)
        yield OneLine(id="plan")
        yield Reason(id="reason")

    @property
    def reason(self) -> Reason:
        return self.part(Reason, "reason")

    @property
    def address(self) -> str:
        return self.way.address or ""

    # --- states -------------------------------------------------------------------------------------

    def enter(self, state: str) -> None:
        """Change state; keys count again when it has been painted and 150 ms have gone by."""
        self.state = state
        self.scope = SCOPE_OF.get(state, "walker")
        self.painted = None
        self.draw()
        self.call_after_refresh(self.mark_painted)

    def mark_painted(self) -> None:
        self.painted = self.console_app.ticks.now()
        self.note_seen()

    def key(self, event: events.Key) -> None:
        if self.state in _TYPING and event.key != "enter":
            self.press(event.key, event.character)
        elif self.expecting and self.state not in _TYPING:
            if event.key != "enter":
                self.ahead.append(event)
        else:
            super().key(event)

    def pasted(self, event: events.Paste) -> None:
        if self.state in _TYPING and not self.small:
            self.reason.paste(event.text)
        elif self.expecting:
            self.ahead.append(event)

    def forgo(self) -> None:
        """No prompt comes: what was typed for it is dropped, and what follows at once as well."""
        if self.ahead:
            self.pressed = self.ahead[-1]
        self.expecting, self.ahead = False, []
        self.unhear()

    def early(self, event: events.Event) -> bool:
        if self.painted is None:
            return True
        return self.console_app.ticks.arrived(event) < self.painted + SETTLE_SECONDS

    def load(self) -> None:
        if not self.single:
            app = self.console_app
            if app.walk is None:
                app.walk = self.way
            else:
                self.way = app.walk
                self.way.resume(self.given)
            self.acts_before = self.way.acts
        self.take_up()

    def reload(self) -> None:
        """The file changed: what is being read may be decided by somebody else now."""
        if self.state == "read":
            self.ask_detail(self.reread)

    def take_up(self) -> None:
        """Read the recommendation in hand, or sum up when there is none left."""
        self.detail, self.plan, self.receipt, self.whole, self.seen_all = None, None, None, False, False
        self.choice, self.model_shown = 0, False
        self.expecting = self.single and self.way.place == 0
        self.reason.put_away()
        if self.way.address is None:
            self.enter("summary")
            return
        self.enter("reading")
        self.ask_detail(self.came)

    def ask_detail(self, done: Callable[[Detail], None]) -> None:
        address, destructive = self.address, self.destructive_allowed
        self.ask(
            "detail",
            lambda reviews: reviews.show(address, allow_destructive=destructive),
            done,
            self.unreadable,
        )

    @property
    def destructive_allowed(self) -> bool:
        return self.console_app.rights.tier == "DESTRUCTIVE"

    def came(self, detail: Detail) -> None:
        if not self.single and detail.status != "pending":
            self.tell_moved_on(detail, None)
            return
        self.detail, self.plan = detail, detail.plan
        self.enter("read")
        self.pager.scroll_to_line(0)
        if self.intent == "approve" and self.way.place == 0 and len(detail.recommendation.alternatives) > 1:
            # Which one is approved is said by a number (D20): the default is not taken for granted.
            self.forgo()
            key, last = (
                self.console_app.keymap.first("queue.approve"),
                len(detail.recommendation.alternatives) - 1,
            )
            self.say(f"0 to {last} chooses an alternative, {key} approves it; without a number 0")
        elif self.intent is not None and self.way.place == 0:
            # The intent was a key for this very recommendation; it still waits until the change was shown.
            self.call_after_refresh(self.choose, self.intent)

    def reread(self, detail: Detail) -> None:
        if self.state != "read":
            return
        if self.detail is not None and (
            detail.status != self.detail.status or detail.replaced_by != self.detail.replaced_by
        ):
            self.tell_moved_on(detail, None)
            return
        self.detail, self.plan = detail, detail.plan
        self.draw()

    def unreadable(self, fault: DejaError) -> None:
        if self.state in ("reading", "working"):
            self.forgo()
            self.notice = [line(Span("It cannot be read.", "warning"))]
            self.enter("notice")
        self.say_error(fault)

    # --- deciding -----------------------------------------------------------------------------------

    def choose(self, decision: str) -> None:
        """Begin a decision: it must be possible, and the change must have been on the screen."""
        detail = self.detail
        if detail is None:
            self.forgo()
            return
        why_not = refusal(decision, case_of(detail), self.console_app.rights, self.console_app.actor)
        if why_not:
            self.say(why_not, "warning")
            self.forgo()
            return
        change, seen = self.seen()
        left = None if self.seen_all or decision == "rollback" else unseen(len(change), seen)
        if left:
            self.pager.scroll_to_line(next(index for index in change if index not in self.pager.shown))
            self.note_seen()
            self.say(f"{left} ({self.console_app.keymap.first('queue.' + decision)})", "warning")
            self.forgo()
            return
        self.decision = decision
        # Kept as it was chosen: who decides meanwhile does not turn a rejection into a withdrawal.
        self.verb = "withdraw" if decision == "reject" and detail.status == "approved" else _SAID[decision]
        self.expecting = True
        if decision == "apply":
            address, destructive = self.address, self.destructive_allowed
            self.ask(
                "dry run",
                lambda reviews: reviews.dry_run(address, allow_destructive=destructive),
                self.planned,
                self.unplanned,
            )
        else:
            self.ask_reason()

    def unplanned(self, fault: DejaError) -> None:
        self.forgo()
        self.say_error(fault)

    def planned(self, plan: Plan) -> None:
        if not self.expecting:
            return
        self.plan = plan
        if plan.refusal is not None:
            self.draw()
            self.say("it cannot be applied now: " + plan.refusal, "warning")
            self.forgo()
            return
        self.ask_reason()

    def ask_reason(self) -> None:
        draft = self.way.draft
        kept = draft[2] if draft and draft[:2] == (self.address, self.decision) else ""
        self.reason.ask(f"{self.asked} BECAUSE", kept)
        self.enter("reason")
        self.expecting = False
        ahead, self.ahead = self.ahead, []
        for event in ahead:
            if self.state in _TYPING:
                self.take(event)

    @property
    def asked(self) -> str:
        """The decision as its prompt says it, with the number of an alternative that is not the default (D20)."""
        told = self.verb.upper()
        return f"{told} {self.choice}" if self.choice and self.decision == "approve" else told

    def picked(self, character: str | None) -> bool:
        """Whether a key is the number of an alternative; the next approval is then of that one (D20)."""
        body = self.detail.recommendation if self.state == "read" and self.detail else None
        if body is None or self.detail is None or self.detail.status != "pending" or not character:
            return False
        if not (character.isascii() and character.isdigit() and int(character) < len(body.alternatives)):
            return False
        self.choice = int(character)
        key = self.console_app.keymap.first("queue.approve")
        self.say(f"{key} approves {character}: {clean(body.alternatives[self.choice].label, 80)}")
        return True

    def press(self, key: str, character: str | None) -> None:
        if not self.small and self.picked(character):
            return
        if self.small or self.state not in _TYPING:
            if self.state != "working":
                super().press(key, character)
            return
        self.flash.clear()
        if key == "escape":
            self.clear_choice()
        elif key == "enter" or self.retried(key):
            self.retries = False
            self.submit()
        elif not self.reason.take(key, character):
            self.anywhere(key)

    def clear_choice(self) -> None:
        """Esc: nothing is decided, and the reason goes with the choice; from the address back to the reason."""
        if self.state == "confirm":
            self.reason.ask(f"{self.asked} BECAUSE", self.because)
            self.enter("reason")
            return
        self.reason.put_away()
        self.way.draft = None
        self.enter("receipt" if self.receipt is not None else "read")

    def submit(self) -> None:
        if self.state == "confirm":
            if self.reason.text.strip().lower() == self.address[:ASKED_DIGITS]:
                self.record()
            else:
                self.say(f"these are not the first {ASKED_DIGITS} characters of its address", "warning")
            return
        why_not = self.console_app.sitting.refusal(self.reason.text)
        if why_not:
            self.say(why_not, "warning")
            return
        self.because = self.reason.text
        if self.decision == "apply" and self.detail is not None and case_of(self.detail).destructive:
            self.reason.ask(f"CANNOT BE UNDONE. First {ASKED_DIGITS} characters of its address", limit=None)
            self.enter("confirm")
            return
        self.record()

    def record(self) -> None:
        """Have the one decision about the one address carried out."""
        work = told.carried_out(
            self.verb, self.address, self.because.strip(), self.destructive_allowed, self.choice
        )
        self.enter("working")
        self.ask("act", work, self.recorded, self.refused)

    def recorded(self, receipt: Receipt) -> None:
        self.console_app.sitting.record(self.because)
        self.console_app.receipts.append(receipt)
        self.way.receipts.append(receipt)
        self.way.draft = None
        self.receipt = receipt
        if self.detail is not None:
            chosen = self.choice if receipt.to_status == "approved" else self.detail.choice
            plan = self.detail.plan if receipt.to_status == "approved" else None
            self.detail = replace(self.detail, status=receipt.to_status, choice=chosen, plan=plan)
        self.reason.put_away()
        self.enter("receipt")
        if receipt.to_status == "approved" and self.console_app.rights.may("apply"):
            address, destructive = self.address, self.destructive_allowed
            self.ask(
                "dry run",
                lambda reviews: reviews.dry_run(address, allow_destructive=destructive),
                self.planned_after,
            )

    def planned_after(self, plan: Plan) -> None:
        self.plan = plan
        if self.state == "receipt":
            self.draw()

    def refused(self, fault: DejaError) -> None:
        """The engine said no: either somebody was faster, or the reason stays in the row for another try."""
        if fault.code in MOVED_ON:
            self.ask_detail(lambda detail: self.tell_moved_on(detail, fault))
            return
        self.enter("confirm" if self.reason.limit is None else "reason")
        self.say_typed(fault)

    def tell_moved_on(self, detail: Detail, fault: DejaError | None) -> None:
        """Say who decided meanwhile, and offer the next one."""
        self.notice = told.moved_on(self.detail, detail, fault)
        self.detail = detail
        self.forgo()
        if detail.replaced_by is not None:
            self.follow(detail.replaced_by, typed=fault is not None)
        else:
            self.way.draft = None
        self.reason.put_away()
        self.receipt = None
        self.enter("notice")

    def follow(self, newer: str, *, typed: bool) -> None:
        """The finding goes on under another address: it comes next, with the reason that was typed for this one."""
        if newer not in self.way.addresses:
            self.way.addresses.insert(self.way.place + 1, newer)
        kept = typed and bool(self.because)
        self.way.draft = (newer, self.decision, self.because) if kept else None
        self.notice += told.refreshed(newer, kept=kept)

    # --- drawing ------------------------------------------------------------------------------------

    def draw(self) -> None:
        self.draw_title()
        self.draw_hints()
        detail = self.detail
        who: Line = shown.identity(detail, self.app.size.width, status=self.single) if detail else ()
        self.part(OneLine, "who").show(who if self.state != "summary" else ())
        shows_plan = self.plan is not None and self.state in _READING
        self.part(OneLine, "plan").show(self.plan_row() if shows_plan else ())
        self.set_class(self.state in _READING, "-reading")
        room = self.app.size.width
        if self.state == "summary":
            self.pager.show(told.summing_up(self.way, self.console_app.keymap.first("queue.walk"), room))
        elif self.state == "receipt" and self.receipt is not None:
            self.pager.show(self.receipt_lines(self.receipt, room))
        elif self.state == "notice":
            self.pager.show(told.notice_lines(self.notice, self.detail, room))
        elif detail is not None:
            self.draw_detail()
        else:
            self.pager.show([line(Span("reading …", "dim"))])

    def plan_row(self) -> Line:
        """What an apply would do now, on one row."""
        if self.plan is None:
            return ()
        key = self.console_app.keymap.first("queue.dry_run") if self.state == "read" else ""
        return shown.plan_row(self.plan, self.app.size.width, key)

    def draw_detail(self) -> None:
        if self.detail is None or self.state in SCOPE_OF:
            return
        side = self.part(Pager, "beside") if self.wide else None
        model = ModelText(self.console_app.keymap.first("detail.model"), self.model_shown)
        now_ms, room = self.console_app.now_ms(), self.main_room
        fill(self.detail, now_ms, self.pager, room, side, whole=self.whole, model=model)
        self.note_seen()

    def draw_title(self) -> None:
        if self.single:
            left = line(Span("deja review", "strong"), f"  {self.verb or _SAID[self.intent or 'approve']}")
        else:
            left = self.way.title(self.title_room)
        self.set_title(left)

    def draw_hints(self) -> None:
        if self.state in _TYPING:
            does = "forgets for good" if self.state == "confirm" else "records"
            keys = [Hint("Enter", does), Hint("Esc", "clears the choice"), Hint("^u", "empties")]
            self.part(Hints, "hints").show_hints(keys)
            return
        if self.state == "working":
            self.part(Hints, "hints").show_hints([Hint("", "recording …", on=False)])
            return
        detail = self.detail if self.state != "summary" else None
        case = case_of(detail) if detail else None
        if self.state == "summary":
            self.set_hints(without=("walk",) if self.way.address is None else (), words={"walk": "go on"})
            return
        if self.single and self.scope == "receipt":
            self.set_hints(case, without=("back",), words={"next": self.onward})
        elif self.single:
            self.set_hints(case, without=("skip",))
        else:
            self.set_hints(case, words={"back": "leave"})

    def seen(self) -> tuple[range, int]:
        """The lines of the change in the pager, and how many of them were on the screen."""
        starts, pager = self.pager.starts, self.pager
        if "change" not in starts:
            return range(0), 0
        first = starts["change"] + 1
        later = [place for place in starts.values() if place >= first]
        change = range(first, min(later) if later else len(pager.lines))
        return change, sum(1 for index in change if index in pager.shown)

    def note_seen(self) -> None:
        """Keep the heading of the change in step with what was on the screen."""
        if self.detail is None or self.state in SCOPE_OF or "change" not in self.pager.starts:
            return
        change, seen = self.seen()
        total = len(change)
        self.seen_all = self.seen_all or seen >= total
        title = f"Change, literal, {total if self.seen_all else seen} of {plural(total, 'line')} seen"
        self.pager.replace_line(change.start - 1, heading(title, self.main_room))

    def receipt_lines(self, receipt: Receipt, room: int) -> list[Line]:
        """The receipt, and what may be done next."""
        left = len(self.way.addresses) - self.way.place - 1
        after = f"next recommendation, {left} left" if left else "end of the walk"
        leads = self.onward if self.single else after
        console = self.console_app
        return told.receipt_lines(
            receipt, self.detail, self.plan, leads, console.keymap, console.rights, room
        )

    @property
    def onward(self) -> str:
        """Where Enter leads after a single decision: back, or to what the finding became meanwhile."""
        return "next" if self.way.place + 1 < len(self.way.addresses) else "back"

    # --- what keys do -------------------------------------------------------------------------------

    def scrolled(self) -> None:
        self.note_seen()

    def do_approve(self) -> None:
        self.choose("approve")

    def do_reject(self) -> None:
        self.choose("reject")

    def do_apply(self) -> None:
        if self.state == "receipt":
            self.seen_all = True
        self.choose("apply")

    def do_rollback(self) -> None:
        self.choose("rollback")

    def do_mark_applied(self) -> None:
        if self.state == "receipt":
            self.seen_all = True
        self.choose("mark_applied")

    def do_next(self) -> None:
        if self.single and self.onward == "back":
            self.dismiss()
            return
        self.way.place += 1
        self.take_up()

    def do_grains(self) -> None:
        """The grains it has to do with, each a page of its own; the walk goes on from here."""
        from deja_tui.screens.grain import GrainsScreen

        if self.state == "read" and self.detail is not None:
            self.app.push_screen(GrainsScreen(self.detail), lambda _: self.reload())

    def do_skip(self) -> None:
        if self.single:
            self.dismiss()
        elif self.state == "read":
            self.way.skipped.add(self.address)
            self.do_next()

    def do_close(self) -> None:
        self.finish()

    def do_walk(self) -> None:
        """From the sum of a walk that was left: go on with it."""
        if self.way.address is not None:
            self.acts_before = self.way.acts
            self.take_up()

    def do_back(self) -> None:
        self.finish()

    def do_quit(self) -> None:
        self.finish()

    def finish(self) -> None:
        """Leave, with the sum of what was done first; the next walk goes on where this one stopped, or begins anew."""
        if not self.single and self.state in ("receipt", "notice"):
            self.way.place += 1
        if not self.single and self.state != "summary" and self.way.acts > self.acts_before:
            self.detail, self.plan, self.receipt = None, None, None
            self.enter("summary")
            return
        if not self.single and self.way.address is None:
            self.console_app.walk = None
        self.dismiss()

    def do_evidence(self) -> None:
        self.pager.go("evidence")
        self.note_seen()

    def do_trail(self) -> None:
        if not self.pager.go("trail"):
            self.part(Pager, "beside").go("trail")
        self.note_seen()

    def do_model(self) -> None:
        """Show or hide what a model or a command wrote in its own words."""
        if self.detail is None or shown.own_words(self.detail) is None:
            self.say("nothing here was written by a model")
            return
        self.model_shown = not self.model_shown
        self.draw_detail()
        self.pager.go("model")
        self.note_seen()

    def do_whole(self) -> None:
        self.whole = not self.whole
        self.draw_detail()
        self.pager.go("evidence")
        self.note_seen()

    def do_dry_run(self) -> None:
        address, destructive = self.address, self.destructive_allowed
        self.ask(
            "dry run",
            lambda reviews: reviews.dry_run(address, allow_destructive=destructive),
            lambda plan: self.flash.show_line(line(" ", shown.plan(plan))),
        )

    def do_copy(self) -> None:
        self.copy(self.receipt.audit if self.receipt else self.address, "address")

    def cal_of_panel(self) -> str:
        """The chain after a decision, the recommendation before."""
        if self.state == "summary" or not self.address:
            return ""
        return trail_statement(self.address) if self.receipt is not None else statement(self.address)

    def do_command(self) -> None:
        self.copy(command_line(self.console_app.file, self.address), "command line")
