# SPDX-License-Identifier: Apache-2.0
"""Any history of writes, runs, drafts and decisions, on the file and on the reference at once.

* Both say the same after every step: what recall answers, what stands in the queue, which refusal, which text.
* A rollback with nothing written since its apply restores what recall answered before it, byte for byte, and the texts.
* A refusal changes nothing. Every chain verifies. No identity is open twice. The loop writes only in its namespace.
* What was applied while it was fresh is not found again by a run that follows at once.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from deja_tui.adapter import StoreSubstrate
from deja_tui.engine import audit, drafts, lifecycle, views
from deja_tui.engine.actors import caller
from deja_tui.engine.doc_edits import text_of, version_fields
from deja_tui.engine.objects import Receipt, Recommendation
from deja_tui.engine.operations import (
    Add,
    DefineQuery,
    Forget,
    Merge,
    Operation,
    Retire,
    Revert,
    Supersede,
    canonical,
    to_plain,
)
from deja_tui.engine.substrate import (
    LOOP_NAMESPACE,
    LedgerRow,
    NewGrain,
    SavesQueries,
    StoredGrain,
    Substrate,
)
from deja_tui.engine.wire import read_recommendation
from deja_tui.errors import DejaError
from deja_tui.reference import ReferenceSubstrate
from deja_tui.store.memory import Store
from tests.engine.helpers import ANA, BEN, EVERY_TYPE, go
from tests.support import DAY, NOW

BOT = caller("agent:worker")
PATH = "/memories/agents.md"  # an instruction document: tool failures offer a line in it (D27)
SUBJECTS = st.sampled_from(["acme", "bob"])
RELATIONS = st.sampled_from(["likes", "status"])
VALUES = st.sampled_from(["tea", "Tea", "coffee", "gold"])
TEXTS = st.sampled_from(["one\n", "one\ntwo\n", "two", ""])
BODIES = st.sampled_from(["RECALL facts LIMIT 2", "RECALL goals", "FORGET everything", "RECALL facts"])
KINDS = st.sampled_from(
    ["supersede", "merge", "retire", "forget", "add", "query", "doc", "host", "revert", "revert"]
)
_ADDRESS = re.compile(r"[0-9a-f]{64}")
_SAID = ("subject", "relation", "object", "valid_to", "tool_name", "tool_content", "description")


@dataclass(slots=True)
class World:
    """One memory, and what its addresses are called in both."""

    substrate: Any
    names: dict[str, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)

    def call(self, address: str, name: str) -> None:
        self.names[address], self.addresses[name] = name, address

    def plain(self, text: str) -> str:
        return _ADDRESS.sub(lambda match: self.names.get(match.group(), "unknown"), text)

    def live(self) -> list[StoredGrain]:
        found = [g for kind in views.USER_TYPES for g in self.substrate.scan(kind) if g.live]
        return sorted(found, key=lambda g: (g.created_at, g.seq), reverse=True)

    def said(self, grain: StoredGrain) -> tuple[Any, ...]:
        content = tuple(grain.get(name) for name in _SAID)
        return (grain.type, grain.namespace, grain.created_at, *content, text_of(grain.fields))

    def query(self) -> str | None:
        found: str | None = self.substrate.saved_query("open")
        return found

    def text(self) -> str | None:
        head = views.document(self.substrate, "shared", PATH)
        return None if head is None else text_of(head.fields)

    def body(self, row: LedgerRow) -> Recommendation:
        grain = self.substrate.get(row.address)
        assert grain is not None
        return read_recommendation(grain)

    def key(self, row: LedgerRow) -> str:
        """A recommendation as both memories know it."""
        body = self.body(row)
        changes = canonical([[to_plain(op) for op in one.operations] for one in body.choices]).decode()
        return self.plain(
            f"{row.analyzer} {row.target_ref} {body.action} {row.created_at} {changes} {body.data}"
        )

    def everything(self) -> list[Any]:
        rows: list[Any] = [
            (g.seq, g.address, g.live, g.superseded_by)
            for kind in EVERY_TYPE
            for spaces in (None, [LOOP_NAMESPACE])
            for g in self.substrate.scan(kind, spaces)
        ]
        return [sorted(rows), self.query(), [(r.address, r.status) for r in views.ledger(self.substrate)]]

    def recalled(self) -> tuple[Any, ...]:
        return [grain.address for grain in self.live()], self.query(), self.text()


Act = Callable[[World], Any]


class Histories(RuleBasedStateMachine):
    """See the module."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.now = NOW
        self.store = Store.open(self.folder / "a.deja", clock=lambda: self.now, durability="normal")
        self.worlds = [World(ReferenceSubstrate()), World(StoreSubstrate(self.store))]
        self.count = 0
        self.writes = 0
        self.looked = -1  # `writes` when a run last looked at everything
        self.applied: dict[str, tuple[list[Any], int]] = {}
        for value in ("tea", "Tea", "coffee"):
            self.add("acme", "likes", value, None)
        for value in ("gold", "silver"):
            self.add("bob", "status", value, None)
        self.write_the_document("one\ntwo\n")

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    # --- both at once ---

    def tick(self, by: int = 1_000) -> int:
        self.now += by
        return self.now

    def both(self, act: Act) -> tuple[str | None, list[Any]]:
        """Do one thing in both memories; the same refusal in both, which changed neither, or the two answers."""
        codes: list[str | None] = []
        answers: list[Any] = []
        for world in self.worlds:
            before = world.everything()
            try:
                answers.append(act(world))
            except DejaError as fault:
                codes.append("CAL" if fault.code.startswith("CAL") else fault.code)
                kept = world.everything()
            else:
                codes.append(None)
                kept = before
            assert kept == before, codes
        assert codes[0] == codes[1], (codes, self.worlds[0].everything())
        return codes[0], answers

    def name(self, addresses: Sequence[str]) -> str:
        self.count += 1
        for world, address in zip(self.worlds, addresses, strict=True):
            world.call(address, f"g{self.count}")
        return f"g{self.count}"

    def written(self, act: Act) -> str | None:
        """A plain write of one grain."""
        code, answers = self.both(act)
        if code is not None:
            return None
        self.writes += 1
        return self.name([put.address for put in answers])

    def decided(self, act: Callable[[World], Receipt]) -> str | None:
        """One decision; what it wrote gets names."""
        code, receipts = self.both(act)
        if code is None:
            results = [receipt.results for receipt in receipts]
            assert len(results[0]) == len(results[1])
            for pair in zip(*results, strict=True):
                self.name(pair)
            assert all(receipt.chain_verified for receipt in receipts)
        return code

    def live_names(self, type_: str = "fact") -> list[str]:
        world = self.worlds[0]
        return [
            world.names[g.address]
            for g in world.live()
            if g.type == type_ and g.get("relation") != "memory_file"
        ]

    def rows(self, *statuses: str) -> list[str]:
        """Keys of the recommendations with these statuses, in one order."""
        world = self.worlds[0]
        return sorted(world.key(row) for row in views.ledger(world.substrate, statuses))

    def row(self, world: World, key: str) -> LedgerRow:
        return next(row for row in views.ledger(world.substrate) if world.key(row) == key)

    # --- plain writes ---

    @rule(subject=SUBJECTS, relation=RELATIONS, value=VALUES, ends=st.sampled_from([None, -1, 1]))
    def add(self, subject: str, relation: str, value: str, ends: int | None) -> None:
        content: dict[str, Any] = {
            "subject": subject,
            "relation": relation,
            "object": value,
            "confidence": 0.9,
        }
        if ends is not None:
            content["valid_to"] = self.now + ends * 5 * DAY
        grain = NewGrain("fact", "shared", self.tick(), content)
        self.written(lambda world: world.substrate.put(grain))

    @rule(tool=SUBJECTS, result=VALUES, count=st.integers(1, 5))
    def fail(self, tool: str, result: str, count: int) -> None:
        at = self.tick()
        for number in range(count):
            content = {
                "tool_name": tool,
                "tool_content": result,
                "is_error": True,
                "tool_call_id": f"{at}-{number}",
            }
            grain = NewGrain("tool", "shared", at - DAY + number, content)
            self.written(lambda world, grain=grain: world.substrate.put(grain))

    @precondition(lambda self: self.live_names())
    @rule(data=st.data(), value=VALUES)
    def supersede(self, data: st.DataObject, value: str) -> None:
        name = data.draw(st.sampled_from(self.live_names()))
        at = self.tick()

        def act(world: World) -> Any:
            old = world.substrate.get(world.addresses[name])
            content = {"subject": old.get("subject"), "relation": old.get("relation"), "object": value}
            return world.substrate.supersede(old.address, NewGrain("fact", "shared", at, content))

        self.written(act)

    @precondition(lambda self: self.live_names())
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.live_names()))
        self.tick()
        self.both(lambda world: world.substrate.forget(world.addresses[name]))
        self.writes += 1

    @rule(text=TEXTS)
    def write_the_document(self, text: str) -> None:
        at = self.tick()

        def act(world: World) -> Any:
            head = views.document(world.substrate, "shared", PATH)
            grain = NewGrain("fact", "shared", at, version_fields(PATH, text))
            return world.substrate.supersede(head.address, grain) if head else world.substrate.put(grain)

        self.written(act)

    @rule(body=BODIES)
    def define_the_query(self, body: str) -> None:
        self.tick()
        code, _ = self.both(lambda world: world.substrate.set_saved_query("open", body))
        assert (code is not None) == body.startswith("FORGET")
        self.writes += 1

    # --- the loop ---

    @rule(wait=st.sampled_from([1_000, DAY, 8 * DAY, 40 * DAY]))
    def run(self, wait: int) -> None:
        now = self.tick(wait)
        _, outcomes = self.both(lambda world: go(world.substrate, now, full=True))
        self.looked = self.writes
        assert len({(o.stored, o.refreshed, o.closed) for o in outcomes}) == 1

    @rule(data=st.data(), kind=KINDS)
    def propose(self, data: st.DataObject, kind: str) -> None:
        names = self.live_names()
        if len(names) < 2:
            return
        one, other = data.draw(st.permutations(names))[:2]
        value, text, body = data.draw(VALUES), data.draw(TEXTS), data.draw(BODIES)
        targets = sorted(self.applied)
        now = self.tick()

        def change(world: World) -> dict[str, Any]:
            a, b = world.addresses[one], world.addresses[other]
            content = {"subject": "acme", "relation": "status", "object": value}
            operations: dict[str, Operation] = {
                "supersede": Supersede(a, "fact", "shared", content),
                "merge": Merge((a, b), "fact", "shared", content),
                "retire": Retire(a, b),
                "forget": Forget(a),
                "add": Add("fact", "shared", content),
            }
            if kind == "query":
                return {"target": "query:open", "edit": {"body": body}}
            if kind == "doc":
                return {"target": "doc:agents.md", "edit": {"text": text}}
            if kind == "host":
                return {"target": "host:cron", "data": {"run": value}}
            if kind == "revert":
                address = self.row(world, targets[0]).address if targets else a
                return {"target": "entity:shared/x", "operations": [Revert(address)]}
            return {"target": "entity:shared/x", "operations": [operations[kind]]}

        who = BEN if kind in ("doc", "host", "revert") else BOT
        self.both(
            lambda world: drafts.propose(
                world.substrate,
                note="why",
                evidence=[world.addresses[one]],
                caller=who,
                now_ms=now,
                **change(world),
            )
        )

    def decide(
        self, data: st.DataObject, statuses: Sequence[str], verb: Callable[..., Receipt], **more: Any
    ) -> str | None:
        keys = self.rows(*statuses)
        if not keys:
            return None
        key = data.draw(st.sampled_from(keys))
        now = self.tick()
        return self.decided(
            lambda world: verb(world.substrate, self.row(world, key).address, "why", ANA, now, **more)
        )

    @rule(data=st.data(), choice=st.integers(0, 2))
    def approve(self, data: st.DataObject, choice: int) -> None:
        assert self.decide(data, ("pending",), lifecycle.approve, choice=choice) in (None, "LOP-E011")

    @rule(data=st.data())
    def reject(self, data: st.DataObject) -> None:
        assert self.decide(data, ("pending",), lifecycle.reject) is None

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        assert self.decide(data, ("approved",), lifecycle.withdraw) is None

    @rule(data=st.data())
    def decide_out_of_turn(self, data: st.DataObject) -> None:
        """What no status allows is refused in both, and changes neither."""
        final = self.rows("rejected", "rolled_back", "expired")
        if not final:
            return
        key, now = data.draw(st.sampled_from(final)), self.tick()
        verb = data.draw(
            st.sampled_from(
                [
                    lifecycle.approve,
                    lifecycle.reject,
                    lifecycle.apply,
                    lifecycle.rollback,
                    lifecycle.mark_applied,
                ]
            )
        )
        code, _ = self.both(
            lambda world: verb(world.substrate, self.row(world, key).address, "why", ANA, now)
        )
        assert code == "LOP-E020"

    @rule(data=st.data())
    def mark_applied(self, data: st.DataObject) -> None:
        assert self.decide(data, ("approved",), lifecycle.mark_applied) in (None, "LOP-E027")

    @precondition(lambda self: self.rows("pending", "approved"))
    @rule(data=st.data(), follow=st.booleans())
    def apply(self, data: st.DataObject, follow: bool) -> None:
        self.carry_out(data.draw(st.sampled_from(self.rows("pending", "approved"))), data, follow)

    @rule(data=st.data(), kind=KINDS)
    def propose_and_apply(self, data: st.DataObject, kind: str) -> None:
        known = set(self.rows("pending"))
        self.propose(data, kind)
        for key in set(self.rows("pending")) - known:
            self.carry_out(key, data, follow=False)

    def carry_out(self, key: str, data: st.DataObject, follow: bool) -> None:
        """Approve where nobody has, with any choice, and apply."""
        befores = [world.recalled() for world in self.worlds]
        if self.row(self.worlds[0], key).status == "pending":
            choice = data.draw(
                st.integers(0, len(self.worlds[0].body(self.row(self.worlds[0], key)).choices) - 1)
            )
            now = self.tick()
            approved = self.decided(
                lambda world: lifecycle.approve(
                    world.substrate, self.row(world, key).address, "why", ANA, now, choice
                )
            )
            assert approved is None
        now = self.tick()
        reverted = [
            self.worlds[0].key(row)
            for op in lifecycle.approved(self.worlds[0].substrate, self.row(self.worlds[0], key).address)
            if isinstance(op, Revert)
            and (row := views.ledger_row(self.worlds[0].substrate, op.recommendation))
        ]
        code = self.decided(
            lambda world: lifecycle.apply(
                world.substrate, self.row(world, key).address, "why", ANA, now, allow_destructive=True
            )
        )
        if code is not None:
            assert code in ("LOP-E011", "LOP-E020", "LOP-E024", "LOP-E027", "CAL")
            return
        fresh = self.looked == self.writes
        self.writes += 1
        self.applied[key] = (befores, self.writes)
        for one in reverted:
            before, writes = self.applied.pop(one)
            if self.writes == writes + 1:  # a revert is an undo
                assert [world.recalled() for world in self.worlds] == before
        if follow and fresh:
            identity = self.row(self.worlds[0], key).identity
            later = self.tick()
            self.both(lambda world: go(world.substrate, later, full=True))
            open_ = views.ledger(self.worlds[0].substrate, ("pending", "approved"))
            assert identity not in [row.identity for row in open_]
        if data.draw(st.booleans()):
            self.take_back(key)

    @precondition(lambda self: self.applied)
    @rule(data=st.data())
    def rollback(self, data: st.DataObject) -> None:
        self.take_back(data.draw(st.sampled_from(sorted(self.applied))))

    def take_back(self, key: str) -> None:
        """Roll back, and compare with what recall answered before the apply."""
        befores, writes = self.applied[key]
        now = self.tick()
        code = self.decided(
            lambda world: lifecycle.rollback(world.substrate, self.row(world, key).address, "why", ANA, now)
        )
        if code is not None:
            kinds = {
                op.kind
                for one in self.worlds[0].body(self.row(self.worlds[0], key)).choices
                for op in one.operations
            }
            assert code == "LOP-E024" or (code == "LOP-E020" and kinds & {"forget", "revert"})
            assert code != "LOP-E024" or self.writes > writes, "only a later change can make an inverse unfit"
            return
        if self.writes == writes:
            assert [world.recalled() for world in self.worlds] == befores
        del self.applied[key]
        self.writes += 1

    # --- what always holds ---

    @invariant()
    def both_say_the_same(self) -> None:
        one, other = self.worlds
        assert [one.said(grain) for grain in one.live()] == [other.said(grain) for grain in other.live()]
        assert (one.query(), one.text()) == (other.query(), other.text())
        queues = [
            sorted((world.key(row), row.status, row.severity) for row in views.ledger(world.substrate))
            for world in self.worlds
        ]
        assert queues[0] == queues[1]

    @invariant()
    def every_chain_verifies(self) -> None:
        for world in self.worlds:
            for row in views.ledger(world.substrate):
                found = audit.chain(world.substrate, row)
                assert found.verified, found

    @invariant()
    def no_identity_is_open_twice(self) -> None:
        for world in self.worlds:
            open_ = [row.identity for row in views.ledger(world.substrate, ("pending", "approved"))]
            assert len(open_) == len(set(open_))

    @invariant()
    def the_loop_writes_in_its_namespace(self) -> None:
        for world in self.worlds:
            for kind in views.USER_TYPES:
                kept = kind in ("observation", "state")
                assert kept or not list(world.substrate.scan(kind, [LOOP_NAMESPACE]))


Histories.TestCase.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestHistories = Histories.TestCase


def test_both_memories_of_the_histories_save_queries(tmp_path: Path) -> None:
    """What the machine compares is there in both."""
    store = Store.open(tmp_path / "a.deja", clock=lambda: NOW)
    memories: list[Substrate] = [ReferenceSubstrate(), StoreSubstrate(store)]
    assert all(isinstance(memory, SavesQueries) for memory in memories)
    assert DefineQuery("open", "RECALL facts", None).kind == "define_query"
    store.close()
