# SPDX-License-Identifier: Apache-2.0
"""Labelled corpora of our own, made by code: for each analyzer what it must find, beside what only looks alike.

The format is that of docs/precision.md. ``made()`` gives all of them; nothing is drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count, pairwise
from typing import Any, Final

Json = dict[str, Any]

NOW: Final = 1_790_000_000_000
DAY: Final = 86_400_000
PEOPLE: Final = (
    "ana",
    "bo",
    "chidi",
    "dora",
    "emil",
    "fay",
    "gus",
    "hana",
    "ivo",
    "jun",
    "kofi",
    "lea",
    "mika",
    "nils",
)
PROJECTS: Final = (
    "billing", "checkout", "search", "intake", "ledger", "mailer", "portal", "quotes", "roster", "shipping", "tracker", "uploads",
)  # fmt: skip


class Making:
    """Collects operations and labels of one corpus."""

    def __init__(self, name: str, title: str, **more: Any) -> None:
        self.name, self.title, self.more = name, title, more
        self.ops: list[Json] = []
        self.labels: list[Json] = []
        self._serial = count(1)

    def add(self, type_: str, days_ago: float = 10, *, namespace: str | None = None, **fields: Any) -> str:
        name = f"g{next(self._serial)}"
        op: Json = {"op": "add", "as": name, "type": type_, "fields": fields, "days_ago": days_ago}
        self.ops.append({**op, "namespace": namespace} if namespace else op)
        return f"@{name}"

    def fact(self, subject: str, relation: str, object_: str, days_ago: float = 10, **more: Any) -> str:
        namespace = more.pop("namespace", None)
        fields = {"subject": subject, "relation": relation, "object": object_, "confidence": 0.9, **more}
        return self.add("fact", days_ago, namespace=namespace, **fields)

    def note(self, content: str, days_ago: float = 10, **more: Any) -> str:
        fields = {"content": content, "observer_id": "agent-1", "observer_type": "agent", **more}
        return self.add("observation", days_ago, **fields)

    def skill(self, days_ago: float = 20, **fields: Any) -> str:
        return self.add("skill", days_ago, description="how it is done", **fields)

    def calls(
        self, tool: str, result: str, times: int, *, error: bool = True, days_ago: float = 5, **fields: Any
    ) -> str:
        name = f"c{next(self._serial)}"
        op: Json = {
            "op": "tool_call",
            "as": name,
            "tool": tool,
            "result": result,
            "is_error": error,
            "repeat": times,
        }
        self.ops.append({**op, "every_ms": 60_000, "days_ago": days_ago, "fields": fields})
        return f"@{name}.*"

    def supersede(self, target: str, days_ago: float = 1, **fields: Any) -> str:
        name = f"s{next(self._serial)}"
        self.ops.append(
            {"op": "supersede", "as": name, "target": target, "fields": fields, "days_ago": days_ago}
        )
        return f"@{name}"

    def do(self, op: str, **more: Any) -> None:
        self.ops.append({"op": op, **more})

    def label(self, analyzer: str, *evidence: str, **more: Any) -> None:
        cited = {"evidence": list(evidence)} if evidence else {}
        self.labels.append({"analyzer": f"loop.{analyzer}", **cited, **more})

    def done(self) -> Json:
        return {
            "format": "deja-corpus/1", "title": self.title, "now_ms": NOW, **self.more, "ops": self.ops,
            "labels": self.labels,
        }  # fmt: skip


# --- tools ------------------------------------------------------------------------------------------


def failing_tools() -> Making:
    m = Making("tools-failing", "tools that fail the same way, in every spelling of the same error")
    same = {
        "stripe_refund": '{{"error":"rate_limited","retry_after":{n}}}',
        "web_search": "upstream 503 service unavailable after {n} ms",
        "read_file": "open /srv/app/{n}.yml: no such file",
        "run_tests": "Traceback (most recent call last):\n  File \"t.py\", line {n}\nModuleNotFoundError: No module named 'yaml'",
        "fetch_page": "GET https://shop.example/{n} refused",
        "query_db": "column id_{n} does not exist",
        "push": "\x1b[31mrejected\x1b[0m: non-fast-forward at 3f2a9c{n}e81b",
        "lookup": "no row for 6f9619ff-8b86-d011-b42d-00c04fc964f{n}",
        "send_mail": "HTTP 429 from 10.0.0.{n}",
        "lint": "",
    }
    for tool, text in same.items():
        failed = m.calls(tool, text.replace("{{", "{").replace("}}", "}"), 6)
        m.calls(tool, "ok", 3, error=False, days_ago=4)
        m.label("tool_failure", failed)
    edge = m.calls("edge", "boom", 4)
    m.calls("edge", "ok", 6, error=False)
    m.label("tool_failure", edge, severity="low", why="4 of 10 is the share")
    often = m.calls("often", "boom", 50)
    m.calls("often", "ok", 150, error=False)
    m.label("tool_failure", often, why="50 of 200 is the number")
    first, second = m.calls("two", "disk full", 5), m.calls("two", "quota of team reached", 4)
    m.label("tool_failure", first)
    m.label("tool_failure", second, why="a second kind of error of one tool is a second finding")
    statuses = m.calls("api", "HTTP 403 forbidden", 5), m.calls("api", "HTTP 404 not found", 5)
    for cited in statuses:
        m.label("tool_failure", cited, why="a status is no number like another")
    return m


def busy_tools() -> Making:
    m = Making("tools-busy", "tools that only look as if they failed")
    m.calls("rare", "boom", 3)
    m.calls("rare", "ok", 5, error=False)
    m.calls("twice", "boom", 2)
    for n, word in enumerate(PROJECTS):
        m.calls("various", f"{word} {PEOPLE[n]} went wrong", 1)
    m.calls("various", "ok", 4, error=False)
    m.calls("long_ago", "boom", 20, days_ago=45)
    m.calls("edge", "boom", 49)
    m.calls("edge", "ok", 151, error=False)
    m.calls("chatty", "error: none, 0 failures", 12, error=False)
    m.calls("waiting", "boom", 6, status="pending")
    m.calls("declined", "the user said no", 6, failure_cause="user_aborted")
    m.calls("statuses", "HTTP 403 forbidden", 2)
    m.calls("statuses", "HTTP 429 slow down", 2)
    m.calls("statuses", "ok", 1, error=False)
    m.calls("tomorrow", "boom", 6, days_ago=-1)
    return m


# --- facts ------------------------------------------------------------------------------------------


def copied_facts() -> Making:
    m = Making("facts-copied", "one fact stored several times")
    for n, person in enumerate(PEOPLE):
        said = f"{PROJECTS[n % len(PROJECTS)]} in the morning"
        spelt = (said, said.upper(), f" {said}", said.title())[: 2 + n % 3]
        m.label("duplicate_sweep", *[m.fact(person, "likes", text, 20 - k) for k, text in enumerate(spelt)])
    m.label("duplicate_sweep", m.fact("straße", "is", "groß"), m.fact("STRASSE", "is", "GROSS"))
    m.label(
        "duplicate_sweep",
        m.fact("promo", "code", "SPRING", 30),
        m.fact("promo", "code", "spring", 3, valid_to=NOW + 90 * DAY),
        why="a copy that ends later says no more",
    )
    return m


def alike_facts() -> Making:
    m = Making("facts-alike", "facts that differ in the one thing that counts")
    for person, other in pairwise(PEOPLE):
        m.fact(person, "likes", f"tea with {other}")
        m.fact(person, "likes", f"tea with  {other}")
    m.fact("resume", "has", "resume")
    m.fact("resume", "has", "résumé")
    m.fact("latin", "has", "a")
    m.fact("latin", "has", "а")
    m.fact("hidden", "has", "a")
    m.fact("hidden", "has", "a\u200b")
    m.fact("a", "bc", "d")
    m.fact("ab", "c", "d")
    for space in ("team", "ops"):
        m.fact("acme", "likes", "tea", namespace=space)
    old = m.fact("bo", "drinks", "tea", 20)
    m.supersede(old, object="coffee")
    m.fact("bo", "drinks", "Tea", 5)
    m.fact("number", "is", "1")
    m.fact("number", "is", "1.0")
    m.fact("team", "met", "2026-03-01")
    m.fact("team", "met", "2026-03-02")
    m.fact("ivo", "lived_at", "Oslo", 30, valid_from=NOW - 900 * DAY, valid_to=NOW - 500 * DAY + 900 * DAY)
    return m


_TALE: Final = (
    "while looking into the slow nightly export of {project} we saw that {person} had already moved the large table to the"
    " second disk and that the remaining time goes into sorting rows before they are written out in small pieces again"
)
_SWAPS: Final = (
    ("slow", "sluggish"),
    ("large", "big"),
    ("small", "little"),
    ("again", "anew"),
    ("saw", "noticed"),
)


def near_notes() -> Making:
    m = Making("notes-near", "notes that say nearly the same")
    for n, project in enumerate(PROJECTS):
        told = _TALE.format(project=project, person=PEOPLE[n])
        first = m.note(told, 20)
        old, new = _SWAPS[n % len(_SWAPS)]
        m.label("duplicate_sweep", first, m.note(told.replace(old, new), 10 - n / 10))
    return m


_STEMS: Final = (
    "alarm", "basket", "bridge", "candle", "carpet", "cellar", "copper", "corner", "cradle", "cupboard", "desert", "drawer",
    "engine", "fabric", "farmer", "feather", "fender", "forest", "garden", "gravel", "hammer", "harbour", "helmet", "hollow",
    "island", "jacket", "kettle", "ladder", "lantern", "leather", "lumber", "magnet", "marble", "meadow", "mirror", "mortar",
    "needle", "orchard", "paddle", "parcel", "pebble", "pepper", "pillow", "planet", "pocket", "puddle", "quarry", "ribbon",
    "saddle", "shelter", "shovel", "signal", "silver", "spider", "stable", "summer", "tailor", "temple", "timber", "tunnel",
    "valley", "velvet", "walnut", "winter",
)  # fmt: skip


def _tale(number: int, size: int = 26) -> str:
    """A note that shares few words with any other one."""
    words = [_STEMS[(number * 11 + k * (2 * number + 5)) % len(_STEMS)] for k in range(size)]
    return " ".join(f"{word}{number}" if k % 3 else word for k, word in enumerate(words))


def alike_notes() -> Making:
    m = Making(
        "notes-alike", "notes that differ by a number, a negation or too much, or lie in two namespaces"
    )
    pairs = (
        ("on host 12", "on host 13"), ("since v1.4.2", "since v1.5.0"), ("at 08:30", "at 09:30"), ("for 20 EUR", "for 200 EUR"),
        ("on 2026-03-01", "on 2026-03-02"), ("it works", "it never works"), ("it is done", "it is not done"),
        ("it does work", "it doesn't work"), ("with no index", "with index"), ("without a key", "with a key"),
        ("he can come", "he can't come"), ("he will come", "he won't come"),
    )  # fmt: skip
    for number, (one, other) in enumerate(pairs):
        m.note(f"{_tale(number)} {one}", 20)
        m.note(f"{_tale(number)} {other}", 10)
    for number in range(12, 18):
        told = _tale(number).split()
        m.note(" ".join(told), 20)
        m.note(" ".join([*told[:-4], "quite", "another", "ending", "here"]), 10)
    m.note("the build is green", 20)
    m.note("the build is red", 10)
    for space in ("team", "ops"):
        m.add("observation", 20, namespace=space, content=_tale(20), observer_id="a", observer_type="agent")
    about = [m.note(_tale(21), 20, subject="ana"), m.note(f"{_tale(21)} indeed", 10, subject="bo")]
    assert about, "notes about two subjects"
    for number, (one, other) in enumerate(
        (("client", "server"), ("ana", "bo"), ("north", "south"), ("red", "blue")), 24
    ):
        told = _tale(number)
        m.note(f"{told} so the {one} called the {other} first", 20)
        m.note(f"{told} so the {other} called the {one} first", 10)
    for number, (one, other) in enumerate(
        (("graph.rs", "entities.rs"), ("ana@x.example", "bo@x.example"), ("a_limit", "a_delay")), 28
    ):
        m.note(f"{one} {_tale(number)}", 20)
        m.note(f"{other} {_tale(number)}", 10)
    gone = m.note(_tale(22), 20)
    m.supersede(gone, 9, object=f"{_tale(22)} once more")
    return m


def contradicted() -> Making:
    m = Making("facts-contradicted", "two current values where one can hold", params={
        "loop.contradiction_sweep/1": {"extra_relations": " Main_Branch , on_call"},
    })  # fmt: skip
    values = {
        "deploy_target": ("eu-west-1", "us-east-1"),
        "tier": ("gold", "silver"),
        "owner": ("ana", "bo"),
        "status": ("open", "done"),
    }
    for n, project in enumerate(PROJECTS):
        relation = list(values)[n % len(values)]
        old, new = values[relation]
        m.label("contradiction_sweep", m.fact(project, relation, old, 20), m.fact(project, relation, new, 5))
    m.label(
        "contradiction_sweep",
        m.fact("portal", "main_branch", "main"),
        m.fact("Portal", "MAIN_BRANCH", "trunk"),
    )
    m.label("contradiction_sweep", m.fact("acme", "lives_in", "Oslo"), m.fact("acme", "lives_in", "Lima"))
    m.label(
        "contradiction_sweep",
        m.fact("acme", "reports_to", "ana"), m.fact("acme", "reports_to", "bo"),
        why="a second contradiction about one subject is a second finding",
    )  # fmt: skip
    return m


def relation(number: int) -> Making:
    m = Making(
        f"relation-{number}",
        "a relation that holds one value for nearly everybody, and relations that do not",
    )
    name = (
        "timezone",
        "desk",
        "manager",
        "plan",
        "language",
        "shift",
        "badge",
        "home_office",
        "phone",
        "team",
        "nickname",
        "floor",
    )[number]
    for n, person in enumerate(PEOPLE):
        m.fact(person, name, f"{name} {n}")
        m.fact(person, "reads", f"book {n}")
        if n % 2:
            m.fact(person, "reads", f"book {n + 20}")
    cited = m.fact("ana", name, "another one", 3)
    for person in PEOPLE[:4]:
        m.fact(person, "seldom_said", f"{person} once")
    m.fact("ana", "seldom_said", "twice", 3)
    m.label("contradiction_sweep", target="entity:shared/relations", why=f"13 of 14 have one {name}")
    assert cited
    return m


def agreeing() -> Making:
    m = Making("facts-agreeing", "several values that do not contradict one another")
    for n, project in enumerate(PROJECTS):
        m.fact(project, "uses", PEOPLE[n])
        m.fact(project, "uses", PEOPLE[n + 1])
    trial = m.fact("acme", "tier", "trial", 40, valid_to=NOW - 20 * DAY)
    m.fact("acme", "tier", "gold", 15)
    m.label("staleness", trial, why="the ended value is past its end, and that is all")
    old = m.fact("bo", "lives_in", "Oslo", 40)
    m.supersede(old, object="Lima")
    for space, value in (("team", "gold"), ("ops", "silver")):
        m.fact("other", "tier", value, namespace=space)
    before = m.fact("cam", "lives_in", "Oslo", 40, valid_from=NOW - 900 * DAY, valid_to=NOW - 400 * DAY)
    m.fact("cam", "lives_in", "Lima", 39, valid_from=NOW - 400 * DAY)
    m.label("staleness", before, why="where somebody lived before is past its end")
    m.fact("dee", "reports_to", "ana", 40)
    m.fact("dee", "reports_to", "bo", 39, valid_from=NOW + 30 * DAY)
    for space in ("mail", "chat"):
        m.fact("ivo", "status", f"away in {space}", namespace=space)
    m.fact("ana", "owner", "x")
    m.fact("ana", "owners", "y")
    m.fact("later", "status", "open", 5)
    m.fact("later", "status", "frozen", 4, valid_from=NOW + 10 * DAY)
    m.fact("team", "status", "Open", 5)
    m.fact("squad", "status", "closed", 5)
    return m


def forked() -> Making:
    m = Making("facts-forked", "facts that two copies of a memory changed, and facts that only one did")
    bases = [m.fact(project, "deadline", "monday", 20) for project in PROJECTS]
    calm = [m.fact(person, "desk", f"room {n}", 20) for n, person in enumerate(PEOPLE[:4])]
    inner = [
        {"op": "supersede", "as": f"t{n}", "target": base, "fields": {"object": "friday"}, "days_ago": 5}
        for n, base in enumerate(bases)
    ]
    inner += [
        {"op": "supersede", "as": f"u{n}", "target": base, "fields": {"object": "garden"}, "days_ago": 5}
        for n, base in enumerate(calm[:2])
    ]
    m.do("twin", ops=inner)
    ours = [m.supersede(base, 4, object="sunday") for base in bases]
    m.supersede(calm[2], 4, object="hall")
    m.do("sync_in")
    for n, mine in enumerate(ours):
        m.label("fork_surfacing", f"@t{n}", mine)
    m.fact("plain", "likes", "tea")
    m.fact("plain", "likes", "jazz")
    return m


def ended() -> Making:
    m = Making("facts-ended", "facts and notes past their declared end, and others that are not")
    for n, person in enumerate(PEOPLE):
        until: Any = NOW - (n + 1) * DAY
        if n % 3 == 1:
            until = ("2026-01-02", "2020-01-01T00:00:00Z", "2026-03-04T05:06:07+02:00")[n % 3]
        m.label("staleness", m.fact(person, "badge", f"door {n}", 60, valid_to=until))
    m.label("staleness", m.note("the lift is out of order on the ground floor", 40, valid_to=NOW - 2 * DAY))
    m.fact("now", "badge", "x", 60, valid_to=NOW)
    m.fact("soon", "badge", "x", 60, valid_to=NOW + 1)
    m.fact("open", "badge", "x", 600)
    gone = m.fact("renewed", "badge", "x", 60, valid_to=NOW - DAY)
    m.supersede(gone, valid_to=NOW + 100 * DAY)
    m.add(
        "goal",
        60,
        description="a goal with an end of its own",
        goal_state="satisfied",
        progress=1.0,
        valid_to=NOW - DAY,
    )
    return m


# --- skills and goals -------------------------------------------------------------------------------


def skills() -> Making:
    m = Making("skills", "skills that do not get better, and others")
    for n, project in enumerate(PROJECTS):
        level = round(0.05 + 0.03 * n, 2)
        practised = 5 + 4 * n
        m.label(
            "skill_stall",
            m.skill(name=f"deploy {project}", proficiency=level, practice_count=practised),
        )
    m.label("skill_stall", m.skill(name="edge", proficiency=0.4, practice_count=5))
    m.skill(name="young", proficiency=0.1, practice_count=4)
    m.skill(name="good", proficiency=0.41, practice_count=50)
    m.skill(name="unknown", practice_count=50)
    rising = m.skill(name="rising", proficiency=0.05, practice_count=6)
    rising = m.supersede(rising, 15, proficiency=0.2, practice_count=8)
    m.supersede(rising, 5, proficiency=0.38, practice_count=11)
    risen = m.skill(name="risen", proficiency=0.1, practice_count=9)
    m.supersede(risen, proficiency=0.8, practice_count=20)
    return m


def goals() -> Making:
    m = Making("goals", "goals that stand still, and others")
    for n, project in enumerate(PROJECTS):
        progress = round(n / 120, 3)
        m.label(
            "goal_stagnation",
            m.add("goal", 40 + n, description=f"finish {project}", goal_state="active", progress=progress),
        )
    m.label(
        "goal_stagnation",
        m.add("goal", 30, description="exactly thirty days", goal_state="active", progress=0.1),
    )
    m.add("goal", 29.9, description="not yet thirty days", goal_state="active", progress=0.0)
    m.add("goal", 90, description="reached", goal_state="satisfied", progress=1.0)
    m.add("goal", 90, description="given up", goal_state="suspended", progress=0.0)
    m.add("goal", 90, description="moving", goal_state="active", progress=0.11)
    m.label(
        "goal_stagnation", m.add("goal", 90, description="nobody knows", goal_state="active"),
        why="nobody touched it for ninety days, whatever its progress",
    )  # fmt: skip
    moved = m.add("goal", 90, description="touched lately", goal_state="active", progress=0.0)
    m.supersede(moved, 3, progress=0.05)
    return m


# --- what was recalled ------------------------------------------------------------------------------


def cold(number: int) -> Making:
    m = Making(
        f"cold-{number}", "facts that nobody asked for while somebody watched, and facts that somebody did"
    )
    space = PROJECTS[number % len(PROJECTS)]
    cited = [
        m.fact(f"{space}-{n}", "noted", f"remark {n} of {space}", 80 + n, namespace=space)
        for n in range(3 + number % 4)
    ]
    asked = m.fact(f"{space}-asked", "noted", "somebody asked", 80, namespace=space)
    m.fact(f"{space}-young", "noted", "just written", 3, namespace=space)
    m.do("recall", subject=f"{space}-asked", namespace=space, days_ago=20)
    m.label("cold_grains", *cited)
    assert asked
    return m


def barely_watched() -> Making:
    m = Making("cold-young-watch", "old facts that were watched for too short a time")
    for n in range(8):
        m.fact(f"old-{n}", "noted", f"remark {n}", 20)
    m.do("recall", subject="old-1", days_ago=19)
    return m


def gaps() -> Making:
    m = Making(
        "questions", "questions that found nothing, and questions that were answered or asked too seldom"
    )
    m.fact("deploy", "runs_on", "kubernetes in the second region", 60)
    for n, word in enumerate(
        (
            "zebrafish",
            "quokka",
            "axolotl",
            "narwhal",
            "okapi",
            "tapir",
            "dugong",
            "ocelot",
            "pangolin",
            "kakapo",
            "numbat",
        )
    ):
        m.do("ask", query=f"{word} opening hours", times=3 + n % 3, days_ago=9 - n / 4)
        m.label("coverage_gap", args={"query": f"{word} opening hours"})
    m.do("ask", query="capybara feeding", times=2, days_ago=5)
    m.do("ask", query="kubernetes region", times=9, days_ago=5)
    m.do("ask", query="wombat visa", times=4, days_ago=8)
    m.fact("wombat", "visa", "wombat visa takes nine weeks", 4)
    m.do("ask", query="wombat visa", times=4, days_ago=2)
    return m


def pressed(number: int) -> Making:
    m = Making(f"budget-{number}", "contexts that had to leave something out")
    m.fact("a", "noted", "something", 20)
    m.do("context", overflow=True, times=10 + number, days_ago=6)
    m.do("context", overflow=False, times=10, days_ago=5)
    m.label("budget_pressure")
    return m


def roomy(number: int) -> Making:
    m = Making(f"budget-roomy-{number}", "contexts that fit, or too few of them")
    m.fact("a", "noted", "something", 20)
    over, fit = ((9, 11), (19, 0), (0, 40), (4, 6))[number]
    m.do("context", overflow=True, times=over, days_ago=6)
    m.do("context", overflow=False, times=fit, days_ago=5)
    if number == 3:  # enough of them, but long ago
        m.do("context", overflow=True, times=60, days_ago=45)
    return m


# --- after an apply ---------------------------------------------------------------------------------


def worse(number: int) -> Making:
    m = Making(f"outcome-worse-{number}", "a lesson was applied and the failures rose in an equal span")
    tool = f"{PROJECTS[number % len(PROJECTS)]}_push"
    m.fact("start", "of", "the memory", 60)
    m.calls(tool, "ok", 4, error=False, days_ago=55)
    m.calls(tool, "rejected by hook", 5, days_ago=20.5)
    m.do("run", days_ago=20)
    m.do("apply", rec={"analyzer": "loop.tool_failure"}, days_ago=20)
    m.calls(tool, "rejected by hook", 12 + number, days_ago=19.5)
    m.label("outcome_review")
    m.label("tool_failure", why="what came after the apply is a cluster of its own")
    return m


def busier(number: int) -> Making:
    m = Making(
        f"outcome-busier-{number}",
        "a lesson was applied and the tool was called more, failing in a smaller share",
    )
    tool = f"{PROJECTS[number % len(PROJECTS)]}_sync"
    m.fact("start", "of", "the memory", 60)
    m.calls(tool, "ok", 4, error=False, days_ago=55)
    m.calls(tool, "rejected by hook", 6, days_ago=20.5)
    m.calls(tool, "ok", 6, error=False, days_ago=20.4)
    m.do("run", days_ago=20)
    m.do("apply", rec={"analyzer": "loop.tool_failure"}, days_ago=20)
    m.calls(tool, "rejected by hook", 12, days_ago=19.5)
    m.calls(tool, "ok", 20 + 8 * number, error=False, days_ago=19.4)
    return m


def better(number: int) -> Making:
    m = Making(f"outcome-better-{number}", "a lesson was applied and the failures fell, or stayed away")
    tool = f"{PROJECTS[number % len(PROJECTS)]}_pull"
    m.fact("start", "of", "the memory", 60)
    m.calls(tool, "ok", 4, error=False, days_ago=55)
    m.calls(tool, "rejected by hook", 12, days_ago=20.5)
    m.do("run", days_ago=20)
    m.do("apply", rec={"analyzer": "loop.tool_failure"}, days_ago=20)
    if number % 2:
        m.calls(tool, "rejected by hook", 1, days_ago=19.5)
    m.calls(tool, "ok", 20, error=False, days_ago=19)
    return m


def overdue() -> Making:
    m = Making(
        "retention",
        "grains past the days a host keeps them",
        params={"loop.retention_sweep/1": {"max_age_days": 365}},
    )
    for space in PROJECTS:
        for n in range(3):
            m.fact(f"{space}-{n}", "noted", f"remark {n} of {space}", 400 + n, namespace=space)
        m.fact(f"{space}-young", "noted", "of last month", 40, namespace=space)
        m.label("retention_sweep", target=f"entity:{space}/retention")
    first = [f"@g{n}" for n in (1, 2, 3)]
    m.label(
        "retention_sweep",
        *first,
        target="entity:billing/retention",
        why="one proposal to forget at a time (D19)",
    )
    m.fact("only", "young", "ones", 364, namespace="young")
    return m


def quiet() -> Making:
    m = Making("quiet", "a month of ordinary work in which nothing is wrong")
    for n, person in enumerate(PEOPLE):
        m.fact(person, "email", f"{person}@shop.example", 30 - n)
        m.fact(person, "role", ("support", "sales", "build")[n % 3], 30 - n)
        m.note(f"{person} asked for the figures of {PROJECTS[n % 12]} and got them within the hour", 28 - n)
    for n, project in enumerate(PROJECTS):
        m.calls(f"{project}_check", "all good", 8, error=False, days_ago=9)
        m.calls(f"{project}_check", f"odd thing number {n} in {project}", 1, days_ago=8)
        m.skill(9, name=f"tend {project}", proficiency=0.7, practice_count=12)
        m.add("goal", 9, description=f"tidy {project}", goal_state="active", progress=0.5)
    return m


SINGLE: Final[Sequence[Callable[[], Making]]] = (
    failing_tools, busy_tools, copied_facts, alike_facts, near_notes, alike_notes, contradicted, agreeing, forked, ended,
    skills, goals, barely_watched, gaps, overdue, quiet,
)  # fmt: skip
NUMBERED: Final[Sequence[tuple[Callable[[int], Making], int]]] = (
    (cold, 12),
    (pressed, 12),
    (roomy, 4),
    (worse, 12),
    (busier, 3),
    (better, 4),
    (relation, 12),
)


def made() -> Iterable[tuple[str, Json]]:
    """Name and content of every corpus."""
    for make in SINGLE:
        corpus = make()
        yield corpus.name, corpus.done()
    for numbered, many in NUMBERED:
        for number in range(many):
            corpus = numbered(number)
            yield corpus.name, corpus.done()
