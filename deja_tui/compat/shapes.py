# SPDX-License-Identifier: Apache-2.0
"""The JSON that programs of the reference product give and get (CMP-3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from deja_tui.engine.objects import STATUSES, QueueRow, RunOutcome
from deja_tui.erasure import Erased
from deja_tui.errors import DejaError, ValidationError
from deja_tui.store.grains import StoredGrain
from deja_tui.text import span_ms


def as_text(value: Any) -> str:
    """Compact JSON with sorted keys (CMP-3)."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=list)


def parsed(text: object, kind: type, what: str) -> Any:
    """Parsed JSON of the wanted kind (``object``: any); plain data is taken as it is. Raises VAL-E001."""
    value = text
    if isinstance(text, str):
        try:
            value = json.loads(text)
        except ValueError as fault:
            raise ValidationError("VAL-E001", f"{what} must be JSON") from fault
    if not isinstance(value, kind):
        raise ValidationError("VAL-E001", f"{what} must be a JSON {'object' if kind is dict else 'list'}")
    return value


def parsed_object(text: object, what: str) -> Mapping[str, Any]:
    """A JSON object, or the mapping that was given instead. Raises VAL-E001."""
    found: Mapping[str, Any] = parsed(text, dict, what)
    return found


def erased_count(act: Callable[[], Erased]) -> int:
    """How many grains an erasure took; none where there was nothing to erase."""
    try:
        return len(act().addresses)
    except DejaError as fault:
        if fault.code != "MEM-E001":
            raise
        return 0


def fields_of(grain: StoredGrain) -> dict[str, Any]:
    """The fields of a grain with type, created_at (epoch ms) and namespace; bytes in hex."""
    plain = {name: value.hex() if isinstance(value, bytes) else value for name, value in grain.fields.items()}
    return {**plain, "type": grain.type, "created_at": grain.created_at, "namespace": grain.namespace}


def grain_row(grain: StoredGrain) -> dict[str, Any]:
    """{fields, hash, type}."""
    return {"fields": fields_of(grain), "hash": grain.address, "type": grain.type}


def grain_entry(grain: StoredGrain) -> dict[str, Any]:
    """{fields, grain_type, hash}."""
    return {"fields": fields_of(grain), "grain_type": grain.type, "hash": grain.address}


def grain_rows(grains: Iterable[StoredGrain]) -> str:
    """A JSON list of {fields, hash, type}."""
    return as_text([grain_row(grain) for grain in grains])


def queue_row(row: QueueRow) -> dict[str, Any]:
    """A recommendation as a row of the queue."""
    return {
        "analyzer": row.analyzer,
        "destructive": row.destructive,
        "hash": row.address,
        "severity": row.severity,
        "status": row.status,
        "summary": row.summary,
        "target_ref": row.target_ref,
    }


def run_outcome(outcome: RunOutcome) -> dict[str, Any]:
    """What a run did, in counts."""
    told: dict[str, Any] = {
        name: getattr(outcome, name)
        for name in (
            "outcome", "new_grains", "new_error_events", "proposed", "deduped", "stored", "refreshed", "closed",
            "auto_applied",
        )
    }  # fmt: skip
    if outcome.skip_reason is not None:
        told["skip_reason"] = outcome.skip_reason
    told["analyzers_run"] = list(outcome.analyzers_run)
    told["analyzers_skipped"] = [{"id": one.id, "reason": one.reason} for one in outcome.analyzers_skipped]
    return told


def status_of(filter_: str | None) -> str:
    """The status a filter names, pending for none. Raises VAL-E001."""
    status: Any = "pending"
    if filter_ is not None and filter_.strip():
        try:
            told = json.loads(filter_)
        except ValueError:
            told = {"status": filter_.strip()}
        status = told.get("status", "pending") if isinstance(told, Mapping) else told
    if status != "all" and status not in STATUSES:
        raise ValidationError("VAL-E001", "unknown status", "one of all, " + ", ".join(STATUSES))
    return str(status)


def milliseconds(value: str | int) -> int:
    """Milliseconds of ``6h`` and the like, or of a number of them. Raises LOP-E034."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    span = span_ms(value.strip()) if isinstance(value, str) else None
    if span is not None:
        return span
    raise DejaError("LOP-E034", "a span is digits and one of s m h d", 'for example if_stale="6h"')


def moment(cutoff_ms: int) -> str:
    """Epoch milliseconds as ISO-8601: a small number would be read as seconds. Raises VAL-E002."""
    if isinstance(cutoff_ms, bool) or not isinstance(cutoff_ms, int):
        raise ValidationError("VAL-E002", "cutoff_ms is epoch milliseconds")
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=cutoff_ms)).isoformat()
    except OverflowError as fault:
        raise ValidationError("VAL-E002", "cutoff_ms is epoch milliseconds") from fault
