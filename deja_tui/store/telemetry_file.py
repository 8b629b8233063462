# SPDX-License-Identifier: Apache-2.0
"""The file of the telemetry sidecar: its tables, how it is opened, and events as rows of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Any, Final

import apsw

from deja_tui.store import schema, sidecar
from deja_tui.store.connection import set_busy, set_distrust, set_secure_delete
from deja_tui.store.sql import rows
from deja_tui.text import door, fold

_SAMPLE_CHARS: Final = 200
_TOP: Final = 10
_TABLES: Final = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE watching(mode TEXT PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE access(address BLOB PRIMARY KEY, ns TEXT NOT NULL, count INTEGER NOT NULL, first INTEGER NOT NULL,
  last INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE delivery(address BLOB PRIMARY KEY, count INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL)
  WITHOUT ROWID;
CREATE TABLE query(key BLOB PRIMARY KEY, ns TEXT NOT NULL, sample TEXT NOT NULL, runs INTEGER NOT NULL,
  empties INTEGER NOT NULL, results INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  text TEXT NOT NULL, subject TEXT, last_empty INTEGER, last_found INTEGER) WITHOUT ROWID;
CREATE TABLE budget(hour INTEGER PRIMARY KEY, samples INTEGER NOT NULL, overflows INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE log(id INTEGER PRIMARY KEY, at INTEGER NOT NULL, run TEXT, ns TEXT NOT NULL, subject TEXT, query TEXT,
  results INTEGER NOT NULL, latency_us INTEGER NOT NULL, top BLOB NOT NULL, key BLOB);
CREATE INDEX log_at ON log(at);
CREATE INDEX log_key ON log(key) WHERE key IS NOT NULL;
"""
COUNTED: Final = ("access", "delivery", "query", "budget", "log", "watching", "meta")
Event = tuple[int, str, str | None, str | None, Sequence[str], int, str | None]
"""(at, namespace, subject, question, addresses, nanoseconds it took, run id)"""


class NotOurs(Exception):
    """A file of that name that is no telemetry of deja: it is left alone."""


def quoted(name: str) -> str:
    """A table's name as SQL; whoever made the file chose it, and it may hold quotes and statements."""
    return '"' + name.replace('"', '""') + '"'


def open_sidecar(path: str) -> apsw.Connection:
    """Open or make the sidecar; tables of another version are dropped, they are disposable.

    Raises NotOurs, apsw.Error, OSError.
    """
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600))
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    set_busy(db, sidecar.BUSY_MS)
    set_distrust(db)
    empty = schema.is_empty(db)
    if not empty and db.pragma("application_id") != sidecar.APPLICATION_ID:
        db.close()
        raise NotOurs("the file beside the memory is not its telemetry")
    set_secure_delete(db)
    db.pragma("journal_mode", "delete")  # one file, so that deleting it deletes everything
    db.pragma("synchronous", "off")  # after a power cut it may be damaged, and is then thrown away
    db.pragma("temp_store", "memory")
    if not empty and db.pragma("user_version") != sidecar.VERSION:
        for (name,) in list(rows(db, "SELECT name FROM sqlite_schema WHERE type = 'table'")):
            db.execute("DROP TABLE " + quoted(name))
        empty = True
    if empty:
        db.execute("BEGIN IMMEDIATE")
        if schema.is_empty(db):
            schema.run(db, _TABLES)
            schema.run(db, f"PRAGMA application_id = {sidecar.APPLICATION_ID}")
            schema.run(db, f"PRAGMA user_version = {sidecar.VERSION}")
        db.execute("COMMIT")
    return db


def identity_of(path: str) -> tuple[int, int] | None:
    """Device and inode of a file, None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


PUT_QUERY: Final = (
    "INSERT INTO query(key, ns, sample, runs, empties, results, first, last, text, subject, last_empty, last_found)"
    " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT(key) DO UPDATE SET sample = excluded.sample, runs = runs + excluded.runs,"
    " empties = empties + excluded.empties, results = results + excluded.results,"
    " first = min(first, excluded.first), last = max(last, excluded.last),"
    " last_empty = coalesce(max(last_empty, excluded.last_empty), last_empty, excluded.last_empty),"
    " last_found = coalesce(max(last_found, excluded.last_found), last_found, excluded.last_found)"
)
PUT_LOG: Final = "INSERT INTO log(at, run, ns, subject, query, results, latency_us, top, key) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"


def access_rows(events: list[Event]) -> list[tuple[Any, ...]]:
    """One row a recalled grain, for `sidecar.PUT_ACCESS`."""
    found: dict[str, list[Any]] = {}
    for at, namespace, _, _, addresses, _, _ in events:
        for address in addresses:
            known = found.get(address)
            if known is None:
                found[address] = [door(namespace), 1, at, at]
            else:
                known[1] += 1
                known[2], known[3] = min(known[2], at), max(known[3], at)
    return [(bytes.fromhex(address), *values) for address, values in found.items()]


def delivery_rows(delivered: list[tuple[int, str]]) -> list[tuple[Any, ...]]:
    """One row a delivered grain of (epoch ms, address), for `sidecar.PUT_DELIVERY`."""
    times: dict[str, list[int]] = {}
    for at, address in delivered:
        times.setdefault(address, []).append(at)
    return [(bytes.fromhex(address), len(each), min(each), max(each)) for address, each in times.items()]


def question_rows(events: list[Event]) -> list[tuple[Any, ...]]:
    """One row a free-text question, for `PUT_QUERY`."""
    found: dict[bytes, list[Any]] = {}
    for at, namespace, subject, question, addresses, _, _ in events:
        if question is None:
            continue
        key = question_key(namespace, subject, question)
        known = found.get(key)
        if known is None:
            told = None if subject is None else door(subject[:_SAMPLE_CHARS])
            known = [door(namespace), "", 0, 0, 0, at, at, door(_normal(question)), told, None, None]
            found[key] = known
        known[1] = door(question[:_SAMPLE_CHARS])
        known[2] += 1
        known[3] += not addresses
        known[4] += len(addresses)
        known[5], known[6] = min(known[5], at), max(known[6], at)
        which = 10 if addresses else 9
        known[which] = at if known[which] is None else max(known[which], at)
    return [(key, *values) for key, values in found.items()]


def _normal(question: str) -> str:
    """What all wordings of a question share, cut to what is kept."""
    return " ".join(fold(question[: 2 * _SAMPLE_CHARS]).split())[:_SAMPLE_CHARS]


def question_key(namespace: str, subject: str | None, question: str) -> bytes:
    """Two questions that differ in case or white space are one."""
    parts = (namespace, subject or "", " ".join(fold(question).split()))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()[:16]


def log_row(event: Event) -> tuple[Any, ...]:
    """One recall as a row of the log, for `PUT_LOG`."""
    at, namespace, subject, question, addresses, took, run = event
    top = b"".join(bytes.fromhex(address) for address in addresses[:_TOP])
    texts = [
        None if text is None else door(text[:_SAMPLE_CHARS]) for text in (run, namespace, subject, question)
    ]
    key = None if question is None else question_key(namespace, subject, question)
    return at, *texts, len(addresses), took // 1_000, top, key


def split_top(top: bytes) -> tuple[str, ...]:
    """The addresses of a log row."""
    return tuple(top[at : at + 32].hex() for at in range(0, len(top), 32))
