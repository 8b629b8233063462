# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.capture import times
from tests.support import NOW

TEN = 1_772_359_200_000  # 2026-03-01 10:00:00 UTC


@pytest.mark.parametrize(
    "found, at",
    [
        ("2026-03-01T10:00:00Z", TEN),
        ("2026-03-01T10:00:00.250Z", TEN + 250),
        (" 2026-03-01T12:00:00+02:00 ", TEN),
        ("2026-03-01T10:00:00", TEN),
        ("2026-03-01 10:00:00", TEN),
        (1_772_359_200, TEN),
        (1_772_359_200.5, TEN + 500),
        (TEN, TEN),
        ("1772359200", TEN),
        (str(TEN), TEN),
        ("1969-12-31T23:59:59Z", -1000),
    ],
)
def test_read(found: object, at: int) -> None:
    """ISO with and without a zone, and epoch seconds and milliseconds, are one time."""
    assert times.parse(found) == at


@pytest.mark.parametrize(
    "found", [None, True, "not a time", "", [], {}, float("nan"), float("inf"), 10**40, "9" * 30]
)
def test_unreadable(found: object) -> None:
    """What is no time is None, never an error."""
    assert times.parse(found) is None


def test_usable() -> None:
    """Usable is readable, not before 2000 and not after now; the trouble says which."""
    assert times.usable(TEN, NOW) == TEN
    assert [times.trouble(t, NOW) for t in (TEN, None, "x", 0, "2099-01-01T00:00:00Z")] == [
        "",
        "missing",
        "unreadable",
        "before 2000",
        "after the import",
    ]
    assert times.usable(NOW, NOW) == NOW
    assert times.usable(NOW + 1, NOW) is None


@given(st.text() | st.integers() | st.floats())
def test_never_raises(found: object) -> None:
    """Any value is read or refused, never an exception."""
    at = times.parse(found)
    assert (times.usable(found, NOW) is None) == (times.trouble(found, NOW) != "")
    assert at is None or isinstance(at, int)
