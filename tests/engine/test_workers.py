"""What overlaps: reviews with the next steps, and the export's execution with the last ones."""

from __future__ import annotations

import asyncio
from typing import Any

from aide_jupyter import records as r
from aide_jupyter.audit.journal import read_records
from aide_jupyter.engine import Engine

from .conftest import House


async def until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0)


async def settle() -> None:
    """Let everything happen that can."""
    for _ in range(500):
        await asyncio.sleep(0)


async def export(engine: Engine, why: str) -> None:
    """Finish as the product does: the best program is run again."""
    best = engine.state.best_candidate()
    assert best is not None
    rerun = await engine.rerun(best, engine.blobs.text(best.code).splitlines())
    engine.journal.append(r.Closed(why=f"{why}; {best.id} again: {rerun.status} {rerun.value}", best=best.id))


def exports(house: House) -> list[tuple[str, str]]:
    """The candidate and status of every execution for the export that has ended."""
    records = read_records(house.folder / "journal.jsonl")
    ended = [one.data for one in records if one.kind == "finished" and one.data["purpose"] == "export"]
    return [(str(one["candidate"]), str(one["status"])) for one in ended]


def held(house: House, workers: int, steps: int, **more: Any) -> Engine:
    """An engine whose reviewer does not answer yet."""
    engine = house.begin(steps=steps, workers=workers, **more)
    house.model.hold_reviews = asyncio.Event()
    return engine


def test_a_worker_goes_on_while_its_review_is_out_until_as_many_as_workers_are(house: House) -> None:
    async def story() -> None:
        engine = held(house, workers=2, steps=6)
        run = asyncio.create_task(engine.run())
        await settle()
        assert (house.model.reviewing, len(house.kernels.ran), len(engine.state.candidates)) == (3, 3, 3)
        assert house.model.hold_reviews is not None
        house.model.hold_reviews.set()
        await run
        assert sorted(house.model.reviewed) == sorted(engine.state.candidates)
        assert all(node.done for node in engine.state.candidates.values())

    asyncio.run(story())
    assert len(house.kernels.ran) == 6


def test_the_first_drafts_are_written_while_others_run_but_no_more_programs_run_than_workers(house: House) -> None:
    async def story() -> None:
        house.kernels.hold = asyncio.Event()
        engine = house.begin(steps=8, workers=2, drafts=5)
        run = asyncio.create_task(engine.run())
        await settle()
        assert house.model.authored == ["c0001", "c0002", "c0003", "c0004"]
        assert house.kernels.running == 2
        house.kernels.hold.set()
        await run
        operators = [node.operator for node in engine.state.candidates.values()]
        assert operators == ["draft"] * 5 + ["improve"] * 3

    asyncio.run(story())
    assert len(house.kernels.ran) == 8


def test_what_was_written_ahead_does_not_run_when_the_run_is_stopped(house: House) -> None:
    async def story() -> None:
        house.kernels.hold = asyncio.Event()
        engine = house.begin(steps=8, workers=2, drafts=5)
        run = asyncio.create_task(engine.run())
        await settle()
        engine.stop("a person asked for it")
        house.kernels.hold.set()
        await run
        assert engine.state.closed is not None
        assert all(node.done for node in engine.state.candidates.values())

    asyncio.run(story())
    assert len(house.kernels.ran) == 2


def test_one_worker_alone_waits_for_each_review_before_the_next_step(house: House) -> None:
    async def story() -> None:
        engine = held(house, workers=1, steps=3)
        run = asyncio.create_task(engine.run())
        await settle()
        assert (house.model.reviewing, len(engine.state.candidates)) == (1, 1)
        assert house.model.hold_reviews is not None
        house.model.hold_reviews.set()
        await run

    asyncio.run(story())
    records = read_records(house.folder / "journal.jsonl")
    order = [str(one.data["candidate"]) for one in records if one.kind in ("chosen", "reviewed")]
    assert order == ["c0001", "c0001", "c0002", "c0002", "c0003", "c0003"]


def test_a_fault_in_a_review_ends_the_run_as_one_anywhere(house: House) -> None:
    class Broken(Exception):
        pass

    async def broken(*arguments: Any, **more: Any) -> Any:
        raise Broken

    async def story() -> str:
        engine = house.begin(steps=6, workers=2)
        house.model.review = broken  # type: ignore[method-assign]
        try:
            await engine.run()
        except Broken:
            return engine.state.phase(owned=False)
        return "it went on"

    assert asyncio.run(story()) == "interrupted"


