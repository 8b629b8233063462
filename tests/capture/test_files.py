# SPDX-License-Identifier: Apache-2.0
"""The driver of every importer, the probe, and the guess which importer to take."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from deja_tui.capture import files, registry, source
from deja_tui.capture.figures import Counts, Shape
from deja_tui.capture.files import chunks, import_path
from deja_tui.capture.report import FileReport
from deja_tui.capture.source import Probe, Source, probe
from deja_tui.errors import DejaError
from deja_tui.items import CHUNK, CaptureItem
from tests.capture.sink import FakeSink

LINES = Shape(numbers=("records",))


def item(key: str, **fields: Any) -> CaptureItem:
    return CaptureItem("event", key, {"content": key, **fields})


def read(path: Path, report: FileReport, now_ms: int) -> Iterator[Sequence[CaptureItem]]:
    files.checked(path)
    for line in path.read_text().splitlines():
        if line == "other kind":
            raise DejaError("IMP-E002", "not lines", "give lines")
        report.tally.count("records")  # type: ignore[attr-defined]
        yield [item(line)]
    report.complete = True


def told(probe: Probe) -> str | None:
    return "lines" if probe.name.endswith(".lines") else None


PLAIN = Source("plain", "lines", (".lines",), told, read, lambda: Counts(LINES), "give lines")


def test_a_bad_file_costs_itself_only(tmp_path: Path) -> None:
    """FILE-1: of three files the one of another kind is a loss row, the two others are stored."""
    for name, text in (("a", "1\n2"), ("b", "other kind"), ("c", "3")):
        (tmp_path / f"{name}.lines").write_text(text)
    sink = FakeSink()
    report = import_path(sink, PLAIN, tmp_path, now_ms=1)
    assert [(file.file, file.added, file.complete) for file in report.files] == [
        ("a.lines", 2, True),
        ("b.lines", 0, False),
        ("c.lines", 1, True),
    ]
    assert [(loss.file, loss.reason) for loss in report.losses] == [("b.lines", "not lines")]
    with pytest.raises(DejaError, match="IMP-E002"):
        import_path(sink, PLAIN, tmp_path / "b.lines", now_ms=1)


def test_order_and_links(tmp_path: Path) -> None:
    """FILE-2: files come in the order of their paths; a link is told and not followed."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "z.LINES").write_text("9")
    (tmp_path / "b.lines").write_text("2")
    os.symlink(tmp_path / "b.lines", tmp_path / "a.lines")
    report = import_path(FakeSink(), PLAIN, tmp_path, now_ms=1)
    assert [file.file for file in report.files] == ["b.lines", "sub/z.LINES", "a.lines"]
    assert report.losses[0].reason == "a symbolic link, not followed"


def test_chunks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """FILE-3: a chunk holds at most CHUNK items, and a few large ones close it as well."""
    many = [item(str(n)) for n in range(CHUNK + 3)]
    assert [len(chunk) for chunk in chunks(iter([many, [], [item("x")]]))] == [CHUNK, 4]
    monkeypatch.setattr(files, "BATCH_BYTES", 1_000)
    large = [item(str(n), blocks=[{"text": "x" * 400}]) for n in range(7)]
    assert [len(chunk) for chunk in chunks(iter([large]))] == [3, 3, 1]


def test_progress_is_told_for_each_file(tmp_path: Path) -> None:
    """FILE-1: who watches a folder is told files done and files in all, up to the end."""
    for name in "ab":
        (tmp_path / f"{name}.lines").write_text("1")
    seen: list[tuple[int, int]] = []
    import_path(FakeSink(), PLAIN, tmp_path, now_ms=1, progress=lambda done, all_: seen.append((done, all_)))
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    """FILE-4: a missing path, a pipe and an empty folder are coded errors, and nothing was asked of the memory."""
    os.mkfifo(tmp_path / "p")
    (tmp_path / "empty").mkdir()
    sink = FakeSink()
    for name, code in (("gone", "IMP-E001"), ("p", "IMP-E001"), ("empty", "IMP-E002")):
        with pytest.raises(DejaError, match=code):
            import_path(sink, PLAIN, tmp_path / name, now_ms=1)
    assert sink.chunks == []


def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    """FILE-3: everything is read and counted, nothing is stored."""
    (tmp_path / "a.lines").write_text("1\n2")
    sink = FakeSink()
    report = import_path(sink, PLAIN, tmp_path, now_ms=1, dry_run=True)
    assert (report.figures["records"], sink.chunks) == (2, [])


