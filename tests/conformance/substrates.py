# SPDX-License-Identifier: Apache-2.0
"""Every memory the engine is held to run on. A new one is one line here and nothing else.

A factory is given an empty folder of its own and returns an empty substrate.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from deja_tui.adapter import StoreSubstrate
from deja_tui.cal import Host, Session
from deja_tui.cal_substrate import CalSubstrate
from deja_tui.engine.substrate import Substrate
from deja_tui.reference import BareSubstrate, ReferenceSubstrate
from deja_tui.store.memory import Store
from tests.support import NOW

Factory = Callable[[Path], Substrate]


def over_statements(folder: Path) -> CalSubstrate:
    """A file that is seen through its language alone, and only read there."""
    store = Store.open(folder / "a.deja", clock=lambda: NOW)
    session = Session(Host(store, "shared", lambda: NOW))

    def answer(text: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(json.dumps(session.run(text, read_only=True).as_json()))
        return told

    return CalSubstrate(answer, StoreSubstrate(store))


SUBSTRATES: Final[list[tuple[str, Factory]]] = [
    ("reference", lambda folder: ReferenceSubstrate()),
    ("bare", lambda folder: BareSubstrate()),
    ("file", lambda folder: StoreSubstrate(Store.open(folder / "a.deja", clock=lambda: NOW))),
    ("statements", over_statements),
]
