# SPDX-License-Identifier: Apache-2.0
"""A worker and a reviewer on one memory, each a process of its own, over MCP with the SDK's own client.

The worker records, finds, proposes, and cannot approve. The reviewer approves one, applies it, rolls it back, and rejects
another, each with a reason. Needs the extra: python -m pip install 'deja-tui[mcp]'

python transcript.py [FILE]
"""

import asyncio
import os
import sys

from deja_tui import Memory

try:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
except ModuleNotFoundError:
    sys.exit("this needs the MCP SDK: python -m pip install 'deja-tui[mcp]'")

PATH = sys.argv[1] if len(sys.argv) > 1 else "agent.deja"


def server(actor, scopes):
    """The launch line of one role, as `deja hook print mcp` prints it."""
    words = ["-m", "deja_tui", "mcp", "--db", PATH, "--scopes", scopes, "--actor", actor]
    return Client(
        stdio_client(StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ)))
    )


async def call(client, who, tool, **given):
    """Call a tool, print what was said, return the structured part."""
    answer = await client.call_tool(tool, given)
    shown = " ".join(
        str(given[name])[:24] for name in ("action", "address", "note", "subject") if name in given
    )
    print(f"{who} > {tool} {shown}".rstrip())
    for line in answer.content[0].text.splitlines():
        print(f"    {line}")
    return answer.structured_content


async def main():
    async with (
        server("agent:worker", "read,write") as worker,
        server("user:ana", "read,write,review,apply") as reviewer,
    ):
        for name, error in [("stripe_refund", "rate limited"), ("send_mail", "550 mailbox full")] * 3:
            await call(worker, "worker", "record_tool_call", tool_name=name, result=error, is_error=True)
        fact = await call(worker, "worker", "add_fact", subject="acme", relation="region", object="eu-west-1")

        # capture → run
        ran = await call(worker, "worker", "loop", min_new_errors=3)
        first, second = [row["address"] for row in ran["pending"]]

        # the worker proposes, and cannot approve: neither what it proposed nor what was found
        fields = {"subject": "acme", "relation": "region", "object": "us-east-1", "confidence": 0.9}
        change = {
            "op": "supersede",
            "target": fact["address"],
            "type": "fact",
            "namespace": "shared",
            "fields": fields,
        }
        draft = await call(
            worker,
            "worker",
            "propose",
            target="entity:shared/acme",
            note="moved to us-east-1 in May",
            evidence=[fact["address"]],
            operations=[change],
        )
        because = "it is right"
        for address in (draft["address"], first):
            refused = await call(
                worker, "worker", "recommendations", action="approve", address=address, because=because
            )
            assert refused["error"] == "LOP-E022"

        # the reviewer decides about one at a time
        own = {"address": draft["address"]}
        await call(reviewer, "reviewer", "recommendations", action="show", **own)
        for action, because in (
            ("approve", "the ticket says the same"),
            ("apply", "the dry run supersedes one fact, nothing else"),
            ("rollback", "the move was put off"),
        ):
            done = await call(reviewer, "reviewer", "recommendations", action=action, because=because, **own)
            assert done["actor"] == "user:ana"
            await call(worker, "worker", "recall", subject="acme")
        await call(
            reviewer, "reviewer", "recommendations", action="approve", address=first, because="in one session"
        )
        await call(
            reviewer,
            "reviewer",
            "recommendations",
            action="reject",
            address=second,
            because="an outage, over",
        )


Memory.open(PATH).close()
asyncio.run(main())
