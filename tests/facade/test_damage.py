# SPDX-License-Identifier: Apache-2.0
"""One recommendation's bytes are damaged: everything else goes on, and `verify` names it."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
import pytest

from deja_tui import DejaError, Memory
from tests.support import DAY, NOW

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda body: body[:40],
    "another severity": lambda body: body.replace(b"\xa4high", b"\xa4hizh"),
    "not utf-8": lambda body: body.replace(b"curl", b"cu\xffl"),
}


@pytest.mark.parametrize("how", sorted(DAMAGE))
def test_one_damaged_recommendation_stops_nothing_else(tmp_path: Path, how: str) -> None:
    """Queue, verify, run and the other decisions work; the damaged one cannot be decided and holds nothing back."""
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW - DAY) as memory:
        for number in range(6):
            memory.record_tool_call("curl", "timeout", True, call_id=f"a{number}")
            memory.record_tool_call("git", "rejected", True, call_id=f"b{number}")
        memory.loop.run()
        broken, sound = (
            next(row.address for row in memory.loop.queue() if tool in row.target_ref)
            for tool in ("curl", "git")
        )
    db = apsw.Connection(str(path))
    ((body,),) = db.execute("SELECT body FROM grain WHERE hash = ?", (bytes.fromhex(broken),))
    assert DAMAGE[how](body) != body
    db.execute("UPDATE grain SET body = ? WHERE hash = ?", (DAMAGE[how](body), bytes.fromhex(broken)))
    db.close()
    with Memory.open(path, clock=lambda: NOW) as memory:
        assert {row.address for row in memory.loop.queue()} == {broken, sound}
        assert broken in {fault.address for fault in memory.verify()}
        with pytest.raises(DejaError):
            memory.loop.approve(broken, because="it looks fine")
        assert memory.loop.approve(sound, because="seen often").chain_verified
        assert memory.loop.run().outcome == "ran"
        assert memory.loop.run().stored == 0
        again = next(
            row.address for row in memory.loop.queue() if "curl" in row.target_ref and row.address != broken
        )
        assert memory.loop.approve(again, because="found anew").chain_verified


def test_a_damaged_fact_is_nobodys_duplicate(tmp_path: Path) -> None:
    """The run goes on without it; `verify` names it."""
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW) as memory:
        addresses = [
            memory.add_fact("acme", "likes", name, created_at=NOW - DAY) for name in ("tea", "Tea", "TEA")
        ]
        pair = [memory.add_fact("ana", "likes", name, created_at=NOW - DAY) for name in ("tea", "TEA")]
    db = apsw.Connection(str(path))
    for address in (addresses[1], pair[0]):
        db.execute("UPDATE grain SET body = substr(body, 1, 20) WHERE hash = ?", (bytes.fromhex(address),))
    db.close()
    with Memory.open(path, clock=lambda: NOW) as memory:
        memory.loop.run()
        (row,) = memory.loop.queue()
        assert set(memory.loop.show(row.address).recommendation.evidence) == {addresses[0], addresses[2]}
        assert {addresses[1], pair[0]} <= {fault.address for fault in memory.verify()}


def test_a_damaged_file_never_raises_what_has_no_code(tmp_path: Path) -> None:
    """Whatever a screen asks for ends in a code and a next step, and the store answers again afterwards."""
    whole, path = tmp_path / "a.deja", tmp_path / "b.deja"
    with Memory.open(whole, clock=lambda: NOW) as memory:
        for number in range(200):
            memory.record_tool_call(
                "curl", "timeout" * 9, number % 2 == 0, thread=f"s{number % 7}", call_id=str(number)
            )
        memory.loop.run()
    content, told = whole.read_bytes(), 0
    for seed in range(8):
        dice, damaged = random.Random(seed), bytearray(content)
        for page in range(1, len(content) // 4096):
            if dice.random() < 0.3:
                for _ in range(200):
                    damaged[page * 4096 + dice.randrange(4096)] ^= 0xFF
        path.write_bytes(damaged)
        try:
            memory = Memory.open(path, read_only=True)
        except DejaError:
            continue
        with memory:
            for ask in (
                memory.sessions.threads, memory.sessions.citing, memory.loop.queue, memory.loop.health, memory.standing,
                memory.loop.analyzers, memory.loop.outcomes, memory.kinds, partial(memory.cal, "RECALL tools"),
            ):  # fmt: skip
                try:
                    ask()
                except DejaError:
                    told += 1
                assert not memory.store.reading().in_transaction
    assert told > 10
