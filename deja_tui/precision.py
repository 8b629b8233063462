# SPDX-License-Identifier: Apache-2.0
"""How often analyzers are right: labelled corpora are played into fresh memories, looked at, and compared with their labels.

A corpus is one JSON file: operations that make a memory, and the findings that its last run must have (docs/precision.md).
Every other finding is wrong, every label without a finding is missed. All analyzers look, those that are off by themselves
too. A run of analyzer commands may take part.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deja_tui import watch
from deja_tui.commands import LIMIT_MS, connect
from deja_tui.engine import AnalyzerConfig, RunOptions, pipeline, views
from deja_tui.engine.analyzer import Analyzer
from deja_tui.engine.analyzers import ANALYZERS
from deja_tui.engine.draft import MAX_EVIDENCE
from deja_tui.engine.objects import Recommendation
from deja_tui.engine.templates import render
from deja_tui.engine.wire import read_recommendation
from deja_tui.errors import DejaError
from deja_tui.facade import Memory
from deja_tui.text import DAY_MS

FORMAT: Final = "deja-corpus/1"
MAX_FILE: Final = 16 * 1024 * 1024
FEWEST: Final = 10  # below, a share says nothing and only counts are told
_COUNTING: Final = ("recall", "ask", "context")
_ACTOR: Final = "user:bench"

Fill = Callable[[Path, int], None]


@dataclass(frozen=True, slots=True)
class Corpus:
    """One labelled memory.

    Attributes:
        params: analyzer → parameters of the run.
        off: families that do not look.
        opened_at_ms: since when recalls are counted; None: since the earliest operation.
        fill: makes what ``ops`` builds on.
    """

    name: str
    title: str
    now_ms: int
    ops: Sequence[Mapping[str, Any]]
    labels: Sequence[Mapping[str, Any]]
    namespace: str = "shared"
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    off: tuple[str, ...] = ()
    opened_at_ms: int | None = None
    fill: Fill | None = None


@dataclass(frozen=True, slots=True)
class Miss:
    """A finding that no label asks for, or a label that no finding answers, in cleaned words."""

    corpus: str
    analyzer: str
    told: str


@dataclass(slots=True)
class Score:
    """Of one family of analyzers: findings that a label asks for, others, labels without one."""

    family: str
    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def found(self) -> int:
        return self.right + self.wrong

    @property
    def labelled(self) -> int:
        return self.right + self.missed

    @property
    def precision(self) -> float | None:
        """Right of all findings; None below ten of them."""
        return self.right / self.found if self.found >= FEWEST else None

    @property
    def recall(self) -> float | None:
        """Right of all labels; None below ten of them."""
        return self.right / self.labelled if self.labelled >= FEWEST else None


@dataclass(frozen=True, slots=True)
class Report:
    """Scores by family in the order of a run, what was wrong or missed, and what did not run."""

    corpora: tuple[str, ...]
    scores: tuple[Score, ...]
    wrong: tuple[Miss, ...]
    missed: tuple[Miss, ...]
    skipped: tuple[Miss, ...]


# --- reading ----------------------------------------------------------------------------------------


def load(folder: Path) -> list[Corpus]:
    """Every ``*.json`` below ``folder`` that says it is a corpus, by name.

    Raises IMP-E001 (no such folder, or nothing in it), IMP-E002 naming the file that is malformed.
    """
    files = sorted(folder.rglob("*.json")) if folder.is_dir() else [folder] if folder.is_file() else []
    found = [corpus for path in files if (corpus := read(path)) is not None]
    if not found:
        raise DejaError("IMP-E001", "there is no labelled corpus", f'files *.json with "format": "{FORMAT}"')
    return found


def read(path: Path) -> Corpus | None:
    """The corpus of one file; None for a file of another kind. Raises IMP-E002."""
    if path.stat().st_size > MAX_FILE:
        raise DejaError("IMP-E002", f"{path.name} is longer than {MAX_FILE} bytes")
    try:
        value = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as fault:
        raise DejaError("IMP-E002", f"{path.name} is not JSON") from fault
    if not isinstance(value, Mapping) or value.get("format") != FORMAT:
        return None
    return corpus_of(value, path.stem)


def corpus_of(value: Mapping[str, Any], name: str) -> Corpus:
    """The corpus of a decoded file. Raises IMP-E002 naming what is missing."""
    ops, labels, params = value.get("ops"), value.get("labels"), value.get("params", {})
    off, opened = value.get("off", []), value.get("opened_at_ms")
    sound = (
        isinstance(value.get("now_ms"), int)
        and isinstance(ops, list)
        and isinstance(labels, list)
        and isinstance(params, Mapping)
        and isinstance(off, list)
        and (opened is None or isinstance(opened, int))
        and all(isinstance(one, Mapping) for one in (*ops, *labels))
        and all(isinstance(one.get("op"), str) for one in ops)
        and all(isinstance(one.get("analyzer"), str) for one in labels)
    )
    if not sound:
        raise DejaError(
            "IMP-E002", f"{name} needs now_ms, a list of ops and a list of labels, each with its analyzer"
        )
    return Corpus(
        name, str(value.get("title", name)), value["now_ms"], ops or [], labels or [],
        str(value.get("namespace", "shared")), params, tuple(family(str(one)) for one in off), opened,
    )  # fmt: skip


# --- playing ----------------------------------------------------------------------------------------


class Player:
    """Plays the operations of a corpus into a memory, at the times they tell of."""

    def __init__(self, corpus: Corpus, folder: Path) -> None:
        self.corpus, self.folder = corpus, folder
        counts = any(op.get("op") in _COUNTING for op in corpus.ops)
        self.telemetry = "aggregate" if counts else "off"
        earliest = min([corpus.now_ms, *(at for op in corpus.ops if (at := self._at(op)) is not None)])
        self.now = earliest if corpus.opened_at_ms is None else corpus.opened_at_ms
        self.names: dict[str, str] = {}
        self.calls = 0
        self.twin: Path | None = None
        self.path = folder / f"{corpus.name}.deja"
        if corpus.fill is not None:
            corpus.fill(self.path, corpus.now_ms)
        self.memory = self._opened(self.path)

    def _opened(self, path: Path) -> Memory:
        return Memory.open(
            path,
            namespace=self.corpus.namespace,
            actor=_ACTOR,
            telemetry=self.telemetry,
            durability="normal",
            clock=lambda: self.now,
        )

    def close(self) -> None:
        self.memory.close()

    def play(self) -> None:
        """Raises IMP-E002 naming the operation that cannot be played."""
        # the watch begins before anything is recalled, as it does in a memory that is lived with
        self.memory.telemetry.watching()
        for number, op in enumerate(self.corpus.ops):
            self._one(op, f"{self.corpus.name}, operation {number + 1}")
        self.now = self.corpus.now_ms

    def _one(self, op: Mapping[str, Any], place: str) -> None:
        act = getattr(self, f"do_{op['op']}", None)
        if act is None:
            raise DejaError("IMP-E002", f"{place}: no such operation")
        at = self._at(op)
        self.now = self.now if at is None else at
        try:
            act(op)
        except DejaError as fault:
            raise DejaError("IMP-E002", f"{place}: {fault}", fault.next_step) from fault
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise DejaError("IMP-E002", f"{place}: {type(fault).__name__} in {op['op']}") from fault

    def _at(self, op: Mapping[str, Any]) -> int | None:
        try:
            if "days_ago" in op:
                return self.corpus.now_ms - int(float(op["days_ago"]) * DAY_MS)
            at = op.get("at_ms", op.get("now_ms"))
            return None if at is None else int(at)
        except (TypeError, ValueError, OverflowError) as fault:
            raise DejaError(
                "IMP-E002", f"{self.corpus.name}: an operation has a time that is none"
            ) from fault

    def named(self, name: str) -> list[str]:
        """Addresses of ``@name``, or of ``@name.*`` for all of a repeated operation. Raises KeyError."""
        told = name.removeprefix("@")
        if told.endswith(".*"):
            found = [address for key, address in self.names.items() if key.startswith(told[:-1])]
            if not found:
                raise KeyError(name)
            return found
        return [self.names[told]]

    # --- operations ---------------------------------------------------------------------------------

    def do_add(self, op: Mapping[str, Any]) -> None:
        for number in range(int(op.get("repeat", 1))):
            at = self.now + number * int(op.get("every_ms", 0))
            fields = {**op["fields"], "created_at": at}
            address = self.memory.add(op["type"], fields, namespace=op.get("namespace"))
            self._name(op, number, address)

    def do_tool_call(self, op: Mapping[str, Any]) -> None:
        for number in range(int(op.get("repeat", 1))):
            self.calls += 1
            fields = {
                "tool_name": op["tool"],
                "tool_content": str(op["result"]).replace("{n}", str(number)),
                "is_error": bool(op["is_error"]),
                "tool_call_id": f"call-{self.calls}",
                "created_at": self.now + number * int(op.get("every_ms", 1_000)),
                **op.get("fields", {}),
            }
            self._name(op, number, self.memory.add("tool", fields, namespace=op.get("namespace")))

    def _name(self, op: Mapping[str, Any], number: int, address: str) -> None:
        if "as" in op:
            self.names[f"{op['as']}.{number}" if "repeat" in op else str(op["as"])] = address

    def do_supersede(self, op: Mapping[str, Any]) -> None:
        (target,) = self.named(op["target"])
        fields = {**op["fields"], "created_at": self.now}
        self._name(op, 0, self.memory.supersede(target, fields))

    def do_forget(self, op: Mapping[str, Any]) -> None:
        (target,) = self.named(op["target"])
        self.memory.forget(target, because="the corpus says so")

    def do_recall(self, op: Mapping[str, Any]) -> None:
        for _ in range(int(op.get("times", 1))):
            self.memory.recall(op.get("subject"), op.get("relation"), namespace=op.get("namespace"))

    def do_ask(self, op: Mapping[str, Any]) -> None:
        for _ in range(int(op.get("times", 1))):
            self.memory.search(op["query"], namespace=op.get("namespace"))

    def do_context(self, op: Mapping[str, Any]) -> None:
        for _ in range(int(op.get("times", 1))):
            self.memory.telemetry.assembled(bool(op["overflow"]))

    def do_twin(self, op: Mapping[str, Any]) -> None:
        """A copy of the memory lives on by itself; ``sync_in`` brings its changes back."""
        bundle, self.twin = self.folder / "twin.bundle", self.folder / "twin.deja"
        self.memory.bundle(bundle)
        here, self.memory = self.memory, self._opened(self.twin)
        try:
            self.memory.import_bundle(bundle)
            for number, inner in enumerate(op["ops"]):
                self._one(inner, f"{self.corpus.name}, copy, operation {number + 1}")
        finally:
            self.memory.close()
            self.memory = here

    def do_sync_in(self, op: Mapping[str, Any]) -> None:
        if self.twin is None:
            raise ValueError
        bundle = self.folder / "back.bundle"
        with self._opened(self.twin) as copy:
            copy.bundle(bundle)
        self.memory.import_bundle(bundle)

    def do_run(self, op: Mapping[str, Any]) -> None:
        self.memory.loop.run()

    def do_approve(self, op: Mapping[str, Any]) -> None:
        self.memory.loop.approve(self._pending(op["rec"]), because="the corpus says so")

    def do_apply(self, op: Mapping[str, Any]) -> None:
        self.memory.loop.approve_and_apply(self._pending(op["rec"]), because="the corpus says so")

    def do_dismiss(self, op: Mapping[str, Any]) -> None:
        self.memory.loop.reject(self._pending(op["rec"]), because="the corpus says so")

    def _pending(self, selector: Mapping[str, Any]) -> str:
        for row in self.memory.loop.queue():
            about = row.target_ref.split("#")[0]
            if family(row.analyzer) == family(selector["analyzer"]) and about == selector.get(
                "target", about
            ):
                return row.address
        raise KeyError(selector["analyzer"])


def family(analyzer: str) -> str:
    """An analyzer's name without its major version."""
    return analyzer.rsplit("/", 1)[0]


