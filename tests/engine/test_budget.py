"""Budgets before each step and each call; live output in whole lines."""

from __future__ import annotations

import pytest

from aide_jupyter import budget
from aide_jupyter import records as r
from aide_jupyter.errors import BudgetSpent, ModelUnusable
from aide_jupyter.recording import LiveOutput
from aide_jupyter.state import RunState


def spent(tokens: int, cost: float | None, call: int = 1) -> r.Spent:
    said = {"call": call, "phase": "reserved", "purpose": "author", "model": "m", "tokens": {"prompt": tokens}}
    return r.Spent.model_validate({**said, "cost": cost})


def test_a_call_that_could_exceed_what_is_left_is_not_sent() -> None:
    state = RunState(budgets=r.Budgets(tokens=100, cost_usd=1.0))
    state.spend.reserved[1] = spent(60, 0.6)
    budget.check_call(state, spent(40, 0.4, 2))
    with pytest.raises(BudgetSpent, match="tokens"):
        budget.check_call(state, spent(41, 0.1, 2))
    with pytest.raises(BudgetSpent, match="US dollars"):
        budget.check_call(state, spent(1, 0.41, 2))


def test_with_a_cap_on_money_a_call_of_unknown_price_is_not_sent() -> None:
    with pytest.raises(ModelUnusable, match="price"):
        budget.check_call(RunState(budgets=r.Budgets(cost_usd=1.0)), spent(1, None))


def test_the_first_budget_that_is_used_up_is_named() -> None:
    state = RunState(budgets=r.Budgets(steps=2, seconds=5))
    assert budget.reached(state) is None
    state.active_seconds = 5
    assert budget.reached(state) == ("seconds", 5, 5)
    state.steps = 2
    assert budget.reached(state) == ("steps", 2, 2)


def test_a_secret_that_arrives_in_two_pieces_is_masked() -> None:
    shown: list[tuple[int, str]] = []
    live = LiveOutput(lambda text: text.replace("secret", "[x]"), lambda at, text: shown.append((at, text)))
    for piece in ("a sec", "ret\nthe ", "end"):
        live.feed(0, piece)
    assert shown == [(0, "a [x]\n")]
    live.end()
    assert shown == [(0, "a [x]\n"), (6, "the end")]


def test_a_line_without_an_end_is_shown_all_the_same() -> None:
    shown: list[str] = []
    live = LiveOutput(str, lambda at, text: shown.append(text))
    live.feed(0, "x" * (LiveOutput.LONGEST + 1))
    assert len("".join(shown)) == LiveOutput.LONGEST + 1 - LiveOutput.HELD
