# SPDX-License-Identifier: Apache-2.0
"""Query: typing, running, refusing, asking; rows, texts, plans; saved queries and what was typed before."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from deja_tui.cal import CalError
from deja_tui.console.actions import Rights
from deja_tui.errors import DejaError
from deja_tui.screens.detail import DetailScreen
from deja_tui.screens.grain import GrainScreen
from deja_tui.screens.overview import OverviewScreen
from deja_tui.screens.query import QueryScreen
from deja_tui.screens.queue import QueueScreen
from tests.present.hostile import HOSTILE, in_turn
from tests.screens.asked import ASSEMBLE, BAD, bare, fresh, opened, opened_badly
from tests.screens.test_hostile import sane
from tests.screens.user import FILE, User, console, destroyer, reader

FACTS = 'RECALL facts WHERE subject = "acme"'
ADD = 'ADD fact SET subject = "acme" SET relation = "likes" SET object = "tea" REASON "said so"'


def query(size: tuple[int, int] = (80, 24), **options: Any) -> AbstractAsyncContextManager[User]:
    on: Any = options.pop("on", None) or opened()
    return console(on, size, **{"at": "query", "grains": on.memory, **options})


async def ask(user: User, text: str) -> None:
    """Type a statement in the place of what is there, and run it."""
    await user.press("i", "ctrl+k", "ctrl+u")
    user.screen.editor.put("")
    await user.paste(text)
    await user.press("enter")


# --- typing -----------------------------------------------------------------------------------------


async def test_letters_are_text_while_a_statement_is_typed_and_keys_before_and_after() -> None:
    """i begins, Esc leaves with the text kept, numbers and q are letters in between."""
    async with query() as user:
        await user.press("i", "q", "8", "1", "?", "y")
        assert user.rows[1] == "CAL> q81?y"
        assert "Enter runs" in user.hints
        assert isinstance(user.screen, QueryScreen)
        await user.press("escape", "1")
        assert isinstance(user.screen, OverviewScreen)
        await user.press("8", "i")
        assert user.rows[1] == "CAL> q81?y"


async def test_enter_runs_and_the_rows_are_read_with_keys() -> None:
    """Result, count and time are said; a typed line is a statement of the history."""
    async with query() as user:
        await user.press("i", "enter")
        assert user.flash == "there is no statement: type one, or Esc"
        await user.paste(FACTS)
        await user.press("enter")
        assert user.rows[2] == " [Result] Saved 28  History 1   2 rows  0 ms"
        assert "acme · mg:prefers · «green tea»" in user.marked()
        await user.press("j")
        assert "[8 Query]  2/2" in user.title
        assert "eu-west-1" in user.marked()
        for key, wanted in (("g", "1/2"), ("G", "2/2"), ("k", "1/2"), ("pagedown", "2/2"), ("ctrl+u", "1/2")):
            await user.press(key)
            assert wanted in user.title, key


async def test_one_line_becomes_several_on_demand() -> None:
    """^o opens a line, a paste keeps its lines, up and down move inside them."""
    async with query() as user:
        await user.press("i")
        await user.paste("RECALL facts")
        await user.press("ctrl+o")
        await user.paste('WHERE subject = "acme"\nLIMIT 1')
        assert user.rows[1:4] == ["CAL> RECALL facts", '     WHERE subject = "acme"', "     LIMIT 1"]
        await user.press("up", "home", "X")
        assert user.rows[2] == '     XWHERE subject = "acme"'
        await user.press("backspace", "enter")
        assert user.rows[4].startswith(" [Result]")
        assert "1 of 2 rows  0 ms  LIMIT takes up to 1,000" in user.text


async def test_tab_goes_on_with_the_word() -> None:
    """As far as there is one way, then the ways; the words are those of the shell."""
    async with query() as user:
        await user.press("i", "R", "E", "C", "A", "tab")
        assert user.rows[1] == "CAL> RECALL"
        await user.press("f", "a", "tab")
        assert user.rows[1] == "CAL> RECALL fa"
        assert user.flash == "fact facts false"
        await user.press("c", "tab")
        assert user.rows[1].startswith("CAL> RECALL fact")
        await user.press("ctrl+u", "Q", "x", "tab")
        assert user.flash == "no word of the language begins so"


async def test_up_and_down_go_through_what_was_typed_before() -> None:
    """Newest first; in front of it is what was being typed. The section lists them, Enter takes one up."""
    async with query() as user:
        await ask(user, "RECALL facts LIMIT 1")
        await ask(user, "RECALL facts LIMIT 2")
        await user.press("i", "ctrl+u", "d", "up")
        assert user.rows[1] == "CAL> RECALL facts LIMIT 2"
        await user.press("up")
        assert user.rows[1] == "CAL> RECALL facts LIMIT 1"
        await user.press("up", "down", "down")
        assert user.rows[1] == "CAL> d"
        await user.press("ctrl+p", "ctrl+p", "ctrl+n", "escape", "[")
        assert user.rows[2].endswith("[History 2]") or "[History 2]" in user.rows[2]
        await user.press("j", "enter")
        assert user.rows[1] == "CAL> RECALL facts LIMIT 1"
        assert "Enter runs" in user.hints


async def test_an_error_has_its_caret_and_typing_goes_on_at_the_place() -> None:
    """Code, the line, the caret under the place, the next step."""
    async with query() as user:
        await ask(user, 'RECALL facts WHERE colour = "red"')
        at = user.rows.index("CAL-E060 fact has no field colour (line 1, column 20)")
        assert user.rows[at + 1 : at + 4] == [
            '| RECALL facts WHERE colour = "red"',
            "|                    ^^^^^^",
            "next: DESCRIBE FIELDS facts lists them.",
        ]
        assert "not run" in user.rows[2]
        assert "Enter runs" in user.hints
        await user.press(*["delete"] * 6)
        await user.paste("subject")
        await user.press("enter")
        assert "Nothing found." in user.text
        await user.press("e")
        assert "| class: read" in user.rows


async def test_an_error_far_to_the_right_and_on_another_line_is_seen() -> None:
    """The caret is moved into the window, and the line is named."""
    async with query() as user:
        await ask(user, f'RECALL facts WHERE {"(" * 3}subject = "{"a" * 70}" AND colour = "red"{")" * 3}')
        at = next(place for place, row in enumerate(user.rows) if "^^^^^^" in row)
        assert user.rows[at - 1][user.rows[at].index("^") :].startswith("colour")
        await ask(user, "RECALL facts\nWHERE colour = 1")
        assert "  line 2, column 7" in user.rows
        assert user.screen.editor.edited.caret == len("RECALL facts\nWHERE ")


# --- results ----------------------------------------------------------------------------------------


RESULTS = {
    "RECALL facts COUNT": "| 3",
    "RECALL facts ORDER BY confidence SELECT subject, confidence": "▸«ana»    0.6",
    "RECALL facts SUBJECTS": "▸«ana»",
    "EXISTS facts": "▸dcd50766  yes",
    "DESCRIBE SCHEMA": "| default_limit: 50",
    "BATCH { a: RECALL facts COUNT ; EXISTS facts }": "| # a",
    "RECALL facts FORMAT text": "| ana prefers window seat",
    "RECALL facts FORMAT [text, toon AS t]": "-- Word for word, t -----------------",
    "EXPLAIN RECALL facts": "| statement_type: recall",
    "SHOW FORKS": "| forks:",
    "RECALL recommendations WITH superseded": "recommendation",
    'HISTORY WHERE subject = "ana" AND relation = "prefers"': "window seat",
}


async def test_every_kind_of_result_is_shown() -> None:
    """Rows as rows, the rest as text behind a bar."""
    async with query() as user:
        for text, row in RESULTS.items():
            await ask(user, text)
            assert row in user.text, f"{text}\n{user.text}"


async def test_a_row_opens_what_it_is_and_h_comes_back() -> None:
    """A recommendation opens its page; a grain everything about it."""
    async with query() as user:
        await ask(user, "RECALL recommendations")
        assert "pending" in user.marked()
        await user.press("l")
        assert isinstance(user.screen, DetailScreen)
        await user.press("h")
        assert isinstance(user.screen, QueryScreen)
        await ask(user, FACTS)
        await user.press("right")
        assert isinstance(user.screen, GrainScreen)
        assert "green tea" in user.text
        await user.press("h")
        assert "green tea" in user.marked()
        user.app.push_screen(DetailScreen(opened().queue()[0].address))
        await user.settle()
        user.screen.detail = replace(
            user.screen.detail,
            recommendation=replace(user.screen.detail.recommendation, evidence_query="RECALL goals"),
        )
        await user.press("8")
        assert user.rows[1] == "CAL> RECALL goals"
        assert "confirm the flight" in user.marked()


async def test_the_plan_stands_beside_the_rows_or_comes_with_e() -> None:
    """At 120x40 at once; at 80x24 in their place, and back."""
    async with query() as user:
        await ask(user, FACTS)
        assert "How it was carried out" not in user.text
        await user.press("e")
        assert "|   path: by subject" in user.rows
        assert "EXPLAIN" in user.rows[2]
        await user.press("e")
        assert user.marked()
    async with query(size=(120, 40)) as user:
        await ask(user, FACTS)
        assert any("│ |   path: by subject" in row for row in user.rows)
        assert "acme" in user.marked()
        await user.press("]", "e")
        assert user.flash == "there is no read to explain: run a statement first"


async def test_a_context_is_shown_word_for_word_under_its_measured_budget() -> None:
    """Bar, counts, text; its grains are a section of their own."""
    async with query() as user:
        await ask(user, ASSEMBLE)
        at = next(place for place, row in enumerate(user.rows) if row.startswith("tokens "))
        assert user.rows[at].split("] ")[1] == "39 of 60 (65 %)  1 in, 3 left out"
        assert user.rows[at].count("=") == 15
        assert '| <context intent="planning">' in user.rows
        assert "[Preview]" in user.text
        await user.press("y")
        assert user.flash == "no address here: Y sends the statement"
        await user.press("/")
        assert "] goes to the rows" in user.flash
        await user.press("]")
        assert "[Rows]" in user.text
        assert user.marked()
        await ask(user, ASSEMBLE + " FORMAT markdown")
        assert "-- Word for word, markdown" in user.text
        await user.press("]", "G")
        assert user.marked().endswith("left out")


async def test_a_filter_narrows_the_rows_of_any_section() -> None:
    """As in the queue: while typing, Enter keeps it, Esc clears it."""
    async with query() as user:
        await ask(user, FACTS)
        await user.press("/")
        await user.type("TEA")
        assert "filter «TEA»" in user.title
        await user.press("enter")
        assert "[8 Query]  1/1" in user.title
        await user.press("escape")
        assert "1/2" in user.title
        await user.press("/")
        await user.paste("nothing\n\x1b[2Jlike this")
        assert " No row matches «nothing [2Jlike this». Esc clears the filter." in user.rows
        await user.press("escape")
        assert "1/2" in user.title


async def test_y_Y_and_C_send_address_statement_and_command_line() -> None:
    """The command line is quoted for a shell."""
    async with query(file="/home/ana/it's mine.db") as user:
        await user.press("y")
        assert user.app.clipboard == "likes"
        await user.press("j", "j", "C")
        assert user.app.clipboard.startswith("""deja cal 'RUN "Account 360 Context" ($account_id""")
        await ask(user, FACTS)
        await user.press("y")
        assert len(user.app.clipboard) == 64
        await user.press("Y")
        assert user.app.clipboard == FACTS
        await user.press("C")
        assert user.app.clipboard == f"deja cal '{FACTS}' --db '/home/ana/it'\"'\"'s mine.db'"
        await user.press("]", "]", "Y")
        assert user.app.clipboard == FACTS


