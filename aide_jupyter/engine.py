"""The loop around the life of a candidate: which one next, how many at once, and how the run ends.

The engine lives on one event loop, and only it appends to the run's journal.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from . import budget
from . import records as r
from .audit.export import Rerun
from .errors import BudgetSpent
from .living import Living
from .state import Candidate
from .steering import Parts


class Engine(Living):
    """One run, as long as this process owns it.

    Parameters
    ----------
    finish
        Writes what a run leaves behind and its last record, which says why it ended.
    cells_of
        How ``finish`` cuts a program into the cells that it asks to :meth:`rerun`. With it, that execution of the best
        program begins while the last steps are still under way.
    """

    def __init__(
        self,
        parts: Parts,
        finish: Callable[[Engine, str], Awaitable[None]],
        cells_of: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        super().__init__(parts)
        self._finish = finish
        self._cells_of = cells_of
        self._ahead: tuple[str, asyncio.Task[Rerun]] | None = None

    async def run(self) -> None:
        """Live through candidates until the run is closed, or until this process leaves it.

        Raises
        ------
        AideError
            What made it impossible to go on: an unusable model, a jail that does not contain, a journal that cannot
            be written. The run can be resumed once that is mended.
        """
        try:
            workers = self.opened.settings.workers
            # Two workers or more do not wait for each other's results to write drafts, so as many further ones help:
            # the next drafts are written while the first run.
            helpers = workers if workers > 1 else 0
            lives = [*(self._work() for _ in range(workers)), *(self._work(drafting=True) for _ in range(helpers))]
            await asyncio.gather(*map(self.guarded, lives))
            await asyncio.gather(*self.reviewing)
            if self.fault is not None:
                raise self.fault
            if not self._leaving:
                await self._finish(self, self._ending or "all steps were taken")
        finally:
            await self._drop_what_ran_ahead()

    async def _work(self, *, drafting: bool = False) -> None:
        """One worker: a candidate at a time. One that is ``drafting`` begins nothing but the first drafts."""
        while (candidate := await self._next(drafting=drafting)) is not None:
            await self.live(candidate)
        self._run_ahead()

    async def _next(self, *, drafting: bool = False) -> str | None:
        """What to live through next: what was left unfinished, else a new candidate; None when nothing new starts.

        Nothing new starts while as many reviews as workers are out. So one worker alone goes step by step, as AIDE
        does, and of several none is idle only because its reviewer thinks.
        """
        while True:
            if self._leaving:
                return None
            more = self._unfinished or budget.reached(self.state) is None
            if more and len(self.reviewing) >= self.opened.settings.workers:
                await asyncio.wait(self.reviewing, return_when=asyncio.FIRST_COMPLETED)
                continue
            if self.state.paused is not None and self._ending is None:
                await self._wait_for_change()
            elif self._unfinished and not drafting:
                return self._unfinished.popleft()
            elif self._ending is not None or self._budget_is_spent():
                return None
            else:
                return self._choose(drafting=drafting)

    def _choose(self, *, drafting: bool) -> str | None:
        if drafting and len(self.state.roots) >= self.opened.settings.drafts:
            return None
        number = len(self.state.candidates) + 1
        draw = random.Random(f"{self.opened.seed}:{number}")  # noqa: S311  it must repeat, it protects nothing
        choice = self.parts.policy.choose(self.state, draw)
        if drafting and choice.operator != "draft":
            return None
        candidate = f"c{number:04d}"
        chosen = r.Chosen(candidate=candidate, parent=choice.parent, operator=choice.operator, draw=number)
        self.journal.append(chosen, r.Actor(kind="policy", name=self.parts.policy.name))
        return candidate

    def _budget_is_spent(self) -> bool:
        """Whether something is used up. Steps just end; any other budget is recorded, and stops the run."""
        reached = budget.reached(self.state)
        if reached is not None and reached[0] != budget.STEPS:
            self._note_budget(BudgetSpent(*reached))
        return reached is not None

    async def rerun(self, node: Candidate, cells: Sequence[str]) -> Rerun:
        """Run an approved program once more, cell by cell, for the exported solution."""
        if self._ahead is not None and self._ahead[0] == node.id:
            return await self._ahead[1]
        await self._drop_what_ran_ahead()
        return await self.run_again(node, cells)

    def _run_ahead(self) -> None:
        """Where all steps are given out and fewer programs are to come than workers: begin the export's execution of
        what will be the best, as it looks now."""
        if self._cells_of is None or self._ahead is not None or self._leaving or self._ending is not None:
            return
        under_way = [self.state.candidates[one] for one in self.state.unfinished]
        to_come = sum(node.finished is None for node in under_way)
        if budget.reached(self.state) is None or to_come >= self.opened.settings.workers:
            return
        best = self.state.best_candidate()
        for node in under_way:
            if node.value is not None and (best is None or self.state.better(node.value, best.value or 0.0)):
                best = node
        if best is None or best.decided is None or "export" not in best.decided.purposes:
            return
        cells = self._cells_of(self.blobs.text(best.code))
        self._ahead = best.id, asyncio.create_task(self.run_again(best, cells))

    async def _drop_what_ran_ahead(self) -> None:
        """End an execution for an export that is not made; its records say that it was stopped."""
        if self._ahead is None:
            return
        candidate, rerun = self._ahead
        self._unwanted.add(candidate)
        if candidate in self._kernels:
            self._kernels[candidate].stop()
        await asyncio.gather(rerun, return_exceptions=True)
        self._unwanted.clear()
        self._ahead = None
