# SPDX-License-Identifier: Apache-2.0
"""The benchmark runs: a figure nobody can reproduce is no figure."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support import ROOT

LINES = {
    "bulk add, a grain",
    "open, first read, close",
    "recall, typical",
    "latest",
    "history of 100",
    "search, three words",
    "view: duplicate facts, decoded",
    "add one, durable, searchable",
    "bytes a grain",
}


def test_the_benchmark_of_the_store_runs_and_names_what_it_measures() -> None:
    """A small corpus, every line of the report, as JSON."""
    done = subprocess.run(
        [sys.executable, "benchmarks/store.py", "--grains", "400", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert set(report) >= LINES
    assert all(row["cpu_us"] > 0 for name, row in report.items() if name != "bytes a grain")
