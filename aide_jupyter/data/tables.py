"""The files that are tables, opened in one way: their column names first, then batches of the wanted columns."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

import openpyxl
import polars as pl

from .copying import Stop, check
from .delimited import Delimited
from .dialect import is_regular
from .jsonrows import JsonRows
from .names import MAYBE, suffix
from .shape import Format

MAX_BYTES = 2 << 30
"""Bytes of one table (unpacked) that are read: a gigabyte takes about 20 seconds on two cores."""

XLSX_BYTES = 256 << 20
"""Unpacked bytes of an xlsx file; its shared strings are read into memory whole."""

XLSX_ROWS = 200_000
XLSX_SHEETS = 8
BATCH = 50_000
_NOT_XLSX = (zipfile.BadZipFile, KeyError, ValueError, OSError, TypeError, AttributeError, IndexError, SyntaxError)


class Reader(Protocol):
    """A table. ``notes`` are sentences without their subject, which is the file. ``complete`` says after
    :meth:`batches` whether that was all."""

    notes: list[str]
    complete: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all its columns, in order."""
        ...

    def batches(self, wanted: Sequence[int]) -> Iterator[pl.DataFrame]:
        """The rows of the columns with these numbers; a batch's columns are named by their number."""
        ...


@dataclass
class Opened:
    """A table that can be read. ``rows`` is set where the file itself says it."""

    format: Format
    reader: Reader
    sheet: str | None = None
    rows: int | None = None
    nested: set[int] = field(default_factory=set)


class Unreadable(Exception):
    """Why a file is not read as the table that its name says, in words that end a sentence."""


def open_tables(
    path: Path, name: PurePosixPath, stop: Stop | None = None, *, most_bytes: int = MAX_BYTES
) -> list[Opened]:
    """The tables of a file; none where it holds none (a text, say).

    Parameters
    ----------
    path
        Where the file is.
    name
        Its path in the view, whose ending says what it may be.
    most_bytes
        After so many bytes (unpacked) the rows of a delimited or parquet file end.

    Raises
    ------
    Unreadable
        Where it cannot be read.
    """
    ending = suffix(name)
    try:
        if ending in (".parquet", ".pq"):
            return [_open_parquet(path, stop, most_bytes)]
        if ending == ".xlsx":
            return list(_open_xlsx(path, stop))
        if ending in (".json", ".jsonl", ".ndjson"):
            rows = JsonRows.open(path, stop)
            return [] if rows is None else [Opened(rows.format, rows, nested=rows.nested)]
        delimited = Delimited.open(path, most_bytes, stop)
    except OSError as error:
        raise Unreadable(f"it cannot be read ({error.strerror or 'damaged'})") from error
    if delimited is None or (ending in MAYBE and not _surely(path, delimited)):
        return []
    return [Opened("tsv" if delimited.dialect.separator == "\t" else "csv", delimited)]


def _surely(path: Path, delimited: Delimited) -> bool:
    with path.open("rb") as file:
        head = file.read(1 << 16).decode(delimited.encoding, "replace")
    return is_regular(head[: head.rfind("\n") + 1] or head)


@dataclass
class Parquet:
    """A parquet file, read by polars a batch at a time."""

    frame: pl.LazyFrame
    names: tuple[str, ...]
    most_bytes: int
    stop: Stop | None = None
    complete: bool = True
    notes: list[str] = field(default_factory=list)

    def batches(self, wanted: Sequence[int]) -> Iterator[pl.DataFrame]:
        """As :meth:`Reader.batches`."""
        chosen = self.frame.select(pl.col(self.names[at]).alias(str(at)) for at in wanted)
        done = 0
        try:
            for batch in chosen.collect_batches(chunk_size=BATCH, engine="streaming"):
                check(self.stop)
                if done >= self.most_bytes:
                    self.complete = False
                    break
                done += int(batch.estimated_size())
                yield batch
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            self.notes.append("is damaged; it is read up to there")
            self.complete = False


def _open_parquet(path: Path, stop: Stop | None, most_bytes: int) -> Opened:
    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False, low_memory=True)
        names = tuple(frame.collect_schema().names())
        rows = int(frame.select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise Unreadable("it is not a whole parquet file") from error
    return Opened("parquet", Parquet(frame, names, most_bytes, stop), rows=rows)


@dataclass
class Sheet:
    """One sheet of a workbook, cells as text."""

    path: Path
    sheet: str
    names: tuple[str, ...]
    stop: Stop | None = None
    complete: bool = True
    notes: list[str] = field(default_factory=list)

    def batches(self, wanted: Sequence[int]) -> Iterator[pl.DataFrame]:
        """As :meth:`Reader.batches`."""
        columns: dict[str, list[str | None]] = {str(at): [] for at in wanted}
        book = openpyxl.load_workbook(self.path, read_only=True, data_only=True)
        try:
            rows = book[self.sheet].iter_rows(min_row=2, max_col=len(self.names), values_only=True)
            for number, row in enumerate(rows):
                if number >= XLSX_ROWS:
                    self.complete = False
                    break
                if not any(cell is not None for cell in row):
                    continue
                for at in wanted:
                    columns[str(at)].append(_cell_text(row[at]) if at < len(row) else None)
                if number % 1000 == 0:
                    check(self.stop)
        except _NOT_XLSX:
            self.notes.append("is damaged; it is read up to there")
            self.complete = False
            shortest = min(map(len, columns.values()), default=0)
            columns = {name: cells[:shortest] for name, cells in columns.items()}
        finally:
            book.close()
        frame = pl.DataFrame(columns, dict.fromkeys(columns, pl.String))
        if frame.height:
            yield frame


def _open_xlsx(path: Path, stop: Stop | None) -> Iterator[Opened]:
    try:
        with zipfile.ZipFile(path) as packed:
            unpacked = sum(info.file_size for info in packed.infolist())
    except _NOT_XLSX as error:
        raise Unreadable("it is not a whole xlsx file") from error
    if unpacked > XLSX_BYTES:
        raise Unreadable(f"it would unpack to {unpacked >> 20:,} MB, more than is read")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except _NOT_XLSX as error:
        raise Unreadable("it is not a whole xlsx file") from error
    try:
        for sheet in book.worksheets[:XLSX_SHEETS]:
            try:
                first = next(sheet.iter_rows(max_row=1, max_col=16_384, values_only=True), ())
            except _NOT_XLSX as error:
                raise Unreadable("it is not a whole xlsx file") from error
            width = max((at + 1 for at, cell in enumerate(first) if cell is not None), default=0)
            names = tuple(_cell_text(cell) or f"Unnamed: {at}" for at, cell in enumerate(first[:width]))
            yield Opened("xlsx", Sheet(path, sheet.title, names, stop), sheet=sheet.title)
    finally:
        book.close()


def _cell_text(cell: object) -> str | None:
    if cell is None or cell == "":
        return None
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    if isinstance(cell, (datetime.datetime, datetime.date)):
        return cell.isoformat(" ") if isinstance(cell, datetime.datetime) else cell.isoformat()
    return str(cell)
