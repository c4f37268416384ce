"""A run that this process owns: the engine at work, its notebook kept up, its control socket answered."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from . import records as r
from .audit.writer import NotebookWriter
from .control import Command
from .engine import Engine
from .errors import AideError
from .run_index import RunEntry, RunIndex

_log = logging.getLogger(__name__)


@dataclass
class Run:
    """One owned run. Made by :func:`.opening.new_run` and :func:`.opening.resume_run`.

    ``may_write`` is asked before the notebook's file is written, with its path: a page, or a collaboration room, may
    be the one that writes it.
    """

    entry: RunEntry
    engine: Engine
    writer: NotebookWriter
    actor: r.Actor
    may_write: Callable[[Path], bool] = field(default=lambda path: True)
    _stirred: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self.entry.folder

    @property
    def notebook(self) -> Path:
        """Its audit notebook."""
        return self.writer.path

    async def go(self) -> None:
        """Work until the run is closed or this process leaves it. Raises as :meth:`.engine.Engine.run`."""
        await self.write_notebook(force=True)
        writing = asyncio.create_task(self._keep_notebook())
        try:
            await self.engine.run()
        finally:
            writing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await writing
            await self.write_notebook(force=True)

    async def write_notebook(self, *, force: bool = False) -> bool:
        """Bring the notebook's file up, wherever a person has moved it. Says whether it was written."""
        known = await asyncio.to_thread(RunIndex().get, self.entry.run)
        if known is not None and known.notebook is not None:
            self.writer.path = known.notebook
        if not self.may_write(self.writer.path):
            return False
        return await self.writer.flush_in_thread(force=force)

    def notebook_is_free(self) -> None:
        """A page wrote the notebook and has let it go: the file is brought up, and from now on kept up, from here."""
        self.writer.hurry()
        self._stirred.set()

    async def control(self, command: Command) -> Mapping[str, JsonValue]:
        """Do what another process of this account asks. The answer names the run and its phase."""
        engine = self.engine
        actor = self.actor if command.user is None else r.Actor(kind="user", name=command.user)
        match command.verb:
            case "pause":
                engine.pause("a person asked for it", actor)
            case "resume":
                engine.resume(actor)
            case "stop":
                engine.stop("a person asked for it")
            case "stop-now":
                engine.stop_now("a person asked for it")
            case "hint":
                engine.hint(command.text or "", actor)
            case "mode" if command.mode is not None:
                engine.switch_mode(command.mode, actor)
        return {"run": engine.state.run, "phase": engine.state.phase(owned=True)}

    async def _keep_notebook(self) -> None:
        """Write the notebook as the run goes on. It is a view and may lag, so a failed write is only tried again."""
        self.engine.journal.on_append.append(lambda record: self._stirred.set())
        while True:
            self._stirred.clear()
            wait = self.writer.wait if self.may_write(self.writer.path) else None
            if wait != 0.0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._stirred.wait()
                continue
            try:
                await self.write_notebook()
            except AideError as error:
                _log.warning("The audit notebook could not be written: %s", error)
                await self._stirred.wait()
