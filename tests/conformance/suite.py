# SPDX-License-Identifier: Apache-2.0
"""What every memory must do for the engine: one list of checks, none of which knows what it runs on.

A check takes an empty substrate. Its first docstring line is the promise; the numbers are those of
`deja_tui.engine.substrate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pytest

from deja_tui.engine import audit, ledger, lifecycle, reports, views
from deja_tui.engine.substrate import (
    LOOP_NAMESPACE,
    Atomic,
    Forgets,
    MarkKind,
    NewGrain,
    Put,
    StoredGrain,
    Substrate,
)
from deja_tui.errors import DejaError
from tests.engine.helpers import (
    ANA,
    BEN,
    EVERY_TYPE,
    calls,
    draft,
    everything,
    fact,
    go,
    only,
    plant,
    recalled,
    refused,
    statuses,
)
from tests.support import DAY, NOW

Check = Callable[[Substrate], None]

CHECKS: Final[list[Check]] = []


def check(function: Check) -> Check:
    """Add a function to the suite."""
    CHECKS.append(function)
    return function


class FiveOnly:
    """The five methods of another substrate and nothing else: every view has to be its default."""

    def __init__(self, inner: Substrate) -> None:
        self._inner = inner

    def scan(
        self, type: str, namespaces: Sequence[str] | None = None, after: int = 0
    ) -> Iterator[StoredGrain]:
        return self._inner.scan(type, namespaces, after)

    def get(self, address: str) -> StoredGrain | None:
        return self._inner.get(address)

    def put(self, grain: NewGrain) -> Put:
        return self._inner.put(grain)

    def supersede(self, address: str, grain: NewGrain) -> Put:
        return self._inner.supersede(address, grain)

    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None:
        self._inner.mark(address, kind, by)


def new_fact(text: str, namespace: str = "shared", at: int = NOW) -> NewGrain:
    content = {"subject": "s", "relation": "r", "object": text, "confidence": 0.5}
    return NewGrain("fact", namespace, at, content)


def there(substrate: Substrate, address: str) -> StoredGrain:
    grain = substrate.get(address)
    assert grain is not None
    return grain


def addresses(grains: Any) -> list[str]:
    return [grain.address for grain in grains]


# --- the five methods --------------------------------------------------------------------------------


@check
def empty_memory_is_empty(substrate: Substrate) -> None:
    """Reading what was never written is no error."""
    assert all(
        not list(substrate.scan(kind, spaces)) for kind in EVERY_TYPE for spaces in (None, [LOOP_NAMESPACE])
    )
    assert substrate.get("0" * 64) is None
    assert views.ledger(substrate) == []
    assert go(substrate, dry_run=True).proposed == 0


@check
def put_keeps_what_it_was_given(substrate: Substrate) -> None:
    """Type, namespace, time and fields come back under their long names; the address is 64 hexadecimal digits."""
    put = substrate.put(new_fact("é", namespace="n/ä"))
    assert put.new
    assert len(put.address) == 64
    assert set(put.address) <= set("0123456789abcdef")
    grain = there(substrate, put.address)
    assert (grain.address, grain.type, grain.namespace, grain.created_at) == (put.address, "fact", "n/ä", NOW)
    assert (grain.live, grain.superseded_by, grain.imported) == (True, None, False)
    assert [grain.get(name) for name in ("subject", "relation", "object", "confidence")] == [
        "s",
        "r",
        "é",
        0.5,
    ]
    assert grain.get("nothing") is None
    assert grain.get("nothing", 7) == 7
    assert grain.fields["object"] == "é"


@check
def scan_yields_in_arrival_order(substrate: Substrate) -> None:
    """SUB-1: seq rises with arrival, whatever the times say, and `after` leaves out what came before."""
    put = [substrate.put(new_fact(str(n), at=NOW - n * DAY)).address for n in range(5)]
    found = list(substrate.scan("fact"))
    assert addresses(found) == put
    seqs = [grain.seq for grain in found]
    assert seqs == sorted(set(seqs))
    assert addresses(substrate.scan("fact", None, seqs[2])) == put[3:]
    assert addresses(substrate.scan("fact", None, seqs[-1])) == []
    assert addresses(substrate.scan("event")) == []


@check
def scan_leaves_reserved_namespaces_out_unless_named(substrate: Substrate) -> None:
    """SUB-1: None is every namespace of the user's; a list is exactly that list."""
    spaces = ["shared", "other", LOOP_NAMESPACE, "loop", "agent:authz"]
    put = {space: substrate.put(new_fact("x", space)).address for space in spaces}
    assert addresses(substrate.scan("fact")) == [put["shared"], put["other"]]
    assert addresses(substrate.scan("fact", [LOOP_NAMESPACE])) == [put[LOOP_NAMESPACE]]
    assert addresses(substrate.scan("fact", ["other", "loop"])) == [put["other"], put["loop"]]
    assert addresses(substrate.scan("fact", ["Other", "nowhere"])) == []
    assert addresses(substrate.scan("fact", [])) == []


