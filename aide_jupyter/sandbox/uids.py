"""A uid of its own for each kernel, where the server runs as root.

A uid is taken by locking a file named after it. The lock belongs to an open file, so it ends with the process that
holds it, however that ends, and no two processes can hold the same.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import random
from pathlib import Path

from ..errors import Refused
from .processes import uids_of_processes

LOCKS = Path("/run/aide-jupyter/uids")


class KernelUid:
    """One uid, held until :meth:`release`."""

    def __init__(self, uid: int, descriptor: int) -> None:
        self.uid = uid
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Give the uid back. Called once its jail is dead."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def uids_in_use() -> set[int]:
    """The real, effective, saved and file system uids of all processes."""
    return {uid for uids in uids_of_processes().values() for uid in uids}


def take_uid(first: int, last: int, locks: Path = LOCKS) -> KernelUid:
    """A uid from the range that nobody uses: no account, no process, and no other server.

    Raises
    ------
    errors.Refused
        Where the range is empty, holds ordinary accounts only, or is in use.
    """
    locks.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    locks.mkdir(mode=0o700, exist_ok=True)
    for folder in (locks.parent, locks):
        state = folder.lstat()
        if state.st_uid != os.geteuid() or state.st_mode & 0o022:
            raise Refused(f"{folder} can be written by others.", f"Remove {folder}; it is made again.")
    candidates = list(range(max(first, 1000), last + 1))
    # A random order, so that a uid is not used again while files of the kernel before it are still being collected.
    random.shuffle(candidates)
    busy = uids_in_use()
    for uid in candidates:
        if uid in busy or _has_account(uid):
            continue
        descriptor = os.open(locks / str(uid), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            continue
        return KernelUid(uid, descriptor)
    raise Refused(
        f"No uid from {first} to {last} is free for a kernel.",
        "Run fewer workers, or set another range of uids that no account uses.",
    )


def _has_account(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
