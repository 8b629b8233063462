# SPDX-License-Identifier: Apache-2.0
"""Every hostile file through every door that takes a file, a text or an event: the stated outcome, coded refusals, nothing
lost, and nothing raw on a terminal. The files are copied first: a door that writes must not find the originals.
"""

from __future__ import annotations

import io
import json
import shutil
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from deja_tui.capture.files import import_path
from deja_tui.capture.registry import MODULES, guess
from deja_tui.capture.registry import source as importer
from deja_tui.cli import mcp_tools
from deja_tui.errors import DejaError
from deja_tui.items import CaptureItem
from deja_tui.text import door
from tests.cli.conftest import Deja
from tests.support import NOW, shared

_LINE = frozenset("\n")
_ACTS = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_UNFORTUNATE = "p\x1b[2J\u202e"  # a name of a folder that would act


def assert_safe(text: str, what: object = "") -> None:
    """No character in ``text`` can act on a terminal or hide from a reader."""
    for char in text:
        assert char in _LINE or unicodedata.category(char) not in _ACTS, (what, repr(char))
    assert "Traceback" not in text, what


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The hostile files by their names, as copies."""
    source = shared("hostile")
    copy = tmp_path_factory.mktemp("hostile") / "files"
    shutil.copytree(source, copy, copy_function=shutil.copyfile)
    found = sorted(path for path in copy.rglob("*") if path.is_file())
    return {path.relative_to(copy).as_posix(): path for path in found}


@pytest.fixture(scope="module")
def texts(files: dict[str, Path]) -> list[str]:
    """Each whole file as text, and every text inside its records that is no plain ASCII."""
    found = {path.read_bytes().decode("utf-8", "replace"): None for path in files.values()}
    for name, path in files.items():
        for line in path.read_bytes().split(b"\n") if name.endswith(".jsonl") else ():
            try:
                found |= dict.fromkeys(_inside(json.loads(line)))
            except ValueError:
                continue  # the broken lines are in the whole text
    return [text for text in found if text.strip("\0 \n")]


def _inside(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if any(not " " <= char <= "~" or char in "[]" for char in value):
            yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from _inside(name)
            yield from _inside(one)
    elif isinstance(value, list):
        for one in value:
            yield from _inside(one)


@pytest.fixture(scope="module")
def filled(files: dict[str, Path], texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One memory with all of it: imported where a kind takes it, every text as a fact, a call, a note and a document."""
    path = tmp_path_factory.mktemp("filled") / "all.deja"
    with Memory.open(path, clock=lambda: NOW, durability="normal") as memory, memory.store.act():
        for one in files.values():
            with suppress(DejaError):  # the tests of the importers say which file is refused, and how
                import_path(memory, guess(one).source, one, now_ms=NOW)
        for number, text in enumerate(texts):
            memory.add_fact(text[:200], "says", text)
            memory.record_tool_call(text[:100], text, True, text[:50], f"c{number}", {text[:40]: text})
            memory.record_tool_call("same tool", text, True, call_id=f"d{number}")
            memory.add(
                "observation",
                {"subject": text[:80], "object": text, "observer_id": "o", "observer_type": "x"},
            )
            memory.docs.create(f"/memories/n{number}", text)
            memory.add_fact("a", "b", text, namespace=text.strip()[:50])
    with Memory.open(path, clock=lambda: NOW, durability="normal") as memory:
        memory.loop.run()
    return path


# --- importers --------------------------------------------------------------------------------------


