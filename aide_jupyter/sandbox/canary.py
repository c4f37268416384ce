"""What the server plants outside, once per process, for every probe to fail to reach: files and listeners.

Everything is as open as it can be (world-readable, world-writable), so that what keeps the probe away is the jail.
"""

from __future__ import annotations

import atexit
import os
import secrets
import socket
import tempfile
import threading
from pathlib import Path

from jupyter_core.paths import jupyter_runtime_dir

from .supervisor import SUPERVISOR


class Canaries:
    """The canaries of this process. A listener that is reached means that a jail leaks."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.files: list[Path] = []
        self.paths: list[Path] = []
        self.abstract = f"aide-canary-{secrets.token_hex(8)}"
        self._listeners: list[socket.socket] = []
        tcp = self._listen(socket.AF_INET, ("127.0.0.1", 0))
        self.tcp: int = tcp.getsockname()[1]
        self._listen(socket.AF_UNIX, "\0" + self.abstract)
        for parent in self._places():
            folder = Path(tempfile.mkdtemp(prefix=".aide-canary-", dir=parent))
            SUPERVISOR.remove_at_end(folder)
            folder.chmod(0o755)
            file, path = folder / "canary", folder / "listener"
            file.write_text("no program may read this\n", encoding="ascii")
            file.chmod(0o644)
            self.files.append(file)
            if len(os.fsencode(path)) <= 107:
                self._listen(socket.AF_UNIX, str(path))
                path.chmod(0o666)
                self.paths.append(path)

    @staticmethod
    def _places() -> list[Path]:
        runtime = Path(jupyter_runtime_dir())
        runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
        places = (Path(tempfile.gettempdir()), Path("/dev/shm"), runtime, Path.home())  # noqa: S108
        real = dict.fromkeys(Path(os.path.realpath(path)) for path in places)
        return [path for path in real if path.is_dir() and os.access(path, os.W_OK)]

    def _listen(self, family: int, address: tuple[str, int] | str) -> socket.socket:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.bind(address)
        listener.listen(64)
        listener.setblocking(False)
        self._listeners.append(listener)
        return listener

    def reached(self) -> bool:
        """Whether anything has connected since the last look. Only a leaking jail knows where these are."""
        found = False
        for listener in self._listeners:
            try:
                connection, _ = listener.accept()
            except BlockingIOError:
                continue
            connection.close()
            found = True
        return found

    def close(self) -> None:
        """Close the listeners. The files are removed when the process ends."""
        for listener in self._listeners:
            listener.close()


_lock = threading.Lock()
_planted: Canaries | None = None


def canaries() -> Canaries:
    """The canaries of this process, planted at the first call (and again in a forked child)."""
    global _planted  # noqa: PLW0603
    with _lock:
        if _planted is None or _planted.owner != os.getpid():
            _planted = Canaries()
            atexit.register(_planted.close)
        return _planted
