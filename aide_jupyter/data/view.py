"""The data view: what a kernel, a preview and a prompt see of the data folder, and all that they see of it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import AideError, BadRequest
from ..records import DataView, LeftOut, Text
from ..untrusted import Untrusted, visible
from . import archives
from .copying import Stop, Stored, check, copy, digest
from .source import data_folder
from .walk import Found, inode, open_folder, walk

Progress = Callable[[int, int], None]
"""Called with the files and the bytes that the view holds so far."""

MAX_LEFT_OUT = 200
"""So many of the things left out are named; all are counted."""

MAX_FILES = 200_000
_PLAIN_PATH = re.compile(r"[A-Za-z0-9._/+@=~ -]+")


@dataclass(frozen=True)
class View:
    """A built data view.

    ``links`` are the real paths of the files that the view only links to; a sandbox must let the kernel read them.
    ``manifest`` has one line for each file, in order of the paths: ``sha256  bytes  path``. In a path a backslash is
    doubled and each invisible character is an escape, so a line is one file and valid Unicode. ``sha256`` is that of
    the manifest. ``notes`` say in words what a person should know (archives that stayed packed).
    """

    root: Path
    source: str
    links: tuple[Path, ...]
    manifest: str
    sha256: str
    files: int
    bytes: int
    left_out: tuple[LeftOut, ...]
    left_out_count: int
    notes: tuple[str, ...]
    link_faces: tuple[tuple[int, ...], ...] = ()

    def data(self, manifest: Text) -> DataView:
        """The view as the first record of a run names it; ``manifest`` as the journal keeps it (inline or a blob)."""
        return DataView(
            source=self.source,
            sha256=self.sha256,
            files=self.files,
            bytes=self.bytes,
            manifest=manifest,
            left_out=self.left_out,
            left_out_count=self.left_out_count,
        )

    def check_links(self) -> None:
        """Raise :class:`AideError` where a linked file is not the one that was hashed. To be called before a kernel
        is given the view."""
        for path, face in zip(self.links, self.link_faces, strict=True):
            if _face(path) != face:
                raise AideError(
                    f"The data file {visible(str(path))} has changed since this run began.",
                    "Put it back as it was, or begin a new run.",
                )


def build_view(
    source: Path,
    destination: Path,
    *,
    forbidden: Sequence[Path] = (),
    may_link: Callable[[Path], bool] | None = None,
    link_over: int = 1 << 30,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> View:
    """Build the view of a data folder.

    Parameters
    ----------
    source
        The data folder.
    destination
        Where the view is built: a folder that does not exist yet, in one that does.
    forbidden
        Folders that must never be in a view, such as run folders and Jupyter's data and runtime folders. A data
        folder equal to or below one of them is refused; one inside the data folder is left out.
    may_link
        Says whether the kernel's user may read a real path. None: everything is copied.
    link_over
        Files of at least so many bytes are linked where ``may_link`` allows it.
    progress, stop
        Called after each file; asked during long copies too.

    Raises
    ------
    BadRequest
        Where the folder is missing, is a file, is empty, or lies in a run's folder.
    AideError
        Where the disk is full, a file changed while it was read, or ``stop`` said so (:class:`Stopped`). Nothing is
        left of the view then.
    """
    shut = {inode(path.stat()) for path in forbidden if path.is_dir()}
    folder = data_folder(source, shut)
    destination.mkdir(mode=0o755)
    builder = _Builder(folder, destination, may_link, link_over, progress, stop)
    try:
        descriptor = open_folder(folder)
        try:
            for found in walk(descriptor, builder.tell_left_out, shut | {inode(destination.stat())}):
                builder.add(found)
        finally:
            os.close(descriptor)
        return builder.finish()
    except BaseException:
        remove_view(destination)
        raise


def remove_view(root: Path) -> None:
    """Delete a view. Its folders are read-only, so an ordinary user's ``rmtree`` would fail."""
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o755)
    shutil.rmtree(root)


