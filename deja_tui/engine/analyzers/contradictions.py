# SPDX-License-Identifier: Apache-2.0
"""A subject has two current values for something that holds one.

Signal: live facts of one namespace, subject and relation (folded) with different objects, all valid now, where the
relation is known to hold one value at a time: `FUNCTIONAL`, and what ``extra_relations`` adds.
Harm: recall answers with both, and the reader picks one.
Fires: two or more different values. One value stays, the others are retired in its favour; which one is the reviewer's
choice (D20), the newest by default. Beside that, a flag for a relation that looks single-valued and is broken somewhere.
Stays quiet: values that differ only in case, composition or outer blanks; a value whose own validity has not begun, or has
ended (unless ``count_ended`` asks for values that were given and never replaced); superseded values; other namespaces; relations that may hold many; the tips of one fork, which fork_surfacing owns.
Hostile text: values are shown cleaned, cut and in quotes of their own; the change writes no text at all.
Apply class: never automatic. The flag changes nothing but this analyzer's own list, and only when it is approved (D25).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from deja_tui.engine import cal_writer
from deja_tui.engine.analyzer import DAY_MS, Context, Manifest, Param
from deja_tui.engine.draft import MAX_EVIDENCE, Draft
from deja_tui.engine.fact_drafts import by_value, entity, of_values, one_stays
from deja_tui.engine.fact_views import holds_at, moment
from deja_tui.engine.objects import Activation
from deja_tui.engine.substrate import RelationCount, StoredGrain
from deja_tui.engine.views import fact_key
from deja_tui.text import fold

ACTION: Final = "flag_contradiction"
LEARNED: Final = "flag"
EXTRA: Final = "extra_relations"
ENDED: Final = "count_ended"
METRIC: Final = "contradiction_recurrence"
HORIZONS_MS: Final = (DAY_MS, 7 * DAY_MS, 30 * DAY_MS)
FUNCTIONAL: Final = (
    "deploy_target", "lives_in", "reports_to", "status", "tier", "owner", "region", "assigned_to", "primary_email",
    "current_plan",
)  # fmt: skip
# Names that say by themselves that there may be many, and relations whose values this product or an import writes; a
# memory in which most subjects happen to have one of them so far proves nothing.
MANY: Final = frozenset((
    "likes", "dislikes", "loves", "hates", "prefers", "wants", "needs", "uses", "used", "knows", "speaks", "has", "have",
    "mentioned", "mentions", "noted", "note", "notes", "said", "says", "asked", "asked_about", "visited", "visits", "met",
    "met_with", "works_with", "worked_on", "works_on", "decided", "decision", "depends_on", "requires", "contains",
    "includes", "part_of", "member_of", "belongs_to", "related_to", "linked_to", "tag", "tags", "tagged", "label", "alias",
    "knows_about", "interested_in", "attended", "bought", "ordered", "read", "wrote", "created", "contributed_to", "owns",
    "supports", "blocks", "blocked_by", "caused", "causes", "tried", "learned", "lesson", "fact", "memory", "event",
    "fails_with", "memory_file", "mem0_memory",
))  # fmt: skip
_LEAST_SUBJECTS: Final = 5
_LEAST_SHARE: Final = 0.8
_NAME_CHARS: Final = 64


class ContradictionSweep:
    """``loop.contradiction_sweep/1``: spec loop-engine §4.3."""

    manifest = Manifest(
        id="loop.contradiction_sweep/1",
        title="Contradictions",
        description="a subject with two current values where one can hold",
        tier="T0",
        params=(
            Param(EXTRA, "str", "", 0, 2_000, "further relations that hold one value, comma-separated"),
            Param(ENDED, "bool", False, description="count values whose own validity has ended, too"),
        ),
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        known = _known(ctx)
        after = _after(ctx)
        if after:
            ctx.looked_in_part()
        rivals = list(_conflicts(ctx, known, after))
        if rivals:
            tips = [frozenset(tip.address for tip in fork) for fork in ctx.read.forks(ctx.namespaces)]
            for group in rivals:
                members = {grain.address for grain in group}
                if not any(members <= fork for fork in tips):
                    yield _draft(group, ctx.now_ms)
        if not after:
            yield from _learned(ctx, known)

    def probe(self, ctx: Context) -> Activation:
        groups = sum(1 for _ in _conflicts(ctx, _known(ctx), 0))
        return Activation(
            "active" if groups else "quiet", groups, 1, "subjects with more than one current value"
        )


def _known(ctx: Context) -> tuple[str, ...]:
    """The relations that hold one value, folded."""
    extra = [fold(name) for name in str(ctx.params[EXTRA]).split(",")]
    return tuple(dict.fromkeys((*FUNCTIONAL, *(name for name in extra if name))))


def _after(ctx: Context) -> int:
    """From where on it is enough to look; 0, everything, on the first run of a day and when a validity has just ended.

    Values begin and end to hold without anything that arrives, and a relation is judged by all its subjects: both are
    looked at once a day, because reading every key costs more than all the rest.
    """
    if ctx.looked_at // DAY_MS != ctx.now_ms // DAY_MS:
        return 0
    over = ctx.read.ended(ctx.namespaces, ctx.now_ms, ctx.watermark, ctx.looked_at) if ctx.watermark else []
    return 0 if over else ctx.watermark


def _conflicts(ctx: Context, relations: Sequence[str], after: int) -> Iterable[list[StoredGrain]]:
    """Groups with two or more values that hold now, or that have held."""
    counts = _has_begun if ctx.params[ENDED] else holds_at
    for group in ctx.read.rivals(ctx.namespaces, relations, after):
        ctx.spend(len(group))
        counted = [grain for grain in group if counts(grain, ctx.now_ms)]
        if len({fact_key(grain)[3] for grain in counted}) > 1:
            yield counted


def _has_begun(grain: StoredGrain, at: int) -> bool:
    since = moment(grain.get("valid_from"))
    return since is None or since <= at


# --- a conflict --------------------------------------------------------------------------------------


def _draft(group: Sequence[StoredGrain], now_ms: int) -> Draft:
    # values that hold come last, so that one of them is what stays unless the reviewer chooses otherwise
    values = sorted(by_value(group), key=lambda value: _holds(value, now_ms))
    ended = sum(not _holds(value, now_ms) for value in values)
    return of_values(
        values,
        group,
        one_stays(values, group),
        action=ACTION,
        template_id="contradiction.ended" if ended else "contradiction.functional",
        args={"count": len(values), **({"ended": ended} if ended else {})},
        asked=("subject", "relation"),
        metric={
            "metric": METRIC,
            "baseline": 0.0,
            "unit": "count",
            "window": "live",
            "review_after_ms": DAY_MS,
            "horizons_ms": list(HORIZONS_MS),
        },
    )


def _holds(value: Sequence[StoredGrain], now_ms: int) -> bool:
    return any(holds_at(grain, now_ms) for grain in value)


# --- relations that look single-valued ---------------------------------------------------------------


def _learned(ctx: Context, known: Sequence[str]) -> Iterable[Draft]:
    """A flag for each relation that holds one value for nearly every subject, and more than one for some (D25)."""
    for count in ctx.read.relation_counts(ctx.namespaces, _LEAST_SUBJECTS):
        if not _looks_single(count) or count.relation in known or not _nameable(count.relation):
            continue
        broken = [
            group
            for group in ctx.read.rivals([count.namespace], [count.relation])
            if len({fact_key(grain)[3] for grain in group if holds_at(grain, ctx.now_ms)}) > 1
        ]
        if broken:
            yield _flag(count, broken)


def _looks_single(count: RelationCount) -> bool:
    return count.single >= _LEAST_SHARE * count.subjects and count.single < count.subjects


def _nameable(relation: str) -> bool:
    """Whether the relation can stand in a comma-separated list that a person reads, and is not one of `MANY`."""
    return (
        relation not in MANY
        and "," not in relation
        and 0 < len(relation) <= _NAME_CHARS
        and relation.isprintable()
    )


def _flag(count: RelationCount, broken: Sequence[Sequence[StoredGrain]]) -> Draft:
    members = [grain for group in broken for grain in group]
    configure: dict[str, Any] = {
        "analyzer": ContradictionSweep.manifest.id,
        "param": EXTRA,
        "add": count.relation,
    }
    return Draft(
        target_ref=entity(count.namespace, "relations", count.relation),
        action=LEARNED,
        template_id="contradiction.learned",
        args={
            "relation": count.relation,
            "single": count.single,
            "subjects": count.subjects,
            "broken": len(broken),
        },
        severity="info",
        operations=(),
        data={"configure": configure},
        evidence=tuple(grain.address for grain in members[:MAX_EVIDENCE]),
        evidence_total=len(members),
        newest_evidence=None,
        evidence_query=cal_writer.recall(
            "facts",
            {"namespace": count.namespace, "relation": sorted({str(g.get("relation")) for g in members})},
        ),
        confidence=round(count.single / count.subjects, 4),
        importance=0.3,
    )
