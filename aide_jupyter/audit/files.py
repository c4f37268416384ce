"""How the files of a journal are opened: never through a link, for reading only where they are regular files."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from pathlib import Path
from typing import BinaryIO


class NotRegular(OSError):
    """It is a folder, a pipe, a socket or a device."""


def open_regular(path: Path | str, *, folder: int | None = None) -> BinaryIO:
    """Open a regular file for reading, without following a link as its last part and without waiting for a pipe.

    Parameters
    ----------
    path
        The file; relative to ``folder``, a descriptor, where that is given.

    Raises
    ------
    OSError
        It cannot be opened, or (:class:`NotRegular`) it is something else.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NotRegular(0, "it is not a regular file")
    return os.fdopen(fd, "rb")


def hold(stack: contextlib.ExitStack, path: Path | str, flags: int, folder: int | None = None) -> int:
    """A descriptor, opened without following a link, that ``stack`` closes unless it is emptied."""
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    stack.callback(os.close, fd)
    return fd


def keep_aside(folder: int, stem: str, data: bytes) -> str:
    """Keep ``data`` durably as a new file, ``<stem>-1`` or with the next number that is free; returns its name.

    Parameters
    ----------
    folder
        A descriptor.
    """
    for number in itertools.count(1):
        name = f"{stem}-{number}"
        with contextlib.suppress(FileExistsError):
            fd = os.open(
                name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
            )
            break
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)
    os.fsync(folder)
    return name


def sync_folder(folder: Path) -> None:
    """Make new and renamed files of a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
