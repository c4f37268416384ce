"""The caps of a run in force: what is spent, asked before each step and before each model call."""

from __future__ import annotations

from . import records as r
from .errors import BudgetSpent, ModelUnusable
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
    """Refuse a model call whose worst cost does not fit what is left.

    Raises
    ------
    BudgetSpent
        The call must not be sent.
    ModelUnusable
        Money has a cap, and what the call costs is not known.
    """
    tokens = state.spend.worst_tokens + reserved.tokens.prompt + reserved.tokens.completion
    if tokens > state.budgets.tokens:
        raise BudgetSpent(TOKENS, state.budgets.tokens, tokens)
    limit = state.budgets.cost_usd
    if limit is None:
        return
    if reserved.cost is None:
        raise ModelUnusable(
            f"The price of the model {reserved.model} is not known, so {limit:g} US dollars cannot be kept to.",
            "Resume the run with --price IN OUT (US dollars per million tokens).",
        )
    cost = state.spend.worst_cost + reserved.cost
    if cost > limit:
        raise BudgetSpent(MONEY, limit, cost)
