"""No jail outlives the server, also when the server is killed with SIGKILL.

firejail is setuid, so a parent-death signal set before it is cleared. Instead each process that launches jails has one
small watcher beside it (:mod:`.reaper`), which holds a pidfd of each jail's init. When the process ends, however it
ends, the watcher kills every jail and removes the folders that the process had planted.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from ..errors import Refused
from .processes import Process


class Supervisor:
    """This process's end of the watcher. Safe to use from several threads; after a fork the child starts its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watcher: subprocess.Popen[bytes] | None = None
        self._watched: set[Process] = set()
        self._folders: set[str] = set()
        self._owner = 0

    @property
    def pid(self) -> int | None:
        """The watcher's process, None before the first jail."""
        return self._watcher.pid if self._watcher else None

    def watch(self, init: Process) -> None:
        """Have a jail killed when this process ends. Returns once the watcher has answered.

        Raises
        ------
        errors.Refused
            Where the watcher could not be started or does not answer; the jail must then not be used.
        """
        with self._lock:
            self._ensure()
            self._tell({"watch": [init.pid, init.started]})
            self._watched.add(init)

    def forget(self, init: Process) -> None:
        """The jail is dead. Harmless when it was never watched."""
        with self._lock:
            if init in self._watched:
                self._watched.discard(init)
                if self._running():
                    # A watcher that has just been killed knows no jail any more either.
                    with contextlib.suppress(Refused):
                        self._tell({"forget": [init.pid, init.started]})

    def remove_at_end(self, folder: Path) -> None:
        """Have a folder of this process's removed when the process ends."""
        with self._lock:
            self._ensure()
            self._tell({"remove": str(folder)})
            self._folders.add(str(folder))

    def close(self) -> None:
        """End the watcher, and with it every jail that is left. Called at the process's end."""
        with self._lock:
            watcher, self._watcher = self._watcher, None
            if watcher is None or self._owner != os.getpid():
                return
            for pipe in (watcher.stdin, watcher.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                watcher.wait(5)

    def _running(self) -> bool:
        return self._owner == os.getpid() and self._watcher is not None and self._watcher.poll() is None

    def _ensure(self) -> None:
        if self._running():
            return
        if self._owner != os.getpid():
            self._watched.clear()
            self._folders.clear()
            atexit.register(self.close)
        self._owner = os.getpid()
        source = Path(__file__).with_name("reaper.py").read_text(encoding="utf-8")
        self._watcher = subprocess.Popen(
            [sys.executable, "-I", "-c", source, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            # A session of its own: Ctrl+C in the server's terminal, or a signal to its group, does not reach it.
            start_new_session=True,
        )
        for init in self._watched:
            self._tell({"watch": [init.pid, init.started]})
        for folder in self._folders:
            self._tell({"remove": folder})

    def _tell(self, message: dict[str, Any]) -> None:
        watcher = self._watcher
        answer = b""
        if watcher is not None and watcher.stdin is not None and watcher.stdout is not None:
            with contextlib.suppress(OSError):
                watcher.stdin.write(json.dumps(message).encode() + b"\n")
                watcher.stdin.flush()
                answer = watcher.stdout.readline()
        if answer != b"ok\n":
            raise Refused(
                "The watcher that ends every jail with the server does not answer.",
                "Start again; if it happens again, run `jupyter aide doctor`.",
            )


SUPERVISOR = Supervisor()
