# SPDX-License-Identifier: Apache-2.0
"""The benchmark of bundles, segments and chains runs, so that its figures can be had again."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support import ROOT

LINES = {
    "bundle, whole",
    "import, a grain",
    "import again, a grain",
    "pull all, a grain",
    "pull, nothing new",
    "restore, a grain",
    "recall as of a time",
    "forks",
    "peak MiB",
}


def test_the_benchmark_names_what_it_measures() -> None:
    """A small corpus, every line, as JSON."""
    command = [sys.executable, "benchmarks/sync.py", "--grains", "300", "--rounds", "1", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert set(report) >= LINES
    assert all(row["cpu_us"] > 0 for name, row in report.items() if name != "peak MiB")
