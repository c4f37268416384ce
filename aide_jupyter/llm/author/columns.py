"""What names and limits of columns suggest: sums of counts or areas of one kind, spans of years, seasons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from .brief import Column

_TOKENS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_YEAR = re.compile(r"^(?:year|yr)s?$")
_LATEST = re.compile(r"sold|sale|end|close|report|now", re.IGNORECASE)
_VAGUE = frozenset(
    {"id", "no", "of", "in", "the", "code", "type", "rate", "ratio", "mean", "std", "min", "max", "pct", "flag"}
)
_MOST = 4
_WEEK = 7
_SEASONS = ((0.5, 24), (3.0, 7), (14.0, 52), (80.0, 12))
"""Days between rows up to which a season has so many rows: hours a day, days a week, weeks or months a year."""


def _tokens(name: str) -> list[str]:
    return [token.lower() for token in _TOKENS.findall(name)]


def _years(columns: Sequence[Column]) -> list[Column]:
    found = []
    for column in columns:
        inside = column.low is None or (column.low > 1500 and (column.high or 0) < 2200)
        if inside and any(_YEAR.match(token) for token in _tokens(column.name)):
            found.append(column)
    return found


def related(inputs: Sequence[Column]) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], tuple[tuple[str, str], ...]]:
    """Sums as (new name, columns), and spans as (later, earlier), that the names of numeric inputs suggest."""
    numeric = [column for column in inputs if column.dtype in {"integer", "float"}]
    years = _years(numeric)
    groups: dict[str, list[str]] = {}
    for column in numeric:
        tokens = _tokens(column.name)
        if column not in years and len(tokens) > 1 and not tokens[0].startswith("total") and _says(tokens[-1]):
            groups.setdefault(tokens[-1], []).append(column.name)
    sums = [(f"sum of {token}", tuple(names)) for token, names in groups.items() if 2 <= len(names) <= 12]
    last = next((column for column in reversed(years) if _LATEST.search(column.name)), years[-1] if years else None)
    spans = [(last.name, column.name) for column in years if last is not None and column is not last]
    return tuple(sums[:_MOST]), tuple(spans[:_MOST])


def _says(token: str) -> bool:
    """Whether the last word of a name says of what kind the column is."""
    return len(token) > 1 and token not in _VAGUE and not token.isdigit()


def season(column: Column | None, rows: int) -> int:
    """The rows of a season, by the time between rows where the preview shows it; else a week of days."""
    try:
        first, last = (datetime.fromisoformat(text) for text in ((column.first, column.last) if column else ("", "")))
        days = (last - first).total_seconds() / 86400 / max(rows - 1, 1)
    except (ValueError, TypeError):
        return _WEEK
    return next((count for most, count in _SEASONS if days <= most), _WEEK)
