# SPDX-License-Identifier: Apache-2.0
"""The screens and states that are kept as snapshots: how to get there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from deja_tui.engine.objects import Activation, Chain, Summary
from deja_tui.engine.outcomes import TOOL_ERRORS, Outcome, Reviewed
from deja_tui.errors import DejaError
from tests.present import build
from tests.present.standing import nothing
from tests.screens import asked, recorded, remembered
from tests.screens.fake import FakeReviews
from tests.screens.user import User, destroyer, reader
from tests.support import DAY, NOW

BAD = "\x1b[2J[@click=app.quit]x[/] \u202eevil\u2069 pay\u200bpal 日本 ok» = fact safe"
SIZES = ((80, 24), (120, 40))
SVG = (
    "queue",
    "detail",
    "walker-reason",
    "walker-receipt",
    "help",
    "queue-light",
    "queue-mono",
    "overview",
    "analyzers",
    "outcomes",
    "session",
    "setup-capture",
    "query",
    "memories",
    "grain-fork",
)


@dataclass(frozen=True)
class Case:
    """Keys to press; ``type:`` types text, ``paste:`` pastes it. ``before`` prepares the memory, ``during`` acts before the last key."""

    keys: tuple[str, ...] = ()
    before: Callable[[], FakeReviews] = FakeReviews
    options: dict[str, Any] = field(default_factory=dict)
    during: Callable[[User], Awaitable[None]] | None = None


def broken() -> FakeReviews:
    found = build.duplicates()
    first = found.chain.entries[0]
    approved = build.entry(
        first.recommendation,
        "approved",
        was="pending",
        before=build.address("gone"),
        actor="user:mallory",
        because="trust me",
    )
    chain = Chain(
        (first, approved), False, "an entry names a predecessor that is not there", approved.address
    )
    return FakeReviews([replace(found, chain=chain)])


def long_change() -> FakeReviews:
    return FakeReviews(
        [
            build.tool_failure(
                "the service answers again later " * 60,
                summary="stripe_refund: 8 of 20 calls failed the same way",
            )
        ]
    )


def mixed() -> FakeReviews:
    reviews = FakeReviews()
    reviews.elsewhere(
        "approve", build.tool_failure().recommendation.address, "seen in two sessions", actor="user:ana"
    )
    reviews.elsewhere("apply", build.tool_failure().recommendation.address, "agreed", actor="user:ana")
    reviews.elsewhere(
        "reject", build.duplicates().recommendation.address, "both are needed", actor="user:bob"
    )
    return reviews


def unreadable() -> FakeReviews:
    reviews = FakeReviews()
    reviews.faults["queue"] = DejaError(
        "STO-E004", "the file is locked by another writer", "try again in a moment"
    )
    return reviews


def bare() -> FakeReviews:
    reviews = FakeReviews([])
    reviews.standing = nothing()
    return reviews


def no_health() -> FakeReviews:
    reviews = FakeReviews()
    fault = DejaError("STO-E004", "the file is locked by another writer", "try again in a moment")
    reviews.faults["health"] = fault
    return reviews


def no_analyzers() -> FakeReviews:
    reviews = FakeReviews()
    fault = DejaError("STO-E004", "the file is locked by another writer", "try again in a moment")
    reviews.faults["analyzers"] = fault
    return reviews


def no_outcomes() -> FakeReviews:
    reviews = FakeReviews()
    reviews.faults["outcomes"] = DejaError(
        "STO-E004", "the file is locked by another writer", "try again in a moment"
    )
    return reviews


def measured(bad: str = "") -> FakeReviews:
    """One lesson applied and measured after a day and a week; one rejected."""
    reviews = mixed()
    body = build.tool_failure().recommendation
    if bad:
        told = replace(body.summary, args=dict.fromkeys(body.summary.args, bad))
        body = replace(body, analyzer=bad, summary=told)
    for days, (before, after, n) in ((1, (5, 1, 9)), (7, (8, 2, 20))):
        one = Outcome(
            body.address, TOOL_ERRORS, days * DAY, NOW - 8 * DAY, before, n, after, n, NOW - (8 - days) * DAY,
            build.address(f"outcome {days}"), 3,
        )  # fmt: skip
        reviews.measured.insert(0, Reviewed(one, "applied", body))
    return reviews


def strange(bad: str = BAD) -> FakeReviews:
    """A memory whose analyzers, policy and claims say hostile things."""
    reviews = FakeReviews()
    found = reviews.standing
    first, *rest = found.analyzers
    manifest = replace(first.manifest, id=f"{bad}/1", title=bad, description=bad)
    states = [replace(first, manifest=manifest, activation=Activation("failed", hint=bad), next=bad), *rest]
    states[1] = replace(states[1], activation=Activation("missing", 1, 2, bad, bad))
    policy = replace(found.policy, warnings=(bad,))
    reviews.standing = replace(found, analyzers=tuple(states), claims={bad: 3}, policy=policy)
    return reviews


def hostile() -> FakeReviews:
    bad = BAD
    tool = build.tool_failure(bad, "Bash\x1b[7m", summary=f"Bash: 3 of 4 calls failed the same way: {bad}")
    tool = replace(tool, evidence=tuple(build.error(number, bad + "\n" * number) for number in range(3)))
    return FakeReviews([tool, build.duplicates()])


async def faster(user: User) -> None:
    user.reviews.elsewhere(
        "reject", build.tool_failure().recommendation.address, "already fixed in the client"
    )


async def locked(user: User) -> None:
    user.reviews.faults["approve"] = DejaError(
        "STO-E004", "the file is locked by another writer", "try again in a moment"
    )


async def rests(user: User) -> None:
    user.screen.fill_up()
    await user.settle()


MEMORIES = {"grains": remembered.opened, "at": "memories"}


def on_grain(*words: str) -> dict[str, Any]:
    """At the page of the newest grain that is found by these words."""
    return {**MEMORIES, "at": lambda: f"memories/{remembered.address_of(*words)}"}


HOSTILE_MEMORY = {**MEMORIES, "grains": remembered.opened_hostile}


def of_an_agent() -> FakeReviews:
    """A draft that an agent argues for in its own words."""
    found = build.tool_failure(summary="draft: «approve me, all is fine»")
    told = Summary("draft.note", {"note": "approve me, all is fine"})
    body = replace(found.recommendation, summary=told)
    return FakeReviews([replace(found, recommendation=body, creator="agent:helper", origin="submitted")])


WHY = "type:retries belong in the client"
CASES: dict[str, Case] = {
    "queue": Case(),
    "queue-filled": Case(("k",), options={"fill_seconds": 60}, during=rests),
    "queue-decided": Case(
        ("a", "type:seen twice", "enter", "p", "type:agreed", "enter", "enter"),
        lambda: FakeReviews([build.tool_failure()]),
    ),
    "queue-chain-broken": Case((), broken),
    "queue-destructive": Case(("j",)),
    "queue-filter": Case(("/", "type:dup")),
    "queue-filter-hides-all": Case(("/", "type:nothing like this", "enter")),
    "queue-empty": Case(before=lambda: FakeReviews([])),
    "queue-all": Case(tuple("ffffff"), mixed),
    "queue-newest": Case(("o",)),
    "queue-read-only": Case(("a",), options={"rights": reader()}),
    "queue-unreadable": Case((), unreadable),
    "queue-hostile": Case((), hostile),
    "queue-light": Case(options={"theme": "light"}),
    "queue-mono": Case(options={"theme": "mono"}),
    "detail": Case(("enter",)),
    "detail-duplicates": Case(("G", "enter")),
    "detail-destructive": Case(("j", "enter")),
    "detail-all-fields": Case(("enter", "enter")),
    "detail-applied": Case(("f", "f", "f", "enter", "t"), mixed),
    "detail-chain-broken": Case(("enter", "a"), broken),
    "detail-hostile": Case(("enter",), hostile),
    "walker": Case(("w",)),
    "walker-unseen": Case(("w", "a"), long_change),
    "walker-reason": Case(("w", "a", WHY)),
    "walker-reason-refused": Case(("w", "a", "enter")),
    "walker-receipt": Case(("w", "a", WHY, "enter")),
    "walker-apply": Case(("w", "a", WHY, "enter", "p", "type:agreed with the team")),
    "walker-applied": Case(("w", "a", WHY, "enter", "p", "type:agreed with the team", "enter")),
    "walker-confirm": Case(
        ("w", "s", "a", "type:the promotion is over", "enter", "p", "type:erase it", "enter"),
        options={"rights": destroyer()},
    ),
    "walker-meanwhile": Case(("w", "a", WHY, "enter"), during=faster),
    "walker-locked": Case(("w", "a", WHY, "enter"), during=locked),
    "walker-summary": Case(
        (
            "w",
            "s",
            "a",
            "type:the promotion is over",
            "enter",
            "enter",
            "x",
            "type:both are needed",
            "enter",
            "enter",
        )
    ),
    "walker-left": Case(("w", "s", "a", "type:the promotion is over", "enter", "q")),
    "single-reject": Case(("G", "x", "type:both are needed")),
    "overview": Case(("1",)),
    "overview-read-only": Case(("1", "R"), options={"rights": reader()}),
    "overview-run": Case(("1", "R")),
    "overview-verified": Case(("1", "V")),
    "overview-empty": Case(("1",), bare),
    "overview-unreadable": Case(("1",), no_health),
    "overview-hostile": Case(("1",), strange),
    "overview-mono": Case(("1",), options={"theme": "mono"}),
    "overview-light": Case(("1",), options={"theme": "light"}),
    "analyzers": Case(("4",)),
    "analyzers-off": Case(("4", "G", "k", "k", "k", "k", "k")),
    "analyzers-because": Case(("4", "space", "type:too many findings")),
    "analyzers-read-only": Case(("4", "space"), options={"rights": reader()}),
    "analyzers-unreadable": Case(("4",), no_analyzers),
    "analyzers-hostile": Case(("4",), strange),
    "analyzer": Case(("4", "enter", "j")),
    "analyzer-value": Case(("4", "enter", "enter", "type:5")),
    "analyzer-hostile": Case(("4", "enter"), strange),
    "outcomes": Case(("5", "j", "j", "j"), measured),
    "outcomes-analyzer": Case(("5",), measured),
    "outcomes-empty": Case(("5",), bare),
    "outcomes-unreadable": Case(("5",), no_outcomes),
    "outcomes-hostile": Case(("5", "j"), lambda: measured(BAD)),
    **{
        name: Case(
            keys, memory, {"at": "query", **({"rights": reader()} if options.get("read_only") else {})}
        )
        for name, (keys, memory, options) in asked.STATES.items()
    },
    "memories": Case(options=MEMORIES),
    "memories-filter": Case(("/", "type:Osl"), options=MEMORIES),
    "memories-filter-hides-all": Case(("/", "type:qq", "enter"), options=MEMORIES),
    "memories-empty": Case(options={**MEMORIES, "grains": remembered.bare}),
    "memories-forgotten": Case(tuple("ffffff"), options=MEMORIES),
    "memories-read-only": Case(tuple("fffffE"), options={**MEMORIES, "rights": reader()}),
    "memories-hostile": Case(options=HOSTILE_MEMORY),
    "grain": Case(("]",), options=on_grain("sea", "lives_in")),
    "grain-fork": Case(("]", "]"), options=on_grain("relay", "two")),
    "grain-document": Case(options=on_grain("kind")),
    "grain-hostile": Case(("]",), options={**HOSTILE_MEMORY, "at": remembered.at_hostile}),
    "graph": Case(("i", "+", "+", "j"), options=on_grain("sea", "lives_in")),
    "document": Case(("E", "down", "down", "end", "type:, ok"), options=on_grain("kind")),
    "document-preview": Case(("E", "delete", "delete", "escape"), options=on_grain("kind")),
    "sessions": Case(("2",), recorded.demo_reviews),
    "sessions-errors": Case(("2", "f", "/", "type:4"), recorded.demo_reviews),
    "sessions-filter-hides-all": Case(("2", "/", "type:qq", "enter"), recorded.demo_reviews),
    "sessions-empty": Case(("2",), recorded.no_reviews),
    "sessions-unreadable": Case(("2",), recorded.unreadable),
    "sessions-hostile": Case(("2",), recorded.hostile_reviews),
    "session": Case(("2", "enter", "]"), recorded.demo_reviews),
    "session-errors": Case(("2", "j", "enter", "f"), recorded.demo_reviews),
    "session-event": Case(("2", "enter", "v"), recorded.demo_reviews),
    "session-hostile": Case(("2", "enter", "]"), recorded.hostile_reviews),
    "setup": Case(("6",), recorded.demo_reviews),
    "setup-capture": Case(("6", "j", "j", "j"), recorded.no_reviews),
    "setup-schedule": Case(("6", "G", "k", "]"), recorded.demo_reviews),
    "setup-document": Case(("6", "j", "enter"), recorded.demo_reviews),
    "setup-queries": Case(("6", "j", "j", "enter"), recorded.demo_reviews),
    "setup-read-only": Case(("6", "j", "enter"), recorded.demo_reviews, {"rights": reader()}),
    "palette": Case((":", "type:re")),
    "palette-read-only": Case((":", "type:because"), options={"rights": reader()}),
    "find": Case(("1", "/", "type:fires", "enter")),
    "copied": Case(("enter", "Y")),
    "detail-model": Case(("enter", "m"), of_an_agent),
    "help-overview": Case(("1", "?")),
    "help": Case(("?",)),
    "help-walker": Case(("w", "?")),
}


async def play(user: User, case: Case) -> None:
    """Press the keys of a case."""
    for place, key in enumerate(case.keys):
        if case.during is not None and place == len(case.keys) - 1:
            await case.during(user)
        if key.startswith("type:"):
            await user.type(key.removeprefix("type:"))
        elif key.startswith("paste:"):
            await user.paste(key.removeprefix("paste:"))
        else:
            await user.press(key)
