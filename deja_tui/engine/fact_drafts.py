# SPDX-License-Identifier: Apache-2.0
"""What the analyzers of facts have in common when they put a finding together: targets, values, bounded choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from deja_tui.engine import cal_writer
from deja_tui.engine.draft import MAX_EVIDENCE, Draft
from deja_tui.engine.faults import LoopError
from deja_tui.engine.identity import digest12
from deja_tui.engine.operations import MAX_BYTES, MAX_OPERATIONS, Alternative, Retire, canonical, size
from deja_tui.engine.substrate import StoredGrain
from deja_tui.engine.views import by_age, fact_key
from deja_tui.text import clean, clip, utc

MAX_CHOICES: Final = 8
RETIRE_BYTES: Final = size([Retire("0" * 64, "0" * 64)])
_SHOWN: Final = 120
_VALUE_CELLS: Final = {1: 40, 2: 22, 3: 14}
_VALUES_SHOWN: Final = 3
_LABEL_CELLS: Final = 80


def entity(namespace: str, subject: str, relation: str) -> str:
    """``entity:ns/subject#relation`` (D25), with a digest where cut or ambiguous parts would make two things one."""
    told = f"entity:{namespace}/{subject[:_SHOWN]}#{relation[:_SHOWN]}"
    cut = len(subject) > _SHOWN or len(relation) > _SHOWN
    ambiguous = "/" in namespace or "/" in subject or "#" in subject or "#" in relation or "·" in relation
    return f"{told}·{digest12(namespace, subject, relation)}" if cut or ambiguous else told


def by_value(group: Iterable[StoredGrain]) -> list[list[StoredGrain]]:
    """Facts of one key by folded object, each value by age, the value that was written last at the end."""
    values: dict[str, list[StoredGrain]] = {}
    for grain in sorted(group, key=by_age):
        values.setdefault(fact_key(grain)[3], []).append(grain)
    return sorted(values.values(), key=lambda members: by_age(members[-1]))


def values_line(newest: Sequence[StoredGrain]) -> str:
    """Values with the day they were last written, oldest first: ``"gold" (2026-05-03) → "silver" (2026-05-09)``.

    The last three are shown, with the minute where two have the same day. Values are cleaned and quoted, so that none
    can look like a second one.
    """
    shown = list(newest)[-_VALUES_SHOWN:]
    days = [utc(grain.created_at).split(" ")[0] for grain in shown]
    if len(set(days)) < len(days) <= 2:
        days = [utc(grain.created_at) for grain in shown]
    told = [
        f"{quoted(grain, _VALUE_CELLS[len(shown)])} ({day})" for grain, day in zip(shown, days, strict=True)
    ]
    more = len(newest) - len(shown)
    return " → ".join([f"{more} older", *told] if more else told)


def labels(kept: Sequence[StoredGrain]) -> list[str]:
    """A label for keeping each of these values, no two alike."""
    told: list[str] = []
    for grain in kept:
        label = f"keep {quoted(grain, _LABEL_CELLS)} of {utc(grain.created_at)}"
        told.append(label if label not in told else f"{label[:100]} · {grain.address[:12]}")
    return told


def quoted(grain: StoredGrain, cells: int) -> str:
    """The object of a fact in double quotes of its own, at most so many cells wide and characters long."""
    told = clip(clean(grain.get("object")).replace('"', "'"), cells)
    return f'"{told[:cells]}"'  # marks that are drawn into other cells are characters of a label, too


def retires(
    losers: Sequence[StoredGrain], kept: StoredGrain, most: int = MAX_OPERATIONS
) -> tuple[Retire, ...]:
    """The first of ``losers`` retired in favour of ``kept``, at most ``most`` and what a proposal holds (D9)."""
    found = [Retire(loser.address, kept.address) for loser in losers[: min(most, MAX_OPERATIONS)]]
    while size(found) > MAX_BYTES:
        found.pop()
    return tuple(found)


def room(choices: int, operations: int, bytes_each: int) -> tuple[int, int]:
    """How many choices fit one proposal, and how many operations each may have.

    Choices are given up, down to two, before operations are: a reviewer can only pick from what is whole.
    """
    most = min(choices, MAX_CHOICES)
    while most > 2 and _share(most, bytes_each) < operations:
        most -= 1
    return most, _share(most, bytes_each)


