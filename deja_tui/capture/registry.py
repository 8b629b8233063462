# SPDX-License-Identifier: Apache-2.0
"""The importers by name, loaded when they are asked for, and the guess which one a path is for.

Adding one is: a file in ``importers/``, a line in `MODULES`, tests with a real file.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from deja_tui.capture.files import is_blank, unreadable
from deja_tui.capture.source import Source, probe
from deja_tui.errors import DejaError
from deja_tui.text import clean

MODULES: Final[Mapping[str, str]] = {
    "claude-code": "claude_code:CLAUDE_CODE",
    "codex": "codex:CODEX",
    "openai": "openai:OPENAI",
    "tau-bench": "tau:TAU_BENCH",
    "tau2": "tau:TAU2",
    "swe-agent": "swe_agent:SWE_AGENT",
    "mini-swe-agent": "mini_swe_agent:MINI_SWE_AGENT",
    "openhands": "openhands:OPENHANDS",
    "bfcl": "bfcl:BFCL",
    "chatgpt": "chatgpt:CHATGPT",
    "otel": "otel:OTEL",
    "mem0": "mem0:MEM0",
    "letta": "letta:LETTA",
    "zep": "zep:ZEP",
    "langgraph": "langgraph:LANGGRAPH",
    "basic-memory": "basic_memory:BASIC_MEMORY",
    "mcp-memory": "mcp_memory:MCP_MEMORY",
    "jsonl": "plain:JSONL",
}
"""Kind → module of ``importers`` and the name of its `Source`; in the order in which they are offered."""
_ANY: Final = "jsonl"
_LOOKED_INTO: Final = 20
"""Files of a folder that are looked into where the folder itself says nothing."""


@dataclass(frozen=True, slots=True)
class Guess:
    """Which source a path is for, and why."""

    source: Source
    reason: str


def source(kind: str) -> Source:
    """The importer of that kind. Raises IMP-E003 naming the known ones."""
    place = MODULES.get(kind)
    if place is None:
        raise DejaError("IMP-E003", f"there is no importer {clean(kind, 40)}", "one of " + ", ".join(MODULES))
    module, name = place.split(":")
    found = getattr(importlib.import_module(f"deja_tui.capture.importers.{module}"), name)
    if not isinstance(found, Source):
        raise TypeError(f"{place} is no importer")
    return found


def sources() -> Iterator[Source]:
    """Every importer, in the order of `MODULES`."""
    return map(source, MODULES)


def guess(path: str | os.PathLike[str]) -> Guess:
    """The one source that a path looks like.

    Raises IMP-E001 (not there, unreadable), IMP-E003 when none or several claim it: the message says which.
    """
    place = Path(path)
    if not os.path.lexists(place):
        raise DejaError("IMP-E001", f"{clean(str(place))} does not exist", "check the path")
    try:
        looked = probe(place)
    except OSError as fault:
        raise unreadable(place, fault) from fault
    if not looked.folder and is_blank(place):
        return Guess(source(_ANY), "the file is empty")
    found = [Guess(one, reason) for one in sources() if (reason := one.guess(looked))]
    if looked.folder and not found and (inside := _inside(place)):
        found = inside
    if len(found) == 1:
        return found[0]
    kinds = [one.source.kind for one in found]
    told = "looks like " + " and ".join(kinds) if kinds else "looks like nothing that can be imported"
    raise DejaError(
        "IMP-E003", f"{clean(place.name)} {told}", "name the kind: " + ", ".join(kinds or MODULES)
    )


def _inside(folder: Path) -> list[Guess]:
    """A guess for each kind that the first files of a folder are of; files that look like none, or like several, say nothing."""
    files = (one for one in sorted(folder.iterdir()) if one.is_file() and not one.name.startswith("."))
    found: dict[str, Guess] = {}
    for file in islice(files, _LOOKED_INTO):
        with suppress(DejaError):
            if not is_blank(file):
                one = guess(file)
                found.setdefault(one.source.kind, Guess(one.source, f"{clean(file.name, 80)}: {one.reason}"))
    return list(found.values())
