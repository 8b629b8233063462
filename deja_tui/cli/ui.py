# SPDX-License-Identifier: Apache-2.0
"""``deja ui FILE``: the only verb, with ``demo``, that opens the console. Dispatched before click is imported (D47)."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import NoReturn

from deja_tui.errors import DejaError


def open_console(argv: list[str]) -> int:
    """Parse the options of ``deja ui``, open the console and return its exit code."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.scopes is not None and not args.scopes.strip(" ,"):
        parser.error("--scopes names no right")
    return _open(args)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        import sys

        self.print_usage(sys.stderr)
        from deja_tui.text import clean

        self.exit(64, f"Error: {clean(message)}{clean(self._meant(message))}\n")

    def _meant(self, message: str) -> str:
        """The nearest option or value to the one that is none."""
        import re
        from difflib import get_close_matches

        value = re.search(r"argument ([^:]+): invalid choice: '([^']*)'", message)
        option = re.search(r"unrecognized arguments: (--\S+)", message)
        known: list[str] = []
        if value:
            named = [one for one in self._actions if value[1] in "/".join(one.option_strings)]
            known = [str(word) for one in named for word in one.choices or ()]
        elif option:
            known = [word for one in self._actions for word in one.option_strings]
        told = value[2] if value else option[1] if option else ""
        near = get_close_matches(told, known, n=1)
        return f". Did you mean {near[0]!r}?" if near else ""


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="deja ui",
        description="Open the console on a memory.",
        epilog="Example: deja ui agent.deja --actor user:ana --at queue",
        allow_abbrev=False,
    )
    parser.add_argument("file", nargs="?", type=Path, help="the memory; else DEJA_DB, else your own")
    parser.add_argument("-d", "--db", type=Path, metavar="FILE", help="the same as FILE")
    parser.add_argument(
        "--actor", default="user:local", help="who decides, for the audit (default: user:local)"
    )
    parser.add_argument("--ns", metavar="NAME", help="namespace; else what the file declares, else shared")
    parser.add_argument(
        "--scopes", metavar="LIST", help="rights, a comma list of read, write, review, apply, admin"
    )
    parser.add_argument("--read-only", action="store_true", help="look, decide nothing")
    parser.add_argument(
        "--allow-destructive", action="store_true", help="allow changes that cannot be undone"
    )
    parser.add_argument(
        "--policy", type=Path, metavar="FILE", help="the host's policy; else DEJA_LOOP_POLICY"
    )
    parser.add_argument(
        "--telemetry",
        choices=("off", "aggregate", "full"),
        help="what recalls are counted in; else as the policy says, else aggregate",
    )
    parser.add_argument("--theme", metavar="NAME", help="a theme of deja or a file in your themes folder")
    parser.add_argument(
        "--colours",
        choices=("none", "16", "256", "truecolor"),
        help="how many colours are sent; else what the terminal says",
    )
    parser.add_argument(
        "--mouse", action=argparse.BooleanOptionalAction, help="ask for the mouse; else yes, over SSH no"
    )
    parser.add_argument("--ascii", action="store_true", help="draw marks in ASCII")
    parser.add_argument("--at", metavar="PLACE", help="where to begin, for example queue/3c262f04")
    return parser


def _open(args: argparse.Namespace) -> int:
    from deja_tui.cli.paths import default_path

    path = args.file or args.db or default_path()
    if not Path(path).exists():
        raise DejaError(
            "STO-E003", f"there is no memory at {path}", "deja demo, or deja init --template blank --db FILE"
        )
    scopes = (
        tuple(part.strip() for part in args.scopes.split(",") if part.strip())
        if args.scopes is not None
        else None
    )
    from deja_tui.console.config import Config
    from deja_tui.console.launch import launch

    return launch(
        Path(path),
        actor=args.actor,
        namespace=args.ns,
        scopes=scopes,
        read_only=args.read_only or not os.access(path, os.W_OK),
        allow_destructive=args.allow_destructive,
        theme=args.theme,
        at=args.at,
        policy=args.policy,
        telemetry=args.telemetry,
        looks=Config(colours=args.colours, mouse=args.mouse, ascii=args.ascii or None),
    )
