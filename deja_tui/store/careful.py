# SPDX-License-Identifier: Apache-2.0
"""The careful MessagePack reader: slower than the C one, it says which rule a payload breaks, and where."""

from __future__ import annotations

from math import isfinite
from struct import unpack_from

from deja_tui.errors import DejaError
from deja_tui.store.normal_form import is_nfc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

MAX_DEPTH: Final = 255
"""Most nested containers, the payload map included."""

DIGEST_BYTES: Final = 32
DIGEST_FIELD: Final = "transient_definition_hash"
DIGEST_KEY: Final = "tdh"


def unreadable(message: str) -> DejaError:
    return DejaError("FMT-E001", message, "The grain was left out; ask its sender for a canonical copy.")


def malformed(message: str) -> DejaError:
    return DejaError("FMT-E002", message, "The grain was left out; ask its sender for a canonical copy.")


def too_deep() -> DejaError:
    return malformed(f"the payload nests deeper than {MAX_DEPTH} containers")


# First byte -> bytes of the number or length that follows, and the smallest value that needs that many.
_UNSIGNED: Final = {0xCC: (1, 0x80), 0xCD: (2, 0x100), 0xCE: (4, 0x1_0000), 0xCF: (8, 0x1_0000_0000)}
_SIGNED: Final = {0xD0: (1, -0x20), 0xD1: (2, -0x80), 0xD2: (4, -0x8000), 0xD3: (8, -0x8000_0000)}
_TEXT: Final = {0xD9: (1, 0x20), 0xDA: (2, 0x100), 0xDB: (4, 0x1_0000)}
_BINARY: Final = {0xC4: (1, 0), 0xC5: (2, 0x100), 0xC6: (4, 0x1_0000)}
_ARRAY: Final = {0xDC: (2, 0x10), 0xDD: (4, 0x1_0000)}
_MAP: Final = {0xDE: (2, 0x10), 0xDF: (4, 0x1_0000)}
_FIXED: Final[dict[int, object]] = {0xC0: None, 0xC2: False, 0xC3: True}
_EXTENSIONS: Final = frozenset((0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8))


class CarefulReader:
    """Reads a payload one item at a time and says which rule it breaks, and where (INV-CODEC-5, INV-CODEC-6)."""

    def __init__(self, data: bytes, strict: bool, unnormalised: frozenset[str]) -> None:
        self.data = data
        self.strict = strict
        self.unnormalised = unnormalised
        self.at = 0

    def payload(self) -> dict[str, Any]:
        first = self.data[0]
        if not (0x80 <= first <= 0x8F or first in _MAP):
            raise malformed("the payload is not a map")
        wire: dict[str, Any] = self._value(1, "", False)
        left = len(self.data) - self.at
        if left:
            raise malformed(f"{left} trailing byte(s) after the grain payload")
        return wire

    def _fault(self, what: str, start: int) -> NoReturn:
        raise malformed(f"{what}, at byte {start + 9}")

    def _take(self, count: int, start: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            self._fault("the payload ends inside an item", start)
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def _number(self, form: tuple[int, int], start: int, signed: bool = False) -> int:
        size, least = form
        value = int.from_bytes(self._take(size, start), "big", signed=signed)
        if self.strict and (value >= least if signed else value < least):
            self._fault("a number or length is not in its shortest form", start)
        return value

    def _value(self, depth: int, key: str, any_keys: bool) -> Any:
        start = self.at
        first = self._take(1, start)[0]
        if first <= 0x7F:
            return first
        if first >= 0xE0:
            return first - 0x100
        if first in _FIXED:
            return _FIXED[first]
        if first in _UNSIGNED:
            return self._number(_UNSIGNED[first], start)
        if first in _SIGNED:
            return self._number(_SIGNED[first], start, signed=True)
        if first <= 0x8F or first in _MAP:
            count = first & 0x0F if first <= 0x8F else self._number(_MAP[first], start)
            return self._map(count, depth, start, any_keys)
        if first <= 0x9F or first in _ARRAY:
            count = first & 0x0F if first <= 0x9F else self._number(_ARRAY[first], start)
            self._enter(count, depth, start)
            return [self._value(depth + 1, "", False) for _ in range(count)]
        if first <= 0xBF or first in _TEXT:
            size = first & 0x1F if first <= 0xBF else self._number(_TEXT[first], start)
            return self._text(size, start)
        if first in _BINARY:
            return self._binary(self._take(self._number(_BINARY[first], start), start), depth, key, start)
        return self._float(first, start)

    def _enter(self, items: int, depth: int, start: int) -> None:
        if depth > MAX_DEPTH:
            raise too_deep()
        if items > len(self.data) - self.at:
            self._fault("a container declares more items than there are bytes", start)

    def _map(self, count: int, depth: int, start: int, any_keys: bool) -> dict[str, Any]:
        self._enter(count * 2, depth, start)
        found: dict[str, Any] = {}
        before: str | None = None
        for _ in range(count):
            key = self._key(any_keys)
            if self.strict and before is not None and key <= before:
                self._fault("a key stands twice" if key == before else "keys are not sorted", self.at)
            before = key
            top = depth == 1
            found[key] = self._value(depth + 1, key if top else "", top and key in self.unnormalised)
        return found

    def _key(self, any_spelling: bool) -> str:
        start = self.at
        first = self._take(1, start)[0]
        if 0xA0 <= first <= 0xBF:
            return self._text(first & 0x1F, start, any_spelling)
        if first not in _TEXT:
            self._fault("a key is not text", start)
        return self._text(self._number(_TEXT[first], start), start, any_spelling)

    def _text(self, size: int, start: int, any_spelling: bool = False) -> str:
        raw = self._take(size, start)
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            if self.strict:
                self._fault("text is not UTF-8", start)
            return ""
        if self.strict and not any_spelling and not text.isascii() and not is_nfc(text):
            self._fault("text is not in normal form C", start)
        return text

    def _binary(self, raw: bytes, depth: int, key: str, start: int) -> bytes | str:
        digest = depth == 2 and key == DIGEST_KEY
        if self.strict and not (digest and len(raw) == DIGEST_BYTES):
            self._fault(f"binary stands outside {DIGEST_FIELD}", start)
        return raw if digest and len(raw) == DIGEST_BYTES else raw.hex()

    def _float(self, first: int, start: int) -> float:
        if first in _EXTENSIONS:
            self._fault("extension types are not supported", start)
        if first == 0xC1:
            self._fault("c1 is no MessagePack", start)
        if first == 0xCA and self.strict:
            self._fault("a float is not in its 64-bit form", start)
        value: float
        if first == 0xCA:
            (value,) = unpack_from(">f", self._take(4, start))
        else:
            (value,) = unpack_from(">d", self._take(8, start))
        if not isfinite(value):
            self._fault("a float is not a finite number", start)
        return value
