# SPDX-License-Identifier: Apache-2.0
"""What the list of Memories is, in words: for its title, for where it is empty, as a statement."""

from __future__ import annotations

from deja_tui.present import memories as shown
from deja_tui.present.line import Line, Span, line
from deja_tui.present.words import fenced
from deja_tui.store.browse import FOUND_LIMIT, ORDERS, Lens, by_subject
from deja_tui.store.grains import StoredGrain
from deja_tui.text import quote


def listed(lens: Lens) -> str:
    """Which grains are listed, and in which order where that is not the usual one."""
    if lens.text:
        return " ".join(part for part in ("live", lens.type) if part)
    order = lens.order if lens.order != "subject" or by_subject(lens) else ORDERS[0]
    ordered = {ORDERS[0]: "", "subject": "by subject"}.get(order, order)
    return " ".join(part for part in (shown.view_word(lens.view), lens.type, ordered) if part)


def nothing(lens: Lens, file: str) -> list[Line]:
    """What stands where nothing is listed, and what changes that. ``file``: the memory, safe to show."""
    if lens.text:
        return [
            line(
                "No live grain matches ", fenced(lens.text.removesuffix("*"), 60), ". Esc clears the filter."
            )
        ]
    none = shown.NOTHING[lens.view]
    if lens.type:
        return [line(f"{none} Of type {lens.type}; F shows another type.")]
    if lens.view == "documents":
        write = f"deja doc create /memories/notes.md FILE --db {file}"
        return [line(none), line(Span("write one: ", "dim"), write)]
    if lens.view in ("all", "live"):
        return [
            line(none),
            line(Span("bring some: ", "dim"), f"deja import claude-code PATH --db {file}"),
            line(Span("add one: ", "dim"), f"deja add SUBJECT RELATION OBJECT --db {file}"),
        ]
    return [line(f"{none} f shows another view.")]


def statement(lens: Lens, address: str, grain: StoredGrain | None, own: str) -> str:
    """The CAL that reads the list, as far as CAL can: it lists one type of one namespace at a time.

    Those are the ones of the selected grain, the type rather that of the filter.

    Args:
        address, grain: what is selected; "" and None where nothing is. own: the namespace that a statement reads unasked.
    """
    place = f"IN {quote(grain.namespace)} " if grain is not None and grain.namespace != own else ""
    if lens.text:
        kind = f"{_plural(lens.type)} " if lens.type else ""
        return f"RECALL {kind}{place}ABOUT {quote(lens.text)} LIMIT {FOUND_LIMIT}"
    if lens.view == "forked":
        return "SHOW FORKS"
    if lens.view == "documents":
        return f'RECALL facts {place}WHERE relation = "memory_file" LIMIT {FOUND_LIMIT}'
    kind = lens.type or (grain.type if grain else "")
    if lens.view in ("all", "live") and kind:
        return f"RECALL {_plural(kind)} {place}RECENT {FOUND_LIMIT}"
    return f"HISTORY OF sha256:{address}" if address else ""


def _plural(kind: str) -> str:
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"
