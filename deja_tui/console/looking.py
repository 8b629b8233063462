# SPDX-License-Identifier: Apache-2.0
"""A run from the console: at most five seconds, then it stops between two analyzers and says so (D29).

A whole run is one act and cannot be cut short. So it is only begun where the last look at all analyzers was quick;
otherwise they run one after the other, each as an act of its own, which moves no common watermark (D26).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Final

from deja_tui.console.feed import Reviews
from deja_tui.engine.objects import RunOutcome

LIMIT_S: Final = 5.0
# A look that took longer promises a run that does not fit into the limit.
QUICK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of a run: its outcomes in order, and how many of how many analyzers had their turn."""

    outcomes: tuple[RunOutcome, ...]
    done: int
    of: int

    @property
    def partial(self) -> bool:
        return self.done < self.of


def look(
    reviews: Reviews,
    names: Sequence[str],
    *,
    quick: bool,
    stop: Event,
    progress: Callable[[int], None] = lambda done: None,
    now: Callable[[], float] = time.monotonic,
) -> Looked:
    """Run the analyzers ``names``: all at once where that is ``quick``, else in turn until the limit or ``stop``.

    Raises what `Loop.run` raises.
    """
    if quick:
        return Looked((reviews.run(),), len(names), len(names))
    began, outcomes = now(), []
    for name in names:
        if stop.is_set() or now() - began >= LIMIT_S:
            break
        outcomes.append(reviews.run(only=(name,)))
        progress(len(outcomes))
    return Looked(tuple(outcomes), len(outcomes), len(names))
