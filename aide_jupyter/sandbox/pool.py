"""Kernels that are ready before a program arrives: each is used once, and replaced when it is taken, old or dead."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import AideError, Refused
from ..records import Limits
from .jail import socket_folder
from .kernel import RestrictedKernel
from .policy import JailSpec
from .tree import remove

WARM = ("numpy", "pandas", "sklearn.ensemble", "sklearn.pipeline", "sklearn.model_selection", "sklearn.preprocessing")
"""What a kernel imports while it waits. ``sklearn`` alone imports next to nothing; these take most of its time."""
MAX_AGE = 3600.0
_DEATHS = 3
"""Waiting kernels that die one after the other before the pool stops replacing them by itself."""
_TRIES = 3
"""Starts before a kernel that does not become ready, as on a machine that is very busy, is a failure of the pool."""


@dataclass(frozen=True)
class Kernels:
    """How kernels are made.

    Parameters
    ----------
    folder
        Where their workspaces are made, as ``<folder>/<n>``; on the file system of the folder that outcomes go to.
    view
        The root of the data view: a program's ``./input``. None: an empty folder.
    readable
        What else is seen read-only: the targets of the view's links.
    warm
        The modules to import; those that are not installed are skipped.
    """

    folder: Path
    view: Path | None
    readable: tuple[Path, ...] = ()
    limits: Limits = field(default_factory=Limits)
    warm: Sequence[str] = WARM
    backend: str = "firejail"

    async def start(self, proven: Callable[[], Awaitable[None]] | None = None) -> RestrictedKernel:
        """A new kernel in a new workspace; ``proven`` is awaited between the proof of its jail and its imports.

        Raises
        ------
        Refused
            Where containment could not be proven.
        AideError
            Where it did not become ready.
        """
        workspace, sockets = _new_workspace(self.folder, self.view), socket_folder()
        readable = self.readable if self.view is None else (self.view, *self.readable)
        try:
            return await RestrictedKernel.start(
                JailSpec(workspace, sockets, readable, self.limits, self.backend), self.warm, proven
            )
        except BaseException:
            remove(sockets)
            remove(workspace)
            raise


class Pool:
    """Keeps ``size`` kernels ready. For one event loop; closed with :meth:`close`.

    Parameters
    ----------
    kernels
        How they are made.
    size
        How many are ready or on their way, beside those that are in use: the number of workers.
    max_age
        Seconds after which a waiting kernel is replaced.
    """

    def __init__(self, kernels: Kernels, size: int = 1, max_age: float = MAX_AGE) -> None:
        self._kernels = kernels
        self._size = size
        self._to_come: int | None = None
        self._max_age = max_age
        self._ready: dict[RestrictedKernel, asyncio.Task[None]] = {}
        self._starting: set[asyncio.Task[None]] = set()
        self._watching: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()
        self._failure: Exception | None = None
        self._proven = False
        self._may_import = asyncio.Event()
        self._deaths = 0
        self._closed = False

    @property
    def ready(self) -> int:
        """How many kernels are waiting for a program."""
        return len(self._ready)

    async def start(self, *, importing: bool = True) -> None:
        """Begin to start kernels, and do not wait for them.

        Parameters
        ----------
        importing
            False: they wait with what they import until :meth:`prove` has returned, and leave the processors to what
            must be ready before any program comes.
        """
        if importing:
            self._may_import.set()
        self._fill()

    def expect(self, programs: int) -> None:
        """So many programs are still to come, the next one included: no more kernels than that are made ready."""
        self._to_come = programs

    async def acquire(self) -> RestrictedKernel:
        """A kernel that is ready, at once where one waits. It is the caller's: run a program in it, or close it.

        Raises
        ------
        Refused
            Where containment could not be proven. The next call tries again.
        AideError
            Where kernels do not become ready, or the pool is closed.
        """
        self._may_import.set()
        async with self._changed:
            while True:
                await self._wait_for_one()
                if (kernel := self._take()) is not None:
                    self._to_come = None if self._to_come is None else self._to_come - 1
                    self._fill()
                    return kernel

    async def prove(self) -> None:
        """Wait until a jail has been proven to contain; its kernel has imports before it. Raises as acquire."""
        try:
            async with self._changed:
                await self._wait_for_one(or_for=lambda: self._proven)
        finally:
            self._may_import.set()

    async def _wait_for_one(self, or_for: Callable[[], bool] = lambda: False) -> None:
        self._deaths = 0
        while not any(kernel.jail.alive() for kernel in self._ready) and not or_for():
            if self._closed:
                raise AideError("The kernels of this run are closed.")
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            self._fill()
            await self._changed.wait()

    async def close(self) -> None:
        """Kill every kernel that waits or is on its way, and remove its workspace. Those in use are their users'."""
        self._closed = True
        starting = list(self._starting)
        for task in starting:
            task.cancel()
        await asyncio.gather(*starting, return_exceptions=True)
        while self._ready:
            kernel, watch = self._ready.popitem()
            watch.cancel()
            await _discard(kernel)
        await asyncio.gather(*self._watching, return_exceptions=True)
        await self._wake()

    def _take(self) -> RestrictedKernel | None:
        for kernel, watch in list(self._ready.items()):
            if kernel.jail.alive():
                del self._ready[kernel]
                watch.cancel()
                return kernel
        return None

    def _fill(self) -> None:
        if self._closed or self._deaths >= _DEATHS:
            return
        wanted = self._size if self._to_come is None else min(self._size, self._to_come)
        for _ in range(wanted - len(self._ready) - len(self._starting)):
            task = asyncio.create_task(self._start_one())
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _note_proof(self) -> None:
        self._proven = True
        await self._wake()
        await self._may_import.wait()

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _start_one(self) -> None:
        kernel: RestrictedKernel | None = None
        failure: Exception | None = None
        for _ in range(_TRIES):
            try:
                kernel, failure = await self._kernels.start(self._note_proof), None
            except Exception as error:
                failure = error
            if kernel is not None or isinstance(failure, Refused):
                break
        async with self._changed:
            # Before anyone is told: who then asks again must not take this task for one that is still at it.
            self._starting.discard(asyncio.current_task())
            if kernel is not None:
                watch = asyncio.create_task(self._watch(kernel))
                self._ready[kernel] = watch
                self._watching.add(watch)
                watch.add_done_callback(self._watching.discard)
            self._failure = failure
            self._changed.notify_all()

    async def _watch(self, kernel: RestrictedKernel) -> None:
        """Replace a waiting kernel when it dies or grows old."""
        left = self._max_age - (time.monotonic() - kernel.started)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, left)):
                await kernel.wait()
            self._deaths += 1
        if self._ready.pop(kernel, None) is not None:
            self._fill()
            await _discard(kernel)


async def _discard(kernel: RestrictedKernel) -> None:
    await kernel.close()
    await asyncio.to_thread(remove, kernel.workspace)


def _new_workspace(folder: Path, view: Path | None) -> Path:
    """A workspace ``<folder>/<n>`` that was not there before, with ``input`` and ``working``."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(path.name) for path in folder.iterdir() if path.name.isdecimal()), default=0)
    while True:
        workspace = folder / str(number)
        try:
            workspace.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
            continue
        break
    (workspace / "working").mkdir(mode=0o700)
    if view is None:
        (workspace / "input").mkdir(mode=0o700)
    else:
        (workspace / "input").symlink_to(view.resolve())
    return workspace
