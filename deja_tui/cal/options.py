# SPDX-License-Identifier: Apache-2.0
"""WITH options: which change a result, which are known and change nothing, which are refused."""

from __future__ import annotations

from dataclasses import dataclass

from deja_tui.cal import ast
from deja_tui.cal.conditions import Binder, Env
from deja_tui.cal.faults import warning
from deja_tui.cal.words import NEEDS_A_MODEL, OPTIONS, UNKNOWN_OPTIONS, WITH_EFFECT


@dataclass(frozen=True, slots=True)
class Options:
    """What a statement asks for with WITH. ``dedup`` is a field, "" for the whole text, None for not at all.

    ``arrival``: every grain whatever its marks, each with its position and whether it is live; what another program
    needs to see a memory through statements.
    """

    superseded: bool = False
    explanation: bool = False
    relative_time: bool = False
    conflict_resolution: bool = False
    contested: bool = False
    arrival: bool = False
    dedup: str | None = None


def read_options(options: tuple[ast.Option, ...], env: Env, *, type_: str | None, has_text: bool) -> Options:
    """The options of one statement, with warnings about those that change nothing.

    Raises:
        CalError: CAL-E002 exhaustive without a text; CAL-E060 dedup by an unknown field; CAL-E116 a model is needed.
    """
    if not options:
        return _NONE
    names = {option.name for option in options}
    for option in options:
        _check(option, env, has_text)
    dedup: str | None = None
    for option in options:
        if option.name == "dedup":
            dedup = str(option.arguments[0]) if option.arguments else ""
            if dedup:
                Binder(env, type_, rows=True).field(ast.Field(dedup, option.span))
    return Options(
        not names.isdisjoint(("superseded", "arrival")),
        "explanation" in names,
        "annotate_relative_time" in names,
        "conflict_resolution" in names,
        "contradiction_detection" in names,
        "arrival" in names,
        dedup,
    )


_NONE = Options()


def _check(option: ast.Option, env: Env, has_text: bool) -> None:
    if option.name in NEEDS_A_MODEL:
        raise env.fail("CAL-E116", f"{option.name} needs a language model, and there is none", option.span)
    if option.name == "exhaustive" and not has_text:
        raise env.fail("CAL-E002", "exhaustive needs ABOUT or LIKE", option.span)
    if option.name not in OPTIONS or option.name in UNKNOWN_OPTIONS:
        env.warnings.append(warning("CAL-W004", option.name[:32]))
    elif option.name not in WITH_EFFECT:
        env.warnings.append(warning("CAL-W014", option.name))
