# SPDX-License-Identifier: Apache-2.0
"""Themes: TOML files that give each meaning of `present.line` a look.

A file has ``name`` (equal to the file name), ``extends`` (another theme for what it leaves out), ``dark``, ``ansi``
(only the terminal's own colours), and the tables ``roles`` (Textual's colour fields), ``meanings`` (``"#c0caf5"`` or
``"#1a1b26 on #7aa2f7"``) and ``attributes`` (``bold``, ``underline``, ``italic``, ``reverse``). Anything else in it is an
error that names file and key (CON-E001).

Shipped themes lie in ``deja_tui/themes`` of an installed package, in ``themes/`` of a checkout (D50); a person's own in
``themes/`` of the config folder.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deja_tui.console.terminal import facts
from deja_tui.errors import DejaError
from deja_tui.present.line import MEANINGS
from deja_tui.text import clean

if TYPE_CHECKING:
    from textual.theme import Theme

    from deja_tui.widgets.paint import Paint

# What lines are drawn on: plain ground, title and hint rows, the selected row.
GROUNDS: Final = ("text", "bar", "cursor")
LOOKS: Final = (*MEANINGS, "bar", "cursor")
ROLES: Final = (
    "primary",
    "secondary",
    "warning",
    "error",
    "success",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "boost",
)
ATTRIBUTES: Final = ("bold", "italic", "underline", "reverse")
_TOP: Final = ("name", "extends", "dark", "ansi", "roles", "meanings", "attributes")
_HEX = re.compile(r"#[0-9a-f]{6}\Z")
_ANSI = re.compile(r"ansi_(default|(bright_)?(black|red|green|yellow|blue|magenta|cyan|white))\Z")


@dataclass(frozen=True, slots=True)
class Look:
    """A foreground, a background (None: the ground's own) and attributes."""

    color: str
    ground: str | None = None
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ThemeFile:
    """A theme with nothing missing. Colours are ``#rrggbb`` or ``ansi_…``."""

    name: str
    dark: bool
    ansi: bool
    roles: Mapping[str, str]
    looks: Mapping[str, Look]


def shipped_folder() -> Path:
    """Where the themes of this version lie."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def own_folder() -> Path:
    """Where a person's own themes lie (D48)."""
    import platformdirs

    return Path(platformdirs.user_config_dir("deja")) / "themes"


def names(folders: tuple[Path, ...] | None = None) -> list[str]:
    """The names of all themes there are, sorted."""
    return sorted({path.stem for folder in folders or _folders() for path in folder.glob("*.toml")})


def load(name: str, folders: tuple[Path, ...] | None = None) -> ThemeFile:
    """The theme of that name; a person's own file wins. Raises CON-E001."""
    merged = _merged(name, folders or _folders(), ())
    meanings, attributes = merged["meanings"], merged["attributes"]
    missing = [f"meanings.{key}" for key in LOOKS if key not in meanings]
    missing += [
        f"roles.{key}" for key in ("primary", "foreground", "background") if key not in merged["roles"]
    ]
    if missing:
        raise _refused(f"{name}.toml", f"{missing[0]} is missing", "add it, or extend a theme that has it")
    looks = {key: _look(meanings[key], attributes.get(key, "")) for key in LOOKS}
    return ThemeFile(name, bool(merged["dark"]), bool(merged["ansi"]), merged["roles"], looks)


def choose(flag: str | None, config: str | None, environment: Mapping[str, str]) -> str:
    """Which theme to use: flag, config, ``NO_COLOR``, then the terminal's own colours over SSH or where it has only sixteen,
    for the background that ``COLORFGBG`` names, else dark."""
    if flag or config:
        return flag or config or ""
    if "NO_COLOR" in environment:
        return "mono"
    found = facts(environment)
    light = environment.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
    if found.ssh or (environment.get("TERM") and found.colours == "16"):
        return "ansi-light" if light else "ansi-dark"
    return "light" if light else "dark"


# --- reading ----------------------------------------------------------------------------------------


def _folders() -> tuple[Path, ...]:
    return (own_folder(), shipped_folder())


def _merged(name: str, folders: tuple[Path, ...], seen: tuple[str, ...]) -> dict[str, Any]:
    if name in seen:
        raise _refused(
            f"{seen[0]}.toml", f"extends goes in a circle at {clean(name, 40)}", "end it somewhere"
        )
    own = _read(name, folders)
    if "extends" not in own:
        base: dict[str, Any] = {"dark": True, "ansi": False, "roles": {}, "meanings": {}, "attributes": {}}
    else:
        base = _merged(own["extends"], folders, (*seen, name))
    tables = {key: {**base[key], **own.get(key, {})} for key in ("roles", "meanings", "attributes")}
    return {"dark": own.get("dark", base["dark"]), "ansi": own.get("ansi", base["ansi"]), **tables}


def _read(name: str, folders: tuple[Path, ...]) -> dict[str, Any]:
    file = f"{clean(name, 40)}.toml"
    paths = [folder / f"{name}.toml" for folder in folders] if _plain(name) else []
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        known = ", ".join(names(folders)) or "none"
        raise _refused(file, "there is no such theme", f"there are: {known}")
    try:
        tree = tomllib.loads(found.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as fault:
        raise _refused(file, f"it cannot be read: {clean(str(fault), 200)}", "correct it") from fault
    _check(file, name, tree)
    return tree


def _plain(name: str) -> bool:
    return re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", name) is not None


def _check(file: str, name: str, tree: Mapping[str, Any]) -> None:
    kinds = {"name": str, "extends": str, "dark": bool, "ansi": bool}
    for key, value in tree.items():
        if key not in _TOP:
            raise _refused(file, f"unknown key {clean(key, 40)}", "keys are " + ", ".join(_TOP))
        if not isinstance(value, kinds.get(key, dict)):
            raise _refused(file, f"{key} is of the wrong kind", "see a shipped theme")
    if tree.get("name") != name:
        raise _refused(file, "name is not the name of the file", f'name = "{clean(name, 40)}"')
    for table, known in (("roles", ROLES), ("meanings", LOOKS), ("attributes", LOOKS)):
        for key, value in tree.get(table, {}).items():
            if key not in known:
                raise _refused(file, f"unknown key {table}.{clean(key, 40)}", "keys are " + ", ".join(known))
            if not _fits(table, value):
                shown = clean(value, 40)
                raise _refused(file, f"{table}.{key} is not understood: {shown}", _SHAPES[table])


_SHAPES: Final = {
    "roles": "a colour is #rrggbb or ansi_red and the like",
    "meanings": 'a look is "#rrggbb" or "#rrggbb on #rrggbb"',
    "attributes": "attributes are words out of " + ", ".join(ATTRIBUTES),
}


def _fits(table: str, value: object) -> bool:
    if not isinstance(value, str):
        return False
    if table == "attributes":
        return set(value.split()) <= set(ATTRIBUTES)
    colors = value.split(" on ") if table == "meanings" else [value]
    return len(colors) <= 2 and all(_HEX.match(color) or _ANSI.match(color) for color in colors)


def _look(meaning: str, attributes: str) -> Look:
    color, _, ground = meaning.partition(" on ")
    return Look(color, ground or None, tuple(attributes.split()))


def _refused(file: str, what: str, next_step: str) -> DejaError:
    return DejaError("CON-E001", f"{file}: {what}", next_step)


# --- for Textual ------------------------------------------------------------------------------------


def paint(theme: ThemeFile) -> Paint:
    """The theme as styles. Grounds carry a background, other meanings draw on whatever ground they stand."""
    from rich.style import Style

    from deja_tui.widgets.paint import Paint

    styles: dict[str, Style] = {}
    for key, look in theme.looks.items():
        ground = look.ground or (theme.roles["background"] if key in GROUNDS else None)
        words = dict.fromkeys(look.attributes, True)
        styles[key] = Style(color=_rich(look.color), bgcolor=_rich(ground) if ground else None, **words)  # type: ignore[arg-type]
    return Paint(styles)


def _rich(color: str) -> str:
    return color.removeprefix("ansi_")


def textual_theme(theme: ThemeFile) -> Theme:
    """The theme for Textual's own style sheet, which only draws the empty ground."""
    from textual.theme import BUILTIN_THEMES, Theme

    # Textual's own style sheet asks an ANSI theme for variables that only its own ANSI themes have.
    model = BUILTIN_THEMES["ansi-dark" if theme.dark else "ansi-light"]
    variables = dict(model.variables) if theme.ansi else {}
    roles: dict[str, Any] = dict(theme.roles)
    return Theme(name=f"deja-{theme.name}", dark=theme.dark, ansi=theme.ansi, variables=variables, **roles)
