# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from deja_tui.capture.report import LOSS_ROWS, NOTE_LINES, FileReport, ImportReport, Loss, Tally
from deja_tui.items import UNKNOWN_TOOL
from tests.capture.sink import Result


def tally(*calls: str, results: dict[str, bool] | None = None) -> Tally:
    made = Tally()
    for call_id in calls:
        made.calls.call(call_id, "Bash")
    for call_id, failed in (results or {}).items():
        made.calls.result(call_id, failed=failed)
    return made


def test_a_call_counts_once() -> None:
    """REP-1: the second call or result with an id changes no figure."""
    made = tally("a", "b", results={"a": True, "x": True})
    assert (made.calls.call("a", "Read"), made.calls.result("a", failed=False)) == (False, False)
    figures = made.figures()
    assert (figures["tool_calls"], figures["tool_results"], figures["tool_errors"]) == (2, 2, 2)
    assert figures["errors_by_tool"] == {UNKNOWN_TOOL: 1, "Bash": 1}
    assert (figures["calls_without_result"], figures["results_without_call"]) == (1, 1)
    assert figures["calls_by_tool"] == {"Bash": 2}


def test_the_total_joins_files() -> None:
    """REP-2: a call in one file and its result in another are one answered call; the first result counts."""
    report = ImportReport("claude-code")
    for number, part in enumerate((tally("a"), tally(results={"a": True}), tally("a", results={"a": False}))):
        file = FileReport(f"{number}.jsonl", part)
        part.sessions.add("s")
        part.records = 2
        file.stored(Result(1, 2, 3, 4))
        report.take(file)
    told = report.to_json()
    assert (told["records"], told["sessions"]) == (6, 1)
    assert (told["tool_calls"], told["tool_results"], told["tool_errors"]) == (1, 1, 1)
    assert (told["calls_without_result"], told["results_without_call"]) == (0, 0)
    assert (told["added"], told["skipped"], told["completed"], told["forgotten"]) == (3, 6, 9, 12)
    assert [row["tool_calls"] for row in told["files"]] == [1, 0, 1]
    assert [row["results_without_call"] for row in told["files"]] == [0, 1, 0]


def test_rows_are_bounded() -> None:
    """REP-4: beyond the bound losses are only counted, and a note names its first lines only."""
    file = FileReport("a.jsonl")
    for line in range(1, LOSS_ROWS + 11):
        file.lose(line, "not JSON")
        file.note(line, "odd")
    assert file.losses[0] == Loss("a.jsonl", 1, "not JSON")
    assert (len(file.losses), file.loss_total) == (LOSS_ROWS, LOSS_ROWS + 10)
    [note] = file.notes
    assert (note["count"], note["lines"]) == (LOSS_ROWS + 10, list(range(1, NOTE_LINES + 1)))


def test_many_kinds_are_cut() -> None:
    """REP-4: a file that invents kinds of records gets one row for those that are too many."""
    made = Tally()
    for number in range(1000):
        made.record_types[f"kind {number:04d}"] += 1
    kinds = made.figures()["record_types"]
    assert (len(kinds), sum(kinds.values()), kinds["(other)"]) == (101, 1000, 900)


def test_closing_frees_the_ids() -> None:
    """REP-1: after a file is taken its figures stay, and what was needed for counting is gone."""
    report = ImportReport("claude-code")
    file = FileReport("a.jsonl", tally("a", results={"a": True}))
    report.take(file)
    assert file.tally.figures() == Tally().figures()
    assert file.figures["tool_errors"] == report.figures["tool_errors"] == 1
