# SPDX-License-Identifier: Apache-2.0
"""Grain bytes: one blob in, one `Grain` out, and back, byte for byte. Pure: no I/O, no clock.

A blob is nine header bytes and one canonical MessagePack map, nothing after it:

======  ====  ==================================================================================
offset  size  content
======  ====  ==================================================================================
0       1     version, always ``01``
1       1     flags: 01 signed, 02 encrypted, 04 compressed, 08 has content_refs,
              10 has embedding_refs, 20 made by a model, c0 sensitivity (00 40 80 c0)
2       1     type byte (`names.TYPES`)
3       2     first two bytes of SHA-256 over the namespace text; ``00 00`` without one or when empty
5       4     creation time in whole seconds, unsigned, big-endian, clamped to 0 … ffffffff
9       …     the map: names short (`names.SHORT`), keys sorted by their UTF-8 bytes
======  ====  ==================================================================================

The address of a grain is the lower-case hex SHA-256 of all its bytes.

Numbered invariants, cited by tests:

* INV-CODEC-1  `encode(decode(blob)) == blob` for every blob that strict `decode` takes.
* INV-CODEC-2  `decode(encode(grain)) == grain` for every grain that `make_grain` makes.
* INV-CODEC-3  `encode` writes a canonical payload, or raises a coded error; flags and namespace hash are the grain's.
* INV-CODEC-4  `decode` gives a grain or a `DejaError` with FMT-E001 (header, or what the payload must hold) or
  FMT-E002 (the MessagePack itself) for every input, and needs memory in proportion to the input.
* INV-CODEC-5  What a strict reader refuses: a payload that is not one map with text keys, bytes after it, unsorted
  or repeated keys, numbers, lengths or floats not in their one form, NaN and infinities, text that is no UTF-8 or
  not NFC, binary other than ``tdh``, extension types, more than 255 nested containers, more than 16 MiB, a ``t``,
  a second or a namespace hash that disagree with the payload.
* INV-CODEC-6  The lenient reader (``strict=False``) takes what the reference product takes: of INV-CODEC-5 it still
  refuses broken structure, non-text keys, extensions, NaN and the limits, and reads text that is no UTF-8 as "".
* INV-CODEC-7  Verdicts do not depend on the Python version: the normal form is judged between code points that are
  newer than Unicode 14, and those are left as they are (D41).

What can be checked of the namespace hash (D8): the header is made from the text as its writer gave it, the payload
keeps the NFC of it, so the given form is gone. Where NFC text has one spelling only (most ASCII) the hash must be
that of the text. Where it has others (an accented letter has two) any hash is taken, because enumerating spellings
proves nothing about sixteen bits; `Grain.ns_hash` keeps them so that the bytes, and the address, stay what they are.

Fields and extras: a wire key of the table becomes its long name in ``fields``; so do the keys a type writes under
the name itself (``content`` of an event). Every other key is verbatim and lands in ``extras``. A value that could
not be turned back without loss (a context map that already holds a long ``int:`` name, a ``tdh`` that is text)
stays in ``extras`` under its wire key as well.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from math import isfinite
from struct import Struct

import msgpack  # type: ignore[import-untyped]

from deja_tui.digests import sha256
from deja_tui.errors import DejaError, ValidationError
from deja_tui.record import Record
from deja_tui.store.careful import (
    DIGEST_BYTES,
    DIGEST_FIELD,
    DIGEST_KEY,
    MAX_DEPTH,
    CarefulReader,
    malformed,
    too_deep,
    unreadable,
)
from deja_tui.store.names import (
    CONTENT_REF_SHORT,
    EDGE_LONG,
    EDGE_SHORT,
    EMBEDDING_REF_SHORT,
    FLOATS,
    INT_LONG,
    INT_SHORT,
    LONG,
    NULLABLE,
    OMITTED_DEFAULTS,
    OMITTED_WHEN_EMPTY,
    RELATED_LONG,
    RELATED_SHORT,
    SAME,
    SHORT,
    TYPE_OF,
    TYPES,
)
from deja_tui.store.normal_form import is_nfc, newer_than_14, nfc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    _Read = tuple[object, Any, object, dict[str, Any], dict[str, Any]]

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "TYPES",
    "Grain",
    "address",
    "decode",
    "encode",
    "flags_of",
    "make_grain",
]

MAX_BYTES: Final = 16_777_216
"""Largest blob, header included."""

_HEADER: Final = Struct(">BBB2sI")
_VERSION: Final = 1
_COSE_ENVELOPE: Final = 0x84
_SECONDS_MAX: Final = 0xFFFF_FFFF
_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**63 - 1
_WIRE_INT_MAX: Final = 2**64 - 1

_VERBATIM_KEYS: Final = frozenset(("bindings", "retries"))
_VERBATIM_WIRE_KEYS: Final = frozenset(("bind", "retries"))
_AI_SOURCES: Final = ("llm_generated", "consolidated", "inferred", "a2a_recalled")
_BESIDE: Final = frozenset(("type", "created_at", "namespace"))


class Grain(Record):
    """One grain, as its bytes say.

    Attributes:
        type: the long type name (``fact`` …).
        created_at: epoch milliseconds, UTC.
        namespace: NFC text; None when none is written, "" is possible.
        fields: typed fields under long names, without type, created_at and namespace. Values are what the reference
            product reads back: context maps keep short names except ``int:`` ones, references keep short names.
        extras: verbatim top-level keys.
        flags: the header byte as it is.
        ns_hash: the two raw namespace-hash bytes of the header (D8).
    """

    _fields = ("type", "created_at", "namespace", "fields", "extras", "flags", "ns_hash")
    __slots__ = (*_fields, "wire")

    def __init__(
        self,
        type: str,
        created_at: int,
        namespace: str | None,
        fields: Mapping[str, Any],
        extras: Mapping[str, Any],
        flags: int,
        ns_hash: bytes,
        wire: dict[str, Any] | None = None,
    ) -> None:
        self.wire = wire  # the map that `make_grain` made it of, so that `encode` need not make it again; no part of the value
        self.type = type
        self.created_at = created_at
        self.namespace = namespace
        self.fields = fields
        self.extras = extras
        self.flags = flags
        self.ns_hash = ns_hash

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a typed field, else of an extra, else ``default``."""
        if name in self.fields:
            return self.fields[name]
        return self.extras.get(name, default)


