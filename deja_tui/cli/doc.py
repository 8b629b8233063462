# SPDX-License-Identifier: Apache-2.0
"""``deja doc …``: text files in a memory; each keeps every version (D40)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from deja_tui.cli import output
from deja_tui.cli.app import LazyGroup
from deja_tui.cli.options import open_memory, with_because, with_db, with_format
from deja_tui.errors import DejaError
from deja_tui.present.words import plural
from deja_tui.text import clean, clean_lines, utc

_MODULE: Final = "deja_tui.cli.doc"
_VERBS: Final[dict[str, tuple[str, str, str]]] = {
    "list": (_MODULE, "list_", "List documents."),
    "view": (_MODULE, "view", "Print a document, or an earlier version of it."),
    "create": (_MODULE, "create", "Write a document from a file or from standard input."),
    "replace": (_MODULE, "replace", "Replace a text that stands exactly once."),
    "insert": (_MODULE, "insert", "Insert lines after a line."),
    "rename": (_MODULE, "rename", "Move a document to another path."),
    "history": (_MODULE, "history", "List the versions of a document."),
    "merge": (_MODULE, "merge", "Make one version of several current ones."),
    "restore": (_MODULE, "restore", "Make an earlier version the current one."),
    "delete": (_MODULE, "delete", "Erase a document with all its versions."),
}
_WHOLE: Final = 16 * 1024 * 1024


@click.group(cls=LazyGroup, verbs=_VERBS, no_args_is_help=True)
def doc() -> None:
    """Text files in a memory, below /memories/. Every change is a new version; any version can come back.

    Example: deja doc create /memories/notes.md notes.md
    """


@click.command("list")
@click.argument("folder", default="/memories")
@with_db
@with_format
def list_(folder: str, db: Path | None, namespace: str, actor: str, as_json: bool) -> None:
    """List the documents below FOLDER.

    Example: deja doc list
    """
    with open_memory(db, namespace=namespace, actor=actor, read_only=True) as memory:
        found = memory.docs.list(folder)
    if as_json:
        output.as_json({"documents": [_shape(one, text=False) for one in found]})
    else:
        output.lines([_line(one) for one in found] or ["No documents."])


@click.command()
@click.argument("path")
@click.option("--version", metavar="ADDRESS", help="An earlier version, from deja doc history.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the text to a file, as it is."
)
@click.option("-n", "--numbers", is_flag=True, help="Number the lines.")
@with_db
@with_format
def view(
    path: str,
    version: str | None,
    out: Path | None,
    numbers: bool,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Print a document. What could act on a terminal is shown as an escape; --out writes the bytes.

    Example: deja doc view /memories/notes.md
    """
    with open_memory(db, namespace=namespace, actor=actor, read_only=True) as memory:
        one = memory.docs.view(path, version=version)
    _tell_of_others(one)
    if out is not None:
        output.file(out, one.text.encode())
    elif as_json:
        output.as_json(_shape(one))
    else:
        text = one.text[:-1] if one.text.endswith("\n") else one.text
        shown = clean_lines(text, limit=_WHOLE) if one.text else []
        output.lines(f"{number:4d}: {line}" if numbers else line for number, line in enumerate(shown, 1))


@click.command()
@click.argument("path")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@click.option("--overwrite", is_flag=True, help="Write a new version of a document that is there.")
@with_db
@with_format
def create(
    path: str, file: Path, overwrite: bool, db: Path | None, namespace: str, actor: str, as_json: bool
) -> None:
    """Write the document PATH from FILE, or from standard input.

    Example: echo 'be brief' | deja doc create /memories/style.md
    """
    text = _read(file)
    with open_memory(db, namespace=namespace, actor=actor, create=True) as memory:
        _written(memory.docs.create(path, text, overwrite=overwrite), as_json)


