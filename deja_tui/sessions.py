# SPDX-License-Identifier: Apache-2.0
"""`Sessions`: the library's door to what happened in each conversation or run of an agent; reached as ``memory.sessions``.

A session is a thread: the grains that name the same ``session_id``, in every namespace but the engine's own. Lists hold
keys and numbers only; names and grains are read a page at a time, so that a session of a hundred thousand events costs no
more to look at than one of ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine.activity_views import ToolSpan
from deja_tui.engine.actors import Caller
from deja_tui.engine.analyzers.tool_failures import cluster_target
from deja_tui.store import sessions
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store
from deja_tui.store.sessions import Threads, Timeline
from deja_tui.text import DAY_MS

SPAN_MS: Final = 30 * DAY_MS


@dataclass(frozen=True, slots=True)
class Citing:
    """A recommendation that cites something: its address and its status."""

    address: str
    status: str


class Host(Protocol):
    """What sessions need of a memory."""

    @property
    def store(self) -> Store: ...
    @property
    def substrate(self) -> StoreSubstrate: ...
    @property
    def who(self) -> Caller: ...
    @property
    def clock(self) -> Callable[[], int]: ...


class Sessions:
    """The sessions of one memory. All methods read, need the right read, and raise LOP-E022 without it."""

    def __init__(self, memory: Host) -> None:
        self._memory = memory

    def _store(self) -> Store:
        self._memory.who.need("read")
        return self._memory.store

    def threads(self, *, containing: str = "", failed: bool = False) -> Threads:
        """Every session with something live in it, the one in which something happened last first.

        Args:
            containing: only those whose name holds this, letters folded.
            failed: only those with a failed call.
        """
        with self._store().snapshot() as store:
            found = sessions.threads(store.reading())
            if failed:
                found = found.only(place for place, errors in enumerate(found.failures) if errors)
            return sessions.containing(store.reading(), found, containing) if containing else found

    def names(self, keys: Iterable[int]) -> dict[int, str]:
        """The names of sessions by the keys that `threads` gave; a key that is no more is left out."""
        return sessions.names(self._store().reading(), keys)

    def timeline(self, thread: str, *, failed: bool = False) -> Timeline:
        """What happened in one session, oldest first by (created_at, HLC, address) (D3); empty where there is none such.

        ``failed``: its failed calls only.
        """
        return sessions.timeline(self._store().reading(), thread, failed)

    def grains(self, seqs: Iterable[int]) -> list[StoredGrain]:
        """The grains of a page of `timeline`, in the order of ``seqs``; what was forgotten since is left out."""
        return sessions.grains(self._store().reading(), seqs)

    def citing(self) -> dict[int, tuple[Citing, ...]]:
        """By key of a session: the recommendations that cite a grain of it, in queue order, refreshed ones left out."""
        with self._store().snapshot() as store:
            known = {row.address: row.status for row in self._memory.substrate.ledger_list(None)}
            found = sessions.cited(store.reading(), list(known))
        return {key: tuple(Citing(one, known[one]) for one in told) for key, told in found.items()}

    def about(self, grains: Sequence[StoredGrain]) -> Mapping[str, tuple[Citing, ...]]:
        """By address of a grain: the recommendations that cite it, then those about its failure cluster (D55).

        A failed call belongs to the cluster of its tool and signature, whether or not it is among what is cited.
        """
        with self._store().snapshot():
            children = {
                grain.address: [one.address for one in self._memory.store.children(grain.address)]
                for grain in grains
            }
            clusters = {grain.address: cluster_target(grain) or "" for grain in grains}
            listed = self._memory.substrate.ledger_about(
                {one for cites in children.values() for one in cites}, set(clusters.values()) - {""}
            )
            known = {row.address: row.status for row in listed}
            targets: dict[str, list[str]] = {}
            for row in listed:
                targets.setdefault(row.target_ref, []).append(row.address)
            found: dict[str, tuple[Citing, ...]] = {}
            for address, cites in children.items():
                told = [one for one in cites if one in known] + targets.get(clusters[address], [])
                if told:
                    found[address] = tuple(Citing(one, known[one]) for one in dict.fromkeys(told))
        return found

    def failures(self, tool: str, signature: str) -> ToolSpan:
        """How often a tool failed in one way, and was called, in the thirty days before now."""
        self._memory.who.need("read")
        now = self._memory.clock()
        return self._memory.substrate.tool_span(tool, signature, now - SPAN_MS, now)
