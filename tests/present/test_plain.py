# SPDX-License-Identifier: Apache-2.0
"""Recommendations as plain text: exact at 80 columns, harmless whatever a grain says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deja_tui.engine.objects import Chain, Receipt, RunOutcome, SkippedAnalyzer
from deja_tui.present import plain, recommendation
from deja_tui.present.line import plain as line_text
from deja_tui.text import cells
from tests.present import build
from tests.present.hostile import HOSTILE, harmless
from tests.support import DAY, NOW


def test_a_queue_is_a_table() -> None:
    """One row a recommendation, in the order given, columns aligned."""
    found = [build.tool_failure(), build.duplicates(), build.expired_fact()]
    assert plain.queue_lines([build.row_of(one) for one in found], NOW, 100) == [
        "address   S  analyzer          target         evid  age  summary",
        "01eba48c  H  tool_failure/1    stripe_refund     8   3d  stripe_refund: 8 of 20 calls failed the sa…",
        "fcea2252  L  duplicate_sweep/1 acme              3   2d  3 copies of one fact: acme · likes · green…",
        "fa64ea1e  M  staleness/1       bcef11b6          1   5h  FORGET acme · promo_code · SPRING-24 passe…",
    ]


def test_a_queue_of_several_statuses_names_them() -> None:
    """The status column is there when not everything is pending."""
    rows = [
        build.row_of(build.tool_failure()),
        replace(build.row_of(build.duplicates()), status="rolled_back"),
    ]
    lines = plain.queue_lines(rows, NOW, 100)
    assert "  pending     " in lines[1]
    assert "  rolled back " in lines[2]


@pytest.mark.parametrize(
    "target,name",
    [
        ("entity:lessons/stripe_refund#1f2e3d4c5b6a", "stripe_refund"),
        ("entity:lessons/Bash[red]x[/red]#1f2e3d4c5b6a", "Bash[red]x[/red]"),
        ("entity:lessons/mcp/files#read#1f2e3d4c5b6a", "mcp/files#read"),
        ("entity:lessons//#1f2e3d4c5b6a", "/"),
        ("entity:shared/acme/eu#likes·0a1b2c3d4e5f", "acme/eu"),
        ("entity:shared/C#likes·0a1b2c3d4e5f", "C"),
        ("entity:acme", "acme"),
        ("doc:claude.md#style", "claude.md#style"),
        (f"grain:{'ab' * 32}", "abababab"),
        ("nothing", "nothing"),
    ],
)
def test_a_target_name_loses_only_what_every_target_has(target, name) -> None:
    """Scheme, namespace and discriminator; a slash or a # of the name itself stays."""
    assert recommendation.target_name(target) == name


ROOMS = [(room, summaries) for room in (49, 59, 79, 109) for summaries in (False, True)]


@pytest.mark.parametrize("room,summaries", ROOMS)
@pytest.mark.parametrize("statuses", [("pending",), ("applied",), ("pending", "rolled_back")])
def test_a_list_tells_rows_apart_whatever_the_room(room, summaries, statuses) -> None:
    """Severity, analyzer and target are always there, also when targets are long; the status where it differs."""
    rows = [
        replace(
            build.row_of(build.duplicates()), status=status, target_ref=f"entity:shared/{name}/{'x' * 90}"
        )
        for status in statuses
        for name in ("stripe", "refund")
    ]
    layout = recommendation.columns(rows, room, summaries=summaries)
    for row in rows:
        text = line_text(recommendation.queue_row(row, layout, NOW))
        assert cells(text) <= room
        assert text.startswith("L  duplicate")
        assert row.target_ref[14:20] in text
        assert len(statuses) == 1 or recommendation.status_word(row.status) in text
    assert cells(line_text(recommendation.queue_head(layout))) <= room


