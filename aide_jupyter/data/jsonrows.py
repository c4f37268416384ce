"""Reading JSON and JSON lines as rows, one record at a time, so that a large array is never held whole.

A file named ``.json`` may be an array of objects or of arrays, one object that holds such an array, one object of
columns, or JSON lines. Which it is, is seen from its content.
"""

from __future__ import annotations

import io
import json
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from .copying import Stop, check
from .delimited import head_of, open_bytes
from .dialect import encoding_of

CHUNK = 1 << 20
MAX_RECORD = 32 << 20
MAX_BYTES = 256 << 20
"""Characters of a JSON file that are read; Python's reader does about 50 MB a second."""

BATCH = 20_000
_NAMES_FROM = 1000
_SPACE = " \t\r\n"


class NotRows(Exception):
    """The JSON is not rows and columns."""


@dataclass
class JsonRows:
    """A JSON file of records. ``nested`` are the columns that hold objects or arrays."""

    path: Path
    encoding: str
    stop: Stop | None = None
    names: tuple[str, ...] = ()
    format: Literal["json", "jsonl"] = "json"
    separator: str | None = None
    complete: bool = True
    nested: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path, stop: Stop | None = None) -> JsonRows | None:
        """A reader; None where the file is no JSON of records. Raises :class:`OSError`."""
        try:
            head, whole = head_of(path)
            encoding = encoding_of(head, whole=whole)
            if encoding is None:
                return None
            rows = cls(path, encoding, stop)
            names: dict[str, None] = {}
            for number, record in enumerate(rows._records()):
                names.update(dict.fromkeys(record))
                if number >= _NAMES_FROM:
                    break
        except (NotRows, ValueError, RecursionError, EOFError, zlib.error):
            return None
        rows.names, rows.notes, rows.complete = tuple(names), [], True
        return rows if names else None

    def batches(self, wanted: Sequence[int]) -> Iterator[pl.DataFrame]:
        """The rows in order, as text with None for what is missing; the columns are named by their number."""
        keys = [(at, self.names[at]) for at in wanted]
        columns: dict[str, list[str | None]] = {str(at): [] for at in wanted}
        rows = 0
        try:
            for record in self._records():
                for at, key in keys:
                    columns[str(at)].append(self._cell(at, record.get(key)))
                rows += 1
                if rows == BATCH:
                    yield pl.DataFrame(columns, dict.fromkeys(columns, pl.String))
                    columns, rows = {name: [] for name in columns}, 0
                    check(self.stop)
        except (NotRows, ValueError, RecursionError, EOFError, zlib.error):
            self.notes.append("has a record that is not as those before it; it is read up to there")
            self.complete = False
        if rows:
            shortest = min(map(len, columns.values()))
            cut = {name: column[:shortest] for name, column in columns.items()}
            yield pl.DataFrame(cut, dict.fromkeys(columns, pl.String))

    def _cell(self, at: int, value: Any) -> str | None:
        if isinstance(value, (dict, list)):
            self.nested.add(at)
            return ""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else str(value)

    def _records(self) -> Iterator[dict[str, Any]]:
        with open_bytes(self.path) as raw:
            source = _Source(io.TextIOWrapper(raw, encoding=self.encoding, errors="replace", newline=""))
            first = source.peek()
            if first == "[":
                self.format = "json"
                yield from map(_as_record, source.elements())
            elif first == "{":
                record = source.value()
                if source.peek() == "":
                    self.format = "json"
                    yield from _of_object(record)
                else:
                    self.format = "jsonl"
                    yield _as_record(record)
                    while source.peek() != "":
                        yield _as_record(source.value())
            else:
                raise NotRows
            if source.exhausted:
                self.complete = False


class _Source:
    """JSON values taken one after another from a text that is read a megabyte at a time."""

    def __init__(self, file: io.TextIOWrapper) -> None:
        self.file, self.text, self.at, self.read = file, "", 0, 0
        self.exhausted = False
        self.decoder = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is no space; empty at the end, or where enough was read."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _SPACE:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._more():
                return ""

    def value(self) -> Any:
        """The next value. Raises :class:`ValueError` where there is none."""
        self.peek()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.at)
            except ValueError:
                if len(self.text) - self.at > MAX_RECORD or not self._more():
                    raise
                continue
            if end == len(self.text) and not self.text[self.at : end].endswith(("}", "]", '"')) and self._more():
                continue
            self.at = end
            return value

    def elements(self) -> Iterator[Any]:
        """The elements of the array that begins here, without holding it whole."""
        self.at += 1
        if self.peek() == "]":
            return
        while True:
            try:
                yield self.value()
            except ValueError:
                if self.exhausted:
                    return
                raise
            following = self.peek()
            if following == "]" or (following == "" and self.exhausted):
                return
            if following != ",":
                raise NotRows
            self.at += 1

    def _more(self) -> bool:
        if self.read >= MAX_BYTES:
            self.exhausted = True
            return False
        grown = max(CHUNK, len(self.text) - self.at)
        chunk = self.file.read(grown)
        self.read += len(chunk)
        self.text, self.at = self.text[self.at :] + chunk, 0
        return bool(chunk)


def _as_record(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {str(at): cell for at, cell in enumerate(value)}
    raise NotRows


def _of_object(value: Any) -> Iterator[dict[str, Any]]:
    """The records of a file that is one object: an array of them under one of its keys, or its columns."""
    arrays = [inner for inner in value.values() if isinstance(inner, list)]
    records = [inner for inner in arrays if inner and all(isinstance(item, dict) for item in inner)]
    if len(records) == 1:
        yield from records[0]
        return
    if len(arrays) == len(value) > 0 and len({len(inner) for inner in arrays}) == 1:
        for cells in zip(*arrays, strict=True):
            yield dict(zip(value, cells, strict=True))
        return
    columns = [inner for inner in value.values() if isinstance(inner, dict)]
    if len(columns) == len(value) > 0 and all(inner.keys() == columns[0].keys() for inner in columns):
        for row in columns[0]:
            yield {name: inner[row] for name, inner in value.items()}
        return
    yield value
