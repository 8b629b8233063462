# SPDX-License-Identifier: Apache-2.0
"""The tools of `mcp_tools` over the protocol: the only module that imports the SDK (extra ``mcp``). Stdio, no network."""

from __future__ import annotations

import os
import signal
from typing import Any, Final

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from deja_tui import __version__
from deja_tui.cli import mcp_tools
from deja_tui.facade import Memory

_GUIDE: Final = (
    "A memory of facts and tool calls. Recall before acting, record every tool call with how it ended, propose changes. "
    + mcp_tools.UNTRUSTED
)
_GRACE_S: Final = 5.0  # a call that takes longer is cut off: its transaction never happened


def server_of(memory: Memory, turn: anyio.CapacityLimiter | None = None) -> Server[Any]:
    """A server whose calls act on this memory, one after the other, with the actor and rights it was opened with.

    ``turn``: held by the call that is under way.
    """
    taking = turn or anyio.CapacityLimiter(1)

    async def listing(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in mcp_tools.TOOLS])

    async def calling(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in mcp_tools.BY_NAME:
            raise MCPError(types.INVALID_PARAMS, "no such tool; one of " + ", ".join(mcp_tools.BY_NAME))
        answer = await anyio.to_thread.run_sync(
            mcp_tools.call, memory, params.name, params.arguments or {}, limiter=taking
        )
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            structured_content=dict(answer.told),
            is_error=answer.failed,
        )

    server: Server[Any] = Server(
        "deja", version=__version__, instructions=_GUIDE, on_list_tools=listing, on_call_tool=calling
    )
    server.middleware.clear()  # the SDK's own would hand every call to a telemetry exporter of the process
    return server


def _described(tool: mcp_tools.Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=tool.reads, destructive_hint=False, open_world_hint=False)
    return types.Tool(
        name=tool.name, description=tool.description, input_schema=tool.schema, annotations=hints
    )


def serve(memory: Memory) -> None:
    """Serve this process's stdin and stdout until stdin ends. An interrupt ends the process itself, with 128 + n."""
    anyio.run(_serve, memory)


async def _serve(memory: Memory) -> None:
    turn = anyio.CapacityLimiter(1)
    server = server_of(memory, turn)
    async with anyio.create_task_group() as tasks:
        if os.name == "posix":
            tasks.start_soon(_watch_signals, memory, turn)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _watch_signals(memory: Memory, turn: anyio.CapacityLimiter) -> None:
    """A thread waits for stdin and cannot be called back, so leaving in the usual way would wait for it for ever."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for one in signals:
            with anyio.move_on_after(_GRACE_S):
                async with turn:
                    memory.close()
            os._exit(128 + one)
