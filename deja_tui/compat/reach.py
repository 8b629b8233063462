# SPDX-License-Identifier: Apache-2.0
"""Walks over a memory that only programs of the reference product ask for: what is related, what a run recorded."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from deja_tui.engine.substrate import is_reserved
from deja_tui.errors import ValidationError
from deja_tui.facade import Memory
from deja_tui.store.grains import StoredGrain

# Facts of one entity that are followed.
_WALK: Final = 1_024
_FARTHEST: Final = 8


def related(
    memory: Memory, start: str, relations: set[str], direction: str, depth: int, namespace: str
) -> list[str]:
    """What is reached from an entity over live facts of some relations in ``depth`` steps, nearest first.

    ``direction``: out, in or both. Raises VAL-E001 on another one.
    """
    if direction not in ("out", "in", "both"):
        raise ValidationError("VAL-E001", "direction must be one of: out, in, both")
    reached: dict[str, None] = {}
    ring, seen = [start], {start}
    for _ in range(max(0, depth)):
        ring = [
            name
            for one in ring
            for name in _neighbours(memory, one, relations, direction, namespace)
            if name not in seen
        ]
        ring = list(dict.fromkeys(ring))
        seen.update(ring)
        reached.update(dict.fromkeys(ring))
    return list(reached)


def _neighbours(
    memory: Memory, name: str, relations: set[str], direction: str, namespace: str
) -> Iterator[str]:
    if direction != "in":
        for grain in memory.store.recall(namespace=namespace, subject=name, type="fact", k=_WALK):
            if grain.get("relation") in relations:
                yield str(grain.get("object"))
    if direction != "out":
        for grain in _holding(memory, name):
            here = grain.type == "fact" and grain.live and grain.namespace == namespace
            if here and grain.get("object") == name and grain.get("relation") in relations:
                yield str(grain.get("subject"))


def run_trace(memory: Memory, run_id: str, limit: int, namespace: str) -> list[StoredGrain]:
    """At most ``limit`` grains that a run recorded, newest first by (created_at, arrival)."""
    trace = [
        one for one in _holding(memory, run_id) if one.get("run_id") == run_id and one.namespace == namespace
    ]
    trace.sort(key=lambda grain: (grain.created_at, grain.seq), reverse=True)
    return trace[:limit]


def derived(memory: Memory, grains: Sequence[StoredGrain]) -> list[StoredGrain]:
    """What was derived from some grains and is none of them, the engine's own left out."""
    own = {grain.address for grain in grains}
    made: dict[str, StoredGrain] = {}
    for grain in grains:
        for child in memory.store.children(grain.address):
            if child.address not in own and not is_reserved(child.namespace):
                made.setdefault(child.address, child)
    return list(made.values())


def runs_touching(memory: Memory, address: str, depth: int, namespace: str) -> list[str]:
    """The runs of a grain, of what it came from and of what came from it, at most 8 steps far, nearest first."""
    waiting = deque([(address, 0)])
    seen = {address}
    runs: dict[str, None] = {}
    while waiting:
        here, far = waiting.popleft()
        grain = memory.store.get(here)
        if grain is None or grain.namespace != namespace:
            continue
        if isinstance(grain.get("run_id"), str):
            runs[grain.get("run_id")] = None
        if far < min(depth, _FARTHEST):
            children = [child.address for child in memory.store.children(here)]
            fresh = [one for one in (*grain.parents(), *children) if one not in seen]
            seen.update(fresh)
            waiting.extend((one, far + 1) for one in fresh)
    return list(runs)


def _holding(memory: Memory, text: str) -> Iterator[StoredGrain]:
    """The grains whose fields hold a text as a value."""
    found = (memory.store.get(address) for address in (memory.store.holding(text) if text else ()))
    return (grain for grain in found if grain is not None)
