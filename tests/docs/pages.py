# SPDX-License-Identifier: Apache-2.0
"""What runs a page: its ``console`` blocks in their order, in one folder with a home of its own, as a small shell would.

* A block whose fence names a file (`` ```json policy.json ``) is that file.
* ``$ `` begins a command. The lines below it are of its output, in their order; ``…`` stands for anything.
* ``# ends with 2`` after a command is its exit status; without it the status is 0.
* ONE and ANOTHER are the first two addresses of the last ``deja loop list``, as README.md says.
* ``NAME=$(deja …)``, ``$(cat FILE)``, ``export``, ``&&``, ``|``, ``<``, ``>``, ``cd``, ``mkdir``, ``cp``, ``cat``, ``echo`` and ``ssh HOST`` are understood,
  nothing else: what an example needs beyond them is too much for an example.
* A line that installs is not carried out; `INSTALLS` lists them all, and ``.ci/run`` installs.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.conftest import Deja
from tests.support import NOW

INSTALLS = {
    "python -m pip install .",
    "python -m pip install 'deja-tui[mcp]'",
    "python -m pip install '.[mcp]'",
    "python -m pip install --upgrade .",
    "pipx install .",
    "uv tool install .",
    "python -m venv .venv && . .venv/bin/activate",
}
# these open a terminal: here they are called without one, which parses every option and then says so
CONSOLES = ("ui",)
_FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """One line of a page, the output it is told to have, and its exit status."""

    line: str
    told: tuple[str, ...]
    code: int


def commands_of(body: str) -> list[Command]:
    """The commands of one block."""
    found: list[Command] = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        line, *told = re.sub(r"\\\n\s*", "", part).rstrip("\n").split("\n")
        ends = re.search(r"\s+# ends with (\d+)$", line)
        line = re.sub(r"\s+# .*$", "", line)
        found.append(Command(line.strip(), tuple(told), int(ends[1]) if ends else 0))
    return found


def all_commands(text: str) -> list[Command]:
    """Every command of a page."""
    return [one for kind, _, body in _FENCE.findall(text) if kind == "console" for one in commands_of(body)]


@dataclass
class Shell:
    """Carries out the blocks of one page in one folder."""

    deja: Deja
    monkeypatch: pytest.MonkeyPatch
    folder: Path
    names: dict[str, str] = field(default_factory=dict)
    now: int = NOW

    def run_page(self, text: str) -> list[str]:
        """The commands that were carried out."""
        done: list[str] = []
        for kind, name, body in _FENCE.findall(text):
            if name:
                path = Path(os.path.expanduser(name))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(body)
            elif kind == "console":
                for command in commands_of(body):
                    self._command(command)
                    done.append(command.line)
        return done

    def _command(self, command: Command) -> None:
        if command.line in INSTALLS:
            return
        out = ""
        *first, last = command.line.split(" && ")
        for line in first:
            out += self._line(line, 0)
        out += self._line(last, command.code)
        self._compare(command, out)

    def _compare(self, command: Command, out: str) -> None:
        lines = iter(out.splitlines())
        for told in command.told:
            pattern = ".*".join(re.escape(part) for part in told.rstrip().split("…"))
            if told.strip() == "…":
                continue
            assert any(re.fullmatch(pattern, line.rstrip()) for line in lines), (
                f"$ {command.line}\nno line is {told!r} in:\n{out}"
            )

    def _line(self, line: str, code: int) -> str:
        fed, _, rest = line.rpartition(" | ")
        stdin = self._line(fed, 0) if fed else ""
        rest = re.sub(r"^ssh (-t )?[\w@.-]+ ", "", rest)
        assigned = re.fullmatch(r"([A-Z]+)=\$\((.+)\)", rest)
        if assigned:
            self.names[f"${assigned[1]}"] = self._line(assigned[2], 0).strip()
            return ""
        words = [self._word(word) for word in shlex.split(rest)]
        target = words[-1] if len(words) > 2 and words[-2] == ">" else None
        if target:
            words = words[:-2]
        elif len(words) > 2 and words[-2] == "<":
            stdin, words = Path(words[-1]).read_text(), words[:-2]
        out = self._words(words, stdin, code)
        if target:
            Path(target).write_text(out)
            return ""
        return out

    def _word(self, word: str) -> str:
        word = self.names.get(word, word)
        word = re.sub(r"\$\(cat ([\w./-]+)\)", lambda found: Path(found[1]).read_text(), word)
        return os.path.expanduser(word)

    def _words(self, words: list[str], stdin: str, code: int) -> str:
        match words:
            case ["deja", *rest]:
                return self._deja(rest, stdin, code)
            case ["echo", *rest]:
                return " ".join(rest) + "\n"
            case ["cat", path]:
                return Path(path).read_text()
            case ["cd", path]:
                self.monkeypatch.chdir(path)
            case ["mkdir", "-p", path]:
                Path(path).mkdir(parents=True, exist_ok=True)
            case ["cp", source, path]:
                shutil.copy(source, path)
            case ["export", assignment]:
                name, _, value = assignment.partition("=")
                self.monkeypatch.setenv(name, value)
            case _:
                raise AssertionError(f"a page may not ask for {words}")
        return ""

    def _deja(self, words: list[str], stdin: str, code: int) -> str:
        self.now += 1_000
        self.monkeypatch.setenv("DEJA_LOOP_NOW_MS", str(self.now))
        self.monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        done = self.deja(*words)
        if words[:1] == [*CONSOLES]:
            assert (done.code, done.err.split()[0]) == (1, "CLI-E001"), (words, done.err)
            return ""
        assert done.code == code, (words, done.code, done.out, done.err)
        if words[:2] == ["loop", "list"] and code != 64 and "--format" not in words:
            rows = self.deja(*words, "--format", "json").json["recommendations"]
            self.names.update(zip(("ONE", "ANOTHER"), (row["address"] for row in rows), strict=False))
        return done.out + done.err