def test_an_origin_has_its_letter() -> None:
    """Blank built-in, C command, A submitted, ~ model (D55)."""
    row = build.row_of(build.tool_failure())
    origins = ("builtin", "command", "submitted", "model")
    shown = [plain.queue_lines([replace(row, origin=origin)], NOW, 100)[1][11] for origin in origins]
    assert shown == [" ", "C", "A", "~"]


@pytest.mark.parametrize(
    "room,shown",
    [
        (90, "M fa64ea1e  loop.staleness/1  grain:bcef11b6  PENDING  FORGET: CANNOT BE UNDONE"),
        (74, "M fa64ea1e  loop.staleness/1  grain:bc…  PENDING  FORGET: CANNOT BE UNDONE"),
        (63, "M fa64ea1e  loop.staleness/1  PENDING  FORGET: CANNOT BE UNDONE"),
        (58, "M fa64ea1e  staleness/1  PENDING  FORGET: CANNOT BE UNDONE"),
        (50, "M fa64ea1e  st…  PENDING  FORGET: CANNOT BE UNDONE"),
        (40, "M fa64ea1e  s…  FORGET: CANNOT BE UNDONE"),
        (36, "M fa64ea1e  FORGET: CANNOT BE UNDONE"),
    ],
)
def test_an_identity_gives_up_its_parts_in_order(room, shown) -> None:
    """Target, analyzer, status; what cannot be undone is said to the last."""
    assert line_text(recommendation.identity(build.expired_fact(), room)) == shown


def test_an_empty_queue_says_so() -> None:
    """No bare table head."""
    assert plain.queue_lines([], NOW, 80) == ["No recommendations."]


def test_a_detail_reads_from_top_to_bottom() -> None:
    """What, where from, the literal change, the evidence, the trail, the facts around it."""
    assert plain.detail_lines(build.duplicates(), NOW, 80) == [
        "L fcea2252  loop.duplicate_sweep/1  entity:shared/acme#likes·0a1b2c3d4…  PENDING",
        "3 copies of one fact: acme · likes · green tea",
        "proposed by engine · 2d ago · undo: yes",
        "-- Change, literal -------------------------------------------------------------",
        "- fact acme · likes · «green tea»  1f0c8a50  2026-02-11 09:00Z",
        "- fact acme · likes · «green tea»  9b8bfe34  2026-02-12 09:00Z",
        "= fact acme · likes · «green tea»  1f4a83f4  2026-02-10 09:00Z  kept",
        "-- Evidence 3 of 3 -------------------------------------------------------------",
        " 1f4a83f4  fact        2026-02-10 09:00Z  acme · likes · «green tea»",
        " 1f0c8a50  fact        2026-02-11 09:00Z  acme · likes · «green tea»",
        " 9b8bfe34  fact        2026-02-12 09:00Z  acme · likes · «green tea»",
        "-- Trail, chain verified -------------------------------------------------------",
        " 2026-02-28 09:00Z  proposed     engine:loop.duplicate_sweep/1  dafde069",
        "   because «proposed by the analyzer»",
        "-- Finding ---------------------------------------------------------------------",
        " target      entity:shared/acme#likes·0a1b2c3d4e5f",
        " address     fcea2252477fefa3301da81c3aeda315444e2ca5210408834c71b7b9c29df0b0",
        " proposed    2026-02-28 09:00Z  by engine",
        " confidence  0.40",
        " dry run     0 add, 2 retire, 0 forget. Undo: yes.",
    ]


def test_evidence_shows_type_time_thread_and_fenced_text() -> None:
    """The tool that all of them share is not repeated in each row."""
    assert plain.evidence_lines(build.tool_failure(), NOW, 80)[:2] == [
        "-- Evidence 8 of 8 -------------------------------------------------------------",
        ' 87f974b2  tool error  2026-02-28 09:00Z  sess-42  «{"error":"rate_limited"}»',
    ]