def test_the_exports_execution_begins_while_the_last_program_runs_and_is_not_made_twice(house: House) -> None:
    async def story() -> None:
        house.kernels.metric = lambda number: number  # the first stays the best
        engine = house.begin(steps=3, workers=2, finish=export)
        last, again = asyncio.Event(), asyncio.Event()
        house.kernels.holds = {3: again, 4: last}  # c0003 is still being written when the export begins
        run = asyncio.create_task(engine.run())
        await until(lambda: len(house.kernels.ran) == 4)
        assert engine.state.candidates["c0003"].finished is None
        again.set()
        await until(lambda: exports(house))
        last.set()
        await run
        assert engine.state.closed is not None
        assert "again: ok" in engine.state.closed.why

    asyncio.run(story())
    assert len(house.kernels.ran) == 4
    assert len(exports(house)) == 1


def test_the_export_takes_no_slot_from_a_program_that_was_written_and_waits_for_one(house: House) -> None:
    house.kernels.metric = lambda number: number  # the first stays the best
    asyncio.run(house.begin(steps=4, workers=2, drafts=4, finish=export).run())
    records = read_records(house.folder / "journal.jsonl")
    order = [str(one.data["purpose"]) for one in records if one.kind == "started"]
    assert order in (["search"] * 4 + ["export"], ["search"] * 3 + ["export", "search"])
    assert exports(house) == [("c0001", "ok")]


def test_where_another_candidate_becomes_the_best_it_is_that_one_that_is_exported(house: House) -> None:
    async def story() -> str | None:
        engine = house.begin(steps=2, workers=2, finish=export)
        house.kernels.metric = lambda number: 1 / number
        last = asyncio.Event()
        run_cells = {}

        def slow(candidate: str) -> bool:
            return candidate == "c0002"

        original = engine._run_cells

        async def run_in_order(node: Any, cells: Any, purpose: Any, metric: Any) -> Any:
            run_cells[node.id, purpose] = True
            if slow(node.id) and purpose == "search":
                await last.wait()
            if node.id == "c0001" and purpose == "export":
                house.kernels.hold = asyncio.Event()  # until it is stopped
            elif purpose == "export":
                house.kernels.hold = None
            return await original(node, cells, purpose, metric)

        engine._run_cells = run_in_order  # type: ignore[method-assign]
        run = asyncio.create_task(engine.run())
        await until(lambda: ("c0001", "export") in run_cells)
        await settle()
        house.kernels.hold = None
        last.set()
        await run
        return engine.state.best

    assert asyncio.run(story()) == "c0002"
    assert exports(house) == [("c0001", "stopped"), ("c0002", "ok")]


def test_what_ran_ahead_is_ended_where_this_process_leaves(house: House) -> None:
    async def story() -> None:
        engine = house.begin(steps=2, workers=2, finish=export)
        house.model.hold_reviews = asyncio.Event()
        run = asyncio.create_task(engine.run())
        await until(lambda: house.model.reviewing == 2)
        house.kernels.hold = asyncio.Event()
        await settle()
        engine.leave("a test says so", r.SYSTEM)
        house.model.hold_reviews.set()
        await run
        assert engine.state.closed is None
        assert house.kernels.running == 0

    asyncio.run(story())


def test_a_program_whose_kernel_comes_after_stop_now_never_runs(house: House) -> None:
    async def story() -> None:
        engine = house.begin(steps=1)
        acquire, may_have_it = house.kernels.acquire, asyncio.Event()
        house.kernels.hold = asyncio.Event()
        asked = asyncio.Event()

        async def late() -> Any:
            asked.set()
            await may_have_it.wait()
            return await acquire()

        house.kernels.acquire = late  # type: ignore[method-assign]
        run = asyncio.create_task(engine.run())
        await asked.wait()
        engine.stop_now("a person asked for it")
        may_have_it.set()
        await asyncio.wait_for(run, 60)
        finished = engine.state.candidates["c0001"].finished
        assert finished is not None
        assert finished.status == "stopped"

    asyncio.run(story())
