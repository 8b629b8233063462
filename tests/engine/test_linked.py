# SPDX-License-Identifier: Apache-2.0
"""Analyzers that a program links in (D29): one fake one, seen wherever analyzers are listed, run or documented."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from deja_tui import Memory
from deja_tui.compat import DejaDB
from deja_tui.engine import templates
from deja_tui.engine.analyzer import Context, Manifest, Param
from deja_tui.engine.conformance.filling import draft
from deja_tui.engine.draft import Draft, accept
from deja_tui.engine.linked import linked
from deja_tui.engine.objects import Activation
from deja_tui.engine.operations import Add, Alternative, DefineQuery, DocEdit, Operation, digest
from deja_tui.present.analyzers import page
from tests.engine.helpers import refused
from tests.support import NOW

pytestmark = pytest.mark.usefixtures("two_analyzers")

ID = "acme.fake/1"
MANIFEST = Manifest(
    id=ID,
    title="Fake finder",
    description="facts that a test planted",
    tier="T0",
    params=(Param("word", "str", "planted", 0, 40, "what the object says"),),
    templates={"acme.fake.found": "{count} planted facts"},
)


class Fake:
    """Finds facts whose object is its word."""

    def __init__(self, manifest: Manifest = MANIFEST) -> None:
        self.manifest = manifest

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        found = [
            one for one in ctx.read.scan("fact", ctx.namespaces) if one.get("object") == ctx.params["word"]
        ]
        if found:
            yield Draft(
                target_ref="entity:shared/fake#all", action="flag", template_id="acme.fake.found",
                args={"count": len(found)}, severity="low", operations=(),
                evidence=tuple(one.address for one in found), evidence_total=len(found), newest_evidence=None,
            )  # fmt: skip

    def probe(self, ctx: Context) -> Activation:
        return Activation("quiet", 0, 1, "planted facts")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW, analyzers=[Fake()]) as opened:
        yield opened


def test_it_runs_like_one_that_is_built_in(memory: Memory) -> None:
    """Same class: its finding is the engine's own, its line is its template's, its probe is asked."""
    assert memory.loop.run(explain=True).quiet[ID].unit == "planted facts"
    memory.add_fact("a", "b", "planted")
    outcome = memory.loop.run(only=["acme.fake"])
    assert (outcome.analyzers_run, outcome.stored) == ((ID,), 1)
    (row,) = memory.loop.queue()
    assert (row.analyzer, row.origin, row.summary) == (ID, "builtin", "1 planted facts")
    assert memory.loop.show(row.address).creator == f"engine:{ID}"


def test_its_queue_stays_usable_without_it(memory: Memory) -> None:
    """D28: another process lists it, shows it and decides about it; a run without it closes nothing."""
    memory.add_fact("a", "b", "planted")
    memory.loop.run()
    with Memory.open(memory.store.path, clock=lambda: NOW) as other:
        assert other.loop.run().closed == 0
        (row,) = other.loop.queue()
        assert other.loop.approve(row.address, because="seen").to_status == "approved"


def test_a_line_without_its_template_names_its_arguments() -> None:
    """D28: what a process shows that does not know the analyzer."""
    assert (
        templates.render("acme.unknown.found", {"count": 3, "b": "\x1b[1m"})
        == "acme.unknown.found: b \\x1b[1m, count 3"
    )


def test_it_stands_on_the_page() -> None:
    """docs/analyzers.md is made by the same function."""
    told = "\n".join(page([MANIFEST]))
    assert "| `acme.fake/1` | facts that a test planted | yes | – | memory | never |" in told
    assert "| `word` | `planted` | a text of at most 40 characters | what the object says |" in told


def test_the_other_door_lists_the_built_in_ones_only(tmp_path: Path) -> None:
    """The reference product's methods have no way to link one in, so they name none."""
    with DejaDB(str(tmp_path / "a.db")) as db:
        assert ID not in {one["id"] for one in json.loads(db.loop_analyzers())}


def test_it_is_listed_wherever_analyzers_are(memory: Memory) -> None:
    """D29: library, command line, health, ``deja why``, the language, the policy: all from the manifest."""
    from deja_tui.present import health as shown

    memory.loop.run()
    states = memory.loop.analyzers()
    (state,) = [one for one in states if one.id == ID]
    assert ID.removesuffix("/1") in "\n".join(shown.analyzers_lines(states, NOW, 100))
    shape = shown.analyzer_shape(state)
    assert (shape["id"], shape["title"], shape["default_on"]) == (ID, "Fake finder", True)
    assert any("planted" in line for line in shown.why_lines(memory.loop.why("acme.fake"), NOW, 100))
    assert memory.loop.why("fake").id == ID
    assert ID in {one.id for one in memory.loop.health().analyzers}
    assert ID in json.dumps(memory.cal("DESCRIBE ANALYZERS").as_json())
    with Memory.open(memory.store.path, clock=lambda: NOW) as other:
        assert ID not in {one.id for one in other.loop.analyzers()}


