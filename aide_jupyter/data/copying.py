"""Copying one file into a data view while its hash is taken: a clone where the file system can, else the bytes."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import AideError
from ..untrusted import visible
from .walk import Found

Stop = Callable[[], bool]

BLOCK = 1 << 20
_FICLONE = 0x40049409  # _IOW(0x94, 9, int), linux/fs.h
_ZEROS = bytes(BLOCK)
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Stopped(AideError):
    """The work was given up because its caller asked for it."""


@dataclass(frozen=True)
class Stored:
    """A file's size in bytes and the SHA-256 of its content."""

    bytes: int
    sha256: str


def check(stop: Stop | None) -> None:
    """Raise :class:`Stopped` where the caller wants no more."""
    if stop is not None and stop():
        raise Stopped("Reading the data was stopped before its end.")


def create(target: Path) -> int:
    """A new file for writing, readable for all and writable for nobody once closed. Makes its folders."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o444)
    os.fchmod(descriptor, 0o444)
    return descriptor


def no_room(error: OSError, target: Path) -> AideError | None:
    """What to tell the person where an error of the disk means that it is full; None for any other error."""
    if error.errno not in _NO_ROOM:
        return None
    return AideError(
        f"There is no room to copy the data to {visible(str(target.parent))} ({error.strerror}).",
        "Free some space there, or choose another folder with --out.",
    )


def copy(found: Found, target: Path, stop: Stop | None = None) -> Stored:
    """Copy a file of the walk to ``target`` and hash what was copied.

    Raises
    ------
    AideError
        Where the file changed while it was read, twice; where the disk is full.
    OSError
        Where it cannot be read.
    """
    return _steady(found, target, lambda source: _copy(source, target, stop))


def digest(found: Found, stop: Stop | None = None) -> Stored:
    """Hash a file of the walk without copying it. Raises as :func:`copy`."""
    return _steady(found, None, lambda source: _pump(source, None, os.fstat(source).st_size, stop))


def _steady(found: Found, target: Path | None, work: Callable[[int], Stored]) -> Stored:
    for _ in range(2):
        source = found.open()
        try:
            before = os.fstat(source)
            stored = work(source)
            after = os.fstat(source)
        finally:
            os.close(source)
        if stored.bytes == before.st_size and _face(before) == _face(after):
            return stored
        if target is not None:
            target.unlink()
    raise AideError(
        f"The data file {visible(found.path)} changed while it was read, twice.",
        "Wait until whatever writes it is done, or take it out of the data folder.",
    )


def _face(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _copy(source: int, target: Path, stop: Stop | None) -> Stored:
    try:
        descriptor = create(target)
        try:
            size = os.fstat(source).st_size
            if _clone(source, descriptor):
                with target.open("rb") as cloned:
                    return _pump(cloned.fileno(), None, size, stop)
            return _pump(source, descriptor, size, stop)
        finally:
            os.close(descriptor)
    except OSError as error:
        if told := no_room(error, target):
            raise told from error
        raise


def _clone(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True


def _pump(source: int, target: int | None, size: int, stop: Stop | None) -> Stored:
    """Read ``size`` bytes and one more try, hash them, and write them with holes where they are zeros."""
    sha256, done, buffer = hashlib.sha256(), 0, bytearray(min(BLOCK, size + 1))
    view = memoryview(buffer)
    while count := os.readv(source, [view[: size - done + 1]]):
        block = view[:count]
        sha256.update(block)
        done += count
        if target is not None:
            write(target, block)
        if done > size:
            break
        check(stop)
    if target is not None:
        os.ftruncate(target, done)
    return Stored(done, sha256.hexdigest())


def write(target: int, block: memoryview | bytes) -> None:
    """Write a block of at most :data:`BLOCK` bytes, leaving a hole for a whole block of zeros."""
    if len(block) == BLOCK and block == _ZEROS:
        os.lseek(target, BLOCK, os.SEEK_CUR)
        return
    view = memoryview(block)
    while view:
        view = view[os.write(target, view) :]
