# SPDX-License-Identifier: Apache-2.0
"""Edits of documents: a diff is done exactly where it says, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.engine.doc_edits import diff_of, digest, patched, path_of, text_of, version_fields
from deja_tui.text import door
from tests.engine.helpers import refusal_of, refused

LINES = st.sampled_from(["a", "b", "c", "-- x", "++ y", "@@ -1 +1 @@", "\\ No newline", "\r", "", "é"])
TEXTS = st.lists(LINES, max_size=12).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines), "".join(line + "\n" for line in lines)])
)


@given(TEXTS | st.text(max_size=40), TEXTS | st.text(max_size=40))
def test_a_diff_and_back(before: str, after: str) -> None:
    """EDIT-2, EDIT-3: what a diff was made for is what it gives, with any line ends and none at the end."""
    told = diff_of(before, after)
    if door(before) == door(after):
        assert told == ""
    else:
        assert patched(before, told) == door(after)


@given(TEXTS, TEXTS, TEXTS)
def test_a_diff_never_searches_for_its_place(before: str, after: str, now: str) -> None:
    """EDIT-1: on another text it gives what is written, or is refused; it never lands on lines that moved."""
    told = diff_of(before, after)
    code = refusal_of(lambda: patched(now, told))
    assert code in (None, "LOP-E011", "LOP-E024")
    if code is None:
        kept = [line[1:] for line in told.split("\n") if line[:1] in (" ", "-")]
        assert all(line in now.split("\n") for line in kept)


@pytest.mark.parametrize(
    "diff",
    [
        "", "nothing", "--- a\n+++ b\n", "@@ -1 +1 @@\n", "@@ -1 +1 @@\n-a\n", "@@ -1 +1 @@\n-a\n+b", "@@ -1 +9 @@\n-a\n+b\n",
        "@@ -1 +1 @@\n-a\n+b\nmore\n", "@@ -1,1 +1,1 @@\n a\nb\n", "@@ -x +1 @@\n-a\n+b\n",
        "@@ -1 +1,2 @@\n-a\n+b\n\\ No newline at end of file\n+c\n",
    ],
)  # fmt: skip
def test_what_is_no_diff_is_refused(diff: str) -> None:
    """LOP-E011, whatever the document says."""
    with refused("LOP-E011"):
        patched("a\n", diff)


@pytest.mark.parametrize(
    ("now", "diff"),
    [
        ("b\n", "@@ -1 +1 @@\n-a\n+b\n"),
        ("a", "@@ -1 +1 @@\n-a\n+b\n"),
        ("a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"),
        ("", "@@ -1 +1 @@\n-a\n+b\n"),
        ("x\na\n", "@@ -1 +1 @@\n-a\n+b\n"),
        ("a\n", "@@ -7,0 +8 @@\n+b\n"),
        ("a\nb\n", "@@ -2 +2 @@\n-b\n+c\n@@ -1 +1 @@\n-a\n+x\n"),
    ],
)
def test_a_diff_that_does_not_fit_is_refused(now: str, diff: str) -> None:
    """EDIT-1: LOP-E024; other words, another end of the text, moved lines, hunks out of order."""
    with refused("LOP-E024"):
        patched(now, diff)


def test_names_of_files_in_a_diff_are_passed_over() -> None:
    """Diffs of other tools name the files; ours does not."""
    assert patched("a\nb\n", "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n") == "a\nc\n"
    assert patched("", "@@ -0,0 +1 @@\n+a\n") == "a\n"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("doc:notes.md", "/memories/notes.md"),
        ("doc:a/b.md#line", "/memories/a/b.md"),
        ("doc:/memories/x", "/memories/x"),
    ],
)
def test_a_document_target_names_the_chain_below_memories(target: str, path: str) -> None:
    """D27: ``doc:NAME`` is inside when the chain ``/memories/NAME`` exists here."""
    assert path_of(target) == path


def test_a_version_holds_its_text() -> None:
    """D40: one form of a version, whoever writes it."""
    fields = version_fields("/memories/a", "text\n")
    assert text_of(fields) == "text\n"
    assert fields["object"] == "v:" + digest("text\n")[:12]
    assert "embedding_text" not in version_fields("/memories/a", "")
    assert text_of({"context": 7}) == text_of({"context": {"content": 7}}) == ""
