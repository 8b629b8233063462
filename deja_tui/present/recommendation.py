# SPDX-License-Identifier: Apache-2.0
"""A recommendation as lines with meanings: queue rows, sections of a detail, evidence, trail, receipts, dry runs.

Times are epoch ms UTC, widths terminal cells. `plain` gives the same lines as text for the command line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from deja_tui.engine.objects import (
    AuditEntry,
    Chain,
    Delivered,
    Detail,
    Evidence,
    Plan,
    QueueRow,
    Receipt,
    RunOutcome,
)
from deja_tui.present.change import CANNOT_BE_UNDONE, HANG, change
from deja_tui.present.line import Line, Span, clip, heading, joined, line, pad, width, wrap, wrapped
from deja_tui.present.outcomes import row as outcome_row
from deja_tui.present.words import (
    EVIDENCE_LIMIT,
    TEXT_FIELDS,
    age,
    fenced,
    fields_line,
    named,
    plural,
    ratio,
    says,
    short,
    thread_of,
    unique_length,
    value_of,
)
from deja_tui.text import DAY_MS, cells, clean, utc
from deja_tui.text import clip as clip_text

SEVERITY_LETTERS: Final[Mapping[str, str]] = {"high": "H", "medium": "M", "low": "L", "info": "i"}
ORIGIN_LETTERS: Final[Mapping[str, str]] = {
    "builtin": " ",
    "command": "C",
    "submitted": "A",
    "model": "~",
    "llm": "~",
}
STATUS_WORDS: Final[Mapping[str, str]] = {
    "pending": "pending",
    "approved": "approved",
    "rejected": "rejected",
    "applied": "applied",
    "rolled_back": "rolled back",
    "expired": "expired",
}
SUMMARY_LIMIT: Final = 400
_TEXT_HANG: Final = 3
_SUMMARY_LEAST: Final = 32
_SUMMARY_NEED: Final = 20
_TARGET_COLUMN: Final = 13
_ANALYZER_LEAST: Final = 12
_TARGET_LEAST: Final = 8
_ADDRESS_ROOM: Final = 78
_ADDRESS = re.compile(r"[0-9a-f]{64}")
# ``#1f2e3d4c5b6a``, or a relation before it: ``#likes·0a1b2c3d4e5f``
_DISCRIMINATOR = re.compile(r"#(?:[^#]*·)?[0-9a-f]{12}\Z")


def status_word(status: str) -> str:
    """A status as people read it."""
    return STATUS_WORDS.get(status) or clean(status, limit=20)


def severity(name: str) -> Span:
    """The severity letter: H, M, L or i."""
    return Span(
        SEVERITY_LETTERS.get(name, "?"), f"severity-{name}" if name in SEVERITY_LETTERS else "warning"
    )


def analyzer_name(analyzer: str) -> str:
    """An analyzer id without the publisher that is always there: ``tool_failure/1``."""
    return clean(analyzer.removeprefix("loop."), limit=80)


def target_name(target_ref: str) -> str:
    """A target for narrow columns, without what every target has: ``entity:lessons/stripe_refund#1f2e3d4c5b6a`` is
    ``stripe_refund``.

    Only the scheme, the namespace of an entity and the discriminator at the end go: a tool may be called ``a/b#c``.
    """
    scheme, _, rest = target_ref.partition(":")
    if scheme == "entity":
        _, _, name = rest.partition("/")
        rest = _DISCRIMINATOR.sub("", name) or rest
    return target_text(rest or target_ref)


def target_text(target_ref: str) -> str:
    """A target with the addresses in it shortened to 8 digits."""
    return clean(_ADDRESS.sub(lambda found: short(found.group()), target_ref), limit=200)


def creator_name(creator: str, analyzer: str) -> str:
    """Who proposed: ``engine`` where it is the analyzer that is named anyway, else the whole label (D14)."""
    return "engine" if creator == f"engine:{analyzer}" else clean(creator, limit=80)


# --- queue ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Columns:
    """The widths of a queue's columns, in cells; 0 leaves a column out."""

    digits: int
    address: int
    analyzer: int
    target: int
    evidence: int
    age: int
    status: int
    summary: int


