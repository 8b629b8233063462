# SPDX-License-Identifier: Apache-2.0
"""The template language: text with ``{{…}}``, parsed once, rendered for a grain or for a whole page.

* TPL-1  Names of variables and filters are a closed set; a template that passes here never fails while it renders.
* TPL-2  Blocks nest at most 5 deep and ``each`` not at all, so the work is bounded by rows times the template.
* TPL-3  A value is one harmless line (`page.safe`): stored text cannot end the line it stands in. The filter ``escape``
  makes it fit for an element; the built-in templates use it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from deja_tui.cal.fields import ANY_TYPE
from deja_tui.cal.renderers.page import safe
from deja_tui.cal.renderers.sml import quoted
from deja_tui.cal.times import parts, relative
from deja_tui.store.names import SHORT
from deja_tui.text import compact_json

MAX_BYTES: Final = 4_096
MAX_NESTING: Final = 5
MAX_ROUNDS: Final = 200


class TemplateFault(Exception):
    """What is wrong with a template: a code of the language and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


# --- tree -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filter:
    name: str
    argument: str | None


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """``kind`` is if, section, inverted, each or type; ``name`` the variable or the type."""

    kind: str
    name: str
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


Node = str | Variable | Block

_TAG: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NAME: Final = r"\$?[A-Za-z_][A-Za-z0-9_.]*"
_FILTER: Final = re.compile(r"""\s*([a-z_]+)(?:\s+(?:'([^']*)'|"([^"]*)"|([0-9]+)))?\s*""")
_GROUPS: Final = {
    "grain": """content type subject relation humanized_relation object confidence importance tags created_at
        relative_time score hash is_full is_summary""",
    "assembly": "name intent source_count grain_count",
    "budget": "total used remaining unit utilization",
    "source": "label index priority grain_count tokens_used truncated",
    "disclosure": "level",
}
_PLAIN: Final = frozenset(
    ["hash", "grain_type", "score", "timestamp", "_index", "_count", "_first", "_last", "_now"]
)
_DOTTED: Final = frozenset(f"{group}.{name}" for group, names in _GROUPS.items() for name in names.split())
_FIELDS: Final = frozenset(SHORT) | frozenset(ANY_TYPE)


def known(name: str) -> bool:
    """Whether a template may name this variable."""
    return name.startswith("$") or name in _PLAIN or name in _DOTTED or name in _FIELDS


def parse(text: str) -> tuple[Node, ...]:
    """The tree of a template. Raises TemplateFault CAL-E040 to E043, E049, E117."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise TemplateFault("CAL-E040", f"the template is longer than {MAX_BYTES:,} bytes")
    return _Parser(text).parse()


class _Parser:
    """Reads tags from left to right, with a stack of the blocks that are open."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._stack: list[tuple[str, str, list[Node], list[Node] | None]] = [("", "", [], None)]

    def parse(self) -> tuple[Node, ...]:
        position = 0
        for found in _TAG.finditer(self._text):
            self._literal(self._text[position : found.start()])
            self._tag(found.group(1).strip())
            position = found.end()
        self._literal(self._text[position:])
        if len(self._stack) > 1:
            raise TemplateFault("CAL-E049", f"a block {self._stack[-1][0]} is not closed")
        return tuple(self._stack[0][2])

    def _literal(self, text: str) -> None:
        if "{{" in text:
            raise TemplateFault("CAL-E049", "a {{ is not closed")
        if text:
            self._here().append(text)

    def _here(self) -> list[Node]:
        _, _, body, otherwise = self._stack[-1]
        return body if otherwise is None else otherwise

    def _tag(self, tag: str) -> None:
        if tag.startswith("!"):
            return
        if tag.startswith("#"):
            self._open(tag[1:].strip())
        elif tag.startswith("^"):
            self._push("inverted", self._variable(tag[1:].strip()))
        elif tag.startswith("/"):
            self._close(tag[1:].strip())
        elif tag == "else":
            self._else()
        else:
            name, *filters = tag.split("|")
            self._here().append(Variable(self._variable(name.strip()), tuple(map(_filter, filters))))

    def _variable(self, name: str) -> str:
        if not re.fullmatch(_NAME, name):
            raise TemplateFault("CAL-E049", "a tag holds no variable")
        if not known(name):
            raise TemplateFault("CAL-E042", f"there is no variable {name[:32]}")
        return name

    def _open(self, tag: str) -> None:
        word, _, rest = tag.partition(" ")
        if word == "if":
            self._push("if", self._variable(rest.strip()))
        elif word == "each":
            if rest.strip() != "grains":
                raise TemplateFault("CAL-E049", "each goes over grains")
            if any(kind == "each" for kind, *_ in self._stack):
                raise TemplateFault("CAL-E041", "each stands inside each")
            self._push("each", "grains")
        elif word == "grain_type":
            self._push("type", rest.strip().strip("\"'"))
        else:
            self._push("section", self._variable(tag))

    def _push(self, kind: str, name: str) -> None:
        if len(self._stack) > MAX_NESTING:
            raise TemplateFault("CAL-E117", f"blocks are nested deeper than {MAX_NESTING}")
        self._stack.append((kind, name, [], None))

    def _else(self) -> None:
        kind, name, body, otherwise = self._stack[-1]
        if kind != "if" or otherwise is not None:
            raise TemplateFault("CAL-E049", "else stands outside if")
        self._stack[-1] = (kind, name, body, [])

    def _close(self, word: str) -> None:
        kind, name, body, otherwise = self._stack[-1]
        closes = {"if": "if", "each": "each", "type": "grain_type"}.get(kind, name)
        if len(self._stack) == 1 or word != closes:
            raise TemplateFault("CAL-E049", f"{{{{/{word[:32]}}}}} closes nothing")
        self._stack.pop()
        self._here().append(Block(kind, name, tuple(body), tuple(otherwise or ())))


