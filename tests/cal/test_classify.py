# SPDX-License-Identifier: Apache-2.0
"""What a statement may do is read off its tree; no position hides a write, and SQLite is a second wall beneath."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import pytest

from deja_tui.cal import CalError, Class, Host, Session, ast, classify
from deja_tui.cal.classify import _CLASSES, _NOT_OFFERED, _RIGHTS, _class
from deja_tui.cal.reads import Reads
from deja_tui.cal.words import NOT_OFFERED
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from deja_tui.store.memory import Store
from tests.cal.corpus import host_of
from tests.cal.test_parser import EVERY_STATEMENT

H = "a" * 64
WRITES = [
    'ADD fact SET subject = "a" SET relation = "b" SET object = "c" REASON "r"',
    f'SUPERSEDE sha256:{H} SET object = "b" REASON "r"',
    f'SUPERSEDE sha256:{H} BY sha256:{H} REASON "r"',
    'MERGE "s" RELATION "r" TO "o" BECAUSE "r"',
    'REMEMBER "x"',
    f'FORGET sha256:{H} REASON "r"',
    'FORGET SUBJECT "s" REASON "r"',
    'DEFINE QUERY "q" AS { RECALL facts }',
    'DEFINE TEMPLATE t AS "x"',
    'DROP QUERY "q"',
    f'REVIEW sha256:{H} APPROVE BECAUSE "r"',
    f'REJECT sha256:{H} BECAUSE "r"',
    f'WITHDRAW sha256:{H} BECAUSE "r"',
    f'APPLY sha256:{H} BECAUSE "r"',
    f'ROLLBACK sha256:{H} BECAUSE "r"',
    "RUN LOOP",
    'PURGE OLDER THAN 30d BECAUSE "r"',
    'GRANT read ON shared TO "x"',
]
READ_POSITIONS = [
    "COALESCE({}, RECALL facts)",
    "COALESCE(RECALL facts, {})",
    "COALESCE {{ {} }} OR {{ RECALL facts }}",
    "COALESCE {{ RECALL facts }} ELSE {{ {} }}",
    "ASSEMBLE FROM a: ({}), b: (RECALL facts)",
    "ASSEMBLE FROM ({})",
    "ASSEMBLE FROM {}",
    "RECALL facts CONTRADICTIONS OF ({})",
    "LET $x = {}; RECALL facts WHERE subject IN $x",
    "LET $x = SUBJECTS OF ({}); RECALL facts",
    "RECALL facts UNION {}",
    "({}) UNION (RECALL facts)",
    "RECALL facts WHERE subject IN ({} SUBJECTS)",
    "EXISTS {}",
    "HISTORY OF {}",
]  # fmt: skip


def test_every_kind_of_statement_stands_in_both_tables() -> None:
    """CLASS-2: a statement added to the tree without a class or a right fails here, not in the field."""
    kinds = set(get_args(ast.Statement)) - {ast.Apply, ast.NotOffered, ast.Batch}
    assert set(_CLASSES) == kinds
    assert set(_RIGHTS) == kinds
    assert set(_NOT_OFFERED) == set(NOT_OFFERED)
    with pytest.raises(KeyError):
        _class(object())  # type: ignore[arg-type]


@pytest.mark.parametrize("text", EVERY_STATEMENT)
def test_a_statement_has_one_class(text: str) -> None:
    """Everything that parses can be judged."""
    assert classify(text).cls in Class


@pytest.mark.parametrize("text", WRITES)
def test_what_writes_is_no_read(text: str) -> None:
    """CLASS-1."""
    assert classify(text).cls is not Class.READ


@pytest.mark.parametrize("position", READ_POSITIONS)
@pytest.mark.parametrize("write", WRITES)
def test_no_position_meant_for_reading_takes_a_write(position: str, write: str) -> None:
    """CLASS-3: it does not parse, so it can be neither judged a read nor run."""
    with pytest.raises(CalError) as caught:
        classify(position.format(write))
    assert caught.value.code in ("CAL-E002", "CAL-E003")


@pytest.mark.parametrize("write", WRITES)
def test_a_batch_has_the_class_of_its_highest_entry(write: str) -> None:
    """CLASS-1, through batches in batches; decisions do not even parse there (D15)."""
    nested = f"BATCH {{ RECALL facts ; BATCH {{ x: EXISTS facts, y: {write} }} }}"
    verdict = classify(write)
    if verdict.governs:
        with pytest.raises(CalError) as caught:
            classify(nested)
        assert caught.value.code == "CAL-E002"
    else:
        assert classify(nested).cls is verdict.cls


@pytest.mark.parametrize("write", WRITES)
def test_a_saved_query_cannot_hold_a_write(write: str, run: Callable[..., Any]) -> None:
    """CLASS-4, QUERY-1: neither alone, nor in a batch, nor with a parameter."""
    for body in (write, f"BATCH {{ RECALL facts ; {write} }}"):
        for parameters in ("", "($p)"):
            with pytest.raises(CalError) as caught:
                run(f'DEFINE QUERY "x" {parameters} AS {{ {body} }}')
            assert caught.value.code in ("CAL-E058", "CAL-E059")


@pytest.mark.parametrize("text", WRITES)
def test_a_read_only_surface_refuses_it_before_anything_runs(
    text: str, session: Session, memory: Memory
) -> None:
    """CAL-E044, whatever the caller's rights."""
    before = memory.store.change_token()
    for wrapped in (text, f"LET $x = RECALL facts; {text}"):
        with pytest.raises(CalError) as caught:
            session.run(wrapped, read_only=True, allow_destructive=True)
        assert caught.value.code == "CAL-E044"
    assert memory.store.change_token() == before


