"""One jail and the restricted kernel in it: launched, proven, measured and killed, all judged from the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .policy import JailSpec


class Jail:
    """A namespace of processes with one restricted kernel in it. Made by :func:`launch`, for one event loop.

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

    spec: JailSpec
    kernel_id: str
    connection: dict[str, Any]
    uid: int
    init_pid: int
    kernel_pid: int
    started: float

    def pids(self) -> list[int]:
        """The processes of the namespace that are alive, as numbered on the host."""
        raise NotImplementedError

    def memory_bytes(self) -> int:
        """Bytes of memory that the namespace holds: anonymous and shared pages, and its tmpfs."""
        raise NotImplementedError

    def alive(self) -> bool:
        """Whether the namespace still exists."""
        raise NotImplementedError

    async def wait(self) -> int | None:
        """Wait until the namespace is empty, by itself or killed. Returns ``exit_status``. Can be awaited often."""
        raise NotImplementedError

    async def kill(self) -> None:
        """Kill the namespace and wait until nothing of it is left; at most a few seconds. Harmless when it is dead."""
        raise NotImplementedError

    def survivors(self) -> int:
        """How many processes of the namespace are still alive."""
        raise NotImplementedError

    @property
    def exit_status(self) -> int | None:
        """The exit status of a jail that ended by itself (128 + n for signal n); None while it lives or if killed."""
        raise NotImplementedError


async def launch(spec: JailSpec, *, connection: dict[str, Any] | None = None) -> Jail:
    """Build a jail, prove that it contains, and start a restricted kernel in it.

    When this returns, the kernel's five sockets exist (``<sockets>/k-1`` to ``k-5``) and no program has run yet.

    Raises
    ------
    errors.Refused
        Where the jail could not be built or proven; the kernel was never started.
    """
    raise NotImplementedError


def memory_reserve() -> tuple[int, int]:
    """(bytes of memory that the host has available, bytes that it must keep): below, the largest jail is killed."""
    raise NotImplementedError


def scratch_folder(parent: Path | None = None) -> Path:
    """A new short folder of mode 0700, fit to be a jail's ``sockets``. The caller removes it."""
    raise NotImplementedError
