# SPDX-License-Identifier: Apache-2.0
"""What a replay found, in lines: what the tried settings add, what they lose, and how each was decided in truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from deja_tui.replay import Replay, ReplayFinding
from deja_tui.text import clean, clip, unfenced, utc

_SHOWN = 40


def lines(found: Replay, width: int) -> list[str]:
    """A head, then three lists, each with how many there are, then what did not look."""
    times = found.times
    head = f"{len(times)} {'time' if len(times) == 1 else 'times'}"
    told = [
        f"{head} from {utc(times[0])} to {utc(times[-1])}, {len(found.analyzers)} "
        f"{'analyzer' if len(found.analyzers) == 1 else 'analyzers'}. Nothing was written."
        if times
        else "No time to look at."
    ]
    parts = (
        ("Only with these settings", found.added),
        ("No more with these settings", found.gone),
        ("With both", found.kept),
    )
    for title, findings in parts:
        told += ["", f"{title}: {len(findings)}{_decided(findings)}"]
        told += [line for one in findings[:_SHOWN] for line in _finding(one, width)]
        if len(findings) > _SHOWN:
            told.append(f"  … and {len(findings) - _SHOWN} more: --format json")
    if found.unseen:
        told += [
            "",
            f"{found.unseen} that were really proposed hold at none of these times: a shorter --every",
        ]
    for one in found.skipped:
        told.append(clip(f"not looked: {clean(one.id)}: {clean(one.reason)}", width))
    return told


def _decided(findings: Sequence[ReplayFinding]) -> str:
    """How they were decided in truth: ``, in truth 3 applied, 1 rejected, 2 never proposed``."""
    counts = Counter(one.was or "never proposed" for one in findings)
    told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(counts.items()))
    return f", in truth {told}" if told else ""


def _finding(one: ReplayFinding, width: int) -> list[str]:
    state = (one.was or "never proposed").replace("_", " ")
    address = f" {one.address[:12]}" if one.address else ""
    first = f"  {one.severity:<6} {utc(one.first_ms)}  {state}{address}"
    because = f"  because «{unfenced(clean(one.because))}»" if one.because else ""
    return [clip(first + because, width), clip(f"         {clean(one.summary)}", width)]
