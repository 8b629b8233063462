# SPDX-License-Identifier: Apache-2.0
"""Text rules: whatever comes in, what goes out cannot act, cannot hide, and takes the cells it says."""

from __future__ import annotations

import contextlib
import json
import time
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deja_tui import text
from deja_tui.text import (
    CLEAN_LIMIT,
    NO_MESSAGE,
    REASON_MAX,
    age,
    cells,
    clean,
    clean_lines,
    clip,
    compact_json,
    door,
    error_signature,
    fence,
    fold,
    nfc,
    note_words,
    pad,
    reason,
    strip_terminal_codes,
    utc,
    wrap,
)
from tests.support import shared

NEVER = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))

# characters that meet in attacks and in accidents, mixed with everything else there is
CURIOUS = (
    "\x00\x07\x1b\x9b\x7f\x85\xad\r\n\t \u00a0\u0301\u0338\u0345\u034f\u0903\u1160\u115f\u200b\u200d\u202e\u2028\u2029"
    "\u2066\u2800\u3000\u3164\ufe0f\ufeff\ufffd\ud83d\udc00日ＡéÅKſßİΣς👩🏽🇩\U000e0041\U000e0101\U0001d159"
    "«»…[]{}<>()/\\#'\"=:;.,-_+0419aAfFxX"
)
ANY_TEXT = st.text(alphabet=st.one_of(st.sampled_from(CURIOUS), st.characters()), max_size=48)
STORED_TEXT = ANY_TEXT.map(door)

HOSTILE: dict[str, tuple[str, str]] = {
    "markup action": ("[@click=app.quit]quit[/]", "[@click=app.quit]quit[/]"),
    "colour": ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
    "title": ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
    "c1": ("\x9b2J", "\\x9b2J"),
    "delete": ("a\x7fb", "a\\x7fb"),
    "nul": ("a\x00b", "a\\x00b"),
    "lines": ("one\r\ntwo\u2028three\x85four", "one\\r\\ntwo\\u2028three\\x85four"),
    "tab": ("a\tb", "a\\tb"),
    "bidi": ("user\u202etxt.exe\u2066x\u2069", "user\\u202etxt.exe\\u2066x\\u2069"),
    "zero width": ("pay\u200bpal\ufeff", "pay\\u200bpal\\ufeff"),
    "soft hyphen": ("co\u00adop", "co\\xadop"),
    "joined emoji": ("👩\u200d👩", "👩\\u200d👩"),
    "variation": ("a\ufe0fb\U000e0101", "a\\ufe0fb\\U000e0101"),
    "tags": ("\U000e0041\U000e0042", "\\U000e0041\\U000e0042"),
    "surrogate": ("half \ud83d", "half \\ud83d"),
    "private use": ("\ue000", "\\ue000"),
    "unassigned": ("\U000effff", "\\U000effff"),
    "filler": ("x\u3164\u115f\u2800\uffa0", "x\\u3164\\u115f\\u2800\\uffa0"),
    "blank note": ("a\U0001d159b", "a\\U0001d159b"),
    "odd blank": ("a\u00a0b\u2003c", "a\\xa0b\\u2003c"),
    "wide": ("日本語", "日本語"),
    "wide blank": ("日\u3000本", "日\u3000本"),
    "one mark": ("e\u0301", "e\u0301"),
    "mark first": ("\u0301e", "\\u0301e"),
    "tower of marks": ("e" + "\u0301" * 6, "e" + "\u0301" * 4 + "\\u0301" * 2),
    "tower of vowel signs": ("क" + "\u093e" * 6, "क" + "\u093e" * 4 + "\\u093e" * 2),
    "tower of medial letters": ("가" + "\u1161" * 6, "가" + "\u1161" * 4 + "\\u1161" * 2),
    "backslash": ("C:\\new", "C:\\new"),
}


# --- clean, fence -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE)
def test_clean_shows_what_would_act_or_hide(name: str) -> None:
    """TEXT-2: each kind of hostile text becomes exactly this visible text."""
    given_, shown = HOSTILE[name]
    assert clean(given_) == shown


