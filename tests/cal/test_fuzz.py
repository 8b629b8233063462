# SPDX-License-Identifier: Apache-2.0
"""Statements taken apart and put together at random, run for real: every refusal has a code, and no read changes a byte."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deja_tui.cal import Session
from deja_tui.cal.lexer import END, RAW, tokens
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from tests.cal.corpus import Ticking, build, session_of
from tests.cal.test_vectors import VECTORS

CODED = r"([A-Z]{3}-E\d{3})?"
PARAMS = {"u": "alpha", "n": 3, "topic": "seat", "p": ["alpha", "delta"]}


class TakenBack(Exception):
    """Ends an act so that nothing of it is kept."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, list[list[str]]]]:
    made = build(tmp_path_factory.mktemp("fuzz") / "corpus.deja")
    statements = [
        re.sub(r"<<(\w+)>>", lambda found: made.labels.get(found[1], "0" * 64), vector["statement"])
        for vector in VECTORS
        if not vector.get("expand")
    ]
    with Memory.open(made.path, clock=Ticking(), durability="normal") as memory:
        yield memory, [words for text in statements if (words := taken_apart(text))]


def taken_apart(text: str) -> list[str]:
    try:
        _, found = tokens(text)
    except DejaError:
        return []
    return [f"{{{t.text}}}" if t.kind == RAW else t.text for t in found if t.kind != END]


def mixed(rng: random.Random, pool: list[list[str]]) -> str:
    """A statement with some words left out, doubled, swapped, or taken from another."""
    words = list(rng.choice(pool))
    for _ in range(rng.randint(0, 4)):
        if not words:
            break
        at, other = rng.randrange(len(words)), rng.choice(pool)
        start = rng.randrange(len(other))
        match rng.randrange(5):
            case 0:
                del words[at]
            case 1:
                words[at] = other[start]
            case 2:
                words.insert(at, other[start])
            case 3:
                words[at:at] = other[start : start + rng.randint(1, 8)]
            case 4:
                words[at], words[at - 1] = words[at - 1], words[at]
    return " ".join(words)


def attempt(session: Session, text: str, *, read_only: bool) -> str:
    """Run it; the code of its refusal, or "" when it was done."""
    try:
        session.run(text, PARAMS, read_only=read_only, allow_destructive=not read_only).as_json()
    except DejaError as error:
        return error.code
    return ""


@pytest.mark.parametrize("seed", range(4))
def test_any_mixture_of_statements_is_run_or_refused_with_a_code(
    corpus: tuple[Memory, list[list[str]]], seed: int
) -> None:
    """CLASS-1, CLASS-3: where only reads run, the file is the same afterwards, whatever was asked."""
    memory, pool = corpus
    session, rng = session_of(memory), random.Random(seed)
    before, stats = Path(memory.store.path).read_bytes(), memory.store.change_token()
    for _ in range(150):
        text = mixed(rng, pool)
        assert re.fullmatch(CODED, attempt(session, text, read_only=True)), text
        assert memory.store.change_token() == stats, text
        try:
            with memory.store.act():
                assert re.fullmatch(CODED, attempt(session, text, read_only=False)), text
                raise TakenBack
        except TakenBack:
            pass
        stats = memory.store.change_token()
    assert Path(memory.store.path).read_bytes() == before
