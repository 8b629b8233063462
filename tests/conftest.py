# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the whole suite. Importing `tests.support` needs the project root on the path."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
pytest.register_assert_rewrite("deja_tui.engine.conformance")

# derandomized: a red run is red again; without deadlines: a busy machine fails nothing
settings.register_profile("suite", max_examples=40, deadline=None, derandomize=True, database=None)
settings.load_profile("suite")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: the tests with a real terminal wait most of their time."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Twelve thousand tests that were collected stay to the end: no garbage collection need look through them again."""
    gc.collect()
    gc.freeze()


# --- SVG snapshots ----------------------------------------------------------------------------------
# pytest-textual-snapshot writes beside the tests and has no option for the folder; these lie under snapshots/<size>/.

import re  # noqa: E402
from typing import Any  # noqa: E402

import pytest_textual_snapshot  # noqa: E402
from syrupy.data import SnapshotCollections  # noqa: E402

_ROOT = Path(__file__).resolve().parent.parent
_ADDRESSES = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)


class PlacedSvg(pytest_textual_snapshot.SVGImageExtension):
    """``test_x[80x24-queue]`` is kept as ``snapshots/80x24/queue.svg``, without the addresses of web fonts."""

    @classmethod
    def dirname(cls, *, test_location: Any) -> str:
        return str(_ROOT / "snapshots" / _case(test_location)[0])

    @classmethod
    def _get_file_basename(cls, *, test_location: Any, index: Any) -> str:
        return _case(test_location)[1]

    def serialize(self, *args: Any, **kwargs: Any) -> Any:
        return _ADDRESSES.sub("", super().serialize(*args, **kwargs))

    def discover_snapshots(self, *, test_location: Any) -> SnapshotCollections:
        # The folder holds text snapshots too; a test of its own finds files that no case asks for.
        return SnapshotCollections()


def _case(test_location: Any) -> tuple[str, str]:
    found = re.fullmatch(r".*\[(\d+x\d+)-(.+)\]", test_location.testname)
    if found is None:
        raise ValueError("an SVG snapshot belongs to a case named <size>-<screen>")
    return found[1], found[2]


pytest_textual_snapshot.SVGImageExtension = PlacedSvg


# --- stylesheets ------------------------------------------------------------------------------------
# An app parses its CSS twice before it is drawn, always the same text: a tenth of the time of the tests with screens.

from textual.css.stylesheet import Stylesheet  # noqa: E402

_parse_rules = Stylesheet._parse_rules
_parsed: dict[Any, Any] = {}


def _parsed_once(self: Stylesheet, *told: Any, **named: Any) -> Any:
    key = (told, tuple(named.items()), tuple(self._variables.items()))
    if key not in _parsed:
        _parsed[key] = _parse_rules(self, *told, **named)
    return _parsed[key]


Stylesheet._parse_rules = _parsed_once  # type: ignore[method-assign]
