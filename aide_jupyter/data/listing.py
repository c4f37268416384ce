"""The files of a view, and which of them a preview looks at one by one: few enough, the same ones each time."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from . import images
from .names import is_table
from .walk import open_folder, walk

TABLES = 24
"""Tables that are read whole; a training table comes first."""

ALIKE = 8
"""Up to so many files of one kind in one folder are each looked at; of more, the first two: the rest are counted."""

BUDGET = 3 << 30
"""Bytes of all tables together that are read, and at least ``LEAST`` of each."""

LEAST = 64 << 20
MAX_LISTED = 250_000


@dataclass(frozen=True)
class Entry:
    """A file of the view. ``name`` is its path there, ``size`` its bytes."""

    name: PurePosixPath
    size: int


@dataclass
class Listing:
    """Everything in a view: each file is in one of these."""

    tables: list[Entry]
    images: list[Entry]
    others: list[Entry]
    alike: dict[tuple[PurePosixPath, str], list[Entry]]
    """Files that are only counted, by folder and ending."""


def listing(root: Path, links: Collection[Path] = ()) -> Listing:
    """The files of a view.

    Parameters
    ----------
    root
        The view, or any folder: nothing in it is followed but ``links``.
    links
        The real paths that links of the view may lead to (``View.links``).
    """
    found: list[Entry] = []

    def left_out(path: str, why: str) -> None:
        file = root / path
        if links and file.is_symlink() and file.readlink() in links and file.is_file():
            found.append(Entry(PurePosixPath(path), file.stat().st_size))

    folder = open_folder(root)
    try:
        for file in walk(folder, left_out, ()):
            found.append(Entry(PurePosixPath(file.path), file.size))
            if len(found) >= MAX_LISTED:
                break
    finally:
        os.close(folder)
    found.sort(key=lambda entry: str(entry.name))
    return _sorted_out(found)


def ending(path: PurePosixPath) -> str:
    """A file's kind by its name, as it may be shown: its ending where that is plain, else nothing."""
    suffix = path.suffix.lower().lstrip(".")
    return suffix if suffix.isascii() and suffix.isalnum() and len(suffix) <= 8 else ""


def _sorted_out(found: list[Entry]) -> Listing:
    pictures = [entry for entry in found if entry.name.suffix.lower() in images.SUFFIXES]
    kinds: dict[tuple[PurePosixPath, str], list[Entry]] = {}
    for entry in found:
        if entry.name.suffix.lower() not in images.SUFFIXES:
            kinds.setdefault((entry.name.parent, ending(entry.name)), []).append(entry)
    shown: list[Entry] = []
    alike: dict[tuple[PurePosixPath, str], list[Entry]] = {}
    for kind, entries in kinds.items():
        if len(entries) <= ALIKE:
            shown += entries
        else:
            first = sorted(entries, key=rank)[:2]
            shown += first
            alike[kind] = [entry for entry in entries if entry not in first]
    tabular = sorted((entry for entry in shown if is_table(entry.name)), key=rank)
    for entry in tabular[TABLES:]:
        alike.setdefault((entry.name.parent, ending(entry.name)), []).append(entry)
    others = [entry for entry in shown if not is_table(entry.name)]
    return Listing(tabular[:TABLES], pictures, others, alike)


def rank(entry: Entry) -> tuple[int, int, str]:
    """The order of tables: training data, then test data, then examples of a submission, then the rest."""
    name = entry.name.name.lower()
    words = ("train", "test", "submi")
    place = next((at for at, word in enumerate(words) if word in name), len(words))
    place = 2 if "submi" in name else place
    return place, len(entry.name.parts), str(entry.name)
