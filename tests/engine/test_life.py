"""The life of a candidate and the loop around it: what is recorded, and when."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from aide_jupyter import records as r
from aide_jupyter.audit.journal import Anchor, read_records
from aide_jupyter.errors import BudgetSpent, ModelError, ModelUnusable

from .conftest import SECRET, House

USER = r.Actor(kind="user", name="ada")


def kinds(house: House, candidate: str) -> list[str]:
    records = read_records(house.folder / "journal.jsonl")
    return [one.kind for one in records if one.data.get("candidate") == candidate and one.kind != "spent"]


def started(house: House) -> Counter[str]:
    records = read_records(house.folder / "journal.jsonl")
    return Counter(str(one.data["candidate"]) for one in records if one.kind == "started")


async def until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0)


def test_a_candidate_lives_from_chosen_to_reviewed_in_order(house: House) -> None:
    engine = house.begin(steps=1)
    asyncio.run(engine.run())
    assert kinds(house, "c0001") == ["chosen", "proposed", "decided", "started", "finished", "graded", "reviewed"]
    assert engine.state.closed is not None
    assert engine.state.closed.why == "all steps were taken"


def test_the_start_is_on_disk_before_the_program_is_sent(house: House) -> None:
    engine = house.begin(steps=1)
    seen = []
    acquire = house.kernels.acquire

    async def watched() -> Any:
        kernel = await acquire()
        run = kernel.run_cells

        async def run_cells(*arguments: Any) -> Any:
            seen.append([one.kind for one in read_records(house.folder / "journal.jsonl")][-1])
            return await run(*arguments)

        kernel.run_cells = run_cells  # type: ignore[method-assign]
        return kernel

    house.kernels.acquire = watched  # type: ignore[method-assign]
    asyncio.run(engine.run())
    assert seen == ["started"]


def test_the_best_of_all_steps_is_named_at_the_end(house: House) -> None:
    engine = house.begin(steps=4)
    asyncio.run(engine.run())
    assert (engine.state.best, engine.state.steps) == ("c0004", 4)


def test_no_more_kernels_are_asked_for_than_programs_can_come(house: House) -> None:
    asyncio.run(house.begin(steps=3).run())
    assert house.kernels.expected == [4, 3, 2], "the export's program comes last"


def test_a_model_that_gives_no_program_is_a_failed_step_and_not_the_end(house: House) -> None:
    engine = house.begin(steps=3)
    house.model.faults[2] = ModelError("no program came")
    asyncio.run(engine.run())
    failed = engine.state.candidates["c0002"]
    assert failed.error == "no program came"
    assert failed.failed
    assert engine.state.steps == 3
    assert engine.state.best is not None


@pytest.mark.parametrize("status", ["error", "timeout", "died", "limit"])
def test_an_execution_that_ends_badly_has_no_number_whatever_it_printed(house: House, status: r.Status) -> None:
    engine = house.begin(steps=1)
    house.kernels.statuses[1] = status
    asyncio.run(engine.run())
    node = engine.state.candidates["c0001"]
    assert node.failed
    assert node.value is None
    assert node.grade is not None
    assert node.grade.error is not None
    assert node.finished is not None
    assert node.finished.claimed.metric == 1.0


def test_an_unusable_model_pauses_the_run_and_a_later_owner_goes_on(house: House) -> None:
    engine = house.begin(steps=3)
    house.model.faults[2] = ModelUnusable("no key is set", "set it")
    with pytest.raises(ModelUnusable, match="no key is set"):
        asyncio.run(engine.run())
    assert engine.state.phase(owned=False) == "paused"
    engine = house.again()
    asyncio.run(engine.run())
    assert engine.state.closed is not None
    assert engine.state.steps == 3
    assert set(started(house).values()) == {1}


def test_a_spent_budget_is_recorded_and_ends_the_run_with_what_there_is(house: House) -> None:
    engine = house.begin(steps=9)
    house.model.faults[3] = BudgetSpent("tokens", 100, 120)
    asyncio.run(engine.run())
    assert [one.what for one in engine.state.limited] == ["tokens"]
    assert engine.state.closed is not None
    assert engine.state.best == "c0002"
    assert "tokens" in (engine.state.candidates["c0003"].error or "")


def test_used_up_tokens_end_the_run_before_another_step(house: House) -> None:
    engine = house.begin(steps=9, tokens=30)
    asyncio.run(engine.run())
    assert engine.state.steps == 2
    assert engine.state.limited[0].what == "tokens"


def test_run_time_that_is_over_ends_the_run_and_caps_each_program(house: House) -> None:
    engine = house.begin(steps=9, seconds=1e-6)
    asyncio.run(engine.run())
    assert engine.state.steps <= 1
    assert engine.state.limited[0].what == "seconds"


def test_a_program_that_is_no_python_fails_without_being_sent(house: House) -> None:
    engine = house.begin(steps=1)
    house.model.faults[1] = "!ls /"
    asyncio.run(engine.run())
    assert house.kernels.ran == []
    assert engine.state.candidates["c0001"].failed


def test_a_program_that_holds_a_known_secret_is_refused_and_its_text_kept_nowhere(house: House) -> None:
    engine = house.begin(steps=1)
    house.model.faults[1] = f"key = '{SECRET}'"
    asyncio.run(engine.run())
    assert house.kernels.ran == []
    assert "SOME_KEY" in (engine.state.candidates["c0001"].error or "")
    assert not any(SECRET.encode() in path.read_bytes() for path in house.folder.rglob("*") if path.is_file())


def test_where_nobody_can_be_asked_a_tainted_program_is_rejected_by_policy_and_the_run_goes_on(house: House) -> None:
    house.taints = ("words addressed to a model in a column name",)
    engine = house.begin(steps=3)
    asyncio.run(engine.run())
    assert house.kernels.ran == []
    assert engine.state.steps == 3
    for node in engine.state.candidates.values():
        assert node.stage == "rejected"
        assert node.decided_by is not None
        assert node.decided_by.kind == "policy"


def test_two_workers_share_the_work_and_never_run_a_program_twice(house: House) -> None:
    async def story() -> None:
        house.kernels.hold = asyncio.Event()
        engine = house.begin(steps=6, workers=2)
        run = asyncio.create_task(engine.run())
        await until(lambda: house.kernels.running == 2)
        house.kernels.hold.set()
        await run
        assert engine.state.steps == 6

    asyncio.run(story())
    assert len(house.kernels.ran) == 6
    assert set(started(house).values()) == {1}


def test_a_person_is_asked_and_what_was_approved_runs(house: House) -> None:
    async def story() -> None:
        house.can_ask = True
        engine = house.begin(steps=1, mode="every")
        run = asyncio.create_task(engine.run())
        await until(engine.parts.reviews.waiting)
        assert engine.state.phase(owned=True) == "waiting"
        (question,) = engine.parts.reviews.waiting()
        engine.parts.reviews.decide("c0001", question.nonce, question.code, "approve", USER)
        await run
        assert engine.state.candidates["c0001"].decided_by == USER

    asyncio.run(story())
    assert house.kernels.ran == ["print('c0001')"]


def test_an_edit_is_a_new_candidate_of_that_person_and_only_it_runs(house: House) -> None:
    async def story() -> None:
        house.can_ask = True
        engine = house.begin(steps=1, mode="every")
        run = asyncio.create_task(engine.run())
        await until(engine.parts.reviews.waiting)
        (question,) = engine.parts.reviews.waiting()
        engine.parts.reviews.decide("c0001", question.nonce, question.code, "edit", USER, "safer", "print('mine')")
        await run
        edited = engine.state.candidates["c0002"]
        assert (edited.edit_of, edited.operator, edited.parent) == ("c0001", "draft", None)
        assert engine.state.best == "c0002"
        assert engine.state.steps == 1

    asyncio.run(story())
    assert house.kernels.ran == ["print('mine')"]


def test_an_edit_that_holds_a_known_secret_is_refused(house: House) -> None:
    async def story() -> None:
        house.can_ask = True
        engine = house.begin(steps=1, mode="every")
        run = asyncio.create_task(engine.run())
        await until(engine.parts.reviews.waiting)
        (question,) = engine.parts.reviews.waiting()
        edited = f"key = '{SECRET}'"
        engine.parts.reviews.decide("c0001", question.nonce, question.code, "edit", USER, "", edited)
        await run

    asyncio.run(story())
    assert house.kernels.ran == []
    assert not any(SECRET.encode() in path.read_bytes() for path in house.folder.rglob("*") if path.is_file())


def test_a_rejection_reaches_the_journal_with_its_reason_and_nothing_runs(house: House) -> None:
    async def story() -> None:
        house.can_ask = True
        engine = house.begin(steps=1, mode="every")
        run = asyncio.create_task(engine.run())
        await until(engine.parts.reviews.waiting)
        (question,) = engine.parts.reviews.waiting()
        engine.parts.reviews.decide("c0001", question.nonce, question.code, "reject", USER, "it leaks")
        await run
        decided = engine.state.candidates["c0001"].decided
        assert decided is not None
        assert decided.reason == "it leaks"

    asyncio.run(story())
    assert house.kernels.ran == []


def test_switching_to_auto_lets_run_what_waits(house: House) -> None:
    async def story() -> None:
        house.can_ask = True
        engine = house.begin(steps=2, mode="every")
        run = asyncio.create_task(engine.run())
        await until(engine.parts.reviews.waiting)
        engine.switch_mode("auto", USER)
        await run
        assert engine.state.mode == "auto"
        assert engine.state.steps == 2

    asyncio.run(story())
    assert len(house.kernels.ran) == 2


def test_a_pause_lets_finish_what_runs_and_starts_nothing_new(house: House) -> None:
    async def story() -> None:
        house.kernels.hold = asyncio.Event()
        engine = house.begin(steps=3)
        run = asyncio.create_task(engine.run())
        await until(lambda: house.kernels.running == 1)
        engine.pause("a test", USER)
        house.kernels.hold.set()
        await until(lambda: engine.state.candidates["c0001"].done)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(engine.state.candidates) == 1
        engine.resume(USER)
        await run
        assert engine.state.steps == 3

    asyncio.run(story())


def test_a_pause_holds_back_a_program_that_was_about_to_start(house: House) -> None:
    async def story() -> None:
        engine = house.begin(steps=1)
        house.model.hold = asyncio.Event()
        run = asyncio.create_task(engine.run())
        await until(lambda: house.model.authored)
        engine.pause("a test", USER)
        house.model.hold.set()
        await until(lambda: engine.state.candidates["c0001"].decided is not None)
        for _ in range(50):
            await asyncio.sleep(0)
        assert house.kernels.ran == []
        engine.resume(USER)
        await run

    asyncio.run(story())
    assert len(house.kernels.ran) == 1


def test_a_stop_rejects_what_waits_lets_finish_what_runs_and_closes(house: House) -> None:
    async def story() -> None:
        house.can_ask = True
        engine = house.begin(steps=9, mode="every")
        run = asyncio.create_task(engine.run())
        await until(engine.parts.reviews.waiting)
        engine.stop("a person asked for it")
        await run
        node = engine.state.candidates["c0001"]
        assert node.stage == "rejected"
        assert node.decided_by == r.SYSTEM
        assert engine.state.closed is not None
        assert engine.state.closed.why == "a person asked for it"

    asyncio.run(story())


def test_stop_now_kills_what_runs_and_closes(house: House) -> None:
    async def story() -> None:
        house.kernels.hold = asyncio.Event()
        engine = house.begin(steps=9)
        run = asyncio.create_task(engine.run())
        await until(lambda: house.kernels.running == 1)
        engine.stop_now("a person asked for it")
        await run
        finished = engine.state.candidates["c0001"].finished
        assert finished is not None
        assert finished.status == "stopped"
        assert engine.state.closed is not None

    asyncio.run(story())
    assert house.model.reviewed == []


def test_stop_now_cancels_a_model_that_is_writing(house: House) -> None:
    async def story() -> None:
        engine = house.begin(steps=9)
        house.model.hold = asyncio.Event()
        run = asyncio.create_task(engine.run())
        await until(lambda: house.model.authored)
        engine.stop_now("a person asked for it")
        await run
        assert engine.state.candidates["c0001"].error is not None
        assert engine.state.closed is not None

    asyncio.run(story())


def test_leaving_keeps_what_waits_and_the_next_owner_asks_again(house: House) -> None:
    async def leave() -> None:
        house.can_ask = True
        engine = house.begin(steps=1, mode="every")
        run = asyncio.create_task(engine.run())
        await until(engine.parts.reviews.waiting)
        engine.leave("Ctrl+C", USER)
        await run
        assert engine.state.closed is None
        assert engine.state.phase(owned=False) == "paused"

    async def go_on() -> None:
        engine = house.again()
        run = asyncio.create_task(engine.run())
        await until(engine.parts.reviews.waiting)
        (question,) = engine.parts.reviews.waiting()
        engine.parts.reviews.decide("c0001", question.nonce, question.code, "approve", USER)
        await run

    asyncio.run(leave())
    asyncio.run(go_on())
    assert kinds(house, "c0001").count("asked") == 1
    assert len(house.kernels.ran) == 1


def _records(folder: Path) -> list[r.Record]:
    return list(read_records(folder / "journal.jsonl"))


@pytest.mark.parametrize("drafts", [2, 4])
def test_killed_after_any_record_a_run_is_finished_by_the_next_owner_and_no_program_runs_twice(
    house: House, tmp_path: Path, drafts: int
) -> None:
    asyncio.run(house.begin(steps=4, workers=2, drafts=drafts).run())
    house.journal.close()
    records = _records(house.folder)
    lines = (house.folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) > 30
    for cut in range(1, len(lines)):
        again = House(tmp_path / f"cut{cut}")
        shutil.copytree(house.folder, again.folder)
        (again.folder / "journal.jsonl").write_bytes(b"".join(lines[:cut]))
        again.journal = house.journal
        engine = again.again(Anchor(records[cut - 1].seq, records[cut - 1].hash))
        asyncio.run(engine.run())
        state = engine.state
        assert state.closed is not None, cut
        assert state.steps == 4, cut
        assert all(node.done for node in state.candidates.values()), cut
        assert set(started(again).values()) == {1}, cut
        again.journal.close()
