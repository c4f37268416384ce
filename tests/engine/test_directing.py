"""What a person adds to the search: it comes next, it is recorded as theirs, and a resumed run goes on with it."""

from __future__ import annotations

import asyncio

import pytest

from aide_jupyter import records as r
from aide_jupyter.audit.journal import read_records
from aide_jupyter.errors import BadRequest

from .conftest import SECRET, House
from .test_life import kinds, started, until

ADA = r.Actor(kind="user", name="ada")


def actors(house: House, candidate: str) -> list[tuple[str, str]]:
    records = read_records(house.folder / "journal.jsonl")
    return [(one.kind, one.actor.name) for one in records if one.data.get("candidate") == candidate][:3]


def test_a_branch_comes_before_what_the_policy_would_choose(house: House) -> None:
    async def go() -> None:
        engine = house.begin(steps=4)
        house.kernels.hold = asyncio.Event()
        work = asyncio.create_task(engine.run())
        await until(lambda: house.kernels.running == 1)
        house.kernels.hold.set()
        await until(lambda: engine.state.candidates.get("c0001") is not None and engine.state.candidates["c0001"].done)
        house.kernels.hold.clear()
        assert engine.branch("c0001", ADA, "go deeper") == f"c{len(engine.state.candidates):04d}"
        house.kernels.hold.set()
        await work
        branch = next(one for one in engine.state.candidates.values() if one.parent == "c0001")
        assert actors(house, branch.id)[0] == ("chosen", "ada")
        assert engine.state.hints == ["go deeper"]
        assert engine.state.steps == 4

    asyncio.run(go())


def test_a_failed_parent_is_debugged_and_a_good_one_improved(house: House) -> None:
    async def go() -> None:
        house.kernels.statuses[1] = "error"
        engine = house.begin(steps=5)
        engine.pause("hold", ADA)
        work = asyncio.create_task(engine.run())
        engine.resume(ADA)
        await until(lambda: len(engine.state.candidates) >= 3)
        engine.pause("hold", ADA)
        await until(lambda: all(engine.state.candidates[one].done for one in ("c0001", "c0002")))
        failed, good = engine.branch("c0001", ADA), engine.branch("c0002", ADA)
        assert engine.state.candidates[failed].operator == "debug"
        assert engine.state.candidates[good].operator == "improve"
        engine.resume(ADA)
        await work

    asyncio.run(go())


def test_a_persons_program_is_chosen_proposed_and_approved_by_them(house: House) -> None:
    async def go() -> None:
        house.can_ask = True
        engine = house.begin(mode="every", steps=2)
        work = asyncio.create_task(engine.run())
        await until(lambda: bool(engine.parts.reviews.waiting()))
        own = engine.propose_own("mine", "print('mine')", None, ADA)
        assert actors(house, own) == [("chosen", "ada"), ("proposed", "ada"), ("decided", "ada")]
        assert engine.state.candidates[own].decided.purposes == ("search", "export")  # type: ignore[union-attr]
        question = engine.parts.reviews.waiting()[0]
        engine.parts.reviews.decide(question.candidate, question.nonce, question.code, "reject", ADA)
        await work
        assert "print('mine')" in house.kernels.ran
        assert kinds(house, own)[3:] == ["started", "finished", "graded", "reviewed"]

    asyncio.run(go())


def test_what_a_person_added_is_gone_on_with_after_a_crash(house: House) -> None:
    async def before() -> str:
        house.can_ask = True
        engine = house.begin(mode="every", steps=3)
        work = asyncio.create_task(engine.run())
        await until(lambda: bool(engine.parts.reviews.waiting()))
        own = engine.propose_own("mine", "print('mine')", None, ADA)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        return own

    async def after(own: str) -> None:
        engine = house.again()
        engine.switch_mode("auto", ADA)
        await engine.run()
        assert started(house)[own] == 1
        assert "print('mine')" in house.kernels.ran

    asyncio.run(after(asyncio.run(before())))


@pytest.mark.parametrize(
    ("code", "words"),
    [("print(", "line 1"), (f"key = '{SECRET}'", "SOME_KEY"), ("x = 1\x00", "cannot be read|not Python")],
)
def test_a_program_that_cannot_be_is_refused_and_not_recorded(house: House, code: str, words: str) -> None:
    engine = house.begin(steps=2)
    with pytest.raises(BadRequest, match=words):
        engine.propose_own("", code, None, ADA)
    assert not engine.state.candidates
    assert SECRET.encode() not in (house.folder / "journal.jsonl").read_bytes()


def test_an_ending_or_spent_run_takes_nothing_more(house: House) -> None:
    engine = house.begin(steps=1)
    asyncio.run(engine.run())
    for act in (lambda: engine.propose_own("", "x = 1", None, ADA), lambda: engine.branch("c0001", ADA)):
        with pytest.raises(BadRequest):
            act()
