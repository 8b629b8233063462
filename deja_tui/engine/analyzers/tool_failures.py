# SPDX-License-Identifier: Apache-2.0
"""A tool keeps failing the same way.

Signal: calls of one tool with one error signature, as a share of all its calls with a known outcome in the window.
Harm: the agent repeats a call that will not work.
Fires: count ≥ min_count and (count / calls ≥ min_rate or count ≥ min_abs).
Stays quiet: below both; calls dated after now; calls whose result never came; failures that an applied lesson covers.
Hostile text: signature and example are tool output. They are cut to 80 and 200 characters, shown fenced, and nothing is
applied unasked.
Apply class: never automatic. Where the namespace has an instruction document, the reviewer may choose to add one line to it
instead of writing a fact (D27). It is an alternative of the same finding and no finding of its own: one cluster has one
identity (D25) and one decision, and an approval stores which alternative it meant (D20).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from deja_tui.engine import cal_writer
from deja_tui.engine.analyzer import DAY_MS, Context, Covered, Manifest, Param
from deja_tui.engine.doc_edits import ROOT, diff_of
from deja_tui.engine.draft import MAX_EVIDENCE, Draft
from deja_tui.engine.faults import LoopError
from deja_tui.engine.identity import digest12, identity
from deja_tui.engine.objects import Activation
from deja_tui.engine.operations import (
    Add,
    Alternative,
    DocEdit,
    Operation,
    Supersede,
    check_alternatives,
    digest,
)
from deja_tui.engine.substrate import FailureCluster, StoredGrain
from deja_tui.engine.templates import render
from deja_tui.engine.views import error_text, is_failure, tool_name
from deja_tui.text import compact_json, error_signature, fold, strip_terminal_codes, utc

RELATION: Final = "fails_with"
ACTION: Final = "cluster_failure"
INSTRUCTIONS: Final = (
    "instructions.md", "CLAUDE.md", "claude.md", "AGENTS.md", "agents.md", "GEMINI.md", "gemini.md",
    "copilot-instructions.md",
)  # fmt: skip
"""Names under which an instruction document is looked for, the first that is there."""
_SHOWN: Final = 120
_EXAMPLE: Final = 200
_EXAMPLE_READ: Final = 4_096
_LONGER: Final = (60, 90, 180, 365)  # the longest is the most that the parameter takes (loop-engine §2)
_WIDER: Final = "deja loop set tool_failure.window_days={days} --because 'old logs'"
HORIZONS_MS: Final = (DAY_MS, 7 * DAY_MS, 30 * DAY_MS)


class ToolFailures:
    """``loop.tool_failure/1``: spec loop-engine §4.1 and §5."""

    manifest = Manifest(
        id="loop.tool_failure/1",
        title="Tool failures",
        description="calls of one tool that fail the same way, often",
        tier="T0",
        target_classes=("memory", "prompt"),  # a line of the instruction document is the other choice (D27)
        params=(
            Param("min_count", "int", 3, 1, 1_000, "fewest failures of one kind"),
            Param("min_rate", "float", 0.4, 0.0, 1.0, "smallest share of the tool's calls"),
            Param("min_abs", "int", 50, 1, 100_000, "so many failures fire whatever their share"),
            Param("window_days", "int", 30, 1, _LONGER[-1], "days that are looked at"),
        ),
    )

    def analyze(self, ctx: Context) -> Iterable[Draft]:
        documents = _Instructions(ctx)
        for cluster in ctx.read.tool_failures(_since(ctx), ctx.now_ms, 0, ctx.namespaces):
            draft = self._draft(ctx, cluster)
            if draft:
                yield replace(draft, alternatives=documents.choice(cluster, draft.operations))

    def probe(self, ctx: Context) -> Activation:
        clusters = ctx.read.tool_failures(_since(ctx), ctx.now_ms, 0, ctx.namespaces)
        most = max((cluster.count for cluster in clusters), default=0)
        need = int(ctx.params["min_count"])
        if any(_fires(ctx.params, cluster) for cluster in clusters):
            return Activation("active", most, need, _unit(ctx))
        state = "quiet" if most >= need else "below_threshold"
        older, days = _before(ctx, sum(cluster.count for cluster in clusters))
        hint = _WIDER.format(days=days) if days else "" if older else "deja import claude-code PATH"
        return Activation(state, most, need, _unit(ctx), hint, older=older)

    def _draft(self, ctx: Context, cluster: FailureCluster) -> Draft | None:
        target = _target(cluster.tool, cluster.signature)
        covered = ctx.covered_until(target, ACTION)
        if not covered and not _fires(ctx.params, cluster):
            return None
        members = ctx.read.tool_failure_members(
            cluster, _since(ctx), ctx.now_ms, covered.seq if covered else 0, ctx.namespaces, MAX_EVIDENCE
        )
        # counting again what arrived since an apply costs a pass, so it is done only when it can matter
        if len(members) < min(int(ctx.params["min_count"]), MAX_EVIDENCE):
            return None
        counted = _again(ctx, cluster, covered.seq) if covered else cluster
        if counted is None or not _fires(ctx.params, counted):
            return None
        rate = counted.count / counted.calls
        return Draft(
            target_ref=target,
            action=ACTION,
            template_id="tool_failure.again" if covered else "tool_failure.cluster",
            args={
                "tool": counted.tool,
                "count": counted.count,
                "calls": counted.calls,
                "rate": int(rate * 100 + 0.5),
                "signature": counted.signature,
                "example": _example(members[0]),
                **_counted_since(covered),
            },
            severity=_severity(rate, counted.count),
            operations=(_lesson(ctx, counted, rate),),
            evidence=tuple(member.address for member in members),
            evidence_total=counted.count,
            newest_evidence=max(member.seq for member in members),
            evidence_query=_query(ctx, counted, members),
            metric=_metric(ctx, counted, covered),
            confidence=round(rate, 4),
            importance=round(0.5 + rate / 2, 4),
        )


def cluster_target(grain: StoredGrain) -> str | None:
    """The target of a recommendation about the cluster that a failed call belongs to; None for anything else."""
    if not is_failure(grain) or not tool_name(grain):
        return None
    return _target(tool_name(grain), error_signature(error_text(grain)))


def _target(tool: str, signature: str) -> str:
    return f"entity:lessons/{tool[:_SHOWN]}#{digest12(tool, signature)}"


class _Instructions:
    """The instruction document of each namespace, looked up once a run."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._found: dict[str, tuple[str, str] | None] = {}

    def choice(self, cluster: FailureCluster, lesson: tuple[Operation, ...]) -> tuple[Alternative, ...]:
        """The lesson as a fact, or as a line of the document; nothing to choose without one, or with the line in it."""
        found = self._of(cluster.namespace)
        line = _line(cluster)
        if found is None or line in found[1].split("\n"):
            return ()
        path, text = found
        after = text + ("" if not text or text.endswith("\n") else "\n") + line + "\n"
        edit = DocEdit(path, cluster.namespace, digest(text), diff_of(text, after))
        choice = (
            Alternative("keep it as a fact", lesson),
            Alternative(f"add a line to {path.removeprefix(ROOT)}", (edit,)),
        )
        try:
            check_alternatives(choice, lesson)
        except LoopError:  # a document of very long lines: what surrounds the change does not fit a proposal
            return ()
        return choice

    def _of(self, namespace: str) -> tuple[str, str] | None:
        if namespace not in self._found:
            texts = ((ROOT + name, self._ctx.read.document(namespace, ROOT + name)) for name in INSTRUCTIONS)
            there = ((path, text) for path, text in texts if text is not None)
            self._found[namespace] = next(there, None)
        return self._found[namespace]


