# SPDX-License-Identifier: Apache-2.0
"""The lines that join an agent to a memory. They are printed, never written into another tool's settings (D34, users C).

Every function returns lines of text. Paths in them are absolute: a hook runs in whatever folder the agent is in.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from typing import Any, Final

from deja_tui.errors import ValidationError
from deja_tui.text import clean

HOOKS: Final = (
    ("UserPromptSubmit", "recall", 10),
    ("PostToolUseFailure", "capture", 30),
    ("Stop", "capture", 30),
    ("SessionEnd", "session-end", 60),
)
"""Event of the agent, hook verb, seconds after which the agent may stop waiting."""
PLACES: Final = {
    "claude-code": ".claude/settings.json of a project, or ~/.claude/settings.json",
    "openai": "the program that runs your tools",
    "python": "your program",
    "mcp": "the settings of your MCP client",
}
"""What the lines for each kind of agent belong into."""
_MATCHED: Final = frozenset(("PostToolUseFailure",))


def program() -> tuple[str, ...]:
    """The words that start this program from any folder: its absolute path, or this Python with ``-P -m deja_tui``.

    An agent starts hooks in the folder it works on, which strangers fill: without ``-P`` Python would take modules from there.
    """
    started = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    if os.path.basename(started) in ("deja", "deja.exe") and os.access(started, os.X_OK):
        return (started,)
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "deja")
    if os.access(beside, os.X_OK):
        return (beside,)
    found = shutil.which("deja")
    if found is not None:
        return (os.path.abspath(found),)
    return (os.path.abspath(sys.executable), "-P", "-m", "deja_tui")


def options(db: str | os.PathLike[str], namespace: str | None = None) -> tuple[str, ...]:
    """The words that name a memory: ``--db`` with its absolute path, and ``--ns`` where one is given.

    Raises VAL-E001 for characters that act on a terminal or hide: they would be printed, and copied, as something else.
    """
    named = ("--db", os.path.abspath(os.fspath(db)))
    told = named if namespace is None else (*named, "--ns", namespace)
    if any(clean(word) != word for word in told):
        raise ValidationError(
            "VAL-E001",
            "the path or namespace holds characters that no settings line can show",
            "rename the file or its folder",
        )
    return told


def hook_command(verb: str, db: str | os.PathLike[str], namespace: str | None = None) -> str:
    """The command line of one hook, quoted for a POSIX shell."""
    return shlex.join((*program(), "hook", verb, *options(db, namespace)))


def claude_code_settings(db: str | os.PathLike[str], namespace: str | None = None) -> dict[str, Any]:
    """What belongs into a Claude Code ``settings.json``."""
    hooks: dict[str, Any] = {}
    for event, verb, seconds in HOOKS:
        command = {"type": "command", "command": hook_command(verb, db, namespace), "timeout": seconds}
        matcher = {"matcher": "*"} if event in _MATCHED else {}
        hooks[event] = [{**matcher, "hooks": [command]}]
    return {"hooks": hooks}


def claude_code(db: str | os.PathLike[str], namespace: str | None = None) -> list[str]:
    """The settings lines for Claude Code: one JSON document, nothing else. A hook is one line, so that all of it is seen."""
    events = [
        f"    {json.dumps(event)}: [\n      {json.dumps(entries[0], ensure_ascii=False)}\n    ]"
        for event, entries in claude_code_settings(db, namespace)["hooks"].items()
    ]
    return ["{", '  "hooks": {', *",\n".join(events).split("\n"), "  }", "}"]


def python(db: str | os.PathLike[str], namespace: str | None = None) -> list[str]:
    """Python: three lines of capture."""
    return [
        "from deja_tui import Memory",
        f"memory = {_opened(db, namespace)}",
        'memory.record_tool_call("search", "timed out after 30 s", is_error=True)',
    ]


def openai(db: str | os.PathLike[str], namespace: str | None = None) -> list[str]:
    """A tool loop over messages with ``tool_calls``: one line where a call has been answered."""
    return [
        "from deja_tui import Memory",
        f"memory = {_opened(db, namespace)}",
        "# in your tool loop, after a call was answered:",
        "memory.record_tool_call(",
        "    call.function.name, result, is_error=failed, call_id=call.id, input=call.function.arguments",
        ")",
    ]


def _opened(db: str | os.PathLike[str], namespace: str | None) -> str:
    more = "" if namespace is None else f", namespace={namespace!r}"
    return f"Memory.open({os.path.abspath(os.fspath(db))!r}{more})"
