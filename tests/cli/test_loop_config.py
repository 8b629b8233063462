# SPDX-License-Identifier: Apache-2.0
"""``deja loop health, analyzers, enable, disable, set, policy, config-…`` and ``deja why``, as a person and a program use them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.health import AnalyzerState
from deja_tui.engine.objects import Activation
from deja_tui.present import health as shown
from tests.cli.conftest import Deja
from tests.support import DAY, NOW, ROOT

POLICIES = ROOT / "examples" / "policy"
NAMES = [one.manifest.id for one in ANALYZERS]


@pytest.fixture
def blank(deja: Deja, tmp_path: Path) -> Path:
    path = tmp_path / "blank.deja"
    assert deja("init", "--template", "blank", "--db", path).code == 0
    return path


def twins(path: Path) -> None:
    """Two equal facts, in every field but the moment they were written."""
    with Memory.open(path, clock=lambda: NOW - DAY) as memory:
        memory.add(
            "fact", {"subject": "acme", "relation": "likes", "object": "tea", "created_at": NOW - 2 * DAY}
        )
        memory.add("fact", {"subject": "acme", "relation": "likes", "object": "Tea", "created_at": NOW - DAY})


# --- health ------------------------------------------------------------------------------------------


def test_the_bare_group_is_the_health_report(deja: Deja, demo: Path) -> None:
    """Spec loop-engine §13, §14: and a verb that does not exist is a usage error, not a report."""
    report = deja("loop", "--db", demo)
    assert report.code == 0
    assert report.out == deja("loop", "health", "--db", demo).out
    for label in ("holds", "checked", "open ends", "last run", "queue", "policy", "analyzers"):
        assert f"\n{label}" in f"\n{report.out}"
    assert all(shown.short_id(name) in report.out for name in NAMES)
    assert deja("loop", "healht", "--db", demo).code == 64
    for option in (["--db", demo], ["--actor", "user:ana"], ["--format", "json"]):
        done = deja("loop", *option, "list")
        assert done.code == 64, "an option before the verb is never passed over"
        assert "stands after the verb" in done.err


def test_health_for_a_program_names_every_analyzer_with_its_reason(deja: Deja, demo: Path) -> None:
    """One shape, append-only: counts, queue, policy with layers, and each activation."""
    told = deja("loop", "health", "--db", demo, "--format", "json").json
    assert [one["id"] for one in told["analyzers"]] == NAMES
    states = {one["id"]: one["activation"] for one in told["analyzers"]}
    assert states["loop.tool_failure/1"]["state"] == "active"
    assert states["loop.goal_stagnation/1"] == {
        "state": "disabled", "have": 0, "need": 0, "unit": "", "hint": "default", "until": None, "older": 0,
    }  # fmt: skip
    assert states["loop.cold_grains/1"]["state"] == "watching"
    assert told["queue"]["pending"] >= 8
    assert told["chains"]["broken"] == 0
    assert told["grains"]["fact"] > 0
    assert set(told) >= {"at", "grains", "verification", "forks", "past_end", "last_run_ms", "watermark", "stale",
                         "queue", "time_to_first_ms", "policy"}  # fmt: skip


def test_a_run_ends_with_the_health_of_the_memory(deja: Deja, demo: Path) -> None:
    """A run that found nothing new says why, in lines and in JSON."""
    done = deja("loop", "run", "--db", demo)
    assert done.out.startswith("ran: ")
    assert done.out.endswith(deja("loop", "health", "--db", demo).out)
    short = deja("loop", "run", "--brief", "--db", demo).out.splitlines()
    assert len(short) < 10
    assert short[-4].startswith("queue         12 pending")
    assert short[-1] == f"  deja ui --db {demo}   or   deja review --db {demo}"
    told = deja("loop", "run", "--db", demo, "--format", "json").json
    assert told["outcome"] == "ran"
    assert [one["id"] for one in told["health"]["analyzers"]] == NAMES


def test_a_gate_that_holds_says_one_line_but_the_first_run_on_a_file_reports(deja: Deja, blank: Path) -> None:
    """Issue 5, point 9: the first run prints the report even with nothing new."""
    first = deja("loop", "run", "--min-new", "100", "--db", blank)
    assert (first.code, "analyzers\n" in first.out) == (0, True)
    assert deja("loop", "run", "--db", blank, "--quiet").out == ""
    later = deja("loop", "run", "--min-new", "100", "--db", blank)
    assert (later.code, later.out.splitlines()[0]) == (0, "skipped: min_new_not_met")
    assert "analyzers" not in later.out
    assert "health" not in deja("loop", "run", "--min-new", "100", "--db", blank, "--format", "json").json


def test_quiet_prints_nothing_on_stdout_whatever_comes(deja: Deja, blank: Path) -> None:
    """One line on stderr when something was stored or applied, none otherwise."""
    twins(blank)
    done = deja("loop", "run", "--quiet", "--db", blank, "--policy", POLICIES / "team.json")
    assert (done.out, done.err) == (
        "",
        f"deja: 1 new, 0 refreshed, 1 applied by policy; deja loop list --db {blank}\n",
    )
    again = deja("loop", "run", "--quiet", "--db", blank)
    assert (again.out, again.err) == ("", "")


def test_reflect_looks_at_everything_again(deja: Deja, demo: Path) -> None:
    """A full sweep of a memory that was just looked at finds the same and stores nothing."""
    deja("loop", "run", "--db", demo, "--quiet")
    told = deja("loop", "reflect", "--db", demo, "--format", "json").json
    assert told["proposed"] >= 8
    assert told["stored"] == 0
    assert set(told["dropped"]) <= {"open", "cooling", "applied"}
    assert sum(told["dropped"].values()) == told["proposed"] == len(told["drops"])


def test_why_is_one_analyzer_in_full(deja: Deja, demo: Path) -> None:
    """Loop-engine §25: an explanation why an analyzer is quiet, with settings, bounds, and the next command."""
    done = deja("why", "tool_failure", "--db", demo)
    assert done.code == 0
    assert "state: fires: " in done.out
    assert (
        "min_count = 3 (as it comes): fewest failures of one kind, a whole number from 1 to 1000" in done.out
    )
    assert "next: deja loop list" in done.out
    told = deja("why", "loop.goal_stagnation", "--db", demo, "--format", "json").json
    assert told["next"] == "deja loop enable goal_stagnation --because WHY"
    unknown = deja("why", "tool_failures", "--db", demo)
    assert unknown.code == 1
    assert "LOP-E033 there is no analyzer tool_failures" in unknown.err
    assert "loop.tool_failure/1" in unknown.err


def test_analyzers_lists_what_each_looks_for_and_what_was_set(deja: Deja, demo: Path) -> None:
    """The listing comes from the manifests."""
    deja("loop", "set", "tool_failure.min_count=4", "--because", "noise", "--db", demo)
    done = deja("loop", "analyzers", "--db", demo)
    for one in ANALYZERS:
        assert f"  {one.manifest.description}\n" in done.out
    assert "min_count=4 (file)" in done.out
    told = deja("loop", "analyzers", "--db", demo, "--format", "json").json["analyzers"]
    params = {param["name"]: param for param in told[0]["params"]}
    assert (params["min_count"]["value"], params["min_count"]["layer"]) == (4, "file")


@pytest.mark.parametrize(
    ("activation", "line"),
    [
        (Activation("active", 5, 1, "findings"), "fires: 5 findings"),
        (Activation("quiet", 0, 1, "x"), "looked, found nothing"),
        (Activation("below_threshold", 12, 50, "samples"), "needs 50 samples, has 12"),
        (Activation("watching", 3, 30, "days", until=NOW + 27 * DAY),
         "counting: 3 of 30 days, until 2026-03-29"),
        (Activation("cooling", 2, 0, "findings rejected lately", until=NOW + 3 * DAY),
         "2 findings rejected lately, the first may return in 3d"),
        (Activation("missing", unit="telemetry", hint="telemetry: deja --telemetry aggregate …"),
         "needs what is not here: telemetry: deja --telemetry aggregate …"),
        (Activation("disabled", hint="policy"), "off, by the host's policy"),
        (Activation("disabled", hint="file"), "off, by this memory"),
        (Activation("disabled", hint="sync"), "off, by another copy of this memory"),
        (Activation("disabled", hint="default"), "off unless switched on"),
        (Activation("failed", hint="LOP-E030 failed: ValueError"), "failed: LOP-E030 failed: ValueError"),
        (Activation("quiet\x1b[2J"), "quiet\\x1b[2J"),
    ],
)  # fmt: skip
def test_every_state_is_said_in_counts(activation: Activation, line: str) -> None:
    """HEA-2: the eight states, and one of a newer version, cleaned."""
    assert shown.told(activation, NOW) == line


def test_a_hostile_analyzer_cannot_write_on_the_terminal() -> None:
    """Names, units and hints of linked analyzers and commands are shown cleaned."""
    manifest = ANALYZERS[0].manifest
    bad = "\x1b[2J\u202e[red]"
    state = AnalyzerState(
        type(manifest)(**{**{n: getattr(manifest, n) for n in manifest.__slots__}, "id": f"{bad}/1", "title": bad, "description": bad}),
        None, Activation("failed", unit=bad, hint=bad), None, 0, 0, bad,
    )  # fmt: skip
    told = "\n".join([*shown.why_lines(state, NOW, 200), *shown.analyzers_lines([state], NOW, 200)])
    assert "\x1b" not in told
    assert "\u202e" not in told


# --- settings ----------------------------------------------------------------------------------------


def test_set_enable_disable_and_the_log(deja: Deja, demo: Path) -> None:
    """Each change needs a reason, is checked first, and stands in the log with old and new."""
    assert (
        deja("loop", "set", "tool_failure.min_count=5", "--because", "three is noise", "--db", demo).code == 0
    )
    assert deja("loop", "set", "tool_failure.min_rate=0.5", "--because", "half", "--db", demo).code == 0
    assert (
        deja("loop", "set", "tool_failure.severity_floor=medium", "--because", "busy", "--db", demo).code == 0
    )
    assert deja("loop", "set", "tool_failure.namespaces=a, b", "--because", "ours", "--db", demo).code == 0
    assert deja("loop", "disable", "staleness", "--because", "no ends here", "--db", demo).code == 0
    assert (
        deja("loop", "set", "--clear", "tool_failure.min_count", "--because", "undo", "--db", demo).code == 0
    )
    told = deja("loop", "set", "--log", "--db", demo, "--format", "json").json["changes"]
    assert [(one["analyzer"], one["part"], one["old"], one["new"], one["because"]) for one in told] == [
        ("loop.tool_failure/1", "params", None, {"min_count": 5}, "three is noise"),
        ("loop.tool_failure/1", "params", {"min_count": 5}, {"min_count": 5, "min_rate": 0.5}, "half"),
        ("loop.tool_failure/1", "severity_floor", None, "medium", "busy"),
        ("loop.tool_failure/1", "namespaces", None, ["a", "b"], "ours"),
        ("loop.staleness/1", "enabled", None, False, "no ends here"),
        ("loop.tool_failure/1", "params", {"min_count": 5, "min_rate": 0.5}, {"min_rate": 0.5}, "undo"),
    ]
    assert {one["source"] for one in told} == {"local"}
    skipped = deja("loop", "run", "--db", demo, "--format", "json").json["analyzers_skipped"]
    assert {"id": "loop.staleness/1", "reason": "disabled"} in skipped
    same = deja("loop", "disable", "staleness", "--because", "again", "--db", demo)
    assert (same.code, same.out) == (0, "Nothing to change: it is so already.\n")


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (
            ["set", "tool_failure.min_count=0"],
            1,
            "LOP-E031 parameter min_count must be a whole number from 1 to 1000",
        ),
        (["set", "tool_failure.min_count=many"], 1, "LOP-E031 parameter min_count"),
        (["set", "tool_failure.min_count=[[[["], 1, "LOP-E031 parameter min_count"),
        (["set", "tool_failure.command=rm"], 1, "LOP-E031 loop.tool_failure/1 has no parameter command"),
        (["set", "tool_failure.severity_floor=fatal"], 1, "LOP-E031 severity_floor"),
        (["set", "tool_failure.namespaces=deja-loop"], 1, "LOP-E031"),
        (["set", "nothing.min_count=3"], 1, "LOP-E033 there is no analyzer nothing"),
        (["set", "min_count=3"], 64, "ANALYZER.NAME=VALUE"),
        (["set", "tool_failure.min_count"], 64, "ANALYZER.NAME=VALUE"),
        (["set"], 64, "Give one"),
        (["set", "a.b=1", "--clear", "a.b"], 64, "Give one"),
        (["set", "--clear", "tool_failure.nothing"], 1, "LOP-E031"),
        (["enable", "nothing"], 1, "LOP-E033"),
    ],
)
def test_what_cannot_be_set_is_refused_with_the_reason(
    deja: Deja, blank: Path, argv: list[str], code: int, told: str
) -> None:
    """Nothing is written, and the bounds are said."""
    done = deja("loop", *argv, "--because", "why", "--db", blank)
    assert done.code == code
    assert told in done.err
    assert deja("loop", "set", "--log", "--db", blank).out == "No setting was changed.\n"


@pytest.mark.parametrize(
    "argv", [["set", "tool_failure.min_count=5"], ["enable", "staleness"], ["disable", "staleness"]]
)
def test_a_change_of_settings_needs_a_reason(deja: Deja, blank: Path, argv: list[str]) -> None:
    """D16, at this door, too."""
    assert deja("loop", *argv, "--db", blank).code == 64
    assert deja("loop", *argv, "--because", "   ", "--db", blank).code == 1


def test_settings_go_out_and_come_in(deja: Deja, blank: Path, demo: Path, tmp_path: Path) -> None:
    """Export, import, and a document that says more than settings is refused whole."""
    deja("loop", "set", "tool_failure.min_count=5", "--because", "w", "--db", demo)
    deja("loop", "enable", "goal_stagnation", "--because", "w", "--db", demo)
    out = tmp_path / "analyzers.json"
    assert deja("loop", "config-export", "--out", out, "--db", demo).code == 0
    document = json.loads(out.read_text())
    assert document == deja("loop", "config-export", "--db", demo).json
    done = deja("loop", "config-import", out, "--because", "the same here", "--db", blank, "--format", "json")
    assert (done.code, len(done.json["changes"])) == (0, 2)
    assert deja("loop", "config-export", "--db", blank).json == document
    document["analyzers"]["loop.tool_failure/1"]["command"] = "curl x | sh"
    out.write_text(json.dumps(document))
    refused = deja("loop", "config-import", out, "--because", "w", "--db", blank)
    assert refused.code == 1
    assert "LOP-E037" in refused.err
    assert "command" in refused.err
    out.write_text("[" * 10_000)
    assert deja("loop", "config-import", out, "--because", "w", "--db", blank).code == 1
    assert deja("loop", "config-import", tmp_path / "none.json", "--because", "w", "--db", blank).code == 64


# --- policy ------------------------------------------------------------------------------------------


def test_policy_shows_each_value_with_its_layer(
    deja: Deja, blank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--policy`` before or after the verb, else DEJA_LOOP_POLICY; the flag wins over the variable."""
    monkeypatch.setenv("DEJA_LOOP_POLICY", str(POLICIES / "locked.json"))
    by_variable = deja("loop", "policy", "--db", blank, "--format", "json").json
    after = deja("loop", "policy", "--policy", POLICIES / "team.json", "--db", blank, "--format", "json").json
    before = deja(
        "--policy", POLICIES / "team.json", "loop", "policy", "--db", blank, "--format", "json"
    ).json
    assert after == before

    def value(told: dict[str, Any], name: str) -> tuple[Any, str]:
        return next((one["value"], one["layer"]) for one in told["values"] if one["name"] == name)

    assert value(by_variable, "telemetry") == ("off", "policy")
    flagged = deja("loop", "policy", "--telemetry", "full", "--db", blank, "--format", "json").json
    assert value(flagged, "telemetry") == ("full", "flag")
    assert value(after, "auto_apply_enabled") == (True, "policy")
    assert value(after, "reason.length") == (500, "engine")
    assert (
        "policy   auto_apply_enabled"
        in deja("loop", "policy", "--policy", POLICIES / "team.json", "--db", blank).out
    )


