# SPDX-License-Identifier: Apache-2.0
"""What a file declares of itself: settings that change what reads and writes do, honoured by every open.

* DEC-1  A declaration is a row of the file, with who made it, when and why; it needs the right admin.
* DEC-2  An open without the option takes the file's declaration; an open with another value takes that, and says so in
  ``Memory.notices``. Nothing is changed by opening.

Options that do not change results (busy_ms, durability, telemetry, read_only) are the caller's alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from deja_tui import namespaces
from deja_tui.engine import lifecycle
from deja_tui.engine.actors import Caller
from deja_tui.errors import DejaError, ValidationError
from deja_tui.namespaces import PREFIX
from deja_tui.store.keys import DEFAULT_NAMESPACE
from deja_tui.store.memory import Store
from deja_tui.text import clean


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declared setting: its value, and who declared it, when (epoch ms) and why."""

    name: str
    value: Any
    by: str
    at: int
    because: str


KNOWN: Final[Mapping[str, tuple[Any, Callable[[object], Any]]]] = {
    "namespace": (DEFAULT_NAMESPACE, namespaces.declarable)
}
"""Name to (what holds without a declaration, the check of a value)."""


def declare(
    store: Store, who: Caller, clock: Callable[[], int], name: str, value: object, because: str
) -> Declaration:
    """Write a declaration. Raises VAL-E001, VAL-E004, LOP-E011, LOP-E022."""
    who.need("admin")
    told = lifecycle.check_reason(because)
    if name not in KNOWN:
        raise ValidationError("VAL-E001", "no such setting", "one of " + ", ".join(KNOWN))
    checked = KNOWN[name][1](value)
    row = {"value": checked, "by": who.actor, "at": clock(), "because": told}
    with store.act() as act:
        act.set_setting(PREFIX + name, row)
    return Declaration(name, **row)


def declared(store: Store) -> tuple[Declaration, ...]:
    """What the file declares, by name; a row that this version would refuse to write is left out."""
    found = []
    for key, row in sorted(store.settings(PREFIX).items()):
        name = key.removeprefix(PREFIX)
        if name in KNOWN and isinstance(row, Mapping) and _acceptable(name, row.get("value")):
            at = row.get("at")
            found.append(
                Declaration(
                    name,
                    row["value"],
                    str(row.get("by", "")),
                    at if isinstance(at, int) else 0,
                    str(row.get("because", "")),
                )
            )
    return tuple(found)


def _acceptable(name: str, value: object) -> bool:
    """Whether a declared value could be declared here; a file may come from anywhere."""
    try:
        KNOWN[name][1](value)
    except ValidationError:
        return False
    return True


def settle(store: Store, given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The value of every setting for this open, and a notice for each that differs from the file (DEC-2)."""
    chosen: dict[str, Any] = {}
    notices = []
    here: dict[str, Any] = {}
    try:
        here = {one.name: one.value for one in declared(store)}
    except DejaError as fault:
        if fault.code != "STO-E009":
            raise
        notices.append(
            f"what the file declares cannot be read: {fault.message}"
        )  # it must open to be checked
    for name, (default, _) in KNOWN.items():
        value = given.get(name)
        chosen[name] = here.get(name, default) if value is None else namespaces.checked(value)
        if name in here and chosen[name] != here[name]:
            notices.append(
                f"opened with {name} {clean(chosen[name], 80)}; the file declares {clean(here[name], 80)}"
            )
    return chosen, tuple(notices)
