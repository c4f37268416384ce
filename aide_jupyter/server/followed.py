"""A run that this server does not work at, as its journal tells: read on from where it was left, off the event loop.

Nothing is verified here; ``verify`` does that. A journal that became shorter, or is another file, is read from its
beginning again.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..audit.blobs import Blobs
from ..audit.chain import JOURNAL, open_journal
from ..audit.lines import LINE_BYTES, parse, record_of
from ..audit.trail import Trail
from ..errors import AideError, JournalError
from .nodes import Picture

T = TypeVar("T")
KEPT = 8
"""Runs that are kept in memory between two looks."""


class Followed:
    """One run, by its folder. For any thread; one at a time looks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._file: tuple[int, int] = (-1, -1)
        self._bytes = 0
        self._picture = _new(folder)

    def look(self, show: Callable[[Picture], T]) -> T:
        """Read what is new, and return what ``show`` makes of the run.

        Raises
        ------
        AlteredError
            There is no journal that can be read.
        JournalError
            Its records do not make a run.
        """
        with self._lock:
            self._read_on()
            if self._picture.trail.state.opened is None:
                raise JournalError(f"{self.folder / JOURNAL} holds no whole record yet.", "Look again in a moment.")
            return show(self._picture)

    def _read_on(self) -> None:
        with open_journal(self.folder / JOURNAL) as stream:
            state = os.fstat(stream.fileno())
            if (state.st_dev, state.st_ino) != self._file or state.st_size < self._bytes:
                self._file, self._bytes, self._picture = (state.st_dev, state.st_ino), 0, _new(self.folder)
            stream.seek(self._bytes)
            fresh = self._bytes == 0
            trail = self._picture.trail
            for line in iter(lambda: stream.readline(LINE_BYTES + 1), b""):
                if not line.endswith(b"\n"):
                    break
                try:
                    record = record_of(parse(line[:-1]))
                    trail.take(record)
                except (ValueError, LookupError, TypeError, AttributeError) as error:
                    self._file = (-1, -1)
                    raise JournalError(
                        f"Record {trail.head.seq + 1} of {self.folder / JOURNAL} makes no sense ({error}).",
                        "`jupyter aide verify` says more.",
                    ) from error
                self._bytes += len(line)
                if not fresh:
                    self._picture.note(record)
            if fresh:
                self._picture = Picture(trail, self._picture.blobs)


class Library:
    """The runs that were looked at last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[Path, Followed] = OrderedDict()

    def followed(self, folder: Path) -> Followed:
        """The run in ``folder``, as it is kept, or to be read anew."""
        with self._lock:
            found = self._runs.setdefault(folder, Followed(folder))
            self._runs.move_to_end(folder)
            while len(self._runs) > KEPT:
                self._runs.popitem(last=False)
            return found


def size_of(folder: Path) -> tuple[int, int, int]:
    """What tells a journal from itself a moment ago, without opening it; zeros where there is none."""
    try:
        state = (folder / JOURNAL).lstat()
    except OSError:
        return (0, 0, 0)
    return state.st_ino, state.st_size, state.st_mtime_ns


def words_of(error: Exception) -> str:
    """Why a run cannot be shown, in a sentence."""
    if isinstance(error, AideError):
        return error.message
    return f"Its records cannot be read ({type(error).__name__})."


def _new(folder: Path) -> Picture:
    return Picture(Trail(), Blobs(folder))
