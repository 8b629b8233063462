# SPDX-License-Identifier: Apache-2.0
"""Every real file, every bundle and every grain cut at random bytes, with bytes flipped and pieces doubled (docs/reliability.md).

Outside the default suite: ``python -m pytest -s -m slow -n 0 tests/e2e/test_torn.py``. ``DEJA_FUZZ_SEED`` changes the places.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui import DejaError, Memory
from deja_tui.capture import registry
from deja_tui.capture.files import import_path
from deja_tui.store.codec import address, decode
from tests.capture.test_samples import KINDS, NOW
from tests.support import SHARED, shared

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("DEJA_FUZZ_SEED", "1"))
CUTS, FLIPS, GLUES = 12, 6, 3


def harmed(chance: random.Random, data: bytes) -> Iterator[tuple[str, bytes]]:
    """The data cut, with flipped bytes, and with a piece doubled or taken out."""
    for place in sorted(chance.randrange(len(data)) for _ in range(CUTS)):
        yield "cut", data[:place]
    for _ in range(FLIPS):
        some = bytearray(data)
        for _ in range(chance.randrange(1, 8)):
            some[chance.randrange(len(some))] = chance.randrange(256)
        yield "flipped", bytes(some)
    for _ in range(GLUES):
        one, other = sorted(chance.randrange(len(data)) for _ in range(2))
        yield "doubled", data[:other] + data[one:]
        yield "without a piece", data[:one] + data[other:]


def keys(memory: Memory) -> set[str]:
    """The source keys of what is live."""
    kinds = ("event", "tool", "fact", "observation")
    found = (grain for kind in kinds for grain in memory.store.scan(kind, live_only=True))
    return {str((grain.get("context") or {}).get("source_key")) for grain in found}


def sources() -> list[tuple[str, Path]]:
    """Every sample with its kind, and every hostile transcript."""
    found = [
        (kind, path)
        for folder, kind in KINDS.items()
        for path in sorted((SHARED / "samples" / folder).rglob("*"))
        if path.is_file() and path.name != "SOURCES.md" and path.stat().st_size
    ]
    hostile = [path for path in sorted((SHARED / "hostile").rglob("*.jsonl")) if path.stat().st_size]
    return found + [("claude-code", path) for path in hostile]


def test_every_sample_torn_and_then_whole(tmp_path: Path) -> None:
    """Whatever is left of a file: a report or a coded error, a memory without fault; and when the whole file comes, all of it is there."""
    shared("samples/expected.json")
    chance, seen = random.Random(SEED), Counter[str]()
    ram = Path("/dev/shm") if Path("/dev/shm").is_dir() else tmp_path
    folder = ram / f"deja-torn-{os.getpid()}"
    folder.mkdir()

    def take(name: str, kind: str, path: Path) -> tuple[Any, set[str]]:
        with Memory.open(folder / name, clock=lambda: NOW, durability="normal") as memory:
            try:
                report = import_path(memory, registry.source(kind), path, now_ms=NOW).to_json()
            except DejaError as fault:
                seen[fault.code] += 1
                report = None
            assert memory.verify() == (), path
            return report, keys(memory)

    try:
        for kind, path in sources():
            whole, place = path.read_bytes(), folder / path.name
            place.write_bytes(whole)
            _, wanted = take("whole.deja", kind, place)
            for what, data in harmed(chance, whole):
                place.write_bytes(data)
                report, _ = take("torn.deja", kind, place)
                seen[what] += 1
                seen["lines told as lost"] += 0 if report is None else len(report["loss"])
                if what == "cut":
                    place.write_bytes(whole)
                    _, found = take("torn.deja", kind, place)
                    assert wanted <= found, (path, len(data), wanted - found)
                    seen["whole afterwards"] += 1
                for name in ("torn.deja", "torn.deja-wal", "torn.deja-shm"):
                    (folder / name).unlink(missing_ok=True)
            for name in ("whole.deja", "whole.deja-wal", "whole.deja-shm"):
                (folder / name).unlink(missing_ok=True)
            place.unlink()
            seen["files"] += 1
    finally:
        shutil.rmtree(folder)
    sys.stderr.write(f"\ntorn files: {dict(seen)}\n")


def test_every_bundle_torn_and_then_whole(tmp_path: Path) -> None:
    """A bundle in any state: rows up to the harm or a coded error, no fault in the memory; the whole one then makes it equal."""
    chance, seen = random.Random(SEED), Counter[str]()
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as memory:
        for number in range(60):
            one = memory.add_fact(f"s{number % 7}", "r", f"text {number}")
            if number % 3 == 0:
                memory.supersede(one, {"object": f"later {number}"})
            if number % 10 == 0:
                memory.forget(memory.add_fact("gone", "r", str(number)), because="x")
        memory.bundle(tmp_path / "a.mgb")
        wanted = {(grain.address, grain.live) for grain in memory.store.scan("fact")}
    given = [((tmp_path / "a.mgb").read_bytes(), wanted)]
    sample = SHARED / "vectors" / "sample.bundle"
    if sample.exists():
        given.append((sample.read_bytes(), None))
    for whole, state in given:
        for _ in range(5):
            for what, data in harmed(chance, whole):
                path, db = tmp_path / "torn.mgb", tmp_path / "b.deja"
                path.write_bytes(data)
                with Memory.open(db, clock=lambda: NOW, durability="normal") as copy:
                    try:
                        seen["stopped"] += not copy.import_bundle(path).complete
                    except DejaError as fault:
                        seen[fault.code] += 1
                    assert copy.verify(deep=True) == ()
                    if what == "cut":
                        path.write_bytes(whole)
                        assert copy.import_bundle(path).complete
                        if state is not None:
                            assert {(grain.address, grain.live) for grain in copy.store.scan("fact")} == state
                seen[what] += 1
                for name in ("b.deja", "b.deja-wal", "b.deja-shm"):
                    (tmp_path / name).unlink(missing_ok=True)
    sys.stderr.write(f"\ntorn bundles: {dict(seen)}\n")


def test_every_grain_torn(tmp_path: Path) -> None:
    """The bytes of every vector cut at every byte and flipped at random ones: a coded error, or a grain with another address."""
    chance, seen = random.Random(SEED), Counter[str]()
    for vector in json.loads(shared("vectors/grains.json").read_text()):
        whole = bytes.fromhex(vector["expected_hex"])
        cuts = [("cut", whole[:place]) for place in range(len(whole))]
        for what, data in [*cuts, *(one for _ in range(20) for one in harmed(chance, whole))]:
            for strict in (True, False):
                try:
                    decode(data, strict=strict)
                    seen[f"{what}: another grain"] += 1
                    assert data == whole or address(data) != address(whole)
                except DejaError as fault:
                    seen[f"{what}: {fault.code}"] += 1
    assert not seen["cut: another grain"]
    sys.stderr.write(f"\ntorn grains: {dict(seen)}\n")
