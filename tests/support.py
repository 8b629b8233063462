# SPDX-License-Identifier: Apache-2.0
"""What several tests share: the place of the shared data, fixed times, fresh memories."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

DAY = 86_400_000
NOW = 1_772_442_000_000  # 2026-03-02 09:00:00 UTC


def shared(relative: str) -> Path:
    """A file or folder of the shared data, used in place; skips the test where it is absent."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"needs ../shared/{relative}, which lies beside the project in its own workplace only")
    return path
