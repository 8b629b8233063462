# SPDX-License-Identifier: Apache-2.0
"""What was planted is found, all of it and nothing else: the shared corpus and our own generator (design §8)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support import ROOT, shared

sys.path.insert(0, str(ROOT / "benchmarks"))

import loop as bench
from planted import Planted


@pytest.mark.parametrize(
    ("own", "seed"), [(True, 7), (True, 8), (False, 7)], ids=["own", "own again", "shared"]
)
def test_the_key_is_answered(own: bool, seed: int, tmp_path: Path) -> None:
    """Duplicates, near ones, contradictions, expired facts, failing tools, stalled skills, stagnant goals; no other finding."""
    if not own:
        shared("tools/corpus.py")
    path = tmp_path / "planted.deja"
    key = bench.fill(path, 4_000, seed, own)
    told = bench.first(path)

    def tupled(found: dict[str, object]) -> dict[str, object]:
        return {
            name: {tuple(one) for one in value} if isinstance(value, list) else value
            for name, value in found.items()
        }

    wanted, found = tupled(key), tupled(told["found"])
    assert bench.compare(wanted, found) == {
        name: {"planted": one["planted"], "found": one["planted"], "same": True}
        for name, one in bench.compare(wanted, wanted).items()
    }
    assert [name for name, reason in told["skipped"] if reason != "disabled"] == []


def test_the_generator_is_the_same_everywhere() -> None:
    """The same size and seed give the same grains; another seed gives others."""
    one, again, other = (list(Planted(300, seed)) for seed in (7, 7, 8))
    assert one == again != other
    made = Planted(3_000, 7)
    assert len(list(made)) == 3_000
    labels = made.labels
    counts = (
        len(labels.duplicates),
        len(labels.contradictions),
        labels.expired,
        labels.near_copies,
        labels.stalled,
    )
    assert all(counts)
