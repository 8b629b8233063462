# SPDX-License-Identifier: Apache-2.0
"""The commands of an editing agent on documents (`DejaDB.memory_tool`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from deja_tui.compat.faults import NO_REASON
from deja_tui.documents import Document, numbered
from deja_tui.errors import DejaError, ValidationError
from deja_tui.facade import Memory


class Editor:
    """The commands of an editing agent, on documents; texts as the reference product answers."""

    def __init__(self, memory: Memory) -> None:
        self._docs = memory.docs

    def run(self, command: Mapping[str, Any]) -> str:
        """Carry out one command and tell it. Raises VAL-E001 and what `Memory.docs` raises."""
        name = command.get("command")
        act = getattr(self, f"_{name}", None) if name in _COMMANDS else None
        if act is None:
            raise ValidationError("VAL-E001", "unknown memory command", "one of " + ", ".join(_COMMANDS))
        try:
            return str(act(command))
        except DejaError as fault:
            if fault.code == "MEM-E001":  # there it is a plain validation error
                raise ValidationError("VAL-E001", "file not found", fault.next_step) from fault
            if fault.code == "MEM-E002":
                raise ValidationError("VAL-E001", "target exists", fault.next_step) from fault
            raise

    def _view(self, command: Mapping[str, Any]) -> str:
        path = _word(command, "path")
        if path == "/memories" or path.endswith("/"):
            names = [one.path for one in self._docs.list(path.rstrip("/") or "/memories")]
            return "\n".join([f"Directory: {path}", *(names or ["(empty)"])])
        lines = list(numbered(self._docs.view(path).text))
        span = command.get("view_range")
        if isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span):
            last = len(lines) if span[1] < 0 else span[1]
            lines = lines[max(0, span[0] - 1) : last]
        return "\n".join(lines)

    def _create(self, command: Mapping[str, Any]) -> str:
        path, text = _word(command, "path"), _word(command, "file_text", "")
        there = any(one.path == path for one in self._docs.list())
        self._docs.create(path, text, overwrite=True)
        return f"Overwrote (new version of) {path}" if there else f"Created {path}"

    def _str_replace(self, command: Mapping[str, Any]) -> str:
        one = self._docs.replace(
            _word(command, "path"), _word(command, "old_str"), _word(command, "new_str", "")
        )
        return f"Replaced text in {one.path}"

    def _insert(self, command: Mapping[str, Any]) -> str:
        line = command.get("insert_line", 0)
        one: Document = self._docs.insert(
            _word(command, "path"), line, _word(command, "insert_text", "") or _word(command, "new_str", "")
        )
        return f"Inserted at line {line} in {one.path}"

    def _rename(self, command: Mapping[str, Any]) -> str:
        old, new = _word(command, "old_path"), _word(command, "new_path")
        self._docs.rename(old, new)
        return f"Renamed {old} → {new}"

    def _delete(self, command: Mapping[str, Any]) -> str:
        path = _word(command, "path")
        done = self._docs.delete(path, because=NO_REASON)
        return f"Deleted {path} ({len(done.addresses)} versions erased)"


_COMMANDS: Final = ("view", "create", "str_replace", "insert", "rename", "delete")


def _word(command: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = command.get(name, default)
    if not isinstance(value, str):
        raise ValidationError("VAL-E001", f"the command needs the text {name}")
    return value
