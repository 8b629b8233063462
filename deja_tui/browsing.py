# SPDX-License-Identifier: Apache-2.0
"""Looking around in a memory: slices of lists of any length, everything about one grain, what surrounds a thing.

Looking is not recall: nothing here is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import templates
from deja_tui.engine.actors import Caller
from deja_tui.engine.objects import AuditEntry
from deja_tui.engine.wire import read_audit, read_recommendation
from deja_tui.errors import DejaError
from deja_tui.store.chains import Fork, Provenance
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store

if TYPE_CHECKING:
    from deja_tui.store.browse import Key, Lens, Slice
    from deja_tui.store.graph import Neighbourhood

CHAIN_LIMIT: Final = 64
_WALK_DEPTH: Final = 4
_WALK_LIMIT: Final = 60
_CITED_LIMIT: Final = 60
_RANK: Final = {"is": 0, "audit": 1, "wrote": 2, "undid": 3, "did": 4, "changes": 5, "evidence": 6}


@dataclass(frozen=True, slots=True)
class Cited:
    """How one recommendation has to do with a grain.

    Attributes:
        role: ``is`` the grain itself; ``audit``: the grain is of its trail; ``wrote``: applying it wrote the grain;
            ``did``: applying it changed the grain (``what``); ``undid``: so did rolling it back; ``changes``: it
            proposes to; ``evidence``: it rests on it.
        recommendation, analyzer, status, summary: of the recommendation; status is empty where it is not in the queue.
        what: for ``did`` and ``undid``: supersede, retire, hide, reopen. audit: the address of the entry that says so.
        at: epoch ms of that entry, else of the proposal. because: the reason given there.
    """

    role: str
    recommendation: str
    analyzer: str
    status: str
    summary: str
    what: str
    audit: str | None
    at: int
    because: str


@dataclass(frozen=True, slots=True)
class Dossier:
    """Everything about one grain.

    Attributes:
        grain: itself. state: live, forked, expired, superseded, retired or hidden.
        chain: the versions, newest first, at most 64. whole: False where there are more.
        fork: the fork it is a tip of, or that came of it.
        provenance: both ways, four steps, at most 60 grains each.
        cited: how recommendations have to do with it, at most 60.
    """

    grain: StoredGrain
    state: str
    chain: tuple[StoredGrain, ...]
    whole: bool
    fork: Fork | None
    provenance: Provenance
    cited: tuple[Cited, ...]


class _Host(Protocol):
    store: Store
    substrate: StoreSubstrate
    namespace: str
    who: Caller
    clock: Callable[[], int]


class Browsing:
    """The part of `facade.Memory` that shows what is there."""

    def browse(
        self: _Host,
        lens: Lens | None = None,
        start: int = 0,
        count: int = 64,
        *,
        anchor: tuple[int, Key] | None = None,
        total: int | None = None,
        at: str | None = None,
    ) -> Slice:
        """Rows ``start`` to ``start + count`` of a list of grains, in every namespace but the engine's own.

        Args:
            lens: view, type, order and text; None: all grains, newest first.
            anchor: number and key of a row that was given before: reading goes on from there.
            total: as it was given before; None counts anew.
            at: an address; if it is in the list, the rows around it are given, wherever that is.

        Raises VAL-E001 (view, order, type), LOP-E022 (needs read).
        """
        from deja_tui.store.browse import Lens

        self.who.need("read")
        return self.store.browse(
            lens or Lens(), self.clock(), start, count, anchor=anchor, total=total, at=at
        )

    def kinds(self: _Host) -> tuple[str, ...]:
        """The types of which there is a grain, outside the engine's namespaces."""
        self.who.need("read")
        return self.store.kinds()

    def dossier(self: _Host, address: str) -> Dossier:
        """Everything about one grain, by its address or a unique start of it.

        Raises MEM-E001, MEM-E003 (it was forgotten here), MEM-E004, LOP-E022 (needs read).
        """
        self.who.need("read")
        store = self.store
        with store.snapshot():
            try:
                whole = store.resolve(address)
            except DejaError as fault:
                gone = store.forgotten(address) if fault.code == "MEM-E001" else []
                if len(gone) == 1:
                    told = f"the grain {gone[0][:12]} was forgotten here: its address is all that is kept"
                    raise DejaError("MEM-E003", told, "deja log shows when") from fault
                raise
            grain, found = store.get(whole), store.provenance(whole, _WALK_DEPTH, _WALK_LIMIT)
            if grain is None or found is None:
                raise DejaError("MEM-E001", "no such grain", "deja search TEXT finds addresses")
            chain = store.history(whole, CHAIN_LIMIT + 1)
            cited = _Citing(store, grain).found()
            return Dossier(
                grain,
                store.state_of(grain, self.clock()),
                tuple(chain[:CHAIN_LIMIT]),
                len(chain) <= CHAIN_LIMIT,
                store.fork_of(grain),
                found,
                cited,
            )

    def neighbourhood(
        self: _Host, entity: str, depth: int = 1, *, namespace: str | None = None
    ) -> Neighbourhood:
        """Live facts of which ``entity`` is the subject or the object, and theirs, up to three steps; case does not count.

        At most 12 edges of a thing each way and 400 in all. ``namespace``: None: this memory's own. Raises LOP-E022.
        """
        self.who.need("read")
        return self.store.neighbourhood(namespace or self.namespace, entity, depth)


