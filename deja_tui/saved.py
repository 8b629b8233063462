# SPDX-License-Identifier: Apache-2.0
"""Saved queries and templates of a file as texts by name: what a proposal may define and an undo brings back (D27).

* SAVED-1  what is not a reading statement, or no template, is refused with the code of the language, before it is kept.
* SAVED-2  another body keeps parameters, description and types of what is there; restoring the former body brings back
  exactly the value that was there.
* SAVED-3  the body of a template with one section is its text, of one with several the JSON map of their texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from deja_tui.store.memory import Store
from deja_tui.text import compact_json

_PREFIXES: Final = {"query": "cal.query:", "template": "cal.template:"}
_WHOLE: Final = "ELEMENT"
_NOW: Final = 0  # a body is checked, not run: relative times fit at any moment


def key(name: str, scheme: str) -> str:
    """The setting that holds it."""
    return _PREFIXES[scheme] + name


def body(value: Any, scheme: str) -> str | None:
    """The text of a stored value; None when it is none."""
    if not isinstance(value, Mapping):
        return None
    if scheme == "query":
        found = value.get("body")
        return found if isinstance(found, str) else None
    sections = value.get("sections")
    if not isinstance(sections, Mapping):
        return None
    texts = {str(word): str(text) for word, text in sections.items()}
    if set(texts) == {_WHOLE} and _sections(texts[_WHOLE]) == texts:
        return texts[_WHOLE]
    return compact_json(texts)


def with_body(store: Store, name: str, text: str, scheme: str) -> dict[str, Any]:
    """The value to be stored so that the body of ``name`` is ``text``. Raises the CAL code of what may not be saved."""
    return _query(store, name, text) if scheme == "query" else _template(store, name, text)


def _query(store: Store, name: str, text: str) -> dict[str, Any]:
    from deja_tui.cal import queries  # the language costs a hook that asks nothing its start-up
    from deja_tui.cal.faults import CalError
    from deja_tui.cal.host import Host
    from deja_tui.cal.names import is_query_name
    from deja_tui.cal.words import MAX_QUERIES

    host = Host(store=store, namespace="shared", clock=lambda: _NOW)
    if not is_query_name(name):
        raise CalError("CAL-E115", "a query name is a letter, then letters, digits, blanks, _ and -")
    if name in queries.builtin():
        raise CalError("CAL-E052", f"the query {name} is built in", "Choose another name.")
    known = queries.stored(host)
    there = known.get(name)
    if there is None and len(known) + len(queries.builtin()) >= MAX_QUERIES:
        raise CalError("CAL-E053", f"the memory holds {MAX_QUERIES} queries", "DROP one first.")
    query = replace(there, body=text) if there else queries.SavedQuery(name, (), "", text)
    queries.check(query, host, _NOW)
    return queries.plain(query)


def _template(store: Store, name: str, text: str) -> dict[str, Any]:
    from deja_tui.cal import templates  # as above
    from deja_tui.cal.faults import CalError
    from deja_tui.cal.host import Host
    from deja_tui.cal.names import is_name

    if not is_name(name):
        raise CalError("CAL-E115", "a template name is a letter, then letters, digits, blanks, _ and -")
    if name in templates.BUILTIN:
        raise CalError("CAL-E046", f"the template {name} is built in", "Choose another name.")
    known = templates.stored(Host(store=store, namespace="shared", clock=lambda: _NOW))
    there = known.get(name)
    if there is None and len(known) >= templates.MAX_TEMPLATES:
        raise CalError("CAL-E118", f"the memory holds {templates.MAX_TEMPLATES} templates", "DROP one first.")
    sections = _sections(text)
    _check_sections(sections)
    return templates.plain(replace(there, sections=sections) if there else templates.Template(name, sections))


def _check_sections(sections: Mapping[str, str]) -> None:
    from deja_tui.cal import template_text  # as above
    from deja_tui.cal.faults import CalError
    from deja_tui.cal.words import SECTIONS

    if not set(sections) <= set(SECTIONS) or not any(sections.values()):
        raise CalError("CAL-E049", "a template is a text, or texts of " + ", ".join(SECTIONS))
    for text in sections.values():
        try:
            template_text.parse(text)
        except template_text.TemplateFault as fault:
            raise CalError(fault.code, fault.message) from fault
    if (
        sum(len(text.encode("utf-8", "surrogatepass")) for text in sections.values())
        > template_text.MAX_BYTES
    ):
        raise CalError("CAL-E040", f"the template is longer than {template_text.MAX_BYTES:,} bytes")


def _sections(text: str) -> dict[str, str]:
    """A text as sections: those of a JSON map of texts, else all of it goes over each grain."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    told = isinstance(found, dict) and all(isinstance(one, str) for one in found.values())
    return dict(found) if told and found else {_WHOLE: text}
