# SPDX-License-Identifier: Apache-2.0
"""deja: governed agent memory as a library, a command line and a terminal console.

Public names are exported lazily: importing the package alone loads nothing, so a hook or
``deja --version`` pays for no more than it uses.
"""

from __future__ import annotations

__version__ = "0.1.0"

# ``typing`` costs as much as half of what the guard may take until its first text (D49).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from deja_tui.errors import DejaError as DejaError
    from deja_tui.facade import Memory as Memory

__all__ = ["DejaError", "Memory", "__version__"]

_LAZY = {"Memory": "deja_tui.facade", "DejaError": "deja_tui.errors"}


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'deja_tui' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(module), name)
