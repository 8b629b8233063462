# SPDX-License-Identifier: Apache-2.0
"""Notes that say nearly the same: the second part of ``loop.duplicate_sweep/1`` (spec loop-engine §4.2b).

Signal: live observations of one namespace whose sets of words overlap (Jaccard) at ``jaccard`` or more with the first.
Harm: a search returns the same note again and again in place of others.
Fires: two or more notes. They are walked by time; each that is in no cluster yet opens one and takes in every later one
that is near to *it*, so that a chain of small changes does not end in one cluster. The first is kept, the others are
retired in its favour; the reviewer may keep the newest instead.
Stays quiet: where what differs is a number, a negation, a pair of opposites or a name, which turn one statement into
another however many words it has; where more than one word has changed its place, because *ana called bo* is not *bo called
ana*; notes about two subjects; notes with another validity; notes marked as expired; texts without words, or too long
to compare.
Cost: at 0.9 or more only notes that share a signature are read (D12). A lower value compares all notes in memory, and the
probe says how many. Of more than `MANY_NOTES` the first to arrive are compared, and the run says that it is the budget.
Hostile text: the first note is shown fenced, cleaned and cut; the change itself writes no text.
Apply class: never automatic (D13 is about facts).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from typing import Final

from deja_tui.engine import cal_writer
from deja_tui.engine.analyzer import BudgetSpent, Context, Param
from deja_tui.engine.draft import MAX_EVIDENCE, Draft
from deja_tui.engine.fact_drafts import RETIRE_BYTES, retires, room
from deja_tui.engine.fact_views import MANY_NOTES, NOTE_FIELDS, note_text, says_expired
from deja_tui.engine.operations import Alternative
from deja_tui.engine.substrate import StoredGrain
from deja_tui.engine.views import by_age
from deja_tui.text import compact_json, fold, note_order

ACTION: Final = "consolidate"
SIGNED: Final = 0.9
"""From this Jaccard on a memory's own signatures find every pair (D12)."""
JACCARD: Final = Param(
    "jaccard", "float", SIGNED, 0.5, 1.0, "overlap of words; below 0.9 all notes are compared"
)

_VALIDITY: Final = ("valid_from", "valid_to", "system_valid_from", "system_valid_to")
_TOPIC: Final = 120


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


_NEGATIONS: Final = _words(
    "no not never without none nothing nobody nowhere neither nor cannot hardly barely rarely except unless",
    "nicht kein keine nie niemals ohne non pas jamais sans sin nunca ningún nessun senza não sem",
)
_NUMBERS: Final = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half",
    "double twice triple once first second third last next previous daily weekly monthly yearly hourly",
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september",
    "october november december",
)
_OPPOSITES: Final = tuple(
    (_words(one), _words(other))
    for one, other in (
        ("succeeded success successful successfully passed passes pass worked works ok", "failed fails fail failure failing broken broke"),
        ("enabled enable on active activated", "disabled disable off inactive deactivated"),
        ("up online available reachable", "down offline unavailable unreachable"),
        ("true yes", "false no"),
        ("before earlier", "after later"),
        ("increased increase rose higher more faster", "decreased decrease fell dropped lower less fewer slower"),
        ("allowed allow permitted granted accepted approved", "denied deny forbidden refused rejected declined blocked"),
        ("opened open", "closed close shut"),
        ("started start starts began begin", "stopped stop stops ended end finished finish completed"),
        ("added add adds installed", "removed remove removes deleted delete uninstalled"),
        ("left", "right"),
        ("safe", "unsafe dangerous"),
        ("valid", "invalid"),
        ("healthy", "unhealthy degraded"),
        ("likes like loves love", "dislikes dislike hates hate"),
        ("production prod live", "staging stage test testing development dev"),
        ("eu europe", "us usa ap asia"),
        ("us usa", "ap asia"),
        ("minimum min least", "maximum max most"),
        ("all every always", "some few sometimes"),
        ("public", "private"),
        ("read", "write"),
        ("sent", "received"),
        ("buy bought", "sell sold"),
        ("win won", "lose lost"),
        ("locked", "unlocked"),
        ("with", "without"),
        ("encrypted", "unencrypted plaintext"),
        ("morning", "evening"),
        ("today", "yesterday tomorrow"),
        ("yesterday", "tomorrow"),
        ("he", "she"),
        ("his", "her"),
    )
)  # fmt: skip
_IDENTIFIER: Final = re.compile(r"\S*\w[./\\_:@#=]\w\S*")  # a path, an address, a name of a program's
_INNER_NAME: Final = re.compile(r"(?<![.!?:\n])(?<![.!?:]\s)(?<=\s)[^\W\d_]*[A-ZÀ-ÖØ-Þ][^\W\d_]*")