# --- judging ----------------------------------------------------------------------------------------


def _findings(
    player: Player, extra: Sequence[Analyzer]
) -> tuple[list[Recommendation], list[Miss], list[str]]:
    """What is pending after one run with every analyzer on; what was skipped; and which families ran."""
    memory, corpus = player.memory, player.corpus
    known = (*ANALYZERS, *memory.analyzers, *extra)
    params = {family(name): given for name, given in corpus.params.items()}
    config = {
        one.manifest.id: AnalyzerConfig(
            enabled=one.manifest.family not in corpus.off, params=params.get(one.manifest.family, {})
        )
        for one in known
    }
    memory.telemetry.flush()
    options = RunOptions(trigger=_ACTOR, config=config, analyzers=(*memory.analyzers, *extra))
    outcome = pipeline.run(memory.substrate, options, corpus.now_ms)
    grains = (memory.store.get(row.address) for row in views.ledger(memory.substrate, ("pending",)))
    # what counts recalls has nothing to look at in a corpus without any
    idle = (one for one in outcome.analyzers_skipped if not one.reason.startswith(("missing ", "disabled")))
    skipped = [Miss(corpus.name, one.id, one.reason) for one in idle]
    return [read_recommendation(grain) for grain in grains if grain], skipped, list(outcome.analyzers_run)


