"""What is kept of many values in little memory: a sample of rows, the number of distinct values, the moments."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

SAMPLE_ROWS = 20_000
"""Quantiles from so many rows are off by less than half a percentile (two standard errors of 0.35 at the median)."""

DISTINCT = 4096
"""Hashes kept to count distinct values (k minimum values, Bar-Yossef et al. 2002): an error of 1/sqrt(k), 1.6 %."""

Hashes = npt.NDArray[np.uint64]


class Rows:
    """Which rows are in the sample: those whose number's hash ends in enough zero bits."""

    def __init__(self) -> None:
        self.seen = 0
        self.step = 1
        self.hashes: Hashes = np.empty(0, np.uint64)

    def take(self, count: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_] | None]:
        """Take in the next ``count`` rows: the positions among them that are sampled, and, where the sample became too
        large, which of all rows sampled so far stay."""
        hashes = _mix(np.arange(self.seen, self.seen + count, dtype=np.uint64))
        self.seen += count
        picked = np.flatnonzero((hashes & np.uint64(self.step - 1)) == 0)
        self.hashes = np.concatenate([self.hashes, hashes[picked]])
        if len(self.hashes) <= SAMPLE_ROWS:
            return picked, None
        while np.count_nonzero((self.hashes & np.uint64(self.step - 1)) == 0) > SAMPLE_ROWS:
            self.step *= 2
        stay = (self.hashes & np.uint64(self.step - 1)) == 0
        self.hashes = self.hashes[stay]
        return picked, stay


def _mix(numbers: Hashes) -> Hashes:
    """SplitMix64's finaliser (Steele et al. 2014)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


class Distinct:
    """How many distinct values a column has."""

    def __init__(self) -> None:
        self.least: Hashes = np.empty(0, np.uint64)
        self.exact = True

    def add(self, values: pl.Series) -> None:
        """Take in values without nulls."""
        hashes = values.hash(seed=0).to_numpy()
        if not self.exact:
            hashes = hashes[hashes < self.least[-1]]
        if len(hashes):
            merged = np.unique(np.concatenate([self.least, np.unique(hashes)]))
            self.exact = self.exact and len(merged) <= DISTINCT
            self.least = merged[:DISTINCT]

    @property
    def count(self) -> int:
        """Distinct values so far."""
        if self.exact:
            return len(self.least)
        return round((DISTINCT - 1) / (float(self.least[-1]) / 2.0**64))


class Moments:
    """Mean, deviation and extremes of numbers, merged batch by batch (Chan, Golub and LeVeque 1979)."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares, self.infinite = 0, 0.0, 0.0, 0
        self.low: float | int | None = None
        self.high: float | int | None = None

    def add(self, values: pl.Series) -> None:
        """Take in numbers without nulls; integers keep their extremes to the last digit."""
        if values.dtype.is_float():
            finite = values.filter(values.is_finite())
            self.infinite += int(values.is_infinite().sum())
            values = finite
        if not len(values):
            return
        low, high = values.min(), values.max()
        self.low = low if self.low is None else min(self.low, low)  # type: ignore[assignment, type-var]
        self.high = high if self.high is None else max(self.high, high)  # type: ignore[assignment, type-var]
        numbers = values.cast(pl.Float64).to_numpy()
        count, mean = len(numbers), float(numbers.mean())
        with np.errstate(over="ignore", invalid="ignore"):
            squares = float(np.square(numbers - mean).sum())
            apart, total = mean - self.mean, self.count + count
            self.squares += squares + apart * apart * self.count * count / total
        self.mean += apart * count / total
        self.count = total

    @property
    def std(self) -> float | None:
        """The sample's standard deviation (n - 1)."""
        return float(np.sqrt(self.squares / (self.count - 1))) if self.count > 1 else None
