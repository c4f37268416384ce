"""Unpacking zip archives of a data folder, which may be made to do harm.

A program written for AIDE expects ``train.csv.zip`` as ``train.csv`` and ``images.zip`` as ``images/``. Absolute paths,
``..``, links, hidden names and whatever is no regular file stay out. An archive that is encrypted, broken, a bomb, or
would overwrite something is kept as it is.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from .copying import BLOCK, Stop, Stored, check, create, no_room, write
from .walk import MAX_DEPTH, LeaveOut, unfit_name

MAX_RATIO = 200
"""Unpacked bytes per packed byte. Tables and text reach 5 to 30; deflate itself ends at 1,032."""

RATIO_FROM = 64 << 20
"""Below this many unpacked bytes the ratio is nobody's concern."""

MAX_DIRECTORY = 64 << 20
"""Bytes of an archive's directory, which Python reads into memory whole (about ten times that as objects)."""

NESTING = 3
"""Archives within archives are unpacked to this depth; Kaggle's own downloads nest two."""

_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}  # LZMA may ask for 4 GB of memory
_BROKEN = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError, struct.error,
)  # fmt: skip


class NotUnpacked(Exception):
    """Why an archive is kept as it is, in words that end a sentence."""


@dataclass
class Budget:
    """What all archives of one data folder may unpack to, together."""

    bytes: int = 64 << 30
    files: int = 200_000


@dataclass
class Unpacked:
    """What came out: ``files`` by path below the archive's output, or under ``""`` where the output is one file."""

    name: str
    files: dict[str, Stored] = field(default_factory=dict)


def output_name(archive: str) -> str:
    """What an archive of this name unpacks to (``train.csv.zip`` to ``train.csv``)."""
    return archive[: -len(".zip")]


def is_zip(name: str) -> bool:
    """Whether a file is taken for a zip archive, by its name as AIDE does."""
    return name.lower().endswith(".zip") and unfit_name(output_name(name)) is None and output_name(name) != ""


def unpack(
    archive: IO[bytes], path: str, folder: Path, budget: Budget, leave_out: LeaveOut, *, stop: Stop | None = None
) -> Unpacked:
    """Unpack an archive to what :func:`output_name` says, in ``folder``.

    Parameters
    ----------
    archive
        The open archive.
    path
        Its path in the data folder, for messages.
    folder
        An existing folder of the view, in which nothing has the output's name yet.
    budget
        Counted down by what was unpacked.

    Raises
    ------
    NotUnpacked
        Where it cannot be unpacked safely and whole; nothing is left behind.
    AideError
        Where the disk is full, or ``stop`` says so.
    """
    name = output_name(PurePosixPath(path).name)
    stage = folder / f".unpacking-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    stage.mkdir(mode=0o755)
    left: list[tuple[str, str]] = []
    try:
        plan = _plan(archive, path, name, budget, left)
        files = {inner: _extract(plan.zip, info, stage / "out" / inner, stop) for inner, info in plan.members.items()}
        (stage / "out").rename(folder / name)
    finally:
        shutil.rmtree(stage)
    budget.bytes -= sum(stored.bytes for stored in files.values())
    budget.files -= len(files)
    for where, why in left:
        leave_out(where, why)
    return Unpacked(name, files)


@dataclass(frozen=True)
class _Plan:
    zip: zipfile.ZipFile
    members: dict[str, zipfile.ZipInfo]