def test_long_evidence_takes_a_second_row_when_narrow_and_one_when_wide() -> None:
    """80 columns give the text a row of its own."""
    found = build.tool_failure()
    found = replace(found, evidence=(build.error(0, "word " * 30),))
    narrow = plain.evidence_lines(found, NOW, 80)
    assert narrow[1] == " 87f974b2  tool error  2026-02-28 09:00Z  sess-42"
    assert narrow[2].startswith("   «word word")
    assert narrow[2].endswith("…»")
    assert plain.evidence_lines(found, NOW, 120)[1].startswith(
        " 87f974b2  tool error  2026-02-28 09:00Z  sess-42  «word"
    )


def test_evidence_that_is_not_cited_is_counted() -> None:
    """Evidence n of m, and how many more."""
    body = replace(build.tool_failure().recommendation, evidence_total=400, evidence_query='RECALL "x"')
    lines = plain.evidence_lines(replace(build.tool_failure(), recommendation=body), NOW, 80)
    assert lines[0].startswith("-- Evidence 8 of 400 -")
    assert lines[-2:] == [" 392 more are counted but not cited.", ' all of them: «RECALL "x"»']


def test_screens_show_no_query_that_they_cannot_run() -> None:
    """The count is there; the statement is for the command line."""
    body = replace(build.tool_failure().recommendation, evidence_total=400, evidence_query='RECALL "x"')
    found = replace(build.tool_failure(), recommendation=body)
    told = [line_text(one) for part in recommendation.sections(found, NOW, 80) for one in part.lines]
    assert " 392 more are counted but not cited." in told
    assert not any("RECALL" in one for one in told)


def test_a_forgotten_evidence_grain_is_said() -> None:
    """An address without a grain stays an address."""
    gone = replace(build.error(0), type=None, namespace=None, created_at=None, fields={}, live=False)
    lines = plain.evidence_lines(replace(build.tool_failure(), evidence=(gone,)), NOW, 80)
    assert lines[1] == " 87f974b2  not in this memory (any more)"


def decided() -> Chain:
    of = build.tool_failure().recommendation.address
    proposed = build.entry(of, "pending", at=NOW - 3 * build.DAY)
    approved = build.entry(
        of, "approved", was="pending", before=proposed.address, actor="user:ann", because="seen it", at=NOW
    )
    withdrawn = build.entry(
        of, "rejected", was="approved", before=approved.address, actor="user:bob", because="no", at=NOW
    )
    return Chain((proposed, approved, replace(withdrawn, results=(build.address("r"),))), True)


def test_a_trail_tells_every_transition_with_its_reason() -> None:
    """Oldest first; approved then rejected is a withdrawal."""
    assert plain.trail_lines(decided()) == [
        "-- Trail, chain verified -------------------------------------------------------",
        " 2026-02-27 09:00Z  proposed     engine:loop.tool_failure/1  bfcd2d50",
        "   because «proposed by the analyzer»",
        " 2026-03-02 09:00Z  approved     user:ann  3878421e",
        "   because «seen it»",
        " 2026-03-02 09:00Z  withdrawn    user:bob  dd0e1659",
        "   because «no»",
        "   wrote 454349e4",
    ]


def test_a_broken_chain_is_the_headline() -> None:
    """The first bad address, and that decisions are off."""
    chain = decided()
    bad = chain.entries[1].address
    lines = plain.trail_lines(
        replace(chain, verified=False, fault="an entry names no predecessor", fault_address=bad)
    )
    assert lines[0].startswith(f"-- Trail, CHAIN BROKEN at {bad[:8]} -")
    assert lines[1] == " ! decisions are off: an entry names no predecessor"
    assert lines[4].startswith("!2026-03-02 09:00Z  approved")


def test_a_receipt_carries_the_whole_audit_address() -> None:
    """What one needs to find the entry again."""
    found = replace(build.receipt(build.duplicates()), results=(build.address("r"),))
    assert plain.receipt_lines(found) == [
        "APPROVED  fcea2252  by user:local  2026-03-02 09:00Z",
        "because  «retries belong in the client»",
        f"audit    {found.audit}",
        "chain    verified",
        "wrote    454349e4",
    ]


