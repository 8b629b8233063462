# SPDX-License-Identifier: Apache-2.0
"""The tool runner of the Anthropic SDK, with every tool call recorded.

`recorded` is all that deja needs: it wraps the function that the SDK turns into a tool. The model is scripted, so no network
and no key are used. With the package `anthropic` its own client and runner work, over a transport that answers from the
script; without it, a stand-in of a few lines does what the runner does, and says so.

python agent.py [FILE]
"""

import functools
import json
import sys

from deja_tui import Memory

PATH = sys.argv[1] if len(sys.argv) > 1 else "agent.deja"


def recorded(memory, thread):
    """A decorator: store what the tool was given, what it returned, and whether it failed."""

    def decorate(tool):
        @functools.wraps(tool)
        def call(**given):
            try:
                result = tool(**given)
            except Exception as fault:
                memory.record_tool_call(tool.__name__, str(fault), is_error=True, thread=thread, input=given)
                raise
            memory.record_tool_call(tool.__name__, result, thread=thread, input=given)
            return result

        return call

    return decorate


# --- the model: three orders, two tools each, none of which work ---------------------------------------


def script():
    for order in range(3):
        uses = [("stripe_refund", {"order": f"A-{order}"}), ("send_mail", {"to": "ops@example.com"})]
        blocks = [
            {"type": "tool_use", "id": f"toolu_{order}_{name}", "name": name, "input": given}
            for name, given in uses
        ]
        yield message(blocks, "tool_use")
    yield message([{"type": "text", "text": "I could not refund them."}], "end_turn")


def message(content, stop_reason):
    usage = {"input_tokens": 1, "output_tokens": 1}
    kind = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted"}
    return {**kind, "content": content, "stop_reason": stop_reason, "stop_sequence": None, "usage": usage}


# --- the two runners -----------------------------------------------------------------------------------


def run_with_sdk(tools):
    import logging

    import anthropic

    try:
        import httpx2 as httpx
    except ImportError:
        import httpx

    logging.getLogger("anthropic").setLevel(logging.CRITICAL)  # it logs the traceback of a tool that failed
    replies = script()
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=next(replies)))
    client = anthropic.Anthropic(api_key="none", http_client=httpx.Client(transport=transport))
    runner = client.beta.messages.tool_runner(
        model="scripted",
        max_tokens=1000,
        tools=[anthropic.beta_tool(tool) for tool in tools],
        messages=[{"role": "user", "content": "Refund the three orders."}],
    )
    return runner.until_done().content[0].text


def run_with_stand_in(tools):
    """What the runner does: call the tools of every reply until a reply asks for none."""
    by_name = {tool.__name__: tool for tool in tools}
    for reply in script():
        for block in reply["content"]:
            if block["type"] == "text":
                return block["text"]
            try:
                by_name[block["name"]](**block["input"])
            except RuntimeError as fault:
                print("tool_result, is_error:", json.dumps(str(fault)))
    return ""


# --- the program ---------------------------------------------------------------------------------------


def work(memory):
    @recorded(memory, "sess-1")
    def stripe_refund(order: str) -> str:
        """Refund one order.

        Args:
            order: its number.
        """
        raise RuntimeError("rate limited")

    @recorded(memory, "sess-1")
    def send_mail(to: str) -> str:
        """Send the receipt.

        Args:
            to: an address.
        """
        raise RuntimeError("550 mailbox full")

    try:
        import anthropic  # noqa: F401
    except ImportError:
        print("runner: the stand-in; the package anthropic is not installed")
        return run_with_stand_in([stripe_refund, send_mail])
    print("runner: anthropic's own, over a scripted transport")
    return run_with_sdk([stripe_refund, send_mail])


with Memory.open(PATH, actor="agent:worker", scopes=("read", "write")) as memory:
    print("agent:", work(memory))
    print(memory.loop.run(min_new_errors=3).stored, "recommendations")

with Memory.open(PATH, actor="user:ana") as memory:
    keep, drop = memory.loop.queue()
    print(memory.loop.approve(keep.address, because="seen for three orders").to_status)
    print(memory.loop.reject(drop.address, because="an outage, over since").to_status)
