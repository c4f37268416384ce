"""The columns of tables by their names, and the target where they make it plain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from .listing import Entry, rank

TargetKind = Literal["binary", "multiclass", "regression", "text", "unknown"]


@dataclass(frozen=True)
class TableColumns:
    """The columns of one table, as they are named in the file (untrusted), in order."""

    path: str
    sheet: str | None
    names: tuple[str, ...]


def guess_target(tables: list[TableColumns]) -> str | None:
    """The one column that the training table has and the test table has not; None where that is not plain.

    Where there are several, the one that an example of a submission has too.
    """
    train = _named(tables, 0)
    test = _named(tables, 1)
    if train is None or test is None:
        return None
    missing = [name for name in train.names if name not in test.names]
    if len(missing) > 1 and (example := _named(tables, 2)) is not None:
        missing = [name for name in missing if name in example.names]
    shared = len(set(train.names) & set(test.names))
    return missing[0] if len(missing) == 1 and shared * 2 >= len(train.names) - 1 else None


def _named(tables: list[TableColumns], place: int) -> TableColumns | None:
    """The one table whose name says that it is training data (0), test data (1) or a submission's example (2)."""
    named = [table for table in tables if rank(Entry(PurePosixPath(table.path), 0))[0] == place]
    return named[0] if len(named) == 1 else None
