"""What to try next: a policy looks at the tree and names an operator and a parent.

A policy is pure. It reads the :class:`~aide_jupyter.state.RunState`, draws only from the generator that it is given
(the engine makes one per step from the run's seed, so a run can be repeated), and does no I/O. With several workers it
is asked while earlier work is still under way; what is under way stands in the state, and no work is given out twice.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Protocol

from ..records import Operator, Settings
from ..state import Candidate, RunState
from .failures import NOT_ITS_FAULT, signature


@dataclass(frozen=True)
class Choice:
    """What to try next. ``parent`` is None for a draft only."""

    operator: Operator
    parent: str | None = None


DRAFT = Choice("draft")


class Policy(Protocol):
    """Decides what a run tries next. An entry point, built without arguments."""

    name: str

    def choose(self, state: RunState, draw: random.Random) -> Choice:
        """The next thing to try. Called by the engine once per step, before the author model is asked."""
        ...


class Aide:
    """AIDE ML's search policy (aideml 0.2.2), for results that can be compared with it.

    Drafts until there are ``drafts`` of them, failed ones counted; then, with ``debug_probability``, one of the failed
    leaves whose debug depth is at most ``debug_depth``, drawn evenly; else the best good candidate; where there is
    none, a draft. Random numbers are drawn in AIDE's order: one number for the coin, one choice among the leaves.

    AIDE runs one program at a time and has no reviewer who says no. Here a rejected or edited candidate was never tried
    and counts for nothing; a draft under way counts as a draft; a leaf that is being debugged is no leaf; and while the
    best is being improved by another worker, the best of the rest is taken. A failed step without a program counts as
    a draft but cannot be debugged. With one worker and no rejections the decisions are AIDE's.
    """

    name = "aide"

    def choose(self, state: RunState, draw: random.Random) -> Choice:
        """The next thing to try."""
        settings = _settings(state)
        if len(state.roots) < settings.drafts:
            return DRAFT
        if draw.random() < settings.debug_probability:
            leaves = [one for one in state.failed_leaves if state.candidates[one].debug_depth <= settings.debug_depth]
            if leaves:
                return Choice("debug", draw.choice(leaves))
        if not state.ranking:
            return DRAFT
        busy = _busy(state)
        free = next((one for _, _, one in state.ranking if one not in busy), state.ranking[0][2])
        return Choice("improve", free)


class Default:
    """AIDE's policy, with what is known to be weak in it repaired. Each rule says why.

    ``benchmarks/policies.py`` measures the rules on made-up landscapes; the constants are round numbers from a flat
    part of those curves.

    1. *Drafts first, but at most half of the steps.* AIDE can spend all of a short run on drafts. (That drafts differ
       in model family is the prompt's part: ``Assignment.families``.)
    2. *Blend in the last tenth.* Where three lines or more have good candidates, the last steps combine the best of
       each. Averaging models of different families is the most dependable gain there is, and it is worth doing once
       they are tuned.
    3. *A draft that failed is fixed before anything is improved.* A fix costs what a draft costs and more often works.
    4. *Of the failed improvements only those of the leader are fixed,* newest first, with ``debug_probability``. AIDE
       draws evenly among all failed leaves, and so pays for changes to candidates that nobody would improve today.
    5. *No fix where fixing does not help:* the same error came back, a second program of the chain ran into the same
       limit, the chain is deeper than ``debug_depth``, a person has rejected two fixes, or the program was not at
       fault (its kernel was stopped, or its fate is unknown).
    6. *The longer the leader gains nothing, the more often something else is tried:* mostly a new draft, sometimes the
       best of another line. AIDE improves its best for ever; a first lucky number is often the top of a low hill.
    7. *Else the leader is improved;* with several workers the next best that nobody is at, and where there is none,
       one more draft.
    """

    name = "default"

    DRAFT_SHARE = 0.5
    ENSEMBLE_SHARE = 0.1
    ENSEMBLE_LINES = 3
    LEAVE_PER_FRUITLESS = 0.15
    LEAVE_AT_MOST = 0.5
    OTHER_LINE = 0.25
    RECENT = 16
    REJECTED_FIXES = 2

    def choose(self, state: RunState, draw: random.Random) -> Choice:
        """The next thing to try."""
        settings = _settings(state)
        if len(state.roots) < min(settings.drafts, math.ceil(state.budgets.steps * self.DRAFT_SHARE)):
            return DRAFT
        if self._time_to_blend(state):
            return Choice("ensemble", state.ranking[0][2])
        drafts, improvements = self._fixable(state)
        if drafts:
            return Choice("debug", drafts[0])
        if improvements and draw.random() < settings.debug_probability:
            return Choice("debug", improvements[0])
        return self._improve(state, draw) if state.ranking else DRAFT

    def _improve(self, state: RunState, draw: random.Random) -> Choice:
        """The leader, or something else the longer it gains nothing, or while others are at it."""
        leader = state.candidates[state.ranking[0][2]]
        if draw.random() < min(self.LEAVE_AT_MOST, self.LEAVE_PER_FRUITLESS * leader.fruitless):
            other = self._other_line(state, leader, draw) if draw.random() < self.OTHER_LINE else None
            return DRAFT if other is None else Choice("improve", other)
        busy = _busy(state)
        free = next((one for _, _, one in state.ranking if one not in busy), None)
        return DRAFT if free is None else Choice("improve", free)

    def _time_to_blend(self, state: RunState) -> bool:
        """Whether the last tenth of the steps, or of the time, has begun and there is enough to blend."""
        steps = state.budgets.steps
        last_steps = steps - state.steps <= max(1, round(steps * self.ENSEMBLE_SHARE))
        last_time = state.active_seconds >= state.budgets.seconds * (1 - self.ENSEMBLE_SHARE)
        return (last_steps or last_time) and len(state.lines) >= self.ENSEMBLE_LINES

    def _fixable(self, state: RunState) -> tuple[list[str], list[str]]:
        """The recent failed leaves that are worth a fix, newest first: those of drafts, those of the leader."""
        leader = state.ranking[0][2] if state.ranking else None
        drafts: list[str] = []
        improvements: list[str] = []
        for one in reversed(state.failed_leaves[-self.RECENT :]):
            leaf = state.candidates[one]
            chain = fixed_before(state, leaf)
            origin = chain[-1].parent if chain else leaf.parent
            if origin not in (None, leader):
                continue
            if self._worth_fixing(state, leaf, chain):
                (drafts if origin is None else improvements).append(one)
        return drafts, improvements

    def _worth_fixing(self, state: RunState, leaf: Candidate, chain: list[Candidate]) -> bool:
        if leaf.debug_depth > _settings(state).debug_depth or len(leaf.children) >= self.REJECTED_FIXES:
            return False
        error = signature(leaf)
        return error not in NOT_ITS_FAULT and error not in map(signature, chain)

    def _other_line(self, state: RunState, leader: Candidate, draw: random.Random) -> str | None:
        """The best candidate of one of the three best lines beside the leader's; None where all are taken."""
        busy = _busy(state)
        bests = [state.candidates[best] for root, best in state.lines.items() if root != leader.root]
        free = [one for one in bests if one.id not in busy]
        free.sort(key=lambda one: ((one.value or 0.0) * (1 if state.minimize else -1), one.number))
        return draw.choice(free[:3]).id if free else None


def fixed_before(state: RunState, candidate: Candidate) -> list[Candidate]:
    """The failed candidates of which this one is meant to be the fix, newest first."""
    chain = []
    while candidate.operator == "debug" and candidate.parent is not None:
        candidate = state.candidates[candidate.parent]
        chain.append(candidate)
    return chain


def _settings(state: RunState) -> Settings:
    return Settings() if state.opened is None else state.opened.settings


def _busy(state: RunState) -> set[str | None]:
    """The parents of all that is under way."""
    return {state.candidates[one].parent for one in state.unfinished}
