# SPDX-License-Identifier: Apache-2.0
"""Analyzers that a program links in: `Memory.open(analyzers=[…])` (D29). Code of the host, of the same class as built in.

What is listed, validated and documented about an analyzer comes from its manifest, so that is what is checked here.
They come from the program that opens the memory and from nowhere else: no file, setting or entry point names one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from deja_tui.engine import templates
from deja_tui.engine.analyzer import Analyzer, Manifest
from deja_tui.engine.faults import LoopError
from deja_tui.engine.identity import TARGET_CLASSES

NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}(\.[a-z0-9_-]{1,40}){0,3}(/[0-9]{1,4})?")
_OWN: Final = ("loop.", "draft.", "llm.", "engine.", "policy.")


def checked_id(name: str, taken: Iterable[str]) -> str:
    """``name`` with its major version. Raises LOP-E036 for one that is malformed, the engine's own or taken."""
    if not NAME.fullmatch(name):
        raise LoopError(
            "LOP-E036", "an analyzer is named publisher.name/major in small letters", "acme.lint/1"
        )
    full = name if "/" in name else f"{name}/1"
    family = full.rsplit("/", 1)[0]
    if f"{family}.".startswith(_OWN) or family in {other.rsplit("/", 1)[0] for other in taken}:
        raise LoopError("LOP-E036", "this name belongs to another analyzer", "give it another ID")
    return full


def linked(analyzers: Iterable[Analyzer]) -> tuple[Analyzer, ...]:
    """The analyzers, checked, and their templates made known to this process. Raises LOP-E036 and LOP-E031."""
    found: list[Analyzer] = []
    for analyzer in analyzers:
        manifest = getattr(analyzer, "manifest", None)
        if not isinstance(manifest, Manifest) or not all(
            callable(getattr(analyzer, name, None)) for name in ("analyze", "probe")
        ):
            raise LoopError("LOP-E036", "an analyzer has a manifest, analyze(ctx) and probe(ctx)")
        _check(manifest, [one.manifest.id for one in found])
        found.append(analyzer)
    for analyzer in found:
        templates.link(analyzer.manifest.templates)
    return tuple(found)


def _check(manifest: Manifest, taken: Iterable[str]) -> None:
    if checked_id(manifest.id, taken) != manifest.id:
        raise LoopError("LOP-E036", "the id of an analyzer ends in its major version", "acme.lint/1")
    if not all(isinstance(text, str) and text.strip() for text in (manifest.title, manifest.description)):
        raise LoopError("LOP-E036", "the manifest of an analyzer needs a title and a description")
    if not manifest.target_classes or not set(manifest.target_classes) <= set(TARGET_CLASSES.values()):
        raise LoopError("LOP-E036", "the manifest of an analyzer names target classes that do not exist")
    for param in manifest.params:
        param.check(param.default)
    if not all(name.startswith(f"{manifest.family}.") for name in manifest.templates):
        raise LoopError("LOP-E036", "the templates of an analyzer begin with its family", manifest.family)
