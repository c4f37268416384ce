"""Walking a folder that may be hostile: regular files only, no link followed, what is passed over said in words.

Every step opens one name beneath an open folder, without following links and without waiting, so that nothing which is
swapped during the walk leads out of it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

Inode = tuple[int, int]
"""A file's device and number: what a folder is, whatever path leads to it."""

LeaveOut = Callable[[str, str], None]
"""Called with a path (relative, as it is on disk) and why no kernel sees it."""

MAX_DEPTH = 64
"""Deeper folders are left out: each level holds an open descriptor."""

RUNS_FOLDER = "aide-runs"
JOURNAL = "journal.jsonl"

_JUPYTER = re.compile(r"(?:kernel-|jpserver-|nbserver-).*\.(?:json|html)|(?:jupyter|notebook)_cookie_secret", re.DOTALL)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a symbolic link; links are not followed",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def inode(status: os.stat_result) -> Inode:
    """What identifies a file on this machine."""
    return status.st_dev, status.st_ino


def open_folder(name: str | os.PathLike[str], beneath: int | None = None) -> int:
    """A descriptor of a folder, which must not be a link itself. Raises :class:`OSError`."""
    return os.open(name, _READ | os.O_DIRECTORY, dir_fd=beneath)


def unfit_name(name: str) -> str | None:
    """Why a file or folder of this name is left out, wherever it is; None where its name is no reason."""
    if name.startswith("."):
        return "hidden"
    if name == RUNS_FOLDER:
        return "the folder of this software's runs"
    if name == "__MACOSX":
        return "the leftovers of a Mac archive"
    if _JUPYTER.fullmatch(name):
        return "a file of a running Jupyter server or kernel"
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not valid UTF-8"
    return None


@dataclass(frozen=True)
class Found:
    """A regular file of the walk. Valid until the walk goes on.

    ``path`` is relative to where the walk began; ``folder`` a descriptor of the folder that holds ``name``.
    """

    path: str
    folder: int
    name: str
    size: int

    def open(self) -> int:
        """A descriptor for reading. Raises :class:`OSError`, also where it is no regular file any more."""
        descriptor = os.open(self.name, _READ, dir_fd=self.folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.ESTALE, "no longer a regular file", self.path)
        return descriptor

    def has_beside(self, name: str) -> bool:
        """Whether the same folder holds something called ``name``."""
        return _holds(self.folder, name)


def walk(
    folder: int, leave_out: LeaveOut, shut: Collection[Inode], prefix: str = "", depth: int = 0
) -> Iterator[Found]:
    """The regular files beneath an open folder, in order of their names.

    Parameters
    ----------
    folder
        A descriptor from :func:`open_folder`; it stays open.
    leave_out
        Told of everything that is passed over. What lies in a folder that is passed over is not told one by one.
    shut
        Folders that are never entered.
    """
    for name in sorted(os.listdir(folder)):
        path = prefix + name
        if why := unfit_name(name):
            leave_out(path, why)
            continue
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            leave_out(path, f"it cannot be read ({error.strerror})")
            continue
        if stat.S_ISDIR(status.st_mode):
            yield from _enter(folder, path, leave_out, shut, depth)
        elif not stat.S_ISREG(status.st_mode):
            leave_out(path, _KINDS.get(stat.S_IFMT(status.st_mode), "not a regular file"))
        elif status.st_mode & (stat.S_ISUID | stat.S_ISGID):
            leave_out(path, "it runs with another user's rights (setuid or setgid)")
        else:
            yield Found(path, folder, name, status.st_size)


def _enter(parent: int, path: str, leave_out: LeaveOut, shut: Collection[Inode], depth: int) -> Iterator[Found]:
    if depth >= MAX_DEPTH:
        leave_out(path, f"it lies more than {MAX_DEPTH} folders deep")
        return
    try:
        folder = open_folder(path.rpartition("/")[2], parent)
    except OSError as error:
        leave_out(path, f"it cannot be read ({error.strerror})")
        return
    try:
        if inode(os.fstat(folder)) in shut:
            leave_out(path, "a folder of this software or of Jupyter")
        elif _holds(folder, JOURNAL):
            leave_out(path, f"the folder of a run (it holds {JOURNAL})")
        else:
            yield from walk(folder, leave_out, shut, path + "/", depth + 1)
    finally:
        os.close(folder)


def _holds(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
