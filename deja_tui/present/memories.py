# SPDX-License-Identifier: Apache-2.0
"""The list of what a memory holds as lines: one a grain, and below or beside it the selected one in short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from deja_tui.engine.doc_edits import RELATION, text_of
from deja_tui.present.line import Line, Span, clip, heading, line, pad, wrapped
from deja_tui.present.words import TEXT_FIELDS, age, fenced, fields_line, named, says, short
from deja_tui.store.browse import Listed
from deja_tui.text import clean, utc
from deja_tui.text import pad as pad_text

STATES: Final = {
    "live": "dim",
    "forked": "warning",
    "expired": "warning",
    "superseded": "dim",
    "retired": "dim",
    "hidden": "dim",
    "forgotten": "dim",
    "damaged": "error",
}
# What people read for the views of `store.browse.VIEWS`, and what a view without a row says.
VIEW_WORDS: Final = {"engine": "the engine's own"}
NOTHING: Final = {
    "all": "This memory holds nothing yet.",
    "live": "Nothing is live.",
    "superseded": "Nothing was superseded, retired or hidden.",
    "expired": "Nothing has expired: no live grain has a valid_to that is over.",
    "forked": "No fork: nothing was superseded twice.",
    "documents": "No document yet.",
    "forgotten": "Nothing was forgotten.",
    "engine": "The engine has written nothing yet.",
}
# The type names that are wider than their column.
_TYPES: Final = {
    "observation": "observ.",
    "recommendation": "recomm.",
    "reasoning": "reason.",
    "consensus": "consens.",
}
_TYPE: Final = 8
_AGE: Final = 5
_STATE: Final = 10
_SAID: Final = 400
_FIELDS: Final = 600
_CARD: Final = 3
_NARROW: Final = 60


def view_word(view: str) -> str:
    """The name of a view."""
    return VIEW_WORDS.get(view, view)


def told(fields: Mapping[str, Any], limit: int) -> Line:
    """What a grain says; of one with an object alone, that; of a document its first words; of a recommendation its target."""
    if fields.get("relation") == RELATION and isinstance(fields.get("subject"), str):
        begins = next((row for row in text_of(fields).split("\n") if row.strip()), "")
        return line(named(fields["subject"], limit=limit), "  ", fenced(begins, limit))
    if isinstance(fields.get("target_ref"), str):
        return line(named(fields["target_ref"], limit=limit))
    if isinstance(fields.get("object"), str) and not fields.keys() & _SAYS:
        return line(fenced(fields["object"], limit))
    return says(fields, limit)


_SAYS: Final = frozenset((*TEXT_FIELDS, "relation", "tool_name", "description"))


def _room(room: int) -> int:
    return max(8, room - _TYPE - _AGE - _STATE - 4)


def head(room: int) -> Line:
    """The titles of the columns."""
    said = pad_text("what it says", _room(room))
    titles = f"{'type':<{_TYPE}} {said} {'age':>{_AGE}}  {'state':<{_STATE}}"
    return clip(line(Span(titles, "dim")), room)


def row(one: Listed, room: int, now_ms: int) -> Line:
    """Type, what it says, age, state."""
    type_ = one.grain.type if one.grain else ""
    said = told(one.grain.fields, _SAID) if one.grain else _absent(one)
    return line(
        Span(pad_text(_TYPES.get(type_, type_), _TYPE), "dim"),
        " ",
        pad(said, _room(room)),
        Span(f" {age(now_ms - one.at):>{_AGE}}", "dim"),
        "  ",
        Span(pad_text(one.state, _STATE), STATES.get(one.state, "")),
    )


def unread(room: int) -> Line:
    """A row that is being read."""
    return clip(line(Span("…", "dim")), room)


def _absent(one: Listed) -> Line:
    if one.state == "forgotten":
        return line(Span("forgotten: only the address is kept", "dim"))
    return line(Span("damaged: deja verify tells more", "error"))


def card(one: Listed, room: int) -> list[Line]:
    """The selected grain in at most four lines: a step through the list sends little more than what differs."""
    lines = [heading(f"{short(one.address)}  {one.state}", room)]
    if one.grain is None:
        return [*lines, *_gone(one, room)]
    said = wrapped([told(one.grain.fields, 3 * room)], room, 2)
    most = _CARD if room < _NARROW else 1
    kept = [*said[: most - 1], clip(said[most - 1], room - 2)] if len(said) > most else said
    more = line(kept[-1], Span(" …", "dim")) if len(said) > most else kept[-1]
    return [*lines, *kept[:-1], more, *wrapped([_made(one)], room, 2)]


def glance(one: Listed, room: int) -> list[Line]:
    """The selected grain in short, with its other fields."""
    grain = one.grain
    lines = [heading(f"{short(one.address)}  {one.state}", room)]
    if grain is None:
        return [*lines, *_gone(one, room)]
    rest = {name: value for name, value in grain.fields.items() if name not in _SAID_ALREADY}
    out = [told(grain.fields, 2_000), _made(one)]
    if grain.get("relation") == RELATION:
        rest.pop("context", None)
    if rest:
        out.append(fields_line(rest, _FIELDS))
    return [*lines, *wrapped(out, room, 2)]


def _gone(one: Listed, room: int) -> list[Line]:
    word = "forgotten" if one.state == "forgotten" else "made"
    return wrapped([_absent(one), line(Span(f"{word} ", "dim"), utc(one.at))], room, 2)


def _made(one: Listed) -> Line:
    grain = one.grain
    if grain is None:
        return ()
    made = line(Span("made ", "dim"), utc(grain.created_at), Span("  in ", "dim"), named(grain.namespace))
    return line(Span(clean(grain.type), "strong"), "  ", made, _origin(one))


_SAID_ALREADY: Final = frozenset(
    (
        "subject",
        "relation",
        "object",
        "content",
        "tool_content",
        "description",
        "derived_from",
        "embedding_text",
    )
)


def _origin(one: Listed) -> Line:
    return line(Span("  from another copy", "dim")) if one.grain and one.grain.imported else ()
