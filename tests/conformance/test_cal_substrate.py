# SPDX-License-Identifier: Apache-2.0
"""The engine on a memory that answers statements: what is asked of it, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from deja_tui import cal_substrate
from deja_tui.adapter import StoreSubstrate
from deja_tui.cal import Class, Host, Session, classify
from deja_tui.cal_substrate import CalSubstrate
from deja_tui.engine.conformance import story
from deja_tui.engine.substrate import Atomic, KeepsSettings, NewGrain
from deja_tui.errors import DejaError
from deja_tui.store.memory import Store
from tests.support import NOW


class Listening:
    """Runs statements and keeps them."""

    def __init__(self, store: Store) -> None:
        self.session = Session(Host(store, "shared", lambda: NOW))
        self.texts: list[str] = []

    def __call__(self, text: str) -> Mapping[str, Any]:
        self.texts.append(text)
        return self.session.run(text, read_only=True).as_json()


@pytest.fixture
def store(tmp_path: Any) -> Iterator[Store]:
    with Store.open(tmp_path / "a.deja", clock=lambda: NOW, durability="normal") as opened:
        yield opened


def fact(text: str, namespace: str = "shared") -> NewGrain:
    return NewGrain("fact", namespace, NOW, {"subject": "s", "relation": "r", "object": text})


def test_what_is_asked_are_reads_of_two_kinds(store: Store) -> None:
    """CALSUB-1: a whole story, and every text of it a RECALL with its arrival or a DESCRIBE STATS."""
    listening = Listening(store)
    story.the_whole_story(CalSubstrate(listening, StoreSubstrate(store)))
    assert len(listening.texts) > 20
    for text in set(listening.texts):
        assert text == "DESCRIBE STATS" or (text.startswith("RECALL ") and text.endswith(" WITH arrival"))
        assert classify(text).cls is Class.READ


def test_pages_meet_whatever_arrives_between_them(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """CALSUB-2: no grain twice, none left out, in order of arrival."""
    monkeypatch.setattr(cal_substrate, "_PAGE", 3)
    writes = StoreSubstrate(store)
    put = [writes.put(fact(str(n), f"n{n % 4}")).address for n in range(20)]

    class Busy(Listening):
        def __call__(self, text: str) -> Mapping[str, Any]:
            told = super().__call__(text)
            writes.put(fact(f"late {len(self.texts)}"))
            return told

    found = [grain.address for grain in CalSubstrate(Busy(store), writes).scan("fact")]
    assert [address for address in found if address in put] == put
    assert len(set(found)) == len(found)


def test_more_namespaces_than_one_statement_names(store: Store) -> None:
    """A hundred and more, each grain found by scan and by address, and the reserved ones by address only."""
    writes = StoreSubstrate(store)
    put = {writes.put(fact("x", f"n{n}")).address for n in range(130)}
    audit = writes.put(fact("y", "agent:a")).address
    substrate = CalSubstrate(Listening(store), writes)
    assert {grain.address for grain in substrate.scan("fact")} == put
    assert all(substrate.get(address) is not None for address in (*list(put)[:3], audit))
    assert substrate.get("short") is None
    assert substrate.get('" OR subject = "s"' + "0" * 46) is None


def test_a_namespace_that_no_statement_can_name_is_told(store: Store) -> None:
    """CALSUB-1: not read as empty."""
    with pytest.raises(DejaError) as caught:
        CalSubstrate(Listening(store), StoreSubstrate(store)).scan("fact", ["a\u202eb"])
    assert caught.value.code == "VAL-E001"


def test_it_offers_the_five_and_nothing_else(store: Store) -> None:
    """Every view is the default, so what a third party has to provide is what the module says."""
    substrate = CalSubstrate(Listening(store), StoreSubstrate(store))
    assert {name for name in dir(substrate) if not name.startswith("_")} == {
        "scan", "get", "put", "supersede", "mark",
    }  # fmt: skip
    assert not isinstance(substrate, Atomic | KeepsSettings)
