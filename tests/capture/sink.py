# SPDX-License-Identifier: Apache-2.0
"""A memory that keeps items in a dict and follows the rules of `deja_tui.items`: the least a sink must do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from deja_tui.items import CHUNK, CaptureItem


@dataclass(frozen=True)
class Result:
    added: int
    skipped: int
    completed: int
    forgotten: int = 0


@dataclass
class FakeSink:
    """``heads`` are the live grains by source key, ``types`` their kinds, ``dead`` what was superseded, in order."""

    heads: dict[str, dict[str, Any]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    dead: list[dict[str, Any]] = field(default_factory=list)
    chunks: list[int] = field(default_factory=list)

    def capture(self, items: Iterable[CaptureItem]) -> Result:
        added = skipped = completed = count = 0
        for item in items:
            count += 1
            head = self.heads.get(item.source_key)
            if head is None:
                self.heads[item.source_key] = dict(item.fields)
                self.types[item.source_key] = item.type
                added += 1
                continue
            fields = item.complete(head)
            if fields is None:
                skipped += 1
                continue
            self.dead.append(head)
            self.heads[item.source_key] = fields
            completed += 1
        assert count <= CHUNK
        self.chunks.append(count)
        return Result(added, skipped, completed)

    def events(self, kind: str = "turn") -> list[dict[str, Any]]:
        return [f for k, f in self.heads.items() if self.types[k] == "event" and f["event_kind"] == kind]

    def tools(self) -> list[dict[str, Any]]:
        return [f for k, f in self.heads.items() if self.types[k] == "tool"]

    def failures(self) -> list[dict[str, Any]]:
        return [tool for tool in self.tools() if tool.get("is_error")]
