# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the engine's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deja_tui.engine import pipeline
from deja_tui.engine.analyzers.duplicates import DuplicateSweep
from deja_tui.engine.analyzers.tool_failures import ToolFailures


@pytest.fixture(scope="module")
def two_analyzers() -> Iterator[None]:
    """Only two analyzers are built in: what a run does with them is shown without what all the others would say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "ANALYZERS", (ToolFailures(), DuplicateSweep()))
        yield