def test_clean_leaves_no_code_point_that_acts_hides_or_breaks_the_line() -> None:
    """TEXT-2, over every code point there is: no control, format, surrogate, private or separator survives."""
    points = [*range(0x40000), *range(0xDFF00, 0xF0100), *range(0x10FF00, 0x110000)]  # between them: nothing
    survivors: set[str] = set()
    for begin in range(0, len(points), 2_000):
        survivors.update(clean("a" + "a".join(map(chr, points[begin : begin + 2_000])), limit=4_001))
    assert not [char for char in survivors if unicodedata.category(char) in NEVER]


@given(ANY_TEXT, st.integers(-2, 24))
def test_clean_is_one_safe_line_of_at_most_its_width(given_: str, width: int) -> None:
    """TEXT-2: whatever the text and the width, the result is safe, on one line, and never wider."""
    shown = clean(given_, width)
    assert not any(unicodedata.category(char) in NEVER for char in shown)
    assert len(shown.splitlines()) <= 1
    assert cells(shown) <= max(0, width)


@given(ANY_TEXT)
def test_cleaning_twice_is_cleaning_once(given_: str) -> None:
    """A surface that cleans what another has cleaned changes nothing."""
    assert clean(clean(given_)) == clean(given_)


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


def test_the_hostile_files_are_harmless_however_they_are_shown() -> None:
    """Every line of every hostile file, as it is and as the texts its JSON holds, through each way of showing."""
    texts: set[str] = set()
    for path in shared("hostile").rglob("*.*"):
        for line in path.read_bytes().decode("utf-8", "surrogateescape").split("\n"):
            texts.add(line)
            with contextlib.suppress(ValueError):
                texts.update(texts_in(json.loads(line)))
    assert len(texts) > 200
    assert any("\x1b" in one for one in texts)
    for one in texts:
        for shown in (
            clean(one),
            clean(one, 40),
            fence(one, 40),
            *clean_lines(one),
            clean(error_signature(one)),
        ):
            assert not any(unicodedata.category(char) in NEVER for char in shown)
        assert cells(pad(clean(one), 40)) == 40


def test_clean_says_how_much_it_leaves_out() -> None:
    """Length is bounded before layout, and the cut is said."""
    assert clean("x" * (CLEAN_LIMIT + 7)) == "x" * CLEAN_LIMIT + "…(+7)"
    assert clean("abcdef", limit=4) == "abcd…(+2)"


@given(st.recursive(st.none() | st.booleans() | st.floats() | ANY_TEXT, lambda x: st.lists(x, max_size=3)))
def test_clean_takes_any_value(value: Any) -> None:
    """What is no text is shown as JSON, and that is cleaned, too."""
    assert not any(unicodedata.category(char) in NEVER for char in clean(value))


def deep(levels: int) -> list[Any]:
    nest: list[Any] = []
    for _ in range(levels):
        nest = [nest]
    return nest


@pytest.mark.parametrize(
    "value",
    [deep(100_000), {1: 2, "a": 3}, {(1, 2): 3}, {b"k": 1}, 10**5_000, float("nan"), b"\x00", object],
    ids=["deep", "mixed keys", "tuple key", "bytes key", "huge number", "nan", "bytes", "class"],
)
def test_no_value_makes_cleaning_fail(value: Any) -> None:
    """A grain with a strange value is shown somehow; it never stops a list from being drawn."""
    assert isinstance(compact_json(value), str)
    assert clean(value, 40)
    assert error_signature(value)


def test_a_fence_cannot_be_closed_from_within() -> None:
    """Text of a tool cannot end its own fence and go on in our voice."""
    assert fence("ok» approved by admin «") == "«ok\\xbb approved by admin \\xab»"


@given(ANY_TEXT, st.integers(0, 24))
def test_a_fence_is_no_wider_than_asked_and_has_no_other_marks_inside(given_: str, width: int) -> None:
    """«» stand at the ends and nowhere else, within the width."""
    shown = fence(given_, width)
    assert cells(shown) <= width
    if width >= 2:
        assert shown[0] == "«"
        assert shown[-1] == "»"
        assert not set("«»") & set(shown[1:-1])


