# SPDX-License-Identifier: Apache-2.0
"""Lines that make a machine run the loop every so often. They are printed, never installed.

* SCH-1  The program, the memory and everything else of the command are absolute and quoted for where they stand.
* SCH-2  A span that a scheduler cannot keep evenly is refused with the nearest one that it can: never rounded unsaid.
"""

from __future__ import annotations

import html
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Final

from deja_tui.capture import wiring
from deja_tui.errors import ValidationError
from deja_tui.text import DAY_MS, HOUR_MS

MINUTE: Final = 60_000
_LABEL: Final = "deja-loop"
_CRON_MINUTES: Final = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)
_CRON_HOURS: Final = (1, 2, 3, 4, 6, 8, 12)


def words(db: str | os.PathLike[str]) -> tuple[str, ...]:
    """The command of one run: it says nothing unless something new was found."""
    return (*wiring.program(), "loop", "run", "--quiet", *wiring.options(db))


def cron(every_ms: int, command: Sequence[str]) -> list[str]:
    """One line of a crontab. A crontab ends its line at a bare percent sign, so each is escaped."""
    spans = {
        **{number * MINUTE: f"*/{number} * * * *" for number in _CRON_MINUTES},
        **{number * HOUR_MS: f"0 */{number} * * *" for number in _CRON_HOURS},
        MINUTE: "* * * * *",
        HOUR_MS: "0 * * * *",
        DAY_MS: "0 3 * * *",
        7 * DAY_MS: "0 3 * * 1",
    }
    when = _kept(every_ms, spans, "cron")
    return ["# crontab -e", f"{when} {shlex.join(command)}".replace("%", r"\%")]


def launchd(every_ms: int, command: Sequence[str]) -> list[str]:
    """A property list for ``~/Library/LaunchAgents``."""
    return [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
        "<!-- ~/Library/LaunchAgents/deja-loop.plist, then: launchctl load ~/Library/LaunchAgents/deja-loop.plist -->",
        '<plist version="1.0">',
        "<dict>",
        f"  <key>Label</key><string>{_LABEL}</string>",
        "  <key>ProgramArguments</key>",
        "  <array>",
        *(f"    <string>{html.escape(word, quote=False)}</string>" for word in command),
        "  </array>",
        f"  <key>StartInterval</key><integer>{max(1, every_ms // 1000)}</integer>",
        "  <key>RunAtLoad</key><true/>",
        "</dict>",
        "</plist>",
    ]


def systemd(every_ms: int, command: Sequence[str]) -> list[str]:
    """A service and its timer for ``~/.config/systemd/user``, one after the other."""
    started = " ".join(map(_systemd_word, command))
    return [
        f"# ~/.config/systemd/user/{_LABEL}.service",
        "[Unit]",
        "Description=Let the Deja Loop look at what is new",
        "",
        "[Service]",
        "Type=oneshot",
        f"ExecStart={started}",
        "",
        f"# ~/.config/systemd/user/{_LABEL}.timer, then: systemctl --user enable --now {_LABEL}.timer",
        "[Unit]",
        "Description=When the Deja Loop looks",
        "",
        "[Timer]",
        "OnActiveSec=1min",
        f"OnUnitActiveSec={max(1, every_ms // 1000)}s",
        "",
        "[Install]",
        "WantedBy=timers.target",
    ]


def windows(every_ms: int, command: Sequence[str]) -> list[str]:
    """One command of the Task Scheduler, for a command prompt."""
    spans = {
        **{number * MINUTE: f"MINUTE /MO {number}" for number in range(1, 60)},
        **{number * HOUR_MS: f"HOURLY /MO {number}" for number in range(1, 24)},
        **{number * DAY_MS: f"DAILY /MO {number}" for number in range(1, 366)},
    }
    when = _kept(every_ms, spans, "the Task Scheduler")
    run = " ".join(_windows_word(word) for word in command).replace('"', r"\"")
    return [f'schtasks /Create /F /TN "{_LABEL}" /SC {when} /TR "{run}"']


KINDS: Final[dict[str, Callable[[int, Sequence[str]], list[str]]]] = {
    "cron": cron,
    "launchd": launchd,
    "systemd": systemd,
    "windows": windows,
}


def usual() -> str:
    """What is usual on this system, one of `KINDS`."""
    return {"darwin": "launchd", "win32": "windows"}.get(sys.platform, "cron")


def _kept(every_ms: int, spans: dict[int, str], who: str) -> str:
    """The words for a span that a scheduler keeps evenly (SCH-2)."""
    if every_ms in spans:
        return spans[every_ms]
    near = min(spans, key=lambda span: (abs(span - every_ms), span))
    raise ValidationError("VAL-E001", f"{who} cannot keep that span evenly", f"--every {span_word(near)}")


def span_word(span_ms: int) -> str:
    """A span as the option reads it: ``30m``, ``6h``, ``7d``."""
    for unit, letter in ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE, "m")):
        if span_ms % unit == 0:
            return f"{span_ms // unit}{letter}"
    return f"{span_ms // 1000}s"


def _systemd_word(word: str) -> str:
    """A word of ExecStart: specifiers and variables doubled, quoted where it is no plain word."""
    told = word.replace("%", "%%").replace("$", "$$")
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./$-]+", told):
        return told
    return '"' + told.replace("\\", r"\\").replace('"', r"\"") + '"'


def _windows_word(word: str) -> str:
    return word if re.fullmatch(r"[A-Za-z0-9_@+=:,./\\-]+", word) else f'"{word}"'