async def test_warnings_are_told() -> None:
    """With their codes."""
    async with query() as user:
        await ask(user, "RECALL facts | LIMIT 1")
        assert user.flash.startswith("CAL-W007")


async def test_sections_go_round_and_keep_their_rows() -> None:
    """] and [; the row that was selected is selected again."""
    async with query() as user:
        assert "[Saved 28]" in user.rows[2]
        await user.press("j", "j")
        here = user.marked()
        await user.press("]", "]")
        assert "Nothing was asked yet" in user.text
        await user.press("[", "[")
        assert user.marked() == here


# --- saved queries ----------------------------------------------------------------------------------


async def test_a_saved_query_runs_or_asks_for_what_it_needs() -> None:
    """Enter; the caret stands where the value belongs."""
    async with query() as user:
        assert user.marked().startswith("▸own likes")
        assert "$who  needed" in user.rows
        assert "$n  default 5" in user.rows
        await user.press("enter")
        assert user.rows[1] == 'CAL> RUN "likes" ($who = "")'
        assert "it needs $who" in user.flash
        await user.type("ana")
        await user.press("enter")
        assert "window seat" in user.marked()
        await user.press("i", "ctrl+u")
        assert user.rows[1] == "CAL>"
        await user.press("escape")
        await user.press("]", "j", "enter")
        assert user.rows[1] == 'CAL> RUN "team"'
        assert "2 rows" in user.rows[2]


