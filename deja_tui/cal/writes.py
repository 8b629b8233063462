# SPDX-License-Identifier: Apache-2.0
"""Statements that change what a memory holds: ADD, SUPERSEDE, MERGE, REMEMBER, FORGET.

* WRITE-1  Only fields of the data model of a type may be set, and a few every type has (session, run, user, validity,
  namespace, tags). Index and lifecycle fields are refused (CAL-E017): a plain write cannot forge a review.
* WRITE-2  SUPERSEDE changes content, never what a version is about: subject, relation, name and namespace stay.
* WRITE-3  Every write carries a reason of 1 to 500 characters (D16), which is stored with the grain.
* WRITE-4  The store's own guard refuses reserved namespaces and recommendations beneath this (VAL-E004, D7). Erasing
  and drafts go through the host, which leaves the audit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from deja_tui.cal import ast, chains
from deja_tui.cal.conditions import Env
from deja_tui.cal.faults import CalError, warning
from deja_tui.cal.host import Host
from deja_tui.cal.results import Answer
from deja_tui.errors import DejaError, ValidationError
from deja_tui.store import codec, grains
from deja_tui.store.grains import StoredGrain
from deja_tui.store.names import TYPED
from deja_tui.text import REASON_MAX
from deja_tui.text import reason as as_reason

_ALWAYS: Final = frozenset(
    [
        "confidence",
        "importance",
        "tags",
        "structural_tags",
        "user_id",
        "session_id",
        "run_id",
        "valid_from",
        "valid_to",
        "namespace",
        "source_type",
    ]
)
_NEVER: Final = frozenset(
    [
        "type",
        "grain_type",
        "hash",
        "created_at",
        "superseded_by",
        "verification_status",
        "system_valid_from",
        "system_valid_to",
        "status",
        "rec_status",
        "derived_from",
        "consolidation_level",
        "origin_did",
        "origin_namespace",
        "author_did",
        "embedding_text",
        "invalidation_policy",
        "content_refs",
        "embedding_refs",
        "provenance_chain",
        "related_to",
        "context",
        "common_context",
        "temporal_type",
        "add_reason",
        "supersede_reason",
    ]
)
_ALIASES: Final[Mapping[str, frozenset[str]]] = {
    "tool": frozenset(("content",)),
    "observation": frozenset(("content",)),
    "goal": frozenset(("title", "deadline", "depends_on", "assigned_agent")),
    "workflow": frozenset(("name",)),
    "reasoning": frozenset(("content",)),
}
_IDENTITY: Final = frozenset(
    [
        "subject",
        "relation",
        "namespace",
        "user_id",
        "session_id",
        "run_id",
        "tool_name",
        "tool_call_id",
        "name",
        "observer_id",
        "observer_type",
        "subject_did",
        "grantee_did",
        "role",
        "parent_message_id",
    ]
)
_DRAFT_FIELDS: Final = frozenset(
    ["target_ref", "target", "note", "severity", "evidence", "operations", "proposal_data", "proposal_edit"]
)
_SAME_MOMENT: Final = 1_000


class Writes:
    """Runs writing statements; each inside the act of its caller."""

    def __init__(self, host: Host, env: Env) -> None:
        self._host = host
        self._env = env

    # --- ADD ---

    def add(self, node: ast.Add) -> Answer:
        """File a new grain. Raises CAL-E017, E018, E020, VAL-E001, VAL-E002, VAL-E004, MEM-E003."""
        for option in node.options:
            code = "CAL-W013" if option.name == "auto_relate" else "CAL-W004"
            self._env.warnings.append(warning(code, "" if code == "CAL-W013" else option.name[:32]))
        if node.type == "recommendation":
            return self._draft(node)
        given = self._given(node.settings)
        for setting in node.settings:
            self._check_writable(setting.field, node.type, setting.value)
        reason = self._reason(node.reason, node)
        namespace = given.pop("namespace", self._host.namespace)
        address = self._file(node.type, {**given, "add_reason": reason}, namespace, node)
        return Answer("added", {"hash": address, "grain_type": node.type})

    def _file(
        self, type_: str, fields: Mapping[str, Any], namespace: str, node: ast.Add | ast.Remember
    ) -> str:
        """Add a grain of its own: the same words said again in one millisecond are another grain."""
        at = self._env.now
        with self._host.store.act() as act:
            for later in range(_SAME_MOMENT):
                added = act.add(_grain(type_, fields, namespace, at + later))
                if added.new:
                    return added.address
        raise self._env.fail("CAL-E030", "this grain was added too often in one moment", node.span)

    def remember(self, node: ast.Remember) -> Answer:
        """File an event with a text."""
        fields: dict[str, Any] = {"content": self._env.text_of(node.content)}
        names = {"session": "session_id", "role": "role", "run": "run_id"}
        for option in node.options:
            if option.name in names and option.arguments:
                fields[names[option.name]] = option.arguments[0]
            else:
                self._env.warnings.append(warning("CAL-W004", option.name[:32]))
        return Answer("remembered", {"hash": self._file("event", fields, self._host.namespace, node)})

    def _given(self, settings: tuple[ast.Setting, ...]) -> dict[str, Any]:
        """The values by field; the last one counts."""
        given: dict[str, Any] = {}
        for setting in settings:
            if setting.field.name in given:
                self._env.warnings.append(warning("CAL-W005", setting.field.name[:32]))
            value = self._env.value(setting.value)
            given[setting.field.name] = list(value) if isinstance(value, tuple) else value
        return given

    def _check_writable(self, field: ast.Field, type_: str, value: ast.Value) -> None:
        """Refuse a field that ADD may not set (WRITE-1), and a number or boolean where a text belongs."""
        name = field.name
        own = TYPED[type_] | _ALIASES.get(type_, frozenset())
        if name in _NEVER or (name not in own and name not in _ALWAYS):
            raise self._unwritable(field, f"a {type_} written by a statement has no {name[:32]}")
        told = self._env.value(value)
        if name in _TEXTS and not isinstance(told, str):
            raise self._env.fail("CAL-E020", f"{name} is text", value.span)

    def _unwritable(self, field: ast.Field, message: str) -> CalError:
        return self._env.fail(
            "CAL-E017",
            message,
            field.span,
            "DESCRIBE FIELDS lists fields; the loop and the index write their own.",
        )

    def _reason(self, node: ast.Value | None, at: ast.Statement) -> str:
        """The reason as stored. Raises CAL-E016 too long, CAL-E018 missing or blank."""
        return reason_of(node, self._env, at)

    def _draft(self, node: ast.Add) -> Answer:
        """File a draft recommendation through the host (D21)."""
        given = self._given(node.settings)
        for setting in node.settings:
            name = setting.field.name
            if name in _NEVER or name in ("analyzer", "dedup_key", "origin", "creator", "identity"):
                raise self._unwritable(
                    setting.field, f"{name[:32]} of a recommendation is the engine's to write"
                )
        reason = self._reason(node.reason, node)
        target = given.get("target_ref", given.get("target"))
        evidence = given.get("evidence", [])
        evidence = [evidence] if isinstance(evidence, str) else evidence
        proposals = [given.get(name) for name in ("operations", "proposal_edit", "proposal_data")]
        if not isinstance(target, str) or not evidence or all(proposal is None for proposal in proposals):
            raise ValidationError(
                "VAL-E001",
                "a draft needs target_ref, evidence, and what it proposes",
                "SET target_ref = …, SET evidence = [addresses], SET operations = [JSON texts].",
            )
        for setting in node.settings:
            if setting.field.name not in _DRAFT_FIELDS:
                raise self._unwritable(setting.field, f"a draft has no {setting.field.name[:32]}")
        if self._host.propose is None:
            raise not_offered("ADD recommendation", self._env, node)
        address = self._host.propose(
            target=target,
            note=str(given.get("note", reason)),
            evidence=[str(item).removeprefix("sha256:") for item in evidence],
            severity=str(given.get("severity", "low")),
            operations=None if proposals[0] is None else [_json(item) for item in _listed(proposals[0])],
            edit=None if proposals[1] is None else _json(proposals[1]),
            data=None if proposals[2] is None else _json(proposals[2]),
        )
        return Answer("added", {"hash": address, "grain_type": "recommendation"})

    # --- SUPERSEDE ---

    def supersede(self, node: ast.Supersede) -> Answer:
        """Write a new version of a live grain. Raises CAL-E017, E018, MEM-E001, MEM-E002, VAL-E001, VAL-E004."""
        address = self._env.address(node.target)
        given = self._given(node.settings)
        with self._host.store.act() as act:
            old = self._there(address)
            for setting in node.settings:
                if setting.field.name in _IDENTITY:
                    raise self._unwritable(
                        setting.field,
                        f"{setting.field.name} says what the {old.type} is about; a new version keeps it",
                    )
                self._check_writable(setting.field, old.type, setting.value)
            reason = self._reason(node.reason, node)
            fields = {**_carried(old), **given, "supersede_reason": reason}
            settled = [name for name in fields if name not in given]
            new = _grain(old.type, fields, old.namespace, self._env.now, settled)
            added = act.supersede(old.address, new)
        return Answer("superseded", {"old_hash": old.address, "new_hash": added.address})

    def retire(self, node: ast.Retire) -> Answer:
        """A live grain gives way to another of its key (D9), through the host, which keeps the reason.

        Raises CAL-E016, E018, E130, MEM-E001, MEM-E002, VAL-E001, VAL-E004.
        """
        old, by = self._there(self._env.address(node.target)), self._there(self._env.address(node.by))
        reason = self._reason(node.reason, node)
        if old.address == by.address or chains.key_of(old) != chains.key_of(by):
            raise ValidationError(
                "VAL-E001", "a grain gives way to another of the same type, namespace, subject and relation"
            )
        if self._host.retire is None:
            raise not_offered("SUPERSEDE … BY", self._env, node)
        self._host.retire(old.address, by=by.address, reason=reason)
        return Answer("retired", {"old_hash": old.address, "by_hash": by.address})

    def merge(self, node: ast.Merge) -> Answer:
        """One new head in place of all tips of a fork. Raises CAL-E018, VAL-E001 no fork."""
        subject, relation = self._env.text_of(node.subject), self._env.text_of(node.relation)
        chosen = self._env.text_of(node.object)
        reason = self._reason(node.reason, node)
        with self._host.store.act() as act:
            tips = self._tips(subject, relation)
            fields = {**_carried(tips[0]), "object": chosen, "merge_reason": reason}
            if node.confidence is not None:
                fields["confidence"] = self._env.value(node.confidence)
            addresses = [tip.address for tip in tips]
            fields["context"] = {**_map(fields.get("context")), "merge_parents": addresses}
            fields["derived_from"] = addresses[0]
            settled = [name for name in fields if name != "confidence"]
            added = act.merge(addresses, _grain("fact", fields, tips[0].namespace, self._env.now, settled))
        told = {"subject": subject, "relation": relation, "object": chosen, "hash": added.address}
        return Answer("merged", {**told, "heads": addresses})

    def _tips(self, subject: str, relation: str) -> tuple[StoredGrain, ...]:
        """The live tips of the open fork on a key, provisional head first."""
        for fork in self._host.store.forks([self._host.namespace]):
            if (fork.subject, fork.relation) == (subject, relation) and fork.tips[0].type == "fact":
                return fork.tips
        raise ValidationError(
            "VAL-E001", "there is no fork on that subject and relation", "SHOW FORKS lists the open ones."
        )

    # --- lines of a script ---

    def document(self, node: ast.Document) -> Answer:
        """File a document through the host. Raises CAL-E130 and what documents raise."""
        if self._host.document is None:
            raise not_offered("DOCUMENT", self._env, node)
        return Answer(
            "document_created", {"name": node.path, "hash": self._host.document(node.path, node.text).address}
        )

    def analyzer_row(self, node: ast.AnalyzerRow) -> Answer:
        """Write a row of analyzer settings through the host. Raises CAL-E018, CAL-E130 and what the loop raises."""
        if self._host.analyzer is None:
            raise not_offered("ANALYZER", self._env, node)
        because = self._reason(node.reason, node)
        self._host.analyzer(node.name, self._given(node.settings), because=because)
        return Answer("analyzer_set", {"name": node.name})

    # --- FORGET ---

    def forget(self, node: ast.Forget) -> Answer:
        """Erase one grain, through the host. Raises CAL-E018, CAL-E130, MEM-E001, VAL-E004."""
        grain = self._there(self._env.address(node.target))  # a wrong address is told before a missing reason
        self._erase(grain, self._reason(node.reason, node), node)
        return Answer("forgotten", {"target": f"hash:{grain.address}", "count": 1})

    def forget_subject(self, node: ast.ForgetSubject) -> Answer:
        """Erase everything of an identity in the namespace, as one act of the host, which says what that is."""
        subject = self._env.text_of(node.subject)
        reason = self._reason(node.reason, node)
        if self._host.forget_subject is None:
            raise not_offered("FORGET SUBJECT", self._env, node)
        try:
            erased = self._host.forget_subject(subject, because=reason, confirm=subject)
        except DejaError as error:
            if error.code != "MEM-E001":
                raise
            return Answer("forgotten", {"target": f"subject:{subject}", "count": 0})
        return Answer("forgotten", {"target": f"subject:{subject}", "count": len(erased.addresses)})

    def report(self, node: ast.ReportSubject) -> Answer:
        """What FORGET SUBJECT would remove. Changes nothing."""
        if self._host.subject_report is None:
            raise not_offered("REPORT SUBJECT", self._env, node)
        subject = self._env.text_of(node.subject)
        told = self._host.subject_report(subject)
        found = [grain.address for grain in reversed(told.grains)]
        values = {
            "subject": subject,
            "identity_names": list(told.names),
            "count": len(found),
            "hashes": found,
        }
        return Answer("subject_report", values)

    def _erase(self, grain: StoredGrain, reason: str, node: ast.Forget) -> None:
        if self._host.forget is None:
            raise not_offered("FORGET", self._env, node)
        self._host.forget(grain.address, because=reason)

    def _there(self, address: str) -> StoredGrain:
        found = self._host.store.get(address)
        if found is None:
            raise CalError(
                "MEM-E001", f"no grain {address[:12]} here", "Check the address; it may have been forgotten."
            )
        return found


_TEXTS: Final = frozenset(
    [
        "subject",
        "relation",
        "object",
        "content",
        "description",
        "name",
        "tool_name",
        "tool_content",
        "observer_id",
        "observer_type",
        "role",
        "session_id",
        "run_id",
        "user_id",
        "namespace",
        "conclusion",
        "agreed_content",
        "goal_state",
        "priority",
    ]
)


def reason_of(node: ast.Value | None, env: Env, at: ast.Statement) -> str:
    """A reason as it is stored (D16). Raises CAL-E016 too long, CAL-E018 missing or blank."""
    if node is None:
        raise env.fail("CAL-E018", "a reason is needed", at.span, 'Add BECAUSE "…".')
    given = env.text_of(node)
    kept = as_reason(given)
    if kept is not None:
        return kept
    if len(given.strip()) > REASON_MAX:
        raise env.fail("CAL-E016", f"the reason is longer than {REASON_MAX} characters", node.span)
    raise env.fail("CAL-E018", "the reason is blank", node.span, "Say why, in one sentence.")


def not_offered(word: str, env: Env, at: ast.Statement) -> CalError:
    return env.fail("CAL-E130", f"{word} is not offered here", at.span)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _json(value: Any) -> Mapping[str, Any]:
    """A proposal is written as JSON text, because the language has no maps. Raises VAL-E001."""
    try:
        told = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise ValidationError(
            "VAL-E001", "what a draft proposes is JSON text of a map", 'For example "{\\"op\\": …}".'
        )
    return told


def _carried(old: StoredGrain) -> dict[str, Any]:
    """What a new version keeps of the old one: everything but its links, its reasons and where it was captured."""
    kept = {
        name: value
        for name, value in old.fields.items()
        if name not in ("derived_from", "supersede_reason", "add_reason")
    }
    context = kept.get("context")
    if isinstance(context, Mapping) and "source_key" in context:
        left = {name: value for name, value in context.items() if name != "source_key"}
        kept["context"] = left
        if not left and old.type != "state":
            del kept["context"]
    return kept


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _grain(
    type_: str, fields: Mapping[str, Any], namespace: str, at: int, settled: list[str] | None = None
) -> codec.Grain:
    told = dict(fields)
    if "tags" in told:
        told["structural_tags"] = told.pop("tags")
    typed, extras = grains.validate(type_, told, settled=settled or ())
    return codec.make_grain(type_, typed, namespace=namespace, created_at=at, extras=extras)
