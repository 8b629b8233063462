# SPDX-License-Identifier: Apache-2.0
"""What every memory must do for the engine: checks that know nothing of what they run on (docs/conformance.md).

    from deja_tui.engine.conformance import run

    for result in run(MySubstrate):
        print(result.name, result.outcome, result.reason)

A check is a function of one empty substrate. It raises AssertionError where a promise is not kept, and `Skipped` where
it is about a capability that the memory does not offer. Nothing here needs a test framework.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from deja_tui.engine.conformance import activity, changes, facts, five, story, viewed
from deja_tui.engine.conformance.filling import CHECKS, Check, Skipped, check
from deja_tui.engine.substrate import Substrate

__all__ = [
    "CHECKS",
    "Check",
    "Result",
    "Skipped",
    "activity",
    "changes",
    "check",
    "facts",
    "five",
    "promise",
    "run",
    "story",
    "viewed",
]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one check; ``reason`` of a failure is the assertion, of a skip the missing capability."""

    name: str
    promise: str
    outcome: Literal["passed", "failed", "skipped"]
    reason: str = ""


def promise(function: Check) -> str:
    """The first line of a check's docstring."""
    return (function.__doc__ or "").strip().splitlines()[0]


def run(make: Callable[[], Substrate]) -> Iterator[Result]:
    """Every check on a fresh memory of its own, one result each. Raises RuntimeError where assertions are switched off.

    ``make`` returns an empty substrate each time it is called.
    """
    if not __debug__:
        raise RuntimeError("the checks are assertions: run them without python -O")
    for function in CHECKS:
        yield _one(function, make)


def _one(function: Check, make: Callable[[], Substrate]) -> Result:
    name, told = function.__name__, promise(function)
    try:
        function(make())
    except Skipped as reason:
        return Result(name, told, "skipped", str(reason))
    except Exception as fault:  # noqa: BLE001 - a memory that raises is one that does not conform
        return Result(name, told, "failed", f"{type(fault).__name__}: {fault}")
    return Result(name, told, "passed")