def answers(found: Recommendation, label: Mapping[str, Any], named: Callable[[str], list[str]]) -> bool:
    """Whether a finding is what a label asks for: the family, and whatever else the label says of it."""
    if family(found.analyzer) != family(str(label["analyzer"])):
        return False
    if "target" in label and found.target_ref.split("#")[0] != label["target"]:
        return False
    args = label.get("args", {})
    if any(found.summary.args.get(name) != value for name, value in args.items()):
        return False
    if "severity" in label and found.severity != label["severity"]:
        return False
    return "evidence" not in label or _cites(
        found, {one for name in label["evidence"] for one in named(name)}
    )


def _cites(found: Recommendation, wanted: set[str]) -> bool:
    cited = set(found.evidence)
    if found.evidence_total > len(cited) or len(wanted) > MAX_EVIDENCE:
        return cited <= wanted and found.evidence_total == len(wanted)
    return cited == wanted


def judge(
    corpora: Iterable[Corpus],
    *,
    commands: Sequence[str] = (),
    limit_ms: int = LIMIT_MS,
    analyzers: Sequence[Analyzer] = (),
) -> Report:
    """Play and score every corpus, each in a memory of its own in a temporary folder.

    Args:
        commands, limit_ms: analyzer commands that take part, as in `Loop.run`.
        analyzers: linked ones that take part.

    Raises IMP-E002 (a corpus that cannot be played), LOP-E036 (a command without a free name).
    """
    scores: dict[str, Score] = {
        one.manifest.family: Score(one.manifest.family) for one in (*ANALYZERS, *analyzers)
    }
    wrong: list[Miss] = []
    missed: list[Miss] = []
    skipped: list[Miss] = []
    names: list[str] = []
    waiting = list(corpora)
    for corpus in watch.each(waiting, len(waiting), "corpora", every=1):
        names.append(corpus.name)
        with watch.watched(None), tempfile.TemporaryDirectory(prefix="deja-precision-") as folder:
            player = Player(corpus, Path(folder))
            try:
                player.play()
                extra = [*analyzers, *_connected(player.memory, commands, limit_ms, analyzers)]
                found, idle, ran = _findings(player, extra)
                for name in ran:
                    scores.setdefault(family(name), Score(family(name)))
                for miss in _score(corpus, player, found, scores):
                    (wrong if miss.told.startswith("found ") else missed).append(miss)
                skipped += idle
            finally:
                player.close()
    return Report(tuple(names), tuple(scores.values()), tuple(wrong), tuple(missed), tuple(skipped))


