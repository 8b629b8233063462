# SPDX-License-Identifier: Apache-2.0
"""What this terminal is, from facts of the environment, and what follows for colours, mouse and marks.

* TERMINAL-1  Over SSH the mouse stays with the terminal and its own colours are used: both cost bytes and selection.
* TERMINAL-2  GNU screen is given no colours beyond 256: it would show the codes of others.
* TERMINAL-3  Inside tmux and screen a frame carries no marks of one update: they pass them on badly.
* TERMINAL-4  What a person says, by flag or file, wins over every fact.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

COLOURS: Final = ("none", "16", "256", "truecolor")
"""How many colours may be sent; ``none`` leaves bold, underline and reverse."""
CLIPBOARD_MOST: Final = 16_384
"""Bytes of text that are offered to a terminal's clipboard; many terminals drop longer ones without a word."""
# GNU screen takes a string of at most this many bytes at once.
_PIECE: Final = 512


@dataclass(frozen=True, slots=True)
class Terminal:
    """The facts. ``multiplexer`` is tmux, screen or empty; ``colours`` is one of `COLOURS`, ``why`` says how it was found.

    ``mouse`` and ``sync``: whether the mouse is asked for, and whether large frames may be marked as one update.
    ``ascii``: whether marks are drawn in ASCII.
    """

    name: str = "unknown"
    ssh: bool = False
    multiplexer: str = ""
    colours: str = "256"
    why: str = ""
    mouse: bool = False
    sync: bool = True
    ascii: bool = False


def facts(
    environment: Mapping[str, str],
    *,
    colours: str | None = None,
    mouse: bool | None = None,
    ascii: bool = False,
) -> Terminal:
    """What the environment tells; what is given wins (TERMINAL-4)."""
    term = environment.get("TERM", "")
    ssh = any(environment.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"))
    multiplexer = _multiplexer(environment, term)
    found, why = (colours, "chosen") if colours else _colours(environment, term, multiplexer)
    return Terminal(
        name=term or "unknown",
        ssh=ssh,
        multiplexer=multiplexer,
        colours=found,
        why=why,
        mouse=not ssh if mouse is None else mouse,
        sync=not multiplexer,
        ascii=ascii,
    )


def _multiplexer(environment: Mapping[str, str], term: str) -> str:
    if environment.get("TMUX") or term.startswith("tmux"):
        return "tmux"
    return "screen" if environment.get("STY") else ""


def _colours(environment: Mapping[str, str], term: str, multiplexer: str) -> tuple[str, str]:
    if "NO_COLOR" in environment:
        return "none", "NO_COLOR is set"
    if environment.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        if multiplexer == "screen":
            return "256", "COLORTERM says more, screen does not show it"
        return "truecolor", "COLORTERM says so"
    if term.endswith("256color") or term.endswith("kitty"):
        return "256", "TERM says so, COLORTERM nothing"
    return "16", "neither TERM nor COLORTERM says more"


def clipboard(text: str, terminal: Terminal) -> str | None:
    """The sequences that offer ``text`` to the clipboard (OSC 52), or None where it is too long.

    tmux takes the plain one with ``set-clipboard on`` and passes the wrapped one with ``allow-passthrough on``: it is given
    both. GNU screen passes only what is wrapped, in short pieces.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > CLIPBOARD_MOST:
        return None
    bare = f"\x1b]52;c;{base64.b64encode(data).decode('ascii')}\x07"
    if terminal.multiplexer == "tmux":
        return bare + "\x1bPtmux;" + bare.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if terminal.multiplexer == "screen":
        pieces = (bare[start : start + _PIECE] for start in range(0, len(bare), _PIECE))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return bare
