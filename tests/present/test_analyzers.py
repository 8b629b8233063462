# SPDX-License-Identifier: Apache-2.0
"""docs/analyzers.md is what the manifests say, and its example runs.

After a change to a manifest: look at the difference, then run this file with ``DEJA_UPDATE_SNAPSHOTS=1``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from deja_tui.engine.analyzer import Manifest, Param
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.present.analyzers import page, takes
from tests.support import ROOT

PAGE = ROOT / "docs" / "analyzers.md"
MARK = "## All of them\n"


def test_the_page_is_what_the_manifests_say() -> None:
    """D29: every analyzer, with its parameters, defaults and bounds."""
    head, _, told = PAGE.read_text().partition(MARK)
    wanted = "\n" + "\n".join(page(one.manifest for one in ANALYZERS)) + "\n"
    if os.environ.get("DEJA_UPDATE_SNAPSHOTS"):
        PAGE.write_text(head + MARK + wanted)
        return
    assert told == wanted


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A linked analyzer as the page shows it."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(example, "analyzers.md", "exec"), names)


@pytest.mark.parametrize("analyzer", ANALYZERS, ids=lambda one: one.manifest.id)
def test_every_manifest_tells_what_a_person_needs(analyzer: Any) -> None:
    """A title, a description, and a description of each parameter, whose default is within its bounds."""
    manifest = analyzer.manifest
    assert manifest.title
    assert manifest.description
    for param in manifest.params:
        assert param.description, param.name
        assert param.check(param.default) == param.default
        assert takes(param)


def test_bounds_in_words() -> None:
    """Every kind of parameter, and a bar in a text does not end a cell."""
    params = (
        Param("a", "int", 3, 1, 100_000, "so | many"),
        Param("b", "float", 0.4, 0, 1, "share"),
        Param("c", "bool", True, description="whether"),
        Param("d", "str", "", 0, 2_000, "words"),
    )
    told = "\n".join(page([Manifest("a.b/1", "T", "finds a|b.", "T0", params)]))
    assert "| `a` | `3` | 1 to 100,000 | so \\| many |" in told
    assert "| `b` | `0.4` | 0 to 1 | share |" in told
    assert "| `c` | `true` | true or false | whether |" in told
    assert '| `d` | `""` | a text of at most 2,000 characters | words |' in told
    assert "finds a\\|b |" in told
