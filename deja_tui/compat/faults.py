# SPDX-License-Identifier: Apache-2.0
"""Refusals as the reference product makes them (CMP-1, CMP-2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from deja_tui.errors import DejaError

# D16: each decision and erasure has a reason; where a method there takes none, this one is recorded (CMP-4).
NO_REASON: Final = "compat: none given"

P = ParamSpec("P")
R = TypeVar("R")


class CompatError(DejaError, ValueError):
    """A refusal, as the reference product raises it: a `ValueError`; ``code`` and ``next_step`` as of any `DejaError`."""


def as_value_error(method: Callable[P, R]) -> Callable[P, R]:
    """A method whose refusals are `CompatError`."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except CompatError:
            raise
        except DejaError as fault:
            raise CompatError(fault.code, fault.message, fault.next_step) from fault

    return call


def not_offered(what: str, instead: str = "") -> CompatError:
    """The refusal of what this version does not have. ``instead``: what to do about it, for a person."""
    return CompatError("VAL-E006", f"this version does not offer {what}", instead)


def refuse(**given: Any) -> None:
    """Raise VAL-E006 for the first argument that was given (is not None)."""
    for name, value in given.items():
        if value is not None:
            raise not_offered(f"the argument {name}", "leave it out")
