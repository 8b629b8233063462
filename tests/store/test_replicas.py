# SPDX-License-Identifier: Apache-2.0
"""Any history of writes in copies that exchange bundles in any order and direction: they end with the same heads (D3)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import permutations
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
WHICH = st.integers(0, 5)  # taken modulo the number of copies
PICK = st.integers(0, 99)
AT = st.integers(0, 2)
KINDS = ["supersede", "supersede", "merge", "retire", "forget"]
# what is tried here is order, not durability: hundreds of syncs of a real disk would only cost time
RAM = "/dev/shm" if Path("/dev/shm").is_dir() else None
REFUSED = ("MEM-E001", "MEM-E002", "MEM-E003", "VAL-E001")


class Replicas(RuleBasedStateMachine):
    """Copies that write on their own, send each other bundles, new and old ones, and now and then all meet."""

    count = 2

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(dir=RAM)
        self.clocks = [Clock(NOW - 3 * number) for number in range(self.count)]
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

    def _copy(self, which: int) -> Memory:
        return self.copies[which % self.count]

    def _try(self, step: Callable[[], Any]) -> None:
        try:
            step()
        except DejaError as fault:
            if fault.code not in REFUSED:
                raise

    def _any(self, which: int, pick: int) -> StoredGrain | None:
        """Some grain: a live one three times out of four, where there is one."""
        found = sorted(self._copy(which).store.scan("fact"), key=lambda grain: grain.address)
        live = [grain for grain in found if grain.live]
        found = live if live and pick % 4 else found
        return found[pick // 4 % len(found)] if found else None

    @initialize(texts=st.lists(st.sampled_from(OBJECTS), min_size=1, max_size=3, unique=True))
    def begin_alike(self, texts: list[str]) -> None:
        for text in texts:
            self.add(0, "ada", text, 0)
        for to in range(1, self.count):
            self.send(0, to)

    # --- what a copy does on its own ---

    @rule(which=WHICH, subject=st.sampled_from(SUBJECTS), text=st.sampled_from(OBJECTS), at=AT)
    def add(self, which: int, subject: str, text: str, at: int) -> None:
        content = {"subject": subject, "relation": "likes", "object": text, "created_at": NOW + at}
        self._try(lambda: self._copy(which).add("fact", content))

    @rule(which=WHICH, kind=st.sampled_from(KINDS), pick=PICK, two=PICK, text=st.sampled_from(OBJECTS), at=AT)
    def change(self, which: int, kind: str, pick: int, two: int, text: str, at: int) -> None:
        grain = self._any(which, pick)
        if grain is not None:
            self._try(lambda: getattr(self, f"_{kind}")(self._copy(which), grain, two, text, at))

    @rule(
        which=WHICH,
        to=WHICH,
        kind=st.sampled_from(KINDS),
        pick=PICK,
        two=PICK,
        text=st.sampled_from(OBJECTS),
        at=AT,
    )
    def change_and_send(
        self, which: int, to: int, kind: str, pick: int, two: int, text: str, at: int
    ) -> None:
        self.change(which, kind, pick, two, text, at)
        self.send(which, to)

    @rule(pick=PICK, two=PICK, at=AT)
    def each_supersedes_one(self, pick: int, two: int, at: int) -> None:
        for which in range(self.count):
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

    @rule(which=WHICH, by=st.sampled_from([-86_400_000, -5_000, -1, 1, 5_000]))
    def let_time_pass(self, which: int, by: int) -> None:
        self.clocks[which % self.count].at += by

    # --- what they do together ---

    @rule(which=WHICH, to=WHICH)
    def send(self, which: int, to: int) -> None:
        """A whole bundle, also to itself: a copy knows what it wrote."""
        self._send(which, to)

    def _send(self, which: int, to: int) -> int:
        path = self._path(f"{len(self.sent)}.mgb")
        self._copy(which).bundle(path)
        self.sent.append(path)
        report = self._copy(to).import_bundle(path)
        assert not report.refused
        return report.applied

    @rule(which=WHICH, to=WHICH, share=st.integers(1, 3))
    def send_what_is_new(self, which: int, to: int, share: int) -> None:
        """A bundle that begins somewhere in the log: it may speak of grains that the other copy does not have."""
        path = self._path(f"{len(self.sent)}.mgb")
        since = self._copy(which).stats()["operations"] * share // 4
        self._copy(which).bundle(path, since=since)
        self.sent.append(path)
        self._copy(to).import_bundle(path)

    @rule(which=WHICH, pick=PICK)
    def send_an_old_one_again(self, which: int, pick: int) -> None:
        if self.sent:
            self._copy(which).import_bundle(self.sent[pick % len(self.sent)])

    @rule()
    def meet(self) -> None:
        ways = list(permutations(range(self.count), 2))
        for _ in range(2):
            for which, to in ways:
                self._send(which, to)
        assert [self._send(which, to) for which, to in ways] == [0] * len(ways)
        first, *others = map(self._state, self.copies)
        assert all(other == first for other in others)
        for memory in self.copies:
            assert memory.verify() == ()

    def _state(self, memory: Memory) -> dict[str, Any]:
        grains = list(memory.store.scan("fact"))
        return {
            "here": sorted((grain.address, grain.live, grain.hlc) for grain in grains),
            "heads": [[head.address for head in memory.heads(subject, "likes")] for subject in SUBJECTS],
            "forks": sorted([tip.address for tip in fork.tips] for fork in memory.forks()),
        }


class ThreeReplicas(Replicas):
    """What two agree on by luck of the order, three need not."""

    count = 3


TestThreeReplicas = ThreeReplicas.TestCase
TestThreeReplicas.settings = settings(
    max_examples=24,
    stateful_step_count=24,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestReplicas = Replicas.TestCase
TestReplicas.settings = settings(
    max_examples=60,
    stateful_step_count=24,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
