# SPDX-License-Identifier: Apache-2.0
"""Lines for other programs name a program and a system: here always the same ones."""

from __future__ import annotations

import pytest

from deja_tui.capture import schedule, wiring, wiring_mcp

PROGRAM = ("/home/ana/bin/deja",)


@pytest.fixture(autouse=True)
def one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "program", lambda: PROGRAM)
    monkeypatch.setattr(wiring_mcp, "program", lambda: PROGRAM)
    monkeypatch.setattr(schedule, "usual", lambda: "cron")
    monkeypatch.setattr("deja_tui.present.setup.shutil.which", lambda name: None)