@dataclass
class _Builder:
    source: Path
    root: Path
    may_link: Callable[[Path], bool] | None
    link_over: int
    progress: Progress | None
    stop: Stop | None
    files: dict[str, Stored] = field(default_factory=dict)
    bytes: int = 0
    links: dict[Path, tuple[int, ...]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    left_out_count: int = 0
    notes: list[str] = field(default_factory=list)
    budget: archives.Budget = field(default_factory=archives.Budget)

    def tell_left_out(self, path: str, why: str) -> None:
        self.left_out_count += 1
        if len(self.left_out) < MAX_LEFT_OUT:
            self.left_out.append(LeftOut(path=Untrusted(path, "file name").render(200, one_line=True), why=why))

    def add(self, found: Found) -> None:
        check(self.stop)
        if len(self.files) >= MAX_FILES:
            raise BadRequest(
                f"The data folder {visible(str(self.source))} holds more than {MAX_FILES:,} files.",
                "Choose a narrower folder with --data, or pack the files.",
            )
        try:
            if archives.is_zip(found.name) and self._unpack_found(found):
                return
            self._store(found.path, self._link(found) or copy(found, self.root / found.path, self.stop))
        except OSError as error:
            (self.root / found.path).unlink(missing_ok=True)
            self.tell_left_out(found.path, f"it cannot be copied ({error.strerror})")

    def finish(self) -> View:
        if not self.files:
            what = f" ({self.left_out_count} things in it were left out)" if self.left_out_count else ""
            raise BadRequest(
                f"The data folder {visible(str(self.source))} has no file that can be used{what}.",
                "Name a folder with data files with --data.",
            )
        manifest = "".join(
            f"{stored.sha256}  {stored.bytes}  {_manifest_path(path)}\n" for path, stored in sorted(self.files.items())
        )
        for folder, _, _ in os.walk(self.root, topdown=False):
            Path(folder).chmod(0o555)
        return View(
            root=self.root,
            source=visible(str(self.source)),
            links=tuple(self.links),
            manifest=manifest,
            sha256=hashlib.sha256(manifest.encode()).hexdigest(),
            files=len(self.files),
            bytes=self.bytes,
            left_out=tuple(self.left_out),
            left_out_count=self.left_out_count,
            notes=tuple(self.notes),
            link_faces=tuple(self.links.values()),
        )

    def _store(self, path: str, stored: Stored) -> None:
        self.files[path] = stored
        self.bytes += stored.bytes
        if self.progress is not None:
            self.progress(len(self.files), self.bytes)

    def _link(self, found: Found) -> Stored | None:
        """Link to a large file that the kernel's user may read itself; None where it is to be copied."""
        real = self.source / found.path
        # A sandbox profile names these paths one a line and expands some characters, so only plain ones are linked.
        if found.size < self.link_over or self.may_link is None or not _PLAIN_PATH.fullmatch(str(real)):
            return None
        if not self.may_link(real):
            return None
        before = _face(real)
        stored = digest(found, self.stop)
        if before is None or _face(real) != before:
            return None
        target = self.root / found.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(real)
        self.links[real] = before
        return stored

    def _unpack_found(self, found: Found) -> bool:
        name = archives.output_name(found.name)
        if found.has_beside(name) or (self.root / found.path).with_name(name).exists():
            self.notes.append(f"{_shown(found.path)} was not unpacked: {_shown(name)} lies beside it.")
            return False
        return self._unpack(found.open(), found.path, depth=1)

    def _unpack(self, descriptor: int, path: str, depth: int) -> bool:
        """Unpack the archive beside where it lies, and those in it; False where it stays as it is."""
        folder = (self.root / path).parent
        folder.mkdir(parents=True, exist_ok=True)
        with os.fdopen(descriptor, "rb") as archive:
            try:
                unpacked = archives.unpack(archive, path, folder, self.budget, self.tell_left_out, stop=self.stop)
            except archives.NotUnpacked as error:
                self.notes.append(f"{_shown(path)} was not unpacked: {error}.")
                return False
        prefix = path[: len(path) - len(path.rpartition("/")[2])] + unpacked.name
        self.tell_left_out(path, f"unpacked to {_shown(unpacked.name)} ({len(unpacked.files)} files)")
        for inner, stored in unpacked.files.items():
            place = f"{prefix}/{inner}" if inner else prefix
            if not self._unpack_nested(place, depth):
                self._store(place, stored)
        return True

    def _unpack_nested(self, place: str, depth: int) -> bool:
        target = self.root / place
        if not archives.is_zip(target.name) or depth >= archives.NESTING:
            return False
        if target.with_name(archives.output_name(target.name)).exists():
            return False
        done = self._unpack(os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), place, depth + 1)
        if done:
            target.unlink()
        return done


def _face(path: Path) -> tuple[int, ...] | None:
    """What tells whether a linked file is still the same: where it lies, its size and its times."""
    try:
        status = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _shown(name: str) -> str:
    return Untrusted(name, "file name").render(120, one_line=True)


def _manifest_path(path: str) -> str:
    return visible(path.replace("\\", "\\\\")).replace("\n", "\\n").replace("\t", "\\t").replace("\u2028", "\\u2028")
