# SPDX-License-Identifier: Apache-2.0
"""Full-text search: complete, safe for any query, bounded, the same before and after the index moved (INV-SEARCH)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deja_tui.store import layout, ranking
from deja_tui.store import search as engine
from deja_tui.store.codec import encode, make_grain
from deja_tui.store.memory import Store
from deja_tui.store.projection import pieces, spread, text_of
from deja_tui.store.rows import unfold
from deja_tui.text import door, nfc
from tests.store.helpers import Boom, add, bytes_on_disk, call, everything, fact, fails, forget, many, note
from tests.support import NOW


def found(store: Store, query: str, **options: object) -> list[object]:
    return [grain.get("object") or grain.get("tool_content") for grain in store.search(query, **options)]  # type: ignore[arg-type]


def index(store: Store, upto: int) -> None:
    """Move the index forward to a position, without waiting for the tail to fill."""
    with store.act() as act:
        db, counters = act._tx.db, act._tx.counters
        sql = "SELECT id, type, body FROM grain WHERE id > ? AND id <= ?"
        for gid, kind, body in db.execute(sql, (counters.get("indexed", 0), upto)).fetchall():
            if text := engine.words_of(kind, body):  # type: ignore[arg-type]
                db.execute("INSERT INTO text(rowid, t) VALUES(?, ?)", (gid, text))
        counters["indexed"] = upto


@pytest.fixture(params=["tail", "index", "both"])
def filled(request: pytest.FixtureRequest, store: Store) -> Store:
    """The same grains, waiting for the index, in it, or half and half."""
    grains = [
        fact("ada", "likes", "green tea"),
        fact("ada", "likes", "Caf\u00e9 cr\u00e8me"),
        call("stripe_refund", "payment_failed: rate limited", True, input={"path": "/srv/app/main.py"}),
        note("\u6771\u4eac\u90fd\u306b\u884c\u304f"),
        note("\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f \u0643\u062a\u0640\u0640\u0628"),
        note("\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e"),
        note("\ud559\uad50\uc5d0\uc11c \uacf5\ubd80"),
    ]
    if request.param == "index":
        add(store, *grains)
        many(store, 300, "other")
    elif request.param == "both":
        add(store, *grains[:4])
        many(store, 300, "other")
        add(store, *grains[4:])
    else:
        add(store, *grains)
    return store


@pytest.mark.parametrize(
    "query,words",
    [
        ("tea", ["green tea"]),
        ("TEA", ["green tea"]),
        ("green nothing", ["green tea"]),
        ("likes", ["green tea", "Caf\u00e9 cr\u00e8me"]),
        ("cafe", ["Caf\u00e9 cr\u00e8me"]),
        ("CAFE\u0301", ["Caf\u00e9 cr\u00e8me"]),
        ("stripe_refund", ["payment_failed: rate limited"]),
        ("payment_failed", ["payment_failed: rate limited"]),
        ("failed_payment", []),
        ("main.py", ["payment_failed: rate limited"]),
        ("\u6771\u4eac", ["\u6771\u4eac\u90fd\u306b\u884c\u304f"]),
        ("\u4eac\u90fd", ["\u6771\u4eac\u90fd\u306b\u884c\u304f"]),
        ("\u6771\u90fd", []),
        ("\u90fd", ["\u6771\u4eac\u90fd\u306b\u884c\u304f"]),
        ("\u304f", ["\u6771\u4eac\u90fd\u306b\u884c\u304f"]),
        (
            "\u0645\u062d\u0645\u062f",
            ["\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f \u0643\u062a\u0640\u0640\u0628"],
        ),
        (
            "\u0643\u062a\u0628",
            ["\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f \u0643\u062a\u0640\u0640\u0628"],
        ),
        (
            "\u0926\u0941\u0928\u093f\u092f\u093e",
            ["\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e"],
        ),
        ("\u0926\u0928\u092f", []),
        ("\ud559\uad50", ["\ud559\uad50\uc5d0\uc11c \uacf5\ubd80"]),
        ("gre*", ["green tea"]),
        ("GRE* nothing", ["green tea"]),
        ("een*", []),
        ("cafe\u0301*", ["Caf\u00e9 cr\u00e8me"]),
        ("stripe_re*", ["payment_failed: rate limited"]),
        ("refund_str*", []),
        ("*", []),
        ("*tea", ["green tea"]),
        ('"green tea"', ["green tea"]),
        ('"tea green"', []),
        ('"green te"', []),
        ('"green te"*', ["green tea"]),
        ('"green te*"', ["green tea"]),
        ('"green  te*', ["green tea"]),
        ('"rate limited" "tea green"', ["payment_failed: rate limited"]),
        ('"limited green"', []),
        ('"\u6771\u4eac\u90fd\u306b"', ["\u6771\u4eac\u90fd\u306b\u884c\u304f"]),
        ('"\u6771\u90fd"', []),
        ("\u6771\u4eac*", ["\u6771\u4eac\u90fd\u306b\u884c\u304f"]),
        ('"\ud559\uad50\uc5d0\uc11c \uacf5"', ["\ud559\uad50\uc5d0\uc11c \uacf5\ubd80"]),
        ('"\ud559\uad50 \uacf5\ubd80"', []),
        (
            '"\u0645\u062d\u0645\u062f \u0643\u062a\u0628"',
            ["\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f \u0643\u062a\u0640\u0640\u0628"],
        ),
        ("", []),
        ("   \n\t ", []),
        ('"', []),
        ("!!! --- ***", []),
    ],
)
def test_words_are_found_in_every_script_wherever_they_are_kept(
    filled: Store, query: str, words: list[str]
) -> None:
    """INV-SEARCH-1, INV-PROJ-2: index and tail answer alike."""
    assert sorted(map(str, found(filled, query))) == sorted(map(nfc, words))


@pytest.mark.parametrize(
    "query",
    ['a"b', '""', '"""', '"*"', '"* ', '"a"*b"', "**", "NEAR(a b)", "a AND", "OR", "NOT x", "col:x", "*", "x*", "^x", "-x", "+", "(", "{a b}:c", "\x00", "a\x00b", "'",
     "\ud800", "tea\ud800", "x" * 100_000, "tea " * 5000, "\u202etea", "\ufdfa", "a;DROP TABLE grain", "\u0301"],
)  # fmt: skip
def test_no_query_is_an_error(filled: Store, query: str) -> None:
    """INV-SEARCH-4: operators of the index are words like any other."""
    filled.search(query)
    filled.search(query, namespace=query[:20])