@dataclass(frozen=True, slots=True)
class _Note:
    """All notes with the same words in the same order and the same context, by age."""

    order: tuple[str, ...]
    subject: str
    context: str
    grains: list[StoredGrain]
    words: frozenset[str]

    @property
    def first(self) -> StoredGrain:
        return self.grains[0]


@dataclass(frozen=True, slots=True)
class _Cluster:
    grains: list[StoredGrain]
    overlap: float
    newest: (
        StoredGrain | None
    )  # what may be kept instead of the first; None: nothing, or it has other neighbours


def drafts(ctx: Context) -> Iterable[Draft]:
    """A finding for every cluster, by namespace and age of its first note."""
    for found in _clusters(ctx):
        yield _draft(found, float(ctx.params["jaccard"]))


def needs_all(ctx: Context) -> bool:
    """Whether signatures do not serve, so that all notes are compared at every run."""
    return float(ctx.params["jaccard"]) < SIGNED


def count(ctx: Context) -> int:
    """How many clusters there are, as far as the budget goes."""
    found = 0
    with suppress(BudgetSpent):
        for _ in _clusters(ctx):
            found += 1
    return found


def hint(ctx: Context) -> str:
    """What a lower threshold costs; "" where signatures serve."""
    if not needs_all(ctx):
        return ""
    count = len(ctx.read.all_notes(ctx.namespaces, MANY_NOTES))
    return f"below {SIGNED} every run compares {count} notes in memory, at most {MANY_NOTES}"


def _clusters(ctx: Context) -> Iterator[_Cluster]:
    least = float(ctx.params["jaccard"])
    notes = (
        ctx.read.all_notes(ctx.namespaces, MANY_NOTES)
        if needs_all(ctx)
        else ctx.read.near_notes(ctx.namespaces, ctx.watermark)
    )
    for _, members in groupby(notes, key=lambda grain: grain.namespace):
        yield from _walk(ctx, _distinct(members), least)
    if len(notes) >= MANY_NOTES:
        raise BudgetSpent


def _distinct(grains: Iterable[StoredGrain]) -> list[_Note]:
    """Notes with words, those with the same ones, the same subject and validity as one, by the age of the first."""
    found: dict[tuple[tuple[str, ...], str, str], _Note] = {}
    for grain in grains:
        order = note_order(note_text(grain))
        if order and not says_expired(grain):
            subject, validity = grain.get("subject"), [grain.get(name) for name in _VALIDITY]
            key = (order, fold(subject) if isinstance(subject, str) else "", compact_json(validity))
            found.setdefault(key, _Note(*key, [], frozenset(order))).grains.append(grain)
    return list(found.values())


# --- which are near ----------------------------------------------------------------------------------


def _walk(ctx: Context, notes: Sequence[_Note], least: float) -> Iterator[_Cluster]:
    neighbours = _Neighbours(ctx, notes, least)
    used: set[int] = set()
    for number, note in enumerate(notes):
        if number in used:
            continue
        taken, overlap, subjects = [number], 1.0, {note.subject} - {""}
        for other, share in neighbours.of(number):
            subject = notes[other].subject
            fits = not subject or not subjects or subject in subjects
            if other > number and other not in used and fits:
                taken.append(other)
                subjects |= {subject} - {""}
                overlap = min(overlap, share)
        used.update(taken)
        grains = sorted((grain for one in taken for grain in notes[one].grains), key=by_age)
        if len(grains) > 1:
            yield _Cluster(grains, overlap, _instead(neighbours, notes, taken))


def _instead(neighbours: _Neighbours, notes: Sequence[_Note], taken: Sequence[int]) -> StoredGrain | None:
    """The newest note, where keeping it instead of the first leaves no other note near to what is kept."""
    newest = max(taken, key=lambda one: by_age(notes[one].grains[-1]))
    alone = all(other in taken for other, _ in neighbours.of(newest))
    return notes[newest].grains[-1] if newest != taken[0] and alone else None


