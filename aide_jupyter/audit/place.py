"""Where a run's files are, given any one of them; used by :mod:`.verify`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..errors import AideError, AlteredError, BadRequest
from .chain import JOURNAL, Anchor, read_records
from .comparison import read_notebook
from .writer import NOTEBOOK


class Head(Protocol):
    """A kept head: a record's number (-1 before the first) and hash."""

    @property
    def seq(self) -> int: ...  # noqa: D102

    @property
    def hash(self) -> str: ...  # noqa: D102


class Known(Protocol):
    """What this machine's index of runs knows of a run (:class:`~aide_jupyter.run_index.RunEntry`)."""

    @property
    def folder(self) -> Path:
        """The run's folder."""
        ...

    @property
    def notebook(self) -> Path | None:
        """Its notebook, wherever a person has moved it."""
        ...

    @property
    def head(self) -> Head | None:
        """The head that was anchored last."""
        ...


@dataclass(frozen=True)
class Place:
    """A run's folder and notebook. ``notebook_wanted`` says that a missing notebook is a fault; ``anchor`` is the one
    in the index, and ``index_problem`` why the index could not be read."""

    folder: Path
    notebook: Path | None
    notebook_wanted: bool
    anchor: Anchor | None
    index_problem: str = ""


_TRACES = (JOURNAL, NOTEBOOK, "journal.lock", "notebook.lock", "blobs", "candidates")
"""Any of these in a folder says that it is a run's, also where others were taken out of it."""


def find(path: Path, index: Callable[[str], Known | None], listed: Collection[Path] = ()) -> Place:
    """The folder and the notebook that belong to ``path``, by what lies there and by the index.

    Parameters
    ----------
    listed
        The folders and notebooks that the index names: a run's, whatever is left there.

    Raises
    ------
    BadRequest
        There is nothing at ``path``, or nothing of a run.
    """
    what = "Give a run's folder, its audit.ipynb or its journal.jsonl."
    if not os.path.lexists(path):
        raise BadRequest(f"There is nothing at {path}.", what)
    if not _is_of_a_run(path, listed):
        raise BadRequest(f"Nothing at {path} is of a run, so there is nothing to check.", what)
    if path.suffix == ".ipynb":
        run = read_notebook(path).run
        known, problem = _look_up(run, index)
        folder = path.parent if known is None or os.path.lexists(path.parent / JOURNAL) else known.folder
        return Place(folder, path, True, _anchor(known), problem)
    folder = path if path.is_dir() else path.parent
    run = _run_of(folder / JOURNAL)
    known, problem = _look_up(run, index)
    places = [folder / NOTEBOOK, None if known is None else known.notebook, _renamed(folder, run)]
    notebook = next((place for place in places if place is not None and os.path.lexists(place)), None)
    return Place(folder, notebook, path.is_dir(), _anchor(known), problem)


def _is_of_a_run(path: Path, listed: Collection[Path]) -> bool:
    here = Path(os.path.abspath(path))  # noqa: PTH100  as absolute(), without the “..”
    folder = here if here.is_dir() else here.parent
    if here in listed or folder in listed or any(os.path.lexists(folder / trace) for trace in _TRACES):
        return True
    notebooks = folder.glob("*.ipynb") if here.is_dir() else [here] if here.suffix == ".ipynb" else ()
    return any(read_notebook(one).run for one in notebooks)


def _look_up(run: str, index: Callable[[str], Known | None]) -> tuple[Known | None, str]:
    try:
        return (index(run) if run else None), ""
    except AideError as error:
        return None, error.message


def _anchor(known: Known | None) -> Anchor | None:
    head = None if known is None else known.head
    return None if head is None or head.seq < 0 else Anchor(head.seq, head.hash)


def _run_of(journal: Path) -> str:
    try:
        return next((record.run for record in read_records(journal)), "")
    except (AlteredError, OSError):
        return ""


def _renamed(folder: Path, run: str) -> Path | None:
    """A notebook of this run in the folder, under a name that a person gave it."""
    return next((path for path in sorted(folder.glob("*.ipynb")) if run and read_notebook(path).run == run), None)
