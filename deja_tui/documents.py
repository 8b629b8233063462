# SPDX-License-Identifier: Apache-2.0
"""Documents (D40): one text file is one supersession chain of facts, so each version stays and any one can come back.

The fact of a version: subject the path, relation ``memory_file``, object ``v:`` and 12 hex digits of the SHA-256 of the
text, the text itself in ``context.content``, its start in ``embedding_text`` so that search finds it, source_type
``agent``, confidence 1.

* DOC-1  A path begins with ``/memories/`` and names a file below it; no part of it is empty, ``.`` or ``..``.
* DOC-2  A change is one act: it reads the newest version and supersedes exactly that one.
* DOC-3  Text is kept in NFC; a lone surrogate or a NUL becomes U+FFFD. Line ends are kept as they are.
* DOC-4  Renaming supersedes: the document is found under the new path only, its history goes on.
* DOC-5  Deleting erases every version, is audited, and needs admin and a reason.
* DOC-6  Two copies of a memory may each write a newest version. Both stay: the greater one (D3) is read, the other is told
  beside it, both histories are listed, and `Documents.merge` makes one of them. An edit changes the one that is read.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from deja_tui.adapter import build
from deja_tui.engine import lifecycle
from deja_tui.engine.actors import Caller
from deja_tui.engine.doc_edits import version_fields
from deja_tui.engine.substrate import NewGrain
from deja_tui.erasure import Erased, Eraser
from deja_tui.errors import DejaError, ValidationError
from deja_tui.store.grains import StoredGrain
from deja_tui.store.memory import Store
from deja_tui.text import door

ROOT: Final = "/memories"
RELATION: Final = "memory_file"
_PATH_CHARS: Final = 1_024
_EVERY: Final = 2**31


@dataclass(frozen=True, slots=True)
class Document:
    """One version of a document.

    Attributes:
        path: below ``/memories/``.
        text: the whole text, raw: clean it before showing it.
        address: of the fact that holds this version. created_at: epoch ms.
        live: it is a current version.
        others: addresses of further current versions, which another copy of the memory wrote (DOC-6).
    """

    path: str
    text: str
    address: str
    created_at: int
    live: bool
    others: tuple[str, ...] = ()


class Host(Protocol):
    """What documents need of a memory."""

    store: Store
    namespace: str
    who: Caller
    clock: Callable[[], int]
    eraser: Eraser


class Documents:
    """The documents in the namespace of one memory; ``Memory.docs``.

    Reading needs the right read, changing write, deleting admin. Every change returns the new version. All raise
    VAL-E001 (a malformed path), MEM-E001 (no such document) and what `Memory.add` raises.
    """

    def __init__(self, memory: Host) -> None:
        self._memory = memory

    def list(self, folder: str = ROOT) -> tuple[Document, ...]:
        """The current version of every document below ``folder``, by path."""
        self._memory.who.need("read")
        start = folder.rstrip("/") + "/"
        if start != ROOT + "/":
            _check(folder.rstrip("/"))
        found: dict[str, list[StoredGrain]] = {}
        here = self._memory.namespace
        for grain in self._memory.store.recall(namespace=here, relation=RELATION, type="fact", k=_EVERY):
            if str(grain.get("subject")).startswith(start):
                found.setdefault(str(grain.get("subject")), []).append(
                    grain
                )  # newest first, as recall gives them
        return tuple(_current(found[path]) for path in sorted(found))

    def view(self, path: str, *, version: str | None = None) -> Document:
        """The current version, or that of ``version``: the address, or a unique start of it, from `history`."""
        self._memory.who.need("read")
        if version is None:
            return _current(self._heads(path))
        return self._version(path, version)

    def history(self, path: str) -> tuple[Document, ...]:
        """Every version, newest first, also those under an earlier path (DOC-4) and those of another copy (DOC-6)."""
        self._memory.who.need("read")
        heads = [head.address for head in self._heads(path)]
        return tuple(_document(grain, heads) for grain in self._versions(path))

    def create(self, path: str, text: str, *, overwrite: bool = False) -> Document:
        """Write a new document. One that is there is refused with MEM-E002, or superseded with ``overwrite``."""
        self._memory.who.need("write")
        _check(path)
        with self._memory.store.act():
            head = self._find(path)
            if head is not None and not overwrite:
                raise DejaError(
                    "MEM-E002", "there is a document of that name", "overwrite it, or name another path"
                )
            return self._write(path, text, head)

    def replace(self, path: str, old: str, new: str, *, base: str | None = None) -> Document:
        """Replace ``old``, which stands exactly once in the text, by ``new``.

        Args:
            base: the address of the version the caller read; another head is refused with MEM-E002.
        """

        def change(text: str) -> str:
            wanted = door(old)
            count = text.count(wanted) if wanted else 0
            if count != 1:
                told = "nowhere" if not count else f"{count} times"
                raise ValidationError(
                    "VAL-E001", f"the text to replace stands {told} in the document, not once"
                )
            return text.replace(wanted, new)

        return self._change(path, change, base)

    def write(self, path: str, text: str, *, base: str | None = None) -> Document:
        """Put ``text`` in the place of the whole text; ``base`` as in `replace`. The same text is no new version."""

        def change(before: str) -> str:
            return text

        if door(text) == self.view(path).text:
            self._memory.who.need("write")
            return self.view(path)
        return self._change(path, change, base)

    def insert(self, path: str, line: int, text: str, *, base: str | None = None) -> Document:
        """Insert ``text`` as lines of its own after line ``line``; 0 is the beginning, too large a number the end."""
        if isinstance(line, bool) or not isinstance(line, int) or line < 0:
            raise ValidationError("VAL-E001", "a line is a whole number from 0")

        def change(body: str) -> str:
            lines = _lines(body)
            before, after = lines[:line], lines[line:]
            if before and not before[-1].endswith(("\n", "\r")):
                before[-1] += "\n"
            ended = text.endswith("\n") or not (after or body.endswith("\n"))
            return "".join((*before, text, *(() if ended else ("\n",)), *after))

        return self._change(path, change, base)

    def merge(self, path: str, text: str | None = None, *, reason: str) -> Document:
        """Make one version of several current ones (DOC-6): a new one that takes the place of all of them.

        ``text``: of the new version; None: that of the version `view` gives. ``reason`` is kept in it. Raises VAL-E001
        when there is only one.
        """
        self._memory.who.need("write")
        told = lifecycle.check_reason(reason)
        with self._memory.store.act() as act:
            heads = self._heads(path)
            if len(heads) < 2:
                raise ValidationError("VAL-E001", "the document has one current version only")
            tips = [head.address for head in heads]
            body = _document(heads[0]).text if text is None else text
            new = self._version_of(
                path, body, heads[0], context={"merge_parents": tips}, merge_reason=told, derived_from=tips[0]
            )
            return self._stored(act.merge(tips, build(new)).address)

    def restore(self, path: str, version: str) -> Document:
        """Make an earlier version the current one again, as a new version with its text."""
        self._memory.who.need("write")
        with self._memory.store.act():
            text = self._version(path, version).text
            return self._write(path, text, self._head(path))

    def rename(self, path: str, new_path: str) -> Document:
        """Move a document to a path that is free. Raises MEM-E002 when it is taken."""
        self._memory.who.need("write")
        _check(new_path)
        with self._memory.store.act():
            head, *others = self._heads(path)
            if others:
                raise DejaError(
                    "MEM-E002",
                    "the document has several current versions",
                    "merge them first: deja doc merge",
                )
            if self._find(new_path) is not None:
                raise DejaError("MEM-E002", "there is a document of that name", "name another path")
            return self._write(new_path, _document(head).text, head)

    def delete(self, path: str, *, because: str) -> Erased:
        """Erase every version, in one act (DOC-5). There is no undo. Raises LOP-E011, LOP-E022."""
        _check(path)
        reference = hashlib.sha256(path.encode()).hexdigest()[:16]

        def versions() -> Sequence[str]:
            return [grain.address for grain in self._versions(path)]

        return self._memory.eraser.forget_versions(versions, because, f"doc:{reference}")

    # --- parts ---

    def _change(self, path: str, change: Callable[[str], str], base: str | None) -> Document:
        self._memory.who.need("write")
        with self._memory.store.act():
            head = self._head(path)
            if base is not None and head.address != self._memory.store.resolve(base):
                raise DejaError(
                    "MEM-E002", "the document was changed since", "look at the newer version first"
                )
            return self._write(path, change(_document(head).text), head)

    def _write(self, path: str, text: str, head: StoredGrain | None) -> Document:
        """One version; inside an act."""
        with self._memory.store.act() as act:
            grain = build(self._version_of(path, text, head))
            added = act.add(grain) if head is None else act.supersede(head.address, grain)
        return self._stored(added.address)

    def _version_of(
        self,
        path: str,
        text: str,
        head: StoredGrain | None,
        context: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> NewGrain:
        if not isinstance(text, str):
            raise ValidationError("VAL-E001", "the text of a document is text")
        memory, body = self._memory, door(text)
        at = memory.clock()
        if head is not None:  # a clock that stands still, or goes back, still gives versions in their order
            at = max(at, head.created_at + 1)
        fields = version_fields(path, body)
        fields["context"].update(context or {})
        fields.update(more)
        return NewGrain("fact", memory.namespace, at, fields)

    def _stored(self, address: str) -> Document:
        grain = self._memory.store.get(address)
        if grain is None:
            raise AssertionError("a store returns what it has just written")
        heads = self._memory.store.heads(self._memory.namespace, str(grain.get("subject")), RELATION)
        return _document(grain, [head.address for head in heads])

    def _find(self, path: str) -> StoredGrain | None:
        return self._memory.store.latest(self._memory.namespace, path, RELATION)

    def _head(self, path: str) -> StoredGrain:
        return self._heads(path)[0]

    def _heads(self, path: str) -> Sequence[StoredGrain]:
        """The current versions, the one that is read first; there is one, unless copies met (DOC-6)."""
        _check(path)
        heads = self._memory.store.heads(self._memory.namespace, path, RELATION)
        if not heads:
            raise DejaError("MEM-E001", "there is no such document", "deja doc list")
        return heads

    def _versions(self, path: str) -> Sequence[StoredGrain]:
        heads = self._heads(path)
        if len(heads) == 1:
            return self._memory.store.history(heads[0].address, _EVERY)
        every = {
            grain.address: grain
            for head in heads
            for grain in self._memory.store.history(head.address, _EVERY)
        }
        return sorted(every.values(), key=_order, reverse=True)

    def _version(self, path: str, version: str) -> Document:
        heads = [head.address for head in self._heads(path)]
        matches = [
            one
            for one in (_document(grain, heads) for grain in self._versions(path))
            if version and one.address.startswith(version.lower())
        ]
        if len(matches) != 1:
            told = "no version" if not matches else "several versions"
            raise DejaError(
                "MEM-E001" if not matches else "MEM-E004",
                f"{told} of the document has that address",
                "deja doc history",
            )
        return matches[0]


def _check(path: str) -> None:
    """Raise VAL-E001 unless ``path`` names a file below ``/memories`` (DOC-1)."""
    parts = path.split("/") if isinstance(path, str) else []
    sound = (
        len(parts) >= 3
        and parts[:2] == ["", ROOT[1:]]
        and all(part not in ("", ".", "..") for part in parts[2:])
        and len(path) <= _PATH_CHARS
        and path.isprintable()
        and door(path) == path
    )
    if not sound:
        raise ValidationError(
            "VAL-E001",
            f"a document's path is {ROOT}/ and a name, with neither empty parts nor . or ..",
            f"for example {ROOT}/notes.md",
        )


def _order(grain: StoredGrain) -> tuple[int, int, str]:
    return grain.created_at, grain.hlc, grain.address


def _current(heads: Sequence[StoredGrain]) -> Document:
    """The first of the current versions, told of the others."""
    return _document(heads[0], [head.address for head in heads])


def _document(grain: StoredGrain, heads: Sequence[str] = ()) -> Document:
    """One version; ``heads`` are the current ones, of which a current version is told the others."""
    context = grain.get("context")
    content = context.get("content") if isinstance(context, Mapping) else None
    return Document(
        str(grain.get("subject")),
        content if isinstance(content, str) else "",
        grain.address,
        grain.created_at,
        grain.live,
        tuple(head for head in heads if head != grain.address) if grain.live else (),
    )


def numbered(text: str) -> Iterator[str]:
    """Lines with their number, as an editing agent is shown them: ``   1: text``."""
    for number, line in enumerate(_lines(text), 1):
        bare = line.rstrip("\r\n")
        yield f"{number:4d}: {bare}"


def _lines(text: str) -> list[str]:
    """Lines with their ends; only LF, CR LF and CR end a line."""
    return io.StringIO(text, newline="").readlines()
