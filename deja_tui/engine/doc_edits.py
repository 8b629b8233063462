# SPDX-License-Identifier: Apache-2.0
"""Changes of documents as unified diffs against a text that the proposal saw (D9, D27).

* EDIT-1  `patched` is strict: every hunk stands exactly where it says, and every line it keeps or removes is there. A
  diff never finds its place by searching, so what a reviewer read is what is done.
* EDIT-2  ``patched(before, diff_of(before, after)) == after``, whatever ends the lines of either text.
* EDIT-3  only LF ends a line; a missing one at the end of a text is told by the usual marker line.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from deja_tui.engine.faults import LoopError
from deja_tui.engine.operations import digest
from deja_tui.text import door

ROOT: Final = "/memories/"
RELATION: Final = "memory_file"
SCHEME: Final = "doc:"
_INDEXED_BYTES: Final = 8_192
_NO_END: Final = "\\ No newline at end of file\n"
_HUNK: Final = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")

__all__ = ["RELATION", "ROOT", "diff_of", "digest", "patched", "path_of", "text_of", "version_fields"]


def path_of(target_ref: str) -> str:
    """The path of the document that ``doc:NAME`` means: ``/memories/NAME`` (D27)."""
    name = target_ref.removeprefix(SCHEME).split("#", 1)[0]
    return name if name.startswith(ROOT) else ROOT + name.lstrip("/")


def text_of(fields: Mapping[str, Any]) -> str:
    """The text of a version, from the fields of its fact."""
    context = fields.get("context")
    content = context.get("content") if isinstance(context, Mapping) else None
    return content if isinstance(content, str) else ""


def version_fields(path: str, text: str) -> dict[str, Any]:
    """The fields of the fact that holds one version of a document; ``text`` as it is kept (`text.door`)."""
    return {
        "subject": path,
        "relation": RELATION,
        "object": "v:" + hashlib.sha256(text.encode()).hexdigest()[:12],
        "context": {"content": text},
        "source_type": "agent",
        "confidence": 1.0,
        **({"embedding_text": _start(text)} if text else {}),
    }


def _start(text: str) -> str:
    """At most 8,192 bytes of the text, cut between two characters."""
    return text.encode()[:_INDEXED_BYTES].decode(errors="ignore")


def diff_of(before: str, after: str) -> str:
    """The unified diff that makes ``after`` of ``before``, without file names; "" when they are equal."""
    old, new = _lines(door(before)), _lines(door(after))
    told = list(difflib.unified_diff(old, new, n=2))[2:]  # without the names of files
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in told)


def patched(before: str, diff: str) -> str:
    """``before`` with ``diff`` carried out. Raises LOP-E011 (no unified diff) and LOP-E024 (it does not fit)."""
    old, lines = _lines(door(before)), _lines(diff)
    made: list[str] = []
    done = position = 0
    while position < len(lines) and lines[position].startswith(("--- ", "+++ ")):
        position += 1
    if position == len(lines):
        raise _malformed()
    while position < len(lines):
        match = _HUNK.match(lines[position])
        if match is None:
            raise _malformed()
        start, take, place, give = (1 if part is None else int(part) for part in match.groups())
        begin = start - 1 if take else start  # a side without lines names the one before it
        if not done <= begin <= len(old):
            raise _unfit()
        made += old[done:begin]
        if len(made) != (place - 1 if give else place):
            raise _malformed()
        position, removed, added = _hunk(lines, position + 1, take, give)
        if old[begin : begin + take] != removed:
            raise _unfit()
        made += added
        done = begin + take
    made += old[done:]
    if not all(line.endswith("\n") for line in made[:-1]):
        raise _malformed()
    return "".join(made)


def _hunk(lines: list[str], position: int, take: int, give: int) -> tuple[int, list[str], list[str]]:
    """Where the hunk ends, the lines it takes the place of, and those it puts there."""
    removed: list[str] = []
    added: list[str] = []
    sides: list[list[str]] = []
    while position < len(lines):
        line = lines[position]
        if line == _NO_END:
            for side in sides:  # the line before it, wherever that went
                side[-1] = side[-1].removesuffix("\n")
        elif len(removed) == take and len(added) == give:
            break
        else:
            sides = {"-": [removed], "+": [added], " ": [removed, added]}.get(line[:1], [])
            if not sides or not line.endswith("\n"):
                raise _malformed()
            for side in sides:
                side.append(line[1:])
        position += 1
    if len(removed) != take or len(added) != give:
        raise _malformed()
    return position, removed, added


def _malformed() -> LoopError:
    return LoopError("LOP-E011", "the edit is no unified diff", "deja loop propose --text FILE makes one")


def _unfit() -> LoopError:
    return LoopError("LOP-E024", "the edit does not fit the document as it is now", "propose it again")


def _lines(text: str) -> list[str]:
    """Lines with their LF; the last one may have none."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
