# SPDX-License-Identifier: Apache-2.0
"""The five methods and the optional capabilities: rules SUB-1 to SUB-6 of `deja_tui.engine.substrate`."""

from __future__ import annotations

from typing import Any

from deja_tui.engine import views
from deja_tui.engine.conformance.filling import (
    DAY,
    EVERY_TYPE,
    NOW,
    Skipped,
    addresses,
    check,
    everything,
    go,
    new_fact,
    refused,
    there,
)
from deja_tui.engine.substrate import (
    LOOP_NAMESPACE,
    Atomic,
    Forgets,
    MarkKind,
    Substrate,
)
from deja_tui.errors import DejaError


@check
def empty_memory_is_empty(substrate: Substrate) -> None:
    """Reading what was never written is no error."""
    assert all(
        not list(substrate.scan(kind, spaces)) for kind in EVERY_TYPE for spaces in (None, [LOOP_NAMESPACE])
    )
    assert substrate.get("0" * 64) is None
    assert views.ledger(substrate) == []
    assert go(substrate, dry_run=True).proposed == 0


@check
def put_keeps_what_it_was_given(substrate: Substrate) -> None:
    """Type, namespace, time and fields come back under their long names; the address is 64 hexadecimal digits."""
    put = substrate.put(new_fact("é", namespace="n/ä"))
    assert put.new
    assert len(put.address) == 64
    assert set(put.address) <= set("0123456789abcdef")
    grain = there(substrate, put.address)
    assert (grain.address, grain.type, grain.namespace, grain.created_at) == (put.address, "fact", "n/ä", NOW)
    assert (grain.live, grain.superseded_by, grain.imported) == (True, None, False)
    assert [grain.get(name) for name in ("subject", "relation", "object", "confidence")] == [
        "s",
        "r",
        "é",
        0.5,
    ]
    assert grain.get("nothing") is None
    assert grain.get("nothing", 7) == 7
    assert grain.fields["object"] == "é"


@check
def scan_yields_in_arrival_order(substrate: Substrate) -> None:
    """SUB-1: seq rises with arrival, whatever the times say, and `after` leaves out what came before."""
    put = [substrate.put(new_fact(str(n), at=NOW - n * DAY)).address for n in range(5)]
    found = list(substrate.scan("fact"))
    assert addresses(found) == put
    seqs = [grain.seq for grain in found]
    assert seqs == sorted(set(seqs))
    assert addresses(substrate.scan("fact", None, seqs[2])) == put[3:]
    assert addresses(substrate.scan("fact", None, seqs[-1])) == []
    assert addresses(substrate.scan("event")) == []


@check
def scan_leaves_reserved_namespaces_out_unless_named(substrate: Substrate) -> None:
    """SUB-1: None is every namespace of the user's; a list is exactly that list."""
    spaces = ["shared", "other", LOOP_NAMESPACE, "loop", "agent:authz"]
    put = {space: substrate.put(new_fact("x", space)).address for space in spaces}
    assert addresses(substrate.scan("fact")) == [put["shared"], put["other"]]
    assert addresses(substrate.scan("fact", [LOOP_NAMESPACE])) == [put[LOOP_NAMESPACE]]
    assert addresses(substrate.scan("fact", ["other", "loop"])) == [put["other"], put["loop"]]
    assert addresses(substrate.scan("fact", ["Other", "nowhere"])) == []
    assert addresses(substrate.scan("fact", [])) == []


@check
def putting_the_same_twice_changes_nothing(substrate: Substrate) -> None:
    """SUB-2: the same address, not new, whatever became of the grain since."""
    first = substrate.put(new_fact("x"))
    substrate.mark(first.address, "hide")
    before = everything(substrate)
    again = substrate.put(new_fact("x"))
    assert (again.address, again.new) == (first.address, False)
    assert everything(substrate) == before
    assert substrate.put(new_fact("x", at=NOW + 1)).new
    assert substrate.put(new_fact("x", "other")).new


@check
def supersede_puts_one_grain_in_the_place_of_another(substrate: Substrate) -> None:
    """SUB-3: the old one is no longer live and names the new one; both are still there."""
    old = substrate.put(new_fact("old")).address
    put = substrate.supersede(old, new_fact("new"))
    assert put.new
    assert (there(substrate, old).live, there(substrate, old).superseded_by) == (False, put.address)
    assert there(substrate, put.address).live
    assert addresses(substrate.scan("fact")) == [old, put.address]


