# SPDX-License-Identifier: Apache-2.0
"""`DejaDB`: the methods of the reference product over `Memory`; the rules stand in `deja_tui.compat`."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, NoReturn, Self

from deja_tui.cal import Session, host_of
from deja_tui.compat import reach
from deja_tui.compat.editor import Editor
from deja_tui.compat.faults import NO_REASON, CompatError, as_value_error, not_offered, refuse
from deja_tui.compat.shapes import (
    as_text,
    erased_count,
    fields_of,
    grain_entry,
    grain_row,
    grain_rows,
    milliseconds,
    moment,
    parsed,
    parsed_object,
    queue_row,
    run_outcome,
    status_of,
)
from deja_tui.engine import pipeline
from deja_tui.engine.actors import caller
from deja_tui.engine.policy import Policy
from deja_tui.engine.policy import parse as parse_policy
from deja_tui.engine.substrate import is_reserved
from deja_tui.engine.templates import render
from deja_tui.errors import DejaError, ValidationError
from deja_tui.facade import Memory
from deja_tui.loop_settings import counting_mode, host_policy
from deja_tui.text import DAY_MS

_STALE_MS: Final = 7 * DAY_MS
_STALE_GRAINS: Final = 100


class DejaDB:
    """One memory under the reference product's interface. Close it, use it as a context manager, or let it go.

    Args:
        path: the file. ns: the namespace of plain reads and writes; None: what the file declares, else ``shared``.
        passphrase: refused (CMP-1). actor: who acts. telemetry: off, aggregate or full; a host's policy that says
        otherwise stands before the default (D37).
        index_text: None or True; every memory is indexed. principal: refused.
    """

    @as_value_error
    def __init__(
        self,
        path: str,
        ns: str | None = None,
        passphrase: str | None = None,
        actor: str = "user:local",
        telemetry: str = "aggregate",
        index_text: bool | None = None,
        principal: str | None = None,
    ) -> None:
        if passphrase is not None:
            raise not_offered(
                "encryption: nothing was opened or created",
                "keep the file on an encrypted disk, without passphrase",
            )
        refuse(principal=principal, index_text=None if index_text in (None, True) else index_text)
        policy = host_policy()
        mode = counting_mode(policy) if telemetry == "aggregate" else telemetry
        self.memory = Memory.open(path, namespace=ns, actor=actor, telemetry=mode, policy=policy)
        self._finalizer = weakref.finalize(self, self.memory.close)

    def close(self) -> None:
        """Close the file. A second close does nothing."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- writing ---------------------------------------------------------------------------------

    @as_value_error
    def add(self, grain_type: str, fields_json: str | None = None, ns: str | None = None) -> str:
        """Store a grain of any type from a JSON object; its address. One argument alone is the JSON of a fact (D39)."""
        if fields_json is None:
            grain_type, fields_json = "fact", grain_type
        return self._add(grain_type, parsed_object(fields_json, "fields"), ns)

    @as_value_error
    def add_batch(self, grains_json: str, ns: str | None = None) -> str:
        """Store many grains in one act; a JSON list of addresses. One bad entry refuses all of them."""
        entries = parsed(grains_json, list, "grains")
        added = []
        with self.memory.store.act():
            for place, entry in enumerate(entries):
                kind = entry.get("grain_type", entry.get("type")) if isinstance(entry, Mapping) else None
                fields = entry.get("fields") if isinstance(entry, Mapping) else None
                if not isinstance(kind, str) or not isinstance(fields, Mapping):
                    raise CompatError("VAL-E001", f"grain {place}: needs grain_type and fields")
                try:
                    added.append(self._add(kind, fields, ns))
                except DejaError as fault:
                    raise CompatError(
                        fault.code, f"grain {place}: {fault.message}", fault.next_step
                    ) from fault
        return as_text(added)

    def _add(self, kind: str, fields: Mapping[str, Any], ns: str | None) -> str:
        return self.memory.add(kind, fields, namespace=None if fields.get("namespace") else ns)

    @as_value_error
    def add_fact(
        self,
        subject: str,
        relation: str,
        object: str,
        confidence: float = 0.9,
        ns: str | None = None,
        idempotent: bool = False,
    ) -> str:
        """Store a fact; its address. ``idempotent``: when the newest value is this one already, its address instead."""
        with self.memory.store.act():
            if idempotent:
                head = self.memory.store.latest(ns or self.memory.namespace, subject, relation)
                if head is not None and head.get("object") == object:
                    return head.address
            return self.memory.add_fact(subject, relation, object, confidence, namespace=ns)

    @as_value_error
    def record_tool_call(
        self,
        name: str,
        result: str,
        is_error: bool = False,
        thread: str | None = None,
        call_id: str | None = None,
        input: str | None = None,
    ) -> str:
        """Store one tool call; its address. ``input`` is JSON text."""
        given = None if input is None else parsed(input, object, "input")
        return self.memory.record_tool_call(name, result, is_error, thread, call_id, given)

    @as_value_error
    def supersede(self, old_hash: str, grain_type: str, fields_json: str, ns: str | None = None) -> str:
        """Put a new grain in the place of a live one, with exactly these fields; its address."""
        memory = self.memory
        memory.who.need("write")
        fields = {**parsed_object(fields_json, "fields")}
        given = fields.pop("namespace", None)
        with memory.store.act() as act:
            old = memory.store.resolve(old_hash)
            return act.supersede(old, memory.intake.grain(grain_type, fields, given or ns)).address

    @as_value_error
    def remember(
        self,
        content: str,
        facts_json: str | None = None,
        observer: str = "python",
        ns: str | None = None,
        model: str | None = None,
        llm_cmd: str | None = None,
        ground_model: str | None = None,
        ground_cmd: str | None = None,
        extract_hint: str | None = None,
        min_confidence: float | None = None,
        session_id: str | None = None,
        role: str | None = None,
        run_id: str | None = None,
    ) -> str:
        """Store a text as an event, and the facts the host drew from it as derived from the event, in one act.

        ``facts_json``: a list of {subject, relation, object, confidence?}. Returns {"event", "facts"} as JSON. Models are
        not offered.
        """
        refuse(
            model=model,
            llm_cmd=llm_cmd,
            ground_model=ground_model,
            ground_cmd=ground_cmd,
            extract_hint=extract_hint,
            min_confidence=min_confidence,
        )
        facts = [] if facts_json is None else parsed(facts_json, list, "facts")
        with self.memory.store.act():
            event = self.memory.add_event(
                content, session_id=session_id, role=role, run_id=run_id, observer=observer, namespace=ns
            )
            drawn = [self._drawn(fact, event, ns) for fact in facts]
        return as_text({"event": event, "facts": drawn})

    def _drawn(self, fact: Any, event: str, ns: str | None) -> str:
        told = fact if isinstance(fact, Mapping) else {}
        parts = [told.get(name) for name in ("subject", "relation", "object")]
        sure = told.get("confidence", 0.8)
        if not all(isinstance(part, str) for part in parts) or not isinstance(sure, int | float):
            raise ValidationError(
                "VAL-E001", "facts are a JSON list of {subject, relation, object, confidence}"
            )
        subject, relation, value = map(str, parts)
        return self.memory.add_fact(
            subject,
            relation,
            value,
            min(1.0, max(0.0, float(sure))),
            derived_from=event,
            source_type="derived",
            namespace=ns,
        )

    # --- reading ---------------------------------------------------------------------------------

    @as_value_error
    def recall(self, subject: str, relation: str | None = None, k: int = 16, ns: str | None = None) -> str:
        """Live grains of a subject, newest first: a JSON list of {fields, hash, type}."""
        return grain_rows(self.memory.recall(subject, relation, namespace=ns, k=k))

    @as_value_error
    def latest(self, subject: str, relation: str, ns: str | None = None) -> str | None:
        """The current value of a key: JSON {fields, hash}, or None."""
        found = self.memory.latest(subject, relation, namespace=ns)
        return None if found is None else as_text({"fields": fields_of(found), "hash": found.address})

    @as_value_error
    def history(self, subject: str, relation: str, ns: str | None = None) -> str:
        """The chain of a key, newest first: a JSON list of {confidence, created_at, hash, object, superseded_by}."""
        head = self.memory.latest(subject, relation, namespace=ns)
        chain = [] if head is None else self.memory.history(head.address)
        return as_text(
            [
                {
                    "confidence": grain.get("confidence"),
                    "created_at": grain.created_at,
                    "hash": grain.address,
                    "object": grain.get("object"),
                    "superseded_by": grain.superseded_by,
                }
                for grain in chain
            ]
        )

    @as_value_error
    def entity_at(
        self, subject: str, relation: str, at: int, axis: str = "world", ns: str | None = None
    ) -> str:
        """The value of a key at a time (epoch ms): JSON {"found", "grain"?}.

        ``axis``: ``world``, what held then, or ``knowledge``, what the memory knew then.
        """
        axes = {"world": "validity", "knowledge": "arrival"}
        if axis not in axes:
            raise ValidationError("VAL-E001", "axis must be one of: world, knowledge")
        found = self.memory.latest(subject, relation, namespace=ns, as_of=at, axis=axes[axis])
        return as_text({"found": False} if found is None else {"found": True, "grain": grain_entry(found)})

    @as_value_error
    def search(
        self,
        query: str,
        subject: str | None = None,
        relation: str | None = None,
        k: int = 10,
        ns: str | None = None,
    ) -> str:
        """Live grains whose text matches, best first, as `recall` lists them; ``subject`` and ``relation`` narrow it."""
        if relation is None:
            return grain_rows(self.memory.search(query, subject=subject, namespace=ns, k=k))
        reach = max(64, 4 * k)
        while True:
            seen = self.memory.search(query, subject=subject, namespace=ns, k=reach)
            found = [grain for grain in seen if grain.get("relation") == relation]
            if len(found) >= k or len(seen) < reach:
                return grain_rows(found[:k])
            reach *= 8

    @as_value_error
    def provenance(self, source_hash: str) -> str:
        """Grains derived from this one, newest first: a JSON list of {hash, object, relation, subject, type}."""
        self.memory.who.need("read")
        return as_text(
            [
                {
                    "hash": grain.address,
                    "object": grain.get("object"),
                    "relation": grain.get("relation"),
                    "subject": grain.get("subject"),
                    "type": grain.type,
                }
                for grain in self.memory.store.children(source_hash)
                if not is_reserved(grain.namespace)
            ]
        )

    @as_value_error
    def related(
        self,
        start: str,
        relations: str,
        direction: str = "out",
        depth: int = 2,
        limit: int = 64,
        ns: str | None = None,
    ) -> str:
        """What is reached from an entity over live facts: JSON {"reached", "start"}, nearest first.

        ``relations``: a comma list. ``direction``: out, in or both; over any relation.
        """
        names = {name.strip() for name in relations.split(",") if name.strip()}
        found = reach.related(self.memory, start, names, direction, depth, self._space(ns))
        return as_text({"reached": found[: max(0, limit)], "start": start})

    def _space(self, ns: str | None) -> str:
        return ns or self.memory.namespace

    @as_value_error
    def run_trace(
        self, run_id: str, limit: int = 64, include_yield: bool = True, ns: str | None = None
    ) -> str:
        """What a run recorded, and what was derived from it: JSON {"produced", "run_id", "trace"}, newest first."""
        self.memory.who.need("read")
        trace = reach.run_trace(self.memory, run_id, max(0, limit), self._space(ns))
        made = reach.derived(self.memory, trace) if include_yield else []
        told = {"produced": [grain_entry(one) for one in made], "run_id": run_id}
        return as_text({**told, "trace": [grain_entry(one) for one in trace]})

    @as_value_error
    def runs_touching(self, hash: str, depth: int = 4, ns: str | None = None) -> str:
        """The runs that a grain, what it came from and what came from it belong to: JSON {"hash", "runs"}."""
        self.memory.who.need("read")
        runs = reach.runs_touching(self.memory, hash, depth, self._space(ns))
        return as_text({"hash": hash, "runs": runs})

    @as_value_error
    def cal(self, query: str) -> str:
        """Run one statement of the query language; the result as JSON. FORGET is refused here: call `forget`."""

        def summary(told: Mapping[str, Any]) -> str:
            return render(str(told.get("template_id", "")), told.get("args") or {})

        return as_text(Session(host_of(self.memory, summary=summary)).run(query).as_json())

    @as_value_error
    def stats(self) -> str:
        """JSON {"current", "events_indexed", "grains", "ops", "terms", "triples"}."""
        told = self.memory.stats()
        by_type = told["by_type"]
        return as_text(
            {
                "current": told["live"],
                "events_indexed": by_type.get("event", 0),
                "grains": told["grains"],
                "ops": told["operations"],
                "terms": told["terms"],
                "triples": by_type.get("fact", 0),
            }
        )

    @as_value_error
    def verify(self) -> str:
        """JSON {"grains", "integrity": "ok"}; raises the first fault, with how many there are."""
        faults = self.memory.verify()
        if faults:
            first = faults[0]
            where = f" at {first.address[:12]}" if first.address else ""
            raise CompatError(
                first.code, f"{len(faults)} faults; the first{where}: {first.message}", "deja verify"
            )
        return as_text({"grains": self.memory.stats()["grains"], "integrity": "ok"})

    @as_value_error
    def open_warnings(self) -> str:
        """What to know of this open: a JSON list of sentences."""
        return as_text(list(self.memory.notices))

    @as_value_error
    def set_run_id(self, run_id: str | None = None) -> None:
        """The run that recalls are logged under from now on (telemetry ``full``)."""
        self.memory.telemetry.run_id = run_id

    # --- other copies ----------------------------------------------------------------------------

    @as_value_error
    def bundle(self, path: str, since: int = 0) -> int:
        """Write the op-log above ``since`` to a bundle; the last position written."""
        return self.memory.bundle(path, since=since).last_seq

    @as_value_error
    def import_bundle(self, path: str) -> int:
        """Take a bundle in; how many operations were applied."""
        return self.memory.import_bundle(path).applied

    @as_value_error
    def reindex_text(self) -> int:
        """Make everything derived anew; how many grains are indexed."""
        return self._rebuild()

    @as_value_error
    def reindex_links(self) -> int:
        """Make everything derived anew; how many grains were looked at."""
        return self._rebuild()

    def _rebuild(self) -> int:
        self.memory.verify(rebuild=True)
        return int(self.memory.stats()["grains"])

    # --- erasing ---------------------------------------------------------------------------------

    @as_value_error
    def forget(self, hash: str) -> None:
        """Erase a grain (CMP-4)."""
        self.memory.forget(hash, because=NO_REASON)

    @as_value_error
    def forget_subject(self, subject: str, ns: str | None = None, text_mentions: bool = False) -> str:
        """Erase what names a subject (CMP-4): JSON counts. Nothing to erase is no error."""
        before = self._terms()
        gone = erased_count(
            lambda: self.memory.forget_subject(
                subject, because=NO_REASON, confirm=subject, namespace=ns, mentions=text_mentions
            )
        )
        return self._counts(gone, before)

    @as_value_error
    def forget_older_than(self, cutoff_ms: int, ns: str | None = None, grain_type: str | None = None) -> str:
        """Erase what was made before ``cutoff_ms`` (epoch ms; CMP-4): JSON counts. ``ns=""``: every namespace."""
        everywhere = [name for name in self.memory.stats()["namespaces"] if not is_reserved(name)]
        cutoff, before = moment(cutoff_ms), self._terms()
        gone = 0
        for name in everywhere if ns == "" else [ns or self.memory.namespace]:
            gone += erased_count(
                partial(
                    self.memory.forget_older_than, cutoff, because=NO_REASON, namespace=name, type=grain_type
                )
            )
        return self._counts(gone, before)

    def _terms(self) -> int:
        return int(self.memory.stats()["terms"])

    def _counts(self, gone: int, terms_before: int) -> str:
        """``terms_removed``: texts of the dictionary; the words of the text index go uncounted."""
        terms = max(0, terms_before - self._terms())
        return as_text(
            {"blobs_reclaimed": 0, "grains_erased": gone, "terms_removed": terms, "vocab_removed": 0}
        )

    @as_value_error
    def subject_report(self, subject: str, ns: str | None = None, text_mentions: bool = False) -> str:
        """What `forget_subject` would erase: JSON {"grains": [{fields, hash, type}], "identity_names"}."""
        report = self.memory.subject_report(subject, namespace=ns, mentions=text_mentions)
        return as_text(
            {"grains": [grain_row(grain) for grain in report.grains], "identity_names": list(report.names)}
        )

    @as_value_error
    def subject_bundle(
        self, path: str, subject: str, ns: str | None = None, text_mentions: bool = False
    ) -> str:
        """What `subject_report` lists as a bundle: JSON {"bytes", "last_op_seq", "ops"}."""
        written = self.memory.subject_bundle(path, subject, namespace=ns, mentions=text_mentions)
        return as_text({"bytes": written.bytes, "last_op_seq": written.last_seq, "ops": written.rows})

    # --- documents -------------------------------------------------------------------------------

    @as_value_error
    def memory_tool(self, command_json: str, ns: str | None = None) -> str:
        """Carry out one command of an editing agent on documents; the text it is answered with.

        ``command``: view, create, str_replace, insert, rename or delete.
        """
        told = parsed_object(command_json, "command")
        memory = self.memory if ns is None else self._beside(namespace=ns)
        return Editor(memory).run(told)

    def _beside(
        self,
        *,
        namespace: str | None = None,
        scopes: Iterable[str] | None = None,
        policy: Policy | None = None,
    ) -> Memory:
        """The same open file under another namespace or with fewer rights; never closed by itself."""
        memory = self.memory
        who = memory.who if scopes is None else caller(memory.who.actor, scopes)
        return Memory(
            memory.store,
            namespace=namespace or memory.namespace,
            who=who,
            clock=memory.clock,
            policy=policy or memory.policy,
        )

    # --- the loop --------------------------------------------------------------------------------

    @as_value_error
    def loop_run(
        self,
        min_new: int | None = None,
        min_new_errors: int | None = None,
        if_stale: str | int | None = None,
        model: str | None = None,
        llm_cmd: str | None = None,
        ground_model: str | None = None,
        ground_cmd: str | None = None,
        analyzer_cmd: str | None = None,
        full_sweep: bool = False,
        policy: str | None = None,
    ) -> str:
        """One run of the Deja Loop; its outcome as JSON. Without a gate it always runs; with ``full_sweep`` every analyzer
        looks at everything again. ``policy``: the host's for this run, as JSON or the path of a document.
        ``analyzer_cmd``: a command that also looks (docs/analyzer-protocol.md). Models are not offered."""
        refuse(
            model=model,
            llm_cmd=llm_cmd,
            ground_model=ground_model,
            ground_cmd=ground_cmd,
        )
        loop = self.memory.loop if policy is None else self._beside(policy=_policy(policy)).loop
        outcome = loop.run(
            min_new=min_new,
            min_new_errors=min_new_errors,
            if_stale_ms=None if if_stale is None else milliseconds(if_stale),
            full=full_sweep,
            commands=() if analyzer_cmd is None else (analyzer_cmd,),
        )
        return as_text(run_outcome(outcome))

    @as_value_error
    def recommendations(self, filter: str | None = None) -> str:
        """The queue: a JSON list of {analyzer, destructive, hash, severity, status, summary, target_ref}.

        ``filter``: JSON ``{"status": …}`` or the bare word; pending by default, ``all`` for every status.
        """
        status = status_of(filter)
        rows = self.memory.loop.queue(None if status == "all" else status)
        return as_text([queue_row(row) for row in rows])

    @as_value_error
    def approve_recommendation(self, hash: str, because: str, scopes: str | None = None) -> str:
        """Pending → approved, without applying it: JSON {"hash", "status"}."""
        return self._told(self._loop(scopes).approve(hash, because=because))

    @as_value_error
    def apply_recommendation(
        self, hash: str, because: str, allow_destructive: bool = False, scopes: str | None = None
    ) -> str:
        """Approve and apply in one act, or apply what was approved before: JSON {"hash", "rollbackable"}.

        A destructive one needs an approval of its own first, then this with ``allow_destructive`` (D19).
        """
        loop = self._loop(scopes)
        detail = loop.show(hash)
        if detail.status == "approved":
            loop.apply(hash, because=because, allow_destructive=allow_destructive)
        else:
            loop.approve_and_apply(hash, because=because)
        body = detail.recommendation
        undo = body.rollbackable if detail.plan is None else detail.plan.undo
        return as_text({"hash": body.address, "rollbackable": undo})

    @as_value_error
    def dismiss_recommendation(self, hash: str, why: str, scopes: str | None = None) -> str:
        """Pending → rejected: JSON {"hash", "status"}."""
        return self._told(self._loop(scopes).reject(hash, because=why))

    @as_value_error
    def rollback_recommendation(self, hash: str, because: str) -> str:
        """Applied → rolled back: JSON {"hash", "status"}; recall answers as before the apply."""
        return self._told(self.memory.loop.rollback(hash, because=because))

    def _loop(self, scopes: str | None) -> Any:
        if scopes is None:
            return self.memory.loop
        named = [name.strip() for name in scopes.split(",") if name.strip()]
        return self._beside(scopes=named).loop

    def _told(self, receipt: Any) -> str:
        return as_text({"hash": receipt.recommendation, "status": receipt.to_status})

    @as_value_error
    def loop_health(self) -> str:
        """JSON {last_run_ms, grains_since_run, error_events_since_run, pending, applied, total, stale}."""
        self.memory.who.need("read")
        here, last = self.memory.store.position(), self.memory.store.setting(pipeline.LAST_RUN) or {}
        statuses = [row.status for row in self.memory.loop.queue(None)]
        new, at = here.grains - int(last.get("grains", 0)), last.get("at")
        stale = at is None or self.memory.clock() - at >= _STALE_MS or new >= _STALE_GRAINS
        told = {
            "grains_since_run": new,
            "error_events_since_run": here.errors - int(last.get("errors", 0)),
            "pending": statuses.count("pending"),
            "applied": statuses.count("applied"),
            "total": len(statuses),
            "stale": stale,
        }
        return as_text(told if at is None else {**told, "last_run_ms": at})

    @as_value_error
    def loop_analyzers(self) -> str:
        """The analyzers: a JSON list of {id, title, description, tier, trust_class, default_on, enabled, severity_floor?}."""
        told = []
        for state in self.memory.loop.analyzers():
            one, settled = state.manifest, state.settled
            row = {
                "id": one.id,
                "title": one.title,
                "description": one.description,
                "tier": one.tier,
                "trust_class": one.origin,
                "default_on": one.default_on,
                "enabled": one.default_on if settled is None else settled.enabled,
            }
            floor = (
                None if settled is None or settled.severity_floor_by == "default" else settled.severity_floor
            )
            told.append(row if floor is None else {**row, "severity_floor": floor})
        return as_text(told)

    @as_value_error
    def set_analyzer_config(
        self, analyzer_id: str, enabled: bool | None = None, params_json: str | None = None
    ) -> None:
        """Switch an analyzer on or off, and replace its parameters by the object in ``params_json`` (CMP-4)."""
        params = None if params_json is None else parsed_object(params_json, "params_json")
        self.memory.loop.configure(analyzer_id, enabled=enabled, params=params, because=NO_REASON)

    @as_value_error
    def loop_outcomes(self) -> str:
        """What was measured of applied recommendations: a JSON list of {rec_hash, metric, baseline, current, verdict,
        horizon_ms, measured_at_ms}, the newest first.

        ``baseline`` is the count of the equally long span before the apply, null where nothing was recorded so far back;
        ``verdict`` is lower, equal, higher or no baseline (D23).
        """
        return as_text(
            [
                {
                    "rec_hash": one.recommendation,
                    "metric": one.metric,
                    "baseline": one.before,
                    "current": one.after,
                    "verdict": one.verdict,
                    "horizon_ms": one.horizon_ms,
                    "measured_at_ms": one.measured_at,
                }
                for one in (told.outcome for told in self.memory.loop.outcomes())
            ]
        )

    # --- not offered -----------------------------------------------------------------------------

    def nearest(self, *_: Any, **__: Any) -> NoReturn:
        """Not offered: there are no embeddings. Raises VAL-E006."""
        raise not_offered("embeddings", "search finds text")

    def set_embedder(self, *_: Any, **__: Any) -> NoReturn:
        """Not offered: there are no embeddings. Raises VAL-E006."""
        raise not_offered("embeddings", "search finds text")

    def set_embedder_command(self, *_: Any, **__: Any) -> NoReturn:
        """Not offered: there are no embeddings. Raises VAL-E006."""
        raise not_offered("embeddings", "search finds text")

    def migrate(self, *_: Any, **__: Any) -> NoReturn:
        """Not offered here. Raises VAL-E006."""
        raise not_offered("imports through this interface", "deja import KIND PATH")

    def record_run_manifest(self, *_: Any, **__: Any) -> NoReturn:
        """Not offered: it would write into a namespace of the engine's own (D7). Raises VAL-E006."""
        raise not_offered("writing into the namespaces agent:*", "store it as a state of your own")

    def step_actions(self, *_: Any, **__: Any) -> NoReturn:
        """Not offered. Raises VAL-E006."""
        raise not_offered("execution records of workflows")


def _policy(given: str) -> Policy:
    """A host's policy as programs of the reference product give it: its JSON, or the path of it."""
    if given.lstrip().startswith("{"):
        return parse_policy(given)
    found = host_policy(given)
    if found is None:
        raise not_offered("an empty policy", "give its JSON, or the path of it")
    return found
