# SPDX-License-Identifier: Apache-2.0
"""What a grain of each type must hold: the door for what a caller gives. Pure: no I/O, no clock.

Numbered rules, cited by tests:

* GRAIN-1  `validate` loses nothing: every value the caller gave is in the typed fields or the extras, or it is refused
  with VAL-E001 or VAL-E002 naming the field. Only a top-level null is the same as absent.
* GRAIN-2  Text is well-formed NFC after the door, keys and nested text included (TEXT-1).
* GRAIN-3  What passes, `codec.make_grain` and `codec.encode` take, and strict `codec.decode` gives back.
* GRAIN-4  A key that is the wire form of a field of the type (``tags``, ``user``) is that field, because every reader
  of the bytes takes it for that; given beside the long name it is refused, as are ``t``, ``ca`` and ``ns``.
* GRAIN-5  A context map that the format would rename keys of (``priority`` is written ``pri`` and stays so) is an extra.
* GRAIN-6  ``derived_from`` is one text for one parent, and a list on recommendations and loop audits (D8).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from math import isfinite

from deja_tui.errors import ValidationError
from deja_tui.store.codec import MAX_DEPTH, Grain, make_grain
from deja_tui.store.names import INT_LONG, INT_SHORT, LONG, NULLABLE, SHORT, TYPED, TYPES
from deja_tui.text import clean, compact_json, door, lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    _Check = Callable[[str, Any], Any]

# --- the door ---------------------------------------------------------------------------------------


def validate(
    type: str, fields: Mapping[str, Any], *, settled: Collection[str] = (), tame: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a caller gave, as (typed fields, extras) for `codec.make_grain` (GRAIN-1).

    Aliases: ``tags`` is structural_tags; a tool's ``content`` is tool_content, an observation's is its object when
    none is given; a state's ``data`` or ``context_data`` is its context; a goal without description takes its object.
    Defaults: goal_state ``active``, observer_id ``unknown``, observer_type ``agent``, a state's context ``{}``, a
    workflow's nodes ``[]``; a skill's confidence is its proficiency.

    ``created_at`` (then epoch ms) and ``namespace`` stay among the typed fields when given: they are arguments of
    `make_grain`, which ignores them here. ``type`` and ``grain_type`` must name this type and go.

    Args:
        type: a key of `names.TYPES`.
        fields: what the caller gave.
        settled: names whose values come from a stored grain: their times are epoch ms already, however small, and
            must not be read as seconds.
        tame: what is in the fields went through the text door before (`text.door`) and is plain JSON.

    Raises:
        ValidationError: VAL-E001 or VAL-E002, naming the field and its limit.
    """
    if not isinstance(type, str) or type not in TYPES:
        raise ValidationError("VAL-E001", f"unknown grain type; one of {', '.join(TYPES)}")
    given = _entered(type, fields, tame)
    own = TYPED[type] | _BESIDE
    typed: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    for name, value in given.items():
        if name in own:
            check = _FIELD_CHECKS[name]
            typed[name] = _EPOCH_MS(name, value) if check is _time and name in settled else check(name, value)
        else:
            extras[name] = value
    _complete(type, typed)
    _settle_parents(type, typed)
    if type != "state" and _would_be_renamed(typed.get("context")):
        extras["context"] = typed.pop("context")
    return typed, extras


def made(
    type: str,
    fields: Mapping[str, Any],
    *,
    namespace: str,
    created_at: int,
    settled: Collection[str] = (),
    tame: bool = False,
) -> Grain:
    """The grain of what a caller gave, checked by `validate`; ``created_at`` in epoch ms. Raises VAL-E001, VAL-E002."""
    typed, extras = validate(type, fields, settled=settled, tame=tame)
    return make_grain(type, typed, namespace=namespace, created_at=created_at, extras=extras)


def long_name(type: str, name: str) -> str:
    """The field that a caller's ``name`` means for this type: an alias or a wire key becomes its long name."""
    target = dict(_ALIASES.get(type, ())).get(name)
    return target if target is not None and name not in TYPED[type] else _name(type, name)


