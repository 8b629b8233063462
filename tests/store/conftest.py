# SPDX-License-Identifier: Apache-2.0
"""A fresh memory for each test of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deja_tui.store.memory import Store
from tests.store.helpers import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.deja"


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[Store]:
    with Store.open(path, clock=clock) as opened:
        yield opened