def columns(
    rows: Sequence[QueueRow], room: int, *, addresses: bool = False, summaries: bool = True
) -> Columns:
    """Fit the columns of these rows into ``room`` cells (without the mark); the summary takes what is left.

    A row is told apart by severity, analyzer and target, so the others go first where room is short: the count of
    evidence, a status that all rows share, the age, then letters of the analyzer.
    """
    digits = unique_length(row.address for row in rows)
    address = digits + 2 if addresses else 0
    status = 12 if len({row.status for row in rows} - {"pending"}) else 0
    analyzer = min(18, max([8, *(cells(analyzer_name(row.analyzer)) for row in rows)])) + 1
    count = years = 5
    left = room - address - 3 - analyzer - 2 - status - count - years
    if addresses and room < 100:
        # A narrow table with one column more has no room for the target, and the summary names it anyway.
        return Columns(digits, address, analyzer, 0, count, years, status, max(0, left))
    widest = max([6, *(cells(target_name(row.target_ref)) for row in rows)])
    least = min(widest, _TARGET_COLUMN) + 1
    need = least + (_SUMMARY_NEED if summaries else 0)
    if left < need:
        left, count = left + count, 0
    if left < need and status and len({row.status for row in rows}) == 1:
        left, status = left + status, 0
    if left < need:
        left, years = left + years, 0
    if left < need:
        given = min(need - left, max(0, analyzer - _ANALYZER_LEAST))
        left, analyzer = left + given, analyzer - given
    most = max(_TARGET_COLUMN, min(24, left - _SUMMARY_LEAST)) + 1 if summaries else left
    target = max(0, min(widest + 1, most, left))
    return Columns(
        digits, address, analyzer, target, count, years, status, max(0, left - target) if summaries else 0
    )


def queue_head(layout: Columns) -> Line:
    """The column titles of a queue."""
    parts: list[Line] = []
    if layout.address:
        parts.append(pad(line("address"), layout.address))
    parts.append(line("S  ", *pad(line("analyzer"), layout.analyzer), *pad(line("target"), layout.target)))
    parts.append(line(" evid" if layout.evidence else "", "  age" if layout.age else "", "  "))
    if layout.status:
        parts.append(pad(line("status"), layout.status))
    if layout.summary:
        parts.append(clip(line("summary"), layout.summary))
    return tuple(Span(span.text, "dim") for part in parts for span in part)


def queue_row(row: QueueRow, layout: Columns, now_ms: int, *, broken: bool = False) -> Line:
    """One row: severity letter, origin letter (D55), analyzer, target, evidence count, age, status, summary.

    ``broken``: its audit chain is known not to hold together; ``!`` stands in place of the origin.
    """
    parts: list[Line] = []
    if layout.address:
        parts.append(pad(line(Span(short(row.address, layout.digits), "address")), layout.address))
    origin = Span("!", "error") if broken else ORIGIN_LETTERS.get(row.origin, "?")
    parts.append(line(severity(row.severity), origin, " "))
    parts.append(pad(line(analyzer_name(row.analyzer)), layout.analyzer - 1))
    parts.append((Span(" "),))
    if layout.target:
        parts.append(line(pad(line(target_name(row.target_ref)), layout.target - 1), " "))
    if layout.evidence:
        parts.append(line(f"{row.evidence_total:>5}"[-5:]))
    if layout.age:
        parts.append(line(f"{age(now_ms - row.age_from):>5}"[-5:]))
    parts.append(line("  "))
    if layout.status:
        parts.append(pad(line(Span(status_word(row.status), _status_meaning(row.status))), layout.status))
    if layout.summary:
        parts.append(clip(line(_flags(row, now_ms), clean(row.summary, limit=SUMMARY_LIMIT)), layout.summary))
    return tuple(span for part in parts for span in part)


