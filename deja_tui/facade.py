# SPDX-License-Identifier: Apache-2.0
"""`Memory`: the library, and the one door of every surface to a memory file.

A memory is opened with an actor and the rights it acts with. Times are epoch milliseconds UTC; addresses are 64
lower-case hex digits. Every method may be called from any thread. Failures are `DejaError` with a stable code.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from deja_tui import declared
from deja_tui.adapter import StoreSubstrate
from deja_tui.browsing import Browsing
from deja_tui.constructors import Constructors
from deja_tui.contexts import Contexts
from deja_tui.copies import Copies, restore_file
from deja_tui.declared import Declaration
from deja_tui.documents import Documents
from deja_tui.engine import ledger, lifecycle, templates
from deja_tui.engine.actors import Caller, caller
from deja_tui.engine.analyzer import Analyzer
from deja_tui.engine.health import VERIFIED
from deja_tui.engine.linked import linked
from deja_tui.engine.policy import Policy
from deja_tui.engine.soundness import unsound
from deja_tui.erasure import Erased, Eraser, SubjectReport
from deja_tui.errors import DejaError, ValidationError
from deja_tui.intake import Captured as Captured
from deja_tui.intake import Intake, checked_fields
from deja_tui.intake import host_clock as host_clock
from deja_tui.loop import Loop
from deja_tui.loop_settings import PolicySource, host_policy, policy_notices
from deja_tui.sessions import Sessions
from deja_tui.standing import Standing, standing
from deja_tui.store import asof, grains
from deja_tui.store.bundles import ImportReport, Written
from deja_tui.store.chains import HISTORY_LIMIT, PROVENANCE_DEPTH, Fork, Provenance
from deja_tui.store.changes import Change
from deja_tui.store.codec import TYPES
from deja_tui.store.faults import coded
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Fault, Store
from deja_tui.store.oplog import LogEntry
from deja_tui.store.places import place
from deja_tui.store.read import how_many
from deja_tui.store.restore import RestoreReport
from deja_tui.store.segments import Followed, Pushed
from deja_tui.store.selection import write_selection
from deja_tui.store.telemetry import MODES, Telemetry
from deja_tui.store.write import Act

if TYPE_CHECKING:
    from deja_tui.cal import Result
    from deja_tui.intake import Capturable

_OF_ONE_GRAIN: Final = ("source_key", "merge_parents")

Clock = Callable[[], int]


class Memory(Constructors, Contexts, Browsing):
    """One memory file.

    Use `Memory.open`; close it, or use it as a context manager. ``loop`` is the door to recommendations, ``docs`` to
    documents, ``sessions`` to what happened in each conversation, ``telemetry`` to what was counted.
    """

    def __init__(
        self,
        store: Store,
        *,
        namespace: str,
        who: Caller,
        clock: Clock,
        telemetry: str = "off",
        analyzers: Iterable[Analyzer] = (),
        policy: Policy | None = None,
    ) -> None:
        self.analyzers = linked(analyzers)
        self.policy = policy
        self.store = store
        self.namespace = namespace
        self.who = who
        self.clock = clock
        self.telemetry = Telemetry(
            store.path, telemetry, clock, lambda: _first_arrival(store), traces=store.traces
        )
        self._counting = self.telemetry.mode != "off"
        self._told: tuple[str, ...] = ()
        self.intake = Intake(store, namespace, clock)
        self.substrate = StoreSubstrate(store, self.telemetry)
        self.eraser = Eraser(store, self.telemetry, who, clock)
        self.copies = Copies(store, self.substrate, self.telemetry, self.eraser, who, clock)
        self.loop = Loop(self)
        self.docs = Documents(self)
        self.sessions = Sessions(self)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        namespace: str | None = None,
        actor: str = "user:local",
        scopes: Iterable[str] | None = None,
        telemetry: str = "off",
        read_only: bool = False,
        create: bool = True,
        busy_ms: int = 5_000,
        durability: Literal["full", "normal"] = "full",
        clock: Clock | None = None,
        analyzers: Iterable[Analyzer] = (),
        policy: PolicySource = None,
    ) -> Self:
        """Open or create a memory (D36).

        Args:
            path: the file; symlinks are resolved once.
            namespace: where plain writes go and plain reads look; None: what the file declares (see `declare`), else
                ``shared``. A value that differs from the file's is used, and told in ``notices``.
            actor: who acts (D22), for example ``user:ana`` or ``agent:worker-1``.
            scopes: rights of the caller out of read, write, review, apply, admin; None: all of them.
            telemetry: off, aggregate or full: what recalls and searches are counted in the sidecar
                ``<file>.telemetry.db`` (D37); see `telemetry`.
            read_only: open for reading even when the file could be written.
            create: make the file when it is missing.
            busy_ms: how long a write waits for another writer.
            durability: ``full`` or ``normal`` (capture only, design §3).
            clock: epoch milliseconds; None: the host's.
            analyzers: of this program, run and listed like those that are built in (D29, docs/analyzers.md).
            policy: the host's, as an object or the path of a document (docs/policy.md); None: the file that
                ``DEJA_LOOP_POLICY`` names, else none.

        Raises: STO-E002 to STO-E009, VAL-E001, VAL-E003, LOP-E036 and LOP-E031 (a malformed analyzer), LOP-E037 (policy).
        """
        if telemetry not in MODES:
            raise ValidationError("VAL-E001", "telemetry is one of " + ", ".join(MODES))
        who = caller(actor, scopes)
        ticking = clock or host_clock
        own, hosts = linked(analyzers), host_policy(policy)
        store = Store.open(
            place(path),
            read_only=read_only,
            create=create,
            busy_ms=busy_ms,
            durability=durability,
            clock=ticking,
        )
        chosen, told = declared.settle(store, {"namespace": namespace})
        memory = cls(
            store,
            namespace=chosen["namespace"],
            who=who,
            clock=ticking,
            telemetry=telemetry,
            analyzers=own,
            policy=hosts,
        )
        memory._told = told
        return memory

    def close(self) -> None:
        """Flush what may lag and close every connection. A second close does nothing."""
        self.telemetry.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of this open: why it can only be read, which option differs from what the file
        declares, why nothing is counted; one sentence each."""
        strange = policy_notices(self.policy, self.analyzers)
        return tuple(
            told
            for told in (self.store.notice, *self._told, self.telemetry.notice, self.intake.told, *strange)
            if told
        )

    def declare(self, name: str, value: Any, *, because: str) -> Declaration:
        """Write a setting into the file, for every open from now on; this one keeps what it was opened with.

        ``name``: namespace (a text; where plain writes go and plain reads look). Raises VAL-E001, VAL-E004, LOP-E011,
        LOP-E022 (needs admin).
        """
        return declared.declare(self.store, self.who, self.clock, name, value, because)

    def declared(self) -> tuple[Declaration, ...]:
        """What the file declares, by name."""
        self.who.need("read")
        return declared.declared(self.store)

    # --- writing ---------------------------------------------------------------------------------

    def add(self, type: str, fields: Mapping[str, Any], *, namespace: str | None = None) -> str:
        """Store a grain and return its address. Equal bytes are one grain: adding them again changes nothing.

        ``fields`` holds long names; ``created_at`` (ISO-8601 or epoch) defaults to now. Unknown names are kept.
        Raises VAL-E001, VAL-E002, VAL-E004 (reserved namespace or type), MEM-E003 (forgotten here), LOP-E022.
        """
        self.who.need("write")
        with self.store.act() as act:
            address = act.add(self.intake.grain(type, fields, namespace)).address
        self.telemetry.settle()
        return address

    def supersede(self, address: str, fields: Mapping[str, Any], *, reason: str | None = None) -> str:
        """Replace a live grain by a new one and return its address.

        ``fields`` is laid over the old grain's fields; a value of None removes a field. A chain stays in its namespace.
        Raises MEM-E001, MEM-E002, VAL-E001.
        """
        self.who.need("write")
        with self.store.act() as act:
            old = self._there(address)
            merged = _own(old.fields)
            given = {
                grains.long_name(old.type, name): value for name, value in checked_fields(fields).items()
            }
            if given.get("namespace", old.namespace) != old.namespace:
                raise ValidationError("VAL-E001", "namespace: a superseding grain stays in that of its chain")
            merged.update(given)
            if reason is not None:
                merged["supersede_reason"] = lifecycle.check_reason(reason)
            kept = {name: value for name, value in merged.items() if value is not None or name not in given}
            kept["derived_from"] = old.address
            settled = set(old.fields).difference(given)
            new = self.intake.successor(old.type, kept, old.namespace, settled)
            superseding = act.supersede(old.address, new).address
        self.telemetry.settle()
        return superseding

    def merge(
        self, tips: str | Sequence[str], fields: Mapping[str, Any] | None = None, *, reason: str
    ) -> str:
        """Close a fork: one new grain takes the place of all its tips. Returns its address.

        Args:
            tips: the address of one tip, which stands for its whole fork, or of two or more live grains.
            fields: laid over the fields of the greatest tip; None removes a field. Context is not taken over.
            reason: kept in the grain as ``merge_reason``.

        Raises VAL-E001 (fewer than two tips, several types or namespaces), MEM-E001, MEM-E002, LOP-E011, LOP-E022.
        """
        return self.copies.merge(tips, fields, reason)

    def retire(self, address: str, *, by: str, reason: str) -> str:
        """Take a live grain out of recall in favour of another live one; nothing is written anew.

        Returns the address of the audit grain that says who and why. Raises VAL-E001 (the same grain), VAL-E004,
        MEM-E001, MEM-E002 (not live), LOP-E011, LOP-E022 (needs write).
        """
        return self.copies.retire(address, by, reason)

    # --- other copies ----------------------------------------------------------------------------

    def bundle(self, path: str | os.PathLike[str], *, since: int = 0) -> Written:
        """Write the op-log above position ``since`` and its grains to a bundle (docs/format.md), whole or not at all.

        The bundle is plain text for whoever has it, all namespaces included. ``last_seq`` of the answer is the next
        ``since``. Raises STO-E008, STO-E011 (a file that is no bundle lies there), LOP-E022 (needs read).
        """
        return self.copies.bundle(path, since)

    def import_bundle(self, path: str | os.PathLike[str]) -> ImportReport:
        """Take a bundle in: supersessions and erasures too, so it needs admin. Importing again changes nothing.

        Bytes that do not have their address, or are not canonical, are refused and listed; governance that came is
        foreign history (D5). An import that was interrupted goes on where it was. Raises IMP-E001, IMP-E002, STO-E004,
        STO-E005, STO-E007, LOP-E022.
        """
        return self.copies.import_bundle(path)

    def push_segments(self, directory: str | os.PathLike[str], *, fresh: bool = False) -> Pushed:
        """Add what is new here to this copy's folder below a shared ``directory`` (docs/sync.md).

        ``fresh``: write all of it anew under another name and remove the former folder, so that what was forgotten since
        is gone from it. Raises STO-E005, STO-E008, LOP-E022 (needs write).
        """
        return self.copies.push(directory, fresh=fresh)

    def pull_segments(self, directory: str | os.PathLike[str]) -> tuple[Followed, ...]:
        """Take what is new from the other copies' folders below ``directory``; as `import_bundle`, so it needs admin.

        Raises STO-E004, STO-E005, STO-E007, STO-E008, LOP-E022.
        """
        return self.copies.pull(directory)

    @staticmethod
    def restore(
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
        *,
        until: int | str,
        because: str,
        actor: str = "user:local",
        scopes: Iterable[str] | None = None,
        clock: Clock | None = None,
    ) -> RestoreReport:
        """A memory as it was, as a new file; undo and status as they were. The source is not touched.

        Args:
            source: a memory, or a bundle.
            target: a free name; never written over.
            until: a time (ISO-8601 or epoch) or clock (HLC); what is later is left out. What was forgotten stays out.
            because: the reason; an audit grain in the new file keeps it.

        Raises STO-E011 (target taken), STO-E002, STO-E003, STO-E008, IMP-E001, FMT-E004, VAL-E002, LOP-E011, LOP-E022
        (needs admin).
        """
        who = caller(actor, scopes)
        return restore_file(source, target, until=until, because=because, who=who, clock=clock or host_clock)

    # --- erasing ---------------------------------------------------------------------------------

    def forget(self, address: str, *, because: str) -> Erased:
        """Erase one grain: row, text and index entries go, a tombstone stays, an audit grain says who and why.

        Recommendations that quote it go with it, and the sidecar is scrubbed (D31); the answer says what could not be
        reached. Needs admin and a reason. There is no undo. Raises MEM-E001, LOP-E011, LOP-E022, VAL-E004.
        """
        return self.eraser.forget(address, because)

    def subject_report(
        self, subject: str, *, namespace: str | None = None, everywhere: bool = False, mentions: bool = False
    ) -> SubjectReport:
        """What `forget_subject` with the same arguments would remove, exactly. Changes nothing; needs read.

        Args:
            subject: a name, case-exact; ``pat`` is also ``pat#visit1``, never ``patricia``. A grain names it in its
                subject, object, session_id, run_id, user_id, subject_did or entity_id, whatever its type.
            namespace: where to look; None: this memory's own.
            everywhere: look in every namespace but the engine's own.
            mentions: take grains, too, whose text has every word of the name.
        """
        return self.eraser.subject_report(subject, self._spaces(namespace, everywhere), mentions=mentions)

    def forget_subject(
        self,
        subject: str,
        *,
        because: str,
        confirm: str,
        namespace: str | None = None,
        everywhere: bool = False,
        mentions: bool = False,
    ) -> Erased:
        """Erase every grain that names a subject, all versions, with what quotes them (D19, D31). There is no undo.

        Args:
            because: the reason; it is kept for good and may not name the subject.
            confirm: the first four characters of the subject or more (all of a shorter one), typed by a person.
            subject, namespace, everywhere, mentions: as in `subject_report`, which lists what goes.

        Raises VAL-E001, MEM-E001 (nothing names it), LOP-E011 (reason), LOP-E022 (needs admin), LOP-E023 (confirm).
        """
        spaces = self._spaces(namespace, everywhere)
        return self.eraser.forget_subject(
            subject, spaces, because=because, confirm=confirm, mentions=mentions
        )

    def subject_bundle(
        self,
        path: str | os.PathLike[str],
        subject: str,
        *,
        namespace: str | None = None,
        everywhere: bool = False,
        mentions: bool = False,
    ) -> Written:
        """Write what `subject_report` with the same arguments lists to a new bundle, for the person it is about.

        Raises STO-E008, STO-E011 (a file lies there), VAL-E001, LOP-E022 (needs read).
        """
        report = self.subject_report(subject, namespace=namespace, everywhere=everywhere, mentions=mentions)
        return write_selection(self.store, path, {grain.address for grain in report.grains})

    def older_than(
        self,
        before: int | str,
        *,
        namespace: str | None = None,
        type: str | None = None,
        limit: int | None = None,
    ) -> tuple[StoredGrain, ...]:
        """What `forget_older_than` with the same arguments would remove, oldest first."""
        return self.eraser.older_than(before, namespace or self.namespace, type, limit)

    def forget_older_than(
        self,
        before: int | str,
        *,
        because: str,
        namespace: str | None = None,
        type: str | None = None,
        limit: int | None = None,
    ) -> Erased:
        """Erase the grains of a namespace made before a moment (ISO-8601 or epoch). There is no undo; needs admin.

        Args:
            type: only grains of this type. limit: at most so many, the oldest first.

        Raises VAL-E001, VAL-E002, MEM-E001 (nothing is older), LOP-E011, LOP-E022.
        """
        return self.eraser.forget_older_than(
            before, namespace or self.namespace, because=because, type=type, limit=limit
        )

    def _spaces(self, namespace: str | None, everywhere: bool) -> tuple[str, ...] | None:
        return None if everywhere else (namespace or self.namespace,)

    def _there(self, address: str) -> StoredGrain:
        found = self.store.get(self.store.resolve(address))
        if found is None:
            raise DejaError("MEM-E001", "no such grain", "deja search TEXT finds addresses")
        return found

    def capture(self, items: Iterable[Capturable], *, redact: bool = True) -> Captured:
        """Store what is new of ``items``, in their order, in one transaction (D32, D33).

        An item whose source key is already here is skipped, unless it completes what is stored (the result of a call
        that was pending): then it supersedes the live head of that chain. What was forgotten stays forgotten.
        ``redact``: what looks like a secret is taken out first, and counted.
        """
        self.who.need("write")
        done = self.intake.take(items, redact=redact)
        self.telemetry.settle()
        return done

    # --- reading ---------------------------------------------------------------------------------

    def get(self, address: str) -> StoredGrain | None:
        """One grain by its address or a unique start of it; None when there is none. Raises MEM-E004."""
        self.who.need("read")
        try:
            return self.store.get(self.store.resolve(address))
        except DejaError as fault:
            if fault.code == "MEM-E001":
                return None
            raise

    def recall(
        self,
        subject: str | None = None,
        relation: str | None = None,
        object: str | None = None,
        *,
        type: str | None = None,
        namespace: str | None = None,
        k: int = 16,
        as_of: int | str | None = None,
        axis: str = "arrival",
    ) -> list[StoredGrain]:
        """At most ``k`` live grains, newest first by (created_at, HLC, address) (D3); exact on NFC text.

        Args:
            as_of: a time (ISO-8601 or epoch) or a clock (HLC). None: now.
            axis: of ``as_of``: ``arrival``, what the memory knew then, or ``validity``, what it knows now to hold then
                (D45). Neither can tell of what was erased since.

        Raises VAL-E001 (type, axis), VAL-E002 (as_of), LOP-E022.
        """
        self.who.need("read")
        _known_type(type)
        space = namespace or self.namespace
        if as_of is not None or axis != "arrival":
            return self.store.recall_as_of(
                self.clock() if as_of is None else as_of,
                namespace=space,
                subject=subject,
                relation=relation,
                object=object,
                type=type,
                k=k,
                axis=axis,
            )
        began = time.perf_counter_ns() if self._counting else 0
        found = self.store.recall(
            namespace=space, subject=subject, relation=relation, object=object, type=type, k=k
        )
        if self._counting:
            took = time.perf_counter_ns() - began
            self.telemetry.recalled(space, found, subject=subject, took_ns=took)
        return found

    def latest(
        self,
        subject: str,
        relation: str,
        *,
        namespace: str | None = None,
        as_of: int | str | None = None,
        axis: str = "arrival",
    ) -> StoredGrain | None:
        """The greatest live head of (subject, relation), or None; ``as_of`` and ``axis`` as in `recall`."""
        if as_of is not None or axis != "arrival":
            then = self.recall(subject, relation, namespace=namespace, k=1, as_of=as_of, axis=axis)
            return then[0] if then else None
        self.who.need("read")
        space = namespace or self.namespace
        found = self.store.latest(space, subject, relation)
        if self._counting:
            self.telemetry.recalled(space, [found] if found else [], subject=subject)
        return found

    def history(self, address: str, *, limit: int = HISTORY_LIMIT) -> list[StoredGrain]:
        """The chain through this grain, newest first: what took its place, and all that was superseded, merged or
        retired on the way. At most ``limit`` grains. Raises MEM-E001, MEM-E004, LOP-E022."""
        self.who.need("read")
        return self.store.history(self.store.resolve(address), max(0, how_many(limit)))

    def heads(self, subject: str, relation: str, *, namespace: str | None = None) -> list[StoredGrain]:
        """The live grains of a key, the provisional head (what `latest` gives) first. Two plain adds are two heads (D3)."""
        self.who.need("read")
        return self.store.heads(namespace or self.namespace, subject, relation)

    def forks(self, *, namespace: str | None = None) -> list[Fork]:
        """Open forks: two or more live grains with a common superseded ancestor (D3), provisional head first.

        ``namespace``: of the provisional head; None: all but the engine's own.
        """
        self.who.need("read")
        return self.store.forks(None if namespace is None else [namespace])

    def provenance(self, address: str, *, depth: int = PROVENANCE_DEPTH) -> Provenance:
        """What a grain was derived from, and what was derived from it, up to ``depth`` steps either way, nearest first.

        A grain of a walk that is not here, or was forgotten, is told by its address. Raises MEM-E001, MEM-E004, LOP-E022.
        """
        self.who.need("read")
        found = self.store.provenance(self.store.resolve(address), depth)
        if found is None:
            raise DejaError("MEM-E001", "no such grain", "deja search TEXT finds addresses")
        return found

    def log(self, since: int | str = 0) -> Iterator[LogEntry]:
        """Rows of the op-log, oldest first, read page by page.

        ``since``: a position (whole numbers below 1e9), or a time (ISO-8601, epoch) or clock (HLC); rows above it. Rows
        that came from another copy keep the clock they had there.
        """
        return self.copies.log(since)

    def changes(
        self, since: int | str = 0, *, subject: str | None = None, namespace: str | None = None
    ) -> Iterator[Change]:
        """What changed since: the op-log told in grains, oldest first.

        Args:
            since: as in `log`.
            subject: only what is about it, exactly. What was forgotten has no subject any more.
            namespace: None: all but the engine's own.
        """
        return self.copies.changes(since, namespace, subject)

    def search(
        self,
        text: str,
        *,
        type: str | None = None,
        subject: str | None = None,
        since: int | str | None = None,
        before: int | str | None = None,
        namespace: str | None = None,
        k: int = 16,
    ) -> list[StoredGrain]:
        """At most ``k`` live grains whose text has any of the words, best first. Any text is a safe query.

        Args:
            text: blanks separate words; ``"two words"`` is a phrase, ``wor*`` the start of a word. Case and accents do
                not count; scripts written without blanks are found by any part of them.
            type: only of this type. subject: only about this, exactly, as in `recall`.
            since, before: only what was created from the one moment on and before the other (ISO-8601, epoch or HLC).
            namespace: None: this memory's own.

        Raises VAL-E001 (type), VAL-E002 (a time), LOP-E022.
        """
        self.who.need("read")
        space = namespace or self.namespace
        began = time.perf_counter_ns() if self._counting else 0
        found = self.store.search(
            text,
            namespace=space,
            type=type,
            subject=subject,
            since=None if since is None else asof.wall(since, "since"),
            before=None if before is None else asof.wall(before, "before"),
            k=k,
        )
        if self._counting:
            took = time.perf_counter_ns() - began
            self.telemetry.recalled(space, found, question=text, took_ns=took)
        return found

    def scan(
        self,
        type: str,
        *,
        namespace: str | None = None,
        everywhere: bool = False,
        live: bool = True,
        after: int = 0,
    ) -> Iterator[StoredGrain]:
        """Grains of one type in arrival order, read page by page: memory stays bounded, and writes may go on.

        Args:
            namespace: None: this memory's own. everywhere: every namespace but the engine's.
            live: leave out what was superseded, retired or hidden.
            after: only positions (`StoredGrain.seq`) above this one, to go on where an earlier scan ended.
        """
        self.who.need("read")
        _known_type(type)
        spaces = None if everywhere else [namespace or self.namespace]
        return self.store.scan(type, namespaces=spaces, after=after, live_only=live)

    @coded
    def cal(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        read_only: bool = False,
        allow_destructive: bool = False,
        stop: Callable[[], bool] | None = None,
    ) -> Result:
        """One statement of the query language (``docs/cal.md``) under this caller's rights.

        Args:
            text: the statement; ``params`` are bound on its parse tree, never pasted.
            read_only: refuse everything that is not a read.
            allow_destructive: the flag that erasing statements need besides the right admin.
            stop: asked now and then while a statement reads; true ends it with CAL-E072.

        Raises: CAL-E…, with the place in the text, and whatever the statement's own act raises.
        """
        from deja_tui.cal import Session, host_of  # the language costs a hook that asks nothing its start-up

        session = Session(host_of(self, summary=_summary))
        return session.run(text, params, read_only=read_only, allow_destructive=allow_destructive, stop=stop)

    def stats(self) -> dict[str, Any]:
        """Counts of this file: grains by type, op-log length, bytes."""
        self.who.need("read")
        return self.store.stats()

    def standing(self) -> Standing:
        """What is set up here: namespaces, documents, queries, capture, analyzers, policy, the last run, integrity (D55).

        Raises LOP-E022 (needs read).
        """
        self.who.need("read")
        return standing(self)

    def verify(self, *, deep: bool = False, rebuild: bool = False) -> tuple[Fault, ...]:
        """Every fault found in the file and in the audit chains; empty when there is none.

        Args:
            deep: also compare every index entry with its row and everything derived with what the decoded bytes call
                for; it costs as much as filling the file anew. What else is checked: see `store.integrity`.
            rebuild: first make everything anew that follows from the grains, the op-log and the marks, in one act:
                liveness, keys, dictionaries, links, sources, counters, text index, queue and status (D1). Primary data
                is not touched, so what is wrong there is still in the answer. Then check as with ``deep``. Needs admin.

        Without a fault, and where the file may be written, the time is kept for `Loop.health`.

        Raises LOP-E022; STO-E004 and STO-E005 with ``rebuild``.
        """
        self.who.need("admin" if rebuild else "read")
        if self.store.erasure_pending:
            with self.store.act():
                pass  # any act tries again to clear old pages (D31)
        if rebuild:
            with self.store.act(governed=True) as act:
                act.rebuild()
                self._rebuild_ledger(act)
        with self.store.snapshot():
            found = (*self.store.verify(deep=deep or rebuild), *self._governance_faults())
        if self.store.erasure_pending:
            told = "erased text still stands in old pages of the file, because a reader holds them"
            return (*found, Fault("STO-E004", "", told))
        if not found and not self.store.read_only and self.who.may("write"):
            self._note_sound()
        return found

    def _note_sound(self) -> None:
        """Keep when the file was last found sound, for the report (D55). A busy or full file is sound all the same."""
        try:
            with self.store.act() as act:
                act.set_setting(VERIFIED, {"at": self.clock()})
        except DejaError as fault:
            if fault.code not in ("STO-E004", "STO-E005", "STO-E007"):
                raise

    def _governance_faults(self) -> Iterator[Fault]:
        def queued() -> set[str]:
            return {row.address for row in self.store.ledger_list(include_replaced=True)}

        return (Fault(*one) for one in unsound(self.substrate, queued))

    def rebuild_ledger(self) -> int:
        """Derive the status of every recommendation anew from its audit chain (D1); returns how many there are."""
        self.who.need("admin")
        with self.store.act(governed=True) as act:
            return self._rebuild_ledger(act)

    def _rebuild_ledger(self, act: Act) -> int:
        rows = list(ledger.replay(self.substrate))
        act.ledger_clear()
        for row in rows:
            act.ledger_put(row)
        return len(rows)


def _known_type(type: str | None) -> None:
    """Raise VAL-E001 for a filter that nothing could pass."""
    if type is not None and (not isinstance(type, str) or type not in TYPES):
        raise ValidationError("VAL-E001", f"unknown grain type; one of {', '.join(TYPES)}")


def _first_arrival(store: Store) -> str | None:
    """What tells this memory from another one of the same name: the address that came first."""
    return next((entry.address for entry in store.log()), None)


def _summary(told: Mapping[str, Any]) -> str:
    return templates.render(str(told.get("template_id", "")), told.get("args") or {})


def _own(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a superseding grain takes over: not the parents, and not where the old one was captured or what it merged."""
    kept = {name: value for name, value in fields.items() if name != "derived_from"}
    context = kept.get("context")
    if isinstance(context, Mapping) and not context.keys().isdisjoint(_OF_ONE_GRAIN):
        kept["context"] = {name: value for name, value in context.items() if name not in _OF_ONE_GRAIN}
        if not kept["context"]:
            del kept["context"]
    return kept
