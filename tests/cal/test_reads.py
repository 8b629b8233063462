# SPDX-License-Identifier: Apache-2.0
"""Reading: which grains, in which order, how many; conditions that cannot be applied are errors, never dropped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deja_tui.cal import CalError, Host, Session
from deja_tui.facade import Memory
from deja_tui.store import codec
from tests.cal.corpus import NOW, Ticking, session_of

Told = Callable[..., dict[str, Any]]
DAY = 86_400_000


def objects(result: dict[str, Any]) -> list[Any]:
    return [row["fields"].get("object") for row in result["grains"]]


def refused(told: Told, text: str, params: Any = None) -> str:
    with pytest.raises(CalError) as caught:
        told(text, params)
    return caught.value.code


@pytest.fixture
def hundred(memory: Memory) -> Memory:
    with memory.store.act():
        for number in range(120):
            memory.add_fact(
                f"s{number % 3}", "counts", f"{number:03}", created_at=NOW + (number * 7919) % 1_000
            )
    return memory


# --- how many ---------------------------------------------------------------------------------------


def test_fifty_rows_are_given_and_all_are_counted(hundred: Memory, told: Told) -> None:
    """The default limit bounds what is shown, never what is said about the rest."""
    result = told("RECALL facts")
    assert len(result["grains"]) == 50
    assert result["total_available"] == 120
    assert objects(result)[0] == "119"


def test_count_counts_every_match(hundred: Memory, told: Told) -> None:
    """COUNT without LIMIT is not the default limit."""
    assert told("RECALL facts COUNT")["count"] == 120
    assert told('RECALL facts WHERE subject = "s1" COUNT')["count"] == 40
    assert told('RECALL facts WHERE object CONTAINS "1" COUNT')["count"] == sum(
        "1" in f"{n:03}" for n in range(120)
    )
    assert told("RECALL facts LIMIT 7 COUNT")["count"] == 7


def test_order_by_sees_every_match_not_the_newest_fifty(hundred: Memory, told: Told) -> None:
    """The three smallest of all, and at most fifty when nothing says how many."""
    assert objects(told("RECALL facts ORDER BY object LIMIT 3")) == ["000", "001", "002"]
    assert len(told("RECALL facts ORDER BY object")["grains"]) == 50
    assert objects(told("RECALL facts OFFSET 118")) == ["001", "000"]
    assert objects(told("RECALL facts LIMIT 3 ORDER BY object")) == ["117", "118", "119"]


def test_what_was_not_counted_is_not_claimed(
    hundred: Memory, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact where it is cheap, else said to be the least, or an estimate of the index; COUNT is always exact."""
    assert "total_is" not in told("RECALL facts LIMIT 5")
    assert "total_is" not in told('RECALL facts WHERE subject = "s1"')
    assert "total_is" not in told('RECALL facts WHERE subject = "s1" LIMIT 35')
    assert "total_is" not in told('RECALL WHERE subject = "s1" LIMIT 35')
    monkeypatch.setattr("deja_tui.cal.reads.COUNTED_ONE_BY_ONE", 10)
    result = told('RECALL facts WHERE object != "x" LIMIT 5')
    assert (result["total_is"], result["total_available"]) == ("minimum", 16)
    result = told('RECALL facts WHERE subject = "s1" LIMIT 5')
    assert (result["total_is"], result["total_available"]) == ("estimate", 40)
    monkeypatch.setattr("deja_tui.cal.reads.COUNTED", 30)
    result = told("RECALL facts LIMIT 5")
    assert (result["total_is"], result["total_available"]) == ("minimum", 30)
    assert told('RECALL facts WHERE object != "x" COUNT')["count"] == 120


def test_recent_is_by_created_at_with_ties_newest_stored_first(hundred: Memory, told: Told) -> None:
    """The newest that happened, not the newest that was stored."""
    times = [row["fields"]["created_at"] for row in told("RECALL facts RECENT 30")["grains"]]
    assert times == sorted(times, reverse=True)
    assert times[0] == NOW + max((number * 7919) % 1_000 for number in range(120))


# --- which ------------------------------------------------------------------------------------------


def test_hidden_grains_are_no_versions(memory: Memory, told: Told) -> None:
    """What an undo took out of recall is not shown as superseded either."""
    first = memory.add_fact("a", "b", "one")
    second = memory.supersede(first, {"object": "two"})
    hidden = memory.add_fact("a", "b", "three")
    with memory.store.act() as act:
        act.mark(hidden, "hide")
    assert [row["hash"] for row in told("RECALL facts WITH superseded")["grains"]] == [second, first]


