# SPDX-License-Identifier: Apache-2.0
"""Joining tool calls to their results by call id, with bounded memory.

A call is held until its result comes. What is still alone at the end of the file, or when too many are held, becomes
an item of one half (ITEM-2), which a later item completes.
"""

from __future__ import annotations

from collections.abc import Iterator

from deja_tui.capture.tame import Shears
from deja_tui.capture.times import Moment
from deja_tui.items import PENDING, UNKNOWN_TOOL, CaptureItem
from deja_tui.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

HELD_MAX: Final = 1_024


class Place(Record):
    """Where in a source something stands: its session, sub-agent, record ids, position among the records, and time."""

    _fields = ("source", "session", "agent", "ids", "ordinal", "at")
    __slots__ = _fields

    def __init__(
        self, source: str, session: str, agent: str, ids: tuple[str, ...], ordinal: int, at: Moment
    ) -> None:
        self.source = source
        self.session = session
        self.agent = agent
        self.ids = ids
        self.ordinal = ordinal
        self.at = at

    def fields(self) -> dict[str, Any]:
        """What every grain from here says of it."""
        fields: dict[str, Any] = {"source_type": "import"}
        if self.session:
            fields["session_id"] = self.session
        if self.agent:
            fields["agent_id"] = self.agent
        return fields

    def context(self, key: str, at: Moment) -> dict[str, Any]:
        """The bookkeeping of a grain (D32): its key, its source, its place in the order of the file, its clock.

        The name of the file is not in it: the same record in a copied file is the same grain.
        """
        told: dict[str, Any] = {"source": self.source}
        if self.ids:
            told["ids"] = list(self.ids)
        context: dict[str, Any] = {"source_key": key, "import": told, "ordinal": self.ordinal}
        clock = at.clock()
        return context if clock is None else context | {"clock": clock}


class Call(Record):
    """A call that waits for its result."""

    _fields = ("tool", "input", "place")
    __slots__ = _fields

    def __init__(self, tool: str, input: Any, place: Place) -> None:
        self.tool = tool
        self.input = input
        self.place = place


class Answer(Record):
    """A result, waiting for its call when that stands later in the file."""

    _fields = ("text", "failed", "declined", "place")
    __slots__ = _fields

    def __init__(self, text: str, failed: bool, declined: bool, place: Place) -> None:
        self.text = text
        self.failed = failed
        self.declined = declined
        self.place = place


class CallJoin:
    """Halves of tool calls that wait for each other, oldest first."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._calls: dict[str, Call] = {}
        self._answers: dict[str, Answer] = {}
        self.cut = 0

    def call(self, call_id: str, call: Call) -> Iterator[CaptureItem]:
        """Take a call; what is complete by it, or has to make room for it."""
        answer = self._answers.pop(call_id, None)
        if answer is not None:
            yield self._item(call_id, call, answer)
            return
        self._calls[call_id] = call
        if len(self._calls) > HELD_MAX:
            oldest = next(iter(self._calls))
            yield self._item(oldest, self._calls.pop(oldest), None)

    def answer(self, call_id: str, answer: Answer) -> Iterator[CaptureItem]:
        """Take the first result of a call; what is complete by it, or has to make room for it."""
        call = self._calls.pop(call_id, None)
        if call is not None:
            yield self._item(call_id, call, answer)
            return
        self._answers[call_id] = answer
        if len(self._answers) > HELD_MAX:
            oldest = next(iter(self._answers))
            yield self._item(oldest, None, self._answers.pop(oldest))

    def rest(self) -> Iterator[CaptureItem]:
        """Everything that stayed alone, in the order of the file. Afterwards nothing is held."""
        items = [self._item(call_id, call, None) for call_id, call in self._calls.items()]
        items += [self._item(call_id, None, answer) for call_id, answer in self._answers.items()]
        self._calls, self._answers = {}, {}
        yield from sorted(items, key=lambda item: item.fields["context"]["ordinal"])

    def _item(self, call_id: str, call: Call | None, answer: Answer | None) -> CaptureItem:
        key = f"{self._source}/call/{call_id}"
        half = call or answer
        if half is None:
            raise ValueError("an item needs a call or an answer")
        at = _when(call, answer)
        shears = Shears()
        fields = half.place.fields() | {
            "tool_name": call.tool if call else UNKNOWN_TOOL,
            "tool_call_id": call_id,
        }
        if call is None:
            fields["call_missing"] = True
        if call and call.input is not None:
            fields["input"] = shears.value(call.input)
        if answer:
            fields |= {"tool_content": shears.text(answer.text), "is_error": answer.failed}
            if answer.declined:
                fields["failure_cause"] = "user_aborted"
        else:
            fields["status"] = PENDING
        context = half.place.context(key, at)
        if shears.elided:
            self.cut += 1
            context["elided"] = shears.elided
        return CaptureItem("tool", key, fields | {"created_at": at.ms, "context": context}, at.known)


def _when(call: Call | None, answer: Answer | None) -> Moment:
    """A call happened when its result came; when that time is not known, when it was made."""
    times = [half.place.at for half in (answer, call) if half is not None]
    return next((at for at in times if at.known), times[0])
