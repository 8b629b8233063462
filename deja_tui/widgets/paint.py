# SPDX-License-Identifier: Apache-2.0
"""How a theme's meanings are drawn: lines of `present` in, strips of the line API out.

Text is put into segments as it is. No widget of this console parses markup, so a grain can say ``[@click=app.quit]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, cast

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from deja_tui.present.line import Line, clip
from deja_tui.text import cells

_MARKS: Final = str.maketrans("▸│…→·↑↓←─–⇧×", ">|~>-^v<--^x")
# Where fenced text was cut: at its end, or before the number of what is left out.
_CUT: Final = re.compile(r"…(?=»?\Z|\(\+\d+\)»?\Z)")


@dataclass(frozen=True, slots=True)
class Paint:
    """The styles of a theme, one a meaning. ``text``, ``cursor`` and ``bar`` are grounds a line is drawn on."""

    styles: Mapping[str, Style]
    ascii: bool = False

    def marked(self, text: str, meaning: str = "") -> str:
        """Text with the marks of this console in ASCII, where that is wanted.

        Only marks of one cell are replaced, each by one cell. Text of a tool, a model or a person stays what it is, and so
        does its fence: whatever stood for «» could stand in the text, too.
        """
        if not self.ascii or text.isascii():
            return text
        if meaning != "untrusted":
            return text.translate(_MARKS)
        return _CUT.sub("~", text)

    def style(self, meaning: str, ground: str = "text") -> Style:
        """The style of a meaning on a ground; a meaning the theme does not know looks like the ground."""
        base = self.styles[ground]
        found = self.styles.get(meaning) if meaning else None
        return base if found is None else base + found

    def strip(self, line: Line, room: int, *, ground: str = "text", flat: bool = False) -> Strip:
        """``line`` cut and filled to ``room`` cells; ``flat`` draws all of it in the ground's own style."""
        base = self.styles[ground]
        segments: list[Segment] = []
        used = 0
        for span in clip(line, room):
            told = self.marked(span.text, span.meaning)
            segments.append(Segment(told, base if flat else self.style(span.meaning, ground)))
            used += cells(span.text)
        if used < room:
            segments.append(Segment(" " * (room - used), base))
        return Strip(segments, room)


class Painted(Protocol):
    """An app that carries the paint of its theme."""

    paint: Paint


def paint_of(widget: Widget) -> Paint:
    """The paint of the app a widget lives in."""
    return cast(Painted, widget.app).paint
