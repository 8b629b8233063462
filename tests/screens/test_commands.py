# SPDX-License-Identifier: Apache-2.0
"""What empty states tell a person to type runs as it stands, on a memory whose name has to be quoted."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest

from deja_tui import Memory
from tests.cli.conftest import Deja, deja  # noqa: F401
from tests.screens.recorded import Recorded
from tests.screens.user import Hand, User, make_app
from tests.support import NOW

_COMMAND = re.compile(r"(?<![/\w])deja [a-z][a-z-]*(?: [^ │·,:]+)*")
_LEAST = 9


async def told(memory: Memory, file: Path, ways: list[tuple[str, ...]]) -> dict[str, str]:
    """Every command on the screen after each of some ways through the console: the command, and where it stood."""
    hand, found = Hand(), {}
    app = make_app(
        memory.loop,
        hand,
        file=str(file),
        file_of=Recorded(memory),
        grains=memory,
        actor="user:ana",
        at="queue",
    )  # type: ignore[arg-type]
    async with app.run_test(size=(250, 50)) as pilot:
        user = User(app, pilot, memory.loop, hand)  # type: ignore[arg-type]
        await user.settle()
        for keys in ways:
            for key in keys:
                await (user.type(key[5:]) if key.startswith("type:") else user.press(key))
                for row in user.rows[1:]:
                    for command in _COMMAND.findall(row):
                        found.setdefault(command.rstrip("- "), " ".join(keys))
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with what the placeholders of commands stand for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DEJA_DB", str(tmp_path / "none.deja"))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    (tmp_path / "PATH").mkdir()
    line = (
        '{"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": "go on"}}\n'
    )
    (tmp_path / "PATH" / "s.jsonl").write_text(line)
    (tmp_path / "FILE").write_text("Be kind.\n")
    return tmp_path


async def test_commands_of_empty_states_run(folder: Path, deja: Deja) -> None:  # noqa: F811
    """An empty memory on every place, filters that hide all, then a memory on which all is decided."""
    file = Path("my agent.deja")
    with Memory.open(file, clock=lambda: NOW, actor="user:ana") as memory:
        places = [(str(number),) for number in range(1, 9)]
        found = await told(
            memory, file, [*places, ("3", "f"), ("7", *"ffffffff"), ("4", *"jjjjjjj"), ("1", *"jjjjjjj")]
        )
        for number in range(5):
            memory.record_tool_call("pay", "limited", is_error=True, thread="s", created_at=NOW - number)
        memory.loop.run()
        why = ("a", "type:it is so", "enter", "p", "type:all agree", "enter", "enter")
        found |= await told(memory, file, [("3", *why), ("5",)])
    assert len(found) >= _LEAST, found
    for command, where in found.items():
        argv = shlex.split(command)
        assert "…" not in command, (where, command)
        if argv[1] not in ("init", "demo"):
            assert argv[argv.index("--db") + 1].endswith("my agent.deja"), (where, command)
        done = deja(*argv[1:])
        assert done.code == 0, (where, command, done.err)