def test_operators_are_words(store: Store) -> None:
    """INV-SEARCH-4: a search for NOT finds the grain that says not."""
    add(store, fact("a", "is", "not here"), fact("b", "is", "near and far"))
    assert found(store, "NOT") == ["not here"]
    assert found(store, "NEAR AND") == ["near and far"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6), query=st.text(max_size=12))
def test_any_text_under_any_query_is_safe_and_meets_itself(
    texts: list[str], query: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """INV-SEARCH-1, -4: a text finds its own grain, indexed or not; deleting it from the index takes every word."""
    path = tmp_path_factory.mktemp("any") / "m.deja"
    with Store.open(path, durability="normal") as store:
        addresses = add(store, *(note(door(text), at=NOW + n) for n, text in enumerate(texts)))
        store.search(query)
        cut = engine.tokenizer(store.reading())
        for address, text in zip(addresses, texts, strict=True):
            if engine.units(text, cut):
                assert address in {g.address for g in store.search(text, k=99)}
        before = [[g.address for g in store.search(text, k=99)] for text in (*texts, query)]
        index(store, len(texts))
        assert [[g.address for g in store.search(text, k=99)] for text in (*texts, query)] == before
        with store.act() as act:
            for address in set(addresses):
                act.forget(address)
        assert store.reading().execute("SELECT count(*) FROM word").get == 0
        assert store.verify(deep=True) == ()


def test_moving_the_index_forward_changes_no_answer(store: Store) -> None:
    """INV-SEARCH-1: scores come from the words alone, wherever they are kept; any split gives the same order."""
    rng = random.Random(5)
    words = [f"w{n}" for n in range(60)]
    grains = [
        note(
            " ".join(rng.choice(words) for _ in range(rng.randint(1, 30))),
            at=NOW + n,
            namespace=rng.choice("ab"),
        )
        for n in range(240)
    ]
    addresses = add(store, *grains)
    with store.act() as act:
        for address in addresses[::7]:
            act.mark(address, "hide")
    queries = [" ".join(rng.sample(words, n)) for n in (1, 2, 3, 5)] + ["w1 w1", "w1", "w2 absent"]

    def answers() -> Iterator[list[str]]:
        for query in queries:
            for namespace in (None, "a"):
                yield [g.address for g in store.search(query, namespace=namespace, k=20)]

    before = list(answers())
    assert all(before)
    for upto in (80, 160, 240):
        index(store, upto)
        assert list(answers()) == before


def test_more_and_rarer_words_come_first_then_shorter_then_newer(store: Store) -> None:
    """The rule that the module states."""
    add(
        store,
        note("alpha common", at=NOW + 1),
        note("alpha beta", at=NOW),
        note("beta common", at=NOW + 2),
        note("alpha " + "padding " * 60, at=NOW + 9),
        *(note(f"common {n}", at=NOW - n) for n in range(30)),
    )
    assert found(store, "alpha beta")[0] == "alpha beta"
    assert found(store, "alpha common")[:2] == ["alpha common", "alpha beta"]
    assert str(found(store, "alpha")[-1]).startswith("alpha padding")
    assert found(store, "common", k=3) == ["common 29", "common 28", "common 27"]


def test_only_live_grains_of_the_asked_namespace_are_found(store: Store) -> None:
    """INV-SEARCH-3; reserved namespaces have no words at all (INV-PROJ-3)."""
    old, hidden, gone = add(store, fact(object="mango 1"), fact(object="mango 2"), fact(object="mango 3"))
    add(store, fact(object="mango 4", namespace="other"))
    add(store, fact(object="mango 5", namespace="deja-loop"), governed=True)
    many(store, 300)
    with store.act() as act:
        act.supersede(old, fact(object="papaya"))
        act.mark(hidden, "hide")
    forget(store, gone)
    assert found(store, "mango") == ["mango 4"]
    assert found(store, "mango", namespace="shared") == []
    assert found(store, "mango", namespace="deja-loop") == []
    assert found(store, "mango", namespace="nowhere") == []
    assert found(store, "papaya") == ["papaya"]
    with store.act() as act:
        act.mark(hidden, "reopen")
    assert found(store, "mango", namespace="shared") == ["mango 2"]


def test_a_search_writes_nothing(store: Store, path: Path) -> None:
    """INV-SEARCH-2: not a row, not a byte."""
    many(store, 250)
    before, content = everything(store), bytes_on_disk(path)
    for _ in range(3):
        store.search("filler 7")
    assert everything(store) == before
    assert bytes_on_disk(path) == content
    assert store.stats()["unindexed"] == 250


def test_the_tail_never_grows_beyond_its_limit(store: Store) -> None:
    """INV-SEARCH-2: the act that overfills it moves the index, whether it adds one grain or a thousand."""
    many(store, layout.TAIL_LIMIT)
    assert store.stats()["unindexed"] == layout.TAIL_LIMIT
    (last,) = many(store, 1, "straw")
    assert store.stats()["unindexed"] == 0
    assert [g.address for g in store.search("straw")] == [last]
    many(store, 1000)
    assert store.stats()["unindexed"] == 0
    assert store.verify(deep=True) == ()


def test_common_words_are_bounded_and_still_give_what_may_be_shown(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-SEARCH-5: with few holders looked at, hidden ones on top do not hide the rest, and all words together win."""
    monkeypatch.setattr(ranking, "HOLDERS", 16)
    monkeypatch.setattr(ranking, "_CANDIDATES", 4)
    (both,) = add(store, note("here there", at=NOW))
    here = add(store, *(note(f"here {n}", at=NOW + n) for n in range(200)))
    add(store, *(note(f"there {n}", at=NOW + n) for n in range(200)))
    assert [g.address for g in store.search("here there", k=1)] == [both]
    with store.act() as act:
        for address in here[20:]:
            act.mark(address, "hide")
    assert len(store.search("here", k=50)) == 21
    assert len(store.search("here", k=5)) == 5


def test_a_rolled_back_grain_leaves_no_words_in_the_tail(store: Store) -> None:
    """The cache of the tail holds committed grains only: positions of a failed act are given again."""
    with fails(), store.act() as act:
        act.add(note("phantom"))
        assert store.search("phantom")
        raise Boom
    (real,) = add(store, note("solid"))
    assert store.search("phantom") == []
    assert [g.address for g in store.search("solid")] == [real]


def test_two_stores_see_each_others_words(path: Path) -> None:
    """The tail of one process is read by the other; so is its index."""
    with Store.open(path) as one, Store.open(path) as two:
        add(one, note("first"))
        assert found(two, "first") == ["first"]
        many(two, 300)
        add(two, note("second"))
        assert found(one, "second first") == ["second", "first"]
        forget(one, one.search("first")[0].address)
        assert found(two, "first") == []


# --- the projection ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text,spread_text",
    [
        ("plain ASCII", "plain ASCII"),
        ("\u6771\u4eac\u90fd", " \u6771\u4eac \u4eac\u90fd \u90fd "),
        ("\u6771", " \u6771 "),
        ("a\u6771\u4eacb", "a \u6771\u4eac \u4eac b"),
        ("\u30c7\u30fc\u30bf\u30fb\u578b", " \u30c7\u30fc \u30fc\u30bf \u30bf \u30fb \u578b "),
        ("\u0643\u062a\u0640\u0627\u0628\u064c", "\u0643\u062a\u0627\u0628"),
    ],
)  # fmt: skip
def test_unspaced_scripts_become_pairs(text: str, spread_text: str) -> None:
    """INV-PROJ-2."""
    assert spread(text) == spread_text


def test_pieces_of_a_query_are_phrases_and_single_letters_are_starts() -> None:
    """INV-PROJ-2: a run is a phrase of pairs; one letter finds every word that begins with it."""
    assert list(pieces("ab \u6771\u4eac\u90fdx \u6771")) == [
        ("ab", False),
        ("\u6771\u4eac \u4eac\u90fd", False),
        ("x", False),
        ("\u6771", True),
    ]


def test_pieces_of_a_quoted_query_are_one_phrase_in_the_form_of_the_index() -> None:
    """INV-PROJ-2, INV-SEARCH-4: quotes make a phrase, a star a start; a quote without a second one means nothing."""
    assert list(pieces('a "b  c" d* "e f"* "g')) == [
        ("a", False), ("b  c", False), ("d*", True), ("e f", True), ("*", True), ("g", False),
    ]  # fmt: skip
    assert list(pieces('"\u6771\u4eac\u90fd x"')) == [(" \u6771\u4eac \u4eac\u90fd \u90fd  x", False)]
    assert list(pieces('"x \u6771\u4eac\u90fd"')) == [("x  \u6771\u4eac \u4eac\u90fd", False)]
    assert list(pieces('"x \u6771"')) == [("x  \u6771", True)]


def test_the_projection_is_pinned() -> None:
    """INV-PROJ-1: another text for the same grain needs another version, else old rows cannot be deleted."""
    tool = call(
        "t\u00f6ol", "out", True, input={"b": ["x", {"c": "y"}], "a": "z"}, error="why", session_id="no"
    )
    state = make_grain("state", {"context": {"k": "v"}, "plan": ["p1"]}, namespace="s", created_at=1)
    assert layout.PROJECTION == 1
    told = text_of("tool", "s", unfold(encode(tool))[1])
    assert told == "t\u00f6ol \nout \nwhy \nz \nx \ny"
    assert text_of("state", "s", state.fields) == "p1 \nv"
    assert text_of("fact", "deja-loop", {"object": "x"}) == ""
    assert len(text_of("event", "s", {"content": "x" * 10**6})) == 65_536


def test_words_come_from_the_stored_bytes_not_from_what_was_given(store: Store) -> None:
    """INV-PROJ-1: the order of a nested map is that of its canonical bytes, so index and deletion agree."""
    (address,) = add(store, call("t", "r", input={"b": "two", "a": "one"}))
    body = store.blob(address)
    assert body is not None
    namespace, fields = unfold(body)
    assert text_of("tool", namespace, fields) == "t \nr \none \ntwo"
