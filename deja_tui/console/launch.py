# SPDX-License-Identifier: Apache-2.0
"""Open the console on a memory. Checks the terminal before anything heavy is imported.

The screens are imported late, inside `launch`: it is one of the two named late imports of the project (D46).
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from deja_tui.errors import DejaError

if TYPE_CHECKING:
    from textual.driver import Driver

    from deja_tui.console.config import Config
    from deja_tui.console.hinting import Hintbook
    from deja_tui.console.terminal import Terminal
    from deja_tui.loop_settings import PolicySource

LEAST: Final = (60, 20)
_COLOUR_SYSTEMS: Final = {"16": "standard", "256": "256", "truecolor": "truecolor"}


def launch(
    path: str | os.PathLike[str],
    *,
    actor: str = "user:local",
    namespace: str | None = None,
    scopes: Iterable[str] | None = None,
    read_only: bool = False,
    theme: str | None = None,
    at: str | None = None,
    allow_destructive: bool = False,
    policy: PolicySource = None,
    telemetry: str | None = None,
    clock: Callable[[], int] | None = None,
    looks: Config | None = None,
) -> int:
    """Run the console until the person leaves.

    Args:
        path: an existing memory.
        actor: who decides (D22).
        namespace: where the memory's plain reads look; None: what the file declares, else ``shared``.
        scopes: rights out of read, write, review, apply, admin; None: all, and read alone where the terminal is served
            over a network (D18).
        read_only: open for reading; the tier is READ-ONLY (D18).
        theme: a theme's name; None: what the config says, else one that fits the terminal.
        at: where to begin, ``queue`` or ``queue/ADDRESS``.
        allow_destructive: with the right admin, the tier DESTRUCTIVE (D19).
        policy: the host's; None: the file that ``DEJA_LOOP_POLICY`` names, if any.
        telemetry: off, aggregate or full; None: what the policy says, else aggregate (D37).
        clock: epoch milliseconds UTC; None: the host's.
        looks: colours, mouse and marks as somebody said them; what it leaves open ``config.toml`` says, then the facts.

    Returns: the exit status: 0, or 130 after ctrl+c.

    Raises: CLI-E001 without a terminal or in one that cannot place text, CON-E001, CON-E002, CON-E003, CON-E005 (a fault of its
        own, with its report), and whatever `Memory.open` raises.
    """
    _check_terminal()

    def run() -> int:
        try:
            return _run(
                path,
                actor,
                namespace,
                scopes,
                read_only,
                theme,
                at,
                allow_destructive,
                policy,
                telemetry,
                clock,
                looks,
            )
        except (DejaError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - a traceback would show what its locals hold
            raise _mishap(error) from None

    if sys.platform == "win32":
        return run()
    from deja_tui.console import guard

    if guard.current is not None:
        return run()
    guarded = guard.enter(_title(path))
    if isinstance(guarded, int):
        return guarded
    try:
        code = run()
    except DejaError as fault:
        return guarded.fail(fault)
    return guarded.finish(code)


def _mishap(error: Exception) -> DejaError:
    """What went wrong around the console, told as what goes wrong in it: a traceback would show what its locals hold."""
    from deja_tui.console import mishap

    return mishap.told(error, mishap.default_folder(), time.time_ns() // 1_000_000)


def _title(path: str | os.PathLike[str]) -> str:
    """What the first line says while the console is loaded; a name from outside is shown cleaned."""
    name = os.path.basename(os.fspath(path))
    return f"deja {name if name.isascii() and name.isprintable() else 'memory'}  opening the memory and its queue"


def _run(
    path: str | os.PathLike[str],
    actor: str,
    namespace: str | None,
    scopes: Iterable[str] | None,
    read_only: bool,
    theme: str | None,
    at: str | None,
    allow_destructive: bool,
    policy: PolicySource,
    telemetry: str | None,
    clock: Callable[[], int] | None,
    looks: Config | None,
) -> int:
    """The console itself, in the process that the terminal belongs to."""
    from deja_tui.console import config, keymap, mishap
    from deja_tui.console import theme as themes
    from deja_tui.console.actions import Rights
    from deja_tui.console.served import served_by
    from deja_tui.facade import Memory, host_clock
    from deja_tui.loop_settings import counting_mode, host_policy

    granted = host_policy(policy)
    said = config.load().with_looks(looks)
    terminal = _colour(said)
    chosen = themes.choose(theme, said.theme, os.environ)
    themes.load(chosen)
    keys = keymap.load()
    server = served_by(os.environ, os.getpid()) if scopes is None and not read_only else ""
    read_only = read_only or bool(server)
    rights = Rights.of(scopes, read_only=read_only, allow_destructive=allow_destructive)
    with Memory.open(
        path,
        namespace=namespace,
        actor=actor,
        scopes=None if scopes is None else rights.scopes,
        read_only=read_only,
        create=False,
        clock=clock,
        policy=granted,
        telemetry=counting_mode(granted, telemetry),
    ) as memory:
        if scopes is not None and not rights.scopes & {"read", "admin"}:
            held = ", ".join(sorted(rights.scopes)) or "none"
            raise DejaError(
                "LOP-E022", f"the console needs the right `read`; held: {held}", "name read in --scopes too"
            )
        from deja_tui.screens.app import DejaApp

        app = DejaApp(
            memory.loop,
            file=str(path),
            actor=actor,
            rights=rights,
            theme=chosen,
            keymap=keys,
            now_ms=clock or host_clock,
            at=at,
            driver=_driver(),
            file_of=memory,
            grains=memory,
            remembers=rights.tier != "READ-ONLY",
            terminal=terminal,
            reports=mishap.default_folder(),
            notice=f"{server} serves this terminal over a network: READ-ONLY; --scopes names rights"
            if server
            else "",
            hintbook=_hints(rights.tier != "READ-ONLY" and said.hints is not False),
            poll_seconds=1.0 if said.poll_seconds is None else said.poll_seconds,
            fill_seconds=_rest(terminal) if said.fill_seconds is None else said.fill_seconds,
        )
        # What was made so far stays to the end: nothing of it need be looked at for garbage.
        gc.freeze()
        gc.enable()
        if sys.platform != "win32":
            from deja_tui.console import guard

            guard.begin()
        app.run(mouse=terminal.mouse)
        if app.ended_by is not None:
            raise app.ended_by
        return app.return_code or 0


def _colour(said: Config) -> Terminal:
    """The facts of the terminal, told to what draws before it is loaded: it looks at the environment once."""
    from deja_tui.console.terminal import facts

    terminal = facts(os.environ, colours=said.colours, mouse=said.mouse, ascii=bool(said.ascii))
    if terminal.colours == "none":
        os.environ["NO_COLOR"] = "1"
    elif said.colours or terminal.multiplexer == "screen":
        os.environ.pop("NO_COLOR", None)
        os.environ["TEXTUAL_COLOR_SYSTEM"] = _COLOUR_SYSTEMS[terminal.colours]
    return terminal


def _rest(terminal: Terminal) -> float:
    """Seconds on a row before its preview is filled up: over SSH never, because that costs as much as forty steps (D48)."""
    return 0.0 if terminal.ssh else 0.8


def _hints(wanted: bool) -> Hintbook:
    """The hints of the first time, or a book without any."""
    from deja_tui.console import hinting

    return hinting.Hintbook(hinting.default_path() if wanted else None)


def _driver() -> type[Driver] | None:
    """The driver that sends differences; with ``DEJA_DRIVER=stock`` whole frames, as Textual's. Windows keeps Textual's."""
    if sys.platform == "win32":
        return None
    from deja_tui.console.driver import DifferenceDriver, TerminalDriver

    return TerminalDriver if os.environ.get("DEJA_DRIVER") == "stock" else DifferenceDriver


def _check_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise DejaError("CLI-E001", "the console needs a terminal", "deja loop list, or deja review")
    if os.environ.get("TERM") in (None, "", "dumb"):
        raise DejaError(
            "CLI-E001", "this terminal cannot place text", "deja review shows one line after the other"
        )
