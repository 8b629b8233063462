# SPDX-License-Identifier: Apache-2.0
"""By what a memory file is known, and how its text is cut into words: the constants of `schema` that cost no import."""

from __future__ import annotations

from typing import Final

APPLICATION_ID: Final = 0x64656A61  # "deja"
VERSION: Final = 2

TOKENIZER: Final = ("unicode61", "remove_diacritics", "2", "categories", "L* N* Co Mn Mc")
"""Marks are part of a word: without them FTS5 cuts Hindi and Thai words at every vowel sign."""
