# SPDX-License-Identifier: Apache-2.0
"""One method a grain type: `Memory` inherits them. Each builds the fields and calls `Memory.add`.

What holds for all of them:

* They return the address, 64 lower-case hex digits. Equal bytes are one grain: the second add changes nothing.
* An argument of None is a field that is not given. Further keyword arguments are fields too: those every type has, and
  any other name, which is kept as it is.
* Fields of every type: ``namespace``, ``created_at`` (now when it is not given), ``confidence`` 0 to 1 (1.0),
  ``importance`` 0 to 1, ``user_id``, ``tags`` (texts; also ``structural_tags``), ``source_type``, ``valid_from``,
  ``valid_to``, ``temporal_type``, ``derived_from`` (an address or a list), ``context`` (a map), ``related_to`` (a list of
  {hash, relation_type, weight?}), ``content_refs``, ``embedding_refs`` (lists of maps), ``provenance_chain`` (a list),
  ``embedding_text``, ``verification_status`` (unverified, verified, contested, retracted), ``author_did``,
  ``origin_did``, ``origin_namespace``, ``consolidation_level`` 0 to 3, ``invalidation_policy``.
* A time is ISO-8601 text or an epoch number, milliseconds from 1e11 on and seconds below; it is kept as epoch ms, UTC.
* Text is kept in NFC; a lone surrogate or a NUL becomes U+FFFD.
* They raise VAL-E001 naming the field and its limit, VAL-E002 (a time), VAL-E004 (reserved namespace), MEM-E003 (the
  grain was forgotten here), LOP-E022 (needs the right write) and STO-E004, -E005, -E007.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from deja_tui.text import compact_json

Time = int | float | str
Maps = Sequence[Mapping[str, Any]]
Texts = Sequence[str]


class Recorded(str):
    """The address of a recorded call, as text. ``redacted``: what was taken out of it before, kind → how often."""

    __slots__ = ("redacted",)
    redacted: Mapping[str, int]

    def __new__(cls, address: str, redacted: Mapping[str, int]) -> Recorded:
        made = super().__new__(cls, address)
        made.redacted = redacted
        return made


class Constructors(ABC):
    """Typed ways to `add`."""

    @abstractmethod
    def add(self, type: str, fields: Mapping[str, Any], *, namespace: str | None = None) -> str: ...

    def _add(self, type: str, given: Mapping[str, Any], more: Mapping[str, Any]) -> str:
        fields = {**{name: value for name, value in given.items() if value is not None}, **more}
        namespace = fields.pop("namespace", None)
        return self.add(type, fields, namespace=namespace)

    def add_fact(
        self, subject: str, relation: str, object: str, confidence: float = 0.9, **fields: Any
    ) -> str:
        """Store a fact: a subject, a relation and a value. Example: ``valid_to="2027-01-01"`` among ``fields``."""
        given = {"subject": subject, "relation": relation, "object": object, "confidence": confidence}
        return self._add("fact", given, fields)

    def add_event(
        self,
        content: str,
        *,
        role: str | None = None,
        subject: str | None = None,
        object: str | None = None,
        session_id: str | None = None,
        parent_message_id: str | None = None,
        content_blocks: Maps | None = None,
        model_id: str | None = None,
        stop_reason: str | None = None,
        token_usage: Mapping[str, int] | None = None,
        run_id: str | None = None,
        **fields: Any,
    ) -> str:
        """Store an event: one turn of a conversation, or something that happened.

        Args:
            content: its text.
            role: user, assistant, system or tool.
            content_blocks: maps of one of ``{type: "text", text}``, ``{type: "tool_use", id, name, input}``,
                ``{type: "tool_result", tool_use_id, content, is_error?}``.
            token_usage: ``input_tokens``, ``output_tokens``, and perhaps ``cache_read_tokens``,
                ``cache_creation_tokens``; whole numbers from 0.
        """
        given = {
            "content": content,
            "role": role,
            "subject": subject,
            "object": object,
            "session_id": session_id,
            "parent_message_id": parent_message_id,
            "content_blocks": content_blocks,
            "model_id": model_id,
            "stop_reason": stop_reason,
            "token_usage": token_usage,
            "run_id": run_id,
        }
        return self._add("event", given, fields)

    def add_state(
        self,
        context: Any,
        *,
        plan: Texts | None = None,
        history: Sequence[Any] | None = None,
        common_context: Any = None,
        **fields: Any,
    ) -> str:
        """Store a state: a snapshot of any plain data, kept exactly as it is given.

        Args:
            context: the snapshot, any JSON value.
            plan: steps, as texts. history: what went before, any JSON values.
            common_context: what other types call their context.
        """
        given = {"context": context, "plan": plan, "history": history, "common_context": common_context}
        return self._add("state", given, fields)

    def add_workflow(
        self,
        nodes: Texts,
        *,
        edges: Maps | None = None,
        bindings: Mapping[str, str] | None = None,
        retries: Mapping[str, int] | None = None,
        trigger: str | None = None,
        **fields: Any,
    ) -> str:
        """Store a workflow: named steps and what leads from one to another.

        Args:
            nodes: distinct names.
            edges: maps ``{src, dst, cond?, max_cycles?}``; both ends are nodes.
            bindings: node to the tool or agent that does it. retries: node to a whole number from 0.
        """
        given = {"nodes": nodes, "edges": edges, "bindings": bindings, "retries": retries, "trigger": trigger}
        return self._add("workflow", given, fields)

    def add_tool(
        self,
        tool_name: str,
        *,
        kind: str | None = None,
        input: Any = None,
        tool_content: Any = None,
        is_error: bool | None = None,
        error: str | None = None,
        duration_ms: int | None = None,
        parent_task_id: str | None = None,
        tool_call_id: str | None = None,
        call_batch_id: str | None = None,
        tool_description: str | None = None,
        input_schema: Any = None,
        output_schema: Any = None,
        strict: bool | None = None,
        async_mode: bool | None = None,
        executor_uri: str | None = None,
        locked_params: Any = None,
        examples: Sequence[Any] | None = None,
        annotations: Mapping[str, bool] | None = None,
        spec_hash: str | None = None,
        executor_kind: str | None = None,
        status: str | None = None,
        correlation_id: str | None = None,
        expires_at_sec: int | None = None,
        transient_definition_hash: str | bytes | None = None,
        failure_cause: str | None = None,
        failure_detail: str | None = None,
        actor_execution_environment: str | None = None,
        **fields: Any,
    ) -> str:
        """Store a tool: a call of one, or its definition. For a plain call `record_tool_call` is shorter.

        Args:
            kind: execution (the default) or definition.
            input: any JSON value. tool_content: the result; what is no text is kept as JSON text.
            duration_ms: milliseconds. expires_at_sec: epoch seconds.
            annotations: all of ``destructive``, ``idempotent``, ``read_only``, true or false.
            executor_kind: host or client. status: pending, completed or failed.
            failure_cause: timeout, executor_error, schema_validation_failed, user_aborted or unknown.
            transient_definition_hash: 32 bytes, or their 64 hex digits.
            actor_execution_environment: server_side_host, client_side_attested or client_side_unattested.
            fields: ``session_id`` names the conversation the call belongs to.
        """
        given = {
            "tool_name": tool_name,
            "kind": kind,
            "input": input,
            "tool_content": tool_content,
            "is_error": is_error,
            "error": error,
            "duration_ms": duration_ms,
            "parent_task_id": parent_task_id,
            "tool_call_id": tool_call_id,
            "call_batch_id": call_batch_id,
            "tool_description": tool_description,
            "input_schema": input_schema,
            "output_schema": output_schema,
            "strict": strict,
            "async_mode": async_mode,
            "executor_uri": executor_uri,
            "locked_params": locked_params,
            "examples": examples,
            "annotations": annotations,
            "spec_hash": spec_hash,
            "executor_kind": executor_kind,
            "status": status,
            "correlation_id": correlation_id,
            "expires_at_sec": expires_at_sec,
            "transient_definition_hash": transient_definition_hash,
            "failure_cause": failure_cause,
            "failure_detail": failure_detail,
            "actor_execution_environment": actor_execution_environment,
        }
        return self._add("tool", given, fields)

    def record_tool_call(
        self,
        name: str,
        result: Any,
        is_error: bool = False,
        thread: str | None = None,
        call_id: str | None = None,
        input: Any = None,
        *,
        created_at: Time | None = None,
        redact: bool = True,
    ) -> Recorded:
        """Store one tool call. A ``result`` that is no text is kept as JSON text; every call is its own occurrence.

        Args:
            thread: the conversation it belongs to. call_id: the provider's id; made up when it is not given.
            redact: what looks like a secret is taken out first (`deja_tui.redact`), and counted in what comes back.
        """
        found: Counter[str] = Counter()
        if redact:
            from deja_tui.redact import ident, redact_into

            name, result, input = redact_into([name, result, input], found)
            thread, call_id = (
                ident(one, found) if isinstance(one, str) else one for one in (thread, call_id)
            )
        given = {
            "tool_name": name,
            "tool_content": result if isinstance(result, str) else compact_json(result),
            "is_error": is_error,
            "tool_call_id": call_id or f"auto:{secrets.token_hex(12)}",
            "session_id": thread,
            "input": input,
            "created_at": created_at,
        }
        return Recorded(self._add("tool", given, {}), found)

    def add_observation(
        self,
        object: str,
        *,
        observer_id: str = "unknown",
        observer_type: str = "agent",
        subject: str | None = None,
        observer_model: str | None = None,
        observation_mode: str | None = None,
        observation_scope: str | None = None,
        **fields: Any,
    ) -> str:
        """Store an observation: what somebody or something noticed.

        Args:
            object: the text. subject: what it is about.
            observer_id: who noticed. observer_type: human, agent, llm, sensor kinds, or any other word.
        """
        given = {
            "object": object,
            "observer_id": observer_id,
            "observer_type": observer_type,
            "subject": subject,
            "observer_model": observer_model,
            "observation_mode": observation_mode,
            "observation_scope": observation_scope,
        }
        return self._add("observation", given, fields)

    def add_goal(
        self,
        description: str,
        *,
        goal_state: str = "active",
        subject: str | None = None,
        object: str | None = None,
        priority: str | None = None,
        criteria: str | None = None,
        criteria_structured: Any = None,
        parent_goals: Texts | None = None,
        state_reason: str | None = None,
        satisfaction_evidence: Any = None,
        progress: float | None = None,
        delegate_to: str | None = None,
        delegate_from: str | None = None,
        expiry_policy: Any = None,
        recurrence: Any = None,
        evidence_required: bool | None = None,
        rollback_on_failure: bool | None = None,
        allowed_transitions: Texts | None = None,
        **fields: Any,
    ) -> str:
        """Store a goal.

        Args:
            goal_state: active, satisfied, failed or suspended.
            priority: critical, high, medium or low. progress: 0 to 1.
            parent_goals: addresses. criteria_structured, satisfaction_evidence, expiry_policy, recurrence: JSON values.
        """
        given = {
            "description": description,
            "goal_state": goal_state,
            "subject": subject,
            "object": object,
            "priority": priority,
            "criteria": criteria,
            "criteria_structured": criteria_structured,
            "parent_goals": parent_goals,
            "state_reason": state_reason,
            "satisfaction_evidence": satisfaction_evidence,
            "progress": progress,
            "delegate_to": delegate_to,
            "delegate_from": delegate_from,
            "expiry_policy": expiry_policy,
            "recurrence": recurrence,
            "evidence_required": evidence_required,
            "rollback_on_failure": rollback_on_failure,
            "allowed_transitions": allowed_transitions,
        }
        return self._add("goal", given, fields)

    def add_reasoning(
        self,
        conclusion: str | None = None,
        *,
        premises: Texts | None = None,
        inference_method: str | None = None,
        alternatives_considered: Sequence[Any] | None = None,
        thinking_content: str | None = None,
        thinking_redacted: bool | None = None,
        **fields: Any,
    ) -> str:
        """Store a piece of reasoning: premises, how they were weighed, what follows.

        Args:
            inference_method: deductive, inductive, abductive, analogical, or another word.
            alternatives_considered: texts, or any JSON values.
        """
        given = {
            "conclusion": conclusion,
            "premises": premises,
            "inference_method": inference_method,
            "alternatives_considered": alternatives_considered,
            "thinking_content": thinking_content,
            "thinking_redacted": thinking_redacted,
        }
        return self._add("reasoning", given, fields)

    def add_consensus(
        self,
        agreed_content: str | None = None,
        *,
        participating_observers: Texts | None = None,
        threshold: float | None = None,
        agreement_count: int | None = None,
        dissent_count: int | None = None,
        dissent_grains: Texts | None = None,
        **fields: Any,
    ) -> str:
        """Store what several observers agreed on.

        Args:
            threshold: a number. agreement_count, dissent_count: whole numbers from 0. dissent_grains: addresses.
        """
        given = {
            "agreed_content": agreed_content,
            "participating_observers": participating_observers,
            "threshold": threshold,
            "agreement_count": agreement_count,
            "dissent_count": dissent_count,
            "dissent_grains": dissent_grains,
        }
        return self._add("consensus", given, fields)

    def add_consent(
        self,
        subject_did: str,
        *,
        grantee_did: str | None = None,
        scope: str | Texts | None = None,
        is_withdrawal: bool | None = None,
        basis: str | None = None,
        jurisdiction: str | None = None,
        prior_consent: str | None = None,
        witness_dids: Texts | None = None,
        **fields: Any,
    ) -> str:
        """Store a consent, or with ``is_withdrawal`` the withdrawal of ``prior_consent`` (an address).

        Args:
            scope: store, retrieve, share, process, infer, train, profile, another word, or a list of them.
            basis: explicit_consent, legitimate_interest, contract, legal_obligation, or another word.
        """
        given = {
            "subject_did": subject_did,
            "grantee_did": grantee_did,
            "scope": scope,
            "is_withdrawal": is_withdrawal,
            "basis": basis,
            "jurisdiction": jurisdiction,
            "prior_consent": prior_consent,
            "witness_dids": witness_dids,
        }
        return self._add("consent", given, fields)

    def add_skill(
        self,
        name: str,
        description: str,
        *,
        instructions: str | None = None,
        when_to_use: str | None = None,
        version: str | None = None,
        allowed_tools: Texts | None = None,
        resources: Texts | None = None,
        dependencies: Texts | None = None,
        input_modalities: Texts | None = None,
        output_modalities: Texts | None = None,
        domain: str | None = None,
        holder_did: str | None = None,
        proficiency: float | None = None,
        practice_count: int | None = None,
        last_practiced_at: Time | None = None,
        strategies: Maps | None = None,
        transferable: bool | None = None,
        **fields: Any,
    ) -> str:
        """Store a skill: how something is done, and how well somebody does it.

        Args:
            proficiency: 0 to 1; it is the confidence too, unless one is given. It is written only for a skill that is
                held: with a ``holder_did`` or a ``practice_count``.
            practice_count: a whole number from 0. last_practiced_at: a time.
            strategies: maps ``{condition, workflow, description?}``.
        """
        given = {
            "name": name,
            "description": description,
            "instructions": instructions,
            "when_to_use": when_to_use,
            "version": version,
            "allowed_tools": allowed_tools,
            "resources": resources,
            "dependencies": dependencies,
            "input_modalities": input_modalities,
            "output_modalities": output_modalities,
            "domain": domain,
            "holder_did": holder_did,
            "proficiency": proficiency,
            "practice_count": practice_count,
            "last_practiced_at": last_practiced_at,
            "strategies": strategies,
            "transferable": transferable,
        }
        return self._add("skill", given, fields)
