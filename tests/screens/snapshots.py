# SPDX-License-Identifier: Apache-2.0
"""Text snapshots: ``snapshots/<size>/<screen>-<state>.txt``, written only when ``DEJA_UPDATE_SNAPSHOTS`` is set."""

from __future__ import annotations

import difflib
import os

from tests.support import ROOT

FOLDER = ROOT / "snapshots"


def check(size: tuple[int, int], name: str, rows: list[str]) -> None:
    """Compare rows with the kept ones; a difference fails and shows itself."""
    path = FOLDER / f"{size[0]}x{size[1]}" / f"{name}.txt"
    text = "\n".join(rows) + "\n"
    if os.environ.get("DEJA_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"no snapshot {path.relative_to(ROOT)}: set DEJA_UPDATE_SNAPSHOTS=1 to write it"
    kept = path.read_text(encoding="utf-8")
    difference = difflib.unified_diff(kept.splitlines(), text.splitlines(), "kept", "shown", lineterm="")
    assert kept == text, "\n".join(difference)
