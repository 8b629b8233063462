# SPDX-License-Identifier: Apache-2.0
"""The engine's error type. Codes live in `deja_tui.errors`."""

from __future__ import annotations

from deja_tui.errors import DejaError


class LoopError(DejaError):
    """A refusal of the engine (``LOP-…``): nothing was changed."""
