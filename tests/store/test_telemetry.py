# SPDX-License-Identifier: Apache-2.0
"""The sidecar: counts beside the memory, disposable, scrubbed, never in the way (INV-TELE)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from deja_tui import DejaError, Memory
from deja_tui.store import telemetry
from deja_tui.store.telemetry import Access, Accessed, Contexts, QueryStat, Telemetry
from tests.store.helpers import Clock
from tests.support import DAY, NOW


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.deja"


@pytest.fixture
def side(path: Path) -> Path:
    return path.with_name(path.name + telemetry.SUFFIX)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(path: Path, mode: str, clock: Clock) -> Memory:
    return Memory.open(path, telemetry=mode, clock=clock)


@pytest.fixture
def memory(path: Path, clock: Clock) -> Iterator[Memory]:
    with opened(path, "full", clock) as found:
        found.add_fact("ada", "likes", "tea")
        found.add_fact("bo", "phone", "555-0199")
        yield found


def test_off_is_the_default_and_makes_no_file(path: Path, side: Path) -> None:
    """D37: the library counts nothing unless it is told to."""
    with Memory.open(path) as memory:
        memory.add_fact("ada", "likes", "tea")
        memory.recall("ada")
        assert memory.telemetry.stats().mode == "off"
        assert memory.telemetry.access() == {}
    assert not side.exists()
    with pytest.raises(DejaError, match="VAL-E001"):
        Memory.open(path, telemetry="everything")


def test_recalls_are_counted_by_grain(memory: Memory, clock: Clock) -> None:
    """Recall, latest and search, with first and last time."""
    memory.recall("ada")
    clock.at += 10
    memory.latest("ada", "likes")
    memory.search("tea")
    memory.recall("nobody")
    (ada,) = memory.store.recall(namespace="shared", subject="ada")
    assert memory.telemetry.access() == {ada.address: Access(3, NOW, NOW + 10)}
    stats = memory.telemetry.stats()
    assert (stats.mode, stats.recalls, stats.grains_recalled, stats.queries) == ("full", 4, 1, 1)


def test_questions_are_one_whatever_their_case(memory: Memory) -> None:
    """Runs, empties and results of a free-text question; the newest wording is the sample."""
    for asked in ("Green  Tea", "green tea", "GREEN TEA"):
        memory.search(asked)
    memory.search("quartz")
    most, least = memory.telemetry.queries()
    assert (most.sample, most.runs, most.empties, most.results) == ("GREEN TEA", 3, 0, 3)
    assert (least.sample, least.runs, least.empties, least.namespace) == ("quartz", 1, 1, "shared")
    assert [found.sample for found in memory.telemetry.queries(2)] == ["GREEN TEA"]


def test_full_keeps_a_log_and_aggregate_does_not(memory: Memory, path: Path, clock: Clock) -> None:
    """Time, run id, subject, question, results, latency, the first addresses; newest first."""
    memory.telemetry.run_id = "run-7"
    memory.recall("ada")
    memory.search("nothing like it")
    newest, older = memory.telemetry.log()
    assert (newest.query, newest.subject, newest.results, newest.top) == ("nothing like it", None, 0, ())
    assert (older.run, older.subject, older.results, older.at) == ("run-7", "ada", 1, NOW)
    assert older.top == (memory.recall("ada")[0].address,)
    memory.close()
    with opened(path, "aggregate", clock) as other:
        before = other.telemetry.stats().logged
        other.recall("ada")
        assert other.telemetry.stats().logged == before


def test_watching_says_since_when(path: Path, clock: Clock) -> None:
    """INV-TELE-4: for each mode; the log begins anew after a time in which it was not kept."""
    for mode, at in (("aggregate", 0), ("full", 5), ("aggregate", 9), ("full", 12)):
        clock.at = NOW + at
        with opened(path, mode, clock) as memory:
            memory.add_fact("a", "b", str(at))
            memory.recall("a")
            watching = memory.telemetry.stats().watching
        expected = {"aggregate": NOW} | ({"full": NOW + at} if mode == "full" else {})
        assert watching == expected


def test_deliveries_and_budgets(memory: Memory, clock: Clock) -> None:
    """D37: deliveries are rows of the sidecar; budgets are kept by day."""
    (ada,) = memory.recall("ada")
    memory.telemetry.delivered([ada.address])
    memory.telemetry.delivered([ada.address])
    memory.telemetry.assembled(overflow=True)
    clock.at += 40 * DAY
    memory.telemetry.assembled(overflow=False)
    assert memory.telemetry.deliveries() == {ada.address: Access(2, NOW, NOW)}
    assert memory.telemetry.budget(0) == (2, 1)
    assert memory.telemetry.budget(clock.at - 30 * DAY) == (1, 0)
    stats = memory.telemetry.stats()
    assert (stats.deliveries, stats.samples, stats.overflows) == (2, 2, 1)


def test_a_look_at_the_counts_begins_the_watch(path: Path, side: Path, clock: Clock) -> None:
    """INV-TELE-4: so that "never recalled" can be said of a memory in which nothing was recalled."""
    with opened(path, "aggregate", clock) as memory:
        memory.add_fact("ada", "likes", "tea")
        assert not side.exists()
        clock.at += 5
        assert memory.telemetry.watching() == {"aggregate": NOW}
    clock.at += DAY
    with opened(path, "aggregate", clock) as memory:
        assert memory.telemetry.watching() == {"aggregate": NOW}
    with opened(path, "off", clock) as memory:
        assert memory.telemetry.watching() == {"aggregate": NOW}


def test_nobody_watches_where_nothing_is_counted(path: Path, side: Path, clock: Clock) -> None:
    """INV-TELE-5: a handle with telemetry off begins no watch."""
    with opened(path, "off", clock) as memory:
        memory.recall("ada")
        assert memory.telemetry.watching() == {}
        assert memory.telemetry.contexts(0) == Contexts(0, 0, None, None)
        assert memory.telemetry.queries() == []
        assert memory.telemetry.accesses() == []
        assert memory.telemetry.access_of(["a" * 64]) == {}
        assert memory.telemetry.recalled_more_than() == []
        assert memory.telemetry.asked("0" * 32) == []
    assert not side.exists()


@pytest.mark.parametrize("how", ["deleted by a person", "deleted by a scrub"])
def test_a_watch_never_reaches_behind_its_sidecar(memory: Memory, side: Path, clock: Clock, how: str) -> None:
    """INV-TELE-4: a handle that outlives the sidecar says since when the new one counts, not since when it is open."""
    memory.recall("ada")
    assert memory.telemetry.watching() == {"aggregate": NOW, "full": NOW}
    clock.at += 30 * DAY
    memory.recall("ada")
    memory.telemetry.flush()
    if how == "deleted by a person":
        side.unlink()
        since = clock.at
    else:
        other = apsw.Connection(str(side))
        other.execute("BEGIN IMMEDIATE")
        clock.at += DAY
        since = clock.at
        assert memory.telemetry.scrub(memory.store.recall(namespace="shared", subject="bo")) is None
        other.close()
    clock.at += DAY
    assert memory.telemetry.watching() == {"aggregate": since, "full": since}
    assert memory.telemetry.access() == {}
    memory.recall("ada")
    assert memory.telemetry.stats().recalls == 1
    assert side.exists()


def test_access_counts_can_be_asked_for_by_address_namespace_and_number(path: Path, clock: Clock) -> None:
    """What an analyzer of never recalled grains joins with: set-based, most recalled first."""
    with opened(path, "aggregate", clock) as memory:
        first = memory.add_fact("ada", "likes", "tea")
        second = memory.add_fact("bo", "likes", "figs", namespace="other")
        third = memory.add_fact("cy", "likes", "rye")
        for subject, space, times in (("ada", "shared", 3), ("bo", "other", 1)):
            for _ in range(times):
                memory.recall(subject, namespace=space)
        told = memory.telemetry
        ada = Accessed(first, "shared", 3, NOW, NOW)
        bo = Accessed(second, "other", 1, NOW, NOW)
        assert told.accesses() == [ada, bo]
        assert told.accesses(["other", "none"]) == [bo]
        assert told.accesses(more_than=1) == [ada]
        assert told.accesses(limit=1) == [ada]
        assert told.access_of([third, second, "no address"]) == {second: Access(1, NOW, NOW)}
        assert told.recalled_more_than(1) == [bytes.fromhex(first)]
        assert sorted(told.recalled_more_than()) == sorted(map(bytes.fromhex, (first, second)))


def test_a_question_says_when_it_was_last_answered(path: Path, clock: Clock) -> None:
    """A gap that was closed since is told by `last_found` above `last_empty`, whatever the counts say."""
    with opened(path, "full", clock) as memory:
        memory.search("Opening  hours")
        clock.at += 5
        memory.search("opening hours", namespace="other")
        for _ in range(4):
            memory.search("OPENING HOURS")
        (gap,) = memory.telemetry.queries(2, least_empty_ratio=0.8)
        memory.add_fact("shop", "opening hours", "nine to five")
        clock.at += 5
        memory.search("opening hours")
        (closed,) = memory.telemetry.queries(2, least_empty_ratio=0.8, namespaces=["shared"])
        assert memory.telemetry.queries(2, least_empty_ratio=0.9) == []
        assert [found.namespace for found in memory.telemetry.queries(limit=1)] == ["shared"]
        rows = memory.telemetry.asked(closed.key, limit=2)
        assert memory.telemetry.asked("not a key") == []
    assert (gap.last_empty, gap.last_found) == (NOW + 5, None)
    assert closed == QueryStat(
        namespace="shared",
        sample="opening hours",
        runs=6,
        empties=5,
        results=1,
        first=NOW,
        last=NOW + 10,
        text="opening hours",
        subject=None,
        last_empty=NOW + 5,
        last_found=NOW + 10,
        key=gap.key,
    )
    assert [(row.query, row.results) for row in rows] == [("opening hours", 1), ("OPENING HOURS", 0)]


def test_contexts_are_windowed_by_the_hour(memory: Memory, clock: Clock) -> None:
    """A 30-day window leaves out what is older by more than an hour, and says what it spans."""
    for hours, overflow in ((0, True), (1, False), (24 * 30, True), (24 * 31, False)):
        clock.at = NOW + hours * 3_600_000
        memory.telemetry.assembled(overflow)
    told = memory.telemetry
    assert told.contexts(clock.at - 30 * DAY) == Contexts(2, 1, NOW + 30 * DAY, NOW + 31 * DAY)
    assert told.contexts(0, NOW + 2 * 3_600_000) == Contexts(2, 1, NOW, NOW + 3_600_000)
    assert told.contexts(0) == Contexts(4, 2, NOW, NOW + 31 * DAY)
    assert told.contexts(clock.at + DAY) == Contexts(0, 0, None, None)


def test_a_recall_writes_nothing_and_an_act_writes_what_waits(path: Path, side: Path, clock: Clock) -> None:
    """INV-TELE-2: the file appears with the act that finds enough waiting."""
    with opened(path, "aggregate", clock) as memory:
        memory.add_fact("ada", "likes", "tea")
        for _ in range(200):
            memory.recall("ada")
        assert not side.exists()
        memory.add_fact("ada", "likes", "figs")
        assert side.exists()
        assert stat.S_IMODE(os.stat(side).st_mode) == 0o600
        memory.recall("ada")
    with opened(path, "aggregate", clock) as memory:
        assert memory.telemetry.stats().recalls == 201


def test_what_the_ring_has_no_room_for_is_counted_as_lost(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest are kept."""
    for _ in range(telemetry.RING + 5):
        memory.recall("ada")
    stats = memory.telemetry.stats()
    assert (stats.recalls, stats.lost) == (telemetry.RING, 5)


