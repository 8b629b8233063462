# SPDX-License-Identifier: Apache-2.0
"""A tool loop over OpenAI chat completions, with every tool call recorded: one line after each call was answered.

The model is scripted, so no network and no key are used. With the package `openai` its own client works, over a transport
that answers from the script; without it, a stand-in with the same attributes takes its place, and says so.

python agent.py [FILE]
"""

import json
import sys
from types import SimpleNamespace

from deja_tui import Memory

PATH = sys.argv[1] if len(sys.argv) > 1 else "agent.deja"


# --- the tools -----------------------------------------------------------------------------------------


def stripe_refund(order):
    raise RuntimeError("rate limited")


def send_mail(to):
    raise RuntimeError("550 mailbox full")


TOOLS = {"stripe_refund": stripe_refund, "send_mail": send_mail}
DESCRIBED = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in TOOLS
]


# --- the model: three orders, two tools each, none of which work ---------------------------------------


def script():
    for order in range(3):
        uses = [("stripe_refund", {"order": f"A-{order}"}), ("send_mail", {"to": "ops@example.com"})]
        calls = [
            {
                "id": f"call_{order}_{name}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(given)},
            }
            for name, given in uses
        ]
        yield completion({"content": None, "tool_calls": calls}, "tool_calls")
    yield completion({"content": "I could not refund them."}, "stop")


def completion(said, reason):
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **said}}
    return {"id": "c-1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}


def client_of_the_sdk():
    import openai

    try:
        import httpx2 as httpx
    except ImportError:
        import httpx

    replies = script()
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=next(replies)))
    return openai.OpenAI(api_key="none", http_client=httpx.Client(transport=transport))


def stand_in():
    """The one method that the loop below calls, answering with the same attributes."""
    replies = script()

    def create(**asked):
        told = json.dumps(next(replies))
        reply = json.loads(told, object_hook=lambda entry: SimpleNamespace(**entry))
        for choice in reply.choices:
            choice.message.tool_calls = getattr(choice.message, "tool_calls", None)
        return reply

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def connected():
    try:
        import openai  # noqa: F401
    except ImportError:
        print("client: the stand-in; the package openai is not installed")
        return stand_in()
    print("client: openai's own, over a scripted transport")
    return client_of_the_sdk()


# --- the loop ------------------------------------------------------------------------------------------


def work(client, memory):
    messages = [{"role": "user", "content": "Refund the three orders."}]
    while True:
        reply = (
            client.chat.completions.create(model="scripted", messages=messages, tools=DESCRIBED)
            .choices[0]
            .message
        )
        if not reply.tool_calls:
            return reply.content
        calls = [(call.id, call.function.name, call.function.arguments) for call in reply.tool_calls]
        asked = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": text}}
            for id, name, text in calls
        ]
        messages.append({"role": "assistant", "content": reply.content, "tool_calls": asked})
        for id, name, text in calls:
            given = json.loads(text)
            try:
                result, failed = TOOLS[name](**given), False
            except RuntimeError as fault:
                result, failed = str(fault), True
            memory.record_tool_call(name, result, is_error=failed, thread="sess-1", call_id=id, input=given)
            messages.append({"role": "tool", "tool_call_id": id, "content": result})


with Memory.open(PATH, actor="agent:worker", scopes=("read", "write")) as memory:
    print("agent:", work(connected(), memory))
    print(memory.loop.run(min_new_errors=3).stored, "recommendations")

with Memory.open(PATH, actor="user:ana") as memory:
    keep, drop = memory.loop.queue()
    print(memory.loop.approve(keep.address, because="seen for three orders").to_status)
    print(memory.loop.reject(drop.address, because="an outage, over since").to_status)
