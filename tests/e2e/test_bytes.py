# SPDX-License-Identifier: Apache-2.0
"""What a slow link is sent: the real console in a pseudo-terminal, its bytes against the bars of bars.toml."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from deja_tui.facade import Memory
from deja_tui.store.memory import Store
from tests.e2e.measuring import bytes_of, opened
from tests.support import NOW, ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")

BARS = tomllib.loads((Path(__file__).parent / "bars.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some thousand grains and what the analyzers find in them: more than a page."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from planted import Planted
    from store import grain_of

    path = tmp_path_factory.mktemp("bytes") / "agent.deja"
    with Store.open(path) as store, store.act() as act:
        for entry in Planted(3_000, 7, NOW):
            act.add(grain_of(entry))
    with Memory.open(path, clock=lambda: NOW) as opened:
        opened.loop.run()
        assert len(opened.loop.queue()) > 60
    return path


@pytest.mark.parametrize("size", BARS)
def test_what_the_console_writes_is_within_its_bars(size: str, memory: Path, tmp_path: Path) -> None:
    """Issue 8, point 2: start, steps, places, help, typing, a held key and idling."""
    with opened(memory, size, tmp_path) as console:
        found = bytes_of(console)
    with opened(memory, size, tmp_path, fill=0.8) as console:
        console.terminal.expect("evidence ")
        console.terminal.settle()
        found["rest"] = console.idle(1.5)
    over = {name: (bytes, BARS[size][name]) for name, bytes in found.items() if bytes > BARS[size][name]}
    assert over == {}, found
    assert found.keys() == BARS[size].keys()
