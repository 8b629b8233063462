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
# Each main screen at one size, in turn, and the first at both: what differs between sizes is the text, which is kept for both.
PICTURES = [(SIZES[0], "queue"), *((SIZES[(place + 1) % 2], name) for place, name in enumerate(SVG))]
# What was seen or fetched for one size is told in the other as well: these are played anew for each.
APART = frozenset(
    (
        "walker-unseen", "query", "query-assemble", "query-columns", "query-empty", "query-filter", "query-hostile",
        "query-hostile-text", "grain-fork", "copied",
    )
)  # fmt: skip


def named(case: tuple[tuple[int, int], str]) -> str:
    (width, height), name = case
    return f"{width}x{height}-{name}"


@pytest.mark.parametrize("name", [name for name in CASES if name not in APART])
async def test_text(name: str) -> None:
    """Every state reads as it was accepted, and again after the window became larger; every row fills it exactly."""
    wanted = CASES[name]
    async with console(wanted.before(), SIZES[0], **wanted.options) as user:
        await play(user, wanted)
        for size in SIZES:
            if size != SIZES[0]:
                await user.resize(*size)
            assert len(user.rows) == size[1]
            check(size, name, user.rows)


@pytest.mark.parametrize("case", [case for case in BOTH if case[1] in APART], ids=named)
async def test_text_of_a_size(case: tuple[tuple[int, int], str]) -> None:
    """The states that remember what was seen or fetched, each size for itself."""
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
