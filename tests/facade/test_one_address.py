# SPDX-License-Identifier: Apache-2.0
"""D15: a decision is about exactly one recommendation. Every surface is walked, and two are tried on each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deja_tui import Memory, compat
from deja_tui.cal import Session
from deja_tui.cal.host import host_of
from deja_tui.cli.loop import _VERBS
from deja_tui.cli.loop import loop as group
from deja_tui.cli.main import run as deja
from deja_tui.errors import DejaError
from tests.support import NOW

# what each decision of a surface is called there; a surface that gains one must be named here, or a test fails
DECISIONS = ("approve", "reject", "withdraw", "apply", "approve_and_apply", "mark_applied", "rollback")
READS = ("show", "audit", "dry_run", "diff", "outcomes", "resolve")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.deja"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    """Two pending recommendations."""
    with Memory.open(path, clock=lambda: NOW) as opened:
        for confidence in (0.9, 0.8):
            opened.add_fact("acme", "likes", "tea", confidence)
            opened.add_fact("bob", "likes", "tea", confidence)
        opened.loop.run()
        yield opened


@pytest.fixture
def two(memory: Memory) -> list[str]:
    found = [row.address for row in memory.loop.queue()]
    assert len(found) == 2
    return found


def undecided(memory: Memory, two: list[str]) -> bool:
    return [row.address for row in memory.loop.queue()] == two


def test_the_library_takes_one_address(memory: Memory, two: list[str]) -> None:
    """Every public method of the loop whose first argument is an address: not a list, a tuple, nor two in a text."""
    named = {
        name
        for name, method in inspect.getmembers(type(memory.loop), inspect.isfunction)
        if not name.startswith("_") and list(inspect.signature(method).parameters)[1:2] == ["address"]
    }
    assert named == {*DECISIONS, *READS}
    for name in sorted(named):
        method: Callable[..., object] = getattr(memory.loop, name)
        more = {"because": "both at once"} if name in DECISIONS else {}
        for both in (two, tuple(two), " ".join(two), ",".join(two), "".join(two), "\n".join(two), set(two)):
            with pytest.raises((DejaError, TypeError)):
                method(both, **more)
        with pytest.raises(TypeError):
            method(*two, **more)
    assert undecided(memory, two)


def test_the_command_line_takes_one_address(
    memory: Memory, two: list[str], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every verb below ``deja loop`` and the old spellings: two addresses are a usage error, one text of two is none."""
    memory.close()
    walked = set()
    for verb in _VERBS:
        command = group.get_command(None, verb)  # type: ignore[arg-type]
        assert command is not None
        if [one.name for one in command.params if one.param_type_name == "argument"] != ["address"]:
            continue
        walked.add(verb)
        tail = [
            "--db",
            str(path),
            *(["--because", "both"] if verb in {one.replace("_", "-") for one in DECISIONS} else []),
        ]
        assert deja(["loop", verb, *two, *tail]) == 64, verb
        assert deja(["loop", verb, ",".join(two), *tail]) in (1, 64), verb
        assert deja(["loop", verb, " ".join(two), *tail]) in (1, 64), verb
    capsys.readouterr()
    assert {"approve", "reject", "withdraw", "apply", "mark-applied", "rollback", "show", "diff"} <= walked
    with Memory.open(path, clock=lambda: NOW) as again:
        assert undecided(again, two)


VERDICTS = (
    'APPROVE {} BECAUSE "both"',
    'REVIEW {} APPROVE BECAUSE "both"',
    'REVIEW {} REJECT BECAUSE "both"',
    'REVIEW {} WITHDRAW BECAUSE "both"',
    'APPLY {} BECAUSE "both"',
    "APPLY {} DRY RUN",
    'ROLLBACK {} BECAUSE "both"',
)
POSITIONS = (
    "{0}; {1}",
    "BATCH {{ {0} }}",
    "BATCH {{ {0}; {1} }}",
    "COALESCE({0}, {1})",
    "LET $x = {0}; {1}",
    'DEFINE QUERY "x" AS {{ {0} }}',
)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_language_takes_one_address_alone(memory: Memory, two: list[str], verdict: str) -> None:
    """Two addresses in one statement, and one statement in a batch, a COALESCE, a LET, or a saved query."""
    session = Session(host_of(memory))
    one, other = (f"sha256:{address}" for address in two)
    for both in (f"{one} {other}", f"{one}, {other}", f"({one}, {other})", f"[{one}, {other}]"):
        with pytest.raises(DejaError):
            session.run(verdict.format(both))
    for position in POSITIONS:
        with pytest.raises(DejaError):
            session.run(position.format(verdict.format(one), verdict.format(other)))
    assert undecided(memory, two)


def test_the_other_library_takes_one_address(memory: Memory, two: list[str], path: Path) -> None:
    """Every method of the compatible library that names a recommendation's hash."""
    memory.close()
    db = compat.DejaDB(str(path), actor="user:ana")
    named = {
        name
        for name, method in inspect.getmembers(type(db), inspect.isfunction)
        if name.endswith("_recommendation") and not name.startswith("_")
    }
    assert named == {
        "approve_recommendation",
        "apply_recommendation",
        "dismiss_recommendation",
        "rollback_recommendation",
    }
    for name in sorted(named):
        for both in (two, tuple(two), " ".join(two), ",".join(two), "".join(two)):
            with pytest.raises((DejaError, TypeError, ValueError)):
                getattr(db, name)(both, "both at once")
    db.close()
    with Memory.open(path, clock=lambda: NOW) as again:
        assert undecided(again, two)
