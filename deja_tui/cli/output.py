# SPDX-License-Identifier: Apache-2.0
"""Writing results: plain lines for people, JSON for programs. Shapes of JSON only ever grow."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from deja_tui.engine.objects import AuditEntry, Chain, Detail, Plan, QueueRow, Receipt, RunOutcome
from deja_tui.engine.operations import to_plain
from deja_tui.engine.outcomes import Outcome
from deja_tui.errors import DejaError

_SOON: Final = 0.5


def lines(texts: Iterable[str]) -> None:
    """Lines that are safe already, to stdout."""
    for text in texts:
        sys.stdout.write(text + "\n")


def place(path: object) -> str:
    """A path as a person may read and copy it: quoted where a shell needs it, and with nothing that acts."""
    from shlex import quote

    from deja_tui.text import clean

    return clean(quote(str(path)))


def as_json(value: Any) -> None:
    """One JSON document to stdout. ASCII only, so that no text in it can act on a terminal."""
    text = json.dumps(value, ensure_ascii=True, indent=2, default=list)
    sys.stdout.write(text.replace("\x7f", "\\u007f") + "\n")


def json_line(value: Any) -> str:
    """One JSON document on one line, ASCII only."""
    told = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), default=list)
    return told.replace("\x7f", "\\u007f")


def file(out: Path, data: bytes, *, fresh: bool = False) -> None:
    """What ``--out FILE`` names, whole or not at all; a pipe or a device that lies there is written to.

    Raises:
        DejaError: STO-E007 the disk is full; STO-E008 it cannot be written; STO-E011 ``fresh``, and something lies there.
    """
    from deja_tui.store.whole import refused, replacing

    if fresh and os.path.lexists(out):
        raise _taken(out)
    try:
        if out.exists() and not out.is_file():
            out.write_bytes(data)
            return
        mode = out.stat().st_mode & 0o777 if out.exists() else 0o600
        with replacing(Path(os.path.realpath(out)), fresh=fresh, mode=mode) as whole:
            whole.write(data)
    except FileExistsError as fault:
        raise _taken(out) from fault
    except OSError as fault:
        raise refused(fault) from fault


def _taken(out: Path) -> DejaError:
    return DejaError("STO-E011", f"{place(out)} is there already", "name a new file")


@contextmanager
def working(label: str) -> Iterator[None]:
    """A bar on stderr for long work, shown after half a second: how much of what is done, as the work tells it (`watch`).

    Nothing where stderr is no terminal. An interrupt passes through; the line that says so is `main`'s.
    """
    if not sys.stderr.isatty():
        yield
        return
    from threading import Timer

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from deja_tui.watch import watched

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=None)

    def tell(done: int, total: int, unit: str) -> None:
        bar.update(
            task, completed=done, total=total or None, description=f"{label} ({unit})" if unit else label
        )

    soon = Timer(_SOON, bar.start)
    soon.daemon = True
    soon.start()
    try:
        with watched(tell):
            yield
    finally:
        soon.cancel()
        soon.join()
        if bar.live.is_started:
            bar.stop()


def address(value: str, in_json: bool) -> None:
    """What a verb that stores one grain answers with."""
    if in_json:
        as_json({"address": value})
    else:
        lines([value])


def grains(found: Sequence[Any], in_json: bool) -> None:
    """What a verb that lists grains answers with."""
    if in_json:
        as_json({"grains": [grain(one) for one in found]})
        return
    from deja_tui.present.grain import grain_lines

    lines(grain_lines(found, width()) or ["Nothing found."])


def width() -> int:
    """Cells of a line: the terminal's, bounded to what reads well; 100 where there is no terminal."""
    if not sys.stdout.isatty():
        return 100
    return max(40, min(shutil.get_terminal_size((100, 24)).columns, 160))


