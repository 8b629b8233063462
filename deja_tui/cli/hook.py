# SPDX-License-Identifier: Apache-2.0
"""``deja hook …``: what a coding agent calls. Dispatched before click is imported, and always ends with status 0 (D47)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence

from deja_tui.errors import DejaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

LOG_VARIABLE: Final = "DEJA_LOG"
MIN_NEW: Final = 20
MIN_NEW_ERRORS: Final = 3
_EVENT_MAX: Final = 16 * 1024 * 1024
_PROMPT_MAX: Final = 65_536
_VALUED: Final = {
    "--db": "db",
    "-d": "db",
    "--ns": "ns",
    "--k": "k",
    "--budget": "budget",
    "--telemetry": "telemetry",
}
_FLAGS: Final = {"--with-loop": "with_loop", "--no-redact": "no_redact"}
_USAGE: Final = """\
Usage: deja hook recall      [--db FILE] [--ns NAME] [--k N] [--budget TOKENS] [--with-loop]
       deja hook capture     [--db FILE] [--ns NAME] [--no-redact]
       deja hook session-end [--db FILE] [--ns NAME] [--no-redact]
       deja hook print claude-code|mcp [--db FILE] [--ns NAME]

The first three read one JSON object from standard input, as a coding agent gives it to its hooks, write one JSON object
or nothing, and always end with status 0. print writes the lines for the agent's settings; nothing is installed.

