# SPDX-License-Identifier: Apache-2.0
"""How a memory and its loop stand: one frozen object that every surface shows, and why each analyzer does or does not fire.

* HEA-1  it reads only, and at one moment: a surface asks inside one snapshot.
* HEA-2  every analyzer has a state, a reason in counts, and where something can be done the command that does it.
* HEA-3  it costs about as much as a first run looks: of audit chains it checks the newest fifty and says how many it left.
* HEA-4  a quick one reads counts only: it tells of chains, claims, forks and what analyzers would find that it has not looked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from deja_tui.engine import audit, config, fact_views, ledger, looking, views
from deja_tui.engine.analyzer import DAY_MS, Analyzer, Manifest
from deja_tui.engine.config import Settled
from deja_tui.engine.faults import LoopError
from deja_tui.engine.looking import Analysis, Looking
from deja_tui.engine.objects import SEVERITIES, STATUSES, Activation
from deja_tui.engine.pipeline import FIRST_FOUND, FIRST_RUN, LAST_RUN, WATERMARK
from deja_tui.engine.policy import Effective, EffectivePolicy, Policy, in_force
from deja_tui.engine.substrate import LedgerRow, Substrate, Tallied
from deja_tui.errors import DejaError

STALE_MS: Final = 7 * DAY_MS
STALE_GRAINS: Final = 100
CHAINS_CHECKED: Final = 50
NOT_LOOKED: Final = "reading"
"""The state of an analyzer in a quick report: what it would find takes longer to tell (HEA-4)."""
VERIFIED: Final = "memory.verified"
"""The setting that keeps when `verify` last found the memory sound."""


@dataclass(frozen=True, slots=True)
class AnalyzerState:
    """One analyzer as it stands: what it is, how it is set, whether it fires and why, and what to do about it.

    ``settled`` is None when a layer says something its manifest does not take; ``activation`` then tells what.
    ``looked_at`` is when it last looked (epoch ms), None: never. ``open`` and ``applied`` count its recommendations made
    here. ``next`` is a command, "" when there is nothing to do.
    """

    manifest: Manifest
    settled: Settled | None
    activation: Activation
    looked_at: int | None
    open: int
    applied: int
    next: str

    @property
    def id(self) -> str:
        return self.manifest.id


@dataclass(frozen=True, slots=True)
class Chains:
    """Audit chains of what is open or applied here: how many hold together, how many do not, and how many were not looked
    at, because a report looks at the newest only; `verify` checks all."""

    verified: int
    broken: int
    unchecked: int = 0


@dataclass(frozen=True, slots=True)
class Health:
    """A memory and its loop at ``at`` (epoch ms UTC).

    ``grains``: live ones of user namespaces by type. ``claims``: those by declared verification status. ``forks``: open
    ones. ``past_end``: live grains past their declared end. ``new_grains`` and ``new_errors`` arrived since the last run.
    ``stale``: never run, a week old, or a hundred grains behind. ``queue``: recommendations made here by status, refreshed
    ones left out; ``foreign``: those of other copies. ``time_to_first``: from the first grain to the first recommendation,
    ms; None: there is none yet. ``spooled``: captured items that wait beside the file for the next writer (D34);
    ``unreadable``: files there that no writer can take in. ``last_verify``: when `verify` last found the whole memory sound
    on a handle that may write, epoch ms; None: unknown, because one that may only read keeps nothing (D55). ``whole``: False
    in a quick report (HEA-4).
    """

    at: int
    grains: Mapping[str, int]
    claims: Mapping[str, int]
    chains: Chains
    forks: int
    past_end: int
    last_run: int | None
    watermark: int
    new_grains: int
    new_errors: int
    stale: bool
    queue: Mapping[str, int]
    pending: Mapping[str, int]  # by severity
    foreign: int
    approved: int  # of all that was decided, how many were approved, applied or rolled back
    rejected: int
    time_to_first: int | None
    policy: EffectivePolicy
    analyzers: tuple[AnalyzerState, ...]
    spooled: int = 0
    unreadable: int = 0
    last_verify: int | None = None
    whole: bool = True

    @property
    def live(self) -> int:
        return sum(self.grains.values())


def health(
    substrate: Substrate,
    known: Sequence[Analyzer],
    policy: Policy | None,
    now_ms: int,
    *,
    quick: bool = False,
) -> Health:
    """The whole report; ``quick``: what counts alone can tell (HEA-4)."""
    here, last = views.position(substrate), _mapping(views.setting(substrate, LAST_RUN))
    tally = views.tally(substrate)
    ours = [one for one in tally if not one.foreign]
    queue = _sums((one.status, one.count) for one in ours)
    last_at = _number(last.get("at"))
    new = max(0, here.grains - (_number(last.get("grains")) or 0))
    return Health(
        at=now_ms,
        grains=views.live_by_type(substrate),
        claims={} if quick else views.claims(substrate),
        chains=Chains(0, 0) if quick else _chains(substrate),
        forks=0 if quick else len(fact_views.forks(substrate, None)),
        past_end=fact_views.past_end(substrate, now_ms),
        last_run=last_at,
        watermark=_number(last.get("seq")) or 0,
        new_grains=new,
        new_errors=max(0, here.errors - (_number(last.get("errors")) or 0)),
        stale=last_at is None or now_ms - last_at >= STALE_MS or new >= STALE_GRAINS,
        queue={status: queue[status] for status in STATUSES},
        pending=_by_severity(ours),
        foreign=sum(one.count for one in tally if one.foreign),
        approved=sum(queue[status] for status in ("approved", "applied", "rolled_back")),
        rejected=queue["rejected"],
        time_to_first=_time_to_first(substrate, ours),
        policy=effective(substrate, known, policy),
        analyzers=_states(substrate, known, policy, now_ms, tally, quick=quick),
        last_verify=_number(_mapping(views.setting(substrate, VERIFIED)).get("at")),
        whole=not quick,
    )


def _sums(counts: Iterable[tuple[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, count in counts:
        found[name] += count
    return found


def _by_severity(ours: Iterable[Tallied]) -> dict[str, int]:
    found = _sums((one.severity, one.count) for one in ours if one.status == "pending")
    return {severity: found[severity] for severity in reversed(SEVERITIES)}


def _chains(substrate: Substrate) -> Chains:
    """Chains of what may still be decided or undone, the newest first (HEA-3)."""
    told = [row for row in views.ledger(substrate, ("pending", "approved", "applied")) if not row.foreign]
    told.sort(key=lambda row: (-row.decided_seq, row.address))
    newest = told[:CHAINS_CHECKED]
    try:
        audits = views.audits(substrate, [row.address for row in newest])
    except DejaError:
        audits = None  # each chain is then read by itself, and counts as broken where it cannot be
    verified = broken = 0
    for row in newest:
        try:
            given = None if audits is None else audits.get(row.address, ())
            sound = audit.chain(substrate, row, given).verified
        except DejaError:
            sound = False
        verified, broken = verified + sound, broken + (not sound)
    return Chains(verified, broken, len(told) - verified - broken)


def _time_to_first(substrate: Substrate, ours: Sequence[Tallied]) -> int | None:
    first = _number(_mapping(views.setting(substrate, FIRST_FOUND)).get("at"))
    if first is None:
        first = min((one.first for one in ours), default=None)
    begin = views.began(substrate)
    if begin is None:
        begin = _number(_mapping(views.setting(substrate, FIRST_RUN)).get("at"))
    return None if first is None or begin is None else max(0, first - begin)


# --- analyzers ---------------------------------------------------------------------------------------


def analyzers(
    substrate: Substrate,
    known: Sequence[Analyzer],
    policy: Policy | None,
    now_ms: int,
    *,
    quick: bool = False,
) -> tuple[AnalyzerState, ...]:
    """The state of every analyzer, in the order of a run (HEA-2); ``quick``: without what it would find (HEA-4)."""
    return _states(substrate, known, policy, now_ms, views.tally(substrate), quick=quick)


def _states(
    substrate: Substrate,
    known: Sequence[Analyzer],
    policy: Policy | None,
    now_ms: int,
    tally: Iterable[Tallied],
    *,
    quick: bool,
) -> tuple[AnalyzerState, ...]:
    told = Analysis()
    how = Looking(now_ms, policy=policy, full=True)
    ready = {one.analyzer.manifest.id: one for one in looking.prepare(substrate, known, how, told)}
    failed = _mapping(_mapping(views.setting(substrate, LAST_RUN)).get("failed"))
    file = config.rows(substrate)
    books = _Books(substrate, now_ms, tally, quick=quick)
    states = []
    for manifest in (one.manifest for one in known):
        one = ready.get(manifest.id)
        if one is None:
            activation = told.activations[manifest.id]
        elif manifest.id in failed:
            activation = Activation("failed", hint=str(failed[manifest.id]))
        else:
            activation = Activation(NOT_LOOKED) if quick else looking.probed(one)
        activation = books.cooled(manifest, _until(activation, now_ms))
        try:
            settled = one.settled if one else config.settle(manifest, file.get(manifest.id), None, policy)
        except LoopError:
            settled = None
        looked = _number(_mapping(views.setting(substrate, WATERMARK + manifest.id)).get("at"))
        counts = books.counts(manifest)
        states.append(
            AnalyzerState(
                manifest,
                settled,
                activation,
                looked,
                counts["pending"] + counts["approved"],
                counts["applied"],
                _next(manifest, activation, counts),
            )
        )
    return tuple(states)


def _until(activation: Activation, now_ms: int) -> Activation:
    """Watching in days, with the moment at which it will have watched long enough."""
    if activation.state != "watching" or activation.until is not None or "day" not in activation.unit:
        return activation
    return replace(activation, until=now_ms + max(0, activation.need - activation.have) * DAY_MS)


class _Books:
    """What was recommended here, by family."""

    def __init__(self, substrate: Substrate, now_ms: int, tally: Iterable[Tallied], *, quick: bool) -> None:
        self._counts: dict[str, Counter[str]] = {}
        self._turned_down: dict[str, dict[str, list[LedgerRow]]] = {}
        self._now_ms = now_ms
        for one in tally:
            if not one.foreign:
                self._counts.setdefault(_family(one.analyzer), Counter())[one.status] += one.count
        if quick:
            return
        identities = {
            row.identity: _family(row.analyzer)
            for row in views.ledger(substrate, ("rejected", "rolled_back"))
            if not row.foreign
        }
        for identity, rows in views.ledger_by_identity(substrate, sorted(identities)).items():
            ours = [row for row in rows if not row.foreign]
            self._turned_down.setdefault(identities[identity], {})[identity] = ours

    def counts(self, manifest: Manifest) -> Counter[str]:
        return self._counts.get(manifest.family, Counter())

    def cooled(self, manifest: Manifest, activation: Activation) -> Activation:
        """``cooling`` where an analyzer that fires has nothing open and something that waits."""
        waiting = [
            until
            for rows in self._turned_down.get(manifest.family, {}).values()
            if (until := ledger.cooling_until(rows)) > self._now_ms
        ]
        counts = self.counts(manifest)
        if activation.state != "active" or not waiting or counts["pending"] or counts["approved"]:
            return activation
        return Activation("cooling", len(waiting), 0, "findings rejected lately", until=min(waiting))


def _family(analyzer: str) -> str:
    return analyzer.rsplit("/", 1)[0]


def _next(manifest: Manifest, activation: Activation, counts: Counter[str]) -> str:
    """The command that gets an analyzer further, or shows what it has."""
    name = manifest.family.rsplit(".", 1)[-1] if manifest.family.startswith("loop.") else manifest.id
    match activation.state:
        case "disabled" if activation.hint == "policy":
            return "deja loop policy"
        case "disabled":
            return f"deja loop enable {name} --because WHY"
        case "missing" if activation.unit == "telemetry":
            return "deja recall SUBJECT"
        case "failed":
            return f"deja loop run --only {name} --dry-run"
        case "active":
            return "deja loop list" if counts["pending"] else "deja loop run"
        case "cooling":
            return "deja loop list --status rejected"
        case _:
            return activation.hint if activation.hint.startswith("deja ") else ""


# --- a quick report, filled in -----------------------------------------------------------------------


def filled(found: Health, known: Health | None) -> Health:
    """A quick report with what an earlier one had looked for, so that nothing known disappears while it is read again."""
    if found.whole or known is None or not known.whole:
        return found
    return replace(
        found,
        claims=known.claims,
        chains=known.chains,
        forks=known.forks,
        analyzers=filled_states(found.analyzers, known.analyzers),
        whole=True,
    )


def filled_states(
    found: Sequence[AnalyzerState], known: Sequence[AnalyzerState]
) -> tuple[AnalyzerState, ...]:
    """The same of analyzers alone."""
    before = {one.id: one for one in known if one.settled is not None and one.settled.enabled}
    return tuple(
        replace(one, activation=before[one.id].activation, next=before[one.id].next)
        if one.activation.state == NOT_LOOKED and one.id in before
        else one
        for one in found
    )


# --- policy ------------------------------------------------------------------------------------------


def effective(substrate: Substrate, known: Sequence[Analyzer], policy: Policy | None) -> EffectivePolicy:
    """Everything in force, the file's settings of analyzers included, each with its layer."""
    return in_force(policy, [one.manifest for one in known], file=_of_file(substrate, known, policy))


def _of_file(substrate: Substrate, known: Sequence[Analyzer], policy: Policy | None) -> list[Effective]:
    rows = config.rows(substrate)
    here = {one.manifest.id: one.manifest for one in known}
    told: list[Effective] = []
    for name, row in sorted(rows.items()):
        manifest = here.get(name)
        for part, value in config.plain(row.config).items():
            layer = row.source if part == "enabled" and row.source != "local" else "file"
            told.append(Effective(f"{name}.{part}", value, layer, _note(manifest, part, policy)))
    return told


def _note(manifest: Manifest | None, part: str, policy: Policy | None) -> str:
    if manifest is None:
        return "this analyzer is not here: kept, without effect"
    if part == "enabled" and policy is not None and policy.denies(manifest.id):
        return "the host's policy denies it"
    if part == "severity_floor" and policy is not None and policy.floor(manifest.id):
        return f"the host's floor is {policy.floor(manifest.id)}: the stricter counts"
    return ""


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
