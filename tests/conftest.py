# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the whole suite. Importing `tests.support` needs the project root on the path."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# derandomized: a red run is red again; without deadlines: a busy machine fails nothing
settings.register_profile("suite", max_examples=60, deadline=None, derandomize=True, database=None)
settings.load_profile("suite")
