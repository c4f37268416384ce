"""The restricted kernel under Jupyter's ordinary kernel manager: what a notebook gets that a person starts themself.

Jupyter starts, interrupts, restarts and stops it like any other kernel. It runs in the same jail as the kernels of a
run, proven in the same way. Its working directory is the notebook's folder, read-only, where that may be seen; what it
writes goes to a fresh workspace, which is removed with it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zmq.asyncio
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from traitlets import Int, Unicode
from zmq.sugar.context import Context

from ..errors import Refused
from ..records import Limits
from .interpreter import jupyter_folders, private_folders
from .jail import PORTS, Jail, launch, socket_folder
from .policy import JailSpec
from .watchdog import Watchdog

JOURNAL = "journal.jsonl"
"""By this file a run's folder is known."""
MOST_ENTRIES = 5000
"""A notebook's folder with more folders than can be looked through is not shown at all."""
WATCH_SECONDS = 0.1
"""Between two looks at a kernel's memory, processes and disk."""
LONGEST_MESSAGE = 64 << 20
"""Bytes of one message from the kernel. A longer one ends the connection."""


@functools.cache
def messages_context(kind: Any) -> Any:
    """The context of all connections to restricted kernels of this process, apart from that of ordinary kernels.

    ``kind`` is the class that the kernel manager works with. The context bounds a message. It lives as long as the
    process: a page's connection may outlast its kernel, and closing the context under it would unregister descriptors
    that have meanwhile been given to others. It connects again by itself, unlike the connections of a run, since a
    page keeps its connection when a kernel is restarted; a kernel that puts something else in a socket's place gets no
    more than a greeting sent to it, and every message is signed.
    """
    context = kind()
    context.maxmsgsize = LONGEST_MESSAGE
    atexit.register(context.destroy, linger=0)
    return context


