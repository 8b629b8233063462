# SPDX-License-Identifier: Apache-2.0
"""Set-based reads about facts and notes, each written once over the five substrate methods (D10).

As in `views`: a substrate that can answer faster offers a method of the same name and signature (without the first
argument), and the conformance tests compare both. A view nominates, the analyzer decides by the text (D11).

``after`` is an arrival position up to which the caller has looked before. A substrate may then leave out what cannot have
become a finding since: it names at least every group with a member that arrived or was opened again after it, each group
whole. The defaults leave nothing out, because what was opened again cannot be told by the five methods.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from heapq import nsmallest
from itertools import islice
from typing import Final, cast

from deja_tui.engine.substrate import Overdue, RelationCount, StoredGrain, Substrate
from deja_tui.engine.views import by_age, capability, fact_key
from deja_tui.text import note_words

ENDING: Final = ("fact", "observation")
"""The types that declare how long they hold: spec loop-engine §4.5."""
MANY_NOTES: Final = 20_000
"""The budget of near-duplicates (D12): so many notes are compared, the first to arrive, however many there are."""
EXPIRY_MARK: Final = "invalidation_type"
EXPIRED: Final = "expired"
NOTE_FIELDS: Final = ("body", "content", "text", "object")


# --- what a grain says -------------------------------------------------------------------------------


def moment(value: object) -> int | None:
    """Epoch ms of a stored time: a number as it is, ISO-8601 text without a zone as UTC; None for anything else.

    A file keeps numbers; text is what a memory may hold whose door does not read times (spec loop-engine §4.5).
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not value[:1].isdigit():
        return None
    try:
        told = datetime.fromisoformat(value.strip())
        return int((told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def holds_at(grain: StoredGrain, at: int) -> bool:
    """Whether the grain's own validity covers ``at`` (epoch ms), both bounds included."""
    since, until = moment(grain.get("valid_from")), moment(grain.get("valid_to"))
    return (since is None or since <= at) and (until is None or at <= until)


def says_expired(grain: StoredGrain) -> bool:
    """Whether the grain is marked as past its end, as the milder change of the staleness analyzer does it."""
    return bool(grain.get(EXPIRY_MARK) == EXPIRED)


def note_text(grain: StoredGrain) -> str:
    """What a note says: the first of its text fields that is there; "" when none is text.

    A file keeps the text of an observation as its object; with a relation the object is a value, not a text.
    """
    names = NOTE_FIELDS if grain.get("relation") is None else NOTE_FIELDS[:-1]
    told = next((grain.get(name) for name in names if grain.get(name) is not None), "")
    return told if isinstance(told, str) else ""


# --- views -------------------------------------------------------------------------------------------


def rivals(
    substrate: Substrate, namespaces: Sequence[str] | None, relations: Sequence[str], after: int = 0
) -> list[list[StoredGrain]]:
    """Live facts of one (namespace, folded subject, relation) with two or more folded objects, by key, each by age.

    Args:
        relations: folded.
    """
    if own := capability(substrate, "rivals"):
        return cast("list[list[StoredGrain]]", own(namespaces, relations, after))
    wanted = frozenset(relations)
    groups: dict[tuple[str, ...], list[StoredGrain]] = defaultdict(list)
    for grain in _live_facts(substrate, namespaces):
        key = fact_key(grain)
        if key[2] in wanted:
            groups[key[:3]].append(grain)
    found = [group for _, group in sorted(groups.items()) if len({fact_key(one)[3] for one in group}) > 1]
    return [sorted(group, key=by_age) for group in found]


def relation_counts(
    substrate: Substrate, namespaces: Sequence[str] | None, least: int
) -> list[RelationCount]:
    """How many subjects have a value under each relation, and how many exactly one; sorted by namespace and relation.

    Args:
        least: relations with fewer subjects are left out.
    """
    if own := capability(substrate, "relation_counts"):
        return cast("list[RelationCount]", own(namespaces, least))
    values: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for grain in _live_facts(substrate, namespaces):
        key = fact_key(grain)
        values[key[0], key[2], key[1]].add(key[3])
    subjects: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for (namespace, relation, _), objects in values.items():
        count = subjects[namespace, relation]
        count[0] += 1
        count[1] += len(objects) == 1
    return [RelationCount(*key, *count) for key, count in sorted(subjects.items()) if count[0] >= least]


def forks(substrate: Substrate, namespaces: Sequence[str] | None, after: int = 0) -> list[list[StoredGrain]]:
    """The live tips of every fork, each newest first (D3); [] where the substrate lacks the capability (D10)."""
    own = capability(substrate, "forks")
    return [list(tips) for tips in own(namespaces, after)] if own else []


def ended(
    substrate: Substrate,
    namespaces: Sequence[str] | None,
    before: int,
    after: int = 0,
    since: int | None = None,
) -> list[StoredGrain]:
    """Live facts and observations whose declared end lies before ``before`` (epoch ms), in arrival order.

    With ``after`` and ``since`` a substrate may leave out those that had arrived and ended before ``since`` when it was
    asked last.
    """
    if own := capability(substrate, "ended"):
        return cast("list[StoredGrain]", own(namespaces, before, after, since))
    found = [grain for grain in _live(substrate, ENDING, namespaces) if _ends_before(grain, before)]
    return sorted(found, key=lambda grain: grain.seq)


def past_end(substrate: Substrate, before: int) -> int:
    """How many live facts and observations `ended` gives for ``before``, of every user namespace."""
    own = capability(substrate, "past_end")
    return int(own(before)) if own else len(ended(substrate, None, before))


def overdue(
    substrate: Substrate, namespaces: Sequence[str] | None, types: Sequence[str], before: int, limit: int
) -> list[Overdue]:
    """Live grains of ``types`` created before ``before`` (epoch ms), by namespace: how many, and the oldest ``limit``."""
    if own := capability(substrate, "overdue"):
        return cast("list[Overdue]", own(namespaces, types, before, limit))
    spaces: dict[str, list[StoredGrain]] = defaultdict(list)
    for grain in _live(substrate, types, namespaces):
        if grain.created_at < before:
            spaces[grain.namespace].append(grain)
    return [
        Overdue(namespace, len(grains), nsmallest(limit, grains, key=by_age))
        for namespace, grains in sorted(spaces.items())
    ]


def near_notes(substrate: Substrate, namespaces: Sequence[str] | None, after: int = 0) -> list[StoredGrain]:
    """Live observations that may have a near-duplicate at a Jaccard of 0.9 or more, by (namespace, age).

    The default names all of them that have words; a substrate that keeps signatures (D12) names those which share one.
    """
    if own := capability(substrate, "near_notes"):
        return cast("list[StoredGrain]", own(namespaces, after))
    return all_notes(substrate, namespaces, MANY_NOTES)


def all_notes(substrate: Substrate, namespaces: Sequence[str] | None, limit: int) -> list[StoredGrain]:
    """The first ``limit`` live observations that have words, by (namespace, age)."""
    notes = (
        grain for grain in _live(substrate, ("observation",), namespaces) if note_words(note_text(grain))
    )
    found = list(islice(notes, limit))
    return sorted(found, key=lambda grain: (grain.namespace, *by_age(grain)))


# --- helpers -----------------------------------------------------------------------------------------


def _live(
    substrate: Substrate, types: Iterable[str], namespaces: Sequence[str] | None
) -> Iterator[StoredGrain]:
    for type_ in types:
        yield from (grain for grain in substrate.scan(type_, namespaces) if grain.live)


def _live_facts(substrate: Substrate, namespaces: Sequence[str] | None) -> Iterator[StoredGrain]:
    return (grain for grain in _live(substrate, ("fact",), namespaces) if fact_key(grain))


def _ends_before(grain: StoredGrain, before: int) -> bool:
    until = moment(grain.get("valid_to"))
    return until is not None and until < before
