# SPDX-License-Identifier: Apache-2.0
"""Erasing a grain (D31): what `Act.forget` removes, table by table.

* INV-ERASE-1  After the act no word of the grain is in the file or its log, unless another grain holds it too: row,
  index words and their separators, terms, keys. `secure_delete` zeroes what is freed, `settle` folds the log and
  rewrites a file from which many were erased. A reader that holds an old state delays that to the next erasure.
* INV-ERASE-2  What stays: the address, its position in log, marks and links, a digest of its source key.
* INV-ERASE-3  The chain around it stays walkable: the tombstone keeps what the grain had superseded.
"""

from __future__ import annotations

import hashlib
from typing import Final

import apsw

from deja_tui.store import chains, ledger, near, search
from deja_tui.store.keys import key_of, link_key, parents_of, source_digest, source_of
from deja_tui.store.rows import unfold
from deja_tui.store.sql import rows, scalar

# How to see whether a term is still used, by column. Each condition fits one index; none reads a body.
_USES: Final = {
    "s": (
        "SELECT 1 FROM grain INDEXED BY g_subj WHERE s IS NOT NULL AND dead = 0 AND ns = :ns AND s = :term",
        "SELECT 1 FROM grain INDEXED BY g_subj WHERE s IS NOT NULL AND dead = 0 AND s = :term",
        "SELECT 1 FROM grain INDEXED BY g_dead WHERE dead = 1 AND s = :term",
    ),
    "r": (
        "SELECT 1 FROM grain INDEXED BY g_fact WHERE r IS NOT NULL AND dead = 0 AND r = :term",
        "SELECT 1 FROM grain INDEXED BY g_dead WHERE dead = 1 AND r = :term",
    ),
    "tool": (
        "SELECT 1 FROM grain INDEXED BY g_tool WHERE tool IS NOT NULL AND dead = 0 AND tool = :term",
        "SELECT 1 FROM grain INDEXED BY g_dead WHERE dead = 1 AND tool = :term",
    ),
    "sig": (
        "SELECT 1 FROM grain INDEXED BY g_tool WHERE tool IS NOT NULL AND dead = 0 AND sig = :term",
        "SELECT 1 FROM grain INDEXED BY g_dead WHERE dead = 1 AND sig = :term",
    ),
    "thread": ("SELECT 1 FROM grain INDEXED BY g_thread WHERE thread = :term",),
}
_SHARE: Final = 100
_SEPARATOR_BYTES: Final = 3


def erase(db: apsw.Connection, gid: int, hlc: int, indexed: int) -> set[str] | None:
    """Remove the grain at position ``gid``.

    Returns:
        The words it had in the text index, for `scrub`; None when its bytes are damaged, so that what it had cannot
        be said any more: then the index was dropped and has to be filled anew.
    """
    ns, prev, digest, body, *terms = next(
        rows(db, "SELECT ns, prev, hash, body, s, r, tool, sig, thread FROM grain WHERE id = ?", (gid,))
    )
    sound = hashlib.sha256(body).digest() == digest
    words, source = _erase_keys(db, gid, indexed) if sound else _erase_blindly(db, gid)
    if prev is None and sound:
        prev = chains.first_replaced(db, gid, body)  # it closed nothing, but its chain leads on there
    db.execute("DELETE FROM grain WHERE id = ?", (gid,))
    db.execute(
        "INSERT INTO tombstone(gid, hash, hlc, prev, source) VALUES(?, ?, ?, ?, ?)",
        (gid, digest, hlc, prev, source_digest(source) if source else None),
    )
    ledger.drop(db, digest.hex())
    for term in {term for term in terms if term is not None}:
        if not _used(db, term, ns):
            db.execute("DELETE FROM term WHERE id = ?", (term,))
    return words


