# SPDX-License-Identifier: Apache-2.0
"""What may become of a typed statement, apart from any screen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deja_tui.cal import parse
from deja_tui.console.actions import Rights
from deja_tui.console.asking import Answered, Question, Refused, explained, is_statement, put, saved
from deja_tui.console.typed import Typed
from deja_tui.errors import DejaError
from deja_tui.facade import Memory

EVERY = Rights.of(None, allow_destructive=True)
ADD = 'ADD fact SET subject = "a" SET relation = "b" SET object = "c" REASON "r"'


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    with Memory.open(tmp_path / "a.deja", durability="normal") as opened:
        opened.add_fact("acme", "likes", "tea")
        yield opened


class Listening:
    """A door that keeps how it was asked."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.asked: list[tuple[str, bool, bool]] = []

    def cal(
        self,
        text: str,
        params: Any = None,
        *,
        read_only: bool = False,
        allow_destructive: bool = False,
        stop: Any = None,
    ) -> Any:
        self.asked.append((text, read_only, allow_destructive))
        return self.memory.cal(
            text, params, read_only=read_only, allow_destructive=allow_destructive, stop=stop
        )


def never() -> bool:
    return False


def test_reads_run_as_reads(memory: Memory) -> None:
    """ASKING-1: read_only is passed on, and nothing that erases is ever allowed."""
    door = Listening(memory)
    for text in ("RECALL facts", 'RUN "Open Forks"', "EXPLAIN RECALL facts", "DESCRIBE STATS", "SHOW FORKS"):
        outcome = put(door, text, EVERY, never)
        assert isinstance(outcome, Answered)
        assert outcome.reads
    assert all(read_only and not destructive for _, read_only, destructive in door.asked)


def test_a_write_is_a_question_first(memory: Memory) -> None:
    """ASKING-2: nothing is written before it was agreed to; then it is, once."""
    door = Listening(memory)
    found = put(door, ADD, EVERY, never)
    assert found == Question("evolve", ("write",), ADD.replace("REASON", "BECAUSE"))
    assert door.asked == []
    assert isinstance(put(door, ADD, EVERY, never, agreed=True), Answered)
    assert door.asked == [(ADD, False, False)]
    assert memory.cal("RECALL facts COUNT").count == 2


@pytest.mark.parametrize("rights", [Rights.of(("read", "review", "apply")), Rights.of(None, read_only=True)])
def test_a_write_without_its_right_is_refused_also_when_agreed_to(memory: Memory, rights: Rights) -> None:
    """ASKING-2: the right that is missing is named."""
    found = put(memory, ADD, rights, never, agreed=True)
    assert isinstance(found, Refused)
    assert "`write`" in found.step
    assert memory.cal("RECALL facts COUNT").count == 1


DECIDED = (
    'APPROVE sha256:{0} BECAUSE "x"',
    'REVIEW sha256:{0} REJECT BECAUSE "x"',
    'WITHDRAW sha256:{0} BECAUSE "x"',
    'APPLY sha256:{0} BECAUSE "x"',
    'ROLLBACK sha256:{0} BECAUSE "x"',
    "RUN LOOP",
    'FORGET sha256:{0} REASON "x"',
    'FORGET $x REASON "x"',
    'FORGET SUBJECT "acme" REASON "x"',
    'BATCH {{ a: RECALL facts ; b: FORGET sha256:{0} REASON "x" }}',
    'BATCH {{ a: FORGET SUBJECT "acme" REASON "x" }}',
)


@pytest.mark.parametrize("text", DECIDED)
@pytest.mark.parametrize("agreed", [False, True])
def test_decisions_and_erasures_never_reach_the_memory(memory: Memory, text: str, agreed: bool) -> None:
    """ASKING-3: in the highest tier, agreed to or not."""
    door = Listening(memory)
    address = memory.recall("acme")[0].address
    found = put(door, text.format(address), EVERY, never, agreed=agreed, file="my.db")
    assert isinstance(found, Refused)
    assert found.step
    assert all(asked.startswith("DERIVED FROM") for asked, _, _ in door.asked)
    assert memory.cal("RECALL facts COUNT").count == 1


def test_a_dry_run_is_a_read(memory: Memory) -> None:
    """CLASS-4: it comes as far as the engine, which knows no such recommendation."""
    with pytest.raises(DejaError) as caught:
        put(memory, f"APPLY sha256:{'a' * 64} DRY RUN", EVERY, never)
    assert caught.value.code == "LOP-E040"


def test_a_plan_is_asked_for_reads_only(memory: Memory) -> None:
    """Behind bindings and a version too; a plan has no plan."""
    for text in (
        "RECALL facts",
        "LET $x = RECALL facts SUBJECTS; RECALL facts WHERE subject IN $x",
        "CAL/1 RECALL facts",
    ):
        found: Any = explained(memory, text, never)
        assert found.values["plan"]["class"] == "read", text
    assert explained(memory, "EXPLAIN RECALL facts", never) is None
    assert explained(memory, ADD, never) is None


def test_a_saved_query_can_be_said_again(memory: Memory) -> None:
    """Its call parses, its definition defines the same; defaults of every kind."""
    text = 'DEFINE QUERY "it is" ($a, $n = 5, $t = "x\\"y", $l = ["p", "q"]) DESCRIPTION "d" AS { RECALL facts WHERE subject = $a AND object IN $l AND relation = $t LIMIT $n }'
    memory.cal(text)
    mine = saved(memory)[0]
    assert mine.missing == ("a",)
    called, caret = mine.call()
    parse(called)
    assert called[:caret].endswith('$a = "')
    memory.cal('DROP QUERY "it is"')
    memory.cal(mine.definition())
    assert saved(memory)[0] == mine


def test_a_query_that_would_be_replaced_is_named(memory: Memory) -> None:
    """A name that is there already, of the memory itself."""
    first = put(memory, 'DEFINE QUERY "q" AS { RECALL facts }', EVERY, never)
    assert isinstance(first, Question)
    assert first.replaces == ""
    memory.cal('DEFINE QUERY "q" AS { RECALL facts }')
    again = put(memory, 'DEFINE QUERY "q" AS { RECALL events }', EVERY, never)
    assert isinstance(again, Question)
    assert again.replaces == "q"


@pytest.mark.parametrize(
    "text,is_one",
    [
        ("RECALL facts", True),
        ("  (recall facts) UNION (RECALL events)", True),
        ("Recall of things", True),
        ("likes", False),
        ("", False),
    ],
)
def test_what_begins_like_a_statement(text: str, is_one: bool) -> None:
    """For links that may be a name or a statement."""
    assert is_statement(text) is is_one


def test_what_was_typed_is_kept_once_in_a_row_and_only_where_it_is_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was typed while the file was read stands behind what it held."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    own = Typed()
    assert own.read() == []
    own.keep("RECALL facts", 0)
    assert list(tmp_path.iterdir()) == []
    one = Typed(shared=True)
    assert one.read() == []
    assert [one.add(text) for text in ("a", "a", " ", "b")] == [True, False, False, True]
    one.keep("a", 0)
    one.keep("b", 0)
    other = Typed(shared=True)
    other.add("c")
    other.begin(other.read())
    assert other.statements == ["a", "b", "c"]


def test_the_console_starts_without_the_language() -> None:
    """It is loaded when Query is looked at first, off the UI thread."""
    code = "import deja_tui.screens.app, sys; assert 'deja_tui.cal' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
