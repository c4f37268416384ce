"""Who decides about a program, and how an open question is answered once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from aide_jupyter import records as r
from aide_jupyter.errors import BadRequest
from aide_jupyter.review.gate import AlreadyDecided, Question, Reviews, Verdict, needs_person
from aide_jupyter.review.risks import flags

ADA = r.Actor(kind="user", name="ada")
BOB = r.Actor(kind="user", name="bob")
POLICY = r.Actor(kind="policy", name="review mode auto")
DANGER = r.Flag(rule="processes", line=3, message="Starts another program", severity="danger")
OTHER_DANGER = r.Flag(rule="network", line=4, message="Uses the network", severity="danger")
NOTE = r.Flag(rule="write-outside", line=2, message="Writes elsewhere")
SHA = r.sha256_text("print(1)")
DATA = "d" * 64
PURPOSES: tuple[r.Purpose, ...] = ("search", "export")


# --- the rule ---------------------------------------------------------------------------------------------------


def test_every_asks_about_each_program(town) -> None:
    town.decide(town.add())
    assert needs_person(town.state, town.add(), (), "every")


def test_flagged_asks_about_the_first_program_and_each_flag(town) -> None:
    first = town.add()
    assert needs_person(town.state, first, (), "flagged") == "It is the first program of this run."
    town.decide(first)
    second = town.add()
    assert needs_person(town.state, second, (), "flagged") is None
    assert "line 2: Writes elsewhere" in (needs_person(town.state, second, (NOTE,), "flagged") or "")


def test_flagged_asks_about_all_that_auto_asks_about(town) -> None:
    town.decide(town.add())
    node = town.add(tainted=("a column name",))
    assert needs_person(town.state, node, (), "flagged")


def test_flagged_does_not_ask_about_a_program_that_cannot_run(town) -> None:
    town.decide(town.add())
    assert needs_person(town.state, town.add(), flags("!pip install x"), "flagged") is None


def test_flagged_goes_on_after_the_first_was_rejected_where_nobody_can_be_asked(town) -> None:
    town.decide(town.add(), "reject", POLICY)
    assert needs_person(town.state, town.add(), (), "flagged") is None


def test_auto_does_not_ask_about_ordinary_programs_or_notes(town) -> None:
    assert needs_person(town.state, town.add(), (), "auto") is None
    assert needs_person(town.state, town.add(), (NOTE,), "auto") is None


def test_auto_asks_about_descendants_of_suspicious_text(town) -> None:
    origin = town.add(tainted=("words addressed to a model in a column name",))
    child = town.add(origin.id)
    grandchild = town.add(child.id)
    why = needs_person(town.state, grandchild, (), "auto")
    assert why is not None and origin.id in why and "column name" in why
    town.decide(origin)
    assert needs_person(town.state, grandchild, (), "auto") is not None


@pytest.mark.parametrize("code", ["x = 1  # \u202e", "p\u0430ssword = 1"])
def test_auto_always_asks_about_hidden_characters(town, code: str) -> None:
    node = town.add(code=code)
    assert needs_person(town.state, node, flags(code), "auto")
    town.decide(node, flags=flags(code))
    assert needs_person(town.state, town.add(code=code), flags(code), "auto")


def test_auto_asks_about_a_dangerous_construct_until_a_person_has_approved_one_of_its_kind(town) -> None:
    first = town.add()
    assert needs_person(town.state, first, (DANGER,), "auto")
    town.decide(first, "approve", ADA, (DANGER,))
    second = town.add()
    assert needs_person(town.state, second, (DANGER,), "auto") is None
    assert needs_person(town.state, second, (DANGER, OTHER_DANGER), "auto")


@pytest.mark.parametrize(("decision", "actor"), [("reject", ADA), ("reject", POLICY), ("approve", POLICY)])
def test_auto_learns_nothing_from_a_rejection_or_from_a_policy(town, decision: str, actor: r.Actor) -> None:
    town.decide(town.add(), decision, actor, (DANGER,))
    assert needs_person(town.state, town.add(), (DANGER,), "auto")


@pytest.mark.parametrize(
    ("status", "observed"),
    [("refused", {}), ("ok", {"survivors": 1}), ("died", {"exit": 159}), ("limit", {"limit": "processes"})],
)
def test_auto_asks_about_the_program_after_one_that_tried_to_get_out(town, status, observed) -> None:
    bad = town.add()
    town.decide(bad, actor=POLICY)
    town.finish(bad, status, **observed)
    following = town.add()
    why = needs_person(town.state, following, (), "auto")
    assert why is not None and bad.id in why
    town.decide(following, "reject", POLICY)
    assert needs_person(town.state, town.add(), (), "auto") is None


@pytest.mark.parametrize(
    ("status", "observed"),
    [("error", {}), ("timeout", {"limit": "seconds"}), ("limit", {"limit": "memory"}), ("died", {"exit": 137})],
)
def test_an_ordinary_failure_is_no_attempt_to_get_out(town, status, observed) -> None:
    node = town.add()
    town.decide(node, actor=POLICY)
    town.finish(node, status, **observed)
    assert needs_person(town.state, town.add(), (), "auto") is None


# --- the questions ----------------------------------------------------------------------------------------------


def with_question(check: Callable[[Reviews, Question, asyncio.Task], Awaitable[None]]) -> None:
    """Run ``check`` while one program waits, and see to it that the wait ends."""

    async def scene() -> None:
        reviews = Reviews()
        task = asyncio.create_task(ask(reviews))
        while not reviews.waiting():
            await asyncio.sleep(0)
        (question,) = reviews.waiting()
        try:
            await check(reviews, question, task)
        finally:
            reviews.leave()
            await task

    asyncio.run(scene())


def ask(reviews: Reviews, candidate: str = "c0001"):
    return reviews.ask(candidate, code=SHA, data=DATA, purposes=PURPOSES, reason="why")


def test_a_decision_reaches_the_engine() -> None:
    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        verdict = reviews.decide(
            "c0001", question.nonce, SHA, "approve", ADA, "looks fine", data=DATA, purposes=PURPOSES
        )
        assert await task == verdict == Verdict("approve", ADA, "looks fine")
        assert reviews.waiting() == []

    with_question(check)


def test_the_same_decision_again_returns_the_first() -> None:
    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        first = reviews.decide("c0001", question.nonce, SHA, "approve", ADA)
        assert reviews.decide("c0001", question.nonce, SHA, "approve", BOB) is first
        await task
        assert reviews.decide("c0001", question.nonce, SHA, "approve", ADA) is first

    with_question(check)


@pytest.mark.parametrize(
    "second", [("reject", "", None), ("approve", "another reason", None), ("edit", "", "print(2)")]
)
def test_another_decision_is_told_who_decided(second: tuple) -> None:
    decision, reason, edited = second

    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        reviews.decide("c0001", question.nonce, SHA, "approve", ADA)
        with pytest.raises(AlreadyDecided, match="c0001 was approved before, by user ada"):
            reviews.decide("c0001", question.nonce, SHA, decision, BOB, reason, edited)

    with_question(check)


def test_a_nonce_works_once_and_for_its_own_question_only() -> None:
    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        with pytest.raises(AlreadyDecided):
            reviews.decide("c0001", "guess", SHA, "approve", ADA)
        other = asyncio.create_task(ask(reviews, "c0002"))
        await asyncio.sleep(0)
        with pytest.raises(AlreadyDecided):
            reviews.decide("c0002", question.nonce, SHA, "approve", ADA)
        assert not task.done() and not other.done()
        assert len({one.nonce for one in reviews.waiting()}) == 2
        reviews.leave()
        assert await other is None

    with_question(check)


def test_a_nonce_of_an_earlier_asking_is_worthless() -> None:
    async def scene() -> None:
        reviews = Reviews()
        first = asyncio.create_task(ask(reviews))
        await asyncio.sleep(0)
        old = reviews.waiting()[0].nonce
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert reviews.waiting() == []
        second = asyncio.create_task(ask(reviews))
        await asyncio.sleep(0)
        with pytest.raises(AlreadyDecided, match="is not the one"):
            reviews.decide("c0001", old, SHA, "approve", ADA)
        reviews.leave()
        await second

    asyncio.run(scene())


@pytest.mark.parametrize(
    "seen", [{"code": "0" * 64}, {"data": "0" * 64}, {"purposes": ("search",)}], ids=["code", "data", "purposes"]
)
def test_a_decision_about_something_else_is_refused(seen: dict) -> None:
    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        told = {"code": SHA, "data": DATA, "purposes": PURPOSES, **seen}
        code = told.pop("code")
        with pytest.raises(AlreadyDecided, match="not the one that this decision is about"):
            reviews.decide("c0001", question.nonce, code, "approve", ADA, **told)
        assert not task.done()

    with_question(check)


def test_an_edit_carries_its_program() -> None:
    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        reviews.decide("c0001", question.nonce, SHA, "edit", ADA, "fewer rows", "print(2)")
        verdict = await task
        assert (verdict.decision, verdict.code) == ("edit", "print(2)")

    with_question(check)


@pytest.mark.parametrize(
    ("decision", "edited", "message"),
    [
        ("edit", None, "has no program"),
        ("edit", "  ", "has no program"),
        ("edit", "print(1)", "changes nothing"),
        ("edit", "def f(:", "not Python: line 1"),
        ("approve", "print(2)", "came with the decision to approve"),
        ("perhaps", None, "is no decision"),
    ],
)
def test_an_unusable_answer_leaves_the_question_open(decision, edited, message) -> None:
    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        with pytest.raises(BadRequest, match=message):
            reviews.decide("c0001", question.nonce, SHA, decision, ADA, "", edited)
        reviews.decide("c0001", question.nonce, SHA, "reject", ADA)
        assert (await task).decision == "reject"

    with_question(check)


def test_only_a_person_decides() -> None:
    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        for actor in (POLICY, r.SYSTEM, r.Actor(kind="agent", name="author")):
            with pytest.raises(BadRequest, match="Only a person"):
                reviews.decide("c0001", question.nonce, SHA, "approve", actor)
        assert not task.done()

    with_question(check)


def test_stopping_rejects_what_waits_and_what_would_be_asked_later() -> None:
    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        reviews.cancel("steps")
        for verdict in (await task, await ask(reviews, "c0002")):
            assert verdict is not None
            assert (verdict.decision, verdict.actor.kind) == ("reject", "system")
            assert "steps" in verdict.reason
        with pytest.raises(AlreadyDecided, match="rejected before, by system"):
            reviews.decide("c0001", question.nonce, SHA, "approve", ADA)

    with_question(check)


def test_leaving_decides_nothing() -> None:
    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        reviews.leave()
        assert await task is None
        assert await ask(reviews, "c0002") is None

    with_question(check)


def test_a_mode_switch_approves_by_policy_and_a_person_who_comes_later_learns_it() -> None:
    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        reviews.release("c0001", POLICY)
        verdict = await task
        assert (verdict.decision, verdict.actor) == ("approve", POLICY)
        with pytest.raises(AlreadyDecided, match="by policy review mode auto"):
            reviews.decide("c0001", question.nonce, SHA, "approve", ADA)

    with_question(check)


def test_of_two_answers_before_the_engine_wakes_the_first_counts() -> None:
    async def check(reviews: Reviews, question: Question, task: asyncio.Task) -> None:
        reviews.decide("c0001", question.nonce, SHA, "reject", ADA)
        reviews.cancel("stop")
        with pytest.raises(AlreadyDecided):
            reviews.decide("c0001", question.nonce, SHA, "approve", BOB)
        assert (await task).actor == ADA

    with_question(check)


def test_what_was_never_asked_cannot_be_approved() -> None:
    with pytest.raises(AlreadyDecided, match=r"No program of c0009 waits"):
        Reviews().decide("c0009", "x", SHA, "approve", ADA)


def test_observers_hear_of_each_opening_and_closing() -> None:
    async def scene() -> list[int]:
        reviews = Reviews()
        heard: list[int] = []
        reviews.on_change.append(lambda: heard.append(len(reviews.waiting())))
        task = asyncio.create_task(ask(reviews))
        await asyncio.sleep(0)
        reviews.decide("c0001", reviews.waiting()[0].nonce, SHA, "approve", ADA)
        await task
        return heard

    assert asyncio.run(scene()) == [1, 0]


def test_a_question_does_not_print_its_nonce() -> None:
    question = Question("c0001", SHA, DATA, PURPOSES, "why")
    assert question.nonce not in repr(question)
