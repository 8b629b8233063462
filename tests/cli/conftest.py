# SPDX-License-Identifier: Apache-2.0
"""A command line in this process: arguments in; exit code, stdout and stderr out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deja_tui.cli.main import run
from tests.support import NOW


@dataclass(frozen=True)
class Done:
    """What a verb left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Deja = Callable[..., Done]


@pytest.fixture
def deja(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Deja:
    """Run ``deja ARGS`` with the clock at NOW."""
    monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(NOW))

    def call(*argv: object) -> Done:
        capsys.readouterr()
        code = run([str(part) for part in argv])
        told = capsys.readouterr()
        return Done(code, told.out, told.err)

    return call


@pytest.fixture
def demo(deja: Deja, tmp_path: Path) -> Path:
    """A file with the demo memory."""
    path = tmp_path / "shop.deja"
    assert deja("init", "--template", "demo", "--db", path).code == 0
    return path
