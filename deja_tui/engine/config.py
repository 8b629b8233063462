# SPDX-License-Identifier: Apache-2.0
"""What a memory says of its analyzers: switched on or off, parameters, severity floor, namespaces; and who said it.

Rows are settings of the memory. What changed is logged as Observations that only the engine writes, each with the value
before and after. A row can name an analyzer, numbers, words and namespaces; never a command, a right or a grant.

* CFG-1  values are checked against the analyzer's manifest before anything is written (LOP-E031 names parameter and
  bounds); a change of parameters replaces the whole map.
* CFG-2  a row that came from another copy (``sync``) can only switch an analyzer off, and never takes the place of one
  that was made here (D5).
* CFG-3  a row of an analyzer that is not here, or of another major version, changes nothing and is kept (D28).
* CFG-4  every change made here is one log entry with actor, reason, old and new value; a change to what is there already
  writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from deja_tui.engine import audit, views
from deja_tui.engine.analyzer import Manifest
from deja_tui.engine.faults import LoopError
from deja_tui.engine.objects import SEVERITIES
from deja_tui.engine.policy import Policy, stricter
from deja_tui.engine.substrate import LOOP_NAMESPACE, NewGrain, StoredGrain, Substrate, is_reserved
from deja_tui.errors import did_you_mean
from deja_tui.text import clean, door, fold
from deja_tui.text import reason as as_reason

# the switch stands apart from the rest: alone it may travel to other copies, and there only as "off"
SWITCH: Final = "loop.analyzer:"
REST: Final = "loop.settings:"
LOG_KIND: Final = "config"
FORMAT: Final = "deja-loop-config/1"
PARTS: Final = ("enabled", "params", "severity_floor", "namespaces")
MAX_NAMESPACES: Final = 64
_LONGEST_NAME: Final = 256
_LONGEST_WORD: Final = 200
_LONGEST_WORDS: Final = 2_000


@dataclass(frozen=True, slots=True)
class AnalyzerConfig:
    """What one layer (a file, or the flags of a run) says of one analyzer. None: it says nothing."""

    enabled: bool | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    severity_floor: str | None = None
    namespaces: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """The file's row of one analyzer, with the source of its switch: ``local`` or ``sync``."""

    config: AnalyzerConfig
    source: str = "local"


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One change of one part of an analyzer's row. ``old`` and ``new``: None where the file says nothing.

    ``at`` is epoch ms. A ``sync`` change was made in another copy; who made it and why stands in that copy.
    """

    analyzer: str
    part: str  # enabled | params | severity_floor | namespaces
    old: Any
    new: Any
    actor: str
    because: str
    at: int
    source: str
    address: str | None


@dataclass(frozen=True, slots=True)
class Settled:
    """How an analyzer works now, with the layer that set each value: flag, policy, file, sync or default."""

    enabled: bool
    enabled_by: str
    params: Mapping[str, Any]
    params_by: Mapping[str, str]
    severity_floor: str
    severity_floor_by: str
    namespaces: tuple[str, ...] | None
    namespaces_by: str

    @property
    def denied(self) -> bool:
        """Whether the host's policy does not let it work."""
        return not self.enabled and self.enabled_by == "policy"


def named(manifests: Sequence[Manifest], name: str) -> Manifest:
    """The one analyzer that ``name`` means: its id, its family, or the last part of that. Raises LOP-E033."""
    told = str(name).strip()
    spelt = [(one.id, one.family, one.family.rsplit(".", 1)[-1]) for one in manifests]
    for way in range(3):
        found = [one for one, names in zip(manifests, spelt, strict=True) if names[way] == told]
        if len(found) == 1:
            return found[0]
    known = ", ".join(one.id for one in manifests)
    short = told.removeprefix("loop.").rsplit("/", 1)[0]
    meant = did_you_mean(short, [names[2] for names in spelt])
    raise LoopError("LOP-E033", f"there is no analyzer {clean(told, 64)}", f"{meant}known: {known}")


# --- reading -----------------------------------------------------------------------------------------


