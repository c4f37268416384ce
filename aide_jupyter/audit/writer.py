"""Writes the audit notebook's file, where no page holds it: merged by cell id, replaced atomically, seldom.

What a person waits for is in it after 2 s, the steps of a candidate that lives on with the next that is, or after 20 s.

The file is a view and may lag behind the journal. What could not be written now is written later.

It is replaced whole, but only cells that changed are rendered, compared and spelled; of the others, only the bytes are
written again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .. import records as r
from ..errors import JournalError
from .cellfile import aide_of
from .chain import Anchor
from .merge import is_notebook, run_of
from .notebook import Cell, notebook_metadata, render_candidate, render_head
from .notebookfile import LOCK, Changed, Locked, lock, read, replace, set_aside, state_of, status
from .trail import Reader, Trail
from .written import WrittenNotebook

NOTEBOOK = "audit.ipynb"
EVERY = 2.0
"""Seconds between two writes, at least."""
LAG = 20.0
"""Seconds after which a candidate's steps are in the file, where it has not come to its end before: then all are."""
_STEPS = frozenset({"chosen", "proposed", "decided", "started", "finished", "graded", "spent", "network"})
"""Kinds of records that follow one another while a candidate lives, with nothing in them that a person waits for."""
SHARE = 20
"""A write that took t seconds is followed by at least ``SHARE`` t without one: 5 % of the time at most."""
_TRIES = 3
_LOCK_WAIT = 2.0
"""Seconds that a forced write waits for another process to finish its own, which takes 0.15 s at most. One that holds
the lock for longer holds it for a page, which writes the notebook itself."""
_HELD = "another process is writing it"


class NotebookWriter:
    """Keeps one notebook file up with its run.

    Parameters
    ----------
    path
        The notebook. It may be changed between two writes, where a person has renamed the file.
    blobs
        Resolves long texts and pictures.
    records
        What the journal holds already.
    clock
        Seconds, monotonic.
    """

    def __init__(
        self,
        path: Path,
        blobs: Reader,
        records: Iterator[r.Record] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self.trail = Trail()
        self.problem = ""
        self._blobs, self._clock = blobs, clock
        self._cells: dict[str, Cell] = {}
        self._unwritten: dict[str, Cell] = {}
        self._changed: set[str] = set()
        self._due: float | None = None
        self._next = 0.0
        self._metadata: dict[str, Any] = {}
        self._written: WrittenNotebook | None = None
        self._busy = asyncio.Lock()
        for record in records or ():
            self.note(record)
        self.hurry()

    def note(self, record: r.Record) -> None:
        """Take a record, after it is durable; an observer of the journal. Writes nothing."""
        candidate = self.trail.take(record)
        if candidate is not None:
            self._changed.add(candidate)
        due = self._clock() + (LAG if record.kind in _STEPS else 0.0)
        self._due = due if self._due is None else min(self._due, due)
        if record.kind == "closed":
            self._next = 0.0

    def hurry(self) -> None:
        """Let nothing that is to be written wait for more."""
        self._due = None if self._due is None else 0.0

    @property
    def wait(self) -> float | None:
        """Seconds until :meth:`flush` would write; None where there is nothing to write."""
        return None if self._due is None else max(0.0, max(self._due, self._next) - self._clock())

    def flush(self, *, force: bool = False) -> bool:
        """Write what has changed, where enough time has passed since the last write. Says whether it wrote.

        Where it cannot, ``problem`` says why and the next flush tries again.

        Parameters
        ----------
        force
            Write now.

        Raises
        ------
        JournalError
            It was forced and the file could not be written, other than because somebody else is its writer.
        AlteredError
            A blob is missing or not what its record names.
        """
        return self._render(force) and self._done(self._attempt(force), force)

    async def flush_in_thread(self, *, force: bool = False) -> bool:
        """As :meth:`flush`: renders here, and reads and writes the file off the event loop.

        A write cannot be broken off: where the caller is cancelled, this ends once the file is written.
        """
        async with self._busy:
            if not self._render(force):
                return False
            writing = asyncio.ensure_future(asyncio.to_thread(self._attempt, force))
            try:
                await asyncio.shield(writing)
            finally:
                await asyncio.wait([writing])
                done = self._done(writing.result(), force)
            return done

    def _render(self, force: bool) -> bool:
        """Bring the cells up, in the order of the notebook, where it is time to write. Says whether it is."""
        state = self.trail.state
        if not (force or self.wait == 0.0) or state.opened is None:
            return False
        head = render_head(self.trail, self._blobs)
        changed = {head["id"]: head}
        for candidate in sorted(self._changed, key=lambda one: state.candidates[one].seqs.get("proposed", -1)):
            changed |= {cell["id"]: cell for cell in render_candidate(self.trail, self._blobs, candidate)}
        self._cells |= changed
        self._unwritten |= changed
        self._metadata = notebook_metadata(self.trail)
        self._changed.clear()
        self._due = None
        return True

    def _attempt(self, force: bool) -> str:
        began = self._clock()
        problem = ""
        try:
            with lock(self.path.with_name(LOCK), _LOCK_WAIT if force else 0.0):
                for _ in range(_TRIES):
                    with contextlib.suppress(Changed):
                        self._merge()
                        break
                else:
                    problem = "something else keeps changing it"
        except Locked:
            problem = _HELD
        except OSError as error:
            problem = error.strerror or str(error)
        now = self._clock()
        self._next = now + max(EVERY, SHARE * (now - began))
        return problem

    def _done(self, problem: str, force: bool) -> bool:
        self.problem = problem
        if problem:
            self._due = 0.0
        if problem not in ("", _HELD) and force:
            raise JournalError(
                f"The audit notebook {self.path} could not be written: {problem}.",
                "Nothing is lost: it is made from the journal. Mend that, then resume the run or verify its journal.",
            )
        return not problem

    def _merge(self) -> None:
        before = status(self.path)
        if self._written is None or before is None or state_of(before) != self._written.state:
            found, before = self._found()
            try:
                self._written = WrittenNotebook(self.trail.state.run, found, self._cells)
            except RecursionError as error:
                set_aside(self.path, empty=False)
                raise Changed from error
        else:
            self._written.put(self._unwritten)
        self._written.state = replace(self.path, self._written.spelled(self._metadata), before)
        self._unwritten.clear()

    def _found(self) -> tuple[dict[str, Any], os.stat_result | None]:
        """The notebook in the file; empty where there is none, or where it was broken and has been set aside."""
        data, before = read(self.path)
        if data is not None:
            with contextlib.suppress(ValueError, RecursionError):
                notebook = json.loads(data)
                if is_notebook(notebook) and run_of(notebook) in (None, self.trail.state.run):
                    return notebook, before
        if before is not None:
            set_aside(self.path, empty=data == b"")
        return {}, None


def update_notebook(path: Path, records: Iterator[r.Record], blobs: Reader) -> None:
    """Bring a notebook file up with these records, once. Raises as :meth:`NotebookWriter.flush`."""
    NotebookWriter(path, blobs, records).flush(force=True)


def notebook_anchor(path: Path) -> tuple[str, Anchor] | None:
    """The run and the journal's head that a notebook file names; None where it names none that can be read."""
    try:
        aide = aide_of(json.loads(read(path)[0] or b""))
        return str(aide["run"]), Anchor(int(aide["head"]["seq"]), str(aide["head"]["hash"]))
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None
