# SPDX-License-Identifier: Apache-2.0
"""What a memory says of its analyzers: rows, layers, the log of changes, export and import, on every substrate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import config, views
from deja_tui.engine.analyzer import Manifest, Param
from deja_tui.engine.config import AnalyzerConfig, Row, settle
from deja_tui.engine.policy import from_plain
from deja_tui.engine.substrate import Substrate
from deja_tui.reference import ReferenceSubstrate
from tests.conformance.substrates import SUBSTRATES
from tests.engine.helpers import ANA, everything, refused, refused_unchanged
from tests.support import NOW

NAME = "acme.thing/1"
MANIFEST = Manifest(
    id=NAME,
    title="t",
    description="d",
    tier="T0",
    params=(
        Param("limit", "int", 3, 1, 9),
        Param("share", "float", 0.5, 0, 1),
        Param("words", "str", "", 0, 20),
        Param("loud", "bool", False),
    ),
)


@pytest.fixture(params=SUBSTRATES, ids=lambda pair: pair[0])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Substrate]:
    substrate = request.param[1](tmp_path)
    yield substrate
    if isinstance(substrate, StoreSubstrate):
        substrate._store.close()


def write(
    substrate: Substrate, because: str = "why", at: int = NOW, **parts: Any
) -> tuple[config.ConfigChange, ...]:
    told = config.checked(MANIFEST, parts)
    return config.change(substrate, NAME, told, actor=ANA.actor, because=because, now_ms=at)


def row(substrate: Substrate) -> AnalyzerConfig:
    return config.rows(substrate).get(NAME, Row(AnalyzerConfig())).config


# --- writing -----------------------------------------------------------------------------------------


def test_a_change_is_kept_and_logged_with_old_and_new(memory: Substrate) -> None:
    """CFG-4: who, when, why, what it was and what it is."""
    assert row(memory) == AnalyzerConfig()
    write(memory, enabled=False, params={"limit": 5})
    write(memory, "more", NOW + 1, params={"limit": 7, "loud": True}, severity_floor="low")
    assert row(memory) == AnalyzerConfig(False, {"limit": 7, "loud": True}, "low", None)
    told = [(one.part, one.old, one.new, one.because, one.at, one.source) for one in config.log(memory)]
    assert told == [
        ("enabled", None, False, "why", NOW, "local"),
        ("params", None, {"limit": 5}, "why", NOW, "local"),
        ("params", {"limit": 5}, {"limit": 7, "loud": True}, "more", NOW + 1, "local"),
        ("severity_floor", None, "low", "more", NOW + 1, "local"),
    ]
    assert {one.actor for one in config.log(memory)} == {ANA.actor}


def test_parameters_are_replaced_whole(memory: Substrate) -> None:
    """CFG-1: what the new map does not name goes back to its default."""
    write(memory, params={"limit": 5, "loud": True})
    write(memory, params={"share": 0.25})
    assert row(memory).params == {"share": 0.25}
    write(memory, params={})
    assert row(memory).params == {}


def test_what_is_cleared_says_nothing_any_more(memory: Substrate) -> None:
    """None takes a part back, and the memory keeps no empty rows."""
    write(memory, enabled=True, params={"limit": 5}, severity_floor="high", namespaces=["a"])
    write(memory, enabled=None, params=None, severity_floor=None, namespaces=None)
    assert row(memory) == AnalyzerConfig()
    assert views.kept(memory, "loop.analyzer:") == []
    assert views.kept(memory, "loop.settings:") == []
    assert len(config.log(memory)) == 8


def test_a_change_to_what_is_there_already_writes_nothing(memory: Substrate) -> None:
    """CFG-4: the log holds changes only."""
    write(memory, enabled=False, params={"limit": 5})
    before = everything(memory)
    assert write(memory, enabled=False, params={"limit": 5}) == ()
    assert everything(memory) == before


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"params": {"limit": 10}}, "limit must be a whole number from 1 to 9"),
        ({"params": {"limit": True}}, "limit"),
        ({"params": {"limit": "5"}}, "limit"),
        ({"params": {"share": float("nan")}}, "share must be a number from 0 to 1"),
        ({"params": {"words": "x" * 21}}, "words must be a text of at most 20 characters"),
        ({"params": {"loud": 1}}, "loud must be true or false"),
        ({"params": {"nothing": 1}}, "no parameter nothing"),
        ({"params": [1]}, "params"),
        ({"enabled": 1}, "enabled"),
        ({"severity_floor": "fatal"}, "severity_floor"),
        ({"namespaces": "shared"}, "namespaces"),
        ({"namespaces": [""]}, "namespace"),
        ({"namespaces": ["deja-loop"]}, "reserved"),
        ({"namespaces": ["agent:x"]}, "reserved"),
        ({"namespaces": ["n"] * 65}, "at most 64"),
        ({"command": "rm"}, "no setting command"),
        ({"auto_apply": True}, "no setting auto_apply"),
    ],
)
def test_a_bad_value_is_refused_before_anything_is_written(parts: dict[str, Any], told: str) -> None:
    """CFG-1: LOP-E031 names the parameter and its bounds; there is no setting for a command or a grant."""
    substrate = ReferenceSubstrate()
    write(substrate, params={"limit": 5})
    before = everything(substrate)
    with refused("LOP-E031") as caught:
        write(substrate, **parts)
    assert told in str(caught.value)
    assert everything(substrate) == before


@pytest.mark.parametrize("because", ["", "   ", "x" * 501])
def test_a_change_needs_a_reason(because: str) -> None:
    """D16."""
    substrate = ReferenceSubstrate()
    with refused_unchanged(substrate, "LOP-E011"):
        write(substrate, because, enabled=False)


@pytest.mark.parametrize(
    ("told", "found"),
    [("acme.thing/1", NAME), ("acme.thing", NAME), ("thing", NAME), (" thing ", NAME)],
)
def test_an_analyzer_is_named_by_id_family_or_last_part(told: str, found: str) -> None:
    """What a person types at a prompt."""
    assert config.named([MANIFEST], told).id == found


@pytest.mark.parametrize("told", ["", "acme", "acme.thing/2", "things", "\x1b[2J"])
def test_an_unknown_analyzer_is_refused_with_the_known_ones(told: str) -> None:
    """Loop-engine §25: it is not "recommendation not found"."""
    with refused("LOP-E033") as caught:
        config.named([MANIFEST], told)
    assert NAME in caught.value.next_step
    assert "\x1b" not in str(caught.value)


def test_two_analyzers_of_one_last_part_need_more_of_the_name() -> None:
    """Nothing is guessed."""
    other = Manifest(id="other.thing/1", title="t", description="d", tier="T0", params=())
    with refused("LOP-E033"):
        config.named([MANIFEST, other], "thing")
    assert config.named([MANIFEST, other], "other.thing").id == "other.thing/1"


# --- words -------------------------------------------------------------------------------------------


def test_a_learnt_word_joins_the_list_once_and_removing_it_is_the_undo(memory: Substrate) -> None:
    """D25: folded, in one comma list, logged like any change."""
    for word in ("Time Zone", "time zone", "locale"):
        config.add_word(memory, NAME, "words", word, ANA.actor, "seen", NOW)
    assert row(memory).params == {"words": "time zone, locale"}
    assert len(config.log(memory)) == 2
    write(memory, params={"words": "locale"})
    assert row(memory).params == {"words": "locale"}


@pytest.mark.parametrize("word", ["", "  ", "a,b", "x" * 201])
def test_a_word_that_is_no_word_is_refused(word: str) -> None:
    """One relation never becomes two."""
    substrate = ReferenceSubstrate()
    with refused_unchanged(substrate, "LOP-E031"):
        config.add_word(substrate, NAME, "words", word, ANA.actor, "seen", NOW)


def test_a_list_of_words_stays_within_its_length() -> None:
    """The parameter's own bound is checked again at every run; the list never grows past what any takes."""
    substrate = ReferenceSubstrate()
    for n in range(10):
        config.add_word(substrate, NAME, "words", f"{n}" * 198, ANA.actor, "seen", NOW)
    with refused_unchanged(substrate, "LOP-E031"):
        config.add_word(substrate, NAME, "words", "y" * 200, ANA.actor, "seen", NOW)


