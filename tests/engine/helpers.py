# SPDX-License-Identifier: Apache-2.0
"""Short ways to fill a substrate, to run the loop on it, to plant what the engine would write, and to compare.

Most of them are the conformance kit's own; here is what needs pytest or the reference substrate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from deja_tui.engine.conformance.filling import (
    ANA,
    BEN,
    EVERY_TYPE,
    calls,
    draft,
    everything,
    fact,
    go,
    only,
    plant,
    recalled,
    statuses,
)
from deja_tui.engine.substrate import Substrate
from deja_tui.errors import DejaError
from deja_tui.reference import BareSubstrate

__all__ = [
    "ANA", "BEN", "EVERY_TYPE", "calls", "crash_on", "draft", "everything", "fact", "go", "import_grain", "only", "plant",
    "recalled", "refusal_of", "refused", "refused_unchanged", "statuses",
]  # fmt: skip


def import_grain(substrate: BareSubstrate, address: str) -> None:
    """Make a grain one that arrived with a bundle."""
    substrate.grains[address] = replace(substrate.grains[address], imported=True)


@contextmanager
def refused(code: str) -> Iterator[pytest.ExceptionInfo[DejaError]]:
    """The block raises a deja error with this code."""
    with pytest.raises(DejaError) as caught:
        yield caught
    assert caught.value.code == code, caught.value


@contextmanager
def refused_unchanged(substrate: Substrate, code: str) -> Iterator[None]:
    """The block is refused with this code, and nothing in the substrate is different afterwards (LIF-1)."""
    before = everything(substrate)
    with refused(code):
        yield
    assert everything(substrate) == before


def crash_on(substrate: Substrate, name: str, when: Callable[..., bool]) -> None:
    """Make one method of a substrate fail, as a full disk would, whenever ``when`` holds for its arguments."""
    real = getattr(substrate, name)

    def failing(*args: Any, **kwargs: Any) -> Any:
        if when(*args, **kwargs):
            raise OSError("no room left")
        return real(*args, **kwargs)

    setattr(substrate, name, failing)


def refusal_of(act: Callable[[], object]) -> str | None:
    """The code an act is refused with, or None when it goes through."""
    try:
        act()
    except DejaError as fault:
        return fault.code
    return None
