# SPDX-License-Identifier: Apache-2.0
"""Carrying a proposal out, and taking it back (D2, D9; engine rule 5: every apply stores its inverse).

* APP-1  `refusal` is asked before anything is written: every target must still be what the finding saw.
* APP-2  `execute` returns effects and their inverse as plain data; both go into the audit entry, not only into tables.
* APP-3  `undo` checks every step before it does the first one: an inverse that no longer fits changes nothing.
* APP-4  after `undo`, liveness and order of every grain are what they were before `execute`: recall answers the same
  bytes. What an apply wrote is hidden, never rewritten.
* APP-5  on a memory without acts, a failure half way is taken back step by step before it is passed on.
* APP-6  a grain is superseded and merged within its type and namespace: a proposal moves nothing out of sight.
* APP-7  a saved query and a document are changed only where they are what the proposal saw (its base); the inverse
  brings back exactly that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from deja_tui.engine import doc_edits, views
from deja_tui.engine.faults import LoopError
from deja_tui.engine.operations import (
    Add,
    DefineQuery,
    DocEdit,
    Forget,
    Merge,
    Operation,
    Retire,
    Revert,
    Supersede,
    check,
    digest,
)
from deja_tui.engine.substrate import (
    Atomic,
    ChecksGrains,
    Forgets,
    MarkKind,
    Merges,
    NewGrain,
    Put,
    SavesQueries,
    StoredGrain,
    Substrate,
    is_reserved,
)
from deja_tui.errors import DejaError
from deja_tui.text import fold

_AGAIN: Final = "run the loop again for a fresh finding"


@dataclass(frozen=True, slots=True)
class Done:
    """What an apply did: addresses it wrote, effects (D2) and the inverse; None where there is none."""

    results: tuple[str, ...]
    effects: tuple[Mapping[str, Any], ...]
    inverse: tuple[Mapping[str, Any], ...] | None


# --- what stands against it -------------------------------------------------------------------------


def refusal(substrate: Substrate, operations: Sequence[Operation]) -> DejaError | None:
    """Why the operations cannot be carried out now, or None (APP-1). A `Revert` is judged by `lifecycle`."""
    if not operations:
        return LoopError(
            "LOP-E011",
            "this recommendation is advice: there is nothing to apply",
            "approving it acknowledges it",
        )
    try:
        check(operations)
        for operation in operations:
            _must_fit(substrate, operation)
    except DejaError as fault:
        return fault
    return None


def _must_fit(substrate: Substrate, operation: Operation) -> None:
    """Raise when one operation cannot be carried out now."""
    if isinstance(operation, Forget) and not isinstance(substrate, Forgets):
        raise LoopError("LOP-E032", "this memory cannot forget")
    if isinstance(operation, Add) and _said_already(substrate, operation):
        raise _already_there()
    targets = [_live_target(substrate, target) for target in operation.targets()]
    match operation:
        case Supersede() | Merge():
            if any((old.type, old.namespace) != (operation.type, operation.namespace) for old in targets):
                raise LoopError("LOP-E011", "a grain is superseded within its type and namespace")
            _takes(substrate, operation)
        case Add():
            _takes(substrate, operation)
        case DefineQuery():
            _query_must_fit(substrate, operation)
        case DocEdit():
            text_after(substrate, operation)


def _takes(substrate: Substrate, operation: Add | Supersede | Merge) -> None:
    """Raise what writing the grain would raise: nobody approves what could never be applied."""
    if isinstance(substrate, ChecksGrains):
        parents = list(operation.targets())
        substrate.check_grain(_new_grain(operation, parents, "0" * 64, 1))


def _said_already(substrate: Substrate, operation: Add) -> bool:
    """Whether a live fact says what this one would say: writing it would only be the next duplicate."""
    subject, relation, said = (operation.fields.get(name) for name in ("subject", "relation", "object"))
    if operation.type != "fact" or not all(isinstance(part, str) for part in (subject, relation, said)):
        return False
    matches = views.fact_matches(substrate, operation.namespace, str(subject), str(relation))
    return any(fold(str(fact.get("object"))) == fold(str(said)) for fact in matches)


def _live_target(substrate: Substrate, target: str) -> StoredGrain:
    grain = substrate.get(target)
    short = target[:12]
    if grain is None:
        raise LoopError("LOP-E024", f"grain {short} is no longer here", _AGAIN)
    if is_reserved(grain.namespace):
        raise LoopError("LOP-E011", "a proposal may not touch a reserved namespace")
    if not grain.live:
        raise LoopError("LOP-E024", f"grain {short} was changed since the finding", _AGAIN)
    return grain


def _query_must_fit(substrate: Substrate, operation: DefineQuery) -> None:
    if not isinstance(substrate, SavesQueries):
        raise LoopError("LOP-E032", f"this memory keeps no saved {_plural(operation.scheme)}")
    held = substrate.saved_query(operation.name, operation.scheme)
    if (None if held is None else digest(held)) != operation.base:
        raise LoopError(
            "LOP-E024", f"the {operation.scheme} was changed since the proposal", "propose it again"
        )
    if held is not None and digest(operation.body) == operation.base:
        raise LoopError("LOP-E011", f"the {operation.scheme} says that already")
    substrate.check_saved_query(operation.name, operation.body, operation.scheme)


def _plural(scheme: str) -> str:
    return "queries" if scheme == "query" else "templates"


def text_after(substrate: Substrate, operation: DocEdit) -> str:
    """The text of the document after the edit. Raises LOP-E011, LOP-E024; LOP-E027 when there is no such document."""
    head = views.document(substrate, operation.namespace, operation.path)
    if head is None:
        raise LoopError(
            "LOP-E027",
            "the document is not in this memory, so it is changed where it lies",
            "change it there, then deja loop mark-applied",
        )
    before = doc_edits.text_of(head.fields)
    if digest(before) != operation.base:
        raise LoopError("LOP-E024", "the document was changed since the proposal", "propose it again")
    after = doc_edits.patched(before, operation.diff)
    if after == before:
        raise LoopError("LOP-E011", "the edit changes nothing")
    return after


# --- carrying out -----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Work:
    """One apply under way; every write notes its effect and, first, its inverse step."""

    substrate: Substrate
    recommendation: str
    now_ms: int
    results: list[str] = field(default_factory=list)
    effects: list[Mapping[str, Any]] = field(default_factory=list)
    steps: list[Mapping[str, Any]] = field(default_factory=list)  # the inverse, last step first

    def carry_out(self, operation: Operation) -> None:
        match operation:
            case Retire():
                self._retire(operation)
            case Add():
                self._add(operation)
            case Supersede(target=target):
                grain = self._grain(operation, [target], self.now_ms)
                self._written(self.substrate.supersede(target, grain), [target])
            case Merge():
                self._merge(operation)
            case Forget(target=target):
                self._forget(target)
            case DefineQuery():
                self._define(operation)
            case DocEdit():
                self._edit(operation)
            case Revert():
                raise LoopError("LOP-E002", "taking a recommendation back is a decision of its own")

    def _retire(self, operation: Retire) -> None:
        self.substrate.mark(operation.target, "retire", operation.by)
        self._left("retire", operation.target, operation.by)

    def _add(self, operation: Add) -> None:
        put = self.substrate.put(self._grain(operation, [], self.now_ms))
        if not put.new:
            raise _already_there()
        self.results.append(put.address)
        self.effects.append({"do": "add", "grain": put.address})
        self.steps.insert(0, {"do": "hide", "grain": put.address})

    def _merge(self, operation: Merge) -> None:
        # later than every head: readers that elect by time alone must find it, too
        at = max([self.now_ms, *(self._made(head) + 1 for head in operation.heads)])
        grain = self._grain(operation, list(operation.heads), at)
        first, *others = operation.heads
        if isinstance(self.substrate, Merges):
            self._written(self.substrate.merge(operation.heads, grain), operation.heads)
            return
        put = self.substrate.supersede(first, grain)
        self._written(put, [first])
        for head in others:
            self.substrate.mark(head, "supersede", put.address)
            self.effects.append({"do": "supersede", "grain": head, "by": put.address})
            self.steps.insert(1, {"do": "reopen", "grain": head, "by": put.address})

    def _written(self, put: Put, targets: Sequence[str]) -> None:
        """What a superseding write left: the new grain, and its targets closed in its favour."""
        for target in targets:
            self.steps.insert(0, {"do": "reopen", "grain": target, "by": put.address})
        if not put.new:
            raise _already_there()
        self.results.append(put.address)
        self.effects.extend({"do": "supersede", "grain": target, "by": put.address} for target in targets)
        self.steps.insert(0, {"do": "hide", "grain": put.address})

    def _left(self, do: str, target: str, by: str) -> None:
        self.effects.append({"do": do, "grain": target, "by": by})
        self.steps.insert(0, {"do": "reopen", "grain": target, "by": by})

    def _forget(self, target: str) -> None:
        self.effects.extend(_left_closed(self.substrate, target))
        if isinstance(self.substrate, Forgets):
            self.substrate.forget(target)
        self.effects.append({"do": "forget", "grain": target})

    def _define(self, operation: DefineQuery) -> None:
        if not isinstance(self.substrate, SavesQueries):
            raise LoopError("LOP-E032", f"this memory keeps no saved {_plural(operation.scheme)}")
        scheme, name = operation.scheme, operation.name
        held = self.substrate.saved_query(name, scheme)
        self.substrate.set_saved_query(name, operation.body, scheme)
        now = self.substrate.saved_query(name, scheme)
        self.effects.append({"do": "define", "scheme": scheme, "name": name})
        saw = None if now is None else digest(now)
        self.steps.insert(0, {"do": "define", "scheme": scheme, "name": name, "body": held, "base": saw})

    def _edit(self, operation: DocEdit) -> None:
        after = text_after(self.substrate, operation)
        head = views.document(self.substrate, operation.namespace, operation.path)
        if head is None:
            raise AssertionError("text_after has found the document")
        fields = doc_edits.version_fields(operation.path, after)
        # a clock that stands still, or goes back, still gives versions in their order (DOC-2)
        at = max(self.now_ms, head.created_at + 1)
        fields["derived_from"] = [head.address, self.recommendation]
        grain = NewGrain("fact", operation.namespace, at, fields)
        self._written(self.substrate.supersede(head.address, grain), [head.address])

    def _made(self, address: str) -> int:
        grain = self.substrate.get(address)
        return grain.created_at if grain else 0

    def _grain(self, operation: Add | Supersede | Merge, parents: list[str], at: int) -> NewGrain:
        return _new_grain(operation, parents, self.recommendation, at)


def _new_grain(
    operation: Add | Supersede | Merge, parents: list[str], recommendation: str, at: int
) -> NewGrain:
    fields = dict(operation.fields)
    # provenance leads from what was written to the decision, and from there to its evidence
    if isinstance(operation, Add):
        fields["derived_from"] = recommendation
    else:
        fields["derived_from"] = [parents[0], recommendation]
    if isinstance(operation, Merge):
        # a state's own context is its snapshot; readers of a bundle find the other parents here
        holder = "common_context" if operation.type == "state" else "context"
        held = fields.get(holder)
        fields[holder] = {**(held if isinstance(held, Mapping) else {}), "merge_parents": parents}
    return NewGrain(operation.type, operation.namespace, at, fields)


def execute(substrate: Substrate, operations: Sequence[Operation], recommendation: str, now_ms: int) -> Done:
    """Carry out checked operations; the caller has asked `refusal` inside the same transaction."""
    work = _Work(substrate, recommendation, now_ms)
    with taken_back_on_failure(substrate, work.steps):
        for operation in operations:
            work.carry_out(operation)
    undoable = all(operation.undoable for operation in operations)
    return Done(tuple(work.results), tuple(work.effects), tuple(work.steps) if undoable else None)


def _left_closed(substrate: Substrate, target: str) -> list[Mapping[str, Any]]:
    """What stays superseded though what took its place goes: other copies cannot tell that from the bytes (D2)."""
    grain = substrate.get(target)
    told = grain.get("derived_from") if grain else None
    parents = [told] if isinstance(told, str) else told if isinstance(told, list) else []
    found = [(str(parent), substrate.get(str(parent))) for parent in parents]
    return [
        {"do": "supersede", "grain": address, "by": target}
        for address, old in found
        if old is not None and old.superseded_by == target
    ]


@contextmanager
def taken_back_on_failure(substrate: Substrate, steps: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """Undo ``steps`` when the block fails and no act of the memory does it (APP-5)."""
    try:
        yield
    except BaseException:
        if not isinstance(substrate, Atomic):
            undo(substrate, steps)
        raise


@contextmanager
def done_again_on_failure(
    substrate: Substrate, inverse: Sequence[Mapping[str, Any]], effects: Sequence[Mapping[str, Any]]
) -> Iterator[None]:
    """Make things as they were when the undo in the block fails and no act of the memory does it (APP-5).

    Args:
        effects: of the apply that is undone; they say in which way a grain had been closed.
    """
    if isinstance(substrate, Atomic):
        yield
        return
    kinds = {str(one.get("grain")): one.get("do") for one in effects}
    back = [again for step in inverse if (again := _as_it_is(substrate, step, kinds)) is not None]
    try:
        yield
    except BaseException:
        for again in reversed(back):
            again()
        raise


def _as_it_is(
    substrate: Substrate, step: Mapping[str, Any], kinds: Mapping[str, Any]
) -> Callable[[], None] | None:
    """What makes the thing that ``step`` is about be again as it is now."""
    if step["do"] == "define":
        name, scheme = str(step["name"]), str(step["scheme"])
        if not isinstance(substrate, SavesQueries):
            return None
        return partial(substrate.set_saved_query, name, substrate.saved_query(name, scheme), scheme)
    address = str(step["grain"])
    grain = substrate.get(address)
    if grain is None or grain.live:
        return partial(substrate.mark, address, "reopen")
    kind: MarkKind = "supersede" if kinds.get(address) == "supersede" else "retire"
    return partial(substrate.mark, address, kind if grain.superseded_by else "hide", grain.superseded_by)


def _already_there() -> LoopError:
    # hiding a grain that somebody else wrote would not be the inverse of writing it
    return LoopError("LOP-E024", "what this would write is already here", "run the loop again")


# --- taking back ------------------------------------------------------------------------------------


def undo_refusal(substrate: Substrate, inverse: Sequence[Mapping[str, Any]]) -> LoopError | None:
    """Why an inverse no longer fits, or None (APP-3)."""
    for step in inverse:
        fits = _FITS.get(str(step.get("do")))
        if fits is None:
            return LoopError("LOP-E026", "the stored inverse holds a step this version does not know")
        fault = fits(substrate, step)
        if fault:
            return fault
    return None


def _mark_fits(substrate: Substrate, step: Mapping[str, Any]) -> LoopError | None:
    address = str(step.get("grain"))
    grain = substrate.get(address)
    short = address[:12]
    if grain is None:
        return LoopError("LOP-E024", f"grain {short} was forgotten since: the undo no longer fits")
    stands = grain.live if step["do"] == "hide" else not grain.live and grain.superseded_by == step.get("by")
    return (
        None if stands else LoopError("LOP-E024", f"grain {short} was changed since: undo that change first")
    )


def _define_fits(substrate: Substrate, step: Mapping[str, Any]) -> LoopError | None:
    if not isinstance(substrate, SavesQueries):
        return LoopError("LOP-E032", "this memory keeps no saved queries")
    held = substrate.saved_query(str(step.get("name")), str(step.get("scheme")))
    if (None if held is None else digest(held)) != step.get("base"):
        return LoopError("LOP-E024", f"the {step.get('scheme')} was changed since: undo that change first")
    return None


_FITS: Final[Mapping[str, Callable[[Substrate, Mapping[str, Any]], LoopError | None]]] = {
    "hide": _mark_fits,
    "reopen": _mark_fits,
    "define": _define_fits,
}


def undo(substrate: Substrate, inverse: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Carry out a checked inverse and return what it did as effects."""
    return tuple(_step_back(substrate, step) for step in inverse)


def _step_back(substrate: Substrate, step: Mapping[str, Any]) -> Mapping[str, Any]:
    if step["do"] == "define":
        name, scheme, body = str(step["name"]), str(step["scheme"]), step.get("body")
        if isinstance(substrate, SavesQueries):
            substrate.set_saved_query(name, body if isinstance(body, str) else None, scheme)
        return {"do": "define", "scheme": scheme, "name": name}
    by = step.get("by")
    substrate.mark(str(step["grain"]), "hide" if step["do"] == "hide" else "reopen", str(by) if by else None)
    return dict(step)
