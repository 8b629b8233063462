# SPDX-License-Identifier: Apache-2.0
"""What a new memory may begin with: literal scripts of the query language, one file a template.

A line ``-- deja declare NAME VALUE --because 'REASON'`` is a command besides: it is carried out before the script. All
other lines that begin with two dashes are remarks. `deja init` and ``deja cal --file`` do the same with them.
"""

from __future__ import annotations

import shlex
from importlib.resources import files
from typing import Final

from deja_tui.errors import ValidationError

NAMES: Final = ("blank", "coding-agent", "support-agent", "demo")

_DECLARE: Final = "-- deja declare "


def script(name: str) -> str:
    """The text of a template, one of `NAMES`."""
    return (files(__name__) / f"{name}.cal").read_text(encoding="utf-8")


def declarations(text: str) -> dict[str, tuple[str, str]]:
    """What a script declares of the file: name → (value, reason). Raises VAL-E001 where such a line is not whole."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(_DECLARE):
            try:
                setting, value, word, because = shlex.split(line.removeprefix(_DECLARE))
            except ValueError:
                word = ""
            if word != "--because":
                raise ValidationError(
                    "VAL-E001", f"line {number} declares nothing", _DECLARE + "NAME VALUE --because 'REASON'"
                )
            found[setting] = (value, because)
    return found
