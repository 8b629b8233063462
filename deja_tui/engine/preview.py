# SPDX-License-Identifier: Apache-2.0
"""What recall answers before and after a change, computed on paper: nothing is written, not even for a moment.

Of an open recommendation that is now against what an apply would leave; of an applied one, what a rollback would bring
back against now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deja_tui.engine import apply as applying
from deja_tui.engine import audit, doc_edits, lifecycle, views
from deja_tui.engine.objects import Evidence
from deja_tui.engine.operations import Add, DefineQuery, DocEdit, Merge, Operation, Revert, Supersede
from deja_tui.engine.substrate import SavesQueries, StoredGrain, Substrate
from deja_tui.engine.wire import read_recommendation
from deja_tui.errors import DejaError


@dataclass(frozen=True, slots=True)
class RecallDiff:
    """The live grains of one key, newest first, before and after; a grain not yet written has no address.

    ``subject`` and ``relation`` are "" for grains that are no facts. All values are raw: clean before showing.
    """

    namespace: str
    subject: str
    relation: str
    before: tuple[Evidence, ...]
    after: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class TextDiff:
    """A saved query, template or document before and after; None where there is none."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Preview:
    """Before and after of one recommendation. ``applied``: ``after`` is what is there now."""

    recommendation: str
    applied: bool
    recall: tuple[RecallDiff, ...]
    texts: tuple[TextDiff, ...]


_Key = tuple[str, str, str, str]  # namespace, subject, relation, type


@dataclass(slots=True)
class _Change:
    """What goes from recall and what comes, by key."""

    gone: set[str] = field(default_factory=set)
    come: dict[_Key, list[Evidence]] = field(default_factory=dict)
    keys: dict[_Key, None] = field(default_factory=dict)
    grains: dict[_Key, list[StoredGrain]] = field(default_factory=dict)  # of types without a key of their own
    texts: list[TextDiff] = field(default_factory=list)

    def go(self, grain: StoredGrain | None) -> None:
        if grain is not None:
            self.gone.add(grain.address)
            self._note(grain)

    def back(self, grain: StoredGrain | None) -> None:
        if grain is not None:
            key = self._note(grain)
            self.come.setdefault(key, []).append(_seen(grain))

    def write(self, type_: str, namespace: str, fields: Mapping[str, Any]) -> None:
        key = _key(type_, namespace, fields)
        self.keys[key] = None
        self.come.setdefault(key, []).insert(0, Evidence("", type_, namespace, None, True, dict(fields)))

    def _note(self, grain: StoredGrain) -> _Key:
        key = _key(grain.type, grain.namespace, grain.fields)
        self.keys[key] = None
        self.grains.setdefault(key, []).append(grain)
        return key


def preview(substrate: Substrate, address: str, choice: int | None = None) -> Preview:
    """Before and after of one recommendation. Raises LOP-E011, LOP-E012, LOP-E040."""
    row = lifecycle.find(substrate, address)
    grain = substrate.get(address)
    if grain is None:
        return Preview(address, False, (), ())
    body = read_recommendation(grain)
    change = _Change()
    applied = row.status == "applied"
    if applied:
        pairs = audit.entries(substrate, address)
        _undone(substrate, (pairs[-1][0].inverse or ()) if pairs else (), change)
    elif row.status in ("pending", "approved"):
        told = lifecycle.approved(substrate, address) if choice is None and row.status == "approved" else ()
        for operation in told or lifecycle.chosen(body, choice or 0):
            _done(substrate, operation, change)
    recall = tuple(_diff(substrate, key, change, applied) for key in change.keys)
    texts = change.texts if not applied else [TextDiff(t.name, t.after, t.before) for t in change.texts]
    return Preview(address, applied, recall, tuple(texts))


def _done(substrate: Substrate, operation: Operation, change: _Change) -> None:
    match operation:
        case DefineQuery(name=name, scheme=scheme, body=text):
            held = substrate.saved_query(name, scheme) if isinstance(substrate, SavesQueries) else None
            change.texts.append(TextDiff(f"{scheme}:{name}", held, text))
        case DocEdit():
            _edited(substrate, operation, change)
        case Revert(recommendation=original):
            pairs = audit.entries(substrate, original)
            _undone(substrate, (pairs[-1][0].inverse or ()) if pairs else (), change)
        case _:
            for target in operation.removes():
                change.go(substrate.get(target))
            if isinstance(operation, Add | Supersede | Merge):
                change.write(operation.type, operation.namespace, operation.fields)


def _edited(substrate: Substrate, operation: DocEdit, change: _Change) -> None:
    head = views.document(substrate, operation.namespace, operation.path)
    before = None if head is None else doc_edits.text_of(head.fields)
    try:
        after: str | None = applying.text_after(substrate, operation)
    except DejaError:  # it lies outside, or does not fit any more: the dry run says which
        after = before
    change.texts.append(TextDiff(operation.path, before, after))


def _undone(substrate: Substrate, inverse: Iterable[Mapping[str, Any]], change: _Change) -> None:
    for step in inverse:
        if step.get("do") == "define":
            scheme, name = str(step.get("scheme")), str(step.get("name"))
            held = substrate.saved_query(name, scheme) if isinstance(substrate, SavesQueries) else None
            body = step.get("body")
            change.texts.append(TextDiff(f"{scheme}:{name}", held, body if isinstance(body, str) else None))
            continue
        grain = substrate.get(str(step.get("grain")))
        if step.get("do") == "hide":
            change.go(grain)
        else:
            change.back(grain)


def _diff(substrate: Substrate, key: _Key, change: _Change, applied: bool) -> RecallDiff:
    namespace, subject, relation, type_ = key
    if type_ == "fact" and (subject or relation):
        now = [_seen(one) for one in reversed(views.fact_matches(substrate, namespace, subject, relation))]
    else:
        now = [_seen(one) for one in change.grains.get(key, ()) if one.live]
    other = _newest_first(
        [*(one for one in now if one.address not in change.gone), *change.come.get(key, ())]
    )
    before, after = (other, now) if applied else (now, other)
    return RecallDiff(namespace, subject, relation, tuple(before), tuple(after))


def _newest_first(found: Sequence[Evidence]) -> list[Evidence]:
    # what is not written yet will be the newest
    return sorted(found, key=lambda one: (one.created_at is None, one.created_at or 0), reverse=True)


def _key(type_: str, namespace: str, fields: Mapping[str, Any]) -> _Key:
    subject, relation = fields.get("subject"), fields.get("relation")
    if type_ != "fact" or not isinstance(subject, str) or not isinstance(relation, str):
        return (namespace, "", "", type_)
    return (namespace, subject, relation, type_)


def _seen(grain: StoredGrain) -> Evidence:
    return Evidence(grain.address, grain.type, grain.namespace, grain.created_at, grain.live, grain.fields)
