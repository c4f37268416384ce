"""Reads a prompt into a :class:`Brief`: the task, the data preview, the assignment and earlier programs, typed.

Everything here may be missing or odd: the preview can be switched off, cut short, or hold only names and types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ..sections import assignment_json, block, blocks, data_json, sections, task_json

_MEMORY = re.compile(r"^- (c\d+) (\S+): (.*)$", re.MULTILINE)
_ESCAPE = re.compile(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")
_READABLE = frozenset({"csv", "tsv", "parquet", "json", "jsonl", "xlsx"})
_OTHER = re.compile(r"^- (c\d+), score (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Column:
    """A column as the preview shows it; numbers are None where they are not shown.

    ``exact`` says that ``name`` is the name in the file, and not a part of it. ``first`` and ``last`` are the limits of
    a column of times, as text; ``looks`` says in words what its strings look like.
    """

    name: str
    dtype: str
    exact: bool = True
    nulls: int | None = None
    unique: int | None = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    median: float | None = None
    length: float | None = None
    infinite: bool = False
    id_like: bool = False
    looks: str = ""
    first: str = ""
    last: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the data view. ``complete`` says whether all its columns are shown, ``header`` whether its first line
    names them, after ``skip`` lines of something else; ``decimal`` that its numbers have a decimal comma."""

    path: str
    format: str
    bytes: int
    rows: int | None
    columns: tuple[Column, ...]
    complete: bool
    encoding: str | None = None
    separator: str | None = None
    sheet: str | None = None
    header: bool = True
    skip: int = 0
    decimal: bool = False

    def column(self, name: str | None) -> Column | None:
        """The column shown under this name."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True)
class Tried:
    """An earlier program: with its code where the prompt holds it, else as one line of memory."""

    id: str
    score: float | None
    plan: str = ""
    code: str = ""
    output: str = ""


@dataclass(frozen=True)
class Brief:
    """All that one prompt says. ``seconds`` is the time limit of the program."""

    operator: str
    candidate: str
    step: int
    steps: int
    seed: int
    task: Mapping[str, Any]
    tables: tuple[Table, ...] | None
    files: tuple[str, ...]
    families: tuple[str, ...]
    parent: Tried | None
    fixes: tuple[str, ...]
    others: tuple[Tried, ...]
    memory: tuple[Tried, ...]
    hints: str
    folds: int
    seconds: float
    test_rows: bool | None
    predict: bool
    packages: str
    assignment: Mapping[str, Any]

    @property
    def words(self) -> str:
        """The goal and the evaluation, in lower case."""
        return f"{self.task.get('goal', '')}\n{self.task.get('evaluation', '')}".lower()

    def asked(self, what: str) -> str | None:
        """A setting of the task as text; None where it is not set."""
        return _text(self.task.get(what))

    @property
    def ahead(self) -> int:
        """How many drafts are being written at the same time and come before this one."""
        return _whole(self.assignment.get("drafts_ahead")) or 0

    @property
    def turn(self) -> int:
        """The candidate's number: what makes two authors at work at the same time choose differently."""
        return int("0" + "".join(re.findall(r"\d", self.candidate))[-9:])


def read(text: str) -> Brief:
    """The brief in a user message of :mod:`aide_jupyter.llm.prompts`."""
    found = sections(text)
    todo = assignment_json(text)
    preview = data_json(text)
    files = [one for one in _list(preview or {}, "files") if isinstance(one, Mapping)]
    contract = found.get("Contract", "")
    folds = re.search(r"by (\d+)-fold", contract)
    seconds = re.search(r"killed after ([\d.e+]+) s", contract)
    return Brief(
        operator=str(todo.get("operator", "draft")),
        candidate=str(todo.get("candidate", "c0001")),
        step=_whole(todo.get("step")) or 0,
        steps=_whole(todo.get("steps")) or 20,
        seed=_whole(todo.get("seed")) or 0,
        task=task_json(text),
        tables=None if preview is None else _tables(files, preview),
        files=tuple(str(one.get("path", "")) for one in files if not _is_table(one)),
        families=tuple(str(name) for name in _list(todo, "families_used")),
        parent=_parent(found, todo),
        fixes=tuple(line for line in found.get("Failed fixes", "").split("\n") if line.startswith("- c")),
        others=_others(found.get("Solutions to combine", "")),
        memory=tuple(Tried(one[1], _number(one[2]), one[3]) for one in _MEMORY.finditer(_memory_text(found))),
        hints=found.get("Hints from the user", "").lower(),
        folds=int(folds[1]) if folds else 5,
        seconds=float(seconds[1]) if seconds else 3600.0,
        test_rows=_test_rows(contract),
        predict="predict() function" in contract,
        packages=found.get("Installed packages", ""),
        assignment=todo,
    )