def _line(cluster: FailureCluster) -> str:
    """The line of the document: what the tool printed is a quotation of one line that it cannot end itself."""
    told = render("tool_failure.line", {"tool": cluster.tool, "signature": cluster.signature})
    return told.replace('"', "'").replace("«", '"').replace("»", '"')


def _unit(ctx: Context) -> str:
    return f"failures of one kind in the last {ctx.params['window_days']} days"


def _since(ctx: Context) -> int:
    return ctx.now_ms - int(ctx.params["window_days"]) * DAY_MS


def _before(ctx: Context, inside: int) -> tuple[int, int]:
    """(failures before the window, the days of a longer one in which something new fires; 0: in none of `_LONGER`).

    Longer windows are counted only where more has failed than this one holds.
    """
    if ctx.read.position().errors <= inside:
        return 0, 0
    past = ctx.read.tool_failures(0, ctx.now_ms, 0, ctx.namespaces)
    older = sum(cluster.count for cluster in past) - inside
    if not any(cluster.count >= ctx.params["min_count"] for cluster in past):
        return older, 0
    return older, next((days for days in _LONGER if _fire_within(ctx, days)), 0)


def _fire_within(ctx: Context, days: int) -> bool:
    if days <= ctx.params["window_days"]:
        return False
    found = ctx.read.tool_failures(ctx.now_ms - days * DAY_MS, ctx.now_ms, 0, ctx.namespaces)
    return any(_fires(ctx.params, cluster) and not _was_found(ctx, cluster) for cluster in found)


