# SPDX-License-Identifier: Apache-2.0
"""A skill is practised and does not get better.

Signal: the live version of a skill with its practice count and proficiency, and the versions it took the place of.
Harm: the agent goes on practising what it does not get better at.
Fires: practice_count ≥ min_practice and proficiency ≤ max_proficiency; without a proficiency, confidence stands for it.
Stays quiet: either number is missing or is no number; proficiency rose by a tenth or more over the versions shown; an
older copy of a skill whose newest version is not stalled.
Hostile text: the name is shown cleaned and cut; nothing is written.
Apply class: never automatic, there is nothing to apply: approving acknowledges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from deja_tui.engine.analyzer import Context, Manifest, Param
from deja_tui.engine.draft import Draft
from deja_tui.engine.identity import digest12, identity
from deja_tui.engine.objects import Activation
from deja_tui.engine.substrate import StoredGrain
from deja_tui.engine.views import by_age
from deja_tui.text import fold

ACTION: Final = "flag"
_SHOWN: Final = 120
_VERSIONS: Final = 5
_GAIN: Final = 0.1
_ROUNDING: Final = 1e-9


class SkillStall:
    """``loop.skill_stall/1``: spec loop-engine §4.6."""

    manifest = Manifest(
        id="loop.skill_stall/1",
        title="Stalled skills",
        description="skills that are practised and do not get better",
        tier="T0",
        params=(
            Param("min_practice", "int", 5, 1, 100_000, "fewest times practised"),
            Param("max_proficiency", "float", 0.4, 0.0, 1.0, "highest proficiency that is a stall"),
        ),
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        skills = _newest(ctx, ctx.watermark)
        if ctx.watermark and not _elsewhere(ctx, skills):
            ctx.looked_in_part()
        elif ctx.watermark:
            skills = _newest(ctx, 0)
        return _stalled(ctx, skills)

    def probe(self, ctx: Context) -> Activation:
        skills = _newest(ctx, 0)
        practised = [skill for skill in skills if _practised(skill, ctx.params)]
        low = sum(_low(skill, ctx.params) for skill in practised)
        if any(True for _ in _stalled(ctx, skills)):
            return Activation("active", low, 1, "practised skills of low proficiency")
        need = int(ctx.params["min_practice"])
        if practised:
            return Activation("quiet", len(practised), 1, f"skills practised {need} times or more")
        most = max((number(skill.get("practice_count")) or 0 for skill in skills), default=0)
        return Activation("below_threshold", int(most), need, "times one skill was practised")


def _stalled(ctx: Context, skills: Iterable[StoredGrain]) -> Iterator[Draft]:
    for skill in skills:
        if _practised(skill, ctx.params) and _low(skill, ctx.params):
            versions = ctx.read.chain(skill, _VERSIONS - 1)
            if not _improving(versions):
                yield _draft(versions)


def _elsewhere(ctx: Context, skills: Sequence[StoredGrain]) -> bool:
    """Whether something new bears the name of an open finding: it may be what ends it, in another chain."""
    names = {identity(ctx.family, _target(skill), ACTION) for skill in skills}
    return bool(names and ctx.books and ctx.books.open_among(sorted(names)))


def _newest(ctx: Context, after: int) -> list[StoredGrain]:
    """The newest live version of each skill that arrived after a position; two chains may bear one name."""
    found: dict[tuple[str, str], StoredGrain] = {}
    for skill in ctx.read.live_grains("skill", ctx.namespaces, after):
        ctx.spend()
        key = (skill.namespace, fold(_name(skill)))
        known = found.get(key)
        if known is None or by_age(known) < by_age(skill):
            found[key] = skill
    return list(found.values())


def _name(skill: StoredGrain) -> str:
    name = skill.get("name")
    return name if isinstance(name, str) and name.strip() else skill.address[:12]


def number(value: Any) -> float | None:
    """``value`` as a number; None for anything that is none, truth values included."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and abs(value) < float("inf") else None


def _proficiency(skill: StoredGrain) -> float | None:
    told = skill.get("proficiency")
    return number(skill.get("confidence") if told is None else told)


def _practised(skill: StoredGrain, params: Any) -> bool:
    count = number(skill.get("practice_count"))
    return count is not None and count >= params["min_practice"]


def _low(skill: StoredGrain, params: Any) -> bool:
    proficiency = _proficiency(skill)
    return proficiency is not None and proficiency <= params["max_proficiency"]


def _improving(versions: Sequence[StoredGrain]) -> bool:
    known = [found for skill in versions if (found := _proficiency(skill)) is not None]
    return known[0] - known[-1] >= _GAIN - _ROUNDING


def _target(skill: StoredGrain) -> str:
    name = _name(skill)
    return f"entity:{skill.namespace}/skills/{name[:_SHOWN]}#{digest12(skill.namespace, fold(name))}"


def _draft(versions: Sequence[StoredGrain]) -> Draft:
    skill, name = versions[0], _name(versions[0])
    args = {"skill": name, **_numbers(skill)}
    return Draft(
        target_ref=_target(skill),
        action=ACTION,
        template_id="skill.stall",
        args=args,
        severity="medium",
        operations=(),
        evidence=tuple(version.address for version in versions),
        evidence_total=len(versions),
        newest_evidence=None,
        data={
            **args,
            "skill": name[:_SHOWN],
            "chain": [{"at": version.created_at, **_numbers(version)} for version in versions],
        },
    )


def _numbers(skill: StoredGrain) -> dict[str, Any]:
    practised, proficiency = number(skill.get("practice_count")), _proficiency(skill)
    return {
        "practice_count": None if practised is None else int(practised),
        "proficiency": None if proficiency is None else round(proficiency, 2),
    }