def address(blob: bytes) -> str:
    """The content address of ``blob``: 64 lower-case hex digits."""
    return sha256(blob).hexdigest()


# --- reading ----------------------------------------------------------------------------------------


def decode(blob: bytes, *, strict: bool = True) -> Grain:
    """The grain in ``blob``.

    Args:
        blob: header and payload.
        strict: refuse everything non-canonical (INV-CODEC-5); False reads what the reference product reads.

    Raises:
        DejaError: FMT-E001 or FMT-E002 (INV-CODEC-4).
    """
    if type(blob) is not bytes:
        blob = _as_bytes(blob)
    if not 10 <= len(blob) <= MAX_BYTES:
        raise _wrong_size(len(blob))
    version, flags, type_byte, ns_hash, seconds = _HEADER.unpack_from(blob)
    if version != _VERSION:
        raise _wrong_version(version)
    kind = TYPE_OF.get(type_byte)
    if kind is None:
        raise unreadable(f"unknown grain type byte 0x{type_byte:02x}")
    read = _read_fast(blob[9:], strict, kind)
    if read is None:
        read = _read_slowly(blob[9:], strict, kind)
    told, created_at, namespace, fields, extras = read
    if strict:
        if told != kind:
            raise unreadable("the type in the payload is not the one in the header")
        if type(created_at) is not int or created_at // 1000 != seconds:
            _check_time(created_at, seconds)
        _check_namespace(namespace, ns_hash)
    elif type(created_at) is not int or not _INT_MIN <= created_at <= _INT_MAX:
        created_at = seconds * 1000
    return Grain(
        kind, created_at, namespace if type(namespace) is str else None, fields, extras, flags, ns_hash
    )