def test_the_stated_counts(files: dict[str, Path], tmp_path: Path) -> None:
    """What the index states of each file is what its report counts, and importing it again adds nothing."""
    seen = 0
    for case in json.loads(files["index.json"].read_text())["cases"]:
        path = tmp_path / f"{case['id']}.deja"
        for name, wanted in case.get("expect", {}).items():
            if f"{case['id']}/{name}" not in files:
                assert (case["id"], name) in ELSEWHERE, "what is stated is tested, here or where this says"
                continue
            file = files[f"{case['id']}/{name}"]
            kind = "basic-memory" if name.endswith(".md") else case["import_as"]
            with Memory.open(path, clock=lambda: NOW, durability="normal") as memory:
                report = import_path(memory, importer(kind), file, now_ms=NOW).to_json()
                again = import_path(memory, importer(kind), file, now_ms=NOW).to_json()
                assert memory.verify() == ()
            told = {key: value for key, value in wanted.items() if (case["id"], key) not in ELSEWHERE}
            assert {key: report.get(key) for key in told} == told, (case["id"], name)
            assert (again["added"], again["completed"]) == (0, 0), (case["id"], name)
            assert report["files"][0]["complete"]
            seen += len(told)
    assert seen >= 80


ELSEWHERE = {
    ("torn-last-line", "new_records_after_before"): "test_glued_and_torn_lines_are_told_with_their_numbers",
    ("glued-records", "if_salvaged"): "nothing is salvaged (JSONL-5): the figures without it are stated, too",
    ("memory-file-races", "entities_if_salvaged"): "likewise",
    ("memory-file-races", "relations_if_salvaged"): "likewise",
    ("lone-surrogates", "tool_errors_first_result_wins"): "test_of_two_results_the_first_counts",
    ("lone-surrogates", "note"): "a sentence: test_of_two_results_the_first_counts",
    ("clock-skew", "note"): "a sentence: the figures beside it say the same",
    ("bom-crlf-blank", "title"): "test_a_marked_note_has_its_title",
    ("same-records-twice", "all_together"): "test_a_session_that_was_continued_and_copied",
    (
        "locked-store",
        "stored_events_after",
    ): "tests/capture/test_hooks.py: a locked memory loses nothing and blocks nobody",
}
"""What the index states and no report has as a key, with the place that tests it or the reason why nothing does."""


def test_of_two_results_the_first_counts(files: dict[str, Path], tmp_path: Path) -> None:
    """One call, no failure, and the second result is told."""
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as memory:
        report = import_path(
            memory, importer("claude-code"), files["lone-surrogates/session.jsonl"], now_ms=NOW
        )
        assert report.figures["tool_errors"] == 0
        assert any("second result" in note["reason"] for note in report.remarks), report.remarks


def test_a_marked_note_has_its_title(files: dict[str, Path], tmp_path: Path) -> None:
    """A byte-order mark hides no front matter."""
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as memory:
        import_path(memory, importer("basic-memory"), files["bom-crlf-blank/note.md"], now_ms=NOW)
        assert {grain.get("subject") for grain in memory.scan("observation")} == {"Marked"}


def test_a_session_that_was_continued_and_copied(files: dict[str, Path], tmp_path: Path) -> None:
    """Two sessions, three calls, two failures, whatever the order and however often."""
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as memory:
        folder = files["same-records-twice/one.jsonl"].parent
        figures = import_path(memory, importer("claude-code"), folder, now_ms=NOW).figures
        assert (figures["sessions"], figures["tool_calls"], figures["tool_errors"]) == (2, 3, 2)
        import_path(memory, importer("claude-code"), files["same-records-twice/one.jsonl"], now_ms=NOW)
        assert len(list(memory.scan("tool"))) == 3
        assert memory.substrate.position().errors == 2


def test_glued_and_torn_lines_are_told_with_their_numbers(files: dict[str, Path], tmp_path: Path) -> None:
    """A bad line is in the loss list once, by number; padding is a note and no loss; a finished line comes in later."""
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW) as memory:
        claude = importer("claude-code")
        lost = import_path(memory, claude, files["glued-records/session.jsonl"], now_ms=NOW).to_json()["loss"]
        assert [row["line"] for row in lost] == [4]
        padded = import_path(memory, claude, files["nul-blocks/session.jsonl"], now_ms=NOW).to_json()
        assert padded["loss"] == []
        assert any("padding" in note["reason"] for note in padded["remarks"])
    with Memory.open(tmp_path / "b.deja", clock=lambda: NOW) as memory:
        torn = import_path(memory, claude, files["torn-last-line/before.jsonl"], now_ms=NOW).to_json()
        assert [row["line"] for row in torn["loss"]] == [8]
        whole = import_path(memory, claude, files["torn-last-line/after.jsonl"], now_ms=NOW)
        assert whole.added + whole.completed == 3


