"""A launched jail: its processes, its memory and its end, all judged from the host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

from .policy import JailSpec, Plan
from .processes import (
    Process,
    filesystem_bytes,
    identify,
    is_alive,
    proportional_bytes,
    resident_bytes,
    tree,
    uids_of_processes,
)
from .supervisor import SUPERVISOR

KILL_SECONDS = 5.0
"""How long a killed namespace may take to be empty; a fork bomb of 200 processes was measured at 1.5 s."""


async def readable(descriptor: int) -> None:
    """Wait until a descriptor can be read. Several may wait for the same one."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    own = os.dup(descriptor)

    def arrived() -> None:
        if not future.done():
            future.set_result(None)

    loop.add_reader(own, arrived)
    try:
        await future
    finally:
        loop.remove_reader(own)
        os.close(own)


class Jail:
    """A namespace of processes with one restricted kernel in it. Made by :func:`.jail.launch`.

    Attributes
    ----------
    kernel_id
        A name for this kernel, unique on this machine.
    connection
        What a client needs (``load_connection_info``): transport, ip prefix, ports, key. It is held here in memory;
        the file in the socket folder can be changed by the kernel and is never read back.
    uid, init_pid, kernel_pid
        The kernel's uid; the namespace's init and the kernel's first process, as numbered on the host.
    started
        ``time.monotonic()`` of the launch.
    """

    def __init__(
        self,
        *,
        spec: JailSpec,
        plan: Plan,
        connection: dict[str, Any],
        launcher: subprocess.Popen[bytes],
        init: Process,
        kernel_pid: int,
        tmpfs: tuple[int, ...],
        errors: int,
        on_death: Callable[[], None],
    ) -> None:
        self.spec = spec
        self.plan = plan
        self.connection = connection
        self.kernel_id = secrets.token_hex(8)
        self.uid = plan.uid
        self.init_pid = init.pid
        self.kernel_pid = kernel_pid
        self.started = time.monotonic()
        self._init = init
        self._launcher = launcher
        self._pidfd: int | None = os.pidfd_open(init.pid)
        self._tmpfs = tmpfs
        # The reading end of the launcher's standard error: never read again, and open so that a last word of the
        # launcher's does not end it with a signal. What is written there is bounded by the pipe.
        self._errors = errors
        self._on_death = on_death
        self._killed = False
        self._holds_uid = True
        self._seen: dict[int, Process] = {}
        # Measured and killed by a thread of the watchdog's, released in the event loop: a descriptor that was closed
        # may be another jail's by then.
        self._lock = threading.Lock()

    def pids(self) -> list[int]:
        """The processes of the namespace that are alive, as numbered on the host."""
        if not self.alive():
            return []
        found = []
        for pid in tree(self.init_pid):
            process = identify(pid)
            if process is not None:
                self._seen[pid] = process
                found.append(pid)
        return found

    def memory_bytes(self) -> int:
        """Bytes of memory that the namespace holds: anonymous pages, and shared memory.

        Pages of files are left out: they are the host's cache. A page of ``/dev/shm`` that is mapped shows both in its
        file system and in each process, and one that is not mapped in the file system only, so the larger of the two
        counts as shared memory; at worst half of it is missed. Pages that processes share after a fork are counted
        for each process, unless that would break the limit and the host may look closer (as root it may).
        """
        if not self.alive():
            return 0
        pids = self.pids()
        with self._lock:
            held = sum(filesystem_bytes(descriptor) for descriptor in self._tmpfs)
        anonymous, shared = resident_bytes(pids)
        if anonymous + max(held, shared) > self.spec.limits.memory_bytes:
            anonymous, shared = proportional_bytes(pids) or (anonymous, shared)
        return anonymous + max(held, shared)

    def alive(self) -> bool:
        """Whether the namespace still exists."""
        return self._pidfd is not None and is_alive(self._init)

    @property
    def kernel_ended(self) -> bool:
        """Whether the kernel's own process has ended, whatever it has left behind."""
        return not self.alive() or self._launcher.poll() is not None

    async def wait(self) -> int | None:
        """Wait until the namespace is empty, by itself or killed. Returns ``exit_status``. Can be awaited often."""
        while self._pidfd is not None and self.alive():
            ending = [asyncio.ensure_future(readable(self._pidfd)), asyncio.ensure_future(_ended(self._launcher))]
            try:
                await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in ending:
                    task.cancel()
                await asyncio.gather(*ending, return_exceptions=True)
            self._end_orphans()
        await self._ended()
        return self.exit_status

    def _end_orphans(self) -> None:
        """End what outlives the kernel's own process, a daemon say, where the backend does not do it by itself."""
        with self._lock:
            if self._pidfd is not None and self._launcher.poll() is not None and self.alive():
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def kill(self) -> None:
        """Kill the namespace and wait until nothing of it is left; at most a few seconds. Harmless when it is dead."""
        self.kill_now()
        if self._pidfd is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(KILL_SECONDS):
                    await readable(self._pidfd)
        await self._ended()

    def kill_now(self) -> None:
        """Send the signal that ends the namespace, and do not wait. For where nothing can be awaited."""
        if self.alive():
            self.pids()
        with self._lock:
            if self._pidfd is None:
                return
            self._killed = self._killed or self.alive()
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def survivors(self) -> int:
        """How many processes of the namespace are still alive: all that were ever seen in it, and all of its uid where
        that belongs to this kernel alone."""
        left = {process.pid for process in list(self._seen.values()) if is_alive(process)} | set(self.pids())
        if self.plan.drop and self._holds_uid:
            left |= {pid for pid, uids in uids_of_processes().items() if self.uid in uids}
        return len(left)

    @property
    def exit_status(self) -> int | None:
        """The exit status of a jail that ended by itself (128 + n for signal n); None while it lives or if killed."""
        return None if self._killed else self._launcher.poll()

    async def _ended(self) -> None:
        """Reap the launcher, and release what the jail held. The launcher ends right after the namespace."""
        if self._launcher.poll() is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(KILL_SECONDS):
                    await _ended(self._launcher)
        if self._launcher.poll() is None:
            end_launcher(self._launcher)
        if self._pidfd is None or self.alive():
            return
        with self._lock:
            os.close(self._pidfd)
            self._pidfd = None
            tmpfs, self._tmpfs = self._tmpfs, ()
            for descriptor in (*tmpfs, self._errors):
                os.close(descriptor)
        SUPERVISOR.forget(self._init)
        if not self.survivors():
            self._holds_uid = False
            self._on_death()


async def _ended(process: subprocess.Popen[bytes]) -> None:
    """Wait until a child has ended, without reaping it."""
    if process.poll() is not None:
        return
    descriptor = os.pidfd_open(process.pid)
    try:
        await readable(descriptor)
    finally:
        os.close(descriptor)


def end_launcher(launcher: subprocess.Popen[bytes]) -> None:
    """The last resort: kill the launcher and its group; its jail dies with it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(launcher.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        launcher.wait(KILL_SECONDS)
