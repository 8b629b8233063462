# SPDX-License-Identifier: Apache-2.0
"""The corpus of the shared statement vectors, filed into a memory, and a host around one memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deja_tui.cal import Host, Session
from deja_tui.cal import host_of as host_of_memory
from deja_tui.engine.actors import caller
from deja_tui.engine.templates import render
from deja_tui.facade import Memory
from deja_tui.store import codec, grains
from deja_tui.store.memory import Store
from tests.support import shared

NOW = 1_772_442_000_000  # 2026-03-02 09:00:00 UTC


class Ticking:
    """A clock that moves one millisecond a look, and can be set."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        self.now += 1
        return self.now


@dataclass(frozen=True, slots=True)
class Corpus:
    """A memory file and the address behind each label."""

    path: Path
    labels: Mapping[str, str]


def build(path: Path) -> Corpus:
    """Replay the operations of the corpus."""
    told = json.loads(shared("vectors/cal_corpus.json").read_text())
    clock = Ticking(0)
    labels: dict[str, str] = {}
    with Store.open(path, clock=clock, durability="normal") as store:
        for step in told["ops"]:
            _replay(store, clock, step, labels)
    return Corpus(path, labels)


def _replay(store: Store, clock: Ticking, step: dict[str, Any], labels: dict[str, str]) -> None:
    if step["op"] == "forget":
        with store.act() as act:
            act.forget(labels[step["of"]])
    elif step["op"] == "fork":
        _fork(store, clock, step, labels)
    else:
        _write(store, clock, step, labels)


def _write(store: Store, clock: Ticking, item: dict[str, Any], labels: dict[str, str]) -> None:
    clock.now = max(clock.now, item["fields"]["created_at"])
    grain = _grain(item, labels)
    with store.act() as act:
        added = act.supersede(labels[item["of"]], grain) if "of" in item else act.add(grain)
    labels[item["as"]] = added.address


def _fork(store: Store, clock: Ticking, step: dict[str, Any], labels: dict[str, str]) -> None:
    """Two copies of the file supersede one grain on their own; then the other copy is brought in."""
    other, bundle = f"{store.path}.branch", f"{store.path}.bundle"
    here = Memory(store, namespace="shared", who=caller("user:local"), clock=clock)
    here.bundle(bundle)
    with Memory.open(other, clock=clock, durability="normal") as there:
        there.import_bundle(bundle)
        _write(store, clock, {**step["main"], "of": step["of"]}, labels)
        _write(there.store, clock, {**step["branch"], "of": step["of"]}, labels)
        there.bundle(bundle)
    here.import_bundle(bundle)


def _grain(item: dict[str, Any], labels: dict[str, str]) -> codec.Grain:
    fields = {name: _labelled(value, labels) for name, value in item["fields"].items()}
    at = fields.pop("created_at")
    given = dict(fields)
    state = given.get("goal_state")
    if state == "completed":  # not in the closed vocabulary of today, but such grains exist in files
        given["goal_state"] = "satisfied"
    typed, extras = grains.validate(item["type"], given)
    if state == "completed":
        typed["goal_state"] = state
    return codec.make_grain(
        item["type"], typed, namespace=item.get("ns", "shared"), created_at=at, extras=extras
    )


def _labelled(value: Any, labels: dict[str, str]) -> Any:
    if isinstance(value, str) and value.startswith("<<"):
        return labels[value[2:-2]]
    return value


def host_of(memory: Memory) -> Host:
    """The host that the facade makes of a memory."""
    return host_of_memory(
        memory, summary=lambda told: render(str(told.get("template_id", "")), told.get("args") or {})
    )


def session_of(memory: Memory) -> Session:
    return Session(host_of(memory))
