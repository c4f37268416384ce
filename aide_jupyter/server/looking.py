"""A look at any run: at one of this server on the loop, at any other in a thread, by its journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from .. import __version__
from ..errors import AideError, BadRequest
from ..owner import is_owned
from ..run_index import RunEntry, RunIndex
from . import runview
from .caps import Caps
from .followed import Library, size_of, words_of
from .live import LiveRun
from .models import OwnerWord, RunList, RunState, RunSummary, ViewPhase
from .nodes import Picture
from .places import Places
from .runview import Around

T = TypeVar("T")
READERS = 8
DATA_READERS = 2
"""Threads that wait for data to be read, which can take minutes, beside those for everything else."""
_ADVICE = "Load the list of runs again."


class NotFound(AideError):
    """There is no such run, candidate or blob."""


class Looking:
    """All runs as pages see them.

    Parameters
    ----------
    places, caps
        What the administrator has set.
    """

    def __init__(self, places: Places, caps: Caps) -> None:
        self.places, self.caps = places, caps
        self.library = Library()
        self._live: dict[str, LiveRun] = {}
        self._summaries: dict[str, tuple[object, RunSummary]] = {}
        self._threads = ThreadPoolExecutor(READERS, "aide-read")
        self._data_threads = ThreadPoolExecutor(DATA_READERS, "aide-data")

    async def off_loop(self, work: Callable[[], T]) -> T:
        """Do something that blocks in a thread of this service's own, so that long preparations never delay it."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def off_data(self, work: Callable[[], T]) -> T:
        """The same, for what reads a person's data."""
        return await asyncio.get_running_loop().run_in_executor(self._data_threads, work)

    def live(self, run: str) -> LiveRun | None:
        """The run, where this server has begun it."""
        return self._live.get(run)

    async def look(self, run: str, show: Callable[[Picture, Around], T]) -> T:
        """What ``show`` makes of a run.

        Raises
        ------
        NotFound
            There is no such run.
        AideError
            Its journal cannot be read.
        """
        live = self._live.get(run)
        if live is not None and live.picture is not None and live.run is not None:
            return show(live.picture, self._around(live.run.entry, "server", live))
        return await self.off_loop(partial(self._look_elsewhere, run, show))

    async def state(self, run: str, after: int) -> RunState:
        """The run as a page shows it; see :func:`.runview.run_state`. Raises as :meth:`look`."""
        live = self._live.get(run)
        unborn = live is not None and live.picture is None
        try:
            return await self.look(run, lambda picture, around: runview.run_state(picture, around, after))
        except AideError:
            if live is None or not unborn:
                raise
            if live.picture is not None:  # It began to work while it was looked for on the disk.
                return await self.state(run, after)
            return runview.unopened_state(run, live.title, live.mode, self._unborn(live))

    async def phase(self, run: str) -> tuple[int, ViewPhase]:
        """The number of a run's last record, and its phase. Raises as :meth:`look`."""
        live = self._live.get(run)
        unborn = live is not None and live.picture is None
        try:
            return await self.look(run, lambda it, around: (it.trail.head.seq, runview.phase_of(it.trail, around)))
        except AideError:
            if live is None or not unborn:
                raise
            if live.picture is not None:
                return await self.phase(run)
            return -1, "preparing" if live.working else "failed"

    async def list(self) -> RunList:
        """All runs that this account knows, newest first."""
        entries = await self.off_loop(lambda: RunIndex().list())
        known = {entry.run for entry in entries}
        rows = [self._unborn_summary(live) for live in self._live.values() if live.name not in known]
        others = []
        for entry in entries:
            live = self._live.get(entry.run)
            if live is not None and live.picture is not None and live.run is not None:
                rows.append(runview.run_summary(live.picture.trail, self._around(entry, "server", live)))
            else:
                others.append(entry)
        rows += await self.off_loop(lambda: [self._summary(entry) for entry in others])
        return RunList(version=__version__, runs=tuple(sorted(rows, key=lambda row: row.created, reverse=True)))

    async def entry(self, run: str) -> RunEntry:
        """Where a run is. Raises NotFound."""
        found = await self.off_loop(partial(entry_of, run))
        if found is None:
            raise NotFound(f"There is no run “{run[:80]}”.", _ADVICE)
        return found

    def owned_elsewhere(self, entry: RunEntry) -> bool:
        """Whether another process works at it. This one owns it, too, where it takes the run up at this moment."""
        live = self._live.get(entry.run)
        return not (live is not None and live.working) and is_owned(entry.folder)

    def _around(self, entry: RunEntry, owner: OwnerWord, live: LiveRun | None) -> Around:
        problems = []
        if live is not None and live.problem:
            problems.append(live.problem)
        run = None if live is None else live.run
        # While a page or a collaboration room writes the notebook, that the owner could not is as it should be.
        if run is not None and run.writer.problem and run.may_write(run.writer.path):
            problems.append(f"The audit notebook could not be written: {run.writer.problem}.")
        preparing = live.preparing if live is not None and live.working else ""
        return Around(entry, owner, self.places, self.caps.review_modes, preparing, tuple(problems))

    def _look_elsewhere(self, run: str, show: Callable[[Picture, Around], T]) -> T:
        entry = entry_of(run)
        if entry is None:
            raise NotFound(f"There is no run “{run[:80]}”.", _ADVICE)
        if entry.missing:
            raise NotFound(f"The folder of the run, {entry.folder}, is not where it was.", "Put it back.")
        around = self._around(entry, self._owner(entry), self._live.get(run))
        return self.library.followed(entry.folder).look(lambda picture: show(picture, around))

    def _owner(self, entry: RunEntry) -> OwnerWord:
        live = self._live.get(entry.run)
        if live is not None and live.working:
            return "server"
        return "elsewhere" if is_owned(entry.folder) else "nobody"

    def _summary(self, entry: RunEntry) -> RunSummary:
        """A row of the list, kept while neither the journal nor who runs it has changed."""
        around = self._around(entry, self._owner(entry), self._live.get(entry.run))
        state = (size_of(entry.folder), around.owner, around.preparing, around.problems, entry.notebook)
        known = self._summaries.get(entry.run)
        if known is not None and known[0] == state:
            return known[1]
        try:
            row = self.library.followed(entry.folder).look(lambda picture: runview.run_summary(picture.trail, around))
        except (AideError, OSError) as error:
            phase: ViewPhase = "preparing" if around.preparing else "missing" if entry.missing else "unreadable"
            broken = Around(entry, around.owner, self.places, (), around.preparing, (words_of(error),))
            return runview.without_records(entry.run, entry.slug, phase, broken)
        self._summaries[entry.run] = (state, row)
        return row

    def _unborn(self, live: LiveRun) -> Around:
        entry = RunEntry(run=live.name, folder=self.places.runs, created=live.created)
        return self._around(entry, "server" if live.working else "nobody", live)

    def _unborn_summary(self, live: LiveRun) -> RunSummary:
        phase: ViewPhase = "preparing" if live.working else "failed"
        return runview.without_records(live.name, live.title, phase, self._unborn(live))


def entry_of(run: str) -> RunEntry | None:
    """The run of this id; None also where that is no id."""
    try:
        return RunIndex().get(run)
    except BadRequest:
        return None
