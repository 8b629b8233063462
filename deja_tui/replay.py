# SPDX-License-Identifier: Apache-2.0
"""Replay: what any configuration would have proposed in the past, beside what was proposed and how it was decided.

Offline and read-only. The memory is read once; for each chosen time the analyzers look at it as it was then, by arrival
(D45): what came later is not there, what was superseded or undone later is as it was. What was erased since is gone.

* REP-1  nothing is written, whatever the analyzers find: the substrate of a replay refuses every write.
* REP-2  an analyzer that counts recalls is skipped: counts have no past.
* REP-3  a finding is known by its identity, so it is the same finding at two times and in the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from deja_tui import watch
from deja_tui.engine import outcomes, views
from deja_tui.engine.analyzer import Analyzer
from deja_tui.engine.config import AnalyzerConfig
from deja_tui.engine.faults import LoopError
from deja_tui.engine.looking import Finding, Looking, look
from deja_tui.engine.objects import SkippedAnalyzer
from deja_tui.engine.policy import Policy
from deja_tui.engine.substrate import LedgerRow, MarkKind, NewGrain, Put, Substrate, is_reserved
from deja_tui.engine.templates import render
from deja_tui.engine.wire import read_audit
from deja_tui.store.asof import moment
from deja_tui.store.grains import StoredGrain
from deja_tui.store.keys import superseded_of
from deja_tui.store.past import Mark, Past

MAX_TIMES: Final = 400
MAX_PROPOSALS: Final = 40
NO_PAST: Final = "counts of recalls have no past to look at"


@dataclass(frozen=True, slots=True)
class ReplayFinding:
    """One finding of a replay, known by its identity (REP-3). Times are epoch ms.

    Attributes:
        summary: rendered and cleaned, as of the last time.
        first_ms, last_ms, times: when it would have been found.
        tried, current: with the settings of the replay; with those in force.
        was: the status of what was really proposed; None: it never was. address: of that.
        because: the reason of its last decision by a person; "" without one.
    """

    identity: str
    analyzer: str
    target_ref: str
    severity: str
    summary: str
    first_ms: int
    last_ms: int
    times: int
    tried: bool
    current: bool
    was: str | None
    address: str | None
    because: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay found, most severe first, then by time; ``unseen``: how many real ones came and went between times."""

    times: tuple[int, ...]
    analyzers: tuple[str, ...]
    findings: tuple[ReplayFinding, ...]
    unseen: int
    skipped: tuple[SkippedAnalyzer, ...]

    @property
    def added(self) -> tuple[ReplayFinding, ...]:
        """With the settings of the replay and not with those in force."""
        return tuple(one for one in self.findings if one.tried and not one.current)

    @property
    def gone(self) -> tuple[ReplayFinding, ...]:
        """With the settings in force and not with those of the replay."""
        return tuple(one for one in self.findings if one.current and not one.tried)

    @property
    def kept(self) -> tuple[ReplayFinding, ...]:
        """With both."""
        return tuple(one for one in self.findings if one.current and one.tried)


