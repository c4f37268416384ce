"""The runs of this server: begun by a request, at work whatever pages come and go, left when the server ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from .. import records as r
from ..anchoring import notebook_of
from ..audit.blobs import Blobs
from ..audit.chain import JOURNAL, read_records
from ..audit.writer import update_notebook
from ..errors import AideError, BadRequest, OwnedElsewhere
from ..example import GOAL, METRIC, TARGET, write_example
from ..opening import new_run, resume_run
from ..options import request_from_options
from ..run_index import RunEntry
from ..task import new_run_id
from .caps import Caps
from .live import LiveRun
from .looking import Looking, entry_of
from .models import LeaseMessage, StartRun
from .nodes import Picture
from .notebooks import Notebooks
from .places import Places
from .runview import Around
from .sockets import Sockets

_log = logging.getLogger(__name__)
PREPARING = 2
"""Runs that are prepared at the same time: each keeps a thread of the loop's own executor busy."""
FAILED = 5
"""Runs that could not begin and are still listed."""
EXAMPLE = "aide-example"
_EXAMPLE_OPTIONS = {"goal": GOAL, "metric": METRIC, "target": TARGET, "id": "id"}
_EXAMPLE_DEFAULTS = {"steps": 8, "timeout": 300.0}


class Runs(Looking):
    """All runs, and those that live here.

    Parameters
    ----------
    places, caps
        What the administrator has set.
    emit
        Tells every page that a run has come to a record: (run, seq).
    room_exists
        Whether a collaboration room exists for a file.
    """

    def __init__(
        self,
        places: Places,
        caps: Caps,
        emit: Callable[[str, int], None],
        room_exists: Callable[[Path], bool] = lambda path: False,
    ) -> None:
        super().__init__(places, caps)
        self.sockets = Sockets()
        self.notebooks = Notebooks(places, room_exists, self._tell_lease, self._let_go, self._found_at)
        self._emit = emit
        self._turn = asyncio.Semaphore(PREPARING)
        self._closing = False

    @property
    def working(self) -> int:
        """How many runs are prepared or at work here."""
        return sum(live.working for live in self._live.values())

    async def start(self, asked: StartRun, actor: r.Actor) -> str:
        """Begin a run; it is prepared from now on. Returns its id.

        Raises
        ------
        BadRequest
            What is asked cannot be, or is more than the administrator allows.
        """
        options = asked.model_dump(exclude={"example"}, exclude_none=True)
        if asked.example:
            options = {**_EXAMPLE_DEFAULTS, **options, **_EXAMPLE_OPTIONS}
        options = self.caps.options(options)
        find_data = self._example if asked.example else partial(self._data, asked.data)
        options["data"] = await self.off_data(find_data)
        request = request_from_options({**options, "out": self.places.runs})
        run = new_run_id(datetime.now(UTC))
        live = self._new_live(run, request.goal, request.mode or "every", actor)
        live.begin(lambda opening: new_run(request, opening, run))
        return run

    async def resume(self, run: str, actor: r.Actor) -> None:
        """Take up a run that nobody works at; it is prepared from now on.

        Raises
        ------
        BadRequest
            It is more than the administrator allows, or is closed.
        """

        def check(picture: Picture, around: Around) -> tuple[str, r.ReviewMode]:
            state = picture.trail.state
            assert state.opened is not None
            if state.closed is not None:
                raise BadRequest("The run is closed; nothing can be added to it.", "Begin a new run.")
            self.caps.must_allow_run(state.opened, state.mode, state.budgets, state.base_url)
            return state.opened.task.goal, state.mode

        goal, mode = await self.look(run, check)
        live = self._new_live(run, goal, mode, actor)
        live.begin(lambda opening: resume_run(run, opening))

    async def abandon(self, run: str) -> None:
        """End the preparation of a run."""
        live = self._live.get(run)
        if live is not None:
            await live.abandon()
            self._live.pop(run, None)
            self._emit(run, -1)

    async def close(self) -> None:
        """The server ends: each run is left so that it can be resumed, and no program survives."""
        self._closing = True
        await asyncio.gather(*(live.leave("the Jupyter server was stopped") for live in tuple(self._live.values())))
        await self.notebooks.close()
        self.sockets.close()
        for threads in (self._threads, self._data_threads):
            threads.shutdown(wait=False, cancel_futures=True)

    def _new_live(self, run: str, title: str, mode: r.ReviewMode, actor: r.Actor) -> LiveRun:
        before = self._live.get(run)
        if self._closing:
            raise BadRequest("This server is being stopped.", "Start it again, then the run.")
        if before is not None and before.working:
            raise OwnedElsewhere(f"The run {run} is at work already.")
        if self.caps.running is not None and self.working >= self.caps.running:
            raise BadRequest(f"{self.working} runs are at work, as many as this server allows.", "Wait for one to end.")
        for old in [one.name for one in self._live.values() if not one.working and one.picture is None][:-FAILED]:
            del self._live[old]
        live = LiveRun(
            run,
            title,
            mode,
            actor,
            changed=self._changed,
            may_write=partial(self.notebooks.may_write, run),
            turn=self._turn,
        )
        self._live[run] = live
        return live

    def _changed(self, run: str) -> None:
        """A run of this server has a new record, or began, failed or ended. One that ended well is as any other."""
        live = self._live.get(run)
        if live is None:
            return
        self._emit(run, -1 if live.picture is None else live.picture.trail.head.seq)
        if live.ended and live.picture is not None and not live.problem:
            del self._live[run]
        self.sockets.wake(run)

    def _tell_lease(self, run: str, tab: str, message: LeaseMessage) -> None:
        self.sockets.tell(run, tab, message)

    async def _let_go(self, run: str) -> None:
        """The owner may write the notebook again; where that is not this server, the server brings it up once."""
        live = self._live.get(run)
        if live is not None and live.run is not None:
            live.run.notebook_is_free()
            return
        entry = await self.off_loop(partial(entry_of, run))
        if entry is not None and not entry.missing:
            await self.off_loop(partial(_bring_up, entry))

    def _found_at(self, run: str, path: Path) -> None:
        live = self._live.get(run)
        if live is not None and live.run is not None:
            live.run.entry = live.run.entry.model_copy(update={"notebook": path})
            live.run.writer.path = path
        self.sockets.wake(run)

    def _data(self, named: str | None) -> Path:
        if not named:
            raise BadRequest("No data folder was named.", "Choose the folder that holds the data.")
        return self.places.data_folder(named)

    def _example(self) -> Path:
        folder = self.places.root / EXAMPLE
        if (folder / "train.csv").is_file():
            return folder
        if folder.exists() and any(folder.iterdir()):
            raise BadRequest(f"The folder {EXAMPLE} holds something else.", "Rename it, then try the example again.")
        return write_example(folder)


def _bring_up(entry: RunEntry) -> None:
    try:
        update_notebook(notebook_of(entry), read_records(entry.folder / JOURNAL), Blobs(entry.folder))
    except AideError as error:
        _log.warning("The notebook of the run %s was not brought up: %s", entry.run, error)