async def test_links_lead_to_a_saved_query_and_to_a_statement() -> None:
    """--at query/NAME runs it; what another place hands over is run when it reads."""
    async with query(at="query/team") as user:
        assert user.rows[1] == 'CAL> RUN "team"'
        assert "2 rows" in user.rows[2]
        user.app.go("queue")
        user.app.go("query", "RECALL goals")
        await user.settle()
        assert "confirm the flight" in user.marked()
        user.app.go("query", ADD)
        await user.settle()
        assert "This statement writes." in user.text
    async with query(at="query/nobody") as user:
        assert user.flash == "there is no saved query nobody"


async def test_a_saved_query_is_edited_and_defined_with_one_yes() -> None:
    """E puts the definition into the editor, D wraps the statement that was run; what it replaces is told."""
    async with query(on=fresh()) as user:
        await user.press("j", "E")
        assert user.rows[1] == 'CAL> DEFINE QUERY "team" AS { RECALL facts WHERE subject = "acme" }'
        await user.press("enter")
        assert "This statement writes. Class control, needs the right `write`: held." in user.rows
        assert "It replaces the saved query «team»." in user.rows
        await user.press("y")
        assert "query defined: team" in user.text
        await ask(user, FACTS)
        await user.press("D")
        assert user.rows[1] == f'CAL> DEFINE QUERY "" AS {{ {FACTS} }}'
        await user.type("mine")
        await user.press("enter")
        assert "It replaces" not in user.text
        await user.press("y", "]")
        assert "[Saved 29]" in user.rows[2]
        await user.press("G", "E")
        assert "built in" in user.flash
        assert not user.rows[1].startswith("CAL> DEFINE")


