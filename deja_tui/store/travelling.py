# SPDX-License-Identifier: Apache-2.0
"""Settings that go along with segments, as ``settings.jsonl`` in the folder of the copy they are from (INV-SEGMENT-5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deja_tui.store import oplog, settings
from deja_tui.store.arrive import MAX_AHEAD_MS
from deja_tui.store.whole import replacing

if TYPE_CHECKING:
    from deja_tui.store.memory import Store

SETTINGS: Final = "settings.jsonl"
_SETTINGS_MAX: Final = 1_048_576


def _is_text_of_a_query(value: object) -> bool:
    return isinstance(value, dict)


def _switches_off(value: object) -> bool:
    return value == {"enabled": False}


def _is_time(value: object) -> bool:
    return type(value) is int and value >= 0


_TRAVELS: Final[Mapping[str, Callable[[object], bool]]] = {
    "cal.query:": _is_text_of_a_query,
    "cal.template:": _is_text_of_a_query,
    "loop.analyzer:": _switches_off,
    "loop.cooldown:": _is_time,
}
"""Prefix of the key, and which values may come along: texts that are checked again whenever they run, and values that
make the loop do less. A query or template only fills a free name."""


def _may_travel(key: object, value: object) -> bool:
    return isinstance(key, str) and any(
        key.startswith(prefix) and fits(value) for prefix, fits in _TRAVELS.items()
    )


def write_settings(store: Store, folder: Path) -> int:
    """Write ``settings.jsonl`` anew when it would differ; how many lines it has."""
    kept = [
        json.dumps({"key": key, "value": value, "hlc": hlc}, sort_keys=True)
        for prefix in _TRAVELS
        for key, value, hlc, _ in settings.stamped(store.reading(), prefix)
        if _may_travel(key, value)
    ]
    told = "".join(f"{line}\n" for line in kept).encode()
    path = folder / SETTINGS
    if (path.read_bytes() if path.is_file() else b"") != told:
        with replacing(path) as file:
            file.write(told)
    return len(kept)


def take_settings(store: Store, folder: Path) -> int:
    path = folder / SETTINGS
    if not path.is_file() or path.stat().st_size > _SETTINGS_MAX:
        return 0
    taken = 0
    latest = oplog.last_of(store.now() + MAX_AHEAD_MS)
    for raw in path.read_bytes().splitlines():
        key, value, hlc = _setting(raw)
        if not _may_travel(key, value) or not 0 <= hlc <= latest:
            continue
        here = {
            name: (old, clock, source) for name, old, clock, source in settings.stamped(store.reading(), key)
        }
        old, clock, source = here.get(key, (None, -1, "sync"))
        if source != "sync" or old == value or clock >= hlc:
            continue
        with store.act() as act:
            act.set_setting(key, value, source="sync", hlc=hlc)
        taken += 1
    return taken


def _setting(raw: bytes) -> tuple[str, Any, int]:
    try:
        told = json.loads(raw)
    except ValueError:
        return "", None, 0
    if not isinstance(told, dict) or type(told.get("hlc")) is not int:
        return "", None, 0
    return str(told.get("key", "")), told.get("value"), told["hlc"]
