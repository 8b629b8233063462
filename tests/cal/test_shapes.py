# SPDX-License-Identifier: Apache-2.0
"""Statements that differ in their texts only share a tree, and nobody can tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.cal import CalError, Session
from deja_tui.cal import session as door
from deja_tui.cal.shapes import shaped
from deja_tui.facade import Memory
from tests.cal.corpus import Corpus, Ticking, build, session_of
from tests.cal.test_vectors import VECTORS


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, Corpus]]:
    made = build(tmp_path_factory.mktemp("shapes") / "corpus.deja")
    with Memory.open(made.path, clock=Ticking(), durability="normal") as memory:
        yield memory, made


def answer(session: Session, text: str, params: Any = None) -> Any:
    """What a statement gives, or the whole of its refusal."""
    try:
        return session.run(text, params).as_json()
    except CalError as error:
        return error.as_json()


def alone(session: Session, text: str, params: Any = None) -> Any:
    """The same without any shape."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(door, "shaped", lambda text: None)
        return answer(session, text, params)


def test_every_vector_is_answered_as_without_shapes(corpus: tuple[Memory, Corpus]) -> None:
    """SHAPE-1, SHAPE-3: results, warnings, and errors with their places, whichever way they came."""
    memory, made = corpus
    session = session_of(memory)
    texts = [vector["statement"] for vector in VECTORS if vector["statement"].startswith("RECALL")]
    for label, address in made.labels.items():
        texts = [text.replace(f"<<{label}>>", address) for text in texts]
    taken = [text for text in texts if shaped(text) is not None]
    assert len(taken) > 100
    for text in texts:
        for _ in range(2):  # also from what was kept
            assert answer(session, text) == alone(session, text), text


_TEXTS = st.text(st.characters(blacklist_characters='"\\', max_codepoint=127), max_size=12) | st.sampled_from(
    ["acme", "$0", "0", ") OR subject = ", "-- ", "{", "x' | COUNT", "delta"]
)


@given(_TEXTS, _TEXTS)
def test_a_text_can_become_nothing_but_a_value(corpus: tuple[Memory, Corpus], one: str, other: str) -> None:
    """SHAPE-2: whatever stands between the quotes."""
    session = session_of(corpus[0])
    text = f'RECALL facts WHERE subject = "{one}" OR object CONTAINS "{other}" LIMIT 5'
    assert answer(session, text) == alone(session, text)


@pytest.mark.parametrize(
    "text",
    [
        'RECALL facts WHERE subject IN "acme"',
        'RECALL facts WHERE subject = "acme',
        'RECALL facts WHERE "subject" = "acme"',
        'RECALL facts WHERE confidence = "high"',
        'RECALL facts SINCE "someday"',
        'RECALL facts FORMAT TEMPLATE "none {{here}}"',
        'RECALL facts WHERE subject = "a" AND subject = $0',
    ],
)
def test_an_error_is_about_the_text_itself(corpus: tuple[Memory, Corpus], text: str) -> None:
    """SHAPE-3: code, line, column and caret are those of the statement, not of a statement like it."""
    session = session_of(corpus[0])
    answer(session, text.replace("acme", "x").replace("high", "y").replace("someday", "tomorrow or so"))
    told = answer(session, text)
    assert told["type"] == "error"
    assert told == alone(session, text)


def test_a_caller_cannot_give_a_text_its_value(corpus: tuple[Memory, Corpus]) -> None:
    """SHAPE-2: a parameter that is called like the hidden ones changes nothing."""
    session = session_of(corpus[0])
    text = 'RECALL facts WHERE subject = "delta"'
    assert answer(session, text, {"0": "alpha"}) == alone(session, text)


def test_what_may_print_its_tree_has_no_shape() -> None:
    """WITH explanation shows conditions as they were written; comments and escapes are left to the parser."""
    for text in (
        'RECALL facts WHERE subject = "a" WITH explanation',
        'RECALL facts WHERE subject = "a\\n"',
        'RECALL facts -- "x"\nWHERE subject = "a"',
        'EXPLAIN RECALL facts WHERE subject = "a"',
        'RECALL facts WHERE subject = "é"',
        'RECALL facts FORMAT TEMPLATE { ELEMENT { "x" } }',
    ):
        assert shaped(text) is None
    assert shaped('RECALL facts WHERE subject = "a"') is not None


def test_a_shape_is_kept_beside_its_texts(tmp_path: Path) -> None:
    """Two subjects, one tree."""
    one, other = shaped('RECALL facts WHERE subject = "a"'), shaped('RECALL facts WHERE subject = "bb"')
    assert one is not None
    assert other is not None
    assert one[0] is other[0]
    assert (one[1], other[1]) == ({"0": "a"}, {"0": "bb"})