def _plan(archive: IO[bytes], path: str, name: str, budget: Budget, left: list[tuple[str, str]]) -> _Plan:
    try:
        packed = archive.seek(0, os.SEEK_END)
        if _directory_bytes(archive, packed) > MAX_DIRECTORY:
            raise NotUnpacked("it lists more files than can be unpacked safely")
        opened = zipfile.ZipFile(archive)
    except _BROKEN as error:
        raise NotUnpacked("it is not a whole zip archive") from error
    members: dict[str, zipfile.ZipInfo] = {}
    folders: set[str] = set()
    for info in opened.infolist():
        if info.is_dir():
            continue
        inner = info.filename.replace("\\", "/")
        if why := _unfit(info, inner, members, folders):
            left.append((f"{path}/{inner}", why))
        elif info.flag_bits & 0x1:
            raise NotUnpacked("it is encrypted")
        elif info.compress_type not in _METHODS:
            raise NotUnpacked("it is packed with a method that is not unpacked here")
        else:
            members[inner] = info
            folders.update(_above(inner))
    total = sum(info.file_size for info in members.values())
    if total > RATIO_FROM and total > MAX_RATIO * packed:
        raise NotUnpacked(f"it would unpack to {total / packed:,.0f} times its size, as a bomb does")
    if total > budget.bytes or len(members) > budget.files:
        raise NotUnpacked("it would unpack to more than a data view may hold")
    if not members:
        raise NotUnpacked("it holds no file that can be used")
    return _Plan(opened, _flattened(members, name))


def _unfit(info: zipfile.ZipInfo, inner: str, members: dict[str, zipfile.ZipInfo], folders: set[str]) -> str | None:
    """Why a member is left out: an unsafe path, a link, a hidden name, or a place that is already taken."""
    parts = inner.split("/")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if "\0" in info.orig_filename or inner.startswith("/") or ".." in parts or re.match(r"[A-Za-z]:", inner):
        return "its path leads out of the archive"
    if kind not in (0, stat.S_IFREG):
        return "a symbolic link" if kind == stat.S_IFLNK else "not a regular file"
    if "" in parts or len(parts) > MAX_DEPTH or any(len(part.encode("utf-8", "replace")) > 255 for part in parts):
        return "its path is not one that can be written"
    if inner in members or inner in folders or any(above in members for above in _above(inner)):
        return "the archive holds something else of that name"
    return next((why for part in parts if (why := unfit_name(part))), None)


def _above(inner: str) -> list[str]:
    """The folders that a member lies in (``a/b/c`` in ``a`` and ``a/b``)."""
    parts = inner.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _flattened(members: dict[str, zipfile.ZipInfo], name: str) -> dict[str, zipfile.ZipInfo]:
    """Without the one folder or file of the archive's own name, as AIDE does; ``""`` is the output itself."""
    if list(members) == [name]:
        return {"": members[name]}
    if all(inner.startswith(f"{name}/") for inner in members):
        return {inner[len(name) + 1 :]: info for inner, info in members.items()}
    return members


def _extract(opened: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path, stop: Stop | None) -> Stored:
    sha256, done = hashlib.sha256(), 0
    try:
        descriptor = create(target)
        try:
            for block in _blocks(opened, info):
                sha256.update(block)
                done += len(block)
                write(descriptor, block)
                check(stop)
            os.ftruncate(descriptor, done)
        finally:
            os.close(descriptor)
    except OSError as error:
        if told := no_room(error, target):
            raise told from error
        if error.errno == errno.ENAMETOOLONG:
            raise NotUnpacked("it holds a path that is too long") from error
        raise
    return Stored(done, sha256.hexdigest())


def _blocks(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """A member's content, never more than the archive's directory says it is."""
    try:
        with opened.open(info) as member:
            done = 0
            while block := member.read(BLOCK):
                done += len(block)
                if done > info.file_size:
                    raise NotUnpacked("it holds more than it says")
                yield block
    except _BROKEN as error:
        raise NotUnpacked("it is not a whole zip archive") from error


def _directory_bytes(archive: IO[bytes], packed: int) -> int:
    """The size of the archive's directory as its end record says (APPNOTE.TXT 4.3.14 to 4.3.16)."""
    archive.seek(max(0, packed - 65557 - 20))
    tail = archive.read(65557 + 20)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise NotUnpacked("it is not a whole zip archive")
    size, offset = struct.unpack("<II", tail[at + 12 : at + 20])
    if size == 0xFFFFFFFF or offset == 0xFFFFFFFF:
        locator = tail[max(0, at - 20) : at]
        if len(locator) < 20 or not locator.startswith(b"PK\x06\x07"):
            raise NotUnpacked("it is not a whole zip archive")
        archive.seek(struct.unpack("<Q", locator[8:16])[0])
        size = struct.unpack("<Q", archive.read(56)[40:48])[0]
    archive.seek(0)
    return int(size)
