# SPDX-License-Identifier: Apache-2.0
"""Times in statements: every form is a span of milliseconds, both ends included, UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from deja_tui.text import DAY_MS, HOUR_MS

_UNITS: Final = {
    "minute": 60_000,
    "hour": HOUR_MS,
    "day": DAY_MS,
    "week": 7 * DAY_MS,
    "month": 30 * DAY_MS,
}
_AGO: Final = re.compile(r"([0-9]{1,6}) (minute|hour|day|week|month)s? ago", re.IGNORECASE)
_CALENDAR: Final = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})",
    re.IGNORECASE,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_MS: Final = 2**53

EXPECTED: Final = (
    'a day "2026-03-02"',
    'a month "2026-03"',
    'a year "2026"',
    'a moment with zone "2026-03-02T09:00:00Z"',
    "epoch milliseconds",
    '"7 days ago"',
    '"yesterday"',
    '"last week"',
)


def span_of(value: object, now: int) -> tuple[int, int] | None:
    """First and last millisecond that ``value`` stands for, or None when it is no time.

    A day, month or year is the whole of it; a moment and "n units ago" are one millisecond; a month in "months ago"
    has 30 days; "last week" is the seven days before now.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        moment = int(value)
        return (moment, moment) if abs(moment) <= _MOST_MS else None
    if not isinstance(value, str):
        return None
    told = value.strip()
    return relative_span(told, now) or _calendar(told) or _moment(told)


def relative_span(told: str, now: int) -> tuple[int, int] | None:
    """First and last millisecond of a time told from ``now`` on: ``7 days ago``, ``yesterday``; None for anything else."""
    if found := _AGO.fullmatch(told):
        at = now - int(found[1]) * _UNITS[found[2].lower()]
        return at, at
    midnight = now - now % DAY_MS
    match told.lower():
        case "now":
            return now, now
        case "today":
            return midnight, midnight + DAY_MS - 1
        case "yesterday":
            return midnight - DAY_MS, midnight - 1
        case "last week":
            return now - 7 * DAY_MS, now
    return None


def _calendar(told: str) -> tuple[int, int] | None:
    found = _CALENDAR.fullmatch(told)
    if not found:
        return None
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    try:
        first = datetime(year, month, day, tzinfo=UTC)
        if found[3]:
            after = first + timedelta(days=1)
        elif found[2]:
            after = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
        else:
            after = datetime(year + 1, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return _ms(first), _ms(after) - 1


def _moment(told: str) -> tuple[int, int] | None:
    if not _MOMENT.fullmatch(told):
        return None
    try:
        at = _ms(datetime.fromisoformat(told.upper()))
    except (ValueError, OverflowError):
        return None
    return at, at


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def relative(at: int, now: int) -> str:
    """How long ago, for rendered context: just now, 5m ago, 3h ago, 2d ago, ~2w ago, from 30 days on the date."""
    age = now - at
    if age < 0 or age >= 30 * DAY_MS:
        return date(at)
    if age < 60_000:
        return "just now"
    if age < HOUR_MS:
        return f"{age // 60_000}m ago"
    if age < DAY_MS:
        return f"{age // HOUR_MS}h ago"
    if age < 14 * DAY_MS:
        return f"{age // DAY_MS}d ago"
    return f"~{age // (7 * DAY_MS)}w ago"


def long_relative(at: int, now: int) -> str:
    """How long ago, in words: 10 months ago, 1 day ago, just now."""
    age = now - at
    for unit, size in (
        ("year", 365 * DAY_MS),
        ("month", 30 * DAY_MS),
        ("day", DAY_MS),
        ("hour", HOUR_MS),
        ("minute", 60_000),
    ):
        if age >= size:
            count = age // size
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now" if age >= 0 else "in the future"


def date(at: int) -> str:
    """The UTC day of ``at``; a time outside the calendar as its number."""
    try:
        moment = _EPOCH + timedelta(milliseconds=at)
    except OverflowError:
        return str(at)
    return moment.strftime("%Y-%m-%d") if moment.year >= 1000 else str(at)


def parts(at: int) -> datetime | None:
    """``at`` as a UTC date-time, or None outside the calendar."""
    try:
        return _EPOCH + timedelta(milliseconds=at)
    except OverflowError:
        return None
