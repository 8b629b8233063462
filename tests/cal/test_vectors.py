# SPDX-License-Identifier: Apache-2.0
"""The shared statement vectors: 544 statements over one corpus. `DIFFERENT` names every one that is not met, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from deja_tui.cal import classify
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from tests.cal.corpus import Corpus, Ticking, build, session_of
from tests.support import SHARED, shared

_SKIPPED = "marked skip, and not offered in this version"
DIFFERENT: dict[str, str] = {
    "rec-03": "needed. Lists the seven facts of alpha only. §5: no type means every type, and a subject is asked of the field"
    " of every type; rec-47, rec-48 and rec-49 call it a fault that the reference product misses e_1, o_1 and g_1. Leaving"
    " them out of the untyped statement alone would drop rows that the typed ones give",
    "whr-92": "needed. Wants CAL-E060 for valid_to. §5.1 says in words: also let facts be filtered by session_id, valid_from"
    " and valid_to; the built-in query of expired facts stands on it",
    "qry-45": "needed. Five rows; ours are those and o_1, whose text holds the word: all text is indexed (override txt-03)."
    " Its four CAL-W014 come from options without effect in the reference product's own body; §14 leaves the wording to us",
    "fmt-49": "nice. Pins the empty time column that §12.2 lists among the faults (event time always empty): ours says when",
    "wth-16": "multi_hop is marked skip and warns that it changes nothing",
    "gov-10": "marked skip; the host runs the loop instead of refusing",
    **dict.fromkeys(
        (
            "add-33",
            "add-34",
            "acc-01",
            "acc-03",
            "prg-02",
            "prg-03",
            "oth-09",
            "oth-10",
            "oth-12",
            "dcl-01",
            "dcl-03",
        ),
        _SKIPPED,
    ),
}

_FILE = SHARED / "vectors" / "cal.jsonl"
VECTORS = [json.loads(line) for line in _FILE.read_text().splitlines()] if _FILE.exists() else []
OVERRIDES = json.loads((SHARED / "vectors" / "overrides.json").read_text())["overrides"] if VECTORS else {}
# overrides that are said in words: what they come to
SPOKEN: dict[str, dict[str, Any]] = {
    "txt-03": {
        "ok": True,
        "result": {
            "kind": "grains",
            "labels": ["f_derived", "f_seat", "e_2", "e_1", "o_1", "st_1", "f_delta_seat", "e_3"],
        },
        "any_order": True,
    },
    "txt-20": {
        "ok": True,
        "result": {"kind": "grains", "labels": ["f_acme_dep1", "f_acme_dep2", "f_esc"]},
        "any_order": True,
    },
    "bat-05": {"ok": False, "error_code": "CAL-E092", "says": "entry 2"},
    "bat-10": {"ok": False, "error_code": "VAL-E001", "says": "entry 2"},
}
_WORDS = {"scan": "full scan", "index": "index lookup", "hybrid": "hybrid"}


def expected(vector: dict[str, Any]) -> dict[str, Any]:
    """What is right for a vector: an override, else its ``right``, else what the reference product does."""
    if vector["id"] in SPOKEN:
        return SPOKEN[vector["id"]]
    if vector["id"] in OVERRIDES:
        return dict(OVERRIDES[vector["id"]]["right"])
    if vector.get("peer_quirk"):
        return (
            vector["right"]
            if vector["right"] is not None
            else {"ok": True, "result": {"kind": vector["result"]["kind"]}}
            if vector["ok"]
            else {}
        )
    return {key: vector[key] for key in ("ok", "error_code", "result", "warnings") if key in vector}


# --- fixtures ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    shared("vectors/cal.jsonl")
    return build(tmp_path_factory.mktemp("cal") / "corpus.deja")


@pytest.fixture(scope="module")
def memory(corpus: Corpus) -> Any:
    with Memory.open(corpus.path, clock=Ticking(), durability="normal") as memory:
        yield memory


class _TakenBack(Exception):
    """Ends an act so that nothing of it is kept: one file serves every vector."""


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_the_statement_does_what_the_vector_says(
    vector: dict[str, Any], corpus: Corpus, memory: Memory
) -> None:
    """Every vector passes, or stands in `DIFFERENT` with the reason; one that stands there and passes is a fault too."""
    labels = dict(corpus.labels)
    problems: list[str] = []
    if not vector.get("setup") and _reads(_filled(vector["statement"], vector, labels)):
        problems = _run(memory, vector, labels)
    else:
        with suppress(_TakenBack), memory.store.act():
            problems = _run(memory, vector, labels)
            raise _TakenBack
    if vector["id"] in DIFFERENT:
        assert problems, f"{vector['id']} passes: take it out of DIFFERENT"
    else:
        assert not problems


def _reads(statement: str) -> bool:
    try:
        return classify(statement).cls.word == "read"
    except DejaError:
        return True


def _filled(statement: str, vector: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    told = re.sub(r"<<(\w+)>>", lambda found: labels.get(found[1], "0" * 64), statement)
    wide = vector.get("expand")
    return told.replace(wide["token"], wide["char"] * wide["count"]) if wide else told


def _run(memory: Memory, vector: dict[str, Any], labels: dict[str, str]) -> list[str]:
    session = session_of(memory)
    labels.setdefault("f_tmp", "f" * 64)
    for step in vector.get("setup") or ():
        statement = step["statement"] if isinstance(step, dict) else step
        try:
            done = session.run(_filled(statement, vector, labels), allow_destructive=True).as_json()
        except DejaError:
            if statement.startswith("FORGET"):  # written without the reason it needs (D16)
                session.run(f'{_filled(statement, vector, labels)} BECAUSE "asked"', allow_destructive=True)
            elif vector["part"] != "read_only_positions":
                return [f"the setup is refused: {statement}"]
            continue
        if isinstance(step, dict):
            labels[step["as"]] = done.get("new_hash") or done["hash"]
    right = expected(vector)
    try:
        result = session.run(_filled(vector["statement"], vector, labels), allow_destructive=True).as_json()
    except DejaError as error:
        return _refused(error, right)
    if right.get("ok") is False:
        return [f"should be refused with {right['error_code']}, gave {result}"]
    return _differences(result, right, labels)


def _refused(error: DejaError, right: dict[str, Any]) -> list[str]:
    if not right:
        return []
    if right.get("ok", True):
        return [f"refused: {error}"]
    found = (
        []
        if error.code == right["error_code"]
        else [f"{error.code} instead of {right['error_code']}: {error}"]
    )
    if right.get("says") and right["says"] not in str(error):
        found.append(f"does not say {right['says']}: {error}")
    return found


# --- comparing --------------------------------------------------------------------------------------


def _differences(result: dict[str, Any], right: dict[str, Any], labels: dict[str, str]) -> list[str]:
    found: list[str] = []
    want = right.get("result") or {}
    found += _kind(result, want, labels, right.get("any_order", False))
    if "warnings" in right and "uncoded" not in right["warnings"]:
        codes = [told.split(":")[0] for told in result.get("warnings", [])]
        if codes != right["warnings"]:
            found.append(f"warnings {codes}, not {right['warnings']}")
    return found


def _kind(
    result: dict[str, Any], want: dict[str, Any], labels: dict[str, str], any_order: bool = False
) -> list[str]:
    kind = want.get("kind")
    if kind is None:
        return []
    if result["type"] != kind:
        return [f"kind {result['type']}, not {kind}"]
    compare = _COMPARE.get(kind)
    return compare(result, want, labels) if compare else _grains(result, want, labels, any_order)


def _same(name: str, got: Any, want: Any) -> list[str]:
    return [] if got == want else [f"{name}: {got!r}, not {want!r}"]


def _names(labels: dict[str, str]) -> dict[str, str]:
    return {address: label for label, address in labels.items()}


def _grains(
    result: dict[str, Any], want: dict[str, Any], labels: dict[str, str], any_order: bool
) -> list[str]:
    found: list[str] = []
    rows = result["grains"]
    got = [_names(labels).get(row["hash"], "new") for row in rows]
    if "labels" in want:
        found += _same(
            "labels",
            sorted(got) if any_order else got,
            sorted(want["labels"]) if any_order else want["labels"],
        )
    elif "rows" in want:
        told = [[row["grain_type"], None, None, row["fields"].get("value")] for row in rows]
        found += _same("rows", told, [[_said(cell, labels) for cell in row] for row in want["rows"]])
    if "count" in want:
        found += _same("count", len(rows), want["count"])
    if "total_available" in want:
        found += _same("total_available", result["total_available"], want["total_available"])
    for name in ("sources", "total_tokens", "budget_limit"):
        if name in want:
            found += _same(name, result.get(name), want[name])
    for row, fields in zip(rows, want.get("fields", ()), strict=False):
        wanted = {name: _said(value, labels) for name, value in fields.items()}
        got_fields = {
            name: wanted[name] if wanted.get(name) == "<now>" else value
            for name, value in row["fields"].items()
        }
        found += _same("fields", got_fields, wanted)
    for place, extra in (want.get("extra") or {}).items():
        found += _extra(rows[int(place)], extra, labels)
    return found


def _extra(row: dict[str, Any], extra: dict[str, Any], labels: dict[str, str]) -> list[str]:
    found: list[str] = []
    for name, value in extra.items():
        if name.endswith("_present"):
            found += [] if row.get(name.removesuffix("_present")) else [f"{name} is missing"]
            continue
        told = row["fields"].get(name) if name == "superseded_by" else row.get(name)
        wanted = [labels[label] for label in value] if isinstance(value, list) else labels.get(value, value)
        found += _same(name, told, wanted)
    return found


def _said(value: Any, labels: dict[str, str]) -> Any:
    if isinstance(value, str):
        return re.sub(r"<<(\w+)>>", lambda found: labels[found[1]], value)
    return value


def _exists(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    found = _same("exists", result["exists"], want["exists"])
    if want.get("label") and want["label"] != "new":
        found += _same("hash", result["hash"], labels[want["label"]])
    return found


def _history(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    names = _names(labels)
    found = _same("labels", [names.get(row["hash"]) for row in result["versions"]], want["labels"])
    if "superseded_by" in want:
        told = [names.get(row["superseded_by"]) for row in result["versions"]]
        found += _same("superseded_by", told, want["superseded_by"])
    return found


def _diff(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    wanted = [{name: _said(value, labels) for name, value in change.items()} for change in want["changes"]]
    return _same("changes", result["changes"], wanted)


def _formatted(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    found: list[str] = []
    for name in ("text", "format", "grain_count"):
        if name in want:
            found += _same(name, result[name], _said(want[name], labels))
    for key, text in want.get("formats", {}).items():
        found += _same(key, result["formats"][key], _said(text, labels))
    return found


def _explain(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    found: list[str] = []
    for name, value in (want.get("plan") or {}).items():
        if name == "cost_class":
            found += _same(name, result["plan"]["estimated_cost"], _WORDS[value])
        else:
            found += _same(name, result["plan"][name], value)
    return found


def _describe(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    info = result["info"]
    if "queries" in want["info"]:
        told = [[query["name"], query["param_count"]] for query in info["queries"]]
        # the memory's own builtins stand beside those of the contract
        return [f"{pair} is missing" for pair in want["info"]["queries"] if pair not in told]
    return [problem for name, value in want["info"].items() for problem in _same(name, info[name], value)]


def _batch(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    if "keys" in want:
        return _same("keys", list(result["results"]), want["keys"])
    found: list[str] = _same("keys", sorted(result["results"]), sorted(want["results"]))
    for key, inner in want["results"].items():
        found += _kind(result["results"][key], inner, labels)
    return found


def _written(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    found: list[str] = []
    for name, value in want.items():
        if name == "old":
            found += _same("old_hash", result["old_hash"], labels[value])
        elif name != "kind":
            found += _same(name, result[name], _said(value, labels))
    return found


def _entity(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    found = _same("grain", (result["grain"] or {}).get("hash"), labels[want["label"]])
    return (
        found + _same("axis", result["axis"], want["axis"]) + _same("at_ms", result["at_ms"], want["at_ms"])
    )


def _forks(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    wanted = [{**fork, "heads": [labels[head] for head in fork["heads"]]} for fork in want["forks"]]
    return _same("forks", result["forks"], wanted)


def _derived(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    names = _names(labels)
    return _same("labels", [names.get(row["hash"]) for row in result["grains"]], want.get("labels", []))


def _report(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    found = _same("count", result["count"], want["count"])
    if "labels" in want:
        found += _same("hashes", sorted(result["hashes"]), sorted(labels[label] for label in want["labels"]))
    return found


def _count(result: dict[str, Any], want: dict[str, Any], labels: dict[str, str]) -> list[str]:
    return _same("count", result["count"], want["count"])


_COMPARE = {
    "count": _count,
    "exists": _exists,
    "history": _history,
    "diff": _diff,
    "formatted": _formatted,
    "multi_formatted": _formatted,
    "explain": _explain,
    "describe": _describe,
    "batch": _batch,
    "added": _written,
    "superseded": _written,
    "forgotten": _written,
    "merged": _written,
    "remembered": _written,
    "query_defined": _written,
    "query_dropped": _written,
    "template_defined": _written,
    "template_dropped": _written,
    "entity_at": _entity,
    "forks": _forks,
    "derived_from": _derived,
    "subject_report": _report,
}
