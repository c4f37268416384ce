"""What a program left behind, taken over once its namespace is dead.

The workspace becomes the candidate's folder. What may stay is made harmless in it: regular files with one name, owned
by the server's user, without rights to run and without setuid. Links, pipes, sockets and devices are removed, never
opened: a pipe would block whoever opens it, a link would lead wherever the program pointed it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import AideError
from ..records import Limits, ProducedFile
from .tree import DEPTH, Entry, remove, walk

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PIECE = 1 << 20


@dataclass(frozen=True)
class Caps:
    """How much is kept: files (and as many folders), bytes of one file, bytes of all. A sparse file counts in full."""

    files: int = 2000
    file_bytes: int = 2 << 30
    total_bytes: int = 4 << 30

    @classmethod
    def of(cls, limits: Limits) -> Caps:
        """The caps that go with a program's limits."""
        return cls(file_bytes=limits.disk_bytes, total_bytes=limits.disk_bytes)


@dataclass(frozen=True)
class Collected:
    """What was found: the files below ``working``, by path from the workspace (``working/submission.csv``), and how
    many entries were left out. A file too large to keep is listed without a hash, and is gone."""

    folder: Path
    files: tuple[ProducedFile, ...]
    left_out: int


def collect(workspace: Path, destination: Path | None = None, caps: Caps | None = None) -> Collected:
    """Take over a workspace whose namespace is dead, and move it to ``destination`` (None: it stays where it is).

    Only ``working`` is kept. It reads each file once, for its hash, and can take as long as the caps allow: call it
    in a thread.

    Raises
    ------
    AideError
        Where ``destination`` exists, or is on another file system.
    """
    caps = caps or Caps()
    _take_over(workspace)
    for path in list(workspace.iterdir()):
        if path.name != "working" or path.is_symlink() or not path.is_dir():
            remove(path)
    working = workspace / "working"
    working.mkdir(exist_ok=True)
    _take_over(working)
    taken = _Taking(caps)
    for entry in walk(working):
        taken.take(entry)
    for name in taken.doomed:
        remove(working / name)
    if destination is not None:
        if os.path.lexists(destination):
            raise AideError(f"The folder {destination} exists already, so a program's files cannot be moved there.")
        destination.parent.mkdir(parents=True, exist_ok=True)
        try:
            workspace.rename(destination)
        except OSError as error:
            raise AideError(f"A program's files cannot be moved to {destination}: {error.strerror}.") from error
    files = tuple(sorted(taken.files, key=lambda file: file.path))
    return Collected(destination or workspace, files, taken.left_out)


class _Taking:
    """The state of one pass over the files: what was kept, what is to go, and the room that is left."""

    def __init__(self, caps: Caps) -> None:
        self.files: list[ProducedFile] = []
        self.doomed: list[str] = []
        self.left_out = 0
        self._caps = caps
        self._bytes = 0
        self._folders = 0

    def take(self, entry: Entry) -> None:
        if self.doomed and entry.path.startswith(self.doomed[-1] + "/"):
            return
        if not _is_plain(entry.name):
            self._leave_out(entry)
        elif entry.is_folder:
            self._folders += 1
            if entry.depth >= DEPTH or self._folders > self._caps.files:
                self._leave_out(entry)
            else:
                _own_entry(entry, 0o700)
        elif not stat.S_ISREG(entry.state.st_mode) or entry.state.st_nlink != 1 or len(self.files) >= self._caps.files:
            self._leave_out(entry)
        else:
            self._take_file(entry)

    def _take_file(self, entry: Entry) -> None:
        path, size = "working/" + entry.path, entry.state.st_size
        if size > self._caps.file_bytes or self._bytes + size > self._caps.total_bytes:
            self.files.append(ProducedFile(path=path, bytes=size))
            self._leave_out(entry)
            return
        self._bytes += size
        _own_entry(entry, 0o600)
        self.files.append(ProducedFile(path=path, bytes=size, sha256=_own_file(entry)))

    def _leave_out(self, entry: Entry) -> None:
        self.left_out += 1
        self.doomed.append(entry.path)


def _is_plain(name: str) -> bool:
    """Whether a name is valid Unicode without control characters, so that it can stand in a record and a page."""
    return name.isprintable()


def _own_file(entry: Entry) -> str:
    handle = os.open(entry.name, _READ, dir_fd=entry.folder)
    with os.fdopen(handle, "rb") as file:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode) or state.st_ino != entry.state.st_ino:
            raise AideError(f"The file {entry.path!r} changed while it was collected.")
        digest = hashlib.sha256()
        left = entry.state.st_size
        while left > 0 and (piece := file.read(min(_PIECE, left))):
            digest.update(piece)
            left -= len(piece)
    return digest.hexdigest()


def _own_entry(entry: Entry, mode: int) -> None:
    """Take an entry over. Owner first, since a change of owner clears setuid and a change of mode does not.

    Through a handle on the entry itself (``O_PATH``, no link), so that what is changed is what was looked at.
    """
    handle = os.open(entry.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=entry.folder)
    try:
        if os.fstat(handle).st_ino != entry.state.st_ino:
            raise AideError(f"The file {entry.path!r} changed while it was collected.")
        _own(Path(f"/proc/self/fd/{handle}"), mode)
    finally:
        os.close(handle)


def _take_over(folder: Path) -> None:
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _own(Path(f"/proc/self/fd/{handle}"), 0o700)
    finally:
        os.close(handle)


def _own(path: Path, mode: int) -> None:
    if os.geteuid() == 0:
        os.chown(path, os.geteuid(), os.getegid())
    with suppress(OSError):
        os.removexattr(path, "system.posix_acl_access")
    path.chmod(mode)
