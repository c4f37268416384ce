"""What the columns say of the task: their names, the target where it is plain, and what kind of prediction it is."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from .columns import TableColumns, TargetKind
from .copying import Stop, check
from .listing import Entry, listing, rank
from .profile import ColumnProfile
from .tables import Opened, Unreadable, open_tables

CLASSES = 20
"""Whole numbers of at most so many distinct values, each in five rows at the mean, are taken for classes."""


def columns(root: Path, *, links: Collection[Path] = (), stop: Stop | None = None) -> list[TableColumns]:
    """The columns of all tables of a view, training data first.

    Files that cannot be read are passed over. Raises :class:`OSError` where ``root`` cannot be read.
    """
    found = []
    for entry in listing(root, set(links)).tables:
        check(stop)
        for table in _tables(root, entry, stop):
            found.append(TableColumns(str(entry.name), table.sheet, table.reader.names))
    return found


def target_kind(root: Path, target: str, *, links: Collection[Path] = (), stop: Stop | None = None) -> TargetKind:
    """What kind of prediction a column asks for, by all its values in the training table.

    ``text`` is a column of texts that are no classes; ``unknown`` one that is nowhere, empty, or of dates.
    """
    best: ColumnProfile | None = None
    for entry in listing(root, set(links)).tables:
        for table in _tables(root, entry, stop):
            if target not in table.reader.names or (best is not None and rank(entry)[0] != 0):
                continue
            at = table.reader.names.index(target)
            profile = ColumnProfile()
            for batch in table.reader.batches([at]):
                check(stop)
                profile.add(batch[str(at)])
            if best is None or profile.rows > best.rows:
                best = profile
    return "unknown" if best is None else _kind(best)


def _kind(profile: ColumnProfile) -> TargetKind:
    known, distinct = profile.rows - profile.nulls, profile.distinct.count
    if known == 0 or profile.dtype in (None, "other", "datetime"):
        return "unknown"
    if profile.dtype == "string":
        return "binary" if distinct == 2 else "multiclass" if distinct * 2 <= known or distinct <= CLASSES else "text"
    if profile.dtype == "boolean" or distinct == 2:
        return "binary"
    whole = profile.dtype == "integer" or all(value.endswith(".0") for value in profile.counts or ["?"])
    return "multiclass" if whole and distinct <= CLASSES and distinct * 5 <= known else "regression"


def _tables(root: Path, entry: Entry, stop: Stop | None) -> list[Opened]:
    try:
        return open_tables(root / entry.name, entry.name, stop)
    except Unreadable:
        return []
