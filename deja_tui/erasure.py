# SPDX-License-Identifier: Apache-2.0
"""Erasure for the library: one grain, one subject, or what is older than a day (D16, D19, D31).

* ERA-1  Every act needs the right admin and a reason, and leaves one audit grain in ``agent:authz`` that names who, why
  and how many, never what: of a subject only a digest.
* ERA-2  A report and the act it announces use one selector: `Eraser.subject_report` lists exactly what
  `Eraser.forget_subject` removes.
* ERA-3  Recommendations that quote what goes are erased with it; the audit entries about them stay, and their chain is
  then *erased*, not broken.
* ERA-4  The sidecar is scrubbed before the act is kept: what a failure loses there is disposable.
* ERA-5  What could not be reached is said in ``unreached``, never passed over.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from deja_tui import spool, watch
from deja_tui.adapter import build
from deja_tui.engine import audit, config, lifecycle
from deja_tui.engine.actors import Caller
from deja_tui.engine.faults import LoopError
from deja_tui.engine.substrate import LOOP_NAMESPACE, NewGrain, is_reserved
from deja_tui.errors import DejaError, ValidationError
from deja_tui.store.codec import TYPES
from deja_tui.store.grains import StoredGrain, parse_time
from deja_tui.store.keys import source_of
from deja_tui.store.memory import Store
from deja_tui.store.telemetry import Telemetry
from deja_tui.store.write import Act
from deja_tui.text import DAY_MS, door, fold

AUTHZ_NAMESPACE: Final = "agent:authz"
NAMING_FIELDS: Final = ("subject", "object", "session_id", "run_id", "user_id", "subject_did", "entity_id")
"""Fields that say whom a grain is about or whose it is; of any type, with or without a relation."""
CONFIRM_CHARS: Final = 4

_ADDRESS: Final = re.compile(rb"[0-9a-f]{64}")
_WORD: Final = re.compile(r"\w+")
_COPIES: Final = (
    "bundles, segments and backups that were written before: forget it there, too, or delete them"
)


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure did.

    Attributes:
        audit: address of the audit grain.
        addresses: the grains that are gone, in arrival order.
        recommendations: recommendations that quoted them and are gone as well.
        pending: old pages of the file still hold erased text, because a reader held them; the next act, `verify` or
            closing tries again.
        unreached: what may still tell of it, one sentence each.
    """

    audit: str
    addresses: tuple[str, ...]
    recommendations: tuple[str, ...]
    pending: bool
    unreached: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubjectReport:
    """What an erasure of one subject removes, and what it leaves (ERA-2). Nothing was changed.

    Attributes:
        subject: as asked, in NFC.
        namespaces: the namespaces looked at; None: all but the engine's own.
        names: the texts that were taken for the subject: itself, and itself before a character that is no letter or
            digit (``pat``, ``pat#visit1``, never ``patricia``).
        grains: every grain that would go, all versions, in arrival order.
        recommendations: addresses of recommendations that would go with them.
        mentioned: addresses of grains that hold the name somewhere else, and would stay.
        derived: addresses of grains that were derived from those that would go, and would stay.
        elsewhere: how many grains name the subject in namespaces that were not looked at.
        unreached: what else may tell of it, one sentence each.
    """

    subject: str
    namespaces: tuple[str, ...] | None
    names: tuple[str, ...]
    grains: tuple[StoredGrain, ...]
    recommendations: tuple[str, ...]
    mentioned: tuple[str, ...]
    derived: tuple[str, ...]
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    unreached: tuple[str, ...] = ()


