"""A run in a terminal: its progress, its questions, Ctrl+C, and what is printed at its end."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import IO, Any, TextIO, cast

from rich.console import Console

from . import records as r
from .afterwards import check_run
from .ask import watched
from .listing import run_json, source_of
from .opening import Opening, new_run, resume_run
from .progress import number, spend
from .run import Run
from .task import Request

INTERRUPTED = 130
_log = logging.getLogger(__name__)


def run_in_terminal(request: Request, *, as_json: bool, verify: bool = False) -> int:
    """Do a run. Returns 0 with a best program, 1 without one, 130 where it was left unfinished.

    Parameters
    ----------
    verify
        Check the run at its end, and say what was found.
    """
    session = _Session(as_json)
    return asyncio.run(session.go(new_run(request, session.opening()), verify=verify))


def resume_in_terminal(
    which: str,
    *,
    mode: r.ReviewMode | None,
    base_url: str | None,
    price: tuple[float, float] | None,
    as_json: bool,
) -> int:
    """Go on with a run; returns the same."""
    session = _Session(as_json)
    run = resume_run(which, session.opening(), mode=mode, base_url=base_url, price=price)
    return asyncio.run(session.go(run, verify=False))


class _Session:
    """One run and one terminal. With ``--json`` progress goes to standard error, and the last line is the object."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        stream = sys.stderr if as_json else sys.stdout
        self._console = Console(file=None if stream is None else cast(IO[str], _Output(stream, self._unread)))
        self._on_unread: Callable[[], object] = lambda: None
        self._interrupts = 0
        self._given_up = threading.Event()

    def opening(self) -> Opening:
        can_ask = sys.stdin is not None and sys.stdin.isatty() and self._console.is_terminal
        return Opening(can_ask=can_ask, tell=self._tell, stop=self._given_up.is_set)

    async def go(self, making: AbstractAsyncContextManager[Run], *, verify: bool) -> int:
        try:
            with self._signals(self._give_up(asyncio.current_task())):
                run = await making.__aenter__()
        except asyncio.CancelledError:
            if not self._given_up.is_set():
                raise
            self._say("Interrupted before the run had begun; nothing was started.")
            return INTERRUPTED
        try:
            with self._signals(lambda kill: self._leave(run, kill)):
                await self._work(run)
        finally:
            await making.__aexit__(*sys.exc_info())
        state = run.engine.state
        result = run_json(state, run.entry, owned=False)
        self._say_end(run, result["status"])
        if verify:
            for line in check_run(run.folder).lines:
                self._say(line)
        if self._as_json:
            print(json.dumps(result))
        if state.closed is None:
            return INTERRUPTED
        return 0 if state.best is not None else 1

    async def _work(self, run: Run) -> None:
        self._say(f"{run.folder}")
        async with watched(run, self._console):
            await run.go()

    @contextmanager
    def _signals(self, handle: Callable[[bool], None]) -> Iterator[None]:
        """Call ``handle`` for Ctrl+C (with False) and for a termination (with True)."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, handle, False)
        loop.add_signal_handler(signal.SIGTERM, handle, True)
        self._on_unread = lambda: loop.call_soon_threadsafe(handle, False)
        try:
            yield
        finally:
            self._on_unread = lambda: None
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGTERM)

    def _unread(self) -> None:
        """Nobody reads on (``| head``): as Ctrl+C."""
        self._on_unread()

    def _give_up(self, task: asyncio.Task[Any] | None) -> Callable[[bool], None]:
        """While a run is prepared: end that, and leave nothing behind."""

        def handle(kill: bool) -> None:
            self._given_up.set()
            if task is not None:
                task.cancel()

        return handle

    def _leave(self, run: Run, kill: bool) -> None:
        """Pause and leave once what runs has finished; the second time, or at a termination, kill what runs."""
        self._interrupts += 1
        run.engine.leave("interrupted from the terminal", run.actor)
        if kill or self._interrupts > 1:
            run.engine.kill()
        else:
            self._say("Pausing: what runs finishes first. Press Ctrl+C again to kill it.")

    def _say_end(self, run: Run, status: str) -> None:
        state = run.engine.state
        best = state.best_candidate()
        self._say("")
        if best is None:
            self._say("No program ended with a number.")
        else:
            way = "lower is better" if state.minimize else "higher is better"
            self._say(f"Best: {best.id} with {number(best.value)} ({source_of(best)}; {way})")
        self._say(f"Spent: {spend(state)}")
        if state.closed is None:
            self._say(f"The run is {status}. Go on with: jupyter aide resume {state.run}")
        self._say(f"Audit notebook: {run.notebook}")
        if best is not None and state.closed is not None:
            self._say(f"Solution: {run.folder / 'best' / 'solution.ipynb'}")
        self._say(f"Signed by the key {run.entry.key}. Check with: jupyter aide verify {run.folder}")

    def _tell(self, words: str) -> None:
        self._console.print(f"{words} …", style="dim", markup=False, highlight=False, soft_wrap=True)

    def _say(self, words: str) -> None:
        self._console.print(words, markup=False, highlight=False, soft_wrap=True)


class _Output:
    """Standard output or standard error, of which a loss never ends what is being recorded.

    A reader that is gone is told once. A terminal that was hung up, or a full disk below a log, loses only words.
    """

    def __init__(self, stream: TextIO, unread: Callable[[], None]) -> None:
        self._stream = stream
        self._unread = unread

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, words: str) -> int:
        """As a stream's."""
        with self._never_ending():
            self._stream.write(words)
        return len(words)

    def flush(self) -> None:
        """As a stream's."""
        with self._never_ending():
            self._stream.flush()

    @contextmanager
    def _never_ending(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            self._unread()
        except OSError as error:
            _log.debug("What was to be shown is lost: %s", error)
