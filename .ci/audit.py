# SPDX-License-Identifier: Apache-2.0
"""Compare the pinned packages with published advisories (pip-audit), and say plainly what was and what was not compared.

Exit 1 where an advisory names a pinned version. Without a network, or where the advisories are not served, it ends with 0 and a
line that begins with "NOT AUDITED": a build on a lone machine is no reason to fail, a silent pass is. Whatever the network, the
pins are compared with the advisories that requirements/advisories.json holds: those that were read about, by hand.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PINNED = ("requirements/ci.txt", "requirements/audit.txt")
LIMIT_S = 240


def main() -> int:
    """Audit every pinned file; the worst of their answers."""
    kept = max(compared(name) for name in PINNED)
    with tempfile.TemporaryDirectory() as folder:
        tool, why = installed(Path(folder))
        if tool is None:
            return max(kept, told_not("pip-audit could not be installed", why))
        return max(kept, *(audit(tool, name) for name in PINNED))


def compared(name: str) -> int:
    """The pins of one file beside the advisories that are kept here; 1 where one names a pin and nobody accepted that."""
    text = (ROOT / name).read_text()
    pins = dict(re.findall(r"^([a-z0-9.-]+)==([\w.]+)", text, re.MULTILINE))
    kept = json.loads((ROOT / "requirements" / "advisories.json").read_text())
    told = [one for one in kept if one["package"] in pins]
    hit = [one for one in told if ordered(pins[one["package"]]) < ordered(one["fixed"])]
    for one in hit:
        why = f"accepted: {one['accepted']}" if "accepted" in one else f"fixed in {one['fixed']}"
        say(f"{name}: {one['package']} {pins[one['package']]}: {one['id']}, {one['about']}; {why}")
    say(f"{name}: advisories kept here about its pins: {len(told)}, that name a pinned version: {len(hit)}")
    return int(any("accepted" not in one for one in hit))


def ordered(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def installed(folder: Path) -> tuple[Path | None, str]:
    """pip-audit in an environment of its own, at the versions and hashes of requirements/audit.txt; or why not."""
    done = ran([sys.executable, "-m", "venv", str(folder)])
    if done is None or done.returncode:
        return None, "no environment could be made"
    python = folder / "bin" / "python"
    wanted = ["--require-hashes", "-r", str(ROOT / "requirements" / "audit.txt")]
    done = ran([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
    if done is None or done.returncode:
        return None, last_line(done)
    return python, ""


def audit(python: Path, name: str) -> int:
    """One file of pins: what an advisory names, and how many packages were compared at all."""
    options = ["--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
    done = ran([str(python), "-m", "pip_audit", *options, "-r", str(ROOT / name)])
    if done is None:
        return told_not(name, f"pip-audit took longer than {LIMIT_S} s")
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return told_not(name, last_line(done))
    return judged(name, packages)


def judged(name: str, packages: Sequence[dict[str, Any]]) -> int:
    """Print what was found; 1 where an advisory names a pinned version."""
    left_out = [one["name"] for one in packages if "skip_reason" in one]
    named = [(one, fault) for one in packages for fault in one.get("vulns", ())]
    for one, fault in named:
        fixed = ", ".join(fault.get("fix_versions", ())) or "none yet"
        say(f"{name}: {one['name']} {one['version']}: {fault['id']}, fixed in {fixed}")
    compared = len(packages) - len(left_out)
    if not compared:
        told_not(name, f"no advisory database answered for any of {len(left_out)} packages")
    elif left_out:
        told_not(name, f"{len(left_out)} of {len(packages)} packages: {', '.join(left_out)}")
    if compared:
        say(f"{name}: packages compared: {compared}, advisories: {len(named)}")
    return 1 if named else 0


def told_not(what: str, why: str) -> int:
    """Never silent: what was not audited, and why."""
    say(f"NOT AUDITED: {what}: {why}")
    return 0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


def ran(argv: list[str]) -> subprocess.CompletedProcess[str] | None:
    """None where it took too long."""
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None


def last_line(done: subprocess.CompletedProcess[str] | None) -> str:
    """What a failed program said last."""
    told = done.stderr.strip().splitlines() if done is not None else []
    return told[-1][:200] if told else "it took too long, or said nothing"


if __name__ == "__main__":
    sys.exit(main())