def _as_bytes(blob: object) -> bytes:
    if isinstance(blob, (bytes, bytearray, memoryview)):
        return bytes(blob)
    raise unreadable("a grain is bytes")


def _wrong_size(size: int) -> DejaError:
    if size > MAX_BYTES:
        return unreadable(f"the grain is too large: {size} bytes, at most {MAX_BYTES}")
    return unreadable(f"the grain is too short: {size} bytes, at least 10")


def _wrong_version(version: int) -> DejaError:
    if version == _COSE_ENVELOPE:
        return unreadable("the grain is in a signature envelope, which this version does not open")
    return unreadable(f"unsupported grain version {version}, only 1 is known")


def _check_time(created_at: object, seconds: int) -> None:
    if type(created_at) is not int:
        raise unreadable("the payload has no creation time")
    if not _INT_MIN <= created_at <= _INT_MAX:
        raise unreadable("the creation time is outside 64 bits")
    if seconds != _seconds(created_at):
        raise unreadable("the creation time in the header is not the one in the payload")


def _check_namespace(namespace: object, ns_hash: bytes) -> None:
    if namespace is _ABSENT:
        namespace = ""
    if type(namespace) is not str:
        raise unreadable("the namespace is not text")
    if ns_hash != _namespace_hash(namespace) and not _has_other_spellings(namespace):
        raise unreadable("the namespace hash in the header is not that of the namespace")