def test_arrival_shows_every_version_with_its_place(memory: Memory, told: Told) -> None:
    """WITH arrival: hidden versions too; the field is pushed down to the table's own order."""
    first = memory.add_fact("a", "b", "one")
    second = memory.supersede(first, {"object": "two"})
    hidden = memory.add_fact("a", "b", "three")
    with memory.store.act() as act:
        act.mark(hidden, "hide")
    rows = told("RECALL facts WITH arrival")["grains"]
    assert [row["hash"] for row in rows] == [hidden, second, first]
    assert [(row["live"], row["fields"].get("superseded_by"), row["imported"]) for row in rows] == [
        (False, None, False), (True, None, False), (False, second, False),
    ]  # fmt: skip
    seqs = [row["arrival"] for row in rows]
    assert seqs == sorted(seqs, reverse=True)
    for where, right in (
        (f"> {seqs[2]}", [second]),
        (f"<= {seqs[1]}", [second]),
        ("> 99", []),
        ("= 0.5", []),
    ):
        text = f"RECALL facts WHERE arrival {where}"
        assert [row["hash"] for row in told(text)["grains"]] == right
    (read,) = told(f"EXPLAIN RECALL facts WHERE arrival > {seqs[2]}")["plan"]["reads"]
    assert read["evaluated"] == []


def test_a_retired_grain_names_what_took_its_place(memory: Memory, told: Told) -> None:
    """WITH superseded shows the duplicate and the one that stayed."""
    kept, gone = memory.add_fact("a", "b", "c"), memory.add_fact("a", "b", "c", 0.5)
    with memory.store.act() as act:
        act.mark(gone, "retire", kept)
    assert objects(told("RECALL facts")) == ["c"]
    rows = told("RECALL facts WITH superseded")["grains"]
    assert [row["fields"].get("superseded_by") for row in rows] == [kept, None]


def test_one_namespace_is_read_and_a_named_one_instead(memory: Memory, told: Told) -> None:
    """`=`, IN, OR of both, and RECALL … IN choose; several are read together."""
    for name in ("shared", "a", "b"):
        memory.add_fact("x", "in", name, namespace=name)
    assert objects(told("RECALL facts")) == ["shared"]
    assert objects(told('RECALL facts WHERE namespace = "a"')) == ["a"]
    assert objects(told('RECALL facts IN "b"')) == ["b"]
    both = ('namespace IN ("a", "b")', 'namespace = "a" OR namespace = "b"', "namespace IN $n")
    for where in both:
        assert objects(told(f"RECALL facts WHERE {where}", {"n": ["a", "b"]})) == ["b", "a"]
    assert objects(told('RECALL facts WHERE (namespace = "a" OR namespace = "b") AND object = "a"')) == ["a"]
    assert objects(told('RECALL facts WHERE namespace = "a" AND namespace = "b"')) == []
    assert objects(told('RECALL facts WHERE namespace = "nowhere"')) == []


@pytest.mark.parametrize(
    "where",
    [
        'NOT namespace = "a"',
        'namespace != "a"',
        'namespace = "a" OR subject = "x"',
        'subject = "x" AND (namespace = "a" AND object = "y" OR object = "z")',
        "namespace IS NULL",
        'NOT query = "x"',
        'query != "x"',
        'query = "x" OR subject = "a"',
    ],
)
def test_a_namespace_or_text_that_is_not_for_the_whole_statement_is_refused(where: str, told: Told) -> None:
    """PLAN-2: it would silently widen what is read."""
    assert refused(told, f"RECALL facts WHERE {where}") == "CAL-E060"


def test_reserved_namespaces_are_read_only_when_named(memory: Memory, told: Told) -> None:
    """D7: what the engine keeps is no part of default recall."""
    with memory.store.act(governed=True) as act:
        act.add(codec.make_grain("observation", {"object": "audit"}, namespace="deja-loop", created_at=NOW))
    assert told("RECALL observations")["grains"] == []
    assert objects(told('RECALL observations WHERE namespace = "deja-loop"')) == ["audit"]
    assert told('RECALL * ABOUT "audit"')["grains"] == []