def test_a_memory_file_that_was_repaired_or_is_empty(
    files: dict[str, Path], deja: Deja, tmp_path: Path
) -> None:
    """MCPM-4, FILE-5: an array reads as its records, an empty file is an empty memory of any kind, guessed or named."""
    for words in (["mcp-memory"], []):
        path = tmp_path / f"{len(words)}.deja"
        array = deja(
            "import", *words, files["memory-file-races/array.json"], "--db", path, "--format", "json"
        ).json
        assert (array["entities"], array["relations"], array["relations_to_missing_entities"]) == (1, 1, 1)
        done = deja(
            "import", *words, files["memory-file-races/empty.jsonl"], "--db", path, "--format", "json"
        )
        assert (done.code, done.json["added"], done.json["loss_total"]) == (0, 0, 0)
    glued = deja("import", files["memory-file-races/glued.jsonl"], "--db", tmp_path / "g.deja", "--loop")
    assert glued.code == 0
    found = deja("loop", "list", "--db", tmp_path / "g.deja", "--format", "json").json["recommendations"]
    assert any("duplicate_sweep" in row["analyzer"] for row in found), "the same note twice"


def test_every_kind_takes_or_refuses_every_file(
    files: dict[str, Path],
    deja: Deja,
    tmp_path: Path,
) -> None:
    """Each importer, guessed and named, over each file: done, or a coded refusal; a refusal makes no file."""
    where = tmp_path / _UNFORTUNATE
    where.mkdir()
    odd = (
        "bom-crlf-blank/note.md",
        "index.json",
        "locked-store/event.json",
        "memory-file-races/array.json",
        "nul-blocks/session.jsonl",
    )
    for name, file in files.items():
        named = MODULES if name in odd else ()
        for kind in (None, *named):
            path = where / f"{kind}-{name.replace('/', '-')}.deja"
            done = (
                deja("import", file, "--db", path)
                if kind is None
                else deja("import", kind, file, "--dry-run", "--db", path)
            )
            assert_safe(done.out + done.err, (name, kind))
            assert done.code in (0, 1), (name, kind)
            if done.code:
                assert done.err.startswith(("IMP-E002", "IMP-E003")), (name, kind, done.err)
                assert not path.exists()


# --- hooks ------------------------------------------------------------------------------------------


def _told(deja: Deja, monkeypatch: pytest.MonkeyPatch, event: bytes, *argv: object) -> str:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(event), encoding="utf-8"))
    done = deja("hook", *argv)
    assert done.code == 0
    assert done.err == ""
    if done.out:
        json.loads(done.out)
        assert done.out.isascii()
    return done.out


