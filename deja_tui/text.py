# SPDX-License-Identifier: Apache-2.0
"""Text rules every room shares: normalising, comparing, making safe, measuring, signing errors.

Numbered rules, cited by tests:

* TEXT-1  `door` gives well-formed NFC text: a lone surrogate and NUL become U+FFFD. It is applied once, where
  text enters, so the bytes that are hashed are always defined.
* TEXT-2  `clean` returns text in which nothing can act on a terminal or hide from a reader: every control,
  format, bidi, zero-width, unassigned and blank-looking character is a visible escape, one screen line, bounded.
* TEXT-3  `fold` is NFC, full case fold, NFC, trim (D11). Inner white space is kept. Only analyzers compare folded.
* TEXT-4  `error_signature` is a pure function of the text, versioned by `SIGNATURE_VERSION`, because lessons
  and the tool index store its results.
* TEXT-5  `note_words` is a pure function of the text: what a memory keeps to find near-duplicates (D12) follows from it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final


class _Lazy:
    """Stands for a compiled pattern until it is asked; then its methods are those of the pattern."""

    def __init__(self, source: str, flags: int) -> None:
        self._given = source, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._given)
        self.__dict__.update((known, getattr(compiled, known)) for known in _ASKED)
        return getattr(compiled, name)


_ASKED: Final = ("finditer", "findall", "fullmatch", "match", "pattern", "search", "split", "sub")


def lazily(source: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern of ``source``, compiled when it is first asked.

    For patterns that a start may never ask: compiling one costs up to a millisecond, and a hook is a process (D47).
    """
    stands_for: Any = _Lazy(source, flags)
    pattern: re.Pattern[str] = stands_for
    return pattern


SIGNATURE_VERSION: Final = 1
REASON_MAX: Final = 500
CLEAN_LIMIT: Final = 4_000

# --- normalising ------------------------------------------------------------------------------------

_SURROGATE_OR_NUL = lazily("[\x00\ud800-\udfff]")