class Then:
    """A memory as it was at one time: a substrate that only reads (REP-1)."""

    def __init__(self, past: Past, now_ms: int, until: int | None = None) -> None:
        """As of ``now_ms``, or of the clock (HLC) ``until`` within it."""
        self._until = moment(now_ms) if until is None else until
        here = (one for one in past.grains if one.hlc <= self._until)
        self._grains = {
            one.address: _as_of(one, past.marks.get(one.address, ()), self._until) for one in here
        }
        self._superseding = past.superseding
        self._by_type: dict[str, list[StoredGrain]] = {}
        for grain in self._grains.values():
            self._by_type.setdefault(grain.type, []).append(grain)

    def scan(
        self, type: str, namespaces: Sequence[str] | None = None, after: int = 0
    ) -> Iterator[StoredGrain]:
        for grain in self._by_type.get(type, ()):
            wanted = not is_reserved(grain.namespace) if namespaces is None else grain.namespace in namespaces
            if wanted and grain.seq > after:
                yield grain

    def get(self, address: str) -> StoredGrain | None:
        return self._grains.get(address)

    def put(self, grain: NewGrain) -> Put:
        raise self._refusal()

    def supersede(self, address: str, grain: NewGrain) -> Put:
        raise self._refusal()

    def mark(self, address: str, kind: MarkKind, by: str | None = None) -> None:
        raise self._refusal()

    def setting(self, key: str) -> Any:
        """None: settings are those that the replay is given, and every analyzer looks at everything."""
        return None

    def set_setting(self, key: str, value: Any) -> None:
        raise self._refusal()

    def forks(self, namespaces: Sequence[str] | None, after: int = 0) -> list[list[StoredGrain]]:
        """Live tips that descend from one grain that was superseded twice, each fork newest first (D3)."""
        below: dict[str, list[str]] = {}
        for grain in self._grains.values():
            if grain.address in self._superseding:
                for old in superseded_of(grain.type, grain.fields):
                    below.setdefault(old, []).append(grain.address)
        found: list[set[str]] = []
        for old, children in below.items():
            if len(children) > 1:
                tips = {one for one in _descendants(below, old) if self._grains[one].live}
                meeting = [group for group in found if group & tips]
                found = [group for group in found if not group & tips] + [tips.union(*meeting)]
        groups = [
            sorted((self._grains[one] for one in tips), key=_age, reverse=True)
            for tips in found
            if len(tips) > 1
        ]
        spaces = views.user_namespaces(namespaces)
        return sorted(
            (
                tips
                for tips in groups
                if (not is_reserved(tips[0].namespace) if spaces is None else tips[0].namespace in spaces)
            ),
            key=lambda tips: tips[0].address,
        )

    def _refusal(self) -> LoopError:
        return LoopError("LOP-E002", "a replay changes nothing")


def _as_of(grain: StoredGrain, marks: Iterable[Mark], until: int) -> StoredGrain:
    last = None
    for mark in marks:
        if mark.hlc <= until:
            last = mark
    if last is None or last.kind == "reopen":
        return grain
    return replace(grain, live=False, superseded_by=last.by if last.kind in ("retire", "supersede") else None)


def _age(grain: StoredGrain) -> tuple[int, int, str]:
    return grain.created_at, grain.hlc, grain.address


def _descendants(below: Mapping[str, Sequence[str]], start: str) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        for one in below.get(todo.pop(), ()):
            if one not in seen:
                seen.add(one)
                todo.append(one)
    return seen


# --- the replay ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Seen:
    finding: Finding
    first_ms: int
    last_ms: int
    times: int = 1

    def again(self, finding: Finding, at: int) -> None:
        self.finding, self.last_ms, self.times = finding, at, self.times + 1


