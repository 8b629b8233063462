# SPDX-License-Identifier: Apache-2.0
"""What reaches the terminal of what Textual writes."""

from __future__ import annotations

import pyte
import pytest

from deja_tui.console.driver import Canvas, TerminalDriver

FRAME = "\x1b[1;1H\x1b[31mone  \x1b[0m\n\x1b[2;1Htwo  \x1b[1;1H"


def screen(*sent: str) -> list[str]:
    shown = pyte.Screen(20, 4)
    stream = pyte.Stream(shown)
    for data in sent:
        stream.feed(data)
    return [line.rstrip() for line in shown.display]


def test_only_differences_are_sent() -> None:
    """DRIVER-1: the same frame again sends nothing; one changed letter sends that letter."""
    canvas = Canvas(20, 4)
    first = canvas.frame(FRAME, sync=False)
    assert screen(first) == ["one", "two", "", ""]
    assert canvas.frame(FRAME, sync=False) == ""
    second = canvas.frame(FRAME.replace("two", "tWo"), sync=False)
    assert second.count("W") == 1
    assert len(second) < 20
    assert screen(first, second) == ["one", "tWo", "", ""]


def test_forgetting_sends_everything_again() -> None:
    """DRIVER-2: after a repaint, and after another size, nothing of the former screen is relied on."""
    canvas = Canvas(20, 4)
    canvas.frame(FRAME, sync=False)
    assert screen("\x1b[3;3Hgarbage of another program", canvas.again()) == ["one", "two", "", ""]
    canvas.resize(20, 3)
    assert canvas.frame("\x1b[1;1Hnew  \x1b[1;1H", sync=False).startswith("\x1b[m\x1b[H\x1b[2J")
    canvas.resize(20, 3)
    assert canvas.frame("\x1b[1;1Hnew  \x1b[1;1H", sync=False) == ""


def test_what_is_not_about_cells_passes_through() -> None:
    """DRIVER-3: modes, titles, queries and the clipboard are sent as they come, in their order."""
    canvas = Canvas(20, 4)
    for data in ("\x1b[?25l\x1b[?1004h", "\x1b]52;c;aGk=\x07", "\x1b[>25u", "\x1b[?2026$p", "\x07"):
        assert canvas.frame(data, sync=False) == data


def test_large_frames_are_one_update() -> None:
    """DRIVER-4: marks of an update go around a large frame only, and only where the terminal offers them."""
    canvas = Canvas(80, 30)
    large = "".join(f"\x1b[{y};1H{'abcdefgh' * 10}" for y in range(1, 31))
    told = canvas.frame(large, sync=True)
    assert (told[:8], told[-8:]) == ("\x1b[?2026h", "\x1b[?2026l")
    assert "2026" not in canvas.frame("\x1b[1;1HX", sync=True)
    canvas.forget()
    assert "2026" not in canvas.frame(large, sync=False)
    assert canvas.frame("\x1b[?2026h", sync=True) == ""


def test_leaving_takes_the_colours_along() -> None:
    """DRIVER-5: before the screen is left the terminal's own colours are set, and what is painted later starts anew."""
    canvas = Canvas(20, 4)
    canvas.frame(FRAME, sync=False)
    assert canvas.frame("\x1b[?1049l", sync=False) == "\x1b[m\x1b[?1049l"
    assert canvas.frame("\x1b[?1049h", sync=False).startswith("\x1b[?1049h\x1b[m\x1b[H\x1b[2J")


def test_nothing_is_painted_where_the_shell_is() -> None:
    """DRIVER-5: what is written after the screen was left passes alone, and a repaint sends nothing until it is entered."""
    canvas = Canvas(20, 4)
    canvas.frame(FRAME, sync=False)
    canvas.frame("\x1b[?1049l", sync=False)
    assert canvas.frame("\x1b[?25h", sync=False) == "\x1b[?25h"
    assert canvas.frame("\x1b[?1004l", sync=False) == "\x1b[?1004l"
    assert canvas.again() == ""
    assert "\x1b[2J" in canvas.frame("\x1b[?1049h", sync=False)


def test_the_ground_is_painted_by_clearing() -> None:
    """DRIVER-1, DELTA-4: where the terminal erases in colour, empty space costs nothing at the start."""
    empty = "".join(f"\x1b[{y};1H\x1b[44m{' ' * 20}\x1b[m" for y in range(1, 5))
    canvas = Canvas(20, 4, bce=True)
    assert canvas.frame(f"{empty}\x1b[1;1H\x1b[44mx", sync=False) == "\x1b[m\x1b[44m\x1b[H\x1b[2Jx"
    assert len(Canvas(20, 4).frame(f"{empty}\x1b[1;1Hx", sync=False)) > 80


def test_of_the_mouse_only_presses_and_the_wheel_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """DRIVER-6: on, off, and nothing where it is off already."""
    written: list[str] = []
    driver = object.__new__(TerminalDriver)
    driver._mouse = False
    monkeypatch.setattr(TerminalDriver, "write", lambda self, data: written.append(data))
    monkeypatch.setattr(TerminalDriver, "flush", lambda self: None)
    driver.switch_mouse(True)
    driver.switch_mouse(False)
    assert written == ["\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l"]
