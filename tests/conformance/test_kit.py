# SPDX-License-Identifier: Apache-2.0
"""The conformance kit as a third party uses it: importable alone, honest about what fails, documented."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from deja_tui.engine.conformance import CHECKS, promise, run
from deja_tui.engine.substrate import MarkKind, NewGrain, Put
from deja_tui.reference import BareSubstrate, MemoryGrain, ReferenceSubstrate
from tests.support import ROOT


def test_it_needs_no_test_framework() -> None:
    """Importing and running it loads no pytest, no store, no file library."""
    code = (
        "import sys\nfrom deja_tui.engine.conformance import run\nfrom deja_tui.reference import BareSubstrate\n"
        "assert all(one.outcome != 'failed' for one in run(BareSubstrate))\n"
        "assert not {'pytest', 'apsw', 'click', 'textual'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)


def test_every_check_has_a_name_and_a_promise() -> None:
    """What a result says is enough to know what was not kept."""
    names = [check.__name__ for check in CHECKS]
    assert len(set(names)) == len(names) >= 20
    assert all(promise(check).endswith(".") for check in CHECKS)


def test_a_full_memory_skips_nothing() -> None:
    """A skip is about a missing capability only."""
    assert {one.outcome for one in run(ReferenceSubstrate)} == {"passed"}
    skipped = {one.name for one in run(BareSubstrate) if one.outcome == "skipped"}
    assert skipped == {
        "a_saved_query_is_defined_and_gone_again",
        "an_act_is_all_or_nothing",
        "forgetting_erases",
        "forks_after_a_position_leave_out_nothing_new",
        "forks_are_told_apart_from_many_values",
    }


class NoMarks(BareSubstrate):
    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None:
        pass


class NewestFirst(BareSubstrate):
    def scan(self, type: str, namespaces: Sequence[str] | None = None, after: int = 0) -> Any:
        return reversed(list(super().scan(type, namespaces, after)))


class ShowsTheReserved(BareSubstrate):
    def scan(self, type: str, namespaces: Sequence[str] | None = None, after: int = 0) -> Any:
        found = self.grains.values()
        return (
            g
            for g in list(found)
            if g.type == type and g.seq > after and (namespaces is None or g.namespace in namespaces)
        )


class AlwaysNew(BareSubstrate):
    def put(self, grain: NewGrain) -> Put:
        return Put(super().put(grain).address, True)


class Trims(BareSubstrate):
    def put(self, grain: NewGrain) -> Put:
        kept = {
            name: value[:100] if isinstance(value, str) else value for name, value in grain.fields.items()
        }
        return super().put(NewGrain(grain.type, grain.namespace, grain.created_at, kept))


class Overwrites(BareSubstrate):
    def supersede(self, address: str, grain: NewGrain) -> Put:
        put = self.put(grain)
        self.mark(address, "supersede", put.address)
        return put


class CountsWrong(BareSubstrate):
    def fact_matches(self, namespace: str, subject: str, relation: str) -> list[MemoryGrain]:
        return []


class Raises(BareSubstrate):
    def get(self, address: str) -> MemoryGrain | None:
        raise OSError("gone")


BROKEN: dict[type[BareSubstrate], str] = {
    NoMarks: "marks_say_what_is_live",
    NewestFirst: "scan_yields_in_arrival_order",
    ShowsTheReserved: "scan_leaves_reserved_namespaces_out_unless_named",
    AlwaysNew: "putting_the_same_twice_changes_nothing",
    Trims: "hostile_text_comes_back_as_it_was_given",
    Overwrites: "supersede_refuses_what_is_not_live",
    CountsWrong: "fact_matches_is_its_default",
    Raises: "put_keeps_what_it_was_given",
}


@pytest.mark.parametrize("memory", BROKEN, ids=lambda memory: memory.__name__)
def test_a_memory_that_breaks_one_rule_is_told_which(memory: type[BareSubstrate]) -> None:
    """Each rule has a check that fails without it, and a failure stops nothing."""
    results = {one.name: one for one in run(memory)}
    assert len(results) == len(CHECKS)
    assert results[BROKEN[memory]].outcome == "failed"
    assert results[BROKEN[memory]].reason


def test_the_examples_of_the_page_run() -> None:
    """docs/conformance.md, in order, with one set of names."""
    names: dict[str, Any] = {}
    for example in re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "conformance.md").read_text(), re.DOTALL
    ):
        exec(compile(example, "conformance.md", "exec"), names)
