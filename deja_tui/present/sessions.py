# SPDX-License-Identifier: Apache-2.0
"""Sessions as lines: a row a thread, a row an event, and what there is to say about the selected one.

Names of threads, tools and bodies are whatever an agent wrote: a name that is no plain word is fenced, so that none can
pose as a column or as another name. Times are UTC, widths terminal cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from deja_tui.engine.views import error_text, is_failure, tool_name
from deja_tui.present.grain import Shown
from deja_tui.present.line import Line, Span, clip, heading, joined, line, pad, width, wrapped
from deja_tui.present.recommendation import status_word
from deja_tui.present.words import (
    EVIDENCE_LIMIT,
    TEXT_FIELDS,
    age,
    fenced,
    named,
    plural,
    ratio,
    says,
    short,
    value_of,
)
from deja_tui.sessions import Citing
from deja_tui.store.grains import StoredGrain
from deja_tui.store.sessions import Thread
from deja_tui.text import clean, error_signature, utc

_LAST: Final = 8
_EVENTS: Final = 9
_ERRORS: Final = 8
_CITED: Final = 22
_FEW: Final = 12
_KIND: Final = 10
_NAME: Final = 400
_ROLES: Final = ("user", "assistant", "system", "tool")
_OPEN: Final = ("pending", "approved")
UNREAD: Final = line(Span("…", "dim"))
Row = tuple[str, Thread, "Sequence[Citing] | None"]


class Counted(Protocol):
    """How often a tool failed in one way, out of how many calls."""

    @property
    def errors(self) -> int: ...
    @property
    def calls(self) -> int: ...


# --- threads ----------------------------------------------------------------------------------------


def name_room(room: int) -> int:
    """The cells of the column with the names."""
    return max(8, room - _LAST - _EVENTS - _ERRORS - _cited_room(room))


def _cited_room(room: int) -> int:
    return _CITED if room >= 70 else _FEW


def list_head(room: int) -> Line:
    """The titles of the columns."""
    told = pad(line("session"), name_room(room))
    last = "recommendations" if _cited_room(room) == _CITED else "cited by"
    titles = f"{'last':>{_LAST}}{'events':>{_EVENTS}}{'errors':>{_ERRORS}}  {last}"
    return clip(line(*(Span(span.text, "dim") for span in told), Span(titles, "dim")), room)


def thread_row(
    name: str | None, thread: Thread, citing: Sequence[Citing] | None, now_ms: int, room: int
) -> Line:
    """``sess-42      12m        48       6  1 pending``. None: not read yet."""
    if name is None:
        return UNREAD
    last = age(max(0, now_ms - thread.last))
    return line(
        pad(line(named(name, limit=_NAME)), name_room(room)),
        Span(f"{last:>{_LAST}}", "dim"),
        f"{thread.events:>{_EVENTS},}",
        Span(f"{thread.errors:>{_ERRORS},}", "error" if thread.errors else "dim"),
        "  ",
        cited_words(citing, brief=_cited_room(room) == _FEW) if citing else "",
    )


def cited_words(citing: Sequence[Citing], *, brief: bool = False) -> Line:
    """``1 pending``, ``1 pending of 3``, ``2 decided``."""
    pending = sum(one.status == "pending" for one in citing)
    if not pending:
        return line(Span(f"{len(citing)} decided", "dim"))
    more = f" of {len(citing)}" if len(citing) > pending and not brief else ""
    return line(Span(f"{pending} pending", "warning"), Span(more, "dim"))


# --- events -----------------------------------------------------------------------------------------


def moment(ms: int) -> str:
    """``03-01 09:12:04``; a time outside the calendar as `utc` tells it."""
    told = utc(ms)
    return f"{told[5:16]}:{ms // 1000 % 60:02d}" if told[0] != "(" else clean(told, 14)


def kind(grain: Shown) -> Span:
    """What a grain is in a timeline: who spoke, a call, its result, an error, or its type."""
    fields = grain.fields
    if grain.type == "event":
        role = fields.get("role")
        return Span(role if role in _ROLES else "event", "strong" if role == "user" else "")
    if grain.type != "tool":
        return Span("note" if grain.type == "observation" else clean(grain.type, _KIND - 1), "dim")
    if failure(grain):
        return Span("ERROR", "error")
    if fields.get("kind") == "definition":
        return Span("defines", "dim")
    answered = any(fields.get(name) is not None for name in TEXT_FIELDS)
    return Span("result" if answered and fields.get("status") != "pending" else "call")


def failure(grain: Shown) -> bool:
    """Whether it is a call that failed, as the failure clusters count it."""
    return isinstance(grain, StoredGrain) and grain.type == "tool" and is_failure(grain)


def event_row(
    grain: StoredGrain | None, citing: Sequence[Citing], room: int, *, limit: int = EVIDENCE_LIMIT
) -> Line:
    """``03-01 09:12:05  ERROR     stripe_refund «{"error":"rate_limited"}»  → a41f09c2``. None: not read yet."""
    if grain is None:
        return UNREAD
    linked = link(citing)
    head = line(Span(moment(grain.created_at), "dim"), "  ", pad(line(kind(grain)), _KIND))
    left = room - width(head) - width(linked)
    return line(head, pad(_said(grain.fields, limit), left) if linked else _said(grain.fields, limit), linked)


def _said(fields: Mapping[str, Any], limit: int) -> Line:
    """What happened; of a call that has no answer, what it was asked."""
    told = says(fields, limit)
    if len(told) == 1 and fields.get("tool_name") is not None and fields.get("input") is not None:
        return line(told, " ", fenced(fields["input"], limit))
    return told


def link(citing: Sequence[Citing]) -> Line:
    """``  → a41f09c2``, with how many more there are."""
    if not citing:
        return ()
    one = first(citing)
    more = Span(f" +{len(citing) - 1}", "dim") if len(citing) > 1 else Span("")
    return line(Span("  → ", "dim"), Span(short(one.address), "address"), more)


def first(citing: Sequence[Citing]) -> Citing:
    """The one that Enter opens: one that waits for a decision, else one that is open, else the first."""
    order = {status: place for place, status in enumerate(("pending", *_OPEN))}
    return min(citing, key=lambda one: order.get(one.status, len(order)))


def cluster(grain: StoredGrain) -> tuple[str, str] | None:
    """Tool and signature of the failure cluster a grain belongs to; None for anything but a failed call of a tool."""
    if not failure(grain) or not tool_name(grain):
        return None
    return tool_name(grain), error_signature(error_text(grain))


def event_lines(
    grain: StoredGrain, citing: Sequence[Citing], counted: Counted | None, keys: Mapping[str, str], room: int
) -> list[Line]:
    """The selected event: what it is, its cluster and what cites it first, then all it says."""
    lines = [
        joined(
            [
                line(kind(grain), " ", Span(short(grain.address), "address")),
                utc(grain.created_at),
                line(Span("in ", "dim"), named(grain.namespace)),
            ]
        )
    ]
    found = cluster(grain)
    if found is not None:
        lines.append(line(Span("signature ", "dim"), fenced(found[1])))
        if counted is not None:
            told = f"{ratio(counted.errors, counted.calls)} calls of "
            lines.append(line(Span("cluster   ", "dim"), told, named(found[0]), " failed this way in 30d"))
    for one in citing[:5]:
        opens = (
            Span(f"  {keys['open']} opens it", "dim")
            if one is first(citing) and keys.get("open")
            else Span("")
        )
        lines.append(
            line(
                Span("cited by  ", "dim"),
                Span(short(one.address), "address"),
                f"  {status_word(one.status)}",
                opens,
            )
        )
    if len(citing) > 5:
        lines.append(line(Span(f"          and {len(citing) - 5} more", "dim")))
    told_ = wrapped([_said(grain.fields, EVIDENCE_LIMIT)], room, 2)
    asked = grain.fields.get("input")
    if asked is not None and grain.type == "tool" and kind(grain).text != "call":
        told_ += wrapped([line(Span("input ", "dim"), fenced(asked, EVIDENCE_LIMIT))], room, 2)
    return [*wrapped(lines, room, 10), *told_]


def whole_lines(grain: StoredGrain, room: int) -> list[Line]:
    """Every field of a grain, in name order, texts cut nowhere."""
    head = [
        line(Span("address    ", "dim"), Span(clean(grain.address), "address")),
        line(Span("type       ", "dim"), clean(grain.type)),
        line(Span("created    ", "dim"), utc(grain.created_at)),
        line(Span("namespace  ", "dim"), named(grain.namespace)),
        line(Span("state      ", "dim"), "live" if grain.live else "not live"),
    ]
    told = [
        line(named(name, "dim"), " ", value_of(value, 1_000_000))
        for name, value in sorted(grain.fields.items())
    ]
    return wrapped([*head, heading("Fields", room), *told], room, 2)


# --- nothing to show --------------------------------------------------------------------------------


def none_recorded(command: str, file: str) -> list[Line]:
    """No session at all: what would record one, and what is usually wrong where that was done."""
    return [
        line("No session yet: nothing here names one (the field session_id)."),
        line(
            Span("connect:  ", "dim"),
            "these lines go into the settings of your agent, with the absolute path of this program, because a hook "
            "does not look where your shell looks:",
        ),
        line(Span("          ", "dim"), clean(command, limit=2_000)),
        line(
            Span("all of it:", "dim"),
            f" 6 shows it and y copies it; or deja hook print claude-code --db {file}",
        ),
        line(Span("bring in: ", "dim"), f"deja import claude-code PATH --db {file}"),
    ]


def none_left(wanted: str, failed: bool, what: str) -> Line:
    """A filter hides everything: the filter, and the key that clears it."""
    told = line(" holds ", fenced(wanted, 60)) if wanted else line()
    errors = " with a failed call" if failed else ""
    back = "Esc clears the filter" if wanted else "f shows all"
    return line(f"No {what}{errors}", told, f". {back}.")


def counts(shown: int, of: str, failed: bool) -> str:
    """``48 events``, ``6 errors only``."""
    return f"{plural(shown, of)}{', errors only' if failed else ''}"
