"""Which table is for what, and which columns are the target and the id: from names, the task and the goal's words."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from .brief import Brief, Table

ID = re.compile(r"(?i:(?:^|[_\s])(?:id|uuid|guid|index|key)$|^(?:id|unnamed: 0|row_?id)(?:$|_))|[a-z]I[dD]$")
"""Names that columns of ids have."""


class CannotWrite(Exception):
    """There is nothing in this data that the author knows how to model; the message says why."""


def roles(brief: Brief) -> tuple[Table, Table | None, Table | None]:
    """The tables to learn from, to predict, and that show what a submission looks like."""
    if brief.tables is None:
        stems = re.findall(r"[\w./-]+\.(?:csv|tsv|parquet|jsonl?|xlsx)\b", brief.words)
        main = next((name for name in stems if "train" in name), next(iter(stems), "train.csv"))
        guess = Table(main.rsplit("/", 1)[-1], PurePosixPath(main).suffix[1:], 0, None, (), False)
        test = Table("test.csv", "csv", 0, None, (), False) if brief.test_rows else None
        return guess, test, None
    sample = next((one for one in brief.tables if re.search(r"sample|submission", _stem(one))), None)
    rest = [one for one in brief.tables if one is not sample]
    test = next((one for one in rest if re.search(r"(?:^|[_\W])test(?:$|[_\W\d])", _stem(one))), None)
    rest = [one for one in rest if one is not test]
    if not rest:
        raise CannotWrite("The data has no table to learn from, only rows to predict or a sample submission.")
    target = brief.task.get("target")
    trains = [one for one in rest if "train" in _stem(one)]
    holders = [one for one in trains or rest if target and one.column(str(target))]
    train = max(holders or trains or rest, key=lambda one: (one.rows or 0, one.bytes))
    return train, test, sample


def _stem(table: Table) -> str:
    return f"{PurePosixPath(table.path).stem} {table.sheet or ''}".strip().lower()


def target_name(brief: Brief, train: Table, test: Table | None, sample: Table | None) -> str | None:
    """The target's name, None where it is not shown: as asked, missing from the test rows, asked for in the sample
    submission, or named in the goal."""
    if asked := brief.asked("target"):
        return asked
    names = [column.name for column in train.columns]
    if test and train.complete and test.complete:
        missing = [name for name in names if test.column(name) is None]
        if len(missing) == 1:
            return missing[0]
    else:
        missing = names
    wanted = [column.name for column in sample.columns if column.exact] if sample else []
    for name in wanted:
        if (name in missing and not (test and test.column(name))) or (
            not train.complete and len(wanted) == 2 and not ID.search(name)
        ):
            return name
    goal = brief.words
    said = [name for name in names if len(name) > 1 and re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", goal)]
    asked_for = [
        name
        for name in said
        if re.search(rf"(?:predict|forecast|target|classif)[^.\n]{{0,60}}?(?<!\w){re.escape(name.lower())}(?!\w)", goal)
    ]
    found = asked_for or said[-1:] or missing[-1:] if train.complete else asked_for
    return next((name for name in found if (column := train.column(name)) is not None and column.exact), None)


def id_name(brief: Brief, train: Table, test: Table | None, sample: Table | None, target: str | None) -> str | None:
    """The column that names the rows: as asked, in the sample submission, or by its name and distinct values."""
    if asked := brief.asked("id"):
        return asked
    for column in sample.columns if sample and len(sample.columns) == 2 else ():
        if column.exact and column.name != target and (test is None or not test.complete or test.column(column.name)):
            return column.name
    for column in train.columns:
        unique = column.id_like or column.unique is None or column.unique >= 0.99 * (train.rows or 0)
        if column.exact and column.name != target and unique and ID.search(column.name) and column.dtype != "float":
            return column.name
    return None


def asked_name(sample: Table | None, target: str | None, keys: set[str | None]) -> str | None:
    """The name under which a sample submission wants the predictions, where it is not the target's."""
    columns = sample.columns if sample and len(sample.columns) == 2 else ()
    named = [column.name for column in columns if column.name not in keys and column.exact]
    return named[0] if len(named) == 1 and named[0] != target else None
