# SPDX-License-Identifier: Apache-2.0
"""``deja review``: the walker in lines, for a dumb terminal, a braille display or a very thin link.

One recommendation at a time: its evidence, the literal change in full, then a choice, then a typed reason, then the
receipt. It may be left at any moment; what was decided is decided, what was not stays as it was.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from deja_tui.cli import output
from deja_tui.cli.next import of_the_loop
from deja_tui.cli.options import open_memory, with_file
from deja_tui.cli.placing import option
from deja_tui.engine.objects import Detail, Receipt
from deja_tui.errors import DejaError
from deja_tui.present import plain
from deja_tui.present.reasons import Sitting
from deja_tui.text import clean

_CHOICES: Final = "a approve   x reject   s skip   e evidence and trail   q stop"
_ENDED_MEANWHILE: Final = ("LOP-E020", "LOP-E024", "LOP-E025")


class Stopped(Exception):
    """The reviewer left: end of input or ``q``."""


@dataclass(slots=True)
class Walk:
    """One sitting of line-mode review. ``ask`` prints a prompt and returns the typed line."""

    loop: Any
    clock: Callable[[], int]
    ask: Callable[[str], str]
    allow_destructive: bool = False
    sitting: Sitting = field(default_factory=Sitting)
    receipts: list[Receipt] = field(default_factory=list)
    skipped: int = 0

    def through(self, addresses: list[str]) -> None:
        """Walk the addresses in order, until the end or until the reviewer stops."""
        try:
            for number, address in enumerate(addresses, 1):
                output.lines(["", f"deja review  {number} of {len(addresses)}  {self._counts()}"])
                self._walk_past_faults(address)
        except Stopped:
            pass
        self._sum_up(len(addresses))

    def _walk_past_faults(self, address: str) -> None:
        """One recommendation; what cannot be read or decided is said, and the walk goes on."""
        try:
            self._one(address)
        except DejaError as fault:
            output.lines(_told(fault))

    def _one(self, address: str) -> None:
        found = self.loop.show(address, allow_destructive=self.allow_destructive)
        if found.status != "pending":
            by = f" by {clean(found.chain.entries[-1].actor)}" if found.chain.entries else ""
            output.lines([f"decided meanwhile{by}: it is {found.status.replace('_', ' ')}"])
            return
        self._show(found)
        numbers = [str(number) for number in range(len(found.recommendation.alternatives))]
        more = f"   {numbers[0]}-{numbers[-1]} approve that alternative" if numbers else ""
        while True:
            choice = self._choose(_CHOICES + more)
            if choice in numbers:
                if self._decide("approve", address, choice=int(choice)):
                    self._offer_apply(address)
                    return
                continue
            if choice == "q":
                raise Stopped
            if choice == "s":
                self.skipped += 1
                return
            if choice == "e":
                output.lines(plain.evidence_lines(found, self.clock(), output.width()))
                output.lines(plain.trail_lines(found.chain, output.width()))
            elif choice in ("a", "x") and self._decide("approve" if choice == "a" else "reject", address):
                if choice == "a":
                    self._offer_apply(address)
                return

    def _show(self, found: Detail) -> None:
        """The whole detail, a page at a time, so that no line of the change goes by unseen."""
        shown = plain.detail_lines(found, self.clock(), output.width())
        page = max(6, shutil.get_terminal_size((100, 24)).lines - 3) if sys.stdout.isatty() else len(shown)
        for start in range(0, len(shown), page):
            output.lines(shown[start : start + page])
            left = len(shown) - start - page
            if left > 0:
                self._typed(f"-- {left} more lines, Enter --")

    def _decide(self, verb: str, address: str, **more: Any) -> bool:
        """Ask for a reason and decide. False: back to the choices, nothing was changed."""
        number = f" {more['choice']}" if more.get("choice") else ""
        reason = self._typed(f"{verb.upper()}{number} BECAUSE> ")
        refusal = self.sitting.refusal(reason)
        if refusal:
            output.lines([refusal])
            return False
        try:
            receipt = getattr(self.loop, verb)(address, because=reason, **more)
        except DejaError as fault:
            output.lines(_told(fault))
            return fault.code in _ENDED_MEANWHILE
        self.sitting.record(reason)
        self.receipts.append(receipt)
        output.lines(plain.receipt_lines(receipt, output.width()))
        return True

    def _offer_apply(self, address: str) -> None:
        if not self.receipts or self.receipts[-1].recommendation != address:
            return
        while True:
            plan = self.loop.dry_run(address, allow_destructive=self.allow_destructive)
            output.lines([plain.plan_line(plan)])
            if plan.refusal:
                return
            choice = self._choose("p apply now   n leave it approved   q stop")
            if choice == "q":
                raise Stopped
            if choice == "n":
                return
            if choice != "p" or (plan.forgets and not self._sure(address)):
                continue
            if self._decide("apply", address, allow_destructive=self.allow_destructive):
                return

    def _sure(self, address: str) -> bool:
        typed = self._typed("CANNOT BE UNDONE. Type the first 4 characters of its address> ")
        return typed.strip().lower() == address[:4]

    def _choose(self, choices: str) -> str:
        typed = self._typed(f"{choices} > ").strip().lower()
        known = {part.split()[0] for part in choices.split("   ")}
        # a sentence typed here was meant as a reason; its first letter is no choice
        if len(typed) > 1 or not (typed in known or typed.isdigit()):
            output.lines(["one letter, please; a reason is asked for after it"] if typed else [])
            return ""
        return typed

    def _typed(self, prompt: str) -> str:
        try:
            return self.ask(prompt)
        except EOFError:
            raise Stopped from None

    def _counts(self) -> str:
        def done(status: str) -> int:
            return sum(receipt.to_status == status for receipt in self.receipts)

        return f"approved {done('approved')}  rejected {done('rejected')}  applied {done('applied')}  skipped {self.skipped}"

    def _sum_up(self, total: int) -> None:
        output.lines(["", f"Sitting ended. {total} pending at its start.", f"  {self._counts()}"])
        output.lines(
            f"  {receipt.to_status.replace('_', ' '):<9} {receipt.recommendation[:12]}  audit {receipt.audit[:12]}  "
            f"chain {'verified' if receipt.chain_verified else 'BROKEN'}"
            for receipt in self.receipts
        )


def _told(fault: DejaError) -> list[str]:
    return [clean(str(fault)), *([f"next: {clean(fault.next_step)}"] if fault.next_step else [])]


def _ask(prompt: str) -> str:
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    if not sys.stdin.isatty():
        sys.stdout.write("\n")
    return line.rstrip("\n")


@click.command()
@with_file
@click.option("--allow-destructive", is_flag=True, help="Allow changes that cannot be undone to be applied.")
def review(db: Path | None, actor: str, allow_destructive: bool) -> None:
    """Review the queue line by line: one recommendation, its evidence, the literal change, a typed reason, a receipt.

    Example: deja review --db agent.deja --actor user:ana
    """
    with open_memory(db, actor=actor) as memory:
        rows = memory.loop.queue("pending")
        if not rows:
            step = next(of_the_loop(memory.loop.health(), option(db)))
            output.lines([f"Nothing to review. {step.told}", f"  {step.command}"])
            return
        walk = Walk(memory.loop, memory.clock, _ask, allow_destructive)
        walk.through([row.address for row in rows])
