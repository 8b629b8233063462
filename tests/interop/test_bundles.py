# SPDX-License-Identifier: Apache-2.0
"""Bundles to and from the published reference product and its successor (opt-in).

Runs where ``DEJA_INTEROP_PYTHON`` names a Python that can import ``dejadb`` or ``areev`` (the extra ``interop``, best in
an environment of its own): ``DEJA_INTEROP_PYTHON=/path/to/python python -m pytest tests/interop``.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from deja_tui.store.bundles import read_rows
from deja_tui.store.codec import TYPES
from tests.store.helpers import Clock
from tests.support import NOW, shared

VARIABLE = "DEJA_INTEROP_PYTHON"

_TAKE = """
import json, sys
bundle, file, back, keys = sys.argv[1:5]
db = Peer(file)
first, second = db.import_bundle(bundle), db.import_bundle(bundle)
latest = {}
for ns, subject, relation in json.loads(keys):
    found = db.latest(subject, relation, ns)
    latest[json.dumps([ns, subject, relation])] = json.loads(found)["hash"] if found else None
print(json.dumps({
    "first": first, "second": second, "verify": json.loads(db.verify()), "stats": json.loads(db.stats()),
    "latest": latest, "last": db.bundle(back),
}))
"""
_GIVE = """
import json, sys
db = Peer(sys.argv[2])
a = db.add("fact", json.dumps({"subject": "acme", "relation": "tier", "object": "gold"}))
b = db.supersede(a, "fact", json.dumps({"subject": "acme", "relation": "tier", "object": "silver"}))
c = db.add("observation", json.dumps({"content": "seen", "observer_id": "bot", "observer_type": "agent"}))
d = db.add("fact", json.dumps({"subject": "bob", "relation": "likes", "object": "tea"}))
db.record_tool_call("stripe_refund", '{"error":"rate_limited"}', True, "s-1")
db.forget(d)
db.loop_run()
db.bundle(sys.argv[1])
print(json.dumps({"a": a, "b": b, "c": c, "d": d, "stats": json.loads(db.stats())}))
"""


@pytest.fixture(scope="module", params=["dejadb:DejaDB", "areev:Areev"])
def peer(request: pytest.FixtureRequest) -> str:
    """The line that imports the class, where the Python that has it was named."""
    python = os.environ.get(VARIABLE)
    if not python:
        pytest.skip(f"{VARIABLE} names no Python with dejadb or areev")
    module, name = request.param.split(":")
    line = f"from {module} import {name} as Peer"
    done = subprocess.run([python, "-c", line], capture_output=True, check=False, timeout=60)
    if done.returncode:
        pytest.skip(f"the Python that {VARIABLE} names cannot import {module}")
    return line


def ask(peer: str, code: str, *arguments: object) -> Any:
    """What a program of the reference product printed."""
    command = [os.environ[VARIABLE], "-c", f"{peer}\n{code}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def lived_in(memory: Memory, clock: Clock) -> None:
    """All that a bundle may hold: chains, a fork that was merged, an erasure, and a loop that ran, applied and undid."""
    for number in range(5):
        clock.at += 60_000
        memory.record_tool_call("stripe_refund", "rate limited 42", True, call_id=f"c{number}")
    base = memory.add_fact("acme", "region", "eu")
    clock.at += 1_000
    memory.supersede(base, {"object": "us"}, reason="moved")
    for said in ("a", "a", "b"):
        clock.at += 1_000
        memory.add_fact("dup", "key", said)
    tips = []
    for said in ("left", "right"):
        clock.at += 1_000
        tips.append(memory.add_fact("plan", "is", said))
    memory.merge(tips, reason="one plan")
    memory.add("goal", {"description": "ship it", "criteria": "done"})
    memory.add("event", {"content": "hello", "role": "user", "session_id": "s"})
    memory.add("observation", {"content": "noticed something"})
    memory.forget(memory.add_fact("secret", "is", "gone"), because="asked")
    clock.at += 1_000
    assert memory.loop.run().stored == 2
    rows = {row.summary[:6]: row.address for row in memory.loop.queue()}
    for summary, address in rows.items():
        memory.loop.approve(address, because="checked")
        clock.at += 1_000
        memory.loop.apply(address, because="go")
        clock.at += 1_000
        if summary == "stripe":
            memory.loop.rollback(address, because="back")


def governed(memory: Memory) -> dict[str, int]:
    """Recommendations and audit grains of the loop."""
    kinds = ("recommendation", "observation")
    return {kind: sum(1 for _ in memory.store.scan(kind, namespaces=["deja-loop"])) for kind in kinds}


def addresses(path: str) -> list[str]:
    """Of every grain of a memory, whatever its namespace."""
    with Memory.open(path, read_only=True) as memory:
        return [address for kind in TYPES for address, _ in memory.store.blobs(kind)]


def carried(bundle: Path) -> set[str]:
    """Addresses of the grains whose bytes are in a bundle."""
    with bundle.open("rb") as file:
        return {digest.hex() for _, _, digest, blob, _, _ in read_rows(file, 4) if blob}


def test_a_bundle_of_a_memory_with_a_loop_is_taken_in_there(peer: str, tmp_path: Path) -> None:
    """Every grain arrives and verifies there; what is current there is current here; a second import applies nothing."""
    clock = Clock(NOW)
    with Memory.open(tmp_path / "ours.deja", clock=clock) as memory:
        lived_in(memory, clock)
        assert memory.verify() == ()
        written = memory.bundle(tmp_path / "ours.mgb")
        keys = [["shared", "acme", "region"], ["shared", "plan", "is"], ["shared", "secret", "is"]]
        told = ask(
            peer,
            _TAKE,
            tmp_path / "ours.mgb",
            tmp_path / "theirs.db",
            tmp_path / "back.mgb",
            json.dumps(keys),
        )
        grains = memory.stats()["grains"]
        assert told["verify"] == {"grains": grains, "integrity": "ok"}
        assert told["stats"]["grains"] == grains
        assert 0 < told["first"] <= written.rows
        assert told["second"] == 0
        for key in keys:
            here = memory.latest(key[1], key[2], namespace=key[0])
            assert told["latest"][json.dumps(key)] == (here.address if here else None)
        governance = governed(memory)
        assert governance["recommendation"] >= 2
        assert governance["observation"] >= 7  # proposed, approved, applied each; one rolled back
        assert set(addresses(memory.store.path)) == carried(tmp_path / "back.mgb")
        again = memory.import_bundle(tmp_path / "back.mgb")
        assert (again.applied, again.refused) == (0, 0)
        assert memory.verify() == ()


def test_a_bundle_of_theirs_is_taken_in_here(peer: str, tmp_path: Path) -> None:
    """Chains, an erasure and their loop's facts; the loop's are history, and the file verifies."""
    told = ask(peer, _GIVE, tmp_path / "theirs.mgb", tmp_path / "theirs.db")
    with Memory.open(tmp_path / "ours.deja") as memory:
        report = memory.import_bundle(tmp_path / "theirs.mgb")
        assert (report.refused, report.complete, report.added) == (0, True, told["stats"]["grains"])
        assert memory.latest("acme", "tier").address == told["b"]  # type: ignore[union-attr]
        assert [grain.address for grain in memory.history(told["a"])] == [told["b"], told["a"]]
        assert memory.get(told["c"]) is not None
        assert memory.get(told["d"]) is None
        assert memory.import_bundle(tmp_path / "theirs.mgb").applied == 0
        assert memory.loop.queue(None) == []
        assert memory.verify() == ()


def test_the_sample_goes_there_from_here(peer: str, tmp_path: Path) -> None:
    """Taken in here and written again, the sample has the contents of its key there."""
    key = json.loads(shared("vectors/sample.bundle.json").read_text())["replica"]
    with Memory.open(tmp_path / "ours.deja") as memory:
        memory.import_bundle(shared("vectors/sample.bundle"))
        memory.bundle(tmp_path / "ours.mgb")
    keys = [[told["ns"], told["subject"], told["relation"]] for told in key["entity_latest"]]
    told = ask(
        peer, _TAKE, tmp_path / "ours.mgb", tmp_path / "theirs.db", tmp_path / "back.mgb", json.dumps(keys)
    )
    assert told["stats"]["grains"] == key["stats"]["grains"]
    assert told["stats"]["current"] == key["stats"]["current"]
    assert set(told["latest"].values()) == {entry["hash"] for entry in key["entity_latest"]}
