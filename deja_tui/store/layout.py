# SPDX-License-Identifier: Apache-2.0
"""By what a memory file is known, and how its text is cut into words and indexed: the constants that cost no import."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


APPLICATION_ID: Final = 0x64656A61  # "deja"
VERSION: Final = 2

TOKENIZER: Final = ("unicode61", "remove_diacritics", "2", "categories", "L* N* Co Mn Mc")
"""Marks are part of a word: without them FTS5 cuts Hindi and Thai words at every vowel sign."""

PROJECTION: Final = 1
"""The version of `projection.text_of`: an index that was filled under another one is dropped."""
TAIL_LIMIT: Final = 256
"""Most grains whose text waits for the index after an act (INV-SEARCH-1)."""
