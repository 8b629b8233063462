# SPDX-License-Identifier: Apache-2.0
"""Summary lines: template id and arguments in, one cleaned line out (engine rule 2: analyzers never write prose).

Rendering is one pass: the text of an argument is never scanned for further fields. A missing argument shows as a
visible hole, so a recommendation of a newer analyzer stays readable. Arguments from grains are cleaned here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from deja_tui.engine.faults import LoopError
from deja_tui.text import clean, clip, unfenced

TEMPLATES: Final[Mapping[str, str]] = {
    "tool_failure.cluster": "{tool}: {count} of {calls} calls failed the same way: «{signature}»",
    "tool_failure.again": "{tool}: {count} of {calls} calls since the apply failed the same way: «{signature}»",
    "tool_failure.line": "- {tool}: calls have failed with «{signature}»",
    "command.finding": "«{text}»",
    "draft.note": "draft: «{note}»",
    "duplicate.exact": "{count} copies of one fact: {subject} · {relation} · {object}",
    "duplicate.near": "{count} notes say nearly the same (overlap {overlap}): «{topic}»",
    "contradiction.functional": "{subject} has {count} current values for {relation}: {values}",
    "contradiction.ended": "{subject} was given {count} values for {relation}, {ended} of them ended: {values}",
    "contradiction.learned": "{relation} looks single-valued: {single} of {subjects} subjects have one value",
    "fork.multi_head": "{subject} · {relation} was changed in {count} copies: {values}",
    "staleness.expired": "{subject} · {relation} · {object} passed its declared end {age_days} days ago",
    "skill.stall": "{skill}: practised {practice_count} times, proficiency {proficiency}",
    "goal.stagnation": "{goal}: active {age_days} days, progress {progress}",
    "cold.grain": "{count} facts in {namespace} unread for {watched_days} days",
    "cold.one": "1 fact in {namespace} unread for {watched_days} days",
    "cold.seldom": "{count} facts in {namespace} read at most {max_recalls} times in {watched_days} days",
    "coverage.gap": "asked {count} times, found nothing {empty} times: «{query}»",
    "budget.pressure": "{overflow} of {samples} contexts had to leave something out",
    "outcome.worse": "after «{original}»: {metric} {before} before, {after} after, over {span}",
    "retention.overdue": "{count} grains in {namespace} are past {max_age_days} days; {remaining} more later",
    "retention.waiting": "{count} grains in {namespace} are past {max_age_days} days, the oldest {oldest_days}",
}
# what an analyzer command or a draft says in its own words, always inside a fence: cut when it is taken in
_OWN_WORDS: Final = frozenset(("text", "note"))
_FIELD = re.compile(r"\{([a-z_]+)\}")
_ARGUMENT_CELLS: Final = 96
_LINE_CELLS: Final = 400


# of linked analyzers (D29): a process that opens a memory without them shows arguments by name, as for any other
_LINKED: Final[dict[str, str]] = {}


def link(found: Mapping[str, str]) -> None:
    """Make the templates of a linked analyzer known to this process. Raises LOP-E036 for one that is built in."""
    if not TEMPLATES.keys().isdisjoint(found):
        raise LoopError("LOP-E036", "a linked analyzer cannot change a built-in template")
    _LINKED.update(found)


def render(template_id: str, args: Mapping[str, Any]) -> str:
    """The line for a person, safe to show, one line.

    Unknown template ids (a newer or removed analyzer, D28) are shown with their arguments in the order of their names.
    """
    template = TEMPLATES.get(template_id, _LINKED.get(template_id))
    if template is None:
        told = ", ".join(f"{clean(name, 32)} {_argument(args, name)}" for name in sorted(args)[:_LINE_CELLS])
        return clip(f"{clean(template_id, 64)}: {told}" if told else clean(template_id, 64), _LINE_CELLS)
    return _FIELD.sub(lambda match: _argument(args, match.group(1)), template)


def _argument(args: Mapping[str, Any], name: str) -> str:
    # no argument can open or close the fence of the template
    width = _LINE_CELLS if name in _OWN_WORDS else _ARGUMENT_CELLS
    return unfenced(clean(args[name], width)) if name in args else f"{{?{name}}}"
