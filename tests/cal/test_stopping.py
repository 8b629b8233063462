# SPDX-License-Identifier: Apache-2.0
"""A statement that reads can be ended by who asked it."""

from __future__ import annotations

import pytest

from deja_tui.cal import CalError
from deja_tui.facade import Memory


@pytest.fixture
def full(memory: Memory) -> Memory:
    with memory.store.act():
        for number in range(400):
            memory.add_fact(f"s{number}", "likes", f"thing {number}")
    return memory


@pytest.mark.parametrize(
    "text",
    [
        'RECALL facts WHERE object CONTAINS "nothing"',
        'RECALL facts WHERE object CONTAINS "nothing" COUNT',
        "RECALL facts ORDER BY object",
        'LET $x = RECALL facts WHERE object CONTAINS "nothing" SUBJECTS; RECALL facts WHERE subject IN $x',
        'ASSEMBLE FROM a: (RECALL facts WHERE object CONTAINS "nothing") BUDGET 10 tokens',
    ],
)
def test_what_reads_is_ended_and_leaves_nothing_behind(text: str, full: Memory) -> None:
    """INV-STOPPING-1: a coded end, and the next statement on this thread is asked nothing."""
    asked: list[bool] = []

    def stop() -> bool:
        asked.append(True)
        return True

    with pytest.raises(CalError) as caught:
        full.cal(text, stop=stop)
    assert caught.value.code == "CAL-E072"
    assert len(asked) == 1
    assert full.cal("RECALL facts COUNT").count == 400  # type: ignore[union-attr]
    assert (
        full.cal('ADD fact SET subject = "a" SET relation = "b" SET object = "c" REASON "r"').kind == "added"
    )
    assert len(asked) == 1


def test_one_that_may_go_on_gives_the_same(full: Memory) -> None:
    """Being asked changes nothing; a write is never asked."""
    asked: list[bool] = []

    def go_on() -> bool:
        asked.append(True)
        return False

    text = 'RECALL facts WHERE object CONTAINS "39"'
    assert full.cal(text, stop=go_on) == full.cal(text) or (
        full.cal(text, stop=go_on).as_json() == full.cal(text).as_json()
    )
    assert asked
    asked.clear()
    full.cal('ADD fact SET subject = "a" SET relation = "b" SET object = "c" REASON "r"', stop=lambda: True)
    assert asked == []