@check
def supersede_refuses_what_is_not_live(substrate: Substrate) -> None:
    """SUB-3: MEM-E002 for what was replaced, MEM-E001 for what is not there; nothing is written."""
    old = substrate.put(new_fact("old")).address
    substrate.supersede(old, new_fact("new"))
    before = everything(substrate)
    with refused("MEM-E002"):
        substrate.supersede(old, new_fact("other"))
    with refused("MEM-E001"):
        substrate.supersede("0" * 64, new_fact("other"))
    assert everything(substrate) == before


@check
def marks_say_what_is_live(substrate: Substrate) -> None:
    """SUB-4: the last mark counts; reopening takes back what was there before."""
    one, two = (substrate.put(new_fact(text)).address for text in ("one", "two"))
    steps: list[tuple[MarkKind, str | None, bool, str | None]] = [
        ("retire", two, False, two),
        ("reopen", two, True, None),
        ("hide", None, False, None),
        ("reopen", None, True, None),
        ("supersede", two, False, two),
        ("reopen", two, True, None),
    ]
    for kind, by, live, superseded_by in steps:
        substrate.mark(one, kind, by)
        assert (there(substrate, one).live, there(substrate, one).superseded_by) == (live, superseded_by), (
            kind
        )
        assert [g.live for g in substrate.scan("fact")] == [live, True], kind
    assert addresses(substrate.scan("fact")) == [one, two]
    with refused("MEM-E001"):
        substrate.mark("0" * 64, "hide")


@check
def an_act_is_all_or_nothing(substrate: Substrate) -> None:
    """SUB-5: whatever raises inside, nothing of the act is left; inner acts belong to the outer one."""
    if not isinstance(substrate, Atomic):
        raise Skipped("this memory offers no acts")
    kept = substrate.put(new_fact("kept")).address
    before = everything(substrate)
    for fault in (RuntimeError, DejaError, KeyboardInterrupt):
        try:
            with substrate.atomic():
                substrate.put(new_fact("a"))
                with substrate.atomic():
                    substrate.supersede(kept, new_fact("b"))
                views.set_setting(substrate, "probe", {"x": 1})
                substrate.mark(there(substrate, kept).superseded_by or "", "hide")
                raise fault(*(("LOP-E099", "x") if fault is DejaError else ()))
        except fault:
            pass
        else:
            raise AssertionError("an act must let what was raised inside it through")
        assert everything(substrate) == before
        assert views.setting(substrate, "probe") is None
    with substrate.atomic(), substrate.atomic():
        substrate.put(new_fact("a"))
    assert len(list(substrate.scan("fact"))) == 2


@check
def what_an_act_wrote_is_read_inside_it(substrate: Substrate) -> None:
    """A decision checks and changes in one act, so the act sees itself."""
    with views.atomic(substrate):
        put = substrate.put(new_fact("a")).address
        assert there(substrate, put).live
        substrate.mark(put, "hide")
        assert not there(substrate, put).live
        assert addresses(substrate.scan("fact")) == [put]
        views.set_setting(substrate, "k", 1)
        assert views.setting(substrate, "k") == 1


@check
def settings_are_kept(substrate: Substrate) -> None:
    """Small JSON values under a name, over the capability or a chain of State grains; never new to a gate."""
    assert views.setting(substrate, "a") is None
    values: list[Any] = [{"at": NOW, "deep": {"x": [1, 2]}}, 7, "text", {"at": NOW + 1}]
    for value in values:
        views.set_setting(substrate, "a", value)
        views.set_setting(substrate, "b", [value])
        assert views.setting(substrate, "a") == value
        assert views.setting(substrate, "b") == [value]
    assert views.position(substrate).grains == 0


@check
def forgetting_erases(substrate: Substrate) -> None:
    """The grain is gone from every read; later arrivals keep rising; it is not taken back (D31)."""
    if not isinstance(substrate, Forgets):
        raise Skipped("this memory cannot forget")
    one, two = (substrate.put(new_fact(text)).address for text in ("one", "two"))
    last = there(substrate, two).seq
    substrate.forget(two)
    assert substrate.get(two) is None
    assert addresses(substrate.scan("fact")) == [one]
    three = substrate.put(new_fact("three")).address
    assert there(substrate, three).seq > last
    with refused("MEM-E003"):
        substrate.put(new_fact("two"))
    with refused("MEM-E001"):
        substrate.mark(two, "reopen")


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "a\u202eb",
    "a\u200bb",
    "a\u2028b",
    "e\u0301",
    "日本語",
    "«x»",
    "'\";--",
    "a\nb\tc",
    "x" * 5_000,
]


@check
def hostile_text_comes_back_as_it_was_given(substrate: Substrate) -> None:
    """SUB-6: a memory keeps text in NFC and otherwise untouched; only surfaces clean it."""
    for text in HOSTILE:
        address = substrate.put(new_fact(text)).address
        assert there(substrate, address).get("object") == text.replace("e\u0301", "é")
