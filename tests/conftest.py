# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the whole suite. Importing `tests.support` needs the project root on the path."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