@pytest.mark.parametrize("text", ['{"auto_aply": []}', "[]", "{"])
def test_a_policy_that_does_not_load_stops_every_verb(
    deja: Deja, blank: Path, tmp_path: Path, text: str
) -> None:
    """Nothing runs under a policy that was not understood."""
    path = tmp_path / "policy.json"
    path.write_text(text)
    for verb in (["loop", "run"], ["loop", "list"], ["loop", "health"]):
        done = deja("--policy", path, *verb, "--db", blank)
        assert done.code == 1
        assert "LOP-E037" in done.err
    assert "LOP-E037" in deja("--policy", tmp_path / "none.json", "loop", "run", "--db", blank).err


def test_a_denied_analyzer_is_skipped_and_says_by_whom(deja: Deja, demo: Path, tmp_path: Path) -> None:
    """The reason in the run, the layer in the report; no setting of the file lifts it."""
    path = tmp_path / "policy.json"
    path.write_text('{"deny": ["loop.staleness"], "severity_floors": {"loop.tool_failure": "high"}}')
    deja("loop", "enable", "staleness", "--because", "we need it", "--db", demo)
    told = deja("loop", "run", "--policy", path, "--db", demo, "--format", "json").json
    assert {"id": "loop.staleness/1", "reason": "denied by the host's policy"} in told["analyzers_skipped"]
    assert told["dropped"]["below_floor"] >= 1
    states = {one["id"]: one for one in told["health"]["analyzers"]}
    assert states["loop.staleness/1"]["enabled_by"] == "policy"
    assert states["loop.staleness/1"]["next"] == "deja loop policy"


