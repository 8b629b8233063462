# SPDX-License-Identifier: Apache-2.0
"""``deja hook capture``: what happened since the last time, into the memory or, where that is not possible, the spool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from deja_tui import namespaces, spool
from deja_tui.capture.hooks import BUSY_MS, grown, transcript
from deja_tui.capture.tame import Shears, digest, tame
from deja_tui.errors import DejaError
from deja_tui.intake import Intake
from deja_tui.items import CaptureItem
from deja_tui.record import Record
from deja_tui.redact import redact, redact_into
from deja_tui.store.acts import Acts
from deja_tui.store.places import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

_SOURCE: Final = "claude-code"
_NAME_MAX: Final = 200
_CALL_EVENTS: Final = ("PostToolUseFailure", "PostToolUse")


class Report:
    """What became of one event: counts, and the codes of what went wrong (never a text)."""

    def __init__(self) -> None:
        self.added = self.completed = self.skipped = self.forgotten = self.spooled = self.redacted = 0
        self.codes: list[str] = []


class Where(Record):
    """Which memory, and which namespace of it; None: what the file declares. ``redacts``: secrets are taken out."""

    _fields = ("db", "namespace", "now_ms", "redacts")
    __slots__ = _fields

    def __init__(self, db: str, namespace: str | None, now_ms: int, redacts: bool = True) -> None:
        self.db = db
        self.namespace = namespace
        self.now_ms = now_ms
        self.redacts = redacts


class Capture:
    """One event of the agent."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._store: Acts | None = None
        self._intake: Intake | None = None
        self._refused = False
        self.report = Report()

    def run(self, event: Mapping[str, Any]) -> Report:
        """Store what the event tells and what its transcript has grown by. Raises OSError only where even the spool fails."""
        session = str(event.get("session_id") or "")
        masked: Counter[str] | None = Counter() if self._where.redacts else None
        call = call_of(event, self._where.now_ms, masked)
        self.report.redacted += sum(masked.values()) if masked else 0
        try:
            for path in grown.transcripts(event):
                call = self._file(path, session, call)
            if call is not None:
                self._keep((call,), None)
        finally:
            if self._store is not None:
                self._store.close()
        return self.report

    def _file(self, path: str, session: str, call: CaptureItem | None) -> CaptureItem | None:
        """One transcript to its end; what is left of the event's own call."""
        key = grown.cursor_key(path)
        place = self._cursor(key)
        while True:
            try:
                piece = transcript.read(
                    path, place, session=session, now_ms=self._where.now_ms, redacts=self._where.redacts
                )
            except OSError:
                self.report.codes.append("IMP-E001")
                return call
            except DejaError as fault:
                self.report.codes.append(fault.code)
                return call
            if piece is None:
                return call
            self.report.redacted += piece.redacted
            items, call = joined(piece.items, call)
            if items or piece.cursor != place:
                self._keep(items, (key, piece.cursor))
            if not piece.more or (place is not None and piece.cursor["offset"] <= place["offset"]):
                return call
            place = piece.cursor

    def _cursor(self, key: str) -> dict[str, Any] | None:
        """Where the last reading ended: what waits in the spool is newer than what the memory holds."""
        found = spool.cursor(self._where.db, key)
        store = self._opened() if found is None else None
        if store is not None:
            try:
                found = store.setting(key)
            except DejaError as fault:
                self._refuse(fault)
        return found if isinstance(found, dict) and type(found.get("offset")) is int else None

    def _opened(self) -> Acts | None:
        """The memory as far as a capture needs it: what `Memory` opens besides costs more than the capture (D47)."""
        if self._store is None and not self._refused:
            try:
                self._store = Acts.open(
                    named(self._where.db), busy_ms=BUSY_MS, durability="normal", clock=self._now
                )
                self._intake = Intake(
                    self._store, namespaces.of_file(self._store, self._where.namespace), self._now
                )
            except DejaError as fault:
                self._refuse(fault)
        return self._store

    def _now(self) -> int:
        return self._where.now_ms

    def _refuse(self, fault: DejaError) -> None:
        self._refused = True
        self.report.codes.append(fault.code)

    def _keep(self, items: tuple[CaptureItem, ...], cursor: tuple[str, Any] | None) -> None:
        store = None if self._refused else self._opened()
        if store is not None and self._intake is not None:
            try:
                with store.act() as act:
                    done = self._intake.take(items, tame=True)
                    if cursor is not None:
                        act.set_setting(*cursor)
            except DejaError as fault:
                self._refuse(fault)
            else:
                self.report.added += done.added
                self.report.completed += done.completed
                self.report.skipped += done.skipped
                self.report.forgotten += done.forgotten
                return
        if items:
            rows = [(item.type, item.source_key, dict(item.fields)) for item in items]
            spool.lay_down(self._where.db, rows, namespace=self._where.namespace, cursor=cursor)
            self.report.spooled += len(rows)


def call_of(event: Mapping[str, Any], now_ms: int, masked: Counter[str] | None) -> CaptureItem | None:
    """The call that an event tells of: a failed one, or one that went well (HOOK-7).

    ``masked``: counts what is taken out; None: nothing is.
    """

    def cleaned(value: Any) -> Any:
        return tame(value) if masked is None else redact_into(tame(value), masked)

    kind, tool = event.get("hook_event_name"), event.get("tool_name")
    if kind not in _CALL_EVENTS and not ("error" in event and isinstance(tool, str)):
        return None
    failed = kind != "PostToolUse"
    said = _said(event.get("error") if failed else event.get("tool_response"))
    given = event.get("tool_use_id")
    known = _short(given) or f"{digest(tame(dict(event)))}-{now_ms}"
    key = f"{_SOURCE}/call/{known}"
    shears = Shears()
    fields: dict[str, Any] = {
        "source_type": "import",
        "tool_name": _short(tool) or "(unnamed)",
        "tool_call_id": known,
        "tool_content": shears.text(cleaned(said)),
        "is_error": failed,
        "created_at": now_ms,
        "context": {"source_key": key, "import": {"source": _SOURCE}, "ordinal": 0},
    }
    if event.get("tool_input") is not None:
        fields["input"] = shears.value(cleaned(event["tool_input"]))
    session = _short(event.get("session_id"))
    if session:
        fields["session_id"] = session
    if failed and event.get("is_interrupt") is True:
        fields["failure_cause"] = "user_aborted"
    if shears.elided:
        fields["context"]["elided"] = shears.elided
    return CaptureItem("tool", key, fields)


def joined(
    items: tuple[CaptureItem, ...], call: CaptureItem | None
) -> tuple[tuple[CaptureItem, ...], CaptureItem | None]:
    """The items of a transcript with the event's own call in the place of its half; and that call, when it is not there."""
    if call is None:
        return items, None
    kept: list[CaptureItem] = []
    found = False
    for item in items:
        if item.source_key == call.source_key:
            found = True
            more = call.complete(item.fields)
            item = item if more is None else CaptureItem(item.type, item.source_key, more, item.at_known)
        kept.append(item)
    return tuple(kept), None if found else call


def _said(value: Any) -> str:
    """A result as text: the output of a command, else a text as it is, else compact JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        parts = [
            value[name] for name in ("stdout", "stderr") if isinstance(value.get(name), str) and value[name]
        ]
        if parts:
            return "\n".join(parts)
    if value is None:
        return ""
    from deja_tui.text import compact_json

    return compact_json(value)


def _short(value: Any) -> str:
    return str(redact(tame(value))[0])[:_NAME_MAX] if isinstance(value, str) and value.strip() else ""
