"""Limits, judged from the host while a program runs: memory, processes, and bytes on disk.

Nothing that the program says is read. A measure costs time that grows with what the program does (processes, files), so
measures run in a thread, and the pause after one grows with its cost: looking never takes more than about a fifth of a
core. What a program can do between two looks is bounded by its resource limits (address space of a process, size of a
file, number of processes).
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..records import Limits
from .jail import Jail, memory_reserve
from .tree import disk_bytes

_PAUSE = 0.05
"""Seconds between two looks: at 1 GB a second, as fast as this machine filled memory, that is 50 MB."""
_DISK_PAUSE = 0.25
_SPARE = 8
"""Processes that end a run when no more than this many are left: at the limit itself a fork only fails. An ordinary
user's limit also counts five that the jail itself needs and that are not in the namespace."""
_DISK_RESERVE = 512 << 20


class Watchdog:
    """Watches one jail while a program runs in it, and says once which limit it broke.

    Parameters
    ----------
    jail, limits
        What is watched, and against what.
    broken
        Called in the event loop with the name of the limit: memory, processes or disk.
    """

    _running: set[Watchdog] = set()  # noqa: RUF012  shared by intent: the host's memory is shared too

    def __init__(self, jail: Jail, limits: Limits, broken: Callable[[str], None]) -> None:
        self._jail = jail
        self._limits = limits
        self._broken = broken
        self._memory = 0
        self._next_disk = 0.0
        self._free = self._free_at_start = _free_bytes(jail)
        self.peak = 0
        """The most bytes of memory seen."""

    async def run(self) -> None:
        """Watch until cancelled, or until a limit is broken."""
        self._running.add(self)
        try:
            while True:
                began = time.monotonic()
                limit = await asyncio.to_thread(self.look)
                if limit is not None:
                    self._broken(limit)
                    return
                self._guard_host()
                await asyncio.sleep(max(_PAUSE, 4 * (time.monotonic() - began)))
        finally:
            self._running.discard(self)

    def look(self) -> str | None:
        """Measure once, in any thread. Returns the limit that is broken, if one is."""
        self._memory = self._jail.memory_bytes()
        self.peak = max(self.peak, self._memory)
        if self._memory > self._limits.memory_bytes:
            return "memory"
        most = self._limits.processes
        if _tasks(self._jail.pids()) > most - min(_SPARE, most // 8):
            return "processes"
        return self._look_at_disk()

    def _look_at_disk(self) -> str | None:
        """Count the workspace when it is time, or at once when the disk has lost an eighth of the limit."""
        now, free = time.monotonic(), _free_bytes(self._jail)
        if free < min(_DISK_RESERVE, self._free_at_start // 2):
            return "disk"
        if now < self._next_disk and self._free - free < self._limits.disk_bytes // 8:
            return None
        self._free = free
        limit = self._limits.disk_bytes
        if disk_bytes(self._jail.spec.workspace, limit) + _unlinked_bytes(self._jail) > limit:
            return "disk"
        self._next_disk = time.monotonic() + max(_DISK_PAUSE, 4 * (time.monotonic() - now))
        return None

    def _guard_host(self) -> None:
        """Where the host itself runs short of memory, end the largest program, before the host picks a victim."""
        available, keep = memory_reserve()
        if available < keep:
            largest = max(self._running, key=lambda other: other._memory)
            largest._broken("memory")


def _tasks(pids: list[int]) -> int:
    """Processes and threads: what the kernel counts against a limit on processes."""
    total = 0
    for pid in pids:
        with suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[17])
    return total


def _free_bytes(jail: Jail) -> int:
    disk = os.statvfs(jail.spec.workspace)
    return disk.f_bavail * disk.f_frsize


def _unlinked_bytes(jail: Jail) -> int:
    """Bytes of files that have no name any more but are held open, which no walk of the workspace sees.

    Only root may look into a jail's processes. For an ordinary user the reserve of free disk is what is left.
    """
    sizes: dict[int, int] = {}
    device = jail.spec.workspace.stat().st_dev
    for pid in jail.pids():
        with suppress(OSError):
            for handle in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    state = handle.stat()
                    if stat.S_ISREG(state.st_mode) and state.st_nlink == 0 and state.st_dev == device:
                        sizes[state.st_ino] = state.st_blocks * 512
    return sum(sizes.values())
