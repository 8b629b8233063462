# SPDX-License-Identifier: Apache-2.0
"""`Loop`: the library's door to the Deja Loop of one memory: runs, the queue, decisions.

Reached as ``memory.loop``. Every decision is about exactly one address and carries a BECAUSE (D15, D16). What the
engine does lies in `engine`; here are the caller's rights, the run lease and what an erasure takes with it (D31, D34).
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from deja_tui import leases
from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import RunOptions, config, drafts, lifecycle, outcomes, pipeline, reports, views
from deja_tui.engine.actors import Caller
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.faults import LoopError
from deja_tui.engine.objects import STATUSES, Chain, Delivered, Detail, Plan, QueueRow, Receipt, RunOutcome
from deja_tui.engine.outcomes import Reviewed
from deja_tui.engine.preview import Preview, preview
from deja_tui.engine.substrate import LOOP_NAMESPACE, Tallied
from deja_tui.erasure import Eraser
from deja_tui.errors import DejaError, ValidationError
from deja_tui.loop_settings import Host as SettingsHost
from deja_tui.loop_settings import Settings
from deja_tui.store.grains import StoredGrain
from deja_tui.text import DAY_MS

if TYPE_CHECKING:
    from deja_tui.engine.external import CommandAnalyzer
    from deja_tui.replay import Replay

_LEASE: Final = "loop.lease"
_LEASE_MS: Final = 120_000
_AS_IS: Final = config.AnalyzerConfig()
LIMIT_MS: Final = 30_000
_COMMAND_LIMIT_MS: Final = 90_000  # below the lease, which a run must not outlive


class Host(SettingsHost, Protocol):
    """What the door needs of the memory it belongs to (`facade.Memory`), beside what its settings need."""

    @property
    def eraser(self) -> Eraser: ...
    @property
    def namespace(self) -> str: ...
    def cal(self, text: str, *, read_only: bool = False) -> object: ...


def _timed(outcome: RunOutcome, began: int) -> RunOutcome:
    return replace(outcome, duration_ms=(time.perf_counter_ns() - began) // 1_000_000)


class Loop(Settings):
    """The Deja Loop of one memory: runs, the queue, decisions, and how it works (`loop_settings`).

    Every decision is about exactly one address (D15).
    """

    def __init__(self, memory: Host) -> None:
        super().__init__(memory)
        self._memory = memory

    @property
    def _substrate(self) -> StoreSubstrate:
        return self._memory.substrate

    def run(
        self,
        *,
        min_new: int | None = None,
        min_new_errors: int | None = None,
        if_stale_ms: int | None = None,
        only: Sequence[str] = (),
        namespaces: Sequence[str] | None = None,
        dry_run: bool = False,
        full: bool = False,
        explain: bool = False,
        commands: Sequence[str] = (),
        command_limit_ms: int = LIMIT_MS,
        now_ms: int | None = None,
    ) -> RunOutcome:
        """One run. Gates are OR-composed; another run or writer in the way is a clean skip, ``lock_held``.

        A gate that is not met costs two counts: nothing is analyzed, measured or written.

        Args:
            min_new, min_new_errors: so many grains, or failed calls, arrived since the last run. if_stale_ms: the last
                run is so old. None of them: the run goes ahead.
            only, namespaces: names of analyzers, and namespaces, to look at alone; such a run closes nothing.
            dry_run: find and tell, write nothing.
            full: look at everything again, as `reflect` does.
            explain: when nothing was found, ask every analyzer why (``quiet`` of the outcome).
            commands: analyzers of this run alone, each ``ID=COMMAND`` (docs/analyzer-protocol.md). They are started only
                when a gate is open; one that fails is skipped, and the outcome says why.
            command_limit_ms: of each process, at most 90,000.

        Raises LOP-E033 (unknown analyzer in ``only``), LOP-E034 (a gate that is no whole number of 0 or more), LOP-E036
        (a command without a name that is free), LOP-E022 (needs write).
        """
        began = time.perf_counter_ns()
        self._memory.who.need("read" if dry_run else "write")
        options = RunOptions(
            trigger=self._memory.who.actor,
            namespaces=None if namespaces is None else tuple(namespaces),
            only=tuple(only),
            dry_run=dry_run,
            min_new=min_new,
            min_new_errors=min_new_errors,
            if_stale_ms=if_stale_ms,
            analyzers=self._memory.analyzers,
            policy=self._memory.policy,
            full=full,
            probe=explain,
        )
        now = self._memory.clock() if now_ms is None else now_ms
        gated = pipeline.gate(self._substrate, options, now)
        if gated.outcome == "skipped":
            return _timed(gated, began)
        self._memory.telemetry.flush()
        if not commands:
            return _timed(self._go(options, gated, now), began)
        from deja_tui.commands import stop

        connected = self._connect([commands] if isinstance(commands, str) else commands, command_limit_ms)
        options = replace(options, analyzers=(*options.analyzers, *connected))
        try:
            return _timed(self._go(options, gated, now), began)
        finally:
            stop(connected)  # a run that was broken off has not waited for all of them

    def reflect(
        self,
        *,
        only: Sequence[str] = (),
        namespaces: Sequence[str] | None = None,
        dry_run: bool = False,
        explain: bool = False,
    ) -> RunOutcome:
        """A full sweep: every analyzer looks at everything again, whatever it has looked at before. No gates.

        Raises as `run`.
        """
        return self.run(only=only, namespaces=namespaces, dry_run=dry_run, full=True, explain=explain)

    def replay(
        self,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        window_ms: int = 90 * DAY_MS,
        every_ms: int | None = None,
        at: Sequence[int] = (),
        only: Sequence[str] = (),
    ) -> Replay:
        """What other settings would have proposed in the past, beside what was proposed and how it was decided.

        Nothing is written. Analyzers that count recalls are skipped: counts have no past. What was erased since is gone.

        Args:
            settings: analyzer (id, family, or the last part of that) → parameters, laid over those in force. Only these
                analyzers look, switched on; with none, all look with the settings in force.
            window_ms, every_ms: the times looked at: from so long ago to now, so far apart; None: seven times. Besides,
                whenever something was really proposed in that time, the newest 40 times.
            at: the times themselves, epoch ms, and no others.
            only: further analyzers that look.

        Raises LOP-E031 (a parameter), LOP-E033 (no such analyzer), LOP-E034 (times), LOP-E022 (needs read).
        """
        from deja_tui.replay import replay, times_of
        from deja_tui.store.past import past

        self._memory.who.need("read")
        known = (*ANALYZERS, *self._memory.analyzers)
        manifests = [one.manifest for one in known]
        given: dict[str, dict[str, Any]] = {}
        for name, params in (settings or {}).items():
            manifest = config.named(manifests, name)
            manifest.resolve(params)
            given.setdefault(manifest.id, {}).update(params)
        names = {*given, *(config.named(manifests, name).id for name in only)}
        times = sorted(set(at)) or times_of(self._memory.clock(), window_ms, every_ms)
        with self._memory.store.snapshot():
            current = {name: row.config for name, row in config.rows(self._substrate).items()}
            tried = {**current, **{name: replace(current.get(name, _AS_IS), enabled=True) for name in names}}
            for name, params in given.items():
                tried[name] = replace(tried[name], params={**tried[name].params, **params})
            return replay(
                past(self._memory.store.reading()),
                self._substrate,
                [one for one in known if not names or one.manifest.id in names],
                times,
                current=current,
                tried=tried,
                policy=self._memory.policy,
                proposals=not at,
            )

    def _go(self, options: RunOptions, gated: RunOutcome, now: int) -> RunOutcome:
        if options.dry_run:
            return pipeline.run(self._substrate, options, now)
        owner = f"{os.getpid()}:{secrets.token_hex(8)}"
        try:
            self._take_lease(owner)
            try:
                return pipeline.run(self._substrate, options, now)
            finally:
                self._give_lease_back(owner)
        except DejaError as fault:
            if fault.code not in ("STO-E004", "LOP-E035"):
                raise
            return RunOutcome("skipped", "lock_held", gated.new_grains, gated.new_error_events)

    def _connect(self, commands: Sequence[str], limit_ms: int) -> list[CommandAnalyzer]:
        """Probe the commands of a run, all at once (docs/analyzer-protocol.md)."""
        from deja_tui.commands import connect  # what starts processes is loaded when there are some to start

        if not 1 <= limit_ms <= _COMMAND_LIMIT_MS:
            raise LoopError("LOP-E036", f"a command may take from 1 to {_COMMAND_LIMIT_MS} ms")
        return connect(
            commands,
            taken=[one.manifest.id for one in (*ANALYZERS, *self._memory.analyzers)],
            ask=self._addresses,
            watermark=lambda name: (views.setting(self._substrate, pipeline.WATERMARK + name) or {}).get(
                "at"
            ),
            limit_ms=limit_ms,
        )

    def _addresses(self, query: str) -> list[str]:
        """What a read-only query of a command gives, as the caller may read it."""
        return [row.hash for row in getattr(self._memory.cal(query, read_only=True), "rows", ())]

    def _take_lease(self, owner: str) -> None:
        """One run at a time on a file (D34). The lease of a run that was killed is free at once where that can be told, and
        runs out after two minutes elsewhere."""
        wall = time.time_ns() // 1_000_000
        with self._memory.store.act(governed=True) as act:
            held = self._memory.store.setting(_LEASE)
            # one that ends later than a lease can was dated by a wrong clock
            if held and wall < int(held["until"]) <= wall + _LEASE_MS and not leases.is_orphaned(held):
                raise LoopError("LOP-E035", "another run is under way")
            act.set_setting(_LEASE, leases.lease(owner, wall + _LEASE_MS))

    def _give_lease_back(self, owner: str) -> None:
        try:
            with self._memory.store.act(governed=True) as act:
                held = self._memory.store.setting(_LEASE)
                if held and held["owner"] == owner:
                    act.set_setting(_LEASE, None)
        except DejaError as fault:
            # what the run stored is stored; a lease that could not be given back runs out by itself
            if fault.code != "STO-E004":
                raise

    def queue(self, status: str | None = "pending", *, limit: int | None = None) -> list[QueueRow]:
        """Rows in queue order, at most ``limit``. ``status`` is one of the six, or None for all. Raises VAL-E001 on another word."""
        self._memory.who.need("read")
        if status is not None:
            _known(status)
        return reports.queue(self._substrate, None if status is None else (status,), limit=limit)

    def waiting(self, status: str = "pending") -> int:
        """How many rows `queue` has of one of the six statuses; none of them is read. Raises VAL-E001 on another word."""
        self._memory.who.need("read")
        _known(status)
        return reports.waiting(self._substrate, status)

    def addresses(self, status: str = "pending") -> list[str]:
        """The addresses of the rows `queue` has of one of the six statuses, in its order; no recommendation is read.

        Raises VAL-E001 on another word.
        """
        self._memory.who.need("read")
        _known(status)
        return reports.addresses(self._substrate, status)

    def tally(self) -> list[Tallied]:
        """How many recommendations there are of each analyzer, severity, status and origin (``foreign``: from another copy);
        none of them is read."""
        self._memory.who.need("read")
        return views.tally(self._substrate)

    def resolve(self, address: str) -> str:
        """The full address of a unique start. Raises LOP-E040, VAL-E001 (no text), or MEM-E004 with the matches."""
        if not isinstance(address, str):
            raise ValidationError("VAL-E001", "this is about exactly one address, given as a text")
        try:
            return self._memory.store.resolve(address, type="recommendation", namespace=LOOP_NAMESPACE)
        except DejaError as fault:
            if fault.code != "MEM-E001":
                raise
            raise LoopError(
                "LOP-E040", "there is no such recommendation", "deja loop list --status all"
            ) from fault

    def show(self, address: str, *, allow_destructive: bool = False) -> Detail:
        """Everything about one recommendation."""
        self._memory.who.need("read")
        found = reports.show(
            self._substrate, self.resolve(address), self._memory.who, allow_destructive=allow_destructive
        )
        return replace(found, delivered=self._delivered(found))

    def _delivered(self, detail: Detail) -> Delivered | None:
        """How often what it wrote was handed to an agent (D53), from the sidecar (D37)."""
        wrote = {address for entry in detail.chain.entries for address in entry.results}
        if detail.status != "applied" or not wrote:
            return None
        counts = self._memory.telemetry.deliveries()
        told = [counts[address] for address in wrote if address in counts]
        return Delivered(sum(one.count for one in told), max(one.last for one in told)) if told else None

    def audit(self, address: str) -> Chain:
        """The audit chain of one recommendation, checked; ``state`` is verified, broken or erased (D31)."""
        self._memory.who.need("read")
        try:
            full = self.resolve(address)
        except LoopError as fault:
            gone = self._memory.store.forgotten(address) if fault.code == "LOP-E040" else []
            if len(gone) != 1:
                raise
            full = gone[0]
        return reports.chain(self._substrate, full)

    def dry_run(self, address: str, *, allow_destructive: bool = False, choice: int | None = None) -> Plan:
        """What an apply would do now, and what would refuse it. Writes nothing.

        ``choice``: of an alternative (D20); None: the approved one, else the default.
        """
        self._memory.who.need("read")
        return lifecycle.plan(
            self._substrate,
            self.resolve(address),
            self._memory.who,
            allow_destructive=allow_destructive,
            choice=choice,
        )

    def diff(self, address: str, *, choice: int | None = None) -> Preview:
        """What recall answers before and after one recommendation, on paper (right: read).

        Of an open one: now, and after an apply of ``choice`` (None: the approved one, else the default); of an applied one:
        what a rollback would bring back, and now.
        """
        self._memory.who.need("read")
        return preview(self._substrate, self.resolve(address), choice)

    def propose(
        self,
        *,
        target: str,
        note: str,
        evidence: Sequence[str],
        operations: Sequence[Mapping[str, Any]] | None = None,
        edit: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
        severity: str = "low",
        namespace: str | None = None,
    ) -> str:
        """File a draft as a pending recommendation of this actor and return its address (D21; right: write).

        Somebody else reviews it, as any finding; it is never applied unasked. An agent proposes about memory and queries
        only.

        Args:
            target: ``grain:…``, ``entity:…``, ``query:NAME``, ``template:NAME``, ``doc:NAME`` or ``host:…``.
            note: why, 1 to 200 characters.
            evidence: at least one live grain, each an address or a unique start of it.
            operations, edit, data: exactly one of them. Operations as ``loop show --format json`` prints them; an edit is
                ``{"body"}`` of a query or template, ``{"text"}`` or ``{"diff", "base"}`` of a document; data is what a
                finding says that changes nothing.
            severity: info, low or medium.
            namespace: of the document; None: this memory's own.

        Raises LOP-E010 (target), LOP-E011, LOP-E012, LOP-E022, LOP-E024 (does not fit now), LOP-E028 (open already, or
        turned down lately), MEM-E001, MEM-E004, and the CAL code of a query that may not be saved.
        """
        memory = self._memory
        memory.who.need("write")
        if isinstance(evidence, str):
            raise ValidationError("VAL-E001", "evidence is a list of addresses")
        return drafts.propose(
            self._substrate,
            target=target,
            note=note,
            evidence=[memory.store.resolve(one) for one in evidence],
            caller=memory.who,
            now_ms=memory.clock(),
            severity=severity,
            operations=operations,
            edit=edit,
            data=data,
            namespace=namespace or memory.namespace,
        )

    def approve(self, address: str, *, because: str, choice: int = 0) -> Receipt:
        """Pending → approved (right: review). ``choice``: the alternative that an apply will carry out (D20)."""
        return lifecycle.approve(self._substrate, *self._decision("review", address, because), choice)

    def reject(self, address: str, *, because: str) -> Receipt:
        """Pending → rejected (right: review)."""
        return lifecycle.reject(self._substrate, *self._decision("review", address, because))

    def withdraw(self, address: str, *, because: str) -> Receipt:
        """Approved → rejected, before anything was applied (right: review)."""
        return lifecycle.withdraw(self._substrate, *self._decision("review", address, because))

    def apply(self, address: str, *, because: str, allow_destructive: bool = False) -> Receipt:
        """Approved → applied, in one transaction with its stored inverse (rights: apply and write).

        What it forgets is erased with the recommendations that quote it, this one included: its audit chain stays (D31).
        """
        decision = self._decision("apply", address, because)
        memory = self._memory
        with memory.store.act(governed=True) as act:
            doomed = self._doomed(decision[0])
            receipt = lifecycle.apply(self._substrate, *decision, allow_destructive=allow_destructive)
            if doomed:
                memory.eraser.erase_quotes(act, doomed)
                memory.telemetry.scrub(doomed)
        return receipt

    def _doomed(self, address: str) -> list[StoredGrain]:
        """What an apply would forget; a recommendation that cannot be read is refused by the apply itself."""
        try:
            operations = lifecycle.approved(self._substrate, address)
        except LoopError:
            return []
        targets = [target for one in operations if one.destructive for target in one.targets()]
        found = (self._memory.store.get(target) for target in targets)
        return [target for target in found if target is not None]

    def approve_and_apply(self, address: str, *, because: str, choice: int = 0) -> Receipt:
        """Pending → approved → applied with one reason; refuses a destructive change (D19)."""
        return lifecycle.approve_and_apply(
            self._substrate, *self._decision("review", address, because), choice
        )

    def mark_applied(self, address: str, *, because: str) -> Receipt:
        """Approved → applied, for a change outside this memory that was made there (D27; right: apply)."""
        return lifecycle.mark_applied(self._substrate, *self._decision("apply", address, because))

    def rollback(self, address: str, *, because: str) -> Receipt:
        """Applied → rolled back; recall answers again what it answered before (rights: apply and write)."""
        return lifecycle.rollback(self._substrate, *self._decision("apply", address, because))

    def _decision(self, right: str, address: str, because: str) -> tuple[str, str, Caller, int]:
        self._memory.who.need(right)
        lifecycle.check_reason(because)
        return self.resolve(address), because, self._memory.who, self._memory.clock()

    def outcomes(self, address: str | None = None) -> list[Reviewed]:
        """What was counted over equal spans before and after each apply (D23), the newest measurement first.

        ``address``: of one recommendation, or a unique start of it; None: all. Raises LOP-E040, MEM-E004, LOP-E022.
        """
        self._memory.who.need("read")
        wanted = None if address is None else self.resolve(address)
        found = outcomes.reviewed(self._substrate)
        return [one for one in found if wanted in (None, one.outcome.recommendation)]

    def change_token(self) -> object:
        """A value that changes whenever this file changed; equal values mean nothing did."""
        return self._memory.store.change_token()


def _known(status: str) -> None:
    if status not in STATUSES:
        raise ValidationError("VAL-E001", "no such status", "one of " + ", ".join(STATUSES))
