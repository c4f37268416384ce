"""Reading delimited text of any size in bounded memory: whole records of a few megabytes at a time, as columns of text.

The bytes become UTF-8 on the way. Each block ends at a record's end, outside quotes; polars parses it. Where it cannot
(a quote in the middle of a field, a quote that is never closed), Python's own reader takes over, for a bounded part.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

import polars as pl

from .copying import Stop, check
from .dialect import HEAD_BYTES, Dialect, detect, read_rows, single_byte

BLOCK = 8 << 20
MAX_RECORD = 32 << 20
"""A record that is longer means that a quote was never closed."""

SLOW_BYTES = 64 << 20
"""As much of a file is read by Python's own reader, which is ten times slower."""

MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What pandas takes for a missing value (``pandas._libs.parsers.STR_NA_VALUES``)."""


def open_bytes(path: Path) -> BinaryIO:
    """A file for reading, unpacked on the way where its name ends in ``.gz``."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def head_of(path: Path) -> tuple[bytes, bool]:
    """The first bytes of a file, at least its first line where that is not too long, and whether they are all."""
    with open_bytes(path) as file:
        head = file.read(HEAD_BYTES)
        while b"\n" not in head and b"\r" not in head and len(head) < MAX_RECORD:
            more = file.read(HEAD_BYTES)
            if not more:
                break
            head += more
        return head, not file.read(1)


@dataclass
class Delimited:
    """A delimited file. ``notes`` and ``encoding`` may change while :meth:`batches` is read; ``complete`` says
    afterwards whether all of it was."""

    path: Path
    dialect: Dialect
    most_bytes: int
    stop: Stop | None = None
    encoding: str = ""
    complete: bool = True
    notes: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path, most_bytes: int, stop: Stop | None = None) -> Delimited | None:
        """A reader of at most ``most_bytes`` (unpacked); None where the file is no table. Raises :class:`OSError`."""
        try:
            head, whole = head_of(path)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return None
        dialect = detect(head, whole=whole)
        return None if dialect is None else cls(path, dialect, most_bytes, stop, dialect.encoding)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, as pandas names them."""
        return self.dialect.names

    def batches(self, wanted: Sequence[int]) -> Iterator[pl.DataFrame]:
        """The rows in order, as text with None for what is missing; the columns are named by their number."""
        if not wanted:
            return
        parse = _Parser(self.dialect, wanted)
        slow = 0
        for number, whole in enumerate(self._records()):
            check(self.stop)
            block = whole if number else self._values(whole)
            if not block.strip(b"\r\n"):
                continue
            frame = parse.fast(block)
            if frame is None:
                slow += len(block)
                frame = parse.slow(block)
            if frame.height:
                yield frame
            if slow > SLOW_BYTES:
                self.complete = False
                break
        if slow and self.dialect.separator != " ":
            self.notes.append("has quotes in the middle of fields or unclosed ones; such a part is read field by field")

    def _values(self, block: bytes) -> bytes:
        """The file's first block without the lines before the header, and without the header."""
        at = 0
        for _ in range(self.dialect.skip):
            at = block.find(b"\n", at) + 1
        if not self.dialect.header:
            return block[at:]
        end = block.find(b"\n", at)
        while end >= 0 and block.count(b'"', at, end) % 2:
            end = block.find(b"\n", end + 1)
        return block[end + 1 :] if end >= 0 else b""

    def _records(self) -> Iterator[bytes]:
        """UTF-8 blocks that end where a record ends."""
        rest, quotes = b"", True
        for block in self._utf8():
            rest += block
            end = _last_record_end(rest) if quotes else rest.rfind(b"\n") + 1
            if not end and len(rest) > MAX_RECORD:
                quotes = False
                end = rest.rfind(b"\n") + 1
                if not end:
                    self.notes.append("has a line of more than 32 MB; it is read up to there")
                    self.complete = False
                    return
            if end:
                yield rest[:end]
                rest = rest[end:]
        if rest:
            yield rest if rest.endswith(b"\n") else rest + b"\n"

    def _utf8(self) -> Iterator[bytes]:
        done = 0
        decode = self._decoder()
        try:
            with open_bytes(self.path) as file:
                while block := file.read(BLOCK):
                    done += len(block)
                    yield decode(block, False)
                    if done >= self.most_bytes:
                        self.complete = not file.read(1)
                        break
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.notes.append("is damaged; it is read up to there")
            self.complete = False
        yield decode(b"", True)

    def _decoder(self) -> Callable[[bytes, bool], bytes]:
        """From the file's bytes to UTF-8 with ``\\n`` at the ends of lines. What is not UTF-8 after all becomes one of
        the one-byte encodings, or a replacement character where UTF-8 was seen before."""
        strict = codecs.getincrementaldecoder("utf-8-sig" if self.encoding == "utf-8-sig" else "utf-8")()
        other = codecs.getincrementaldecoder(self.encoding)("replace")
        is_utf8, seen = self.encoding in ("utf-8", "utf-8-sig"), False
        returns = self.dialect.returns

        def decode(block: bytes, last: bool) -> bytes:
            nonlocal is_utf8, seen, other
            if is_utf8:
                state = strict.getstate()
                if not returns and not state[0] and self.encoding == "utf-8" and block.isascii():
                    return block
                try:
                    text = strict.decode(block, last)
                    seen = seen or not block.isascii()
                except UnicodeDecodeError:
                    is_utf8 = False
                    block = state[0] + block
                    self.encoding = "utf-8" if seen else single_byte(block) or "latin-1"
                    self.notes.append(
                        "holds bytes that are not UTF-8" if seen else f"is not UTF-8; it reads as {self.encoding}"
                    )
                    other = codecs.getincrementaldecoder(self.encoding)("replace")
                    text = other.decode(block, last)
            else:
                text = other.decode(block, last)
            if returns:
                text = text.replace("\r", "\n")
            return text.encode("utf-8", "replace")

        return decode


