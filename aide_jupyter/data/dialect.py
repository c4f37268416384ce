"""How a delimited text file is written: its encoding, separator, header and the lines before it, from its beginning.

Simple rules, the same answer each time. What they decide is told in the preview, in the words of pandas' ``read_csv``.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import _csv

HEAD_BYTES = 1 << 20
"""What the rules look at; more where the first line is longer."""

FIELD_LIMIT = 1 << 25
MAX_COLUMNS = 250_000
"""A line of more fields is taken for something else than a table."""

_LINES = 60
_MAX_SKIP = 5
_SEPARATORS = (",", "\t", ";", "|", "^", "~", "\x01", " ")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*")


@dataclass(frozen=True)
class Dialect:
    """``names`` are the columns as pandas would name them; ``header`` whether the file names them itself, after
    ``skip`` lines. ``returns``: lines end with a lone carriage return."""

    encoding: str
    separator: str
    names: tuple[str, ...]
    header: bool
    skip: int
    returns: bool


def encoding_of(head: bytes, *, whole: bool) -> str | None:
    """The encoding of a text by its first bytes; None where it is no text.

    ``latin-1`` where bytes are not UTF-8; ``cp1252`` where some of them mean something only there.
    """
    for bom, name in _BOMS:
        if head.startswith(bom):
            return name
    if b"\0" in head:
        return _utf16(head)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return single_byte(head)
    return "utf-8" if _is_text(head) else None


def single_byte(data: bytes) -> str | None:
    """Which of the one-byte encodings; None where too much of it is no character of a text."""
    if not _is_text(data):
        return None
    high = {byte for byte in set(data) if 0x80 <= byte < 0xA0}
    return "cp1252" if high and not high & {0x81, 0x8D, 0x8F, 0x90, 0x9D} else "latin-1"


def _is_text(data: bytes) -> bool:
    """Whether hardly any of it is a control character that texts do not hold."""
    controls = sum(data.count(code) for code in range(32) if code not in b"\t\n\r\x0c\x1b\x01")
    return controls <= max(8, len(data) // 100)


def _utf16(head: bytes) -> str | None:
    """UTF-16 without a mark: every second byte of mostly western text is zero."""
    pairs = max(1, len(head) // 2)
    for zeros, name in ((head[1::2], "utf-16-le"), (head[0::2], "utf-16-be")):
        if zeros.count(0) > 0.6 * pairs:
            try:
                text = codecs.getincrementaldecoder(name)().decode(head)
            except UnicodeDecodeError:
                continue
            if "\0" not in text:
                return name
    return None


def detect(head: bytes, *, whole: bool) -> Dialect | None:
    """The dialect of a delimited file; None where it is no text, has no line, or has too many fields in it.

    Parameters
    ----------
    head
        Its first bytes, at least its first line.
    whole
        Whether that is the whole file, so that the last line is complete.
    """
    encoding = encoding_of(head, whole=whole)
    if encoding is None:
        return None
    text = codecs.getincrementaldecoder(encoding)("replace").decode(head)
    returns = "\n" not in text and "\r" in text.rstrip("\r")
    if returns:
        text = text.replace("\r", "\n")
    text = text.replace("\r\n", "\n")
    if not whole:
        text = text[: text.rfind("\n") + 1]
    separator = _separator(text)
    rows = _rows(text, separator)
    if not rows:
        return None
    cells = [row for _, row in rows]
    usual = Counter(map(len, cells)).most_common(1)[0][0]
    title = usual > 1 and len(cells[0]) == 1
    at = next((at for at, row in enumerate(cells[: _MAX_SKIP + 1]) if len(row) == usual), 0) if title else 0
    skip, first = rows[at]
    if len(first) > MAX_COLUMNS:
        return None
    header = not _is_values(first, cells[at + 1 :])
    names = pandas_names(first) if header else tuple(str(number) for number in range(len(first)))
    return Dialect(encoding, separator, names, header, skip, returns)


def pandas_names(cells: Iterable[str]) -> tuple[str, ...]:
    """Column names as pandas makes them: nameless ones are ``Unnamed: 0``, repeated ones ``a``, ``a.1``."""
    again: dict[str, int] = {}
    names = []
    for at, cell in enumerate(cells):
        base = name = cell or f"Unnamed: {at}"
        while name in again:
            again[base] = again.get(base, 0) + 1
            name = f"{base}.{again[base]}"
        again[name] = 0
        names.append(name)
    return tuple(names)


def is_regular(text: str) -> bool:
    """Whether a text without a telling name is surely a table: at least three lines, all of as many fields."""
    separator = _separator(text)
    sizes = [len(row) for _, row in _rows(text, separator)]
    return separator != " " and len(sizes) >= 3 and sizes[0] > 1 and len(set(sizes)) == 1


def read_rows(lines: Iterable[str], separator: str) -> _csv.Reader:
    """Rows by Python's own reader, which takes a quote within an unquoted field as it is. Raises :class:`csv.Error`."""
    csv.field_size_limit(FIELD_LIMIT)
    return csv.reader(lines, delimiter=separator, skipinitialspace=separator == " ")


def _rows(text: str, separator: str) -> list[tuple[int, list[str]]]:
    """The first rows that are not blank, each with the number of lines before it."""
    rows: list[tuple[int, list[str]]] = []
    reader = read_rows(text.splitlines(keepends=True), separator)
    before = 0
    try:
        for row in reader:
            if row:
                rows.append((before, row))
            if len(rows) == _LINES:
                break
            before = reader.line_num
    except csv.Error:
        return rows
    return rows


def _separator(text: str) -> str:
    """The first separator by which nearly all lines have as many fields, at least two; else the best of those."""
    best, best_share = ",", 0.5
    for separator in _SEPARATORS:
        if separator not in text[: 1 << 16]:
            continue
        sizes = [len(row) for _, row in _rows(text, separator)]
        size, count = Counter(sizes).most_common(1)[0] if sizes else (0, 0)
        share = count / len(sizes) if size > 1 else 0.0
        if share > 0.9 and separator != " ":
            return separator
        if share > best_share and (separator != " " or share == 1):
            best, best_share = separator, share
    return best


def _is_values(first: list[str], rest: list[list[str]]) -> bool:
    """Whether the first line holds values, not names: at least half are numbers, and they are no indices or years."""
    numbers = [float(cell) for cell in first if _NUMBER.fullmatch(cell)]
    if not numbers or len(numbers) * 2 < len(first):
        return False
    if len(first) == 1:
        return any(_NUMBER.fullmatch(row[0]) for row in rest)
    rising = all(number.is_integer() for number in numbers) and all(a < b for a, b in itertools.pairwise(numbers))
    if len(numbers) < len(first):
        return not rising
    indices = numbers == list(range(len(numbers)))
    years = rising and numbers[0] >= 1000 and numbers[-1] < 3000
    return not (indices or years)
