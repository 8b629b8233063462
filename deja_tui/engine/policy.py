# SPDX-License-Identifier: Apache-2.0
"""The host's policy: one flat JSON object that says what may happen without a person, and what may not happen at all.

A policy comes from the host's process only: an argument, ``--policy FILE`` or ``DEJA_LOOP_POLICY``; never from a memory,
a client or a payload. It has no key that could name a command, a right or a reviewer.

* POL-1  An unknown key, a key given twice and a value of the wrong kind are refused with the key named; nothing of such
  a document is used.
* POL-2  Names are compared by family: ``loop.duplicate_sweep``, ``loop.duplicate_sweep/1`` and ``…/7`` are one.
* POL-3  Targets other than ``memory`` and ``query`` are refused (D24). A grant that can never take effect loads, and is
  listed with the reason.
* POL-4  Engine ceilings come before flags, flags before the policy, the policy before what the file says; what denies is
  added up, and of two severity floors the stricter counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from deja_tui.engine.analyzer import Manifest
from deja_tui.engine.draft import MAX_EVIDENCE
from deja_tui.engine.faults import LoopError
from deja_tui.engine.objects import SEVERITIES
from deja_tui.engine.operations import MAX_BYTES, MAX_OPERATIONS
from deja_tui.text import REASON_MAX, clean

TARGETS: Final = ("memory", "query")
TELEMETRY: Final = ("off", "aggregate", "full")
MAX_POLICY_BYTES: Final = 65_536
_LONGEST_NAME: Final = 128


@dataclass(frozen=True, slots=True)
class Grant:
    """Findings of one family, on these classes of targets and not above this severity, may be applied unasked."""

    analyzer: str
    targets: tuple[str, ...]
    max_severity: str

    def covers(self, analyzer: str, target_class: str, severity: str) -> bool:
        """Whether it speaks of such a finding. What the engine itself demands comes on top (`auto`)."""
        return (
            family_of(self.analyzer) == family_of(analyzer)
            and target_class in self.targets
            and SEVERITIES.index(severity) <= SEVERITIES.index(self.max_severity)
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """A host's policy. The default one grants nothing, denies nothing and raises no floor."""

    auto_apply_enabled: bool = False
    auto_apply: tuple[Grant, ...] = ()
    deny: tuple[str, ...] = ()
    severity_floors: Mapping[str, str] = field(default_factory=dict)
    telemetry: str = "aggregate"
    named: frozenset[str] = frozenset()  # the keys that the document holds

    def denies(self, analyzer: str) -> bool:
        """Whether the host does not let this analyzer work (POL-2)."""
        return family_of(analyzer) in {family_of(name) for name in self.deny}

    def floor(self, analyzer: str) -> str | None:
        """The host's severity floor for an analyzer, the strictest that names its family; None: no floor."""
        family = family_of(analyzer)
        return stricter(*(value for name, value in self.severity_floors.items() if family_of(name) == family))

    def grants(self, analyzer: str, target_class: str, severity: str) -> bool:
        """Whether a finding of this kind may be applied unasked, as far as the host is concerned."""
        return self.auto_apply_enabled and any(
            grant.covers(analyzer, target_class, severity) for grant in self.auto_apply
        )

    def to_plain(self) -> dict[str, Any]:
        """The policy as the JSON object it is read from, every key written out."""
        return {
            "auto_apply_enabled": self.auto_apply_enabled,
            "auto_apply": [
                {
                    "analyzer": grant.analyzer,
                    "targets": list(grant.targets),
                    "max_severity": grant.max_severity,
                }
                for grant in self.auto_apply
            ],
            "deny": list(self.deny),
            "severity_floors": dict(self.severity_floors),
            "telemetry": self.telemetry,
        }


def family_of(name: str) -> str:
    """The id of an analyzer without its major version."""
    return name.rsplit("/", 1)[0]


