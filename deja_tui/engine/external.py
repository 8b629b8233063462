# SPDX-License-Identifier: Apache-2.0
"""Analyzers that are commands of the host: what they are told, and how their answers are read (spec loop-engine §16).

Pure: nothing here starts a process. The host gives an `Exchange` for each command, and only the host can: no file, no
policy and no setting names a command (design §9, engine rule 9). What a command answers is text of a stranger.

Two protocols are read. In ``loop_analyzer`` the command is sent grains; in ``loop`` it first declares evidence queries
and is then sent their rows. docs/analyzer-protocol.md has both; the envelopes are append-only.

* EXT-1  a finding cites grains that were sent to the command in this very call; one that is left with none is dropped.
* EXT-2  a command proposes flags about memory and queries: no operation, no document, no host, never automatic.
* EXT-3  its text is cut to 200 characters, cleaned, and shown inside a fence that it cannot close.
* EXT-4  a command that fails costs its own findings and says why; nothing it found before is closed (RUN-4).
* EXT-5  it cannot take the name of another analyzer, nor one of the engine's own names (`linked.checked_id`).
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from deja_tui.engine.analyzer import Context, Manifest
from deja_tui.engine.draft import MAX_EVIDENCE, Draft, Refused
from deja_tui.engine.faults import LoopError
from deja_tui.engine.identity import digest12, target_class
from deja_tui.engine.linked import NAME
from deja_tui.engine.objects import Activation
from deja_tui.engine.substrate import StoredGrain
from deja_tui.text import clean, fence, fold

ENVELOPE: Final = 1
MAX_GRAINS: Final = 2_000
MAX_FINDINGS: Final = 200
MAX_TEXT: Final = 200
MAX_GUIDANCE: Final = 600
MAX_FIELD: Final = 4_000
MAX_REPLY: Final = 1_048_576
MAX_QUERIES: Final = 8
SENT_TYPES: Final = ("fact", "observation", "tool", "skill", "goal")
TEMPLATE: Final = "command.finding"
ACTION: Final = "flag"

_SEVERITY: Final = {"info": "info", "medium": "medium", "med": "medium", "high": "high"}
_MAX_TARGET: Final = 300


class Exchange(Protocol):
    """What the host does for one command."""

    def start(self, request: bytes) -> Callable[[], bytes]:
        """Start one process with ``request`` on its stdin; the answer waits for its stdout. Raises LOP-E051."""
        ...

    def rows(self, query: str) -> Sequence[str]:
        """Addresses that a read-only query gives. Raises what the language raises."""
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """What a command says of itself. ``queries``: name → text, in the ``loop`` protocol; None: it wants grains."""

    id: str = ""
    title: str = ""
    description: str = ""
    queries: Mapping[str, str] | None = None


# --- names --------------------------------------------------------------------------------------------


def split_flag(value: str) -> tuple[str, str]:
    """``id=cmd`` as (id, cmd); a command alone has the id "". Raises LOP-E036 when nothing is left to run."""
    name, sign, rest = value.partition("=")
    named, command = (name, rest) if sign and NAME.fullmatch(name) else ("", value)
    if not command.strip():
        raise LoopError(
            "LOP-E036", "an analyzer command is ID=COMMAND", "for example acme.lint='python3 lint.py'"
        )
    return named, command.strip()


# --- the probe ----------------------------------------------------------------------------------------


def probe_request() -> bytes:
    """Asks a command of the ``loop_analyzer`` protocol who it is."""
    return _json({"loop_analyzer": ENVELOPE, "op": "probe"})


def manifest_request() -> bytes:
    """Asks a command of the ``loop`` protocol which evidence it wants."""
    return _json({"loop": ENVELOPE, "op": "manifest"})


def read_told(reply: bytes) -> Told:
    """What a command answered to either question. Raises LOP-E051 when that is no JSON object, or names an error."""
    value = _object(reply)
    if "error" in value:
        raise LoopError("LOP-E051", f"the command answered with an error{_quoted(value['error'])}")
    queries = _queries(value["evidence"]) if "evidence" in value else None
    return Told(
        id=value["id"] if isinstance(value.get("id"), str) else "",
        title=_line(value.get("title"), 80),
        description=_line(value.get("description"), MAX_TEXT),
        queries=queries,
    )


def _queries(value: object) -> dict[str, str]:
    """``[{"name", "query"}]``, a list of texts, or a map of texts."""
    named: list[tuple[object, object]] = []
    if isinstance(value, Mapping):
        named = list(value.items())
    elif isinstance(value, list):
        for number, one in enumerate(value):
            told = (
                (one.get("name", str(number)), one.get("query"))
                if isinstance(one, Mapping)
                else (str(number), one)
            )
            named.append(told)
    found = {str(name)[:64]: query for name, query in named if isinstance(query, str) and query.strip()}
    if not found or len(found) < len(named) or len(found) > MAX_QUERIES:
        raise LoopError("LOP-E051", f"the command declares 1 to {MAX_QUERIES} evidence queries, each a text")
    return found


# --- one call -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sent:
    """What a command was sent: the request, and the grains in it by address."""

    request: bytes
    grains: Mapping[str, StoredGrain]


def bundle(ctx: Context, watermark_ms: int | None) -> Sent:
    """The request of the ``loop_analyzer`` protocol: the newest live grains, at most 2,000, fairly split by type."""
    newest: dict[str, deque[StoredGrain]] = {}
    total = 0
    for kind in SENT_TYPES:
        kept: deque[StoredGrain] = deque(maxlen=MAX_GRAINS)
        for grain in ctx.read.scan(kind, ctx.namespaces):
            ctx.spend()
            if grain.live:
                kept.append(grain)
                total += 1
        newest[kind] = kept
    chosen = [
        grain for kind, share in _shares(newest).items() for grain in list(newest[kind])[-share:] if share
    ]
    if total > len(chosen):
        ctx.looked_in_part()  # what it was not sent it can no longer find: that is no reason to close it
    request: dict[str, Any] = {"loop_analyzer": ENVELOPE, "op": "analyze", "now_ms": ctx.now_ms}
    if watermark_ms is not None:
        request["watermark_ms"] = watermark_ms
    request |= {"grains": [_plain(grain) for grain in chosen], "total": total}
    return Sent(_json(request), {grain.address: grain for grain in chosen})


def _shares(newest: Mapping[str, Sequence[StoredGrain]]) -> dict[str, int]:
    """How many of each type are sent: small types whole, the rest of the room split evenly among the others."""
    shares: dict[str, int] = {}
    room, waiting = MAX_GRAINS, sorted(newest, key=lambda kind: (len(newest[kind]), SENT_TYPES.index(kind)))
    for place, kind in enumerate(waiting):
        shares[kind] = min(len(newest[kind]), room // (len(waiting) - place))
        room -= shares[kind]
    return {kind: shares[kind] for kind in SENT_TYPES}


def answers(ctx: Context, queries: Mapping[str, str], rows: Callable[[str], Sequence[str]]) -> Sent:
    """The request of the ``loop`` protocol: the live rows of each declared query, at most 2,000 in all."""
    grains: dict[str, StoredGrain] = {}
    told: dict[str, list[dict[str, Any]]] = {}
    room = MAX_GRAINS
    for name, query in queries.items():
        found = [ctx.read.get(address) for address in rows(query)]
        there = [grain for grain in found if grain is not None and grain.live and _inside(ctx, grain)]
        kept = there[:room]
        if len(there) > room:
            ctx.looked_in_part()
        ctx.spend(len(found))
        room -= len(kept)
        grains |= {grain.address: grain for grain in kept}
        told[name] = [_plain(grain) for grain in kept]
    return Sent(_json({"loop": ENVELOPE, "op": "analyze", "now_ms": ctx.now_ms, "rows": told}), grains)


def _inside(ctx: Context, grain: StoredGrain) -> bool:
    return ctx.namespaces is None or grain.namespace in ctx.namespaces


def _plain(grain: StoredGrain) -> dict[str, Any]:
    told: dict[str, Any] = {
        "hash": grain.address,
        "grain_type": grain.type,
        "namespace": grain.namespace,
        "created_at_ms": grain.created_at,
    }
    until = grain.get("valid_to")
    if isinstance(until, int):
        told["valid_to_ms"] = until
    return {**told, "fields": {name: _value(value) for name, value in grain.fields.items()}}


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return value[:MAX_FIELD]
    if isinstance(value, bytes):
        return value[: MAX_FIELD // 2].hex()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(name): _value(inner) for name, inner in value.items()}
    return [_value(inner) for inner in value] if isinstance(value, list | tuple) else value


# --- the answer ---------------------------------------------------------------------------------------


def read_findings(reply: bytes, sent: Mapping[str, StoredGrain], source: str) -> Iterator[Draft | Refused]:
    """The findings of an answer, each as a flag. Raises LOP-E051 when it is no ``{"findings": […]}``.

    Unknown keys are passed over: a newer command may say more. More than 200 findings are refused one by one.
    """
    findings = _object(reply).get("findings")
    if not isinstance(findings, list):
        raise LoopError("LOP-E051", "the command's answer has no list of findings")
    for number, told in enumerate(findings):
        if number < MAX_FINDINGS:
            yield _finding(told, sent, source)
        else:
            yield Refused(LoopError("LOP-E011", f"one call takes {MAX_FINDINGS} findings"))


def _finding(told: object, sent: Mapping[str, StoredGrain], source: str) -> Draft | Refused:
    if not isinstance(told, Mapping):
        return Refused(LoopError("LOP-E011", "a finding of the command is no object"))
    target, text = told.get("target"), _line(told.get("summary"), MAX_TEXT)
    if not isinstance(target, str) or not target.strip() or not text:
        return Refused(LoopError("LOP-E011", "a finding of the command lacks its target or its summary"))
    about = _line(target, _MAX_TARGET)
    try:
        target_class(about)  # before the fragment makes one out of nothing
    except LoopError as fault:
        return Refused(fault)
    named = told.get("evidence")
    listed = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    cited = tuple(dict.fromkeys(one for one in listed if one in sent))
    if not cited:
        return Refused(LoopError("LOP-E011", "a finding of the command cites nothing that it was sent"))
    key = told.get("key")
    apart = digest12(key if isinstance(key, str) and key else _without_numbers(text))
    guidance = _line(told.get("guidance"), MAX_GUIDANCE)
    return Draft(
        target_ref=f"{about}#{apart}",
        action=ACTION,
        template_id=TEMPLATE,
        args={"text": text},
        severity=_SEVERITY.get(str(told.get("severity")).lower(), "low"),
        operations=(),
        evidence=cited[:MAX_EVIDENCE],
        evidence_total=len(cited),
        newest_evidence=max(sent[address].seq for address in cited),
        confidence=_share(told.get("confidence"), 0.5),
        importance=_share(told.get("importance"), 0.3),
        data={"source": source, **({"guidance": guidance} if guidance else {})},
    )


def _without_numbers(text: str) -> str:
    """What two runs of one finding have in common: a count that rose is no second finding."""
    return re.sub(r"[0-9]+", "#", fold(text))


def _share(value: object, default: float) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return min(1.0, max(0.0, float(value))) if good else default  # type: ignore[arg-type]


def _line(value: object, limit: int) -> str:
    """``value`` as one cleaned line of at most ``limit`` characters; "" for what is no text."""
    told = value[: 4 * limit].strip()[:limit] if isinstance(value, str) else ""
    return clean(told, limit=limit)[:limit]


def _quoted(value: object) -> str:
    told = _line(value, MAX_TEXT)
    return f"; it says {fence(told)}" if told else ""


def _object(reply: bytes) -> Mapping[str, Any]:
    if len(reply) > MAX_REPLY:
        raise LoopError("LOP-E051", f"the command's answer is longer than {MAX_REPLY} bytes")
    try:
        value = json.loads(reply.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Mapping):
        raise LoopError(
            "LOP-E051", "the command's answer is no JSON object", "one object on stdout, nothing else"
        )
    return value


def _json(value: object) -> bytes:
    # ASCII with escapes holds every text, half a surrogate pair too
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str).encode("ascii") + b"\n"


# --- the analyzer -------------------------------------------------------------------------------------


class CommandAnalyzer:
    """A command as an analyzer of the run. Each call is one process; `begin` starts it, `analyze` waits for it."""

    def __init__(
        self,
        id: str,
        told: Told,
        exchange: Exchange,
        *,
        watermark_ms: int | None = None,
        fault: LoopError | None = None,
    ) -> None:
        self.manifest = Manifest(
            id=id,
            title=told.title or id,
            description=told.description or "a command of this host",
            tier="T0",
            params=(),
            target_classes=("memory", "query"),
            origin="command",
        )
        self._told, self.exchange, self._fault = told, exchange, fault
        self._watermark_ms = watermark_ms
        self._under_way: tuple[Sent, Callable[[], bytes]] | None = None

    def begin(self, ctx: Context) -> None:
        """Start the process, so that several commands work at once. Raises LOP-E051, also for a failed probe."""
        if self._fault is not None:
            raise self._fault
        queries = self._told.queries
        sent = (
            bundle(ctx, self._watermark_ms) if queries is None else answers(ctx, queries, self.exchange.rows)
        )
        self._under_way = (sent, self.exchange.start(sent.request))

    def analyze(self, ctx: Context) -> Iterable[Draft | Refused]:
        if self._under_way is None:
            self.begin(ctx)
        assert self._under_way is not None
        (sent, wait), self._under_way = self._under_way, None
        return list(read_findings(wait(), sent.grains, self.manifest.id))

    def probe(self, ctx: Context) -> Activation:
        return Activation("quiet", 0, 1, "findings of the command")
