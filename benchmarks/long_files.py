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
import shutil
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


def letta_one() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        yield {"id": f"m{number}", "role": "user", "content": f"{number} {_SAID}"}


def mem0() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        yield {"id": f"m{number}", "memory": f"{number} {_SAID}", "user_id": f"u{number % 100}", "created_at": _at(number)}  # fmt: skip


def mem0_history() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        event = ("ADD", "UPDATE", "UPDATE", "DELETE" if number % 40 == 0 else "NOOP")[number % 4]
        yield {"id": f"h{number}", "memory_id": f"m{number // 4}", "event": event, "new_memory": f"{number} {_SAID}", "created_at": _at(number)}  # fmt: skip


def zep() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        yield {
            "uuid": f"e{number}", "source_node_uuid": f"n{number // 10}", "target_node_uuid": f"n{number}",
            "name": "KNOWS", "fact": f"{number} {_SAID}", "created_at": _at(number), "episodes": [f"p{number}"],
        }  # fmt: skip


def swe_agent() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        yield {"action": f"cat {number}", "response": f"now {number}", "observation": f"{number} {_SAID}"}


def mini_swe_agent() -> Iterator[Any]:
    number = 0
    while True:
        number += 1
        at = {"timestamp": _BEGIN + number}
        yield {"role": "assistant", "content": f"```bash\ncat {number}\n```", "extra": at}
        said = f"<returncode>{int(number % 10 == 0)}</returncode> {number} {_SAID}"
        yield {"role": "user", "content": said, "extra": at}


def note(number: int) -> str:
    """A note of a vault, with an observation and two links."""
    said = f"---\ntitle: n{number}\npermalink: n{number}\n---\n\n- [fact] {number} {_SAID}\n- near [[n{number + 1}]]\n"
    return f"{said}\nSee [[n{number - 1}]]. {_SAID * 4}\n"


# what stands around the records where the file is one document
AROUND = {
    "otel": ('{"resourceSpans": [{"scopeSpans": [{"spans": [', "]}]}]}"),
    "chatgpt": ('{"conversations": [', "]}"),
    "letta": ('{"tools": [], "agents": [', "]}"),
    "letta-one": ('{"name": "g", "core_memory": [], "messages": [', "]}"),
    "mem0": ('{"results": [', "]}"),
    "mem0-history": ("[", "]"),
    "zep": ('{"edges": [', '], "episodes": []}'),
    "swe-agent": ('{"history": [], "info": {}, "trajectory": [', "]}"),
    "mini-swe-agent": ('{"info": {}, "messages": [', "]}"),
}
IMPORTERS = {"letta-one": "letta", "mem0-history": "mem0"}
KINDS: dict[str, Callable[[], Iterator[Any]]] = {
    "claude-code": claude_code,
    "openai": openai,
    "mcp-memory": mcp_memory,
    "otel": otel,
    "chatgpt": chatgpt,
    "letta": letta,
    "letta-one": letta_one,
    "mem0": mem0,
    "mem0-history": mem0_history,
    "zep": zep,
    "swe-agent": swe_agent,
    "mini-swe-agent": mini_swe_agent,
}
VAULT = "basic-memory"


def write(path: Path, kind: str, size: int) -> int:
    """Write records until the file is ``size`` bytes long; how many."""
    if kind == VAULT:
        path.mkdir()
        records = size // len(note(1))
        for number in range(records):
            (path / f"n{number}.md").write_text(note(number))
        return records
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
    shutil.rmtree(folder)
    folder.mkdir()


def run(kind: str, source: Path, memory: Path) -> None:
    sys.path.insert(0, str(ROOT))
    from deja_tui import Memory
    from deja_tui.capture.files import import_path
    from deja_tui.capture.registry import source as importer

    with Memory.open(memory, durability="normal") as opened:
        report = import_path(opened, importer(IMPORTERS.get(kind, kind)), source, now_ms=1_790_000_000_000)
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = used.ru_maxrss / 1024
    print(f"{report.added:9,} grains   peak {peak:6.1f} MiB   {used.ru_utime + used.ru_stime:7.1f} s CPU")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--kind", nargs="+", default=[*KINDS, VAULT], choices=[*KINDS, VAULT])
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
