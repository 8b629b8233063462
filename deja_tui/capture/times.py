# SPDX-License-Identifier: Apache-2.0
"""Times as other programs write them, read into epoch milliseconds UTC.

Unlike the door of the library, a capture never refuses a record for its time: what cannot be used is kept as found
beside the record and marked (vectors: hostile/clock-skew).
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

from deja_tui.record import Record
from deja_tui.text import compact_json, door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

YEAR_2000: Final = 946_684_800_000
_MS_FROM: Final = 1e11  # a number this large is milliseconds: as seconds it would be past the year 5000
_FOUND_MAX: Final = 64
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Moment(Record):
    """When a record happened: epoch ms, and whether the source said so or a neighbour had to lend its time."""

    _fields = ("ms", "known", "found", "trouble")
    __slots__ = _fields

    def __init__(self, ms: int, known: bool, found: str = "", trouble: str = "") -> None:
        self.ms = ms
        self.known = known
        self.found = found
        self.trouble = trouble

    def clock(self) -> dict[str, str] | None:
        """What is kept beside a borrowed time: the time as found and what is wrong with it."""
        if self.known:
            return None
        return {"found": self.found, "trouble": self.trouble} if self.found else {"trouble": self.trouble}


def moment(value: Any, now_ms: int, neighbour: int) -> Moment:
    """The time of a record that says ``value``; the ``neighbour``'s when that cannot be used."""
    at = usable(value, now_ms)
    if at is not None:
        return Moment(at, known=True)
    found = (
        "" if value is None else door(value if isinstance(value, str) else compact_json(value))[:_FOUND_MAX]
    )
    return Moment(neighbour, known=False, found=found, trouble=trouble(value, now_ms))


def parse(value: Any) -> int | None:
    """``value`` as epoch milliseconds: an ISO-8601 text (no zone: UTC), or a number of seconds or milliseconds."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return _number(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text.isascii() and text.isdigit() and 9 <= len(text) <= 14:
        return _number(int(text))
    return _iso(text)


def usable(value: Any, now_ms: int) -> int | None:
    """The time when it can be relied on: readable, not before the year 2000, not after now."""
    at = parse(value)
    return at if at is not None and YEAR_2000 <= at <= now_ms else None


def trouble(value: Any, now_ms: int) -> str:
    """Why `usable` refuses ``value``, in a word or three; empty when it does not."""
    at = parse(value)
    if at is None:
        return "missing" if value is None else "unreadable"
    return "before 2000" if at < YEAR_2000 else "after the import" if at > now_ms else ""


def _number(value: float) -> int | None:
    if not math.isfinite(value) or abs(value) > 1e16:
        return None
    return int(value) if abs(value) >= _MS_FROM else int(value * 1000)


def _iso(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        span = moment - _EPOCH
    except OverflowError:
        return None
    return (span.days * 86_400 + span.seconds) * 1000 + span.microseconds // 1000
