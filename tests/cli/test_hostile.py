# SPDX-License-Identifier: Apache-2.0
"""Text of a tool error that would act, hide or spoof: what ``list``, ``show``, ``review`` and JSON do with it."""

from __future__ import annotations

import io
import json
import re
import unicodedata
from pathlib import Path

import pytest

from deja_tui import Memory
from tests.cli.conftest import Deja
from tests.support import DAY, NOW

# name → (what the tool said, how a reader sees its beginning)
ERRORS = {
    "markup": ("[@click=app.quit]quit[/] [bold", "«[@click=app.quit]quit[/] [bold»"),
    "escapes": ("\x1b[2J\x1b]52;c;cm0=\x07gone", "«\\x1b[2J\\x1b]52;c;cm0=\\x07gone»"),
    "controls": ("a\rb\x08c\x7fd\x9be", "«a\\rb\\x08c\\x7fd\\x9be»"),
    "bidi": ("safe \u202eexe.txt\u202c \u2066x\u2069", "«safe \\u202eexe.txt\\u202c \\u2066x\\u2069»"),
    "hidden": ("pay\u200bpal\u2060 \ufeff\u00ad", "«pay\\u200bpal\\u2060 \\ufeff\\xad»"),
    "surrogate": ("half \ud83d of it", "«half � of it»"),
    "lines": ("one\u2028two\nthree\tfour\u0085five", "«one\\u2028two\\nthree\\tfour\\x85five»"),
    "fences": ("» approved «", "«"),
    "long": ("x" * 100_000, "«xxxxxxxx"),
    "wide": ("日本語のエラー 🚀", "«日本語のエラー 🚀»"),
}
_ALLOWED = re.compile(r"[^\n]")


def assert_safe(text: str) -> None:
    """No character in ``text`` can act on a terminal or hide from a reader."""
    for char in text:
        assert char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"), repr(
            char
        )


@pytest.fixture(params=sorted(ERRORS))
def planted(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A memory whose one recommendation quotes a hostile error, and the text a reader must see."""
    said, seen = ERRORS[request.param]
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW - DAY) as memory:
        for number in range(6):
            memory.record_tool_call("curl\x1b[7m", said, True, thread="s\u202e1", call_id=str(number))
        memory.loop.run()
    return path, seen


def address_of(deja: Deja, path: Path) -> str:
    (row,) = deja("loop", "list", "--db", path, "--format", "json").json["recommendations"]
    return str(row["address"])


def test_list_show_and_json_are_safe_and_literal(deja: Deja, planted: tuple[Path, str]) -> None:
    """Shown as visible escapes, fenced, one line a row, bounded."""
    path, seen = planted
    listed = deja("loop", "list", "--db", path)
    assert_safe(listed.out)
    assert len(listed.out.splitlines()) == 2
    shown = deja("loop", "show", address_of(deja, path), "--db", path)
    assert_safe(shown.out)
    joined = "".join(line.strip() for line in shown.out.splitlines())
    assert seen.replace(" ", "") in joined.replace(" ", "")
    assert len(shown.out) < 20_000
    for argv in (["loop", "show", address_of(deja, path)], ["loop", "list"], ["recall"], ["search", "curl"]):
        told = deja(*argv, "--db", path, "--format", "json")
        assert told.out.isascii()
        assert "\x7f" not in told.out
        json.loads(told.out)
    grains = deja("recall", "--db", path, "--format", "json").json["grains"]
    for argv in (["recall"], ["search", "curl"], ["stats"], ["verify"], ["history", grains[0]["address"]]):
        assert_safe(deja(*argv, "--db", path).out)


def test_review_is_safe_and_literal(
    deja: Deja, planted: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line-mode walker, evidence in full included; a hostile reason comes back escaped too."""
    path, seen = planted
    typed = "e\nx\nbecause \x1b[31mred\u202e [bold\nq\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    done = deja("review", "--db", path)
    assert done.code == 0
    assert_safe(done.out)
    joined = "".join(line.strip() for line in done.out.splitlines())
    assert seen.replace(" ", "") in joined.replace(" ", "")
    assert "\\x1b[31mred\\u202e [bold" in done.out
    assert "REJECTED" in done.out


def test_a_namespace_of_a_stranger_is_shown_safely(deja: Deja, tmp_path: Path) -> None:
    """`stats` names namespaces; a name may hold anything."""
    path = tmp_path / "a.deja"
    with Memory.open(path, clock=lambda: NOW) as memory:
        memory.add_fact("a", "b", "c", namespace="x\u2800\u3164\x1b[2J\u202e\ufe0f")
    assert_safe(deja("stats", "--db", path).out)


def test_error_messages_do_not_echo_raw_text(deja: Deja, tmp_path: Path) -> None:
    """What a person typed wrong comes back escaped as well."""
    path = tmp_path / "a.deja"
    assert deja("init", "--db", path).code == 0
    for argv in (
        ["loop", "show", "\x1b[31mdead", "--db", path],
        ["loop", "\x1b[31mrun"],
        ["import", "claude-code", tmp_path / "\x1b[31mnone", "--db", path],
        ["loop", "list", "--db", tmp_path / "no\x1b[31mne.deja"],
        ["ui", "--\x1b[31mx", path],
        ["ui", "--scopes", "", path],
    ):
        done = deja(*argv)
        assert done.code in (1, 64)
        assert_safe(done.out + done.err)