def queue_row(row: QueueRow) -> dict[str, Any]:
    """The shape of one line of ``loop list``. Times are epoch ms."""
    told = asdict(row)
    told["since"] = told.pop("age_from")
    return told


def receipt(value: Receipt) -> dict[str, Any]:
    """The shape every decision answers with."""
    return asdict(value)


def outcome(value: RunOutcome) -> dict[str, Any]:
    """The shape of ``loop run``."""
    return asdict(value)


def plan(value: Plan) -> dict[str, Any]:
    """The shape of a dry run."""
    told = {
        name: getattr(value, name)
        for name in (
            "adds", "supersedes", "retires", "forgets", "merges", "defines", "edits", "reverts", "undo", "refusal",
            "choice", "outside",
        )
    }  # fmt: skip
    return {**told, "operations": [to_plain(operation) for operation in value.operations]}


def chain(value: Chain) -> dict[str, Any]:
    """The shape of an audit chain, oldest entry first."""
    return {
        "verified": value.verified,
        "state": value.state,
        "fault": value.fault,
        "fault_address": value.fault_address,
        "entries": [_entry(entry) for entry in value.entries],
    }


def _entry(entry: AuditEntry) -> dict[str, Any]:
    told = asdict(entry)
    told["effects"] = [dict(effect) for effect in entry.effects]
    told["inverse"] = None if entry.inverse is None else [dict(step) for step in entry.inverse]
    return told


def detail(value: Detail) -> dict[str, Any]:
    """The shape of ``loop show``."""
    body = value.recommendation
    return {
        "address": body.address,
        "status": value.status,
        "severity": body.severity,
        "analyzer": body.analyzer,
        "params": dict(body.params),
        "origin": value.origin,
        "creator": value.creator,
        "foreign": value.foreign,
        "replaced_by": value.replaced_by,
        "target_ref": body.target_ref,
        "action": body.action,
        "dedup_key": body.identity,
        "summary": value.summary,
        "template_id": body.summary.template_id,
        "args": dict(body.summary.args),
        "operations": [to_plain(operation) for operation in body.operations],
        "alternatives": [
            {"label": one.label, "operations": [to_plain(operation) for operation in one.operations]}
            for one in body.alternatives
        ],
        "choice": value.choice,
        "data": None if body.data is None else dict(body.data),
        "twins": list(value.twins),
        "destructive": body.destructive,
        "rollbackable": body.rollbackable,
        "evidence": list(body.evidence),
        "evidence_total": body.evidence_total,
        "evidence_query": body.evidence_query,
        "remaining": body.remaining,
        "metric": None if body.metric is None else dict(body.metric),
        "confidence": body.confidence,
        "importance": body.importance,
        "created_at": body.created_at,
        "since": body.since,
        "plan": None if value.plan is None else plan(value.plan),
        "audit": chain(value.chain),
        "outcomes": [measurement(one) for one in value.outcomes],
        "delivered": None if value.delivered is None else asdict(value.delivered),
    }


def measurement(value: Outcome) -> dict[str, Any]:
    """The shape of one measurement. Times and spans are epoch ms; a span is open at its start and closed at its end."""
    from deja_tui.present.outcomes import word

    before, after = value.spans
    return {
        "metric": value.metric,
        "applied_at": value.applied_at,
        "horizon_ms": value.horizon_ms,
        "verdict": value.verdict,
        "word": word(value),
        "before": None
        if value.before is None
        else {"count": value.before, "n": value.before_n, "span": list(before)},
        "after": {"count": value.after, "n": value.after_n, "span": list(after)},
        "measured_at": value.measured_at,
        "address": value.address,
    }


def grain(value: Any) -> dict[str, Any]:
    """The shape of one stored grain."""
    return {
        "address": value.address,
        "type": value.type,
        "namespace": value.namespace,
        "created_at": value.created_at,
        "live": value.live,
        "superseded_by": value.superseded_by,
        "fields": _plain(value.fields),
    }


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in fields.items()}
