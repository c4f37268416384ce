"""The journal of a run and its single writer: append-only, chained, signed, on disk before anything acts on it.

The owner of a run holds one :class:`Journal`; everyone else reads with :func:`~aide_jupyter.audit.chain.read_records`.
Called from one thread (the event loop's); an append takes under a millisecond on a local disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import AlteredError, JournalError
from ..records import (
    INLINE_BYTES,
    SYSTEM,
    VERSION,
    Actor,
    BlobRef,
    Body,
    Finished,
    Observed,
    Opened,
    Record,
    Recovered,
    Started,
    Text,
    body_data,
)
from ..state import RunState
from .blobs import Blobs, BlobWriter
from .chain import GENESIS, JOURNAL, Anchor, ChainReport, check_chain, check_stream, read_records
from .files import hold, keep_aside, sync_folder
from .keys import SigningKey
from .lines import LINE_BYTES, Spelling, clean, plain

__all__ = [
    "GENESIS",
    "JOURNAL",
    "Anchor",
    "Blobs",
    "ChainReport",
    "Journal",
    "SigningKey",
    "check_chain",
    "clean",
    "read_records",
]

_ADVICE = "The run stops here. Make room or give the folder back its rights, then resume the run."
_VERIFY = "Nothing was changed. The run can be verified and read, but not resumed."


class Journal:
    """The one writer of a run's records. Made by :meth:`create` and :meth:`open`.

    Attributes
    ----------
    state
        What the records tell, kept up to date by every append.
    on_append
        Called with each record after it is on disk and in ``state``, in order. What an observer raises reaches the
        caller of :meth:`append`; the record stands all the same.
    head
        The last record's number and hash: what is anchored elsewhere, by an observer.
    """

    def __init__(self, folder: Path, key: SigningKey, folder_fd: int, fd: int) -> None:
        self.folder = folder
        self.state = RunState()
        self.head = GENESIS
        self.on_append: list[Callable[[Record], None]] = []
        self._key = key
        self._folder_fd, self._fd = folder_fd, fd
        self._file = os.fstat(fd)
        self._blobs = BlobWriter(folder_fd)
        self._run = ""
        self._bytes = 0
        self._time = ""
        self._running: Counter[tuple[str, str]] = Counter()
        self._unusable = ""

    @classmethod
    def create(cls, folder: Path, run: str, key: SigningKey, opened: Opened, actor: Actor) -> Journal:
        """Begin a run: make its folder (0700) and its journal (0600) with the record ``opened``.

        Raises
        ------
        JournalError
            There is a journal already, ``folder`` is a link, or it cannot be written.
        """
        if opened.key != key.public:
            raise JournalError("The record `opened` names another key than the one that signs it.")
        with contextlib.ExitStack() as held:
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                folder_fd = hold(held, folder, os.O_RDONLY | os.O_DIRECTORY)
                os.fchmod(folder_fd, 0o700)
                fd = hold(held, JOURNAL, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, folder_fd)
                journal = cls(folder, key, folder_fd, fd)
                os.fsync(folder_fd)
                sync_folder(folder.parent)
            except OSError as error:
                raise JournalError(f"A journal cannot be made in {folder}: {error.strerror}.") from error
            held.pop_all()
        journal._run = run
        try:
            journal.append(opened, actor)
        except BaseException:
            journal.close()
            raise
        return journal

    @classmethod
    def open(cls, folder: Path, key: SigningKey, anchors: Sequence[Anchor]) -> Journal:
        """Go on with a run. The caller holds the run's lock.

        The whole chain is checked against ``anchors`` first. Only then is a last line that a crash cut off moved
        aside, and the record ``recovered`` written.

        Raises
        ------
        AlteredError
            The journal is not what was anchored, or not signed by ``key``: nothing was repaired or appended.
        JournalError
            No anchor is known, or the files cannot be opened.
        """
        if not anchors:
            raise JournalError(f"No head of the run in {folder} is anchored on this machine.", _VERIFY)
        with contextlib.ExitStack() as held:
            try:
                folder_fd = hold(held, folder, os.O_RDONLY | os.O_DIRECTORY)
                fd = hold(held, JOURNAL, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK, folder_fd)
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise AlteredError(f"{folder / JOURNAL} is not a regular file.", advice=_VERIFY)
                journal = cls(folder, key, folder_fd, fd)
            except OSError as error:
                raise AlteredError(f"{folder / JOURNAL} cannot be opened: {error.strerror}.", advice=_VERIFY) from error
            held.pop_all()
        try:
            journal._resume(anchors)
        except BaseException:
            journal.close()
            raise
        return journal

    def _resume(self, anchors: Sequence[Anchor]) -> None:
        path = self.folder / JOURNAL
        with os.fdopen(os.dup(self._fd), "rb") as stream:
            try:
                report = check_stream(stream, {self._key.fingerprint}, anchors, self._fold)
            except (ValueError, KeyError, TypeError) as error:
                raise JournalError(f"The records of {path} do not make a run: {error!r}.", _VERIFY) from error
            except OSError as error:
                raise JournalError(f"{path} cannot be read: {error.strerror}.") from error
            if not report.intact:
                raise AlteredError(f"{path}: {report.reason}", report.first_bad, _VERIFY)
            if not report.key_known:
                raise AlteredError(
                    f"{path} is signed by the key {report.key}, not by this machine's ({self._key.fingerprint}).",
                    0,
                    _VERIFY,
                )
            self._run, self._bytes = report.run, report.whole
            if report.torn and not report.closed:
                self._move_torn_aside(stream, report.torn)

    def _move_torn_aside(self, stream: BinaryIO, size: int) -> None:
        stream.seek(self._bytes)
        torn = stream.read(size)
        try:
            name = keep_aside(self._folder_fd, "journal.torn", torn)
            os.ftruncate(self._fd, self._bytes)
            os.fsync(self._fd)
        except OSError as error:
            raise JournalError(f"{self.folder / JOURNAL} cannot be repaired: {error.strerror}.", _ADVICE) from error
        self.append(Recovered(bytes=len(torn), sha256=hashlib.sha256(torn).hexdigest(), file=name))

    def append(self, body: Body, actor: Actor = SYSTEM) -> Record:
        """Write one record and wait until it is on disk; then fold it into ``state`` and tell the observers.

        Raises
        ------
        JournalError
            The body cannot be a record (too long, an infinite number): nothing was written, and the journal goes on.
            Or it could not be written, the journal was changed from outside, or the record does not fit the run: what
            was written of it is undone, and every further append is refused.
        """
        if self._unusable:
            raise JournalError(f"{self.folder / JOURNAL} takes no more records: {self._unusable}.", _ADVICE)
        if self.state.closed is not None:
            raise JournalError(f"{self.folder / JOURNAL} is closed: nothing follows its last record.")
        record, line = self._sign(body, actor)
        try:
            self._write(line)
            self._fold(record)
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._unusable = (isinstance(error, OSError) and error.strerror) or repr(error)
            self._undo()
            raise JournalError(
                f"Record {record.seq} ({body.kind}) could not be written to {self.folder / JOURNAL}: {self._unusable}.",
                _ADVICE,
            ) from error
        self._bytes += len(line)
        for observer in list(self.on_append):
            observer(record)
        return record

    def _sign(self, body: Body, actor: Actor) -> tuple[Record, bytes]:
        fields: dict[str, Any] = {
            "v": VERSION,
            "run": self._run,
            "seq": self.head.seq + 1,
            "time": max(_now(), self._time),
            "kind": body.kind,
            "actor": plain(actor.model_dump(mode="json")),
            "data": plain(body_data(body)),
            "prev": self.head.hash,
        }
        try:
            spelling = Spelling(fields)
        except ValueError as error:
            raise JournalError(f"A record {body.kind} holds what canonical JSON cannot say: {error}.") from error
        fields["hash"] = spelling.hash
        fields["signature"] = self._key.sign(bytes.fromhex(fields["hash"]))
        line = spelling.line(fields) + b"\n"
        if len(line) > LINE_BYTES:
            raise JournalError(f"A record {body.kind} of {len(line)} bytes is longer than {LINE_BYTES}.")
        return Record.model_validate(fields), line

    def _write(self, line: bytes) -> None:
        self._check_file()
        written = os.write(self._fd, line)
        if written != len(line):
            raise OSError(0, f"only {written} of {len(line)} bytes were written")
        os.fdatasync(self._fd)

    def _check_file(self) -> None:
        """That the open file is the one at its place, and ends where the last append ended."""
        there = os.stat(JOURNAL, dir_fd=self._folder_fd, follow_symlinks=False)
        if (there.st_dev, there.st_ino) != (self._file.st_dev, self._file.st_ino):
            raise OSError(0, "another file has taken its place")
        if there.st_size != self._bytes:
            raise OSError(0, f"it has {there.st_size} bytes where {self._bytes} were written")

    def _undo(self) -> None:
        """Take back what is there of the failed line. Where even that fails, the next opening moves it aside."""
        with contextlib.suppress(OSError):
            if self._bytes < os.fstat(self._fd).st_size:
                os.ftruncate(self._fd, self._bytes)
                os.fdatasync(self._fd)

    def _fold(self, record: Record) -> None:
        self.state.take(record)
        body = record.body()
        if isinstance(body, Started):
            self._running[body.candidate, body.purpose] += 1
        elif isinstance(body, Finished) and self._running[body.candidate, body.purpose]:
            self._running[body.candidate, body.purpose] -= 1
        self.head, self._time = Anchor(record.seq, record.hash), record.time

    def settle_unknown(self) -> tuple[Record, ...]:
        """Mark every execution that has started and not finished as ``unknown``: nobody saw its end, and it is never
        run again. For the engine, once, after :meth:`open`. Returns the records written."""
        left = [key for key, count in self._running.items() for _ in range(count)]
        return tuple(
            self.append(
                Finished.model_validate(
                    {"candidate": candidate, "status": "unknown", "observed": Observed(seconds=0.0), "purpose": purpose}
                )
            )
            for candidate, purpose in left
        )

    def blob(self, data: bytes) -> BlobRef:
        """Keep ``data`` as a blob, durably, before a record names it. Raises JournalError."""
        return self._blobs.put(data)

    def text(self, text: str) -> Text:
        """``text`` as a record holds it: cleaned (:func:`clean`), and as a blob over ``INLINE_BYTES`` UTF-8 bytes."""
        text = clean(text)
        data = text.encode("utf-8")
        return text if len(data) <= INLINE_BYTES else self.blob(data)

    def close(self) -> None:
        """Let go of the files, once. The run's lock is the owner's to release, after this."""
        if self._fd < 0:
            return
        self._unusable = self._unusable or "it was let go"
        self._blobs.close()
        os.close(self._fd)
        os.close(self._folder_fd)
        self._fd = self._folder_fd = -1


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