def test_it_is_configured_like_any_other(memory: Memory) -> None:
    """Validation is the manifest's; the row is kept, exported, and does nothing where the analyzer is not (D28)."""
    memory.add_fact("a", "b", "other")
    with refused("LOP-E031") as caught:
        memory.loop.configure("acme.fake", params={"word": "x" * 41}, because="too long")
    assert "word" in str(caught.value)
    with refused("LOP-E031"):
        memory.loop.configure("acme.fake", params={"nothing": 1}, because="unknown")
    memory.loop.configure("fake", params={"word": "other"}, because="this one")
    assert memory.loop.run().stored == 1
    assert memory.loop.config_export()["analyzers"][ID]["params"] == {"word": "other"}
    memory.loop.disable("acme.fake", because="enough")
    assert ID not in memory.loop.run().analyzers_run
    with Memory.open(memory.store.path, clock=lambda: NOW) as other:
        assert ID in other.loop.config_export()["analyzers"]
        assert ID not in other.loop.run().analyzers_run


def test_a_policy_speaks_of_it(tmp_path: Path) -> None:
    """Denied by its family like any other, and no name that nobody has."""
    policy = {"deny": ["acme.fake"]}
    with Memory.open(tmp_path / "a.deja", clock=lambda: NOW, analyzers=[Fake()], policy=policy) as memory:
        memory.add_fact("a", "b", "planted")
        outcome = memory.loop.run()
        assert ID in {one.id for one in outcome.analyzers_skipped}
        assert outcome.stored == 0
        assert memory.notices == ()


class NoProbe:
    manifest = MANIFEST

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        return ()


MALFORMED: dict[str, Any] = {
    "no analyzer": object(),
    "no probe": NoProbe(),
    "a class": dict,
    "a built-in name": Fake(replace(MANIFEST, id="loop.tool_failure/1")),
    "an own name": Fake(replace(MANIFEST, id="draft.mine/1")),
    "no version": Fake(replace(MANIFEST, id="acme.fake")),
    "capitals": Fake(replace(MANIFEST, id="Acme.Fake/1")),
    "no title": Fake(replace(MANIFEST, title="")),
    "no description": Fake(replace(MANIFEST, description=" ")),
    "no target class": Fake(replace(MANIFEST, target_classes=())),
    "a target class that is none": Fake(replace(MANIFEST, target_classes=("memory", "disk"))),
    "another's template": Fake(replace(MANIFEST, templates={"duplicate.exact": "{count}"})),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_ones_are_refused_at_the_door(name: str, tmp_path: Path) -> None:
    """LOP-E036 before the file is touched."""
    with refused("LOP-E036"):
        Memory.open(tmp_path / "a.deja", analyzers=[MALFORMED[name]])
    assert list(tmp_path.iterdir()) == []


def test_a_default_outside_its_bounds_is_refused() -> None:
    """LOP-E031, naming the parameter."""
    with refused("LOP-E031") as caught:
        linked([Fake(replace(MANIFEST, params=(Param("n", "int", 0, 1, 2, "x"),)))])
    assert "n must be" in str(caught.value)


def test_two_of_one_family_are_refused() -> None:
    """Their findings would be one another's."""
    with refused("LOP-E036"):
        linked([Fake(), Fake(replace(MANIFEST, id="acme.fake/2"))])


def test_a_command_cannot_take_its_name(memory: Memory) -> None:
    """EXT-5: linked ones are taken names, too."""
    with refused("LOP-E036"):
        memory.loop.run(commands=["acme.fake=/nowhere/at/all"])


_GRAIN: Final = Add("fact", "shared", {"subject": "a", "relation": "b", "object": "c"})
_EDIT: Final = DocEdit("/memories/notes.md", "shared", digest(""), "@@ -0,0 +1 @@\n+x")
_ABOUT: Final[dict[str, tuple[str, tuple[Operation, ...], tuple[Operation, ...]]]] = {
    "a saved query, of the memory": ("entity:shared/a#b", (DefineQuery("q", "RECALL facts", None),), ()),
    "a document, of the memory": ("entity:shared/a#b", (_EDIT,), ()),
    "a grain, of a query": ("query:q", (_GRAIN,), ()),
    "a grain, of the host": ("host:x", (_GRAIN,), ()),
    "another query": ("query:q", (DefineQuery("other", "RECALL facts", None),), ()),
    "a template, of a query": ("query:q", (DefineQuery("q", "RECALL facts", None, "template"),), ()),
    "another document": ("doc:other.md", (_EDIT,), ()),
    "a choice that is not declared": ("entity:shared/a#b", (_GRAIN,), (DefineQuery("q", "x", None),)),
}


@pytest.mark.parametrize("name", _ABOUT)
def test_a_finding_changes_only_what_it_is_about(name: str) -> None:
    """D24, D27: rights and a policy go by the target's class, so no analyzer changes something else under its name."""
    target, operations, other = _ABOUT[name]
    choices = (Alternative("one", operations), Alternative("two", other)) if other else ()
    found = draft(operations, ["a" * 64], target_ref=target, alternatives=choices)
    declared = ("memory", "prompt") if other else ("memory", "query", "prompt", "host")
    with refused("LOP-E010"):
        accept(found, declared)


def test_a_choice_of_a_declared_class_is_taken() -> None:
    """D27: a lesson is kept as a fact or as a line of the instruction document."""
    choices = (Alternative("a fact", (_GRAIN,)), Alternative("a line", (_EDIT,)))
    found = draft([_GRAIN], ["a" * 64], target_ref="entity:shared/a#b", alternatives=choices)
    assert accept(found, ("memory", "prompt")).alternatives == choices
    with refused("LOP-E010"):
        accept(found, ("memory",))
