# SPDX-License-Identifier: Apache-2.0
"""The page about analyzers, from their manifests alone: what docs/analyzers.md is made of (D29)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deja_tui.engine.analyzer import Manifest, Param


def page(manifests: Iterable[Manifest]) -> list[str]:
    """Markdown: one table of all, then a section each, in the order given."""
    known = list(manifests)
    lines = [
        "| analyzer | finds | on by itself | needs | about | applied unasked |",
        "|---|---|---|---|---|---|",
    ]
    lines += [_row(one) for one in known]
    for one in known:
        lines += ["", *section(one)]
    return lines


def section(manifest: Manifest) -> list[str]:
    """What one analyzer is, and its parameters with their bounds."""
    lines = [
        f"### `{manifest.id}`: {_cell(manifest.title)}",
        "",
        f"{_cell(manifest.description)}.",
    ]
    if manifest.params:
        lines += ["", "| parameter | default | takes | what |", "|---|---|---|---|"]
        lines += [
            f"| `{one.name}` | `{_value(one.default)}` | {takes(one)} | {_cell(one.description)} |"
            for one in manifest.params
        ]
    return lines


def takes(param: Param) -> str:
    """The values of a parameter, in words: ``3 to 1,000``."""
    told = getattr(param, "choices", ())
    if told:
        return ", ".join(map(str, told))
    if param.kind == "bool":
        return "true or false"
    if param.kind == "str":
        return f"a text of at most {int(param.high):,} characters"
    return f"{_number(param.low)} to {_number(param.high)}"


def _row(manifest: Manifest) -> str:
    cells = (
        f"`{manifest.id}`",
        _cell(manifest.description),
        "yes" if manifest.default_on else "no",
        ", ".join(manifest.requires) or "–",
        ", ".join(manifest.target_classes),
        "never" if manifest.auto_apply == "never" else "by policy",
    )
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split()).rstrip(".")


def _value(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value) or '""'


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"
