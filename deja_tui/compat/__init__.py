# SPDX-License-Identifier: Apache-2.0
"""`DejaDB`: programs written for the reference product run here: its names, argument order and JSON strings (D39).

``from deja_tui import compat as dejadb`` is all that changes in them.

* CMP-1  Whatever of the reference product this version does not offer is refused with VAL-E006, above all
  ``passphrase``: nothing is opened or created then, so no plain file passes for an encrypted one.
* CMP-2  Refusals are `CompatError`: a `ValueError`, as there, whose text begins with the code.
* CMP-3  A text result is compact JSON with sorted keys, as there. A field that was added since is an extra key.
* CMP-4  What a method there takes without a reason is recorded with the reason "compat: none given" (D16).
* CMP-5  Where the two differ in meaning, ours holds: nothing given to ``add`` is dropped, a rollback restores, one address
  a decision, nobody approves what they created, a destructive change needs an approval of its own first.

Owns the names, argument order and JSON strings of the reference product: `database` the methods, `shapes` the JSON, `editor` the
commands on documents, `reach` the walks, `faults` the refusals. May import everything up to the facade. Never pretends to offer what
is not there.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from deja_tui.compat.database import DejaDB
from deja_tui.compat.faults import CompatError, not_offered

__all__ = ["CompatError", "DejaDB", "drop_postgres_schema"]


def __getattr__(name: str) -> Any:
    """``dejadb.dejadb``, the reference product's own name for the module that holds its class."""
    if name == "dejadb":
        return sys.modules[__name__]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def drop_postgres_schema(*_: Any, **__: Any) -> NoReturn:
    """Not offered: a memory is a file. Raises VAL-E006."""
    raise not_offered("a store over PostgreSQL")