def _erase_keys(db: apsw.Connection, gid: int, indexed: int) -> tuple[set[str], str | None]:
    kind, body = next(rows(db, "SELECT type, body FROM grain WHERE id = ?", (gid,)))
    _, fields = unfold(body)
    source = source_of(fields.get("context"))
    for parent in parents_of(fields):
        db.execute("DELETE FROM link WHERE p = ? AND child = ?", (link_key(parent), gid))
    if source is not None:
        db.execute("DELETE FROM source WHERE k = ? AND gid = ?", (key_of(source), gid))
    if kind == near.NOTE and gid <= indexed:
        near.drop(db, gid, body)
    text = search.words_of(kind, body) if gid <= indexed else ""
    if not text:
        return set(), source
    db.execute("INSERT INTO text(text, rowid, t) VALUES('delete', ?, ?)", (gid, text))
    return set(search.tokenizer(db)(text)), source


def _erase_blindly(db: apsw.Connection, gid: int) -> tuple[None, None]:
    db.execute("DELETE FROM link WHERE child = ?", (gid,))
    db.execute("DELETE FROM source WHERE gid = ?", (gid,))
    search.empty(db)
    return None, None


def _used(db: apsw.Connection, term: int, ns: int) -> bool:
    asked = {"term": term, "ns": ns}
    return any(scalar(db, f"{sql} LIMIT 1", asked) is not None for column in _USES.values() for sql in column)


def scrub(db: apsw.Connection, words: set[str]) -> None:
    """Remove erased words that the text index still uses to tell its pages apart.

    FTS5 deletes a word from its pages, but the first word of a page also stands in the list of pages. It is rare
    (one word in hundreds), so only then the index is rewritten as a whole. A row that comes and goes makes sure that
    there is something to merge: FTS5 leaves an index of one segment as it is.
    """
    db.execute("INSERT INTO text(text) VALUES('flush')")
    separators = _separators(db)
    if not any(_separates(db, word, separators) for word in words):
        return
    db.execute("INSERT INTO text(rowid, t) VALUES(-1, 'a')")
    db.execute("INSERT INTO text(text) VALUES('flush')")
    db.execute("INSERT INTO text(text) VALUES('optimize')")
    db.execute("INSERT INTO text(text, rowid, t) VALUES('delete', -1, 'a')")


def _separators(db: apsw.Connection) -> set[bytes]:
    return {bytes(term)[1:] for (term,) in rows(db, "SELECT term FROM text_idx")}


def _separates(db: apsw.Connection, word: str, separators: set[bytes]) -> bool:
    raw = word.encode()
    return any(
        raw[:size] in separators and not _begins_a_word(db, raw[:size].decode(errors="ignore"))
        for size in range(_SEPARATOR_BYTES, len(raw) + 1)
    )


def _begins_a_word(db: apsw.Connection, start: str) -> bool:
    sql = "SELECT 1 FROM word WHERE term >= ? AND term < ? LIMIT 1"
    return scalar(db, sql, (start, start + "\U0010ffff")) is not None


def settle(db: apsw.Connection) -> None:
    """After the commit of an erasure: no old page is left in the log, nor a stale copy in the file.

    Pages that are merged because their rows were erased keep copies of the rows that moved. So once one grain in
    `_SHARE` was erased, which costs little on a small file and is rare on a large one, the file is written anew.

    Raises:
        apsw.BusyError: a reader holds an old state; what is due stays counted.
    """
    _fold(db)
    erased, held = (
        scalar(db, "SELECT coalesce(sum(value), 0) FROM counter WHERE name GLOB ?", (name,))
        for name in ("erased", "held:*")
    )
    if erased * _SHARE > held:
        db.execute("VACUUM")
        db.execute("UPDATE counter SET value = 0 WHERE name = 'erased'")
        _fold(db)


def _fold(db: apsw.Connection) -> None:
    if scalar(db, "PRAGMA wal_checkpoint(TRUNCATE)"):
        raise apsw.BusyError("a reader holds an old state of the file")
