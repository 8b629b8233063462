# SPDX-License-Identifier: Apache-2.0
"""A fresh memory with a ticking clock, and a session on it, for tests of the language."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui.cal import Result, Session
from deja_tui.facade import Memory
from tests.cal.corpus import Ticking, session_of


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def memory(tmp_path: Path, clock: Ticking) -> Iterator[Memory]:
    with Memory.open(tmp_path / "a.deja", clock=clock, durability="normal") as opened:
        yield opened


@pytest.fixture
def session(memory: Memory) -> Session:
    return session_of(memory)


@pytest.fixture
def run(session: Session) -> Callable[..., Result]:
    """Run one statement; keywords go to `Session.run`."""
    return session.run


@pytest.fixture
def told(session: Session) -> Callable[..., dict[str, Any]]:
    """Run one statement; its result as JSON."""

    def call(text: str, params: Any = None, **more: Any) -> dict[str, Any]:
        return session.run(text, params, **more).as_json()

    return call
