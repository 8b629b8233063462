# SPDX-License-Identifier: Apache-2.0
"""Tokens and trees: errors point at their place, arbitrary text costs bounded time, printing and parsing agree."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deja_tui.cal import CalError, ast, parse, printer
from deja_tui.cal.lexer import tokens
from deja_tui.cal.parser import parse_script
from deja_tui.cal.words import KEYWORDS, MAX_DEPTH
from deja_tui.errors import CODES
from tests.cal import trees

H = "a" * 64


def refused(text: str) -> CalError:
    with pytest.raises(CalError) as caught:
        parse(text)
    return caught.value


def outcome(text: str) -> CalError | ast.Program:
    """What becomes of a text: any other exception fails the test."""
    try:
        return parse(text)
    except CalError as error:
        return error


# --- places -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "caret"),
    [
        ("RECALL facts WHERE subject = 'a'", "CAL-E002", 1, 30, "^"),
        ("RECALL facts\n  WHERE subject = alpha", "CAL-E002", 2, 19, "^^^^^"),
        ("RECALL beliefs", "CAL-E003", 1, 8, "^^^^^^^"),
        ('RECALL facts WHERE subject = "a', "CAL-E005", 1, 30, "^"),
        ("RECALL facts LIMIT 1.5", "CAL-E006", 1, 20, "^^^"),
        ("EXISTS sha256:abcdef01", "CAL-E015", 1, 8, "^" * 15),
        ("RECALL facts WHERE señal = 1 AND = 2", "CAL-E002", 1, 22, "^"),
        ("RECALL facts;\nRECALL events", "CAL-E002", 2, 1, "^^^^^^"),
    ],
)
def test_an_error_names_line_column_and_shows_a_caret(
    text: str, code: str, line: int, column: int, caret: str
) -> None:
    """Whoever reads it sees where, without counting (PARSE-3)."""
    error = refused(text)
    assert error.code == code
    assert error.place is not None
    assert (error.place.line, error.place.column) == (line, column)
    assert error.place.caret.strip() == caret
    blanks = len(error.place.caret) - len(error.place.caret.lstrip())
    assert blanks == column - 1
    assert error.lines()[1:3] == ["  " + error.place.shown, "  " + error.place.caret]


def test_an_error_says_what_could_stand_there() -> None:
    """The next step is a list of words, not a guess."""
    error = refused("RECALL facts WHERE subject ~")
    assert error.code == "CAL-E002"
    error = refused("RECALL facts WHERE subject LIKE")
    assert "CONTAINS" in error.expected
    assert error.next_step.startswith("expected =, !=")
    assert "a type such as facts" in refused("RECALL").expected


def test_a_long_line_is_cut_around_the_place_and_hostile_text_is_shown_as_escapes() -> None:
    """An error line is safe for a terminal and fits one."""
    error = refused('RECALL facts WHERE subject = "' + "x" * 500 + '\x1b[31m" AND bogus ~ 1')
    assert error.place is not None
    assert len(error.place.shown) < 220
    assert "\x1b" not in "".join(error.lines())


@pytest.mark.parametrize("code", [code for code in CODES if code.startswith("CAL-")])
def test_every_code_of_the_language_is_described(code: str) -> None:
    """A code has one sentence in the table of errors."""
    assert CODES[code]


# --- limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "nest",
    [
        lambda depth: f'RECALL facts WHERE {"(" * depth}subject = "a"{")" * depth}',
        lambda depth: "BATCH { " * depth + "RECALL facts" + " }" * depth,
        lambda depth: "EXPLAIN " * depth + "RECALL facts",
        lambda depth: f'ADD fact SET tags = {"[" * depth}"a"{"]" * depth} REASON "r"',
        lambda depth: "RECALL facts CONTRADICTIONS OF (" * depth + "RECALL facts" + ")" * depth,
        lambda depth: (
            "RECALL facts WHERE subject IN (" * depth
            + "RECALL facts SUBJECTS"
            + ") SUBJECTS" * (depth - 1)
            + ")"
        ),
    ],
)
def test_everything_that_nests_counts_against_one_depth(nest) -> None:  # type: ignore[no-untyped-def]
    """Eight levels pass, nine are refused, nine thousand cost nothing (PARSE-2)."""
    parse(nest(MAX_DEPTH))
    for depth in (MAX_DEPTH + 1, 2_000):
        assert refused(nest(depth)).code in ("CAL-E007", "CAL-E001")


def test_the_longest_text_is_taken_and_one_more_byte_is_not() -> None:
    """65,536 bytes of UTF-8, not characters."""
    head, tail = 'RECALL facts WHERE subject = "', '"'
    room = 65_536 - len(head) - len(tail)
    parse(head + "x" * room + tail)
    assert refused(head + "x" * (room + 1) + tail).code == "CAL-E001"
    assert refused(head + "é" * (room // 2 + 1) + tail).code == "CAL-E001"


def test_order_of_checks_is_length_then_empty_then_reversal_then_tokens() -> None:
    """LEX-1: the same text is always refused for the same reason."""
    assert refused("\u202e" * 70_000).code == "CAL-E001"
    assert refused("  -- \u202e only a comment").code == "CAL-E014"
    assert refused("RECALL \u202e ?").code == "CAL-E070"
    assert refused("RECALL ? 'x").code == "CAL-E002"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\"b\\c\nd\te\rf"', 'a"b\\c\nd\te\rf'),
        (r'"\x\u0041\/"', r"\x\u0041\/"),
        ('"line\nbreak"', "line\nbreak"),
        ('"-- no comment"', "-- no comment"),
    ],
)
def test_strings_know_five_escapes_and_keep_every_other_pair(text: str, value: str) -> None:
    """What is written is what is meant."""
    query = parse(f"RECALL facts WHERE subject = {text}").query.statement
    assert isinstance(query, ast.Recall)
    assert isinstance(query.where, ast.Compare)
    assert query.where.value == ast.Constant(value)


def test_a_statement_that_could_destroy_in_bulk_is_no_part_of_the_language() -> None:
    """The refused words are refused as statement, field, label and name, not inside strings."""
    for text in (
        "DELETE facts",
        'RECALL facts WHERE key = "x"',
        "BATCH { index: RECALL facts }",
        "ASSEMBLE token FROM facts",
    ):
        assert refused(text).code == "CAL-E002"
    parse('RECALL facts WHERE object = "DELETE everything"')


def test_a_script_is_a_list_of_statements_with_places_of_the_whole() -> None:
    """The third line is the third line."""
    parse_script('DOCUMENT "/memories/a" AS "x"; ANALYZER "a" SET b = 1;')
    programs = parse_script(
        'RECALL facts;\n-- note\nADD fact SET object = "x" REASON "r";;\nLET $x = RECALL facts; RECALL facts WHERE hash IN $x'
    )
    assert len(programs) == 3
    with pytest.raises(CalError) as caught:
        parse_script("RECALL facts;\nRECALL events;\nRECALL nothings")
    assert caught.value.place is not None
    assert caught.value.place.line == 3


# --- fuzzing ----------------------------------------------------------------------------------------

WORDS = sorted(KEYWORDS)
SOUP = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.sampled_from(
            ["(", ")", "[", "]", "{", "}", ",", ";", ":", "|", "=", "!=", "<", ">", "*", "/", "{{", "}}"]
        ),
        st.sampled_from(
            [
                '"a"',
                '"',
                "$p",
                "1",
                "-1",
                "1.5",
                "1e999",
                "sha256:" + H,
                "sha256:abc",
                "subject",
                "facts",
                "--",
                "\n",
            ]
        ),
        st.text(max_size=4),
    ),
    max_size=60,
).map(" ".join)


@settings(max_examples=300)
@given(st.one_of(SOUP, st.text(max_size=200)))
def test_any_text_parses_or_is_refused_with_a_code_and_a_place(text: str) -> None:
    """Nothing but CalError leaves the parser, and its lines are safe."""
    found = outcome(text)
    if isinstance(found, CalError):
        assert found.code in CODES
        assert all(line.isprintable() for line in found.lines())
    else:
        assert parse(printer.program(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        '"' * 60_000,
        "\\" * 60_000,
        '"\\' * 30_000,
        "(" * 60_000,
        "-" * 60_000,
        "{" * 60_000,
        "HEADER {" * 8_000,
        "DEFINE TEMPLATE a HEADER {" + "{{" * 30_000,
        "DEFINE TEMPLATE a HEADER {" + "}}" * 30_000,
        "RECALL facts WHERE " + "NOT " * 15_000,
        "RECALL facts WHERE " + 'a = "b" OR ' * 5_000,
        "RECALL facts WHERE a IN (" + '"b",' * 15_000,
        "1" * 60_000,
        "$" + "a" * 60_000,
        "a." * 30_000,
        "sha256:" + "a" * 60_000,
        "RECALL facts | " * 4_000,
        "\u0301" * 30_000,
    ],
)
def test_the_longest_nonsense_costs_bounded_time(text: str) -> None:
    """LEX-3, PARSE-1: no text of the allowed length is expensive to refuse."""
    started = time.process_time()
    with pytest.raises(CalError):
        parse(text)
    assert time.process_time() - started < 1.0


@given(st.data())
def test_printing_a_tree_and_parsing_it_gives_the_tree(data: st.DataObject) -> None:
    """The parser reads what the tree says, for every shape of condition."""
    type_ = data.draw(st.sampled_from(["fact", "event", "tool"]))
    limit = data.draw(st.sampled_from([None, ast.Constant(7)]))
    recall = ast.Recall(type_, where=data.draw(trees.conditions(type_)), limit=limit)
    normal = parse(printer.recall(recall)).query.statement
    assert parse(printer.statement(normal)).query.statement == normal


EVERY_STATEMENT = [
    "RECALL MY facts IN \"ns\" ABOUT \"x\" SINCE \"2026\" UNTIL 5 WHERE a = 1 AND (b != \"c\" OR NOT d IS NULL) RECENT 3",
    'RECALL events THREAD "s1" LIMIT 5',
    'RECALL facts LIKE "x" BETWEEN 1 AND "2026-01" LIMIT $n CONTRADICTIONS OF (RECALL facts)',
    "RECALL * WHERE subject IN (RECALL facts WHERE relation IS KNOWLEDGE SUBJECTS) AND tags INCLUDE [\"a\", \"b\"]",
    'RECALL facts WHERE time BETWEEN "2026-01-01" AND "2026-02-01" AND object STARTS WITH "x" AND hash = sha256:' + H,
    "(RECALL facts) UNION (RECALL events) EXCEPT RECALL tools COUNT",
    'ASSEMBLE "n" FOR "i" FROM a: (RECALL facts WITH superseded), b: ($x) BUDGET 10 tokens PRIORITY a > b FORMAT sml WITH dedup(object)',
    "ASSEMBLE n FROM a: (RECALL facts), b: (RECALL events) PRIORITY a: 0.25, b: 0.5",
    "ASSEMBLE FROM facts WHERE subject = \"a\" RECENT 2 BUDGET 5 grains",
    f"ASSEMBLE FROM sha256:{H}, $x FORMAT [text, markdown AS md]",
    f"EXISTS sha256:{H}",
    'EXISTS facts ABOUT "x" WHERE subject = "a"',
    f"HISTORY OF sha256:{H} AS OF \"2026-01-01\"",
    'HISTORY WHERE subject = "a" AND relation = "b"',
    f"HISTORY sha256:{H} DIFF sha256:{H}",
    "EXPLAIN RECALL facts",
    "DESCRIBE facts",
    'DESCRIBE QUERY "x"',
    "DESCRIBE FIELDS events",
    "COALESCE(RECALL facts, EXISTS events, RECALL tools) LIMIT 1",
    "COALESCE { RECALL facts } OR { RECALL events } ELSE { RECALL tools }",
    'RUN "q" ($a = 1, $b = ["x", true])',
    'ENTITY "s" RELATION "r" AT 5 AXIS knowledge',
    "SHOW FORKS",
    f"DERIVED FROM sha256:{H}",
    'REPORT SUBJECT "s"',
    'ADD fact SET subject = "a" SET tags = ["x"] SET confidence = 0.5 WITH auto_relate REASON "r"',
    f'SUPERSEDE sha256:{H} SET object = "b" BECAUSE "r"',
    f'SUPERSEDE sha256:{H} BY sha256:{H} REASON "r"',
    'MERGE "s" RELATION "r" TO "o" CONFIDENCE 0.5 BECAUSE "r"',
    'REMEMBER "x" WITH session("s"), role("user")',
    f'FORGET sha256:{H} REASON "r"',
    'FORGET SUBJECT "s" REASON "r"',
    'DEFINE QUERY "q" ($a = 1, $b) DESCRIPTION "d" AS { RECALL facts WHERE subject = $b LIMIT $a }',
    'DEFINE TEMPLATE t DESCRIPTION "d" EXTENDS compact FOR fact, event AS "{{subject}}"',
    "DEFINE TEMPLATE t HEADER { top } ELEMENT {\n{{grain.content}}\n}",
    'DROP QUERY "q"',
    f'REVIEW sha256:{H} APPROVE BECAUSE "r"',
    f'WITHDRAW sha256:{H} BECAUSE "r"',
    f'ROLLBACK sha256:{H} BECAUSE "r"',
    f'APPLY sha256:{H} DRY RUN',
    'RUN LOOP FULL WITH min_new(5), if_stale("6h")',
    "BATCH { a: RECALL facts LIMIT 1, EXISTS events ; b: DESCRIBE SCHEMA }",
    'LET $x = RECALL facts SUBJECTS; RECALL events WHERE subject IN ($x, "y") | ORDER BY created_at DESC | SELECT content, role',
    'RECALL facts PROJECT object AS value GROUP BY object OFFSET 2 FIRST WITH superseded, dedup(object) WHERE object = "x" FORMAT preset "readable" WITH VARS { "a": "b" }',
    "RECALL facts FORMAT TEMPLATE { ELEMENT {\nx\n} }",
    'RECALL facts FORMAT TEMPLATE "{{subject}}"',
]  # fmt: skip


@pytest.mark.parametrize("text", EVERY_STATEMENT)
def test_every_statement_is_printed_as_it_is_parsed(text: str) -> None:
    """The grammar has no corner that the printer does not know."""
    program = parse(text)
    assert parse(printer.program(program)) == program


@pytest.mark.parametrize("text", EVERY_STATEMENT)
def test_spans_hold_the_text_they_name(text: str) -> None:
    """Every node lies inside its text, and the whole query covers all but bindings."""
    program = parse(text)
    for node in ast.walk(program):
        span = getattr(node, "span", None)
        if span is not None and span != (0, 0):
            assert 0 <= span[0] <= span[1] <= len(program.text)
        if isinstance(node, ast.Field) and span != (0, 0):
            assert program.text[span[0] : span[1]] == node.name
        if isinstance(node, ast.Param):
            assert program.text[span[0] : span[1]] == f"${node.name}"


@pytest.mark.parametrize("text", EVERY_STATEMENT)
def test_any_token_left_out_is_survived(text: str) -> None:
    """A statement with one token missing is a statement or a coded refusal, never another exception."""
    _, found = tokens(text)
    for gone in found[:-1]:
        found_error = outcome(text[: gone.start] + " " + text[gone.end :])
        assert isinstance(found_error, ast.Program) or found_error.code in CODES
