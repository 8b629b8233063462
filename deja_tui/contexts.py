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

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import views
from deja_tui.engine.actors import Caller
from deja_tui.errors import ValidationError
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store
from deja_tui.store.telemetry import Telemetry
from deja_tui.text import fence

LESSONS: Final = 5
DEFAULT_BUDGET: Final = 400
_MOST_BUDGET: Final = 1_000_000
_TARGET: Final = "entity:lessons/"
_DRAFTS: Final = "draft."
_LOOKED_AT: Final = 500
_DOCUMENT: Final = "memory_file"
_NAME: Final = 80
_WORD: Final = re.compile(r"[A-Za-z0-9_.:@/#+-]{1,80}\Z")
_SAID: Final = 240
_TEXT_FIELDS: Final = ("tool_content", "content", "result", "error", "body", "description", "text", "object")


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
        if type(budget) is not int or not 1 <= budget <= _MOST_BUDGET:
            raise ValidationError("VAL-E001", f"budget is a whole number from 1 to {_MOST_BUDGET:,}")
        space = namespace or self.namespace
        lessons = _Lines(budget // 3)
        lessons.take(newest_lessons(self.substrate, self.store, space))
        hits = _Lines(budget - lessons.tokens)
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


class _Lines:
    """Lines in their order, as far as they fit (CTX-2)."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.tokens = 0
        self.left_out = 0
        self.lines: list[str] = []
        self.grains: list[StoredGrain] = []

    def take(self, grains: Iterable[StoredGrain]) -> None:
        for grain in grains:
            line = line_of(grain)
            cost = -(-len(line.encode()) // 4)
            if self.tokens + cost > self.room:
                self.left_out += 1
                continue
            self.tokens += cost
            self.lines.append(line)
            self.grains.append(grain)


def newest_lessons(substrate: StoreSubstrate, store: Store, namespace: str) -> list[StoredGrain]:
    """At most `LESSONS` live lessons of a namespace, the newest decision first (CTX-1)."""
    found: dict[str, StoredGrain] = {}
    for grain in _lessons(substrate, store):
        if grain.live and grain.namespace == namespace and grain.get("relation") != _DOCUMENT:
            found.setdefault(grain.address, grain)
        if len(found) == LESSONS:
            break
    return list(found.values())


def _lessons(substrate: StoreSubstrate, store: Store) -> Iterator[StoredGrain]:
    """What applied recommendations wrote here. What another copy applied is memory like any other, and no lesson (D5)."""
    rows = [
        row
        for row in views.ledger(substrate, ("applied",))
        if not row.foreign and (row.target_ref.startswith(_TARGET) or row.analyzer.startswith(_DRAFTS))
    ]
    for row in sorted(rows, key=lambda row: (-row.decided_at, row.address))[:_LOOKED_AT]:
        yield from store.children(row.address)


def line_of(grain: StoredGrain) -> str:
    """One grain as one line: names bare, what was said in «» (CTX-3)."""
    names = [grain.get(name) for name in ("subject", "relation")]
    if all(isinstance(name, str) for name in names) and grain.get("object") is not None:
        told = " · ".join(map(_named, names))
        return f"- {told} · {fence(str(grain.get('object'))[:_SAID])}\n"
    said = next((grain.get(field) for field in _TEXT_FIELDS if grain.get(field) is not None), "")
    name = _named(grain.get("tool_name") or grain.get("name") or grain.type)
    return f"- {name}: {fence(str(said)[:_SAID])}\n"


def _named(name: object) -> str:
    """A name bare when it is one plain word, else fenced like everything that somebody wrote."""
    return name if isinstance(name, str) and _WORD.match(name) else fence(str(name)[:_NAME])
