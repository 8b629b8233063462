# SPDX-License-Identifier: Apache-2.0
"""What the environment tells of a terminal, and how text is offered to its clipboard."""

from __future__ import annotations

import base64

import pytest

from deja_tui.console.terminal import CLIPBOARD_MOST, Terminal, clipboard, facts


@pytest.mark.parametrize(
    "environment,colours,multiplexer,ssh",
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor", "", False),
        ({"TERM": "xterm-256color", "SSH_CONNECTION": "a b c d"}, "256", "", True),
        ({"TERM": "xterm"}, "16", "", False),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "none", "", False),
        ({"TERM": "tmux-256color", "SSH_TTY": "/dev/pts/1"}, "256", "tmux", True),
        ({"TERM": "screen-256color", "TMUX": "/x,1,0"}, "256", "tmux", False),
        ({"TERM": "screen-256color", "STY": "1.x", "COLORTERM": "truecolor"}, "256", "screen", False),
        ({}, "16", "", False),
    ],
)
def test_facts_come_from_the_environment(environment, colours, multiplexer, ssh) -> None:
    """TERMINAL-1, TERMINAL-2, TERMINAL-3: colours, multiplexer, SSH; the mouse is off over SSH, sync inside a multiplexer."""
    found = facts(environment)
    assert (found.colours, found.multiplexer, found.ssh) == (colours, multiplexer, ssh)
    assert found.mouse is not ssh
    assert found.sync is (multiplexer == "")
    assert found.why


def test_what_a_person_says_wins() -> None:
    """TERMINAL-4: over every fact."""
    found = facts({"SSH_TTY": "x", "NO_COLOR": ""}, colours="truecolor", mouse=True, ascii=True)
    assert (found.colours, found.why, found.mouse, found.ascii) == ("truecolor", "chosen", True, True)


def told(sequence: str) -> str:
    return base64.b64decode(sequence.removeprefix("\x1b]52;c;").removesuffix("\x07")).decode()


def test_text_is_offered_plain_wrapped_for_tmux_and_in_pieces_for_screen() -> None:
    """OSC 52; what tmux and screen pass on is the same sequence again."""
    text = "RECALL facts «é» " * 40
    bare = clipboard(text, Terminal())
    assert bare is not None
    assert told(bare) == text
    wrapped = clipboard(text, Terminal(multiplexer="tmux"))
    assert wrapped == bare + "\x1bPtmux;" + bare.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    pieces = clipboard(text, Terminal(multiplexer="screen"))
    assert pieces is not None
    assert pieces.count("\x1bP") > 1
    assert pieces.replace("\x1bP", "").replace("\x1b\\", "") == bare
    assert max(len(piece) for piece in pieces.split("\x1b\\")) < 768


def test_a_text_that_terminals_would_drop_is_not_sent() -> None:
    """Its size is bounded, in bytes."""
    assert clipboard("é" * (CLIPBOARD_MOST // 2), Terminal()) is not None
    assert clipboard("é" * (CLIPBOARD_MOST // 2 + 1), Terminal()) is None