def test_a_receipt_of_a_broken_chain_shouts() -> None:
    """A check that failed is not hidden behind a successful decision."""
    found = replace(build.receipt(build.duplicates()), chain_verified=False)
    assert "chain    BROKEN: the audit chain does not verify" in plain.receipt_lines(found)


def test_a_withdrawal_is_called_so() -> None:
    """approved → rejected is a withdrawal on every surface."""
    assert plain.receipt_lines(build.receipt(build.duplicates(), "approved", "rejected"))[0].startswith(
        "WITHDRAWN "
    )
    assert plain.receipt_lines(build.receipt(build.duplicates(), "applied", "rolled_back"))[0].startswith(
        "ROLLED BACK "
    )


def test_a_dry_run_is_one_sentence() -> None:
    """Counts of what would be written, retired and erased, and whether it can be undone."""
    found = build.duplicates()
    assert plain.plan_line(found.plan) == "Dry run: 0 add, 2 retire, 0 forget. Undo: yes."
    assert plain.plan_line(build.expired_fact().plan) == "Dry run: 0 add, 0 retire, 1 forget. Undo: no."
    assert (
        plain.plan_line(replace(found.plan, supersedes=1))
        == "Dry run: 0 add, 1 supersede, 2 retire, 0 forget. Undo: yes."
    )
    refused = build.plan_of(found.recommendation, "LOP-E024 the memory changed")
    assert (
        plain.plan_line(refused)
        == "Dry run: 0 add, 2 retire, 0 forget. Undo: yes. Refused now: LOP-E024 the memory changed"
    )


@pytest.mark.parametrize(
    ("since", "shown"),
    [
        (None, "8 of 20 (40 %) in 30d"),
        (NOW - 5 * DAY, "8 of 20 (40 %) since the apply of 2026-02-25 09:00Z"),
        (NOW - 60 * DAY, "8 of 20 (40 %) in 30d since the apply of 2026-01-01 09:00Z"),
        ("x", "8 of 20 (40 %) in 30d"),
    ],
)
def test_a_count_says_what_it_counts(since: object, shown: str) -> None:
    """What was counted since an apply is never shown as if it were the whole window."""
    found = build.tool_failure()
    args = {**found.recommendation.summary.args, **({"since": since} if since else {})}
    body = replace(found.recommendation, summary=replace(found.recommendation.summary, args=args))
    found = replace(found, recommendation=body)
    assert recommendation.baseline(found) == shown
    assert any(line_text(one).endswith(shown) for one in recommendation.finding(found, NOW, 100))


def test_the_newest_failure_is_shown_with_its_digits() -> None:
    """The signature leaves them out; text of a tool is fenced and cleaned."""
    found = build.tool_failure()
    args = {**found.recommendation.summary.args, "example": "HTTP 429 after 4295 ms » ok\x1b[0m"}
    body = replace(found.recommendation, summary=replace(found.recommendation.summary, args=args))
    lines = [line_text(one) for one in recommendation.finding(replace(found, recommendation=body), NOW, 100)]
    assert " newest      «HTTP 429 after 4295 ms \\xbb ok\\x1b[0m»" in lines
    assert not any("newest" in line_text(one) for one in recommendation.finding(found, NOW, 100))


def test_a_run_tells_what_it_did() -> None:
    """Counts first, then what was left out, each by its own name: what is cooling was not "already known"."""
    outcome = RunOutcome(
        "ran",
        None,
        18,
        2,
        proposed=3,
        deduped=5,
        stored=2,
        dropped={"cooling": 1, "refused": 1, "open": 2, "below_floor": 1},
        analyzers_run=("loop.tool_failure/1",),
        analyzers_skipped=(SkippedAnalyzer("loop.fork_surfacing/1", "needs forks"),),
        recommendations=(build.address("a"),),
    )
    assert plain.run_lines(outcome) == [
        "ran: 3 proposed, 2 stored, 0 refreshed, 0 closed",
        "18 new grains, 2 new errors since last time",
        "not stored: 1 below the severity floor, 1 not taken by this memory, 2 open",
        "    already, 1 turned down lately",
        "analyzers: tool_failure/1",
        "left out: fork_surfacing/1 (needs forks)",
        "recommendation ca978112",
    ]
    assert plain.run_lines(RunOutcome("skipped", "lock_held", 1, 0)) == [
        "skipped: lock_held",
        "1 new grain, 0 new errors since last time",
    ]


