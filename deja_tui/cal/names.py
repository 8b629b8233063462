# SPDX-License-Identifier: Apache-2.0
"""Names of saved queries and templates."""

from __future__ import annotations

import re
from typing import Final

from deja_tui.cal.words import MAX_NAME

_NAME: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9_-]| (?! ))*(?<! )")
_AGENT: Final = re.compile(r"agent/[a-z0-9-]{2,64}/[a-z_]{1,16}")


def is_name(name: str) -> bool:
    """A letter, then letters, digits, ``_``, ``-`` and single blanks, none at the end; at most 64 characters."""
    return len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None


def is_query_name(name: str) -> bool:
    """A name, or ``agent/<slug>/<suffix>``."""
    return is_name(name) or _AGENT.fullmatch(name) is not None
