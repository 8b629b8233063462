# SPDX-License-Identifier: Apache-2.0
"""What a new memory may begin with: literal scripts of the query language, one file a template.

A line ``-- deja declare NAME VALUE --because 'REASON'`` is a command besides: it is carried out before the script. All
other lines that begin with two dashes are remarks.
"""

from __future__ import annotations

import shlex
from importlib.resources import files
from typing import Final

NAMES: Final = ("blank", "coding-agent", "support-agent", "demo")

_DECLARE: Final = "-- deja declare "


def script(name: str) -> str:
    """The text of a template, one of `NAMES`."""
    return (files(__name__) / f"{name}.cal").read_text(encoding="utf-8")


def declarations(name: str) -> dict[str, tuple[str, str]]:
    """What a template declares of the file: name → (value, reason)."""
    found = {}
    for line in script(name).splitlines():
        if line.startswith(_DECLARE):
            setting, value, _, because = shlex.split(line.removeprefix(_DECLARE))
            found[setting] = (value, because)
    return found
