# SPDX-License-Identifier: Apache-2.0
"""What another memory knows, as items: notes, facts, documents. Formats only parse.

Numbered rules, cited by tests:

* KNOWN-1  A free text is an Observation about its subject (so that near-equal ones are found); a triple is a Fact; a file
  is a document version (D40), found below ``/memories/``.
* KNOWN-2  A record that its source can change carries its revision and a digest of what it says (ITEM-5): a changed record
  supersedes, the nearest thing to the source's own edit history.
* KNOWN-3  A validity that ends before it begins is kept as found in the context and told, never stored as validity.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from deja_tui.capture import times
from deja_tui.capture.desk import Desk
from deja_tui.capture.tame import Shears, digest
from deja_tui.capture.times import Moment
from deja_tui.documents import RELATION, ROOT
from deja_tui.items import ItemType
from deja_tui.text import clean

_SUBJECT_MAX: Final = 500
_TAGS_MAX: Final = 32
_INDEXED: Final = 8_192
DOCUMENT_MAX: Final = 15 * 1024 * 1024
"""Bytes of a document that is kept whole (D40): a grain holds 16 MiB."""


class Known(Desk):
    """Builds the items of one file or folder of a memory product."""

    def note(
        self,
        subject: str,
        text: str,
        *,
        at: Moment,
        record: str = "",
        revision: int = 0,
        scope: str = "",
        tags: Sequence[Any] = (),
        **marks: Any,
    ) -> bool:
        """An Observation: ``text`` about ``subject``; whether it says anything (KNOWN-1)."""
        shears = Shears()
        said = shears.text(self.clean(text)).strip() if isinstance(text, str) else ""
        if not said:
            return False
        fields = {
            "subject": self._subject(subject),
            "object": said,
            "observer_id": self.source,
            "observer_type": "agent",
        }
        key = self.key("note", scope, record, [subject, text])
        self._put("observation", key, record, at, fields, shears, revision, tags, marks)
        return True

    def fact(
        self,
        subject: str,
        relation: str,
        value: str,
        *,
        at: Moment,
        record: str = "",
        revision: int = 0,
        scope: str = "",
        valid_from: Any = None,
        valid_to: Any = None,
        tags: Sequence[Any] = (),
        line: int = 0,
        **marks: Any,
    ) -> bool:
        """A Fact; whether all three parts say anything."""
        shears = Shears()
        parts = [self._subject(subject), self._subject(relation), shears.text(self.clean(value)).strip()]
        if not all(parts):
            return False
        fields: dict[str, Any] = dict(zip(("subject", "relation", "object"), parts, strict=True))
        fields |= self._validity(valid_from, valid_to, marks, line)
        key = self.key("fact", scope, record, [subject, relation, value])
        self._put("fact", key, record, at, fields, shears, revision, tags, marks)
        return True

    def document(
        self, path: str, text: str, *, at: Moment, record: str, revision: int = 0, **marks: Any
    ) -> None:
        """A document version below ``/memories/`` (D40), whole: a document is not cut."""
        body = self._fitting(self.clean(text), path)
        where = ROOT + "/" + "/".join(part for part in (self._part(one) for one in path.split("/")) if part)
        hashed = hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        fields: dict[str, Any] = {
            "subject": where,
            "relation": RELATION,
            "object": f"v:{hashed}",
            "confidence": 1.0,
        }
        if body:
            fields["embedding_text"] = body[:_INDEXED]
        key = self.key("document", "", record, path)
        self._put("fact", key, record, at, fields, Shears(), revision, (), marks, body)

    def _fitting(self, body: str, path: str) -> str:
        """As much of a document as a grain holds; what does not fit is told."""
        raw = body.encode("utf-8", "surrogatepass") if len(body) > DOCUMENT_MAX // 4 else b""
        if len(raw) <= DOCUMENT_MAX:
            return body
        told = f"{clean(path)}: longer than {DOCUMENT_MAX // 2**20} MiB, only its beginning is kept"
        self.report.lose(0, told)
        return raw[:DOCUMENT_MAX].decode("utf-8", "ignore")

    def _put(
        self,
        kind: ItemType,
        key: str,
        record: str,
        at: Moment,
        fields: Mapping[str, Any],
        shears: Shears,
        revision: int,
        tags: Sequence[Any],
        marks: Mapping[str, Any],
        content: str | None = None,
    ) -> None:
        told = [word for tag in list(tags)[:_TAGS_MAX] if (word := self.word(tag))]
        kept = {
            name: shears.value(self.clean(value))
            for name, value in marks.items()
            if value not in (None, "", [], {})
        }
        versions = {"revision": revision, "said": digest([*fields.values(), told, kept, content])}
        whole = dict(fields) | ({"structural_tags": told} if told else {})
        extra = kept | versions | ({} if content is None else {"content": content})
        self.grain(kind, key, self.place("", record, at), whole, shears, extra)

    def _subject(self, text: Any) -> str:
        return str(self.clean(text)).strip()[:_SUBJECT_MAX] if isinstance(text, str) else ""

    def _part(self, text: str) -> str:
        part = str(self.clean(text)).strip().replace("\x00", "")
        return "" if part in (".", "..") else part[:200]

    def _validity(self, start: Any, end: Any, marks: dict[str, Any], line: int) -> dict[str, int]:
        since, until = times.parse(start), times.parse(end)
        if since is not None and until is not None and until < since:
            self.report.note(
                line, "a validity that ends before it begins: kept beside the fact, not as validity"
            )
            marks["validity_found"] = {"from": str(start), "to": str(end)}
            return {}
        found = {"valid_from": since, "valid_to": until}
        return {name: at for name, at in found.items() if at is not None and at > 0}
