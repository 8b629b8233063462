# SPDX-License-Identifier: Apache-2.0
"""Set-based reads, each written once over the five substrate methods.

A substrate that can answer faster offers a method of the same name and signature (without the first argument); the
conformance tests compare both. Analyzers get these through `reader.Reader`, the engine calls them directly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from heapq import nlargest
from typing import Any, Final

from deja_tui.engine import ledger as books
from deja_tui.engine.substrate import (
    LOOP_NAMESPACE,
    Atomic,
    FailureCluster,
    KeepsSettings,
    LedgerRow,
    NewGrain,
    Position,
    StoredGrain,
    Substrate,
    Tallied,
    is_reserved,
)
from deja_tui.engine.wire import read_audit
from deja_tui.text import error_signature, fold, strip_terminal_codes

USER_TYPES: Final = (
    "fact", "event", "state", "workflow", "tool", "observation", "goal", "reasoning", "consensus", "consent", "skill",
)  # fmt: skip
_ERROR_TEXT_FIELDS: Final = ("tool_content", "content", "result", "error", "body")


def _own(substrate: Substrate, name: str) -> Callable[..., Any] | None:
    return getattr(substrate, name, None)


# --- what a tool grain says --------------------------------------------------------------------------


def tool_name(grain: StoredGrain) -> str:
    """The tool's name without terminal codes, so that two spellings that look alike are one tool; "" for none."""
    name = grain.get("tool_name") or grain.get("name")
    return strip_terminal_codes(name).strip() if isinstance(name, str) else ""


def error_text(grain: StoredGrain) -> object:
    """The first field that says what went wrong; its raw value."""
    return next((grain.get(name) for name in _ERROR_TEXT_FIELDS if grain.get(name) is not None), "")


def has_outcome(grain: StoredGrain) -> bool:
    """Whether the grain says how a call of a known tool ended.

    One without a result, one whose call is missing and one that a person declined count neither way.
    """
    told = grain.get("status") != "pending" and grain.get("call_missing") is not True
    return told and grain.get("failure_cause") != "user_aborted"


def is_failure(grain: StoredGrain) -> bool:
    return bool(grain.get("is_error") is True and has_outcome(grain))


# --- views -------------------------------------------------------------------------------------------


def position(substrate: Substrate) -> Position:
    """How much has arrived in user namespaces. The default counts what is still there, forgotten grains not."""
    if own := _own(substrate, "position"):
        return own()  # type: ignore[no-any-return]
    seq = grains = errors = 0
    for kind in USER_TYPES:
        for grain in substrate.scan(kind):
            seq, grains = max(seq, grain.seq), grains + 1
            errors += kind == "tool" and is_failure(grain)
    return Position(seq, grains, errors)


def tool_failures(
    substrate: Substrate, since: int, until: int, after: int, namespaces: Sequence[str] | None
) -> list[FailureCluster]:
    """Failing calls by (tool, signature), created in [since, until] and arrived after ``after``."""
    if own := _own(substrate, "tool_failures"):
        return own(since, until, after, namespaces)  # type: ignore[no-any-return]
    calls: Counter[str] = Counter()
    members: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for grain in _window(substrate, since, until, after, namespaces):
        calls[tool_name(grain)] += 1
        if is_failure(grain):
            members[tool_name(grain), error_signature(error_text(grain))][grain.namespace] += 1
    return [
        FailureCluster(
            tool, signature, spread.total(), calls[tool], min(spread, key=lambda n: (-spread[n], n))
        )
        for (tool, signature), spread in sorted(members.items())
    ]


def tool_failure_members(
    substrate: Substrate,
    tool: str,
    signature: str,
    since: int,
    until: int,
    after: int,
    namespaces: Sequence[str] | None,
    limit: int,
) -> list[StoredGrain]:
    """The members of one cluster, newest first (`by_age`), at most ``limit``."""
    if own := _own(substrate, "tool_failure_members"):
        return own(tool, signature, since, until, after, namespaces, limit)  # type: ignore[no-any-return]
    found = [
        grain
        for grain in _window(substrate, since, until, after, namespaces)
        if is_failure(grain) and tool_name(grain) == tool and error_signature(error_text(grain)) == signature
    ]
    return nlargest(limit, found, key=by_age)


def _window(
    substrate: Substrate, since: int, until: int, after: int, namespaces: Sequence[str] | None
) -> Iterator[StoredGrain]:
    for grain in substrate.scan("tool", namespaces, after):
        if grain.live and since <= grain.created_at <= until and tool_name(grain) and has_outcome(grain):
            yield grain


def duplicate_facts(
    substrate: Substrate, namespaces: Sequence[str] | None, after: int = 0
) -> list[list[StoredGrain]]:
    """Groups of live facts that may say the same, each by age (`by_age`). Text decides later (D11).

    With ``after``, an arrival position, a substrate may leave out groups of which nothing arrived or was opened again
    after it.
    """
    if own := _own(substrate, "duplicate_facts"):
        return own(namespaces, after)  # type: ignore[no-any-return]
    groups: dict[tuple[str, ...], list[StoredGrain]] = defaultdict(list)
    for grain in substrate.scan("fact", namespaces):
        if grain.live and fact_key(grain):
            groups[fact_key(grain)].append(grain)
    return [sorted(group, key=by_age) for _, group in sorted(groups.items()) if len(group) > 1]


