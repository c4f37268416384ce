"""The notebook's file of each run: while a page has its lease, or a collaboration room exists, nobody else writes it.

The server holds ``notebook.lock`` in the page's place, so the owner of the run leaves the file alone whichever process
it is: this server, or a terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from ..anchoring import notebook_of
from ..audit.notebookfile import LOCK, Locked, lock
from ..audit.writer import notebook_anchor
from ..errors import AideError, BadRequest
from ..home import data_home, private_folder
from ..run_index import RunIndex
from .lease import Kept, Lease, Told
from .models import CloseMessage, LeaseMessage, OpenMessage, PageMessage, TakeMessage, WrittenMessage
from .places import Places

_log = logging.getLogger(__name__)
ROOM_SECONDS = 5.0
"""How often it is looked whether a collaboration room still exists."""
_LOCK_SECONDS = 5.0
_WORDS = {
    "granted": "",
    "held": "Live in another window",
    "revoked": "Another window goes on with this notebook",
}
_ELSEWHERE = "Another program is writing this notebook"

Tell = Callable[[str, str, LeaseMessage], None]
"""Sends a message to a tab that looks at a run: (run, tab, message). One that is not there hears nothing."""


@dataclass
class _Desk:
    """One run's notebook: its lease, where the file is, and the file's lock while it is held for a page."""

    lease: Lease
    path: Path | None = None
    locked: contextlib.ExitStack | None = None
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    timer: asyncio.TimerHandle | None = None


class Notebooks:
    """The leases of all runs of this server. For its event loop.

    Parameters
    ----------
    room_exists
        Whether a collaboration room exists for a file.
    tell
        How pages are told.
    let_go
        Awaited with a run whose notebook its owner may write again.
    found_at
        Told of a run whose notebook was found at another path than before.
    """

    def __init__(
        self,
        places: Places,
        room_exists: Callable[[Path], bool],
        tell: Tell,
        let_go: Callable[[str], Awaitable[None]],
        found_at: Callable[[str, Path], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places, self._room_exists, self._tell, self._let_go = places, room_exists, tell, let_go
        self._found_at, self._clock = found_at, clock
        self._desks: dict[str, _Desk] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Take up what was leased when the server ended, for the tabs that may come back."""
        for run, kept in await asyncio.to_thread(_all_kept):
            self._desks[run] = _Desk(Lease(self._clock, kept))
            async with self._desks[run].busy:
                await self._settle(run, self._desks[run], [])

    def may_write(self, run: str, path: Path) -> bool:
        """Whether the owner of the run may write its notebook now."""
        desk = self._desks.get(run)
        return (desk is None or desk.lease.free) and not self._room_exists(path)

    def connected(self, run: str, tab: str) -> None:
        """A socket of this tab is there."""
        self._desk(run).lease.connected(tab)

    def lost(self, run: str, tab: str) -> None:
        """A socket of this tab is gone."""
        self._spawn(self._lost(run, tab))

    async def _lost(self, run: str, tab: str) -> None:
        desk = self._desk(run)
        async with desk.busy:
            desk.lease.lost(tab)
            await self._settle(run, desk, [])

    async def take(self, run: str, tab: str, message: PageMessage) -> None:
        """What a page says about the notebook."""
        desk = self._desk(run)
        async with desk.busy:
            match message:
                case OpenMessage():
                    told = await self._open(run, desk, tab, message.path)
                case TakeMessage():
                    told = desk.lease.take(tab)
                case CloseMessage():
                    told = desk.lease.close(tab)
                case WrittenMessage():
                    told = desk.lease.written(tab, message.epoch, message.seq)
            await self._settle(run, desk, told)

    async def moved(self, old: Path, new: Path) -> None:
        """A file or folder was renamed through the server: follow where it is, or holds, a run's notebook."""
        for run, path in await asyncio.to_thread(_follow, old, new):
            self._found_at(run, path)
            desk = self._desks.get(run)
            if desk is not None:
                async with desk.busy:
                    self._unlock(desk)
                    desk.path = path
                    await self._settle(run, desk, [])

    async def close(self) -> None:
        """The server ends. What is leased stays so on disk."""
        for desk in self._desks.values():
            if desk.timer is not None:
                desk.timer.cancel()
            self._unlock(desk)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _desk(self, run: str) -> _Desk:
        return self._desks.setdefault(run, _Desk(Lease(self._clock)))

    async def _open(self, run: str, desk: _Desk, tab: str, named: str) -> list[Told]:
        try:
            path = self._places.file(named)
            await asyncio.to_thread(_must_be_notebook_of, run, path)
        except AideError as error:
            words = error.message
            refused = LeaseMessage(state="refused", epoch=desk.lease.epoch, path=named, words=words, reconcile=False)
            self._tell(run, tab, refused)
            return []
        if desk.path != path:
            self._unlock(desk)
            desk.path = path
            self._found_at(run, path)
        told = desk.lease.open(tab)
        if told[-1] == Told(tab, "granted"):
            # The tab is back after the server's restart, or after its socket was lost. Another may have written while
            # no server held the lock.
            anchor = await asyncio.to_thread(notebook_anchor, path)
            wrote_last = anchor is not None and anchor[1].seq == desk.lease.written_seq
            told[-1] = Told(tab, "granted", reconcile=not wrote_last)
        return told

    async def _settle(self, run: str, desk: _Desk, told: list[Told]) -> None:
        """Bring lock, file and timer to where the lease is, then tell the tabs."""
        told = [*told, *desk.lease.lapse()]
        path = desk.path or await asyncio.to_thread(_notebook, run)
        room = path is not None and self._room_exists(path)
        if path is not None and (room or not desk.lease.free) and desk.locked is None:
            desk.locked = await asyncio.to_thread(_lock, path)
        told_elsewhere = not desk.lease.free and desk.locked is None
        if desk.lease.free and not room and desk.locked is not None:
            self._unlock(desk)
            self._spawn(self._let_go(run))
        await asyncio.to_thread(_keep, run, desk.lease.kept)
        self._set_timer(run, desk, room=room or told_elsewhere)
        shown = "" if path is None else self._places.shown(path)
        for one in told:
            elsewhere = one.state == "granted" and told_elsewhere
            state = "held" if elsewhere else one.state
            words = _ELSEWHERE if elsewhere else _WORDS[one.state]
            message = LeaseMessage(
                state=state, epoch=desk.lease.epoch, path=shown, words=words, reconcile=one.reconcile
            )
            self._tell(run, one.tab, message)

    def _set_timer(self, run: str, desk: _Desk, *, room: bool) -> None:
        if desk.timer is not None:
            desk.timer.cancel()
        waits = [desk.lease.lapses_in, ROOM_SECONDS if room else None]
        wait = min((one for one in waits if one is not None), default=None)
        desk.timer = None if wait is None else asyncio.get_running_loop().call_later(wait, self._look, run)

    def _look(self, run: str) -> None:
        self._spawn(self._look_again(run))

    async def _look_again(self, run: str) -> None:
        desk = self._desk(run)
        async with desk.busy:
            without_lock = desk.locked is None and not desk.lease.free
            await self._settle(run, desk, [])
            if without_lock and desk.locked is not None and desk.lease.holder is not None:
                await self._settle(run, desk, [Told(desk.lease.holder, "granted", reconcile=True)])

    def _unlock(self, desk: _Desk) -> None:
        if desk.locked is not None:
            desk.locked.close()
            desk.locked = None

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("A notebook could not be kept up.", exc_info=error)


