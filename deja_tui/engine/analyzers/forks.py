# SPDX-License-Identifier: Apache-2.0
"""One fact was changed differently in two copies of the memory.

Signal: two or more live facts that took the place of the same grain (D3), with different values.
Harm: recall answers with both; each copy believes in its own change.
Fires: two or more values among the tips of one fork that lie under one namespace, subject and relation. One new grain
takes the place of all tips; which value it has is the reviewer's choice (D20), that of the newest by default. Undo opens
all tips again.
Stays quiet: values that were added side by side, however many; tips that say the same, which are duplicates; a tip whose
own validity has ended or has not begun; tips that were moved to another namespace, subject or relation, which nobody can
merge into one; a fork that was merged.
Hostile text: values are shown cleaned, cut and in quotes of their own. The new grain takes over the fields of a tip as
they are, nothing is put together from text.
Apply class: never automatic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from deja_tui.engine.analyzer import Context, Manifest
from deja_tui.engine.draft import Draft
from deja_tui.engine.fact_drafts import MAX_CHOICES, by_value, carried, labels, of_values, one_stays
from deja_tui.engine.fact_views import holds_at
from deja_tui.engine.objects import Activation
from deja_tui.engine.operations import MAX_BYTES, Alternative, Merge, Operation, size
from deja_tui.engine.substrate import StoredGrain
from deja_tui.engine.views import fact_key

ACTION: Final = "merge_heads"


class ForkSurfacing:
    """``loop.fork_surfacing/1``: spec loop-engine §4.4."""

    manifest = Manifest(
        id="loop.fork_surfacing/1",
        title="Forks",
        description="one fact changed differently in two copies",
        tier="T0",
        params=(),
        requires=("forks",),
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        if ctx.watermark:
            ctx.looked_in_part()
        for tips in _forked(ctx, ctx.watermark):
            ctx.spend(len(tips))
            yield _draft(tips)

    def probe(self, ctx: Context) -> Activation:
        found = sum(1 for _ in _forked(ctx, 0))
        return Activation("active" if found else "quiet", found, 1, "facts changed differently in two copies")


def _forked(ctx: Context, after: int) -> Iterable[list[StoredGrain]]:
    """Tips under one key with more than one value that holds now, for every fork of facts."""
    for tips in ctx.read.forks(ctx.namespaces, after):
        keys: dict[tuple[str, ...], list[StoredGrain]] = {}
        for tip in tips:
            if tip.type == "fact" and fact_key(tip) and holds_at(tip, ctx.now_ms):
                keys.setdefault(fact_key(tip)[:3], []).append(tip)
        for _, group in sorted(keys.items()):
            if len({fact_key(tip)[3] for tip in group}) > 1:
                yield group


def _draft(tips: Sequence[StoredGrain]) -> Draft:
    values = by_value(tips)
    _, subject, relation, _ = fact_key(values[-1][-1])
    return of_values(
        values,
        tips,
        _merges(values) or one_stays(values, tips),
        action=ACTION,
        template_id="fork.multi_head",
        args={"entity": f"{subject}/{relation}", "count": len(tips)},
        asked=("subject", "relation", "object"),
    )


def _merges(values: Sequence[Sequence[StoredGrain]]) -> tuple[tuple[Alternative, ...], int] | None:
    """One new grain in place of all tips, for each value that fits the proposal; None when not two of them do."""
    newest = [value[-1] for value in reversed(values)]
    heads = [grain.address for grain in newest]
    heads += [grain.address for value in values for grain in value if grain.address not in heads]
    kept: list[StoredGrain] = []
    found: list[tuple[Operation, ...]] = []
    used = 0
    for grain in newest[:MAX_CHOICES]:
        fields = carried(grain)
        if fields is None:
            continue
        operations = (
            Merge(
                (grain.address, *(h for h in heads if h != grain.address)), "fact", grain.namespace, fields
            ),
        )
        used += size(operations)
        if used > MAX_BYTES:
            break
        kept.append(grain)
        found.append(operations)
    if len(found) < 2 or kept[0] is not newest[0]:
        return None
    return tuple(Alternative(*pair) for pair in zip(labels(kept), found, strict=True)), 0
