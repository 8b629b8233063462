# SPDX-License-Identifier: Apache-2.0
"""Chains and copies for the library: forks and merges, retiring, bundles, segments, and a memory as it was.

* COP-1  A merge and a retirement need the right write and a reason that is kept: the merge in its grain, the retirement
  in an audit grain whose effects other copies carry out (D2).
* COP-2  What comes from another copy takes effect on memory content, erasures included, so it needs the right admin. It
  is history where governance is concerned: recommendations that came are listed as foreign, nothing decides by them (D5).
* COP-3  An erasure that came is an erasure: what quotes the grain goes with it, the sidecar is scrubbed (D31), and an audit
  grain of this file says who took it in. Why it was wanted says the audit grain of the copy it is from, where it has one.
* COP-4  A restore needs admin and a reason, writes a new file only, and the new file says who made it, when and why.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from deja_tui.adapter import StoreSubstrate, build
from deja_tui.engine import audit, ledger, lifecycle
from deja_tui.engine.actors import Caller
from deja_tui.engine.substrate import LOOP_NAMESPACE, NewGrain
from deja_tui.erasure import AUTHZ_NAMESPACE, Eraser
from deja_tui.errors import DejaError, ValidationError
from deja_tui.store import asof, bundles, grains, restore, segments
from deja_tui.store.bundles import ImportReport, Written
from deja_tui.store.changes import Change
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store
from deja_tui.store.oplog import LogEntry
from deja_tui.store.restore import RestoreReport
from deja_tui.store.segments import Followed, Pushed
from deja_tui.store.telemetry import Telemetry
from deja_tui.store.write import Act

CAME_ERASED: Final = "it was erased in another copy of this memory"
POSITIONS_BELOW: Final = 10**9
"""A whole number below this is a position in the op-log; from here on it is a time (epoch seconds, ms, or an HLC)."""
_ROWS_AN_ACT: Final = 200
_NOT_INHERITED: Final = ("derived_from", "supersede_reason", "merge_reason", "related_to")

Clock = Callable[[], int]


class Copies:
    """What one opened memory does with its chains and with other copies of itself."""

    def __init__(
        self,
        store: Store,
        substrate: StoreSubstrate,
        telemetry: Telemetry,
        eraser: Eraser,
        who: Caller,
        clock: Clock,
    ) -> None:
        self._store = store
        self._substrate = substrate
        self._telemetry = telemetry
        self._eraser = eraser
        self._who = who
        self._clock = clock

    # --- merging and retiring ---

    def merge(self, tips: str | Sequence[str], fields: Mapping[str, Any] | None, reason: str) -> str:
        """See `Memory.merge`."""
        self._who.need("write")
        told = lifecycle.check_reason(reason)
        if fields is not None and not isinstance(fields, Mapping):
            raise ValidationError("VAL-E001", "fields is not a map of names to values")
        with self._store.act() as act:
            found = self._tips(tips)
            grain = self._merged(found, fields or {}, told)
            added = act.merge([tip.address for tip in found], grain)
        self._telemetry.settle()
        return added.address

    def _tips(self, tips: str | Sequence[str]) -> list[StoredGrain]:
        """The grains to merge, greatest first; one address stands for the fork it is part of."""
        if not isinstance(tips, (str, Sequence)):
            raise ValidationError("VAL-E001", "a merge needs the addresses of its tips")
        if not isinstance(tips, str):
            found = list({grain.address: grain for grain in map(self._there, tips)}.values())
            if len(found) < 2:
                raise ValidationError("VAL-E001", "a merge needs two or more live grains")
            return sorted(found, key=lambda grain: (grain.created_at, grain.hlc, grain.address), reverse=True)
        one = self._there(tips)
        for fork in self._store.forks([one.namespace]):
            if any(tip.address == one.address for tip in fork.tips):
                return list(fork.tips)
        raise ValidationError("VAL-E001", "the grain is no tip of a fork", "name two or more live grains")

    def _merged(self, tips: Sequence[StoredGrain], fields: Mapping[str, Any], reason: str) -> Any:
        head = tips[0]
        if len({(tip.type, tip.namespace) for tip in tips}) > 1:
            raise ValidationError("VAL-E001", "grains of several types or namespaces cannot be merged")
        holder = "common_context" if head.type == "state" else "context"
        merged = {name: value for name, value in head.fields.items() if name not in (*_NOT_INHERITED, holder)}
        given = {grains.long_name(head.type, name): value for name, value in fields.items()}
        merged.update(given)
        merged["merge_reason"] = reason
        merged["derived_from"] = head.address
        context = merged.get(holder)
        merged[holder] = {
            **(context if isinstance(context, Mapping) else {}),
            "merge_parents": [tip.address for tip in tips],
        }
        kept = {name: value for name, value in merged.items() if value is not None or name not in given}
        at = kept.pop("created_at", None)
        # later than every tip: readers that elect by time alone must find it, too
        now = max(self._clock(), head.created_at + 1)
        when = now if at is None else grains.parse_time(at, "created_at")
        new = NewGrain(head.type, head.namespace, when, kept)
        grain = build(new, settled=set(head.fields).difference(given))
        if holder not in grain.fields:
            raise ValidationError(
                "VAL-E001",
                "a key of the context has another meaning in the format, so the merge could not name its parents",
                "leave the context out, or rename the key",
            )
        return grain

    def retire(self, address: str, by: str, reason: str) -> str:
        """See `Memory.retire`."""
        self._who.need("write")
        told = lifecycle.check_reason(reason)
        with self._store.act(governed=True) as act:
            old, new = self._there(address), self._there(by)
            if old.address == new.address:
                raise ValidationError("VAL-E001", "a grain cannot be retired in favour of itself")
            for grain in (old, new):
                self._store.refuse_reserved(grain.type, grain.namespace)
                if not grain.live:
                    raise DejaError(
                        "MEM-E002",
                        f"the grain {grain.address[:12]} was already superseded",
                        f"deja history {grain.address[:12]}",
                    )
            act.mark(old.address, "retire", new.address)
            effects = [{"do": "retire", "grain": old.address, "by": new.address}]
            context = {"audit": "mark", "because": told, "effects": effects, "verb": "retire"}
            parents = [old.address, new.address]
            note = self._note(f"hash:{old.address}", "retire", context, derived_from=parents)
            return act.add(build(note)).address

    def _there(self, address: str) -> StoredGrain:
        found = self._store.get(self._store.resolve(address))
        if found is None:
            raise DejaError("MEM-E001", "no such grain", "deja search TEXT finds addresses")
        return found

    def _note(self, target: str, verb: str, context: Mapping[str, Any], **fields: Any) -> NewGrain:
        return _note(self._who, self._clock(), target, verb, context, **fields)

    # --- the log ---

    def log(self, since: int | str) -> Iterator[LogEntry]:
        """See `Memory.log`."""
        self._who.need("read")
        position, clock = _since(since)
        return (entry for entry in self._store.log(position) if entry.hlc > clock)

    def changes(self, since: int | str, namespace: str | None, subject: str | None) -> Iterator[Change]:
        """See `Memory.changes`."""
        self._who.need("read")
        position, clock = _since(since)
        return self._store.changes(position, clock, namespace=namespace, subject=subject)

    # --- other copies ---

    def bundle(self, path: str | os.PathLike[str], since: int) -> Written:
        """See `Memory.bundle`."""
        self._who.need("read")
        return self._store.bundle(path, since)

    def import_bundle(self, path: str | os.PathLike[str]) -> ImportReport:
        """See `Memory.import_bundle`."""
        self._who.need("admin")
        report = self._store.import_bundle(path, erased=self._erased)
        self._list_foreign(anew=report.governance > 0)
        self._telemetry.settle()
        return report

    def push(self, directory: str | os.PathLike[str], *, fresh: bool) -> Pushed:
        """See `Memory.push_segments`."""
        self._who.need("write")
        return segments.push(self._store, directory, fresh=fresh)

    def pull(self, directory: str | os.PathLike[str]) -> tuple[Followed, ...]:
        """See `Memory.pull_segments`."""
        self._who.need("admin")
        followed = segments.pull(self._store, directory, erased=self._erased)
        self._list_foreign(anew=any(one.governance for one in followed))
        self._telemetry.settle()
        return followed

    def _erased(self, act: Act, erased: Sequence[StoredGrain]) -> None:
        """In the act that erased them: what quotes these grains goes, and what the sidecar knows of them (COP-3)."""
        quoting = self._eraser.erase_quotes(act, erased)
        self._telemetry.scrub(erased)
        which = hashlib.sha256("".join(sorted(grain.address for grain in erased)).encode()).hexdigest()[:16]
        context = {
            "audit": "tier2",
            "because": CAME_ERASED,
            "grains_erased": len(erased),
            **({"recommendations_erased": len(quoting)} if quoting else {}),
            "target": f"import:{which}",
            "verb": "erase",
        }
        act.add(build(self._note(f"import:{which}", "erase", context)))

    def _list_foreign(self, *, anew: bool) -> None:
        """Rows of the queue for recommendations that came from elsewhere; ``anew``: audits of known ones may have come."""
        if not anew and self._store.ledger_covers():
            return
        came = [
            grain.address
            for grain in self._store.scan("recommendation", namespaces=[LOOP_NAMESPACE])
            if grain.imported and (anew or self._store.ledger_get(grain.address) is None)
        ]
        for start in range(0, len(came), _ROWS_AN_ACT):
            with self._store.act(governed=True):
                for address in came[start : start + _ROWS_AN_ACT]:
                    try:
                        lifecycle.record(self._substrate, address)
                    except DejaError as fault:
                        if fault.code != "LOP-E012":
                            raise  # one that this version cannot read is no recommendation here


def restore_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    until: int | str,
    because: str,
    who: Caller,
    clock: Clock,
) -> RestoreReport:
    """See `Memory.restore`."""
    who.need("admin")
    told = lifecycle.check_reason(because)
    moment = asof.moment(until, "until")

    def fill(store: Store) -> RestoreReport:
        report = _fill(store, source, moment)
        _sign(store, report, told, who, clock)
        return report

    return restore.into_new_file(
        target, lambda path: Store.open(path, durability="normal", clock=clock), fill
    )


def _fill(store: Store, source: str | os.PathLike[str], moment: int) -> RestoreReport:
    if not restore.is_bundle(source):
        with Store.open(source, read_only=True, create=False) as old:
            return restore.replay(old, store, moment)
    done = bundles.import_bundle(store, source, until=moment)
    if not done.complete:
        raise DejaError("FMT-E004", f"the bundle is damaged: {done.stopped}", "take another copy of it")
    return RestoreReport(done.added, done.applied, done.why.get("gone", 0), done.forgotten, moment)


def _sign(store: Store, report: RestoreReport, because: str, who: Caller, clock: Clock) -> None:
    """The queue of the new file, and the audit grain that says where it is from (COP-4)."""
    context = {
        "audit": "restore",
        "because": because,
        "until": report.until,
        "operations": report.operations,
        "lost": report.lost,
        "verb": "restore",
    }
    with store.act(governed=True) as act:
        for row in list(ledger.replay(StoreSubstrate(store))):
            act.ledger_put(row)
        act.add(build(_note(who, clock(), f"hlc:{report.until}", "restore", context)))


def _note(
    who: Caller, at: int, target: str, verb: str, context: Mapping[str, Any], **fields: Any
) -> NewGrain:
    told = {
        "confidence": 0.0,
        "observer_id": who.actor,
        "observer_type": audit.observer_of(who.actor),
        "subject": target,
        "object": verb,
        "context": context,
        **fields,
    }
    return NewGrain("observation", AUTHZ_NAMESPACE, at, told)


def _since(since: int | str) -> tuple[int, int]:
    """(position, clock) above which rows are wanted. Raises VAL-E002 for what is neither a position nor a time."""
    if (
        isinstance(since, str)
        and since.strip().isascii()
        and since.strip().isdigit()
        and len(since.strip()) < 8
    ):
        since = int(since)
    if isinstance(since, int) and not isinstance(since, bool) and 0 <= since < POSITIONS_BELOW:
        return since, -1
    return 0, asof.moment(since, "since")