def times_of(now_ms: int, window_ms: int, every_ms: int | None) -> tuple[int, ...]:
    """From the beginning of the window to now, ``every_ms`` apart, or seven of them; now is always the last.

    Raises LOP-E034: a span that is none, or more than 400 times.
    """
    step = max(1, window_ms // 6) if every_ms is None else every_ms
    if window_ms < 0 or step < 1 or window_ms // step > MAX_TIMES:
        raise LoopError("LOP-E034", f"a replay looks at no more than {MAX_TIMES} times", "a longer --every")
    back = range(0, window_ms + 1, step)
    return tuple(now_ms - one for one in reversed(back) if now_ms - one > 0)


def replay(
    past: Past,
    real: Substrate,
    analyzers: Sequence[Analyzer],
    times: Sequence[int],
    *,
    current: Mapping[str, AnalyzerConfig],
    tried: Mapping[str, AnalyzerConfig],
    policy: Policy | None = None,
    proposals: bool = True,
) -> Replay:
    """Let ``analyzers`` look at each of ``times`` with both settings, and compare with what ``real`` holds.

    Args:
        past: of the memory that ``real`` is.
        times: epoch ms, rising.
        proposals: look also whenever something was really proposed between the first time and the last.
        current, tried: settings by analyzer id, each laid over the defaults.
    """
    able = [one for one in analyzers if "telemetry" not in one.manifest.requires]
    skipped = [SkippedAnalyzer(one.manifest.id, NO_PAST) for one in analyzers if one not in able]
    now, trial = dict[str, _Seen](), dict[str, _Seen]()
    looks = [*((at, moment(at)) for at in times), *(_proposals(past, able, times) if proposals else ())]
    same = [one for one in able if current.get(one.manifest.id) == tried.get(one.manifest.id)]
    for at, until in watch.each(sorted(looks), len(looks), "times", every=1):
        then = Then(past, at, until)
        found, told = _look(then, able, at, tried, policy)
        _note(trial, found, at)
        skipped += [one for one in told if one not in skipped]
        unchanged = {one.manifest.id for one in same}
        _note(now, [one for one in found if one.analyzer.manifest.id in unchanged], at)
        other = [one for one in able if one not in same]
        if other:
            _note(now, _look(then, other, at, current, policy)[0], at)
    rows = views.ledger_by_identity(real, sorted({*now, *trial}))
    reasons = _reasons(past)
    findings = [
        _told(
            key, now.get(key), trial.get(key), [row for row in rows.get(key, ()) if not row.foreign], reasons
        )
        for key in {*now, *trial}
    ]
    order = ("high", "medium", "low", "info")
    findings.sort(key=lambda one: (order.index(one.severity), one.first_ms, one.identity))
    return Replay(
        tuple(sorted({at for at, _ in looks})),
        tuple(one.manifest.id for one in able),
        tuple(findings),
        _unseen(real, able, times, {*now, *trial}),
        tuple(skipped),
    )


def _proposals(past: Past, analyzers: Sequence[Analyzer], times: Sequence[int]) -> list[tuple[int, int]]:
    """When a finding of these analyzers was proposed here, the newest 40 times: what is applied at once would lie between
    all others."""
    families = {one.manifest.family for one in analyzers}
    found: dict[int, int] = {}
    for grain in past.grains:
        told = grain.get("analyzer") if grain.type == "recommendation" and not grain.imported else None
        name = told.get("id") if isinstance(told, Mapping) else None
        made = isinstance(name, str) and name.rsplit("/", 1)[0] in families
        if made and times[0] <= grain.created_at <= times[-1]:
            found[grain.created_at] = max(grain.hlc, found.get(grain.created_at, 0))
    return sorted(found.items())[-MAX_PROPOSALS:]


def _look(
    then: Then,
    analyzers: Sequence[Analyzer],
    at: int,
    flags: Mapping[str, AnalyzerConfig],
    policy: Policy | None,
) -> tuple[list[Finding], list[SkippedAnalyzer]]:
    measured = outcomes.measure(then, at)
    how = Looking(at, flags=flags, policy=policy, full=True, outcomes=measured)
    analysis = look(then, analyzers, how)
    return analysis.findings, analysis.skipped


def _note(seen: dict[str, _Seen], findings: Iterable[Finding], at: int) -> None:
    for finding in findings:
        if finding.identity in seen:
            seen[finding.identity].again(finding, at)
        else:
            seen[finding.identity] = _Seen(finding, at, at)


def _told(
    identity: str,
    now: _Seen | None,
    trial: _Seen | None,
    rows: Sequence[LedgerRow],
    reasons: Mapping[str, str],
) -> ReplayFinding:
    one = trial or now
    assert one is not None
    draft, row = one.finding.draft, rows[-1] if rows else None
    return ReplayFinding(
        identity=identity,
        analyzer=one.finding.analyzer.manifest.id,
        target_ref=draft.target_ref,
        severity=draft.severity,
        summary=render(draft.template_id, draft.args),
        first_ms=one.first_ms,
        last_ms=one.last_ms,
        times=one.times,
        tried=trial is not None,
        current=now is not None,
        was=row.status if row else None,
        address=row.address if row else None,
        because=reasons.get(row.address, "") if row else "",
    )


def _reasons(past: Past) -> dict[str, str]:
    """Recommendation → why the last person or agent decided as they did; what came from another copy is left out."""
    told = (read_audit(one) for one in past.grains if one.type == "observation" and not one.imported)
    return {one.recommendation: one.because for one in told if one and one.observer in ("human", "agent")}


def _unseen(real: Substrate, analyzers: Sequence[Analyzer], times: Sequence[int], seen: set[str]) -> int:
    families = {one.manifest.family for one in analyzers}
    first = times[0] if times else 0
    return sum(
        1
        for row in views.ledger(real)
        if not row.foreign
        and row.analyzer.rsplit("/", 1)[0] in families
        and row.created_at >= first
        and row.identity not in seen
    )
