"""The function ``prepare`` of a program: the columns that it adds, takes apart or cleans."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from .facts import Facts
from .source import flat, layout, literal, literals


def prepare(facts: Facts, steps: Sequence[str]) -> str:
    """Source of ``prepare(frame)``; blank where nothing is to be prepared."""
    lines = _lines(facts, steps)
    if not lines:
        return ""
    body = textwrap.indent("\n".join(["frame = frame.copy()", *lines, "return frame"]), "    ")
    return f'def prepare(frame):\n    """{_about(facts, steps)}"""\n{body}'


def _lines(facts: Facts, steps: Sequence[str]) -> list[str]:
    found: list[str] = []
    if facts.infinite or "finite" in steps:
        found.append("frame = frame.replace([np.inf, -np.inf], np.nan)")
    for name, parts in facts.sums if "sums" in steps else ():
        chosen = flat(literals(parts))
        found.append(layout(f"frame[{chosen}].sum(axis=1)", f"frame[{literal(name)}] = "))
    for later, earlier in facts.spans if "sums" in steps else ():
        name = literal(f"{later} minus {earlier}")
        found.append(f"frame[{name}] = frame[{literal(later)}] - frame[{literal(earlier)}]")
    for column in facts.dates:
        name = literal(column.name)
        found.append(f'when = pd.to_datetime(frame[{name}], errors="coerce", utc=True)')
        found.append('for part in ("year", "month", "day", "day_of_week", "hour"):')
        found.append(f'    frame[{name} + " " + part] = getattr(when.dt, part)')
        found.append(f"frame = frame.drop(columns={name})")
    for column in facts.text:
        name = literal(column.name)
        found.append(f'frame[{name}] = frame[{name}].fillna("")')
    if facts.mixed or "strings" in steps:
        found.append('mixed = frame.select_dtypes(["object", "category", "datetime"]).columns')
        found.append("frame[mixed] = frame[mixed].astype(str)")
    return found


def _about(facts: Facts, steps: Sequence[str]) -> str:
    """What it does, as the sentence of its docstring."""
    parts = {
        "treats infinite numbers as missing": facts.infinite or "finite" in steps,
        "adds sums of related columns and spans between years": "sums" in steps,
        "takes dates apart": bool(facts.dates),
        "fills empty texts": bool(facts.text),
        "writes values of mixed types as text": facts.mixed or "strings" in steps,
    }
    told = [words for words, does in parts.items() if does]
    words = " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
    return words[0].upper() + words[1:] + "."