class SandboxProvisioner(KernelProvisionerBase):
    """Launches a restricted kernel for a :class:`jupyter_client.KernelManager`."""

    backend = Unicode("firejail", config=True, help="Which program builds the jail.")
    memory_bytes = Int(4 << 30, config=True, help="Bytes of memory that the kernel and all its processes may hold.")
    disk_bytes = Int(4 << 30, config=True, help="Bytes that the kernel may write to its workspace.")
    processes = Int(512, config=True, help="Processes and threads that the kernel may have.")
    cores = Int(2, config=True, help="Cores that numerical libraries may use.")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._jail: Jail | None = None
        self._sockets: Path | None = None
        self._workspace: Path | None = None

    @property
    def has_process(self) -> bool:
        """Whether a kernel was launched and not yet waited for."""
        return self._jail is not None

    async def poll(self) -> int | None:
        """None while the kernel lives, else its exit status. Called by the manager's ``is_alive``."""
        if self._jail is None:
            return 0
        if not self._jail.kernel_ended:
            return None
        return await self._jail.wait() or 0

    async def wait(self) -> int | None:
        """Wait until nothing of the kernel is left. Called at the end of a shutdown."""
        if self._jail is None:
            return 0
        ended = await self._jail.wait()
        self._jail = None
        return ended or 0

    async def send_signal(self, signum: int) -> None:
        """An interrupt goes to the kernel's own process (to the group it would end the jail); an end ends the jail."""
        if self._jail is None or not self._jail.alive():
            return
        if signum in (signal.SIGKILL, signal.SIGTERM):
            await self._jail.kill()
        elif signum != 0:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._jail.kernel_pid, signum)

    async def kill(self, restart: bool = False) -> None:
        """Kill the whole namespace. Called for a shutdown ``now``, and when a polite one has taken too long."""
        if self._jail is not None:
            await self._jail.kill()

    async def terminate(self, restart: bool = False) -> None:
        """The same as :meth:`kill`: nothing inside is asked."""
        await self.kill(restart)

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Set the manager to sockets of files, with a prefix that stays the same over restarts, and write its file.

        Raises
        ------
        errors.Refused
            Where the kernel's specification starts something else than a Python kernel.
        """
        manager: Any = self.parent
        if "ipykernel_launcher" not in self.kernel_spec.argv:
            raise Refused(
                f"The kernel {self.kernel_spec.display_name!r} is not a Python kernel, and no other can be contained.",
                "Use the provisioner aide-sandbox with the kernel specification of aide-jupyter only.",
            )
        if self._sockets is None:
            self._sockets = socket_folder()
            asynchronous = isinstance(manager, AsyncKernelManager)
            manager.context = messages_context(zmq.asyncio.Context if asynchronous else Context)
            manager.transport = "ipc"
            manager.ip = str(self._sockets / "k")
            for number, name in enumerate(PORTS, 1):
                setattr(manager, f"{name}_port", number)
        manager.write_connection_file()
        self.connection_info = manager.get_connection_info()
        kwargs.pop("extra_arguments", None)
        # The base class expands the server's environment for the kernel; a restricted kernel gets none of it.
        return {**kwargs, "cmd": list(self.kernel_spec.argv), "env": {}}

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Launch the jail and the kernel in it. Called at each start and restart."""
        if self._sockets is None:
            raise Refused("The kernel was launched before it was prepared.")
        _empty(self._sockets)
        self._remove_workspace()
        self._workspace = Path(tempfile.mkdtemp(prefix="aide-w-"))
        limits = Limits(
            memory_bytes=self.memory_bytes,
            disk_bytes=self.disk_bytes,
            processes=self.processes,
            cores=self.cores,
        )
        shown = shown_folder(Path(kwargs.get("cwd") or "."))
        spec = JailSpec(
            workspace=self._workspace,
            sockets=self._sockets,
            readable=() if shown is None else (shown[0],),
            hidden=() if shown is None else shown[1],
            folder=None if shown is None else shown[0],
            limits=limits,
            backend=self.backend,
            lifetime=0,
        )
        try:
            jail = await launch(spec, key=self._key())
        except BaseException:
            await self.cleanup()
            raise
        self._jail = jail
        # A thread, since the loop of a manager that blocks runs only while it is called.
        threading.Thread(target=self._watch, args=(jail, limits), name="aide-watchdog", daemon=True).start()
        return self.connection_info

    def _key(self) -> bytes:
        key = self.connection_info["key"]
        return key if isinstance(key, bytes) else key.encode()

    def _watch(self, jail: Jail, limits: Limits) -> None:
        """Look at the jail until it has ended or breaks a limit."""
        watchdog = Watchdog(jail, limits, lambda limit: None)
        while jail.alive():
            try:
                limit = watchdog.look()
            except OSError:
                # The workspace is removed once the jail is dead; a look that meets that is the last.
                limit = None
            if limit is not None:
                self.log.warning("The restricted kernel %s broke its limit of %s and was ended.", self.kernel_id, limit)
                jail.kill_now()
                return
            time.sleep(WATCH_SECONDS)

    async def cleanup(self, restart: bool = False) -> None:
        """Remove what the kernel wrote; at the end also its sockets. Called by the manager after a shutdown."""
        if self._jail is not None:
            await self._jail.kill()
            await self.wait()
        self._remove_workspace()
        if not restart and self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)
            self._sockets = None

    def _remove_workspace(self) -> None:
        if self._workspace is not None:
            shutil.rmtree(self._workspace, ignore_errors=True)
            self._workspace = None


def _empty(folder: Path) -> None:
    """Remove all that a kernel before left in the socket folder, links as links."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def shown_folder(cwd: Path) -> tuple[Path, tuple[Path, ...]] | None:
    """The notebook's folder as a kernel may see it: (the folder, what is hidden in it). None where it may not.

    Never shown are a run's folder or one inside it, the home folder, and a folder that holds Jupyter's own. Inside a
    shown folder every run's folder and every hidden file or folder is hidden. As root, a folder is shown only where
    every account could read it, since the kernel has a uid of its own.
    """
    folder = Path(os.path.realpath(cwd))
    private = private_folders()
    if (
        not folder.is_dir()
        or len(folder.parts) <= 2
        or any((above / JOURNAL).exists() for above in (folder, *folder.parents))
    ):
        return None
    if any(path.is_relative_to(folder) for path in private) or any(
        folder.is_relative_to(path) for path in jupyter_folders()
    ):
        return None
    if os.geteuid() == 0 and folder.stat().st_mode & 0o005 != 0o005:
        return None
    try:
        return folder, tuple(_to_hide(folder))
    except _TooMany:
        return None


class _TooMany(Exception):
    """A folder holds more than can be looked through."""


def _to_hide(folder: Path) -> Iterator[Path]:
    seen, waiting = 0, [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = list(os.scandir(here))
        except OSError:
            yield here
            continue
        seen += len(entries)
        if seen > MOST_ENTRIES:
            raise _TooMany
        for entry in entries:
            if entry.is_symlink():
                continue
            if entry.name.startswith("."):
                yield Path(entry.path)
            elif entry.is_dir():
                if (Path(entry.path) / JOURNAL).exists():
                    yield Path(entry.path)
                else:
                    waiting.append(Path(entry.path))