def test_my_rows_are_those_of_the_session_user(memory: Memory) -> None:
    """Nobody's rows when there is no user."""
    memory.add_fact("a", "b", "mine", user_id="u1")
    memory.add_fact("a", "b", "theirs", user_id="u2")
    store, clock = memory.store, memory.clock
    mine = Session(Host(store, "shared", clock, user="u1")).run("RECALL MY facts").as_json()
    assert objects(mine) == ["mine"]
    assert Session(Host(store, "shared", clock)).run("RECALL MY facts").as_json()["grains"] == []


def test_what_statements_may_write_they_may_ask_for(memory: Memory, told: Told) -> None:
    """Sessions, runs and validity can be filtered on every type."""
    memory.add_fact("a", "b", "c", session_id="s", run_id="r", valid_to=NOW - DAY)
    memory.add("goal", {"description": "d", "session_id": "s"})
    assert objects(told('RECALL facts WHERE session_id = "s" AND run_id = "r"')) == ["c"]
    assert objects(told("RECALL facts WHERE valid_to <= $now", {"now": NOW})) == ["c"]
    assert len(told('RECALL * WHERE session_id = "s"')["grains"]) == 2


# --- conditions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ('colour = "red"', "CAL-E060"),
        ('tool_name = "x"', "CAL-E060"),
        ('tags = "x"', "CAL-E060"),
        ('tags CONTAINS "x"', "CAL-E060"),
        ('subject INCLUDE ["x"]', "CAL-E060"),
        ("subject IS PREFERENCE", "CAL-E060"),
        ('time CONTAINS "x"', "CAL-E020"),
        ('hash < "' + "a" * 64 + '"', "CAL-E060"),
        ('hash = "abc"', "CAL-E015"),
        ("subject = 1", "CAL-E020"),
        ("subject = true", "CAL-E020"),
        ('confidence = "high"', "CAL-E020"),
        ("confidence = true", "CAL-E020"),
        ('confidence CONTAINS "0"', "CAL-E020"),
        ('subject IN ("a", 1)', "CAL-E020"),
        ('subject = ["a"]', "CAL-E020"),
        ("subject = sha256:" + "a" * 64, "CAL-E020"),
        ("subject IN $nobody", "CAL-E008"),
        ("subject = $nobody", "CAL-E008"),
        ("header = 1", "CAL-E002"),
        ('SUBJECT = "a"', "CAL-E060"),
        ('created_at BETWEEN "then" AND "now"', "CAL-E020"),
        ("confidence BETWEEN 0 AND 1", "CAL-E060"),
    ],
)
def test_a_condition_that_cannot_be_applied_is_an_error(where: str, code: str, told: Told) -> None:
    """COND-3: never dropped, never taken for something else; also under NOT, OR and brackets."""
    assert refused(told, f"RECALL facts WHERE {where}") == code
    assert refused(told, f'RECALL facts WHERE NOT ({where}) OR object = "x"') == code


def test_a_condition_on_what_gives_no_rows_is_an_error(memory: Memory, told: Told) -> None:
    """A WHERE behind a statement is applied to its rows, or refused where there are none; never dropped."""
    memory.add_fact("a", "b", "c")
    text = "ASSEMBLE FROM x: (RECALL facts), y: (RECALL tools)"
    told(f'DEFINE QUERY "both" AS {{ {text} }}')
    for statement in ('RUN "both"', "RECALL facts COUNT", "SHOW FORKS", "DESCRIBE STATS", "EXISTS facts"):
        tail = " LIMIT 1 WHERE" if statement.startswith("EXISTS") else " WHERE"
        assert refused(told, f'{statement}{tail} subject = "nobody"') == "CAL-E021", statement
    assert told('RECALL facts LIMIT 5 WHERE subject = "nobody"')["grains"] == []


def test_whether_a_head_is_contested_is_known_wherever_it_is_asked(
    tmp_path: Path, memory: Memory, told: Told
) -> None:
    """The bytes of a grain do not say it: in WHERE, behind the rows, in stages, in a context, through a saved query."""
    base, plain = memory.add_fact("a", "b", "one"), memory.add_fact("c", "d", "calm")
    with Memory.open(tmp_path / "other.deja", clock=Ticking(), durability="normal") as other:
        bundle = tmp_path / "b.mgb"
        memory.bundle(bundle)
        other.import_bundle(bundle)
        other.supersede(base, {"object": "there"})
        memory.supersede(base, {"object": "here"})
        bundle = tmp_path / "c.mgb"
        other.bundle(bundle)
        memory.import_bundle(bundle)
    told('DEFINE QUERY "all" AS { RECALL facts }')
    for text in (
        "RECALL facts WHERE contradicted = {}",
        "RECALL facts LIMIT 9 WHERE contradicted = {}",
        "ASSEMBLE FROM (RECALL facts) WHERE contradicted = {}",
        'RUN "all" WHERE contradicted = {}',
        "(RECALL facts) UNION (RECALL tools) WHERE contradicted = {}",
    ):
        assert [row["hash"] for row in told(text.format("false"))["grains"]] == [plain], text
        assert sorted(objects(told(text.format("true")))) == ["here", "there"], text
    rows = told("RECALL facts ORDER BY contradicted SELECT object, contradicted")["grains"]
    assert [row["fields"]["contradicted"] for row in rows] == [False, True, True]


