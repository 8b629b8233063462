# SPDX-License-Identifier: Apache-2.0
"""Pasted text stays one piece: an escape inside it is taken out before a key can be read from it."""

from __future__ import annotations

from typing import Final

ESC: Final = "\x1b"
BEGIN: Final = "\x1b[200~"
END: Final = "\x1b[201~"


class Pasting:
    """Takes the escapes out of bracketed pastes in a stream of terminal input.

    Textual's parser looks for key sequences inside a paste too: what follows an escape there arrives as keys, before
    the text that stood in front of it. The markers of the paste may lie in two reads.
    """

    def __init__(self) -> None:
        self.inside = False
        self.held = ""  # the start of what may be the marker the state waits for

    def tame(self, read: str) -> str:
        """What was read, without escapes inside pastes. Outside nothing is kept back, or Esc would wait."""
        out: list[str] = []
        for char in read:
            self._next(char, out)
        return "".join(out)

    def _next(self, char: str, out: list[str]) -> None:
        marker = END if self.inside else BEGIN
        held = self.held + char
        if not self.inside:
            out.append(char)
        if marker.startswith(held):
            self.held = "" if held == marker else held
            if held == marker:
                out.extend(marker if self.inside else ())
                self.inside = not self.inside
            return
        if self.inside:
            out.extend(kept for kept in self.held if kept != ESC)
        self.held = ""
        if char == ESC:
            self.held = ESC
        elif self.inside:
            out.append(char)
