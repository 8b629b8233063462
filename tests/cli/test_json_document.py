# SPDX-License-Identifier: Apache-2.0
"""docs/json.md names every value that ``--format json`` prints: ``DEJA_UPDATE_JSON=1`` adds new ones, nothing goes.

The page only grows: a name that is on it and is printed no more fails here, and so does one that is printed and is not on it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.cli.conftest import Deja
from tests.support import ROOT

PAGE = ROOT / "docs" / "json.md"
_MARK = "<!-- what the verbs print; DEJA_UPDATE_JSON=1 python -m pytest tests/cli/test_json_document.py -->\n"
_OPEN = ("fields", "args", "params", "policy", "settings", "metric", "data", "types", "grains_by_type")


def paths(value: Any, at: str = "") -> set[str]:
    """Every place of a document with its kind; lists are told by all of their members, open maps by name alone."""
    match value:
        case dict():
            if at.split(".")[-1].rstrip("[]") in _OPEN:
                return {f"{at}: map"}
            found = {
                place for key, inner in value.items() for place in paths(inner, f"{at}.{key}" if at else key)
            }
            return found or {f"{at}: map"}
        case list():
            inner = {place for one in value for place in paths(one, f"{at}[]")}
            return inner or {f"{at}[]: list"}
        case None:
            return {f"{at}: null"}
        case bool():
            return {f"{at}: true or false"}
        case int() | float():
            return {f"{at}: number"}
        case _:
            return {f"{at}: text"}


def printed(deja: Deja, demo: Path, folder: Path) -> dict[str, set[str]]:
    """Verb → what it prints, over the demo memory."""
    found: dict[str, set[str]] = {}

    def call(verb: str, *more: object, db: bool = True) -> Any:
        done = deja(*verb.split(), *more, *(["--db", demo] if db else []), "--format", "json")
        assert done.code in (0, 2), (verb, done.err)
        found.setdefault(verb, set()).update(paths(done.json))
        return done.json

    rows = call("loop list")["recommendations"]
    by = {row["analyzer"].split("/")[0]: row["address"] for row in reversed(rows)}
    lesson, double = by["loop.tool_failure"], by["loop.duplicate_sweep"]
    for address in by.values():
        call("loop show", address)
    call("loop diff", double)
    call("loop approve", double, "--because", "one of them is enough")
    call("loop apply", double, "--because", "the dry run retires copies")
    call("loop rollback", double, "--because", "kept apart after all")
    call("loop reject", lesson, "--because", "an outage")
    call("audit show", lesson)
    for verb in (
        "loop run",
        "loop health",
        "loop analyzers",
        "loop outcomes",
        "loop policy",
        "loop replay",
        "next",
    ):
        call(verb)
    call("why", "tool_failure")
    call("loop enable", "goal_stagnation", "--because", "we track goals")
    call("loop set", "--log")
    call("loop schedule", "--print", "--os", "cron")
    one = call("add", "acme", "tier", "gold")["address"]
    other = call("add", "acme", "tier", "Gold!")["address"]
    call("get", one)
    call("latest", "acme", "plan")
    call("recall", "acme")
    call("search", "refund")
    call("context", "refund")
    call("retire", other, "--by", one, "--because", "the same")
    new = call("supersede", one, "--set", "object=silver", "--because", "downgraded")["address"]
    call("history", new)
    call("provenance", new)
    call("log")
    call("forks")
    call("record-tool-call", "t", "ok")
    (folder / "n.md").write_text("be brief\n")
    call("doc create", "/memories/n.md", folder / "n.md")
    call("doc list")
    call("doc view", "/memories/n.md")
    call("doc history", "/memories/n.md")
    call("declare", "namespace", "shared", "--because", "as it is")
    call("bundle", folder / "b.mgb")
    (folder / "s").mkdir()
    call("segments push", folder / "s")
    call("segments pull", folder / "s")
    call("forget", new, "--because", "asked to", "--allow-destructive")
    call("verify")
    call("stats")
    call("init", "--framework", "python")
    done = deja("audit", "export", "--db", demo)
    assert done.code == 0
    found["audit export"] = {place for line in done.out.splitlines() for place in paths(json.loads(line))}
    return found


def documented() -> dict[str, set[str]]:
    """Verb → what the page says that it prints."""
    found: dict[str, set[str]] = {}
    for part in PAGE.read_text().partition(_MARK)[2].split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        lines = [line.strip() for line in body.splitlines() if line.startswith("    ")]
        found[title.removeprefix("`deja ").removesuffix("`")] = set(lines)
    return found


def test_the_page_is_what_the_verbs_print(deja: Deja, demo: Path, tmp_path: Path) -> None:
    """Both ways; shapes are append-only, so a line that left the page would be somebody's broken program."""
    found = printed(deja, demo, tmp_path)
    if os.environ.get("DEJA_UPDATE_JSON"):
        told = {verb: places | documented().get(verb, set()) for verb, places in found.items()}
        body = "".join(
            f"\n## `deja {verb}`\n\n" + "".join(f"    {place}\n" for place in sorted(told[verb]))
            for verb in sorted(told)
        )
        PAGE.write_text(PAGE.read_text().partition(_MARK)[0] + _MARK + body)
    assert documented() == found


def test_errors_have_one_shape(deja: Deja, tmp_path: Path) -> None:
    """On stderr, as the page says: code, message, next_step, matches."""
    done = deja("recall", "--db", tmp_path / "none.deja", "--format", "json")
    assert done.code == 1
    assert set(json.loads(done.err)["error"]) == {"code", "message", "next_step", "matches"}
    assert all(f"`{name}`" in PAGE.read_text() for name in ("code", "message", "next_step", "matches"))