# --- writing and refusing ---------------------------------------------------------------------------


async def test_a_write_shows_its_class_and_asks_once() -> None:
    """y writes, Esc writes nothing; a held Enter, a key that came early and a word typed on decide nothing."""
    async with query(on=fresh()) as user:
        await ask(user, ADD)
        assert "This statement writes. Class evolve, needs the right `write`: held." in user.rows
        await user.press("enter")
        assert user.flash == "y writes it, Esc writes nothing"
        await user.press("escape")
        assert user.flash == "nothing was written"
        assert user.reviews.cal("RECALL facts COUNT").count == 3
        await user.press("enter")
        await user.press("y", after=0.1)
        assert user.reviews.cal("RECALL facts COUNT").count == 3
        await user.press("e", after=1)
        await user.press("y", after=0.1)
        assert user.reviews.cal("RECALL facts COUNT").count == 3
        await user.paste("y")
        await user.press("y")
        assert user.reviews.cal("RECALL facts COUNT").count == 4
        assert "added" in user.text
        await user.press("r", "y")
        assert user.reviews.cal("RECALL facts COUNT").count == 4, "a write is never run again by itself"


REFUSED = (
    (
        'APPROVE sha256:{0} BECAUSE "x"',
        "APPROVE is a decision: Query makes none",
        "Enter opens the recommendation",
    ),
    ('REVIEW sha256:{0} REJECT BECAUSE "x"', "REJECT is a decision", "Enter opens the recommendation"),
    ('APPLY sha256:{0} BECAUSE "x"', "APPLY is a decision", "Enter opens the recommendation"),
    ('ROLLBACK $x BECAUSE "x"', "ROLLBACK is a decision", "3 goes to the queue"),
    ("RUN LOOP", "RUN LOOP starts a run", "1 goes to the overview"),
    ('FORGET sha256:{1} REASON "x"', "FORGET cannot be undone", "deja forget"),
    ('BATCH {{ a: FORGET sha256:{1} REASON "x" }}', "FORGET cannot be undone", "deja forget"),
    (
        'FORGET SUBJECT "ana" REASON "x"',
        "FORGET SUBJECT is an act of the command line",
        "deja forget-subject ana",
    ),
)


