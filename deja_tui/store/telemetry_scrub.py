# SPDX-License-Identifier: Apache-2.0
"""Taking out of the telemetry sidecar what tells of erased grains (INV-TELE-3 of `telemetry`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final

import apsw

from deja_tui.store.forgotten import strings
from deja_tui.store.grains import StoredGrain
from deja_tui.store.sql import rows
from deja_tui.store.telemetry_file import split_top
from deja_tui.text import fold

_WORD: Final = re.compile(r"\w+")
# Of pieces of questions, and of the namespaces of erased grains, those that still tell of these grains.
Traces = Callable[[Collection[str], Sequence[StoredGrain]], tuple[set[str], set[str]]]


def scrub(db: apsw.Connection, erased: Sequence[StoredGrain], identity: str | None, traces: Traces) -> None:
    """Delete the rows that tell of erased grains; inside the caller's transaction.

    Args:
        erased: the grains, as they were. identity: the subject they were erased for; every question that holds it goes.
        traces: of pieces of questions and of the namespaces of erased grains, those that no other grain has.
    """
    addresses = {grain.address for grain in erased}
    for table in ("access", "delivery"):
        db.executemany(f"DELETE FROM {table} WHERE address = ?", [(bytes.fromhex(a),) for a in addresses])
    texts = [fold(text) for grain in erased for text in strings(grain.fields)]
    words = {word for text in texts for word in _WORD.findall(text)}
    named = [
        value
        for grain in erased
        for name in ("subject", "object")
        if isinstance(value := grain.get(name), str)
    ]
    phrases = {fold(value) for value in (*named, identity or "") if value.strip()}
    name = set(_WORD.findall(fold(identity or "")))
    questions = [
        *rows(db, "SELECT key, ns, sample, text, subject FROM query"),
        *rows(db, "SELECT id, ns, subject, query FROM log"),
    ]
    lost, emptied = traces(
        {piece for _, _, *told in questions for text in told if text for piece in text.split()}, erased
    )

    def tells(text: str | None) -> bool:
        if not text:
            return False
        asked = " ".join(fold(text).split())
        made_of = _WORD.findall(asked)
        return (
            (bool(made_of) and words.issuperset(made_of))
            or any(asked in said for said in texts)
            or not lost.isdisjoint(text.split())
            or any(phrase in asked for phrase in phrases)
        )

    def names(namespace: str) -> bool:
        return namespace in emptied or (bool(name) and name.issubset(_WORD.findall(fold(namespace))))

    asked = rows(db, "SELECT key, ns, sample, text, subject FROM query")
    gone = [(key,) for key, ns, *told in asked if names(ns) or any(map(tells, told))]
    db.executemany("DELETE FROM query WHERE key = ?", gone)
    spaces = {ns for (ns,) in rows(db, "SELECT DISTINCT ns FROM access") if names(ns)}
    db.executemany("DELETE FROM access WHERE ns = ?", [(ns,) for ns in spaces])
    logged = rows(db, "SELECT id, ns, subject, query, top FROM log")
    told = [
        (number,)
        for number, ns, subject, question, top in logged
        if names(ns) or tells(subject) or tells(question) or not addresses.isdisjoint(split_top(top))
    ]
    db.executemany("DELETE FROM log WHERE id = ?", told)
