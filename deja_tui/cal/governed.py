# SPDX-License-Identifier: Apache-2.0
"""Governance statements, handed to the host one address at a time. Nothing here decides a status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, Final

from deja_tui.cal import ast
from deja_tui.cal.classify import Access
from deja_tui.cal.conditions import Env
from deja_tui.cal.faults import warning
from deja_tui.cal.host import Governance, Host
from deja_tui.cal.results import Answer
from deja_tui.cal.writes import not_offered, reason_of
from deja_tui.text import span_ms

_KINDS: Final = {"rollback": "rec_rolled_back"}


def decide(node: ast.Decide, host: Host, env: Env) -> Answer:
    """Approve, reject, withdraw or roll back. Raises CAL-E006, E016, E018, E130, LOP-…"""
    governance = _of(host, node.verb.upper(), env, node)
    address = env.address(node.target)
    because = reason_of(node.reason, env, node)
    choice = 0 if node.choice is None else env.whole(node.choice)
    acts: dict[str, Callable[..., Any]] = {
        "approve": partial(governance.approve, choice=choice),
        "reject": governance.reject,
        "withdraw": governance.withdraw,
        "rollback": governance.rollback,
    }
    receipt = acts[node.verb](address, because=because)
    return Answer(_KINDS.get(node.verb, "reviewed"), {"verb": node.verb, "result": plain(receipt)})


def apply(node: ast.Apply, host: Host, env: Env, access: Access) -> Answer:
    """Apply an approved recommendation, or show what that would do. Raises CAL-E016, E018, E130, LOP-…"""
    governance = _of(host, "APPLY", env, node)
    address = env.address(node.target)
    if node.dry_run:
        return dry_run(address, host, env, access, node)
    if node.reason is None:
        governance.resolve(address)  # a wrong address is told before the missing reason
    because = reason_of(node.reason, env, node)
    receipt = governance.apply(address, because=because, allow_destructive=access.allow_destructive)
    return Answer("rec_applied", {"result": plain(receipt)})


def dry_run(address: str, host: Host, env: Env, access: Access, node: ast.Apply) -> Answer:
    """What an apply would do now. Writes nothing."""
    governance = _of(host, "APPLY", env, node)
    shown = governance.dry_run(address, allow_destructive=access.allow_destructive)
    plan = {
        "statement_type": "apply",
        "query_routing": "introspection",
        "index_usage": [],
        "estimated_cost": "index lookup",
        "filters": ["hash"],
        "pipeline": ["dry_run"],
        "dry_run": plain(shown),
    }
    return Answer("explain", {"plan": plan})


def run_loop(node: ast.RunLoop, host: Host, env: Env) -> Answer:
    """A run of the Deja Loop; with FULL no gate is asked and everything is looked at. Raises CAL-E002, E130, LOP-…"""
    governance = _of(host, "RUN LOOP", env, node)
    min_new: int | None = None
    stale: int | None = None
    for option in node.options:
        argument = option.arguments[0] if option.arguments else None
        if option.name == "min_new" and isinstance(argument, int):
            min_new = argument
        elif (
            option.name == "if_stale" and isinstance(argument, str) and (age := span_ms(argument)) is not None
        ):
            stale = age
        elif option.name in ("min_new", "if_stale"):
            raise env.fail("CAL-E002", f'{option.name} needs a number, or an age such as "6h"', option.span)
        else:
            env.warnings.append(warning("CAL-W004", option.name[:32]))
    outcome = governance.run(full=True) if node.full else governance.run(min_new=min_new, if_stale_ms=stale)
    return Answer("loop_ran", {"result": plain(outcome)})


def _of(host: Host, word: str, env: Env, node: ast.Statement) -> Governance:
    if host.governance is None:
        raise not_offered(word, env, node)
    return host.governance


def plain(value: Any) -> Any:
    """A host's answer as plain JSON values; the kind of an operation is kept beside its fields."""
    if is_dataclass(value) and not isinstance(value, type):
        told = {known.name: plain(getattr(value, known.name)) for known in fields(value)}
        kind = getattr(type(value), "kind", None)
        return {"op": kind, **told} if isinstance(kind, str) else told
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value