def rows(substrate: Substrate) -> dict[str, Row]:
    """The file's rows by analyzer id, as far as they can be read; also those of analyzers that are not here (CFG-3)."""
    found: dict[str, Row] = {}
    for key, value, _, _ in views.kept(substrate, REST):
        found[key.removeprefix(REST)] = Row(_read(value))
    for key, value, source, _ in views.kept(substrate, SWITCH):
        name = key.removeprefix(SWITCH)
        enabled = value.get("enabled") if isinstance(value, Mapping) else None
        # another copy may switch off, never on (CFG-2)
        if isinstance(enabled, bool) and not (enabled and source != "local"):
            config = found[name].config if name in found else AnalyzerConfig()
            found[name] = Row(replace(config, enabled=enabled), source)
    return found


def _read(value: object) -> AnalyzerConfig:
    told = value if isinstance(value, Mapping) else {}
    params, spaces = told.get("params"), told.get("namespaces")
    floor = told.get("severity_floor")
    return AnalyzerConfig(
        None,
        dict(params) if isinstance(params, Mapping) else {},
        floor if isinstance(floor, str) else None,
        tuple(map(str, spaces)) if isinstance(spaces, list | tuple) else None,
    )


def settle(
    manifest: Manifest, row: Row | None, flags: AnalyzerConfig | None, policy: Policy | None
) -> Settled:
    """One analyzer's values over all layers. Raises LOP-E031 when a layer says something its manifest does not take."""
    file = row.config if row else AnalyzerConfig()
    above = flags or AnalyzerConfig()
    params = manifest.resolve({**file.params, **above.params})
    enabled, by = _switch(manifest, file, row.source if row else "local", above)
    if policy is not None and policy.denies(manifest.id):
        enabled, by = False, "policy"
    floor, floor_by = _floor(manifest, file, above, policy)
    spaces = above.namespaces or file.namespaces
    return Settled(
        enabled=enabled,
        enabled_by=by,
        params=params,
        params_by={name: _layer_of(name, above.params, file.params) for name in params},
        severity_floor=floor,
        severity_floor_by=floor_by,
        namespaces=spaces,
        namespaces_by="flag" if above.namespaces else "file" if spaces else "default",
    )


def _switch(manifest: Manifest, file: AnalyzerConfig, source: str, above: AnalyzerConfig) -> tuple[bool, str]:
    if above.enabled is not None:
        return above.enabled, "flag"
    if file.enabled is not None:
        return file.enabled, "sync" if source == "sync" else "file"
    return manifest.default_on, "default"


def _floor(
    manifest: Manifest, file: AnalyzerConfig, above: AnalyzerConfig, policy: Policy | None
) -> tuple[str, str]:
    """The strictest floor, and the highest layer that asks for it."""
    asked = {
        "flag": above.severity_floor,
        "policy": policy.floor(manifest.id) if policy else None,
        "file": file.severity_floor,
    }
    for floor in asked.values():
        _check_floor(floor)
    strictest = stricter(*asked.values())
    if strictest is None:
        return "info", "default"
    return strictest, next(layer for layer, floor in asked.items() if floor == strictest)


