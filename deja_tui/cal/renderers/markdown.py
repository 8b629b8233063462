# SPDX-License-Identifier: Apache-2.0
"""Markdown: one list item a grain, what is said about it in italics behind."""

from __future__ import annotations

from deja_tui.cal import fields
from deja_tui.cal.renderers.page import Page, content, readable, safe, shown_context
from deja_tui.cal.rows import Row
from deja_tui.cal.times import date

_BOOKKEEPING = frozenset(
    [
        "type",
        "namespace",
        "created_at",
        "confidence",
        "superseded_by",
        "derived_from",
        "add_reason",
        "supersede_reason",
        "structural_tags",
        "importance",
        "source_type",
        "provenance_chain",
        "context",
    ]
)


def line(row: Row, page: Page) -> str:
    """The list item of one grain."""
    return f"- {_said(row, page)}{_note(row)}"


def _said(row: Row, page: Page) -> str:
    told = row.fields
    subject, relation = told.get("subject"), told.get("relation")
    if row.grain_type == "extracted":
        return content(row, page)
    if row.grain_type == "fact" and all(
        isinstance(told.get(part), str) for part in ("subject", "relation", "object")
    ):
        return f"**{safe(subject)}** {readable(relation)} {safe(told['object'])}"
    if row.grain_type == "tool":
        return _tool(row, page)
    if row.grain_type == "skill" and told.get("name"):
        return _skill(row)
    text = _text(row, page)
    if text and isinstance(relation, str) and row.grain_type != "fact":
        return f"**{readable(relation)}**: {text}"
    text += _state(row)
    if isinstance(subject, str) and subject:
        return f"**{safe(subject)}**: {text}" if text else f"**{safe(subject)}**"
    return text or _pairs(row)


def _text(row: Row, page: Page) -> str:
    """The content without the subject that the line names anyway."""
    if row.grain_type == "observation":
        said = fields.content(row)
        return "" if said is None else safe(said)
    if row.grain_type == "state":
        plan, context = content(row, page), shown_context(row.fields.get("context"))
        return f"{plan} ({context})" if plan and context else plan or context
    return content(row, page)


def _tool(row: Row, page: Page) -> str:
    name = safe(row.fields.get("tool_name") or row.fields.get("name") or "tool")
    verb = {"fail": "failed", "pending": "started"}.get(fields.phase(row) or "", "returned")
    said = content(row, page)
    return f"**{name}** {verb}: {said}" if said else f"**{name}** {verb}"


def _skill(row: Row) -> str:
    told = row.fields
    facts = []
    if isinstance(told.get("proficiency"), (int, float)):
        facts.append(f"proficiency {told['proficiency']:.2f}")
    if isinstance(told.get("practice_count"), int):
        facts.append(f"practised {told['practice_count']}×")
    described = f" — {safe(told['description'])}" if told.get("description") else ""
    noted = f" ({', '.join(facts)})" if facts else ""
    return f"**{safe(told['name'])}**{described}{noted}"


def _state(row: Row) -> str:
    """How far a goal is."""
    if row.grain_type != "goal" or not row.fields.get("goal_state"):
        return ""
    told = safe(row.fields["goal_state"])
    progress = row.fields.get("progress")
    return f" ({told}, {round(progress * 100)}% done)" if isinstance(progress, (int, float)) else f" ({told})"


def _pairs(row: Row) -> str:
    told = sorted((name, value) for name, value in row.fields.items() if name not in _BOOKKEEPING)
    return ", ".join(f"{safe(name)}: {safe(value)}" for name, value in told) or row.grain_type


def _note(row: Row) -> str:
    told = []
    confidence, at = row.fields.get("confidence"), row.fields.get("created_at")
    if isinstance(confidence, (int, float)) and confidence < 1:
        told.append(f"{confidence:.2f}")
    if isinstance(at, int):
        told.append(date(at))
    if "superseded_by" in row.fields:
        told.append("superseded")
    return f" *({', '.join(told)})*" if told else ""


def render(page: Page) -> str:
    """One line a grain and a final line break; nothing for no rows."""
    return "".join(line(row, page) + "\n" for row in page.rows)
