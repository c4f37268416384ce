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
from .failures import signature


@dataclass(frozen=True)
class Choice:
    """What to try next. ``parent`` is None for a draft only."""

    operator: Operator
    parent: str | None = None


DRAFT = Choice("draft")


class Policy(Protocol):
    """Decides what a run tries next. Found by entry point (``aide_jupyter.policies``), built without arguments."""

    name: str

    def choose(self, state: RunState, draw: random.Random) -> Choice:
        """The next thing to try. Called by the engine once per step, before the author model is asked."""
        ...


class Aide:
    """AIDE ML's search policy (aideml 0.2.2), for results that can be compared with it.

    Drafts until there are ``drafts`` of them, failed ones counted; then, with ``debug_probability``, one of the failed
    leaves whose debug depth is at most ``debug_depth``, drawn evenly; else the best good candidate; where there is none,
    a draft. Random numbers are drawn in AIDE's order: one number for the coin, one choice among the leaves.

    AIDE runs one program at a time and has no reviewer who says no. Here a rejected or edited candidate was never tried
    and counts for nothing; a draft under way counts as a draft; a leaf that is being debugged is no leaf; and while the
    best is being improved by another worker, the best of the rest is taken. A failed step without a program counts as
    a draft but cannot be debugged. With one worker and no rejections the decisions are AIDE's.
    """

    name = "aide"

    def choose(self, state: RunState, draw: random.Random) -> Choice:
        """The next thing to try."""
        settings = _settings(state)
        if state.drafts < settings.drafts:
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

    1. *Drafts first, but at most half of the steps.* AIDE spends all of a short run on drafts. (That drafts differ in
       model family is the prompt's part: ``Assignment.families``.)
    2. *Debug what can still be fixed, newest first.* A chain of fixes ends when the same error comes back, when a
       second program of it times out or hits a limit, at the debug depth, or when a person has rejected two fixes. AIDE
       draws evenly among all failed leaves and so keeps paying for hopeless and for stale ones.
    3. *A parent that has not led anywhere gives way.* Each ``PATIENCE`` improvements of a candidate without a gain move
       it one place down, and one that another worker is improving waits behind the rest. AIDE improves the best for
       ever, and a first lucky number is often a local optimum.
    4. *Now and then another line.* With ``EXPLORE`` the best of another draft's descendants is improved, since a
       family that starts lower may end higher.
    5. *Combine near the end.* Where three lines or more have good candidates, the last steps (one in ten, at least one)
       blend the best of each: averaging models of different families is the most dependable gain there is, and it is
       not worth doing before they are tuned.
    6. *A new draft when nothing gains.* Where each candidate in reach has used up its patience, a new line is begun.
       While there is no good candidate at all, drafts and fixes go on.
    """

    name = "default"

    PATIENCE = 3
    REACH = 8
    EXPLORE = 0.2
    ENSEMBLE_LINES = 3
    ENSEMBLE_SHARE = 0.1
    RECENT = 16
    REJECTED_FIXES = 2

    def choose(self, state: RunState, draw: random.Random) -> Choice:
        """The next thing to try."""
        settings = _settings(state)
        if state.drafts < min(settings.drafts, max(1, math.ceil(state.budgets.steps / 2))):
            return DRAFT
        ensemble = self._ensemble(state)
        if ensemble is not None:
            return ensemble
        if draw.random() < settings.debug_probability:
            recent = reversed(state.failed_leaves[-self.RECENT :])
            leaf = next((one for one in recent if self._worth_debugging(state, state.candidates[one])), None)
            if leaf is not None:
                return Choice("debug", leaf)
        explore = draw.random() < self.EXPLORE
        parent = self._other_line(state, draw) if explore else None
        parent = parent or self._promising(state)
        return DRAFT if parent is None else Choice("improve", parent)

    def _ensemble(self, state: RunState) -> Choice | None:
        """A blend of the best lines, in the last steps; what a blend gained is improved further like anything else."""
        steps_left = state.budgets.steps - state.steps
        last = max(1, round(state.budgets.steps * self.ENSEMBLE_SHARE))
        if steps_left > last or len(state.lines) < self.ENSEMBLE_LINES:
            return None
        return Choice("ensemble", state.ranking[0][2])

    def _worth_debugging(self, state: RunState, leaf: Candidate) -> bool:
        if leaf.debug_depth > _settings(state).debug_depth or len(leaf.children) >= self.REJECTED_FIXES:
            return False
        error = signature(leaf)
        if error in ("unknown", "stopped", "refused"):
            return False
        return error not in {signature(earlier) for earlier in fixed_before(state, leaf)}

    def _other_line(self, state: RunState, draw: random.Random) -> str | None:
        """The best of a line other than the leading one, drawn among the best three of them."""
        leading = state.candidates[state.ranking[0][2]].root if state.ranking else None
        busy = _busy(state)
        others = [
            state.candidates[best]
            for root, best in state.lines.items()
            if root != leading and best not in busy and state.candidates[best].fruitless < self.PATIENCE
        ]
        others.sort(key=lambda one: (one.value if state.minimize else -(one.value or 0.0), one.number))
        return draw.choice(others[: self.ENSEMBLE_LINES]).id if others else None

    def _promising(self, state: RunState) -> str | None:
        """The candidate with the fewest places lost, then the best; None where all in reach have used their patience."""
        busy = _busy(state)
        best: tuple[int, str] | None = None
        for place, (_, _, one) in enumerate(state.ranking[: self.REACH]):
            lost = state.candidates[one].fruitless // self.PATIENCE
            if one not in busy and lost <= 1 and (best is None or place + lost * self.PATIENCE < best[0]):
                best = (place + lost * self.PATIENCE, one)
        return None if best is None else best[1]


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