def by_age(grain: StoredGrain) -> tuple[int, int, str]:
    """The order of grains everywhere (D3): (created_at, HLC, address).

    A memory that keeps no HLC goes by arrival: what came later was written later there.
    """
    return grain.created_at, getattr(grain, "hlc", grain.seq), grain.address


def fact_key(grain: StoredGrain) -> tuple[str, ...]:
    """(namespace, folded subject, relation, object), or () for a fact that lacks one of them.

    The namespace is compared exactly: recall reads one namespace, so a copy in another spelling is no copy there.
    """
    parts = [grain.get(name) for name in ("subject", "relation", "object")]
    if not all(isinstance(part, str) for part in parts):
        return ()
    return (grain.namespace, *(fold(str(part)) for part in parts))


def fact_matches(substrate: Substrate, namespace: str, subject: str, relation: str) -> list[StoredGrain]:
    """Live facts with exactly this subject and relation, oldest first."""
    if own := _own(substrate, "fact_matches"):
        return own(namespace, subject, relation)  # type: ignore[no-any-return]
    return [
        grain
        for grain in substrate.scan("fact", [namespace])
        if grain.live and grain.get("subject") == subject and grain.get("relation") == relation
    ]


def document(substrate: Substrate, namespace: str, path: str) -> StoredGrain | None:
    """The fact that holds the current version of a document, or None when there is none (D40)."""
    if own := _own(substrate, "document"):
        return own(namespace, path)  # type: ignore[no-any-return]
    versions = fact_matches(substrate, namespace, path, "memory_file")
    return max(versions, key=by_age, default=None)


# --- the loop's own grains ---------------------------------------------------------------------------


def audits_of(substrate: Substrate, recommendation: str) -> list[StoredGrain]:
    """The audit Observations of one recommendation in arrival order."""
    if own := _own(substrate, "audits_of"):
        return own(recommendation)  # type: ignore[no-any-return]
    return [
        grain
        for grain in substrate.scan("observation", [LOOP_NAMESPACE])
        if (entry := read_audit(grain)) and entry.recommendation == recommendation
    ]


def audits(substrate: Substrate, of: Collection[str] | None = None) -> Mapping[str, Sequence[StoredGrain]]:
    """By recommendation what `audits_of` gives for it: for whoever looks at many chains. ``of``: only these."""
    if own := _own(substrate, "audits"):
        return own(of)  # type: ignore[no-any-return]
    found: defaultdict[str, list[StoredGrain]] = defaultdict(list)
    for grain in substrate.scan("observation", [LOOP_NAMESPACE]):
        entry = read_audit(grain)
        if entry and (of is None or entry.recommendation in of):
            found[entry.recommendation].append(grain)
    return found


def ledger(
    substrate: Substrate,
    statuses: Iterable[str] | None = None,
    analyzers: Iterable[str] | None = None,
    *,
    limit: int | None = None,
) -> list[LedgerRow]:
    """Rows in queue order: severity falling, then oldest, identity, address; without refreshed ones.

    ``analyzers``: only those that one of these ids proposed. ``limit``: the first of them.
    """
    wanted = None if statuses is None else tuple(statuses)
    named = None if analyzers is None else tuple(analyzers)
    if own := _own(substrate, "ledger_list"):
        if limit is not None:
            return own(wanted, named, limit)  # type: ignore[no-any-return]
        return own(wanted) if named is None else own(wanted, named)  # type: ignore[no-any-return]
    rows = [row for row in books.replay(substrate) if row.replaced_by is None]
    kept = (row for row in rows if wanted is None or row.status in wanted)
    found = sorted((row for row in kept if named is None or row.analyzer in named), key=books.queue_order)
    return found[:limit]


def tally(substrate: Substrate) -> list[Tallied]:
    """How many rows `ledger` has of each analyzer, severity, status and origin: none of them is given."""
    own = _own(substrate, "ledger_tally")
    return own() if own else books.tally(ledger(substrate))


def ledger_row(substrate: Substrate, address: str) -> LedgerRow | None:
    """The row of one recommendation, refreshed ones included."""
    if own := _own(substrate, "ledger_get"):
        return own(address)  # type: ignore[no-any-return]
    return next((row for row in books.replay(substrate) if row.address == address), None)


def ledger_by_identity(substrate: Substrate, identities: Sequence[str]) -> Mapping[str, list[LedgerRow]]:
    """Rows that carry one of ``identities``, oldest decision first; refreshed ones left out."""
    if own := _own(substrate, "ledger_by_identity"):
        return own(identities)  # type: ignore[no-any-return]
    found: dict[str, list[LedgerRow]] = defaultdict(list)
    wanted = set(identities)
    for row in books.replay(substrate):
        if row.identity in wanted and row.replaced_by is None:
            found[row.identity].append(row)
    return {key: sorted(rows, key=lambda row: row.decided_seq) for key, rows in found.items()}


