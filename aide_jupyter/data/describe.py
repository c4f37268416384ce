"""From what was counted of a column to what is told of it: which level shows what, and what is never shown.

``schema`` tells names and types. ``statistics`` adds numbers, and the names of categories that are common enough not to
point at a person; never a free text, never a value of a column that tells rows apart. ``samples`` adds a few values.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import polars as pl

from ..records import PreviewLevel
from ..untrusted import Untrusted
from .profile import ColumnProfile
from .shape import Column, Dtype, Length, Number, Taint
from .sketches import SAMPLE_ROWS

NAME = 64
"""Characters of a name or value that are shown."""

TOP = 10
SAMPLES = 5
MAX_TAINTS = 50
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_COMMON, _COMMON_IN_SMALL, _SMALL = 5, 2, 100
_CATEGORIES, _CLASSES = 50, 20
_ID_NAME = re.compile(
    r"(?i)(?:^|[\W_])(?:ids?|uuid|guid|key|index|no|nr|number|ssn|phone|account|passport)$|(?<=[a-z])I[dD]s?$"
)
_TIME_NAME = re.compile(r"(?i)time|date|stamp|year|month|day|hour")


@dataclass
class Voice:
    """The one way by which a string from data enters a preview. Remembers what was suspicious, and where."""

    taints: dict[tuple[str, str], None] = field(default_factory=dict)

    def say(self, text: str, source: str, where: str, limit: int = NAME, *, one_line: bool = True) -> str:
        """``text`` as it may be shown; ``source`` and ``where`` are our own words for what it is and where it is."""
        untrusted = Untrusted(text, source)
        if len(self.taints) < MAX_TAINTS:
            self.taints.update(dict.fromkeys((where, why) for why in untrusted.taints()))
        return untrusted.render(limit, one_line=one_line)

    def found(self) -> tuple[Taint, ...]:
        """All that was suspicious."""
        return tuple(Taint(where=where, why=why) for where, why in self.taints)


def column(
    raw: str,
    where: str,
    profile: ColumnProfile,
    sample: pl.Series | None,
    *,
    level: PreviewLevel,
    voice: Voice,
    nested: bool = False,
    target: bool = False,
) -> Column:
    """What is told of one column.

    Parameters
    ----------
    raw
        Its name as it is in the file.
    where
        Where it stands, fit to be shown (``column 3 of train.csv``).
    sample
        Its values in the sampled rows.
    nested
        It holds objects or arrays.
    target
        It is to be predicted: its classes are told however many, and it is never taken for an id.
    """
    name = voice.say(raw, "column name", where)
    dtype: Dtype = "other" if nested or profile.dtype is None else profile.dtype
    escaped = True if name != raw else None
    if level == "schema":
        return Column(name=name, dtype=dtype, escaped=escaped)
    known = profile.rows - profile.nulls
    fields: dict[str, object] = {"name": name, "dtype": dtype, "escaped": escaped, "nulls": profile.nulls}
    if dtype == "other" or known == 0:
        return Column.model_validate(fields)
    fields["unique"] = min(profile.distinct.count, known)
    fields["unique_approximate"] = None if profile.distinct.exact else True
    is_id = not target and _is_id(raw, profile, known)
    if is_id:
        fields["id_like"] = True
    elif dtype in ("integer", "float"):
        fields |= _numbers(profile, sample, dtype)
    elif dtype == "datetime":
        fields |= {"min": _day(profile.first), "max": _day(profile.last)}
    if dtype == "string":
        fields |= {"length": _length(profile, known), "text": _text(sample)}
    if not is_id:
        fields["top"] = tuple(
            (voice.say(value, "value", where), count) for value, count in _top(profile, known, target)
        )
    if level == "samples" and sample is not None:
        values = sample.drop_nulls().cast(pl.String).unique(maintain_order=True).head(SAMPLES)
        fields["samples"] = tuple(voice.say(value, "value", where) for value in values)
    return Column.model_validate(fields)


def rounded(number: float, digits: int = 5) -> Number:
    """A number with so many significant digits, as an integer where it is one."""
    if number == 0 or not math.isfinite(number):
        return 0
    short = float(f"{number:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _numbers(profile: ColumnProfile, sample: pl.Series | None, dtype: Dtype) -> dict[str, object]:
    moments = profile.moments
    if not moments.count or moments.low is None or moments.high is None:
        return {"infinite": moments.infinite or None}
    whole = dtype == "integer"
    std = moments.std
    told: dict[str, object] = {
        "min": int(moments.low) if whole else rounded(float(moments.low), 6),
        "max": int(moments.high) if whole else rounded(float(moments.high), 6),
        "mean": rounded(moments.mean),
        "std": rounded(std) if std is not None and math.isfinite(std) else None,
        "infinite": moments.infinite or None,
    }
    if sample is not None:
        numbers = sample.drop_nulls()
        if numbers.dtype == pl.String:
            numbers = numbers.str.strip_chars(" ")
        numbers = numbers.cast(pl.Float64, strict=False).drop_nulls()
        numbers = numbers.filter(numbers.is_finite())
        if len(numbers):
            told["quantiles"] = tuple(rounded(float(numbers.quantile(at, "lower") or 0)) for at in _QUANTILES)
    return told


def _is_id(name: str, profile: ColumnProfile, known: int) -> bool:
    """Whether the values tell rows apart: nearly all distinct, and whole numbers or single words that look like it."""
    if (
        _TIME_NAME.search(name) is not None
        or known < 20
        or profile.distinct.count < known * (0.99 if profile.distinct.exact else 0.95)
    ):
        return False
    if profile.dtype == "integer" and profile.moments.low is not None and profile.moments.high is not None:
        low, high = int(profile.moments.low), int(profile.moments.high)
        dense = high - low < 2 * known
        fixed = low >= 10**5 and len(str(low)) == len(str(high))
        return dense or fixed or _ID_NAME.search(name) is not None
    return profile.dtype == "string" and profile.longest <= 64 and (profile.counts is None or known > _SMALL)


def _top(profile: ColumnProfile, known: int, target: bool) -> list[tuple[str, int]]:
    """The commonest categories with their counts; none where the column has no categories."""
    counts = profile.counts
    if not counts:
        return []
    most = _CATEGORIES if profile.dtype in ("string", "boolean") or target else _CLASSES
    if len(counts) > most or (len(counts) * 2 > known and not target) or profile.longest > NAME:
        return []
    least = _COMMON if profile.rows >= _SMALL else _COMMON_IN_SMALL
    common = [(value, count) for value, count in counts.items() if count >= least]
    return sorted(common, key=lambda item: (-item[1], item[0]))[: most if target else TOP]


def _length(profile: ColumnProfile, known: int) -> Length:
    return Length(min=profile.shortest or 0, mean=rounded(profile.characters / known, 4), max=profile.longest)


def _text(sample: pl.Series | None) -> str | None:
    """What the strings look like, in our own words."""
    values = [] if sample is None else sample.drop_nulls().cast(pl.String).head(2000).to_list()
    if not values:
        return None
    whole = len(values)

    def share(pattern: str) -> float:
        return sum(re.fullmatch(pattern, value) is not None for value in values) / whole

    if share(r"[-+]?\d{1,3}(?:\.?\d{3})*,\d+") > 0.5:
        return "numbers with a decimal comma"
    numbers = share(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*")
    if numbers >= 0.5:
        return "numbers" if numbers == 1 else f"{numbers:.0%} of them numbers"
    if share(r"\S+\.\w{2,4}") > 0.9:
        return "file names or addresses"
    words = sum(len(value.split()) for value in values) / whole
    if words > 3:
        return f"free text of about {words:.0f} words"
    return "letters and digits" if share(r"\S*\d\S*") > 0.5 else "words"


def _day(moment: str | None) -> str | None:
    return None if moment is None else moment.removesuffix(" 00:00:00").removesuffix(".000000")


def sampled_note(rows: int) -> str | None:
    """What is to be said about statistics of a table of so many rows; None where all are exact."""
    return f"quantiles are from a sample of {SAMPLE_ROWS:,} rows" if rows > SAMPLE_ROWS else None
