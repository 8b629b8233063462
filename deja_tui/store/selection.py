# SPDX-License-Identifier: Apache-2.0
"""A bundle of chosen grains: what a person is given of their own, importable by any copy (see `bundles`)."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from deja_tui.store import oplog
from deja_tui.store.bundles import HEADER, MAGIC, Written
from deja_tui.store.faults import StoreError
from deja_tui.store.places import place
from deja_tui.store.whole import replacing

if TYPE_CHECKING:
    from deja_tui.store.memory import Store

_KINDS = {"add": oplog.ADD, "supersede": oplog.SUPERSEDE}


def write_selection(store: Store, path: str | os.PathLike[str], addresses: Collection[str]) -> Written:
    """Write the additions and supersessions of these grains, in their order; no erasures.

    Raises:
        StoreError: STO-E011 something lies there; STO-E008 the folder cannot be written.
    """
    target = place(path)
    if target.exists():
        raise StoreError(
            "STO-E011", "a file lies there already", "Choose another name; it was left as it is."
        )
    count, size, last = 0, len(MAGIC), 0
    with store.snapshot(), replacing(target) as file:
        file.write(MAGIC)
        for entry in store.log():
            last = entry.seq
            kind = _KINDS.get(entry.kind)
            blob = store.blob(entry.address) if kind and entry.address in addresses else None
            if kind and blob is not None:
                file.write(HEADER.pack(kind, entry.hlc, bytes.fromhex(entry.address), len(blob)))
                file.write(blob)
                count += 1
                size += HEADER.size + len(blob)
    return Written(count, size, last)