def _flags(row: QueueRow, now_ms: int) -> Line:
    left = None if row.expires_at is None else max(0, row.expires_at - now_ms)
    return line(
        *(() if left is None else (Span(f"expires in {age(left)}", "dim"), Span(" "))),
        *((Span("FORGET", "error"), Span(" ")) if row.destructive else ()),
        *((Span("imported", "warning"), Span(" ")) if row.foreign else ()),
        *((Span(_also(row.folded), "dim"), Span(" ")) if row.folded else ()),
    )


def _also(copies: int) -> str:
    """Other copies of the memory hold the same finding; theirs is listed under ours (D5)."""
    return "also in a copy" if copies == 1 else f"also in {copies} copies"


def _status_meaning(status: str) -> str:
    return {"approved": "ok", "applied": "ok", "rejected": "dim", "expired": "dim"}.get(status, "")


# --- one recommendation -----------------------------------------------------------------------------


def digits_of(detail: Detail) -> int:
    """How many digits tell apart all addresses a detail shows."""
    known = {detail.recommendation.address, *detail.targets}
    known.update(grain.address for grain in detail.evidence)
    known.update(entry.address for entry in detail.chain.entries)
    return unique_length(known)


def identity(detail: Detail, room: int, *, status: bool = True) -> Line:
    """``H a41f09c2  loop.tool_failure/1  entity:lessons/x  PENDING``.

    When room is short the target is cut, then left out, then the analyzer, then the status; warnings come last.
    """
    recommendation = detail.recommendation
    before = line(
        severity(recommendation.severity),
        " ",
        Span(short(recommendation.address, digits_of(detail)), "address"),
    )
    warnings = line(
        Span("  IMPORTED", "warning") if detail.foreign else "",
        Span(f"  {CANNOT_BE_UNDONE}", "error") if recommendation.destructive else "",
    )
    after = line(Span(f"  {status_word(detail.status).upper()}", "strong") if status else "", warnings)
    if width(before) + width(after) > room:
        after = warnings
    left = room - width(before) - width(after) - 2
    whole, brief = clean(recommendation.analyzer, limit=80), analyzer_name(recommendation.analyzer)
    analyzer = whole if cells(whole) <= left else clip_text(brief, left)
    left -= cells(analyzer) + 2
    return clip(
        line(
            before,
            line("  ", Span(analyzer, "strong")) if analyzer else (),
            line("  ", clip_text(target_text(recommendation.target_ref), left))
            if left >= _TARGET_LEAST
            else (),
            after,
        ),
        room,
    )


def about(detail: Detail, now_ms: int) -> Line:
    """Where a recommendation comes from, how old it is, what was counted, whether it can be undone."""
    recommendation = detail.recommendation
    counted = baseline(detail)
    undo = "yes" if recommendation.rollbackable else "no" if recommendation.operations else "nothing to undo"
    return joined(
        [
            line(Span("proposed by ", "dim"), creator_name(detail.creator, recommendation.analyzer)),
            line(age(now_ms - recommendation.since), Span(" ago", "dim")),
            *([line(counted)] if counted else []),
            line(Span("undo: ", "dim"), undo),
        ]
    )


