# SPDX-License-Identifier: Apache-2.0
"""Claude Code: session files (JSON Lines) and the web form, read into sessions, turns and tool calls.

Numbered rules, cited by tests:

* CC-1  One event for each turn: a person's or host's message, an assistant message (all lines with one message id),
  a set of tool results, a summary, a notice. One event for each session and sub-agent, too. One tool grain for each
  call id, joined to its result.
* CC-2  The order is that of the file; the clock only dates. A record without usable time borrows that of the nearest
  earlier record which has one, else of the first later one, else now; it is marked.
* CC-3  Keys (D32): a call by its call id; a session by its id; a user record by its uuid and a digest of what it says,
  since real files use a uuid twice for different things; an assistant message by its message id and a digest of its
  first piece; a record without any id by a digest of itself and its number among equal ones. The last differs from
  D32's file digest on purpose: a session file grows, and its records must keep their keys when it does.
* CC-4  A failure is ``is_error: true`` of a tool result, nothing else. Of two results for one call the first counts;
  the second stays an event and is marked.
* CC-5  Hidden reasoning, snapshots and bookkeeping records are left out and counted; text is cut at 32,768 characters
  and says so; secrets are taken out before anything leaves this file.
* CC-6  Nothing in a file can stop the import of another file, or of its own other lines.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from deja_tui.capture import jsonl, times
from deja_tui.capture.calls import Answer, Call, CallJoin, Place
from deja_tui.capture.chain import Chain
from deja_tui.capture.importers import claude_turns
from deja_tui.capture.importers.claude_turns import Result, Turn, Use, ident
from deja_tui.capture.items import CHUNK, UNKNOWN_TOOL, CaptureItem, CaptureSink
from deja_tui.capture.jsonl import Line
from deja_tui.capture.redact import redact
from deja_tui.capture.report import FileReport, ImportReport
from deja_tui.capture.tame import Shears, digest, tame
from deja_tui.errors import DejaError
from deja_tui.text import clean, door, strip_terminal_codes

SOURCE: Final = "claude-code"
EXCERPT: Final = 500  # characters of a result in its event; the tool grain holds the whole
WINDOW: Final = 256  # entries that wait for further lines of an assistant message
_BATCH_BYTES: Final = 4 * 1024 * 1024
_USAGE: Final = (
    ("input_tokens", "input_tokens"),
    ("output_tokens", "output_tokens"),
    ("cache_read_input_tokens", "cache_read_tokens"),
    ("cache_creation_input_tokens", "cache_creation_tokens"),
)
_TITLES: Final = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_LEFT_OUT: Final = frozenset(
    (
        "file-history-snapshot",
        "queue-operation",
        "progress",
        "attachment",
        "last-prompt",
        "permission-mode",
        "agent-name",
        "agent-color",
        "agent-setting",
        "mode",
        "tag",
        "pr-link",
        "worktree-state",
    )
)
_HOST_FLAGS: Final = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
_WRONG_KIND: Final = "give a session file or a folder of them, such as a project folder of Claude Code"


@dataclass(frozen=True, slots=True)
class Batch:
    """At most `CHUNK` items, and the report of their file, which goes on growing until the last batch."""

    items: tuple[CaptureItem, ...]
    report: FileReport


def import_claude_code(
    memory: CaptureSink, path: str | os.PathLike[str], *, now_ms: int, dry_run: bool = False
) -> ImportReport:
    """Read a session file, or every ``*.jsonl`` below a folder in the order of their paths, into ``memory``.

    Symbolic links below a folder are not followed. Running it again adds nothing but what is new in the source.
    With ``dry_run`` everything is read and nothing is stored.

    Raises:
        DejaError: IMP-E001 the path is not there or cannot be read; IMP-E002 it holds no Claude Code session. What
        the memory raises passes through; what was stored until then stays.
    """
    source = Path(path)
    report = ImportReport(SOURCE, dry_run)
    try:
        folder = source.is_dir()
    except OSError as fault:
        raise _unreadable(source, fault) from fault
    if folder:
        _import_folder(memory, source, report, now_ms)
    else:
        file = FileReport(door(source.name))
        _import_file(memory, source, file, now_ms, dry_run)
        report.take(file)
    return report


def read(path: str | os.PathLike[str], *, now_ms: int, name: str | None = None) -> Iterator[Batch]:
    """The items of one session file, in batches, with memory bounded by its longest line and not by its length.

    ``name`` is what reports call the file. Raises IMP-E001 and IMP-E002 as `import_claude_code` does; before
    IMP-E002 no item was given.
    """
    yield from _read(Path(path), FileReport(door(name or Path(path).name)), now_ms)


# --- files ------------------------------------------------------------------------------------------


def _import_folder(memory: CaptureSink, folder: Path, report: ImportReport, now_ms: int) -> None:
    paths, passed = _session_files(folder)
    if not paths and not passed:
        raise DejaError("IMP-E002", f"{clean(folder.name)} holds no .jsonl file", _WRONG_KIND)
    foreign = 0
    for path in paths:
        file = FileReport(_below(folder, path))
        try:
            _import_file(memory, path, file, now_ms, report.dry_run)
        except DejaError as fault:
            if fault.code not in ("IMP-E001", "IMP-E002"):
                raise
            if fault.code == "IMP-E002":
                foreign += 1
                file = FileReport(file.file)  # its lines are no lines of ours: they do not count
            file.lose(0, fault.message)
        report.take(file)
    if paths and foreign == len(paths):
        raise DejaError("IMP-E002", f"no file in {clean(folder.name)} is a Claude Code session", _WRONG_KIND)
    for name, reason in sorted(passed.items()):
        file = FileReport(name)
        file.lose(0, reason)
        report.take(file)


def _session_files(folder: Path) -> tuple[list[Path], dict[str, str]]:
    """The session files below a folder in the order of their paths, and what was passed by with the reason."""
    found: list[Path] = []
    passed: dict[str, str] = {}

    def failed(fault: OSError) -> None:
        passed[_below(folder, str(fault.filename))] = "the folder cannot be read"

    for root, folders, names in os.walk(folder, onerror=failed):
        linked = [name for name in folders if Path(root, name).is_symlink()]
        for name in (*linked, *names):
            path = Path(root, name)
            if path.is_symlink() and (name in linked or name.endswith(".jsonl")):
                passed[_below(folder, path)] = "a symbolic link, not followed"
            elif name.endswith(".jsonl"):
                found.append(path)
    return sorted(found, key=Path.as_posix), passed  # so that a session comes before its sub-agents


def _below(folder: Path, path: str | Path) -> str:
    return door(Path(path).relative_to(folder).as_posix())


def _import_file(memory: CaptureSink, path: Path, report: FileReport, now_ms: int, dry_run: bool) -> None:
    for batch in _read(path, report, now_ms):
        if batch.items and not dry_run:
            report.stored(memory.capture(batch.items))


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[Batch]:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(0, "not a regular file")
        with path.open("rb") as source:
            first = next((at for line in _lines(path, source) for at in _times(line.value, now_ms)), now_ms)
        with path.open("rb") as source:
            yield from _batches(_lines(path, source), _Reader(report, now_ms, first), report)
    except OSError as fault:
        raise _unreadable(path, fault) from fault


def _batches(lines: Iterator[Line], reader: _Reader, report: FileReport) -> Iterator[Batch]:
    waiting: list[CaptureItem] = []
    size = 0
    for line in lines:
        reader.feed(line)
        waiting += reader.ready()
        size += line.size
        if len(waiting) >= CHUNK or (waiting and size >= _BATCH_BYTES):
            yield from _chunks(waiting, report)
            waiting, size = [], 0
    waiting += reader.finish()
    report.complete = True
    yield from _chunks(waiting, report)


def _chunks(items: list[CaptureItem], report: FileReport) -> Iterator[Batch]:
    """At least one batch, so that a reader sees the report of a file that holds nothing."""
    for start in range(0, max(len(items), 1), CHUNK):
        yield Batch(tuple(items[start : start + CHUNK]), report)


def _unreadable(path: Path, fault: OSError) -> DejaError:
    why = fault.strerror or type(fault).__name__
    return DejaError(
        "IMP-E001", f"{clean(path.name)} cannot be read: {why}", "check the path and its permissions"
    )


def _lines(path: Path, source: BinaryIO) -> Iterator[Line]:
    """The lines of a file; a document over several lines (the web form, ``.json``) counts as one line."""
    if path.suffix == ".json":
        body = source.read(jsonl.LINE_LIMIT + 1)
        source.seek(0)
        if len(body) <= jsonl.LINE_LIMIT:
            try:
                value = json.loads(body.decode("utf-8-sig"), parse_constant=str)
            except (ValueError, RecursionError):
                value = None  # then it is read line by line, and each line says what is wrong with it
            if isinstance(value, dict) and not jsonl.too_deep(body, value):
                yield Line(1, "value", len(body), value)
                return
    yield from jsonl.lines(source)


def _times(value: Any, now_ms: int) -> Iterator[int]:
    """The usable times in a record, or in the records of the web form."""
    for record in _unfold(value):
        at = times.usable(record.get("timestamp"), now_ms) if isinstance(record, dict) else None
        if at is not None:
            yield at


def _unfold(value: Any) -> Iterable[Any]:
    """The records on a line: one, or those of the web form with its session put into each."""
    if not isinstance(value, dict) or not isinstance(value.get("loglines"), list):
        return (value,)
    names = ("sessionId", "session_id", "id")
    session = next((value[name] for name in names if isinstance(value.get(name), str)), None)
    given = {} if session is None else {"sessionId": session}
    return (given | record if isinstance(record, dict) else record for record in value["loglines"])


# --- records ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Record:
    line: int
    raw: Mapping[str, Any]
    uuid: str
    parent: str
    place: Place


@dataclass(slots=True)
class _Reply:
    """An assistant message that may still grow."""

    key: str
    message_id: str
    place: Place
    parent: str
    ids: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    blocks: list[str | Use | Result] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


class _Reader:
    """Turns the lines of one file into items, in their order. Holds open calls, open replies and ids, no more."""

    def __init__(self, report: FileReport, now_ms: int, first_ms: int) -> None:
        self._report = report
        self._tally = report.tally
        self._now = now_ms
        self._neighbour = first_ms
        self._chain = Chain()
        self._calls = CallJoin(SOURCE)
        self._queue: deque[CaptureItem | _Reply] = deque()
        self._replies: dict[str, _Reply] = {}
        self._seen: set[tuple[str, str]] = set()
        self._same: Counter[str] = Counter()
        self._known = False
        self._held = False

    def feed(self, line: Line) -> None:
        """Take one line."""
        if line.kind == "padding":
            self._tally.padding_lines += 1
            self._report.note(line.number, "padding: NUL bytes and nothing else")
        elif line.kind != "value":
            self._held = True
            self._tally.bad_lines += 1
            again = ": torn, read again by the next import" if line.kind == "torn" else ""
            self._report.lose(line.number, line.reason + again)
        else:
            self._held = True
            for value in _unfold(line.value):
                self._value(line.number, value)

    def ready(self) -> Iterator[CaptureItem]:
        """What needs not wait any longer."""
        while len(self._queue) > WINDOW:
            yield from self._next()

    def finish(self) -> Iterator[CaptureItem]:
        """What is left, once the file was read to its end. Raises IMP-E002 when nothing in it was Claude Code's."""
        if self._held and not self._known:
            raise DejaError(
                "IMP-E002", f"{clean(self._report.file)} is not a Claude Code session", _WRONG_KIND
            )
        while self._queue:
            yield from self._next()
        yield from self._calls.rest()
        self._tally.texts_cut += self._calls.cut
        for line, reason in self._chain.oddities():
            self._report.note(line, reason)
        tools = {call.tool for call in self._tally.calls.values() if call.tool}
        if len({strip_terminal_codes(tool).strip() for tool in tools}) < len(tools):
            self._report.note(0, "two spellings of one tool name: they differ in invisible characters only")

    def _next(self) -> Iterator[CaptureItem]:
        entry = self._queue.popleft()
        if isinstance(entry, CaptureItem):
            yield entry
            return
        self._replies.pop(entry.message_id, None)
        item = self._reply_item(entry)
        if item is not None:
            yield item

    # a record of any type

    def _value(self, line: int, value: Any) -> None:
        if not isinstance(value, dict):
            self._tally.non_object_records += 1
            self._report.lose(line, "not an object")
            return
        self._tally.records += 1
        kind = value.get("type")
        label = tame(kind)[:80] if isinstance(kind, str) else "null" if kind is None else "(no text)"
        self._tally.record_types[label] += 1
        record = self._record(line, value)
        if label in ("user", "assistant"):
            self._message(record, label == "user")
        elif label == "system":
            self._notice(record)
        elif label in _TITLES:
            self._title(record, label, value.get(_TITLES[label]))
        elif label in _LEFT_OUT:
            self._known = self._known or bool(record.place.session) or "snapshot" in value
            self._tally.left_out[label] += 1
        else:
            self._report.lose(line, "a record without type" if kind is None else "a record of unknown type")

    def _record(self, line: int, value: Mapping[str, Any]) -> _Record:
        uuid, parent = self._ident(value.get("uuid")), self._ident(value.get("parentUuid"))
        session, agent = self._ident(value.get("sessionId")), self._ident(value.get("agentId"))
        if session:
            self._tally.sessions.add(session)
        if value.get("isSidechain") is True:
            self._tally.sidechain_records += 1
        if uuid and not self._chain.add(line, uuid, parent):
            self._tally.duplicate_uuids += 1
        at = times.moment(value.get("timestamp"), self._now, self._neighbour)
        if at.known:
            self._neighbour = at.ms
        ids = (uuid,) if uuid else ()
        place = Place(SOURCE, session, agent, ids, self._tally.records, at)
        return _Record(line, value, uuid, parent, place)

    def _ident(self, value: Any) -> str:
        """An id as text; one that looks like a secret is known by its digest only."""
        text = ident(tame(value))
        kept, found = redact(text)
        return digest(text) if found else kept

    def _clean(self, value: Any) -> Any:
        kept, found = redact(tame(value))
        self._tally.redacted.update(found)
        return kept

    def _key(self, kind: str, record: _Record, *ids: str) -> str:
        """The key of a record by its ids (CC-3); without a first one, by what it says and its number among equals."""
        if ids[0]:
            return "/".join((SOURCE, kind, *ids))
        said = digest(record.raw)
        self._same[said] += 1
        return f"{SOURCE}/{kind}/{said}/{self._same[said]}"

    def _put(self, key: str, record: _Record, fields: dict[str, Any], shears: Shears, **marks: Any) -> None:
        place = record.place
        context = place.context(key, place.at) | marks
        if shears.elided:
            self._tally.texts_cut += 1
            context["elided"] = shears.elided
        if record.parent:
            fields["parent_message_id"] = record.parent
        whole = place.fields() | fields | {"created_at": place.at.ms, "context": context}
        self._queue.append(CaptureItem("event", key, whole, place.at.known))

    # sessions, titles, notices

    def _session(self, record: _Record) -> None:
        """One event for a session or sub-agent, when its first record is read."""
        self._known = True
        place = record.place
        if not place.session or (place.session, place.agent) in self._seen:
            return
        self._seen.add((place.session, place.agent))
        raw = record.raw
        extra = {
            "cwd": raw.get("cwd"),
            "git_branch": raw.get("gitBranch"),
            "client_version": raw.get("version"),
            "agent": raw.get("attributionAgent"),
            "root_record": record.uuid,
        }
        told = {
            name: self._clean(value)[:1_000]
            for name, value in extra.items()
            if isinstance(value, str) and value
        }
        who = f"sub-agent {place.agent} of session" if place.agent else "session"
        where = f" in {told['cwd']}" if "cwd" in told else ""
        kind = "sub-agent" if place.agent else "session"
        fields = {
            "content": f"Claude Code {who} {place.session}{where}",
            "role": "system",
            "event_kind": kind,
        }
        key = "/".join(part for part in (SOURCE, "session", place.session, place.agent) if part)
        context = place.context(key, place.at)
        whole = place.fields() | fields | told | {"created_at": place.at.ms, "context": context}
        self._queue.append(CaptureItem("event", key, whole, place.at.known))

    def _title(self, record: _Record, kind: str, text: Any) -> None:
        if not isinstance(text, str) or not text.strip():
            self._report.lose(record.line, f"a {kind} without text")
            return
        leaf = self._ident(record.raw.get("leafUuid"))
        self._known = self._known or bool(leaf or record.place.session)
        shears = Shears()
        fields = {"content": shears.text(self._clean(text)), "role": "system", "event_kind": "title"}
        key = self._key("title", record, leaf or record.place.session, digest(text))
        self._put(key, record, fields, shears, **({"leaf": leaf} if leaf else {}))

    def _notice(self, record: _Record) -> None:
        if record.uuid or record.place.session:
            self._session(record)
        self._date(record)
        text = record.raw.get("content")
        if not isinstance(text, str) or not text.strip():
            self._tally.left_out["system record without text"] += 1
            return
        shears = Shears()
        fields = {"content": shears.text(self._clean(text)), "role": "system", "event_kind": "notice"}
        self._put(self._key("system", record, record.uuid, digest(text)), record, fields, shears)

    def _date(self, record: _Record) -> None:
        """Count a record that should have a time and has none that can be used (CC-2)."""
        if not record.place.at.known:
            self._tally.records_without_usable_time += 1
            self._report.note(
                record.line, f"no usable time ({record.place.at.trouble}), a neighbour's is taken"
            )

    # messages

    def _message(self, record: _Record, from_user: bool) -> None:
        message = record.raw.get("message")
        if from_user and record.raw.get("isMeta") is True:
            self._tally.meta_user_records += 1
        if not isinstance(message, dict):
            self._date(record)
            self._report.lose(record.line, "a message that is no object")
            return
        self._session(record)
        self._date(record)
        turn = claude_turns.turn(self._clean(message.get("content")))
        self._tally.left_out.update(turn.left_out)
        for reason in turn.losses:
            self._report.lose(record.line, reason)
        if from_user:
            self._user(record, message, turn)
        else:
            self._assistant(record, message, turn)

    def _user(self, record: _Record, message: Mapping[str, Any], turn: Turn) -> None:
        if turn.texts and not turn.results and record.raw.get("isMeta") is not True:
            self._tally.user_text_records += 1
        if not turn.blocks:
            return
        unpaired, marks = self._results(record, turn)
        words = [text for text in map(claude_turns.typed, turn.texts) if text]
        author = self._author(record, bool(words))
        said = words if author != "host" else turn.texts
        shears = Shears()
        fields: dict[str, Any] = {"role": "user", "author": author, "event_kind": "turn"}
        if said:
            fields["content"] = shears.text("\n\n".join(said))
        else:
            fields |= {"role": "tool", "author": "tool", "content": self._results_said(turn)}
        self._blocks(fields, turn.blocks, shears, unpaired)
        key = self._key("user", record, record.uuid, digest(message.get("content")))
        self._put(key, record, fields, shears, **marks)

    def _author(self, record: _Record, typed: bool) -> str:
        if any(record.raw.get(flag) is True for flag in _HOST_FLAGS) or not typed:
            return "host"
        return "agent" if record.raw.get("isSidechain") is True else "person"

    def _results(self, record: _Record, turn: Turn) -> tuple[set[int], dict[str, Any]]:
        """Pair the results of a turn; the indices of those that got no tool grain, and what to mark."""
        unpaired: set[int] = set()
        marks: dict[str, Any] = {}
        for index, block in enumerate(turn.blocks):
            if not isinstance(block, Result):
                continue
            if not block.call_id:
                unpaired.add(index)
                self._report.note(record.line, "a tool result without call id")
            elif self._tally.result(block.call_id, failed=block.failed):
                answer = Answer(block.text, block.failed, block.declined, record.place)
                self._queue.extend(self._calls.answer(block.call_id, answer))
            else:
                unpaired.add(index)
                marks["second_result_of"] = block.call_id
                self._report.note(record.line, "a second result for a call: the first one counts")
        return unpaired, marks

    def _results_said(self, turn: Turn) -> str:
        said = [
            f"{'failed result' if block.failed else 'result'} of {self._tally.tool_of(block.call_id) or UNKNOWN_TOOL}"
            for block in turn.results[:10]
        ]
        return f"[{', '.join(said)}]"

    def _blocks(
        self, fields: dict[str, Any], blocks: list[str | Use | Result], shears: Shears, unpaired: set[int]
    ) -> None:
        """Typed blocks, unless they would only say the content again."""
        if len(blocks) != 1 or fields["content"] != blocks[0]:
            fields["content_blocks"] = claude_turns.stored_blocks(blocks, shears, EXCERPT, unpaired)

    def _assistant(self, record: _Record, message: Mapping[str, Any], turn: Turn) -> None:
        message_id = self._ident(message.get("id"))
        if message_id:
            self._tally.replies.add(message_id)
        else:
            self._tally.replies_without_id += 1
        piece = digest(message.get("content"))
        reply = self._replies.get(message_id) if message_id else None
        if reply is None:
            key = self._key("reply", record, message_id or record.uuid, piece)
            reply = _Reply(key, message_id, record.place, record.parent)
            self._queue.append(reply)
            if message_id:
                self._replies[message_id] = reply
        if piece in reply.pieces:
            return  # the very same line again: a copied record
        reply.pieces.append(piece)
        reply.ids += record.place.ids
        reply.blocks += turn.blocks
        reply.extra |= self._extra(record, message)
        self._uses(record, turn)

    def _extra(self, record: _Record, message: Mapping[str, Any]) -> dict[str, Any]:
        extra = {
            "model_id": self._clean(message.get("model")),
            "stop_reason": self._clean(message.get("stop_reason")),
        }
        told: dict[str, Any] = {
            name: text[:200] for name, text in extra.items() if isinstance(text, str) and text
        }
        usage = _usage(message.get("usage"))
        if usage:
            told["token_usage"] = usage
        if record.raw.get("isApiErrorMessage") is True:
            told["api_error"] = True
        return told

    def _uses(self, record: _Record, turn: Turn) -> None:
        for index, use in enumerate(turn.uses):
            call_id = use.call_id
            if not call_id:
                call_id = f"{record.uuid or digest(record.raw)}#{index}"
                self._report.note(record.line, "a tool call without id")
            if self._tally.call(call_id, use.tool):
                self._queue.extend(self._calls.call(call_id, Call(use.tool, use.input, record.place)))

    def _reply_item(self, reply: _Reply) -> CaptureItem | None:
        if not reply.blocks:
            self._tally.left_out["assistant message without text or calls"] += 1
            return None
        shears = Shears()
        texts = [block for block in reply.blocks if isinstance(block, str)]
        tools = dict.fromkeys(block.tool for block in reply.blocks if isinstance(block, Use))
        said = "\n\n".join(texts) if texts else f"[calls {', '.join(list(tools)[:10])}]"
        fields: dict[str, Any] = {"content": shears.text(said), "role": "assistant", "event_kind": "turn"}
        unpaired = {index for index, block in enumerate(reply.blocks) if isinstance(block, Result)}
        self._blocks(fields, reply.blocks, shears, unpaired)
        if reply.message_id:
            fields["message_id"] = reply.message_id
        if reply.parent:
            fields["parent_message_id"] = reply.parent
        place = reply.place
        context = place.context(reply.key, place.at)
        context["import"]["ids"] = reply.ids
        context["pieces"] = reply.pieces
        if shears.elided:
            self._tally.texts_cut += 1
            context["elided"] = shears.elided
        whole = place.fields() | fields | reply.extra | {"created_at": place.at.ms, "context": context}
        return CaptureItem("event", reply.key, whole, place.at.known)


def _usage(usage: Any) -> dict[str, int]:
    """Token counts as an event holds them, when both needed ones are there."""
    if not isinstance(usage, dict):
        return {}
    found = {ours: usage[theirs] for theirs, ours in _USAGE if _is_count(usage.get(theirs))}
    return found if "input_tokens" in found and "output_tokens" in found else {}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**32
