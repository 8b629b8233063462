# SPDX-License-Identifier: Apache-2.0
"""Supersession chains as they are linked, with every branch of a fork."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from deja_tui.cal.words import MAX_VERSIONS
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store


def key_of(grain: StoredGrain) -> tuple[str, str, object, object]:
    """What two grains share when one can be a version of the other."""
    return grain.type, grain.namespace, grain.get("subject"), grain.get("relation")


def replaces(child: StoredGrain, parent: StoredGrain) -> bool:
    """Whether ``child`` took the place of ``parent``: by the mark, or as another branch that names it as its parent."""
    if parent.live:
        return False
    if parent.superseded_by == child.address:
        return True
    return (
        parent.superseded_by is not None
        and parent.address in child.parents()
        and key_of(parent) == key_of(child)
    )


def chain(store: Store, starts: Iterable[StoredGrain]) -> tuple[list[StoredGrain], bool]:
    """Every version linked with one of ``starts``, newest first; and whether some were left out.

    A version comes after all that replaced it; otherwise the order is (created_at, HLC, address) falling.
    """
    found: dict[str, StoredGrain] = {}
    todo = list(starts)
    cut = False
    while todo:
        grain = todo.pop()
        if grain.address in found:
            continue
        if len(found) >= MAX_VERSIONS:
            cut = True
            break
        found[grain.address] = grain
        todo.extend(other for other in store.history(grain.address) if other.address not in found)
        if not grain.live:
            todo.extend(child for child in store.children(grain.address) if replaces(child, grain))
    return list(_newest_first(found)), cut


def _newest_first(found: dict[str, StoredGrain]) -> Iterator[StoredGrain]:
    after: dict[str, set[str]] = {address: set() for address in found}  # what must come before it
    before: dict[str, set[str]] = {address: set() for address in found}
    for grain in found.values():
        for parent in (*grain.parents(), *_replaced(grain, found)):
            if parent in found and replaces(grain, found[parent]):
                after[parent].add(grain.address)
                before[grain.address].add(parent)
    ready = [_falling(found[address]) for address, waiting in after.items() if not waiting]
    heapify(ready)
    given: set[str] = set()
    while ready:
        address = heappop(ready)[-1]
        given.add(address)
        yield found[address]
        for parent in before[address]:
            after[parent].discard(address)
            if not after[parent] and parent not in given:
                heappush(ready, _falling(found[parent]))
    # a ring of links, which only a foreign file can hold
    yield from (
        found[address] for *_, address in sorted(map(_falling, found.values())) if address not in given
    )


def _replaced(grain: StoredGrain, found: dict[str, StoredGrain]) -> list[str]:
    return [other.address for other in found.values() if other.superseded_by == grain.address]


def _falling(grain: StoredGrain) -> tuple[int, int, tuple[int, ...], str]:
    return -grain.created_at, -grain.hlc, tuple(-ord(char) for char in grain.address), grain.address