@check
def putting_the_same_twice_changes_nothing(substrate: Substrate) -> None:
    """SUB-2: the same address, not new, whatever became of the grain since."""
    first = substrate.put(new_fact("x"))
    substrate.mark(first.address, "hide")
    before = everything(substrate)
    again = substrate.put(new_fact("x"))
    assert (again.address, again.new) == (first.address, False)
    assert everything(substrate) == before
    assert substrate.put(new_fact("x", at=NOW + 1)).new
    assert substrate.put(new_fact("x", "other")).new


@check
def supersede_puts_one_grain_in_the_place_of_another(substrate: Substrate) -> None:
    """SUB-3: the old one is no longer live and names the new one; both are still there."""
    old = substrate.put(new_fact("old")).address
    put = substrate.supersede(old, new_fact("new"))
    assert put.new
    assert (there(substrate, old).live, there(substrate, old).superseded_by) == (False, put.address)
    assert there(substrate, put.address).live
    assert addresses(substrate.scan("fact")) == [old, put.address]


@check
def supersede_refuses_what_is_not_live(substrate: Substrate) -> None:
    """SUB-3: MEM-E002 for what was replaced, MEM-E001 for what is not there; nothing is written."""
    old = substrate.put(new_fact("old")).address
    substrate.supersede(old, new_fact("new"))
    before = everything(substrate)
    with refused("MEM-E002"):
        substrate.supersede(old, new_fact("other"))
    with refused("MEM-E001"):
        substrate.supersede("0" * 64, new_fact("other"))
    assert everything(substrate) == before


@check
def marks_say_what_is_live(substrate: Substrate) -> None:
    """SUB-4: the last mark counts; reopening takes back what was there before."""
    one, two = (substrate.put(new_fact(text)).address for text in ("one", "two"))
    steps: list[tuple[MarkKind, str | None, bool, str | None]] = [
        ("retire", two, False, two),
        ("reopen", two, True, None),
        ("hide", None, False, None),
        ("reopen", None, True, None),
        ("supersede", two, False, two),
        ("reopen", two, True, None),
    ]
    for kind, by, live, superseded_by in steps:
        substrate.mark(one, kind, by)
        assert (there(substrate, one).live, there(substrate, one).superseded_by) == (live, superseded_by), (
            kind
        )
        assert [g.live for g in substrate.scan("fact")] == [live, True], kind
    assert addresses(substrate.scan("fact")) == [one, two]
    with refused("MEM-E001"):
        substrate.mark("0" * 64, "hide")


@check
def an_act_is_all_or_nothing(substrate: Substrate) -> None:
    """SUB-5: whatever raises inside, nothing of the act is left; inner acts belong to the outer one."""
    if not isinstance(substrate, Atomic):
        pytest.skip("this memory offers no acts")
    kept = substrate.put(new_fact("kept")).address
    before = everything(substrate)
    for fault in (RuntimeError, DejaError, KeyboardInterrupt):
        with pytest.raises(fault), substrate.atomic():  # noqa: PT012
            substrate.put(new_fact("a"))
            with substrate.atomic():
                substrate.supersede(kept, new_fact("b"))
            views.set_setting(substrate, "probe", {"x": 1})
            substrate.mark(there(substrate, kept).superseded_by or "", "hide")
            raise fault(*(("LOP-E099", "x") if fault is DejaError else ()))
        assert everything(substrate) == before
        assert views.setting(substrate, "probe") is None
    with substrate.atomic(), substrate.atomic():
        substrate.put(new_fact("a"))
    assert len(list(substrate.scan("fact"))) == 2


