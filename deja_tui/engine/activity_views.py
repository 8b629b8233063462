# SPDX-License-Identifier: Apache-2.0
"""Set-based reads for the analyzers of activity and for outcomes, each written once over the five substrate methods.

A substrate that answers faster offers a method of the same name (see `views`); the conformance tests compare both.
Times are epoch ms. Namespaces None: every one that is not reserved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from deja_tui.engine.substrate import LOOP_NAMESPACE, StoredGrain, Substrate, is_reserved
from deja_tui.engine.views import by_age, error_text, has_outcome, is_failure, tool_name
from deja_tui.text import error_signature, fold

DOCUMENT_RELATION: Final = "memory_file"
OUTCOME_KEY: Final = "outcome"
"""The key of an Observation's context under which a measurement stands (docs/format.md)."""


@dataclass(frozen=True, slots=True)
class ToolSpan:
    """Calls of one tool inside a span: failures of one kind, all with a known outcome, and when its first call ever was."""

    errors: int
    calls: int
    first: int | None


@dataclass(frozen=True, slots=True)
class ColdFacts:
    """Live facts of one namespace that nobody asked for: how many, and the oldest of them."""

    namespace: str
    total: int
    oldest: tuple[StoredGrain, ...]


def _own(substrate: Substrate, name: str) -> Callable[..., Any] | None:
    return getattr(substrate, name, None)


def tool_span(
    substrate: Substrate, tool: str, signature: str | None, after_ms: int, until_ms: int
) -> ToolSpan:
    """Live calls of ``tool`` created in (after, until]; ``signature`` None: every failure counts."""
    if own := _own(substrate, "tool_span"):
        return own(tool, signature, after_ms, until_ms)  # type: ignore[no-any-return]
    errors = calls = 0
    first: int | None = None
    for grain in substrate.scan("tool"):
        if not grain.live or tool_name(grain) != tool or not has_outcome(grain):
            continue
        first = grain.created_at if first is None else min(first, grain.created_at)
        if after_ms < grain.created_at <= until_ms:
            calls += 1
            errors += is_failure(grain) and signature in (None, error_signature(error_text(grain)))
    return ToolSpan(errors, calls, first)