Example: deja hook print claude-code
"""
_EXIT_USAGE: Final = 64
_VERBS: Final = ("recall", "capture", "session-end", "print")


class _Usage(Exception):
    """Words that make no command."""


def hook(argv: list[str]) -> int:
    """Run one hook verb; its exit status, which is 0 for every verb but ``print``."""
    verb, rest = (argv[0], argv[1:]) if argv else ("", [])
    if verb == "print":
        return _print(rest)
    if verb in ("-h", "--help") or "--help" in rest or "-h" in rest:
        sys.stdout.write(_USAGE)
        return 0
    try:
        _run(verb, rest)
    except _Usage as fault:
        sys.stderr.write(f"deja hook: {fault}\n")
        log(verb, "usage")
    except DejaError as fault:
        log(verb, fault.code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        log(verb, "closed pipe")
    except Exception as fault:  # noqa: BLE001 — the agent goes on whatever this is (HOOK-1); DEJA_LOG tells its kind
        log(verb, type(fault).__name__)
    return 0


def _run(verb: str, words: list[str]) -> None:
    if verb not in _VERBS[:3]:
        raise _Usage(f"recall, capture, session-end or print{_near(verb, _VERBS)}")
    options = _options(words)
    event = _event()
    if verb == "recall":
        _recall(event, options)
    elif verb == "capture":
        _capture(event, options)
    else:
        _session_end(event, options)


def _options(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, sign, value = word.partition("=")
        if word in _FLAGS:
            found[_FLAGS[word]] = "yes"
        elif name in _VALUED and (sign or waiting):
            found[_VALUED[name]] = value if sign else waiting.pop(0)
        else:
            from deja_tui.text import clean

            raise _Usage(f"{clean(word, 40)} is no option, or misses its value")
    return found


def _event() -> dict[str, Any]:
    """What the agent tells: one JSON object; anything else is an empty one."""
    raw = sys.stdin.buffer.read(_EVENT_MAX + 1)
    if len(raw) > _EVENT_MAX:
        return {}
    try:
        value = json.loads(raw.decode("utf-8", "replace"), parse_constant=str)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _db(options: Mapping[str, str]) -> str:
    named = options.get("db") or os.environ.get("DEJA_DB")
    if named:
        return named
    from deja_tui.cli.paths import default_path

    return str(default_path())


def _number(options: Mapping[str, str], name: str, default: int, most: int) -> int:
    told = options.get(name)
    if told is None:
        return default
    if not told.isascii() or not told.isdigit() or not 1 <= int(told[:9]) <= most:
        raise _Usage(f"--{name} is a whole number from 1 to {most:,}")
    return int(told)


# --- recall -----------------------------------------------------------------------------------------


def _recall(event: Mapping[str, Any], options: Mapping[str, str]) -> None:
    k, budget = _number(options, "k", 5, 50), _number(options, "budget", 400, 4_000)
    prompt, db = event.get("prompt"), _db(options)
    if not isinstance(prompt, str) or not prompt.strip() or not os.path.exists(db):
        return
    mode = options.get("telemetry") or ("" if os.environ.get("DEJA_LOOP_POLICY") else "aggregate")
    if mode not in ("aggregate", "off") or not _quick_recall(prompt, db, options, k, budget, mode):
        _whole_recall(prompt, db, options, k, budget)


def _quick_recall(prompt: str, db: str, options: Mapping[str, str], k: int, budget: int, mode: str) -> bool:
    """The way within the bar (D47); False, with nothing written, where it takes the whole library."""
    import apsw

    from deja_tui.capture.hooks import framing
    from deja_tui.capture.hooks import prompt as quick

    try:
        opened = quick.Prompt(os.path.realpath(db), options.get("ns"))
        made = quick.context(opened, prompt[:_PROMPT_MAX], budget=budget, k=k)
        waiting = framing.waiting_lines(opened.pending()) if "with_loop" in options else ""
        first, namespace = opened.first(), opened.namespace
        opened.db.close()
    except (quick.NotHere, apsw.Error):
        return False
    told = framing.framed(made.text, waiting)
    if told:
        _write(framing.answer(told))
    delivered = (*made.lessons, *made.hits) if told else ()
    if mode == "aggregate":
        _count(
            db, first, namespace, delivered, made.hits if k and prompt.strip() else None, made.left_out > 0
        )
    log("recall", "ok", *delivered)
    return True


def _count(
    db: str,
    first: str | None,
    namespace: str,
    delivered: Sequence[str],
    hits: Sequence[str] | None,
    overflow: bool,
) -> None:
    """Count a context that was written, the quick way; the first time by `Telemetry`, which makes the sidecar."""
    from deja_tui.store import sidecar

    if first is None:
        return
    if sidecar.count_context(os.path.realpath(db), first, _now_ms(), namespace, delivered, hits, overflow):
        return
    from deja_tui.facade import Memory

    with Memory.open(db, telemetry="aggregate", read_only=True, create=False, busy_ms=200) as memory:
        if hits is not None:
            found = [grain for address in hits if (grain := memory.store.get(address)) is not None]
            memory.telemetry.recalled(namespace, found)
        memory.telemetry.assembled(overflow)
        memory.telemetry.delivered(delivered)


def _whole_recall(prompt: str, db: str, options: Mapping[str, str], k: int, budget: int) -> None:
    from deja_tui.capture.hooks import ACTOR, framing
    from deja_tui.engine import views
    from deja_tui.facade import Memory
    from deja_tui.loop_settings import host_policy

    policy = host_policy()
    mode = options.get("telemetry") or (policy.telemetry if policy else "aggregate")
    with Memory.open(
        db,
        namespace=options.get("ns"),
        actor=ACTOR,
        scopes=("read",),
        telemetry=mode,
        read_only=True,
        create=False,
        busy_ms=200,
        policy=policy,
    ) as memory:
        made = memory.context(prompt[:_PROMPT_MAX], k=k, budget=budget, deliver=False)
        waiting = ""
        if "with_loop" in options:
            rows = views.ledger(memory.substrate, ("pending",))
            pending = [
                (row.address, row.severity, row.analyzer, row.target_ref) for row in rows if not row.foreign
            ]
            waiting = framing.waiting_lines(pending)
        told = framing.framed(made.text, waiting)
        if told:
            _write(framing.answer(told))
            memory.telemetry.delivered(made.addresses)
        log("recall", "ok", *made.addresses)


def _write(value: Mapping[str, Any]) -> None:
    """One JSON object, whole: an error here means that it did not arrive (HOOK-6)."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


# --- capture ----------------------------------------------------------------------------------------


def _capture(event: Mapping[str, Any], options: Mapping[str, str]) -> None:
    if not event:
        return
    try:
        spooled = _captured(event, options)
    except OSError as fault:
        log("capture", "nothing-kept", type(fault).__name__)
        told = "deja: neither the memory nor the folder beside it can be written; what a transcript holds is read again."
        _write({"systemMessage": told})
        return
    if spooled:
        told = (
            f"deja: the memory could not be written; {spooled} captured items wait beside it and go in later."
        )
        _write({"systemMessage": told})