@check
def what_an_act_wrote_is_read_inside_it(substrate: Substrate) -> None:
    """A decision checks and changes in one act, so the act sees itself."""
    with views.atomic(substrate):
        put = substrate.put(new_fact("a")).address
        assert there(substrate, put).live
        substrate.mark(put, "hide")
        assert not there(substrate, put).live
        assert addresses(substrate.scan("fact")) == [put]
        views.set_setting(substrate, "k", 1)
        assert views.setting(substrate, "k") == 1


@check
def settings_are_kept(substrate: Substrate) -> None:
    """Small JSON values under a name, over the capability or a chain of State grains; never new to a gate."""
    assert views.setting(substrate, "a") is None
    values: list[Any] = [{"at": NOW, "deep": {"x": [1, 2]}}, 7, "text", {"at": NOW + 1}]
    for value in values:
        views.set_setting(substrate, "a", value)
        views.set_setting(substrate, "b", [value])
        assert views.setting(substrate, "a") == value
        assert views.setting(substrate, "b") == [value]
    assert views.position(substrate).grains == 0


@check
def forgetting_erases(substrate: Substrate) -> None:
    """The grain is gone from every read; later arrivals keep rising; it is not taken back (D31)."""
    if not isinstance(substrate, Forgets):
        pytest.skip("this memory cannot forget")
    one, two = (substrate.put(new_fact(text)).address for text in ("one", "two"))
    last = there(substrate, two).seq
    substrate.forget(two)
    assert substrate.get(two) is None
    assert addresses(substrate.scan("fact")) == [one]
    three = substrate.put(new_fact("three")).address
    assert there(substrate, three).seq > last
    with refused("MEM-E003"):
        substrate.put(new_fact("two"))
    with refused("MEM-E001"):
        substrate.mark(two, "reopen")


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "a\u202eb",
    "a\u200bb",
    "a\u2028b",
    "e\u0301",
    "日本語",
    "«x»",
    "'\";--",
    "a\nb\tc",
    "x" * 5_000,
]


@check
def hostile_text_comes_back_as_it_was_given(substrate: Substrate) -> None:
    """SUB-6: a memory keeps text in NFC and otherwise untouched; only surfaces clean it."""
    for text in HOSTILE:
        address = substrate.put(new_fact(text)).address
        assert there(substrate, address).get("object") == text.replace("e\u0301", "é")


# --- views: overridden and default say the same ------------------------------------------------------


def furnished(substrate: Substrate) -> None:
    """A memory with something of everything that views look for."""
    for space in ("shared", "other", "Shared"):
        for n, text in enumerate(("tea", "Tea", "TEA ", "coffee")):
            fact(substrate, "acme", "likes", text, NOW - DAY + n, namespace=space)
            fact(substrate, "ACME", "Likes", text, NOW - 2 * DAY + n, namespace=space)
    fact(substrate, "straße", "is", "ß")
    fact(substrate, "STRASSE", "is", "SS")
    fact(substrate, "inner", "is", "a b")
    fact(substrate, "inner", "is", "a  b")
    gone = fact(substrate, "acme", "likes", "tea", NOW)
    substrate.supersede(
        gone, NewGrain("fact", "shared", NOW, {"subject": "acme", "relation": "uses", "object": "x"})
    )
    substrate.mark(fact(substrate, "acme", "likes", "teA", NOW), "hide")
    calls(substrate, "x", "Rate limited after 12 ms", 3)
    calls(substrate, "x", "rate LIMITED after 7 ms", 2, at=NOW - 2 * DAY, namespace="other")
    calls(substrate, "x", "ok", 4, error=False, at=NOW - 3 * DAY)
    calls(substrate, "x", "later", 2, at=NOW + DAY)
    calls(substrate, "x", "waiting", 2, at=NOW - 4 * DAY, status="pending")
    calls(substrate, "\x1b[1mx\x1b[0m ", "Rate limited after 1 ms", 1, at=NOW - 5 * DAY)
    calls(substrate, "y", "", 3, at=NOW - 6 * DAY)
    calls(substrate, "z", "HTTP 502 from 10.0.0.1", 2, at=NOW - 7 * DAY)
    calls(substrate, "z", "HTTP 503 from 10.0.0.1", 2, at=NOW - 8 * DAY)
    calls(substrate, "old", "boom", 3, at=NOW - 40 * DAY)
    said: list[dict[str, Any]] = [
        {"result": "boom 1"},
        {"body": "boom 3"},
        {"content": "boom 4", "result": "not this"},
        {"tool_content": "", "content": "not this"},
        {"tool_content": {"error": "a map"}},
        {"tool_content": "e\u200d\u0301"},
    ]
    for n, fields in enumerate(said):
        content = {"tool_name": "saying", "is_error": True, **fields}
        substrate.put(NewGrain("tool", "shared", NOW - 50 * DAY - n, content))
    hidden = calls(substrate, "x", "Rate limited after 9 ms", 1, at=NOW - 9 * DAY)
    substrate.mark(hidden[0], "hide")
    for space in ("deja-loop", "loop", "agent:x"):
        fact(substrate, "acme", "likes", "tea", namespace=space)
        calls(substrate, "x", "boom", 3, namespace=space)


