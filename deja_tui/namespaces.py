# SPDX-License-Identifier: Apache-2.0
"""Which namespace plain writes go to: what is one, and what a file declares (the rules are those of `declared`).

It stands apart from `declared` because a capture by a hook asks for no more than this (D47).
"""

from __future__ import annotations

from collections.abc import Mapping

from deja_tui.errors import DejaError, ValidationError
from deja_tui.store.acts import Acts
from deja_tui.store.keys import DEFAULT_NAMESPACE
from deja_tui.store.write import refuse_reserved
from deja_tui.text import door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

PREFIX: Final = "file."
KEY: Final = PREFIX + "namespace"


def checked(value: object) -> str:
    """A namespace as it is filed: in NFC, a lone surrogate or NUL as U+FFFD. Raises VAL-E001."""
    if not isinstance(value, str) or not value.strip() or len(value) > 256:
        raise ValidationError("VAL-E001", "namespace is not a text of 1 to 256 characters, not blank")
    return door(value)


def declarable(value: object) -> str:
    """A namespace that a file may declare. Raises VAL-E001, VAL-E004 (reserved)."""
    name = checked(value)
    refuse_reserved("fact", name)
    return name


def declared_in(row: object) -> str | None:
    """The namespace in a row of the file; None when this version would refuse to write it: a file may come from anywhere."""
    value = row.get("value") if isinstance(row, Mapping) else None
    try:
        return declarable(value)
    except ValidationError:
        return None


def of_file(store: Acts, given: str | None) -> str:
    """Where plain writes go: as given, else what the file declares, else ``shared`` (DEC-2). Raises VAL-E001."""
    if given is not None:
        return checked(given)
    try:
        row = store.setting(KEY)
    except DejaError as fault:
        if fault.code != "STO-E009":
            raise
        row = None  # it must open to be checked
    return declared_in(row) or DEFAULT_NAMESPACE