def test_every_word_of_the_language_may_be_a_field_that_exists(memory: Memory, told: Told) -> None:
    """Only a field can stand there, so keywords are free."""
    memory.add("goal", {"description": "d", "priority": "high"})
    memory.add("workflow", {"trigger": "t", "name": "n"})
    assert len(told('RECALL goals WHERE priority = "high"')["grains"]) == 1
    assert len(told('RECALL workflows WHERE trigger = "t" AND name = "n"')["grains"]) == 1
    assert told('RECALL goals WHERE scope = "x" AND description = "d"')["grains"] == []


def test_params_are_values_whatever_they_hold(memory: Memory, told: Told) -> None:
    """QUERY-2: nothing in a value is parsed, not even what looks like the language."""
    hostile = 'a" OR subject = "b'
    memory.add_fact(hostile, "r", "one")
    memory.add_fact("b", "r", "two")
    assert objects(told("RECALL facts WHERE subject = $s", {"s": hostile})) == ["one"]
    assert objects(told("RECALL facts WHERE subject IN $s", {"s": ["b", "$s"]})) == ["two"]
    assert objects(told("RECALL facts WHERE subject = $s", {"s": "$s"})) == []
    assert objects(told("RECALL facts WHERE subject IN ($s, $t)", {"s": "b", "t": []})) == ["two"]
    assert objects(told("RECALL facts WHERE subject IN $s", {"s": []})) == []
    assert objects(told("RECALL facts WHERE subject NOT IN $s", {"s": []})) == []  # §5.2, §19: never wider
    assert objects(told("RECALL facts WHERE subject NOT IN $s", {"s": ["b"]})) == ["one"]
    assert objects(told("RECALL facts LIMIT $n", {"n": 1})) == ["two"]
    assert refused(told, "RECALL facts LIMIT $n", {"n": 0}) == "CAL-E010"
    assert refused(told, "RECALL facts LIMIT $n", {"n": "1"}) == "CAL-E006"
    assert refused(told, "RECALL facts WHERE subject = $s", {"s": {"a": 1}}) == "CAL-E020"


# --- times ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clause", "right"),
    [
        ('SINCE "2026-03-01"', ["today", "yesterday"]),
        ('SINCE "2026-03-02"', ["today"]),
        ('UNTIL "2026-03-01"', ["yesterday", "old"]),
        ('UNTIL "2026-02"', ["old"]),
        ('BETWEEN "2026-03-01" AND "2026-03-01"', ["yesterday"]),
        ('SINCE "2 days ago" UNTIL "yesterday"', ["yesterday"]),
        ('SINCE "last week"', ["today", "yesterday"]),
        ('SINCE "today"', ["today"]),
        ('SINCE "2026-03-02T09:00:00+00:00"', []),
        ('SINCE "2026-03-02T09:30:00+01:00"', ["today"]),
        (f"SINCE {NOW - DAY}", ["today", "yesterday"]),
        ('WHERE time = "2025"', ["old"]),
        ('WHERE time = "2026-03"', ["today", "yesterday"]),
        ('WHERE time > "2026-03-01"', ["today"]),
        ('WHERE time != "2026-03-01"', ["today", "old"]),
        ('WHERE NOT time >= "2026-03-01"', ["old"]),
        ('WHERE time BETWEEN "2025-06" AND "2026-03-01"', ["yesterday", "old"]),
    ],
)
def test_times_are_spans_of_whole_days_months_and_years(
    clause: str, right: list[str], memory: Memory, told: Told
) -> None:
    """A date is the whole UTC day: its start for SINCE, its end for UNTIL."""
    memory.add_fact("a", "b", "old", created_at="2025-06-19T00:00:00Z")
    memory.add_fact("a", "b", "yesterday", created_at=NOW - DAY + 1)
    memory.add_fact("a", "b", "today", created_at=NOW - 60_000)
    assert objects(told(f"RECALL facts {clause}")) == right