def stricter(*floors: str | None) -> str | None:
    """The highest of several severity floors; None where there is none."""
    given = [floor for floor in floors if floor is not None]
    return max(given, key=SEVERITIES.index) if given else None


# --- reading -----------------------------------------------------------------------------------------


def parse(text: str | bytes) -> Policy:
    """The policy of a JSON document. Raises LOP-E037 naming the key that is wrong (POL-1, POL-3)."""
    if len(text) > MAX_POLICY_BYTES:
        raise _bad("the document", f"is longer than {MAX_POLICY_BYTES:,} bytes")
    try:
        told = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as fault:
        raise _bad("the document", "is no JSON") from fault
    return from_plain(told)


def from_plain(told: object) -> Policy:
    """The policy of an object as JSON gives it. Raises LOP-E037."""
    if not isinstance(told, Mapping):
        raise _bad("the document", "is no JSON object")
    _known(told, _KEYS, "")
    return Policy(
        **{name: _KEYS[name](value, name) for name, value in told.items()},
        named=frozenset(map(str, told)),
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different: of a key given twice nobody can tell which one was meant."""
    seen: dict[str, Any] = {}
    for name, value in pairs:
        if name in seen:
            raise _bad(name, "is given twice")
        seen[name] = value
    return seen


def _known(told: Mapping[Any, Any], keys: Iterable[str], inside: str) -> None:
    known = list(keys)
    for name in told:
        if name not in known:
            raise _bad(f"{inside}{name}", "is no key of a policy", "known: " + ", ".join(known))


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise _bad(name, "is true or false")
    return value


def _one_of(value: object, name: str, choices: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise _bad(name, "is one of " + ", ".join(choices))
    return value


def _name(value: object, name: str) -> str:
    """An analyzer's id or family. One that is not known here may be known elsewhere: it loads, and is told."""
    if not isinstance(value, str) or not 1 <= len(value.strip()) <= _LONGEST_NAME:
        raise _bad(name, f"names an analyzer in 1 to {_LONGEST_NAME} characters")
    return value.strip()


def _names(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise _bad(name, "is a list of analyzers")
    return tuple(_name(one, name) for one in value)


def _floors(value: object, name: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise _bad(name, "is an object of analyzers and severities")
    return {_name(one, name): _one_of(floor, f"{name}.{one}", SEVERITIES) for one, floor in value.items()}


def _grants(value: object, name: str) -> tuple[Grant, ...]:
    if not isinstance(value, list | tuple):
        raise _bad(name, "is a list of grants")
    return tuple(_grant(one, f"{name}[{number}]") for number, one in enumerate(value))


def _grant(value: object, name: str) -> Grant:
    keys = ("analyzer", "targets", "max_severity")
    if not isinstance(value, Mapping):
        raise _bad(name, "is an object with " + ", ".join(keys))
    _known(value, keys, f"{name}.")
    for key in keys:
        if key not in value:
            raise _bad(f"{name}.{key}", "is missing")
    targets = value["targets"]
    if not isinstance(targets, list | tuple) or not targets:
        raise _bad(f"{name}.targets", "is a list of " + " and ".join(TARGETS))
    return Grant(
        _name(value["analyzer"], f"{name}.analyzer"),
        tuple(dict.fromkeys(_one_of(one, f"{name}.targets", TARGETS) for one in targets)),
        _one_of(value["max_severity"], f"{name}.max_severity", SEVERITIES),
    )


_KEYS: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "auto_apply_enabled": _flag,
    "auto_apply": _grants,
    "deny": _names,
    "severity_floors": _floors,
    "telemetry": lambda value, name: _one_of(value, name, TELEMETRY),
}


def _bad(name: str, told: str, next_step: str = "") -> LoopError:
    shown = name if name == "the document" else f"key {clean(name, 80)}"
    return LoopError(
        "LOP-E037", f"policy: {shown} {told}", next_step or "examples/policy holds three that load"
    )


# --- what is in force --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Effective:
    """One value that is in force, and the layer that set it: engine, flag, policy, file or default."""

    name: str
    value: Any
    layer: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class EffectivePolicy:
    """What is in force, value by value, and what the policy says in vain."""

    values: tuple[Effective, ...]
    ineffective: tuple[str, ...] = ()  # grants that load and never take effect, each with the reason
    warnings: tuple[str, ...] = ()  # names that no analyzer here has

    def under(self, flags: Mapping[str, Any]) -> EffectivePolicy:
        """The same where the flags of a process set some values: a flag comes before the policy (POL-4)."""
        values = tuple(
            Effective(one.name, flags[one.name], "flag") if flags.get(one.name) is not None else one
            for one in self.values
        )
        return replace(self, values=values)

    def to_plain(self) -> dict[str, Any]:
        """As JSON gives it: ``values`` is a list of {name, value, layer, note}."""
        return {
            "values": [
                {"name": one.name, "value": one.value, "layer": one.layer, "note": one.note}
                for one in self.values
            ],
            "ineffective": list(self.ineffective),
            "warnings": list(self.warnings),
        }


CEILINGS: Final[Mapping[str, tuple[Any, str]]] = {
    "auto_apply.shape": ("retire an equal copy", "nothing else is ever applied unasked (D13)"),
    "approve.creator": ("refused", "nobody approves what they created (D14)"),
    "destructive.unasked": ("never", "an earlier approval, the admin right and the flag (D19)"),
    "evidence.cited": (MAX_EVIDENCE, "grains"),
    "proposal.operations": (MAX_OPERATIONS, "operations"),
    "proposal.bytes": (MAX_BYTES, "bytes"),
    "reason.length": (REASON_MAX, "characters"),
}
"""What no policy, flag or file can change: name to (value, what it means)."""


def in_force(
    policy: Policy | None,
    manifests: Sequence[Manifest],
    file: Iterable[Effective] = (),
) -> EffectivePolicy:
    """Every value in force with its layer. ``file`` is what that layer says, already checked."""
    told = policy or Policy()
    values = [Effective(name, value, "engine", note) for name, (value, note) in CEILINGS.items()]
    values += [
        Effective(name, value, "policy" if name in told.named else "default")
        for name, value in told.to_plain().items()
    ]
    values += file
    return EffectivePolicy(tuple(values), _in_vain(told, manifests), _unknown(told, manifests))


def _in_vain(policy: Policy, manifests: Sequence[Manifest]) -> tuple[str, ...]:
    """Grants without effect: of an analyzer that is never applied unasked, denied, or without the switch (POL-3)."""
    by_family = {manifest.family: manifest for manifest in manifests}
    told = []
    for grant in policy.auto_apply:
        manifest = by_family.get(family_of(grant.analyzer))
        reason = _why_in_vain(policy, grant, manifest)
        if reason:
            told.append(f"{clean(grant.analyzer, 80)}: {reason}")
    return tuple(told)


def _why_in_vain(policy: Policy, grant: Grant, manifest: Manifest | None) -> str:
    if manifest is None:
        return "no analyzer here has this name"
    if manifest.auto_apply == "never" or manifest.origin != "builtin":
        return "its findings are never applied unasked"
    if policy.denies(grant.analyzer):
        return "the same policy denies the analyzer"
    if not set(grant.targets) & set(manifest.target_classes):
        return "it never proposes a change to these targets"
    return "" if policy.auto_apply_enabled else "auto_apply_enabled is false"


def _unknown(policy: Policy, manifests: Sequence[Manifest]) -> tuple[str, ...]:
    known = {manifest.family for manifest in manifests}
    named = [*policy.deny, *policy.severity_floors, *(grant.analyzer for grant in policy.auto_apply)]
    strange = [name for name in dict.fromkeys(named) if family_of(name) not in known]
    return tuple(f"no analyzer here is called {clean(name, 80)}" for name in strange)
