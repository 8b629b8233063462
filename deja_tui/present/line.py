# SPDX-License-Identifier: Apache-2.0
"""A line of a surface: spans of text, each with a meaning instead of a colour.

A meaning is a role name a theme gives a look to (`console.theme`); the command line ignores it. Text inside a span is
already clean (`deja_tui.text`), so a line can be drawn as it is. All widths are terminal cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from deja_tui.text import cells
from deja_tui.text import clip as clip_text

# Every meaning a theme must give a look to. The empty meaning is plain text.
MEANINGS: Final[tuple[str, ...]] = (
    "text",
    "strong",
    "dim",
    "heading",
    "address",
    "untrusted",
    "severity-high",
    "severity-medium",
    "severity-low",
    "severity-info",
    "added",
    "removed",
    "kept",
    "ok",
    "warning",
    "error",
    "key",
    "prompt",
)


class Span(NamedTuple):
    """Clean text with one meaning."""

    text: str
    meaning: str = ""


Line: TypeAlias = tuple[Span, ...]
Part: TypeAlias = "str | Span | Line"


def line(*parts: Part) -> Line:
    """Put a line together from texts, spans and lines; empty parts fall out."""
    spans: list[Span] = []
    for part in parts:
        if isinstance(part, str):
            spans.append(Span(part))
        elif isinstance(part, Span):
            spans.append(part)
        else:
            spans.extend(part)
    return tuple(span for span in spans if span.text)


def plain(line: Line) -> str:
    """The text of a line, as it is."""
    return "".join(span.text for span in line)


def width(line: Line) -> int:
    """The number of cells a line takes."""
    return sum(cells(span.text) for span in line)


def clip(line: Line, room: int) -> Line:
    """A line cut to at most ``room`` cells, ending in ``…`` when something was cut."""
    if width(line) <= room:
        return line
    if room <= 0:
        return ()
    out: list[Span] = []
    left = room
    for position, span in enumerate(line):
        size = cells(span.text)
        more = any(later.text for later in line[position + 1 :])
        if size < left or (size == left and not more):
            out.append(span)
            left -= size
            continue
        # The mark for what is left out needs a cell, so a span that just fits is cut too when another follows.
        out.append(Span(_clip_fenced(span.text if size > left else span.text + "..", left), span.meaning))
        break
    return tuple(out)


def _clip_fenced(text: str, room: int) -> str:
    """Cut text; a fence that is cut is closed again, or what follows would seem to be inside it."""
    kept = clip_text(text, room)
    if kept.count("«") <= kept.count("»"):
        return kept
    kept = clip_text(text, room - 1)
    if kept.endswith("«…"):
        return kept.removesuffix("«…") + "…"
    return kept + "»" if kept.count("«") > kept.count("»") else kept


def pad(line: Line, room: int) -> Line:
    """A line cut and filled with blanks to exactly ``room`` cells."""
    cut = clip(line, room)
    missing = room - width(cut)
    return (*cut, Span(" " * missing)) if missing > 0 else cut


def wrap(line: Line, room: int, hang: int = 0) -> list[Line]:
    """A line in pieces of at most ``room`` cells, broken at blanks where there are any; later pieces hang in."""
    if room <= hang + 1:
        return [clip(line, room)]
    text = plain(line)
    pieces: list[Line] = []
    for start, end in _pieces(text, room, hang):
        piece = cut(line, start, end)
        pieces.append(piece if not pieces else (Span(" " * hang), *piece) if hang else piece)
    return pieces or [()]


def _pieces(text: str, room: int, hang: int) -> list[tuple[int, int]]:
    """Where to break, in one pass: hostile text can be long, so nothing is measured twice."""
    found: list[tuple[int, int]] = []
    start, used, blank, room_here = 0, 0, -1, room
    position = 0
    while position < len(text):
        size = cells(text[position])
        if used + size > room_here and position > start:
            if text[position] == " ":
                found.append((start, position))
                start = position + 1
            elif blank > start and not _too_long(text, blank + 1, room - hang):
                found.append((start, blank))
                start = blank + 1
            else:
                found.append((start, position))
                start = position
            position, used, blank, room_here = start, 0, -1, room - hang
            continue
        if text[position] == " " and text[start:position].strip():
            blank = position
        used += size
        position += 1
    if start < len(text):
        found.append((start, len(text)))
    return found


def _too_long(text: str, start: int, room: int) -> bool:
    """Whether the word at ``start`` must be broken anyway: then it is begun on the line there is room on."""
    end = text.find(" ", start, start + room + 1)
    return end < 0 and len(text) - start > room


def cut(line: Line, start: int, end: int) -> Line:
    """The code points ``start`` to ``end`` of a line, meanings kept."""
    out: list[Span] = []
    position = 0
    for span in line:
        low, high = max(start - position, 0), min(end - position, len(span.text))
        if low < high:
            out.append(Span(span.text[low:high], span.meaning))
        position += len(span.text)
    return tuple(out)


def heading(title: str, room: int, *, meaning: str = "heading", rule: str = "-") -> Line:
    """A section rule: ``-- Evidence 8 of 8 -----``, exactly ``room`` cells where the title fits."""
    head = f"{rule * 2} {title} "
    return (Span(clip_text(head, room), meaning), Span(rule * max(0, room - cells(head)), "dim"))


def joined(parts: Iterable[Part], between: str = " · ") -> Line:
    """Parts with a separator between them, in the colour of plain text: one of its own would cost more bytes than a name."""
    out: list[Part] = []
    for part in parts:
        if out:
            out.append(between)
        out.append(part)
    return line(*out)


def wrapped(lines: Sequence[Line], room: int, hang: int = 4) -> list[Line]:
    """`wrap` for a list of lines."""
    return [piece for one in lines for piece in wrap(one, room, hang)]
