# SPDX-License-Identifier: Apache-2.0
"""Messages in the chat form that many programs share: role, content, tool_calls, tool_call_id.

* MSG-1  A call is told by the assistant's message (``tool_calls``, with or without ``function`` around name and
  arguments; the old ``function_call``), a result by a message of the role tool or function.
* MSG-2  A result without an id belongs to the oldest call of its name in this conversation that has none yet; where
  there is none it stands alone, with the tool it names.
* MSG-3  An id that was answered and is used again names another call: real files do so. It gets a number.
* MSG-5  Of the calls that wait for a result without an id the newest are known, so many as `CallJoin` holds.
* MSG-4  What a failure is, the format says: the caller gives the rule.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from deja_tui.capture.calls import HELD_MAX
from deja_tui.capture.talk import Talk, said, text_of
from deja_tui.capture.times import Moment

Failed = Callable[[Mapping[str, Any], str], bool]


def error_prefix(message: Mapping[str, Any], text: str) -> bool:
    """A result that begins with the word Error, or whose message carries an error flag."""
    flag = next(
        (message[name] for name in ("is_error", "error") if isinstance(message.get(name), bool)), None
    )
    return flag if flag is not None else text.lstrip().startswith(("Error", "error:", "ERROR"))


def calls_of(message: Mapping[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """(id, tool, arguments) of each call a message makes (MSG-1)."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            nested = call.get("function")
            inner = nested if isinstance(nested, Mapping) else call
            yield call.get("id"), inner.get("name"), inner.get("arguments")
    old = message.get("function_call")
    if isinstance(old, Mapping):
        yield None, old.get("name"), old.get("arguments")


class Conversation:
    """The messages of one session, fed in their order."""

    def __init__(self, talk: Talk, session: str, failed: Failed = error_prefix) -> None:
        self._talk = talk
        self._session = session
        self._failed = failed
        self._open: dict[str, deque[str]] = {}

    def feed(self, message: Mapping[str, Any], at: Moment, *, text: str | None = None, **extra: Any) -> None:
        """Take one message. ``text`` where the format keeps it elsewhere than in ``content``."""
        role = message.get("role")
        told = text_of(message.get("content")) if text is None else text
        if role in ("tool", "function"):
            self._result(message, said(message.get("content")) if text is None else text, at)
            return
        calls = list(calls_of(message))
        word = role if isinstance(role, str) else "system"
        record = self._talk.ident(message.get("id"))
        names = [tool for _, tool, _ in calls if isinstance(tool, str)]
        self._talk.turn(word, told, session=self._session, at=at, record=record, calls=names, **extra)
        for call_id, tool, arguments in calls:
            self._call(call_id, tool, arguments, at)

    def _call(self, call_id: Any, tool: Any, arguments: Any, at: Moment) -> None:
        name = tool if isinstance(tool, str) else ""
        given = self._talk.ident(call_id)
        if given and (not self._count(given) or self._answered(self._numbered(given))):
            self._talk.told.bump(f"{self._session}/made/{given}")
        given = self._numbered(given)
        known = self._talk.call(given, name, arguments, session=self._session, at=at)
        if name not in self._open and len(self._open) >= HELD_MAX:
            del self._open[next(iter(self._open))]
        self._open.setdefault(name, deque(maxlen=HELD_MAX)).append(known)

    def _result(self, message: Mapping[str, Any], text: str, at: Moment) -> None:
        ids = message.get("tool_call_ids")
        named = ids[0] if isinstance(ids, list) and ids else message.get("tool_call_id") or message.get("id")
        call_id, tool = self._talk.ident(named), message.get("name") or message.get("tool_name")
        name = tool if isinstance(tool, str) else ""
        failed = self._failed(message, text)
        known = self._numbered(call_id) if call_id else self._waiting(name)
        if known:
            self._talk.result(known, text, failed=failed, session=self._session, at=at)
            self._talk.told.put(f"{self._session}/answered/{known}")
            self._let_go(self._talk.tool_of(self._session, known) or name)
        else:
            self._talk.lone_result(name, text, failed=failed, session=self._session, at=at)

    def _waiting(self, name: str) -> str:
        """The oldest call that has no result yet, of this tool where it is named (MSG-2); "" for none."""
        for waiting in [self._open.get(name, deque())] if name else self._open.values():
            while waiting:
                known = waiting.popleft()
                if not self._answered(known):
                    return known
        return ""

    def _let_go(self, name: str) -> None:
        """Hold no call of this tool that stands before the oldest one which still waits: in a long file they are most."""
        waiting = self._open.get(name)
        while waiting and self._answered(waiting[0]):
            waiting.popleft()
        if waiting is not None and not waiting:
            del self._open[name]

    def _answered(self, known: str) -> bool:
        return f"{self._session}/answered/{known}" in self._talk.told

    def _count(self, call_id: str) -> int:
        return int(self._talk.told.get(f"{self._session}/made/{call_id}") or 0)

    def _numbered(self, call_id: str) -> str:
        """The id under which the newest call of that id is kept (MSG-3)."""
        count = self._count(call_id) if call_id else 0
        return f"{call_id}#{count}" if count > 1 else call_id