class Eraser:
    """The erasures of one opened memory."""

    def __init__(self, store: Store, telemetry: Telemetry, who: Caller, clock: Callable[[], int]) -> None:
        self._store = store
        self._telemetry = telemetry
        self._who = who
        self._clock = clock

    # --- one grain ---

    def forget(self, address: str, because: str) -> Erased:
        """Erase one grain. Raises MEM-E001, LOP-E011, LOP-E022, VAL-E004."""
        self._who.need("admin")
        told = lifecycle.check_reason(because)
        with self._store.act(governed=True) as act:
            full = self._store.resolve(address)
            grain = self._read(full)
            if grain is not None:
                self._store.refuse_reserved(grain.type, grain.namespace)
            # of a damaged grain only the store can say where it was filed, so its own guard decides
            done = self._erase(act, [full], told, "delete", f"hash:{full}", governed=grain is not None)
        return _settled(done, self._store)

    def forget_versions(self, find: Callable[[], Sequence[str]], because: str, target: str) -> Erased:
        """Erase the versions of one thing, which ``find`` lists inside the act, with one audit grain. Raises as `forget`."""
        self._who.need("admin")
        told = lifecycle.check_reason(because)
        with self._store.act(governed=True) as act:
            addresses = find()
            for address in addresses:
                grain = self._read(address)
                if grain is not None:
                    self._store.refuse_reserved(grain.type, grain.namespace)
            done = self._erase(act, addresses, told, "delete", target)
        return _settled(done, self._store)

    # --- a subject ---

    def subject_report(
        self, subject: str, namespaces: Sequence[str] | None, *, mentions: bool = False
    ) -> SubjectReport:
        """What `forget_subject` with the same arguments removes. Raises VAL-E001, VAL-E004, LOP-E022."""
        self._who.need("read")
        identity = _identity(subject)
        _check_namespaces(namespaces)
        with self._store.snapshot():
            return self._report(identity, namespaces, mentions)

    def forget_subject(
        self,
        subject: str,
        namespaces: Sequence[str] | None,
        *,
        because: str,
        confirm: str,
        mentions: bool = False,
    ) -> Erased:
        """Erase a subject. Raises VAL-E001, VAL-E004, LOP-E011 (also when the reason names it), LOP-E022, LOP-E023."""
        self._who.need("admin")
        identity = _identity(subject)
        _check_namespaces(namespaces)
        told = lifecycle.check_reason(because)
        if _tells(told, identity):
            raise LoopError(
                "LOP-E011",
                "the reason names the subject, and reasons are kept for good",
                "say why without the name",
            )
        check_confirmed(identity, confirm)
        reference = hashlib.sha256(identity.encode()).hexdigest()[:16]
        where = "*" if namespaces is None else ",".join(namespaces)
        with self._store.act(governed=True) as act:
            report = self._report(identity, namespaces, mentions)
            if not report.grains and not report.recommendations:
                raise DejaError(
                    "MEM-E001", "no grain names this subject here", "deja forget-subject … --dry-run"
                )
            done = self._erase(
                act,
                [grain.address for grain in report.grains],
                told,
                "erase",
                f"subject:{reference} ns:{where}",
                identity=identity,
                also={"subject_ref": f"sha256-64/{reference}"},
            )
        return _settled(done, self._store, report.unreached)

    def _report(self, identity: str, namespaces: Sequence[str] | None, mentions: bool) -> SubjectReport:
        wanted = None if namespaces is None else {door(name) for name in namespaces}
        chosen: dict[str, StoredGrain] = {}
        damaged: list[str] = []
        names: set[str] = set()
        mentioned: list[str] = []
        elsewhere: Counter[str] = Counter()
        for address in self._store.holding(identity):
            grain = self._read(address)
            if grain is None:
                damaged.append(address)
                continue
            found = naming(grain, identity)
            names.update(found)
            here = wanted is None or grain.namespace in wanted
            if not here:
                elsewhere[grain.namespace] += bool(found)
            elif found:
                chosen[address] = grain
            else:
                mentioned.append(address)
        if mentions:
            chosen.update(self._mentioning(identity, wanted))
        gone = set(chosen)
        unreached = [_COPIES]
        if damaged:
            unreached.append(
                f"{len(damaged)} damaged grains hold the text: " + ", ".join(a[:12] for a in damaged[:8])
            )
        quoting = self._quoting(gone, identity)
        kept = [address for address in self._store.holding(identity, reserved=True) if address not in quoting]
        if kept:
            unreached.append(
                f"{len(kept)} records of decisions or destruction hold the text; they are kept for good"
            )
        unreached.extend(self._settings_that_tell(identity))
        return SubjectReport(
            subject=identity,
            namespaces=None if namespaces is None else tuple(namespaces),
            names=tuple(sorted(names)),
            grains=tuple(sorted(chosen.values(), key=lambda grain: grain.seq)),
            recommendations=tuple(sorted(quoting)),
            mentioned=tuple(address for address in mentioned if address not in gone),
            derived=self._derived(gone),
            elsewhere=dict(sorted(elsewhere.items())),
            unreached=tuple(unreached),
        )

    def _settings_that_tell(self, identity: str) -> Iterator[str]:
        """What is to be said of settings that hold the text, or may: a damaged one stops no erasure."""
        try:
            found = self._store.settings()
        except DejaError as fault:
            if fault.code != "STO-E009":
                raise
            yield f"settings of the file could not be looked at: {fault.message}"
            return
        held = sum(_tells(key, identity) or _tells(value, identity) for key, value in found.items())
        if held:
            yield f"{held} settings of the file hold the text"

    def _words_left(self, grains: Iterable[StoredGrain]) -> Iterator[str]:
        """What is to be said of settings of analyzers that name a relation of the erased facts, as a learnt one does (D25)."""
        gone = {fold(str(grain.get("relation"))) for grain in grains if grain.get("relation")}
        if not gone:
            return
        try:
            now = self._store.settings(config.REST)
        except DejaError as fault:
            if fault.code != "STO-E009":
                raise
            now = {}  # a damaged setting stops no erasure; `verify` names it
        logged = [
            grain.get("context")
            for grain in self._store.scan("observation", namespaces=[LOOP_NAMESPACE])
            if isinstance(grain.get("context"), Mapping)
            and grain.get("context").get("audit") == config.LOG_KIND
        ]
        said = {
            name: gone & {fold(word) for text in _texts(told) for word in text.split(",")}
            for name, told in (("settings", now), ("log", logged))
        }
        if said["settings"]:
            yield "settings of an analyzer name a relation of what was erased: deja loop set changes them"
        if said["log"]:
            yield "the log of settings names a relation of what was erased; it is kept for good"

    def _mentioning(self, identity: str, wanted: Collection[str] | None) -> dict[str, StoredGrain]:
        """Grains whose text has every word of the name, in any case and order."""
        words = set(_WORD.findall(fold(identity)))
        found = {}
        for type_ in TYPES:
            for grain in self._store.scan(type_, namespaces=None if wanted is None else sorted(wanted)):
                said = {word for text in _texts(grain.fields) for word in _WORD.findall(fold(text))}
                if words and words <= said:
                    found[grain.address] = grain
        return found

    def _derived(self, gone: Collection[str]) -> tuple[str, ...]:
        children = {
            child.address: child.seq
            for address in gone
            for child in self._store.children(address)
            if child.address not in gone and not is_reserved(child.namespace)
        }
        return tuple(sorted(children, key=children.__getitem__))

    # --- age ---

    def older_than(
        self, before: int | str, namespace: str, type: str | None, limit: int | None
    ) -> tuple[StoredGrain, ...]:
        """Grains of a namespace, live or not, made before a moment; the oldest by (created_at, arrival) first."""
        self._who.need("read")
        _check_namespaces([namespace])
        if type is not None and type not in TYPES:
            raise ValidationError("VAL-E001", f"unknown grain type; one of {', '.join(TYPES)}")
        cutoff = parse_time(before, "before")
        found = [
            grain
            for kind in (TYPES if type is None else (type,))
            for grain in self._store.scan(kind, namespaces=[namespace])
            if grain.created_at < cutoff
        ]
        found.sort(key=lambda grain: (grain.created_at, grain.seq))
        return tuple(found if limit is None else found[: max(0, limit)])

    def forget_older_than(
        self, before: int | str, namespace: str, *, because: str, type: str | None, limit: int | None
    ) -> Erased:
        """Erase what `older_than` lists. Raises VAL-E001, VAL-E002, VAL-E004, LOP-E011, LOP-E022, MEM-E001 (nothing)."""
        self._who.need("admin")
        told = lifecycle.check_reason(because)
        with self._store.act(governed=True) as act:
            found = self.older_than(before, namespace, type, limit)
            if not found:
                raise DejaError("MEM-E001", "no grain here is older than that")
            days = max(0, self._clock() - parse_time(before, "before")) // DAY_MS
            kind = f" type:{type}" if type else ""
            target = f"older_than:{days}d ns:{namespace}{kind}"
            done = self._erase(act, [grain.address for grain in found], told, "erase", target)
        return _settled(done, self._store)

    # --- what every erasure does ---

    def _erase(
        self,
        act: Act,
        addresses: Sequence[str],
        because: str,
        verb: str,
        target: str,
        *,
        identity: str | None = None,
        also: Mapping[str, Any] | None = None,
        governed: bool = True,
    ) -> Erased:
        grains = [grain for address in addresses if (grain := self._read(address)) is not None]
        quoting = self.erase_quotes(act, grains, identity=identity)
        closed = self._left_closed(grains)
        for address in watch.each(addresses, len(addresses), "grains"):
            if governed:
                act.forget(address)
            else:
                with self._store.act() as plain:
                    plain.forget(address)
        unreached = [_COPIES]
        left = (
            self._telemetry.scrub(grains, identity),
            spool.scrub(self._store.path, _spooled_of(grains, identity)),
        )
        unreached += [told for told in left if told]
        unreached.extend(self._words_left(grains))
        context = {
            "audit": "tier2",
            "because": because,
            "grains_erased": len(addresses),
            **({"recommendations_erased": len(quoting)} if quoting else {}),
            "target": target,
            "verb": verb,
            **({"effects": closed} if closed else {}),
            **(also or {}),
        }
        told = act.add(build(self._audit(target, verb, context)))
        return Erased(told.address, tuple(addresses), tuple(sorted(quoting)), False, tuple(unreached))

    def erase_quotes(
        self, act: Act, grains: Iterable[StoredGrain], *, identity: str | None = None
    ) -> frozenset[str]:
        """Erase the recommendations that quote these grains (D31); their addresses."""
        quoting = self._quoting({grain.address for grain in grains}, identity)
        for address in quoting:
            act.forget(address)
        return quoting

    def _left_closed(self, grains: Sequence[StoredGrain]) -> list[dict[str, str]]:
        """What stays superseded though what took its place goes: other copies cannot tell that from the bytes (D2).

        Also of what is not here: it may come later, and is closed then.
        """
        gone = {grain.address for grain in grains}
        return [
            {"do": "supersede", "grain": address, "by": grain.address}
            for grain in grains
            for address in self._store.replaced(grain.address)
            if address not in gone
        ]

    def _quoting(self, gone: Collection[str], identity: str | None) -> frozenset[str]:
        """Recommendations, refreshed and imported ones too, that name one of the addresses or tell of the subject."""
        found = set()
        if gone:
            for address, body in self._store.blobs("recommendation"):
                if any(named.decode() in gone for named in _ADDRESS.findall(body)):
                    found.add(address)
        if identity:
            for grain in self._store.scan("recommendation", namespaces=[LOOP_NAMESPACE]):
                if _tells(grain.fields, identity):
                    found.add(grain.address)
        return frozenset(found)

    def _read(self, address: str) -> StoredGrain | None:
        """The grain, or None when its bytes are damaged."""
        try:
            return self._store.get(address)
        except DejaError as fault:
            if fault.code != "STO-E009":
                raise
            return None

    def _audit(self, target: str, verb: str, context: Mapping[str, Any]) -> NewGrain:
        fields = {
            "confidence": 0.0,
            "observer_id": self._who.actor,
            "observer_type": audit.observer_of(self._who.actor),
            "subject": target,
            "object": verb,
            "context": context,
        }
        return NewGrain("observation", AUTHZ_NAMESPACE, self._clock(), fields)


