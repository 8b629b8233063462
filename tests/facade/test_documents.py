# SPDX-License-Identifier: Apache-2.0
"""Documents over chains: every version stays, one act a change, nothing lost at the ends of lines (DOC)."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui import DejaError, Memory
from deja_tui.documents import numbered
from deja_tui.text import door
from tests.store.helpers import bytes_on_disk
from tests.support import NOW

A, B = "/memories/a.md", "/memories/notes/b.md"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as opened:
        yield opened


def refused(code: str) -> Any:
    return pytest.raises(DejaError, match=code)


def test_a_document_is_a_chain_of_facts(memory: Memory) -> None:
    """D40: path, digest, text in the context, its start indexed; the newest version is what search finds."""
    memory.docs.create(A, "hello wörld\n")
    one = memory.docs.create(A, "goodbye\n", overwrite=True)
    grain = memory.get(one.address)
    assert grain is not None
    assert (grain.get("subject"), grain.get("relation")) == (A, "memory_file")
    assert grain.get("object") == "v:" + sha256(b"goodbye\n").hexdigest()[:12]
    assert grain.get("context") == {"content": "goodbye\n"}
    assert (grain.get("confidence"), grain.get("source_type")) == (1.0, "agent")
    assert [found.address for found in memory.search("goodbye")] == [one.address]
    assert memory.search("wörld") == []
    assert [version.text for version in memory.docs.history(A)] == ["goodbye\n", "hello wörld\n"]


def test_creating_what_is_there_is_refused_unless_told(memory: Memory) -> None:
    """Nothing is written over by accident."""
    memory.docs.create(A, "one")
    with refused("MEM-E002"):
        memory.docs.create(A, "two")
    assert memory.docs.view(A).text == "one"
    assert memory.docs.create(A, "two", overwrite=True).text == "two"


def test_replacing_needs_exactly_one_place(memory: Memory) -> None:
    """None or two is refused and changes nothing."""
    memory.docs.create(A, "tea tea coffee")
    for old in ("tea", "milk", ""):
        with refused("VAL-E001"):
            memory.docs.replace(A, old, "x")
    assert memory.docs.replace(A, "coffee", "cocoa").text == "tea tea cocoa"
    assert len(memory.docs.history(A)) == 2


@pytest.mark.parametrize(
    ("body", "line", "text", "expected"),
    [
        ("a\nb\n", 1, "mid", "a\nmid\nb\n"),
        ("a\nb\n", 0, "top\n", "top\na\nb\n"),
        ("a\nb\n", 2, "end", "a\nb\nend\n"),
        ("a\nb\n", 99, "end", "a\nb\nend\n"),
        ("a\nb", 2, "end", "a\nb\nend"),
        ("a", 1, "b\n", "a\nb\n"),
        ("", 0, "x", "x"),
        ("a\r\nb\r\n", 1, "mid\r\n", "a\r\nmid\r\nb\r\n"),
        ("a\u2028b\nc", 1, "mid", "a\u2028b\nmid\nc"),
    ],
)
def test_inserting_keeps_every_line_end(
    memory: Memory, body: str, line: int, text: str, expected: str
) -> None:
    """After line n, as lines of their own; a last line end stays."""
    memory.docs.create(A, body)
    assert memory.docs.insert(A, line, text).text == expected


@pytest.mark.parametrize("line", [-1, True, 1.5, "1"])
def test_a_line_is_a_whole_number(memory: Memory, line: Any) -> None:
    """VAL-E001."""
    memory.docs.create(A, "a")
    with refused("VAL-E001"):
        memory.docs.insert(A, line, "x")


def test_a_change_of_a_version_that_is_no_longer_the_head_is_refused(memory: Memory) -> None:
    """DOC-2: with the version that was read, an edit in between is noticed."""
    first = memory.docs.create(A, "one")
    memory.docs.replace(A, "one", "two", base=first.address)
    with refused("MEM-E002"):
        memory.docs.insert(A, 0, "zero", base=first.address)
    assert memory.docs.view(A).text == "two"


def test_any_version_can_be_seen_and_come_back(memory: Memory) -> None:
    """As a new version; the ones between stay."""
    first = memory.docs.create(A, "one")
    memory.docs.replace(A, "one", "two")
    assert memory.docs.view(A, version=first.address[:10]).text == "one"
    assert memory.docs.restore(A, first.address).text == "one"
    assert [version.text for version in memory.docs.history(A)] == ["one", "two", "one"]
    assert [version.live for version in memory.docs.history(A)] == [True, False, False]
    for version, code in (("", "MEM-E001"), ("f" * 64, "MEM-E001")):
        with refused(code):
            memory.docs.view(A, version=version)


def test_renaming_keeps_the_history(memory: Memory) -> None:
    """DOC-4: found under the new path only; the old name is free again."""
    memory.docs.create(A, "one")
    memory.docs.create(B, "other")
    with refused("MEM-E002"):
        memory.docs.rename(A, B)
    memory.docs.rename(A, "/memories/c.md")
    with refused("MEM-E001"):
        memory.docs.view(A)
    assert [version.path for version in memory.docs.history("/memories/c.md")] == ["/memories/c.md", A]
    memory.docs.create(A, "new")
    assert [version.text for version in memory.docs.history(A)] == ["new"]
    assert [one.path for one in memory.docs.list()] == [A, "/memories/c.md", B]
    assert [one.path for one in memory.docs.list("/memories/notes")] == [B]


def test_deleting_erases_every_version(memory: Memory, tmp_path: Path) -> None:
    """DOC-5: audited, admin, a reason; no byte is left."""
    memory.docs.create(A, "zqone")
    memory.docs.replace(A, "zqone", "zqtwo")
    with refused("LOP-E011"):
        memory.docs.delete(A, because="")
    done = memory.docs.delete(A, because="not needed")
    assert len(done.addresses) == 2
    audit = memory.get(done.audit)
    assert audit is not None
    assert "a.md" not in str(audit.fields)
    with refused("MEM-E001"):
        memory.docs.view(A)
    assert b"zqone" not in bytes_on_disk(tmp_path / "a.deja")
    assert b"zqtwo" not in bytes_on_disk(tmp_path / "a.deja")
    assert memory.verify() == ()


@pytest.mark.parametrize(
    "path",
    ["", "a.md", "/memories", "/memories/", "/memoriesX/a", "/memories//a", "/memories/../a", "/memories/./a",
     "/memories/a/", "/memories/a\x00b", "/memories/a\nb", "/memories/" + "a" * 1_100, None, 7, "/memories/e\u0301"],
)  # fmt: skip
def test_a_malformed_path_is_refused_everywhere(memory: Memory, path: Any) -> None:
    """DOC-1."""
    docs = memory.docs
    for call in (
        lambda: docs.create(path, "x"),
        lambda: docs.view(path),
        lambda: docs.replace(path, "a", "b"),
        lambda: docs.insert(path, 0, "b"),
        lambda: docs.history(path),
        lambda: docs.restore(path, "ab"),
        lambda: docs.rename(path, B),
        lambda: docs.delete(path, because="x"),
    ):
        with refused("VAL-E001"):
            call()


def test_documents_of_another_namespace_are_others(tmp_path: Path, memory: Memory) -> None:
    """Each namespace has its own."""
    memory.docs.create(A, "shared")
    with Memory.open(tmp_path / "a.deja", namespace="user:ada") as other:
        assert other.docs.list() == ()
        other.docs.create(A, "hers")
    assert memory.docs.view(A).text == "shared"


def test_rights_are_checked(tmp_path: Path, memory: Memory) -> None:
    """Read, write, admin."""
    memory.docs.create(A, "x")
    with Memory.open(tmp_path / "a.deja", scopes=("read",)) as reader:
        assert reader.docs.view(A).text == "x"
        with refused("LOP-E022"):
            reader.docs.replace(A, "x", "y")
    with Memory.open(tmp_path / "a.deja", scopes=("read", "write")) as writer:
        writer.docs.replace(A, "x", "y")
        with refused("LOP-E022"):
            writer.docs.delete(A, because="x")


@given(text=st.text(max_size=200))
def test_any_text_comes_back_as_the_door_leaves_it(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """DOC-3: NFC, well-formed, otherwise untouched."""
    with Memory.open(tmp_path_factory.mktemp("docs") / "a.deja", durability="normal") as memory:
        assert memory.docs.create(A, text).text == door(text)
        assert memory.docs.insert(A, 0, "").text in (door(text), "\n" + door(text))


def test_versions_of_two_copies_are_told_listed_and_merged(tmp_path: Path, memory: Memory) -> None:
    """DOC-6: nothing is hidden behind the newest; deleting takes both; a merge is one version again, here and there."""
    first = memory.docs.create("/memories/a.md", "first")
    with Memory.open(tmp_path / "copy.deja", clock=memory.clock) as copy:

        def meet() -> None:
            for one, two in ((memory, copy), (copy, memory)):
                one.bundle(tmp_path / "b.mgb")
                two.import_bundle(tmp_path / "b.mgb")

        meet()
        here = memory.docs.replace("/memories/a.md", "first", "here")
        there = copy.docs.replace("/memories/a.md", "first", "there")
        copy.docs.create("/memories/b.md", "only there")
        memory.docs.create("/memories/b.md", "only here")
        meet()
        for one in (memory, copy):
            shown = one.docs.view("/memories/a.md")
            assert {shown.address, *shown.others} == {here.address, there.address}
            assert [len(doc.others) for doc in one.docs.list()] == [1, 1]
            versions = one.docs.history("/memories/a.md")
            assert {doc.text for doc in versions} == {"here", "there", "first"}
            assert versions[-1] == one.docs.view("/memories/a.md", version=first.address)
            assert [doc.live for doc in versions] == [True, True, False]
            (hidden,) = shown.others
            assert one.docs.view("/memories/a.md", version=hidden).others == (shown.address,)
            with refused("MEM-E002"):
                one.docs.rename("/memories/a.md", "/memories/c.md")
        edited = memory.docs.insert("/memories/a.md", 0, "edited")
        assert len(edited.others) == 1
        with refused("LOP-E011"):
            memory.docs.merge("/memories/a.md", "both", reason=" ")
        merged = memory.docs.merge("/memories/a.md", "both", reason="read both")
        assert (merged.text, merged.others) == ("both", ())
        kept = copy.docs.merge("/memories/b.md", reason="the newer one")
        assert kept.text == copy.docs.view("/memories/b.md").text
        with refused("VAL-E001"):
            memory.docs.merge("/memories/a.md", reason="again")
        meet()
        for one in (memory, copy):
            assert [(doc.path, doc.address, doc.others) for doc in one.docs.list()] == [
                ("/memories/a.md", merged.address, ()),
                ("/memories/b.md", kept.address, ()),
            ]
            assert {doc.text for doc in one.docs.history("/memories/a.md")} >= {
                "both",
                "here",
                "there",
                "first",
            }
            assert one.forks() == []
            assert one.verify() == ()
        renamed = memory.docs.rename("/memories/a.md", "/memories/c.md")
        assert memory.docs.history("/memories/c.md")[0] == renamed


def test_deleting_takes_the_versions_of_another_copy_too(tmp_path: Path, memory: Memory) -> None:
    """DOC-5, DOC-6: no version stays behind, whichever copy wrote it."""
    with Memory.open(tmp_path / "copy.deja", clock=memory.clock) as copy:
        copy.docs.create("/memories/a.md", "of the copy")
        copy.bundle(tmp_path / "b.mgb")
    memory.docs.create("/memories/a.md", "of our own")
    memory.import_bundle(tmp_path / "b.mgb")
    done = memory.docs.delete("/memories/a.md", because="not wanted")
    assert len(done.addresses) == 2
    assert memory.docs.list() == ()
    assert list(memory.scan("fact", live=False)) == []


def test_a_long_text_is_indexed_by_its_start(memory: Memory) -> None:
    """8,192 bytes, never half a character; the whole text is kept."""
    text = "é" * 5_000 + " quartz"
    one = memory.docs.create(A, text)
    grain = memory.get(one.address)
    assert grain is not None
    assert grain.get("embedding_text") == "é" * 4_096
    assert one.text == text


def test_numbered_lines() -> None:
    """As an editing agent is shown them."""
    assert list(numbered("hi\nthere\n")) == ["   1: hi", "   2: there"]
    assert list(numbered("")) == []
