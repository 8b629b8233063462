# SPDX-License-Identifier: Apache-2.0
"""What differs between two versions of a grain: ``-`` what was, ``+`` what is, the words that changed marked.

The parts of a value are cleaned one by one and stand in one fence, so a value cannot pose as another line.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, Final, Protocol

from deja_tui.engine.doc_edits import RELATION, diff_of, text_of
from deja_tui.present.edits import diff_lines
from deja_tui.present.line import Line, Span, line
from deja_tui.present.words import VALUE_LIMIT, named, value_of
from deja_tui.text import clean, compact_json, unfenced

_WORDS: Final = re.compile(r"\s+|\S+")
# Comparing takes the square of this; a longer text is shown whole on both sides.
_COMPARED: Final = 600
_NEVER: Final = ("derived_from",)
_MISSING: Final = object()


class Version(Protocol):
    """What is needed of a version."""

    @property
    def fields(self) -> Mapping[str, Any]: ...


def flat(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, the parts of a context each under a name of its own."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if name in ("context", "common_context") and isinstance(value, Mapping):
            found.update((f"{name}.{part}", told) for part, told in value.items())
        elif name not in _NEVER:
            found[name] = value
    return found


def difference(old: Version, new: Version) -> list[Line]:
    """The lines that tell what changed; one that says so where nothing did."""
    if old.fields.get("relation") == RELATION == new.fields.get("relation"):
        told = diff_lines(diff_of(text_of(old.fields), text_of(new.fields)))
    else:
        told = _fields(flat(old.fields), flat(new.fields))
    return told or [line("    ", Span("nothing in it differs", "dim"))]


def _fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Line]:
    lines: list[Line] = []
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name, _MISSING), after.get(name, _MISSING)
        if was == now and type(was) is type(now):
            continue
        if isinstance(was, str) and isinstance(now, str):
            if "\n" in was or "\n" in now:
                lines.append(line("    ", named(name, "dim")))
                lines += diff_lines(diff_of(was, now))
            else:
                left, right = marked(was, now)
                lines += [_side("-", "removed", name, left), _side("+", "added", name, right)]
            continue
        if was is not _MISSING:
            lines.append(_side("-", "removed", name, (value_of(was),)))
        if now is not _MISSING:
            lines.append(_side("+", "added", name, (value_of(now),)))
    return lines


def _side(sign: str, meaning: str, name: str, told: Line) -> Line:
    return line("    ", Span(f"{sign} ", meaning), named(name, "dim"), " ", told)


def marked(old: str, new: str) -> tuple[Line, Line]:
    """Both texts in their fences, the words that are in one of them only as removed and added."""
    a, b = _WORDS.findall(old[:VALUE_LIMIT]), _WORDS.findall(new[:VALUE_LIMIT])
    if len(a) > _COMPARED or len(b) > _COMPARED:
        return (value_of(old),), (value_of(new),)
    left: list[Span] = []
    right: list[Span] = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        left.append(_piece("".join(a[i:j]), "untrusted" if kind == "equal" else "removed"))
        right.append(_piece("".join(b[k:m]), "untrusted" if kind == "equal" else "added"))
    return _fence(left, old), _fence(right, new)


def _piece(text: str, meaning: str) -> Span:
    return Span(unfenced(clean(text, limit=VALUE_LIMIT)), meaning)


def _fence(pieces: list[Span], whole: str) -> Line:
    left_out = len(whole) - VALUE_LIMIT
    more = Span(f"…(+{left_out})", "untrusted") if left_out > 0 else Span("")
    return line(Span("«", "untrusted"), *pieces, more, Span("»", "untrusted"))


def same(left: object, right: object) -> bool:
    """Whether two values are told alike."""
    return compact_json(left) == compact_json(right)
