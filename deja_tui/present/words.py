# SPDX-License-Identifier: Apache-2.0
"""The small words every surface shares: fenced text, names, short addresses, ages, counts.

Grain text becomes visible here and nowhere else in this room, so that nothing reaches a screen uncleaned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final

from deja_tui.present.line import Line, Span, joined
from deja_tui.text import age as age
from deja_tui.text import clean, unfenced, utc

SHORT: Final = 8
# A proposal holds at most 8 KiB, so a value of one is shown whole; evidence is cut, its grain can be opened.
VALUE_LIMIT: Final = 8_192
EVIDENCE_LIMIT: Final = 400
# What is written is shown to the last character, also where JSON needs six for one.
LITERAL_LIMIT: Final = 6 * VALUE_LIMIT
NAME_LIMIT: Final = 120

_WORD = re.compile(r"[A-Za-z0-9_.:@/#+-]{1,80}\Z")
_COUNTED = "contexts|days|facts|failures|findings|goals|grains|lessons|notes|questions|skills|subjects|times"
_FIRST_PLURAL = re.compile(rf"\b(?:{_COUNTED})\b(?: or (?:{_COUNTED})\b)?")
TEXT_FIELDS: Final = ("tool_content", "content", "result", "error", "body")
_PROGRESS: Final = ("practice_count", "proficiency", "goal_state", "progress")
THREAD_FIELDS: Final = ("session_id", "thread", "thread_id")


def fenced(value: object, limit: int = VALUE_LIMIT) -> Span:
    """Text of a tool, a model or a person inside «»; the fence cannot be closed from within."""
    return Span(f"«{unfenced(clean(value, limit=limit))}»", "untrusted")


def named(value: object, meaning: str = "", limit: int = NAME_LIMIT) -> Span:
    """A name: bare when it is one plain word, otherwise fenced, so that a name cannot pose as a separator."""
    if isinstance(value, str) and _WORD.match(value):
        return Span(value, meaning)
    return fenced(value, limit)


def value_of(value: object, limit: int = VALUE_LIMIT) -> Span:
    """A field's value: numbers and truth values bare, everything else fenced."""
    if value is None or isinstance(value, bool | int | float):
        return Span(clean(value))
    return fenced(value, limit)


def fields_line(fields: Mapping[str, Any], limit: int = VALUE_LIMIT) -> Line:
    """``confidence 0.4 · namespace «my notes»``: field names with their values, in name order."""
    return joined(
        (named(name, "dim", limit), Span(" "), value_of(value, limit))
        for name, value in sorted(fields.items())
    )


def short(address: str, length: int = SHORT) -> str:
    """The first hexadecimal digits of an address."""
    return clean(address[:length])


def unique_length(addresses: Iterable[str]) -> int:
    """How many digits (8 or more) tell these addresses apart."""
    known = sorted(set(addresses))
    length = SHORT
    for before, after in pairwise(known):
        while length < 64 and before[:length] == after[:length]:
            length += 1
    return length


def ratio(part: int, whole: int) -> str:
    """``8 of 20 (40 %)``; below ten only the counts, because a share of so few misleads."""
    if whole < 10:
        return f"{part} of {whole}"
    return f"{part} of {whole} ({(200 * part + whole) // (2 * whole)} %)"


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 line``, ``2 lines``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def amount(count: int, unit: str) -> str:
    """``2 grains past their declared end``, ``1 grain past its declared end``.

    ``unit`` is what the engine or a linked analyzer counts, in the plural; of one, its first word that is known as a
    plural, and the one joined to it by *or*, stand in the singular. A unit of other words stays as it is.
    """
    if count == 1:
        unit = _FIRST_PLURAL.sub(lambda found: found.group().replace("s or ", " or ")[:-1], unit, count=1)
        unit = unit.replace(" their ", " its ")
    return f"{count:,} {unit}"


def says(fields: Mapping[str, Any], limit: int = VALUE_LIMIT) -> Line:
    """What a grain says, on one line: a triple for anything with one, else its text, else all its fields."""
    if all(fields.get(name) is not None for name in ("subject", "relation", "object")):
        told = fenced(fields["object"], limit)
        return joined((named(fields["subject"], limit=limit), named(fields["relation"], limit=limit), told))
    for name in TEXT_FIELDS:
        if fields.get(name) is not None:
            label = (
                named(fields["tool_name"], limit=limit) if fields.get("tool_name") is not None else Span("")
            )
            return (*((label, Span(" ")) if label.text else ()), fenced(fields[name], limit))
    if fields.get("tool_name") is not None:
        return (named(fields["tool_name"], limit=limit),)
    if fields.get("description") is not None:
        return _described(fields, limit)
    return (fenced(dict(fields), limit),) if fields else (Span("(empty)", "dim"),)


def _described(fields: Mapping[str, Any], limit: int) -> Line:
    """A skill or a goal: its name, what it is about, and how far it is."""
    label = named(fields["name"], limit=limit) if fields.get("name") is not None else Span("")
    head = (*((label, Span(" ")) if label.text else ()), fenced(fields["description"], limit))
    told = [
        (Span(f"{name} ", "dim"), value_of(fields[name], NAME_LIMIT))
        for name in _PROGRESS
        if fields.get(name) is not None
    ]
    return joined((head, *told))


def moment(name: str, value: object) -> str | None:
    """A time in the data of a finding, as people read it: epoch ms under ``at`` or a name that ends so; else None."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return utc(value) if name == "at" or name.endswith("_at") else None


def thread_of(fields: Mapping[str, Any]) -> str | None:
    """The session a grain belongs to, or None."""
    for name in THREAD_FIELDS:
        found = fields.get(name)
        if isinstance(found, str) and found:
            return found
    return None
