# SPDX-License-Identifier: Apache-2.0
"""Any history of writes in two copies that exchange bundles in any order: they end with the same heads (D3)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from deja_tui import Memory
from deja_tui.errors import DejaError
from deja_tui.store.grains import StoredGrain
from tests.store.helpers import Clock
from tests.support import NOW

SUBJECTS = ["ada", "bob"]
OBJECTS = ["tea", "milk", "rum"]
WHICH = st.integers(0, 1)
PICK = st.integers(0, 99)
AT = st.integers(0, 2)
KINDS = ["supersede", "supersede", "merge", "retire", "forget"]
# what is tried here is order, not durability: hundreds of syncs of a real disk would only cost time
RAM = "/dev/shm" if Path("/dev/shm").is_dir() else None
REFUSED = ("MEM-E001", "MEM-E002", "MEM-E003", "VAL-E001")


class Replicas(RuleBasedStateMachine):
    """Two copies that write on their own, send each other bundles, new and old ones, and now and then meet."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(dir=RAM)
        self.clocks = [Clock(), Clock(NOW - 3)]
        self.copies = [
            Memory.open(self._path(f"{n}.deja"), clock=clock, durability="normal")
            for n, clock in enumerate(self.clocks)
        ]
        self.sent: list[Path] = []

    def _path(self, name: str) -> Path:
        return Path(self._folder.name) / name

    def teardown(self) -> None:
        self.meet()
        for memory in self.copies:
            memory.close()
        self._folder.cleanup()

    def _try(self, step: Callable[[], Any]) -> None:
        try:
            step()
        except DejaError as fault:
            if fault.code not in REFUSED:
                raise

    def _any(self, which: int, pick: int) -> StoredGrain | None:
        """Some grain: a live one three times out of four, where there is one."""
        found = sorted(self.copies[which].store.scan("fact"), key=lambda grain: grain.address)
        live = [grain for grain in found if grain.live]
        found = live if live and pick % 4 else found
        return found[pick // 4 % len(found)] if found else None

    @initialize(texts=st.lists(st.sampled_from(OBJECTS), min_size=1, max_size=3, unique=True))
    def begin_alike(self, texts: list[str]) -> None:
        for text in texts:
            self.add(0, "ada", text, 0)
        self.send(0)

    # --- what a copy does on its own ---

    @rule(which=WHICH, subject=st.sampled_from(SUBJECTS), text=st.sampled_from(OBJECTS), at=AT)
    def add(self, which: int, subject: str, text: str, at: int) -> None:
        content = {"subject": subject, "relation": "likes", "object": text, "created_at": NOW + at}
        self._try(lambda: self.copies[which].add("fact", content))

    @rule(which=WHICH, kind=st.sampled_from(KINDS), pick=PICK, two=PICK, text=st.sampled_from(OBJECTS), at=AT)
    def change(self, which: int, kind: str, pick: int, two: int, text: str, at: int) -> None:
        grain = self._any(which, pick)
        if grain is not None:
            self._try(lambda: getattr(self, f"_{kind}")(self.copies[which], grain, two, text, at))

    @rule(which=WHICH, kind=st.sampled_from(KINDS), pick=PICK, two=PICK, text=st.sampled_from(OBJECTS), at=AT)
    def change_and_send(self, which: int, kind: str, pick: int, two: int, text: str, at: int) -> None:
        self.change(which, kind, pick, two, text, at)
        self.send(which)

    @rule(pick=PICK, two=PICK, at=AT)
    def both_supersede_one(self, pick: int, two: int, at: int) -> None:
        for which in (0, 1):
            self.change(which, "supersede", pick, two, OBJECTS[which], at)

    def _supersede(self, memory: Memory, grain: StoredGrain, two: int, text: str, at: int) -> None:
        memory.supersede(grain.address, {"object": text, "created_at": NOW + at})

    def _merge(self, memory: Memory, grain: StoredGrain, two: int, text: str, at: int) -> None:
        heads = [head.address for head in memory.heads(grain.fields["subject"], "likes")]
        memory.merge(heads, {"created_at": NOW + at}, reason="one of them")

    def _retire(self, memory: Memory, grain: StoredGrain, two: int, text: str, at: int) -> None:
        other = self._any(self.copies.index(memory), two)
        if other is not None:
            memory.retire(grain.address, by=other.address, reason="the same")

    def _forget(self, memory: Memory, grain: StoredGrain, two: int, text: str, at: int) -> None:
        memory.forget(grain.address, because="asked to")

    @rule(which=WHICH, by=st.sampled_from([-5_000, 1, 5_000]))
    def let_time_pass(self, which: int, by: int) -> None:
        self.clocks[which].at += by

    # --- what they do together ---

    @rule(which=WHICH)
    def send(self, which: int) -> None:
        path = self._path(f"{len(self.sent)}.mgb")
        self.copies[which].bundle(path)
        self.sent.append(path)
        self.copies[1 - which].import_bundle(path)

    @rule(which=WHICH, pick=PICK)
    def send_an_old_one_again(self, which: int, pick: int) -> None:
        if self.sent:
            self.copies[which].import_bundle(self.sent[pick % len(self.sent)])

    @rule()
    def meet(self) -> None:
        for _ in range(2):
            self.send(0)
            self.send(1)
        for which in (0, 1):
            path = self._path("last.mgb")
            self.copies[which].bundle(path)
            assert self.copies[1 - which].import_bundle(path).applied == 0
        one, two = self.copies
        assert self._state(one) == self._state(two)
        for memory in self.copies:
            assert memory.verify() == ()

    def _state(self, memory: Memory) -> dict[str, Any]:
        grains = list(memory.store.scan("fact"))
        return {
            "here": sorted((grain.address, grain.live, grain.hlc) for grain in grains),
            "heads": [[head.address for head in memory.heads(subject, "likes")] for subject in SUBJECTS],
            "forks": sorted([tip.address for tip in fork.tips] for fork in memory.forks()),
        }


TestReplicas = Replicas.TestCase
TestReplicas.settings = settings(
    max_examples=100,
    stateful_step_count=24,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
