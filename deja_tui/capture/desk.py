# SPDX-License-Identifier: Apache-2.0
"""What every importer does with a record before it becomes a grain: clean it, date it, give it a key.

* DESK-1  Every text goes through the door, loses its secrets and is cut at 32,768 characters before it is kept.
* DESK-2  The order is that of the file; the clock only dates. A record without a usable time borrows that of the nearest
  earlier one; where no time was read yet, it lies in the hour before the import, in the order of the file. It is marked.
* DESK-3  A record without an id is known by a digest of what it says and its number among equal ones. Where it may be one
  piece of something that several files tell (`piece` is set), its time or its file is part of that: what was said twice
  is kept twice, and a copy of the file adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from deja_tui.capture import times
from deja_tui.capture.calls import Place
from deja_tui.capture.figures import Counts
from deja_tui.capture.ids import Ids
from deja_tui.capture.report import FileReport
from deja_tui.capture.tame import Shears, digest, tame
from deja_tui.capture.times import Moment
from deja_tui.items import CaptureItem, ItemType
from deja_tui.redact import redact, redact_into

HOUR_MS: Final = 3_600_000
IDENT_MAX: Final = 200
_STEP_MS: Final = 1_000


class Desk:
    """Where the records of one file are worked on. Holds digests and items that wait, no texts (SRC-1)."""

    def __init__(self, source: str, report: FileReport, now_ms: int) -> None:
        if not isinstance(report.tally, Counts):
            raise TypeError("this source is counted in Counts")
        self.source = source
        self.report = report
        self.counts = report.tally
        self._now = now_ms
        self._neighbour: int | None = None
        self._ordinal = 0
        self._same = Ids()
        self.piece = ""
        self._ready: list[CaptureItem] = []

    def clean(self, value: Any) -> Any:
        """A raw value as it may be kept (DESK-1), not cut yet."""
        tamed = tame(value)
        return redact_into(tamed, self.counts.redacted) if self.report.redacts else tamed

    def word(self, value: Any, limit: int = IDENT_MAX) -> str | None:
        """A short text as it may be kept; None for anything else."""
        return str(self.clean(value))[:limit] if isinstance(value, str) and value.strip() else None

    def ident(self, value: Any) -> str:
        """An id as text; one that looks like a secret is known by its digest only. "" for none."""
        if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
            return ""
        text = str(tame(value))[:IDENT_MAX]
        kept, found = redact(text)
        return digest(text) if found else str(kept)

    def moment(self, value: Any, line: int = 0) -> Moment:
        """When something happened that says ``value`` (DESK-2). Counts and notes what had no usable time."""
        self._ordinal += 1
        at = times.usable(value, self._now)
        if at is not None:
            self._neighbour = at
            return Moment(at, known=True)
        found = times.moment(value, self._now, self._near())
        self.counts.count("records_without_usable_time")
        self.report.note(line, f"no usable time ({found.trouble}), {_lent(self._neighbour)}")
        return found

    def undated(self) -> Moment:
        """The time of something whose source keeps none: a neighbour's, or within the hour before the import."""
        self._ordinal += 1
        return Moment(self._near(), known=False, trouble="missing")

    def ready(self) -> list[CaptureItem]:
        """What needs not wait any longer."""
        ready, self._ready = self._ready, []
        return ready

    def rest(self) -> Iterator[list[CaptureItem]]:
        """What is left at the end of the file, which was read whole."""
        self.report.complete = True
        yield self.ready()

    def number(self, of: str) -> int:
        """How often this was asked for these words, this time included (DESK-3)."""
        return self._same.bump(of)

    def key(self, kind: str, scope: str, record: str, raw: Any) -> str:
        """The source key of a record by its id, or without one by its digest and number (DESK-3)."""
        parts = [self.source, kind, scope]
        if record:
            return "/".join(part for part in (*parts, record) if part)
        said = digest([self.piece, raw] if self.piece else raw)
        return "/".join(part for part in (*parts, said, str(self.number(f"{kind}/{scope}/{said}"))) if part)

    def place(self, session: str, record: str, at: Moment) -> Place:
        """Where the record stands that was dated last."""
        return Place(self.source, session, "", (record,) if record else (), self._ordinal, at)

    def grain(
        self,
        kind: ItemType,
        key: str,
        place: Place,
        fields: Mapping[str, Any],
        shears: Shears | None = None,
        marks: Mapping[str, Any] | None = None,
    ) -> None:
        """Put an item down. ``marks`` go into its context, beside the key and the place."""
        context = place.context(key, place.at) | dict(marks or {})
        if shears and shears.elided:
            self.counts.count("texts_cut")
            context["elided"] = shears.elided
        whole = place.fields() | dict(fields) | {"created_at": place.at.ms, "context": context}
        self._ready.append(CaptureItem(kind, key, whole, place.at.known))

    def _near(self) -> int:
        if self._neighbour is not None:
            return self._neighbour
        return max(self._now - HOUR_MS, 0) + min(self._ordinal * _STEP_MS, HOUR_MS)


def _lent(neighbour: int | None) -> str:
    return "it lies in the hour before the import" if neighbour is None else "a neighbour's is taken"