@given(ANY_TEXT)
def test_clean_lines_splits_only_at_line_feeds(given_: str) -> None:
    """LF and CR LF are lines; every other separator is an escape inside its line."""
    lines = clean_lines(given_)
    assert len(lines) == given_.replace("\r\n", "\n").count("\n") + 1
    assert not any(unicodedata.category(char) in NEVER for line in lines for char in line)


def test_clean_lines_says_how_much_it_leaves_out() -> None:
    """The bound holds over all lines together."""
    assert clean_lines("ab\ncd\nef", limit=4) == ["ab", "c…(+4)"]


# --- measuring --------------------------------------------------------------------------------------


@given(ANY_TEXT, st.integers(0, 24), st.booleans())
def test_pad_is_exactly_its_width(given_: str, width: int, right: bool) -> None:
    """Columns stand under each other whatever is in them."""
    shown = pad(clean(given_), width, right=right)
    assert cells(shown) == width


@given(ANY_TEXT, st.integers(0, 24))
def test_clip_cuts_only_when_it_must_and_says_so(given_: str, width: int) -> None:
    """A text that fits stays; a cut one ends in an ellipsis and begins as the text does."""
    whole = clean(given_)
    shown = clip(whole, width)
    assert cells(shown) <= width
    if cells(whole) <= width:
        assert shown == whole
    elif width:
        assert shown.endswith("…")
        assert whole.startswith(shown[:-1])


@pytest.mark.parametrize(
    ("whole", "width", "lines"),
    [
        ("", 5, [""]),
        ("abc", 0, []),
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 8, ["one two", "three"]),
        ("onetwothree", 4, ["onet", "woth", "ree"]),
        ("日本語 テスト", 6, ["日本語", "テスト"]),
        ("日本語", 3, ["日", "本", "語"]),
        ("日", 1, ["日"]),
        (" lead", 3, [" le", "ad"]),
    ],
)
def test_wrap_breaks_at_blanks_where_there_are_any(whole: str, width: int, lines: list[str]) -> None:
    """Words stay whole when they fit; nothing is wider than asked unless one character is."""
    assert wrap(whole, width) == lines


@given(ANY_TEXT, st.integers(2, 24))
def test_wrap_loses_nothing_but_the_blanks_it_breaks_at(given_: str, width: int) -> None:
    """Every piece fits, and the pieces hold the whole text."""
    whole = clean(given_)
    lines = wrap(whole, width)
    assert all(cells(line) <= width for line in lines)
    rest = whole
    for line in lines:
        if not rest.startswith(line) and rest.startswith(" "):
            rest = rest[1:]
        assert rest.startswith(line)
        rest = rest[len(line) :]
    assert not rest.strip()


@pytest.mark.parametrize(
    ("ms", "told"),
    [
        (0, "0s"), (999, "0s"), (5_000, "5s"), (720_000, "12m"),
        (7_200_000, "2h"), (86_400_000 * 3, "3d"), (-5, "0s"),
    ],
)  # fmt: skip
def test_an_age_is_told_in_its_largest_whole_unit(ms: int, told: str) -> None:
    """A span is read at a glance."""
    assert age(ms) == told


@pytest.mark.parametrize(
    ("ms", "told"),
    [
        (0, "1970-01-01 00:00Z"),
        (1_772_442_000_000, "2026-03-02 09:00Z"),
        (10**30, f"(time {10**30})"),
        (-(10**14), f"(time {-(10**14)})"),
    ],
)
def test_utc_never_fails_on_a_time_outside_the_calendar(ms: int, told: str) -> None:
    """A grain may say any time; a screen still draws."""
    assert utc(ms) == told


# --- door, fold, reason -----------------------------------------------------------------------------


