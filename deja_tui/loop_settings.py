# SPDX-License-Identifier: Apache-2.0
"""The library's door to how the Deja Loop works on one memory: its analyzers, their settings, the host's policy, health.

`Loop` is built on it; everything here is reached as ``memory.loop``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from deja_tui import spool
from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import config, health, lifecycle, policy
from deja_tui.engine.actors import Caller
from deja_tui.engine.analyzer import Analyzer
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.config import ConfigChange, Imported
from deja_tui.engine.faults import LoopError
from deja_tui.engine.health import AnalyzerState, Health
from deja_tui.engine.policy import EffectivePolicy, Policy
from deja_tui.store.faults import coded
from deja_tui.store.memory import Store
from deja_tui.store.telemetry import Telemetry
from deja_tui.text import clean

POLICY_VARIABLE: Final = "DEJA_LOOP_POLICY"

PolicySource = Policy | Mapping[str, Any] | str | os.PathLike[str] | None


def host_policy(given: PolicySource = None) -> Policy | None:
    """The host's policy: as it is given, else the file that ``DEJA_LOOP_POLICY`` names, else None.

    Args:
        given: a `Policy`, the object of a policy document, or the path of one.

    Raises LOP-E037: the document cannot be read, or a key of it is wrong, with the key named.
    """
    if given is None:
        given = os.environ.get(POLICY_VARIABLE) or None
    if given is None or isinstance(given, Policy):
        return given
    if isinstance(given, Mapping):
        return policy.from_plain(given)
    path = Path(given)
    try:
        with path.open("rb") as file:
            return policy.parse(file.read(policy.MAX_POLICY_BYTES + 1))
    except OSError as fault:
        told = clean(fault.strerror or "it cannot be read", 80)
        raise LoopError(
            "LOP-E037", f"policy: {clean(path.name, 64)}: {told}", "check --policy and DEJA_LOOP_POLICY"
        ) from fault


def counting_mode(given: Policy | None, asked: str | None = None) -> str:
    """The telemetry mode of a surface for people (D37): as it was asked for, else what the policy says, else aggregate."""
    return asked or (given.telemetry if given else "aggregate")


def policy_notices(given: Policy | None, linked: Sequence[Analyzer]) -> tuple[str, ...]:
    """What a person should know of a policy: names that no analyzer has, because a misspelt denial denies nothing."""
    if given is None:
        return ()
    manifests = [one.manifest for one in (*ANALYZERS, *linked)]
    return tuple(f"policy: {told}" for told in policy.in_force(given, manifests).warnings)


class Host(Protocol):
    """What the settings need of the memory they belong to."""

    @property
    def store(self) -> Store: ...
    @property
    def substrate(self) -> StoreSubstrate: ...
    @property
    def telemetry(self) -> Telemetry: ...
    @property
    def who(self) -> Caller: ...
    @property
    def clock(self) -> Callable[[], int]: ...
    @property
    def analyzers(self) -> tuple[Analyzer, ...]: ...
    @property
    def policy(self) -> Policy | None: ...


class Settings:
    """How the Deja Loop works on one memory. Changes need the right admin and a reason, and are logged."""

    def __init__(self, memory: Host) -> None:
        self._host = memory

    def _known(self) -> tuple[Analyzer, ...]:
        return (*ANALYZERS, *self._host.analyzers)

    # --- looking -----------------------------------------------------------------------------------

    @coded
    def health(self, *, now_ms: int | None = None, quick: bool = False) -> Health:
        """What the memory holds and how the loop stands: counts, queue, watermark, policy, and why each analyzer does or
        does not fire. Reads only.

        ``quick``: what counts alone can tell. Audit chains, verification statuses and what analyzers would find are left
        out: ``whole`` is False then, and such an analyzer's state ``reading``.
        """
        self._host.who.need("read")
        now = self._host.clock() if now_ms is None else now_ms
        with self._host.store.snapshot():
            found = health.health(self._host.substrate, self._known(), self._host.policy, now, quick=quick)
        _, waiting, unreadable = spool.counts(self._host.store.path)
        return replace(found, spooled=waiting, unreadable=unreadable)

    @coded
    def analyzers(self, *, quick: bool = False) -> tuple[AnalyzerState, ...]:
        """Every analyzer with its settings, the layer that set each, and its activation, in the order of a run.

        ``quick``: the state of one that would look is ``reading``: none of them looks.
        """
        self._host.who.need("read")
        with self._host.store.snapshot():
            return health.analyzers(
                self._host.substrate, self._known(), self._host.policy, self._host.clock(), quick=quick
            )

    @coded
    def why(self, analyzer: str) -> AnalyzerState:
        """Why one analyzer does or does not fire, by its id, its family or the last part of that. Raises LOP-E033."""
        self._host.who.need("read")
        manifest = config.named([one.manifest for one in self._known()], analyzer)
        found = [one for one in self._known() if one.manifest.id == manifest.id]
        with self._host.store.snapshot():
            (state,) = health.analyzers(self._host.substrate, found, self._host.policy, self._host.clock())
        return state

    def policy(self) -> EffectivePolicy:
        """Every value in force with the layer that set it, grants that are in vain, and names nobody has."""
        self._host.who.need("read")
        return health.effective(self._host.substrate, self._known(), self._host.policy)

    def config_log(self) -> tuple[ConfigChange, ...]:
        """Every change of settings made here, oldest first, then the switches in force that came from another copy."""
        self._host.who.need("read")
        return config.log(self._host.substrate)

    # --- changing ----------------------------------------------------------------------------------

    def configure(
        self,
        analyzer: str,
        *,
        enabled: bool | None = None,
        params: Mapping[str, Any] | None = None,
        severity_floor: str | None = None,
        namespaces: Sequence[str] | None = None,
        clear: Sequence[str] = (),
        because: str,
    ) -> tuple[ConfigChange, ...]:
        """Change the file's settings of one analyzer; what is None stays as it is. Returns what changed.

        Args:
            analyzer: its id, its family or the last part of that.
            params: replaces the whole map; what it does not name goes back to its default.
            severity_floor: findings below it are not stored. namespaces: it reads only these.
            clear: parts that go back to what they were without the file: enabled, params, severity_floor, namespaces.

        Raises LOP-E033 (no such analyzer), LOP-E031 (a value it does not take, with its bounds), LOP-E011 (reason),
        LOP-E022 (needs admin).
        """
        self._host.who.need("admin")
        told = lifecycle.check_reason(because)
        given = {
            "enabled": enabled,
            "params": params,
            "severity_floor": severity_floor,
            "namespaces": namespaces,
        }
        manifest = config.named([one.manifest for one in self._known()], analyzer)
        parts = {
            **dict.fromkeys(clear),
            **{name: value for name, value in given.items() if value is not None},
        }
        return config.change(
            self._host.substrate,
            manifest.id,
            config.checked(manifest, parts),
            actor=self._host.who.actor,
            because=told,
            now_ms=self._host.clock(),
        )

    def enable(self, analyzer: str, *, because: str) -> tuple[ConfigChange, ...]:
        """Let an analyzer take part in runs. Raises as `configure`; a host's denial stays in force."""
        return self.configure(analyzer, enabled=True, because=because)

    def disable(self, analyzer: str, *, because: str) -> tuple[ConfigChange, ...]:
        """Leave an analyzer out of runs; what it proposed stays in the queue. Raises as `configure`."""
        return self.configure(analyzer, enabled=False, because=because)

    def config_export(self) -> dict[str, Any]:
        """The file's settings of all analyzers as one JSON document, also of analyzers that are not here."""
        self._host.who.need("read")
        return config.export(self._host.substrate)

    def config_import(self, document: Mapping[str, Any], *, because: str) -> Imported:
        """Take in what `config_export` gave, in one act: each analyzer's row is replaced whole.

        Analyzers that are not here are left out and told. Raises LOP-E037 (not such a document, or an unknown key) and
        LOP-E031 (a value an analyzer does not take): then nothing is changed; LOP-E011, LOP-E022 (needs admin).
        """
        self._host.who.need("admin")
        told = lifecycle.check_reason(because)
        rows, unknown = config.read_export(document, [one.manifest for one in self._known()])
        changes: list[ConfigChange] = []
        with self._host.store.act(governed=True):
            for name, parts in rows.items():
                changes += config.change(
                    self._host.substrate,
                    name,
                    {**dict.fromkeys(config.PARTS), **parts},
                    actor=self._host.who.actor,
                    because=told,
                    now_ms=self._host.clock(),
                )
        return Imported(tuple(changes), unknown)