def test_a_probe_sees_the_start_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SRC-2: a guess is given whole values from the start of a file; a line that the look cuts off says nothing."""
    monkeypatch.setattr(source, "HEAD", 24)
    (tmp_path / "a.jsonl").write_text('\ufeff{"a": 1}\n\n{"b": 2}\n{"c": "and much more than fits"}\n')
    assert probe(tmp_path / "a.jsonl").objects() == [{"a": 1}, {"b": 2}]
    monkeypatch.setattr(source, "HEAD", 4096)
    (tmp_path / "a.json").write_text(json.dumps([{"a": 1}]))
    assert probe(tmp_path / "a.json").whole == [{"a": 1}]
    assert probe(tmp_path).names == ("a.json", "a.jsonl")


def test_a_guess_is_one_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SRC-2: the reason comes with the guess; two claims, or none, are an error that says what to name."""
    (tmp_path / "a.lines").write_text("1")
    rival = Source("rival", "lines too", (".lines",), told, read, lambda: Counts(LINES), "give lines")
    monkeypatch.setattr(registry, "sources", lambda: iter([PLAIN]))
    assert registry.guess(tmp_path / "a.lines") == registry.Guess(PLAIN, "lines")
    monkeypatch.setattr(registry, "sources", lambda: iter([PLAIN, rival]))
    with pytest.raises(DejaError, match=r"IMP-E003 a\.lines looks like plain and rival"):
        registry.guess(tmp_path / "a.lines")
    with pytest.raises(DejaError, match="IMP-E003 other"):
        registry.guess((tmp_path / "a.lines").rename(tmp_path / "other"))
    with pytest.raises(DejaError, match="IMP-E001"):
        registry.guess(tmp_path / "gone")
    with pytest.raises(DejaError, match="IMP-E003"):
        registry.source("nonsense")


def test_every_importer_loads_and_says_what_it_reads() -> None:
    """SRC-3: each line of the registry is an importer of that name, with words for help and reports."""
    for kind, made in zip(registry.MODULES, registry.sources(), strict=True):
        assert made.kind == kind
        assert made.title
        assert made.hint
        assert made.figures().figures().keys() >= {"redacted", "left_out"}


def test_streaming(tmp_path: Path) -> None:
    """SRC-1: items are stored while the source is read, not at its end."""
    sink = FakeSink()

    def endless(path: Path, report: FileReport, now_ms: int) -> Iterator[Sequence[CaptureItem]]:
        for n in range(3):
            assert len(sink.chunks) == n
            yield [item(f"{n} {i}") for i in range(CHUNK)]

    (tmp_path / "a.lines").write_text("")
    lazy = Source("lazy", "lines", (".lines",), told, endless, lambda: Counts(LINES), "give lines")
    import_path(sink, lazy, tmp_path / "a.lines", now_ms=1)
    assert sink.chunks == [CHUNK, CHUNK, CHUNK]


def test_calls_count_once() -> None:
    """FIG-1: a call is its id, within a file and across files; the first result says whether it failed."""
    one, two = Counts(Shape(calls=True)), Counts(Shape(calls=True))
    for made in (one, two):
        made.calls.call("c1", "search")
    one.calls.result("c1", failed=True)
    two.calls.result("c1", failed=False)
    two.calls.result("c2", failed=True)
    one.add(two)
    figures = one.figures()
    assert (figures["tool_calls"], figures["tool_results"], figures["tool_errors"]) == (1, 2, 2)
    assert figures["errors_by_tool"] == {"(call not in file)": 1, "search": 1}


def test_figures_of_files_are_laid_together() -> None:
    """FIG-2: numbers are summed, ids are joined, a fact that differs is not told."""
    shape = Shape(numbers=("records",), sets=("sessions",), groups=("roles",), facts=("format", "flag"))
    one, two = Counts(shape), Counts(shape)
    for made, form in ((one, "a"), (two, "b")):
        made.count("records", 2)
        made.see("sessions", "s")
        made.group("roles", "user")
        made.tell("format", form)
        made.tell("flag", True)
        made.redacted["jwt"] += 1
    one.add(two)
    told = one.figures()
    assert (told["records"], told["sessions"], told["roles"]) == (4, 1, {"user": 2})
    assert (told["format"], told["flag"], told["redacted"]) == (None, True, 2)
    assert one.fresh().figures()["records"] == 0


@pytest.mark.parametrize("act", ["count", "see", "group", "tell"])
def test_an_unknown_figure_is_a_fault(act: str) -> None:
    """FIG-3: a name that the shape does not have is refused."""
    made = Counts(Shape())
    with pytest.raises(KeyError):
        getattr(made, act)("new", *(() if act == "count" else ("x",)))


def test_a_folder_that_says_nothing_is_of_the_kind_of_its_files(tmp_path: Path) -> None:
    """Files that look like none, like several, or are hidden say nothing; files of two kinds name both."""
    (tmp_path / "SOURCES.md").write_text("where it came from\n")
    (tmp_path / "a.jsonl").write_text('{"tool_name": "t", "content": "x", "is_error": true}\n')
    (tmp_path / "empty.jsonl").write_text("")
    found = registry.guess(tmp_path)
    assert (found.source.kind, found.reason.split(":")[0]) == ("openai", "a.jsonl")
    (tmp_path / ".b.json").write_text('{"results": [{"id": "1", "memory": "likes tea"}]}')
    assert registry.guess(tmp_path).source.kind == "openai"
    (tmp_path / ".b.json").rename(tmp_path / "b.json")
    with pytest.raises(DejaError) as caught:
        registry.guess(tmp_path)
    assert caught.value.code == "IMP-E003"
    assert "looks like openai and mem0" in str(caught.value)
