# SPDX-License-Identifier: Apache-2.0
"""One grain as a page: its fields, its versions with what changed, its fork, where it came from, who cites it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from deja_tui.browsing import Cited, Dossier
from deja_tui.engine.doc_edits import RELATION, text_of
from deja_tui.present import linked
from deja_tui.present.line import Line, Span, clip, joined, line, pad, width, wrap
from deja_tui.present.linked import GRAIN, RECOMMENDATION, TRAIL, Item, link, section, texts
from deja_tui.present.memories import STATES, told
from deja_tui.present.recommendation import analyzer_name, status_word
from deja_tui.present.versions import difference, flat, same
from deja_tui.present.words import (
    LITERAL_LIMIT,
    fenced,
    moment,
    named,
    plural,
    short,
    unique_length,
    value_of,
)
from deja_tui.store.chains import Step
from deja_tui.store.grains import StoredGrain
from deja_tui.text import clean, utc

_NAME: Final = 18
_BESIDE: Final = 100
_TEXT_LINES: Final = 2_000
_ROLES: Final = {
    "is": "it is this recommendation",
    "audit": "it is an entry of the trail of",
    "wrote": "written by applying",
    "did": "{what} by applying",
    "undid": "{what} by rolling back",
    "changes": "proposed to change by",
    "evidence": "cited as evidence by",
}
_DID: Final = {"retire": "retired", "supersede": "superseded", "hide": "hidden", "reopen": "opened again"}


def is_document(fields: Mapping[str, Any]) -> bool:
    """Whether a grain holds a version of a document."""
    return fields.get("relation") == RELATION and isinstance(fields.get("subject"), str)


def items(found: Dossier, room: int) -> list[Item]:
    """The whole page, lines of at most ``room`` cells."""
    digits = _digits(found)
    out = [*_opening(found, room, digits), *_fields(found.grain, room)]
    if is_document(found.grain.fields):
        out += _text(found.grain, room)
    return [
        *out,
        *_chain(found, room, digits),
        *_fork(found, room, digits),
        *_steps("parents", "Came from", found.provenance.parents, room, digits),
        *_steps("children", "Led to", found.provenance.children, room, digits),
        *_cited(found.cited, room),
        *(
            []
            if found.provenance.complete
            else texts([_dim("there is more: the walk ended at its limit")], room)
        ),
    ]


def _digits(found: Dossier) -> int:
    tips = found.fork.tips if found.fork else ()
    steps = (*found.provenance.parents, *found.provenance.children)
    known = {grain.address for grain in (found.grain, *found.chain, *tips)}
    return unique_length(known | {step.address for step in steps})


def _dim(text: str) -> Line:
    return line(Span(text, "dim"))


# --- what it is -------------------------------------------------------------------------------------


def _opening(found: Dossier, room: int, digits: int) -> list[Item]:
    grain = found.grain
    out = texts([told(grain.fields, LITERAL_LIMIT)], room, 2)
    facts = [
        line(Span(clean(grain.type), "strong")),
        line(Span(found.state, STATES.get(found.state, ""))),
        line(Span("in ", "dim"), named(grain.namespace)),
        line(Span("made ", "dim"), utc(grain.created_at)),
        line(
            Span("came ", "dim"), utc(grain.hlc >> 16), _dim(" from another copy") if grain.imported else ""
        ),
    ]
    out += texts([joined(facts, "  ")], room, 2)
    out += texts([line(Span("address ", "dim"), Span(clean(grain.address), "address"))], room, 8)
    if grain.superseded_by:
        shown = line(Span("its place has ", "dim"), Span(short(grain.superseded_by, digits), "address"))
        out += link(shown, room, GRAIN, grain.superseded_by)
    return out


def _fields(grain: StoredGrain, room: int) -> list[Item]:
    every = flat(grain.fields)
    every.update({name: grain.fields[name] for name in ("derived_from",) if name in grain.fields})
    out = [section("fields", f"Fields, {len(every)}", room)]
    for name, value in sorted(every.items()):
        if is_document(grain.fields) and name in ("context.content", "embedding_text"):
            out += texts([line(_named(name), _dim("the text, below"))], room)
            continue
        when = moment(name, value) or (
            utc(value) if name.startswith("valid_") and type(value) is int else None
        )
        after = _dim(f"  {when}") if when else ()
        out += texts([line(_named(name), value_of(value, LITERAL_LIMIT), after)], room, _NAME + 1)
    return out


def _named(name: str) -> Line:
    shown = line(named(name, "dim"))
    return line(pad(shown, _NAME) if width(shown) < _NAME else shown, " ")


def _text(grain: StoredGrain, room: int) -> list[Item]:
    rows = text_of(grain.fields).split("\n")
    if rows and not rows[-1]:
        rows.pop()
    out = [section("text", f"Text, {plural(len(rows), 'line')}", room)]
    for number, row in enumerate(rows[:_TEXT_LINES], 1):
        out += texts([line(Span(f"{number:>5} ", "dim"), fenced(row, LITERAL_LIMIT))], room, 7)
    if len(rows) > _TEXT_LINES:
        out += texts([_dim(f"{len(rows) - _TEXT_LINES:,} more lines: deja doc view")], room)
    return out


# --- versions ---------------------------------------------------------------------------------------


def _chain(found: Dossier, room: int, digits: int) -> list[Item]:
    chain = found.chain
    count = plural(len(chain), "version") if found.whole else f"the newest {len(chain)} versions"
    out = [section("chain", f"Chain, {count}, the newest first", room)]
    for place, grain in enumerate(chain):
        here = grain.address == found.grain.address
        state = "live" if grain.live else "not live"
        shown = line(
            Span("= " if here else "  ", "strong"),
            Span(short(grain.address, digits), "address"),
            f"  {utc(grain.created_at)}  ",
            Span(state, "" if grain.live else "dim"),
            _dim("  this one") if here else "",
            "  ",
            told(grain.fields, 200),
        )
        out += [Item(clip(shown, room), leads="" if here else GRAIN, address=grain.address)]
        if place + 1 < len(chain):
            out += texts(difference(chain[place + 1], grain), room, 8)
    if not found.whole:
        out += texts([_dim("  older versions: deja history")], room)
    return out


# --- forks ------------------------------------------------------------------------------------------


def _fork(found: Dossier, room: int, digits: int) -> list[Item]:
    fork = found.fork
    if fork is None:
        return []
    out = [section("fork", f"Fork, {plural(len(fork.tips), 'live tip')}, the one that is read first", room)]
    for place, tip in enumerate(fork.tips):
        shown = line(
            Span("* " if not place else "  ", "strong"),
            Span(short(tip.address, digits), "address"),
            f"  {utc(tip.created_at)}  ",
            _dim("another copy" if tip.imported else "this copy"),
            "  ",
            told(tip.fields, 200),
        )
        out += [Item(clip(shown, room), leads=GRAIN, address=tip.address)]
    if fork.ancestor:
        shown = line(_dim("  both came from "), Span(short(fork.ancestor, digits), "address"))
        out += link(shown, room, GRAIN, fork.ancestor)
    first, *others = fork.tips
    for other in others[:3]:
        out += beside(first, other, room, digits) if room >= _BESIDE else below(first, other, room, digits)
    out += texts([_dim("deja merge closes it with one grain")], room)
    return out


def beside(left: StoredGrain, right: StoredGrain, room: int, digits: int) -> list[Item]:
    """Two grains in columns, ``!`` before the fields that differ."""
    half = (room - _NAME - 6) // 2
    head = line(
        " " * (_NAME + 3), _short(left, half, digits), Span(" │ ", "dim"), _short(right, half, digits)
    )
    out = [Item(head)]
    one, two = flat(left.fields), flat(right.fields)
    for name in sorted(one.keys() | two.keys()):
        equal = name in one and name in two and same(one[name], two[name])
        cells = [
            wrap(line(value_of(side[name], LITERAL_LIMIT)) if name in side else _dim("none"), half)
            for side in (one, two)
        ]
        for number in range(max(map(len, cells))):
            title = line(Span("  " if equal else "! ", "warning"), pad(line(named(name, "dim")), _NAME), " ")
            start = title if number == 0 else line(" " * (_NAME + 3))
            parts = [cell[number] if number < len(cell) else () for cell in cells]
            out.append(Item(line(start, pad(parts[0], half), Span(" │ ", "dim"), parts[1])))
    return out


def _short(grain: StoredGrain, room: int, digits: int) -> Line:
    return pad(line(Span(short(grain.address, digits), "address"), f"  {utc(grain.created_at)}"), room)


def below(left: StoredGrain, right: StoredGrain, room: int, digits: int) -> list[Item]:
    """Two grains one below the other: what the second says differently."""
    head = line(
        "  ",
        Span(short(left.address, digits), "address"),
        _dim(" (-) beside "),
        Span(short(right.address, digits), "address"),
        _dim(" (+)"),
    )
    return texts([head, *difference(left, right)], room, 8)


# --- where it came from, who cites it ---------------------------------------------------------------


def _steps(id: str, title: str, steps: Sequence[Step], room: int, digits: int) -> list[Item]:
    out = [section(id, f"{title}, {plural(len(steps), 'grain')}" if steps else f"{title}: nothing", room)]
    for step in steps:
        indent = "  " * min(step.depth, 8)
        if step.grain is None:
            gone = line(
                indent, Span(short(step.address, digits), "address"), _dim("  not here, or forgotten")
            )
            out += texts([gone], room)
            continue
        mark = "" if step.grain.live else "(not live) "
        shown = line(
            indent,
            Span(short(step.address, digits), "address"),
            Span(f"  {clean(step.grain.type)} {mark}", "dim"),
            told(step.grain.fields, 400),
        )
        leads = RECOMMENDATION if step.grain.type == "recommendation" else GRAIN
        out += [Item(clip(shown, room), leads=leads, address=step.address)]
    return out


def _cited(cited: Sequence[Cited], room: int) -> list[Item]:
    title = f"{len(cited)}" if cited else "none"
    out = [section("cited", f"Recommendations: {title}", room)]
    for one in cited:
        role = _ROLES[one.role].format(what=_DID.get(one.what, clean(one.what, 20)))
        shown = line(
            Span(f"  {role} ", "dim"),
            Span(short(one.recommendation), "address"),
            "  ",
            Span(analyzer_name(one.analyzer), "strong"),
            f"  {status_word(one.status) if one.status else 'not in the queue'}  ",
            Span(utc(one.at), "dim"),
        )
        # a decision is told at the trail, a proposal at its beginning
        leads = TRAIL if one.audit else RECOMMENDATION
        out += link(shown, room, leads, one.recommendation)
        out += link(line("    ", Span(clean(one.summary, limit=400))), room, leads, one.recommendation, 6)
        if one.because:
            out += link(line("    because ", fenced(one.because)), room, leads, one.recommendation, 6)
    return out


def short_lines(found: Sequence[tuple[str, str, StoredGrain | None]], room: int) -> list[Item]:
    """Grains with the part each has in something: (part, address, grain)."""
    digits = unique_length(address for _, address, _ in found)
    out: list[Item] = []
    for part, address, grain in found:
        head = line(Span(f"{part:<9} ", "strong"), Span(short(address, digits), "address"), "  ")
        if grain is None:
            out += linked.texts([line(head, _dim("not here, or forgotten"))], room)
            continue
        mark = "" if grain.live else "(not live) "
        shown = line(head, Span(f"{clean(grain.type)} {mark}", "dim"), told(grain.fields, 400))
        out += [Item(clip(shown, room), leads=GRAIN, address=address)]
    return out
