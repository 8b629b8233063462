# SPDX-License-Identifier: Apache-2.0
"""The host's policy: what loads, what is refused with its key named, what is in force and by which layer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui.engine import policy
from deja_tui.engine.analyzer import Manifest
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.objects import SEVERITIES
from deja_tui.engine.policy import Effective, Grant, Policy, from_plain, in_force, parse, stricter
from tests.engine.helpers import refusal_of, refused
from tests.support import ROOT

EXAMPLES = ROOT / "examples" / "policy"
MANIFESTS = [one.manifest for one in ANALYZERS]
SWEEP = {"analyzer": "loop.duplicate_sweep", "targets": ["memory"], "max_severity": "low"}


def manifest(id_: str, **over: Any) -> Manifest:
    return Manifest(id=id_, title="t", description="d", tier="T0", params=(), **over)


# --- reading -----------------------------------------------------------------------------------------


def test_the_default_policy_grants_and_denies_nothing() -> None:
    """An empty object is a policy: every key has a default."""
    assert parse("{}") == Policy()
    assert not Policy().grants("loop.duplicate_sweep/1", "memory", "info")
    assert not Policy().denies("loop.duplicate_sweep/1")
    assert Policy().floor("loop.duplicate_sweep/1") is None


@pytest.mark.parametrize(
    ("told", "key"),
    [
        ({"llm_cmd": "curl"}, "llm_cmd"),
        ({"analyzer_cmd": ["x"]}, "analyzer_cmd"),
        ({"self_approval": True}, "self_approval"),
        ({"reviewers": ["user:ana"]}, "reviewers"),
        ({"auto_apply_enabled": 1}, "auto_apply_enabled"),
        ({"auto_apply_enabled": "true"}, "auto_apply_enabled"),
        ({"auto_apply": {}}, "auto_apply"),
        ({"auto_apply": ["loop.duplicate_sweep"]}, "auto_apply[0]"),
        ({"auto_apply": [SWEEP, {**SWEEP, "command": "rm"}]}, "auto_apply[1].command"),
        ({"auto_apply": [{**SWEEP, "targets": ["prompt"]}]}, "auto_apply[0].targets"),
        ({"auto_apply": [{**SWEEP, "targets": ["memory", "host"]}]}, "auto_apply[0].targets"),
        ({"auto_apply": [{**SWEEP, "targets": []}]}, "auto_apply[0].targets"),
        ({"auto_apply": [{**SWEEP, "targets": "memory"}]}, "auto_apply[0].targets"),
        ({"auto_apply": [{**SWEEP, "max_severity": "fatal"}]}, "auto_apply[0].max_severity"),
        ({"auto_apply": [{**SWEEP, "analyzer": ""}]}, "auto_apply[0].analyzer"),
        ({"auto_apply": [{"targets": ["memory"], "max_severity": "low"}]}, "auto_apply[0].analyzer"),
        ({"deny": "loop.staleness"}, "deny"),
        ({"deny": [7]}, "deny"),
        ({"severity_floors": []}, "severity_floors"),
        ({"severity_floors": {"loop.staleness": "none"}}, "severity_floors.loop.staleness"),
        ({"telemetry": "on"}, "telemetry"),
        ({"telemetry": None}, "telemetry"),
    ],
)
def test_what_is_no_policy_is_refused_with_the_key_named(told: dict[str, Any], key: str) -> None:
    """POL-1, POL-3: a typing error never loads as something weaker, and no key names a command or a reviewer."""
    with refused("LOP-E037") as caught:
        parse(json.dumps(told))
    assert f"key {key} " in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "7", '"x"', "{", "\x00", "[" * 5_000, '{"deny": NaN}', " " * 70_000, b"\xff\xfe"],
)
def test_what_is_no_json_object_is_refused(text: str | bytes) -> None:
    """Also a document that is too long or nested without end."""
    with refused("LOP-E037"):
        parse(text)


def test_a_key_given_twice_is_refused() -> None:
    """POL-1: of two values nobody can tell which one the host meant."""
    with refused("LOP-E037") as caught:
        parse('{"auto_apply_enabled": false, "auto_apply_enabled": true}')
    assert "auto_apply_enabled is given twice" in str(caught.value)


def test_a_key_of_hostile_text_is_shown_cleaned() -> None:
    """The name of a key goes to a terminal."""
    with refused("LOP-E037") as caught:
        parse(json.dumps({"\x1b[2J\u202edeny": []}))
    assert "\x1b" not in str(caught.value)
    assert "\u202e" not in str(caught.value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_any_value_is_a_policy_or_refused_by_code(told: object) -> None:
    """No document makes the reader stumble, and what loads says itself in the same words."""
    code = refusal_of(lambda: from_plain(told))
    assert code in (None, "LOP-E037")
    if code is None:
        found = from_plain(told)
        assert replace(from_plain(found.to_plain()), named=found.named) == found


# --- examples ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_every_example_policy_loads(path: Path) -> None:
    """What a user copies is right as it stands."""
    found = parse(path.read_text())
    assert json.loads(path.read_text()) == found.to_plain()


def test_the_examples_say_what_their_names_promise() -> None:
    """D24: solo grants nothing, team grants the duplicate sweep up to low, locked denies, floors and counts nothing."""
    solo, team, locked = (
        parse((EXAMPLES / f"{name}.json").read_text()) for name in ("solo", "team", "locked")
    )
    every = [
        (one.id, target, severity)
        for one in MANIFESTS
        for target in policy.TARGETS
        for severity in SEVERITIES
    ]
    assert not [one for one in every if solo.grants(*one) or locked.grants(*one)]
    assert {one for one in every if team.grants(*one)} == {
        ("loop.duplicate_sweep/1", "memory", "info"),
        ("loop.duplicate_sweep/1", "memory", "low"),
    }
    assert locked.deny
    assert locked.severity_floors
    assert locked.telemetry == "off"
    assert {solo.telemetry, team.telemetry} == {"aggregate"}


# --- matching ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["loop.duplicate_sweep", "loop.duplicate_sweep/1", "loop.duplicate_sweep/7"])
def test_names_are_compared_by_family(name: str) -> None:
    """POL-2: a new major version slips past no denial, no floor and out of no grant."""
    found = from_plain(
        {
            "auto_apply_enabled": True,
            "auto_apply": [{**SWEEP, "analyzer": name}],
            "deny": [name],
            "severity_floors": {name: "medium"},
        }
    )
    for asked in ("loop.duplicate_sweep/1", "loop.duplicate_sweep/2"):
        assert found.denies(asked)
        assert found.floor(asked) == "medium"
        assert found.grants(asked, "memory", "low")
    assert not found.denies("loop.duplicate_sweep_more/1")
    assert not found.grants("loop.duplicate_sweep/1", "query", "low")
    assert not found.grants("loop.duplicate_sweep/1", "memory", "medium")


def test_a_grant_without_the_switch_grants_nothing() -> None:
    """The host opts in once, and then says what."""
    assert not from_plain({"auto_apply": [SWEEP]}).grants("loop.duplicate_sweep/1", "memory", "low")


def test_of_two_floors_the_stricter_counts() -> None:
    """POL-4."""
    assert stricter() is None
    assert stricter(None, None) is None
    assert stricter("low", None, "high", "info") == "high"
    assert (
        from_plain({"severity_floors": {"a.b/1": "low", "a.b": "high", "a.b/2": "info"}}).floor("a.b/9")
        == "high"
    )


# --- what is in force --------------------------------------------------------------------------------


def test_every_value_names_its_layer() -> None:
    """POL-4: ceilings, then flags, then the policy's own keys, then defaults, then the file."""
    found = in_force(
        from_plain({"deny": ["loop.staleness"], "telemetry": "full"}),
        MANIFESTS,
        file=[Effective("loop.tool_failure/1.enabled", False, "file")],
    ).under({"telemetry": "off", "nothing": 1, "deny": None})
    layers = {one.name: (one.value, one.layer) for one in found.values}
    assert layers["reason.length"] == (500, "engine")
    assert layers["telemetry"] == ("off", "flag")
    assert layers["deny"] == (["loop.staleness"], "policy")
    assert layers["auto_apply_enabled"] == (False, "default")
    assert layers["loop.tool_failure/1.enabled"] == (False, "file")
    assert len(layers) == len(found.values), "each value is told once"
    json.dumps(found.to_plain())


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"auto_apply": [SWEEP]}, "auto_apply_enabled is false"),
        (
            {"auto_apply": [{**SWEEP, "analyzer": "loop.tool_failure"}]},
            "its findings are never applied unasked",
        ),
        ({"auto_apply": [{**SWEEP, "analyzer": "acme.thing"}]}, "no analyzer here has this name"),
        ({"auto_apply": [{**SWEEP, "targets": ["query"]}]}, "it never proposes a change to these targets"),
        ({"auto_apply": [SWEEP], "deny": ["loop.duplicate_sweep/1"]}, "the same policy denies the analyzer"),
    ],
)
def test_a_grant_in_vain_loads_and_is_listed_with_the_reason(told: dict[str, Any], reason: str) -> None:
    """D24: nobody believes in a grant that the engine will never use."""
    if reason != "auto_apply_enabled is false":
        told = {**told, "auto_apply_enabled": True}
    (listed,) = in_force(from_plain(told), MANIFESTS).ineffective
    assert listed.endswith(reason)


def test_a_command_s_analyzer_is_never_granted_anything() -> None:
    """Engine ceiling: it may call itself curation, it is not built in."""
    pushy = manifest("acme.sweep/1", auto_apply="structural_curation", origin="command")
    told = {"auto_apply_enabled": True, "auto_apply": [{**SWEEP, "analyzer": "acme.sweep"}]}
    (listed,) = in_force(from_plain(told), [*MANIFESTS, pushy]).ineffective
    assert listed == "acme.sweep: its findings are never applied unasked"


def test_names_that_no_analyzer_has_are_told() -> None:
    """A misspelt denial denies nothing, and that must be seen."""
    found = in_force(from_plain({"deny": ["loop.stalenes", "loop.tool_failure"]}), MANIFESTS)
    assert found.warnings == ("no analyzer here is called loop.stalenes",)


def test_a_grant_is_plain_data() -> None:
    """It compares by value, as a policy does."""
    assert from_plain({"auto_apply": [SWEEP]}).auto_apply == (
        Grant("loop.duplicate_sweep", ("memory",), "low"),
    )
