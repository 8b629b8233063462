# SPDX-License-Identifier: Apache-2.0
"""``config.toml`` of a person's config folder: how the console looks. Never a command, never from a project folder (D48).

    theme = "light"       # a theme of deja, or of the themes folder beside this file
    colours = "256"       # none, 16, 256 or truecolor; without it: what the terminal says
    mouse = false         # without it: on, over SSH off
    ascii = true          # marks in ASCII
    hints = false         # no hints at the first start
    poll_seconds = 5      # how often to ask whether the file changed; 0: never
    fill_seconds = 2      # how long a row is looked at before its preview is filled up; 0: never

Anything else in it is refused, with the names of file and key (CON-E003).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from deja_tui.console.terminal import COLOURS
from deja_tui.errors import DejaError
from deja_tui.text import clean

FILE_NAME: Final = "config.toml"


@dataclass(frozen=True, slots=True)
class Config:
    """What the file says; None: nothing, the facts decide."""

    theme: str | None = None
    colours: str | None = None
    mouse: bool | None = None
    ascii: bool | None = None
    hints: bool | None = None
    poll_seconds: float | None = None
    fill_seconds: float | None = None

    def with_looks(self, given: Config | None) -> Config:
        """What is said elsewhere, for example by a flag, over what the file says."""
        told = {} if given is None else asdict(given)
        return replace(self, **{key: value for key, value in told.items() if value is not None})


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 3_600


_TAKES: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "theme": (lambda value: isinstance(value, str), 'theme = "light"'),
    "colours": (lambda value: value in COLOURS, 'colours = "256", one of ' + ", ".join(COLOURS)),
    "mouse": (_flag, "mouse = false"),
    "ascii": (_flag, "ascii = true"),
    "hints": (_flag, "hints = false"),
    "poll_seconds": (_seconds, "poll_seconds = 1, from 0 to 3600"),
    "fill_seconds": (_seconds, "fill_seconds = 0.8, from 0 to 3600"),
}


def default_path() -> Path:
    """Where a person's file lies (D48)."""
    import platformdirs

    return Path(platformdirs.user_config_dir("deja")) / FILE_NAME


def load(path: Path | None = None) -> Config:
    """What the file says; without one, nothing. Raises CON-E003."""
    found = path or default_path()
    try:
        tree = tomllib.loads(found.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as fault:
        raise _refused(found, "it cannot be read", "check the file, or remove it") from fault
    except tomllib.TOMLDecodeError as fault:
        raise _refused(found, f"it is no TOML: {clean(str(fault), 200)}", "correct that line") from fault
    for key, value in tree.items():
        if key not in _TAKES:
            raise _refused(found, f"unknown key {clean(key, 40)}", "keys are " + ", ".join(_TAKES))
        takes, example = _TAKES[key]
        if not takes(value):
            raise _refused(found, f"{key} does not take {clean(value, 40)}", example)
    return Config(**tree)


def _refused(path: Path, what: str, next_step: str) -> DejaError:
    return DejaError("CON-E003", f"{path.name}: {what}", next_step)
