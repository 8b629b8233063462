# SPDX-License-Identifier: Apache-2.0
"""What the screens look like, kept as text (all states) and as SVG (the main ones), at two sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.screens.cases import CASES, SIZES, SVG, play
from tests.screens.snapshots import FOLDER, check
from tests.screens.user import Hand, User, console, make_app

BOTH = [(size, name) for size in SIZES for name in CASES]
PICTURES = [(size, name) for size in SIZES for name in SVG]


def named(case: tuple[tuple[int, int], str]) -> str:
    (width, height), name = case
    return f"{width}x{height}-{name}"


@pytest.mark.parametrize("case", BOTH, ids=named)
async def test_text(case: tuple[tuple[int, int], str]) -> None:
    """Every state reads as it was accepted, and every row fills the window exactly."""
    size, name = case
    wanted = CASES[name]
    async with console(wanted.before(), size, **wanted.options) as user:
        await play(user, wanted)
        assert len(user.rows) == size[1]
        check(size, name, user.rows)


@pytest.mark.parametrize("case", PICTURES, ids=named)
def test_svg(case: tuple[tuple[int, int], str], snap_compare: Callable[..., bool]) -> None:
    """Colours and attributes of the main screens are as they were accepted."""
    size, name = case
    wanted = CASES[name]
    hand, memory = Hand(), wanted.before()
    app = make_app(memory, hand, **wanted.options)

    async def there(pilot: Any) -> None:
        user = User(app, pilot, memory, hand)
        await user.settle()
        await play(user, wanted)

    assert snap_compare(app, terminal_size=size, run_before=there)


def test_no_snapshot_is_left_over() -> None:
    """Every kept file belongs to a case; a renamed case takes its files along."""
    kept = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.*")}
    texts = {f"{width}x{height}/{name}.txt" for (width, height), name in BOTH}
    pictures = {f"{width}x{height}/{name}.svg" for (width, height), name in PICTURES}
    assert kept - texts - pictures == set()
