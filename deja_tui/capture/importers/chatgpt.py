# SPDX-License-Identifier: Apache-2.0
"""A ChatGPT data export: ``conversations.json``, a list of conversations that are trees of messages.

* GPT-1  The branch that ends in ``current_node`` is what was said; the other branches are told as left out. A
  conversation without that node is read up to its newest leaf.
* GPT-2  A message of a tool is a result that names its tool; it failed when its status or its content kind says error.
* GPT-3  Messages that are null, hidden or empty are no turns and are counted as left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from deja_tui.capture import files
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.reading import elements
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source
from deja_tui.capture.streaming import Broken, is_long, under
from deja_tui.capture.talk import Talk, text_of
from deja_tui.capture.tame import digest
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import clean

KIND: Final = "chatgpt"
HINT: Final = "give conversations.json out of the export's archive"
SHAPE: Final = Shape(
    numbers=(
        "conversations",
        "nodes",
        "messages",
        "messages_on_current_branch",
        "tool_messages_on_branch",
        "tool_errors_on_branch",
        "leaves",
    ),
    groups=("roles_on_current_branch",),
    calls=True,
)


def _branch(mapping: Mapping[str, Any], last: Any) -> list[str]:
    """The node ids from the root to ``last``; a loop in damaged links ends it."""
    ids: list[str] = []
    seen: set[str] = set()
    node = last if isinstance(last, str) and last in mapping else _newest(mapping)
    while isinstance(node, str) and node in mapping and node not in seen:
        seen.add(node)
        ids.append(node)
        entry = mapping[node]
        node = entry.get("parent") if isinstance(entry, dict) else None
    return ids[::-1]


def _newest(mapping: Mapping[str, Any]) -> str | None:
    leaves = [name for name, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
    return max(leaves, key=lambda name: _when(mapping[name]), default=None)


def _when(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, dict) else None
    return float(at) if isinstance(at, (int, float)) else 0.0


class _Reader:
    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.known = False

    def conversation(self, number: int, value: Mapping[str, Any]) -> None:
        talk, counts = self._talk, self._talk.counts
        self.known = True
        mapping = value.get("mapping")
        if not isinstance(mapping, dict):
            talk.report.lose(number, "a conversation without messages")
            return
        counts.count("conversations")
        counts.count("nodes", len(mapping))
        nodes = [node for node in mapping.values() if isinstance(node, dict)]
        counts.count("messages", sum(isinstance(node.get("message"), dict) for node in nodes))
        counts.count("leaves", sum(not node.get("children") for node in nodes))
        session = talk.ident(value.get("conversation_id") or value.get("id")) or digest(dict(value))
        title = value.get("title")
        told = (
            f"ChatGPT conversation: {title}" if isinstance(title, str) and title else "ChatGPT conversation"
        )
        talk.session(session, talk.moment(value.get("create_time"), number), told)
        branch = _branch(mapping, value.get("current_node"))
        counts.left_out["message on another branch"] += len(nodes) - len(branch)
        for name in branch:
            node = mapping[name]
            message = node.get("message") if isinstance(node, dict) else None
            if isinstance(message, dict):
                self._message(number, name, message, session)
            else:
                counts.left_out["node without message"] += 1

    def _message(self, number: int, name: str, message: Mapping[str, Any], session: str) -> None:
        talk, counts = self._talk, self._talk.counts
        counts.count("messages_on_current_branch")
        author = message.get("author")
        role = author.get("role") if isinstance(author, dict) else None
        role = role if isinstance(role, str) else "system"
        counts.group("roles_on_current_branch", role[:40])
        at = talk.moment(message.get("create_time"), number)
        content = message.get("content")
        text = _text(content)
        record = talk.ident(message.get("id")) or talk.ident(name)
        if role == "tool":
            tool = author.get("name") if isinstance(author, dict) else None
            kind = content.get("content_type") if isinstance(content, dict) else None
            failed = kind in ("system_error", "error") or message.get("status") == "failed"
            counts.count("tool_messages_on_branch")
            counts.count("tool_errors_on_branch", int(failed))
            named = tool if isinstance(tool, str) else ""
            talk.lone_result(named, text, failed=failed, session=session, at=at, record=record)
        elif not text.strip():
            counts.left_out["message without text"] += 1
        else:
            meta = message.get("metadata")
            model = meta.get("model_slug") if isinstance(meta, dict) else None
            hidden = isinstance(meta, dict) and meta.get("is_visually_hidden_from_conversation") is True
            talk.turn(
                role,
                text,
                session=session,
                at=at,
                record=record,
                author="host" if hidden or role == "system" else None,
                model_id=talk.clean(model)[:200] if isinstance(model, str) else None,
            )


def _text(content: Any) -> str:
    if not isinstance(content, Mapping):
        return text_of(content)
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n\n".join(text for part in parts if (text := text_of(part)))
    return text_of(content) or text_of(content.get("result"))


def _read(path: Path, report: FileReport, now_ms: int) -> Iterator[list[CaptureItem]]:
    talk = Talk(KIND, report, now_ms)
    reader = _Reader(talk)
    for number, conversation in enumerate(_conversations(path, report), 1):
        if isinstance(conversation, dict) and (reader.known or "mapping" in conversation):
            reader.conversation(number, conversation)
        elif not reader.known:
            break
        else:
            report.lose(number, "a conversation that is no object")
        yield talk.ready()
    if not reader.known:
        raise DejaError("IMP-E002", f"{clean(path.name)} is no ChatGPT export", HINT)
    yield from talk.rest()


def _conversations(path: Path, report: FileReport) -> Iterator[Any]:
    if is_long(files.checked(path), ("conversations",)):
        try:
            yield from under(path, ("conversations",))
        except Broken:
            report.lose(0, "the document breaks off")
        return
    for value in elements(path, report, kind="ChatGPT export", hint=HINT):
        inner = value.get("conversations") if isinstance(value, dict) else None
        if isinstance(inner, list):
            yield from inner
        else:
            yield value


def _guess(probe: Probe) -> str | None:
    told = b'"mapping"' in probe.head and (b'"current_node"' in probe.head or b'"children"' in probe.head)
    return "conversations with a mapping of messages" if told else None


CHATGPT: Final = Source(
    kind=KIND,
    title="a ChatGPT export",
    suffixes=(".json",),
    guess=_guess,
    read=_read,
    figures=lambda: Counts(SHAPE),
    hint=HINT,
)