def test_the_hooks(
    files: dict[str, Path], deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a transcript, as standard input, as a prompt and as a failure: status 0, JSON or silence; a transcript's calls arrive."""
    for name, file in files.items():
        if (
            name.startswith(("same-records", "bom-crlf", "broken", "injected", "torn"))
            and name != "bom-crlf-blank/note.md"
        ):
            continue  # tests of the hooks and importers read those; here it is what a hook is handed
        path = tmp_path / f"{name.replace('/', '-')}.deja"
        text = file.read_bytes().decode("utf-8", "replace")
        event = {"hook_event_name": "Stop", "session_id": "s\x1b[2J", "transcript_path": str(file)}
        _told(deja, monkeypatch, json.dumps(event).encode(), "capture", "--db", path)
        stored = _calls(path)
        if name in (
            "lone-surrogates/session.jsonl",
            "terminal-escapes/session.jsonl",
            "clock-skew/session.jsonl",
        ):
            with Memory.open(tmp_path / "twin.deja", clock=lambda: NOW, durability="normal") as imported:
                import_path(imported, importer("claude-code"), file, now_ms=NOW)
            assert stored == _calls(tmp_path / "twin.deja"), name
            (tmp_path / "twin.deja").unlink()
        _told(deja, monkeypatch, file.read_bytes(), "capture", "--db", path)
        _told(deja, monkeypatch, file.read_bytes(), "recall", "--db", path)
        _told(deja, monkeypatch, json.dumps({"prompt": text}).encode(), "recall", "--with-loop", "--db", path)
        failure = {
            "hook_event_name": "PostToolUseFailure",
            "tool_name": text[:90] or "t",
            "error": text,
            "tool_input": {"x": text},
        }
        _told(deja, monkeypatch, json.dumps(failure).encode(), "capture", "--db", path)
        also = name == "locked-store/event.json"  # an event of a failed call by itself
        assert len(_calls(path)) == len(stored) + 1 + also, name


def _calls(path: Path) -> set[Any]:
    with Memory.open(path, clock=lambda: NOW) as memory:
        return {grain.get("tool_call_id") for grain in memory.store.scan("tool")}


# --- doors for texts --------------------------------------------------------------------------------


def test_texts_come_back_whole(texts: list[str], tmp_path: Path) -> None:
    """Library, capture and MCP: what goes in comes out, through the door of text and nothing else; answers are safe."""
    with (
        Memory.open(tmp_path / "a.deja", clock=lambda: NOW, durability="normal") as memory,
        memory.store.act(),
    ):
        for number, text in enumerate(texts):
            fact = memory.get(memory.add_fact("s", "r", text))
            assert fact is not None
            assert fact.get("object") == door(text)
            document = memory.docs.create(f"/memories/d{number}", text)
            assert memory.docs.view(document.path).text == door(text)
            item = CaptureItem(
                "event",
                f"k{number}",
                {"content": door(text), "role": "user", "context": {"source_key": f"k{number}"}},
            )
            assert memory.capture([item]).added == 1
            assert memory.capture([item]).skipped == 1
            if len(text) > 30_000 or number % 4:
                continue
            told = [
                mcp_tools.call(memory, "add_fact", {"subject": text[:200], "relation": "m", "object": text}),
                mcp_tools.call(
                    memory,
                    "record_tool_call",
                    {"tool_name": text[:200], "result": text, "is_error": True, "input": {text[:50]: text}},
                ),
                mcp_tools.call(memory, "search", {"text": text[:2_000]}),
                mcp_tools.call(memory, "recall", {"subject": text[:200]}),
                mcp_tools.call(memory, "recommendations", {"action": "show", "address": text[:64]}),
                mcp_tools.call(
                    memory, "recommendations", {"action": "approve", "address": "abcd", "because": text[:500]}
                ),
            ]
            assert not any(answer.failed for answer in told[:4]), [answer.text for answer in told]
            for answer in told:
                assert_safe(answer.text, text[:40])
                assert_safe(json.dumps(answer.told, ensure_ascii=False), text[:40])


def test_the_verbs_that_take_a_text(texts: list[str], deja: Deja, tmp_path: Path) -> None:
    """add, record-tool-call, search, recall, context and a parameter of the language; a NUL cannot be an argument."""
    path = tmp_path / "a.deja"
    for text in (text.replace("\0", "")[:2_000] for text in texts[:: max(1, len(texts) // 6)]):
        plain = text.lstrip("-")
        for argv in (
            ["add", plain[:80], "says", plain],
            ["record-tool-call", plain[:80], plain, "--error", "--thread", plain[:40]],
            ["search", plain],
            ["recall", plain[:80]],
            ["context", plain],
            ["cal", "RECALL facts WHERE subject = $x", "-p", f"x={plain[:80]}"],
            ["cal", plain],
        ):
            done = deja(*argv, "--db", path)
            assert_safe(done.out + done.err, argv)
            assert done.code == (1 if argv == ["cal", plain] else 0), (argv, done.err)
        draft = ["loop", "propose", "--target", plain[:80], "--note", plain[:150], "--evidence", "abcd"]
        for argv in (
            ["supersede", "abcd", "--set", f"object={plain}", "--because", plain[:400]],
            ["loop", "reject", plain[:64], "--because", plain[:400]],
            ["forget", plain[:64], "--because", plain[:400]],
            [*draft, "--op", plain],
            [*draft, "--data", plain],
            ["--db", plain[:64].replace("/", "-"), "recall"],
            ["ui", "--at", plain[:80]],
        ):
            done = deja(*argv, *(() if argv[0] == "--db" else ("--db", path)))
            assert_safe(done.out + done.err, argv)
            assert done.code in (1, 64), (argv, done.err)
            assert done.err


# --- files at doors that are not for them -----------------------------------------------------------


def test_a_file_at_the_wrong_door_is_refused_and_left_alone(
    files: dict[str, Path],
    deja: Deja,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a bundle, a memory, a script, a policy, a configuration, operations: exit 1 with a code; not a byte is written."""
    path = tmp_path / "a.deja"
    assert deja("init", "--db", path).code == 0
    for name, file in files.items():
        if name.endswith("session.jsonl") and not name.startswith(("terminal", "nul", "bom")):
            continue  # to these doors they are all the same: JSON Lines
        before = file.read_bytes()
        refused = [
            ["import-bundle", file, "--db", path],
            ["restore", tmp_path / "r.deja", "--until", "2026-01-01", "--from", file, "--because", "x"],
            ["cal", "--file", file, "--db", path],
            ["cal", "--file", file, "--dry-run"],
            ["--policy", file, "recall", "--db", path],
            ["loop", "config-import", file, "--db", path, "--because", "x"],
        ]
        if before:  # a file without a byte is how every SQLite file begins
            refused += [
                [*words, "--db", file]
                for words in (["recall"], ["verify"], ["loop", "run"], ["add", "a", "b", "c"], ["init"])
            ]
            refused += [["bundle", file, "--db", path]]
        for argv in refused:
            done = deja(*argv)
            assert done.code == 1, (argv, done.out, done.err)
            assert done.err[:8] == done.err[:3].upper() + "-E" + done.err[5:8], argv
            assert_safe(done.out + done.err, argv)
        assert file.read_bytes() == before, name
    assert not (tmp_path / "r.deja").exists()


def test_documents(files: dict[str, Path], deja: Deja, tmp_path: Path) -> None:
    """A file becomes a document whole; it is shown safely and written out as it was."""
    path = tmp_path / "a.deja"
    for number, (name, file) in enumerate(files.items()):
        where = f"/memories/{number}"
        assert deja("doc", "create", where, file, "--db", path).code == 0, name
        assert_safe(deja("doc", "view", where, "--db", path).out, name)
        told = deja("doc", "view", where, "--db", path, "--format", "json").json
        assert told["text"] == door(file.read_bytes().decode("utf-8", "replace")), name
        out = tmp_path / "out"
        assert deja("doc", "view", where, "--out", out, "--db", path).code == 0
        assert out.read_bytes() == told["text"].encode(), name
        out.unlink()


def test_a_name_that_acts(files: dict[str, Path], deja: Deja, tmp_path: Path) -> None:
    """A path with escapes is shown escaped wherever a verb names it; lines for settings are refused, since a copy would lie."""
    where = tmp_path / _UNFORTUNATE
    where.mkdir()
    (where / "s\x1b[2J").mkdir()
    path, bundle = where / "a\x1b[31m.deja", where / "b\x1b[2J.mgb"
    for argv in (
        ["init", "--template", "coding-agent", "--db", path],
        ["import", files["terminal-escapes/session.jsonl"], "--db", where / "n\x1b[2J.deja"],
        ["bundle", bundle, "--db", path],
        ["import-bundle", bundle, "--db", where / "i.deja"],
        ["restore", where / "r\x1b[2J.deja", "--until", "2026-01-01", "--from", bundle, "--because", "x"],
        ["next", "--db", path],
        ["segments", "push", where / "s\x1b[2J", "--db", path],
    ):
        done = deja(*argv)
        assert done.code == 0, (argv, done.err)
        assert_safe(done.out + done.err, argv)
    for argv, code in (
        (["hook", "print", "claude-code", "--db", path], 1),
        (["hook", "print", "mcp", "--db", path], 1),
        (["init", "--framework", "claude-code", "--db", path], 1),
        (["loop", "schedule", "--print", "--os", "cron", "--db", path], 1),
        (["recall", "--db", where / "none\x1b[2J"], 1),
        (["loop", "set", "tool_failure", "\x1b[2J\u202e=1", "--db", path, "--because", "x"], 64),
        (["recall", "-k", "x\x1b[2J\u202e", "--db", path], 64),
        (["\x1b[2J\u202e"], 64),
    ):
        done = deja(*argv)
        assert done.code == code, (argv, done.out, done.err)
        assert_safe(done.out + done.err, argv)


# --- what is shown of it ----------------------------------------------------------------------------


def test_every_verb_shows_it_safely(filled: Path, deja: Deja) -> None:
    """Lists, grains, chains, logs, queries, health and every recommendation, for people and as JSON."""
    with Memory.open(filled, clock=lambda: NOW, read_only=True) as memory:
        found = memory.recall(k=10_000)
        some = [grain.address for grain in found[:: max(1, len(found) // 4)]]
        rows = [row.address for row in memory.loop.queue()][:4]
    assert rows
    verbs: list[list[object]] = [
        ["recall", "-k", "1000"], ["search", "tool", "-k", "500"], ["log", "-k", "500", "--since", "0"], ["stats"],
        ["verify"], ["forks"], ["next"], ["context", "tool"], ["doc", "list"], ["loop", "list"], ["loop", "health"],
        ["loop", "outcomes"], ["loop", "analyzers"], ["why", "tool_failure"], ["declare"], ["audit", "export"],
        ["cal", "DESCRIBE queries"], ["cal", "RECALL tools LIMIT 100"], ["cal", 'RUN "Pending Recommendations"'],
    ]  # fmt: skip
    verbs += [
        ["cal", "RECALL facts LIMIT 100", "--format", name]
        for name in ("markdown", "csv", "toon", "yaml", "text")
    ]
    verbs += [
        [*verb, one] for one in rows for verb in (["loop", "show"], ["loop", "diff"], ["audit", "show"])
    ]
    verbs += [[verb, one] for one in some for verb in ("get", "history", "provenance")]
    for verb in verbs:
        done = deja(*verb, "--db", filled)
        assert done.code == 0, (verb, done.err)
        assert_safe(done.out + done.err, verb)
        if verb[0] not in ("cal", "audit"):
            told = deja(*verb, "--db", filled, "--format", "json")
            assert told.out.isascii(), verb
            assert "\x7f" not in told.out, verb
            json.loads(told.out)


def test_a_bundle_of_it_has_the_same_addresses(filled: Path, tmp_path: Path) -> None:
    """Out and in again: every grain, byte for byte, halves of emoji included."""
    with Memory.open(filled, clock=lambda: NOW, read_only=True) as memory:
        memory.bundle(tmp_path / "a.mgb")
        before = {
            grain.address
            for kind in ("fact", "event", "tool", "observation")
            for grain in memory.store.scan(kind)
        }
    with Memory.open(tmp_path / "b.deja", clock=lambda: NOW) as copy:
        report = copy.import_bundle(tmp_path / "a.mgb")
        after = {
            grain.address
            for kind in ("fact", "event", "tool", "observation")
            for grain in copy.store.scan(kind)
        }
    assert (report.refused, report.complete) == (0, True)
    assert after == before
