# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry GenAI spans: OTLP exports as JSON, one export a line or one document.

* OTEL-1  A span of the operation execute_tool is a tool call with its result; conversations group them, else traces.
* OTEL-2  A call failed when its span's status is an error, or an event of the span is an exception; the message of the
  status or of the exception is the result where the span keeps none.
* OTEL-3  Kinds and status codes may be numbers or names. Names of operations changed between versions of the
  conventions: what is no operation of GenAI is left out and counted.
* OTEL-4  Messages are taken from the invoke_agent span of a conversation (or, where it keeps none, from its chat spans)
  once each; spans of one conversation repeat them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture import files
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.ids import Ids
from deja_tui.capture.reading import records
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.streaming import Broken, is_document, under
from deja_tui.capture.talk import Talk, said, text_of
from deja_tui.capture.tame import digest
from deja_tui.capture.times import Moment
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean

KIND: Final = "otel"
HINT: Final = "give OTLP exports as JSON: resourceSpans with scopeSpans"
SHAPE: Final = Shape(
    numbers=("lines", "spans", "tool_spans", "tool_spans_with_error", "spans_with_error"),
    sets=("traces", "conversations"),
    groups=("operations", "tool_spans_by_name"),
    calls=True,
)
_MESSAGES: Final = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "pydantic_ai.all_messages",
    "all_messages_events",
)
_SPANS: Final = ("resourceSpans", "scopeSpans", "spans")
_SCALARS: Final = ("stringValue", "intValue", "doubleValue", "boolValue")


def _attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes by name; values are told by their kind in OTLP."""
    found: dict[str, Any] = {}
    told = span.get("attributes")
    for one in told if isinstance(told, list) else ():
        value = one.get("value") if isinstance(one, dict) else None
        if isinstance(value, dict) and isinstance(one.get("key"), str):
            found[one["key"]] = next((value[name] for name in _SCALARS if name in value), None)
    return found


def _spans(value: Any) -> Iterator[dict[str, Any]]:
    groups = value.get("resourceSpans") if isinstance(value, dict) else None
    for resource in groups if isinstance(groups, list) else ():
        scopes = resource.get("scopeSpans") if isinstance(resource, dict) else None
        for scope in scopes if isinstance(scopes, list) else ():
            spans = scope.get("spans") if isinstance(scope, dict) else None
            yield from (span for span in (spans if isinstance(spans, list) else ()) if isinstance(span, dict))


def _exception(span: Mapping[str, Any]) -> str | None:
    """The message of a span's exception event, or None when it has none."""
    events = span.get("events")
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict) and event.get("name") == "exception":
            told = _attributes(event)
            return said(told.get("exception.message") or told.get("exception.type"))
    return None


def _failed(span: Mapping[str, Any]) -> bool:
    status = span.get("status")
    code = status.get("code") if isinstance(status, dict) else None
    return code in (2, "2", "STATUS_CODE_ERROR") or _exception(span) is not None


class _Reader:
    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self._said = Ids()
        self.known = False

    def feed(self, line: int, value: Any) -> None:
        counts = self.talk.counts
        counts.count("lines")
        found = False
        for span in _spans(value):
            found = True
            self.span(line, span)
        if not found:
            self.talk.report.lose(line, "an export without spans")

    def span(self, line: int, span: Any) -> None:
        """One span; ``line``: where it stands."""
        talk, counts = self.talk, self.talk.counts
        if not isinstance(span, dict):
            talk.report.lose(line, "a span that is no object")
            return
        self.known = True
        counts.count("spans")
        trace = talk.ident(span.get("traceId"))
        counts.see("traces", trace)
        counts.count("spans_with_error", int(_failed(span)))
        told = _attributes(span)
        operation = told.get("gen_ai.operation.name")
        if not isinstance(operation, str):
            counts.left_out["span of no GenAI operation"] += 1
            return
        counts.group("operations", operation[:40])
        named = talk.ident(told.get("gen_ai.conversation.id"))
        if named:
            counts.see("conversations", named)
        session = named or trace
        at = talk.moment(_ms(span.get("endTimeUnixNano") or span.get("startTimeUnixNano")), line)
        agent = told.get("gen_ai.agent.name")
        talk.session(session, at, f"agent run of {agent}" if isinstance(agent, str) else "agent run")
        if operation == "execute_tool":
            self._tool(span, told, session, at)
        else:
            self._messages(told, session, at)

    def _tool(self, span: Mapping[str, Any], told: Mapping[str, Any], session: str, at: Moment) -> None:
        counts, tool, failed = self.talk.counts, said(told.get("gen_ai.tool.name")), _failed(span)
        counts.count("tool_spans")
        counts.group("tool_spans_by_name", tool[:80])
        counts.count("tool_spans_with_error", int(failed))
        status = span.get("status")
        message = status.get("message") if isinstance(status, dict) else None
        result = said(told.get("gen_ai.tool.call.result") or _exception(span) or message)
        # call ids are the model's and repeat between runs; the span is what is unique
        call_id = self.talk.ident(span.get("spanId"))
        arguments = told.get("gen_ai.tool.call.arguments")
        self.talk.whole_call(tool, arguments, result, failed=failed, session=session, at=at, call_id=call_id)

    def _messages(self, told: Mapping[str, Any], session: str, at: Moment) -> None:
        for name in _MESSAGES:
            for message in _list(told.get(name)):
                role, text = (
                    message.get("role"),
                    text_of(message.get("content")) or _parts(message.get("parts")),
                )
                if text and isinstance(role, str) and self._said.add(f"{session}/{digest([role, text])}"):
                    self.talk.turn(role, text, session=session, at=at)


def _ms(nanos: Any) -> int | None:
    try:
        return int(nanos) // 1_000_000
    except (TypeError, ValueError):
        return None


def _list(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def _parts(parts: Any) -> str:
    told = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n\n".join(text for part in told if part.get("type") == "text" and (text := text_of(part)))


def _document(path: Path, reader: _Reader) -> Iterator[list[CaptureItem]]:
    """One export over many lines, of any length; spans are numbered in the place of lines."""
    number = 0
    reader.talk.counts.count("lines")
    try:
        for number, span in enumerate(under(path, _SPANS), 1):
            reader.span(number, span)
            yield reader.talk.ready()
    except Broken:
        reader.talk.report.lose(number + 1, "the document breaks off here")


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    reader = _Reader(Talk(KIND, report, now_ms))
    if is_document(files.checked(path), _SPANS):
        yield from _document(path, reader)
    else:
        for line in records(path, reader.talk):
            reader.feed(line.number, line.value)
            yield reader.talk.ready()
    if not reader.known:
        raise DejaError("IMP-E002", f"{clean(path.name)} holds no spans", HINT)
    yield from reader.talk.rest()


def _guess(probe: Probe) -> str | None:
    return "OTLP spans: resourceSpans" if b'"resourceSpans"' in probe.head else None


OTEL: Final = Source(
    kind=KIND,
    title="OpenTelemetry GenAI spans",
    suffixes=(".jsonl", ".json"),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
