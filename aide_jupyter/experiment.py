"""The Python API: a program written for ``aide.Experiment`` changes its import and says who reviews."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from . import records as r
from .ask import watched
from .errors import AideError, BadRequest
from .opening import Opening, new_run
from .options import request_from_options
from .task import Request

T = TypeVar("T")


@dataclass(frozen=True)
class Solution:
    """The best program of a run.

    Attributes
    ----------
    code
        The program, as it was approved and run.
    valid_metric
        Its number; which way is better is ``direction``. NaN where no program had one.
    source
        ``final``, ``selection`` or ``reported``: where the number comes from. Reported is read from the program's
        own output.
    notebook
        The audit notebook.
    """

    code: str
    valid_metric: float
    source: str
    direction: r.Direction
    candidate: str
    folder: Path
    notebook: Path


class Experiment:
    """A run, prepared from Python.

    Parameters
    ----------
    data_dir
        The folder with the data. It is read, never written.
    goal
        What is to be predicted, in a sentence or more.
    eval
        How solutions are to be evaluated, in words.
    **options
        The command line's options, with underscores: ``review``, ``model``, ``metric``, ``target``, ``workers``,
        ``timeout``, ``max_tokens``, ``out``, … (docs/from-aide.md has all of them).

    Raises
    ------
    BadRequest
        Where an option is unknown or cannot be, naming it.
    """

    def __init__(
        self,
        data_dir: str | Path,
        goal: str,
        eval: str | None = None,  # noqa: A002
        **options: Any,
    ) -> None:
        self._options = {"data": Path(data_dir), "goal": goal, "eval": eval, **options}
        self.request: Request = request_from_options(self._options)

    def run(self, steps: int) -> Solution:
        """Search for ``steps`` candidates and return the best program. In a terminal it shows progress, and asks there.

        Raises
        ------
        BadRequest
            Where nobody can be asked for reviews and ``review=`` was not given.
        AideError
            Where the run could not go on, was left in the terminal, or ended without any program that has a number.
        """
        request = request_from_options({**self._options, "steps": steps})
        can_ask = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
        if request.mode is None and not can_ask:
            raise BadRequest(
                "Programs are reviewed before they run, and here nobody can be asked.",
                'Say how with review=: "auto" (only suspicious programs are held back), "flagged" (the first '
                'program and every flagged one are held back), or "every" in a terminal, where you are asked.',
            )
        return _finished(lambda: self._run(request, can_ask))

    async def _run(self, request: Request, can_ask: bool) -> Solution:
        opening = Opening(can_ask=can_ask)
        async with new_run(request, opening) as run:
            async with watched(run, Console()) if can_ask else nullcontext():
                await run.go()
            state, blobs = run.engine.state, run.engine.blobs
            best = state.best_candidate()
            if state.closed is None:
                raise AideError(
                    f"The run {state.run} was left before its end.", f"Go on with: jupyter aide resume {state.run}"
                )
            if best is None or best.grade is None:
                raise AideError(
                    f"No program ended with a number in {state.steps} steps.",
                    f"The audit notebook tells what happened: {run.notebook}",
                )
            assert state.opened is not None
            return Solution(
                code=blobs.text(best.code),
                valid_metric=math.nan if best.value is None else best.value,
                source=best.grade.source if best.grade.rows == "selection" else "final",
                direction=state.opened.task.direction,
                candidate=best.id,
                folder=run.folder,
                notebook=run.notebook,
            )


def _finished(start: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, also where a loop is already running (in a notebook). An interrupt ends it there."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()

    async def work() -> T:
        task = asyncio.create_task(start())
        begun.set_result((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(max_workers=1) as pool:
        done = pool.submit(lambda: asyncio.run(work()))
        try:
            return done.result()
        except KeyboardInterrupt:
            loop, task = begun.result()
            loop.call_soon_threadsafe(task.cancel)
            raise