# --- layers ------------------------------------------------------------------------------------------


def test_the_higher_layer_sets_the_value_and_is_named() -> None:
    """Flags before policy before file before default; parameters each on their own."""
    file = Row(AnalyzerConfig(False, {"limit": 5, "loud": True}, "low", ("a",)))
    found = settle(MANIFEST, file, AnalyzerConfig(True, {"limit": 7}, None, ("b",)), None)
    assert (found.enabled, found.enabled_by) == (True, "flag")
    assert found.params == {"limit": 7, "share": 0.5, "words": "", "loud": True}
    assert found.params_by == {"limit": "flag", "share": "default", "words": "default", "loud": "file"}
    assert (found.severity_floor, found.severity_floor_by) == ("low", "file")
    assert (found.namespaces, found.namespaces_by) == (("b",), "flag")
    plain = settle(MANIFEST, None, None, None)
    assert (plain.enabled, plain.enabled_by, plain.severity_floor, plain.namespaces) == (
        True,
        "default",
        "info",
        None,
    )


@pytest.mark.parametrize(
    ("file", "policy", "flag", "found"),
    [
        ("low", "high", None, ("high", "policy")),
        ("high", "low", None, ("high", "file")),
        ("low", "low", None, ("low", "policy")),
        ("low", "medium", "high", ("high", "flag")),
        (None, "high", "low", ("high", "policy")),
        (None, None, None, ("info", "default")),
    ],
)
def test_floors_combine_to_the_stricter(
    file: str | None, policy: str | None, flag: str | None, found: tuple[str, str]
) -> None:
    """Loop-engine §10: no layer lowers what another one asks for."""
    host = from_plain({"severity_floors": {"acme.thing": policy}} if policy else {})
    told = settle(
        MANIFEST, Row(AnalyzerConfig(severity_floor=file)), AnalyzerConfig(severity_floor=flag), host
    )
    assert (told.severity_floor, told.severity_floor_by) == found


