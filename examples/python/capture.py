# SPDX-License-Identifier: Apache-2.0
"""Capture from a Python program: three lines, then a run, then a person who decides.

python capture.py [FILE]
"""

import sys

from deja_tui import Memory

PATH = sys.argv[1] if len(sys.argv) > 1 else "agent.deja"


def work() -> None:
    """What the agent does. These are the three lines."""
    memory = Memory.open(PATH, actor="agent:worker", scopes=("read", "write"))
    for name, error in [("stripe_refund", "rate limited"), ("send_mail", "550 mailbox full")] * 3:
        memory.record_tool_call(name, error, is_error=True, thread="sess-1")
    print(memory.loop.run().stored, "recommendations")
    memory.close()


def review() -> None:
    """What a person does: one at a time, with a reason."""
    with Memory.open(PATH, actor="user:ana") as memory:
        keep, drop = memory.loop.queue()
        print(memory.loop.approve(keep.address, because="seen three times in one session").to_status)
        print(memory.loop.apply(keep.address, because="the dry run adds one fact, nothing else").to_status)
        print(memory.loop.reject(drop.address, because="an outage, over since").to_status)
        print(memory.context().text, end="")


work()
review()
