"""How a run is steered while it works: pause, resume, stop, leave, kill.

*Pause*: nothing new starts, what runs finishes. *Stop*: the same, what waits is rejected, and the run is closed. *Stop
now*: what runs is killed first. *Leave*: a pause that also ends this process's part; the run can be resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from . import records as r
from .audit.journal import Journal
from .audit.redact import Redactor
from .audit.trail import Trail
from .errors import ModelUnusable
from .llm.gateway import Gateway
from .recording import Recording
from .review.gate import Reviews, needs_person
from .sandbox.kernel import RestrictedKernel
from .sandbox.pool import Pool
from .search.policy import Policy
from .state import RunState

T = TypeVar("T")


class Leaving(Exception):
    """This process gives the run up for now; what is unfinished stays so in the journal."""


class Cancelled(Exception):
    """A model call was cancelled, or not made, because the run is being stopped."""


@dataclass
class Parts:
    """What a run works with; :mod:`aide_jupyter.opening` puts it together.

    ``can_ask`` says whether there is anybody to ask: a terminal or a page. ``preview`` is JSON-able. ``check_data``
    raises where the data is no longer what it was.
    """

    folder: Path
    journal: Journal
    trail: Trail
    policy: Policy
    gateway: Gateway
    pool: Pool
    reviews: Reviews
    redactor: Redactor
    preview: dict[str, Any] | None = None
    preview_chars: int | None = None
    preview_taints: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    test_rows: bool | None = None
    can_ask: bool = False
    check_data: Callable[[], None] = field(default=lambda: None)
    on_output: Callable[[str, int, str], None] = field(default=lambda candidate, offset, text: None)


class Steered:
    """A run that can be steered; :class:`.engine.Engine` is one."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.journal = parts.journal
        self.recording = Recording(parts.journal, parts.redactor)
        self.killed = False
        self.fault: BaseException | None = None
        self._ending: str | None = None
        self._leaving = False
        self._kernels: dict[str, RestrictedKernel] = {}
        self._calls: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Event()

    @property
    def state(self) -> RunState:
        """The run as its records tell it."""
        return self.journal.state

    def pause(self, why: str, actor: r.Actor) -> None:
        """Nothing new starts; what runs finishes."""
        if self.state.paused is None and self.state.closed is None:
            self.journal.append(r.Paused(why=self.recording.words(why)), actor)
        self._notify()

    def resume(self, actor: r.Actor) -> None:
        """Go on after a pause."""
        if self.state.paused is not None:
            self.journal.append(r.Resumed(), actor)
        self._notify()

    def stop(self, why: str) -> None:
        """Nothing new starts, what waits is rejected, what runs finishes; then the run is closed."""
        self._ending = self._ending or why
        self.parts.reviews.cancel(self._ending)
        self._notify()

    def stop_now(self, why: str) -> None:
        """The same, after killing what runs."""
        self.stop(why)
        self.kill()

    def leave(self, why: str, actor: r.Actor) -> None:
        """Pause, and end this process's part once what runs has finished."""
        self._leaving = True
        self.pause(why, actor)
        self.parts.reviews.leave()

    def kill(self) -> None:
        """Kill every running program and cancel every model call; their candidates end as stopped."""
        self.killed = True
        for call in tuple(self._calls):
            call.cancel()
        self._kill_programs()

    def hint(self, words: str, actor: r.Actor) -> None:
        """A person's words for the next steps."""
        self.journal.append(r.Changed(what="hint", before=None, after=self.recording.words(words)), actor)

    def switch_mode(self, mode: r.ReviewMode, actor: r.Actor) -> None:
        """Change the review mode; what waits and would not be asked under the new one is decided by it."""
        if mode != self.state.mode:
            self.journal.append(r.Changed(what="mode", before=self.state.mode, after=mode), actor)
        for candidate, asked in tuple(self.state.waiting.items()):
            if needs_person(self.state, self.state.candidates[candidate], asked.flags, mode) is None:
                self.parts.reviews.release(candidate, r.Actor(kind="policy", name=f"review mode {mode}"))

    async def guarded(self, work: Awaitable[None]) -> None:
        """Await a part of the run's work. The first fault ends all of them, and the run can be resumed."""
        try:
            await work
        except Leaving:
            """The candidate stays as far as it has come."""
        except Exception as fault:
            self.fault = self.fault or fault
            self._leaving = True
            self.parts.reviews.leave()
            if isinstance(fault, ModelUnusable):
                self.pause(fault.message, r.SYSTEM)
            self._kill_programs()

    def _notify(self) -> None:
        """Wake every worker that waits out a pause."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _wait_for_change(self) -> None:
        await self._changed.wait()

    async def _wait_out_a_pause(self) -> None:
        """Where a program is about to start: not while the run is paused."""
        while self.state.paused is not None and self._ending is None:
            if self._leaving:
                raise Leaving
            await self._wait_for_change()

    async def _call(self, call: Coroutine[Any, Any, T]) -> T:
        """Await a model call such that :meth:`kill` can cancel it; then it raises :class:`Cancelled`."""
        task = asyncio.create_task(call)
        self._calls.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if self.killed:
                raise Cancelled("it was stopped at once") from None
            raise
        finally:
            self._calls.discard(task)

    def _kill_programs(self) -> None:
        for kernel in tuple(self._kernels.values()):
            kernel.stop()
