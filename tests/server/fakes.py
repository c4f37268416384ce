"""A model and kernels that do as a test says, in place of real ones; all else of a run is real."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from aide_jupyter import records as r
from aide_jupyter.llm.replies import Program, Review
from aide_jupyter.sandbox.outcome import CellRun, Execution, Picture, RawOutput
from aide_jupyter.task import Request

METRIC = "Validation metric: 0.5\n"


class Stage:
    """What fakes do, for one test."""

    def __init__(self) -> None:
        self.program: Callable[[str], str] = lambda candidate: f"print('{candidate}')\n"
        self.plan: Callable[[str], str] = lambda candidate: f"Plan of {candidate}.\nMore of it."
        self.outputs: Callable[[str], Sequence[RawOutput]] = lambda code: [r.StreamOutput(name="stdout", text=METRIC)]
        self.metric: Callable[[str], str] = lambda code: METRIC
        self.prints: str = ""
        self.hold = asyncio.Event()
        self.hold.set()
        self.prepare = asyncio.Event()
        self.prepare.set()
        self.ran: list[str] = []
        self.prompts: list[str] = []
        self.running = 0
        self.refuse: Exception | None = None


class Model:
    """The gateway."""

    def __init__(self, stage: Stage, **parts: Any) -> None:
        self._stage, self._parts, self._call = stage, parts, parts.get("first_call", 1)

    def warm(self) -> None:
        """Nothing to load."""

    async def check(self, choices: Any, budgets: r.Budgets) -> None:
        """Every model can be called."""

    async def author(self, choice: r.ModelChoice, messages: Any, *, candidate: str) -> Program:
        self._spend(candidate)
        self._stage.prompts.append("\n".join(str(message["content"]) for message in messages))
        return Program(self._stage.plan(candidate), self._stage.program(candidate))

    async def review(self, choice: r.ModelChoice, messages: Any, *, candidate: str) -> Review:
        return Review(False, f"Learned from {candidate}.")

    async def report(self, choice: r.ModelChoice, messages: Any) -> str:
        return "# Introduction\n\nWords."

    def _spend(self, candidate: str) -> None:
        tokens = r.Tokens(prompt=100, completion=50)
        spent = r.Spent(
            call=self._call, phase="reserved", purpose="author", model="m", tokens=tokens, candidate=candidate
        )
        self._parts["reserve"](spent)
        self._parts["settle"](spent.model_copy(update={"phase": "settled"}))
        self._call += 1


class Kernel:
    """Prints what the stage says, then waits for its hold."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.kernel_id = f"k{len(stage.ran) + 1}"
        self._stopped = asyncio.Event()

    async def run_cells(
        self, cells: Sequence[str], limits: r.Limits, on_output: Any, on_text: Callable[[str], None], keep: Any
    ) -> CellRun:
        stage, code = self._stage, "\n".join(cells)
        stage.ran.append(code)
        stage.running += 1
        if stage.prints:
            on_output(0, stage.prints)
        waits = [asyncio.create_task(event.wait()) for event in (stage.hold, self._stopped)]
        _, left = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in left:
            wait.cancel()
        stage.running -= 1
        status: r.Status = "stopped" if self._stopped.is_set() else "ok"
        on_text(stage.metric(code))
        outputs = tuple(stage.outputs(code))
        return CellRun(Execution(status, self.kernel_id, Path("none"), 0.5, "ok", outputs), [list(outputs)])

    def stop(self) -> None:
        self._stopped.set()

    async def close(self) -> None:
        """Nothing to end."""


class Kernels:
    """The pool."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def start(self, *, importing: bool = True) -> None:
        """Nothing to start."""

    def expect(self, programs: int) -> None:
        """None is made before it is asked for."""

    async def prove(self) -> None:
        await self._stage.prepare.wait()
        if self._stage.refuse is not None:
            raise self._stage.refuse

    async def acquire(self) -> Kernel:
        return Kernel(self._stage)

    async def close(self) -> None:
        """Nothing to end."""


def task_of(request: Request, view: Any) -> r.Task:
    return r.Task(goal=request.goal, metric="rmse", direction="minimize", direction_source="test", target="y")


def png(size: int = 4) -> Picture:
    import io

    from PIL import Image

    data = io.BytesIO()
    Image.new("RGB", (size, size), (200, 30, 30)).save(data, "PNG")
    return Picture(data.getvalue())