@click.command()
@click.argument("path")
@click.argument("old")
@click.argument("new")
@click.option("--base", metavar="ADDRESS", help="The version you read; a newer one is refused.")
@with_db
@with_format
def replace(
    path: str,
    old: str,
    new: str,
    base: str | None,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Replace OLD, which stands exactly once, by NEW.

    Example: deja doc replace /memories/style.md brief short
    """
    with open_memory(db, namespace=namespace, actor=actor) as memory:
        _written(memory.docs.replace(path, old, new, base=base), as_json)


@click.command()
@click.argument("path")
@click.argument("line", type=click.IntRange(min=0))
@click.argument("text")
@click.option("--base", metavar="ADDRESS", help="The version you read; a newer one is refused.")
@with_db
@with_format
def insert(
    path: str,
    line: int,
    text: str,
    base: str | None,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Insert TEXT after line LINE; 0 is the beginning.

    Example: deja doc insert /memories/style.md 1 'and kind'
    """
    with open_memory(db, namespace=namespace, actor=actor) as memory:
        _written(memory.docs.insert(path, line, text, base=base), as_json)


@click.command()
@click.argument("path")
@click.argument("new_path")
@with_db
@with_format
def rename(path: str, new_path: str, db: Path | None, namespace: str, actor: str, as_json: bool) -> None:
    """Move a document to NEW_PATH, which must be free. Its history goes with it.

    Example: deja doc rename /memories/style.md /memories/tone.md
    """
    with open_memory(db, namespace=namespace, actor=actor) as memory:
        _written(memory.docs.rename(path, new_path), as_json)


@click.command()
@click.argument("path")
@with_db
@with_format
def history(path: str, db: Path | None, namespace: str, actor: str, as_json: bool) -> None:
    """List the versions of a document, newest first.

    Example: deja doc history /memories/style.md
    """
    with open_memory(db, namespace=namespace, actor=actor, read_only=True) as memory:
        found = memory.docs.history(path)
    if as_json:
        output.as_json({"versions": [_shape(one, text=False) for one in found]})
    else:
        output.lines(_line(one) for one in found)


@click.command()
@click.argument("path")
@click.option(
    "--keep", metavar="ADDRESS", help="The version whose text to take; the one that is read otherwise."
)
@click.option(
    "--text", "file", type=click.Path(path_type=Path, allow_dash=True), help="A file with the merged text."
)
@with_because
@with_db
@with_format
def merge(
    path: str,
    keep: str | None,
    file: Path | None,
    because: str,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Make one version of those that copies of the memory wrote side by side; see deja doc history.

    Example: deja doc merge /memories/style.md --keep 3c262f04 --because 'the newer wording'
    """
    if keep is not None and file is not None:
        raise click.UsageError("--keep and --text exclude each other")
    text = None if file is None else _read(file)
    with open_memory(db, namespace=namespace, actor=actor) as memory:
        if keep is not None:
            text = memory.docs.view(path, version=keep).text
        _written(memory.docs.merge(path, text, reason=because), as_json)


@click.command()
@click.argument("path")
@click.argument("version")
@with_db
@with_format
def restore(path: str, version: str, db: Path | None, namespace: str, actor: str, as_json: bool) -> None:
    """Make VERSION, an address from deja doc history, the current one again.

    Example: deja doc restore /memories/style.md 3c262f04
    """
    with open_memory(db, namespace=namespace, actor=actor) as memory:
        _written(memory.docs.restore(path, version), as_json)


@click.command()
@click.argument("path")
@click.option("--allow-destructive", is_flag=True, help="There is no undo, and I know.")
@with_because
@with_db
@with_format
def delete(
    path: str,
    allow_destructive: bool,
    because: str,
    db: Path | None,
    namespace: str,
    actor: str,
    as_json: bool,
) -> None:
    """Erase a document with all its versions. There is no undo.

    Example: deja doc delete /memories/style.md --because 'not ours' --allow-destructive
    """
    if not allow_destructive:
        raise DejaError(
            "LOP-E023", "an erasure needs the flag --allow-destructive", "look first: deja doc view"
        )
    with open_memory(db, namespace=namespace, actor=actor) as memory:
        done = memory.docs.delete(path, because=because)
    if as_json:
        output.as_json(
            {"audit": done.audit, "erased": list(done.addresses), "unreached": list(done.unreached)}
        )
    else:
        output.lines([f"erased {plural(len(done.addresses), 'version')}; audit {done.audit}"])


def _read(file: Path) -> str:
    """The text of a file or of standard input; bytes that are no UTF-8 become U+FFFD."""
    if str(file) == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except OSError as fault:
        raise DejaError("IMP-E001", f"the file cannot be read ({fault.strerror or 'refused'})") from fault


def _written(one: Any, as_json: bool) -> None:
    _tell_of_others(one)
    if as_json:
        output.as_json(_shape(one, text=False))
    else:
        output.lines([_line(one)])


def _tell_of_others(one: Any) -> None:
    if one.others:
        told = ", ".join(address[:12] for address in one.others)
        sys.stderr.write(f"note: another copy wrote a current version, too: {told}; see deja doc merge\n")


def _line(one: Any) -> str:
    mark = ("" if not one.others else f"  (one of {1 + len(one.others)})") if one.live else "  (earlier)"
    return f"{one.address[:12]}  {utc(one.created_at)}  {clean(one.path)}{mark}"


def _shape(one: Any, *, text: bool = True) -> dict[str, Any]:
    told = {
        "path": one.path,
        "address": one.address,
        "created_at": one.created_at,
        "live": one.live,
        "characters": len(one.text),
        "others": list(one.others),
    }
    return {**told, "text": one.text} if text else told