def baseline(detail: Detail) -> str | None:
    """``8 of 20 (40 %) in 30d`` where the finding counted something, else None.

    What was counted anew after an apply says so: ``4 of 4 since the apply of 2026-03-02 09:00Z``. The window is named
    beside it only where it is the shorter of the two.
    """
    arguments = detail.recommendation.summary.args
    part, whole = arguments.get("count"), arguments.get("calls")
    if not (isinstance(part, int) and isinstance(whole, int)):
        return None
    days = detail.recommendation.params.get("window_days")
    given = arguments.get("since")
    since = given if isinstance(given, int) and not isinstance(given, bool) else None
    told = ratio(part, whole)
    if isinstance(days, int) and (since is None or since < detail.recommendation.created_at - days * DAY_MS):
        told += f" in {days}d"
    return told if since is None else f"{told} since the apply of {utc(since)}"


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a detail. ``heading`` is drawn as a rule over the full width; lines are wrapped already."""

    id: str
    title: str
    meaning: str
    lines: tuple[Line, ...]


def sections(
    detail: Detail, now_ms: int, room: int, *, whole: bool = False, queries: bool = False
) -> list[Section]:
    """The parts of a detail in reading order; ``whole`` shows every field of the evidence.

    ``queries`` shows the statement that finds evidence which is not cited, for surfaces that can run one.
    """
    digits = digits_of(detail)
    return [
        Section("change", "Change, literal", "heading", tuple(wrapped(change(detail, digits), room, HANG))),
        Section(
            "evidence",
            f"Evidence {len(detail.evidence)} of {detail.recommendation.evidence_total}",
            "heading",
            tuple(evidence(detail, room, digits, whole=whole, queries=queries)),
        ),
        trail_section(detail.chain, room, digits),
        Section("finding", "Finding", "heading", tuple(finding(detail, now_ms, room))),
    ]


def own_words(detail: Detail) -> tuple[str, str] | None:
    """Who wrote a text of its own into this finding (``Model`` or ``Command``), and the text; None where nobody did.

    Templates of built-in analyzers and notes of people are none: what a program or an agent writes may argue for itself.
    """
    args = detail.recommendation.summary.args
    said = next((args[name] for name in ("note", "text") if isinstance(args.get(name), str)), "")
    if not said:
        return None
    if detail.origin in ("model", "llm") or detail.creator.startswith("agent:"):
        return "Model", said
    return ("Command", said) if detail.origin == "command" else None


def own_section(who: str, said: str, key: str, room: int, *, shown: bool) -> Section:
    """``-- Model-written, unverified: hidden, m shows ---``; the text below it where it is ``shown``."""
    state = f"{key} hides" if shown else f"hidden, {key} shows"
    lines = wrap(line(" ", fenced(said)), room, HANG) if shown else []
    return Section("model", f"{who}-written, unverified: {state}", "untrusted", tuple(lines))


def evidence(
    detail: Detail, room: int, digits: int, *, whole: bool = False, queries: bool = False
) -> list[Line]:
    """The cited grains: address, type, time, thread and what each says, fenced."""
    lines: list[Line] = []
    tools = {grain.fields.get("tool_name") for grain in detail.evidence if grain.type is not None}
    for grain in detail.evidence:
        if whole:
            lines.extend(_evidence_whole(grain, room, digits))
        else:
            lines.extend(_evidence_row(grain, room, digits, same_tool=len(tools) == 1))
    missing = detail.recommendation.evidence_total - len(detail.evidence)
    if missing > 0:
        lines.append(line(Span(f" {missing:,} more are counted but not cited.", "dim")))
        if queries and detail.recommendation.evidence_query:
            query = line(Span(" all of them: ", "dim"), fenced(detail.recommendation.evidence_query, 400))
            lines.extend(wrap(query, room, HANG))
    if not detail.evidence and missing <= 0:
        lines.append(line(Span(" none cited", "dim")))
    return lines


def _evidence_head(grain: Evidence, digits: int) -> Line:
    where = Span(f" {short(grain.address, digits)}", "address")
    if grain.type is None:
        return line(where, Span("  not in this memory (any more)", "warning"))
    kind = "tool error" if grain.type == "tool" and grain.fields.get("is_error") is True else grain.type
    thread = thread_of(grain.fields)
    return line(
        where,
        f"  {clean(kind, 11):<10}",
        Span(f"  {utc(grain.created_at)}" if grain.created_at is not None else "", "dim"),
        line("  ", clip(line(named(thread, "dim")), 24)) if thread else (),
        Span("" if grain.live else "  no longer live", "warning"),
    )


def _evidence_row(grain: Evidence, room: int, digits: int, *, same_tool: bool) -> list[Line]:
    head = _evidence_head(grain, digits)
    if grain.type is None:
        return [clip(head, room)]
    # One tool for all of them stands in the summary already; its name in each row would push the text out.
    left_out = {"tool_name"} if same_tool and grain.fields.get("tool_name") and _has_text(grain) else set()
    fields = {name: value for name, value in grain.fields.items() if name not in left_out}
    told = says(fields, EVIDENCE_LIMIT)
    if width(head) + 2 + width(told) <= room or room >= 110:
        return [clip(line(head, "  ", told), room)]
    return [clip(head, room), clip(line(" " * _TEXT_HANG, told), room)]


def _has_text(grain: Evidence) -> bool:
    return any(grain.fields.get(name) is not None for name in TEXT_FIELDS)


def _evidence_whole(grain: Evidence, room: int, digits: int) -> list[Line]:
    lines = [clip(_evidence_head(grain, digits), room)]
    fields = {**grain.fields, **({"namespace": grain.namespace} if grain.namespace is not None else {})}
    for name, value in sorted(fields.items()):
        lines.extend(wrap(line(" " * _TEXT_HANG, named(name, "dim"), " ", value_of(value)), room, HANG + 1))
    return lines


def trail_section(chain: Chain, room: int, digits: int) -> Section:
    """The audit trail with its verdict in the title."""
    if chain.verified:
        return Section("trail", "Trail, chain verified", "heading", tuple(trail(chain, room, digits)))
    at = f" at {short(chain.fault_address, digits)}" if chain.fault_address else ""
    return Section("trail", f"Trail, CHAIN BROKEN{at}", "error", tuple(trail(chain, room, digits)))


def trail(chain: Chain, room: int, digits: int) -> list[Line]:
    """One entry a transition: time, what happened, who, the audit address; below it the reason."""
    lines: list[Line] = []
    if not chain.verified:
        fault = clean(chain.fault or "the audit chain does not verify", limit=200)
        lines.extend(wrap(line(Span(f" ! decisions are off: {fault}", "error")), room, _TEXT_HANG))
    for entry in chain.entries:
        bad = entry.address == chain.fault_address
        head = line(
            Span("!" if bad else " ", "error"),
            Span(utc(entry.at), "dim"),
            f"  {happened(entry):<11}",
            f"  {clean(_who(entry), limit=80)}",
            "  ",
            Span(short(entry.address, digits), "address"),
            Span(f"  choice {entry.choice}" if entry.choice else "", "strong"),
        )
        lines.extend(wrap(head, room, _TEXT_HANG))
        lines.extend(wrap(line(" " * _TEXT_HANG, Span("because ", "dim"), fenced(entry.because)), room, HANG))
        if entry.results:
            wrote = ", ".join(short(address, digits) for address in entry.results)
            lines.extend(
                wrap(line(" " * _TEXT_HANG, Span("wrote ", "dim"), Span(wrote, "address")), room, HANG)
            )
    if not chain.entries:
        lines.append(line(Span(" no audit entry", "warning")))
    return lines


def _who(entry: AuditEntry) -> str:
    """Who acted; of a draft the one who submitted it, though the engine wrote the entry (D21)."""
    return entry.creator if entry.origin == "submitted" and entry.creator else entry.actor


def happened(entry: AuditEntry) -> str:
    """What a transition did: proposed, approved, withdrawn, …"""
    if entry.to_status == "pending":
        return "proposed"
    if entry.outside:
        return "marked done"
    if entry.to_status == "rejected" and entry.from_status == "approved":
        return "withdrawn"
    return status_word(entry.to_status)


def delivered(found: Delivered) -> str:
    """``3 times, last 2026-03-02 09:00Z``: how often an agent was given what this wrote (D53)."""
    return f"{'once' if found.count == 1 else f'{found.count:,} times'}, last {utc(found.last)}"


def finding(detail: Detail, now_ms: int, room: int) -> list[Line]:
    """The facts around a finding: target, parameters, counts, confidence, what an apply would do now."""
    recommendation = detail.recommendation
    counted = baseline(detail)
    rows: list[tuple[str, Line]] = [
        ("target", line(target_text(recommendation.target_ref))),
    ]
    if room >= _ADDRESS_ROOM:
        rows.append(("address", line(Span(recommendation.address, "address"))))
    if counted:
        rows.append(("counted", line(counted)))
    example = recommendation.summary.args.get("example")
    if isinstance(example, str) and example:
        rows.append(("newest", line(fenced(example, EVIDENCE_LIMIT))))
    creator = creator_name(detail.creator, recommendation.analyzer)
    rows.append(("proposed", line(f"{utc(recommendation.since)}  by {creator}")))
    if recommendation.params:
        rows.append(("parameters", fields_line(recommendation.params)))
    rows.append(("confidence", line(_share(recommendation.confidence))))
    if detail.twins:
        known = ", ".join(short(twin) for twin in detail.twins)
        rows.append(("found here" if detail.foreign else "in a copy", line(Span(known, "address"))))
    if detail.replaced_by is not None:
        rows.append(("replaced by", line(Span(short(detail.replaced_by), "address"))))
    if detail.plan is not None:
        rows.append(("dry run", plan(detail.plan, label=False)))
    if detail.status == "applied" and recommendation.metric and not detail.outcomes:
        rows.append(("outcome", line("not measured yet")))
    rows += [("outcome", outcome_row(one)) for one in detail.outcomes]
    if detail.delivered is not None:
        rows.append(("delivered", line(delivered(detail.delivered))))
    label = max(len(name) for name, _ in rows)
    return [
        piece
        for name, content in rows
        for piece in wrap(line(" ", Span(f"{name:<{label}}  ", "dim"), content), room, label + 3)
    ]


def _share(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, int | float) else clean(value, limit=20)


# --- decisions --------------------------------------------------------------------------------------


def plan(found: Plan, *, label: bool = True) -> Line:
    """``Dry run: 0 add, 2 retire, 0 forget. Undo: yes.`` and what would refuse it now, if anything would."""
    counts = [f"{found.adds} add"]
    if found.supersedes:
        counts.append(f"{found.supersedes} supersede")
    counts.append(f"{found.retires} retire")
    for count, word in (
        (found.merges, "merge"),
        (found.defines, "define"),
        (found.edits, "edit"),
        (found.reverts, "take back"),
    ):
        if count:
            counts.append(f"{count} {word}")
    erased = Span(f"{found.forgets} forget", "error" if found.forgets else "")
    undo = Span("yes" if found.undo else "no", "" if found.undo else "error")
    told = line(
        Span("Dry run: " if label else "", "dim"), ", ".join(counts), ", ", erased, ". Undo: ", undo, "."
    )
    if found.refusal is None:
        return told
    return line(told, Span(f" Refused now: {clean(found.refusal, limit=300)}", "warning"))


def plan_row(found: Plan, room: int, key: str) -> Line:
    """`plan` on one row: where a refusal does not fit beside the counts it stands alone, and ``key`` shows all of it."""
    whole = plan(found)
    if found.refusal is None or width(whole) <= room:
        return whole
    refused = line(Span(f"Refused now: {clean(found.refusal, limit=300)}", "warning"))
    if width(refused) <= room:
        return refused
    more = f"  {key} shows it" if key else ""
    return line(clip(refused, room - len(more)), Span(more, "dim"))


def receipt(found: Receipt) -> list[Line]:
    """What a decision left: the transition, its reason, the whole audit address, the chain check, what was written."""
    digits = unique_length((found.recommendation, found.audit, *found.results))
    check = (
        Span("verified", "ok")
        if found.chain_verified
        else Span("BROKEN: the audit chain does not verify", "error")
    )
    lines = [
        line(
            Span(_moved(found), "ok"),
            "  ",
            Span(short(found.recommendation, digits), "address"),
            Span("  by ", "dim"),
            clean(found.actor, limit=80),
            Span(f"  {utc(found.at)}", "dim"),
        ),
        line(Span("because  ", "dim"), fenced(found.because)),
        line(Span("audit    ", "dim"), Span(clean(found.audit, limit=64), "address")),
        line(Span("chain    ", "dim"), check),
    ]
    if found.results:
        wrote = ", ".join(short(address, digits) for address in found.results)
        lines.append(line(Span("wrote    ", "dim"), Span(wrote, "address")))
    return lines


def _moved(found: Receipt) -> str:
    if found.to_status == "rejected" and found.from_status == "approved":
        return "WITHDRAWN"
    return status_word(found.to_status).upper()


_LISTED: Final = 20
FEW: Final = 5
_NOT_STORED: Final[Mapping[str, str]] = {
    "below_floor": "below the severity floor",
    "duplicate": "found twice",
    "open": "open already",
    "applied": "applied already",
    "cooling": "turned down lately",
    "budget": "left for the next run",
    "refused": "not taken by this memory",
}


def run(outcome: RunOutcome, *, brief: bool = False) -> list[Line]:
    """What a run of the analyzers did. ``brief``: without who looked, what is switched off, and addresses."""
    from deja_tui.engine.looking import DISABLED

    new = f"{plural(outcome.new_grains, 'new grain')}, {plural(outcome.new_error_events, 'new error')} since last time"
    if outcome.outcome == "skipped":
        why = clean(outcome.skip_reason or "no reason given", limit=120)
        return [line(Span("skipped", "strong"), f": {why}"), line(new)]
    counts = [f"{outcome.proposed} proposed", f"{outcome.stored} stored", f"{outcome.refreshed} refreshed"]
    counts.append(f"{outcome.closed} closed")
    further = {
        "applied under policy": outcome.auto_applied,
        "expired": outcome.expired,
        "outcomes measured": outcome.measured,
    }
    counts += [f"{count} {name}" for name, count in further.items() if count]
    lines = [line(Span("ran", "strong"), f": {', '.join(counts)}"), line(new)]
    if outcome.dropped:
        told = {_NOT_STORED.get(reason, reason): count for reason, count in outcome.dropped.items()}
        lines.append(line(Span("not stored: ", "dim"), _tally(told)))
    if outcome.analyzers_run and not brief:
        names = ", ".join(analyzer_name(name) for name in outcome.analyzers_run)
        lines.append(line(Span("analyzers: ", "dim"), names))
    lines.extend(
        line(Span("left out: ", "dim"), analyzer_name(skipped.id), f" ({clean(skipped.reason, limit=200)})")
        for skipped in outcome.analyzers_skipped
        if not (brief and skipped.reason == DISABLED)
    )
    if brief and outcome.recommendations:
        return lines
    digits = unique_length(outcome.recommendations)
    lines.extend(
        line(Span("recommendation ", "dim"), Span(short(address, digits), "address"))
        for address in outcome.recommendations[:_LISTED]
    )
    lines.extend(
        line(Span("would propose ", "dim"), clean(summary, limit=400)) for summary in outcome.drafts[:_LISTED]
    )
    more = max(len(outcome.recommendations), len(outcome.drafts)) - _LISTED
    if more > 0:
        next_ = "deja loop list" if outcome.recommendations else "--format json has all"
        lines.append(line(Span(f"and {more:,} more: {next_}", "dim")))
    return lines


def _tally(counts: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{clean(count, limit=12)} {clean(name, limit=40)}" for name, count in sorted(counts.items())
    )


def section_lines(found: Section, room: int) -> list[Line]:
    """A section with its rule."""
    return [heading(found.title, room, meaning=found.meaning), *found.lines]
