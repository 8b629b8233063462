# SPDX-License-Identifier: Apache-2.0
"""A walk through pending recommendations: where it is, what was decided on the way, what its title says."""

from __future__ import annotations

from dataclasses import dataclass, field

from deja_tui.engine.objects import Receipt
from deja_tui.present.line import Line, Span, line, width


@dataclass(slots=True)
class Walk:
    """A walk through pending recommendations; it outlives its screen, so the next one goes on where it stopped."""

    addresses: list[str]
    place: int = 0
    skipped: set[str] = field(default_factory=set)
    receipts: list[Receipt] = field(default_factory=list)
    # A reason that could not be recorded, for the finding that took the place: address, decision, text.
    draft: tuple[str, str, str] | None = None

    @property
    def address(self) -> str | None:
        """The recommendation in hand, None at the end."""
        return self.addresses[self.place] if self.place < len(self.addresses) else None

    def resume(self, pending: list[str]) -> None:
        """Go on with what is pending now, at the place where the walk stopped, or at the first after it that is left."""
        ahead = self.addresses[self.place :]
        left = next((address for address in ahead if address in pending), None)
        self.addresses = pending
        self.place = pending.index(left) if left is not None else 0

    @property
    def acts(self) -> int:
        """How much was done on the way: decisions and skips."""
        return len(self.receipts) + len(self.skipped)

    @property
    def waiting(self) -> int:
        """How many were skipped or not reached."""
        return len(self.skipped.union(self.addresses[self.place :]))

    def count(self, to_status: str) -> int:
        """How many receipts moved a recommendation to a status."""
        return sum(1 for receipt in self.receipts if receipt.to_status == to_status)

    @property
    def where(self) -> str:
        """``2 of 9``, or ``end``."""
        return "end" if self.address is None else f"{self.place + 1} of {len(self.addresses)}"

    def counts(self, *, brief: bool = False) -> str:
        """``approved 1  rejected 0  skipped 2``; ``brief`` in short words: ``ok 1  no 0  skip 2``."""
        told = [
            f"{short if brief else word} {count}"
            for word, short, count, always in (
                ("approved", "ok", self.count("approved"), True),
                ("rejected", "no", self.count("rejected"), True),
                ("applied", "done", self.count("applied"), False),
                ("rolled back", "undone", self.count("rolled_back"), False),
                ("skipped", "skip", len(self.skipped), True),
            )
            if count or always
        ]
        return "  ".join(told)

    def title(self, room: int) -> Line:
        """Where the walk is and what it counts; words become shorter where room is short, no count is left out."""
        name = Span("deja review", "strong")
        brief = self.where.replace(" of ", "/")
        tries = (
            line(name, f"  {self.where}   {self.counts()}"),
            line(name, f"  {self.where}   {self.counts(brief=True)}"),
            line(Span("review", "strong"), f" {brief}  {self.counts(brief=True)}"),
            line(Span(brief, "strong"), f"  {self.counts(brief=True)}"),
            line(Span(brief, "strong"), f" {self.counts(brief=True).replace('  ', ' ')}"),
        )
        return next((one for one in tries if width(one) <= room), tries[-1])
