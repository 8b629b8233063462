# SPDX-License-Identifier: Apache-2.0
"""A memory of any size with known answers, made from a seed: the kinds of ``../shared/tools/corpus.py``, our own words.

Planted, each beside something that only looks like it: facts that repeat an earlier one in another spelling (beside the
same object under another relation); second values of single-valued relations (beside many values of relations that hold
many); ends that have passed (beside ends to come); tools that fail the same way (beside tools that fail as often, each
time otherwise); notes that repeat an earlier one with a word changed (beside notes that differ by a number or a *not*);
skills practised without progress (beside young and good ones); goals without progress (beside finished and moving ones).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

DAY: Final = 86_400_000
NOW: Final = 1_790_000_000_000
SPAN_DAYS: Final = 180
WINDOW_DAYS: Final = 30
SINGLE: Final = (
    "lives_in",
    "deploy_target",
    "reports_to",
    "status",
    "tier",
    "owner",
    "region",
    "assigned_to",
)
MANY: Final = ("mentioned", "uses", "prefers", "visited", "works_with", "depends_on")
TOOLS: Final = ("read", "write", "fetch", "query", "deploy", "lint", "build", "list")
ERRORS: Final = (
    "connection refused after {n} ms while reading {path}",
    "permission denied for {path} (code {n})",
    "too many requests: {n} in {n} s",
    "timeout after {n} ms waiting for {path}",
)
_ONSETS: Final = [f"{a}{b}" for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ai", "ou")]
WORDS: Final = [f"{a}{b}{c}" for c in "nrslt" for b in ("ran", "lot", "mes", "vik") for a in _ONSETS]


@dataclass
class Labels:
    """What was planted in the grains yielded so far."""

    duplicates: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # folded fact → copies
    contradictions: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    expired: int = 0
    near_copies: int = 0
    stalled: int = 0
    stagnant: int = 0
    calls: Counter[str] = field(default_factory=Counter)  # in the window
    failures: Counter[tuple[str, int]] = field(default_factory=Counter)

    def failing(self) -> list[tuple[str, int]]:
        """Clusters that are over the thresholds of the analyzer."""
        return [
            key
            for key, count in self.failures.items()
            if count >= 3 and (count >= 0.4 * self.calls[key[0]] or count >= 50)
        ]


class Planted:
    """Iterate it once; ``labels`` fills as grains are yielded: {"type", "fields", "created_at_ms"}."""

    def __init__(self, count: int, seed: int = 7, now_ms: int = NOW) -> None:
        self.count, self.now_ms = count, now_ms
        self.rng = random.Random(seed)
        self.subjects = max(8, count // 25)
        self.tools = max(16, min(200, count // 2500))
        self.labels = Labels()
        self._facts: list[tuple[str, str, str]] = []
        self._notes: list[tuple[int, list[str]]] = []
        self._near: dict[int, list[int]] = {}
        self._used: set[tuple[str, str]] = set()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        kinds = (self._fact, self._call, self._note, self._skill, self._goal)
        for number in range(self.count):
            at = self.now_ms - SPAN_DAYS * DAY + (SPAN_DAYS * DAY - 60_000) * number // self.count
            make = self.rng.choices(kinds, (46, 36, 14, 2, 2))[0]
            kind, fields = make(number, at)
            yield {"type": kind, "fields": fields, "created_at_ms": at}

    def _words(self, count: int) -> list[str]:
        return [WORDS[int(len(WORDS) * self.rng.random() ** 2)] for _ in range(count)]

    def _subject(self) -> str:
        number = int(self.subjects * self.rng.random() ** self.rng.choice((1, 2)))
        return f"person-{number}" if number else "user"

    def near(self) -> list[dict[str, Any]]:
        """Labels of the notes that repeat another one, by the numbers of their grains."""
        return [
            {"analyzer": "loop.duplicate_sweep", "evidence": [f"@g{number}" for number in (base, *copies)]}
            for base, copies in self._near.items()
        ]

    # --- facts -------------------------------------------------------------------------------------

    def _fact(self, number: int, at: int) -> tuple[str, dict[str, Any]]:
        pick = self.rng.random()
        if pick < 0.02 and self._facts:
            subject, relation, object_ = self._copy()
        elif pick < 0.03 and self._facts:
            subject, relation, object_ = self._second_value(number)
        else:
            subject, relation, object_ = self._first(number)
        fields: dict[str, Any] = {"subject": subject, "relation": relation, "object": object_}
        fields["confidence"] = self.rng.randrange(50, 100) / 100
        until = self.rng.random()
        if until < 0.02 and at < self.now_ms - 3 * DAY:
            fields["valid_to"] = at + int((self.now_ms - 2 * DAY - at) * self.rng.random())
            self.labels.expired += 1
        elif until < 0.05:
            fields["valid_to"] = self.now_ms + DAY + int(200 * DAY * self.rng.random())
        return "fact", fields

    def _copy(self) -> tuple[str, str, str]:
        subject, relation, object_ = self.rng.choice(self._facts)
        self.labels.duplicates[subject.lower(), relation, object_.lower()] += 1
        return subject, relation, self.rng.choice((object_.upper(), f" {object_}", object_))

    def _second_value(self, number: int) -> tuple[str, str, str]:
        for _ in range(12):
            subject, relation, object_ = self.rng.choice(self._facts)
            if relation in SINGLE:
                value = f"{' '.join(self._words(2))} since {number}"
                self.labels.contradictions.setdefault((subject, relation), {object_}).add(value)
                return subject, relation, value
        return self._first(number)

    def _first(self, number: int) -> tuple[str, str, str]:
        subject, relation = self._subject(), self.rng.choice(SINGLE)
        if self.rng.random() >= 0.3 or (subject, relation) in self._used:
            made = subject, self.rng.choice(MANY), f"{' '.join(self._words(3))} #{number}"
        else:
            self._used.add((subject, relation))
            made = subject, relation, " ".join(self._words(2))
        self._facts.append(made)
        return made

    # --- calls -------------------------------------------------------------------------------------

    def _call(self, number: int, at: int) -> tuple[str, dict[str, Any]]:
        tool = int(self.tools * self.rng.random())
        name = f"{TOOLS[tool % len(TOOLS)]}_{WORDS[tool]}"
        recent = at >= self.now_ms - WINDOW_DAYS * DAY
        self.labels.calls[name] += recent
        failing = max(2, self.tools // 10)
        path = f"/srv/{self._words(1)[0]}.py"
        error, text = False, f"ok: {' '.join(self._words(9))} {number} rows"
        if tool < failing and self.rng.random() < 0.55:
            error, kind = True, (tool * 2 + (self.rng.random() < 0.15)) % len(ERRORS)
            text = ERRORS[kind].format(n=self.rng.randrange(10, 9000), path=path)
            self.labels.failures[name, kind] += recent
        elif failing <= tool < 2 * failing and self.rng.random() < 0.25:
            error, text = True, f"{' '.join(self._words(3))} failed: {' '.join(self._words(6))}"
        fields = {
            "tool_name": name, "input": {"path": path}, "content": text, "is_error": error,
            "tool_call_id": f"call-{number}", "session_id": f"s-{number // 40}",
        }  # fmt: skip
        return "tool", fields

    # --- notes, skills, goals ----------------------------------------------------------------------

    def _note(self, number: int, at: int) -> tuple[str, dict[str, Any]]:
        pick = self.rng.random()
        if pick < 0.02 and self._notes:
            base, told = self.rng.choice(self._notes)
            tokens = list(told)
            tokens[int(self.rng.random() * (len(tokens) - 1))] = "revisited"
            self.labels.near_copies += 1
            self._near.setdefault(base, []).append(number)
        elif pick < 0.03 and self._notes:
            tokens = list(self.rng.choice(self._notes)[1])
            tokens[int(self.rng.random() * (len(tokens) - 1))] = self.rng.choice(("not", str(number)))
        else:
            tokens = []
            while len(set(tokens)) < 24:
                tokens += self._words(4)
            tokens.append(f"n{number}")
            self._notes.append((number, tokens))
        return "observation", {
            "content": " ".join(tokens),
            "observer_id": "agent-1",
            "observer_type": "agent",
        }

    def _skill(self, number: int, at: int) -> tuple[str, dict[str, Any]]:
        stalled = self.rng.random() < 1 / 6
        self.labels.stalled += stalled
        good = self.rng.random() < 0.5
        if stalled:
            level, practised = self.rng.randrange(35) / 100, self.rng.randrange(5, 60)
        elif good:
            level, practised = self.rng.randrange(50, 100) / 100, self.rng.randrange(5, 60)
        else:
            level, practised = self.rng.randrange(100) / 100, self.rng.randrange(5)
        return "skill", {
            "name": f"skill-{number}",
            "description": f"how to {' '.join(self._words(7))}",
            "proficiency": level,
            "practice_count": practised,
        }

    def _goal(self, number: int, at: int) -> tuple[str, dict[str, Any]]:
        stagnant = at < self.now_ms - 31 * DAY and self.rng.random() < 1 / 6
        self.labels.stagnant += stagnant
        state, progress = ("active", self.rng.randrange(6) / 100) if stagnant else ("satisfied", 1.0)
        if not stagnant and self.rng.random() < 0.5:
            state, progress = "active", self.rng.randrange(30, 95) / 100
        return "goal", {
            "description": f"goal {number}: {' '.join(self._words(6))}",
            "goal_state": state,
            "progress": progress,
        }
