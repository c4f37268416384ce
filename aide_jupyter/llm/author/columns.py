"""Features that the names of columns suggest: sums of counts or areas of one kind, spans between years, parts of dates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .brief import Column
from .facts import Facts
from .source import flat, layout, literal, literals

_TOKENS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_YEAR = re.compile(r"^(?:year|yr)s?$")
_LATEST = re.compile(r"sold|sale|end|close|report|now", re.IGNORECASE)
_VAGUE = frozenset(
    {"id", "no", "of", "in", "the", "code", "type", "rate", "ratio", "mean", "std", "min", "max", "pct", "flag"}
)
_MOST_SUMS = 4


def _tokens(name: str) -> list[str]:
    return [token.lower() for token in _TOKENS.findall(name)]


def _years(columns: Sequence[Column]) -> list[Column]:
    found = []
    for column in columns:
        inside = column.low is None or (column.low > 1500 and (column.high or 0) < 2200)
        if inside and any(_YEAR.match(token) for token in _tokens(column.name)):
            found.append(column)
    return found


def related(facts: Facts) -> tuple[list[tuple[str, list[str]]], list[tuple[str, str]]]:
    """Sums as (new name, columns), and spans as (later, earlier), that the numeric columns' names suggest."""
    skip = {facts.target_name, facts.id_name, facts.group}
    numeric = [
        column
        for column in facts.train.columns
        if column.dtype in {"integer", "float"} and column.exact and column.name not in skip
        and (facts.test is None or not facts.test.complete or facts.test.column(column.name))
    ]  # fmt: skip
    years = _years(numeric)
    groups: dict[str, list[str]] = {}
    for column in numeric:
        tokens = _tokens(column.name)
        if len(tokens) > 1 and column not in years and len(tokens[-1]) > 1 and tokens[-1] not in _VAGUE:
            if not tokens[-1].isdigit() and not tokens[0].startswith("total"):
                groups.setdefault(tokens[-1], []).append(column.name)
    sums = [(f"sum of {token}", names) for token, names in groups.items() if 2 <= len(names) <= 12]
    spans: list[tuple[str, str]] = []
    if len(years) >= 2:
        last = next((column for column in reversed(years) if _LATEST.search(column.name)), years[-1])
        spans = [(last.name, column.name) for column in years if column is not last]
    return sums[:_MOST_SUMS], spans[:_MOST_SUMS]


def _infinite(facts: Facts, steps: Sequence[str]) -> bool:
    return "finite" in steps or any(column.infinite and column is not facts.target for column in facts.train.columns)


def suggested(facts: Facts) -> bool:
    """Whether there is anything to add from related columns."""
    return any(related(facts))


def lines(facts: Facts, steps: Sequence[str]) -> list[str]:
    """The body of ``prepare(frame)``, without its first and last line; empty where nothing is to be prepared."""
    found: list[str] = []
    if _infinite(facts, steps):
        found.append("frame = frame.replace([np.inf, -np.inf], np.nan)")
    if "sums" in steps:
        sums, spans = related(facts)
        for name, parts in sums:
            chosen = flat(literals(parts))
            found.append(layout(f"frame[{chosen}].sum(axis=1)", f"frame[{literal(name)}] = "))
        for later, earlier in spans:
            name = literal(f"{later} minus {earlier}")
            found.append(f"frame[{name}] = frame[{literal(later)}] - frame[{literal(earlier)}]")
    for column in facts.dates:
        name = literal(column.name)
        found.append(f'when = pd.to_datetime(frame[{name}], errors="coerce", utc=True)')
        found.append('for part in ("year", "month", "day", "dayofweek", "hour"):')
        found.append(f'    frame[{name} + " " + part] = getattr(when.dt, part)')
        found.append(f"frame = frame.drop(columns={name})")
    for column in facts.text:
        name = literal(column.name)
        found.append(f'frame[{name}] = frame[{name}].fillna("")')
    if "strings" in steps or any(column.dtype == "other" for column in facts.train.columns):
        found.append('mixed = frame.select_dtypes(["object", "category", "datetime"]).columns')
        found.append("frame[mixed] = frame[mixed].astype(str)")
    return found


def about(facts: Facts, steps: Sequence[str]) -> str:
    """What ``prepare`` does, as the sentence of its docstring."""
    parts = []
    if "sums" in steps:
        parts.append("adds sums of related columns and spans between years")
    if facts.dates:
        parts.append("takes dates apart")
    if facts.text:
        parts.append("fills empty texts")
    if _infinite(facts, steps):
        parts.append("treats infinite numbers as missing")
    if not parts:
        parts.append("writes values of mixed types as text")
    words = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return words[0].upper() + words[1:] + "."
