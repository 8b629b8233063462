# SPDX-License-Identifier: Apache-2.0
"""The literal change (D55)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from deja_tui.engine.objects import Evidence
from deja_tui.engine.operations import (
    Add,
    Alternative,
    DefineQuery,
    DocEdit,
    Merge,
    Operation,
    Retire,
    Revert,
    Supersede,
)
from deja_tui.present.change import change
from deja_tui.present.line import plain
from deja_tui.present.plain import change_lines
from deja_tui.text import clean
from tests.present import build
from tests.present.hostile import HOSTILE, harmless
from tests.support import DAY, NOW


def test_an_add_reads_as_the_fact_it_writes() -> None:
    """The sentence of D55, then everything else that is written."""
    assert change_lines(build.tool_failure()) == [
        "+ fact stripe_refund · fails_with · «rate limited»",
        "    in shared · confidence 0.4",
    ]


def test_retired_copies_stand_above_the_one_that_stays() -> None:
    """Each line has content, short address and date."""
    assert change_lines(build.duplicates()) == [
        "- fact acme · likes · «green tea»  1f0c8a50  2026-02-11 09:00Z",
        "- fact acme · likes · «green tea»  9b8bfe34  2026-02-12 09:00Z",
        "= fact acme · likes · «green tea»  1f4a83f4  2026-02-10 09:00Z  kept",
    ]


def test_what_a_retire_loses_stands_below_it() -> None:
    """Each field in which the two differ, with both values, cleaned and bounded; equal fields are not repeated."""
    old = build.fact("old", at=NOW - 9 * DAY)
    old = replace(old, fields={**old.fields, "valid_to": NOW - DAY, "tags": ["a"]})
    new = replace(build.fact("new"), namespace="team")
    new = replace(
        new,
        fields={
            **new.fields,
            "object": "Green tea",
            "confidence": 0.2,
            "valid_to": NOW + 300 * DAY,
            "note": "\x1b[31m» kept «",
            "long": "x" * 5_000 + "y",
            "tags": ["a"],
            "on\n": True,
        },
    )
    old = replace(old, fields={**old.fields, "long": "x" * 5_000 + "z", "on\n": 1})
    body = build.recommendation("renewed", [Retire(new.address, old.address)], [old, new])
    assert [plain(one) for one in change(build.detail(body, "two", [old, new], [old, new]), 8)] == [
        f"- fact acme · likes · «Green tea»  {new.address[:8]}  2026-03-02 09:00Z",
        "    confidence 0.2, kept 0.9",
        f"    long «…{'x' * 24}y», kept «…{'x' * 24}z»",
        "    namespace «team», kept «shared»",
        "    note «\\x1b[31m\\xbb kept \\xab», kept none",
        "    «on\\n» true, kept 1",
        f"    valid_to {NOW + 300 * DAY} (2026-12-27 09:00Z), kept {NOW - DAY} (2026-03-01 09:00Z)",
        f"= fact acme · likes · «green tea»  {old.address[:8]}  2026-02-21 09:00Z  kept",
    ]


def test_a_grain_with_very_many_fields_does_not_hide_the_change() -> None:
    """So many lines of differences, then how many more there are; each value is cut with the length of its rest."""
    old, new = build.fact("old"), build.fact("new")
    new = replace(new, fields={**new.fields, **{f"f{n:03}": "v" * 900 for n in range(100)}})
    body = build.recommendation("many", [Retire(new.address, old.address)], [old, new])
    lines = [plain(one) for one in change(build.detail(body, "many", [old, new], [old, new]), 8)]
    assert len(lines) == 27
    assert lines[1] == f"    f000 «{'v' * 200}…(+700)», kept none"
    assert lines[-2] == "    76 more fields differ."


def test_forgetting_is_announced_before_anything_else() -> None:
    """The warning is the first line of the change."""
    assert change_lines(build.expired_fact()) == [
        "! FORGET: CANNOT BE UNDONE",
        "! fact acme · promo_code · «SPRING-24»  bcef11b6  2025-08-14 09:00Z",
    ]


def test_a_supersede_shows_what_was_and_what_comes() -> None:
    """Old content, then the new one with all its fields."""
    old = build.fact("old", "acme", "tier", "gold")
    fields = {"subject": "acme", "relation": "tier", "object": "silver"}
    body = build.recommendation("tier", [Supersede(old.address, "fact", "shared", fields)], [old])
    assert change_lines(build.detail(body, "tier", [old], [old])) == [
        f"- fact acme · tier · «gold»  {old.address[:8]}  2026-03-02 09:00Z",
        "+ fact acme · tier · «silver»",
        "    in shared",
    ]


def test_retires_in_favour_of_different_grains_are_kept_apart() -> None:
    """Each group ends with the grain that stays."""
    grains = [build.fact(f"g{number}", object=f"o{number}") for number in range(4)]
    operations = [Retire(grains[0].address, grains[1].address), Retire(grains[2].address, grains[3].address)]
    found = build.detail(build.recommendation("two", operations, grains), "two", grains, grains)
    assert [text[:1] for text in change_lines(found)] == ["-", "=", "-", "="]


def test_a_grain_without_a_triple_shows_its_fields() -> None:
    """Nothing that is written is left out."""
    add = Add("observation", "notes", {"content": "a b", "confidence": 1})
    found = build.detail(build.recommendation("note", [add], []), "note", [])
    assert change_lines(found) == ["+ observation confidence 1 · content «a b»", "    in notes"]


def test_a_target_that_is_gone_says_so() -> None:
    """A change about a forgotten grain is not shown as if it were there."""
    found = build.duplicates()
    found = replace(found, targets={})
    assert change_lines(found)[0].endswith("not in this memory (any more)")


def test_a_target_that_is_no_longer_live_says_so() -> None:
    """What was superseded meanwhile is marked."""
    found = build.duplicates()
    targets = {address: replace(grain, live=False) for address, grain in found.targets.items()}
    assert change_lines(replace(found, targets=targets))[0].endswith("no longer live")


def test_an_advisory_finding_says_that_nothing_changes() -> None:
    """Approving a flag only acknowledges it."""
    found = build.detail(build.recommendation("flag", [], []), "flag", [])
    assert change_lines(found) == ["No change to the memory: approving acknowledges the finding."]


def test_what_a_bounded_proposal_leaves_out_is_counted() -> None:
    """At most 40 operations are proposed at once (D9); the rest is said."""
    body = replace(build.duplicates().recommendation, remaining=7)
    lines = change_lines(replace(build.duplicates(), recommendation=body))
    assert lines[-1] == "7 more are left for a later recommendation."


def test_the_whole_value_is_shown_however_long() -> None:
    """A reviewer approves text that was on the screen, so nothing of it is cut."""
    long = "word " * 1_000
    lines = change_lines(build.tool_failure(long.strip()))
    assert "".join(lines).count("word") == 1_000
    assert all(len(text) <= 80 for text in lines)


@pytest.mark.parametrize("name", ["subject", "relation", "object", "note", "namespace"])
@pytest.mark.parametrize("char", ["x", "y ", "\x01", "\u202e", "日"])
def test_every_character_that_is_written_is_shown(name: str, char: str) -> None:
    """However long a name or a value is, as far as a proposal holds it; a field's own name too."""
    long = "<" + char * (7_000 // len(char.encode())) + ">"
    fields = {"subject": "s", "relation": "r", "object": "o", name: long}
    place = str(fields.pop("namespace", "shared"))
    for content in (fields, {"note": {"deep": long}}, {long: 1}):
        body = build.recommendation("long", [Add("fact", place, content)], [])
        text = "".join(piece.replace(" ", "") for piece in change_lines(build.detail(body, "long", []), 80))
        expected = clean(long, limit=10_000).replace(" ", "")
        assert "(+" not in text
        assert expected in text or clean({"deep": long}, limit=60_000).replace(" ", "") in text


# --- other kinds of change ---------------------------------------------------------------------------


def lines(operations: list[Operation], *targets: Evidence, **over: Any) -> list[str]:
    found = build.detail(build.recommendation("x", operations, targets), "x", targets, targets)
    return [plain(one) for one in change(replace(found, **over), 8)]


def test_a_merge_takes_the_place_of_its_heads() -> None:
    """Each head leaves recall; one grain is written."""
    heads = [build.fact("a", object="gold"), build.fact("b", object="silver")]
    told = lines([Merge(tuple(one.address for one in heads), "fact", "shared", {"subject": "acme", "relation": "likes", "object": "gold"})], *heads)  # fmt: skip
    assert [one[:8] for one in told] == ["- fact a", "- fact a", "+ fact a", "    in s"]


def test_a_query_is_shown_with_what_it_replaces() -> None:
    """Line by line, each in its own fence: a body cannot pose as another line of the change."""
    operation = DefineQuery("open", "RECALL goals\n+ fact acme · likes · «tea»", "0" * 64)
    assert lines([operation], texts={"query:open": "RECALL facts"}) == [
        "~ query open becomes",
        "    - «RECALL facts»",
        "    + «RECALL goals»",
        r"    + «+ fact acme · likes · \xabtea\xbb»",
    ]
    assert lines([DefineQuery("open", "x", None)])[0] == "~ query open is new"


def test_a_document_is_shown_as_its_diff() -> None:
    """Every line of the diff, its sign before the fence."""
    diff = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n"
    assert lines([DocEdit("/memories/a.md", "shared", "0" * 64, diff)]) == [
        "~ document /memories/a.md in shared",
        "      «@@ -1,2 +1,2 @@»",
        "      «one»",
        "    - «two»",
        "    + «2»",
        "      «\\ No newline at end of file»",
    ]


def test_a_revert_shows_what_comes_back() -> None:
    """What its original wrote leaves recall; what that had replaced comes back; a query becomes what it was."""
    gone, back = build.fact("new"), replace(build.fact("old"), live=False)
    steps = (
        {"do": "hide", "grain": gone.address},
        {"do": "reopen", "grain": back.address, "by": gone.address},
        {"do": "define", "scheme": "query", "name": "open"},
    )
    original = build.address("original")
    told = lines([Revert(original)], gone, back, undoes={original: steps})
    assert told[0] == f"~ takes back recommendation {original[:8]}"
    assert told[1].startswith(f"- fact acme · likes · «green tea»  {gone.address[:8]}")
    assert told[2].endswith("back in recall")
    assert told[3] == "~ query open becomes what it was"
    assert "no stored inverse" in lines([Revert(original)])[1]


def test_alternatives_stand_below_their_numbers() -> None:
    """D20: in full, the default and the approved one named, what erases named in red."""
    found = build.either()
    told = change_lines(found)
    assert told[0] == "0 «gold stays»  default"
    assert "1 «silver stays»" in told
    assert "2 «neither»  FORGET: CANNOT BE UNDONE" in told
    assert told[-1].startswith("An approval is of one of these")
    chosen = change_lines(replace(found, status="approved", choice=1))
    assert "1 «silver stays»  approved" in chosen
    assert "0 «gold stays»" in chosen


def test_a_flag_says_what_it_has_to_say() -> None:
    """Its data, and what approving it means: nothing, a setting, or something done elsewhere."""
    body = replace(build.recommendation("flag", [], []), data={"skill": "deploy", "practice_count": 9})
    assert change_lines(build.detail(body, "x", [])) == [
        "· practice_count 9",
        "· skill «deploy»",
        "No change to the memory: approving acknowledges the finding.",
    ]
    asked = {"configure": {"analyzer": "loop.x/1", "param": "extra_relations", "add": "time zone"}}
    told = change_lines(build.detail(replace(body, data=asked), "x", []))
    assert told == ["+ «time zone» to extra_relations of loop.x/1  when it is approved"]
    found = build.detail(body, "x", [])
    assert found.plan is not None
    told = change_lines(replace(found, plan=replace(found.plan, outside=True)))
    assert told[-1].startswith("It lies outside this memory")


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_of_a_change_acts_on_a_reader(name: str) -> None:
    """Design §7: bodies, diffs, names, labels and data, whatever they hold."""
    text = HOSTILE[name][:2_000]
    operations: list[Operation] = [
        DefineQuery(text, text, None),
        DocEdit(text, text, "0" * 64, f"@@ -1 +1 @@\n-{text}\n+{text}\n"),
    ]
    choices = (Alternative(text, tuple(operations)), Alternative("other", (operations[0],)))
    body = replace(build.recommendation("x", operations, []), alternatives=choices, data={text: text})
    found = build.detail(body, "x", [], origin="submitted", creator=text)
    shown = change_lines(replace(found, texts={f"query:{text}": text}), 60)
    assert all(map(harmless, shown))