def _memory_text(found: Mapping[str, str]) -> str:
    return found.get("What has been tried", "")


def _test_rows(contract: str) -> bool | None:
    if "submission.csv" not in contract:
        return False
    return None if "Where the data has test rows" in contract else True


def _parent(found: Mapping[str, str], todo: Mapping[str, Any]) -> Tried | None:
    code = block(found.get("Previous solution", ""), "python")
    if code is None:
        return None
    output = block(found.get("Its output", ""), "output") or ""
    return Tried(str(todo.get("parent", "")), _number(todo.get("parent_score")), code=code, output=output)


def _others(text: str) -> tuple[Tried, ...]:
    heads = list(_OTHER.finditer(text))
    programs = [one.text for one in blocks(text) if one.info == "python"]
    pairs = zip(heads, programs, strict=False)
    return tuple(Tried(head[1], _number(head[2]), code=code) for head, code in pairs)


def unescaped(shown: str) -> str:
    """The name that the preview shows with escapes for what is invisible, as it is in the file."""
    plain = _ESCAPE.sub(lambda found: chr(int(found[0][2:], 16)), shown)
    return plain.replace("\\n", "\n").replace("\\t", "\t").replace("<\\", "<").replace("[\\", "[")


def _is_table(file: Mapping[str, Any]) -> bool:
    if file.get("kind") == "table":
        return bool(_list(file, "columns")) or bool(file.get("same_columns_as"))
    return file.get("kind") == "other" and _suffix(file) in _READABLE and bool(file.get("bytes"))


def _suffix(file: Mapping[str, Any]) -> str:
    return PurePosixPath(str(file.get("path", ""))).suffix.lower().lstrip(".")


def _tables(files: Sequence[Mapping[str, Any]], preview: Mapping[str, Any]) -> tuple[Table, ...]:
    """The tables that can be read. One that is told by its difference from an earlier one gets that one's columns;
    one that the preview could not parse has none to show."""
    found: dict[str, Table] = {}
    cut = any("columns" in str(key) for key in preview.get("left_out_of_prompt") or {})
    for number, file in enumerate(one for one in files if _is_table(one)):
        own = tuple(_column(one) for one in _list(file, "columns") if isinstance(one, Mapping))
        like = next((one for one in found.values() if one.path == file.get("same_columns_as")), None)
        names = {column.name for column in own} | {unescaped(str(one)) for one in _list(file, "missing")}
        shared = tuple(column for column in like.columns if column.name not in names) if like else ()
        found[f"{file.get('path')} {number}"] = Table(
            path=str(file.get("path", "")),
            format=str(file.get("format") or _suffix(file) or "csv"),
            bytes=_whole(file.get("bytes")) or 0,
            rows=_whole(file.get("rows")),
            columns=(*shared, *own),
            complete=bool(own or shared)
            and not cut
            and not file.get("more_columns")
            and (like is None or like.complete),
            encoding=_text(file.get("encoding")),
            separator=_text(file.get("separator")),
            sheet=_text(file.get("sheet")),
            header=file.get("header") is not False,
            skip=_whole(file.get("skip_lines")) or 0,
            decimal=any(column.looks.endswith("decimal comma") for column in (*shared, *own)),
        )
    return tuple(found.values())


def _column(column: Mapping[str, Any]) -> Column:
    length = column.get("length")
    quantiles = _list(column, "quantiles")
    name = str(column.get("name", ""))
    return Column(
        name=unescaped(name) if column.get("escaped") else name,
        dtype=str(column.get("dtype", "other")),
        exact=" characters left out " not in name,
        nulls=_whole(column.get("nulls")),
        unique=_whole(column.get("unique")),
        low=_number(column.get("min")),
        high=_number(column.get("max")),
        mean=_number(column.get("mean")),
        median=_number(quantiles[len(quantiles) // 2]) if quantiles else None,
        length=_number(length.get("mean")) if isinstance(length, Mapping) else None,
        infinite=bool(column.get("infinite")),
        id_like=bool(column.get("id_like")),
        looks=_text(column.get("text")) or "",
        first=_text(column.get("min")) or "",
        last=_text(column.get("max")) or "",
    )


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: object) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d*)?([eE][+-]?\d+)?", value):
        return float(value)
    return None
