# SPDX-License-Identifier: Apache-2.0
"""Where the memory lies when no option says so (D48). Imported before click, so it imports almost nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

DB_VARIABLE: Final = "DEJA_DB"


def default_path() -> Path:
    """The memory used when neither ``--db`` nor ``DEJA_DB`` names one."""
    named = os.environ.get(DB_VARIABLE)
    if named:
        return Path(named)
    from platformdirs import user_data_dir

    return Path(user_data_dir("deja")) / "memory.deja"
