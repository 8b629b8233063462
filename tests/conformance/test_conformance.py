# SPDX-License-Identifier: Apache-2.0
"""The same behaviour on every memory: each check of the suite on each substrate."""

from __future__ import annotations

from pathlib import Path

import pytest

from deja_tui.engine.conformance import Skipped
from deja_tui.engine.substrate import Atomic, Forgets, KeepsSettings
from deja_tui.reference import BareSubstrate, ReferenceSubstrate
from tests.conformance.substrates import SUBSTRATES, Factory
from tests.conformance.suite import CHECKS, Check

NAMES = [name for name, _ in SUBSTRATES]


@pytest.mark.parametrize("function", CHECKS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("factory", [factory for _, factory in SUBSTRATES], ids=NAMES)
def test_conformance(factory: Factory, function: Check, tmp_path: Path) -> None:
    """D10: what the engine needs of a memory, it finds in each of them."""
    try:
        function(factory(tmp_path))
    except Skipped as reason:
        pytest.skip(str(reason))


def test_the_bare_one_has_five_methods_and_no_more() -> None:
    """Otherwise the defaults would not be tested."""
    bare = BareSubstrate()
    assert {name for name in dir(bare) if not name.startswith("_")} - {"grains"} == {
        "scan", "get", "put", "supersede", "mark",
    }  # fmt: skip
    assert not isinstance(bare, Atomic | KeepsSettings | Forgets)
    assert isinstance(ReferenceSubstrate(), Atomic)
    assert isinstance(ReferenceSubstrate(), KeepsSettings)
    assert isinstance(ReferenceSubstrate(), Forgets)
