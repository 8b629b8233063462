# SPDX-License-Identifier: Apache-2.0
"""Owns the query language CAL: text to tokens (`lexer`), to a tree (`parser`), to a class (`classify`), to what the
store is asked (`plan`, `lower`) and what is decided about each grain (`conditions`), to rows (`reads`, `stages`),
contexts (`assemble`), text (`renderers`, `templates`) and changes (`writes`). `Session` is the door.

May import ``errors``, ``text`` and ``store``. Never decides whether a recommendation may change status, never writes
what is reserved, never parses a value.
"""

from __future__ import annotations

from deja_tui.cal.classify import Class, Verdict, classify
from deja_tui.cal.faults import CalError
from deja_tui.cal.host import Governance, Host, Overflow, Propose, host_of
from deja_tui.cal.parser import parse
from deja_tui.cal.results import (
    Answer,
    Assembled,
    BatchDone,
    Counted,
    Formatted,
    Grains,
    MultiFormatted,
    Result,
)
from deja_tui.cal.rows import Row
from deja_tui.cal.session import Session

__all__ = [
    "Answer",
    "Assembled",
    "BatchDone",
    "CalError",
    "Class",
    "Counted",
    "Formatted",
    "Governance",
    "Grains",
    "Host",
    "MultiFormatted",
    "Overflow",
    "Propose",
    "Result",
    "Row",
    "Session",
    "Verdict",
    "classify",
    "host_of",
    "parse",
]