async def test_decisions_and_erasures_are_refused_and_point_to_the_recommendation() -> None:
    """D18: in no tier; Enter opens the recommendation it is about, where there is one."""
    memory = opened()
    address = memory.queue()[0].address
    evidence = memory.cal("RECALL tools LIMIT 1").rows[0].hash
    async with query(rights=destroyer()) as user:
        for text, told, step in REFUSED:
            await ask(user, text.format(address, evidence))
            told_here = " ".join(user.text.split())
            assert told in told_here, text
            assert step in told_here, text
            if "sha256" in text:
                assert user.marked().startswith(f"▸{address[:8]}")
                await user.press("enter")
                assert isinstance(user.screen, DetailScreen)
                await user.press("h")
        assert user.reviews.queue()[0].status == "pending"
        assert user.reviews.cal("RECALL tools COUNT").count == 4


@pytest.mark.parametrize("rights", [reader(), Rights.of(("read", "review"))])
async def test_without_the_right_a_write_is_refused_and_says_which(rights: Rights) -> None:
    """The flag or the scopes; reads go on, and saved queries are looked at as bodies."""
    async with query(rights=rights) as user:
        await ask(user, ADD)
        told = " ".join(user.text.split())
        assert "class evolve. Only reads run here" in told
        assert "It needs the right `write`" in told
        await ask(user, FACTS)
        assert user.marked()
        assert "D save" not in user.hints
        await user.press("D")
        assert "needs the right `write`" in user.flash
        await user.press("]", "E")
        assert user.rows[1] == "CAL> RECALL facts WHERE subject = $who LIMIT $n"


async def test_an_empty_memory_says_what_to_do() -> None:
    """Before a statement, after one that found nothing, and without anything typed."""
    async with query(on=bare()) as user:
        await user.press("]", "]")
        assert "Nothing was asked yet." in user.text
        assert f"deja cal --db {FILE}" in user.text
        await user.press("[")
        assert " Nothing was typed yet. i types a statement." in user.rows
        await ask(user, "RECALL facts")
        assert f"deja import claude-code PATH --db {FILE}" in user.text


# --- failing, waiting, changing ---------------------------------------------------------------------


async def test_a_memory_that_cannot_be_read_says_so_and_r_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Code, sentence, next step; the screen stays."""
    memory: Any = opened()
    real = memory.memory.cal

    def locked(*args: Any, **more: Any) -> Any:
        raise DejaError("STO-E004", "the file is locked by another writer", "try again in a moment")

    monkeypatch.setattr(memory.memory, "cal", locked)
    async with query() as user:
        assert user.flash.startswith("STO-E004")
        monkeypatch.setattr(memory.memory, "cal", real)
        await user.press("r")
        assert user.marked().startswith("▸own likes")


async def test_a_statement_that_reads_long_is_told_and_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Esc ends it; what is typed meanwhile is text; a later statement replaces an earlier one."""
    memory: Any = opened()
    real, begun = memory.memory.cal, Event()

    def slowly(text: str, *args: Any, stop: Any = None, **more: Any) -> Any:
        if "goals" not in text:
            return real(text, *args, stop=stop, **more)
        begun.set()
        while not stop():
            begun.wait(0.001)
        raise CalError("CAL-E072", "the statement was stopped before its end")

    monkeypatch.setattr(memory.memory, "cal", slowly)
    async with query() as user:
        await user.press("i")
        await user.paste("RECALL goals")
        user.screen.key(_key("enter"))
        await user.pilot.pause(0)
        assert begun.wait(5)
        user.screen.tell_running(user.screen.stop)
        assert user.flash == "reading … Esc stops it"
        user.screen.key(_key("escape"))
        await user.settle()
        assert user.flash == "stopped: nothing more is read"
        user.screen.key(_key("enter"))
        await user.pilot.pause(0)
        user.screen.run(FACTS)
        await user.settle()
        assert "2 rows" in user.rows[2]
        assert "CAL-E072" not in user.text


