# SPDX-License-Identifier: Apache-2.0
"""Store work happens on one other thread; late answers are known to be late."""

from __future__ import annotations

import asyncio
import threading

import pytest

from deja_tui.console.feed import Feed
from deja_tui.errors import DejaError
from tests.screens.fake import FakeReviews
from tests.screens.user import console


async def test_work_runs_on_one_thread_that_is_not_the_asking_one() -> None:
    """Always the same, so it has one connection of its own."""
    feed = Feed(FakeReviews())
    threads = [(await feed.ask("who", lambda reviews: threading.current_thread())).value for _ in range(3)]
    assert len(set(threads)) == 1
    assert threads[0] is not threading.current_thread()
    feed.close()


async def test_an_older_answer_is_late_when_a_newer_question_was_asked() -> None:
    """The generation of its kind decides, not the order of arrival."""
    feed = Feed(FakeReviews())
    first = asyncio.ensure_future(feed.ask("detail", lambda reviews: 1))
    other = asyncio.ensure_future(feed.ask("queue", lambda reviews: 2))
    second = asyncio.ensure_future(feed.ask("detail", lambda reviews: 3))
    answers = await asyncio.gather(first, other, second)
    assert [answer.late for answer in answers] == [True, False, False]
    feed.close()


async def test_work_keeps_its_order() -> None:
    """A read that is asked after a decision sees it."""
    feed, order = Feed(FakeReviews()), []
    await asyncio.gather(
        *(feed.ask(str(number), lambda _, n=number: order.append(n)) for number in range(20))
    )
    assert order == list(range(20))
    feed.close()


async def test_a_change_is_told_once() -> None:
    """The first answer is no; then only when the token differs."""
    reviews = FakeReviews()
    feed = Feed(reviews)
    assert [await feed.changed() for _ in range(2)] == [False, False]
    reviews.token += 1
    assert [await feed.changed() for _ in range(2)] == [True, False]
    feed.close()


async def test_closing_lets_a_decision_that_was_asked_for_finish() -> None:
    """What a person confirmed with Enter is not lost because they left at once."""
    feed, done = Feed(FakeReviews()), []
    started = threading.Event()

    def slow(reviews: object) -> None:
        started.set()
        done.append(1)

    asked = asyncio.ensure_future(feed.ask("act", slow))
    await asyncio.sleep(0)
    feed.close()
    assert done == [1]
    await asked


async def test_a_fault_of_the_memory_comes_back_to_the_asker() -> None:
    """As it was raised."""
    reviews = FakeReviews()
    reviews.faults["queue"] = DejaError("STO-E009", "the file is damaged")
    feed = Feed(reviews)
    with pytest.raises(DejaError, match="STO-E009"):
        await feed.ask("queue", lambda memory: memory.queue())
    feed.close()


async def test_the_ui_thread_never_calls_the_memory() -> None:
    """Every method is called from a thread of the feed: decisions and lists in turn, what fills in a panel beside them."""
    reviews = FakeReviews()
    callers: set[str] = set()
    stumble = reviews.stumble

    def noted(name: str) -> None:
        callers.add(threading.current_thread().name.rpartition("_")[0])
        stumble(name)

    reviews.stumble = noted
    async with console(reviews) as user:
        await user.press("j", "enter", "d", "r", "h", "w", "a")
        await user.type("why")
        await user.press("enter", "p")
        await user.type("because")
        await user.press("enter", "u", "escape", "q")
        user.app.poll()
        await user.settle()
    assert callers <= {"deja-feed", "deja-filling"}
    assert "deja-feed" in callers


async def test_an_answer_that_comes_late_does_not_replace_a_newer_one() -> None:
    """Held still, then released: the preview shows what is selected now."""
    reviews = FakeReviews()
    async with console(reviews) as user:
        screen = user.screen
        gate = threading.Event()
        show = reviews.show

        def held(address: str, *, allow_destructive: bool = False):
            gate.wait(5)
            return show(address)

        reviews.show = held
        screen.listing.move(1)
        user.hand.now += 1
        screen.listing.move(1)
        gate.set()
        await user.settle()
        assert screen.row.analyzer == "loop.duplicate_sweep/1"
        assert screen.previewing == screen.row.address