def _entered(type: str, fields: Mapping[str, Any], tame: bool) -> dict[str, Any]:
    """The fields after the text door, under the long names of the type, nulls that mean nothing left out."""
    given: dict[str, Any] = {}
    own = TYPED[type]  # a long name is no other field's wire key, so one of the type's own means itself
    for raw, value in fields.items():
        name = raw if raw in own else _name(type, raw)
        if value is None and not (name in NULLABLE and name in TYPED[type]):
            continue
        if name in ("type", "grain_type") and (name == "type" or value == type):
            if value != type:
                raise _refuse(name, f"is not {type}, the type asked for")
            continue
        if name in given:
            raise _refuse(name, "is given twice, under two spellings of one name")
        try:
            given[name] = value if tame else _door(name, value)
        except RecursionError as error:
            raise _refuse(name, "nests too deeply") from error
    for alias, target in _ALIASES.get(type, ()):
        if alias in given and target not in given:
            given[target] = given[alias] if alias in TYPED[type] else given.pop(alias)
    return given


def _name(type: str, raw: object) -> str:
    if not isinstance(raw, str):
        raise ValidationError("VAL-E001", "a field name is not text")
    name = door(raw)
    long = LONG.get(name)
    if long in _BESIDE or long == "type":
        raise _refuse(name, f"is how {long} is written in the bytes; give it under that name")
    return long if long in TYPED[type] else name


