# SPDX-License-Identifier: Apache-2.0
"""What an import read, stored, left out and lost, in the words of ``samples/expected.json``.

Numbered rules, cited by tests:

* REP-1  The figures of a file are counted from what was read; ``added``, ``skipped``, ``completed`` and ``forgotten``
  are what the memory answered. A call is its call id, a reply its message id, a session its id: what a file holds twice counts once.
* REP-2  The total of several files counts each id once as well, so it is not the sum of its files.
* REP-3  Nothing is dropped without a line: a *loss* has file, line number and reason; a kind of record that is left
  out on purpose is counted in ``left_out``; an oddity that cost nothing is a *note*, once for each file and reason.
* REP-4  Rows are bounded: beyond `LOSS_ROWS` losses a file only counts on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from deja_tui.capture.figures import CallCount, Figures, ranked
from deja_tui.capture.ids import Ids
from deja_tui.items import CaptureResult
from deja_tui.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

LOSS_ROWS: Final = 200
NOTE_LINES: Final = 20


class Loss(Record):
    """Something that was in the file and is not in the memory. Line 0: the file as a whole."""

    _fields = ("file", "line", "reason")
    __slots__ = _fields

    def __init__(self, file: str, line: int, reason: str) -> None:
        self.file = file
        self.line = line
        self.reason = reason


class Tally:
    """Figures that grow while records are read (REP-1) and can be laid together (REP-2)."""

    def __init__(self) -> None:
        self.records = 0
        self.bad_lines = 0
        self.non_object_records = 0
        self.padding_lines = 0
        self.user_text_records = 0
        self.meta_user_records = 0
        self.sidechain_records = 0
        self.duplicate_uuids = 0
        self.records_without_usable_time = 0
        self.texts_cut = 0
        self.replies_without_id = 0
        self.record_types: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.redacted: Counter[str] = Counter()
        self.sessions = Ids()
        self.replies = Ids()
        self.calls = CallCount()

    def add(self, other: Tally) -> None:
        """Lay the figures of another file on these (REP-2)."""
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("record_types", "left_out", "redacted"):
            getattr(self, name).update(getattr(other, name))
        self.sessions.update(other.sessions)
        self.replies.update(other.replies)
        self.calls.add(other.calls)

    def fresh(self) -> Tally:
        return Tally()

    def figures(self) -> dict[str, Any]:
        """The key names of ``samples/expected.json``, and ours beside them."""
        calls = self.calls.figures()
        return {
            "records": self.records,
            "bad_lines": self.bad_lines,
            "non_object_records": self.non_object_records,
            "padding_lines": self.padding_lines,
            "record_types": ranked(self.record_types),
            "sessions": len(self.sessions),
            "user_text_records": self.user_text_records,
            "meta_user_records": self.meta_user_records,
            "assistant_messages": len(self.replies) + self.replies_without_id,
            "tool_calls": calls["tool_calls"],
            "tool_results": calls["tool_results"],
            "tool_errors": calls["tool_errors"],
            "errors_by_tool": calls["errors_by_tool"],
            "calls_without_result": calls["calls_without_result"],
            "results_without_call": calls["results_without_call"],
            "sidechain_records": self.sidechain_records,
            "duplicate_uuids": self.duplicate_uuids,
            "records_without_usable_time": self.records_without_usable_time,
            "calls_by_tool": calls["calls_by_tool"],
            "texts_cut": self.texts_cut,
            "left_out": ranked(self.left_out),
            "redacted": self.redacted.total(),
            "redacted_by_kind": ranked(self.redacted),
        }


_SUMMED: Final = (
    "records",
    "bad_lines",
    "non_object_records",
    "padding_lines",
    "user_text_records",
    "meta_user_records",
    "sidechain_records",
    "duplicate_uuids",
    "records_without_usable_time",
    "texts_cut",
    "replies_without_id",
)


class FileReport:
    """One file of an import. Grows while the file is read; `close` frees what only counting needed.

    ``redacts``: what looks like a secret is taken out of what is read.
    """

    def __init__(self, file: str, tally: Figures | None = None, *, redacts: bool = True) -> None:
        self.file = file
        self.redacts = redacts
        self.tally: Figures = Tally() if tally is None else tally
        self.losses: list[Loss] = []
        self.loss_total = 0
        self.added = self.skipped = self.completed = self.forgotten = 0
        self.complete = False
        self._notes: dict[str, tuple[int, list[int]]] = {}
        self._figures: Mapping[str, Any] | None = None

    def lose(self, line: int, reason: str) -> None:
        """Say that something of this line is not in the memory (REP-3)."""
        self.loss_total += 1
        if len(self.losses) < LOSS_ROWS:
            self.losses.append(Loss(self.file, line, reason))

    def note(self, line: int, reason: str) -> None:
        """Say that something about this line is odd though nothing was lost (REP-3)."""
        count, lines = self._notes.get(reason, (0, []))
        if len(lines) < NOTE_LINES:
            lines.append(line)
        self._notes[reason] = (count + 1, lines)

    def stored(self, result: CaptureResult) -> None:
        """Add what the memory did with items of this file."""
        self.added += result.added
        self.skipped += result.skipped
        self.completed += result.completed
        self.forgotten += result.forgotten

    def close(self) -> None:
        """Keep the figures, free the ids."""
        self._figures = self.figures
        self.tally = self.tally.fresh()

    @property
    def figures(self) -> Mapping[str, Any]:
        """The figures of this file (REP-1)."""
        return self._figures if self._figures is not None else self.tally.figures()

    @property
    def notes(self) -> list[dict[str, Any]]:
        """One row for each kind of oddity: file, reason, how often, and the first lines."""
        return [
            {"file": self.file, "reason": reason, "count": count, "lines": lines}
            for reason, (count, lines) in self._notes.items()
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            **self.figures,
            "added": self.added,
            "skipped": self.skipped,
            "completed": self.completed,
            "forgotten": self.forgotten,
            "complete": self.complete,
            "loss_total": self.loss_total,
        }


class ImportReport:
    """A whole import: its files, and the total that counts each id once (REP-2)."""

    def __init__(self, source: str, dry_run: bool = False, total: Figures | None = None) -> None:
        self.source = source
        self.dry_run = dry_run
        self.files: list[FileReport] = []
        self.total: Figures = Tally() if total is None else total

    def take(self, file: FileReport) -> None:
        """Add a file that was read to its end, or as far as it could be."""
        self.total.add(file.tally)
        file.close()
        self.files.append(file)

    @property
    def figures(self) -> dict[str, Any]:
        """The figures of all files together (REP-2)."""
        return self.total.figures()

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def skipped(self) -> int:
        return sum(file.skipped for file in self.files)

    @property
    def completed(self) -> int:
        return sum(file.completed for file in self.files)

    @property
    def forgotten(self) -> int:
        return sum(file.forgotten for file in self.files)

    @property
    def losses(self) -> list[Loss]:
        """The loss rows of all files, in their order; `loss_total` counts those beyond the bound too (REP-4)."""
        return [loss for file in self.files for loss in file.losses]

    @property
    def loss_total(self) -> int:
        return sum(file.loss_total for file in self.files)

    @property
    def remarks(self) -> list[dict[str, Any]]:
        """What was odd without being lost, of all files in their order."""
        return [note for file in self.files for note in file.notes]

    def to_json(self) -> dict[str, Any]:
        """Append-only shape: the figures at the top are the total, each file has its own below ``files``."""
        return {
            "source": self.source,
            "dry_run": self.dry_run,
            **self.figures,
            "added": self.added,
            "skipped": self.skipped,
            "completed": self.completed,
            "forgotten": self.forgotten,
            "loss_total": self.loss_total,
            "loss": [{"file": row.file, "line": row.line, "reason": row.reason} for row in self.losses],
            "remarks": self.remarks,
            "files": [file.to_json() for file in self.files],
        }