def live_by_type(substrate: Substrate) -> dict[str, int]:
    """Live grains of user namespaces by type; types without one are left out."""
    if own := _own(substrate, "live_by_type"):
        return own()  # type: ignore[no-any-return]
    found = {kind: sum(grain.live for grain in substrate.scan(kind)) for kind in USER_TYPES}
    return {kind: count for kind, count in found.items() if count}


def claims(substrate: Substrate) -> dict[str, int]:
    """Live grains of user namespaces by their declared ``verification_status``; those without one are left out."""
    if own := _own(substrate, "claims"):
        return own()  # type: ignore[no-any-return]
    told = (
        grain.get("verification_status")
        for kind in USER_TYPES
        for grain in substrate.scan(kind)
        if grain.live
    )
    return dict(sorted(Counter(status for status in told if isinstance(status, str)).items()))


def began(substrate: Substrate) -> int | None:
    """When the first grain arrived, epoch ms; None where a substrate does not know."""
    own = _own(substrate, "began")
    return own() if own else None


def arrived(substrate: Substrate) -> int:
    """The arrival position of the newest grain, the loop's own included; 0 where a substrate does not tell."""
    own = _own(substrate, "arrived")
    return int(own()) if own else 0


def moves(substrate: Substrate) -> int:
    """A position in the log of everything that happens to grains; 0 where a substrate keeps none."""
    own = _own(substrate, "moves")
    return int(own()) if own else 0


def disturbed(substrate: Substrate, after: int) -> frozenset[str] | None:
    """Analyzers with an open recommendation of this memory that cites a grain which was superseded, retired, hidden or
    opened again after the position ``after`` of `moves`.

    None: any may have one, because something was forgotten, too much happened, or the substrate cannot tell.
    """
    own = _own(substrate, "disturbed")
    return own(after) if own else None


def caches_ledger(substrate: Substrate) -> bool:
    """Whether rows are kept; elsewhere the ledger is replayed from the grains each time."""
    return _own(substrate, "ledger_put") is not None


def ledger_put(substrate: Substrate, row: LedgerRow) -> None:
    """Keep ``row`` where the substrate caches the ledger."""
    if own := _own(substrate, "ledger_put"):
        own(row)


def intact(substrate: Substrate, address: str) -> bool:
    """Whether the stored bytes still have their address. A substrate that cannot tell is believed."""
    own = _own(substrate, "intact")
    return bool(own(address)) if own else True


# --- optional capabilities ---------------------------------------------------------------------------


def capability(substrate: Substrate, name: str) -> Any:
    """What a substrate offers under ``name`` beyond the five methods; None when it has no such thing (D10)."""
    return getattr(substrate, name, None)


def atomic(substrate: Substrate) -> AbstractContextManager[None]:
    """One act around several writes, as far as the substrate offers it."""
    return substrate.atomic() if isinstance(substrate, Atomic) else nullcontext()


def setting(substrate: Substrate, key: str) -> Any:
    """A small named value; on a substrate without settings it lives in a chain of State grains."""
    if isinstance(substrate, KeepsSettings):
        return substrate.setting(key)
    return _memo(substrate)[1].get(key)


def set_setting(substrate: Substrate, key: str, value: Any) -> None:
    """Write what `setting` reads."""
    if isinstance(substrate, KeepsSettings):
        substrate.set_setting(key, value)
        return
    head, values = _memo(substrate)
    order = head.seq if head else 0  # rises with every write, so that no two states have the same bytes
    grain = NewGrain(
        "state", LOOP_NAMESPACE, order, {"context": {"serial": order, "values": {**values, key: value}}}
    )
    if head is None:
        substrate.put(grain)
    else:
        substrate.supersede(head.address, grain)


def kept(substrate: Substrate, prefix: str) -> list[tuple[str, Any, str, int]]:
    """(key, value, source, epoch ms) of every setting whose key starts with ``prefix``, by key.

    ``source`` is ``local``, or ``sync`` when it came from another copy (D5); a substrate that cannot tell says local, 0.
    """
    if own := _own(substrate, "kept"):
        return own(prefix)  # type: ignore[no-any-return]
    values = getattr(substrate, "settings", None)
    if not isinstance(values, Mapping):
        values = _memo(substrate)[1]
    found = sorted((key, value) for key, value in values.items() if key.startswith(prefix))
    return [(key, value, "local", 0) for key, value in found if value is not None]


def _memo(substrate: Substrate) -> tuple[StoredGrain | None, dict[str, Any]]:
    heads = [grain for grain in substrate.scan("state", [LOOP_NAMESPACE]) if grain.live]
    if not heads:
        return None, {}
    context = heads[-1].get("context")
    values = context.get("values") if isinstance(context, Mapping) else None
    return heads[-1], dict(values) if isinstance(values, Mapping) else {}


def user_namespaces(namespaces: Sequence[str] | None) -> Sequence[str] | None:
    """The run's namespaces without reserved ones: analyzers never read there (D7)."""
    return None if namespaces is None else tuple(name for name in namespaces if not is_reserved(name))
