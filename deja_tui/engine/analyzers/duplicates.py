# SPDX-License-Identifier: Apache-2.0
"""The same fact is stored more than once; the same for notes is `near_duplicates`, the second part of this analyzer.

Signal: live facts of one namespace, equal in subject, relation and object after folding (NFC, case, outer blanks).
Harm: recall returns copies; a later change reaches only one of them.
Fires: two or more members, of which one holds whenever the others do. The earliest such is kept, the others are retired
in its favour, so fewer live copies remain, and nothing is said of less time than before.
Stays quiet: a hidden-character or inner white-space difference; other namespaces; anything already superseded; times of
validity of which none holds the other, because those are two statements;
lessons about two tools, because tool names are compared exactly and a lesson must not breed a finding.
Hostile text: subject, relation and object are shown cleaned; the change itself writes no text at all.
Apply class: structural curation, which a host policy may grant; without a grant a person decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from deja_tui.engine.analyzer import Context, Manifest
from deja_tui.engine.analyzers import near_duplicates
from deja_tui.engine.analyzers.tool_failures import RELATION
from deja_tui.engine.draft import MAX_EVIDENCE, Draft
from deja_tui.engine.fact_drafts import query_of
from deja_tui.engine.identity import digest12
from deja_tui.engine.objects import Activation
from deja_tui.engine.operations import MAX_BYTES, MAX_OPERATIONS, Retire, size
from deja_tui.engine.substrate import StoredGrain
from deja_tui.engine.views import by_age, fact_key
from deja_tui.text import compact_json

ACTION: Final = "consolidate"
_SHOWN: Final = 120
_VALIDITY: Final = (
    "valid_from",
    "valid_to",
    "system_valid_from",
    "system_valid_to",
)  # a beginning, then its end
_MOST_SPANS: Final = 64


class DuplicateSweep:
    """``loop.duplicate_sweep/1``: exact facts (spec loop-engine §4.2a) and near-duplicate notes (§4.2b)."""

    manifest = Manifest(
        id="loop.duplicate_sweep/1",
        title="Duplicates",
        description="one fact stored several times, notes that say nearly the same",
        tier="T1",
        params=(near_duplicates.JACCARD,),
        auto_apply="structural_curation",
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        near_whole = near_duplicates.needs_all(ctx)
        if ctx.watermark and not near_whole:
            ctx.looked_in_part()
        for candidates in ctx.read.duplicate_facts(ctx.namespaces, 0 if near_whole else ctx.watermark):
            for groups in _equal_in_text(candidates):
                for number, group in enumerate(groups):
                    ctx.spend(len(group))
                    yield _draft(group, _key(group[0], further=number > 0))
        yield from near_duplicates.drafts(ctx)

    def probe(self, ctx: Context) -> Activation:
        facts = ctx.read.duplicate_facts(ctx.namespaces)
        groups = sum(len(found) for candidates in facts for found in _equal_in_text(candidates))
        found = groups + near_duplicates.count(ctx)
        hint = near_duplicates.hint(ctx)
        return Activation(
            "active" if found else "quiet", found, 1, "facts or notes stored more than once", hint
        )


def _equal_in_text(candidates: Sequence[StoredGrain]) -> list[list[list[StoredGrain]]]:
    """For each text the groups that really are equal, the kept one first: a hash nominates, text and validity decide (D11).

    The group without bounds comes first, then in order of their bounds.
    """
    groups: dict[tuple[str, ...], list[StoredGrain]] = {}
    for grain in candidates:
        groups.setdefault(_text_key(grain), []).append(grain)
    found = []
    for key, same in groups.items():
        equal = [group for group in _by_validity(same) if len(group) > 1] if key else []
        found.append(
            sorted(equal, key=lambda group: (_is_bounded(group[0]), compact_json(_validity(group[0]))))
        )
    return found


def _by_validity(same: Sequence[StoredGrain]) -> list[list[StoredGrain]]:
    """Facts of one text: each with one that holds at least as long. A copy that ends, or has ended, gives way to one that
    does not; facts about two times stay apart."""
    spans: dict[str, list[StoredGrain]] = {}
    for grain in same:
        spans.setdefault(compact_json(_validity(grain)), []).append(grain)
    if len(spans) == 1 or len(spans) > _MOST_SPANS:
        return list(spans.values())
    groups: dict[str, list[StoredGrain]] = {}
    for told, members in spans.items():
        wider = [other for other in spans if other != told and _holds(spans[other][0], members[0])]
        # the widest is held by no other; two of them that both hold this one: the earlier
        top = next(
            (
                other
                for other in wider
                if not any(_holds(spans[o][0], spans[other][0]) for o in wider if o != other)
            ),
            told,
        )
        groups.setdefault(top, []).extend(members)
    for told, members in groups.items():
        kept = spans[told][0]
        members.sort(key=lambda grain: (grain is not kept, *by_age(grain)))
    return list(groups.values())


def _holds(wide: StoredGrain, narrow: StoredGrain) -> bool:
    """Whether one says what the other says, for all of its time at least."""
    bounds = [*zip(_validity(wide), _validity(narrow), strict=True)]
    begins, ends = bounds[::2], bounds[1::2]
    return all(w == n or w is None or (_is_time(w) and _is_time(n) and w < n) for w, n in begins) and all(
        w == n or w is None or (_is_time(w) and _is_time(n) and w > n) for w, n in ends
    )


def _is_time(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _validity(grain: StoredGrain) -> list[Any]:
    return [grain.get(name) for name in _VALIDITY]


def _text_key(grain: StoredGrain) -> tuple[str, ...]:
    key = fact_key(grain)
    if key and key[2] == RELATION:
        return (*key, str(grain.get("subject")), str(grain.get("relation")))
    return key


def _is_bounded(grain: StoredGrain) -> bool:
    return any(bound is not None for bound in _validity(grain))


def _key(grain: StoredGrain, *, further: bool) -> tuple[str, ...]:
    """What tells the finding about this fact from others: its text; of a further group of the same text its validity, too.

    So a finding keeps its identity when a copy without an end comes or goes.
    """
    key = _text_key(grain)
    return (*key, compact_json(_validity(grain))) if further else key


def _draft(group: Sequence[StoredGrain], key: tuple[str, ...]) -> Draft:
    kept, copies = group[0], group[1:]
    operations = _bounded([Retire(copy.address, kept.address) for copy in copies])
    namespace, subject, relation, _ = fact_key(kept)
    cited = [kept, *copies[: len(operations)]]
    return Draft(
        # the digest is of all parts: a subject may hold a slash, a relation a number sign
        target_ref=f"entity:{namespace}/{subject[:_SHOWN]}#{relation[:_SHOWN]}·{digest12(*key)}",
        action=ACTION,
        template_id="duplicate.exact",
        args={
            "count": len(group),
            "subject": kept.get("subject"),
            "relation": kept.get("relation"),
            "object": kept.get("object"),
        },
        severity="low",
        operations=tuple(operations),
        evidence=tuple(grain.address for grain in cited[:MAX_EVIDENCE]),
        evidence_total=len(group),
        newest_evidence=None,
        evidence_query=query_of(group, ("subject", "relation", "object")),
        remaining=len(copies) - len(operations),
        confidence=1.0,
    )


def _bounded(operations: list[Retire]) -> list[Retire]:
    """The first operations that fit one proposal (D9); the rest comes with the refresh after the apply."""
    kept = operations[:MAX_OPERATIONS]
    while size(kept) > MAX_BYTES:
        kept = kept[:-1]
    return kept
