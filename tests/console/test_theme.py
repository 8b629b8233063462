# SPDX-License-Identifier: Apache-2.0
"""Themes: reading, refusing, choosing, and whether they can be read by a person."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from deja_tui.console import theme
from deja_tui.console.grid import PLAIN, styled
from deja_tui.errors import DejaError
from deja_tui.present.recommendation import SEVERITY_LETTERS, severity
from tests.screens.user import console

SHIPPED = (
    "ansi-dark",
    "ansi-light",
    "dark",
    "deuteranopia",
    "high-contrast",
    "light",
    "mono",
    "projector",
)
TRUECOLOUR = [name for name in SHIPPED if not theme.load(name, (theme.shipped_folder(),)).ansi]


# What terminals show these names as unless somebody changed them (xterm's own), and the grounds they are shown on.
STANDARD = {
    "red": "#cd0000",
    "green": "#00cd00",
    "yellow": "#cdcd00",
    "blue": "#0000ee",
    "magenta": "#cd00cd",
    "cyan": "#00cdcd",
    "bright_red": "#ff0000",
}


def channels(color: str) -> list[float]:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(color: str) -> float:
    red, green, blue = channels(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_shipped_themes_are_these() -> None:
    """All of them load; the loader falls back to the checkout's folder (D50)."""
    assert tuple(theme.names((theme.shipped_folder(),))) == SHIPPED


@pytest.mark.parametrize("name", TRUECOLOUR)
def test_every_meaning_has_enough_contrast_on_its_ground(name: str) -> None:
    """At least 4.5:1, 7:1 in high contrast, on the plain ground and on the bars."""
    found = theme.load(name)
    least = 7.0 if name == "high-contrast" else 4.5
    ground = found.roles["background"]
    bar = found.looks["bar"].ground or ground
    for meaning, look in found.looks.items():
        assert contrast(look.color, look.ground or ground) >= least, meaning
        if look.ground is None:
            assert contrast(look.color, bar) >= least, f"{meaning} on a bar"


@pytest.mark.parametrize(
    ("name", "text", "ground"), [("ansi-dark", "#e5e5e5", "#000000"), ("ansi-light", "#000000", "#ffffff")]
)
def test_ansi_themes_have_enough_contrast_with_the_standard_colours(
    name: str, text: str, ground: str
) -> None:
    """At least 4.5:1 where the terminal shows xterm's own sixteen colours on the ground the theme is named for."""
    for meaning, look in theme.load(name).looks.items():
        color = text if look.color == "ansi_default" else STANDARD[look.color.removeprefix("ansi_")]
        assert contrast(color, ground) >= 4.5, meaning


@pytest.mark.parametrize("name", TRUECOLOUR)
def test_fixed_colours_are_those_of_the_palette(name: str) -> None:
    """A terminal of 256 colours shows exactly what one of more shows, and either is sent a number (GRID-5)."""
    found = theme.load(name)
    used = {*found.roles.values(), *(look.color for look in found.looks.values())}
    used |= {look.ground for look in found.looks.values() if look.ground}
    for color in used:
        red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
        assert styled(PLAIN, f"38;2;{red};{green};{blue}").fg.startswith("38;5;"), color


# What tells good from bad, and one severity from the next.
APART = [
    ("added", "removed"),
    ("ok", "error"),
    ("ok", "warning"),
    ("warning", "error"),
    ("severity-high", "severity-medium"),
    ("severity-medium", "severity-low"),
    ("severity-high", "severity-low"),
]


def seen_without_green(color: str) -> tuple[float, float, float]:
    """CIE L*a*b* of a colour as an eye without the green receptor sees it (Machado, Oliveira, Fernandes 2009)."""
    kinds = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881))
    light = channels(color)
    seen = [max(0.0, sum(part * share for part, share in zip(light, row, strict=True))) for row in kinds]
    white = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    x, y, z = (sum(a * b for a, b in zip(seen, row, strict=True)) / sum(row) for row in white)
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_deuteranopia_tells_good_from_bad() -> None:
    """Each pair that must be told apart differs by 20 or more in L*a*b* for an eye that sees no green."""
    found = theme.load("deuteranopia")
    for pair in APART:
        one, other = (seen_without_green(found.looks[meaning].color) for meaning in pair)
        assert math.dist(one, other) >= 20, pair


def test_meanings_of_opposite_sense_differ_without_colour_too() -> None:
    """Mono: no colour at all; what matters is bold or underlined, and every sign is a character anyway."""
    found = theme.load("mono")
    assert {look.color for look in found.looks.values()} == {"ansi_default"}
    assert {look.ground for look in found.looks.values()} == {None}
    attributes = {meaning: look.attributes for meaning, look in found.looks.items()}
    assert attributes["cursor"] == ("reverse",)
    assert "bold" in attributes["error"]
    assert attributes["error"] != attributes["warning"] != attributes["text"]
    assert attributes["strong"] == attributes["heading"] == ("bold",)
    assert attributes["dim"] == ()


@pytest.mark.parametrize("name", [name for name in SHIPPED if name not in TRUECOLOUR])
def test_ansi_themes_use_only_the_terminals_own_colours(name: str) -> None:
    """Nothing fixed, so that they fit any palette; the ground is the terminal's."""
    found = theme.load(name)
    colors = {look.color for look in found.looks.values()} | set(found.roles.values())
    assert all(color.startswith("ansi_") for color in colors)
    assert found.roles["background"] == "ansi_default"