class _Neighbours:
    """Which notes are near to one: those that share one of its rarest words are looked at, no others.

    Two sets of which the smaller has n words overlap by t only when they share one of the n - ⌈tn⌉ + 1 rarest of each, in
    whatever fixed order; by rarity the lists are short.
    """

    def __init__(self, ctx: Context, notes: Sequence[_Note], least: float) -> None:
        self._ctx, self._notes, self._least = ctx, notes, least
        ctx.spend(len(notes))
        spread = Counter(word for note in notes for word in note.words)
        self._rarest: list[list[str]] = []
        self._holders: dict[str, list[int]] = defaultdict(list)
        for number, note in enumerate(notes):
            need = ceil(least * len(note.words) - 1e-9)
            rare = sorted(note.words, key=lambda word: (spread[word], word))[: len(note.words) - need + 1]
            self._rarest.append(rare)
            for word in rare:
                self._holders[word].append(number)

    def of(self, number: int) -> list[tuple[int, float]]:
        """(number, overlap) of every note that is near, in order."""
        note = self._notes[number]
        nominated = {other for word in self._rarest[number] for other in self._holders[word]} - {number}
        self._ctx.spend(len(nominated))
        found = []
        for other in sorted(nominated):
            share = _overlap(note.words, self._notes[other].words)
            if share >= self._least and _same_statement(note, self._notes[other]):
                found.append((other, share))
        return found


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def _same_statement(one: _Note, other: _Note) -> bool:
    """Whether what differs leaves the statement what it is."""
    if one.context != other.context or (one.subject and other.subject and one.subject != other.subject):
        return False
    if not _same_order(one.order, other.order):
        return False
    mine, theirs = one.words - other.words, other.words - one.words
    if not mine and not theirs:
        return True
    if any(_counts(word) for word in mine | theirs) or any(
        _turns(mine, theirs, *pair) for pair in _OPPOSITES
    ):
        return False
    return not ((mine & _names(one)) | (theirs & _names(other)))


def _same_order(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the words that both have come in the same order, but for one: that one may have been repeated elsewhere."""
    place = {word: number for number, word in enumerate(other)}
    places = [place[word] for word in one if word in place]
    rising: list[int] = []  # the smallest end of a rising row of each length
    for at in places:
        slot = bisect_left(rising, at)
        rising[slot : slot + 1] = [at]
    return len(rising) >= len(places) - 1


def _counts(word: str) -> bool:
    return word in _NEGATIONS or word in _NUMBERS or any(char.isnumeric() for char in word)


def _turns(mine: frozenset[str], theirs: frozenset[str], one: frozenset[str], other: frozenset[str]) -> bool:
    return bool((mine & one and theirs & other) or (mine & other and theirs & one))


def _names(note: _Note) -> frozenset[str]:
    """Words of paths and identifiers, and words with a capital letter inside a sentence, folded; the latter of a text in
    capitals none."""
    text = note_text(note.first)
    inside = frozenset(word for found in _IDENTIFIER.findall(text) for word in note_order(found))
    if text.upper() == text:
        return inside
    return inside.union(fold(found) for found in _INNER_NAME.findall(text))


# --- a finding ---------------------------------------------------------------------------------------


def _draft(cluster: _Cluster, least: float) -> Draft:
    first, copies = cluster.grains[0], cluster.grains[1:]
    newest = cluster.newest
    most = room(2 if newest else 1, len(copies), RETIRE_BYTES)[1]
    operations = retires(copies, first, most)
    alternatives: tuple[Alternative, ...] = ()
    if newest:
        others = [grain for grain in cluster.grains if grain is not newest]
        alternatives = (
            Alternative("keep the first note", operations),
            Alternative("keep the newest note", retires(others, newest, most)),
        )
    return Draft(
        target_ref=f"grain:{first.address}",
        action=ACTION,
        template_id="duplicate.near",
        args={
            "count": len(cluster.grains),
            "overlap": round(cluster.overlap, 2),
            "threshold": least,
            "topic": note_text(first)[:_TOPIC],
        },
        severity="info",
        operations=operations,
        alternatives=alternatives,
        evidence=tuple(grain.address for grain in cluster.grains[:MAX_EVIDENCE]),
        evidence_total=len(cluster.grains),
        newest_evidence=None,
        evidence_query=_query(cluster.grains),
        remaining=len(copies) - len(operations),
        confidence=round(cluster.overlap, 4),
    )


def _query(grains: Sequence[StoredGrain]) -> str | None:
    """A query that finds every member, where all keep their text under one name and it is short enough."""
    for name in NOTE_FIELDS:
        texts = [text for grain in grains if isinstance(text := grain.get(name), str)]
        if len(texts) == len(grains):
            return cal_writer.recall("observations", {"namespace": grains[0].namespace, name: texts})
    return None
