# SPDX-License-Identifier: Apache-2.0
"""The analyzers, one file each, and the explicit list of them in the order a run calls them.

Adding one is: a file here, a line in `ANALYZERS`, its template in ``engine/templates.py``, fixtures in
``tests/analyzers/<name>/``.
"""

from __future__ import annotations

from typing import Final

from deja_tui.engine.analyzer import Analyzer
from deja_tui.engine.analyzers.duplicates import DuplicateSweep
from deja_tui.engine.analyzers.tool_failures import ToolFailures

ANALYZERS: Final[tuple[Analyzer, ...]] = (ToolFailures(), DuplicateSweep())
