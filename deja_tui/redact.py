# SPDX-License-Identifier: Apache-2.0
"""Taking obvious secrets out of captured text before anything is stored.

Numbered rules, cited by tests:

* RED-1  A secret is replaced by ``[redacted:kind]``; what stands around it stays, so the text can still be read.
* RED-2  Known shapes first (keys with a vendor's prefix, JWT, private key blocks, passwords in URLs, bearer tokens),
  then values given to names that say what they are (``password=``, ``token:``, ``"api_key": …``).
* RED-3  Without such a name or shape nothing is touched but what RED-7 names: commit ids, UUIDs, file digests, base64
  pictures, paths and versions stay. Neither are placeholders (``$TOKEN``, ``<key>``, ``****``) and code
  (``token = get_token()``).
* RED-4  The work is linear in the length of the text; text without a hint of a secret costs a few substring searches.
* RED-5  Redacting what was redacted changes nothing.
* RED-6  Terminal codes hide nothing: what is judged is the text without them, also where they are written as escapes
  (``\\u001b[31m``). Codes around a secret stay, codes inside it go with it.
* RED-7  A value that stands alone, of 32 to 96 letters and digits in both cases which change their kind as often as chance
  does, is a secret (``entropy``). Ids that say what they are (``toolu_…``, ``req-…``, ``sha512-…``) or are called one by
  the word before them (``file id …``, ``"etag": …``, never a session's), content ids and coin addresses by their form,
  hexadecimal digests, parts of paths and URLs, and longer or wrapped base64 stay.

It is a net with wide meshes: it catches what is plainly a secret, and makes no promise about the rest.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from deja_tui.record import Record
from deja_tui.text import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

MARK: Final = "[redacted:"
_MARK_MAX: Final = 40
DEPTH_LIMIT: Final = 200
TOO_DEEP: Final = "[redacted:nested-too-deeply]"

# A token starts where no word does. Escapes end in a letter or digit, yet end a word: those of quoted JSON text and of
# URLs. A line that a diff takes out starts with a hyphen.
_START: Final = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2}))"


class _Shape(Record):
    """A secret known by its form: run ``pattern`` only where one of ``needles`` occurs."""

    _fields = ("kind", "needles", "pattern")
    __slots__ = _fields

    def __init__(self, kind: str, needles: tuple[str, ...], pattern: re.Pattern[str]) -> None:
        self.kind = kind
        self.needles = needles
        self.pattern = pattern


def _shape(kind: str, needles: str, body: str, start: str = _START) -> _Shape:
    return _Shape(kind, tuple(needles.split()), lazily(start + body))


_SHAPES: Final = (
    _shape("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    _shape("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _shape("openai-key", "sk-", r"sk-(?:(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{16,}|[A-Za-z0-9]{20,})"),
    _shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,}"),
    _shape("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{30,}"),
    _shape("gitlab-token", "glpat- gldt- glrt- glptt-", r"gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{20,}"),
    _shape("slack-token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    _shape("slack-token", "xapp-", r"xapp-[A-Za-z0-9-]{20,}"),
    _shape(
        "slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}"
    ),
    _shape("aws-access-key", "AKIA ASIA", r"A[KS]IA[0-9A-Z]{16}(?![0-9A-Za-z_])"),
    _shape("google-api-key", "AIza", r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),
    _shape("google-oauth", "ya29.", r"ya29\.[0-9A-Za-z_-]{20,}"),
    _shape("google-oauth", "GOCSPX-", r"GOCSPX-[0-9A-Za-z_-]{20,}"),
    _shape("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    _shape("pypi-token", "pypi-Ag", r"pypi-Ag[A-Za-z0-9_-]{40,}"),
    _shape("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    _shape("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _shape("stripe-key", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}"),
    _shape("sendgrid-key", "SG.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _shape("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{40,}"),
    _shape("shopify-token", "shpat_ shpss_ shpca_", r"shp(?:at|ss|ca)_[0-9a-fA-F]{30,}"),
    _shape("docker-token", "dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{20,}"),
    _shape("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    _shape("telegram-token", ":AA", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}", rf"(?:{_START}|(?<=bot))"),
)

_KEY_BEGIN: Final = lazily(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END: Final = lazily(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINES: Final = lazily(r"(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{16,}+)*+")
_KEY_MAX: Final = 16_384

_URL: Final = lazily(r"(?<=://)([^\s/:@\"'<>\\]{0,128}):([^\s/\"'<>\\]{1,256})@(?=[\w.\[-])")
# Runs on lower-cased text, as the names below: a pattern that ignores case looks at every character several times.
_SCHEME: Final = lazily(
    r"(?<![a-z0-9])(?:bearer|basic|(?<=authorization: )token)\s{1,3}(?P<value>[a-z0-9._~+/-]{16,}+={0,2})"
)

# --- terminal codes ---------------------------------------------------------------------------------

_ESCAPE: Final = r"(?:\x1b|\\{1,8}(?:u001[bB]|x1[bB]))"
# A mark behind a cut-off code is no part of it (RED-5).
_FINAL: Final = r"[0-?]*+[ -/]*+(?!\[redacted:)(?:(?P<paint>[mK])|[@-~])"
_CODE: Final = lazily(
    rf"(?:(?:{_ESCAPE}|\\{{1,8}}(?:033|e))(?!\[redacted:)\[|\x9b){_FINAL}"
    rf"|{_ESCAPE}\][0-9]{{0,4}};?|{_ESCAPE}[PX^_\\]|\x07|\\{{1,8}}u0007"
    rf"|(?P<plain>{_ESCAPE}(?:[()][0-9AB]|[78=>])?)"
)
_CODE_NEEDLES: Final = ("\x1b", "\x9b", "\x07", "\\u00", "\\x1", "\\033[", "\\e[")
_WORD_END: Final = lazily(r"[A-Za-z0-9_]\Z")
_WORD: Final = lazily(r"[A-Za-z0-9_]")
_SHAPE_STARTS: Final = lazily(
    "|".join(
        ["[0-9]{8,10}:AA"]
        + [re.escape(needle) for shape in _SHAPES for needle in shape.needles if needle[0].isalpha()]
    )
)
_SHAPE_ENDS: Final = lazily(r"(?:A[KS]IA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35})\Z")
_SHAPE_MAX: Final = 39

# --- values given to names --------------------------------------------------------------------------

_PASSWORD: Final = r"pass(?:word|wd|phrase|code)|pwd|secret(?:[_-]?access[_-]?key|[_-]?key)?|credentials?"
_TOKEN: Final = r"token|(?:api|access|auth|private|signing|encryption|account|master|shared)[_-]?(?:access[_-]?)?key|authorization"
_SUFFIX: Final = r"(?P<suffix>(?:[_-]?[0-9]{1,2}|[_-][A-Za-z0-9]{1,16}){0,2})"
_CORE: Final = lazily(rf"(?P<password>{_PASSWORD})|{_TOKEN}")
_NAME: Final = lazily(rf".{{0,64}}?(?:(?P<password>{_PASSWORD})|(?:{_TOKEN})){_SUFFIX}")
_GIVEN: Final = lazily(
    rf"{_SUFFIX}(?:(?P<sep>\\?[\"'`]?\]?[ \t]{{0,4}}(?::=|=>|={{1,3}}|:)[ \t]{{0,4}})|(?P<gap>[ \t]{{1,4}}))(?P<quote>\\?[\"'`])?"
)
_FLAG: Final = lazily(r"(?<![\w-])--(?:[A-Za-z0-9]{1,16}-){0,3}\Z")
_FLAG_MAX: Final = 56
_WEAK: Final = lazily(
    r"(?<![A-Z0-9_])[A-Z][A-Z0-9_]{0,40}_(?:KEY|PASS|PAT|AUTH|CREDS|SALT|DSN)[\"']?[ \t]{0,4}[=:][ \t]{0,4}(?P<quote>\\?[\"'])?"
)
_BARE: Final = lazily(r"[^\s\"'`,;&|<>(){}\[\]\\]*+")
_QUOTED_MAX: Final = 512
_JUDGED_MAX: Final = 128  # what the judgement looks at; what is taken out is the whole value

_NOT_SECRET_SUFFIX: Final = lazily(
    r"(?i).*[_-](?:hash|sha|sha1|sha256|digest|id|ids|name|names|type|count|limit|length|len|size|url|uri|file|path|dir"
    r"|field|label|expiry|expires|ttl|usage|budget|policy|arn|ref|prefix|header|env|var|required|enabled|index)"
)
_PLACEHOLDER: Final = lazily(
    r"(?i)[$%<{*#@].*|[x.…_*-]+|your.*|my[_-].*|example.*|placeholder.*|change[_-]?me|redacted|null|none|nil|true|false"
    r"|undefined|required|optional|string|str|bytes|int|number|bool|boolean|any|object|self|this|process|os|env|config"
)
_DOTTED_CODE: Final = lazily(r"[A-Za-z_]\w{0,64}(?:[.:]{1,2}[A-Za-z_]\w{0,64})+[.!?]?")
_LOOKS_LIKE_PLACE: Final = lazily(r"(?:~|\.{1,2})?/|[a-z][a-z0-9+.-]{0,20}://")
_SEGMENTS: Final = lazily(r"[-_./:+=]+")

_NAME_NEEDLES: Final = ("pass", "pwd", "secret", "token", "key", "credential", "authorization")
_SCHEME_NEEDLES: Final = ("bearer", "basic", "authorization")
_WEAK_NEEDLES: Final = ("_KEY", "_PASS", "_PAT", "_AUTH", "_CREDS", "_SALT", "_DSN")


_ALONE: Final = lazily(r"(?<![^\s\"'`=(\[{<>])[A-Za-z0-9_-]{32,}+(?=[\s\"'`,;)\]}<>\\]|[.!?](?:\s|\Z)|\Z)")
_ALONE_MAX: Final = 96
_TOLD_ID: Final = lazily(r"[a-z][a-z0-9]{1,11}[-_]|AAAA|-")
# Letters and digits without 0, O, I and l: content ids of IPFS, addresses of Bitcoin. A private key begins otherwise.
_PUBLIC: Final = lazily(r"Qm[1-9A-HJ-NP-Za-km-z]{44}|[13][1-9A-HJ-NP-Za-km-z]{31,34}")
_CALLED_PUBLIC: Final = lazily(
    r"(?i)(?<![a-z])(?:(?:(?P<of>[a-z]{1,20})[ _-]{1,2})?ids?|cid|digest|checksum|etag|(?:finger|thumb)print|address"
    r"|public[ _-]?key|pubkey)(?:[\"'`]?[ \t]{0,2}[:=]|[ \t]is)?[ \t]{0,2}[\"'`(]?\Z"
)
_CALLED_MAX: Final = 48
_OPENS: Final = frozenset(
    (
        "session",
        "sess",
        "auth",
        "login",
        "cookie",
        "token",
        "secret",
        "access",
        "refresh",
        "api",
        "key",
        "private",
    )
)
_IN_ADDRESS: Final = lazily(r"(?:://|[?&;])[^\s\"'`<>]{0,200}\Z")
_WRAPPED: Final = lazily(r"[A-Za-z0-9+/=_-]{32,}\s{1,2}\Z")
_GOES_ON: Final = lazily(r"(?:\\{1,4}[nr]|\s){1,2}[A-Za-z0-9+/=_-]{24}")
_CHANGES: Final = 0.4  # of neighbours are of another kind; 0.63 by chance, 0.25 in camel case with numbers
_ALONE_BITS: Final = 4.0


_LEAST: Final = 8  # a name, a sign and a value of four characters
_ALONE_MIN: Final = 32
_CACHED_MAX: Final = 64
# Every text that holds what `_known` looks for holds one of these, in lower case: the needles of names, schemes and shapes, each
# cut to the part that several share. A shape stands in one word, and in none of less than `_SHAPE_MIN`. A test holds them to that.
_SHAPE_MIN: Final = 15
_NAME_HINTS: Final = ("pass", "pwd", "secret", "token", "key", "cred", "auth", "bearer", "basic")
_WEAK_HINTS: Final = ("_pat", "_salt", "_dsn")
_SHAPE_HINTS: Final = (
    (
        "_",
        [
            "k_live_",
            "k_test_",
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "_pat",
            "npm_",
            "hf_",
            "whsec_",
            "_v1_",
            "shpat_",
            "shpss_",
            "shpca_",
        ],
    ),
    ("-", ["sk-", "glpat-", "gldt-", "glrt-", "glptt-", "xapp-", "gocspx-", "pypi-ag", "age-secret-key-"]),
    (".", ["hooks.slack.com/", "ya29.", "sg."]),
    (":", [":aa"]),
    ("", ["akia", "asia", "aiza", "xox", "eyj"]),
)
"""By a character that each of them holds: most words hold none of those."""
_plain: set[str] = set()
"""Short texts without a sign of a secret: names, ids and words, which come again and again. No other text is kept."""
_PLAIN_MAX: Final = 4_096


def is_plain(text: str) -> bool:
    """Whether a text holds no sign of a secret, so that `redact` leaves it as it is."""
    if text in _plain:
        return True
    if not _has_no_sign(text):
        return False
    if len(text) <= _CACHED_MAX:
        if len(_plain) >= _PLAIN_MAX:
            _plain.clear()
        _plain.add(text)
    return True


def _has_no_sign(text: str) -> bool:
    if _may_hold_codes(text):
        return False
    lowered = _lower(text)
    for needle in _NAME_HINTS:
        if needle in lowered:
            return False
    if "://" in text or "-----begin" in lowered:
        return False
    if "_" in text and any(needle in lowered for needle in _WEAK_HINTS):
        return False
    words = {word for word in text.split() if len(word) >= _SHAPE_MIN}
    return not words or _are_plain(words, text)


def _may_hold_codes(text: str) -> bool:
    if not text.isascii() and "\x9b" in text:
        return True
    return "\x1b" in text or "\x07" in text or ("\\" in text and any(one in text for one in _CODE_NEEDLES))


def _are_plain(words: set[str], text: str) -> bool:
    """Whether none of the long words of ``text`` has the form of a secret."""
    lowered = " ".join(words).lower()
    for sign, hints in _SHAPE_HINTS:
        if sign in lowered and any(hint in lowered for hint in hints):
            return False
    for word in words:
        if len(word) >= _ALONE_MIN and word != word.lower():  # the least that RED-7 asks of a value
            return next(_alone(text), None) is None
    return True


def redact_into(value: Any, found: Counter[str]) -> Any:
    """As `redact`; what was taken out is added to ``found``."""
    return _value(value, found, 0)


def redact(value: Any) -> tuple[Any, Counter[str]]:
    """``value`` without obvious secrets, and how many of each kind were taken out (RED-1 to RED-5).

    Strings are searched wherever they stand in dicts (keys too) and lists; other values are returned as they are.
    A text under a key like ``password`` or ``apiKey`` counts as given to that name. Nesting beyond `DEPTH_LIMIT`
    levels is replaced as a whole.
    """
    found: Counter[str] = Counter()
    return _value(value, found, 0), found


def ident(text: str, found: Counter[str]) -> str:
    """An id as it may be kept: one that looks like a secret is known by its digest, so that equal ones stay equal."""
    kept = redact_text(text, found)
    if kept == text:
        return text
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def redact_text(text: str, found: Counter[str]) -> str:
    """``text`` without obvious secrets; what was taken out is added to ``found``."""
    if len(text) < _LEAST or is_plain(text):
        return text
    judged = _judged(text, found)
    _known(judged, _lower(judged.text))
    judged.cut(_alone(judged.text))
    return judged.whole() if judged.changed else text


def _known(judged: _Judged, lowered: str) -> None:
    """Take out what is known by its form, by its scheme or by the name it is given to (RED-2)."""
    if _shaped(judged):
        lowered = _lower(judged.text)
    if any(needle in lowered for needle in _SCHEME_NEEDLES):
        judged.cut(_schemes(lowered))
        lowered = _lower(judged.text)
    if any(needle in lowered for needle in _NAME_NEEDLES):
        judged.cut(_named(judged.text, lowered))
    if any(needle in judged.text for needle in _WEAK_NEEDLES):
        judged.cut(_weak(judged.text))


# A terminal code that was taken out: where it stood, what it was, how many characters stand for it there (0 or 1). A bare
# tuple, because hostile text may hold hundreds of thousands.
_Code: TypeAlias = tuple[int, str, int]


class _Judged:
    """A text without its terminal codes, what they were, and the secrets taken out so far."""

    __slots__ = ("changed", "codes", "found", "text")

    def __init__(self, text: str, found: Counter[str], codes: list[_Code] | None = None) -> None:
        self.text = text
        self.found = found
        self.codes = [] if codes is None else codes
        self.changed = False

    def cut(self, spans: Iterable[tuple[int, int, str]]) -> bool:
        """Put marks in place of ``spans`` (start, end, kind; rising, apart). Whether there were any."""
        out: list[str] = []
        cuts: list[tuple[int, int, int]] = []
        at = 0
        for start, end, kind in spans:
            out += (self.text[at:start], _mark(kind))
            cuts.append((start, end, len(out[-1])))
            self.found[kind] += 1
            at = end
        if not cuts:
            return False
        self.text = "".join((*out, self.text[at:]))
        self.codes = list(_moved(self.codes, cuts))
        self.changed = True
        return True

    def whole(self) -> str:
        """The text with its codes where they stood."""
        out: list[str] = []
        at = 0
        for place, code, width in self.codes:
            out += (self.text[at:place], code)
            at = place + width
        return "".join((*out, self.text[at:]))


def _moved(codes: list[_Code], cuts: list[tuple[int, int, int]]) -> Iterator[_Code]:
    """The codes outside of ``cuts`` (start, end, length of the mark) where they stand after these."""
    shift, next_cut = 0, 0
    for at, code, width in codes:
        while next_cut < len(cuts) and cuts[next_cut][1] <= at:
            start, end, length = cuts[next_cut]
            shift += length - (end - start)
            next_cut += 1
        if next_cut == len(cuts) or at + width <= cuts[next_cut][0]:
            yield at + shift, code, width


def _judged(text: str, found: Counter[str]) -> _Judged:
    """``text`` as it is judged (RED-6): codes that only paint are left out, others leave a blank."""
    if not any(needle in text for needle in _CODE_NEEDLES):
        return _Judged(text, found)
    out: list[str] = []
    codes: list[_Code] = []
    at = length = 0
    before = ""
    for match in _CODE.finditer(text):
        piece = text[at : match.start()]
        before = (before + piece[-_SHAPE_MAX:])[-_SHAPE_MAX:]
        paints = match["paint"] or match["plain"]
        stand_in = "" if paints and not _parts(before, text, match.end()) else " "
        out += (piece, stand_in)
        length += len(piece)
        codes.append((length, match.group(), len(stand_in)))
        length += len(stand_in)
        before += stand_in
        at = match.end()
    return _Judged("".join((*out, text[at:])), found, codes)


def _parts(before: str, text: str, at: int) -> bool:
    """Whether a code between two words parts them: a secret of a known shape starts or ends there."""
    return (
        _WORD_END.search(before) is not None
        and _WORD.match(text, at) is not None
        and (_SHAPE_STARTS.match(text, at) is not None or _SHAPE_ENDS.search(before) is not None)
    )


def _shaped(judged: _Judged) -> bool:
    """Take out what is known by its form. Whether there was any."""
    if "-----BEGIN" in judged.text:
        judged.cut(_private_keys(judged.text))
    for shape in _SHAPES:
        if any(needle in judged.text for needle in shape.needles):
            judged.cut((*match.span(), shape.kind) for match in shape.pattern.finditer(judged.text))
    if "://" in judged.text and "@" in judged.text:
        judged.cut(_urls(judged.text))
    return judged.changed


def _lower(text: str) -> str:
    """Lower case of the same length: positions in one are positions in the other."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("\u0130", "I").lower()


