"""Texts and files too long for a record, kept by their SHA-256 in ``blobs/`` of a run's folder.

A blob is on disk, under its own hash, before the record that names it. It is read without following links, and only
where its bytes still have that hash.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from ..errors import AlteredError, JournalError
from ..records import BlobRef, Text
from .files import open_regular

FOLDER = "blobs"


class Blobs:
    """The blobs of one run, for readers.

    Parameters
    ----------
    folder
        The run's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def read(self, ref: BlobRef) -> bytes:
        """The bytes of a blob.

        Raises
        ------
        AlteredError
            The file is missing, is not a regular file, or does not hold what the record says.
        """
        path = self._folder / ref.sha256
        try:
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                data = _read(folder, ref.sha256, ref.bytes)
            finally:
                os.close(folder)
        except FileNotFoundError as error:
            raise AlteredError(f"The blob {path} is missing.") from error
        except OSError as error:
            raise AlteredError(f"The blob {path} cannot be read: {error.strerror}.") from error
        if data is None:
            raise AlteredError(f"The blob {path} was changed: its bytes are not those that the record names.")
        return data

    def text(self, value: Text) -> str:
        """A text of a record, whether it stands there or in a blob. Raises as :meth:`read` does."""
        return value if isinstance(value, str) else self.read(value).decode("utf-8", "replace")


class BlobWriter:
    """Writes blobs; held by the journal alone.

    Parameters
    ----------
    run_folder
        A descriptor of the run's folder.
    """

    def __init__(self, run_folder: int) -> None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(FOLDER, 0o700, dir_fd=run_folder)
            os.fsync(run_folder)
        self._fd = os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=run_folder)

    def put(self, data: bytes) -> BlobRef:
        """Keep ``data``, durably, and return how a record names it. What is kept already is not written again.

        Raises
        ------
        JournalError
            It could not be written.
        """
        ref = BlobRef(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
        try:
            with contextlib.suppress(OSError):
                if _read(self._fd, ref.sha256, ref.bytes) is not None:
                    return ref
            self._write(ref.sha256, data)
        except OSError as error:
            raise JournalError(
                f"A text of {len(data)} bytes could not be kept in {FOLDER}/ of the run's folder: {error.strerror}.",
                "The run stops here. Make room or give the folder back its rights, then resume the run.",
            ) from error
        return ref

    def _write(self, name: str, data: bytes) -> None:
        draft = f".{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(draft, flags, 0o600, dir_fd=self._fd)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(fd)
            os.rename(draft, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=self._fd)
            raise
        os.fsync(self._fd)

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._fd)


def _read(folder: int, name: str, size: int) -> bytes | None:
    """The bytes of ``name``; None where they are not ``size`` bytes with that hash."""
    with open_regular(name, folder=folder) as file:
        if os.fstat(file.fileno()).st_size != size:
            return None
        data = file.read(size + 1)
    return data if hashlib.sha256(data).hexdigest() == name else None


def references(value: JsonValue) -> Iterator[BlobRef]:
    """Every blob that a record's data names, at any depth: an object of exactly ``sha256`` and ``bytes``."""
    if isinstance(value, dict):
        if value.keys() == {"sha256", "bytes"}:
            yield BlobRef.model_validate(value)
            return
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from references(item)