@pytest.mark.parametrize("name", SHIPPED)
async def test_every_screen_shows_the_same_text_in_every_theme(name: str) -> None:
    """A theme changes how things look, never what is said."""
    async with console(theme="dark") as user:
        expected = user.rows
    async with console(theme=name) as user:
        assert user.rows == expected
        await user.press("enter", "h", "w", "a", "escape", "q", "?")
        assert user.app.return_code is None


@pytest.mark.parametrize(
    "flag,config,environment,chosen",
    [
        ("light", "mono", {"NO_COLOR": "1", "SSH_TTY": "/dev/pts/0"}, "light"),
        (None, "light", {"NO_COLOR": "1"}, "light"),
        (None, None, {"NO_COLOR": "", "SSH_TTY": "x"}, "mono"),
        (None, None, {"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "ansi-dark"),
        (None, None, {"SSH_TTY": "/dev/pts/0"}, "ansi-dark"),
        (None, None, {}, "dark"),
    ],
)
def test_the_choice(flag, config, environment, chosen) -> None:
    """Flag, config, NO_COLOR, SSH, else dark."""
    assert theme.choose(flag, config, environment) == chosen


def written(folder: Path, name: str, text: str) -> tuple[Path, ...]:
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return (folder, theme.shipped_folder())


def test_an_own_theme_may_extend_a_shipped_one(tmp_path: Path) -> None:
    """It changes what it names."""
    text = 'name = "mine"\nextends = "dark"\n[meanings]\nstrong = "#ffffff on #000000"\n[attributes]\nstrong = "bold underline"\n'
    found = theme.load("mine", written(tmp_path, "mine", text))
    assert found.looks["strong"] == theme.Look("#ffffff", "#000000", ("bold", "underline"))
    assert found.looks["error"] == theme.load("dark").looks["error"]


def test_an_own_theme_of_a_shipped_name_wins(tmp_path: Path) -> None:
    """A person's own folder is looked at first."""
    text = 'name = "light"\nextends = "mono"\n'
    assert theme.load("light", written(tmp_path, "light", text)).ansi


@pytest.mark.parametrize(
    "text,said",
    [
        ('nam = "x"', "x.toml: unknown key nam"),
        ('name = "y"', "x.toml: name is not the name of the file"),
        ('name = "x"\ndark = "yes"', "x.toml: dark is of the wrong kind"),
        ('name = "x"\n[meanings]\nseverity = "#ffffff"', "x.toml: unknown key meanings.severity"),
        ('name = "x"\n[meanings]\nstrong = "white"', "x.toml: meanings.strong is not understood: white"),
        ('name = "x"\n[meanings]\nstrong = 3', "x.toml: meanings.strong is not understood: 3"),
        ('name = "x"\n[roles]\nborder = "#ffffff"', "x.toml: unknown key roles.border"),
        ('name = "x"\n[attributes]\nstrong = "blink"', "x.toml: attributes.strong is not understood: blink"),
        ('name = "x"\n[meanings]\ntext = "#ffffff"', "x.toml: meanings.strong is missing"),
        ('name = "x"\nextends = "x"', "x.toml: extends goes in a circle at x"),
        ('name = "x"\nextends = "nowhere"', "nowhere.toml: there is no such theme"),
        ("name = ", "x.toml: it cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_naming_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    """CON-E001 and a next step."""
    with pytest.raises(DejaError) as caught:
        theme.load("x", written(tmp_path, "x", text))
    assert caught.value.code == "CON-E001"
    assert caught.value.message.startswith(said)
    assert caught.value.next_step


@pytest.mark.parametrize("name", ["../secret", "", "a/b", "\x1b[31m", "DARK"])
def test_a_name_is_not_a_path(name: str) -> None:
    """Only a plain name is looked for, and it is shown cleaned."""
    with pytest.raises(DejaError) as caught:
        theme.load(name)
    assert "there is no such theme" in caught.value.message
    assert "\x1b" not in caught.value.message


@pytest.mark.parametrize(
    "environment,chosen",
    [
        ({"TERM": "xterm"}, "ansi-dark"),
        ({"TERM": "linux", "COLORFGBG": "0;15"}, "ansi-light"),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;7"}, "light"),
        ({"TERM": "xterm-256color", "COLORFGBG": "15;0"}, "dark"),
        ({"TERM": "xterm-256color", "SSH_CLIENT": "x", "COLORFGBG": "0;default;15"}, "ansi-light"),
    ],
)
def test_sixteen_colours_and_a_light_background_are_facts(environment: dict[str, str], chosen: str) -> None:
    """What the terminal says of itself, where nobody said anything."""
    assert theme.choose(None, None, environment) == chosen


def test_severity_is_a_letter_wherever_it_has_a_colour() -> None:
    """Never by colour alone: one function gives a severity its look, and what it draws is the letter of its own."""
    room = Path(theme.__file__).parent.parent
    says = [path.name for path in room.rglob("*.py") if '"severity-' in path.read_text(encoding="utf-8")]
    assert sorted(says) == ["line.py", "recommendation.py"]
    drawn = {name: severity(name) for name in SEVERITY_LETTERS}
    assert {span.meaning for span in drawn.values()} == {f"severity-{name}" for name in drawn}
    assert [span.text for span in drawn.values()] == list(SEVERITY_LETTERS.values())
    assert len({span.text for span in drawn.values()}) == 4
