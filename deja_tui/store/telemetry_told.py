# SPDX-License-Identifier: Apache-2.0
"""What `telemetry.Telemetry` tells: frozen rows, times in epoch ms."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Access:
    """How often a grain was recalled or delivered; first and last in epoch ms."""

    count: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Accessed:
    """One grain that was recalled: ``namespace`` is the one that was asked first; first and last in epoch ms."""

    address: str
    namespace: str
    count: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class QueryStat:
    """A free-text question. Texts are as they were asked, at most 200 characters, not cleaned.

    Attributes:
        sample: the newest wording.
        runs: how often it was asked; ``empties``: how often nothing was found; ``results``: grains given, all runs.
        first, last: when it was asked, epoch ms.
        text: the normal form, under which all wordings are one: folded, white space made one space.
        subject: what the question was narrowed to, if anything; a part of what makes two questions one.
        last_empty, last_found: the newest run that found nothing, or something. A question whose ``last_found`` is
            above ``last_empty`` is answered, whatever its counts say.
        key: 32 hex digits, what `Telemetry.asked` takes.
    """

    namespace: str
    sample: str
    runs: int
    empties: int
    results: int
    first: int
    last: int
    text: str = ""
    subject: str | None = None
    last_empty: int | None = None
    last_found: int | None = None
    key: str = ""


@dataclass(frozen=True, slots=True)
class Contexts:
    """Contexts put together under a budget inside a window; first and last in epoch ms, None without any."""

    samples: int
    overflows: int
    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class Recalled:
    """One row of the log (mode ``full``)."""

    at: int
    run: str | None
    namespace: str
    subject: str | None
    query: str | None
    results: int
    latency_us: int
    top: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TelemetryStats:
    """What the sidecar holds. ``watching`` gives for each mode the epoch ms since which it counts."""

    mode: str
    watching: dict[str, int] = field(default_factory=dict)
    grains_recalled: int = 0
    recalls: int = 0
    queries: int = 0
    logged: int = 0
    deliveries: int = 0
    samples: int = 0
    overflows: int = 0
    lost: int = 0
    bytes: int = 0
    notice: str | None = None