def test_the_log_is_bounded(memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """By age and by rows; questions by the newest."""
    memory.recall("ada")
    memory.telemetry.flush()
    clock.at += (telemetry.LOG_DAYS + 1) * DAY
    monkeypatch.setattr(telemetry, "LOG_ROWS", 5)
    monkeypatch.setattr(telemetry, "QUERY_ROWS", 10)
    for number in range(12):
        clock.at += 1
        memory.search(f"question {number}")
    assert [row.query for row in memory.telemetry.log()] == [f"question {n}" for n in range(11, 6, -1)]
    assert {found.sample for found in memory.telemetry.queries()} == {f"question {n}" for n in range(3, 12)}


def test_deleting_it_loses_nothing_else(memory: Memory, path: Path, side: Path, clock: Clock) -> None:
    """INV-TELE-1: the memory answers as before, counting begins anew."""
    memory.recall("ada")
    memory.telemetry.flush()
    before = memory.store.recall(namespace="shared", subject="ada")
    memory.close()
    side.unlink()
    with opened(path, "full", clock) as again:
        assert again.store.recall(namespace="shared", subject="ada") == before
        assert again.verify() == ()
        assert again.telemetry.stats().recalls == 0
        again.recall("ada")
        assert again.telemetry.stats().recalls == 1


@pytest.mark.parametrize("kind", ["another database", "no database", "a folder"])
def test_a_fault_of_the_sidecar_reaches_nobody(path: Path, side: Path, clock: Clock, kind: str) -> None:
    """What stands under its name and is not ours is left alone; the notice says so, recalls go on."""
    if kind == "another database":
        db = apsw.Connection(str(side))
        db.execute("CREATE TABLE mine(x)")
        db.close()
    elif kind == "no database":
        side.write_bytes(b"not a database at all, only some text" * 40)
    else:
        side.mkdir()
    before = side.read_bytes() if side.is_file() else None
    with opened(path, "full", clock) as memory:
        address = memory.add_fact("ada", "likes", "tea")
        assert len(memory.recall("ada")) == 1
        memory.telemetry.flush()
        assert memory.telemetry.notice
        assert memory.telemetry.stats().notice
        memory.recall("ada")
        assert memory.telemetry.access() == {}
        assert memory.telemetry.scrub([memory.store.get(address)]) is None or kind == "a folder"  # type: ignore[list-item]
    if kind == "another database":
        assert side.read_bytes() == before


def test_a_busy_sidecar_gets_it_the_next_time(
    memory: Memory, side: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flush never waits long and drops nothing."""
    memory.recall("ada")
    memory.telemetry.flush()
    apsw_db = memory.telemetry._db
    assert apsw_db is not None
    apsw_db.set_busy_timeout(0)
    other = apsw.Connection(str(side))
    other.execute("BEGIN IMMEDIATE")
    memory.recall("ada")
    memory.telemetry.flush()
    assert memory.telemetry.notice is None
    other.execute("ROLLBACK")
    assert memory.telemetry.stats().recalls == 2
    other.close()


def test_a_sidecar_of_another_memory_is_emptied(path: Path, side: Path, clock: Clock) -> None:
    """A file that took the name of a deleted one does not inherit its counts."""
    with opened(path, "aggregate", clock) as memory:
        memory.add_fact("ada", "likes", "tea")
        memory.recall("ada")
    path.unlink()
    with opened(path, "aggregate", clock) as memory:
        memory.add_fact("zoe", "likes", "figs")
        memory.recall("zoe")
        assert memory.telemetry.stats().recalls == 1
        assert len(memory.telemetry.access()) == 1


def test_an_older_sidecar_is_thrown_away(path: Path, side: Path, clock: Clock) -> None:
    """Its tables are disposable; no migration."""
    with opened(path, "aggregate", clock) as memory:
        memory.add_fact("ada", "likes", "tea")
        memory.recall("ada")
    db = apsw.Connection(str(side))
    db.pragma("user_version", 99)
    db.close()
    with opened(path, "aggregate", clock) as memory:
        assert memory.telemetry.stats().recalls == 0
        memory.recall("ada")
        assert memory.telemetry.stats().recalls == 1


def test_scrubbing_leaves_no_trace_of_an_erased_grain(memory: Memory, side: Path) -> None:
    """INV-TELE-3: addresses, questions made of its words or quoting it; other questions stay."""
    for asked in ("555-0199", "0199", "what is the phone of bo", "phone", "PHONE bo", "green tea", "weather"):
        memory.search(asked)
    memory.recall("bo")
    memory.recall("ada")
    (bo,) = memory.store.recall(namespace="shared", subject="bo")
    memory.telemetry.delivered([bo.address])
    assert memory.telemetry.scrub([bo]) is None
    assert {found.sample for found in memory.telemetry.queries()} == {"green tea", "weather"}
    assert bo.address not in memory.telemetry.access()
    assert memory.telemetry.deliveries() == {}
    assert {row.subject for row in memory.telemetry.log()} == {None, "ada"}
    content = side.read_bytes()
    assert b"0199" not in content
    assert bytes.fromhex(bo.address) not in content
    assert b"weather" in content


def test_nothing_of_it_travels(memory: Memory, tmp_path: Path) -> None:
    """Issue 3, point 6: no bundle, no segment, no restored file holds a question or a count."""
    memory.search("zqvwquestion")
    memory.recall("zqvwsubject")
    memory.telemetry.flush()
    (tmp_path / "hub").mkdir()
    memory.bundle(tmp_path / "all.mgb")
    memory.push_segments(tmp_path / "hub")
    Memory.restore(
        tmp_path / "a.deja", tmp_path / "new.deja", until=memory.clock() + DAY, because="to see what it holds"
    )
    written = [part for part in tmp_path.rglob("*") if part.is_file() and "telemetry" not in part.name]
    assert len(written) >= 4
    for part in written:
        assert b"zqvw" not in part.read_bytes(), part
    assert not [part for part in tmp_path.rglob("*.telemetry.db") if part.name != "a.deja.telemetry.db"]


def test_scrubbing_reaches_the_normal_form_and_what_a_question_was_narrowed_to(
    memory: Memory, side: Path
) -> None:
    """INV-TELE-3: a newer wording does not hide the older form; the log is told by subject, too."""
    memory.telemetry.recalled("shared", [], question="Phone OF  Bo")
    memory.telemetry.recalled("shared", [], question="phone of bo")
    memory.telemetry.recalled("shared", [], question="weather", subject="bo")
    memory.telemetry.recalled("shared", [], question="weather")
    assert len(memory.telemetry.queries()) == 3
    (bo,) = memory.store.recall(namespace="shared", subject="bo")
    assert memory.telemetry.scrub([bo]) is None
    assert [(found.text, found.subject) for found in memory.telemetry.queries()] == [("weather", None)]
    assert [row.subject for row in memory.telemetry.log()] == [None]
    assert b"phone of bo" not in side.read_bytes().lower()


def test_a_question_of_rare_words_goes_with_the_last_grain_that_has_one(memory: Memory, side: Path) -> None:
    """INV-TELE-3: also where several grains, each forgotten alone, have one of its words each."""
    one = memory.add_fact("cleo", "sails", "the quaggamire")
    two = memory.add_fact("cleo", "owns", "a zorblatt")
    memory.add_fact("dan", "likes", "a zorblatt")
    for asked in ("quaggamire or zorblatt tea", "zorblatt tea", "tea weather"):
        memory.search(asked)
    memory.forget(two, because="asked to")  # another grain still has its words
    assert {row.sample for row in memory.telemetry.queries()} == {
        "quaggamire or zorblatt tea",
        "zorblatt tea",
        "tea weather",
    }
    memory.forget(one, because="asked to")
    assert {row.sample for row in memory.telemetry.queries()} == {"zorblatt tea", "tea weather"}
    assert b"quaggamire" not in side.read_bytes()


@pytest.mark.parametrize(
    "asked",
    [
        "creme tea",
        "zorbl tea",
        "tea (att)",
        "東京 tea",
        "naivete tea",
        "NAÏVETÉ tea",
        "ungeheuer* tea",
        '"zorbl tea"',
    ],
)
def test_a_rare_word_is_told_as_a_search_compares_it(memory: Memory, side: Path, asked: str) -> None:
    """INV-TELE-3: without case and accents, the start of it, a part of what is joined or written without blanks."""
    one = memory.add_fact("cleo", "sails", "Crème_zorbl-att 東京都 naïveté ungeheuerlich9")
    memory.search(asked, namespace="elsewhere")
    memory.search("tea and cake", namespace="elsewhere")
    memory.forget(one, because="asked to")
    assert {row.sample for row in memory.telemetry.queries()} == {"tea and cake"}
    assert {row.query for row in memory.telemetry.log()} == {"tea and cake"}


def test_the_name_of_a_namespace_goes_with_its_last_grain(memory: Memory, side: Path) -> None:
    """INV-TELE-3: rows are filed under names of namespaces, and a name may be that of a person."""
    first = memory.add(
        "fact", {"subject": "hugo", "relation": "owns", "object": "boat"}, namespace="of-zelda"
    )
    second = memory.add(
        "fact", {"subject": "ivan", "relation": "owns", "object": "kite"}, namespace="of-zelda"
    )
    memory.search("weather", namespace="of-zelda")
    memory.recall("ivan", namespace="of-zelda")
    memory.search("rain")
    memory.forget(first, because="asked to")
    assert {row.namespace for row in memory.telemetry.queries()} == {"of-zelda", "shared"}
    memory.forget(second, because="asked to")
    assert {row.namespace for row in memory.telemetry.queries()} == {"shared"}
    assert b"zelda" not in side.read_bytes()
    memory.search("weather", namespace="user:zelda")
    memory.search("weather", namespace="user:zeldana")
    assert memory.telemetry.scrub([], "zelda") is None
    assert {row.namespace for row in memory.telemetry.queries()} == {"shared", "user:zeldana"}


def test_scrubbing_for_a_subject_takes_every_question_about_it(memory: Memory) -> None:
    """Also one that shares no word with any grain."""
    memory.search("who is Patricia Doe")
    memory.search("東京都の天気")
    memory.search("weather")
    assert memory.telemetry.scrub([], "patricia doe") is None
    assert memory.telemetry.scrub([], "東京都") is None
    assert [found.sample for found in memory.telemetry.queries()] == ["weather"]


def test_a_sidecar_that_cannot_be_scrubbed_is_deleted(memory: Memory, side: Path) -> None:
    """It is disposable; nothing is left behind and nothing is reported."""
    memory.recall("ada")
    memory.telemetry.flush()
    other = apsw.Connection(str(side))
    other.execute("BEGIN IMMEDIATE")
    assert memory.telemetry.scrub(memory.store.recall(namespace="shared", subject="ada")) is None
    assert not side.exists()
    other.close()
    memory.recall("ada")
    assert memory.telemetry.stats().recalls == 1


def test_it_is_scrubbed_also_by_a_handle_that_counts_nothing(path: Path, clock: Clock) -> None:
    """Forgetting with telemetry off reaches what an earlier handle wrote."""
    with opened(path, "aggregate", clock) as memory:
        memory.add_fact("bo", "phone", "555-0199")
        memory.search("555-0199")
    with Memory.open(path, clock=clock) as memory:
        (bo,) = memory.recall("bo")
        assert memory.telemetry.scrub([bo]) is None
        assert memory.telemetry.queries() == []


def test_a_reader_counts_too(path: Path, clock: Clock) -> None:
    """The sidecar is a file of its own: a memory that is open for reading only is counted."""
    with opened(path, "off", clock) as memory:
        memory.add_fact("ada", "likes", "tea")
    with Memory.open(path, read_only=True, telemetry="aggregate", clock=clock) as reader:
        reader.recall("ada")
        assert reader.telemetry.stats().recalls == 1


def test_parent_and_child_each_write_their_own(memory: Memory) -> None:
    """After a fork nothing is written twice and nothing is lost."""
    memory.recall("ada")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            memory.recall("bo")
            memory.recall("bo")
            code = 0 if memory.telemetry.stats().recalls == 2 else 3
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert memory.telemetry.stats().recalls == 3


def test_any_text_and_any_address_can_be_counted(memory: Memory) -> None:
    """Lone surrogates, NULs, very long texts, what is no address: nothing raises, nothing turns it off."""
    for text in ("\ud800", "a\x00b", "x" * 100_000, "", "«»"):
        memory.search(text)
        memory.recall(text, namespace=text or None)
        memory.telemetry.run_id = text
    memory.telemetry.delivered(["zz", "", "f" * 63])
    assert memory.telemetry.stats().notice is None
    assert len(memory.telemetry.queries()) == 5
    assert memory.telemetry.deliveries() == {}
    assert max(len(found.sample) for found in memory.telemetry.queries()) == 200


def test_closing_after_the_store_raises_nothing(memory: Memory) -> None:
    """INV-TELE-1: what the memory can no longer tell is left out."""
    memory.recall("ada")
    memory.store.close()
    memory.close()
    assert memory.telemetry.notice is None


def test_nobody_but_off_and_the_two_modes(path: Path) -> None:
    """VAL-E001."""
    with pytest.raises(DejaError, match="VAL-E001"):
        Telemetry(str(path), "loud", lambda: NOW)
