# SPDX-License-Identifier: Apache-2.0
"""``deja mcp`` over the protocol, with the SDK's own client; skipped where the extra is not installed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from tests.cli.conftest import Deja
from tests.support import NOW, ROOT
from tests.test_imports import loaded_by

SDK = pytest.mark.skipif(
    find_spec("mcp_types") is None,
    reason="needs the MCP SDK: python -m pip install 'deja-tui[mcp]'",
)


@asynccontextmanager
async def client(
    path: Path, actor: str = "agent:worker", *scopes: str, mode: str = "auto"
) -> AsyncIterator[Any]:
    """A client of a server on this file, in this process."""
    from mcp import Client

    from deja_tui.cli.mcp_serve import server_of

    with Memory.open(path, actor=actor, scopes=scopes or ("read", "write"), clock=lambda: NOW) as memory:
        async with Client(server_of(memory), mode=mode) as connected:
            yield connected


def started(path: Path) -> subprocess.Popen[str]:
    """The verb as a process of its own."""
    argv = [sys.executable, "-m", "deja_tui", "mcp", "--db", str(path), "--scopes", "read"]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


# --- without the SDK ---------------------------------------------------------------------------------


def test_without_the_sdk_the_verb_says_what_to_install(
    deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-E004 with the next step; the file is not even made."""
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "deja_tui.cli.mcp_serve", raising=False)
    done = deja("mcp", "--db", tmp_path / "a.deja")
    assert done.code == 1
    assert done.err.startswith("CLI-E004 ")
    assert "next: python -m pip install 'deja-tui[mcp]'" in done.err
    assert not done.out
    assert not list(tmp_path.iterdir())


def test_only_this_verb_imports_the_sdk() -> None:
    """Its name stands in one module; help, the tools and the wiring load nothing of it."""
    named = [
        path.name
        for path in (ROOT / "deja_tui").rglob("*.py")
        if any(
            line.startswith(("from mcp", "import mcp", "import anyio"))
            for line in path.read_text().splitlines()
        )
    ]
    assert named == ["mcp_serve.py"]
    loaded = loaded_by(
        "import deja_tui.cli.mcp_tools, deja_tui.cli.mcp, deja_tui.capture.wiring_mcp\n"
        "from deja_tui.cli.main import run\nassert run(['mcp', '--help']) == 0 and run(['--help']) == 0"
    )
    assert not loaded & {"mcp", "mcp_types", "anyio", "pydantic", "starlette", "textual"}


# --- with it -----------------------------------------------------------------------------------------


@SDK
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_tools_are_listed_with_their_schemas(tmp_path: Path, mode: str) -> None:
    """Both ways a client may begin: the older handshake and the newer discovery."""
    from deja_tui.cli.mcp_tools import TOOLS

    async with client(tmp_path / "a.deja", mode=mode) as connected:
        listed = (await connected.list_tools()).tools
        assert "«»" in (connected.instructions or "")
    assert [one.name for one in listed] == [one.name for one in TOOLS]
    for one, tool in zip(listed, TOOLS, strict=True):
        assert one.input_schema == tool.schema
        assert one.annotations.read_only_hint == tool.reads
        json.dumps(one.input_schema)


@SDK
async def test_a_call_answers_with_lines_and_addresses(tmp_path: Path) -> None:
    """A refusal is an answer of its own kind and leaves the server as it was (MCP-6)."""
    async with client(tmp_path / "a.deja") as connected:
        given = {"subject": "acme", "relation": "region", "object": "eu-west-1"}
        done = await connected.call_tool("add_fact", given)
        assert not done.is_error
        found = await connected.call_tool("recall", {"subject": "acme"})
        assert found.structured_content["grains"][0]["address"] == done.structured_content["address"]
        assert "«eu-west-1»" in found.content[0].text
        refusal = await connected.call_tool("recommendations", {"action": "approve"})
        assert refusal.is_error
        assert refusal.content[0].text.startswith("VAL-E001 approve needs the address")
        assert not (await connected.call_tool("recall", {})).is_error


@SDK
async def test_an_unknown_tool_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    """It names those there are."""
    from mcp.shared.exceptions import MCPError

    async with client(tmp_path / "a.deja") as connected:
        with pytest.raises(MCPError, match="no such tool; one of recall, search"):
            await connected.call_tool("forget_subject", {"subject": "acme"})


@SDK
async def test_no_socket_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stdio only: a whole exchange makes no connection and listens nowhere."""

    def refused(*_: object) -> None:
        raise AssertionError("a socket was used")

    async with client(tmp_path / "a.deja") as connected:
        for name in ("connect", "connect_ex", "bind", "listen"):
            monkeypatch.setattr(socket.socket, name, refused)
        assert not (await connected.call_tool("loop", {})).is_error
        assert len((await connected.list_tools()).tools) == 7


@SDK
def test_the_process_speaks_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    """Every line of stdout is a message; a line that is none costs nothing; the end of stdin is the end, with
    status 0."""
    path = tmp_path / "a.deja"
    with Memory.open(path) as memory:
        memory.add_fact("acme", "region", "eu-west-1")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    sent = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "recall", "arguments": {"subject": "acme"}}},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **one}) for one in sent]
    lines.insert(2, '{"torn": ')
    process = started(path)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n".join(lines) + "\n")
    process.stdin.flush()
    answers: dict[Any, Any] = {}
    while 2 not in answers:
        told = json.loads(process.stdout.readline())
        assert told["jsonrpc"] == "2.0"
        answers[told.get("id")] = told
    rest, stderr = process.communicate(timeout=60)
    assert all(json.loads(line) for line in rest.splitlines())
    assert process.returncode == 0, stderr
    assert "Traceback" not in stderr
    assert answers[1]["result"]["serverInfo"]["name"] == "deja"
    assert "«eu-west-1»" in answers[2]["result"]["content"][0]["text"]


@SDK
@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX systems")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_and_leaves_the_file_whole(tmp_path: Path, name: str) -> None:
    """Ctrl-C is status 130, a termination 143; no traceback, nothing to repair."""
    path = tmp_path / "a.deja"
    with Memory.open(path) as memory:
        memory.add_fact("acme", "region", "eu-west-1")
    process = started(path)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    process.stdout.readline()
    # stdin stays open: what ends it is the signal
    process.send_signal(signal.Signals[name])
    assert process.wait(timeout=30) == 128 + signal.Signals[name]
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    with Memory.open(path) as memory:
        assert memory.verify() == ()


@SDK
@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--scopes", "read,everything"], "VAL-E001"),
        (["--actor", "engine:x"], "VAL-E003"),
        (["--actor", "a b"], "VAL-E003"),
    ],
)
def test_a_malformed_actor_or_right_starts_nothing(
    deja: Deja, tmp_path: Path, more: list[str], code: str
) -> None:
    """Before a single message is read."""
    path = tmp_path / "a.deja"
    Memory.open(path).close()
    done = deja("mcp", "--db", path, *more)
    assert done.code == 1
    assert done.err.startswith(code)


@SDK
def test_a_missing_file_is_not_made(deja: Deja, tmp_path: Path) -> None:
    """A mistyped path is told, not served."""
    done = deja("mcp", "--db", tmp_path / "nothing.deja")
    assert done.code == 1
    assert done.err.startswith("STO-E003")
