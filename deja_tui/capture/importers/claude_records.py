# SPDX-License-Identifier: Apache-2.0
"""The records of a Claude Code session file, one after the other, turned into items (rules CC-1 to CC-5).

Holds open calls, open replies and the ids of records, no more: memory does not grow with the texts of a file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

from deja_tui.capture import times
from deja_tui.capture.calls import Answer, Call, CallJoin, Place
from deja_tui.capture.chain import Chain
from deja_tui.capture.ids import Ids
from deja_tui.capture.importers import claude_turns
from deja_tui.capture.importers.claude_turns import Result, Turn, Use, ident
from deja_tui.capture.jsonl import Line
from deja_tui.capture.report import FileReport, Tally
from deja_tui.capture.tame import Shears, digest, tame
from deja_tui.errors import DejaError
from deja_tui.items import UNKNOWN_TOOL, CaptureItem
from deja_tui.record import Record
from deja_tui.redact import is_plain, redact, redact_into
from deja_tui.text import clean, strip_terminal_codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

SOURCE: Final = "claude-code"
EXCERPT: Final = 500  # characters of a result in its event; the tool grain holds the whole
PIECES_MAX: Final = 2_000
WINDOW: Final = 256  # entries that wait for further lines of an assistant message
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
WRONG_KIND: Final = "give a session file or a folder of them, such as a project folder of Claude Code"


def unfold(value: Any) -> Iterable[Any]:
    """The records on a line: one, or those of the web form with its session put into each."""
    if not isinstance(value, dict) or not isinstance(value.get("loglines"), list):
        return (value,)
    names = ("sessionId", "session_id", "id")
    session = next((value[name] for name in names if isinstance(value.get(name), str)), None)
    given = {} if session is None else {"sessionId": session}
    return (given | record if isinstance(record, dict) else record for record in value["loglines"])


class _Record(Record):
    _fields = ("line", "raw", "uuid", "parent", "place")
    __slots__ = _fields

    def __init__(self, line: int, raw: Mapping[str, Any], uuid: str, parent: str, place: Place) -> None:
        self.line = line
        self.raw = raw
        self.uuid = uuid
        self.parent = parent
        self.place = place


class _Reply:
    """An assistant message that may still grow."""

    __slots__ = ("blocks", "extra", "ids", "key", "message_id", "parent", "pieces", "place")

    def __init__(self, key: str, message_id: str, place: Place, parent: str) -> None:
        self.key, self.message_id, self.place, self.parent = key, message_id, place, parent
        self.ids: list[str] = []
        self.pieces: list[str] = []
        self.blocks: list[str | Use | Result] = []
        self.extra: dict[str, Any] = {}


class Reader:
    """Turns the lines of one file into items, in their order. Holds open calls, open replies and ids, no more."""

    def __init__(
        self,
        report: FileReport,
        now_ms: int,
        first_ms: int,
        *,
        records: int | None = None,
        head: Callable[[], str] | None = None,
    ) -> None:
        """``records``: how many stand in the part of the file that was read before; None: this is its beginning.

        ``head`` then gives the digest of the file's first record, where that is asked for.
        """
        if not isinstance(report.tally, Tally):
            raise TypeError("a session file is counted in a Tally")
        report.tally.records = records or 0
        self._report = report
        self._tally = report.tally
        self._now = now_ms
        self._neighbour = first_ms
        self._chain = Chain()
        self._calls = CallJoin(SOURCE)
        self._queue: deque[CaptureItem | _Reply] = deque()
        self._replies: dict[str, _Reply] = {}
        self._seen = Ids()
        self._same = Ids()
        self._head = ""
        self._ask_head = head
        self._known = records is not None
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
            for value in unfold(line.value):
                self._value(line.number, value)

    def ready(self) -> Iterator[CaptureItem]:
        """What needs not wait any longer."""
        while len(self._queue) > WINDOW:
            yield from self._next()

    def finish(self) -> Iterator[CaptureItem]:
        """What is left, once the file was read to its end. Raises IMP-E002 when nothing in it was Claude Code's."""
        if self._held and not self._known:
            raise DejaError(
                "IMP-E002", f"{clean(self._report.file)} is not a Claude Code session", WRONG_KIND
            )
        while self._queue:
            yield from self._next()
        yield from self._calls.rest()
        self._tally.texts_cut += self._calls.cut
        for line, reason in self._chain.oddities():
            self._report.note(line, reason)
        tools = self._tally.calls.tools()
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
        if not self._head and self._ask_head is None:
            self._head = digest(value)
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
        if value is None:
            return ""
        text = ident(tame(value))
        if is_plain(text):
            return text
        kept, found = redact(text)
        return digest(text) if found else kept

    def _clean(self, value: Any) -> Any:
        tamed = tame(value)
        return redact_into(tamed, self._tally.redacted) if self._report.redacts else tamed

    def _key(self, kind: str, record: _Record, *ids: str) -> str:
        """The key of a record by its ids (CC-3); without a first one, by what it says and its number among equals."""
        if ids[0]:
            return "/".join((SOURCE, kind, *ids))
        if kind in ("user", "reply") and "timestamp" not in record.raw:
            return f"{SOURCE}/{kind}/{self._occurrence(record)}"
        said = digest(record.raw)
        return f"{SOURCE}/{kind}/{said}/{self._same.bump(said)}"

    def _occurrence(self, record: _Record) -> str:
        """What tells a record without id and time from one that says the same: its file and its place in it (CC-3)."""
        if not self._head and self._ask_head is not None:
            self._head = self._ask_head()
        return f"{digest(record.raw)}/{self._head}/{record.place.ordinal}"

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
        if not place.session or not self._seen.add(f"{place.session}/{place.agent}"):
            return
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
            elif self._tally.calls.result(block.call_id, failed=block.failed):
                answer = Answer(block.text, block.failed, block.declined, record.place)
                self._queue.extend(self._calls.answer(block.call_id, answer))
            else:
                unpaired.add(index)
                marks["second_result_of"] = block.call_id
                self._report.note(record.line, "a second result for a call: the first one counts")
        return unpaired, marks

    def _results_said(self, turn: Turn) -> str:
        said = [
            f"{'failed result' if block.failed else 'result'} of {self._tally.calls.tool_of(block.call_id) or UNKNOWN_TOOL}"
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
        if len(reply.pieces) >= PIECES_MAX:
            self._report.lose(
                record.line, "a reply of too many pieces: what it says from here on is left out"
            )
            self._uses(record, turn)
            return
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
                known = record.uuid or (
                    digest(record.raw) if "timestamp" in record.raw else self._occurrence(record)
                )
                call_id = f"{known}#{index}"
                self._report.note(record.line, "a tool call without id")
            if self._tally.calls.call(call_id, use.tool):
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