@given(ANY_TEXT)
def test_door_gives_text_that_can_be_hashed_and_is_stable(given_: str) -> None:
    """TEXT-1: well-formed, NFC, without NUL; the door passed twice is the door passed once."""
    kept = door(given_)
    kept.encode("utf-8")
    assert "\x00" not in kept
    assert unicodedata.is_normalized("NFC", kept)
    assert door(kept) == kept


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Green Tea", " green TEA\t"),
        ("cafe\u0301", "CAF\u00c9"),
        ("straße", "STRASSE"),
        ("\u212a", "k"),
        ("ſ", "s"),
        ("Σίσυφος", "σίσυφοσ"),
        ("\u1e9e", "ss"),
    ],
)
def test_fold_brings_spellings_of_one_text_together(one: str, other: str) -> None:
    """TEXT-3, D11: case in full, composition and outer white space do not tell texts apart."""
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("a b", "a  b"), ("a\u200bb", "ab"), ("resume", "résumé"), ("1", "\u0661"), ("A", "\u0391")],
)
def test_fold_keeps_apart_what_only_looks_alike(one: str, other: str) -> None:
    """TEXT-3: inner white space, hidden characters, accents, digits and scripts count."""
    assert fold(one) != fold(other)


@given(ANY_TEXT)
def test_folding_twice_is_folding_once(given_: str) -> None:
    """Otherwise an identity would depend on how often its target was folded."""
    assert fold(fold(given_)) == fold(given_)


@given(STORED_TEXT)
def test_fold_does_not_depend_on_composition(given_: str) -> None:
    """D11: NFC and NFD of one text are one text."""
    assert fold(unicodedata.normalize("NFD", given_)) == fold(given_)


@pytest.mark.parametrize(
    "given_",
    [None, 7, b"why", "", " \t\n", "\u00a0\u2003", "\u200b\u200d\ufeff", "\u202e", "\x00", "\ud83d", "\ufe0f", "\u0301",
     "\u3164", "\u2800", "\U000e0041", "\U0001d159", "x" * (REASON_MAX + 1), "\U0001d160" * REASON_MAX],
)  # fmt: skip
def test_what_says_nothing_or_too_much_is_no_reason(given_: object) -> None:
    """D16: blank in any way Unicode knows, no text, or over 500 code points after NFC and trim."""
    assert reason(given_) is None


@pytest.mark.parametrize(
    ("given_", "kept"),
    [
        (" because \n", "because"),
        ("x" * REASON_MAX, "x" * REASON_MAX),
        (" " * 600 + "x" * REASON_MAX + " " * 600, "x" * REASON_MAX),
        ("e\u0301" * REASON_MAX, "\u00e9" * REASON_MAX),
        ("ok\x00", "ok\ufffd"),
        (".", "."),
        ("日", "日"),
    ],
)
def test_a_reason_is_measured_after_nfc_and_trim(given_: str, kept: str) -> None:
    """D16: 500 composed characters are 500, whatever they were typed as."""
    assert reason(given_) == kept


# --- signing errors ---------------------------------------------------------------------------------

