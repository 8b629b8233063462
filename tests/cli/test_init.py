# SPDX-License-Identifier: Apache-2.0
"""``deja init``: literal templates that are played once, never into what is not theirs, and wiring that is only printed."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path

import pytest

from deja_tui import Memory
from deja_tui.cal.parser import parse_script
from deja_tui.capture.demo import beats
from deja_tui.capture.templates import NAMES, declarations, script
from deja_tui.engine.health import AnalyzerState
from tests.cli.conftest import Deja
from tests.support import NOW

WORKING = ("coding-agent", "support-agent")


def everything(path: Path) -> list[tuple[object, ...]]:
    """What a memory holds, tells and is set to."""
    with Memory.open(path, read_only=True, clock=lambda: NOW) as memory:
        log = [(entry.kind, entry.address) for entry in memory.log()]
        return [*log, *sorted(map(repr, memory.store.settings("").items()))]


@pytest.mark.parametrize("name", NAMES)
def test_dry_run_prints_the_literal_script_and_makes_nothing(name: str, deja: Deja, tmp_path: Path) -> None:
    """D42: what is shown is the file in the package, line for line; it parses as a script of the language."""
    path = tmp_path / "x.deja"
    done = deja("init", "--template", name, "--db", path, "--dry-run")
    assert done.code == 0
    assert done.out == script(name)
    assert not path.exists()
    if name != "blank":
        assert parse_script(script(name))
    assert deja("init", "--template", name, "--dry-run", "--format", "json").json["script"] == script(name)


@pytest.mark.parametrize("name", WORKING)
def test_a_template_gives_a_namespace_a_document_queries_and_analyzer_rows(
    name: str, deja: Deja, tmp_path: Path
) -> None:
    """All four, as the issue names them; every later open reads the namespace that was declared."""
    path = tmp_path / "x.deja"
    assert deja("init", "--template", name, "--db", path).code == 0
    with Memory.open(path, clock=lambda: NOW) as memory:
        (namespace, because) = declarations(script(name))["namespace"]
        assert memory.namespace == namespace == memory.declared()[0].value
        assert memory.declared()[0].because == because
        (document,) = memory.docs.list()
        assert document.path == "/memories/instructions.md"
        queries = [key for key in memory.store.settings("") if "quer" in key]
        assert len(queries) == 3, queries
        assert {change.analyzer for change in memory.loop.config_log()} >= {"loop.contradiction_sweep/1"}
        assert len(memory.loop.config_log()) == 2
        assert memory.verify() == ()


@pytest.mark.parametrize("name", WORKING)
def test_the_script_of_a_template_does_what_the_template_does(name: str, deja: Deja, tmp_path: Path) -> None:
    """D42: played with `deja cal --file` it declares the namespace too, and writes there; --dry-run shows that line."""
    path, by_init, file = tmp_path / "x.deja", tmp_path / "y.deja", tmp_path / "t.cal"
    file.write_text(script(name))
    shown = deja("cal", "--file", file, "--dry-run")
    assert "deja declare namespace" in shown.out
    assert deja("cal", "--file", file, "--db", path).code == 0
    assert deja("init", "--template", name, "--db", by_init).code == 0
    with Memory.open(path, clock=lambda: NOW) as played, Memory.open(by_init, clock=lambda: NOW) as made:
        assert played.namespace == made.namespace != "shared"
        assert [one.path for one in played.docs.list()] == [one.path for one in made.docs.list()]
    other = tmp_path / "z.deja"
    assert deja("cal", "--file", file, "--ns", "mine", "--db", other).code == 0
    with Memory.open(other, namespace="mine", clock=lambda: NOW) as memory:
        assert len(memory.docs.list()) == 1
    file.write_text("-- deja declare namespace\nRECALL facts;\n")
    refused = deja("cal", "--file", file, "--db", tmp_path / "n.deja")
    assert (refused.code, refused.err[:8]) == (1, "VAL-E001")


def test_a_demo_that_was_killed_is_made_whole(
    deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing stands under its name until it is whole; what was left beside it is no obstacle. An empty file is filled."""
    from deja_tui.capture import demo as making

    path, part = tmp_path / "d.deja", tmp_path / "d.deja.part"
    with Memory.open(part, clock=lambda: NOW) as half:
        half.add_fact("half", "made", "yes")
    path.touch()
    assert deja("demo", path).code == 0
    assert not list(tmp_path.glob("*.part*"))
    assert deja("init", "--template", "demo", "--db", path, "--format", "json").json["changed"] is False

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(making, "_play", killed)
    other = tmp_path / "o.deja"
    assert deja("demo", other).code == 130
    assert not list(tmp_path.glob("o.deja*"))


def test_an_empty_file_is_told_to_be_one(deja: Deja, tmp_path: Path) -> None:
    """STO-E002: where nothing may be written it says so plainly; where it may, an empty file is how a memory begins."""
    path = tmp_path / "e.deja"
    path.touch()
    done = deja("recall", "--db", path)
    assert done.code == 1
    assert "the file is empty" in done.err
    assert "deja init" in done.err
    assert path.stat().st_size == 0
    assert deja("init", "--db", path, "--format", "json").json["changed"] is True
    assert deja("recall", "--db", path).code == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_same_template_twice_changes_nothing(name: str, deja: Deja, tmp_path: Path) -> None:
    """Op-log and settings are the same bytes afterwards; the second time says so."""
    path = tmp_path / "x.deja"
    first = deja("init", "--template", name, "--db", path, "--format", "json").json
    before = everything(path)
    again = deja("init", "--template", name, "--db", path, "--format", "json").json
    assert (first["changed"], again["changed"]) == (True, False)
    assert everything(path) == before
    assert "nothing was changed" in deja("init", "--template", name, "--db", path).out