def _value(value: Any, found: Counter[str], depth: int) -> Any:
    if isinstance(value, str):
        return redact_text(value, found)
    if not isinstance(value, (dict, list)):
        return value
    if depth >= DEPTH_LIMIT:
        found["nested-too-deeply"] += 1
        return TOO_DEEP
    if isinstance(value, list):
        return [_value(item, found, depth + 1) for item in value]
    return {_key(key, found): _entry(key, item, found, depth + 1) for key, item in value.items()}


def _key(key: Any, found: Counter[str]) -> Any:
    return redact_text(key, found) if isinstance(key, str) else key


def _entry(key: Any, item: Any, found: Counter[str], depth: int) -> Any:
    clean = _value(item, found, depth)
    if not isinstance(key, str) or not isinstance(clean, str) or len(key) > 80:
        return clean
    name = _telling(key)
    if name is None or not _is_secret(
        name["password"] or "", name["suffix"], _bare(clean), quoted=True, tight=False
    ):
        return clean
    kind = _kind(name["password"] or "")
    found[kind] += 1
    return _mark(kind)


@lru_cache(maxsize=1024)
def _telling(key: str) -> re.Match[str] | None:
    """The parts of a key that names a secret; None for any other."""
    bare = _lower(_bare(key))
    return _NAME.fullmatch(bare) if any(needle in bare for needle in _NAME_NEEDLES) else None