def _lock(path: Path) -> contextlib.ExitStack | None:
    """The file's lock, held until it is closed; None where another process has it."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock(path.with_name(LOCK), _LOCK_SECONDS))
        except (Locked, OSError):
            return None
        return stack.pop_all()


def _notebook(run: str) -> Path | None:
    try:
        entry = RunIndex().get(run)
    except AideError:
        return None
    return None if entry is None else notebook_of(entry)


def _must_be_notebook_of(run: str, path: Path) -> None:
    """Whether this file is the run's notebook. One that was moved by other means is followed.

    Raises
    ------
    BadRequest
        It is not; a copy of it, say.
    """
    known = _notebook(run)
    if known is None:
        raise BadRequest(f"There is no run {run}.")
    if path == known:
        return
    found = notebook_anchor(path)
    if found is None or found[0] != run:
        raise BadRequest(f"{path.name} is not the notebook of this run.")
    if known.exists():
        raise BadRequest(f"{path.name} is a copy. The notebook of this run is {known.name}.")
    RunIndex().moved(run, notebook=path)


def _follow(old: Path, new: Path) -> list[tuple[str, Path]]:
    """The runs whose notebook was renamed with ``old``, and where it is; the index knows it then. Blocking."""
    index = RunIndex()
    found = []
    for entry in index.list():
        notebook = notebook_of(entry)
        if notebook.is_relative_to(old) and not notebook.exists():
            folder = new / entry.folder.relative_to(old) if entry.folder.is_relative_to(old) else None
            path = new / notebook.relative_to(old)
            with contextlib.suppress(AideError):
                index.moved(entry.run, folder=folder, notebook=path)
                found.append((entry.run, path))
    return found


def _leases() -> Path:
    return private_folder(data_home() / "leases")


def _keep(run: str, kept: Kept) -> None:
    """What outlives the server; nothing where nobody has the lease. A lease that is not kept only costs a minute."""
    path = _leases() / f"{run}.json"
    try:
        if kept.tab is None:
            path.unlink(missing_ok=True)
            return
        draft = path.with_suffix(".new")
        draft.write_text(kept.model_dump_json(), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        _log.warning("The lease %s could not be kept: %s", path, error.strerror)


def _all_kept() -> list[tuple[str, Kept]]:
    found = []
    for path in _leases().glob("*.json"):
        with contextlib.suppress(OSError, ValidationError):
            found.append((path.stem, Kept.model_validate_json(path.read_bytes())))
    return found
