# SPDX-License-Identifier: Apache-2.0
"""The benchmark of large files runs at a small size, so that its figures can be had again."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support import ROOT


def test_the_benchmark_of_sizes_names_what_it_measures() -> None:
    """Load, bytes, opening, memory: each a positive number."""
    command = [sys.executable, "benchmarks/size.py", "--grains", "300", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert set(report) >= {
        "grains a second of CPU",
        "bytes a grain",
        "open, ms of CPU",
        "first recall, ms of CPU",
    }
    assert all(value > 0 for value in report.values())
