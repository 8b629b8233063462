# SPDX-License-Identifier: Apache-2.0
"""A LangChain callback that records every tool call, for any agent or graph that takes callbacks.

The calls are scripted, so no network and no key are used. With the package `langchain-core` its own tools call the handler;
without it, a stand-in of a few lines calls it in the same order, and says so.

python agent.py [FILE]
"""

import sys
from types import SimpleNamespace
from uuid import uuid4

from deja_tui import Memory

try:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.tools import tool
except ImportError:
    BaseCallbackHandler, tool = object, None

PATH = sys.argv[1] if len(sys.argv) > 1 else "agent.deja"


class Recorder(BaseCallbackHandler):
    """Store every tool call with its input, its result and whether it failed."""

    def __init__(self, memory, thread):
        super().__init__()
        self.memory, self.thread, self.open = memory, thread, {}

    def on_tool_start(self, serialized, input_str, *, run_id, inputs=None, **more):
        self.open[run_id] = (serialized.get("name") or "tool", inputs if inputs is not None else input_str)

    def on_tool_end(self, output, *, run_id, **more):
        self.store(run_id, str(getattr(output, "content", output)), False)

    def on_tool_error(self, error, *, run_id, **more):
        self.store(run_id, str(error), True)

    def store(self, run_id, result, failed):
        name, given = self.open.pop(run_id)
        self.memory.record_tool_call(name, result, failed, self.thread, str(run_id), given)


def stand_in(function):
    """A tool that calls its callbacks as LangChain does: start, then end or error."""

    def invoke(given, config):
        run_id = uuid4()
        for handler in config["callbacks"]:
            handler.on_tool_start({"name": function.__name__}, str(given), run_id=run_id, inputs=given)
        try:
            result = function(**given)
        except Exception as fault:
            for handler in config["callbacks"]:
                handler.on_tool_error(fault, run_id=run_id)
            raise
        for handler in config["callbacks"]:
            handler.on_tool_end(result, run_id=run_id)
        return result

    return SimpleNamespace(invoke=invoke)


def stripe_refund(order: str) -> str:
    """Refund one order."""
    raise RuntimeError("rate limited")


def send_mail(to: str) -> str:
    """Send the receipt."""
    raise RuntimeError("550 mailbox full")


def look_up(order: str) -> str:
    """Look an order up."""
    return f"{order}: paid"


def work(memory):
    print(
        "tools:", "langchain's own" if tool else "the stand-in; the package langchain-core is not installed"
    )
    made = {one.__name__: (tool or stand_in)(one) for one in (look_up, stripe_refund, send_mail)}
    config = {"callbacks": [Recorder(memory, "sess-1")]}
    for order in range(3):
        for name, given in (
            ("look_up", {"order": f"A-{order}"}),
            ("stripe_refund", {"order": f"A-{order}"}),
            ("send_mail", {"to": "ops@example.com"}),
        ):
            try:
                made[name].invoke(given, config=config)
            except RuntimeError as fault:
                print(f"{name}: {fault}")


with Memory.open(PATH, actor="agent:worker", scopes=("read", "write")) as memory:
    work(memory)
    print(memory.loop.run(min_new_errors=3).stored, "recommendations")

with Memory.open(PATH, actor="user:ana") as memory:
    keep, drop = memory.loop.queue()
    print(memory.loop.approve(keep.address, because="seen for three orders").to_status)
    print(memory.loop.reject(drop.address, because="an outage, over since").to_status)