def _captured(event: Mapping[str, Any], options: Mapping[str, str]) -> int:
    """Capture what is new; how many items had to be spooled."""
    from deja_tui.capture.hooks.grown import is_grown

    db = _db(options)
    if not is_grown(db, event):
        log("capture", "nothing-new")
        return 0
    from deja_tui.capture.hooks.capture import Capture, Where

    if "db" not in options:
        os.makedirs(os.path.dirname(os.path.abspath(db)), exist_ok=True)
    report = Capture(Where(db, options.get("ns"), _now(), "no_redact" not in options)).run(event)
    counts = ("added", "completed", "skipped", "forgotten", "spooled", "redacted")
    log("capture", *report.codes, *(f"{name}={getattr(report, name)}" for name in counts))
    return report.spooled


def _now() -> int:
    from deja_tui.intake import host_clock

    return host_clock()


def _now_ms() -> int:
    """Now in epoch ms without the library; `intake.host_clock` reads the same variable, and says what is wrong with it."""
    pinned = os.environ.get("DEJA_LOOP_NOW_MS", "")
    if pinned.isascii() and pinned.isdigit() and len(pinned) <= 15:
        return int(pinned)
    from time import time_ns

    return time_ns() // 1_000_000


# --- the end of a session ---------------------------------------------------------------------------


def _session_end(event: Mapping[str, Any], options: Mapping[str, str]) -> None:
    if event:
        _captured(event, options)
    db = _db(options)
    if not os.path.exists(db):
        return
    from deja_tui.capture.hooks.grown import is_gate_shut

    if is_gate_shut(db, MIN_NEW, MIN_NEW_ERRORS):
        log("session-end", "skipped", "min_new_not_met", "stored=0")
        return
    from deja_tui.capture.hooks import ACTOR, BUSY_MS
    from deja_tui.facade import Memory
    from deja_tui.loop_settings import host_policy

    policy = host_policy()
    mode = options.get("telemetry") or (policy.telemetry if policy else "aggregate")
    with Memory.open(db, actor=ACTOR, telemetry=mode, create=False, busy_ms=BUSY_MS, policy=policy) as memory:
        outcome = memory.loop.run(min_new=MIN_NEW, min_new_errors=MIN_NEW_ERRORS)
    log("session-end", outcome.outcome, *filter(None, (outcome.skip_reason,)), f"stored={outcome.stored}")


# --- print ------------------------------------------------------------------------------------------


def _print(words: list[str]) -> int:
    what, rest = (words[0], words[1:]) if words else ("", [])
    if what in ("-h", "--help"):
        sys.stdout.write(_USAGE)
        return 0
    try:
        options = _options(rest)
        lines = _lines_for(what, _db(options), options.get("ns"))
    except _Usage as fault:
        sys.stderr.write(f"{_USAGE}\nError: {fault}\n")
        return _EXIT_USAGE
    except DejaError as fault:
        sys.stderr.write(f"{fault}\nnext: {fault.next_step}\n")
        return 1
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    from deja_tui.capture.wiring import PLACES

    sys.stderr.write(f"belongs into {PLACES[what]}; nothing was installed\n")
    return 0


def _lines_for(what: str, db: str, namespace: str | None) -> list[str]:
    if what == "claude-code":
        from deja_tui.capture import wiring

        return wiring.claude_code(db, namespace)
    if what == "mcp":
        from deja_tui.capture import wiring_mcp

        return wiring_mcp.mcp(db, namespace)
    raise _Usage(f"print what? claude-code or mcp{_near(what, ('claude-code', 'mcp'))}")


def _near(word: str, words: Sequence[str]) -> str:
    """What was meant, at the end of a sentence."""
    from difflib import get_close_matches

    near = get_close_matches(word, words, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


# --- what happened, for a person who asked ----------------------------------------------------------


def log(verb: str, *told: str) -> None:
    """One line of codes, counts and addresses into the file that ``DEJA_LOG`` names (D51); never a text of anybody's."""
    place = os.environ.get(LOG_VARIABLE)
    if not place:
        return
    from time import gmtime, strftime

    line = " ".join(
        (
            strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
            "hook",
            verb if verb.isidentifier() or verb == "session-end" else "?",
            *told,
        )
    )
    try:
        with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "a") as file:
            file.write(line + "\n")
    except OSError as fault:
        sys.stderr.write(f"deja: {LOG_VARIABLE} cannot be written: {fault.strerror}\n")
