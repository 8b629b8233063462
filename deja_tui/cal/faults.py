# SPDX-License-Identifier: Apache-2.0
"""Errors of the language that point at their place, and the warnings a result may carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from deja_tui.errors import DejaError
from deja_tui.text import cells, clean

Span = tuple[int, int]
"""First and one past the last character of a piece of the statement, in normalised text."""

_AROUND: Final = 60

WARNINGS: Final[dict[str, str]] = {
    "CAL-W001": "no relation of that mg: name is known",
    "CAL-W004": "the option is not known and changes nothing",
    "CAL-W005": "a field is set twice and the last value counts, or the two grains have different keys",
    "CAL-W006": "the saved query declares no such parameter",
    "CAL-W007": "the bar before a stage is not needed",
    "CAL-W009": "some sources filter by subject and others do not",
    "CAL-W011": "each was cut at 200 rounds",
    "CAL-W013": "auto_relate changes nothing",
    "CAL-W014": "the option changes nothing in this version",
    "CAL-W015": "not every match was read",
}


def warning(code: str, detail: str) -> str:
    """One entry of ``warnings``: the code and what it is about."""
    return f"{code}: {WARNINGS[code]} ({detail})" if detail else f"{code}: {WARNINGS[code]}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a statement something is wrong.

    Attributes:
        line, column: both from 1; the column counts characters of the normalised line.
        shown: the line, made safe and cut to what stands around the place.
        caret: blanks and ``^`` under it.
    """

    line: int
    column: int
    shown: str
    caret: str


def place_of(text: str, span: Span) -> Place:
    """The place of ``span`` in ``text``."""
    start = min(span[0], len(text))
    began = text.rfind("\n", 0, start) + 1
    ended = text.find("\n", start)
    ended = len(text) if ended < 0 else ended
    left, right = max(began, start - _AROUND), min(ended, start + _AROUND)
    before = ("…" if left > began else "") + clean(text[left:start])
    marked = clean(text[start : max(start, min(span[1], right))])
    after = clean(text[start:right]) + ("…" if right < ended else "")
    return Place(
        line=text.count("\n", 0, start) + 1,
        column=start - began + 1,
        shown=before + after,
        caret=" " * cells(before) + "^" * max(1, cells(marked)),
    )


class CalError(DejaError):
    """A statement that was refused. Nothing of it was done.

    Attributes:
        place: where, or None when it is about the statement as a whole.
        expected: what could have stood there.
    """

    def __init__(
        self,
        code: str,
        message: str,
        next_step: str = "",
        *,
        place: Place | None = None,
        expected: tuple[str, ...] = (),
    ) -> None:
        told = message
        if place is not None:
            told = f"{message} (line {place.line}, column {place.column})"
        if expected and not next_step:
            next_step = "expected " + listed(expected)
        super().__init__(code, told, next_step)
        self.bare = message
        self.place = place
        self.expected = expected

    def lines(self) -> list[str]:
        """The error for people: code and sentence, the line with a caret, what to do. Safe for a terminal."""
        told = [clean(str(self))]
        if self.place is not None:
            told += ["  " + self.place.shown, "  " + self.place.caret]
        if self.next_step:
            told.append(f"next: {clean(self.next_step)}")
        return told

    def as_json(self) -> dict[str, Any]:
        """The shape of an error in results: ``type`` error, code, message, and where known line, column, expected."""
        told: dict[str, Any] = {"type": "error", "code": self.code, "message": self.message}
        if self.next_step:
            told["next_step"] = self.next_step
        if self.place is not None:
            told |= {
                "line": self.place.line,
                "column": self.place.column,
                "caret": [self.place.shown, self.place.caret],
            }
        if self.expected:
            told["expected"] = list(self.expected)
        return told


def listed(words: tuple[str, ...]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def fault(
    code: str,
    message: str,
    text: str,
    span: Span,
    next_step: str = "",
    expected: tuple[str, ...] = (),
) -> CalError:
    """An error about the piece ``span`` of the statement ``text``."""
    return CalError(code, message, next_step, place=place_of(text, span), expected=expected)
