# SPDX-License-Identifier: Apache-2.0
"""Memories: a list of any length, one grain with everything about it, what surrounds a thing, documents in an editor."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from deja_tui import Memory
from deja_tui.errors import DejaError
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.document import DocumentScreen
from deja_tui.screens.grain import GrainScreen, GrainsScreen
from deja_tui.screens.graph import GraphScreen
from deja_tui.screens.memories import MemoriesScreen
from deja_tui.screens.outcomes import OutcomesScreen
from deja_tui.screens.walker import WalkerScreen
from deja_tui.store.browse import Key, Lens, Listed, Slice
from tests.present.hostile import HOSTILE, in_turn
from tests.screens import remembered
from tests.screens.fake import FakeReviews
from tests.screens.test_hostile import sane
from tests.screens.user import FILE, console, reader
from tests.support import NOW, shared

HERE: dict[str, Any] = {"grains": remembered.opened, "at": "memories"}


def real() -> FakeReviews:
    """The loop of the memory itself, where a test follows links through recommendations."""
    return cast(FakeReviews, remembered.opened().loop)


def on(*words: str) -> dict[str, Any]:
    return {**HERE, "at": f"memories/{remembered.address_of(*words)[:12]}"}


class Endless:
    """A memory of a million grains, of which rows are made when they are asked for."""

    namespace = "shared"

    def __init__(self, total: int = 1_000_000) -> None:
        self.total = total
        self.asked: list[tuple[int, int, tuple[int, Key] | None]] = []
        self.fault: DejaError | None = None

    def browse(self, lens: Lens, start: int = 0, count: int = 64, **more: Any) -> Slice:
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        place = next((n for n in range(200) if self.address(n) == more.get("at")), None)
        if place is not None:
            start = max(0, place - count // 2)
        self.asked.append((start, count, more.get("anchor")))
        start = max(0, min(start, self.total - count))
        rows = [self.row(n) for n in range(start, min(self.total, start + count))]
        return Slice(tuple(rows), start, self.total, self.total)

    @staticmethod
    def address(number: int) -> str:
        return f"{number:064x}"

    def row(self, number: int) -> Listed:
        grain = remembered.opened().get(remembered.address_of("sea", "lives_in"))
        return Listed(number, self.address(number), (number,), "live", NOW - number, grain)

    def kinds(self) -> Sequence[str]:
        return ("fact",)


# --- the list ---------------------------------------------------------------------------------------


async def test_a_million_rows_scroll_with_a_window_of_them() -> None:
    """Point 4: to the end, back, page by page; what is known is a stretch, and each is read on from a known row."""
    memory = Endless()
    async with console(grains=memory, at="memories") as user:
        screen = cast(MemoriesScreen, user.screen)
        assert "1/1,000,000" in user.title
        for _ in range(9):
            await user.press("ctrl+d")
        assert "…" not in user.marked()[:12]
        assert 0 < len(screen.stretch.known) < 200
        _, count, anchor = memory.asked[-1]
        assert anchor is not None
        assert abs(anchor[0] - screen.stretch.start) <= count
        assert len(screen.text_of_panel()) < 200, "a pager is given what is known"
        await user.press("G")
        assert "1,000,000/1,000,000" in user.title
        assert screen.row is not None
        assert screen.row.seq == 999_999
        await user.press("k", "k", "g")
        assert screen.row.seq == 0
        assert len(memory.asked) < 12, "a window answers many moves"


async def test_a_reading_keeps_what_is_selected_and_drops_late_answers() -> None:
    """What comes on top moves the selection along; only the newest question is answered."""
    memory = Endless(5_000)
    async with console(grains=memory, at="memories") as user:
        screen = cast(MemoriesScreen, user.screen)
        await user.press("j", "j", "j")
        memory.address = lambda number: f"{number - 2:064x}"  # type: ignore[method-assign, assignment]
        await user.press("r")
        assert user.flash == "read again"
        assert (screen.listing.selected, screen.row and screen.row.seq) == (5, 5)
        await user.burst("f", "f", "F")
        assert (screen.lens.view, screen.lens.type) == ("superseded", "fact")
        assert screen.page is not None


async def test_while_a_key_is_held_only_the_list_moves() -> None:
    """Bytes: the selected grain is drawn again after a rest."""
    async with console(grains=Endless(50), at="memories") as user:
        screen = cast(MemoriesScreen, user.screen)
        await user.burst("j", "j", "j", after=0.0)
        assert screen.resting is not None
        await user.pilot.pause(0.1)
        await user.settle()
        assert f"{screen.row.address[:8]}  live" in user.text if screen.row else False


async def test_a_held_key_runs_ahead_of_the_reading_and_shows_rows_once_they_come() -> None:
    """Many pages in one burst: rows that are not read are marks, then the rows of where one stopped."""
    async with console(grains=Endless(), at="memories") as user:
        await user.burst(*["ctrl+d"] * 40)
        screen = cast(MemoriesScreen, user.screen)
        assert screen.row is not None
        assert screen.row.seq == screen.listing.selected > 400
        assert "Oslo" in user.marked()


async def test_views_types_orders_and_the_filter() -> None:
    """f, F and o go through them, / searches while one types, an address is found by its start; Esc clears."""
    async with console(**HERE) as user:
        screen = cast(MemoriesScreen, user.screen)
        assert "1/22  all" in user.title
        assert "recommendation" not in user.text, "the engine's own stand in their own view"
        assert "confidence" not in user.text
        await user.press("]")
        assert "confidence 0.5" in user.text
        await user.press("[", "j")
        assert "relay one" in user.marked()
        seen = {}
        for _ in range(8):
            seen[screen.lens.view] = [row.state for row in screen.page.rows] if screen.page else []
            await user.press("f")
        assert set(seen["superseded"]) == {"superseded"}
        assert seen["expired"] == ["expired"]
        assert seen["forked"] == ["forked", "forked"]
        assert seen["documents"] == ["live"]
        assert seen["forgotten"] == ["forgotten"]
        assert len(seen["engine"]) > 3
        await user.press("F", "F")
        assert "1/7  all tool" in user.title
        await user.press("F", "F")
        assert "all" in user.title
        await user.press("o")
        assert user.flash == "the oldest first"
        assert "refund" in user.marked()
        await user.press("o")
        assert user.flash == "grouped by subject, live ones only"
        await user.press("o", "/")
        await user.type("Berg")
        assert "filter «Berg»" in user.title
        assert "No live grain matches «Berg»" in user.text, "what was superseded is not live"
        await user.press("ctrl+u")
        await user.type("osl")
        assert "1/2  live" in user.title
        await user.press("enter", "G")
        assert screen.editor.active is False
        await user.press("h")
        assert "1/22" in user.title
        await user.press("/")
        await user.paste(remembered.address_of("relay", "two")[:10])
        assert "relay two" in user.marked()
        await user.press("escape")
        assert "filter" not in user.title


async def test_nothing_here_names_what_would_bring_something() -> None:
    """Each empty view says what is not there; the first one names the commands."""
    async with console(**{**HERE, "grains": remembered.bare}) as user:
        assert "This memory holds nothing yet." in user.text
        assert f"deja import claude-code PATH --db {FILE}" in " ".join(user.text.split())
        await user.press("enter", "y", "i", "E")
        assert "0/0" in user.title
        for told in (
            "Nothing is live",
            "Nothing was superseded",
            "Nothing has expired",
            "No fork",
            "deja doc create",
        ):
            await user.press("f")
            assert told in user.text


async def test_a_failed_reading_is_told_and_r_reads_again() -> None:
    """Code and next step; what was read before stays, with its age. Without a memory the page says so."""
    memory = Endless(50)
    memory.fault = DejaError("STO-E004", "locked", "try again")
    async with console(grains=memory, at="memories") as user:
        assert "STO-E004 locked" in user.flash
        assert "Nothing could be read" in user.text
        await user.press("r")
        assert user.marked()
        memory.fault = DejaError("STO-E004", "locked", "try again")
        await user.press("r")
        assert "Shown as it was 0s ago" in user.flash
        assert user.marked()
    async with console(at="memories") as user:
        assert "without a memory to look into" in user.flash


# --- one grain --------------------------------------------------------------------------------------


async def test_a_grain_shows_its_fields_versions_and_what_changed() -> None:
    """Every field; each version with - and + lines; sections by ] and [; y, C and Y copy."""
    async with console(size=(100, 40), **on("sea", "lives_in")) as user:
        assert isinstance(user.screen, GrainScreen)
        address = remembered.address_of("sea", "lives_in")
        assert f" address {address}" in user.rows
        assert "    - object «Oslo, in the old town»" in [row[1:] for row in user.rows]
        assert "    + object «Oslo, by the sea»" in [row[1:] for row in user.rows]
        assert "    - object «Bergen, in the old town»" in [row[1:] for row in user.rows]
        assert "    + supersede_reason «she moved»" in [row[1:] for row in user.rows]
        await user.press("]")
        assert "-- Fields" in user.marked()
        await user.press("]", "[")
        assert "-- Fields" in user.marked()
        await user.press("tab", "y")
        assert address not in user.flash, "the address of the version the line leads to"
        await user.press("g", "y")
        assert address in user.flash
        await user.press("C")
        assert f"deja get {address[:8]} --db {FILE}" in user.flash
        await user.press("Y")
        assert f"HISTORY OF sha256:{address}" in user.flash
        await user.press("enter")
        assert user.flash == "this line leads nowhere"
        await user.press("tab", "enter")
        assert user.screen is not None
        assert "superseded" in user.title
        await user.press("h", "h")
        assert isinstance(user.screen, MemoriesScreen)


async def test_from_grain_to_recommendation_to_trail_to_outcome_to_grain_and_back() -> None:
    """Point 1: the ring, by keys alone, and back with h."""
    async with console(real(), **on("fails_with")) as user:
        await user.press("G")
        assert "agreed with the team" in user.marked()
        await user.press("enter")
        assert isinstance(user.screen, DetailScreen)
        assert user.screen.detail.status == "applied"
        assert "Trail, chain verified" in user.text
        await user.press("o")
        assert isinstance(user.screen, GrainsScreen)
        wrote = next(item for item in user.screen.items if "wrote" in item.line[0].text)
        assert wrote.address == remembered.address_of("fails_with")
        while "wrote" not in user.marked():
            await user.press("tab")
        await user.press("enter")
        assert isinstance(user.screen, GrainScreen)
        assert user.screen.address == wrote.address
        await user.press("h", "G", "enter")
        assert isinstance(user.screen, GrainScreen)
        assert "cited as evidence by" in "\n".join(str(item.line) for item in user.screen.items)
        await user.press("h", "h")
        assert isinstance(user.screen, DetailScreen)
        await user.press("5")
        assert isinstance(user.screen, OutcomesScreen)
        await user.press("7")
        assert isinstance(user.screen, MemoriesScreen)


async def test_the_walker_opens_grains_and_goes_on_where_it_was() -> None:
    """The evidence of what is decided, one page each; h is back in the walk."""
    async with console(**{**HERE, "at": "queue"}) as user:
        await user.press("w", "o")
        assert isinstance(user.screen, GrainsScreen)
        assert "not here, or forgotten" in user.text, "of a recommendation that names grains of elsewhere"
        await user.press("Y", "C", "h")
        assert isinstance(user.screen, WalkerScreen)
        assert user.screen.state == "read"


async def test_deep_links_by_a_start_of_an_address() -> None:
    """A unique start opens the grain; one that is not, lists what it fits; nothing, and what was forgotten, is told."""
    gone = remembered.opened().browse(Lens("forgotten")).rows[0].address
    for at, told in (("ffffffffffff", "MEM-E001"), (gone[:10], "was forgotten here")):
        async with console(**{**HERE, "at": f"memories/{at}"}) as user:
            assert isinstance(user.screen, MemoriesScreen)
            assert told in user.flash
    async with console(**{**HERE, "at": "memories/"}) as user:
        assert isinstance(user.screen, MemoriesScreen)


async def test_two_tips_stand_side_by_side_or_below_each_other() -> None:
    """120 cells: columns with ! before what differs; 80: - and +."""
    for size, told in (
        ((120, 40), ("! object", "│ «relay one»")),
        ((80, 40), ("(-) beside", "+ object «relay one»")),
    ):
        async with console(size=size, **on("relay", "two")) as user:
            assert "Fork, 2 live tips" in user.text
            assert all(part in user.text for part in told), user.text


async def test_what_surrounds_a_thing() -> None:
    """i: out and in; + and - the distance; a ring is told once; Enter the fact, i the far end."""
    async with console(**on("sea", "lives_in")) as user:
        await user.press("i")
        assert isinstance(user.screen, GraphScreen)
        assert "  → works_at «Acme»" in user.text
        assert "← reports_to bo" in user.text
        await user.press("-")
        assert user.flash == "from 1 to 3 steps"
        await user.press("+", "+")
        assert "3 of 3 steps" in user.title
        assert "(told elsewhere)" in user.text, "bo is told where bo comes first"
        assert user.text.count("works_at") == 1
        await user.press("Y")
        assert 'RECALL facts WHERE subject = "ana" OR object = "ana"' in user.flash
        remembered.opened().cal(user.screen.cal_of_panel())
        await user.press("C", "tab", "enter")
        assert isinstance(user.screen, GrainScreen)
        await user.press("h")
        while "Acme" not in user.marked():
            await user.press("j")
        await user.press("i")
        assert "around Acme" in user.title
        await user.press("h", "h", "h")
        assert isinstance(user.screen, MemoriesScreen)


async def test_the_cal_of_the_list_reads_what_it_shows() -> None:
    """Y is a statement that runs, in every view."""
    memory = remembered.opened()
    async with console(**HERE) as user:
        screen = cast(MemoriesScreen, user.screen)
        for _ in range(8):
            if screen.cal_of_panel() and screen.lens.view != "forgotten":
                memory.cal(screen.cal_of_panel())
            await user.press("Y", "C", "f")
        await user.press("/")
        await user.type('say "Oslo')
        memory.cal(screen.cal_of_panel())
        await user.press("escape", "f")
        row = screen.row
        assert row is not None
        assert row.grain is not None
        object.__setattr__(row.grain, "namespace", "a place")
        assert f'{row.grain.type}s IN "a place" RECENT 200' in screen.cal_of_panel()
        memory.cal(screen.cal_of_panel())


# --- documents --------------------------------------------------------------------------------------


async def test_a_document_is_edited_looked_at_and_saved_as_a_new_version(tmp_path: Path) -> None:
    """Nothing is written but by Enter in the preview; the version before stays; another writer is not written over."""
    memory = remembered.copied(tmp_path / "copy.deja")
    with memory:
        before = memory.docs.view(remembered.DOC)
        async with console(grains=memory, at="memories") as user:
            await user.press("f", "f", "f", "f", "f", "E")
            assert isinstance(user.screen, DocumentScreen)
            await user.press("escape")
            assert user.flash == "nothing was changed"
            await user.press("E", "down", "down", "end")
            await user.type(" Really.")
            await user.press("enter")
            await user.paste("Two\r\nlines")
            await user.press("escape")
            assert "+ «Be brief, and kind. Really.»" in user.text
            assert "- «Be brief, and kind.»" in user.text
            assert memory.docs.view(remembered.DOC) == before
            await user.press("e", "escape", "h", "escape", "y", "C", "Y", "enter")
            assert isinstance(user.screen, MemoriesScreen)
            assert "saved as" in user.flash
            after = memory.docs.view(remembered.DOC)
            assert after.text == "# Agent\n\nBe brief, and kind. Really.\nTwo\nlines\nAnswer in English.\n"
            assert [one.address for one in memory.docs.history(remembered.DOC)][1] == before.address
            await user.press("E", "delete", "escape")
            memory.docs.write(remembered.DOC, "somebody else\n")
            await user.press("enter")
            assert "MEM-E002 the document was changed since" in user.flash
            await user.press("q")
            assert user.flash == "nothing was saved"
        assert memory.docs.view(remembered.DOC).text == "somebody else\n"


async def test_a_command_line_of_a_hostile_path_is_one_word(tmp_path: Path) -> None:
    """What is pasted into a shell names the document, whatever its path says."""
    path = "/memories/a b; echo $(id) 'x'.md"
    with Memory.open(tmp_path / "m.deja", clock=lambda: NOW) as memory:
        memory.docs.create(path, "one")
        async with console(grains=memory, at="memories") as user:
            await user.press("E", "end", "x", "escape", "C")
            assert shlex.split(user.app.clipboard)[:4] == ["deja", "doc", "view", path]
            await user.press("q", "i", "C")
            words = shlex.split(user.app.clipboard)
            assert words[:2] == ["deja", "cal"]
            assert words[3] == "--db"


async def test_what_is_typed_ahead_reaches_the_editor() -> None:
    """A view, E and a text in one write: none of the text acts as a key of the list, or of the editor's page."""
    async with console(**HERE) as user:
        await user.burst(*"fffffE", "end", *" quite q1")
        assert isinstance(user.screen, DocumentScreen)
        assert user.screen.editor.draft.here == "# Agent quite q1"


async def test_a_reader_looks_and_edits_nothing() -> None:
    """READ-ONLY: everything is shown, E names the flag; what is no document is not edited."""
    async with console(**HERE, rights=reader()) as user:
        await user.press("E")
        assert "needs the right `write`" in user.flash
        assert "READ-ONLY" in user.title
    async with console(**HERE) as user:
        await user.press("E")
        assert "only a document is edited here" in user.flash


# --- hostile text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_hostile_lists_keep_their_columns(size: tuple[int, int]) -> None:
    """Every row of the list: nothing acts, the state begins in the same cell."""
    async with console(size=size, grains=remembered.opened_hostile, at="memories") as user:
        end = user.raw_rows[1].index("age") + 3
        for _ in range(5):
            sane(user)
            listed = user.raw_rows[2 : 2 + user.screen.part(object, "list").size.height]  # type: ignore[attr-defined]
            assert all(_cell(row, end - 1).strip() or not row.strip() for row in listed)
            await user.press("ctrl+d")


async def test_every_collected_hostile_file_in_list_page_and_document(tmp_path: Path) -> None:
    """Each line of each file as a call's result and as a note, and the file as a document: nothing acts or shifts."""
    with Memory.open(tmp_path / "m.deja", clock=remembered.Clock(NOW - 900_000)) as memory:
        files = sorted(path for path in shared("hostile").rglob("*") if path.is_file())
        assert len(files) > 20
        for number, path in enumerate(files):
            text = path.read_bytes().decode("utf-8", "surrogateescape")[:20_000]
            for line in text.split("\n")[:4]:
                memory.record_tool_call(path.name, line[:3_000] or "nothing", True, thread=line[:80] or None)
                memory.add_observation(f"note {line[:3_000]}", observer_id=line[:80] or "nobody")
            memory.docs.create(f"/memories/{number}.md", text)
        async with console(size=(80, 24), grains=memory, at="memories") as user:
            for _ in range(4):
                sane(user)
                await user.press("ctrl+d")
            await user.press(*"fffff")
            screen = cast(MemoriesScreen, user.screen)
            assert screen.lens.view == "documents"
            for place in range(0, len(files), 9):
                screen.listing.move_to(place)
                await user.press("enter", "]", "]")
                sane(user)
                await user.press("ctrl+d")
                sane(user)
                await user.press("h")


def _cell(row: str, place: int) -> str:
    from deja_tui.text import cells

    used = 0
    for char in row:
        if used == place:
            return char
        used += cells(char)
    return ""


@pytest.mark.parametrize("name,size", in_turn([(80, 24), (120, 40)])[::8])
async def test_hostile_grains_on_every_page(name: str, size: tuple[int, int], tmp_path: Path) -> None:
    """Grain, versions, surroundings, editor, preview, filter: nothing acts, shifts or hides."""
    bad = HOSTILE[name][:2_000]
    with Memory.open(tmp_path / "m.deja", clock=remembered.Clock(NOW - 9_000)) as memory:
        old = memory.add_fact(bad[:200], bad[:200], bad, note=bad)
        new = memory.supersede(old, {"object": f"{bad} again", bad[:60]: bad})
        memory.docs.create(remembered.DOC, f"{bad}\n")
        async with console(size=size, grains=memory, at=f"memories/{new}") as user:
            for key in ("G", "g", "i", "+", "tab", "h", "h", "/"):
                sane(user)
                await user.press(key)
            await user.paste(bad)
            sane(user)
            await user.press("escape", "f", "f", "f", "f", "f", "E", "end", "a", "left", "left")
            sane(user)
            await user.press("escape")
            sane(user)
            assert isinstance(user.screen, DocumentScreen)
            await user.press("enter")
            sane(user)
            assert user.app.return_code is None


async def test_a_row_that_is_looked_at_longer_shows_its_other_fields() -> None:
    """Below its card; until another row is selected."""
    async with console(**HERE, fill_seconds=60, size=(120, 40)) as user:
        card = user.text
        user.screen.fill_up()
        await user.settle()
        assert "confidence" in user.text
        assert "confidence" not in card
        await user.press("j")
        assert user.screen.filled == ""
