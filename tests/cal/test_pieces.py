# SPDX-License-Identifier: Apache-2.0
"""What helps while a statement is typed, and what is remembered of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.cal import remembered
from deja_tui.cal.lexer import HASH, NUMBER, PARAM, STRING
from deja_tui.cal.pieces import KEYWORD, completion, styled, words


def test_completion_offers_words_types_and_fields() -> None:
    """All of them are words of the language; the case that was begun goes on."""
    assert {"RECALL", "recall", "facts", "tool_name", "sml", "superseded"} <= set(words())
    assert completion("RECA", 4).words == ("RECALL",)
    found = completion("RECALL facts WHERE sub", 22)
    assert (found.start, found.common) == (19, "subject")
    assert {"subject", "subject_did"} <= set(found.words)
    assert completion("RECALL facts", 6).words == (), "a whole word needs nothing"


@pytest.mark.parametrize("text", ["", "RECALL ", 'RECALL facts WHERE subject = "RECA', "$", "42"])
def test_nothing_is_offered_where_no_word_was_begun(text: str) -> None:
    """Not behind a blank, and not inside a string."""
    assert completion(text, len(text)).words == ()


def test_pieces_have_their_kinds() -> None:
    """Words of the language, texts, numbers, addresses and parameters."""
    line = f'RECALL facts WHERE subject = "ana" AND confidence > 0.5 OR hash = sha256:{"a" * 64} AND x = $y'
    kinds = {text: kind for kind, text in styled(line)}
    assert kinds["RECALL"] == KEYWORD
    assert kinds['"ana"'] == STRING
    assert kinds["0.5"] == NUMBER
    assert kinds[f"sha256:{'a' * 64}"] == HASH
    assert kinds["$y"] == PARAM


def test_what_is_not_finished_keeps_its_kinds() -> None:
    """PIECE-2: an open string is a string already, and what stands before it does not lose its colour."""
    assert styled('RECALL facts WHERE subject = "an')[0] == (KEYWORD, "RECALL")
    assert styled('RECALL facts WHERE subject = "an')[-1] == (STRING, '"an')
    assert styled("RECALL 'x")[0] == (KEYWORD, "RECALL")


@settings(max_examples=60)
@given(st.text(alphabet=st.sampled_from("RECALL facts \"\\'$=1é\u0301\u202e日{}#-"), max_size=40))
def test_pieces_are_the_line(line: str) -> None:
    """PIECE-1: whatever is typed."""
    assert "".join(text for _, text in styled(line)) == line


def test_statements_are_remembered_in_the_order_they_were_typed(tmp_path: Path) -> None:
    """Several lines stay one statement; a repeat counts once; only so many are read."""
    path = tmp_path / "cal-history"
    path.write_bytes(b"")
    for text in ("RECALL facts", "RECALL events\nLIMIT 3", "RECALL events\nLIMIT 3", "RECALL tools"):
        remembered.remember(path, text, "2026-03-02 09:00:00")
    assert remembered.statements(path) == ["RECALL facts", "RECALL events\nLIMIT 3", "RECALL tools"]
    assert remembered.statements(path, 1) == ["RECALL tools"]


def test_a_file_that_others_wrote_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """What prompt_toolkit writes, bytes that are no text, lines that belong to nothing, a very long file."""
    path = tmp_path / "cal-history"
    path.write_bytes(b"noise\n\n# 2026-03-02 09:00:00.123\n+RECALL facts\n+LIMIT 1\n\n# x\n+\xff\xfe\n")
    assert remembered.statements(path) == ["RECALL facts\nLIMIT 1", "\ufffd\ufffd"]
    path.write_bytes(b"\n# x\n+" + b"y" * 1_000_000 + b"\n\n# x\n+RECALL facts\n")
    assert remembered.statements(path)[-1] == "RECALL facts"


def test_the_file_is_for_its_writer_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may quote what a memory holds."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert remembered.place().stat().st_mode & 0o077 == 0
    assert remembered.place() == remembered.place()
