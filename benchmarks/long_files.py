# SPDX-License-Identifier: Apache-2.0
"""What importing a long file costs in memory: ``python benchmarks/long_files.py [--mb 50 200 1000] [--kind KIND …]``.

A file of that size is made up, imported into a new memory by a process of its own, and removed. Peak of resident memory
and seconds of CPU of that process. Calls have results, ids and parents, one call in ten fails, one record in fifty has no id.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_SAID = "the quick brown fox jumps over the lazy dog and goes home again " * 12
_BEGIN = 1_700_000_000


def _at(number: int) -> str:
    minutes, seconds = divmod(number % 86_400, 60)
    return f"2026-01-{1 + number // 86_400 % 28:02d}T{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}Z"


def claude_code() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        base = {"sessionId": f"s{number // 5_000}", "version": "2.0", "timestamp": _at(number)}
        call = {
            "type": "tool_use",
            "id": f"toolu_{number:012d}",
            "name": f"tool{number % 40}",
            "input": {"n": number},
        }
        message = {"id": f"msg_{number:012d}", "role": "assistant", "content": [call]}
        named = (
            {}
            if number % 50 == 0
            else {"uuid": f"a{number:035d}", "parentUuid": f"u{number - 1:035d}" if number > 1 else None}
        )
        yield base | named | {"type": "assistant", "message": message}
        text = f"{number} {_SAID}"
        result = {
            "type": "tool_result",
            "tool_use_id": call["id"],
            "content": text,
            "is_error": number % 10 == 0,
        }
        yield base | {"uuid": f"u{number:035d}", "parentUuid": f"a{number:035d}", "type": "user", "message": {"role": "user", "content": [result]}}  # fmt: skip


def openai() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        call = {
            "id": f"call_{number:012d}",
            "function": {"name": f"tool{number % 40}", "arguments": f'{{"n": {number}}}'},
        }
        base = {"session_id": f"s{number // 5_000}", "created_at": _BEGIN + number}
        yield base | {"role": "assistant", "content": None, "tool_calls": [call]}
        said = f"{'Error: ' if number % 10 == 0 else ''}{number} {_SAID}"
        yield base | {"role": "tool", "tool_call_id": call["id"], "content": said}


def mcp_memory() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        yield {
            "type": "entity",
            "name": f"e{number}",
            "entityType": "thing",
            "observations": [f"{number} {_SAID}"],
        }
        yield {"type": "relation", "from": f"e{number}", "to": f"e{number + 1}", "relationType": "near"}


def otel() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"tool{number % 40}", "gen_ai.tool.call.result": f"{number} {_SAID}"}  # fmt: skip
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in told.items()]
        ends = str((_BEGIN + number) * 10**9)
        yield {
            "traceId": f"t{number // 5_000}",
            "spanId": f"{number:016x}",
            "attributes": attributes,
            "endTimeUnixNano": ends,
        }


def chatgpt() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        mapping = {}
        for step in range(20):
            message = {"id": f"m{number}-{step}", "author": {"role": "user"}, "create_time": _BEGIN + number, "content": {"parts": [_SAID]}}  # fmt: skip
            mapping[f"n{step}"] = {
                "parent": f"n{step - 1}" if step else None,
                "children": [],
                "message": message,
            }
        yield {"id": f"c{number}", "mapping": mapping, "current_node": "n19"}


def letta() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        messages = [
            {"id": f"m{number}-{step}", "role": "user", "content": f"{step} {_SAID}"} for step in range(200)
        ]
        yield {"id": f"a{number}", "name": f"agent {number}", "messages": messages}


# what stands around the records where the file is one document
AROUND = {
    "otel": ('{"resourceSpans": [{"scopeSpans": [{"spans": [', "]}]}]}"),
    "chatgpt": ('{"conversations": [', "]}"),
    "letta": ('{"tools": [], "agents": [', "]}"),
}
KINDS: dict[str, Callable[[], Iterator[Any]]] = {
    "claude-code": claude_code,
    "openai": openai,
    "mcp-memory": mcp_memory,
    "otel": otel,
    "chatgpt": chatgpt,
    "letta": letta,
}


def write(path: Path, kind: str, size: int) -> int:
    """Write records until the file is ``size`` bytes long; how many."""
    written = records = 0
    before, after = AROUND.get(kind, ("", ""))
    with path.open("w") as file:
        file.write(before)
        for record in KINDS[kind]():
            between = "," if before and records else ""
            written += file.write(between + json.dumps(record) + "\n")
            records += 1
            if written >= size:
                break
        file.write(after)
    return records


def measure(folder: Path, kind: str, mb: int) -> None:
    source, memory = folder / f"long.{'json' if kind in AROUND else 'jsonl'}", folder / "long.deja"
    records = write(source, kind, mb * 2**20)
    words = [sys.executable, __file__, "--run", kind, str(source), str(memory)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT)
    print(f"{kind:12} {mb:5} MB {records:9,} records   {done.stdout.strip()}", flush=True)
    for path in folder.iterdir():
        path.unlink()


def run(kind: str, source: Path, memory: Path) -> None:
    sys.path.insert(0, str(ROOT))
    from deja_tui import Memory
    from deja_tui.capture.files import import_path
    from deja_tui.capture.registry import source as importer

    with Memory.open(memory, durability="normal") as opened:
        report = import_path(opened, importer(kind), source, now_ms=1_790_000_000_000)
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = used.ru_maxrss / 1024
    print(f"{report.added:9,} grains   peak {peak:6.1f} MiB   {used.ru_utime + used.ru_stime:7.1f} s CPU")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--kind", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument(
        "--in", dest="folder", default=os.environ.get("TMPDIR"), help="where the files are made"
    )
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        run(given.run[0], Path(given.run[1]), Path(given.run[2]))
        return 0
    for kind in given.kind:
        for mb in given.mb:
            with tempfile.TemporaryDirectory(dir=given.folder, prefix="deja-long-") as folder:
                measure(Path(folder), kind, mb)
    return 0


if __name__ == "__main__":
    sys.exit(main())
