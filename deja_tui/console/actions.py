# SPDX-License-Identifier: Apache-2.0
"""The one table of what a person can do in the console, and the rights it needs.

Key bindings, hint rows and the help page all read this table, so none of them can promise what another does not do.
An action is handled by the screen method named after the part behind the dot: ``queue.approve`` by ``do_approve``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

# The states a key can be pressed in. A reason or a filter being typed takes keys as text and is none of them.
SCOPES: Final = (
    "overview",
    "sessions",
    "session",
    "setup",
    "starter",
    "whole",
    "queue",
    "analyzers",
    "analyzer",
    "detail",
    "walker",
    "outcomes",
    "query",
    "receipt",
    "summary",
    "memories",
    "grain",
    "grains",
    "graph",
    "document",
    "help",
)
READING: Final = SCOPES
# The screens that have a number: each is a place of its own, the others stand on one of them.
PLACES: Final = (
    ("overview", "1", "Overview"),
    ("sessions", "2", "Sessions"),
    ("queue", "3", "Queue"),
    ("analyzers", "4", "Analyzers"),
    ("outcomes", "5", "Outcomes"),
    ("setup", "6", "Setup"),
    ("memories", "7", "Memories"),
    ("query", "8", "Query"),
)
PLACE_SCOPES: Final = tuple(name for name, _, _ in PLACES)
FROM_HERE: Final = (*PLACE_SCOPES, "session", "detail", "analyzer", "grain", "grains", "graph")
GRAIN_PAGES: Final = ("memories", "grain", "grains", "graph", "document")
# States that show something of the memory, which can be copied: an address, a statement, a command line.
COPYING: Final = tuple(scope for scope in SCOPES if scope not in ("help", "summary"))
# States with an own meaning of v, and states in which / narrows the list instead of looking for a text in it.
_OWN_WHOLE: Final = ("session", "setup")
_NARROWED: Final = ("sessions", "session", "queue", "query", "memories")
FINDING: Final = tuple(
    scope
    for scope in SCOPES
    if scope not in (*_NARROWED, "receipt", "summary", "document", "grains", "starter")
)


@dataclass(frozen=True, slots=True)
class Action:
    """Something a key does.

    Attributes:
        id: stable name, used in key map files.
        keys: default keys; a printable key is the character itself, others are named (``enter``, ``ctrl+d``).
        title: what it does, for the help page.
        scopes: the states it exists in.
        right: the right it needs (D17); ``read`` is always held.
        hint: short words for the hint row; empty: not hinted.
    """

    id: str
    keys: tuple[str, ...]
    title: str
    scopes: tuple[str, ...]
    right: str = "read"
    hint: str = ""

    @property
    def handler(self) -> str:
        """The name of the screen method that does it."""
        return "do_" + self.id.rpartition(".")[2]


# In these ] and [ lead to other things than sections.
SECTIONLESS: Final = ("sessions", "session", "setup")
SECTIONED: Final = tuple(scope for scope in READING if scope not in SECTIONLESS)


ACTIONS: Final[tuple[Action, ...]] = (
    Action("sessions.open", ("enter", "l", "right"), "open the timeline", ("sessions",), hint="timeline"),
    Action(
        "session.open",
        ("enter", "l", "right"),
        "open the recommendation that cites it, or else every field",
        ("session",),
        hint="open",
    ),
    Action("session.whole", ("v",), "every field of the event", ("session",), hint="all fields"),
    Action("sessions.next_error", ("]",), "next error", ("sessions", "session"), hint="next error"),
    Action("sessions.previous_error", ("[",), "previous error", ("sessions", "session")),
    Action("sessions.errors", ("f",), "errors only, or all", ("sessions", "session"), hint="errors only"),
    Action(
        "setup.open",
        ("enter", "l", "right"),
        "do it, where it is for deja to do: a document, queries, a verification",
        ("setup",),
        hint="do it",
    ),
    Action(
        "setup.copy", ("y",), "send the lines to the terminal's clipboard", ("setup", "whole"), hint="copy"
    ),
    Action("setup.whole", ("v",), "the whole lines", ("setup",), hint="whole"),
    Action("setup.next_snippet", ("]",), "lines for another agent or system", ("setup",), hint="other lines"),
    Action("setup.previous_snippet", ("[",), "the lines before those", ("setup",)),
    Action("setup.stop", ("escape", "h", "left"), "stop what runs at its next pause", ("setup",)),
    Action("starter.save", ("enter",), "save it as it is shown", ("starter",), "write", "save"),
    Action("starter.other", ("o",), "that of another template", ("starter",), hint="other template"),
    Action("queue.open", ("enter", "l", "right"), "open the recommendation", ("queue",), hint="open"),
    Action(
        "overview.open", ("enter", "l", "right"), "open what the row is about", ("overview",), hint="open"
    ),
    Action(
        "outcomes.open",
        ("enter", "l", "right"),
        "open the audit trail, or the analyzer",
        ("outcomes",),
        hint="trail",
    ),
    Action("analyzers.open", ("enter", "l", "right"), "open its settings", ("analyzers",), hint="settings"),
    Action(
        "analyzers.edit",
        ("enter", "l", "right"),
        "change a setting, asks BECAUSE",
        ("analyzer",),
        "admin",
        "change",
    ),
    Action(
        "analyzers.switch",
        ("space",),
        "switch an analyzer on or off, asks BECAUSE",
        ("analyzers", "analyzer"),
        "admin",
        "on/off",
    ),
    Action(
        "analyzers.found",
        ("e",),
        "what it left in the queue",
        ("overview", "analyzers", "analyzer"),
        hint="found",
    ),
    Action(
        "queue.walk",
        ("w",),
        "walk through the pending recommendations, one by one",
        ("queue", "overview", "summary"),
        hint="walk",
    ),
    Action(
        "analyzers.look",
        ("d",),
        "dry run of the selected analyzer: what it would propose now",
        ("analyzers", "analyzer"),
        hint="dry run",
    ),
    Action(
        "outcomes.revert",
        ("u",),
        "propose to take back what was applied, asks BECAUSE",
        ("outcomes",),
        "write",
        "take back",
    ),
    Action(
        "overview.run",
        ("R",),
        "run the analyzers, or the selected one, at most 5 seconds",
        ("overview", "queue", "analyzers", "analyzer"),
        "write",
        "run",
    ),
    Action(
        "overview.stop", ("escape", "h", "left"), "stop a run at its next pause", ("overview", "analyzers")
    ),
    Action(
        "overview.sort",
        ("o",),
        "sort: as they come, most first, by name",
        ("overview", "analyzers", "outcomes"),
        hint="sort",
    ),
    Action("overview.verify", ("V",), "verify file and audit chains", ("overview",), hint="verify"),
    Action(
        "queue.approve", ("a",), "approve, asks BECAUSE", ("queue", "detail", "walker"), "review", "approve"
    ),
    Action(
        "queue.reject",
        ("x",),
        "reject, or withdraw an approval, asks BECAUSE",
        ("queue", "detail", "walker"),
        "review",
        "reject",
    ),
    Action(
        "queue.apply",
        ("p",),
        "apply what is approved, asks BECAUSE",
        ("queue", "detail", "receipt"),
        "apply",
        "apply",
    ),
    Action(
        "queue.rollback",
        ("u",),
        "roll back what is applied, asks BECAUSE",
        ("queue", "detail", "receipt"),
        "apply",
        "undo",
    ),
    Action(
        "queue.mark_applied",
        ("P",),
        "note that a change outside this memory was made, asks BECAUSE",
        ("queue", "detail", "receipt"),
        "apply",
        "mark done",
    ),
    Action("query.type", ("i",), "type a statement", ("query",), hint="type"),
    Action(
        "query.open", ("enter", "l", "right"), "open the row, or run the saved query", ("query",), hint="open"
    ),
    Action("query.explain", ("e",), "how it was carried out (EXPLAIN), and back", ("query",), hint="explain"),
    Action("query.edit", ("E",), "edit the saved query", ("query",), hint="edit"),
    Action(
        "query.define", ("D",), "save the statement as a query (DEFINE QUERY)", ("query",), "write", "save"
    ),
    Action(
        "query.back",
        ("h", "left", "escape"),
        "stop what runs, leave a page, or clear the filter",
        ("query",),
    ),
    Action("walker.next", ("enter", "l", "right"), "next recommendation", ("receipt",), hint="next"),
    Action(
        "walker.close",
        ("enter", "h", "left", "escape"),
        "back to the queue",
        ("summary",),
        hint="back to the queue",
    ),
    Action("walker.skip", ("s",), "skip, decide later", ("walker",), hint="skip"),
    Action(
        "queue.status",
        ("f",),
        "next status: pending, approved, rejected, applied, rolled back, expired, all",
        ("queue",),
        hint="status",
    ),
    Action(
        "queue.dry_run",
        ("d",),
        "dry run: what an apply would do now",
        ("queue", "detail", "walker"),
        hint="dry run",
    ),
    Action(
        "detail.whole",
        ("enter", "l", "right"),
        "every field of the evidence, or its rows",
        ("detail", "walker"),
        hint="all fields",
    ),
    Action("detail.model", ("m",), "show or hide model-written text", ("detail", "walker")),
    Action("queue.evidence", ("e",), "evidence", ("queue", "detail", "walker"), hint="evidence"),
    Action("queue.trail", ("t",), "audit trail", ("queue", "detail", "walker"), hint="trail"),
    Action(
        "queue.filter", ("/",), "filter by text", ("sessions", "session", "queue", "query"), hint="filter"
    ),
    Action("queue.sort", ("o",), "sort: severity, newest, most evidence", ("queue",), hint="sort"),
    Action(
        "queue.clear",
        ("h", "left", "escape"),
        "clear the filter",
        (
            "sessions",
            "queue",
        ),
    ),
    Action("memories.open", ("enter", "l", "right"), "open the grain", ("memories",), hint="open"),
    Action(
        "grain.open",
        ("enter", "l", "right"),
        "open what the line leads to",
        ("grain", "grains", "graph"),
        hint="open",
    ),
    Action("grain.next_link", ("tab",), "next line that leads on", ("grain", "grains", "graph"), hint="link"),
    Action(
        "grain.previous_link", ("shift+tab",), "previous line that leads on", ("grain", "grains", "graph")
    ),
    Action("memories.filter", ("/",), "search, or an address", ("memories",), hint="filter"),
    Action("memories.view", ("f",), "next view: all, live, superseded, …", ("memories",), hint="view"),
    Action("memories.kind", ("F",), "next type of grain", ("memories",), hint="type"),
    Action("memories.sort", ("o",), "sort: newest, oldest, by subject", ("memories",), hint="sort"),
    Action("memories.clear", ("h", "left", "escape"), "clear the filter", ("memories",)),
    Action(
        "memories.graph",
        ("i",),
        "what surrounds the subject, a fact a line",
        ("memories", "grain", "graph"),
        hint="around",
    ),
    Action("graph.deeper", ("+",), "one step further", ("graph",), hint="further"),
    Action("graph.nearer", ("-",), "one step less", ("graph",), hint="less"),
    Action("memories.edit", ("E",), "edit the document", ("memories", "grain"), "write", "edit"),
    Action("document.save", ("enter",), "save as the next version", ("document",), "write", "save"),
    Action("document.again", ("e",), "edit on", ("document",), hint="edit on"),
    Action(
        "detail.grains",
        ("o",),
        "the grains it changes, wrote and rests on",
        ("detail", "walker"),
        hint="grains",
    ),
    *(Action(f"go.{name}", (key,), title, FROM_HERE) for name, key, title in PLACES),
    Action(
        "detail.back",
        ("h", "left", "escape"),
        "back",
        ("session", "starter", "whole", "detail", "help", "walker", "receipt", "analyzer", *GRAIN_PAGES[1:]),
        hint="back",
    ),
    Action("move.down", ("j", "down"), "down", READING),
    Action("move.up", ("k", "up"), "up", READING),
    Action("move.first", ("g", "home"), "first", READING),
    Action("move.last", ("G", "end"), "last", READING),
    Action("move.page_down", ("ctrl+d", "pagedown"), "page down", READING),
    Action("move.page_up", ("ctrl+u", "pageup"), "page up", READING),
    Action("move.find", ("/",), "find a text", FINDING),
    Action("move.next_match", ("n",), "next match", FINDING),
    Action("move.previous_match", ("N",), "previous match", FINDING),
    Action("move.next_section", ("]",), "next section", SECTIONED),
    Action("move.previous_section", ("[",), "previous section", SECTIONED),
    Action(
        "app.copy",
        ("y",),
        "send the address to the terminal's clipboard",
        ("sessions", "session", "queue", "detail", "walker", "outcomes", "query", *GRAIN_PAGES),
    ),
    Action(
        "app.command",
        ("C",),
        "send the command line to the terminal's clipboard",
        (
            "sessions",
            "session",
            "setup",
            "queue",
            "detail",
            "walker",
            "overview",
            "analyzers",
            "analyzer",
            "outcomes",
            "query",
            *GRAIN_PAGES,
        ),
    ),
    Action("app.copy_cal", ("Y",), "send the CAL that reads this panel to the terminal's clipboard", COPYING),
    Action("app.reload", ("r",), "read again", FROM_HERE),
    Action("app.palette", (":",), "find an action by its words", READING),
    Action(
        "app.pager",
        ("v",),
        "the whole text in your pager (PAGER)",
        tuple(scope for scope in READING if scope not in _OWN_WHOLE),
    ),
    Action("app.mouse", ("M",), "mouse on or off", READING),
    Action("app.theme", ("T",), "next theme", READING),
    Action("app.help", ("?",), "help", tuple(scope for scope in READING if scope != "help"), hint="help"),
    Action("app.repaint", ("ctrl+l",), "repaint", READING),
    Action("app.suspend", ("ctrl+z",), "suspend", READING),
    Action("app.quit", ("q",), "back, then quit", READING, hint="quit"),
)
BY_ID: Final = {action.id: action for action in ACTIONS}

RIGHTS: Final = ("read", "write", "review", "apply", "admin")


@dataclass(frozen=True, slots=True)
class Rights:
    """What the person at this console may do (D17, D18). ``scopes`` None: every right."""

    scopes: frozenset[str]
    read_only: bool = False
    allow_destructive: bool = False

    @classmethod
    def of(
        cls, scopes: Iterable[str] | None, *, read_only: bool = False, allow_destructive: bool = False
    ) -> Rights:
        return cls(frozenset(RIGHTS if scopes is None else scopes), read_only, allow_destructive)

    def may(self, right: str) -> bool:
        """Whether a right is held; ``admin`` holds every other, read only leaves reading."""
        if right == "read":
            return True
        return not self.read_only and (right in self.scopes or "admin" in self.scopes)

    @property
    def tier(self) -> str:
        """READ-ONLY, REVIEW, APPLY or DESTRUCTIVE: how far decisions go here."""
        if not self.may("review"):
            return "READ-ONLY"
        if not (self.may("apply") and self.may("write")):
            return "REVIEW"
        return "DESTRUCTIVE" if self.may("admin") and self.allow_destructive else "APPLY"

    @property
    def writes(self) -> bool:
        """Whether the separate right to write is held (the ``w`` of the title, D18)."""
        return self.may("write")

    def missing(self, right: str) -> str | None:
        """Why something that needs ``right`` is off, naming the flag, or None when it is on."""
        lacking = self.lacking(right)
        if lacking is None:
            return None
        given = "" if self.read_only else ", given with --scopes"
        return f"off: {self.why_off}; this needs the right `{lacking}`{given}"

    def lacking(self, right: str) -> str | None:
        """The first right that is missing for something that needs ``right``, or None."""
        needed = ("apply", "write") if right == "apply" else (right,)
        return next((name for name in needed if not self.may(name)), None)

    @property
    def why_off(self) -> str:
        """What takes rights away here: the flag, or the tier that the scopes make."""
        if self.read_only:
            return "this console is READ-ONLY (--read-only, or the file cannot be written)"
        return f"this console is {self.tier}"


# --- when a decision is possible --------------------------------------------------------------------

DECISIONS: Final = ("approve", "reject", "apply", "rollback", "mark_applied")
_FROM: Final = {
    "approve": ("pending",),
    "reject": ("pending", "approved"),
    "apply": ("approved",),
    "rollback": ("applied",),
    "mark_applied": ("approved",),
}
_NEEDS: Final = {
    "approve": "only a pending recommendation can be approved",
    "reject": "only a pending or approved recommendation can be rejected",
    "apply": "only an approved recommendation can be applied",
    "rollback": "only an applied recommendation can be rolled back",
    "mark_applied": "only an approved recommendation can be marked as done",
}


@dataclass(frozen=True, slots=True)
class Case:
    """What is known of a recommendation when a key is pressed. ``verified`` and ``creator`` None: not read yet."""

    status: str
    foreign: bool = False
    destructive: bool = False
    rollbackable: bool = True
    verified: bool | None = None
    creator: str | None = None
    replaced_by: str | None = None
    outside: bool = False  # the change is not this memory's to make (D27)


def fits(decision: str, status: str) -> bool:
    """Whether a decision can follow this status at all."""
    return status in _FROM[decision]


def offered(verb: str, case: Case | None) -> bool:
    """Whether a key is worth a hint: a decision only where it can follow the status, a dry run while it is open."""
    if verb in ("apply", "mark_applied") and case is not None and case.outside is (verb == "apply"):
        return False
    if verb == "rollback" and case is not None and not case.rollbackable:
        return False
    if verb in DECISIONS:
        return case is not None and fits(verb, case.status)
    return verb != "dry_run" or (case is not None and case.status in ("pending", "approved"))


def refusal(decision: str, case: Case, rights: Rights, actor: str) -> str | None:
    """Why a decision cannot be made, as one sentence, or None. The engine checks again; this only saves typing."""
    missing = rights.missing(BY_ID[f"queue.{decision}"].right)
    if missing:
        return missing
    if case.foreign:
        return "it came from another copy of this memory: history here, not decided here"
    if case.replaced_by is not None:
        return f"the finding was refreshed since: the newer one is {case.replaced_by[:8]}"
    if not fits(decision, case.status):
        return f"{_NEEDS[decision]}: this one is {case.status.replace('_', ' ')}"
    if decision == "mark_applied" and not case.outside:
        return "its change is this memory's own: it is applied, not marked"
    if decision == "apply" and case.outside:
        return "its change lies outside this memory: make it there, then mark it as done"
    if case.verified is False:
        return "its audit chain does not verify: decisions are off"
    if decision == "approve" and case.creator == actor:
        return "nobody approves what they created: ask another reviewer"
    if decision == "apply" and case.destructive and rights.tier != "DESTRUCTIVE":
        return "it cannot be undone: that needs the right admin and --allow-destructive"
    if decision == "rollback" and not case.rollbackable:
        return "this apply has no inverse: what was forgotten is gone"
    return None