class _Citing:
    """Finds the recommendations that have to do with a grain."""

    def __init__(self, store: Store, grain: StoredGrain) -> None:
        self._store = store
        self._grain = grain

    def found(self) -> tuple[Cited, ...]:
        told = {(one.role, one.what, one.recommendation): one for one in [*self._all()][::-1]}
        # what was done says more than that it was proposed
        done = {one.recommendation for one in told.values() if one.role in ("did", "undid")}
        kept = [one for one in told.values() if one.role != "changes" or one.recommendation not in done]
        kept.sort(key=lambda one: (_RANK[one.role], -one.at, one.recommendation))
        return tuple(kept[:_CITED_LIMIT])

    def _all(self) -> Iterator[Cited]:
        here = self._grain.address
        if self._grain.type == "recommendation":
            yield self._cited("is", here)
        entry = read_audit(self._grain)
        if entry is not None:
            yield self._cited("audit", entry.recommendation, entry)
        for grain in self._store.naming(here):
            if grain.address == here:
                continue
            if grain.type == "recommendation":
                # evidence is what it names as its parents; whatever else it names, it is about to change
                role = "evidence" if _is_evidence_only(grain, here) else "changes"
                yield self._cited(role, grain.address)
                continue
            entry = read_audit(grain)
            if entry is not None:
                yield from self._done(entry)

    def _done(self, entry: AuditEntry) -> Iterator[Cited]:
        here = self._grain.address
        undone = entry.to_status == "rolled_back"
        if here in entry.results and not undone:
            yield self._cited("wrote", entry.recommendation, entry)
        for effect in entry.effects:
            if effect.get("grain") == here:
                what = str(effect.get("do", ""))
                if what != "add":
                    yield self._cited("undid" if undone else "did", entry.recommendation, entry, what)

    def _cited(self, role: str, address: str, entry: AuditEntry | None = None, what: str = "") -> Cited:
        row, stored = self._store.ledger_get(address), self._store.get(address)
        analyzer, summary, at = "", "", 0
        if stored is not None:
            at = stored.created_at
            try:
                body = read_recommendation(stored)
                analyzer, summary = (
                    body.analyzer,
                    templates.render(body.summary.template_id, body.summary.args),
                )
            except DejaError as fault:
                summary = str(fault)
        return Cited(
            role,
            address,
            analyzer,
            row.status if row else "",
            summary,
            what,
            entry.address if entry else None,
            entry.at if entry else at,
            entry.because if entry else "",
        )


def _is_evidence_only(grain: StoredGrain, address: str) -> bool:
    """Whether a recommendation names an address among its parents, and in none of its operations."""
    proposal = grain.get("proposal_data")
    told = proposal if isinstance(proposal, Mapping) else {}
    operations = str([told.get("ops"), told.get("alternatives")])
    return address in grain.parents() and address not in operations
