# SPDX-License-Identifier: Apache-2.0
"""Rows of the table ``grain`` as `grains.StoredGrain`: from bytes to what callers are shown.

* INV-ROWS-1  The short ways from bytes to fields give what the codec gives.
* INV-ROWS-2  A row that cannot be shown is STO-E009, whatever stands in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Final

from deja_tui.errors import DejaError
from deja_tui.store.body import BROKEN, SUCCESSOR
from deja_tui.store.body import TYPE_NAMES as TYPE_NAMES
from deja_tui.store.body import unfold as unfold
from deja_tui.store.body import with_long_refs as with_long_refs
from deja_tui.store.faults import StoreError
from deja_tui.store.grains import StoredGrain

COLUMNS: Final = f"g.id, g.type, g.at, g.hlc, g.dead, g.origin, g.hash, {SUCCESSOR}, g.body"
"""What `stored` takes, from a table aliased ``g``. Only a grain that is not live pays for the look at its marks."""
LIVE_COLUMNS: Final = "g.id, g.type, g.at, g.hlc, 0, g.origin, g.hash, NULL, g.body"
"""The same where the statement already asks for ``dead = 0``."""


# A frozen dataclass assigns through `object.__setattr__`, which is half of the time a recall spends on it; the slots
# themselves take the same values at half of that (measured: 1.1 against 0.6 µs a grain).
_new: Final = object.__new__
(
    _set_address,
    _set_seq,
    _set_type,
    _set_namespace,
    _set_created_at,
    _set_hlc,
    _set_live,
    _set_superseded_by,
    _set_imported,
    _set_fields,
) = (getattr(StoredGrain, field.name).__set__ for field in dataclasses.fields(StoredGrain))


def stored(row: tuple[Any, ...]) -> StoredGrain:
    """The grain of one row of `COLUMNS` or `LIVE_COLUMNS`."""
    seq, kind, created_at, hlc, dead, origin, digest, successor, body = row
    try:
        namespace, fields = unfold(body)
        name, address = TYPE_NAMES[kind], digest.hex()
    except (DejaError, *BROKEN) as error:  # `verify` says which column holds what it should not
        raise damaged(digest) from error
    grain = _new(StoredGrain)
    _set_address(grain, address)
    _set_seq(grain, seq)
    _set_type(grain, name)
    _set_namespace(grain, namespace)
    _set_created_at(grain, created_at)
    _set_hlc(grain, hlc)
    _set_live(grain, not dead)
    _set_superseded_by(grain, successor.hex() if successor else None)
    _set_imported(grain, origin != 0)
    _set_fields(grain, fields)
    return grain


def readable(found: Iterable[tuple[Any, ...]]) -> list[StoredGrain]:
    """The grains of rows, without those whose bytes cannot be read: one of them stops no scan, `verify` names it."""
    grains = []
    for row in found:
        try:
            grains.append(stored(row))
        except StoreError as fault:
            if fault.code != "STO-E009":
                raise
    return grains


def damaged(digest: object) -> StoreError:
    """What is raised instead of a grain whose bytes cannot be read any more."""
    name = digest.hex()[:12] if isinstance(digest, bytes) else "without an address"
    return StoreError(
        "STO-E009",
        f"the grain {name} is damaged",
        "Run `deja verify` to see what else is; forget the grain, or restore the file.",
    )
