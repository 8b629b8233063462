# SPDX-License-Identifier: Apache-2.0
"""Nothing acts: hostile text in every field, on every screen (issue 2, point 10)."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from typing import Any

import pytest
from textual.content import Content

from deja_tui.engine.objects import Chain, Detail
from deja_tui.errors import DejaError
from deja_tui.text import cells, door
from tests.present import build
from tests.present.hostile import HOSTILE, harmless, in_turn
from tests.screens.fake import FakeReviews
from tests.screens.user import User, console
from tests.support import ROOT, shared


def planted(bad: str) -> list[Detail]:
    """Recommendations with the text in every field that came from somewhere else."""
    short = bad[:300]
    found = build.tool_failure(short, short, summary=bad)
    body = replace(
        found.recommendation,
        analyzer=short,
        target_ref=f"entity:{short}",
        params={short[:60]: bad},
        evidence_query=bad,
        evidence_total=9,
    )
    evil = build.error(1, bad, thread=bad)
    evil = replace(evil, type=bad, namespace=bad, fields={**evil.fields, "tool_name": bad, short[:60]: bad})
    triple = replace(evil, fields={"subject": bad, "relation": bad, "object": bad})
    entries = tuple(replace(one, actor=short, because=bad) for one in found.chain.entries)
    evil_one = replace(
        found,
        recommendation=body,
        creator=f"someone {short}",
        evidence=(evil, triple),
        chain=Chain(entries, True),
        origin=bad,
    )
    copies = build.duplicates()
    targets = {
        address: replace(grain, fields={**grain.fields, "subject": bad, "object": bad})
        for address, grain in copies.targets.items()
    }
    evil_two = replace(
        copies,
        targets=targets,
        evidence=tuple(targets.values()),
        summary=bad,
        chain=Chain(copies.chain.entries, False, bad, copies.chain.entries[0].address),
    )
    return [evil_one, evil_two, build.expired_fact()]


def sane(user: User) -> None:
    """Every row is harmless, exactly as wide as the window, and carries no action or link."""
    width = user.app.size.width
    for row in user.raw_rows:
        assert harmless(row), ascii(row)
        assert cells(row) == width
    for strip in user.app.screen._compositor.render_strips(user.app.size):
        for segment in strip:
            assert segment.style is None or not segment.style.link
            assert segment.style is None or not any(key.startswith("@") for key in segment.style.meta)


def at(row: str, start: int, end: int) -> str:
    """The text in the cells ``start`` to ``end`` of a row."""
    used, out = 0, ""
    for char in row:
        if start <= used < end:
            out += char
        used += cells(char)
    return out


@pytest.mark.parametrize("name,size", in_turn([(80, 24), (120, 40)]))
async def test_hostile_text_on_every_screen(name: str, size: tuple[int, int]) -> None:
    """Queue, filter, detail, all fields, walker, reason, receipt, end, help, errors: nothing acts, nothing shifts."""
    bad = HOSTILE[name]
    async with console(
        FakeReviews(planted(bad)), size, file=f"/home/ana/{bad[:40]}.db", actor=bad[:40]
    ) as user:
        sane(user)
        if size[0] == 80:
            end = user.rows[1].index("age") + len("age")
            ages = [at(row, end - 4, end).strip() for row in user.raw_rows[2:5]]
            assert ages == ["3d", "2d", "5h"], "the columns stay where they are"
        await user.press("/")
        await user.paste(bad)
        sane(user)
        await user.press("escape", "enter")
        sane(user)
        await user.press("enter")
        sane(user)
        await user.press("G")
        sane(user)
        await user.press("h", "?")
        sane(user)
        await user.press("h", "w")
        sane(user)
        await user.press("a")
        for _ in range(200):
            if user.screen.state == "read":
                await user.press("a")
        assert user.screen.state == "reason", user.flash
        await user.paste("why " + bad[:200])
        sane(user)
        await user.press("enter")
        sane(user)
        assert user.screen.state == "receipt"
        await user.press("enter", "a")
        sane(user)
        assert user.flash == "its audit chain does not verify: decisions are off"
        user.screen.say_error(DejaError("LOP-E099", bad, bad))
        await user.settle()
        sane(user)
        await user.press("s", "s")
        sane(user)
        assert user.app.return_code is None, "still running"


@pytest.mark.parametrize(
    "bad,shown",
    [
        ("[@click=app.quit]quit[/]", "«[@click=app.quit]quit[/]»"),
        ("\x1b[31mred\x1b[0m", "«\\x1b[31mred\\x1b[0m»"),
        ("\x1b]52;c;eA==\x07", "«\\x1b]52;c;eA==\\x07»"),
        ("a\x00b\x7f\x9b", "«a\\x00b\\x7f\\x9b»"),
        ("user\u202etxt", "«user\\u202etxt»"),
        ("pay\u200bpal", "«pay\\u200bpal»"),
        ("half \ud83d", "«half \\ud83d»"),
        ("ok» = fact safe", "«ok\\xbb = fact safe»"),
        ("one\ntwo", "«one\\ntwo»"),
    ],
)
async def test_the_exact_text_that_is_shown(bad: str, shown: str) -> None:
    """In the change, in the evidence, and as the reason of a receipt's trail."""
    found = replace(build.tool_failure(bad, summary="a tool fails"), evidence=(build.error(0, bad),))
    async with console(FakeReviews([found])) as user:
        await user.press("enter")
        assert f"+ fact stripe_refund · fails_with · {shown}" in user.rows
        assert f" 87f974b2  tool error  2026-02-28 09:00Z  sess-42  {shown}" in user.rows


