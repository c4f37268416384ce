"""Walking and removing a folder that a hostile program has written: no link is followed, no depth or number trusted.

Every step opens one entry of an open folder (``O_NOFOLLOW``), so a folder that is swapped for a link meanwhile is an
error of that entry and never a way out. Nothing here recurses.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEPTH = 64
"""Folders below this many others are not entered. No honest program nests so deeply, and each level costs a handle."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Entry:
    """One entry of a walk: its path below the root, the open folder that holds it, its name there, its state."""

    path: str
    folder: int
    name: str
    state: os.stat_result
    depth: int

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder itself, not a link to one."""
        return stat.S_ISDIR(self.state.st_mode)


def walk(root: Path) -> Generator[Entry]:
    """Every entry below ``root``, a folder before what it holds, to :data:`DEPTH`. The tree may change meanwhile.

    ``Entry.folder`` is open only until the next entry is asked for. Entries that vanish are passed over, and so is
    what lies below a folder that cannot be opened.
    """
    open_folders, prefixes = [os.open(root, _FOLDER)], [""]
    scans: list[Any] = []
    try:
        scans.append(os.scandir(open_folders[0]))
        while scans:
            entry = next(scans[-1], None)
            if entry is None:
                scans.pop().close()
                os.close(open_folders.pop())
                prefixes.pop()
                continue
            folder, path = open_folders[-1], prefixes[-1] + entry.name
            try:
                found = Entry(path, folder, entry.name, entry.stat(follow_symlinks=False), len(scans))
            except OSError:
                continue
            yield found
            if found.is_folder and len(scans) < DEPTH:
                with suppress(OSError):
                    _enter(entry.name, folder, open_folders, scans)
                    prefixes.append(path + "/")
    finally:
        for scan in scans:
            scan.close()
        for handle in open_folders:
            os.close(handle)


def _enter(name: str, folder: int, open_folders: list[int], scans: list[Any]) -> None:
    """Open a folder in ``folder`` and begin to scan it: both, or (OSError) neither."""
    inner = os.open(name, _FOLDER, dir_fd=folder)
    try:
        scans.append(os.scandir(inner))
    except OSError:
        os.close(inner)
        raise
    open_folders.append(inner)


def disk_bytes(root: Path, limit: int) -> int:
    """Bytes of disk that the tree below ``root`` takes, at least until they are more than ``limit``.

    Blocks are counted and not lengths, so a sparse file costs what it takes; each entry counts as at least 4 kB, so a
    million empty files are not nothing, and the time for a count is bounded by the limit. What is nested more deeply
    than :data:`DEPTH` cannot be counted, and counts as over the limit.
    """
    total = 0
    with closing(walk(root)) as entries:
        for entry in entries:
            total += max(4096, entry.state.st_blocks * 512)
            if entry.is_folder and entry.depth >= DEPTH:
                total = max(total, limit + 1)
            if total > limit:
                break
    return total


def remove(path: Path) -> None:
    """Remove a file, link or folder with all below it, however deep, without following links. A missing one is fine.

    Each folder found is first moved up to the root of the removal, so that only two are ever open. Nobody else may
    write there: the namespace of the program that made it is dead.
    """
    with suppress(NotADirectoryError, FileNotFoundError):
        _make_enterable(None, str(path))
        root = os.open(path, _FOLDER)
        try:
            _empty(root)
        finally:
            os.close(root)
        path.rmdir()
        return
    with suppress(FileNotFoundError):
        path.unlink()


def _empty(root: int) -> None:
    number = 0
    while True:
        folders = []
        with os.scandir(root) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    os.unlink(entry.name, dir_fd=root)
        if not folders:
            return
        for name in folders:
            _make_enterable(root, name)
            folder = os.open(name, _FOLDER, dir_fd=root)
            try:
                with os.scandir(folder) as entries:
                    inner = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
                for child, is_folder in inner:
                    if is_folder:
                        _make_enterable(folder, child)
                        number = _free_number(root, number)
                        os.rename(child, f".removed-{number}", src_dir_fd=folder, dst_dir_fd=root)
                    else:
                        os.unlink(child, dir_fd=folder)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=root)


def _free_number(root: int, number: int) -> int:
    """The next number whose name is free: the program may have made folders of that name."""
    while True:
        number += 1
        try:
            os.lstat(f".removed-{number}", dir_fd=root)
        except FileNotFoundError:
            return number


def _make_enterable(folder: int | None, name: str) -> None:
    """A program can take its own rights to its folders away; give them back. Moving a folder takes them too."""
    state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(state.st_mode) and state.st_mode & 0o700 != 0o700:
        os.chmod(name, 0o700, dir_fd=folder)
