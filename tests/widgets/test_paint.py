# SPDX-License-Identifier: Apache-2.0
"""Marks in ASCII: what this console draws, never what a text says."""

from __future__ import annotations

import pytest
from rich.style import Style

from deja_tui.present.line import Span, line
from deja_tui.widgets.paint import Paint

PLAIN = {"text": Style(), "cursor": Style(), "bar": Style()}


@pytest.mark.parametrize(
    "span,drawn",
    [
        (Span("▸ a · b → c … │ ↑↓←"), "> a - b > c ~ | ^v<"),
        (Span("«a → b · c»", "untrusted"), "«a → b · c»"),
        (Span("«a → b…»", "untrusted"), "«a → b~»"),
        (Span("«a…b…(+12)»", "untrusted"), "«a…b~(+12)»"),
        (Span("日本 ü", "strong"), "日本 ü"),
    ],
)
def test_marks_become_ascii_of_the_same_width(span: Span, drawn: str) -> None:
    """Fenced text stays what it is, to its last character; only what cut it is a mark."""
    shown = Paint(PLAIN, ascii=True).strip(line(span), 40)
    assert shown.text.rstrip() == drawn
    assert shown.cell_length == 40
    assert Paint(PLAIN).strip(line(span), 40).text.rstrip() == span.text
