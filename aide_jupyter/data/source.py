"""Which folder is read as data, and which is refused: nothing that a run wrote may become a run's data."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from ..errors import BadRequest
from ..untrusted import visible
from .walk import JOURNAL, RUNS_FOLDER, Inode, inode

_RUN_PARTS = {"journal.lock", "audit.ipynb", "blobs", "kernels", "candidates"}


def data_folder(source: Path, shut: Collection[Inode]) -> Path:
    """The real path of the data folder that a person named.

    Parameters
    ----------
    source
        As it was named; it may be a link.
    shut
        Folders that hold no data of anyone's: neither they nor what lies below them is accepted.

    Raises
    ------
    BadRequest
        Where it is missing, is a file, cannot be read, or is or lies below a run's folder or one of ``shut``.
    """
    try:
        folder = source.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise BadRequest(
            f"The data folder {visible(str(source))} does not exist or cannot be reached.",
            "Name an existing folder with --data.",
        ) from error
    if not folder.is_dir():
        raise BadRequest(
            f"The data folder {visible(str(source))} is a file.", "Name the folder that holds it with --data."
        )
    if not os.access(folder, os.R_OK | os.X_OK):
        raise BadRequest(
            f"The data folder {visible(str(source))} cannot be read by this account.",
            "Give yourself the right to read it, or name another with --data.",
        )
    _refuse_run_folders(folder, shut)
    return folder


def _refuse_run_folders(folder: Path, shut: Collection[Inode]) -> None:
    for place in (folder, *folder.parents):
        known = inode(place.stat()) in shut or place.name == RUNS_FOLDER
        if known or _is_run_folder(place, surely=place == folder):
            raise BadRequest(
                f"The data folder {visible(str(folder))} is or lies in {visible(str(place))},"
                " which belongs to a run or to Jupyter.",
                "What a run wrote must not be its data: copy the files that you need elsewhere, and name that folder.",
            )


def _is_run_folder(place: Path, *, surely: bool) -> bool:
    """Whether a run lives here. Above the data folder a lone file of the journal's name is taken for someone's own."""
    return os.path.lexists(place / JOURNAL) and (surely or any(os.path.lexists(place / part) for part in _RUN_PARTS))