def _bare(text: str) -> str:
    return _judged(text, Counter()).text


def _mark(kind: str) -> str:
    return f"{MARK}{kind}]"


def _private_keys(text: str) -> Iterator[tuple[int, int, str]]:
    at, end = 0, _KEY_END.search(text)
    while begin := _KEY_BEGIN.search(text, at):
        while end and end.start() < begin.end():
            end = _KEY_END.search(text, end.end())
        near = end is not None and end.start() - begin.end() <= _KEY_MAX
        at = end.end() if end and near else _end_of_match(_KEY_LINES, text, begin.end())
        yield begin.start(), at, "private-key"


def _end_of_match(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _urls(text: str) -> Iterator[tuple[int, int, str]]:
    """Passwords in URLs."""
    for match in _URL.finditer(text):
        if MARK not in match.group() and not _PLACEHOLDER.fullmatch(match[2]):
            yield *match.span(2), "url-credentials"


def _schemes(lowered: str) -> Iterator[tuple[int, int, str]]:
    """What stands behind the name of an authorization scheme and is no word."""
    for match in _SCHEME.finditer(lowered):
        value = match["value"]
        if any(c.isdigit() for c in value) or len(value) >= 40 or value.endswith("="):
            yield *match.span("value"), "bearer-token"


def _named(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of the values that stand behind a telling name."""
    done = 0
    for core in _CORE.finditer(lowered):
        if core.start() < done or _in_mark(lowered, core.start()):
            continue
        given = _GIVEN.match(text, core.end())
        if given is None:
            continue
        flag = bool(_FLAG.search(text[max(0, core.start() - _FLAG_MAX) : core.start()]))
        if given["gap"] and not flag:
            continue
        start, end, quoted = _span(text, given)
        tight = flag or not any(c in " \t" for c in given["sep"])
        called = not quoted and text[end : end + 1] in ("(", "[", "{")
        password = core["password"] or ""
        if not called and _is_secret(password, given["suffix"], text[start:end], quoted=quoted, tight=tight):
            done = end if quoted else _end_of_match(_BARE, text, end)
            yield start, done, _kind(password)


def _in_mark(text: str, at: int) -> bool:
    """Whether a name there is the kind in ``[redacted:kind]``, which a sign behind it must not make a name again."""
    mark = text.rfind(MARK, max(0, at - _MARK_MAX), at)
    return mark >= 0 and "]" not in text[mark:at]


def _alone(text: str) -> Iterator[tuple[int, int, str]]:
    """Values that stand alone and look as if drawn by chance (RED-7)."""
    for match in _ALONE.finditer(text):
        value = match.group()
        if len(value) > _ALONE_MAX or _TOLD_ID.match(value) or not _is_drawn(value):
            continue
        before = text[max(0, match.start() - 256) : match.start()]
        called = _CALLED_PUBLIC.search(before[-_CALLED_MAX:])
        if _PUBLIC.fullmatch(value) or (called and (called["of"] or "").lower() not in _OPENS):
            continue
        wrapped = _WRAPPED.search(before) or _GOES_ON.match(text, match.end())
        if not wrapped and not _IN_ADDRESS.search(before):
            yield *match.span(), "entropy"


def _is_drawn(value: str) -> bool:
    """Whether letters of both cases and digits stand as mixed as in a value drawn by chance."""
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" if c.islower() else "" for c in value]
    if kinds.count("d") < 3 or kinds.count("u") < 3 or kinds.count("l") < 3:
        return False
    changes = sum(1 for a, b in pairwise(kinds) if a != b)
    return changes >= _CHANGES * (len(value) - 1) and _entropy(value) >= _ALONE_BITS


def _weak(text: str) -> Iterator[tuple[int, int, str]]:
    """Values behind upper-case names that only may hold a secret: the value itself must look random."""
    for head in _WEAK.finditer(text):
        start, end, quoted = _span(text, head)
        if _is_random(text[start:end]):
            yield start, end if quoted else _end_of_match(_BARE, text, end), "entropy"


def _span(text: str, head: re.Match[str]) -> tuple[int, int, bool]:
    """Where the value stands that is judged, and whether in quotes: never more than a bounded piece (RED-4)."""
    start, quote = head.end(), head["quote"]
    if quote:
        end = text.find(quote, start, start + _QUOTED_MAX + len(quote))
        if end >= 0 and "\n" not in text[start:end]:
            return start, end, True
    match = _BARE.match(text, start, start + _JUDGED_MAX)
    return start, match.end() if match else start, False


def _kind(password: str) -> str:
    return (
        "aws-secret-key" if password.replace("-", "").replace("_", "") == "secretaccesskey" else "credential"
    )


def _is_secret(password: str, suffix: str, value: str, *, quoted: bool, tight: bool) -> bool:
    """Whether ``value`` is to be taken out, given to a name with ``suffix`` behind its telling part.

    ``password`` is that telling part in lower case when it names a password or secret, else empty: a key or token,
    whose value must look like one. ``tight``: no blank between name and value, as in an environment file.
    """
    value = value.strip()[:_JUDGED_MAX]
    if len(value) < 4 or MARK in value or _NOT_SECRET_SUFFIX.fullmatch(suffix):
        return False
    if any(c.isspace() for c in value):
        return quoted and "phrase" in password
    if (
        _PLACEHOLDER.fullmatch(value)
        or _names_a_secret(value)
        or (not quoted and _DOTTED_CODE.fullmatch(value))
    ):
        return False
    if password and not any(c.isalpha() for c in suffix):
        return quoted or tight or _has_digit_or_sign(value)
    return _is_tokenish(value, 8 if quoted or tight else 12)


def _names_a_secret(value: str) -> bool:
    """Whether the value is itself a name for a secret, as in ``password=db_password``: code, not a secret."""
    return all(c.isalpha() or c in "_.-" for c in value) and _CORE.search(_lower(value)) is not None


def _has_digit_or_sign(value: str) -> bool:
    """Whether a bare value in running text is more than a word of it."""
    core = value.rstrip(".:!?…")
    return len(core) >= 6 and any(not c.isalpha() and c not in "-/'’" for c in core)


def _is_tokenish(value: str, least: int) -> bool:
    if len(value) < least or _LOOKS_LIKE_PLACE.match(value):
        return False
    if not (any(c.isdigit() for c in value) and any(c.isalpha() for c in value)):
        return False
    segments = [part for part in _SEGMENTS.split(value) if part]
    return not all(part.isalpha() or (part.isdigit() and len(part) <= 4) for part in segments)


def _is_random(value: str) -> bool:
    kinds = (
        any(c.isdigit() for c in value),
        any(c.islower() for c in value),
        any(c.isupper() for c in value),
    )
    return len(value) >= 20 and all(kinds) and not _LOOKS_LIKE_PLACE.match(value) and _entropy(value) >= 3.5


def _entropy(value: str) -> float:
    """Shannon entropy of the characters, in bits a character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())