def test_a_denial_is_lifted_by_no_layer() -> None:
    """POL-4: neither a flag nor the file switches on what the host denies."""
    host = from_plain({"deny": ["acme.thing/3"]})
    found = settle(MANIFEST, Row(AnalyzerConfig(enabled=True)), AnalyzerConfig(enabled=True), host)
    assert (found.enabled, found.enabled_by, found.denied) == (False, "policy", True)


@pytest.mark.parametrize("layer", ["file", "flag"])
def test_a_layer_that_says_something_strange_is_refused(layer: str) -> None:
    """LOP-E031: an older or newer file, or a typing error; the run tells it as the reason."""
    for strange in (AnalyzerConfig(params={"limit": 99}), AnalyzerConfig(severity_floor="fatal")):
        with refused("LOP-E031"):
            settle(
                MANIFEST,
                Row(strange) if layer == "file" else None,
                strange if layer == "flag" else None,
                None,
            )


# --- what came from another copy ---------------------------------------------------------------------


def synced(folder: Path, value: Any) -> StoreSubstrate:
    from deja_tui.store.memory import Store

    substrate = StoreSubstrate(Store.open(folder / "b.deja", clock=lambda: NOW))
    with substrate._store.act(governed=True) as act:
        act.set_setting(config.SWITCH + NAME, value, source="sync")
    return substrate