async def test_a_line_of_100000_characters_is_cut_where_it_is_evidence_and_whole_where_it_is_written() -> (
    None
):
    """Evidence says how much was left out; a proposal is at most 8 KiB and shown to its end."""
    long = "x" * 100_000
    found = replace(build.tool_failure("y" * 8_000, summary="a tool fails"), evidence=(build.error(0, long),))
    async with console(FakeReviews([found]), size=(200, 60)) as user:
        await user.press("enter")
        change = [row for row in user.screen.pager.lines if row and set(row[-1].text) <= {"y", "»"}]
        assert sum(span.text.count("y") for line in change for span in line) > 7_800
        await user.press("enter")
        assert any("…(+91808)»" in "".join(span.text for span in row) for row in user.screen.pager.lines)


async def test_typing_brackets_into_the_reason_and_the_filter_works() -> None:
    """Every line of the collected reasons is typed, shown literally, and recorded as it is."""
    reasons = shared("hostile/markup-brackets/reasons.txt").read_text(encoding="utf-8").splitlines()
    details = [
        build.detail(build.recommendation(f"r{n}", [], []), f"number {n}", []) for n in range(len(reasons))
    ]
    async with console(FakeReviews(details), size=(120, 40)) as user:
        await user.press("w")
        for reason in reasons:
            await user.press("a")
            await user.paste(reason)
            assert any(row.startswith(f"APPROVE BECAUSE> {reason}") for row in user.rows)
            await user.press("enter")
            assert f"because  «{reason}»" in user.rows
            await user.press("enter")
        assert [because for _, _, because in user.reviews.log] == reasons


def tool_texts(case: str) -> list[str]:
    """The tool results of a hostile transcript."""
    texts: list[str] = []
    for raw in shared(f"hostile/{case}/session.jsonl").read_text(encoding="utf-8").split("\n"):
        content: Any = json.loads(raw).get("message", {}).get("content") if raw else None
        if isinstance(content, list):
            texts += [str(part["content"]) for part in content if part.get("type") == "tool_result"]
    return texts


@pytest.mark.parametrize(
    "case", ["terminal-escapes", "markup-brackets", "injected-instructions", "lone-surrogates"]
)
async def test_collected_hostile_transcripts(case: str) -> None:
    """The real texts as evidence: fenced, literal, harmless."""
    texts = tool_texts(case)
    assert texts
    evidence = tuple(build.error(number, door(text)) for number, text in enumerate(texts))
    found = replace(build.tool_failure(summary="a tool fails"), evidence=evidence)
    async with console(FakeReviews([found]), size=(120, 40)) as user:
        await user.press("enter")
        sane(user)
        fenced = [row for row in user.rows if "«" in row and "»" in row]
        assert len(fenced) >= len(texts)
        if case == "injected-instructions":
            assert all("ignore previous" not in row or "«" in row[: row.index("ignore")] for row in user.rows)


async def test_markup_is_never_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With Textual's markup reader broken, every screen still works: nobody calls it."""

    def refuse(*args: object, **kwargs: object) -> Content:
        raise AssertionError("markup was parsed")

    monkeypatch.setattr(Content, "from_markup", refuse)
    monkeypatch.setattr("rich.text.Text.from_markup", refuse)
    monkeypatch.setattr("textual.markup.to_content", refuse)
    async with console(FakeReviews(planted("[@click=app.quit]x[/]"))) as user:
        await user.press("enter", "enter", "h", "?", "h", "w", "a")
        await user.paste("[/] [bold")
        await user.press("enter")
        assert user.screen.state == "receipt"


@pytest.mark.parametrize("room", ["widgets", "screens", "console", "present"])
def test_no_source_uses_a_widget_that_reads_markup(room: str) -> None:
    """No Static, Label, toast or tooltip: lines are drawn as segments."""
    forbidden = {"Static", "Label", "Markdown", "RichLog", "Footer", "Header", "DataTable", "ListView", "OptionList", "TextArea", "Input", "Button", "notify", "from_markup", "tooltip", "LoadingIndicator"}  # fmt: skip
    for path in sorted((ROOT / "deja_tui" / room).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        assert not names & forbidden, path
