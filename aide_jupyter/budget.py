"""The caps of a run in force: what is spent, asked before each step and before each model call."""

from __future__ import annotations

import math

from . import records as r
from .errors import BudgetSpent
from .state import RunState

STEPS, SECONDS, TOKENS, MONEY = "steps", "seconds", "tokens", "US dollars"


def reached(state: RunState) -> tuple[str, float, float] | None:
    """The first budget that is used up, as (name, limit, value); None where there is something left of each."""
    budgets = state.budgets
    used: dict[str, tuple[float | None, float]] = {
        STEPS: (budgets.steps, state.steps),
        SECONDS: (budgets.seconds, state.active_seconds),
        TOKENS: (budgets.tokens, state.spend.worst_tokens),
        MONEY: (budgets.cost_usd, state.spend.worst_cost),
    }
    return next(((what, limit, value) for what, (limit, value) in used.items() if limit and value >= limit), None)


def check_call(state: RunState, reserved: r.Spent) -> None:
    """Refuse a model call whose worst cost does not fit what is left, or is not known where money has a cap.

    Raises
    ------
    BudgetSpent
        The call must not be sent.
    """
    tokens = state.spend.worst_tokens + reserved.tokens.prompt + reserved.tokens.completion
    if tokens > state.budgets.tokens:
        raise BudgetSpent(TOKENS, state.budgets.tokens, tokens)
    limit = state.budgets.cost_usd
    if limit is None:
        return
    cost = math.inf if reserved.cost is None else state.spend.worst_cost + reserved.cost
    if cost > limit:
        raise BudgetSpent(MONEY, limit, cost)
