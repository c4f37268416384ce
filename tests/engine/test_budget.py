"""Budgets before each step and each call; live output without secrets."""

from __future__ import annotations

import pytest

from aide_jupyter import budget
from aide_jupyter import records as r
from aide_jupyter.audit.redact import Redactor
from aide_jupyter.errors import BudgetSpent, ModelUnusable
from aide_jupyter.recording import LiveOutput
from aide_jupyter.state import RunState

from .conftest import SECRET


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


def test_a_secret_that_arrives_in_two_pieces_is_masked_and_all_else_is_shown_at_once() -> None:
    shown: list[tuple[int, str]] = []
    live = LiveOutput(Redactor({"K": SECRET}), lambda at, text: shown.append((at, text)))
    live.feed(0, "45 %")
    assert shown == [(0, "45 %")]
    live.feed(4, f" a {SECRET[:9]}")
    assert shown[1:] == [(4, " a ")]
    live.feed(16, f"{SECRET[9:]} b")
    assert shown[2:] == [(7, "[masked: K] b")]


def test_what_only_looked_like_the_beginning_of_a_secret_is_shown_at_the_end() -> None:
    shown: list[str] = []
    live = LiveOutput(Redactor({"K": SECRET}), lambda at, text: shown.append(text))
    live.feed(0, SECRET[:4])
    live.end()
    assert shown == [SECRET[:4]]