def _key(name: str) -> Any:
    from tests.screens.user import key_event

    return key_event(name)


async def test_another_writer_is_seen_where_reading_was_quick() -> None:
    """The rows follow the file; what took long says that it is old; a write is not run again."""
    async with query(on=fresh()) as user:
        await ask(user, FACTS)
        user.reviews.memory.add_fact("acme", "likes", "coffee")
        user.screen.reload()
        await user.settle()
        assert "3 rows" in user.rows[2]
        user.screen.came = replace(user.screen.came, took=2.0)
        user.screen.reload()
        await user.settle()
        assert "the file changed since: r runs the statement again" in user.flash


async def test_what_was_typed_is_shared_with_the_shell_and_kept_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file of this person; a console that may only read leaves it alone; a folder that cannot be used is told."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    async with query(remembers=True) as user:
        await ask(user, FACTS)
    path = next((tmp_path / "state").rglob("cal-history"))
    assert f"+{FACTS}\n" in path.read_text()
    async with query(remembers=True) as user:
        await user.press("i", "up")
        assert user.rows[1] == f"CAL> {FACTS}"
    async with query() as user:
        await user.press("i", "up")
        assert user.rows[1] == "CAL>"
        await ask(user, "RECALL goals")
    assert "goals" not in path.read_text()
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(blocked))
    async with query(remembers=True) as user:
        assert "what was typed before cannot be read" in user.flash
        await ask(user, FACTS)
        assert user.marked()


async def test_help_tells_what_keys_do_while_a_statement_is_typed() -> None:
    """The keys of the screen, and those of the line."""
    async with query(size=(120, 60)) as user:
        await user.press("?")
        assert " Tab                go on with the word, or list the words that begin so" in user.rows
        assert " e                  how it was carried out (EXPLAIN), and back" in user.rows
        assert "While a reason is typed" not in user.text


async def test_a_small_window_takes_no_letters() -> None:
    """Below 60x20 only resize and q work, also while a statement is typed."""
    async with query() as user:
        await user.press("i", "R")
        await user.resize(52, 18)
        await user.press("E")
        await user.paste("CALL")
        await user.resize(80, 24)
        assert user.rows[1] == "CAL> R"
        await user.resize(120, 40)
        assert user.rows[1] == "CAL> R"


async def test_q_ends_the_console_and_places_are_left_by_their_numbers() -> None:
    """Like every place."""
    async with query() as user:
        await user.press("3")
        assert isinstance(user.screen, QueueScreen)
        await user.press("8", "q")
        assert user.app.return_code == 0


# --- hostile text -----------------------------------------------------------------------------------


async def test_hostile_results_names_and_bodies_stay_text() -> None:
    """Rows, columns, texts, previews, plans, fields, saved queries, refusals."""
    async with query(on=opened_badly()) as user:
        sane(user)
        assert user.marked().startswith("▸own «\\x1b[2J[@click=app.quit]x…»")
        await user.press("enter")
        assert user.flash == "its name cannot stand in a statement"
        await user.press("j", "enter")
        sane(user)
        await user.press("E")
        sane(user)
        for text in (
            "RECALL facts",
            "RECALL facts SELECT subject, object",
            "RECALL facts FORMAT text",
            "ASSEMBLE FROM a: (RECALL facts), b: (RECALL events)",
            "RECALL tools",
            "DESCRIBE QUERIES",
            f'RECALL facts WHERE object = "{BAD.replace(chr(27), "")}" AND x = 1',
        ):
            await ask(user, text)
            sane(user)
            await user.press("escape", "e")
            sane(user)
            await user.press("h", "enter")
            sane(user)
            await user.press("h", "3", "8")
        assert user.app.return_code is None


@pytest.mark.parametrize("name,size", in_turn([(60, 20), (80, 24), (120, 40)]))
async def test_hostile_text_in_the_editor_stays_text(name: str, size: tuple[int, int]) -> None:
    """Typed, run, refused, remembered."""
    async with query(size=size) as user:
        await user.press("i")
        await user.paste(HOSTILE[name])
        sane(user)
        await user.press("enter")
        sane(user)
        await user.press("escape", "[")
        sane(user)
