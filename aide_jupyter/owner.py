"""Who runs a run: the one process that holds the lock on ``journal.lock`` in its folder. Only that process appends.

The lock is the kernel's (flock), so it ends with the process however that ends. The file says who holds it and where
its control socket is; it is read for that alone, and never trusted to say whether anybody does.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import ValidationError

from .control import ADDRESS_BYTES, Command, ControlSocket, Handler, send
from .errors import BadRequest, JournalError, OwnedElsewhere
from .home import runtime_home
from .records import Model

LOCK = "journal.lock"
_FILE_BYTES = 512
_TRIES, _PAUSE = 5, 0.04
_SHORT = "aide-"


class LockFile(Model):
    """What the lock's file says of its holder. ``socket`` is None until it listens."""

    pid: int
    started: str
    socket: Path | None = None


class Owner:
    """This process as the owner of a run, until :meth:`release`; also as a context manager."""

    def __init__(self, folder: Path, fd: int) -> None:
        self.folder = folder
        self._fd = fd
        self._says = LockFile(pid=os.getpid(), started=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z")
        self._control: ControlSocket | None = None
        self._short_folder: Path | None = None

    @classmethod
    def acquire(cls, folder: Path) -> Owner:
        """Take the run in ``folder``. What a dead owner has left behind (its socket) is removed.

        Raises
        ------
        OwnedElsewhere
            A living process has it.
        JournalError
            The lock's file cannot be opened, or is a link.
        """
        path = folder / LOCK
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(f"The lock {path} cannot be opened: {error.strerror}.") from error
        try:
            _lock(fd, path)
            _remove_stale_socket(_read(fd))
            owner = cls(folder, fd)
            owner._write(owner._says)
        except BaseException:
            os.close(fd)
            raise
        return owner

    async def serve(self, handler: Handler) -> None:
        """Listen for commands (:mod:`aide_jupyter.control`) and say in the lock's file where.

        Raises
        ------
        JournalError
            The socket cannot be made.
        """
        try:
            path = self._socket_path()
            self._control = ControlSocket(path, handler)
            await self._control.open()
        except OSError as error:
            self._control = None
            raise JournalError(
                f"A control socket for {self.folder} cannot be made: {error.strerror or error}.",
                "Set JUPYTER_RUNTIME_DIR to a short path that you can write to.",
            ) from error
        self._write(self._says.model_copy(update={"socket": path}))

    def release(self) -> None:
        """Stop listening and let the run go. Does nothing the second time."""
        if self._fd < 0:
            return
        if self._control is not None:
            self._control.close()
        if self._short_folder is not None:
            with contextlib.suppress(OSError):
                self._short_folder.rmdir()
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, 0)
        os.close(self._fd)
        self._fd = -1

    def __enter__(self) -> Owner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _socket_path(self) -> Path:
        """A path that is short enough, free, and in a folder of mode 0700."""
        name = hashlib.sha256(os.fsencode(self.folder.resolve())).hexdigest()[:16] + ".sock"
        path = runtime_home() / name
        if len(os.fsencode(path)) > ADDRESS_BYTES:
            self._short_folder = Path(tempfile.mkdtemp(prefix=_SHORT))
            path = self._short_folder / name
        _remove_stale_socket(LockFile(pid=0, started="", socket=path))
        return path

    def _write(self, says: LockFile) -> None:
        """One write of one length, so that a reader never sees half of it."""
        try:
            os.pwrite(self._fd, says.model_dump_json().encode().ljust(_FILE_BYTES), 0)
        except OSError as error:
            raise JournalError(f"The lock {self.folder / LOCK} cannot be written: {error.strerror}.") from error


def is_owned(folder: Path) -> bool:
    """Whether a living process owns the run in ``folder``. Makes and changes nothing."""
    try:
        fd = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


async def control(folder: Path, verb: str, **arguments: Any) -> dict[str, Any]:
    """Ask the owner of the run in ``folder`` for something, and return its answer.

    Parameters
    ----------
    folder
        The run's folder.
    verb
        ``ping``, ``pause``, ``resume``, ``stop``, ``stop-now``, ``hint`` (with ``text=``) or ``mode`` (with ``mode=``).
    arguments
        As :class:`aide_jupyter.control.Command` has them; ``user=`` names who asks.

    Raises
    ------
    BadRequest
        No such command, nobody owns the run, its owner does not answer, or it says no.
    """
    try:
        command = Command.model_validate({"verb": verb, **arguments})
    except ValidationError as error:
        raise BadRequest(f"No command “{verb}” with {sorted(arguments)}: {error.errors()[0]['msg']}.") from error
    says, uid = None, -1
    if is_owned(folder):
        fd = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            says, uid = _read(fd), os.fstat(fd).st_uid
        finally:
            os.close(fd)
    if says is None:
        raise BadRequest(f"No process runs the run in {folder}.", "`jupyter aide resume` goes on with it.")
    if says.socket is None:
        raise BadRequest(f"The process {says.pid} that runs {folder} does not listen (yet).", "Try again in a moment.")
    return await send(says.socket, command, owner=uid)


def _lock(fd: int, path: Path) -> None:
    """A reader that asks :func:`is_owned` at the same moment shares the lock for some microseconds; hence the tries."""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise JournalError(f"The lock {path} is not a regular file.", "Move it away.")
    for left in range(_TRIES, 0, -1):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if left == 1:
                says = _read(fd)
                who = f"process {says.pid} (since {says.started})" if says else "another process"
                raise OwnedElsewhere(
                    f"The run in {path.parent} is run by {who}.", "`jupyter aide stop` or `pause` reaches it there."
                ) from error
            time.sleep(_PAUSE)
        else:
            break
    if not (path.exists() and os.path.samestat(path.lstat(), os.fstat(fd))):
        raise JournalError(f"The lock {path} was replaced while it was taken.", "Try again.")


def _read(fd: int) -> LockFile | None:
    try:
        return LockFile.model_validate_json(os.pread(fd, _FILE_BYTES, 0))
    except (OSError, ValidationError):
        return None


def _remove_stale_socket(says: LockFile | None) -> None:
    """Remove the socket of an owner that is dead, which the caller knows by holding the lock. Only a socket of this
    account, under the name that :class:`Owner` gives one, is ever removed."""
    path = None if says is None else says.socket
    if path is None or path.suffix != ".sock":
        return
    with contextlib.suppress(OSError):
        status = path.lstat()
        if stat.S_ISSOCK(status.st_mode) and status.st_uid == os.geteuid():
            path.unlink()
            if path.parent.name.startswith(_SHORT):
                path.parent.rmdir()