SPACES: list[Sequence[str] | None] = [None, ["shared"], ["other", "shared"], ["nowhere"], []]


@check
def position_is_what_arrived(substrate: Substrate) -> None:
    """D38: counts of user namespaces and of failures; the default counts the same."""
    furnished(substrate)
    assert views.position(substrate) == views.position(FiveOnly(substrate))
    before = views.position(substrate)
    go(substrate)
    assert views.position(substrate) == before, "what the loop writes is not new"
    fact(substrate, "one", "more", "fact")
    calls(substrate, "x", "boom", 1, at=NOW - 10)
    calls(substrate, "x", "boom", 1, at=NOW - 20, status="pending")
    after = views.position(substrate)
    assert (after.grains - before.grains, after.errors - before.errors) == (3, 1)
    assert after.seq > before.seq


@check
def tool_failures_is_its_default(substrate: Substrate) -> None:
    """Clusters by (tool, signature) in that order, inside the window, after a position, in some namespaces."""
    furnished(substrate)
    middle = list(substrate.scan("tool"))[6].seq
    for after in (0, middle):
        for spaces in SPACES:
            for since, until in ((NOW - 30 * DAY, NOW), (NOW - DAY, NOW - DAY), (0, NOW + 9 * DAY)):
                mine = views.tool_failures(substrate, since, until, after, spaces)
                assert mine == views.tool_failures(FiveOnly(substrate), since, until, after, spaces)
    found = {
        (one.tool, one.signature): (one.count, one.calls, one.namespace)
        for one in views.tool_failures(substrate, NOW - 30 * DAY, NOW, 0, None)
    }
    assert found == {
        ("x", "rate limited after # ms"): (6, 10, "shared"),
        ("y", "no message"): (3, 3, "shared"),
        ("z", "http 502 from #.#.#.#"): (2, 4, "shared"),
        ("z", "http 503 from #.#.#.#"): (2, 4, "shared"),
    }


@check
def tool_failure_members_is_its_default(substrate: Substrate) -> None:
    """Newest first, at most so many, the very grains of the cluster."""
    furnished(substrate)
    for cluster in views.tool_failures(substrate, 0, NOW, 0, None):
        for limit in (1, 3, 64):
            for spaces in SPACES:
                given = (cluster.tool, cluster.signature, 0, NOW, 0, spaces, limit)
                mine = addresses(views.tool_failure_members(substrate, *given))
                assert mine == addresses(views.tool_failure_members(FiveOnly(substrate), *given))
        members = views.tool_failure_members(substrate, cluster.tool, cluster.signature, 0, NOW, 0, None, 64)
        assert len(members) == cluster.count
        assert [m.created_at for m in members] == sorted((m.created_at for m in members), reverse=True)


