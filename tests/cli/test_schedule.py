# SPDX-License-Identifier: Apache-2.0
"""What ``deja loop schedule`` prints is what each scheduler reads: SCH-1, SCH-2."""

from __future__ import annotations

import os
import plistlib
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from deja_tui.capture import schedule
from deja_tui.errors import DejaError
from tests.cli.conftest import Deja
from tests.support import ROOT

HOSTILE = '/home/ana/50% of $HOME\'s "mem ories"/a;b.deja'
COMMAND = ("/usr/local/pro grams/deja", "loop", "run", "--quiet", "--db", HOSTILE)
_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def crontab(line: str) -> tuple[list[str], str]:
    """The five fields of a crontab line, checked, and what the shell is given."""
    *fields, command = line.split(" ", 5)
    assert len(fields) == 5
    for told, (low, high) in zip(fields, _FIELDS, strict=True):
        match = re.fullmatch(r"\*(?:/(\d+))?|(\d+)", told)
        assert match, told
        if match[1]:
            assert (high - low + 1) % int(match[1]) == 0, "the last gap of the hour or day would be shorter"
        if match[2]:
            assert low <= int(match[2]) <= high
    bare = re.sub(r"(?<!\\)%", "\n", command)
    assert "\n" not in bare, "a bare percent sign ends the command"
    return fields, command.replace(r"\%", "%")


@pytest.mark.parametrize(
    ("every", "fields"),
    [
        ("30m", "*/30 * * * *"),
        ("6h", "0 */6 * * *"),
        ("1h", "0 * * * *"),
        ("1d", "0 3 * * *"),
        ("7d", "0 3 * * 1"),
    ],
)
def test_a_crontab_line(every: str, fields: str) -> None:
    """SCH-1: five fields that cron keeps evenly, and a command that a shell splits back into its words."""
    span = int(every[:-1]) * {"m": schedule.MINUTE, "h": schedule.HOUR_MS, "d": schedule.DAY_MS}[every[-1]]
    comment, line = schedule.cron(span, COMMAND)
    assert comment.startswith("#")
    found, command = crontab(line)
    assert found == fields.split()
    assert tuple(shlex.split(command)) == COMMAND


@pytest.mark.parametrize(
    ("span", "near"), [(7 * schedule.HOUR_MS, "6h"), (50 * schedule.MINUTE, "1h"), (1_000, "1m")]
)
def test_a_span_that_cron_cannot_keep_is_refused(span: int, near: str) -> None:
    """SCH-2: with the nearest one that it can."""
    with pytest.raises(DejaError) as refused:
        schedule.cron(span, COMMAND)
    assert near in refused.value.next_step


def test_a_property_list() -> None:
    """SCH-1: plistlib reads it; the words are the command's, the span is in seconds."""
    told = plistlib.loads("\n".join(schedule.launchd(6 * schedule.HOUR_MS, COMMAND)).encode())
    assert tuple(told["ProgramArguments"]) == COMMAND
    assert told["StartInterval"] == 21_600
    assert told["Label"] == "deja-loop"


def units(text: str) -> dict[str, str]:
    """The files that the printed text holds, by name."""
    parts = re.split(r"^# ~/\.config/systemd/user/(deja-loop\.\w+).*$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_units_of_systemd(tmp_path: Path) -> None:
    """SCH-1: a service and a timer; `systemd-analyze verify` finds nothing where it is installed."""
    (tmp_path / "deja").write_text("#!/bin/sh\n")
    (tmp_path / "deja").chmod(0o755)
    command = (str(tmp_path / "deja"), *COMMAND[1:])
    found = units("\n".join(schedule.systemd(6 * schedule.HOUR_MS, command)))
    assert sorted(found) == ["deja-loop.service", "deja-loop.timer"]
    assert "OnUnitActiveSec=21600s" in found["deja-loop.timer"]
    assert r"50%% of $$HOME's \"mem ories\"/a;b.deja" in found["deja-loop.service"]
    program = shutil.which("systemd-analyze")
    if program is None:
        return
    for name, text in found.items():
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in found]
    code, told = verified(program, tmp_path, *paths)
    if "Failed to initialize manager" in told:
        return
    assert (code, told) == (0, "")
    (tmp_path / "deja-loop.service").write_text(
        found["deja-loop.service"].replace("ExecStart=", "ExecStart=./")
    )
    assert verified(program, tmp_path, *paths)[0] != 0, "what is broken must be found, or nothing was checked"


def verified(program: str, folder: Path, *paths: str) -> tuple[int, str]:
    """What systemd says of unit files."""
    env = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
    argv = [program, "verify", "--user", "--man=no", *paths]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def test_a_task_of_windows() -> None:
    """SCH-1: one command; the program's path and the memory's are quoted inside it."""
    (line,) = schedule.windows(
        6 * schedule.HOUR_MS, ("C:\\Program Files\\deja.exe", "loop", "run", "--db", "C:\\m.deja")
    )
    assert line == (
        'schtasks /Create /F /TN "deja-loop" /SC HOURLY /MO 6 '
        r'/TR "\"C:\Program Files\deja.exe\" loop run --db C:\m.deja"'
    )


@pytest.mark.parametrize("kind", list(schedule.KINDS))
def test_the_verb_prints_and_installs_nothing(
    kind: str,
    deja: Deja,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The absolute program and the absolute path of the file; the home folder stays as it was."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    done = deja("loop", "schedule", "--print", "--every", "6h", "--os", kind, "--db", "m.deja")
    assert done.code == 0, done.err
    assert str(tmp_path / "m.deja") in done.out
    assert not list(tmp_path.iterdir())
    told = deja("loop", "schedule", "--print", "--os", kind, "--db", "m.deja", "--format", "json").json
    assert told["every_ms"] == 21_600_000
    assert Path(told["command"][0]).is_absolute()
    assert deja("loop", "schedule", "--os", kind).code == 64


def test_what_it_prints_runs(deja: Deja, tmp_path: Path) -> None:
    """The printed command line, given to a shell, runs the loop."""
    db = tmp_path / "m.deja"
    assert deja("add", "a", "b", "c", "--db", db).code == 0
    (*_, line) = deja("loop", "schedule", "--print", "--os", "cron", "--db", db).out.splitlines()
    command = crontab(line)[1]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert not done.stdout
