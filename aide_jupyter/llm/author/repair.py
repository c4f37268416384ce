"""Repairs: what a failed program's output says is wrong, and the step that answers it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import recipe
from .recipe import Recipe


@dataclass(frozen=True)
class Cause:
    """A cause in words, the pattern in the output that shows it, and the steps that answer it, best first."""

    words: str
    pattern: re.Pattern[str]
    steps: tuple[str, ...]


def _cause(words: str, pattern: str, *steps: str) -> Cause:
    return Cause(words, re.compile(pattern, re.IGNORECASE), steps)


CAUSES = (
    _cause("the program took too long or too much memory",
           r"MemoryError|Unable to allocate|time limit|timed? ?out|KeyboardInterrupt|was killed|memory limit|"
           r"out of memory|ended as (?:timeout|limit|died)",
           "light", "lighter"),
    _cause("a file is not UTF-8", r"UnicodeDecodeError|codec can't decode", "latin"),
    _cause("lines do not have the columns of the header",
           r"Error tokenizing data|Expected \d+ fields|ParserError|',' expected after", "skip", "sniff"),
    _cause("a file is not where it was expected", r"FileNotFoundError|No such file", "find"),
    _cause("the target has missing values", r"Input y contains NaN|y contains missing|Input contains NaN",
           "known", "strings"),
    _cause("a column has hardly any values", r"window shape cannot be larger", "gaps"),
    _cause("numbers are infinite", r"contains infinity|value too large for dtype|divide by zero", "finite"),
    _cause("classes have too few members",
           r"members in each class|least populated class|number of members|fewer than \d+ members|n_splits", "kfold"),
    _cause("the target has more than two classes",
           r"multiclass but average='binary'|multi_class must be in|multiclass format is not supported", "many"),
    _cause("the target is numbers, not classes",
           r"Unknown label type|continuous is not supported|continuous format|mix of binary and continuous", "numbers"),
    _cause("values are of another type than was expected",
           r"could not convert|unsupported operand|uniformly strings or numbers|not supported between instances|"
           r"unhashable type|DTypePromotionError|Cannot use median|invalid literal",
           "strings", "number", "classes"),
    _cause("the target is not found under its name", r"KeyError|not in index|not found in axis",
           "strip", "sniff", "position"),
    _cause("there are fewer words than topics were asked for", r"must be <= n_features", "light", "lighter"),
    _cause("the models did not settle", r"ConvergenceWarning|did not converge", "light"),
)  # fmt: skip


def cause(output: str) -> Cause | None:
    """The first known cause that the end of the output shows."""
    last = "\n".join(output.strip().split("\n")[-12:])
    return next((one for part in (last, output) for one in CAUSES if one.pattern.search(part)), None)


def repaired(parent: Recipe, output: str, fixes: Iterable[str]) -> tuple[Recipe, str] | None:
    """The recipe with one repair that has not been tried, and the cause in words; None where none is left.

    Parameters
    ----------
    fixes
        Lines about fixes that have failed already, with the plans that hold their tags.
    """
    tried = {one.tag for line in fixes if (one := recipe.parse(line))}
    found = cause(output)
    steps: Sequence[str] = found.steps if found else ("strings", "light")
    for step in steps:
        option = parent.having(step)
        if step not in parent.steps and option.tag not in tried:
            return option, found.words if found else "the cause is not clear"
    return None


def error_line(output: str) -> str:
    """The last line that names an error, in at most 160 characters; empty where there is none."""
    lines = [line.strip() for line in output.strip().split("\n")]
    named = [line for line in lines if re.match(r"(?:[\w.]+\.)?\w*(?:Error|Exception|Interrupt|Exit)\b", line)]
    return named[-1][:160] if named else ""
