# SPDX-License-Identifier: Apache-2.0
"""The corpus of the shared statement vectors, filed into a memory, and a host around one memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deja_tui.cal import Host, Session
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
        return
    for item, op in _items(step):
        clock.now = max(clock.now, item["fields"]["created_at"])
        grain = _grain(item, labels)
        with store.act() as act:
            if op == "add":
                added = act.add(grain)
            elif op == "supersede":
                added = act.supersede(labels[item["of"]], grain)
            else:  # the other branch of a fork, as a sync brings it in
                added = act.add(_with_parent(grain, labels[item["of"]]), origin="imported")
        labels[item["as"]] = added.address


def _items(step: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    if step["op"] == "fork":
        return [
            ({**step["main"], "of": step["of"]}, "supersede"),
            ({**step["branch"], "of": step["of"]}, "branch"),
        ]
    return [(step, step["op"])]


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


def _with_parent(grain: codec.Grain, parent: str) -> codec.Grain:
    fields = {**grain.fields, "derived_from": parent}
    return codec.make_grain(
        grain.type, fields, namespace=grain.namespace, created_at=grain.created_at, extras=grain.extras
    )


def _labelled(value: Any, labels: dict[str, str]) -> Any:
    if isinstance(value, str) and value.startswith("<<"):
        return labels[value[2:-2]]
    return value


def host_of(memory: Memory) -> Host:
    """The host that the facade makes of a memory."""
    return Host(
        store=memory.store,
        namespace=memory.namespace,
        clock=memory.clock,
        may=memory.who.may,
        governance=memory.loop,
        forget=memory.forget,
        summary=lambda told: render(str(told.get("template_id", "")), told.get("args") or {}),
    )


def session_of(memory: Memory) -> Session:
    return Session(host_of(memory))
