# SPDX-License-Identifier: Apache-2.0
"""Analyzers as rows, and the settings of one as rows with the layer that set each (D29: from manifests alone)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from deja_tui.engine.analyzer import Param
from deja_tui.engine.health import AnalyzerState
from deja_tui.engine.objects import SEVERITIES
from deja_tui.present.health import command_of, state_told, told
from deja_tui.present.line import Line, Span, line, wrapped
from deja_tui.present.recommendation import analyzer_name
from deja_tui.present.words import age
from deja_tui.text import clean, clip, compact_json, pad

LAYERS: Final[Mapping[str, str]] = {
    "file": "this memory",
    "policy": "host's policy",
    "default": "as it comes",
    "flag": "flag of this run",
    "sync": "another copy",
}
NAME_MOST: Final = 24
_SETTING: Final = 17
_VALUE: Final = 15


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of an analyzer: ``part`` is params, severity_floor or namespaces."""

    part: str
    name: str
    value: Any
    layer: str
    takes: str
    description: str
    param: Param | None = None

    def read(self, text: str) -> Any:
        """The value that a typed text means; None: back to what it is without this memory. Raises LOP-E031, ValueError."""
        text = text.strip()
        if not text:
            return None
        if self.param is None:
            return (
                [one.strip() for one in text.split(",") if one.strip()] if self.part == "namespaces" else text
            )
        if self.param.kind == "bool":
            return self.param.check({"true": True, "false": False}.get(text.lower(), text))
        if self.param.kind in ("int", "float", "duration"):
            number = float(text)
            return self.param.check(int(number) if number == int(number) else number)
        return self.param.check(text)

    @property
    def typed(self) -> str:
        """The value as it would be typed."""
        if self.value is None:
            return ""
        if isinstance(self.value, list | tuple):
            return ", ".join(map(str, self.value))
        return self.value if isinstance(self.value, str) else compact_json(self.value)


def settings(state: AnalyzerState) -> list[Setting]:
    """Every setting of an analyzer that can be changed; none where a layer says something it does not take."""
    settled = state.settled
    if settled is None:
        return []
    found = [
        Setting(
            "params",
            one.name,
            settled.params[one.name],
            settled.params_by[one.name],
            one.bounds,
            one.description,
            one,
        )
        for one in state.manifest.params
    ]
    spaces = None if settled.namespaces is None else list(settled.namespaces)
    floor = f"one of {', '.join(SEVERITIES)}"
    return [
        *found,
        Setting("severity_floor", "severity_floor", settled.severity_floor, settled.severity_floor_by, floor,
                "findings below it are not stored"),
        Setting("namespaces", "namespaces", spaces, settled.namespaces_by, "names with commas between; none: every one",
                "it reads only these"),
    ]  # fmt: skip


def change(state: AnalyzerState, setting: Setting, value: Any) -> dict[str, Any]:
    """The arguments of `Loop.configure` that set one setting, or take it back where ``value`` is None."""
    if setting.part != "params":
        return {"clear": (setting.part,)} if value is None else {setting.part: value}
    settled = state.settled
    kept = {
        name: held
        for name, held in (settled.params if settled else {}).items()
        if settled and settled.params_by[name] == "file" and name != setting.name
    }
    if value is not None:
        kept[setting.name] = value
    return {"params": kept} if kept else {"clear": ("params",)}


# --- rows --------------------------------------------------------------------------------------------


def name_cells(states: Sequence[AnalyzerState]) -> int:
    """The cells of the column of names."""
    return min(NAME_MOST, max((len(analyzer_name(one.id)) for one in states), default=8))


def list_head(cells: int) -> Line:
    """The titles of the columns."""
    return line(Span(f"on  {pad('analyzer', cells)}  tier  {pad('looked', 6)}  open  state", "dim"))


def list_row(state: AnalyzerState, cells: int, now_ms: int, room: int) -> Line:
    """``on  tool_failure/1  T0  2h  3  fires: …``."""
    on = state.settled is not None and state.settled.enabled
    looked = "never" if state.looked_at is None else age(now_ms - state.looked_at)
    name = pad(clip(analyzer_name(state.id), cells), cells)
    tier = pad(clean(state.manifest.tier, 4), 4)
    rest = f"{'on ' if on else 'off'} {name}  {tier}  {pad(looked, 6)}  {state.open:>4}  "
    look = "error" if state.activation.state == "failed" else ""
    return line(
        Span(rest, "" if on else "dim"), Span(state_told(state.activation, now_ms, room - len(rest)), look)
    )


def setting_row(setting: Setting) -> Line:
    """``min_count         3                 as it comes``."""
    value = "every one" if setting.value is None else clean(setting.typed, 60)
    own = "" if setting.layer == "default" else "strong"
    shown = pad(clip(value, _VALUE), _VALUE)
    return line(f"{pad(clip(clean(setting.name, 40), _SETTING), _SETTING)} ", Span(shown, own),
                Span(f" {LAYERS.get(setting.layer, clean(setting.layer, 20))}", "dim"))  # fmt: skip


def setting_lines(setting: Setting, room: int) -> list[Line]:
    """What a setting is and takes."""
    return wrapped(
        [
            line(Span(clean(setting.description, 300), "strong")),
            line(Span("takes ", "dim"), clean(setting.takes, 300)),
        ],
        room,
        2,
    )


def analyzer_lines(state: AnalyzerState, now_ms: int, room: int, file: str) -> list[Line]:
    """What an analyzer is, how it stands, and its settings."""
    on = state.settled is not None and state.settled.enabled
    by = LAYERS.get(state.settled.enabled_by, "") if state.settled else ""
    lines = [
        line(Span(clean(state.manifest.title, 120), "strong"), Span(f"  {clean(state.id, 80)}", "dim")),
        line(clean(state.manifest.description, 400)),
        line(Span("state ", "dim"), told(state.activation, now_ms)),
        line(Span("switch ", "dim"), "on" if on else "off", Span(f", {by}", "dim")),
    ]
    if state.next:
        lines.append(line(Span("next ", "dim"), Span(command_of(state, file), "key")))
    return [*wrapped(lines, room, 2), *(setting_row(one) for one in settings(state))]