def one_stays(
    values: Sequence[Sequence[StoredGrain]], group: Sequence[StoredGrain]
) -> tuple[tuple[Alternative, ...], int]:
    """What may stay, the newest value first, the others being retired in its favour; and how many members a bounded
    proposal leaves for the next run (D9)."""
    choices, most = room(len(values), len(group) - 1, RETIRE_BYTES)
    kept = [value[-1] for value in reversed(values)][:choices]
    members = sorted(group, key=by_age)
    alternatives = tuple(
        Alternative(label, retires([grain for grain in members if grain is not keep], keep, most))
        for label, keep in zip(labels(kept), kept, strict=True)
    )
    return alternatives, len(group) - 1 - len(alternatives[0].operations)


def of_values(
    values: Sequence[Sequence[StoredGrain]],
    group: Sequence[StoredGrain],
    choices: tuple[tuple[Alternative, ...], int],
    *,
    action: str,
    template_id: str,
    args: Mapping[str, Any],
    asked: Sequence[str],
    metric: Mapping[str, Any] | None = None,
) -> Draft:
    """The finding that one key has several values: which of them stays is the reviewer's choice (D20).

    Args:
        values: the members by value, the value that stays by default last. group: all members.
        choices: the alternatives, and how many members they leave (`one_stays`).
        args: of the template, besides subject, relation and the line of values.
        asked: the fields by which a query finds the members. metric: of the key, besides its name parts.
    """
    namespace, subject, relation, _ = fact_key(values[-1][-1])
    alternatives, left = choices
    key = {"subject": subject, "relation": relation}
    return Draft(
        target_ref=entity(namespace, subject, relation),
        action=action,
        template_id=template_id,
        args={**key, **args, "values": values_line([value[-1] for value in values])},
        severity="medium",
        operations=alternatives[0].operations,
        alternatives=alternatives,
        evidence=cited(values),
        evidence_total=len(group),
        newest_evidence=None,
        evidence_query=query_of(group, asked),
        remaining=left,
        metric=None if metric is None else {**metric, "n": len(group), "namespace": namespace, **key},
    )


def query_of(group: Sequence[StoredGrain], names: Sequence[str]) -> str | None:
    """A query that finds every member: the language compares exactly, so each spelling is named."""
    spelt = {name: [str(grain.get(name)) for grain in group] for name in names}
    return cal_writer.recall("facts", {"namespace": group[0].namespace, **spelt})


def _share(choices: int, bytes_each: int) -> int:
    return min(MAX_OPERATIONS, (MAX_BYTES // choices - 2) // (bytes_each + 1))


def cited(values: Sequence[Sequence[StoredGrain]]) -> tuple[str, ...]:
    """Evidence, oldest first: all members, or as many as can be cited with each value's newest among them."""
    members = sorted((grain for value in values for grain in value), key=by_age)
    if len(members) > MAX_EVIDENCE:
        newest = {value[-1].address for value in values[-MAX_EVIDENCE:]}
        rest = MAX_EVIDENCE - len(newest)
        kept = newest | {g.address for g in [g for g in members if g.address not in newest][:rest]}
        members = [grain for grain in members if grain.address in kept]
    return tuple(grain.address for grain in members)


# --- what a new grain takes over ---------------------------------------------------------------------

# Said by the operation itself, or by the bytes of the old grain: never carried over.
_OWN: Final = frozenset(
    ("type", "t", "namespace", "ns", "created_at", "ca", "derived_from", "df", "superseded_by", "sb")
)
_TIMES: Final = ("valid_from", "valid_to", "system_valid_from", "system_valid_to", "last_practiced_at")
_SMALLEST_MS: Final = 100_000_000_000


def carried(grain: StoredGrain) -> dict[str, Any] | None:
    """The fields a grain in place of this one has, or None when they cannot be written again as they are.

    A door reads a small number as seconds, so a time of the first years of the epoch would be moved.
    """
    kept = {name: _unmerged(name, value) for name, value in grain.fields.items() if name not in _OWN}
    fields = {name: value for name, value in kept.items() if value != {} or grain.get(name) == {}}
    small = any(isinstance(at := fields.get(name), int) and abs(at) < _SMALLEST_MS for name in _TIMES)
    try:
        canonical(fields)
    except LoopError:
        return None
    return None if small or not grain.namespace else fields


def _unmerged(name: str, value: Any) -> Any:
    """A context without what the old grain took the place of: the new one takes the place of others."""
    if name not in ("context", "common_context") or not isinstance(value, Mapping):
        return value
    return {key: told for key, told in value.items() if key != "merge_parents"}