@pytest.mark.parametrize("name", NAMES)
def test_a_memory_that_holds_grains_is_left_alone(name: str, deja: Deja, tmp_path: Path) -> None:
    """CLI-E003, and not a byte of the op-log moves; with the flag a working template goes in beside what is there."""
    path = tmp_path / "mine.deja"
    assert deja("add", "a", "b", "c", "--db", path).code == 0
    before = everything(path)
    done = deja("init", "--template", name, "--db", path)
    assert done.code == 1
    assert "CLI-E003" in done.err
    assert everything(path) == before
    if name in WORKING:
        assert deja("init", "--template", name, "--db", path, "--into-existing").code == 0
        with Memory.open(path, namespace="shared") as memory:
            assert [grain.get("object") for grain in memory.recall("a")] == ["c"]


def test_a_second_template_into_one_file_is_all_or_nothing(deja: Deja, tmp_path: Path) -> None:
    """One transaction: what is refused in the middle leaves neither a query nor a declaration."""
    path = tmp_path / "x.deja"
    assert (
        deja("doc", "create", "/memories/instructions.md", __file__, "--ns", "coding", "--db", path).code == 0
    )
    before = everything(path)
    done = deja("init", "--template", "coding-agent", "--db", path, "--into-existing")
    assert done.code == 1
    assert "MEM-E002" in done.err
    assert everything(path) == before


def test_init_without_a_file_asks_for_one(
    deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal it asks; elsewhere that is a usage error."""
    monkeypatch.chdir(tmp_path)
    assert deja("init").code == 64
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.prompt", lambda text, default: "asked.deja")
    assert deja("init").code == 0
    assert (tmp_path / "asked.deja").exists()


# --- the demo -------------------------------------------------------------------------------------------


def test_one_run_of_the_demo_fires_five_analyzers(deja: Deja, demo: Path) -> None:
    """Issue 6: at least five, the stalled skill among them, and all that wait were stored by the engine."""
    rows = deja("loop", "list", "--db", demo, "--format", "json").json["recommendations"]
    fired = {row["analyzer"] for row in rows}
    assert len(fired) >= 5
    assert "loop.skill_stall/1" in fired
    told = deja("loop", "analyzers", "--db", demo, "--format", "json").json["analyzers"]
    assert {one["id"] for one in told} >= fired
    assert AnalyzerState.__doc__


def test_the_demo_was_measured_at_earlier_times(deja: Deja, demo: Path) -> None:
    """D54: applied eight days ago, measured after one day then and after seven now; both spans are whole."""
    outcomes = deja("loop", "outcomes", "--db", demo, "--format", "json").json["outcomes"]
    found = {one["horizon_ms"] // 86_400_000: one for one in outcomes}
    assert sorted(found) == [1, 7]
    assert found[1]["measured_at"] < NOW - 6 * 86_400_000
    assert (found[7]["before"]["count"], found[7]["before"]["n"]) == (5, 7)
    assert (found[7]["after"]["count"], found[7]["after"]["n"]) == (0, 3)
    assert found[7]["verdict"] == "lower"
    assert deja("verify", "--deep", "--db", demo).code == 0
    assert deja("audit", "export", "--db", demo).code == 0


def test_the_demo_is_told_in_order() -> None:
    """Statements stand in the order of their times, so that the script reads as what happened."""
    times = [beat.before_ms for beat in beats()]
    assert times == sorted(times, reverse=True)
    assert times[-1] == 0
    assert {beat.actor for beat in beats()} == {"agent:shop", "job:nightly", "user:ana"}


# --- wiring ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", ["claude-code", "openai", "python", "mcp"])
def test_the_wiring_is_printed_with_absolute_paths_and_nothing_is_edited(
    framework: str, deja: Deja, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program, the file, no other file made or changed; on a file that is there it prints only."""
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text('{"mine": true}')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    done = deja("init", "--framework", framework, "--db", "a.deja")
    assert done.code == 0, done.err
    assert str(tmp_path / "a.deja") in done.out
    assert "Nothing was installed" in done.out
    assert (home / ".claude" / "settings.json").read_text() == '{"mine": true}'
    assert sorted(one.name for one in home.rglob("*")) == [".claude", "settings.json"]
    assert deja("add", "a", "b", "c", "--db", "a.deja").code == 0
    digest = hashlib.sha256((tmp_path / "a.deja").read_bytes()).digest()
    told = deja("init", "--framework", framework, "--db", "a.deja", "--format", "json").json
    assert told["changed"] is False
    assert hashlib.sha256((tmp_path / "a.deja").read_bytes()).digest() == digest
    if framework == "claude-code":
        hooks = json.loads("\n".join(told["wiring"]))["hooks"]
        commands = [
            shlex.split(h["command"]) for rows in hooks.values() for row in rows for h in row["hooks"]
        ]
        assert {command[command.index("hook") + 1] for command in commands} == {
            "recall",
            "capture",
            "session-end",
        }
        assert all(Path(command[0]).is_absolute() for command in commands)
        assert all(command[command.index("--db") + 1] == str(tmp_path / "a.deja") for command in commands)
    if framework == "python":
        compile("\n".join(told["wiring"]), "wiring", "exec")