@check
def duplicate_facts_nominates_at_least_what_the_default_does(substrate: Substrate) -> None:
    """D11: a hash may nominate too much, since text decides later; what is left is the same, in the same order."""
    furnished(substrate)
    for spaces in SPACES:
        decided = [_decided(views.duplicate_facts(one, spaces)) for one in (substrate, FiveOnly(substrate))]
        assert decided[0] == decided[1]
    by_space = {key[0] for key, _ in _decided(views.duplicate_facts(substrate, None))}
    assert by_space == {"shared", "other", "Shared"}


def _decided(candidates: list[list[StoredGrain]]) -> list[tuple[tuple[str, ...], list[str]]]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for group in candidates:
        for grain in group:
            groups.setdefault(views.fact_key(grain), []).append(grain.address)
    return sorted((key, found) for key, found in groups.items() if len(found) > 1)


@check
def fact_matches_is_its_default(substrate: Substrate) -> None:
    """Exact text, live only, oldest first, one namespace."""
    furnished(substrate)
    for space in ("shared", "other", "nowhere"):
        for subject in ("acme", "ACME", "straße", "x"):
            for relation in ("likes", "Likes", "is"):
                mine = addresses(views.fact_matches(substrate, space, subject, relation))
                assert mine == addresses(views.fact_matches(FiveOnly(substrate), space, subject, relation))
    assert len(views.fact_matches(substrate, "shared", "acme", "likes")) == 4


@check
def the_cached_ledger_is_the_replayed_one(substrate: Substrate) -> None:
    """D1: rows come from grains alone, after every step of a recommendation's life."""

    def agree() -> None:
        five = FiveOnly(substrate)
        for wanted in (
            None,
            ("pending",),
            ("approved", "applied"),
            ("rejected", "rolled_back", "expired"),
            (),
        ):
            assert views.ledger(substrate, wanted) == views.ledger(five, wanted)
        rows = {row.address: row for row in ledger.replay(substrate)}
        for address, row in rows.items():
            assert views.ledger_row(substrate, address) == row == audit.derive(substrate, address)
            assert addresses(views.audits_of(substrate, address)) == addresses(views.audits_of(five, address))
            assert audit.chain(substrate, row).verified
        identities = sorted({row.identity for row in rows.values()})
        mine = views.ledger_by_identity(substrate, identities)
        assert {key: list(found) for key, found in mine.items()} == {
            key: list(found) for key, found in views.ledger_by_identity(five, identities).items()
        }

    agree()
    furnished(substrate)
    go(substrate)
    agree()
    calls(substrate, "x", "Rate limited after 5 ms", 1, at=NOW - 30)
    assert go(substrate, NOW + 1).refreshed == 1
    agree()
    for n, row in enumerate(views.ledger(substrate, ("pending",))):
        at = NOW + 2 + n
        if n % 4 == 0:
            lifecycle.approve(substrate, row.address, "why", ANA, at)
        elif n % 4 == 1:
            lifecycle.reject(substrate, row.address, "why", ANA, at)
        else:
            lifecycle.approve_and_apply(substrate, row.address, "why", ANA, at)
        if n % 4 == 3:
            lifecycle.rollback(substrate, row.address, "why", BEN, at)
    agree()
    go(substrate, NOW + 90 * DAY)
    agree()


# --- one whole story ---------------------------------------------------------------------------------


