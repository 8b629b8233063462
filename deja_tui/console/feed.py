# SPDX-License-Identifier: Apache-2.0
"""Store work off the UI thread: one thread asks, the newest question of a kind is the one that is answered.

Everything that reads or decides goes through one worker thread, in the order it was asked, so a read that was asked
after a decision sees it. What takes seconds (a run, a verification) has a thread of its own, so that reading goes on;
so has what fills in a panel that shows something already. Each thread has the store's connection of its own (D35).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any, Generic, Protocol, TypeVar, cast

from deja_tui.browsing import Dossier
from deja_tui.documents import Document, Documents
from deja_tui.engine.config import ConfigChange
from deja_tui.engine.health import AnalyzerState, Health
from deja_tui.engine.objects import Detail, Plan, QueueRow, Receipt, RunOutcome
from deja_tui.engine.outcomes import Reviewed
from deja_tui.engine.substrate import Tallied
from deja_tui.sessions import Sessions
from deja_tui.standing import Standing
from deja_tui.store.browse import Key, Lens, Slice
from deja_tui.store.grains import StoredGrain
from deja_tui.store.graph import Neighbourhood

Answered = TypeVar("Answered")


class Reviews(Protocol):
    """What the console asks of a memory; `Memory.loop` is one. Every decision names exactly one address (D15).

    All methods may raise `DejaError`. Addresses are 64 hex digits, except that `show` takes a unique start of one.
    """

    def queue(self, status: str | None = "pending", *, limit: int | None = None) -> list[QueueRow]: ...

    def waiting(self, status: str = "pending") -> int: ...

    def addresses(self, status: str = "pending") -> Sequence[str]: ...

    def tally(self) -> Sequence[Tallied]: ...

    def show(self, address: str, *, allow_destructive: bool = False) -> Detail: ...

    def dry_run(self, address: str, *, allow_destructive: bool = False) -> Plan: ...

    def approve(self, address: str, *, because: str, choice: int = 0) -> Receipt: ...

    def reject(self, address: str, *, because: str) -> Receipt: ...

    def withdraw(self, address: str, *, because: str) -> Receipt: ...

    def apply(self, address: str, *, because: str, allow_destructive: bool = False) -> Receipt: ...

    def rollback(self, address: str, *, because: str) -> Receipt: ...

    def mark_applied(self, address: str, *, because: str) -> Receipt: ...

    def health(self, *, quick: bool = False) -> Health: ...

    def outcomes(self) -> Sequence[Reviewed]: ...

    def analyzers(self, *, quick: bool = False) -> Sequence[AnalyzerState]: ...

    def configure(
        self,
        analyzer: str,
        *,
        enabled: bool | None = None,
        params: Mapping[str, Any] | None = None,
        severity_floor: str | None = None,
        namespaces: Sequence[str] | None = None,
        clear: Sequence[str] = (),
        because: str,
    ) -> Sequence[ConfigChange]: ...

    def run(self, *, only: Sequence[str] = (), dry_run: bool = False) -> RunOutcome: ...

    def propose(
        self, *, target: str, note: str, evidence: Sequence[str], operations: Sequence[Mapping[str, Any]]
    ) -> str: ...

    def change_token(self) -> object: ...


class Upkeep(Protocol):
    """What the console asks of the file as a file; `Memory` is one."""

    def stats(self) -> Mapping[str, Any]: ...

    def verify(self) -> Sequence[object]: ...


class Statements(Protocol):
    """What Query asks of a memory; `Memory` is one. The result is one of `deja_tui.cal.results`."""

    def cal(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        read_only: bool = False,
        allow_destructive: bool = False,
        stop: Callable[[], bool] | None = None,
    ) -> Any: ...


class Files(Protocol):
    """What the console asks of the documents of a memory; `Memory.docs` is one."""

    def view(self, path: str, *, version: str | None = None) -> Document: ...

    def write(self, path: str, text: str, *, base: str | None = None) -> Document: ...


class Grains(Protocol):
    """What the console asks of a memory to look around in it; `Memory` is one. All methods may raise `DejaError`."""

    @property
    def namespace(self) -> str: ...

    @property
    def docs(self) -> Files: ...

    def browse(
        self,
        lens: Lens | None = None,
        start: int = 0,
        count: int = 64,
        *,
        anchor: tuple[int, Key] | None = None,
        total: int | None = None,
        at: str | None = None,
    ) -> Slice: ...

    def kinds(self) -> tuple[str, ...]: ...

    def dossier(self, address: str) -> Dossier: ...

    def neighbourhood(
        self, entity: str, depth: int = 1, *, namespace: str | None = None
    ) -> Neighbourhood: ...

    def get(self, address: str) -> StoredGrain | None: ...


class Recorded(Upkeep, Protocol):
    """What the console asks of a memory about its sessions, and about what is set up; `Memory` is one."""

    @property
    def sessions(self) -> Sessions: ...

    @property
    def docs(self) -> Documents: ...

    def standing(self) -> Standing: ...

    def cal(self, text: str) -> object: ...


@dataclass(frozen=True, slots=True)
class Answer(Generic[Answered]):
    """What was asked for; ``late`` when the same kind of question was asked again meanwhile."""

    value: Answered
    late: bool


class Feed:
    """The worker thread of one console. Close it; a decision that was asked for is still carried out."""

    def __init__(self, reviews: Reviews) -> None:
        self.reviews = reviews
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="deja-feed")
        self.slow = ThreadPoolExecutor(max_workers=1, thread_name_prefix="deja-slow")
        # What a person typed may read for long; it holds up neither the lists nor a run.
        self.typed = ThreadPoolExecutor(max_workers=1, thread_name_prefix="deja-typed")
        # What fills in a panel may be asked for again before it was answered: then only the newest question is worked on.
        self.filling = ThreadPoolExecutor(max_workers=1, thread_name_prefix="deja-filling")
        self.closing = Event()
        self.generations: dict[str, int] = {}
        self.token: object = None

    async def ask(
        self,
        kind: str,
        work: Callable[[Reviews], Answered],
        *,
        slow: bool = False,
        typed: bool = False,
        filling: bool = False,
    ) -> Answer[Answered]:
        """Run ``work`` on the worker thread. ``kind`` names the question for the generation count.

        ``slow`` takes seconds; ``typed`` is a statement, which looks at ``closing`` to end early; ``filling`` only reads, and
        is not begun where its answer would come late.

        Raises whatever ``work`` raises.
        """
        generation = self.generations[kind] = self.generations.get(kind, 0) + 1

        def begun(reviews: Reviews) -> Answered | None:
            if self.closing.is_set() or generation != self.generations[kind]:
                return None
            return work(reviews)

        loop = asyncio.get_running_loop()
        thread = self.filling if filling else self.typed if typed else self.slow if slow else self.thread
        value = await loop.run_in_executor(thread, begun if filling else work, self.reviews)
        late = generation != self.generations[kind] or (filling and self.closing.is_set())
        return Answer(cast(Answered, value), late)

    async def changed(self) -> bool:
        """Whether the file changed since this was asked last; the first answer is no."""
        token = (await self.ask("token", lambda reviews: reviews.change_token())).value
        before, self.token = self.token, token
        return before is not None and before != token

    def close(self) -> None:
        """Let what was asked for finish, except a statement that reads, then end the threads."""
        self.closing.set()
        self.filling.shutdown(wait=True, cancel_futures=False)
        self.thread.shutdown(wait=True, cancel_futures=False)
        self.slow.shutdown(wait=True, cancel_futures=False)
        self.typed.shutdown(wait=True, cancel_futures=False)
