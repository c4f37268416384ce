"""A program's standard streams, as two pipes from the jail to the server.

ipykernel would send output as messages: it drops them for a slow reader, grows without bound for a fast writer (a
256 MB print made a client grow by 800 MB), breaks at the connection's message limit, loses the last 0.2 s of a program
that dies, and carries what a forked child prints over TCP. A pipe does none of this: a writer waits for its reader,
nothing is lost, also when the kernel is killed, and a child inherits it. So the warm-up (:mod:`.warmup`) puts two named
pipes of the kernel's own socket folder where its standard output and error are; the server opens and unlinks them
before any program runs.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..errors import AideError

NAMES = ("stdout", "stderr")
_READ = 64 << 10
_PIPE_BYTES = 1 << 20
_BREATH = 0.005
"""Seconds between two reads of a pipe that was not full. A program that prints line by line wakes the server 200 times
a second and not once a line: 600,000 lines took 17.7 s without this."""


class Streams:
    """The server's ends of the two pipes. Made after the kernel has made the pipes; for one event loop.

    Each end is open for writing too, so that it never reports an end while the kernel, or anything that it left
    behind, could still write; whoever reads decides when to stop (after the jail's death: when nothing is left).
    """

    def __init__(self, folder: Path) -> None:
        self._ends: dict[str, int] = {}
        self._listener: Callable[[str, bytes], None] | None = None
        try:
            for name in NAMES:
                self._ends[name] = _open(folder / name)
        except BaseException:
            self.close()
            raise

    def listen(self, take: Callable[[str, bytes], None]) -> None:
        """Call ``take(name, data)`` in the event loop with what comes, until :meth:`deafen`."""
        self._listener = take
        for name in self._ends:
            self._wait(name)

    def deafen(self) -> None:
        """Stop listening: what comes now waits in the pipe, and its writer with it."""
        self._listener = None
        loop = asyncio.get_running_loop()
        for end in self._ends.values():
            loop.remove_reader(end)

    def _wait(self, name: str) -> None:
        if self._listener is not None:
            asyncio.get_running_loop().add_reader(self._ends[name], self._arrived, name)

    def _arrived(self, name: str) -> None:
        if self._listener is not None and self._read(name, self._listener) < _READ:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._ends[name])
            loop.call_later(_BREATH, self._wait, name)

    def drain(self, take: Callable[[str, bytes], None], limit: int) -> None:
        """Take what is in the pipes now, at most about ``limit`` bytes of each."""
        for name in self._ends:
            left = limit
            while left > 0 and (count := self._read(name, take)):
                left -= count

    def _read(self, name: str, take: Callable[[str, bytes], None]) -> int:
        try:
            data = os.read(self._ends[name], _READ)
        except BlockingIOError:
            return 0
        if data:
            take(name, data)
        return len(data)

    def close(self) -> None:
        """Close both ends. Harmless when they are closed."""
        while self._ends:
            os.close(self._ends.popitem()[1])


def _open(path: Path) -> int:
    try:
        end = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise AideError(f"The kernel did not set up its {path.name}: {error.strerror}.") from error
    if not stat.S_ISFIFO(os.fstat(end).st_mode):
        os.close(end)
        raise AideError(f"The kernel did not set up its {path.name}: it is no pipe.")
    with suppress(OSError):  # an ordinary user has a budget for this; a small pipe is slower, no more
        fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    path.unlink()
    return end
