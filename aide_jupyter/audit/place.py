"""Where a run's files are, given any one of them; used by :mod:`.verify`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..errors import AlteredError, BadRequest
from .chain import JOURNAL, Anchor, read_records
from .comparison import read_notebook
from .writer import NOTEBOOK


class Known(Protocol):
    """What this machine's index of runs knows of a run."""

    @property
    def folder(self) -> Path:
        """The run's folder."""
        ...

    @property
    def notebook(self) -> Path:
        """Its notebook, wherever a person has moved it."""
        ...

    @property
    def head(self) -> Anchor | None:
        """The head that was anchored last."""
        ...


@dataclass(frozen=True)
class Place:
    """A run's folder and notebook. ``notebook_wanted`` says that a missing notebook is a fault; ``anchor`` is the one
    in the index."""

    folder: Path
    notebook: Path | None
    notebook_wanted: bool
    anchor: Anchor | None


def find(path: Path, index: Callable[[str], Known | None]) -> Place:
    """The folder and the notebook that belong to ``path``, by what lies there and by the index.

    Raises
    ------
    BadRequest
        There is nothing at ``path``.
    """
    if not os.path.lexists(path):
        raise BadRequest(f"There is nothing at {path}.", "Give a run's folder, its audit.ipynb or its journal.jsonl.")
    notebook: Path | None
    if path.suffix == ".ipynb":
        folder, notebook, run = path.parent, path, read_notebook(path).run
        known = index(run) if run else None
        if known is not None and not (folder / JOURNAL).exists():
            folder = known.folder
    else:
        folder = path if path.is_dir() else path.parent
        run = _run_of(folder / JOURNAL)
        known = index(run) if run else None
        places = [folder / NOTEBOOK, *([] if known is None else [known.notebook])]
        notebook = next((place for place in places if os.path.lexists(place)), None)
        notebook = notebook or _renamed(folder, run)
    return Place(folder, notebook, path.is_dir(), None if known is None else known.head)


def _run_of(journal: Path) -> str:
    try:
        return next((record.run for record in read_records(journal)), "")
    except (AlteredError, OSError):
        return ""


def _renamed(folder: Path, run: str) -> Path | None:
    """A notebook of this run in the folder, under a name that a person gave it."""
    return next((path for path in sorted(folder.glob("*.ipynb")) if run and read_notebook(path).run == run), None)