def test_an_acknowledged_flag_says_when_it_expires() -> None:
    """D26: in the list, in days; nothing else expires by age, and nothing is said of it."""
    row = build.row_of(build.tool_failure())
    shown = plain.queue_lines([replace(row, status="approved", expires_at=NOW + 3 * 86_400_000)], NOW, 140)
    assert "expires in 3d" in shown[1]
    assert "expires" not in plain.queue_lines([row], NOW, 140)[1]


def test_a_finding_that_another_copy_has_too_says_so() -> None:
    """D5: theirs is folded under ours; the list says in words that it is there."""
    row = build.row_of(build.tool_failure())
    assert "also in a copy" in plain.queue_lines([replace(row, folded=1)], NOW, 140)[1]
    assert "also in 3 copies" in plain.queue_lines([replace(row, folded=3)], NOW, 140)[1]
    assert "also in" not in plain.queue_lines([row], NOW, 140)[1]


def test_a_first_run_on_a_large_memory_lists_twenty() -> None:
    """A thousand findings are a number and a command, not a thousand lines."""
    many = tuple(build.address(str(n)) for n in range(1_000))
    lines = plain.run_lines(
        RunOutcome("ran", None, 1, 0, stored=1_000, measured=2, expired=1, recommendations=many)
    )
    assert lines[0].startswith("ran: 0 proposed, 1000 stored, 0 refreshed, 0 closed, 1 expired,")
    assert len([text for text in lines if text.startswith("recommendation ")]) == 20
    assert lines[-1] == "and 980 more: deja loop list"
    drafts = plain.run_lines(RunOutcome("ran", None, 1, 0, proposed=30, drafts=tuple("x" * 30)))
    assert drafts[-1] == "and 10 more: --format json has all"


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_hostile_text_in_every_field_is_shown_harmless_and_aligned(name, width) -> None:
    """Tool, signature, summary, evidence, thread, reason, actor, target, namespace: nothing acts, all rows fit."""
    bad = HOSTILE[name]
    found = build.tool_failure(bad[:900], bad[:900], summary=bad)
    body = replace(
        found.recommendation,
        analyzer=bad,
        target_ref=f"entity:{bad}",
        params={bad[:50]: bad},
        evidence_query=bad,
        evidence_total=9,
    )
    entries = tuple(replace(one, actor=bad, because=bad) for one in found.chain.entries)
    evil = build.error(1, bad, thread=bad)
    evil = replace(evil, type=bad, namespace=bad, fields={**evil.fields, "tool_name": bad, bad[:50]: bad})
    found = replace(
        found,
        recommendation=body,
        creator=bad,
        evidence=(evil, replace(evil, fields={"subject": bad, "relation": bad, "object": bad})),
        chain=Chain(entries, False, bad, entries[0].address),
        plan=replace(found.plan, refusal=bad),
    )
    lines = plain.detail_lines(found, NOW, width)
    lines += plain.queue_lines(
        [replace(build.row_of(found), status=bad, origin=bad, severity=bad)], NOW, width
    )
    lines += plain.receipt_lines(
        Receipt(body.address, build.address("r"), bad, bad, bad, bad, NOW, True, (build.address("x"),)), width
    )
    lines += plain.run_lines(RunOutcome("skipped", bad, 1, 1), width)
    assert [text for text in lines if not harmless(text)] == []
    assert [text for text in lines if cells(text) > width] == []
