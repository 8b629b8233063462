# SPDX-License-Identifier: Apache-2.0
"""Which keys the last row names in a state: what can be done here, in the order of the one table."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from deja_tui.console.actions import ACTIONS, DECISIONS, PLACE_SCOPES, Case, Rights, fits, offered, refusal
from deja_tui.console.keymap import Keymap
from deja_tui.present.change import CANNOT_BE_UNDONE
from deja_tui.widgets.hints import Hint


def hints_of(
    scope: str,
    case: Case | None,
    keymap: Keymap,
    rights: Rights,
    actor: str,
    without: Collection[str] = (),
    words: Mapping[str, str] | None = None,
) -> tuple[list[Hint], list[Hint]]:
    """The hints in order of weight, and those that stay at the end.

    A decision is named only where it can follow the status of ``case`` and the right to it is held; dimmed when it is off
    for another reason. Leaving is the last hint of the first screen only: elsewhere q is one more way back.

    Args:
        case: what is known about deciding what is selected; None where nothing is decided here.
        without: verbs that have nothing to act on. words: what a verb does here, where that differs from its own hint.
    """
    said = words or {}
    shown: list[Hint] = []
    off: list[Hint] = []
    pinned: list[Hint] = []
    for action in ACTIONS:
        key = keymap.first(action.id)
        if scope not in action.scopes or not action.hint or not key:
            continue
        verb = action.id.rpartition(".")[2]
        if verb in without or not offered(verb, case) or (verb == "quit" and scope not in PLACE_SCOPES):
            continue
        does = said.get(verb, action.hint)
        if rights.missing(action.right):
            if verb in DECISIONS and case is not None and fits(verb, case.status):
                off.append(Hint(key, does, on=False))
            continue
        warning = CANNOT_BE_UNDONE if verb == "apply" and case is not None and case.destructive else ""
        on = verb not in DECISIONS or case is None or refusal(verb, case, rights, actor) is None
        hint = Hint(key, does, on, warning)
        (pinned if action.id.startswith("app.") or verb == "back" else shown).append(hint)
    return [*shown[:1], *off, *shown[1:]], pinned