def _connected(
    memory: Memory, commands: Sequence[str], limit_ms: int, linked: Sequence[Analyzer]
) -> Sequence[Analyzer]:
    def ask(query: str) -> list[str]:
        return [row.hash for row in getattr(memory.cal(query, read_only=True), "rows", ())]

    taken = [one.manifest.id for one in (*ANALYZERS, *linked)]
    return connect(commands, taken=taken, ask=ask, watermark=lambda name: None, limit_ms=limit_ms)


def _score(
    corpus: Corpus, player: Player, found: Sequence[Recommendation], scores: dict[str, Score]
) -> Iterator[Miss]:
    """Count findings against labels, each at most once; yields what was wrong, then what was missed."""
    open_ = list(corpus.labels)
    for one in found:
        name = family(one.analyzer)
        score = scores.setdefault(name, Score(name))
        try:
            label = next((each for each in open_ if answers(one, each, player.named)), None)
        except KeyError as fault:
            raise DejaError("IMP-E002", f"{corpus.name}: a label cites what no operation made") from fault
        if label is None:
            score.wrong += 1
            yield Miss(corpus.name, name, f"found {render(one.summary.template_id, one.summary.args)}")
        else:
            open_.remove(label)
            score.right += 1
    for label in open_:
        name = family(str(label["analyzer"]))
        scores.setdefault(name, Score(name)).missed += 1
        yield Miss(corpus.name, name, f"missed {label.get('why') or _said(label)}")


def _said(label: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in label.items() if name != "analyzer"}, ensure_ascii=True)