def _settled(done: Erased, store: Store, unreached: Sequence[str] = ()) -> Erased:
    """After the act: whether old pages are gone, and what the report said beforehand."""
    more = [told for told in unreached if told not in done.unreached]
    return Erased(
        done.audit, done.addresses, done.recommendations, store.erasure_pending, (*done.unreached, *more)
    )


def _spooled_of(
    grains: Iterable[StoredGrain], identity: str | None
) -> Callable[[str, str, Mapping[str, Any]], bool]:
    """Whether an item that waits in the spool is from where one of these grains is, or tells of the name (SPOOL-3)."""
    keys = {key for grain in grains if (key := source_of(grain.get("context"))) is not None}

    def tells(kind: str, key: str, fields: Mapping[str, Any]) -> bool:
        return key in keys or (identity is not None and _tells(fields, identity))

    return tells


def naming(grain: StoredGrain, identity: str) -> list[str]:
    """The texts by which a grain names a subject: case-exact, whole or up to a character that is no letter or digit."""
    found = []
    for name in NAMING_FIELDS:
        value = grain.get(name)
        if not isinstance(value, str) or not value.startswith(identity):
            continue
        if len(value) == len(identity) or not value[len(identity)].isalnum():
            found.append(value)
    return found


def check_confirmed(subject: str, confirm: str) -> None:
    """Raise LOP-E023 unless ``confirm`` is the beginning of the subject, typed by a person (D19)."""
    least = min(CONFIRM_CHARS, len(subject))
    typed = door(confirm) if isinstance(confirm, str) else ""
    if len(typed) < least or not subject.startswith(typed):
        raise LoopError(
            "LOP-E023",
            f"erasing a subject needs its first {least} characters typed once more",
            "confirm='…', or --confirm …",
        )


def _identity(subject: object) -> str:
    identity = door(subject) if isinstance(subject, str) else ""
    if not identity.strip():
        raise ValidationError("VAL-E001", "a subject is a text that is not blank")
    return identity


def _check_namespaces(namespaces: Sequence[str] | None) -> None:
    for name in namespaces or ():
        Store.refuse_reserved("fact", name)


def _tells(value: Any, identity: str) -> bool:
    """Whether any text in plain data holds the name, in any case, between characters that are no letters or digits."""
    name = fold(identity)
    return bool(name) and any(_holds(fold(text), name) for text in _texts(value))


def _holds(text: str, name: str) -> bool:
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not (at and text[at - 1].isalnum()) and not (end < len(text) and text[end].isalnum()):
            return True
        at = text.find(name, at + 1)
    return False


def _texts(value: Any) -> Iterator[str]:
    """Every text in plain data, keys of maps included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
