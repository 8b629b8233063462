# SPDX-License-Identifier: Apache-2.0
"""The tables of a memory file, and which files this version takes.

Primary, never rebuilt (D1): ``grain.hash`` and ``grain.body``, ``op``, ``mark``, ``tombstone``, ``setting``,
``counter``. Everything else, the other columns of ``grain`` included, follows from those.

Why it is cut this way:

* Text stands only where rows are appended and never grow (``grain.body``, ``term.s``, ``space.name``). SQLite
  zeroes what is deleted, but a page that is split keeps stale copies of rows that moved; a row that never moves
  leaves none, so a forgotten text is gone. That is why terms are found by hash, why liveness is 0 or 1 (both are
  zero bytes on disk) and why what took a grain's place stands in ``mark``.
* Index predicates have no ``type=`` term, so the planner is never drawn to the index by type. ``g_unnamed`` has one: it
  holds the few tool calls that ``g_tool`` leaves out, those without a name or without an outcome.
* ``body`` is the last column: reading the others never touches its overflow pages.
* ``grain.id`` is the arrival position and comes from a counter: a number is not given twice, not even after the
  newest grain was forgotten.
* ``source``, ``link`` and ``near`` hold 64-bit keys only. A key nominates, the decoded grain decides (D11, D32).
"""

from __future__ import annotations

import apsw

from deja_tui.store.codec import TYPES
from deja_tui.store.faults import StoreError
from deja_tui.store.layout import APPLICATION_ID as APPLICATION_ID
from deja_tui.store.layout import TOKENIZER as TOKENIZER
from deja_tui.store.layout import VERSION as VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

LIVE_FACT: Final = "r IS NOT NULL AND dead = 0"
LIVE_SUBJECT: Final = "s IS NOT NULL AND dead = 0"
LIVE_TOOL: Final = "tool IS NOT NULL AND dead = 0"
LIVE_UNNAMED: Final = f"type = {TYPES['tool']} AND tool IS NULL AND dead = 0"

_TABLES: Final = f"""
CREATE TABLE space(id INTEGER PRIMARY KEY, h INTEGER NOT NULL, reserved INTEGER NOT NULL, name TEXT NOT NULL);
CREATE INDEX space_h ON space(h);
CREATE TABLE term(id INTEGER PRIMARY KEY, h INTEGER NOT NULL, s TEXT NOT NULL);
CREATE INDEX term_h ON term(h);

CREATE TABLE grain(
  id INTEGER PRIMARY KEY,
  type INTEGER NOT NULL,
  at INTEGER NOT NULL,
  hlc INTEGER NOT NULL,
  ns INTEGER NOT NULL,
  dead INTEGER NOT NULL,
  origin INTEGER NOT NULL,
  s INTEGER,
  r INTEGER,
  k INTEGER,
  tool INTEGER,
  sig INTEGER,
  thread INTEGER,
  vt INTEGER,
  prev INTEGER,
  hash BLOB NOT NULL,
  body BLOB NOT NULL
);
CREATE UNIQUE INDEX g_hash ON grain(hash);
CREATE INDEX g_subj ON grain(ns, s, at, hlc) WHERE {LIVE_SUBJECT};
CREATE INDEX g_fact ON grain(ns, s, r, k) WHERE {LIVE_FACT};
CREATE INDEX g_tool ON grain(tool, at, sig, ns) WHERE {LIVE_TOOL};
CREATE INDEX g_unnamed ON grain(ns) WHERE {LIVE_UNNAMED};
CREATE INDEX g_type ON grain(type, at, ns);
CREATE INDEX g_thread ON grain(thread, at) WHERE thread IS NOT NULL;
CREATE INDEX g_vt ON grain(vt) WHERE vt IS NOT NULL AND dead = 0;
CREATE INDEX g_dead ON grain(s, r, tool, sig) WHERE dead = 1;

CREATE TABLE op(
  seq INTEGER PRIMARY KEY,
  hlc INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  origin INTEGER NOT NULL,
  gid INTEGER NOT NULL,
  act INTEGER NOT NULL
);
CREATE INDEX op_supersede ON op(gid) WHERE kind = 2;
CREATE TABLE mark(
  seq INTEGER PRIMARY KEY,
  gid INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  by INTEGER,
  act INTEGER NOT NULL
);
CREATE INDEX m_gid ON mark(gid);
CREATE INDEX m_retired ON mark(by) WHERE kind = 1;

CREATE TABLE tombstone(
  gid INTEGER PRIMARY KEY,
  hash BLOB NOT NULL,
  hlc INTEGER NOT NULL,
  prev INTEGER,
  source BLOB
);
CREATE UNIQUE INDEX t_hash ON tombstone(hash);
CREATE INDEX t_source ON tombstone(source) WHERE source IS NOT NULL;

CREATE TABLE link(p INTEGER NOT NULL, child INTEGER NOT NULL, PRIMARY KEY(p, child)) WITHOUT ROWID;
CREATE TABLE source(k INTEGER NOT NULL, gid INTEGER NOT NULL, PRIMARY KEY(k, gid)) WITHOUT ROWID;
CREATE TABLE near(k INTEGER NOT NULL, gid INTEGER NOT NULL, PRIMARY KEY(k, gid)) WITHOUT ROWID;
CREATE TABLE setting(key TEXT PRIMARY KEY, hlc INTEGER NOT NULL, source TEXT NOT NULL, value TEXT NOT NULL)
  WITHOUT ROWID;
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""

# Contentless with secure-delete: the contentless-delete form leaves the words of a deleted row in the file (D30).
_TEXT: Final = (
    """CREATE VIRTUAL TABLE text USING fts5(t, content='',
       tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'")""",
    "INSERT INTO text(text, rank) VALUES('secure-delete', 1)",
    "CREATE VIRTUAL TABLE word USING fts5vocab(text, row)",
)