def test_a_switch_from_another_copy_only_switches_off(tmp_path: Path) -> None:
    """CFG-2, D5: it restricts, is told with its source, and a local change takes its place."""
    substrate = synced(tmp_path, {"enabled": False})
    found = settle(MANIFEST, config.rows(substrate)[NAME], None, None)
    assert (found.enabled, found.enabled_by) == (False, "sync")
    (told,) = config.log(substrate)
    assert (told.source, told.part, told.new, told.actor, told.address) == (
        "sync",
        "enabled",
        False,
        "",
        None,
    )
    write(substrate, "kept off here", enabled=False)
    assert settle(MANIFEST, config.rows(substrate)[NAME], None, None).enabled_by == "file"
    assert [one.source for one in config.log(substrate)] == ["local"]
    substrate._store.close()


@pytest.mark.parametrize("value", [{"enabled": True}, {"enabled": "no"}, "off", 7, {"params": {"limit": 9}}])
def test_nothing_else_comes_from_another_copy(tmp_path: Path, value: Any) -> None:
    """CFG-2: a row that would switch on, or is none, is as if it were not there."""
    substrate = synced(tmp_path, value)
    found = settle(MANIFEST, config.rows(substrate).get(NAME), None, None)
    assert (found.enabled, found.enabled_by, found.params["limit"]) == (True, "default", 3)
    assert config.log(substrate) == ()
    substrate._store.close()


# --- out and in --------------------------------------------------------------------------------------


def test_an_export_taken_in_gives_the_same_rows(memory: Substrate) -> None:
    """Round trip through JSON text."""
    write(memory, enabled=False, params={"limit": 5}, severity_floor="low", namespaces=["a", "b"])
    text = json.dumps(config.export(memory))
    other = ReferenceSubstrate()
    parts, unknown = config.read_export(json.loads(text), [MANIFEST])
    assert unknown == ()
    for name, told in parts.items():
        config.change(other, name, told, actor=ANA.actor, because="moved", now_ms=NOW)
    assert config.rows(other)[NAME].config == row(memory)
    assert config.export(other) == config.export(memory)


def test_rows_of_analyzers_that_are_not_here_are_exported_and_told(memory: Substrate) -> None:
    """CFG-3, D28: kept, carried on, and without effect."""
    parts = {"enabled": False, "params": {"old": 1}}
    config.change(memory, "gone.thing/3", parts, actor=ANA.actor, because="then", now_ms=NOW)
    found, unknown = config.read_export(config.export(memory), [MANIFEST])
    assert (found, unknown) == ({}, ("gone.thing/3",))


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (None, "LOP-E037"),
        ([], "LOP-E037"),
        ({}, "LOP-E037"),
        ({"format": "deja-loop-config/2", "analyzers": {}}, "LOP-E037"),
        ({"format": config.FORMAT}, "LOP-E037"),
        ({"format": config.FORMAT, "analyzers": [], "x": 1}, "LOP-E037"),
        ({"format": config.FORMAT, "analyzers": {}, "auto_apply": []}, "LOP-E037"),
        ({"format": config.FORMAT, "analyzers": {NAME: True}}, "LOP-E037"),
        ({"format": config.FORMAT, "analyzers": {NAME: {"command": ["sh"]}}}, "LOP-E037"),
        ({"format": config.FORMAT, "analyzers": {"gone.thing/1": {"analyzer_cmd": "sh"}}}, "LOP-E037"),
        ({"format": config.FORMAT, "analyzers": {NAME: {"origin": "builtin"}}}, "LOP-E037"),
        ({"format": config.FORMAT, "analyzers": {NAME: {"params": {"limit": 99}}}}, "LOP-E031"),
        ({"format": config.FORMAT, "analyzers": {NAME: {"enabled": "yes"}}}, "LOP-E031"),
    ],
)
def test_a_document_that_says_more_than_settings_is_refused(document: object, code: str) -> None:
    """Engine rules 4 and 9: nothing in it can name a command or grant anything; a typing error is never passed over."""
    with refused(code):
        config.read_export(document, [MANIFEST])