SIGNED: list[tuple[object, str]] = [
    ("Rate limited after 4295 ms", "rate limited after # ms"),
    (" Rate limited\nafter 12345 ms ", "rate limited after # ms"),
    ("open /etc/passwd failed", "open <path> failed"),
    ("open C:\\temp\\y failed", "open <path> failed"),
    ("open './a.txt'", "open <path>"),
    ("see user/not_found", "see user/not_found"),
    ("HTTP 502 from 10.0.0.1", "http 502 from #.#.#.#"),
    ("http 503 from 10.0.0.77", "http 503 from #.#.#.#"),
    ("status code: 404", "status code: 404"),
    ("429 Too Many Requests", "429 too many requests"),
    ("server said 503 Service Unavailable", "server said 503 service unavailable"),
    ("took 503 seconds", "took # seconds"),
    ("line 404", "line #"),
    ("code 4040", "code #"),
    ("got 500.5 MB", "got #.# mb"),
    ("request 7f3a2c1e-9b1d-4c2e-8a11-0a1b2c3d4e5f failed: bad gateway", "request <id> failed: bad gateway"),
    ("object 0x7f00deadbeef at 0xff", "object <id> at <id>"),
    ("commit deadbeef01 missing", "commit <id> missing"),
    ("defaced facade", "defaced facade"),
    ("token ZXhhbXBsZSB0b2tlbiBmb3IgdGVzdHMgMTIz== refused", "token <id> refused"),
    ("req_011CSHoEeqs5C35K2UUqR7Fy failed", "<id> failed"),
    ("no model gpt-4-turbo-2024-04-09-preview", "no model gpt-#-turbo-#-#-#-preview"),
    ("no module named a_rather_long_package_name_v2", "no module named a_rather_long_package_name_v#"),
    ("GET https://example.org/a?b=1 failed", "get <url> failed"),
    ("\x1b[31mboom\x1b[0m", "boom"),
    ("\x1b]0;t\x07boom\x9b0m", "boom"),
    ("bo\u200bom\x07", "boom"),
    ("e\u200d\u0301 failed", "é failed"),
    ("7f3a2c1e-9b1d-4c2e-8a11-0a1b2c3d4e5f\u0338 failed", "<id≯ failed"),
    ("٣ of 7 failed", "# of # failed"),
    ('{"error":"rate_limited"}', "rate_limited"),
    ('{"error":"user/not_found"}', "user/not_found"),
    ('{"error":{"type":"overloaded_error","message":"Overloaded"},"status":529}', "status 529 overloaded_error overloaded"),
    ('[{"message":"first"},{"message":"second"}]', "first"),
    ('{"ok":false}', '{"ok":false}'),
    ('{"error": broken', '{"error": broken'),
    ({"error": "as a map"}, "as a map"),
    ("Traceback (most recent call last):\n  File \"app.py\", line 10, in <module>\nKeyError: 'user'\n", "keyerror: 'user'"),
    ("", NO_MESSAGE),
    ("  \n\t ", NO_MESSAGE),
    (None, NO_MESSAGE),
    ("\x1b[0m", NO_MESSAGE),
    ('{"error":"  "}', NO_MESSAGE),
    ("x" * 90 + " tail", "x" * 80),
]  # fmt: skip


@pytest.mark.parametrize(("told", "signature"), SIGNED, ids=[str(n) for n in range(len(SIGNED))])
def test_signatures(told: object, signature: str) -> None:
    """TEXT-4, loop-engine §5: ids, numbers, paths and colours go; HTTP status codes and words stay."""
    assert error_signature(told) == signature


@given(ANY_TEXT)
def test_a_signature_is_short_stored_text(given_: str) -> None:
    """It is kept in lessons: NFC, one line, lower case, at most 80 characters, never empty."""
    signature = error_signature(given_)
    assert signature
    assert len(signature) <= 80
    assert door(signature) == signature
    assert len(signature.splitlines()) == 1
    assert signature == signature.strip()


@given(
    st.lists(st.sampled_from(["rate", "limit", "404", "status 503", "7", "/a/b", "0xff", "http://x/y", "Ab"]))
)
def test_signing_a_signature_changes_nothing(words: list[str]) -> None:
    """What a lesson holds is a fixed point, as long as the cut does not go through a word."""
    signature = error_signature(" ".join(words[:6]))
    assert error_signature(signature) == signature


@given(STORED_TEXT)
def test_case_and_outer_blanks_do_not_tell_errors_apart(given_: str) -> None:
    """Two spellings of one error are one error."""
    assert error_signature(f"  {given_}\n") == error_signature(given_)


def test_a_long_traceback_is_signed_by_its_last_line() -> None:
    """The line that says what happened counts, also when it stands far behind what is read of other texts."""
    frames = '  File "x.py", line 3, in f\n' * 2_000
    one = error_signature(f"Traceback (most recent call last):\n{frames}ValueError: bad date")
    assert one == "valueerror: bad date"


def signatures_of(vector: str) -> dict[str, str]:
    ops = json.loads(shared(f"vectors/loop/{vector}.json").read_text())["ops"]
    return {op["as"]: error_signature(op["result"]) for op in ops if op["op"] == "tool_call"}


def test_signature_vectors() -> None:
    """Vector 03, with the superseded pin: a 3-digit HTTP status is kept, so tool v2 fails in three ways."""
    signed = signatures_of("03-error-signatures")
    assert signed["a1"] == signed["a2"] == signed["a3"] == "rate limited after # ms"
    assert signed["b1"] == signed["b2"] == signed["b3"] == "open <path> failed"
    assert signed["c1"] == signed["c2"] == signed["c3"] == "x" * 79
    assert signed["d"] == signed["e"] == NO_MESSAGE
    assert signed["f1"] == signed["f2"] == "no such file"
    assert (signed["g1"], signed["g2"]) == ("timeout", "deadlock")
    assert [signed[name] for name in ("h1", "h2", "h3")] == [
        f"http {status} from #.#.#.#" for status in (502, 503, 500)
    ]


