# SPDX-License-Identifier: Apache-2.0
"""The order of imports (D46) and what must never be loaded, proved on the source and in fresh processes."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

PACKAGE = ROOT / "deja_tui"
ORDER = [
    "errors", "record", "digests", "watch", "text", "redact", "store", "cal", "engine", "saved", "adapter", "reference", "cal_substrate", "items", "spool", "namespaces", "intake", "context_lines",
    # parts of the library that the facade puts together: one file each, so that the door stays a door
    "constructors", "contexts", "browsing", "erasure", "copies", "documents", "declared", "commands", "replay", "leases", "loop_settings", "loop", "sessions", "standing", "facade", "compat", "precision", "capture", "present",
    "widgets", "console", "screens", "cli",
]  # fmt: skip
# the two named late imports of D46
LATE = {("console/launch.py", "screens")}
# room → everything of deja it may import besides itself
NARROW = {
    "errors": set(),
    "record": set(),
    "digests": set(),
    "watch": set(),
    "text": {"errors"},
    "redact": {"record", "text"},
    "store": {"errors", "record", "digests", "watch", "text"},
    "engine": {"errors", "watch", "text"},
    "reference": {"errors", "text", "engine"},
    "cal_substrate": {"errors", "text", "engine"},
    "widgets": {"errors", "text", "present"},
}
NO_TEXTUAL = [
    "errors",
    "record",
    "digests",
    "watch",
    "text",
    "redact",
    "store",
    "cal",
    "engine",
    "saved",
    "adapter",
    "reference",
    "cal_substrate",
    "items",
    "spool",
    "namespaces",
    "intake",
    "context_lines",
    "constructors",
    "contexts",
    "browsing",
    "erasure",
    "copies",
    "documents",
    "declared",
    "commands",
    "replay",
    "leases",
    "loop_settings",
    "loop",
    "sessions",
    "standing",
    "facade",
    "compat",
    "precision",
    "capture",
    "present",
    "cli",
]


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Every module that a file imports anywhere, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def rooms_imported(path: Path) -> set[str]:
    names = {name.split(".")[1] for name in imported(path) if name.startswith("deja_tui.")}
    return names & set(ORDER)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_rooms_above_its_own(path: Path) -> None:
    """Imports point up the list of D46 only."""
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    inside = str(path.relative_to(PACKAGE))
    others = {name for name in rooms_imported(path) if name != room and (inside, name) not in LATE}
    allowed = NARROW.get(room, set(ORDER[: ORDER.index(room)]))
    assert others <= allowed, f"{inside} imports {sorted(others - allowed)}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_textual_is_imported_by_widgets_console_and_screens_only(path: Path) -> None:
    """Command line, library and engine never need Textual."""
    if room_of(path) in NO_TEXTUAL:
        assert not {name for name in imported(path) if name.split(".")[0] == "textual"}


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after ``code``."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sorted({{n.split('.')[0] for n in sys.modules}})))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split("\n"))


def test_importing_the_package_loads_nothing_heavy() -> None:
    """`import deja_tui` alone is free."""
    assert not loaded_by("import deja_tui") & {"textual", "rich", "click", "apsw", "msgpack"}


def test_version_needs_neither_click_nor_textual() -> None:
    """`deja --version` is dispatched before anything is imported (D47)."""
    loaded = loaded_by("from deja_tui.cli.main import run\nassert run(['--version']) == 0")
    assert not loaded & {"textual", "rich", "click", "apsw"}


def test_loop_list_never_loads_textual(tmp_path: Path) -> None:
    """`deja loop list` is a plain command."""
    from deja_tui import Memory

    path = tmp_path / "a.deja"
    Memory.open(path).close()
    code = f"from deja_tui.cli.main import run\nassert run(['loop', 'list', '--db', {str(path)!r}]) == 0"
    loaded = loaded_by(code)
    assert "click" in loaded
    assert "textual" not in loaded


def all_loaded_by(code: str) -> set[str]:
    """Every module, with its whole name, that a fresh interpreter holds after ``code``."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split("\n"))


def test_a_capture_by_a_hook_loads_neither_the_library_nor_what_a_start_is_slow_with(tmp_path: Path) -> None:
    """D47: no engine, no facade, no readers of the store, no click, no Textual; no dataclasses, which cost a third of the bar."""
    session = tmp_path / "s.jsonl"
    said = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "fatal: not here"}
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    session.write_text(
        "".join(
            json.dumps({"type": role, "uuid": role, "sessionId": "s", "message": {"role": role, "content": [block]}}) + "\n"
            for role, block in (("assistant", use), ("user", said))
        )
    )  # fmt: skip
    event = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(session)}
    db = tmp_path / "m.deja"
    code = (
        "import io, sys\nfrom deja_tui.cli.main import run\n"
        f"sys.stdin = io.TextIOWrapper(io.BytesIO({json.dumps(event).encode()!r}))\n"
        f"assert run(['hook', 'capture', '--db', {str(db)!r}]) == 0"
    )
    loaded = all_loaded_by(code)
    assert "deja_tui.intake" in loaded
    assert db.exists()
    rooms = {".".join(name.split(".")[:2]) for name in loaded}
    assert not rooms & {
        "deja_tui.engine",
        "deja_tui.facade",
        "deja_tui.loop",
        "deja_tui.cal",
        "deja_tui.adapter",
    }
    assert not loaded & {
        "deja_tui.store.memory",
        "deja_tui.store.reads",
        "deja_tui.store.grains",
        "deja_tui.cli.app",
    }
    heavy = {
        "typing",
        "click",
        "textual",
        "rich",
        "dataclasses",
        "inspect",
        "pathlib",
        "logging",
        "platformdirs",
        "asyncio",
    }
    assert not loaded & heavy