def test_a_misspelt_denial_is_told_at_every_open(deja: Deja, blank: Path, tmp_path: Path) -> None:
    """It denies nothing, and that is seen."""
    path = tmp_path / "policy.json"
    path.write_text('{"deny": ["loop.stalenes"]}')
    told = deja("--policy", path, "loop", "list", "--db", blank).err
    assert "note: policy: no analyzer here is called loop.stalenes" in told


def test_the_policy_s_telemetry_is_honoured_and_the_flag_wins(
    deja: Deja, blank: Path, tmp_path: Path
) -> None:
    """D37: locked counts nothing, so what telemetry feeds is missing; a flag comes before the policy."""
    locked = POLICIES / "locked.json"
    deja("--policy", locked, "recall", "acme", "--db", blank)
    sidecar = Path(f"{blank}.telemetry.db")
    assert not sidecar.exists()
    path = tmp_path / "quiet.json"
    path.write_text('{"telemetry": "off"}')
    told = deja("loop", "run", "--policy", path, "--db", blank, "--format", "json").json
    reasons = {one["id"]: one["reason"] for one in told["analyzers_skipped"]}
    assert reasons["loop.cold_grains/1"].startswith("missing telemetry")
    told = deja(
        "--telemetry", "aggregate", "loop", "run", "--policy", path, "--db", blank, "--format", "json"
    ).json
    assert "loop.cold_grains/1" in told["analyzers_run"]


def test_why_of_an_address_says_where_that_is_told(deja: Deja, demo: Path) -> None:
    """An address is no analyzer: the next step names the verbs that tell why of a recommendation and of a grain."""
    done = deja("why", "e783bbfb", "--db", demo)
    assert (done.code, done.err[:8]) == (1, "LOP-E033")
    assert "deja loop show e783bbfb" in done.err
    assert "known: loop." in deja("why", "tool_failur", "--db", demo).err
