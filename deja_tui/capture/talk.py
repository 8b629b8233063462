# SPDX-License-Identifier: Apache-2.0
"""Conversations of any source as items: sessions, turns, tool calls with their results. Formats only parse.

Numbered rules, cited by tests:

* TALK-1  One event for each session and each turn that says something; one tool grain for each call (ITEM-2). A result
  lives in its tool grain only.
* TALK-2  Keys (D32): a turn by its session and the id its source gives it; without an id by a digest of what it says
  and its number among equal ones of the session. A call by its session and its call id; without one by its digest and
  number likewise. A session without an id is known by the digest that its format names.
* TALK-3  What a program, not a person, put into the user's mouth (an environment, instructions) is an event of the host.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from deja_tui.capture.calls import Answer, Call, CallJoin
from deja_tui.capture.desk import IDENT_MAX, Desk
from deja_tui.capture.ids import Ids
from deja_tui.capture.report import FileReport
from deja_tui.capture.tame import Shears, digest
from deja_tui.capture.times import Moment
from deja_tui.items import UNKNOWN_TOOL, CaptureItem
from deja_tui.text import compact_json

_TEXT_KEYS: Final = ("text", "content", "value", "thinking")


class Talk(Desk):
    """Builds the items of one file. Holds open calls and digests, no texts (SRC-1)."""

    def __init__(self, source: str, report: FileReport, now_ms: int) -> None:
        super().__init__(source, report, now_ms)
        self._sessions = Ids()
        self._calls = CallJoin(source)
        self.told = Ids()
        """What the conversations of this file have to remember of their calls (MSG-3)."""

    def session(self, session: str, at: Moment, says: str, **fields: Any) -> None:
        """One event when a session is first seen. ``says`` and texts of ``fields`` are raw."""
        if not session or not self._sessions.add(session):
            return
        told = {
            name: self.clean(value)[:1_000]
            for name, value in fields.items()
            if isinstance(value, str) and value
        }
        place = self.place(session, "", at)
        key = f"{self.source}/session/{session}"
        whole = {"content": self.clean(says), "role": "system", "event_kind": "session", **told}
        self.grain("event", key, place, whole)

    def turn(
        self,
        role: str,
        text: str,
        *,
        session: str,
        at: Moment,
        record: str = "",
        author: str | None = None,
        calls: Iterable[str] = (),
        raw: Any = None,
        **extra: Any,
    ) -> None:
        """One event of what was said (TALK-1). Nothing is kept of a turn without text and calls.

        Args:
            role: user, assistant, system or tool; another word is kept as host.
            text: raw text. record: the id its source gives it. raw: what its digest is of, when it has no id.
            calls: names of the tools it calls, said in place of a missing text.
            extra: further fields of the event; None is left out.
        """
        said = self.clean(text) if text.strip() else ""
        names = [str(self.clean(name))[:IDENT_MAX] for name in dict.fromkeys(calls)]
        if not said and not names:
            return
        shears = Shears()
        fields: dict[str, Any] = {
            "content": shears.text(said or f"[calls {', '.join(names[:10])}]"),
            "role": role if role in ("user", "assistant", "system", "tool") else "system",
            "event_kind": "turn",
        }
        if role == "user":
            fields["author"] = author or "person"
        elif author:
            fields["author"] = author
        fields |= {name: value for name, value in extra.items() if value is not None}
        key = self.key("turn", session, record, text if raw is None else raw)
        self.grain("event", key, self.place(session, record, at), fields, shears)

    def call(
        self,
        call_id: str,
        tool: str,
        arguments: Any,
        *,
        session: str,
        at: Moment,
        raw: Any = None,
        latest: bool = False,
    ) -> str:
        """A call; the id under which its result will be told (made up from its digest when the source has none).

        ``latest``: a call that is told again replaces the one that still waits for its result.
        """
        known = call_id or self._made_up(session, [tool, arguments] if raw is None else raw)
        name = str(self.clean(tool))[:IDENT_MAX] or UNKNOWN_TOOL
        new = self.counts.calls.call(self._scoped(session, known), name)
        if not new and latest:
            self.counts.calls.rename(self._scoped(session, known), name)
        if new or latest:
            place = self.place(session, known, at)
            kept = None if arguments is None else self.clean(parsed(arguments))
            self._ready += self._calls.call(self._scoped(session, known), Call(name, kept, place))
        else:
            self.report.note(0, "a call id that is used twice: the first one counts")
        return known

    def result(
        self, call_id: str, text: str, *, failed: bool, session: str, at: Moment, declined: bool = False
    ) -> bool:
        """The result of a call; whether it is the first one."""
        scoped = self._scoped(session, call_id)
        if not self.counts.calls.result(scoped, failed=failed):
            self.report.note(0, "a second result for a call: the first one counts")
            return False
        place = self.place(session, call_id, at)
        self._ready += self._calls.answer(scoped, Answer(self.clean(text), failed, declined, place))
        return True

    def tool_of(self, session: str, call_id: str) -> str | None:
        """The tool of a call that was told so far."""
        return self.counts.calls.tool_of(self._scoped(session, call_id))

    def lone_result(
        self, tool: str, text: str, *, failed: bool, session: str, at: Moment, record: str = "", **fields: Any
    ) -> None:
        """A result that names its tool, where the source keeps no calls: one tool grain, whose outcome is known."""
        name = str(self.clean(tool))[:IDENT_MAX] or UNKNOWN_TOOL
        known = record or self._made_up(session, [tool, text])
        scoped = self._scoped(session, known)
        if not self.counts.calls.result(scoped, failed=failed, tool=None if name == UNKNOWN_TOOL else name):
            return
        place, shears = self.place(session, record, at), Shears()
        told = {key: shears.value(self.clean(value)) for key, value in fields.items() if value is not None}
        told |= {"tool_name": name, "tool_call_id": scoped, "tool_content": shears.text(self.clean(text))}
        if name == UNKNOWN_TOOL:
            told["call_missing"] = True
        self.grain("tool", f"{self.source}/call/{scoped}", place, told | {"is_error": failed}, shears)

    def whole_call(
        self,
        tool: str,
        arguments: Any,
        text: str,
        *,
        failed: bool,
        session: str,
        at: Moment,
        call_id: str = "",
    ) -> None:
        """A call that stands in its source together with its result."""
        known = self.call(call_id, tool, arguments, session=session, at=at, raw=[tool, arguments, text])
        self.result(known, text, failed=failed, session=session, at=at)

    def rest(self) -> Iterator[list[CaptureItem]]:
        """What is left at the end of the file, which was read whole."""
        self._ready += self._calls.rest()
        self.counts.count("texts_cut", self._calls.cut)
        yield from super().rest()

    def _scoped(self, session: str, call_id: str) -> str:
        return f"{session}/{call_id}" if session else call_id

    def _made_up(self, session: str, raw: Any) -> str:
        said = digest([self.piece, raw] if self.piece else raw)
        return f"{said}#{self.number(f'call/{session}/{said}')}"


def text_of(content: Any) -> str:
    """The text of a message's content: a text, or the texts of its parts; "" for anything else."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return next((content[key] for key in _TEXT_KEYS if isinstance(content.get(key), str)), "")
    if isinstance(content, list):
        return "\n\n".join(text for part in content if (text := text_of(part)))
    return ""


def parsed(arguments: Any) -> Any:
    """The arguments of a call as data, when they are the JSON of an object; else as they are."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value = json.loads(arguments, parse_constant=str)
    except (ValueError, RecursionError):
        return arguments
    return value if isinstance(value, dict) else arguments


def said(value: Any) -> str:
    """A result as text: a text as it is, anything else as compact JSON; None is nothing."""
    if value is None:
        return ""
    return value if isinstance(value, str) else text_of(value) or compact_json(value)
