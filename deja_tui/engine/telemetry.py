# SPDX-License-Identifier: Apache-2.0
"""What an analyzer may ask of telemetry: the capability ``telemetry`` of a substrate (D10, loop-engine §18).

A substrate that counts recalls offers a reader of this shape under the name ``telemetry``; without one, or with None there,
the analyzers that need it are skipped. Times are epoch ms. Texts are as they were asked: hostile, and not cleaned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol


class Counted(Protocol):
    """How often a grain was recalled or delivered."""

    @property
    def count(self) -> int: ...


class Asked(Protocol):
    """A free-text question in all its wordings. ``text`` is their common form, ``sample`` the newest of them."""

    @property
    def namespace(self) -> str: ...
    @property
    def sample(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def subject(self) -> str | None: ...
    @property
    def runs(self) -> int: ...
    @property
    def empties(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def last_empty(self) -> int | None: ...
    @property
    def last_found(self) -> int | None: ...
    @property
    def key(self) -> str: ...


class Logged(Protocol):
    """One time a question was asked: when, how much was found, and the addresses of the best."""

    @property
    def at(self) -> int: ...
    @property
    def results(self) -> int: ...
    @property
    def top(self) -> tuple[str, ...]: ...


class Assembled(Protocol):
    """Contexts put together under a budget, and those that left something out."""

    @property
    def samples(self) -> int: ...
    @property
    def overflows(self) -> int: ...


class TelemetryReader(Protocol):
    """The reads of the capability. None of them raises: what is not there is empty."""

    def watching(self) -> Mapping[str, int]:
        """Since when each mode counts; ``aggregate`` is the one that says how long recalls were counted."""
        ...

    def recalled_more_than(self, count: int = 0) -> Sequence[bytes]:
        """Raw addresses of grains recalled more often than ``count``."""
        ...

    def access_of(self, addresses: Iterable[str]) -> Mapping[str, Counted]:
        """Recalls of these grains; one that was never recalled is left out."""
        ...

    def deliveries(self) -> Mapping[str, Counted]:
        """Grains handed to an agent as context (D53)."""
        ...

    def queries(
        self,
        least_runs: int = 1,
        *,
        least_empty_ratio: float = 0.0,
        namespaces: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Sequence[Asked]:
        """Questions, the most asked first."""
        ...

    def asked(self, key: str, limit: int = 20) -> Sequence[Logged]:
        """The newest log rows of one question, newest first; none where no log is kept."""
        ...

    def contexts(self, since_ms: int, until_ms: int | None = None) -> Assembled:
        """Contexts from ``since_ms`` on, and before ``until_ms``."""
        ...
