# SPDX-License-Identifier: Apache-2.0
"""docs/library.md is true: every public name with its signature and a line about it, and every example runs."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from deja_tui import Memory
from deja_tui.browsing import Cited, Dossier
from deja_tui.contexts import Context
from deja_tui.declared import Declaration
from deja_tui.documents import Document, Documents
from deja_tui.engine.outcomes import Outcome, Reviewed
from deja_tui.erasure import Erased, SubjectReport
from deja_tui.facade import Captured
from deja_tui.loop import Loop
from deja_tui.sessions import Citing, Sessions
from deja_tui.standing import Standing
from deja_tui.store.arrive import Refused
from deja_tui.store.browse import Listed, Slice
from deja_tui.store.bundles import ImportReport, Written
from deja_tui.store.chains import Fork, Provenance, Step
from deja_tui.store.changes import Change
from deja_tui.store.grains import StoredGrain
from deja_tui.store.graph import Edge, Neighbourhood
from deja_tui.store.integrity import Fault
from deja_tui.store.oplog import LogEntry
from deja_tui.store.restore import RestoreReport
from deja_tui.store.segments import Followed, Pushed
from deja_tui.store.sessions import Thread, Timeline
from deja_tui.store.telemetry import Telemetry
from tests.support import ROOT

TEXT = (ROOT / "docs" / "library.md").read_text()
OWNERS: dict[str, type] = {
    "memory": Memory,
    "memory.loop": Loop,
    "memory.docs": Documents,
    "memory.sessions": Sessions,
    "memory.telemetry": Telemetry,
}


def signature(owner: type, name: str) -> str:
    """A name with its arguments and defaults, without annotations."""
    if isinstance(inspect.getattr_static(owner, name), property):
        return name
    told = inspect.signature(getattr(owner, name))
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in told.parameters.values()
        if parameter.name != "self"
    ]
    return name + str(told.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def public(owner: type) -> set[str]:
    return {signature(owner, name) for name in dir(owner) if not name.startswith("_")}


def documented(owner: str) -> set[str]:
    blocks = re.findall(r"```signatures\n(.*?)```", TEXT, re.DOTALL)
    joined = re.sub(r"\n +", " ", "\n".join(blocks))
    lines = [line for line in joined.split("\n") if line]
    own = [owner, "Memory"] if owner == "memory" else [owner]
    return {
        line.removeprefix(f"{name}.")
        for line in lines
        for name in own
        if re.match(rf"{name}\.\w+(\(|$)", line)
    }


@pytest.mark.parametrize("owner", OWNERS)
def test_every_public_name_stands_in_the_document_as_it_is(owner: str) -> None:
    """Arguments, order and defaults; none more, none less."""
    assert documented(owner) == public(OWNERS[owner])


@pytest.mark.parametrize("owner", OWNERS)
def test_every_public_name_has_a_line_and_a_docstring(owner: str) -> None:
    """What it does, in the document and where it stands."""
    for told in public(OWNERS[owner]):
        name = told.split("(")[0]
        assert f"**{name}**" in TEXT, name
        assert inspect.getdoc(getattr(OWNERS[owner], name)), name


SHAPES: tuple[type, ...] = (
    StoredGrain, Fork, Provenance, Step, Slice, Listed, Dossier, Cited, Neighbourhood, Edge, LogEntry, Change, Document, Erased, SubjectReport, Written, ImportReport, Refused,
    Pushed, Followed, RestoreReport, Captured, Declaration, Fault, Thread, Timeline, Citing, Standing, Context,
    Reviewed, Outcome,
)  # fmt: skip


def test_every_shape_that_comes_back_is_told_as_it_is() -> None:
    """Names and order of the fields."""
    (block,) = re.findall(r"```shapes\n(.*?)```", TEXT, re.DOTALL)
    told = [line for line in re.sub(r"\n +", " ", block).split("\n") if line]
    names = [
        getattr(shape, "_fields", None) or [field.name for field in dataclasses.fields(shape)]
        for shape in SHAPES
    ]
    assert told == [f"{shape.__name__}({', '.join(names[i])})" for i, shape in enumerate(SHAPES)]


def test_every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in one folder, with one set of names; each holds at least one claim."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(examples) >= 10
    for number, example in enumerate(examples):
        exec(compile(example, f"library.md, example {number + 1}", "exec"), names)
    assert (tmp_path / "agent.deja").exists()
    assert not (tmp_path / "secret.deja").exists()


def test_every_code_it_names_is_registered() -> None:
    """A reader can look it up."""
    from deja_tui.errors import CODES

    assert set(re.findall(r"\b[A-Z]{3}-E\d{3}\b", TEXT)) <= set(CODES)