@check
def the_whole_story(substrate: Substrate) -> None:
    """From failing calls and two copies to a receipt, an undo that restores recall, quiet, and back again."""
    calls(substrate, "stripe_refund", '{"error":"rate_limited"}', 5)
    calls(substrate, "stripe_refund", '{"ok":true}', 2, error=False, at=NOW - DAY + 7)
    fact(substrate, "acme", "likes", "green tea", NOW - 3 * DAY)
    fact(substrate, "acme", "likes", "Green Tea", NOW - 2 * DAY)
    beginning = recalled(substrate)

    outcome = go(substrate, trigger="user:ana", min_new_errors=3)
    assert (outcome.outcome, outcome.new_grains, outcome.new_error_events) == ("ran", 9, 5)
    assert (outcome.proposed, outcome.stored, outcome.analyzers_skipped) == (2, 2, ())
    rows = reports.queue(substrate, ("pending",))
    assert [(row.severity, row.summary) for row in rows] == [
        ("high", "stripe_refund: 5 of 7 calls failed the same way: «rate_limited»"),
        ("low", "2 copies of one fact: acme · likes · green tea"),
    ]
    assert recalled(substrate) == beginning, "proposing changes nothing that is recalled"
    lesson, copies = (row.address for row in rows)
    detail = reports.show(substrate, lesson, ANA)
    assert len(detail.evidence) == 5
    assert detail.creator == "engine:loop.tool_failure/1"
    assert detail.plan is not None
    assert (detail.plan.adds, detail.plan.undo, detail.plan.refusal) == (1, True, None)

    lifecycle.approve(substrate, lesson, "seen it often", ANA, NOW + 1)
    receipt = lifecycle.apply(substrate, lesson, "write it down", BEN, NOW + 2)
    assert receipt.chain_verified
    written = there(substrate, receipt.results[0])
    assert [written.get(name) for name in ("subject", "relation", "object")] == [
        "stripe_refund", "fails_with", "rate_limited",
    ]  # fmt: skip
    assert written.get("derived_from") == lesson
    between = recalled(substrate)
    lifecycle.approve_and_apply(substrate, copies, "same thing", ANA, NOW + 3)
    assert len(recalled(substrate)) == len(between) - 1
    assert go(substrate, NOW + 4).proposed == 0, "nothing is proposed about what was applied"

    lifecycle.rollback(substrate, copies, "they differ after all", ANA, NOW + 5)
    assert recalled(substrate) == between
    lifecycle.rollback(substrate, lesson, "fixed upstream", ANA, NOW + 6)
    assert recalled(substrate) == beginning
    assert set(statuses(substrate).values()) == {"rolled_back"}
    quiet = go(substrate, NOW + 7)
    assert (quiet.stored, dict(quiet.dropped)) == (0, {"cooling": 2})
    assert go(substrate, NOW + 7 * DAY + 6).stored == 2
    for row in views.ledger(substrate):
        assert reports.chain(substrate, row.address).verified


@check
def more_copies_than_one_proposal_holds(substrate: Substrate) -> None:
    """D9: the first forty now, how many remain is said, the rest with the run after the apply."""
    for n in range(60):
        fact(substrate, "acme", "likes", "tea" if n % 2 else "Tea", NOW - DAY + n)
    go(substrate)
    detail = reports.show(substrate, only(substrate), ANA)
    assert (detail.recommendation.remaining, detail.recommendation.evidence_total) == (19, 60)
    lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW + 1)
    assert len(recalled(substrate)) == 20
    assert go(substrate, NOW + 2).stored == 1
    lifecycle.approve_and_apply(substrate, only(substrate), "why", ANA, NOW + 3)
    assert len(recalled(substrate)) == 1
    assert go(substrate, NOW + 4).proposed == 0


@check
def a_planted_draft_is_reviewed_like_any_other(substrate: Substrate) -> None:
    """Recommendations and audit grains survive this memory's own way of storing them."""
    cited = fact(substrate, "a", "b", "c")
    args = {"text": "e\u0301 \u202e", "count": 3, "rate": 0.5}
    address = plant(substrate, draft([], [cited], args=args), creator="agent:x")
    detail = reports.show(substrate, address, ANA)
    assert dict(detail.recommendation.summary.args) == {"text": "é \u202e", "count": 3, "rate": 0.5}
    assert (detail.creator, detail.chain.verified, detail.foreign) == ("agent:x", True, False)
    assert lifecycle.approve(substrate, address, "e\u0301" * 500, ANA, NOW).because == "é" * 500


@check
def an_address_that_is_none_is_no_recommendation(substrate: Substrate) -> None:
    """LOP-E040 for whatever a caller passes as an address, two of them included (D15), never an accident."""
    fact(substrate, "a", "b", "c")
    strange: tuple[Any, ...] = (
        None,
        7,
        ["0" * 64, "1" * 64],
        "0" * 64,
        "",
        "xyz",
        "0" * 63,
        "é",
        "0" * 65,
        "' OR 1=1 --",
        next(substrate.scan("fact")).address,
    )
    for address in strange:
        with refused("LOP-E040"):
            reports.show(substrate, address, ANA)
        with refused("LOP-E040"):
            lifecycle.approve(substrate, address, "why", ANA, NOW)