@pytest.mark.parametrize(
    "time", ["soon", "2026-13", "2026-02-30", "2026-03-02T09:00:00", "", "10", "-1 days ago", "99999"]
)
def test_what_is_no_time_is_refused_with_the_forms_that_are(time: str, told: Told) -> None:
    """A guess would read the wrong rows."""
    with pytest.raises(CalError) as caught:
        told("RECALL facts SINCE $t", {"t": time})
    assert caught.value.code == "CAL-E020"
    assert len(caught.value.expected) > 3


# --- links ------------------------------------------------------------------------------------------


def test_history_crosses_a_forgotten_version_and_lists_every_branch(memory: Memory, told: Told) -> None:
    """Real links: the chain is one chain, whatever lies in its middle."""
    first = memory.add_fact("a", "b", "1")
    second = memory.supersede(first, {"object": "2"})
    third = memory.supersede(second, {"object": "3"})
    memory.forget(second, because="wrong")
    for start in (first, third):
        assert [row["hash"] for row in told(f"HISTORY OF sha256:{start}")["versions"]] == [third, first]
    assert [row["superseded_by"] for row in told(f"HISTORY OF sha256:{first}")["versions"]] == [None, second]


def test_history_as_of_leaves_out_what_arrived_later(memory: Memory, told: Told, clock: Ticking) -> None:
    """D45: as of means as it was known here."""
    first = memory.add_fact("a", "b", "1", created_at=NOW - 9 * DAY)
    clock.now += DAY
    second = memory.supersede(first, {"object": "2"})
    assert [row["hash"] for row in told(f"HISTORY OF sha256:{first} AS OF {NOW + 1_000}")["versions"]] == [
        first
    ]
    assert [row["hash"] for row in told(f"HISTORY OF sha256:{first}")["versions"]] == [second, first]
    known = told(f'ENTITY "a" RELATION "b" AT {NOW + 1_000} AXIS knowledge')
    assert known["grain"]["hash"] == first


def test_explain_says_what_was_pushed_and_counts_what_was_read(hundred: Memory, told: Told) -> None:
    """The plan that was used, with its numbers."""
    plan = told('EXPLAIN RECALL facts WHERE subject = "s1" AND object CONTAINS "1" LIMIT 5')["plan"]
    (read,) = plan["reads"]
    assert read["path"] == "by subject"
    assert 'subject = "s1"' in read["pushed"]
    assert read["evaluated"] == ['subject = "s1"', 'object CONTAINS "1"']
    assert read["rows"]["returned"] == 5
    assert read["rows"]["candidates"] <= 40
    assert plan["class"] == "read"
    plan = told("EXPLAIN RECALL facts SINCE 0 LIMIT 5")["plan"]
    assert plan["reads"][0]["evaluated"] == []
    plan = told("EXPLAIN ASSEMBLE FROM a: (RECALL facts), b: (RECALL events) BUDGET 100")["plan"]
    assert plan["budget"]["used"] <= 100
    assert len(plan["reads"]) == 2


def test_explain_of_a_context_tells_its_budget(hundred: Memory, told: Told) -> None:
    """One source as well as several: unit, limit and what would be used; and the text it would be."""
    one = told("EXPLAIN ASSEMBLE FROM facts BUDGET 3")["plan"]
    assert one["budget"] == {"unit": "grains", "limit": 3, "used": 3}
    two = told("EXPLAIN ASSEMBLE FROM a: (RECALL facts), b: (RECALL tools) BUDGET 90")["plan"]
    assert two["budget"]["unit"] == "tokens"
    assert 0 < two["budget"]["used"] <= 90 == two["budget"]["limit"]
    assert [read["rows"]["returned"] for read in two["reads"]] == [50, 0]
    shown = told("EXPLAIN ASSEMBLE FROM facts BUDGET 3 FORMAT sml")["plan"]
    assert (shown["preview"]["grain_count"], shown["budget"]["used"]) == (3, 3)


def test_a_statement_sees_one_committed_state(memory: Memory, session: Session) -> None:
    """INV-STORE-1 holds for a text with several reads in it."""
    memory.add_fact("a", "b", "c")
    other = session_of(memory)
    with memory.store.snapshot():
        first = session.run("RECALL facts COUNT")
        assert other.run("RECALL facts COUNT") == first
