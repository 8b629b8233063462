# SPDX-License-Identifier: Apache-2.0
"""Why nothing was found: one line an analyzer, in counts."""

from __future__ import annotations

from typing import Final

from deja_tui.engine.objects import Activation, RunOutcome
from deja_tui.text import clip

_STATES: Final = {
    "quiet": "looked, found nothing",
    "below_threshold": "needs {need} {unit}, has {have}",
    "active": "found some, all decided or covered already",
}


def quiet_lines(outcome: RunOutcome, width: int) -> list[str]:
    """For a run without a finding: what each analyzer has and what it needs."""
    return [clip(f"  {name:<25} {_told(found)}", width) for name, found in sorted(outcome.quiet.items())]


def _told(found: Activation) -> str:
    template = _STATES.get(found.state, found.state)
    return template.format(need=found.need, unit=found.unit, have=found.have)
