# SPDX-License-Identifier: Apache-2.0
"""What an agent is given before it acts (D53): the newest applied lessons of a namespace, then what its words find.

* CTX-1  Lessons come first: at most `LESSONS`, in at most a third of the budget, the newest decision first. A lesson is what
  an applied recommendation about a tool, or an applied draft, wrote here; once it is rolled back or replaced it is none.
* CTX-2  The text never costs more than the budget; a line that does not fit is left out whole, and told.
* CTX-3  Every line is one line, cleaned, with what came from a tool, a model or a person inside «».
* CTX-4  What was given is counted as delivered, hits as recalled, and the context as one that fitted or did not (D37).
  The text is not counted as a question: it is a prompt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from deja_tui.adapter import StoreSubstrate
from deja_tui.context_lines import (
    DEFAULT_BUDGET,
    DOCUMENT,
    DRAFTS,
    LESSONS,
    LOOKED_AT,
    MOST_BUDGET,
    TARGET,
    Lines,
)
from deja_tui.context_lines import line_of as line_of
from deja_tui.engine import views
from deja_tui.engine.actors import Caller
from deja_tui.errors import ValidationError
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store
from deja_tui.store.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Context:
    """A context as it was put together.

    Attributes:
        text: the lines, each ending in a newline; safe to print, and untrusted all the same: nothing in «» is an order.
        lessons, hits: the grains the lines stand for, in their order.
        left_out: lines that did not fit the budget.
        tokens: what the text costs: a quarter of its bytes, line by line, rounded up.
        budget: what it was allowed to cost.
    """

    text: str
    lessons: tuple[StoredGrain, ...]
    hits: tuple[StoredGrain, ...]
    left_out: int
    tokens: int
    budget: int

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every grain in it, as `store.telemetry.Telemetry.delivered` takes them."""
        return tuple(grain.address for grain in (*self.lessons, *self.hits))


class _Host(Protocol):
    store: Store
    substrate: StoreSubstrate
    telemetry: Telemetry
    namespace: str
    who: Caller


class Contexts:
    """The part of `facade.Memory` that puts contexts together."""

    def context(
        self: _Host,
        text: str = "",
        *,
        budget: int = DEFAULT_BUDGET,
        k: int = 5,
        namespace: str | None = None,
        deliver: bool = True,
    ) -> Context:
        """Lessons of the namespace, then at most ``k`` grains that the words of ``text`` find, under a budget (D53).

        Args:
            budget: tokens, 1 to 1,000,000.
            deliver: count what is given as delivered. One who may fail to hand it over passes False and calls
                ``telemetry.delivered(context.addresses)`` afterwards.

        Raises VAL-E001, LOP-E022 (needs read).
        """
        self.who.need("read")
        if not isinstance(text, str):
            raise ValidationError(
                "VAL-E001", f"a context is asked for with a text, not {type(text).__name__}"
            )
        if type(budget) is not int or not 1 <= budget <= MOST_BUDGET:
            raise ValidationError("VAL-E001", f"budget is a whole number from 1 to {MOST_BUDGET:,}")
        space = namespace or self.namespace
        lessons = Lines[StoredGrain](budget // 3)
        lessons.take(newest_lessons(self.substrate, self.store, space))
        hits = Lines[StoredGrain](budget - lessons.tokens)
        if text.strip() and k > 0:
            given = {grain.address for grain in lessons.grains}
            found = self.store.search(text, namespace=space, k=k + len(given))
            hits.take([grain for grain in found if grain.address not in given][:k])
            if self.telemetry.on:
                # a prompt is no question: "go on" finds nothing a hundred times, and nothing is missing
                self.telemetry.recalled(space, hits.grains)
        made = Context(
            text="".join((*lessons.lines, *hits.lines)),
            lessons=tuple(lessons.grains),
            hits=tuple(hits.grains),
            left_out=lessons.left_out + hits.left_out,
            tokens=lessons.tokens + hits.tokens,
            budget=budget,
        )
        self.telemetry.assembled(made.left_out > 0)
        if deliver:
            self.telemetry.delivered(made.addresses)
        return made


def newest_lessons(substrate: StoreSubstrate, store: Store, namespace: str) -> list[StoredGrain]:
    """At most `LESSONS` live lessons of a namespace, the newest decision first (CTX-1)."""
    found: dict[str, StoredGrain] = {}
    for grain in _lessons(substrate, store):
        if grain.live and grain.namespace == namespace and grain.get("relation") != DOCUMENT:
            found.setdefault(grain.address, grain)
        if len(found) == LESSONS:
            break
    return list(found.values())


def _lessons(substrate: StoreSubstrate, store: Store) -> Iterator[StoredGrain]:
    """What applied recommendations wrote here. What another copy applied is memory like any other, and no lesson (D5)."""
    rows = [
        row
        for row in views.ledger(substrate, ("applied",))
        if not row.foreign and (row.target_ref.startswith(TARGET) or row.analyzer.startswith(DRAFTS))
    ]
    for row in sorted(rows, key=lambda row: (-row.decided_at, row.address))[:LOOKED_AT]:
        yield from store.children(row.address)
