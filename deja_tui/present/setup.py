# SPDX-License-Identifier: Apache-2.0
"""The page of what is set up: a row a thing, ``ok`` or ``todo`` by what the file says, and the lines that do it (D55).

Lines that belong into another program are printed, never installed: they are copied from here and pasted by a person.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from deja_tui.capture import schedule, wiring, wiring_mcp
from deja_tui.capture.starters import NewDocument, NewQueries
from deja_tui.engine.doc_edits import diff_of
from deja_tui.engine.operations import DefineQuery, DocEdit, digest
from deja_tui.engine.policy import Policy
from deja_tui.errors import DejaError
from deja_tui.present.edits import defined, edited
from deja_tui.present.health import verified
from deja_tui.present.line import Line, Span, heading, joined, line, pad, wrapped
from deja_tui.present.words import LITERAL_LIMIT, fenced, named, plural
from deja_tui.standing import Standing
from deja_tui.text import DAY_MS, HOUR_MS, age, clean

OK: Final = "ok"
UNDONE: Final = "todo"
NEITHER: Final = "-"
# An agent of which nothing came for so long may not be connected any more.
QUIET_MS: Final = 7 * DAY_MS
EVERY_MS: Final = 6 * HOUR_MS
_STATE: Final = 5
_TITLE: Final = 16
_MEANINGS: Final[Mapping[str, str]] = {OK: "ok", UNDONE: "warning", NEITHER: "dim"}


@dataclass(frozen=True, slots=True)
class Snippet:
    """Lines to be copied: what they are for, the file they belong into, and the command that prints them."""

    name: str
    place: str
    lines: tuple[str, ...]
    command: str

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Row:
    """One thing to set up.

    Attributes:
        key: a stable word. state: `OK`, `UNDONE` or `NEITHER`. told: what the file says.
        act: what Enter does, "" nothing. right: the right that needs. why: what it is for, and what is usually wrong.
    """

    key: str
    title: str
    state: str
    told: Line
    why: str
    snippets: tuple[Snippet, ...]
    act: str = ""
    right: str = "read"


def rows(found: Standing, file: str, *, faults: int | None = None) -> list[Row]:
    """Every row, in the order in which one sets a memory up. ``faults``: what a verification of this sitting found."""
    told = _Told(found, file)
    return [
        told.namespaces(),
        told.document(),
        told.queries(),
        _unless_unnameable(told.capture, "capture", "capture wired"),
        told.analyzers(),
        told.policy(),
        told.embeddings(),
        _unless_unnameable(told.schedule, "schedule", "schedule"),
        told.integrity(faults),
    ]


def _unless_unnameable(row: Callable[[], Row], key: str, title: str) -> Row:
    """A row with lines for other programs; where no such line can name the file, the row says that and what helps."""
    try:
        return row()
    except DejaError as fault:
        return Row(key, title, UNDONE, line(clean(fault.message)), f"{clean(fault.next_step or '')}.", ())


class _Told:
    """The rows of one reading."""

    def __init__(self, found: Standing, file: str) -> None:
        self.found = found
        self.file = file
        self.db = f"--db {shlex.quote(file)}"
        self.deja = shlex.join(wiring.program())

    def namespaces(self) -> Row:
        found = self.found
        spaces = joined(
            (line(named(name), f" {count:,}") for name, count in list(found.namespaces.items())[:6]), ", "
        )
        more = f", and {len(found.namespaces) - 6} more" if len(found.namespaces) > 6 else ""
        return Row(
            "namespaces",
            "namespaces",
            OK if found.namespaces else UNDONE,
            line(f"{len(found.namespaces)} with grains: ", spaces, more)
            if found.namespaces
            else line("none holds a grain yet; what is written goes to ", named(found.namespace)),
            "Plain writes and reads use the namespace that the file declares, else shared. Here: "
            f"{clean(found.namespace, 80)}.",
            (
                self._line("declare one", "a shell", f"declare namespace NAME --because WHY {self.db}"),
                self._line("begin from a template", "a shell", f"init --template coding-agent {self.db}"),
            ),
        )

    def document(self) -> Row:
        there = self.found.documents
        told = (
            joined((line(named(path), Span(" in ", "dim"), named(space)) for space, path in there), ", ")
            if there
            else line("none: no text here that an agent reads first")
        )
        path = there[0][1] if there else "/memories/instructions.md"
        return Row(
            "document",
            "instruction doc",
            OK if there else UNDONE,
            told,
            "The document an agent reads first. Approved lessons may become lines of it; every version is kept.",
            (
                self._line("look at it", "a shell", f"doc view {shlex.quote(path)} {self.db}")
                if there
                else self._line("from a file of yours", "a shell", f"doc create {path} FILE {self.db}"),
            ),
            "" if there else "shows what a template would write; nothing is written before you save it",
            "write",
        )

    def queries(self) -> Row:
        names = self.found.queries
        return Row(
            "queries",
            "saved queries",
            OK if names else UNDONE,
            line(f"{len(names)}: ", joined((line(named(name)) for name in names[:8]), ", "))
            if names
            else line("none yet"),
            'Named statements with parameters that agents and people run: RUN "failed calls" ($n = 5).',
            (
                self._line("list them", "a shell", f"cal 'DESCRIBE QUERIES' {self.db}"),
                self._line(
                    "define one",
                    "a shell",
                    f"cal 'DEFINE QUERY \"name\" AS {{ RECALL facts LIMIT 20 }}' {self.db}",
                ),
            ),
            "shows the queries that a template would define" if not names else "",
            "write",
        )

    def capture(self) -> Row:
        found = self.found
        count = found.events + found.tools
        hooked = f", a hook follows {plural(found.followed, 'transcript')}" if found.followed else ""
        waits = f"; {plural(found.spooled, 'capture')} wait for the next writer" if found.spooled else ""
        if not count:
            state, told = UNDONE, "0 events: not pasted, or binary not on PATH"
        elif found.last is not None and found.at - found.last >= QUIET_MS:
            ago = age(found.at - found.last)
            state, told = UNDONE, f"{count:,} events, none for {ago}: is the agent still connected?"
        else:
            ago = age(max(0, found.at - (found.last or 0)))
            state, told = OK, f"{count:,} events, the last {ago} ago{hooked}"
        on_path = (
            ""
            if shutil.which("deja")
            else " `deja` is not on the PATH of this console: the lines name it whole."
        )
        return Row(
            "capture",
            "capture wired",
            state,
            line(told + waits),
            "Your agent sends what it does. A hook does not look where your shell looks, so the lines name the program "
            f"and this file by their whole paths.{on_path}",
            (
                Snippet(
                    "claude-code",
                    wiring.PLACES["claude-code"],
                    tuple(wiring.claude_code(self.file)),
                    f"deja hook print claude-code {self.db}",
                ),
                self._framework("python", wiring.python(self.file)),
                self._framework("openai", wiring.openai(self.file)),
                Snippet(
                    "mcp",
                    wiring.PLACES["mcp"],
                    tuple(wiring_mcp.mcp(self.file)),
                    f"deja hook print mcp {self.db}",
                ),
            ),
        )

    def analyzers(self) -> Row:
        found = self.found
        return Row(
            "analyzers",
            "analyzers",
            OK if found.on else UNDONE,
            line(f"{found.on} of {found.analyzers} take part in runs"),
            "What looks for findings. Each says why it does or does not fire.",
            (
                self._line("as they stand", "a shell", f"loop analyzers {self.db}"),
                self._line("run them now", "a shell", f"loop run {self.db}"),
            ),
            "goes to the analyzers",
        )

    def policy(self) -> Row:
        policy = self.found.policy
        if policy is None:
            told = "no file is named: nothing is applied unasked"
        else:
            grants = "nothing is applied unasked" if not policy.auto_apply_enabled else "applies unasked: "
            names = ", ".join(one.analyzer for one in policy.auto_apply) if policy.auto_apply_enabled else ""
            denied = f", {plural(len(policy.deny), 'denial')}" if policy.deny else ""
            told = f"{grants}{clean(names, 120)}{denied}, telemetry {policy.telemetry}"
        solo = json.dumps(Policy().to_plain(), indent=2).splitlines()
        return Row(
            "policy",
            "policy",
            OK,
            line(told),
            "A file of this machine, not of the memory: what may be applied unasked, what is denied, what is counted. "
            "Save the lines and name the file in DEJA_LOOP_POLICY or with --policy.",
            (
                Snippet("solo: grants nothing", "policy.json", tuple(solo), f"deja loop policy {self.db}"),
                Snippet(
                    "name the file", "the profile of your shell", ("export DEJA_LOOP_POLICY=/path/to/policy.json",),
                    f"deja loop policy {self.db}",
                ),
            ),
        )  # fmt: skip

    def embeddings(self) -> Row:
        return Row(
            "embeddings",
            "embeddings",
            NEITHER,
            line(Span("not in this version", "dim")),
            "Search goes by words here. Nothing is sent to a model, and nothing needs one.",
            (),
        )

    def schedule(self) -> Row:
        found = self.found
        command = schedule.words(self.file)
        kinds = sorted(schedule.KINDS, key=lambda kind: (kind != schedule.usual(), kind))
        if found.last_run is None:
            state, told = UNDONE, "the loop never ran here"
        else:
            ago = age(max(0, found.at - found.last_run))
            since = f"{plural(found.new_grains, 'grain')} since"
            state, told = (UNDONE if found.stale else OK), f"last run {ago} ago, {since}"
        return Row(
            "schedule",
            "schedule",
            state,
            line(told + ("" if state == OK else ": nothing runs it by itself")),
            "What runs the loop every so often. A run without news costs a millisecond; one says nothing unless it finds "
            "something new.",
            tuple(
                Snippet(
                    kind,
                    _SCHEDULED[kind],
                    tuple(schedule.KINDS[kind](EVERY_MS, command)),
                    f"deja loop schedule --print --every 6h --os {kind} {self.db}",
                )
                for kind in kinds
            ),
        )

    def integrity(self, faults: int | None) -> Row:
        found = self.found
        if faults:
            state, told = (
                UNDONE,
                line(Span(plural(faults, "fault"), "error"), f" found: deja verify {self.db}"),
            )
        elif faults == 0 or found.verified is not None:
            at = found.at if faults == 0 else found.verified or 0
            state, told = OK, line(verified(at, found.at))
        else:
            state, told = UNDONE, line(verified(None, found.at))
        return Row(
            "integrity",
            "integrity",
            state,
            told,
            "Every address, index and audit chain is compared with what it should be. A bundle is a copy of everything "
            "in one file.",
            (
                self._line("copy everything", "a shell", f"bundle BACKUP.mgb {self.db}"),
                self._line("verify", "a shell", f"verify {self.db}"),
            ),
            "verifies in the background",
        )

    def _framework(self, name: str, lines: Sequence[str]) -> Snippet:
        return Snippet(name, wiring.PLACES[name], tuple(lines), f"deja init --framework {name} {self.db}")

    def _line(self, name: str, place: str, rest: str) -> Snippet:
        return Snippet(name, place, (f"{self.deja} {rest}",), f"deja {rest}")


_SCHEDULED: Final[Mapping[str, str]] = {
    "cron": "crontab -e",
    "launchd": "~/Library/LaunchAgents/deja-loop.plist",
    "systemd": "~/.config/systemd/user/",
    "windows": "a command prompt",
}


# --- lines ------------------------------------------------------------------------------------------


def setup_row(row: Row) -> Line:
    """``todo capture wired    0 events: not pasted, or binary not on PATH``."""
    return line(
        Span(f"{row.state:<{_STATE}}", _MEANINGS[row.state]),
        pad(line(Span(row.title, "strong")), _TITLE),
        row.told,
    )


def row_lines(row: Row, place: int, keys: Mapping[str, str], room: int) -> list[Line]:
    """What a row is for, what Enter does, and the lines it has, whole and with the file they belong into."""
    about = [*wrapped([row.told], room, 0), *wrapped([line(Span(row.why, "dim"))], room, 0)]
    if row.act and keys.get("open"):
        about += wrapped([line(Span(keys["open"], "key"), f" {row.act}.")], room, 2)
    if not row.snippets:
        return about
    one = row.snippets[place % len(row.snippets)]
    others = f" {place % len(row.snippets) + 1}/{len(row.snippets)}" if len(row.snippets) > 1 else ""
    return [*about, *snippet_lines(one, room, others)]


def brief_lines(row: Row, place: int, keys: Mapping[str, str], room: int, height: int) -> list[Line]:
    """The same in a few lines: as much of the snippet as fits, and the key that shows all of it."""
    told = row_lines(row, place, keys, room)
    if len(told) <= height or not row.snippets:
        return told
    one = row.snippets[place % len(row.snippets)]
    copies = line(
        Span(keys.get("copy", ""), "key"), " copies, ", Span(keys.get("whole", ""), "key"), " shows: ",
        f"{one.name}, {plural(len(one.lines), 'line')}, for ", Span(clean(one.place, 80), "strong"),
    )  # fmt: skip
    return [*told[: height - 1], copies]


def snippet_lines(one: Snippet, room: int, others: str = "") -> list[Line]:
    """A snippet below its name and the file it belongs into. Wide lines are broken here; y copies them whole."""
    return [
        heading(f"{one.name}{others}", room),
        *wrapped([line(Span("into ", "dim"), Span(clean(one.place, 80), "strong"))], room, 5),
        *wrapped([line(clean(text, limit=LITERAL_LIMIT)) for text in one.lines], room, 2),
    ]


# --- what a template would write --------------------------------------------------------------------


def document_lines(new: NewDocument, namespace: str, room: int) -> list[Line]:
    """The document as a change: every line of it is new."""
    edit = DocEdit(new.path, namespace, digest(""), diff_of("", new.text))
    return wrapped(edited(edit), room, 8)


def query_lines(new: NewQueries, room: int) -> list[Line]:
    """The queries as changes, each with the statement that defines it."""
    told: list[Line] = []
    for one in new.queries:
        told += defined(DefineQuery(one.name, one.body, None), {})
        told.append(line("    ", Span("by ", "dim"), fenced(one.statement, LITERAL_LIMIT)))
    return wrapped(told, room, 8)


def open_rows(found: Sequence[Row]) -> int:
    """How many rows are still to do."""
    return sum(row.state == UNDONE for row in found)