def _door(field: str, value: Any, depth: int = 2) -> Any:
    """``value`` with well-formed text and plain containers; refused when no grain can hold it."""
    of = type(
        value
    )  # the plain types first: most of what comes in is short text (measured, a capture spends its time here)
    if of is str:
        return value if value.isascii() and "\x00" not in value else door(value)
    if of is dict:
        return _door_map(field, value, depth)
    if isinstance(value, str):
        return door(str.__str__(value))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not _INT_MIN <= value <= _INT_MAX:
            raise _refuse(field, "holds an integer outside -2^63 … 2^64-1")
        return int(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise _refuse(field, "holds a number that is not finite")
        return float(value)
    if isinstance(value, (list, tuple)):
        _check_depth(field, depth)
        return [_door(field, item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return _door_map(field, value, depth)
    if isinstance(value, bytes) and field == "transient_definition_hash":
        return value.hex()
    raise _refuse(field, "holds a value that is no JSON: text, number, boolean, null, list or map")


def _check_depth(field: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _refuse(field, f"nests deeper than {MAX_DEPTH - 1} levels")


def _door_map(field: str, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    _check_depth(field, depth)
    entered: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise _refuse(field, "holds a key that is not text")
        name = key if type(key) is str and key.isascii() and "\x00" not in key else door(str.__str__(key))
        if name in entered:
            raise _refuse(field, "holds two keys that are one after normalising")
        plain = type(item) is str and item.isascii() and "\x00" not in item
        entered[name] = item if plain else _door(field, item, depth + 1)
    return entered


def _complete(type: str, typed: dict[str, Any]) -> None:
    for name, value in _DEFAULTS.get(type, {}).items():
        typed.setdefault(name, value() if callable(value) else value)
    if type == "skill" and "proficiency" in typed:
        typed.setdefault("confidence", typed["proficiency"])
    for name in _REQUIRED.get(type, ()):
        value = typed.get(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            article = "an" if type[0] in "aeiou" else "a"
            what = "missing" if value is None else "blank"
            raise _refuse(name, f"is {what}; {article} {type} needs {_listed(_REQUIRED[type])}")
    if type == "workflow":
        _check_graph(typed)
    if type == "recommendation" and sum(name in typed for name in _PROPOSALS) != 1:
        raise _refuse("proposal", f"must be exactly one of {_listed(_PROPOSALS)}")


def _settle_parents(type: str, typed: dict[str, Any]) -> None:
    parents = typed.get("derived_from")
    if parents is None:
        return
    context = typed.get("context")
    audit = type == "observation" and isinstance(context, dict) and context.get("audit") == "loop"
    if type == "recommendation" or audit:
        typed["derived_from"] = [parents] if isinstance(parents, str) else parents
    elif isinstance(parents, list) and len(parents) == 1:
        typed["derived_from"] = parents[0]
    elif not parents:
        del typed["derived_from"]


def _would_be_renamed(context: object) -> bool:
    """Whether the format shortens an immediate key of a context map and no reader turns it back.

    Such a map is written verbatim, under its long name, so that it reads back as it was given (GRAIN-1).
    """
    return isinstance(context, dict) and not _RENAMED.isdisjoint(context)


_RENAMED: Final = (
    frozenset(key for key in SHORT if SHORT[key] != key and key not in INT_SHORT) | INT_LONG.keys()
)


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _refuse(field: str, what: str) -> ValidationError:
    return ValidationError(
        "VAL-E001", f"{clean(field, 64)} {what}", "Correct the field and add the grain again."
    )


# --- times ------------------------------------------------------------------------------------------

_MS_FROM: Final = 100_000_000_000
_TIME_MAX_MS: Final = 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_ISO: Final = lazily(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8}|[0-9]{4}-?W[0-9]{2}(?:-?[1-7])?)"
    r"(?:[T ][0-9:]+(?:[.,][0-9]+)?(?:Z|[+-][0-9:]+)?)?"
)


def parse_time(value: object, field: str) -> int:
    """``value`` in epoch milliseconds.

    Args:
        value: ISO-8601 text (without a zone: UTC; a date alone: its first moment), or an epoch number, which is
            milliseconds from 1e11 on, in either direction, and seconds below (1e11 s would be the year 5138).
        field: named in the error.

    Raises:
        ValidationError: VAL-E002 for anything else.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise _no_time(field)
    if isinstance(value, str):
        return _parse_iso(value, field)
    if isinstance(value, float) and not isfinite(value):
        raise _no_time(field)
    moment = int(value) if abs(value) >= _MS_FROM else round(value * 1000)
    if abs(moment) > _TIME_MAX_MS:
        raise _no_time(field)
    return moment


def _parse_iso(value: str, field: str) -> int:
    told = value.strip().upper()
    if not _ISO.fullmatch(told):
        raise _no_time(field)
    try:
        moment = datetime.fromisoformat(told)
    except ValueError as error:
        raise _no_time(field) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _no_time(field: str) -> ValidationError:
    return ValidationError(
        "VAL-E002",
        f"{clean(field, 64)} is no time",
        "Give ISO-8601 (2026-03-02T09:00:00Z) or an epoch number, seconds or milliseconds.",
    )


# --- kinds of fields --------------------------------------------------------------------------------


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _refuse(field, "is not text")
    return value


def _word(*allowed: str) -> _Check:
    def check(field: str, value: Any) -> str:
        if value not in allowed:
            raise _refuse(field, f"is not one of {', '.join(allowed)}")
        return str(value)

    return check


def _text_or_json(field: str, value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)


def _time(field: str, value: Any) -> int:
    return parse_time(value, field)


def _flag(field: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _refuse(field, "is not true or false")
    return value


def _whole(least: int, most: int) -> _Check:
    def check(field: str, value: Any) -> int:
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            raise _refuse(field, f"is not a whole number from {least} to {most}")
        return number

    return check


def _number(field: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _refuse(field, "is not a number")
    return float(value)


def _share(field: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise _refuse(field, "is not a number from 0 to 1")
    return float(value)


def _any(field: str, value: Any) -> Any:
    return value


def _map(field: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _refuse(field, "is not a map")
    return value


def _list(field: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _refuse(field, "is not a list")
    return value


def _texts(field: str, value: Any) -> list[str]:
    if not all(isinstance(item, str) for item in _list(field, value)):
        raise _refuse(field, "is not a list of texts")
    return list(value)


def _maps(field: str, value: Any) -> list[dict[str, Any]]:
    if not all(isinstance(item, dict) for item in _list(field, value)):
        raise _refuse(field, "is not a list of maps")
    return list(value)


def _text_or_texts(field: str, value: Any) -> str | list[str]:
    return value if isinstance(value, str) else _texts(field, value)


def _parents(field: str, value: Any) -> str | list[str]:
    kept = _text_or_texts(field, value)
    if not all(item.strip() for item in ([kept] if isinstance(kept, str) else kept)):
        raise _refuse(field, "holds a blank address")
    return kept


def _hex_digest(field: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) != 64 or not _HEX.issuperset(value):
        raise _refuse(field, "is not 32 bytes or their 64 lower-case hex digits")
    return value


def _map_of(check: _Check, what: str) -> _Check:
    def checked(field: str, value: Any) -> dict[str, Any]:
        for item in _map(field, value).values():
            try:
                check(field, item)
            except ValidationError as error:
                raise _refuse(field, f"is not a map to {what}") from error
        return dict(value)

    return checked


# --- shapes -----------------------------------------------------------------------------------------


class _Shape:
    """A map with known keys: the required ones, the optional ones. Other keys are kept as they are."""

    __slots__ = ("known", "required")

    def __init__(self, required: Mapping[str, _Check], optional: Mapping[str, _Check]) -> None:
        self.required = tuple(required)
        self.known = {**required, **optional}

    def __call__(self, field: str, value: Any) -> dict[str, Any]:
        found = _map(field, value)
        for name in self.required:
            if found.get(name) is None:
                raise _refuse(f"{field}.{name}", "is missing")
        known = self.known
        return {
            name: known[name](f"{field}.{name}", item) if name in known and item is not None else item
            for name, item in found.items()
        }


def _each(shape: _Check) -> _Check:
    def check(field: str, value: Any) -> list[Any]:
        return [shape(f"{field}[{place}]", item) for place, item in enumerate(_list(field, value))]

    return check


_BLOCKS: Final[Mapping[str, _Shape]] = {
    "text": _Shape({"text": _text}, {}),
    "tool_use": _Shape({"id": _text, "name": _text}, {"input": _any}),
    "tool_result": _Shape({"tool_use_id": _text, "content": _text}, {"is_error": _flag}),
}


def _block(field: str, value: Any) -> dict[str, Any]:
    kind = _map(field, value).get("type")
    shape = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if shape is None:
        raise _refuse(f"{field}.type", f"is not one of {', '.join(_BLOCKS)}")
    return shape(field, value)


_EPOCH_MS: Final = _whole(-(2**63), 2**63 - 1)
_TOKENS: Final = _whole(0, 2**32 - 1)
_USAGE: Final = _Shape(
    {"input_tokens": _TOKENS, "output_tokens": _TOKENS},
    {"cache_read_tokens": _TOKENS, "cache_creation_tokens": _TOKENS},
)
_STRATEGY: Final = _Shape({"condition": _text, "workflow": _text}, {"description": _text})
_ANNOTATIONS: Final = _Shape({"destructive": _flag, "idempotent": _flag, "read_only": _flag}, {})
_ANALYZER: Final = _Shape({"id": _text}, {"params": _map})
_SUMMARY: Final = _Shape({"template_id": _text}, {"args": _any})
_EDIT: Final = _Shape({"format": _text, "base_digest": _text, "diff": _text}, {})
_COUNT: Final = _whole(0, 2**63 - 1)
_POLICY: Final = _Shape(
    {"mode": _text},
    {
        "authorized": _texts,
        "threshold": _COUNT,
        "locked_until": _COUNT,
        "fallback_mode": _text,
        "scope": _text,
        "protection_reason": _text,
    },
)
_EDGE: Final = _Shape({"src": _text, "dst": _text}, {"cond": _text, "max_cycles": _COUNT})
_LINK: Final = _Shape({"hash": _text, "relation_type": _text}, {"weight": _share})


def _check_graph(typed: dict[str, Any]) -> None:
    nodes = typed["nodes"]
    known = set(nodes)
    if len(known) != len(nodes):
        raise _refuse("nodes", "names one node twice")
    for edge in typed.get("edges", ()):
        if edge["src"] not in known or edge["dst"] not in known:
            raise _refuse("edges", "has an end that is no node")
    for name in ("bindings", "retries"):
        if not known.issuperset(typed.get(name, ())):
            raise _refuse(name, "has a key that is no node")


# --- the tables -------------------------------------------------------------------------------------

_HEX: Final = frozenset("0123456789abcdef")
_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**64 - 1
_BESIDE: Final = frozenset(("created_at", "namespace"))
_PROPOSALS: Final = ("proposal_cal", "proposal_edit", "proposal_data")

_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "fact": ("subject", "relation", "object"),
    "event": ("content",),
    "tool": ("tool_name",),
    "observation": ("object",),
    "goal": ("description",),
    "consent": ("subject_did",),
    "skill": ("name", "description"),
    "recommendation": ("target_ref", "analyzer", "summary", "dedup_key"),
}
_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "state": {"context": dict},
    "workflow": {"nodes": list},
    "observation": {"observer_id": "unknown", "observer_type": "agent"},
    "goal": {"goal_state": "active"},
}
_ALIASES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "state": (("data", "context"), ("context_data", "context")),
    "tool": (("content", "tool_content"),),
    "observation": (("content", "object"),),
    "goal": (("object", "description"),),
}

_BY_KIND: Final[tuple[tuple[_Check, str], ...]] = (
    (
        _text,
        """namespace subject relation object content user_id source_type temporal_type origin_did origin_namespace
        author_did superseded_by embedding_text session_id parent_message_id model_id stop_reason run_id trigger
        tool_name error parent_task_id tool_call_id call_batch_id tool_description executor_uri spec_hash
        correlation_id failure_detail observer_id observer_type observer_model observation_mode observation_scope
        description criteria state_reason delegate_to delegate_from conclusion inference_method thinking_content
        agreed_content subject_did grantee_did basis jurisdiction prior_consent name instructions when_to_use
        version domain holder_did target_ref dedup_key proposal_cal evidence_query""",
    ),
    (_text_or_json, "tool_content"),
    (
        _texts,
        """structural_tags plan nodes parent_goals allowed_transitions premises participating_observers
        dissent_grains witness_dids allowed_tools resources dependencies input_modalities output_modalities""",
    ),
    (_text_or_texts, "scope"),
    (_parents, "derived_from"),
    (_time, "created_at valid_from valid_to system_valid_from system_valid_to last_practiced_at"),
    (_share, "confidence importance progress proficiency"),
    (_number, "threshold"),
    (
        _flag,
        """is_error strict async_mode evidence_required rollback_on_failure thinking_redacted is_withdrawal
        transferable""",
    ),
    (_COUNT, "duration_ms expires_at_sec practice_count agreement_count dissent_count"),
    (_whole(0, 3), "consolidation_level"),
    (
        _any,
        """context common_context input input_schema output_schema locked_params criteria_structured
        satisfaction_evidence expiry_policy recurrence proposal_data""",
    ),
    (_list, "history examples alternatives_considered provenance_chain"),
    (_maps, "content_refs embedding_refs"),
    (_map, "metric_snapshot"),
    (_map_of(_text, "texts"), "bindings"),
    (_map_of(_COUNT, "counts"), "retries"),
    (_word("user", "assistant", "system", "tool"), "role"),
    (_word("active", "satisfied", "failed", "suspended"), "goal_state"),
    (_word("critical", "high", "medium", "low"), "priority"),
    (_word("info", "low", "medium", "high"), "severity"),
    (_word("unverified", "verified", "contested", "retracted"), "verification_status"),
    (_word("execution", "definition"), "kind"),
    (_word("host", "client"), "executor_kind"),
    (_word("pending", "completed", "failed"), "status"),
    (
        _word("timeout", "executor_error", "schema_validation_failed", "user_aborted", "unknown"),
        "failure_cause",
    ),
    (
        _word("server_side_host", "client_side_attested", "client_side_unattested"),
        "actor_execution_environment",
    ),
    (_hex_digest, "transient_definition_hash"),
    (_each(_block), "content_blocks"),
    (_USAGE, "token_usage"),
    (_each(_EDGE), "edges"),
    (_each(_LINK), "related_to"),
    (_each(_STRATEGY), "strategies"),
    (_ANNOTATIONS, "annotations"),
    (_POLICY, "invalidation_policy"),
    (_ANALYZER, "analyzer"),
    (_SUMMARY, "summary"),
    (_EDIT, "proposal_edit"),
)
_FIELD_CHECKS: Final[dict[str, _Check]] = {name: check for check, names in _BY_KIND for name in names.split()}