def _seconds(created_at: int) -> int:
    return min(max(created_at, 0) // 1000, _SECONDS_MAX)


@lru_cache(maxsize=512)
def _namespace_hash(namespace: str) -> bytes:
    return sha256(namespace.encode()).digest()[:2] if namespace else b"\0\0"


# Where code points lie whose NFC is something else (U+212A is K, U+0F43 is two letters).
_RESPELT_RANGES: Final = ((0x340, 0x3000), (0xF900, 0xFB50), (0x1D100, 0x1D200), (0x2F800, 0x2FA20))


@cache
def _respelt() -> frozenset[str]:
    found: set[str] = set()
    for start, end in _RESPELT_RANGES:
        for char in map(chr, range(start, end)):
            normal = unicodedata.normalize("NFC", char)
            if normal != char:
                found.update(normal)
    return frozenset(found)


def _has_other_spellings(text: str) -> bool:
    """Whether some other text may have ``text`` as its NFC."""
    return (
        not _respelt().isdisjoint(text)
        or unicodedata.normalize("NFD", text) != text
        or any(unicodedata.combining(char) for char in text)
        or newer_than_14().search(text) is not None
    )


# --- MessagePack, read ------------------------------------------------------------------------------

# The C reader makes room for a declared array before it reads the items, once a level. Longer ones are walked first,
# without making anything, so that what is declared is known to be there.
_ARRAY_TRUSTED: Final = 4_096
_EXPLAINED_BYTES: Final = 1_048_576
_READ_ERRORS: Final = (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException)


class _PerThread(threading.local):
    """A packer for each thread: one is cheap to use, dear to make, and mixes bytes when used twice at a time."""

    def __init__(self) -> None:
        self.pack: Callable[[Any], bytes] = msgpack.Packer(strict_types=True).pack


_packers = _PerThread()


# Type word, creation time, namespace (`_ABSENT` when there is none), fields, extras: as they stand, not yet checked.


def _unpack(payload: bytes) -> Any:
    try:
        return msgpack.unpackb(payload, max_array_len=_ARRAY_TRUSTED)
    except ValueError:
        if len(payload) <= _ARRAY_TRUSTED:
            raise
    walker = msgpack.Unpacker()
    walker.feed(payload)
    walker.skip()
    return msgpack.unpackb(payload)


def _read_fast(payload: bytes, strict: bool, kind: str) -> _Read | None:
    """The payload when it is sound. None: a strict reader refuses it, a lenient one may have to look closer."""
    try:
        wire = _unpack(payload)
        if type(wire) is not dict:
            return None
        if strict and (_packers.pack(wire) != payload or list(wire) != sorted(wire)):
            return None
        told, created_at, namespace = wire.pop("t", None), wire.pop("ca", None), wire.pop("ns", _ABSENT)
        if type(told) is not str or type(created_at) is not int:
            return None
        if namespace is not _ABSENT and (type(namespace) is not str or not _sound_text(namespace, strict)):
            return None
        fields: dict[str, Any] = {}
        extras: dict[str, Any] = {}
        for key, value in wire.items():
            of = type(value)
            if of is str:
                if strict and not value.isascii() and not is_nfc(value):
                    return None
            elif of is float:
                if not isfinite(value):
                    return None
            elif of not in _BARE and not _sound_item(key, value, strict, kind):
                return None
            name = _PLAIN.get(key)
            if name is not None:
                fields[name] = value
            elif type(key) is str and _sound_text(key, strict):
                _read_item(fields, extras, key, value, kind)
            else:
                return None
    except _READ_ERRORS:
        return None
    return told, created_at, namespace, fields, extras


def _read_slowly(payload: bytes, strict: bool, kind: str) -> _Read:
    """What `_read_fast` left: the fault, told with its place, or what only a lenient reader takes."""
    if strict and len(payload) > _EXPLAINED_BYTES:
        raise malformed("the payload is not canonical; it is too long to say where")
    try:
        wire = CarefulReader(payload, strict, _any_spelling(kind)).payload()
    except RecursionError as error:
        raise too_deep() from error
    told, created_at, namespace = wire.pop("t", None), wire.pop("ca", None), wire.pop("ns", _ABSENT)
    return told, created_at, namespace, *_read_back(wire, kind)


def _any_spelling(kind: str) -> frozenset[str]:
    """The wire keys whose maps have keys that are not normalised."""
    return _VERBATIM_WIRE_KEYS if kind == "workflow" else _NO_KEYS


def _sound_item(key: str, value: object, strict: bool, kind: str) -> bool:
    if isinstance(value, bytes):
        return key == DIGEST_KEY and len(value) == DIGEST_BYTES
    return _sound(value, strict, 2, key in _any_spelling(kind))


_BARE: Final = frozenset((bool, int, type(None)))


def _sound_text(text: str, strict: bool) -> bool:
    return not strict or text.isascii() or is_nfc(text)


def _sound(found: object, strict: bool, depth: int, any_keys: bool = False) -> bool:
    """Whether a container, its byte form already known to be the shortest, may stand ``depth`` levels down."""
    if depth > MAX_DEPTH:
        return False
    items: Iterable[object]
    if isinstance(found, dict):
        if strict and list(found) != sorted(found):
            return False
        for key in found:
            if type(key) is not str or not (any_keys or _sound_text(key, strict)):
                return False
        items = found.values()
    elif isinstance(found, list):
        items = found
    else:
        return False
    for item in items:
        of = type(item)
        if isinstance(item, str):
            if not _sound_text(item, strict):
                return False
        elif isinstance(item, float):
            if not isfinite(item):
                return False
        elif of not in _BARE and not _sound(item, strict, depth + 1):
            return False
    return True


# --- wire map -> fields and extras -------------------------------------------------------------------

_ABSENT: Final = object()
_NO_KEYS: Final[frozenset[str]] = frozenset()


def _read_back(wire: dict[str, Any], kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    fields: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    for key, value in wire.items():
        name = _PLAIN.get(key)
        if name is not None:
            fields[name] = value
        else:
            _read_item(fields, extras, key, value, kind)
    return fields, extras


def _read_item(fields: dict[str, Any], extras: dict[str, Any], key: str, value: Any, kind: str) -> None:
    if key not in LONG and key not in SAME[kind]:
        extras[key] = value
        return
    snapshot = key == "ctx" and kind == "state"
    long = _expand(key, value) if key in _EXPANDED and not snapshot else value
    if long is _ABSENT:
        extras[key] = value
    else:
        fields[LONG.get(key, key)] = long


_EXPANDED: Final[dict[str, Mapping[str, str]]] = {
    "ctx": INT_LONG,
    "cctx": INT_LONG,
    "edges": EDGE_LONG,
    "rt": RELATED_LONG,
    DIGEST_KEY: {},
}
_PLAIN: Final = {key: name for key, name in LONG.items() if key not in _EXPANDED}


def _expand(key: str, value: object) -> Any:
    """The value with long names, or `_ABSENT` when compacting it again would not give these bytes."""
    if key == DIGEST_KEY:
        return value.hex() if isinstance(value, bytes) else _ABSENT
    table = _EXPANDED[key]
    if isinstance(value, dict) and key in ("ctx", "cctx"):
        return _expand_map(value, table)
    if isinstance(value, list) and key in ("edges", "rt"):
        items = [_expand_map(item, table) if isinstance(item, dict) else item for item in value]
        return _ABSENT if any(item is _ABSENT for item in items) else items
    return value


def _expand_map(found: dict[str, Any], table: Mapping[str, str]) -> Any:
    if found.keys().isdisjoint(table.values()):
        return {table.get(key, key): value for key, value in found.items()}
    return _ABSENT


# --- writing ----------------------------------------------------------------------------------------


def encode(grain: Grain) -> bytes:
    """The blob of ``grain`` (INV-CODEC-1, INV-CODEC-3).

    Everything the grain holds is written, nothing is added: text is normalised, keys are sorted, names shortened.

    Raises:
        DejaError: FMT-E001 unknown type, a header value out of range, larger than `MAX_BYTES`; FMT-E002 a value
            MessagePack cannot hold here (NaN, bytes, a non-text key, a lone surrogate, nested too deeply).
    """
    header = _header(grain)
    try:
        wire = _wire_map(grain) if grain.wire is None else grain.wire
        payload = _packers.pack({key: wire[key] for key in sorted(wire)})
    except RecursionError as error:
        raise too_deep() from error
    except UnicodeEncodeError as error:
        raise _unwritable("FMT-E002", "text holds a lone surrogate") from error
    except (ValueError, TypeError, OverflowError) as error:
        raise _unwritable("FMT-E002", "the grain holds a value that MessagePack cannot") from error
    if len(payload) > MAX_BYTES - 9:
        raise _wrong_size(len(payload) + 9)
    return header + payload


def _header(grain: Grain) -> bytes:
    type_byte, created_at = TYPES.get(grain.type), grain.created_at
    if type_byte is None:
        raise _unwritable("FMT-E001", "the grain has an unknown type")
    if type(created_at) is not int or not _INT_MIN <= created_at <= _INT_MAX:
        raise _unwritable("FMT-E001", "the creation time is not a 64-bit number of milliseconds")
    if not 0 <= grain.flags <= 0xFF or len(grain.ns_hash) != 2:
        raise _unwritable("FMT-E001", "the flags or the namespace hash do not fit the header")
    return _HEADER.pack(_VERSION, grain.flags, type_byte, grain.ns_hash, _seconds(created_at))


def _unwritable(code: str, message: str) -> DejaError:
    return DejaError(code, message, "Change the value and add the grain again.")


def _wire_map(grain: Grain) -> dict[str, Any]:
    kind = grain.type
    wire: dict[str, Any] = {}
    for key, value in grain.extras.items():
        wire[_nfc_key(key)] = _tidy(value)
    for name, value in grain.fields.items():
        of = type(value)
        if of is dict or of is list:
            value = _shorten(name, value, kind)
        elif name == DIGEST_FIELD:
            value = _digest(value)
        elif of is str:
            if not value.isascii():
                value = nfc(value)
        else:
            value = _tidy(value)
        wire[SHORT.get(name, name)] = value
    wire["t"] = kind
    wire["ca"] = grain.created_at
    wire.pop("ns", None)  # the header is made of `namespace`; another value here would contradict it
    if grain.namespace is not None:
        wire["ns"] = nfc(grain.namespace)
    return wire


def _shorten(name: str, value: Any, kind: str) -> Any:
    """The container of one field under the names of the wire: the reverse of `_expand`."""
    if name in _VERBATIM_KEYS and kind == "workflow":
        return _tidy(value, any_keys=True)
    tidy = _tidy(value)
    return _shorten_with(_SHORTENED, name, tidy, kind)


_SHORTENED: Final[dict[str, Mapping[str, str]]] = {
    "context": INT_SHORT,
    "common_context": INT_SHORT,
    "edges": EDGE_SHORT,
    "related_to": RELATED_SHORT,
}


def _shorten_with(tables: Mapping[str, Mapping[str, str]], name: str, tidy: Any, kind: str) -> Any:
    table = tables.get(name)
    if table is None or (name == "context" and kind == "state"):
        return tidy
    if isinstance(tidy, dict) and name in _CONTEXTS:
        return _shorten_map(table, tidy)
    if isinstance(tidy, list) and name not in _CONTEXTS:
        return [_shorten_map(table, item) if isinstance(item, dict) else item for item in tidy]
    return tidy


_CONTEXTS: Final = frozenset(("context", "common_context"))


def _shorten_map(table: Mapping[str, str], found: dict[str, Any]) -> dict[str, Any]:
    if table.keys().isdisjoint(found):
        return found
    short = {table.get(key, key): value for key, value in found.items()}
    return {key: short[key] for key in sorted(short)}


def _digest(value: object) -> bytes:
    raw = value if isinstance(value, bytes) else bytes.fromhex(value) if isinstance(value, str) else b""
    if len(raw) != DIGEST_BYTES or (isinstance(value, str) and raw.hex() != value):
        raise _unwritable("FMT-E002", f"{DIGEST_FIELD} is not {DIGEST_BYTES} bytes or their lower-case hex")
    return raw


def _nfc_key(key: object) -> str:
    if type(key) is not str:
        raise _unwritable("FMT-E002", "a key is not text")
    return key if key.isascii() else nfc(key)


def _tidy(value: Any, depth: int = 2, any_keys: bool = False) -> Any:
    """A canonical copy: NFC text, maps in key order, numbers the format has (an integer beyond 64 bits is a float)."""
    of = type(value)
    if of is str:
        return value if value.isascii() else nfc(value)
    if of is bool or value is None:
        return value
    if of is int:
        return value if _INT_MIN <= value <= _WIRE_INT_MAX else float(value)
    if of is float:
        if not isfinite(value):
            raise _unwritable("FMT-E002", "a float is not a finite number")
        return value
    if depth > MAX_DEPTH:
        raise too_deep()
    if of is list or of is tuple:
        return [item if type(item) is str and item.isascii() else _tidy(item, depth + 1) for item in value]
    if of is not dict:
        raise _unwritable("FMT-E002", f"a value is of a kind that grains do not hold: {of.__name__}")
    try:
        plain = "".join(value).isascii() or any_keys
    except TypeError as error:
        raise _unwritable("FMT-E002", "a key is not text") from error
    if plain:
        # short text is most of what there is, and costs a call each otherwise (measured)
        return {
            key: item if type(item := value[key]) is str and item.isascii() else _tidy(item, depth + 1)
            for key in sorted(value)
        }
    # Of two keys with one normal form, the one that sorts last as it was given stays.
    named = {_nfc_key(key): value[key] for key in sorted(value)}
    return {key: _tidy(named[key], depth + 1) for key in sorted(named)}


# --- making -----------------------------------------------------------------------------------------


def make_grain(
    type: str,
    fields: Mapping[str, Any],
    *,
    namespace: str | None,
    created_at: int,
    extras: Mapping[str, Any] | None = None,
) -> Grain:
    """A grain with the flags and the namespace hash that its content asks for (INV-CODEC-2).

    Args:
        type: a key of `TYPES`.
        fields: typed fields under long names. Absent and empty-list values are left out as the format says, a missing
            confidence is 1.0, ``type``, ``created_at`` and ``namespace`` are ignored because they are given beside.
        namespace: as its writer spelt it: the header hash is taken over that, the payload holds its NFC (D8).
        created_at: epoch milliseconds.
        extras: keys to write verbatim. One whose wire key a typed field already holds is left out; callers who must
            lose nothing refuse such a pair first (`grains.validate`).

    Raises:
        ValidationError: VAL-E001 unknown type; VAL-E002 created_at is no 64-bit integer.
        DejaError: FMT-E002 a value no grain can hold.
    """
    if type not in TYPES:
        raise ValidationError("VAL-E001", f"unknown grain type; one of {', '.join(TYPES)}")
    if (
        isinstance(created_at, bool)
        or not isinstance(created_at, int)
        or not _INT_MIN <= created_at <= _INT_MAX
    ):
        raise ValidationError("VAL-E002", "created_at is not a 64-bit number of milliseconds")
    try:
        wire = _projected(type, fields, extras or {})
        ns_hash = _namespace_hash(namespace or "")
    except RecursionError as error:
        raise too_deep() from error
    except UnicodeEncodeError as error:
        raise _unwritable("FMT-E002", "the namespace holds a lone surrogate") from error
    except (ValueError, OverflowError) as error:
        raise _unwritable("FMT-E002", "the grain holds a value that MessagePack cannot") from error
    kept, verbatim = _read_back(wire, type)
    told = None if namespace is None else nfc(namespace)
    wire |= {"t": type, "ca": int(created_at)} | ({} if told is None else {"ns": told})
    return Grain(type, int(created_at), told, kept, verbatim, flags_of(kept), ns_hash, wire)


def _projected(kind: str, fields: Mapping[str, Any], extras: Mapping[str, Any]) -> dict[str, Any]:
    wire: dict[str, Any] = {"c": 1.0}
    for name, value in fields.items():
        if name in _BESIDE or (value is None and name not in NULLABLE):
            continue
        if name in OMITTED_WHEN_EMPTY and not value:
            continue
        if name in OMITTED_DEFAULTS and value == OMITTED_DEFAULTS[name]:
            continue
        wire[SHORT.get(name, name)] = _projected_value(name, value, kind)
    taken = wire.keys() | {"t", "ca", "ns"}
    for given in sorted(extras):
        name = _nfc_key(given)
        if name not in taken and SHORT.get(name, name) not in taken:
            wire[name] = _tidy(extras[given])
    return wire


def _projected_value(name: str, value: Any, kind: str) -> Any:
    of = type(value)
    if of is str and name != DIGEST_FIELD:
        return value if value.isascii() else nfc(value)
    if name == DIGEST_FIELD:
        return _digest(value)
    if of is int and name in FLOATS:
        return float(value)
    if name in _VERBATIM_KEYS and kind == "workflow":
        return _tidy(value, any_keys=True)
    tidy = _tidy(value)
    if name == "related_to" and isinstance(tidy, list):
        _float_weights(tidy)
    return _shorten_with(_PROJECTED, name, tidy, kind)


_PROJECTED: Final[dict[str, Mapping[str, str]]] = {
    "context": SHORT,
    "common_context": SHORT,
    "edges": EDGE_SHORT,
    "related_to": RELATED_SHORT,
    "content_refs": CONTENT_REF_SHORT,
    "embedding_refs": EMBEDDING_REF_SHORT,
}


def _float_weights(links: list[Any]) -> None:
    for link in links:
        if isinstance(link, dict) and type(link.get("weight")) is int:
            link["weight"] = float(link["weight"])


def flags_of(fields: Mapping[str, Any]) -> int:
    """The header flags that the typed ``fields`` ask for: references, machine-made, sensitivity."""
    flags = 0
    if "content_refs" in fields:
        flags |= 0x08
    if "embedding_refs" in fields:
        flags |= 0x10
    if fields.get("source_type") in _AI_SOURCES:
        flags |= 0x20
    tags = fields.get("structural_tags")
    return flags | _sensitivity(tags) if isinstance(tags, list) else flags


def _sensitivity(tags: list[Any]) -> int:
    level = 0
    for tag in tags:
        if not isinstance(tag, str):
            continue
        if tag.startswith("phi:"):
            return 0xC0
        if tag.startswith(("pii:", "sec:", "legal:")):
            level = 0x80
        elif tag.startswith("reg:"):
            level = max(level, 0x40)
    return level
