# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the governance of a memory: the queue against the grains, then every audit chain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from deja_tui.engine import audit, ledger, views
from deja_tui.engine.substrate import Substrate
from deja_tui.errors import DejaError


class Unsound(NamedTuple):
    """One fault: its code, the address it is about ("" for the queue as a whole), and what it is."""

    code: str
    address: str
    told: str


def unsound(substrate: Substrate, queued: Callable[[], Collection[str]]) -> Iterator[Unsound]:
    """Recommendations whose row is not what the grains say (D1), then chains that do not hold together (LOP-E026).

    Args:
        queued: the addresses of all rows that are kept, replaced ones included; may raise DejaError.
    """
    due = {row.address: row for row in ledger.replay(substrate)}
    try:
        kept = set(queued())
        rows = views.ledger(substrate)
    except DejaError as fault:
        yield Unsound(fault.code, "", f"the queue cannot be read: {fault.message}")
        kept, rows = set(due), list(due.values())
    for address in sorted(kept.symmetric_difference(due)):
        told = "the queue does not know it" if address in due else "the queue holds what is no recommendation"
        yield Unsound("LOP-E026", address, told)
    try:
        audits = views.audits(substrate)
    except DejaError:
        audits = None  # each chain is then read by itself, and says what cannot be read of it
    for row in rows:
        try:
            chain = audit.chain(substrate, row, None if audits is None else audits.get(row.address, ()))
        except DejaError as fault:
            yield Unsound(fault.code, row.address, fault.message)
            continue
        if not chain.verified:
            yield Unsound("LOP-E026", chain.fault_address or row.address, chain.fault or "")
