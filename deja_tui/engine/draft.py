# SPDX-License-Identifier: Apache-2.0
"""A finding as an analyzer emits it: template id and arguments, operations, evidence. Never prose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from deja_tui.engine.operations import Operation

MAX_EVIDENCE: Final = 64


@dataclass(frozen=True, slots=True)
class Draft:
    """A finding as its analyzer emits it. The engine stamps identity, origin, creator, times and status."""

    target_ref: str
    action: str
    template_id: str
    args: Mapping[str, Any]
    severity: str
    operations: tuple[Operation, ...]
    evidence: tuple[str, ...]
    evidence_total: int
    # the highest arrival position among all members; None: the finding is about what is live now, and an earlier
    # apply does not cover it
    newest_evidence: int | None
    evidence_query: str | None = None
    remaining: int = 0
    metric: Mapping[str, Any] | None = None
    confidence: float = 0.8
    importance: float = 0.5