def test_explain_of_a_write_is_a_read_and_runs_nothing(run: Callable[..., Any], memory: Memory) -> None:
    """CLASS-4: the file is not touched."""
    before = memory.store.change_token()
    for text in WRITES:
        if not text.startswith(("DEFINE", "DROP", "APPLY")):
            assert run(f"EXPLAIN {text}", read_only=True).kind == "explain"
    assert memory.store.change_token() == before


READS = [text for text in EVERY_STATEMENT if not text.startswith("LET") and classify(text).cls is Class.READ]


@pytest.mark.parametrize("text", READS)
def test_a_read_leaves_every_byte_of_the_file_alone(
    text: str, memory: Memory, session: Session, tmp_path: Path
) -> None:
    """D44: reading writes nothing, also where it is refused on the way."""
    memory.add_fact("a", "b", "c")
    path = Path(memory.store.path)
    before = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    with suppress(DejaError):
        session.run(text, {"x": [H], "a": 1, "b": "x", "n": 1, "p": "x"})
    assert (path.read_bytes(), Path(f"{path}-wal").read_bytes()) == before


def test_sqlite_is_the_second_wall(memory: Memory) -> None:
    """Were a write ever taken for a read, the connection it runs on could still not change the file."""
    memory.add_fact("a", "b", "c")
    db = memory.store.reading()  # the connection that reads of this thread use
    with pytest.raises(Exception, match=r"readonly|attempt to write"):
        db.execute("DELETE FROM grain")
    with sqlite3.connect(memory.store.path) as other:
        assert other.execute("SELECT count(*) FROM grain").fetchone() == (1,)


def test_the_second_wall_stands_inside_an_act_too(
    memory: Memory, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-READING-1: the writer itself refuses while a read runs, and writes again afterwards."""
    tried: list[str] = []
    real = Reads.recall

    def sneaky(self: Reads, *given: Any, **more: Any) -> Any:
        with pytest.raises(Exception, match=r"readonly|attempt to write"):
            self.host.store.reading().execute("DELETE FROM grain")
        tried.append("refused")
        return real(self, *given, **more)

    monkeypatch.setattr(Reads, "recall", sneaky)
    with memory.store.act():
        memory.add_fact("a", "b", "c")
        for text in ("RECALL facts", 'RECALL WHERE subject = "a"', "BATCH { RECALL facts ; RECALL tools }"):
            session.run(text)
        with pytest.raises(CalError):
            session.run("RECALL facts WHERE confidence IN (RECALL facts HASHES) ORDER BY nothing")
        memory.add_fact("a", "b", "d")
    assert len(tried) >= 4
    assert session.run("RECALL facts COUNT").as_json()["count"] == 2


@pytest.mark.parametrize(
    ("rights", "text", "code"),
    [
        ((), "RECALL facts", "CAL-E114"),
        (("read",), WRITES[0], "CAL-E114"),
        (("read",), WRITES[7], "CAL-E114"),
        (("read", "write"), WRITES[5], "CAL-E114"),
        (("read", "write"), WRITES[10], "LOP-E022"),
        (("read", "write", "review"), WRITES[13], "LOP-E022"),
        (("read", "review"), WRITES[14], "LOP-E022"),
        (("read",), f"BATCH {{ RECALL facts ; {WRITES[0]} }}", "CAL-E114"),
    ],
)
def test_a_missing_right_is_refused_before_anything_runs(
    rights: tuple[str, ...], text: str, code: str, memory: Memory
) -> None:
    """D17: rights are read off the tree too."""
    host = host_of(memory)
    session = Session(
        Host(host.store, host.namespace, host.clock, may=rights.__contains__, governance=memory.loop)
    )
    with pytest.raises(CalError) as caught:
        session.run(text, allow_destructive=True)
    assert caught.value.code == code


def test_erasing_needs_the_flag_beside_the_right(memory: Memory, session: Session) -> None:
    """D17: admin alone is not enough; the host switches destruction on for one call."""
    address = memory.add_fact("a", "b", "c")
    with pytest.raises(CalError) as caught:
        session.run(f'FORGET sha256:{address} REASON "gone"')
    assert caught.value.code == "CAL-E044"
    assert session.run(f'FORGET sha256:{address} REASON "gone"', allow_destructive=True).kind == "forgotten"
    assert memory.get(address) is None


def test_a_host_that_offers_no_acts_refuses_them_with_a_code(tmp_path: Path) -> None:
    """CAL-E130: the language does nothing in the host's place."""
    with Store.open(tmp_path / "a.deja") as store:
        session = Session(Host(store, "shared", lambda: 1))
        address = session.run(WRITES[0]).values["hash"]  # type: ignore[union-attr]
        draft = f'ADD recommendation SET target_ref = "memory:x" SET evidence = ["{address}"] SET operations = ["{{}}"] REASON "r"'
        for text in (
            f'FORGET sha256:{address} REASON "r"',
            WRITES[10],
            WRITES[13],
            "RUN LOOP",
            draft,
            WRITES[16],
        ):
            with pytest.raises(CalError) as caught:
                session.run(text, allow_destructive=True)
            assert caught.value.code == "CAL-E130", text
        assert store.get(address) is not None