LEDGER: Final = """
CREATE TABLE IF NOT EXISTS ledger(
  address BLOB PRIMARY KEY,
  identity TEXT NOT NULL,
  analyzer TEXT NOT NULL,
  target_ref TEXT NOT NULL,
  severity TEXT NOT NULL,
  rank INTEGER NOT NULL,
  status TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  since INTEGER NOT NULL,
  decided_at INTEGER NOT NULL,
  decided_seq INTEGER NOT NULL,
  creator TEXT NOT NULL,
  origin TEXT NOT NULL,
  is_foreign INTEGER NOT NULL,
  replaced_by BLOB
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS l_queue ON ledger(status, rank DESC, since, identity, address) WHERE replaced_by IS NULL;
CREATE INDEX IF NOT EXISTS l_identity ON ledger(identity);
CREATE INDEX IF NOT EXISTS l_analyzer ON ledger(analyzer, status) WHERE replaced_by IS NULL;
"""
"""Derived, and made by the first governed act (D1, D36)."""


def run(db: apsw.Connection, script: str) -> None:
    """Every statement of ``script``. APSW runs lazily: what is not fetched is not executed."""
    db.execute(script).fetchall()


def create(db: apsw.Connection) -> None:
    """All tables in an empty file; the caller holds the write transaction."""
    run(db, _TABLES)
    for statement in _TEXT:
        run(db, statement)
    run(db, f"PRAGMA application_id = {APPLICATION_ID}")
    run(db, f"PRAGMA user_version = {VERSION}")


def is_empty(db: apsw.Connection) -> bool:
    """Whether the file holds no table at all."""
    return not db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").get


def check(db: apsw.Connection) -> None:
    """Refuse what is not ours (STO-E002) and what another version wrote (STO-E006, D41)."""
    if db.pragma("application_id") == 0 and is_empty(
        db
    ):  # only where nothing may be written: else it was just begun
        raise StoreError(
            "STO-E002",
            "the file is empty, which is how every memory begins: there is nothing to read yet",
            "Write something into it (deja init --db FILE begins it), or name the file that deja wrote.",
        )
    if db.pragma("application_id") != APPLICATION_ID:
        raise StoreError(
            "STO-E002",
            "the file is a SQLite database, but not a deja memory",
            "Name the file that deja wrote.",
        )
    found = db.pragma("user_version")
    if found == VERSION:
        return
    step = (
        "Update deja, or open the memory with the version that wrote it."
        if found > VERSION
        else "Write a bundle with the version that made it and rebuild the memory from the bundle."
    )
    raise StoreError(
        "STO-E006", f"the file has schema version {found}, this version of deja reads {VERSION}", step
    )
