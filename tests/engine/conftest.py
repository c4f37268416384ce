"""An engine with a real journal, review and search, and with models and kernels that do as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from aide_jupyter import records as r
from aide_jupyter.audit.journal import Anchor, Blobs, Journal, SigningKey
from aide_jupyter.audit.redact import Redactor
from aide_jupyter.audit.trail import Trail
from aide_jupyter.engine import Engine
from aide_jupyter.llm.replies import Program, Review
from aide_jupyter.review.gate import Reviews
from aide_jupyter.sandbox.outcome import CellRun, Execution
from aide_jupyter.search.policy import Aide
from aide_jupyter.steering import Parts

Finish = Callable[[Engine, str], Awaitable[None]]
SECRET = "correct-horse-battery-staple"
KEY = SigningKey.generate()


class Model:
    """Writes program after program. What is in ``faults`` is raised or returned instead, by the number of the call."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.authored: list[str] = []
        self.reviewed: list[str] = []
        self.faults: dict[int, Any] = {}
        self.hold: asyncio.Event | None = None
        self.hold_reviews: asyncio.Event | None = None
        self.reviewing = 0

    async def author(self, choice: r.ModelChoice, messages: Any, *, candidate: str) -> Program:
        self.authored.append(candidate)
        call = len(self.authored)
        tokens = r.Tokens(prompt=10, completion=10)
        for phase in ("reserved", "settled"):
            spent = {"call": call, "phase": phase, "purpose": "author", "model": "m", "tokens": tokens}
            self.journal.append(r.Spent.model_validate({**spent, "cost": 0.0, "candidate": candidate}))
        if self.hold is not None:
            await self.hold.wait()
        fault = self.faults.get(call)
        if isinstance(fault, Exception):
            raise fault
        return Program(f"plan of {candidate}", fault or f"print('{candidate}')")

    async def review(self, choice: r.ModelChoice, messages: Any, *, candidate: str) -> Review:
        self.reviewing += 1
        if self.hold_reviews is not None:
            await self.hold_reviews.wait()
        self.reviewing -= 1
        self.reviewed.append(candidate)
        return Review(False, f"learned from {candidate}")


class Kernel:
    """Runs nothing: ends as its pool says, once it may."""

    def __init__(self, pool: Kernels) -> None:
        self.pool = pool
        self.kernel_id = f"k{len(pool.ran) + 1}"
        self.stopped = asyncio.Event()

    async def run_cells(
        self, cells: Sequence[str], limits: r.Limits, on_output: Any, on_text: Callable[[str], None], destination: Any
    ) -> CellRun:
        code = "\n".join(cells)
        self.pool.ran.append(code)
        self.pool.running += 1
        try:
            hold = self.pool.holds.get(len(self.pool.ran), self.pool.hold)
            if hold is not None:
                waits = [asyncio.create_task(hold.wait()), asyncio.create_task(self.stopped.wait())]
                _, left = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for wait in left:
                    wait.cancel()
        finally:
            self.pool.running -= 1
        status: r.Status = "stopped" if self.stopped.is_set() else self.pool.statuses.get(len(self.pool.ran), "ok")
        text = f"Validation metric: {self.pool.metric(len(self.pool.ran))}\n"
        on_text(text)
        output = r.StreamOutput(name="stdout", text=text)
        execution = Execution(status, self.kernel_id, Path("none"), 0.5, "ok", (output,))
        return CellRun(execution, [[output]])

    def stop(self) -> None:
        self.stopped.set()

    async def close(self) -> None:
        """Nothing to end."""


class Kernels:
    """A pool that remembers what it ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.expected: list[int] = []
        self.running = 0
        self.statuses: dict[int, r.Status] = {}
        self.hold: asyncio.Event | None = None
        self.holds: dict[int, asyncio.Event] = {}
        self.metric: Callable[[int], float] = lambda number: 1 / number

    def expect(self, programs: int) -> None:
        self.expected.append(programs)

    async def acquire(self) -> Kernel:
        return Kernel(self)


class House:
    """A run's folder, and engines over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kernels = Kernels()
        self.can_ask = False
        self.taints: tuple[str, ...] = ()
        self.journal: Journal

    def begin(
        self,
        *,
        mode: r.ReviewMode = "auto",
        workers: int = 1,
        drafts: int = 2,
        finish: Finish | None = None,
        **budgets: Any,
    ) -> Engine:
        budgets = {"steps": 4, **budgets}
        settings = r.Settings(workers=workers, drafts=drafts, policy="aide", generate_report=False)
        opened = r.Opened(
            task=r.Task(goal="g", metric="rmse", direction="minimize", direction_source="test"),
            policy="aide",
            seed=0,
            mode=mode,
            budgets=r.Budgets.model_validate(budgets),
            settings=settings,
            grants=r.Grants(),
            data=r.DataView(source="d", sha256="a" * 64, files=1, bytes=1, manifest=""),
            versions={},
            key=KEY.public,
        )
        self.journal = Journal.create(self.folder, "20261130t000000-0a0b0c0d", KEY, opened, r.SYSTEM)
        return self._engine(finish)

    def again(self, anchor: Anchor | None = None) -> Engine:
        """Another process takes the run up."""
        anchor = anchor or self.journal.head
        self.journal.close()
        self.journal = Journal.open(self.folder, KEY, [anchor])
        self.journal.settle_unknown()
        engine = self._engine()
        engine.resume(r.SYSTEM)
        return engine

    def _engine(self, finish: Finish | None = None) -> Engine:
        self.model = Model(self.journal)
        parts = Parts(
            folder=self.folder,
            journal=self.journal,
            trail=Trail(),
            policy=Aide(),
            gateway=self.model,  # type: ignore[arg-type]
            pool=self.kernels,  # type: ignore[arg-type]
            reviews=Reviews(),
            redactor=Redactor({"SOME_KEY": SECRET}),
            preview_taints=self.taints,
            can_ask=self.can_ask,
        )
        return Engine(parts, finish or _finish, str.splitlines if finish is not None else None)

    @property
    def blobs(self) -> Blobs:
        return Blobs(self.folder)


async def _finish(engine: Engine, why: str) -> None:
    engine.journal.append(r.Closed(why=why, best=engine.state.best))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "run")
