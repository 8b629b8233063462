# SPDX-License-Identifier: Apache-2.0
"""Short ways to grains, stores and what a file holds, for the tests of the memory file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from deja_tui.errors import DejaError
from deja_tui.store.codec import Grain, make_grain
from deja_tui.store.memory import Store
from tests.support import NOW, ROOT


class Clock:
    """Epoch ms that stand still until they are moved."""

    def __init__(self, at: int = NOW) -> None:
        self.at = at

    def __call__(self) -> int:
        return self.at


def fact(
    subject: str = "ada",
    relation: str = "likes",
    object: str = "tea",
    *,
    at: int = NOW,
    namespace: str = "shared",
    **fields: Any,
) -> Grain:
    content = {"subject": subject, "relation": relation, "object": object, "confidence": 0.9, **fields}
    return make_grain("fact", content, namespace=namespace, created_at=at)


def call(
    tool: str = "search",
    result: str = "ok",
    failed: bool = False,
    *,
    at: int = NOW,
    namespace: str = "shared",
    extras: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Grain:
    content = {"tool_name": tool, "tool_content": result, "is_error": failed, **fields}
    return make_grain("tool", content, namespace=namespace, created_at=at, extras=extras)


def note(text: str, *, at: int = NOW, namespace: str = "shared", **fields: Any) -> Grain:
    content = {"observer_id": "bot", "observer_type": "agent", "object": text, **fields}
    return make_grain("observation", content, namespace=namespace, created_at=at)


def add(store: Store, *grains: Grain, governed: bool = False) -> list[str]:
    """Each grain in one act together; their addresses."""
    with store.act(governed=governed) as act:
        return [act.add(grain).address for grain in grains]


def forget(store: Store, address: str) -> None:
    with store.act() as act:
        act.forget(address)


_serials = count()


def many(store: Store, how_many: int, word: str = "filler") -> list[str]:
    """Distinct facts about distinct subjects."""
    return add(
        store,
        *(fact(f"s{n}", "is", f"{word} {n}", at=NOW - n) for n in (next(_serials) for _ in range(how_many))),
    )


class Boom(Exception):
    """What a test raises to see an act come back."""


@contextmanager
def fails() -> Iterator[None]:
    """The block raises `Boom`."""
    try:
        yield
    except Boom:
        return
    raise AssertionError("nothing was raised")


@contextmanager
def refuses(code: str) -> Iterator[None]:
    """The block raises a coded error with a next step."""
    try:
        yield
    except DejaError as error:
        found = error
    else:
        raise AssertionError(f"nothing was refused, expected {code}")
    if found.code != code:
        raise AssertionError(f"expected {code}") from found
    if not found.message:
        raise AssertionError("a refusal says what happened")


def everything(store: Store) -> dict[str, Any]:
    """All rows of all tables, to see that nothing changed."""
    db = store.reading()
    names = [
        row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'word'")
    ]
    return {
        name: sorted(db.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)
        for name in names
        if not name.startswith("text")
    }


def run(code: str, *arguments: object, wait: bool = True) -> subprocess.Popen[str]:
    """Python code in a process of its own, with the project on its path."""
    child = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if wait:
        out, err = child.communicate(timeout=60)
        assert child.returncode == 0, err
        child.told = out  # type: ignore[attr-defined]
    return child


def bytes_on_disk(path: Path | str) -> bytes:
    """The file and its log, as they lie there."""
    return b"".join(part.read_bytes() for name in ("", "-wal") if (part := Path(f"{path}{name}")).exists())