def test_signature_blind_spots_are_seen() -> None:
    """Vector 04, `better`: ids fall together, JSON and tracebacks are told apart, silence has a name."""
    signed = signatures_of("04-signature-blind-spots")
    assert {signed[f"a{n}"] for n in range(5)} == {"request <id> failed: bad gateway"}
    assert signed["b1"] != signed["b2"]
    assert len({signed[f"c{n}"] for n in range(3)}) == 3
    assert signed["d"] == NO_MESSAGE


# --- cost -------------------------------------------------------------------------------------------

PIECES: dict[str, str] = {
    "letters": "a", "words": "word ", "escapes": "\x1b", "open strings": "\x1b]", "open codes": "\x1b[0",
    "dotted words": "a.", "dashed words": "a-", "almost urls": "a:/", "slashes": "/", "dots": "/.", "hex": "ab12",
    "almost uuids": "abcdef12-", "digits": "4", "statuses": "404 ", "status words": "status code ", "brackets": "[",
    "underlines": "_", "hex marks": "0x", "base64": "Ab1+/", "quotes": "'(", "blanks": " ", "lines": "\n",
    "marks": "\u0301", "wide": "日", "surrogates": "\ud83d", "bidi": "\u202e\u200b", "file lines": "  File x\n",
}  # fmt: skip

READERS: dict[str, Callable[[str], object]] = {
    "clean": clean,
    "clean_lines": clean_lines,
    "fence": fence,
    "fold": fold,
    "door": door,
    "reason": reason,
    "strip_terminal_codes": strip_terminal_codes,
    "error_signature": error_signature,
    "nfc": nfc,
    "clip": lambda given_: clip(given_, 80),
    "wrap": lambda given_: wrap(given_, 40),
}


def cost(read: Callable[[str], object], given_: str) -> float:
    """The least of three, in seconds of this thread."""
    spent = []
    for _ in range(3):
        began = time.thread_time()
        read(given_)
        spent.append(time.thread_time() - began)
    return min(spent)


@pytest.mark.parametrize("reader", READERS)
def test_cost_grows_with_the_length_and_not_with_its_square(reader: str) -> None:
    """No text makes a reader slow: eight times the length costs nowhere near 64 times the work."""
    read = READERS[reader]
    for name, piece in PIECES.items():
        long = (piece * 16_384)[:16_384]
        short = cost(read, long[: len(long) // 8])
        if cost(read, long) > 0.004:  # below that the clock is too coarse to divide by
            assert cost(read, long) < 32 * max(short, 0.0002), name


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("reader", ["clean", "fence", "clean_lines", "error_signature"])
def test_a_megabyte_is_read_no_further_than_it_is_shown(reader: str, piece: str) -> None:
    """A tool that prints a megabyte gives a bounded line."""
    shown = READERS[reader]((PIECES[piece] * 1_048_576)[:1_048_576])
    assert len(str(shown)) < 12 * CLEAN_LIMIT


def test_the_version_of_the_signature_is_pinned() -> None:
    """Lessons hold signatures: whoever changes the rules changes this number, and migrates."""
    assert text.SIGNATURE_VERSION == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Deploy, finished... OK ok!", {"deploy", "finished", "ok"}),
        ("we DON\u2019T ship; they don't", {"we", "do", "not", "ship", "they"}),
        ("a_b-c/d 4.11", {"a", "b", "c", "d", "4", "11"}),
        ("用户喜欢", {"用户喜欢"}),
        ("STRASSE cafe\u0301", {"strasse", "café"}),
        ("!!! ???", set()),
        ("", set()),
        ("x " * 10_000, set()),
    ],
)
def test_the_words_of_a_note(text: str, words: set[str]) -> None:
    """TEXT-5: folded, each once, cut at everything but letters and digits; too long a text has none."""
    assert note_words(text) == words