def _filter(text: str) -> Filter:
    found = _FILTER.fullmatch(text)
    if not found:
        raise TemplateFault("CAL-E049", "a filter is a name and at most one argument")
    if found[1] not in _FILTERS:
        raise TemplateFault("CAL-E043", f"there is no filter {found[1][:32]}")
    argument = next((group for group in found.groups()[1:] if group is not None), None)
    if found[1] == "truncate" and not (argument or "").isdigit():
        raise TemplateFault("CAL-E049", "truncate needs a number")
    return Filter(found[1], argument)


def has_each(nodes: tuple[Node, ...]) -> bool:
    """Whether a template goes over the grains by itself, so that it is the whole output."""
    return any(
        isinstance(node, Block) and (node.kind == "each" or has_each(node.body) or has_each(node.otherwise))
        for node in nodes
    )


# --- rendering --------------------------------------------------------------------------------------

Values = Callable[[str], Any]
"""The value of a variable; None when it is unset."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a template is rendered with.

    Attributes:
        values: the variables here.
        rows: the scopes of ``each``, at most `MAX_ROUNDS` of them.
        now: epoch ms.
    """

    values: Values
    rows: Callable[[], Iterator[Scope]]
    now: int


def render(nodes: tuple[Node, ...], scope: Scope) -> str:
    """A template as text. Never raises on what `parse` let through."""
    return "".join(_node(node, scope) for node in nodes)


def _node(node: Node, scope: Scope) -> str:
    if isinstance(node, str):
        return node
    if isinstance(node, Variable):
        return _variable(node, scope)
    if node.kind == "each":
        return "".join(render(node.body, inner) for inner in scope.rows())
    if node.kind == "type":
        return render(node.body, scope) if scope.values("grain_type") == node.name else ""
    filled = bool(scope.values(node.name))
    if node.kind == "inverted":
        return "" if filled else render(node.body, scope)
    return render(node.body if filled else node.otherwise, scope)


def _variable(node: Variable, scope: Scope) -> str:
    value = scope.values(node.name)
    for step in node.filters:
        value = _FILTERS[step.name](value, step.argument, scope.now)
    return shown(value)


def shown(value: Any) -> str:
    """A value as text: fractions with two decimals, unset as nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return ", ".join(shown(item) for item in value)
    return safe(value)


def _truncate(value: Any, argument: str | None, now: int) -> str:
    told, most = shown(value), int(argument or 0)
    return told if len(told) <= most else told[:most] + "..."


_DATE_PARTS: Final = re.compile("%[YmdHMS]")


def _date(value: Any, argument: str | None, now: int) -> Any:
    moment = parts(value) if isinstance(value, int) and not isinstance(value, bool) else None
    if moment is None:
        return value
    return _DATE_PARTS.sub(lambda found: moment.strftime(found.group()), argument or "%Y-%m-%d")


def _relative(value: Any, argument: str | None, now: int) -> Any:
    return relative(value, now) if isinstance(value, int) and not isinstance(value, bool) else value


def _percent(value: Any, argument: str | None, now: int) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{round(value * 100)}%" if is_number else value


def _humanize(value: Any, argument: str | None, now: int) -> Any:
    return value.rsplit(":", 1)[-1].replace("_", " ") if isinstance(value, str) else value


def _default(value: Any, argument: str | None, now: int) -> Any:
    return argument if value in (None, "", []) else value


def _join(value: Any, argument: str | None, now: int) -> Any:
    return (argument or "").join(map(shown, value)) if isinstance(value, list) else value


_FILTERS: Final[Mapping[str, Callable[[Any, str | None, int], Any]]] = {
    "truncate": _truncate,
    "date": _date,
    "relative": _relative,
    "humanize": _humanize,
    "percent": _percent,
    "uppercase": lambda value, argument, now: shown(value).upper(),
    "lowercase": lambda value, argument, now: shown(value).lower(),
    "json": lambda value, argument, now: compact_json(value),
    "default": _default,
    "join": _join,
    "escape": lambda value, argument, now: quoted(shown(value)),
}