def _layer_of(name: str, above: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    return "flag" if name in above else "file" if name in file else "default"


# --- changing ----------------------------------------------------------------------------------------


def checked(manifest: Manifest, told: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a row as they are stored; a part that is None is cleared. Raises LOP-E031 (CFG-1)."""
    for name in told:
        if name not in PARTS:
            raise LoopError(
                "LOP-E031", f"an analyzer has no setting {clean(name, 64)}", "known: " + ", ".join(PARTS)
            )
    out: dict[str, Any] = {}
    for name, value in told.items():
        out[name] = None if value is None else _check_part(manifest, name, value)
    return out


def _check_part(manifest: Manifest, name: str, value: Any) -> Any:
    if name == "enabled":
        if not isinstance(value, bool):
            raise LoopError("LOP-E031", "enabled must be true or false")
        return value
    if name == "params":
        if not isinstance(value, Mapping):
            raise LoopError("LOP-E031", "params must be an object of parameters")
        whole = manifest.resolve(value)
        return {one: whole[one] for one in value} or None
    if name == "severity_floor":
        _check_floor(value)
        return value
    return _check_namespaces(value) or None


def _check_floor(value: object) -> None:
    if value is not None and value not in SEVERITIES:
        raise LoopError("LOP-E031", "severity_floor must be one of " + ", ".join(SEVERITIES))


def _check_namespaces(value: object) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) > MAX_NAMESPACES:
        raise LoopError("LOP-E031", f"namespaces must be a list of at most {MAX_NAMESPACES} names")
    names = []
    for one in value:
        if not isinstance(one, str) or not one.strip() or len(one) > _LONGEST_NAME:
            raise LoopError("LOP-E031", f"a namespace is a text of 1 to {_LONGEST_NAME} characters")
        if is_reserved(one):
            raise LoopError("LOP-E031", "an analyzer never reads in a reserved namespace")
        names.append(door(one))
    return list(dict.fromkeys(names))


def change(
    substrate: Substrate,
    analyzer: str,
    parts: Mapping[str, Any],
    *,
    actor: str,
    because: str,
    now_ms: int,
) -> tuple[ConfigChange, ...]:
    """Write `checked` parts of one row and log what changed, in one act. The caller has asked for the right admin.

    Raises LOP-E011 on a missing or too long reason.
    """
    told = as_reason(because)
    if told is None:
        raise LoopError("LOP-E011", "a BECAUSE of 1 to 500 characters is needed", "say why in one sentence")
    with views.atomic(substrate):
        row = rows(substrate).get(analyzer, Row(AnalyzerConfig()))
        before = plain(row.config)
        done = []
        for part in PARTS:
            old = before.get(part)
            # a switch from elsewhere is confirmed or overruled here by writing it here
            adopted = part == "enabled" and row.source == "sync"
            if part in parts and (parts[part] != old or adopted):
                done.append(_log(substrate, analyzer, part, old, parts[part], actor, told, now_ms))
        if done:
            _write(substrate, analyzer, {**before, **parts}, {one.part for one in done})
    return tuple(done)


def _write(substrate: Substrate, analyzer: str, parts: Mapping[str, Any], touched: set[str]) -> None:
    if "enabled" in touched:
        enabled = parts.get("enabled")
        views.set_setting(substrate, SWITCH + analyzer, None if enabled is None else {"enabled": enabled})
    if touched - {"enabled"}:
        rest = {name: parts[name] for name in PARTS[1:] if parts.get(name) is not None}
        views.set_setting(substrate, REST + analyzer, rest or None)


def add_word(
    substrate: Substrate, analyzer: str, param: str, word: str, actor: str, because: str, now_ms: int
) -> tuple[ConfigChange, ...]:
    """Add one word to a parameter that is a comma list, as approving a learnt relation does (D25).

    The caller has asked for the right admin. Raises LOP-E031 when the word or the list would be too long.
    """
    told = fold(word)
    if not told or "," in told or len(told) > _LONGEST_WORD:
        raise LoopError("LOP-E031", f"{param} takes words of 1 to {_LONGEST_WORD} characters without a comma")
    with views.atomic(substrate):
        row = rows(substrate).get(analyzer, Row(AnalyzerConfig()))
        params = dict(row.config.params)
        words = [fold(one) for one in str(params.get(param, "")).split(",") if one.strip()]
        listed = ", ".join(dict.fromkeys([*words, told]))
        if len(listed) > _LONGEST_WORDS:
            raise LoopError(
                "LOP-E031", f"parameter {param} must be a text of at most {_LONGEST_WORDS} characters"
            )
        parts = {"params": {**params, param: listed}}
        return change(substrate, analyzer, parts, actor=actor, because=because, now_ms=now_ms)


# --- the log -----------------------------------------------------------------------------------------


def _log(
    substrate: Substrate,
    analyzer: str,
    part: str,
    old: Any,
    new: Any,
    actor: str,
    because: str,
    now_ms: int,
) -> ConfigChange:
    serial = sum(1 for _ in _entries(substrate))  # no two entries have the same bytes
    context = {
        "audit": LOG_KIND,
        "analyzer": analyzer,
        "part": part,
        "old": old,
        "new": new,
        "at": now_ms,
        "serial": serial,
    }
    fields = {
        "observer_id": actor,
        "observer_type": "rec:agent" if audit.observer_of(actor) == "agent" else "human",
        "object": because,
        "context": {name: value for name, value in context.items() if value is not None},
    }
    put = substrate.put(NewGrain("observation", LOOP_NAMESPACE, now_ms, fields))
    return ConfigChange(analyzer, part, old, new, actor, because, now_ms, "local", put.address)


def _entries(substrate: Substrate) -> list[StoredGrain]:
    found = []
    for grain in substrate.scan("observation", [LOOP_NAMESPACE]):
        context = grain.get("context")
        if isinstance(context, Mapping) and context.get("audit") == LOG_KIND:
            found.append(grain)
    return found


def log(substrate: Substrate) -> tuple[ConfigChange, ...]:
    """Every change made here, oldest first, then the switches in force that came from another copy."""
    made = tuple(_change_of(grain) for grain in _entries(substrate) if not grain.imported)
    came = tuple(
        ConfigChange(key.removeprefix(SWITCH), "enabled", None, False, "", "", at, "sync", None)
        for key, value, source, at in views.kept(substrate, SWITCH)
        if source != "local" and value == {"enabled": False}
    )
    return (*made, *came)


def _change_of(grain: StoredGrain) -> ConfigChange:
    context = grain.get("context")
    at = context.get("at")
    return ConfigChange(
        analyzer=str(context.get("analyzer", "")),
        part=str(context.get("part", "")),
        old=context.get("old"),
        new=context.get("new"),
        actor=str(grain.get("observer_id", "")),
        because=str(grain.get("object", "")),
        at=at if isinstance(at, int) else grain.created_at,
        source="local",
        address=grain.address,
    )


# --- out and in --------------------------------------------------------------------------------------


def plain(config: AnalyzerConfig) -> dict[str, Any]:
    """The parts that a row sets, as JSON gives them."""
    parts = {
        "enabled": config.enabled,
        "params": dict(config.params) or None,
        "severity_floor": config.severity_floor,
        "namespaces": None if config.namespaces is None else list(config.namespaces),
    }
    return {name: value for name, value in parts.items() if value is not None}


def export(substrate: Substrate) -> dict[str, Any]:
    """Every row of the file, also of analyzers that are not here, as one JSON document."""
    told = {name: plain(row.config) for name, row in sorted(rows(substrate).items())}
    return {"format": FORMAT, "analyzers": {name: parts for name, parts in told.items() if parts}}


@dataclass(frozen=True, slots=True)
class Imported:
    """What a configuration document changed; ``unknown``: analyzers it names that are not here, left out."""

    changes: tuple[ConfigChange, ...]
    unknown: tuple[str, ...]


def read_export(
    document: object, manifests: Sequence[Manifest]
) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """(checked parts by analyzer id, ids that are not here) of a document that `export` wrote.

    Raises LOP-E037 on another shape or an unknown key, LOP-E031 on a value an analyzer does not take: then nothing of
    the document is used.
    """
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise LoopError("LOP-E037", f"configuration: this is no document of the format {FORMAT}")
    strange = [name for name in document if name not in ("format", "analyzers")]
    told = document.get("analyzers")
    if strange or not isinstance(told, Mapping):
        wrong = clean(strange[0], 64) if strange else "analyzers"
        raise LoopError("LOP-E037", f"configuration: key {wrong} cannot be read", "known: format, analyzers")
    known = {one.id: one for one in manifests}
    found: dict[str, dict[str, Any]] = {}
    unknown = []
    for name, parts in told.items():
        if not isinstance(parts, Mapping):
            raise LoopError("LOP-E037", f"configuration: {clean(name, 64)} is no object")
        _refuse_unknown_parts(name, parts)
        if name in known:
            found[name] = checked(known[name], parts)
        else:
            unknown.append(str(name))
    return found, tuple(unknown)


def _refuse_unknown_parts(analyzer: str, parts: Mapping[Any, Any]) -> None:
    for name in parts:
        if name not in PARTS:
            told = f"configuration: {clean(analyzer, 64)} has a key {clean(name, 64)}, which is no setting"
            raise LoopError("LOP-E037", told, "known: " + ", ".join(PARTS))
