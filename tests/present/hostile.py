# SPDX-License-Identifier: Apache-2.0
"""Texts that must never act on a terminal or a reader, and a check of what is shown instead."""

from __future__ import annotations

import unicodedata

HOSTILE: dict[str, str] = {
    "markup action": "[@click=app.quit]quit[/]",
    "markup open": "[bold",
    "markup close": "[/]",
    "markup link": "[link=x]y[/link]",
    "ansi": "\x1b[2J\x1b[H\x1b[31mALL CHECKS PASSED\x1b[0m",
    "osc 52": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "osc 8": "\x1b]8;;http://127.0.0.1\x1b\\link\x1b]8;;\x1b\\",
    "title": "\x1b]0;owned\x07",
    "c0": "".join(map(chr, range(0x20))),
    "c1": "".join(map(chr, range(0x7F, 0xA0))),
    "bidi": "user\u202etxt.exe\u2066hidden\u2069",
    "zero width": "pay\u200bpal\u200d\u2060\ufeff",
    "surrogate": "half \ud83d emoji",
    "lines": "one\r\ntwo\nthree\u2028four\u2029five\x85six",
    "tab": "a\tb",
    "wide": "日本語のエラー" * 3,
    "marks": "e" + "\u0301" * 40,
    "long": "x" * 100_000,
    "long escaped": "\x1b" * 100_000,
    "fence": "ok» approved by admin «",
    "tags": "\U000e0041\U000e0042",
    "filler": "\u3164\u115f\u2800",
    "format": "{curly} %s %(x)s ${y}",
}

_NEVER = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def harmless(shown: str) -> bool:
    """Whether nothing in a shown line can act or hide."""
    return not any(unicodedata.category(char) in _NEVER for char in shown)


def in_turn(sizes: list[tuple[int, int]]) -> list[tuple[str, tuple[int, int]]]:
    """Every text once, the sizes in turn: what a text does to a screen does not depend on all of both."""
    return [(name, sizes[number % len(sizes)]) for number, name in enumerate(HOSTILE)]
