# SPDX-License-Identifier: Apache-2.0
"""What loading costs, as a multiple of ``import apsw, msgpack, xxhash`` (D47): ``python benchmarks/imports.py``.

CPU time (user and system) of fresh processes, the least of nine; byte code is written first.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASE = "import apsw, msgpack, xxhash"
LOADED = (
    "deja_tui.store.memory",
    "deja_tui.store.telemetry",
    "deja_tui.contexts",
    "deja_tui.facade",
    "deja_tui.capture",
)


def cost(code: str) -> float:
    """Milliseconds of CPU."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    least = float("inf")
    for _ in range(9):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        least = min(least, spent * 1_000)
    return least


def main() -> int:
    base = cost(BASE)
    print(f"{BASE:40} {base:7.1f} ms")
    for name in LOADED:
        took = cost(f"import {name}")
        print(f"{'import ' + name:40} {took:7.1f} ms   {took / base:5.2f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
