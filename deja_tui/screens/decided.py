# SPDX-License-Identifier: Apache-2.0
"""What the walker does with a decision and says after it: the act, the receipt, what somebody else did meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deja_tui.console.actions import Rights
from deja_tui.console.feed import Reviews
from deja_tui.console.keymap import Keymap
from deja_tui.engine.objects import Detail, Plan, Receipt
from deja_tui.errors import DejaError
from deja_tui.present import recommendation as shown
from deja_tui.present.line import Line, Span, heading, line, wrap, wrapped
from deja_tui.present.words import fenced, plural, short
from deja_tui.screens.detail import case_of
from deja_tui.screens.walk import Walk
from deja_tui.text import clean


def carried_out(
    verb: str, address: str, because: str, destructive: bool, choice: int = 0
) -> Callable[[Reviews], Receipt]:
    """The work of one decision about one recommendation, for the feed's thread.

    Args:
        verb: as the prompt says it, with which everything else but a rejection is told apart.
        destructive: whether an apply may do what cannot be undone. choice: the alternative that is approved (D20).
    """
    match verb:
        case "approve" if choice:
            return lambda reviews: reviews.approve(address, because=because, choice=choice)
        case "approve":
            return lambda reviews: reviews.approve(address, because=because)
        case "withdraw":
            return lambda reviews: reviews.withdraw(address, because=because)
        case "apply":
            return lambda reviews: reviews.apply(address, because=because, allow_destructive=destructive)
        case "mark done":
            return lambda reviews: reviews.mark_applied(address, because=because)
        case "roll back":
            return lambda reviews: reviews.rollback(address, because=because)
        case _:
            return lambda reviews: reviews.reject(address, because=because)


def moved_on(before: Detail | None, now: Detail, fault: DejaError | None) -> list[Line]:
    """Who decided meanwhile, or why else a decision about what was shown is none any more.

    Args:
        before: what was shown, None where nothing was yet. now: what is true. fault: what the engine refused with.
    """
    known = {entry.address for entry in before.chain.entries} if before else set()
    new = [
        entry for entry in now.chain.entries if entry.address not in known and entry.from_status is not None
    ]
    if new and (fault is None or fault.code == "LOP-E020"):
        last = new[-1]
        by = Span(f"decided meanwhile by {clean(last.actor, 80)}: ", "warning")
        return [line(line(by, f"{shown.happened(last)}, because "), fenced(last.because))]
    if fault is not None:
        lines = [line(Span(f"{fault.code} {clean(fault.message)}", "warning"))]
        return [*lines, line(Span("next: ", "dim"), clean(fault.next_step))] if fault.next_step else lines
    if now.replaced_by is None:
        return [line(Span(f"it is {shown.status_word(now.status)} meanwhile", "warning"))]
    return []


def refreshed(newer: str, *, kept: bool) -> list[Line]:
    """That the finding goes on under another address; ``kept``: with the reason that was typed."""
    lines = [
        line(Span("the finding was refreshed: the newer one is ", "warning"), Span(short(newer), "address"))
    ]
    return [*lines, line(Span("your reason is kept for it", "dim"))] if kept else lines


def receipt_lines(
    receipt: Receipt,
    detail: Detail | None,
    plan: Plan | None,
    leads: str,
    keymap: Keymap,
    rights: Rights,
    room: int,
) -> list[Line]:
    """A receipt, then what the reviewer may do next, each with its key.

    Args:
        detail, plan: of the recommendation, as far as they are known. leads: where Enter goes, in words.
        room: the cells of a line.
    """
    lines: list[Line] = []
    if detail is not None:
        summary = clean(detail.summary, limit=shown.SUMMARY_LIMIT)
        lines += wrap(line(Span(summary, "strong")), room, 2)
    lines.append(heading("Receipt", room))
    lines += wrapped(shown.receipt(receipt), room, 9)
    lines.append(heading("Next", room, meaning="dim"))
    if receipt.to_status == "approved":
        why_not = rights.missing("apply")
        if plan is not None and plan.outside:
            marks = "once it is made there: note that it is done, with a reason"
            lines.append(_offer(keymap.first("queue.mark_applied"), marks, why_not))
        else:
            again = "apply it now, with a reason of its own"
            lines.append(_offer(keymap.first("queue.apply"), again, why_not))
        if plan is not None and why_not is None:
            lines.append(line("        ", shown.plan(plan)))
    if receipt.to_status == "applied" and detail and case_of(detail).rollbackable:
        lines.append(_offer(keymap.first("queue.rollback"), "roll it back", rights.missing("apply")))
    lines.append(_offer(keymap.first("walker.next"), leads, None))
    return lines


def notice_lines(notice: Sequence[Line], detail: Detail | None, room: int) -> list[Line]:
    """What happened meanwhile, then the audit trail as it is now."""
    lines = wrapped(notice, room, 2)
    if detail is None:
        return lines
    trail = shown.trail_section(detail.chain, room, shown.digits_of(detail))
    return [*lines, line(), *shown.section_lines(trail, room)]


def summing_up(walk: Walk, key: str, room: int) -> list[Line]:
    """The end of a walk, or the place it was left at: its counts, what waits still, the receipts.

    ``key`` goes on with a walk that was left.
    """
    left = walk.address is not None
    lines = [heading(f"Left at {walk.where}" if left else "End of the walk", room), line(walk.counts())]
    if walk.waiting:
        told = f"{plural(walk.waiting, 'recommendation waits', 'recommendations wait')} still."
        lines.append(line(told, f" {key} goes on here, at {walk.where}." if left and key else ""))
    if walk.receipts:
        lines.append(heading("Receipts", room))
    for receipt in walk.receipts:
        head, because, audit, chain, *_ = shown.receipt(receipt)
        lines += wrapped([head, line("  ", because), line("  ", audit), line("  ", chain)], room, 11)
    return lines


def _offer(key: str, does: str, why_not: str | None) -> Line:
    if why_not:
        return line(Span(f" {key:<6} {does} ({why_not})", "dim"))
    return line(Span(f" {key:<6} ", "key"), does)