class _Parser:
    def __init__(self, dialect: Dialect, wanted: Sequence[int]) -> None:
        self.separator = dialect.separator
        self.width = len(dialect.names)
        self.wanted = list(wanted)
        self.columns = [str(at) for at in wanted]
        self.header = (self.separator.join(str(at) for at in range(self.width)) + "\n").encode()
        outside = re.escape(self.separator.encode()) + rb'\r\n"'
        self.lone = re.compile(rb'[^%s]"[^%s]' % (outside, outside))

    def fast(self, block: bytes) -> pl.DataFrame | None:
        """The block by polars; None where that cannot read it as it is meant."""
        quoted = b'"' in block
        if self.separator == " " or (quoted and self.lone.search(block)):
            return None
        if not quoted and (b"\n\n" in block or b"\n\r\n" in block or block.startswith((b"\n", b"\r\n"))):
            block = re.sub(rb"(?:\r?\n)+", b"\n", block).lstrip(b"\n")
        try:
            frame = pl.read_csv(
                self.header + block,
                separator=self.separator,
                infer_schema=False,
                truncate_ragged_lines=True,
                null_values=list(MISSING),
                columns=self.columns,
            )
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError):
            return None
        if quoted and (b"\n\n" in block or b"\n\r\n" in block):
            frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
        return frame

    def slow(self, block: bytes) -> pl.DataFrame:
        """The block by Python's own reader; a field that it refuses ends the block."""
        missing = set(MISSING)
        columns: list[list[str | None]] = [[] for _ in self.wanted]
        try:
            for row in read_rows(io.StringIO(block.decode("utf-8", "replace"), newline=""), self.separator):
                for column, at in zip(columns, self.wanted, strict=True) if row else ():
                    cell = row[at] if at < len(row) else None
                    column.append(None if cell in missing else cell)
        except csv.Error:
            shortest = min(map(len, columns))
            columns = [column[:shortest] for column in columns]
        return pl.DataFrame(dict(zip(self.columns, columns, strict=True)), dict.fromkeys(self.columns, pl.String))


def _last_record_end(block: bytes) -> int:
    """Where the last whole record ends: after the last line end with an even number of quotes before it; 0 for none."""
    end = block.rfind(b"\n")
    if end < 0:
        return 0
    odd = block.count(b'"', 0, end) % 2
    while odd:
        before = block.rfind(b"\n", 0, end)
        if before < 0:
            return 0
        odd = (odd + block.count(b'"', before, end)) % 2
        end = before
    return end + 1