def facts_under(substrate: Substrate, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
    """Every fact, live or not, with this subject and relation after folding, by age (D3)."""
    if own := _own(substrate, "facts_under"):
        return own(namespace, subject, relation)  # type: ignore[no-any-return]
    wanted = (fold(subject), fold(relation))
    found = [
        grain
        for grain in substrate.scan("fact", [namespace])
        if wanted == tuple(_folded(grain, name) for name in ("subject", "relation"))
        and isinstance(grain.get("object"), str)
    ]
    return sorted(found, key=by_age)


def _folded(grain: StoredGrain, name: str) -> str | None:
    value = grain.get(name)
    return fold(value) if isinstance(value, str) else None


def earliest_fact(substrate: Substrate) -> int | None:
    """When the oldest fact of the memory was created; None without one."""
    if own := _own(substrate, "earliest_fact"):
        return own()  # type: ignore[no-any-return]
    return min((grain.created_at for grain in substrate.scan("fact")), default=None)


def live_grains(
    substrate: Substrate, type: str, namespaces: Sequence[str] | None = None, after: int = 0
) -> Iterator[StoredGrain]:
    """The live grains of one type, in arrival order; with ``after``, an arrival position, at least those that arrived, or
    became live again, after it. What sees only grains cannot tell the latter, so the default gives all."""
    if own := _own(substrate, "live_grains"):
        return own(type, namespaces, after)  # type: ignore[no-any-return]
    return (grain for grain in substrate.scan(type, namespaces) if grain.live)


def cold_facts(
    substrate: Substrate,
    before_ms: int,
    warm: Collection[bytes],
    namespaces: Sequence[str] | None,
    limit: int,
) -> list[ColdFacts]:
    """Live facts created at or before ``before_ms`` whose raw address is not ``warm``, by namespace, sorted by its name.

    ``oldest`` holds at most ``limit`` of each, by (created_at, arrival).
    """
    if own := _own(substrate, "cold_facts"):
        return own(before_ms, warm, namespaces, limit)  # type: ignore[no-any-return]
    known = set(warm)
    spaces: dict[str, list[StoredGrain]] = defaultdict(list)
    for grain in substrate.scan("fact", namespaces):
        if grain.live and grain.created_at <= before_ms and bytes.fromhex(grain.address) not in known:
            spaces[grain.namespace].append(grain)
    return [
        ColdFacts(
            name, len(found), tuple(sorted(found, key=lambda grain: (grain.created_at, grain.seq))[:limit])
        )
        for name, found in sorted(spaces.items())
    ]


def engine_written(substrate: Substrate) -> frozenset[bytes]:
    """Raw addresses of facts that an apply wrote: a recommendation is among their parents."""
    if own := _own(substrate, "engine_written"):
        return own()  # type: ignore[no-any-return]
    told = {grain.address for grain in substrate.scan("recommendation", [LOOP_NAMESPACE])}
    return frozenset(
        bytes.fromhex(grain.address)
        for grain in substrate.scan("fact")
        if grain.live and not told.isdisjoint(parents(grain))
    )


def documents(substrate: Substrate, namespaces: Sequence[str] | None = None) -> frozenset[bytes]:
    """Raw addresses of the live facts that hold documents; they are read by path, not recalled."""
    if own := _own(substrate, "documents"):
        return own(namespaces)  # type: ignore[no-any-return]
    return frozenset(
        bytes.fromhex(grain.address)
        for grain in substrate.scan("fact", namespaces)
        if grain.live and grain.get("relation") == DOCUMENT_RELATION
    )


def answers(substrate: Substrate, question: str, namespace: str) -> bool:
    """Whether a free-text search of the namespace finds anything. A memory without a search answers nothing."""
    own = _own(substrate, "answers")
    return bool(own(question, namespace)) if own else False


def outcome_grains(substrate: Substrate, since_ms: int = 0) -> list[StoredGrain]:
    """The Observations of the loop's namespace that record a measurement, created from ``since_ms`` on, in arrival order."""
    if own := _own(substrate, "outcome_grains"):
        return own(since_ms)  # type: ignore[no-any-return]
    return [
        grain
        for grain in substrate.scan("observation", [LOOP_NAMESPACE])
        if grain.created_at >= since_ms and holds_outcome(grain)
    ]


def holds_outcome(grain: StoredGrain) -> bool:
    """Whether an Observation says that it records a measurement."""
    context = grain.get("context")
    return isinstance(context, Mapping) and isinstance(context.get(OUTCOME_KEY), Mapping)


# --- chains ------------------------------------------------------------------------------------------


def parents(grain: StoredGrain) -> tuple[str, ...]:
    """What a grain was derived from."""
    told = grain.get("derived_from")
    if isinstance(told, str):
        return (told,)
    return tuple(one for one in told if isinstance(one, str)) if isinstance(told, list | tuple) else ()


def lineage(get: Callable[[str], StoredGrain | None], grain: StoredGrain) -> Iterator[StoredGrain]:
    """What ``grain`` took the place of, newest first: the grain itself is not among them.

    Where several were merged into one, the oldest of them goes on. A predecessor that was erased ends the chain.
    """
    seen = {grain.address}
    here: StoredGrain | None = grain
    while here is not None:
        address = here.address
        before = [found for one in parents(here) if (found := get(one)) and found.superseded_by == address]
        here = min(before, key=by_age, default=None)
        if here is None or here.address in seen or is_reserved(here.namespace):
            return
        seen.add(here.address)
        yield here


def newest_of_chain(
    get: Callable[[str], StoredGrain | None], grain: StoredGrain, limit: int
) -> list[StoredGrain]:
    """The grain and at most ``limit`` predecessors, newest first."""
    return [grain, *islice(lineage(get, grain), limit)]
