# SPDX-License-Identifier: Apache-2.0
"""What is set up in a memory and around it, as far as the file can tell: `Memory.standing`.

* STA-1  Every value is read from the file or from the process; nothing is guessed from what is usual.
* STA-2  It costs counts and settings, not a look of any analyzer: a page may ask for it at every change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from deja_tui import saved, spool
from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import config
from deja_tui.engine.analyzer import Analyzer
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.analyzers.tool_failures import INSTRUCTIONS
from deja_tui.engine.doc_edits import ROOT
from deja_tui.engine.faults import LoopError
from deja_tui.engine.health import STALE_GRAINS, STALE_MS, VERIFIED
from deja_tui.engine.pipeline import LAST_RUN
from deja_tui.engine.policy import Policy
from deja_tui.store import sessions, settings, stats
from deja_tui.store.faults import coded
from deja_tui.store.keys import is_reserved
from deja_tui.store.memory import Store
from deja_tui.store.oplog import wall_of

HOOKED: Final = "capture:"
"""What the settings begin with in which a hook keeps how far it has read a transcript."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is set up. Times are epoch ms; None: never.

    Attributes:
        at: when it was read. path: the file.
        namespace: where plain writes go. namespaces: those with grains, the engine's own left out, to their number.
        documents: instruction documents, as (namespace, path). queries: names of saved queries.
        events, tools: what agents sent, ever. last: when the newest of it was created.
        followed: transcripts that a hook reads on. hooked: when it last read one. spooled: captures that wait.
        analyzers: how many there are. on: how many take part in runs.
        last_run, new_grains, stale: of the loop, as `Loop.health` tells them.
        policy: the host's policy, None: it gave none.
        verified: when `verify` last found the file sound.
    """

    at: int
    path: str
    namespace: str
    namespaces: Mapping[str, int]
    documents: tuple[tuple[str, str], ...]
    queries: tuple[str, ...]
    events: int
    tools: int
    last: int | None
    followed: int
    hooked: int | None
    spooled: int
    analyzers: int
    on: int
    last_run: int | None
    new_grains: int
    stale: bool
    policy: Policy | None
    verified: int | None


class Host(Protocol):
    """What is asked of a memory."""

    store: Store
    substrate: StoreSubstrate
    namespace: str
    clock: Callable[[], int]
    analyzers: tuple[Analyzer, ...]
    policy: Policy | None


@coded
def standing(memory: Host) -> Standing:
    """What is set up now, read at one moment."""
    store, now = memory.store, memory.clock()
    with store.snapshot():
        held = {name: count for name, count in stats.held(store.reading()).items() if not is_reserved(name)}
        last = _map(store.setting(LAST_RUN))
        captured = sessions.captured(store.reading())
        hooks = settings.stamped(store.reading(), HOOKED)
        new = max(0, memory.substrate.position().grains - (_number(last.get("grains")) or 0))
        ran = _number(last.get("at"))
        known = (*ANALYZERS, *memory.analyzers)
        prefix = saved.key("", "query")
        return Standing(
            at=now,
            path=store.path,
            namespace=memory.namespace,
            namespaces=held,
            documents=tuple(_documents(store, held)),
            queries=tuple(sorted(name.removeprefix(prefix) for name in store.settings(prefix))),
            events=captured.events,
            tools=captured.tools,
            last=captured.last,
            followed=len(hooks),
            hooked=max((wall_of(hlc) for _, _, hlc, _ in hooks), default=None),
            spooled=spool.counts(store.path)[1],
            analyzers=len(known),
            on=_on(memory, known),
            last_run=ran,
            new_grains=new,
            stale=ran is None or now - ran >= STALE_MS or new >= STALE_GRAINS,
            policy=memory.policy,
            verified=_number(_map(store.setting(VERIFIED)).get("at")),
        )


def _documents(store: Store, namespaces: Iterable[str]) -> list[tuple[str, str]]:
    """The instruction documents that an analyzer looks for, the first of each namespace."""
    found = []
    for space in namespaces:
        there = (ROOT + name for name in INSTRUCTIONS if store.latest(space, ROOT + name, "memory_file"))
        path = next(there, None)
        if path is not None:
            found.append((space, path))
    return found


def _on(memory: Host, known: Iterable[Analyzer]) -> int:
    """How many analyzers take part in runs; one whose settings it does not take does not."""
    rows = config.rows(memory.substrate)
    count = 0
    for one in known:
        try:
            count += config.settle(one.manifest, rows.get(one.manifest.id), None, memory.policy).enabled
        except LoopError:
            continue
    return count


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
