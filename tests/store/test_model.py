# SPDX-License-Identifier: Apache-2.0
"""Any sequence of acts, compared with a plain dictionary after every step (INV-STORE-2, -5, -6, -7, -8)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from deja_tui.errors import DejaError
from deja_tui.store.codec import address as address_of
from deja_tui.store.codec import encode
from deja_tui.store.memory import Store
from deja_tui.store.write import Act, with_parent
from tests.store.helpers import Boom, Clock, fact, fails
from tests.support import NOW

SUBJECTS = ["ada", "Ada", "bob"]
OBJECTS = ["tea", "Tea", " tea", "coffee", "milk"]


@dataclass
class Kept:
    """A grain as the model knows it."""

    subject: str
    object: str
    at: int
    order: int
    prev: str | None = None
    live: bool = True
    by: str | None = None
    marks: list[str] = field(default_factory=list)


class StoreModel(RuleBasedStateMachine):
    """Adds, supersedes, marks, forgets, fails and reopens a store; `kept` is what must be in it."""

    addresses = Bundle("addresses")

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / "model.deja"
        self.clock = Clock()
        self.store = Store.open(self.path, clock=self.clock, durability="normal")
        self.kept: dict[str, Kept] = {}
        self.gone: dict[str, Kept] = {}
        self.log: list[str] = []

    def teardown(self) -> None:
        self.store.close()
        self._folder.cleanup()

    def _act(self, step: Callable[[Act], Any]) -> tuple[str | None, Any]:
        """One act of one step: the code it was refused with, or its answer."""
        try:
            with self.store.act() as act:
                return None, step(act)
        except DejaError as error:
            return error.code, None

    # --- steps ---

    @rule(
        target=addresses,
        subject=st.sampled_from(SUBJECTS),
        text=st.sampled_from(OBJECTS),
        at=st.integers(0, 3),
    )
    def add(self, subject: str, text: str, at: int) -> str:
        grain = fact(subject, "likes", text, at=NOW + at)
        address = address_of(encode(grain))
        code, added = self._act(lambda act: act.add(grain))
        assert code == ("MEM-E003" if address in self.gone else None)
        if added is None:
            return address
        assert added.address == address
        assert added.new == (address not in self.kept)
        if added.new:
            self.kept[address] = Kept(subject, text, NOW + at, len(self.log))
            self.log.append("add")
        return address

    @rule(target=addresses, old=addresses, text=st.sampled_from(OBJECTS), at=st.integers(0, 3))
    def supersede(self, old: str, text: str, at: int) -> str:
        subject = self.kept[old].subject if old in self.kept else "ada"
        grain = fact(subject, "likes", text, at=NOW + at)
        new = address_of(encode(with_parent(grain, old)))
        code, added = self._act(lambda act: act.supersede(old, grain))
        was = self.kept.get(old)
        refused = "MEM-E001" if was is None else "MEM-E002" if not was.live else None
        assert code == (refused or ("MEM-E003" if new in self.gone else None))
        if added is None:
            return old
        if added.new:
            self.kept[added.address] = Kept(subject, text, NOW + at, len(self.log), prev=old)
            self.log.append("add")
        self.log.append("supersede")
        self.kept[old].live, self.kept[old].by = False, added.address
        self.kept[old].marks.append("supersede")
        return added.address

    @rule(target=addresses, one=addresses, two=addresses, kind=st.sampled_from(["retire", "hide", "reopen"]))
    def mark(self, one: str, two: str, kind: str) -> str:
        by = two if kind == "retire" else None
        code, _ = self._act(lambda act: act.mark(one, kind, by))
        known = one in self.kept and (by is None or by in self.kept)
        assert code == (None if known else "MEM-E001")
        if not known:
            return one
        was = self.kept[one]
        was.live, was.by = kind == "reopen", two if kind == "retire" else None
        was.marks.append(kind)
        self.log.append(kind)
        return one

    @rule(address=addresses)
    def forget(self, address: str) -> None:
        code, _ = self._act(lambda act: act.forget(address))
        assert code == (None if address in self.kept else "MEM-E001")
        if code:
            return
        self.gone[address] = self.kept.pop(address)
        self.log.append("forget")

    @rule(address=addresses, text=st.sampled_from(OBJECTS))
    def fail_in_the_middle(self, address: str, text: str) -> None:
        with fails(), self.store.act() as act:
            act.add(fact("nobody", "likes", text))
            if address in self.kept:
                act.forget(address)
            raise Boom

    @rule(back=st.booleans())
    def reopen(self, back: bool) -> None:
        self.store.close()
        self.clock.at += -5_000 if back else 5_000
        self.store = Store.open(self.path, clock=self.clock, durability="normal")

    # --- what must hold ---

    @invariant()
    def the_grains_are_those_of_the_model(self) -> None:
        seen = {grain.address: grain for grain in self.store.scan("fact")}
        assert set(seen) == set(self.kept)
        for address, was in self.kept.items():
            grain = seen[address]
            assert (grain.live, grain.superseded_by) == (was.live, was.by)
        assert [g.address for g in sorted(seen.values(), key=lambda g: g.hlc)] == list(seen)

    @invariant()
    def recall_and_latest_agree_with_the_model(self) -> None:
        for subject in SUBJECTS:
            live = [a for a, was in self.kept.items() if was.live and was.subject == subject]
            live.sort(key=lambda a: (self.kept[a].at, self.kept[a].order), reverse=True)
            found = self.store.recall(namespace="shared", subject=subject, k=99)
            assert [grain.address for grain in found] == live
            newest = self.store.latest("shared", subject, "likes")
            assert (newest.address if newest else None) == (live[0] if live else None)

    @invariant()
    def the_log_grows_by_exactly_what_happened(self) -> None:
        assert [entry.kind for entry in self.store.log()] == self.log

    @precondition(lambda self: self.kept)
    @invariant()
    def history_is_the_chain_of_the_model(self) -> None:
        for address in list(self.kept)[:3]:
            found = [grain.address for grain in self.store.history(address)]
            assert len(found) == len(set(found))
            assert address in found
            assert set(found) == self._chain(address)

    def _chain(self, address: str) -> set[str]:
        """Up to what took its place last, then down to all that led there; forgotten links are crossed, not shown."""
        known = {**self.gone, **self.kept}
        seen = [address]
        while (above := known[seen[-1]].by) and above not in seen:
            seen.append(above)
        chain: set[str] = set()
        todo = seen[-1:]
        while todo:
            one = todo.pop()
            if one not in chain:
                chain.add(one)
                todo += [prev for prev in [known[one].prev] if prev]
                todo += [a for a, was in known.items() if was.by == one and was.marks[-1] == "retire"]
        return chain & set(self.kept)


TestStoreModel = StoreModel.TestCase
TestStoreModel.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