def nfc(text: str) -> str:
    """NFC of ``text``; ASCII is returned as it is."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def door(text: str) -> str:
    """Well-formed NFC text (TEXT-1): what the store keeps of a string somebody gave."""
    if text.isascii() and "\x00" not in text:
        return text
    return unicodedata.normalize("NFC", _SURROGATE_OR_NUL.sub("\ufffd", text))


def fold(text: str) -> str:
    """The form in which analyzers compare text (TEXT-3)."""
    if text.isascii():
        return text.lower().strip()
    return nfc(nfc(text).casefold()).strip()


def reason(text: object) -> str | None:
    """The reason as it is stored, or None when it is no reason: 1 to 500 code points after NFC and trim (D16)."""
    if not isinstance(text, str):
        return None
    kept = door(text).strip()
    # looked for in what was given: `door` makes a NUL visible, which does not make it a reason
    said = any(unicodedata.category(char)[0] not in "ZM" and not _hidden(char) for char in text)
    return kept if said and len(kept) <= REASON_MAX else None


_WORD = lazily(r"[^\W_]+")
_NEGATED = lazily("n['\u2019]t\\b")
NOTE_CHARS: Final = 16_384


def note_words(text: str) -> frozenset[str]:
    """The words by which two notes are compared (TEXT-5): folded, each once, cut at everything but letters and digits.

    ``don't`` is *do not*, so that a negation is a word of its own. A text of more than `NOTE_CHARS` characters has no
    words: what was cut off could be what tells it apart.
    """
    return frozenset(note_order(text))


def note_order(text: str) -> tuple[str, ...]:
    """The words of `note_words` in the order in which they come first."""
    if len(text) > NOTE_CHARS:
        return ()
    return tuple(dict.fromkeys(_WORD.findall(_NEGATED.sub(" not", fold(text)))))


# --- making safe ------------------------------------------------------------------------------------

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Letters, marks and symbols that draw nothing: fillers, joiners, vowel signs without a glyph, braille blank.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U0001d159")
_ESCAPED_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_MARKS_IN_A_ROW = 4
_SAFE_ASCII = lazily(r"[ -~]*\Z")
_FENCES = str.maketrans({"«": "\\xab", "»": "\\xbb"})


def _escape(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _hidden(char: str) -> bool:
    category = unicodedata.category(char)
    return (
        category in _ESCAPED_CATEGORIES
        or (category == "Zs" and char not in " \u3000")
        or char in _BLANK
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
    )


@lru_cache(maxsize=4096)
def _shown(char: str) -> str:
    return _escape(char) if _hidden(char) else char


@lru_cache(maxsize=4096)
def _joins(char: str) -> bool:
    """Whether terminals draw ``char`` into the cell before it: marks, medial Hangul letters, skin tones."""
    return (
        unicodedata.category(char)[0] == "M"
        or unicodedata.combining(char) > 0
        or "\u1160" <= char <= "\u11ff"
        or "\ud7b0" <= char <= "\ud7fb"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    )


def clean(text: object, width: int | None = None, *, limit: int = CLEAN_LIMIT) -> str:
    """``text`` made safe for a terminal (TEXT-2), on one line, and cut to ``width`` cells when given.

    Args:
        text: anything; a value that is no string is shown as JSON.
        width: the most cells of the result; a cut ends in ``…``. None: not cut by width.
        limit: the most code points looked at; what is left out is said as ``…(+N)``.
    """
    raw = text if isinstance(text, str) else compact_json(text)
    dropped = max(0, len(raw) - limit)
    kept = raw[:limit]
    shown = kept if _SAFE_ASCII.match(kept) else _escape_all(kept)
    if dropped:
        shown += f"…(+{dropped})"
    return shown if width is None else clip(shown, width)


def _escape_all(text: str) -> str:
    out: list[str] = []
    marks = _MARKS_IN_A_ROW  # a mark at the very start would join what stands before it
    for char in text:
        if _joins(char):
            marks += 1
            out.append(_shown(char) if marks <= _MARKS_IN_A_ROW else _escape(char))
        else:
            marks = 0
            out.append(_shown(char))
    return "".join(out)


def clean_lines(text: object, *, limit: int = CLEAN_LIMIT) -> list[str]:
    """``text`` as safe lines: LF and CR LF separate lines, everything else is escaped as in `clean`."""
    raw = text if isinstance(text, str) else compact_json(text)
    dropped = max(0, len(raw) - limit)
    lines = [clean(line, limit=limit) for line in raw[:limit].replace("\r\n", "\n").split("\n")]
    if dropped:
        lines[-1] += f"…(+{dropped})"
    return lines


def fence(text: object, width: int | None = None) -> str:
    """Text that came from a tool or a model, cleaned and visibly fenced in «», which it cannot close itself."""
    told = unfenced(clean(text))
    return f"«{told}»" if width is None else clip(f"«{clip(told, max(0, width - 2))}»", width)


def unfenced(text: str) -> str:
    """Cleaned ``text`` with its own «» escaped, so that it can stand inside a fence."""
    return text.translate(_FENCES)


_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def compact_json(value: Any) -> str:
    """Compact JSON with sorted keys; what JSON cannot hold is shown by its ``str`` or ``repr``. Never raises."""
    try:
        return _COMPACT.encode(value)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return f"({type(value).__name__} that cannot be shown)"


_LITERAL: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def quote(text: str) -> str:
    """``text`` as a string literal of the query language. Here, so that a surface can quote without loading the language."""
    return '"' + door(text).translate(_LITERAL) + '"'


# --- measuring --------------------------------------------------------------------------------------


def cells(text: str) -> int:
    """The number of terminal cells that cleaned ``text`` takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def clip(text: str, width: int) -> str:
    """Cleaned ``text`` cut to at most ``width`` cells, ending in ``…`` when something was cut."""
    if width <= 0:
        return ""
    if cells(text) <= width:
        return text
    if text.isascii():
        return text[: width - 1] + "…"
    used, out = 0, []
    for char in text:
        size = cells(char)
        if used + size > width - 1:
            break
        used += size
        out.append(char)
    return "".join(out) + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Cleaned ``text`` cut and padded to exactly ``width`` cells; ``right`` puts it at the right edge."""
    cut = clip(text, width)
    room = " " * (width - cells(cut))
    return room + cut if right else cut + room


def wrap(text: str, width: int) -> list[str]:
    """Cleaned one-line ``text`` in pieces of at most ``width`` cells, broken at blanks where there are any.

    A character wider than ``width`` stands in a piece of its own.
    """
    if width <= 0 or not text:
        return [] if text else [text]
    lines: list[str] = []
    start = began = seen = 0  # the piece's first index, cells before it, cells so far
    blank = after_blank = -1  # the last blank inside the piece, cells up to its end
    for position, char in enumerate(text):
        before, seen = seen, seen + cells(char)
        if char == " " and position > start:
            blank, after_blank = position, seen
        while seen - began > width and position > start:
            if blank > start:
                lines.append(text[start:blank])
                start, began = blank + 1, after_blank
            else:
                lines.append(text[start:position])
                start, began = position, before
            blank = -1
    lines.append(text[start:])
    return lines


HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
_UNITS: Final = {"d": DAY_MS, "h": HOUR_MS, "m": 60_000, "s": 1_000, "ms": 1}
_SPAN = lazily(r"([0-9]{1,6})(ms|s|m|h|d)")


def age(ms: int) -> str:
    """A span of milliseconds in its largest whole unit, at most four cells below 1,000 days: ``3d``, ``2h``, ``12m``, ``0s``."""
    for unit, size in _UNITS.items():
        if ms >= size > 1:
            return f"{ms // size}{unit}"
    return "0s"


def span_ms(told: str) -> int | None:
    """The milliseconds of at most six digits and one of ms s m h d: ``6h``; None for anything else."""
    match = _SPAN.fullmatch(told)
    return int(match[1]) * _UNITS[match[2]] if match else None


def utc(ms: int) -> str:
    """Epoch ``ms`` as ``2026-03-01 09:12Z``; a time outside the calendar as ``(time N)``."""
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    except OverflowError:
        return f"(time {ms})"
    return moment.strftime("%Y-%m-%d %H:%MZ") if moment.year >= 1000 else f"(time {ms})"


# --- signing errors ---------------------------------------------------------------------------------

NO_MESSAGE: Final = "no message"
_SIGNED_CHARS = 80
_READ_CHARS = 16_384
_FURTHER = 40

_TERMINAL_CODES = lazily(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]"
)
_UUID = lazily(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_HEX = lazily(r"\b(?:0x[0-9a-f]+|[0-9a-f]{8,})\b")
# a scheme is bounded, or a long run of words with dots between would be searched again from each of them
_URL = lazily(r"\b[a-z][a-z0-9+.-]{0,19}://[^\s\"'<>]+")
_ID_CHARS = 24
_LONG_ID = lazily(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_ID_JOINTS = lazily(r"[-_+/]")
_ID_PART = 8
_PATH = lazily(r"^[\"'(\[{<`]*(?:~|\.{1,2})?/|\\|/.*/|/[^/]*\.[a-z0-9]{1,5}\b")
_DIGITS = lazily(r"\d+")
_STATUS_BEFORE = lazily(
    r"(?:^|(?:\b(?:http|https|status|code|statuscode|status_code|error|err|response|returned|got)\b[^\w]{0,3}))"
    r"([45]\d\d)(?!\w|[.:]\d)"
)
_STATUS_ALONE = lazily(r"(?:(?<=\()|(?<=\[))([45]\d\d)(?=[)\]])")
_STATUS_AFTER = lazily(
    r"(?<![\w.:])([45]\d\d)(?=[ :,-]{1,3}(?:bad request|unauthori[sz]ed|payment required|forbidden|not found"
    r"|method not allowed|not acceptable|request timeout|conflict|gone|unprocessable|too many|internal server"
    r"|not implemented|bad gateway|service unavailable|gateway time|client error|server error))"
)
_JSON_FIELDS: Final = (
    "status",
    "status_code",
    "code",
    "error",
    "errors",
    "type",
    "message",
    "detail",
    "reason",
)


def strip_terminal_codes(text: str) -> str:
    """NFC of ``text`` without escape sequences and control characters other than white space."""
    if text.isascii() and text.isprintable():
        return text
    bare = _TERMINAL_CODES.sub("", text) if "\x1b" in text or "\x9b" in text else text
    if bare.isascii():
        return bare.translate(_ASCII_CONTROLS)
    hidden = {
        ord(c): None for c in set(bare) if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\t"
    }
    # dropping a character can bring two together that compose
    return nfc(bare.translate(hidden | {ord("\r"): " "}))


_ASCII_CONTROLS: Final = {code: None for code in (*range(32), 127) if code not in (9, 10)} | {13: " "}


def error_signature(text: object) -> str:
    """What makes two errors the same error (TEXT-4): lower case, without ids, numbers, paths and colours.

    Rules, in order: terminal codes go; of JSON only the fields that say what went wrong; of a traceback the last
    line; then URLs, UUIDs, hexadecimal runs and long ids become ``<url>`` and ``<id>``, paths ``<path>``, digits
    ``#``, except a 3-digit HTTP status; the first 80 characters count. Nothing left: ``no message``.
    """
    raw = text if isinstance(text, str) else "" if text is None else compact_json(text)
    told = _told(strip_terminal_codes(raw[:_READ_CHARS]).strip(), raw)
    if told.isascii():
        told = _as_far_as_it_counts(told)
    # each pattern is asked only where a sign of it stands: most errors are words, and compiling costs more than reading
    if any(len(word) >= _ID_CHARS for word in told.split()):
        told = _LONG_ID.sub(_long_id, told)
    told = told.lower()
    if "://" in told:
        told = _URL.sub("<url>", told)
    if told.count("-") >= 4:
        told = _UUID.sub("<id>", told)
    told = _HEX.sub("<id>", told)
    words = told.split()
    told = " ".join(map(_token, words) if "/" in told or "\\" in told else words)
    # dropping a character can bring two together that compose; a stored text is always NFC
    told = nfc(_numbers(told))[:_SIGNED_CHARS].rstrip()
    return told or NO_MESSAGE


def _as_far_as_it_counts(told: str) -> str:
    """The words at the start that decide the signature of an ASCII text.

    A word gives at least one character of it, and one of letters that is no hexadecimal run gives itself; no rule looks
    further than `_FURTHER` characters beyond the last one that counts.
    """
    kept: list[str] = []
    sure = 0
    for word in told.split(None, _SIGNED_CHARS):  # each gives two characters or more, the blank with it
        kept.append(word)
        core = word.rstrip(".,:;")
        sure += (
            2
            if not core.isalpha() or len(core) >= _ID_CHARS or not core.strip("abcdefABCDEF")
            else len(word) + 1
        )
        if sure > _SIGNED_CHARS + _FURTHER:
            break
    return " ".join(kept)


def _told(text: str, raw: str) -> str:
    if text[:1] in "{[":
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        said = " ".join(_json_words(value, 0))
        return said or text
    if "Traceback (most recent call last)" in text:
        end = strip_terminal_codes(raw[-_READ_CHARS:])
        return next((line for part in reversed(end.splitlines()) if (line := part.strip())), text)
    return text


def _json_words(value: Any, depth: int) -> list[str]:
    if depth > 4:
        return []
    if isinstance(value, dict):
        return [
            word
            for name in _JSON_FIELDS
            if value.get(name) not in (None, "", True, False)
            for word in ([name] if name in ("status", "status_code", "code") else [])
            + _json_words(value[name], depth + 1)
        ]
    if isinstance(value, list):
        return _json_words(value[0], depth + 1) if value else []
    return [str(value)]


def _long_id(match: re.Match[str]) -> str:
    """``<id>`` for what looks drawn at random; a name of words and numbers, or a path, stays."""
    found = match.group()
    if "/" in found.strip("/"):
        return found
    parts = _ID_JOINTS.split(found.rstrip("="))
    drawn = any(
        len(part) >= _ID_PART and any(map(str.isdigit, part)) and any(map(str.isalpha, part))
        for part in parts
    )
    return "<id>" if drawn else found


def _token(token: str) -> str:
    if token.startswith("http/"):
        return "http"
    if ("/" in token or "\\" in token) and "<url>" not in token and _PATH.search(token):
        return "<path>"
    return token


def _numbers(text: str) -> str:
    if not any(map(str.isdigit, text)):
        return text
    if not any(len(run) == 3 and run[0] in "45" for run in set(_DIGITS.findall(text))):
        return _DIGITS.sub("#", text)
    kept = {
        m.span(1)
        for pattern in (_STATUS_BEFORE, _STATUS_AFTER, _STATUS_ALONE)
        for m in pattern.finditer(text)
    }
    return _DIGITS.sub(lambda m: m.group() if m.span() in kept else "#", text)
