# SPDX-License-Identifier: Apache-2.0
"""How a memory and its loop stand, as lines: the report of the command line, and the parts an overview is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from deja_tui.engine.config import ConfigChange, Settled
from deja_tui.engine.health import AnalyzerState, Health
from deja_tui.engine.objects import Activation
from deja_tui.engine.policy import Effective, EffectivePolicy
from deja_tui.present.line import Line, Span, line, plain, wrap
from deja_tui.present.words import age, amount, named, plural, ratio
from deja_tui.text import cells, clean, clip, compact_json, pad, utc

NOT_YET: Final = "…"
"""What stands where a quick report has not looked yet."""
_NAME_CELLS: Final = 24
_LABEL_CELLS: Final = 14
_VALUE_LIMIT: Final = 200
_LAYERS: Final = {"file": "this memory", "policy": "the host's policy", "default": "as it comes",
                  "flag": "a flag of this run", "sync": "another copy of this memory"}  # fmt: skip


# --- the report --------------------------------------------------------------------------------------


def report(health: Health, db: str = "") -> list[Line]:
    """The whole report, one line a matter; long lines are for the caller to clip. ``db``: as in `health_lines`."""
    lines = [_held(health), _checked(health, db), _grown(health), _run(health, db), _queue(health)]
    if health.spooled or health.unreadable:
        lines.append(_spool(health))
    first = _first(health)
    if first:
        lines.append(first)
    lines.append(_policy(health.policy, db))
    lines.append(line(Span("analyzers", "heading")))
    lines += [analyzer_line(state, health.at) for state in health.analyzers]
    return lines


def health_lines(health: Health, width: int, db: str = "") -> list[str]:
    """The report for a terminal or a pipe; a command is never cut. ``db``: `` --db FILE`` where commands need it."""
    whole = report(health, db)
    facts = whole[: len(whole) - len(health.analyzers)]
    lines = [clip(plain(one).rstrip(), width) for one in facts]
    for state in health.analyzers:
        lines += _with_command(plain(analyzer_line(state, health.at)).rstrip(), state, db, width)
    return lines


def _with_command(told: str, state: AnalyzerState, db: str, width: int) -> list[str]:
    """A line with the command behind it, or below it where it does not fit."""
    if not state.next:
        return [clip(told, width)]
    step = f"→ {clean(state.next, 120)}{db}"
    whole = f"{told}  {step}"
    return [whole] if cells(whole) <= width else [clip(told, width), f"      {step}"]


def _labelled(label: str, *parts: str | Span | Line) -> Line:
    return line(Span(pad(label, _LABEL_CELLS), "dim"), *parts)


def _held(health: Health) -> Line:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(health.grains.items()))
    return _labelled("holds", f"{plural(health.live, 'live grain')}{': ' + kinds if kinds else ''}")


def _checked(health: Health, db: str) -> Line:
    if not health.whole:
        return _labelled("checked", f"{NOT_YET} · the file {verified(health.last_verify, health.at)}")
    chains = health.chains
    told: list[str | Span] = []
    if chains.broken:
        told.append(Span(f"{plural(chains.broken, 'audit chain')} broken", "error"))
        told.append(f" of {chains.verified + chains.broken:,}: deja verify{db}")
    elif chains.unchecked:
        total = chains.verified + chains.unchecked
        told.append(
            f"{chains.verified:,} of {total:,} audit chains, all sound: deja verify{db} checks every one"
        )
    else:
        told.append(f"{plural(chains.verified, 'audit chain')} verified")
    if health.claims:
        claimed = ", ".join(f"{count:,} {clean(status, 32)}" for status, count in health.claims.items())
        told.append(f" · grains that declare it: {claimed}")
    told.append(f" · the file {verified(health.last_verify, health.at)}")
    return _labelled("checked", *told)


def verified(last: int | None, now_ms: int) -> str:
    """When a whole file was last found sound: ``verified 2h ago``, ``never verified``."""
    return "never verified" if last is None else f"verified {age(max(0, now_ms - last))} ago"


def _grown(health: Health) -> Line:
    forks = plural(health.forks, "fork") if health.whole else f"{NOT_YET} forks"
    return _labelled("open ends", f"{forks}, {amount(health.past_end, 'grains past their declared end')}")


def _run(health: Health, db: str) -> Line:
    if health.last_run is None:
        return _labelled("last run", Span("never", "warning"), f" · {_new(health)}")
    told = f"{age(health.at - health.last_run)} ago ({utc(health.last_run)}) · {_new(health)}"
    behind = Span(f" · behind: deja loop run{db}", "warning") if health.stale else ""
    return _labelled("last run", told, behind)


def _new(health: Health) -> str:
    errors = f", {plural(health.new_errors, 'failed call')}" if health.new_errors else ""
    return f"{plural(health.new_grains, 'grain')} since{errors}"


def _queue(health: Health) -> Line:
    pending = ", ".join(f"{count} {severity}" for severity, count in health.pending.items() if count)
    told = f"{health.queue['pending']} pending{' (' + pending + ')' if pending else ''}"
    others = [f"{count} {status.replace('_', ' ')}" for status, count in health.queue.items()
              if count and status != "pending"]  # fmt: skip
    decided = health.approved + health.rejected
    shares = f" · approved {ratio(health.approved, decided)} decided" if decided else ""
    foreign = f" · {health.foreign} from other copies" if health.foreign else ""
    return _labelled("queue", ", ".join([told, *others]) + shares + foreign)


def _spool(health: Health) -> Line:
    told = f"{plural(health.spooled, 'captured item')} waiting: the next command that writes takes them in"
    if health.unreadable:
        return _labelled(
            "spool", Span(f"{plural(health.unreadable, 'file')} unreadable", "error"), f" · {told}"
        )
    return _labelled("spool", Span(told, "warning"))


def _first(health: Health) -> Line | None:
    if health.time_to_first is None:
        return None
    return _labelled("first finding", f"{age(health.time_to_first)} after the first grain")


def _policy(policy: EffectivePolicy, db: str) -> Line:
    told = {one.name: one for one in policy.values}
    enabled = told["auto_apply_enabled"].value is True
    grants = told["auto_apply"].value if enabled else []
    names = ", ".join(str(grant["analyzer"]) for grant in grants)
    parts = [f"applied unasked: {clean(names, 120) if names else 'nothing'}"]
    if told["deny"].value:
        parts.append(f"denied: {clean(', '.join(told['deny'].value), 120)}")
    parts.append(f"telemetry {told['telemetry'].value}")
    vain = [Span(f" · {plural(len(policy.ineffective), 'grant')} in vain: deja loop policy{db}", "warning")]
    strange = [Span(f" · {clean(one, 120)}", "warning") for one in policy.warnings]
    return _labelled("policy", " · ".join(parts), *(vain if policy.ineffective else []), *strange)


# --- analyzers ---------------------------------------------------------------------------------------


def analyzer_line(state: AnalyzerState, now_ms: int) -> Line:
    """One analyzer: its name, and its state in counts."""
    look = "warning" if state.activation.state == "failed" else ""
    return line(
        "  ",
        Span(pad(short_id(state.id), _NAME_CELLS), "strong"),
        Span(told(state.activation, now_ms), look),
    )


def short_id(analyzer: str) -> str:
    """``tool_failure``; the whole id of one that is not built in."""
    name = analyzer.rsplit("/", 1)[0]
    return clean(name.removeprefix("loop.") if name.startswith("loop.") else analyzer, 64)


def told(activation: Activation, now_ms: int) -> str:
    """The state of an analyzer in one phrase, with its counts."""
    unit = clean(activation.unit, 80)
    match activation.state:
        case "active":
            return f"fires: {amount(activation.have, unit)}"
        case "quiet":
            return (
                f"looked, found nothing ({amount(activation.have, unit)})"
                if activation.have
                else "looked, found nothing"
            )
        case "below_threshold":
            older = f" · {activation.older:,} older" if activation.older else ""
            return f"needs {amount(activation.need, unit)}, has {activation.have:,}{older}"
        case "watching":
            until = f", until {utc(activation.until)[:10]}" if activation.until is not None else ""
            return f"counting: {activation.have:,} of {amount(activation.need, unit)}{until}"
        case "cooling":
            until = f"in {age(activation.until - now_ms)}" if activation.until is not None else "later"
            return f"{amount(activation.have, unit)}, the first may return {until}"
        case "missing":
            return f"needs what is not here: {clean(activation.hint, 120)}"
        case "disabled" if activation.hint == "default":
            return "off unless switched on"
        case "disabled":
            return f"off, by {_LAYERS.get(activation.hint, clean(activation.hint, 40))}"
        case "failed":
            return f"failed: {clean(activation.hint, 160)}"
        case "reading":
            return NOT_YET
        case _:
            return clean(activation.state, 40)


def analyzers_lines(states: Sequence[AnalyzerState], now_ms: int, width: int, db: str = "") -> list[str]:
    """Every analyzer with its state, and below it what it looks for and what of its settings is not as it comes. ``db``:
    as in `health_lines`."""
    lines: list[str] = []
    for state in states:
        lines += _with_command(plain(analyzer_line(state, now_ms)).strip(), state, db, width)
        lines.append(clip(f"  {clean(state.manifest.description, 160)}", width))
        changed = _changed(state.settled)
        if changed:
            lines.append(clip(f"  {changed}", width))
    return lines


def brief(activation: Activation) -> str:
    """The state of an analyzer in a word or two with its counts, for a column that does not hold `told`."""
    match activation.state:
        case "active":
            return f"fires: {activation.have:,}"
        case "quiet":
            return "quiet"
        case "below_threshold":
            older = f", {activation.older:,} older" if activation.older else ""
            return f"has {activation.have:,} of {activation.need:,}{older}"
        case "watching":
            return f"{activation.have:,} of {activation.need:,}"
        case "missing":
            return "needs more"
        case "disabled":
            return "off"
        case "reading":
            return NOT_YET
        case _:
            return clean(activation.state, 12)


def state_told(activation: Activation, now_ms: int, room: int) -> str:
    """`told` where it fits into ``room`` cells, else `brief`."""
    whole = told(activation, now_ms)
    return whole if cells(whole) <= room else brief(activation)


def command_of(state: AnalyzerState, file: str) -> str:
    """The command that gets an analyzer further with a memory; ``file`` as a shell takes it. Empty: nothing to do."""
    return f"{clean(state.next, 120)} --db {clean(file, 200)}" if state.next else ""


def _changed(settled: Settled | None) -> str:
    if settled is None:
        return ""
    parts = [
        f"{clean(name, 40)}={_value(settled.params[name])} ({layer})"
        for name, layer in settled.params_by.items()
        if layer != "default"
    ]
    if settled.severity_floor_by != "default":
        parts.append(f"severity_floor={settled.severity_floor} ({settled.severity_floor_by})")
    if settled.namespaces is not None:
        parts.append(f"namespaces={_value(list(settled.namespaces))} ({settled.namespaces_by})")
    return ", ".join(parts)


def in_brief(health: Health, width: int) -> list[str]:
    """What is held and what waits; where nothing does, the analyzers that have some of what they need."""
    lines = [_held(health), _queue(health)]
    for one in () if health.queue["pending"] else health.analyzers:
        near = one.activation.have or one.activation.older
        if one.activation.state == "below_threshold" and near:
            lines.append(_labelled("nearest", f"{short_id(one.id)} {told(one.activation, health.at)}"))
    return [clip(plain(one).rstrip(), width) for one in lines]


def further_back(health: Health) -> tuple[AnalyzerState, str] | None:
    """The analyzer that would find something if it looked further back, with a sentence that says so."""
    state = next((one for one in health.analyzers if one.activation.older and one.next), None)
    if state is None or state.settled is None:
        return None
    count, days = state.activation.older, state.settled.params["window_days"]
    what = f"{plural(count, 'failure')} {'is' if count == 1 else 'are'} older than the window of {days} days"
    return state, f"{what}. To look at {'it' if count == 1 else 'them'}, too:"


def why_lines(state: AnalyzerState, now_ms: int, width: int, db: str = "") -> list[str]:
    """One analyzer in full: what it is, its state, its settings with bounds and layer, and what to do. ``db``: as in
    `health_lines`."""
    manifest = state.manifest
    lines = [f"{clean(state.id, 80)}  {clean(manifest.title, 80)}", f"  {clean(manifest.description, 200)}"]
    lines.append(f"  state: {told(state.activation, now_ms)}")
    looked = "never" if state.looked_at is None else f"{age(now_ms - state.looked_at)} ago"
    lines.append(f"  looked: {looked} · open {state.open} · applied {state.applied}")
    if state.settled is not None:
        lines += [f"  {one}" for one in _settings(manifest, state.settled)]
    lines = [clip(one, width) for one in lines]
    return [*lines, f"next: {clean(state.next, 120)}{db}"] if state.next else lines


def _settings(manifest: Any, settled: Settled) -> list[str]:
    switch = "on" if settled.enabled else "off"
    lines = [f"enabled: {switch} ({_LAYERS[settled.enabled_by]})"]
    for param in manifest.params:
        value, layer = settled.params[param.name], settled.params_by[param.name]
        lines.append(
            f"{clean(param.name, 40)} = {_value(value)} ({_LAYERS[layer]}): {clean(param.description, 120)}, {param.bounds}"
        )
    lines.append(f"severity_floor = {settled.severity_floor} ({_LAYERS[settled.severity_floor_by]})")
    spaces = "every one" if settled.namespaces is None else _value(list(settled.namespaces))
    lines.append(f"namespaces = {spaces} ({_LAYERS[settled.namespaces_by]})")
    return lines


def _value(value: object) -> str:
    return clean(compact_json(value), _VALUE_LIMIT)


# --- policy and settings -----------------------------------------------------------------------------


def policy_lines(policy: EffectivePolicy, width: int) -> list[str]:
    """Every value in force with its layer, then grants in vain and names nobody has."""
    lines = [plain(part).rstrip() for one in policy.values for part in wrap(_effective(one), width, 9)]
    lines += [clip(f"in vain: {clean(one, 200)}", width) for one in policy.ineffective]
    lines += [clip(f"note: {clean(one, 200)}", width) for one in policy.warnings]
    return lines


def _effective(one: Effective) -> Line:
    note = f"  {clean(one.note, 120)}" if one.note else ""
    return line(f"{pad(clean(one.layer, 8), 8)} {pad(clean(one.name, 48), 30)} {_value(one.value)}{note}")


def change_lines(changes: Iterable[ConfigChange], width: int) -> list[str]:
    """The log of settings, oldest first."""
    return [clip(plain(_change(one)), width) for one in changes] or ["No setting was changed."]


def _change(one: ConfigChange) -> Line:
    who = named(one.actor) if one.actor else Span("another copy")
    because = f": {clean(one.because, 200)}" if one.because else ""
    what = f"  {short_id(one.analyzer)}.{clean(one.part, 20)}  {_told(one.old)} → {_told(one.new)}  "
    return line(Span(utc(one.at), "dim"), what, who, because)


def _told(value: object) -> str:
    return "default" if value is None else _value(value)


# --- shapes for programs -----------------------------------------------------------------------------


def activation_shape(activation: Activation) -> dict[str, Any]:
    """{state, have, need, unit, hint, until}."""
    return {
        "state": activation.state,
        "have": activation.have,
        "need": activation.need,
        "unit": activation.unit,
        "hint": activation.hint,
        "until": activation.until,
        "older": activation.older,
    }


def analyzer_shape(state: AnalyzerState) -> dict[str, Any]:
    """One analyzer for a program: manifest, settings with layers, activation, next command."""
    manifest, settled = state.manifest, state.settled
    return {
        "id": state.id,
        "title": manifest.title,
        "description": manifest.description,
        "tier": manifest.tier,
        "requires": list(manifest.requires),
        "target_classes": list(manifest.target_classes),
        "auto_apply": manifest.auto_apply,
        "origin": manifest.origin,
        "default_on": manifest.default_on,
        "enabled": None if settled is None else settled.enabled,
        "enabled_by": None if settled is None else settled.enabled_by,
        "params": [_param_shape(param, settled) for param in manifest.params],
        "severity_floor": None if settled is None else settled.severity_floor,
        "severity_floor_by": None if settled is None else settled.severity_floor_by,
        "namespaces": None if settled is None or settled.namespaces is None else list(settled.namespaces),
        "namespaces_by": None if settled is None else settled.namespaces_by,
        "activation": activation_shape(state.activation),
        "looked_at": state.looked_at,
        "open": state.open,
        "applied": state.applied,
        "next": state.next,
    }


def _param_shape(param: Any, settled: Settled | None) -> dict[str, Any]:
    return {
        "name": param.name,
        "kind": param.kind,
        "default": param.default,
        "bounds": param.bounds,
        "description": param.description,
        "value": None if settled is None else settled.params[param.name],
        "layer": None if settled is None else settled.params_by[param.name],
    }


def health_shape(health: Health) -> dict[str, Any]:
    """The report for a program. Times are epoch ms."""
    return {
        "at": health.at,
        "grains": dict(health.grains),
        "live": health.live,
        "verification": dict(health.claims),
        "chains": {
            "verified": health.chains.verified,
            "broken": health.chains.broken,
            "unchecked": health.chains.unchecked,
        },
        "forks": health.forks,
        "past_end": health.past_end,
        "last_run_ms": health.last_run,
        "watermark": health.watermark,
        "grains_since_run": health.new_grains,
        "error_events_since_run": health.new_errors,
        "stale": health.stale,
        "queue": dict(health.queue),
        "pending": dict(health.pending),
        "foreign": health.foreign,
        "approved": health.approved,
        "rejected": health.rejected,
        "time_to_first_ms": health.time_to_first,
        "policy": health.policy.to_plain(),
        "analyzers": [analyzer_shape(state) for state in health.analyzers],
        "spooled": health.spooled,
        "spool_unreadable": health.unreadable,
        "last_verify_ms": health.last_verify,
    }


def change_shape(change: ConfigChange) -> Mapping[str, Any]:
    """One change of a setting for a program."""
    return {
        "analyzer": change.analyzer,
        "part": change.part,
        "old": change.old,
        "new": change.new,
        "actor": change.actor,
        "because": change.because,
        "at": change.at,
        "source": change.source,
        "address": change.address,
    }
