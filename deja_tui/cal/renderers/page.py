# SPDX-License-Identifier: Apache-2.0
"""What a renderer is given, and what a grain says: content and attributes by type, stored text made harmless.

* REND-1  `safe` text holds no line break, tab, control, bidi or zero-width character: it cannot act, hide or end a line.
* REND-2  Content is the same in every format; formats differ in what stands around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from deja_tui.cal import fields
from deja_tui.cal.results import Context
from deja_tui.cal.rows import Row
from deja_tui.cal.times import relative
from deja_tui.text import clean, compact_json

_LONGEST: Final = 65_536
_BREAKS: Final = re.compile("\r\n|[\n\r\t\v\f\x1c\x1d\x1e\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Page:
    """Rows to render.

    Attributes:
        now: epoch ms, for "2d ago".
        context: what an ASSEMBLE says around them; None for a plain list.
        groups: key and rows of GROUP BY, in key order.
        summary: renders the summary of a recommendation.
    """

    rows: tuple[Row, ...]
    now: int
    context: Context | None = None
    groups: tuple[tuple[str, tuple[Row, ...]], ...] | None = None
    summary: Callable[[Mapping[str, Any]], str] | None = None


def safe(value: object) -> str:
    """A value as one harmless line: breaks and tabs become a blank, the rest as `text.clean` (REND-1)."""
    told = value if isinstance(value, str) else compact_json(value)
    return clean(_BREAKS.sub(" ", told), limit=_LONGEST)


def readable(relation: object) -> str:
    """A relation for people: without its prefix, with blanks for ``_``."""
    told = relation if isinstance(relation, str) else ""
    return safe(told.rsplit(":", 1)[-1].replace("_", " "))


def shortest(value: object) -> str:
    """A number as its shortest decimal without exponent; anything else as `safe` text."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "" if value is None else safe(value)
    if isinstance(value, int) or value.is_integer():
        return str(int(value))
    told = repr(value)
    return told if "e" not in told else f"{value:.12f}".rstrip("0").rstrip(".")


Shown = Callable[[object], str]
"""Makes one stored value a harmless text."""

# --- content ----------------------------------------------------------------------------------------


def content(row: Row, page: Page, shown: Shown = safe) -> str:
    """What a row says, as one harmless line (REND-2); a format that can say line breaks gives its own ``shown``."""
    told = row.fields
    match row.grain_type:
        case "extracted":
            return shown(told.get("value", ""))
        case "fact":
            parts = (readable(told.get("relation")), _text(told.get("object"), shown))
            return " ".join(part for part in parts if part)
        case "observation":
            said, subject = _text(fields.content(row), shown), _text(told.get("subject"), shown)
            return f"{subject}: {said}" if subject and said else said or subject
        case "state":
            return _listed(told.get("plan"), "; ", shown)
        case "workflow":
            return _listed(told.get("nodes"), " -> ", shown)
        case "consent":
            return _text(told.get("purpose") or told.get("scope"), shown)
        case "recommendation":
            return _summary(told.get("summary"), page)
    return _text(fields.content(row), shown)


def _text(value: object, shown: Shown) -> str:
    if isinstance(value, list):
        return _listed(value, ", ", shown)
    return "" if value is None else shown(value)


def _listed(value: object, joint: str, shown: Shown) -> str:
    return joint.join(shown(item) for item in value) if isinstance(value, list) else _text(value, shown)


def _summary(value: object, page: Page) -> str:
    if not isinstance(value, Mapping):
        return _text(value, safe)
    if page.summary is not None:
        return safe(page.summary(value))
    return safe(f"{value.get('template_id', '')} {compact_json(value.get('args', {}))}")


def shown_context(value: object) -> str:
    """The context of a state: its keys and values in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{safe(key)}: {safe(item)}" for key, item in value.items())
    return _text(value, safe)


# --- attributes -------------------------------------------------------------------------------------

Attribute = Callable[[Row, Page], Any]


def _named(name: str) -> Attribute:
    return lambda row, page: row.fields.get(name)


def _known(type_: str, name: str) -> Attribute:
    read = fields.OF_TYPE[type_][name].read
    return lambda row, page: read(row)


def time(row: Row, page: Page) -> str | None:
    """How long ago the grain was created."""
    at = row.fields.get("created_at")
    return relative(at, page.now) if isinstance(at, int) else None


ATTRIBUTES: Final[Mapping[str, tuple[tuple[str, Attribute], ...]]] = {
    "fact": (("subject", _named("subject")), ("confidence", _named("confidence"))),
    "event": (("role", _named("role")), ("time", time)),
    "goal": (
        ("subject", _named("subject")),
        ("state", _named("goal_state")),
        ("deadline", _named("deadline")),
    ),
    "tool": (("tool", _known("tool", "tool_name")), ("phase", lambda row, page: fields.phase(row))),
    "observation": (("observer", _named("observer_id")),),
    "reasoning": (("type", _known("reasoning", "reasoning_type")),),
    "state": (("context", lambda row, page: shown_context(row.fields.get("context"))),),
    "workflow": (("trigger", lambda row, page: row.fields.get("trigger") or row.fields.get("name")),),
    "consensus": (("threshold", _named("threshold")), ("count", _named("agreement_count"))),
    "consent": (
        ("action", _known("consent", "consent_action")),
        ("grantor", _known("consent", "grantor_did")),
        ("grantee", _named("grantee_did")),
    ),
    "skill": (("name", _named("name")), ("proficiency", _named("proficiency")), ("domain", _named("domain"))),
    "recommendation": (("target", _named("target_ref")), ("severity", _named("severity"))),
    "extracted": (),
}
"""Type → what stands beside its content, in order."""


def attribute(row: Row, name: str, page: Page) -> Any:
    """The value of one attribute of the row's type; None when the type has none of that name."""
    for known, read in ATTRIBUTES.get(row.grain_type, ()):
        if known == name:
            return read(row, page)
    return None
