"""Statistics of a table's columns in one pass over its batches, in memory that does not grow with the rows.

Counts, extremes, means, deviations and lengths are exact. Distinct values are exact up to 4,096 and an estimate above;
quantiles come from a sample of rows that depends on nothing but the rows' numbers, so they are the same each time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from .shape import Dtype
from .sketches import Distinct, Moments, Rows

CATEGORIES = 200
"""Values are counted one by one while a column has no more than so many."""

CATEGORY_CHARACTERS = 80
CLIP = 200
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_DATE_FORMATS = (
    "%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.fZ", "%Y-%m-%d %H:%M:%S%.f%#z",
    "%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y/%m/%d", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M",
    "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%y",
    "%d/%m/%y", "%m/%d/%y %H:%M", "%d/%m/%y %H:%M", "%d.%m.%Y", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d-%m-%Y",
    "%m-%d-%Y", "%d.%m.%y", "%Y.%m.%d",
)  # fmt: skip
_BOOLEANS = ("true", "false", "True", "False", "TRUE", "FALSE")


@dataclass
class ColumnProfile:
    """One column, fed batch by batch. ``dtype`` is None until a value was seen; ``form`` is a date's format.

    Columns of text become numbers, truth values or dates where every value is one. When a later value is not, the
    column falls back to text, and what was counted for it as text is still right.
    """

    dtype: Dtype | None = None
    form: str | None = None
    typed: bool = False
    rows: int = 0
    nulls: int = 0
    moments: Moments = field(default_factory=Moments)
    distinct: Distinct = field(default_factory=Distinct)
    counts: dict[str, int] | None = field(default_factory=dict)
    shortest: int | None = None
    longest: int = 0
    characters: int = 0
    first: str | None = None
    last: str | None = None

    def add(self, series: pl.Series) -> None:
        """Take in the next batch."""
        self.rows += len(series)
        values = series.drop_nulls()
        self.nulls += len(series) - len(values)
        if not len(values):
            return
        kind = _native(values.dtype)
        if kind == "other":
            self.dtype, self.counts = "other", None
            return
        self.distinct.add(values)
        if kind is not None:
            self.typed, self.dtype = True, kind
            self._typed(values, kind)
            return
        values = values.cast(pl.String)
        self._lengths(values)
        self._count(values)
        if self.dtype is None:
            self.dtype, self.form = _guess(values)
        self._text(values)

    def _typed(self, values: pl.Series, kind: Dtype) -> None:
        if kind in ("integer", "float"):
            self.moments.add(values if values.dtype.is_integer() else values.cast(pl.Float64).drop_nans())
        elif kind == "datetime":
            self._span(values)
        self._count(values.cast(pl.String))

    def _text(self, values: pl.Series) -> None:
        if self.dtype == "integer":
            whole = _cast(values, pl.Int64)
            if whole is not None:
                self.moments.add(whole)
                return
            self.dtype = "float"
        if self.dtype == "float":
            numbers = _cast(values, pl.Float64)
            if numbers is not None:
                self.moments.add(numbers)
                return
            self.dtype = "string"
        if self.dtype == "boolean" and not values.is_in(_BOOLEANS).all():
            self.dtype = "string"
        if self.dtype == "datetime":
            times = _times(values, self.form or "")
            if times.null_count():
                self.dtype = "string"
            else:
                self._span(times)

    def _span(self, times: pl.Series) -> None:
        if times.dtype == pl.Date:
            times = times.cast(pl.Datetime("us"))
        low, high = str(times.min()), str(times.max())
        self.first = low if self.first is None else min(self.first, low)
        self.last = high if self.last is None else max(self.last, high)

    def _lengths(self, values: pl.Series) -> None:
        lengths = values.str.len_chars()
        low, high = int(lengths.min()), int(lengths.max())  # type: ignore[arg-type]
        self.shortest = low if self.shortest is None else min(self.shortest, low)
        self.longest = max(self.longest, high)
        self.characters += int(lengths.sum())

    def _count(self, values: pl.Series) -> None:
        if self.counts is None:
            return
        if self.longest > CATEGORY_CHARACTERS or values.head(5000).n_unique() > CATEGORIES:
            self.counts = None
            return
        for value, count in values.value_counts().iter_rows():
            self.counts[value] = self.counts.get(value, 0) + count
        if len(self.counts) > CATEGORIES:
            self.counts = None


@dataclass
class TableProfile:
    """All wanted columns of a table. ``sample`` holds the sampled rows, long texts cut to 200 characters."""

    columns: dict[str, ColumnProfile]
    rows: Rows = field(default_factory=Rows)
    sample: pl.DataFrame | None = None

    @classmethod
    def of(cls, names: Sequence[str]) -> TableProfile:
        """A profile of the batch columns of these names."""
        return cls({name: ColumnProfile() for name in names})

    def add(self, batch: pl.DataFrame) -> None:
        """Take in the next rows."""
        for name, profile in self.columns.items():
            profile.add(batch[name])
        picked, stay = self.rows.take(batch.height)
        more = batch[picked].with_columns(pl.col(pl.String).str.slice(0, CLIP))
        self.sample = more if self.sample is None else pl.concat([self.sample, more], how="vertical_relaxed")
        if stay is not None:
            self.sample = self.sample.filter(pl.Series(stay))


def _native(dtype: pl.DataType) -> Dtype | None:
    """The type of a column that has one already; None for text."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_float() or dtype.is_decimal():
        return "float"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype in (pl.Date, pl.Datetime):
        return "datetime"
    return None if dtype in (pl.String, pl.Categorical, pl.Enum) else "other"


def _guess(values: pl.Series) -> tuple[Dtype, str | None]:
    """The type that the first values of a column of text have."""
    head = values.head(1000)
    if head.is_in(_BOOLEANS).all():
        return "boolean", None
    if _cast(head, pl.Int64) is not None:
        return "integer", None
    if _cast(head, pl.Float64) is not None:
        return "float", None
    if _DATE.match(head[0]) is not None:
        for form in _date_forms(head[0]):
            if not _times(head, form).null_count():
                return "datetime", form
    return "string", None


def _date_forms(first: str) -> list[str]:
    """The formats that a date may have, by where it has four digits for the year."""
    year = first[:4].isdigit()
    four = re.search(r"\d{4}", first[:10]) is not None
    fits = [form for form in _DATE_FORMATS if form.startswith("%Y") == year and ("%Y" in form) == four]
    return [form for form in fits if not _times(pl.Series([first]), form).null_count()]


def _cast(values: pl.Series, dtype: type[pl.Int64] | type[pl.Float64]) -> pl.Series | None:
    """The values as numbers, spaces around them ignored as pandas does; None where one is none."""
    numbers = values.cast(dtype, strict=False)
    if numbers.null_count():
        numbers = values.str.strip_chars(" ").cast(dtype, strict=False)
    return None if numbers.null_count() else numbers


def _times(values: pl.Series, form: str) -> pl.Series:
    return values.str.to_datetime(form, strict=False, exact=True, time_unit="us").dt.replace_time_zone(None)
