"""A run that lives in this server: begun or resumed as a task of the server's loop, whatever pages come and go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from .. import records as r
from ..errors import AideError, BadRequest
from ..preparing import Opening
from ..run import Run
from . import words
from .nodes import Picture
from .output import Outputs

_log = logging.getLogger(__name__)
_PATIENCE = 2.0
"""Seconds that a preparation has to end by itself before it is cancelled: reading data asks ten times a second."""
_LEAVE_SECONDS = 20.0


class Making(Protocol):
    """:func:`.opening.new_run` or :func:`.opening.resume_run` with all but the opening given."""

    def __call__(self, opening: Opening) -> AbstractAsyncContextManager[Run]:
        """The run, once it is prepared."""
        ...


class LiveRun:
    """One run of this server, from the request to its end.

    Attributes
    ----------
    run
        The run at work; None while it is being prepared, and after.
    preparing
        What is being prepared, in words; empty once it works.
    problem
        Why it could not begin or go on; empty where nothing is wrong.
    ended
        That this server's part in it is over.

    Parameters
    ----------
    changed
        Called after each record, and when the run begins, fails or ends.
    may_write
        As :attr:`.run.Run.may_write`.
    turn
        Held while the run is prepared, since that keeps threads busy.
    """

    def __init__(
        self,
        name: str,
        title: str,
        mode: r.ReviewMode,
        actor: r.Actor,
        *,
        changed: Callable[[str], None],
        may_write: Callable[[Path], bool],
        turn: asyncio.Semaphore,
    ) -> None:
        self.name, self.title, self.mode = name, title, mode
        self.run: Run | None = None
        self.picture: Picture | None = None
        self.outputs = Outputs()
        self.preparing = "Waiting for its turn"
        self.problem = ""
        self.created = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        self.ended = False
        self._actor, self._changed, self._may_write, self._turn = actor, changed, may_write, turn
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    @property
    def working(self) -> bool:
        """Whether it is being prepared or at work."""
        return self._task is not None and not self.ended

    def begin(self, making: Making) -> None:
        """Prepare it and let it work, from now on and by itself."""
        self._task = asyncio.create_task(self._live(making), name=f"aide run {self.name}")

    async def wait(self) -> None:
        """Wait until it has ended or failed."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def abandon(self) -> None:
        """End its preparation. Nothing is left of it."""
        self._stopping = True
        self.preparing = "Stopping"
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=_PATIENCE)
            self._task.cancel()
            await asyncio.wait({self._task})

    async def leave(self, why: str) -> None:
        """This server ends: leave the run so that it can be resumed, and let no program survive."""
        if self.run is None:
            await self.abandon()
            return
        if self.run.engine.state.closed is None:
            self.run.engine.leave(why, r.SYSTEM)
            self.run.engine.kill()
        if self._task is not None:
            _, late = await asyncio.wait({self._task}, timeout=_LEAVE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.wait({self._task})

    async def _live(self, making: Making) -> None:
        opening = Opening(
            can_ask=True,
            actor=self._actor,
            tell=self._tell,
            on_output=self._output,
            stop=lambda: self._stopping,
        )
        try:
            async with AsyncExitStack() as stack:
                async with self._turn:
                    run = await stack.enter_async_context(making(opening))
                await self._at_work(run)
                await run.go()
        except AideError as error:
            self.problem = words.in_form(str(error)) if isinstance(error, BadRequest) else str(error)
            _log.warning("The run %s stopped: %s", self.name, error)
        except Exception:
            self.problem = "Something unexpected happened. The server's log says what; the run can be resumed."
            _log.exception("The run %s failed.", self.name)
        finally:
            self.preparing = ""
            self.run = None
            self.ended = True
            self._changed(self.name)

    async def _at_work(self, run: Run) -> None:
        """The tree of a resumed run is rendered in a thread, while nothing changes it yet."""
        run.may_write = self._may_write
        picture = Picture(run.engine.parts.trail, run.engine.blobs)
        await asyncio.to_thread(picture.nodes)
        self.picture = picture
        run.engine.journal.on_append.append(self._note)
        self.run, self.preparing = run, ""
        self._changed(self.name)

    def _note(self, record: r.Record) -> None:
        """After the notebook's writer, whose trail this is, has taken the record."""
        assert self.picture is not None
        self.picture.note(record)
        node = self.picture.trail.state.candidates.get(str(record.data.get("candidate")))
        if node is not None:
            self.picture.node(node)
        if record.kind == "finished":
            self.outputs.end(str(record.data.get("candidate")))
        self._changed(self.name)

    def _tell(self, words: str) -> None:
        if not self._stopping:
            self.preparing = words
        self._changed(self.name)

    def _output(self, candidate: str, offset: int, text: str) -> None:
        """Only of the search's execution; the one for the exported solution is no news."""
        if self.run is not None and self.run.engine.state.candidates[candidate].stage == "running":
            self.outputs.add(candidate, offset, text)
