# SPDX-License-Identifier: Apache-2.0
"""A fault of the console's own costs the question or the key it happened in; what ends the console is one coded line."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from textual.worker import WorkerFailed

from deja_tui.console import mishap
from deja_tui.errors import DejaError
from deja_tui.screens.overview import OverviewScreen
from tests.screens.fake import FakeReviews
from tests.screens.user import Hand, User, make_app
from tests.support import NOW

SECRET = "the text of a grain"


class Broken(FakeReviews):
    """A memory with a fault that has no code; its message and its locals hold text of the memory."""

    def stats(self) -> dict[str, object]:
        held = {"content": SECRET}
        raise KeyError(held["content"])


def read(folder: Path) -> str:
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_text(encoding="utf-8")


async def test_a_fault_in_a_question_leaves_the_console_up(tmp_path: Path) -> None:
    """MISHAP-1: code, kind and the file of the report are said; the panels work on; the report holds no text of a grain."""
    folder = tmp_path / "state" / "reports"
    app = make_app(Broken(), at="overview", reports=folder)
    async with app.run_test(size=(120, 40)) as pilot:
        user = User(app, pilot, app.feed.reviews, Hand())  # type: ignore[arg-type]
        await user.settle()
        assert user.flash.startswith(
            "CON-E005 the console met a fault of its own (KeyError). Next: its report"
        )
        assert user.marked(), "what could be read is shown"
        await user.press("3")
        assert "[3 Queue:3]" in user.title
    assert (app.return_code, app.ended_by, len(app.mishaps)) == (None, None, 1)
    told = read(folder)
    assert SECRET not in told
    assert "CON-E005" in told
    assert "builtins.KeyError" in told
    assert "in stats" in told
    assert str(tmp_path) not in told


async def test_a_fault_in_a_key_costs_that_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flash says so; the next key is heard. A coded error of a handler is told as itself."""
    app = make_app(at="overview", reports=tmp_path)
    faults = [RuntimeError(SECRET), DejaError("STO-E004", "locked", "wait"), RuntimeError(SECRET)]

    def fall(self: OverviewScreen) -> None:
        raise faults.pop(0)

    monkeypatch.setattr(OverviewScreen, "do_sort", fall)
    async with app.run_test(size=(80, 24)) as pilot:
        user = User(app, pilot, app.feed.reviews, Hand())  # type: ignore[arg-type]
        await user.settle()
        await user.press("o")
        assert user.flash.startswith("CON-E005 the console met a fault of its own (RuntimeError). Next:")
        assert SECRET not in user.text
        await user.press("o")
        assert user.flash.startswith("STO-E004 locked")
        await user.press("o", "4")
        assert "[4 Analyzers]" in user.title
    assert len(app.mishaps) == 2
    assert SECRET not in read(tmp_path), "the same fault is reported once"


async def test_what_nothing_caught_ends_the_console_in_one_coded_line(tmp_path: Path) -> None:
    """A fault while drawing: status 1, no traceback with its locals, a report without them."""
    app = make_app(at="overview", reports=tmp_path)

    def fall() -> None:
        held = SECRET
        raise ValueError(f"boom {held}")

    async def until_it_falls() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            app.screen.call_later(fall)
            await pilot.pause()

    with pytest.raises(ValueError, match="boom"):
        await until_it_falls()
    assert app.return_code == 1
    assert app.ended_by is not None
    assert app.ended_by.code == "CON-E005"
    assert not app._exit_renderables, "Textual would print the locals of every frame"
    assert SECRET not in read(tmp_path)


def test_a_report_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    """MISHAP-2: the code is said all the same."""
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    fault = mishap.told(ValueError(SECRET), blocked / "reports", NOW)
    assert fault.code == "CON-E005"
    assert "could not be kept" in fault.next_step
    assert SECRET not in f"{fault} {fault.next_step}"


def test_the_fault_of_a_worker_is_told_as_itself(tmp_path: Path) -> None:
    """Its wrapper has neither kind nor place: the report names what it carries."""
    try:
        raise KeyError(SECRET)
    except KeyError as fault:
        wrapper = WorkerFailed(fault)
    assert "(KeyError)" in mishap.told(wrapper, tmp_path, NOW).message
    assert "test_mishaps.py" in mishap.place(wrapper)
    assert "builtins.KeyError" in read(tmp_path)
    assert SECRET not in read(tmp_path)


async def test_a_panel_that_cannot_even_say_so_leaves_the_console_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing fails both with the answer and with the fault of it: one line, and the other places work."""
    app = make_app(at="queue")
    async with app.run_test(size=(80, 24)) as pilot:
        user = User(app, pilot, app.feed.reviews, Hand())  # type: ignore[arg-type]
        await user.settle()

        def broken(self: OverviewScreen) -> None:
            raise KeyError(SECRET)

        await user.press("1")
        monkeypatch.setattr(OverviewScreen, "draw", broken)
        await user.press("r")
        assert user.flash.startswith("CON-E005 the console met a fault of its own (KeyError)")
        await user.press("3")
        assert "[3 Queue:3]" in user.title
    assert app.ended_by is None
