"""Writes the audit notebook's file, where no page holds it: merged by cell id, replaced atomically, seldom.

The file is a view and may lag behind the journal. What could not be written now is written later.

It is written whole, so a write costs time with its size, but parts that did not change are neither rendered, compared
nor spelled again. Measured at 1,000 candidates (3.2 MB): 0.03 s, and 0.15 s for the first write of a process.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import records as r
from ..errors import JournalError
from .cellfile import aide_of
from .chain import Anchor
from .merge import is_notebook, is_same, merge_cells, merge_metadata, run_of
from .notebook import Cell, cell_order, notebook_metadata, render_candidate, render_head
from .notebookfile import LOCK, Changed, Locked, lock, read, replace, set_aside, spelled, spelled_cell
from .trail import Reader, Trail

NOTEBOOK = "audit.ipynb"
EVERY = 2.0
"""Seconds between two writes, at least."""
SHARE = 20
"""A write that took t seconds is followed by at least ``SHARE`` t without one: 5 % of the time at most."""
_TRIES = 3
_LOCK_WAIT = 2.0
"""Seconds that a forced write waits for another process to finish its own, which takes 0.15 s at most. One that holds
the lock for longer holds it for a page, which writes the notebook itself."""
_HELD = "another process is writing it"


@dataclass(frozen=True)
class _Snapshot:
    """What is to be written: all the agent's cells in order, and the notebook's metadata."""

    run: str
    cells: dict[str, Cell]
    metadata: dict[str, Any]


@dataclass
class _Written:
    """What this writer last wrote, so that what has not changed is neither parsed nor spelled again."""

    digest: bytes = b""
    notebook: dict[str, Any] = field(default_factory=dict)
    texts: dict[int, tuple[dict[str, Any], str]] = field(default_factory=dict)
    rendered: dict[str, Cell] = field(default_factory=dict)


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
        self._changed: set[str] = set()
        self._dirty = False
        self._next = 0.0
        self._written = _Written()
        self._busy = asyncio.Lock()
        for record in records or ():
            self.note(record)

    def note(self, record: r.Record) -> None:
        """Take a record, after it is durable; an observer of the journal. Writes nothing."""
        candidate = self.trail.take(record)
        if candidate is not None:
            self._changed.add(candidate)
        self._dirty = True
        if record.kind == "closed":
            self._next = 0.0

    @property
    def wait(self) -> float | None:
        """Seconds until :meth:`flush` would write; None where there is nothing to write."""
        return max(0.0, self._next - self._clock()) if self._dirty else None

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
        snapshot = self._snapshot(force)
        return snapshot is not None and self._done(self._attempt(snapshot, force), force)

    async def flush_in_thread(self, *, force: bool = False) -> bool:
        """As :meth:`flush`: renders here, and reads and writes the file off the event loop."""
        async with self._busy:
            snapshot = self._snapshot(force)
            if snapshot is None:
                return False
            return self._done(await asyncio.to_thread(self._attempt, snapshot, force), force)

    def _snapshot(self, force: bool) -> _Snapshot | None:
        if not (force or self.wait == 0.0) or self.trail.state.opened is None:
            return None
        for candidate in self._changed:
            self._cells |= {cell["id"]: cell for cell in render_candidate(self.trail, self._blobs, candidate)}
        self._changed.clear()
        self._dirty = False
        head = render_head(self.trail, self._blobs)
        self._cells[head["id"]] = head
        cells = {one: self._cells[one] for one in cell_order(self.trail)}
        return _Snapshot(self.trail.state.run, cells, notebook_metadata(self.trail))

    def _attempt(self, snapshot: _Snapshot, force: bool) -> str:
        began = self._clock()
        problem = ""
        try:
            with lock(self.path.with_name(LOCK), _LOCK_WAIT if force else 0.0):
                for _ in range(_TRIES):
                    with contextlib.suppress(Changed):
                        self._merge(snapshot)
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
        self._dirty = self._dirty or bool(problem)
        if problem not in ("", _HELD) and force:
            raise JournalError(
                f"The audit notebook {self.path} could not be written: {problem}.",
                "Nothing is lost: it is made from the journal. Mend that, then resume the run or verify its journal.",
            )
        return not problem

    def _merge(self, snapshot: _Snapshot) -> None:
        data, before = read(self.path)
        notebook = self._written.notebook
        if data is None or hashlib.sha256(data).digest() != self._written.digest:
            notebook = self._parsed(data, before, snapshot.run)
            before = None if not notebook else before
        try:
            cells = merge_cells(snapshot.run, notebook.get("cells", []), snapshot.cells, self._same)
            texts = {id(cell): (cell, self._text(cell)) for cell in cells}
        except RecursionError as error:
            set_aside(self.path, empty=False)
            raise Changed from error
        merged = {
            **notebook,
            "cells": cells,
            "metadata": merge_metadata(notebook.get("metadata", {}), snapshot.metadata),
            "nbformat": 4,
            "nbformat_minor": max(5, _minor(notebook)),
        }
        written = spelled(merged, [texts[id(cell)][1] for cell in cells])
        replace(self.path, written, before)
        self._written = _Written(hashlib.sha256(written).digest(), merged, texts, snapshot.cells)

    def _parsed(self, data: bytes | None, before: os.stat_result | None, run: str) -> dict[str, Any]:
        """The notebook in the file; empty where there is none, or where it was broken and has been set aside."""
        if data is not None:
            with contextlib.suppress(ValueError, RecursionError):
                notebook = json.loads(data)
                if is_notebook(notebook) and run_of(notebook) in (None, run):
                    return notebook  # type: ignore[no-any-return]
        if before is not None:
            set_aside(self.path, empty=data == b"")
        return {}

    def _same(self, cell: dict[str, Any], right: Cell) -> bool:
        """As :func:`.merge.is_same`. A cell that was written from this very rendering need not be compared again."""
        known = self._written.texts.get(id(cell))
        unchanged = known is not None and known[0] is cell and self._written.rendered.get(right["id"]) is right
        return unchanged or is_same(cell, right)

    def _text(self, cell: dict[str, Any]) -> str:
        known = self._written.texts.get(id(cell))
        return known[1] if known is not None and known[0] is cell else spelled_cell(cell)


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


def _minor(notebook: dict[str, Any]) -> int:
    minor = notebook.get("nbformat_minor")
    return minor if isinstance(minor, int) else 0