def _was_found(ctx: Context, cluster: FailureCluster) -> bool:
    """Whether this memory ever recommended something about a cluster: what is decided is not asked for again."""
    key = identity(ctx.family, _target(cluster.tool, cluster.signature), ACTION)
    return bool(ctx.books and ctx.books.of(key))


def _again(ctx: Context, cluster: FailureCluster, after: int) -> FailureCluster | None:
    """The same cluster counted over arrivals since the lesson was applied."""
    newer = ctx.read.tool_failures(_since(ctx), ctx.now_ms, after, ctx.namespaces)
    return next((c for c in newer if (c.tool, c.signature) == (cluster.tool, cluster.signature)), None)


def _example(newest: StoredGrain) -> str:
    """The first line of the newest failure, with the digits that the signature leaves out; "" when there is none."""
    text = error_text(newest)
    told = strip_terminal_codes((text if isinstance(text, str) else compact_json(text))[:_EXAMPLE_READ])
    return next((line[:_EXAMPLE] for part in told.splitlines() if (line := part.strip())), "")


def _query(ctx: Context, cluster: FailureCluster, members: Sequence[StoredGrain]) -> str | None:
    """The failures of the tool in the window, in the namespaces of the cluster and of what is cited.

    More than the cluster: the language does not compare signatures. A cluster that is cited in part may have further
    members in a namespace that no cited one is in.
    """
    spaces = sorted({cluster.namespace, *(member.namespace for member in members)})
    conditions: dict[str, str | bool | Sequence[str]] = {
        "namespace": spaces,
        "tool_name": cluster.tool,
        "is_error": True,
    }
    return cal_writer.recall("tools", conditions, since_ms=_since(ctx))


def _fires(params: Any, cluster: FailureCluster) -> bool:
    # a quotient, as the rule says it: 7 of 100 is 0.07, but 0.07 times 100 is more than 7
    often = cluster.count / cluster.calls >= params["min_rate"] or cluster.count >= params["min_abs"]
    return bool(cluster.count >= params["min_count"] and often)


def _severity(rate: float, count: int) -> str:
    if rate >= 0.7 and count >= 5:
        return "high"
    return "medium" if rate >= 0.5 else "low"


def _lesson(ctx: Context, cluster: FailureCluster, rate: float) -> Operation:
    """The fact that will be written; where the same lesson is live already, it is superseded, never doubled."""
    fields = {
        "subject": cluster.tool,
        "relation": RELATION,
        "object": cluster.signature,
        "confidence": round(rate, 4),
        "source_type": "derived",
    }
    for fact in ctx.read.fact_matches(cluster.namespace, cluster.tool, RELATION):
        if fold(str(fact.get("object"))) == fold(cluster.signature):
            return Supersede(fact.address, "fact", cluster.namespace, fields)
    return Add("fact", cluster.namespace, fields)


def _counted_since(covered: Covered | None) -> dict[str, int]:
    """When counting began, where it began at an apply: ``since``, epoch ms of that decision."""
    return {"since": covered.at} if covered else {}


def _metric(ctx: Context, cluster: FailureCluster, covered: Covered | None) -> dict[str, Any]:
    window = f"{ctx.params['window_days']}d"
    return {
        "metric": "tool_error_recurrence",
        "baseline": 0.0,
        "unit": "count",
        "n": cluster.calls,
        "window": f"{window} since the apply of {utc(covered.at)}" if covered else window,
        **_counted_since(covered),
        "subject": cluster.tool,
        "relation": cluster.signature,
        "review_after_ms": DAY_MS,
        "horizons_ms": list(HORIZONS_MS),
    }
