# SPDX-License-Identifier: Apache-2.0
"""What an import remembers of ids: like a dict, wherever it lies."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.capture.figures import CallCount
from deja_tui.capture.ids import Ids

KEYS = st.sampled_from(["a", "b", "ä", "\ud83d", "", "a\0b", *map(str, range(12))])


@given(st.lists(st.tuples(KEYS, st.text(max_size=3) | st.none()), max_size=60), st.integers(1, 5))
@settings(max_examples=80, deadline=None)
def test_it_is_a_dict(steps: list[tuple[str, str | None]], held: int) -> None:
    """IDS-1, IDS-2: however little is held in memory, every answer is that of a dict."""
    ids, known = Ids(held), dict[str, str]()
    for key, value in steps:
        assert ids.get(key) == known.get(key)
        if value is None:
            assert ids.add(key) == (key not in known)
            known.setdefault(key, "")
        else:
            ids.put(key, value)
            known[key] = value
        assert len(ids) == len(known)
    assert dict(ids.items()) == known
    assert sorted(ids.values()) == sorted(known.values())
    copy = Ids(held)
    copy.update(ids)
    assert dict(copy.items()) == known


def test_counting_goes_on_in_the_file() -> None:
    """IDS-2: counts rise across what was moved out of memory; so do the figures of calls."""
    ids = Ids(2)
    assert [ids.bump(key) for key in "abcabca"] == [1, 1, 1, 2, 2, 2, 3]
    calls = CallCount()
    calls._ids.held = 3
    for number in range(20):
        assert calls.call(f"c{number}", "bash")
    for number in range(19):
        assert calls.result(f"c{number}", failed=number % 2 == 0)
        assert not calls.result(f"c{number}", failed=True)
    calls.result("lost", failed=True)
    told = calls.figures()
    assert (told["tool_calls"], told["tool_results"], told["tool_errors"]) == (20, 20, 11)
    assert (told["calls_without_result"], told["results_without_call"]) == (1, 1)
    assert told["errors_by_tool"] == {"bash": 10, "(call not in file)": 1}
    total = CallCount()
    total.add(calls)
    total.add(calls)
    assert total.figures() == told
