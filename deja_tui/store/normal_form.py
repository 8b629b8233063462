# SPDX-License-Identifier: Apache-2.0
"""Normal form C as every Python gives it (D41): code points newer than Unicode 14 are left as they stand."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from deja_tui.store.names import unicode_14

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

KNOWS_14_ONLY: Final = unicodedata.unidata_version.startswith("14.")


@cache
def newer_than_14() -> re.Pattern[str]:
    """Finds runs of code points that Unicode 14 does not know."""
    return re.compile(f"([^{unicode_14()}]+)")


def nfc(text: str) -> str:
    """``text`` in normal form C."""
    if KNOWS_14_ONLY:
        return unicodedata.normalize("NFC", text)
    return nfc_between_newer(text)


def nfc_between_newer(text: str) -> str:
    """Normal form C of what stands between code points newer than Unicode 14."""
    parts = newer_than_14().split(text)
    parts[::2] = [unicodedata.normalize("NFC", part) for part in parts[::2]]
    return "".join(parts)


def is_nfc(text: str) -> bool:
    """Whether ``text`` is in normal form C."""
    return unicodedata.is_normalized("NFC", text) or nfc(text) == text
