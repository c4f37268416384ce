"""How numbers, names and other people's text are written in the notebook, the export and the report.

Text that a model, a program or a data set wrote becomes Markdown through :func:`block` or :func:`span` alone: both
keep it literal between backticks that are longer than any run of backticks in it.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime

from .. import records as r
from ..state import Candidate
from ..untrusted import Untrusted, fence

LONG = 20_000
"""Characters of a long text that are shown; the rest is in the journal."""
SHORT = 200
"""Characters of a name that are shown."""
COLUMNS = 100
"""Lines of prose are broken at this width: a fence does not wrap, and a plan is often one long line."""

_UNDER_WAY = {
    "chosen": "writing",
    "proposed": "in review",
    "waiting": "waits for a decision",
    "edited": "replaced by an edit",
}
"""Stages whose own name does not say it."""


def block(text: str, source: str, *, limit: int = LONG) -> str:
    """Text of others as a fenced block, its long lines broken at :data:`COLUMNS`.

    Parameters
    ----------
    text
        The text as it came.
    source
        Where it came from, in this package's own words.
    limit
        The most characters to show.
    """
    shown = Untrusted(text, source).render(limit)
    return fence("\n".join(_wrapped(shown.rstrip("\n").split("\n"))), "text")


def lines(rows: Iterable[str], source: str, *, most: int = 40) -> str:
    """Rows of others' text, such as file names, as one fenced block: a line each, at most ``most`` of them."""
    rows = list(rows)
    shown = [Untrusted(row, source).render(400, one_line=True) for row in rows[:most]]
    if len(rows) > most:
        shown.append(f"… and {len(rows) - most:,} more")
    return fence("\n".join(shown), "text")


def span(text: str, source: str = "name", *, limit: int = SHORT) -> str:
    """A name of others as a code span on one line, safe in a table: a ``|`` is written as ``\\x7c``."""
    shown = Untrusted(text, source).render(limit, one_line=True).replace("|", "\\x7c").strip()
    if not shown:
        return "(empty)"
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if "`" in (shown[0], shown[-1]) else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table. Cells are this package's own words, or came through :func:`span`."""
    ruled = [head, [":--"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in ruled)


def _wrapped(rows: Iterable[str]) -> Iterable[str]:
    for row in rows:
        if len(row) <= COLUMNS:
            yield row
            continue
        indent = row[: len(row) - len(row.lstrip())][: COLUMNS // 2]
        yield from textwrap.wrap(
            row,
            COLUMNS,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
            expand_tabs=False,
            replace_whitespace=False,
        ) or [""]


def number(value: float) -> str:
    """A metric's value to six significant digits; the journal has all of them."""
    return f"{value:.6g}"


def score(grade: r.Graded | None) -> str:
    """A number with the label that says where it comes from, its interval, or that there is none."""
    if grade is None or grade.value is None:
        return "no number"
    interval = "" if grade.interval is None else ", 95 % interval {} to {}".format(*map(number, grade.interval))
    return f"{number(grade.value)} ({label(grade)}{interval})"


def label(grade: r.Graded) -> str:
    """``reported`` for a number that the program printed; ``selection`` or ``final`` for one graded on hidden rows."""
    return "reported" if grade.source == "reported" else grade.rows


def become(node: Candidate) -> str:
    """What has become of a candidate, in a few words; empty where it ended well and was graded: a number says that."""
    if node.error is not None:
        return "no program"
    if node.finished is None:
        return _UNDER_WAY.get(node.stage, node.stage)
    if node.finished.status != "ok":
        limit = f" ({node.finished.observed.limit})" if node.finished.observed.limit else ""
        return f"{node.finished.status}{limit}"
    return "ended, not graded yet" if node.grade is None else ""


def seconds(value: float) -> str:
    """A duration a person can read: ``0.25 s``, ``12.3 s``, ``2 min 03 s``, ``1 h 02 min``."""
    if not math.isfinite(value):
        return "an unknown time"
    if value < 1:
        return f"{value:.2f} s"
    if value < 59.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(value / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def size(count: int) -> str:
    """Bytes a person can read, in powers of 1000: ``512 bytes``, ``12.3 kB``, ``340 MB``."""
    if abs(count) < 1000:
        return f"{count} bytes"
    value = float(count)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if abs(value) < 999.5:
            return f"{value:.3g} {unit}"
    return f"{value / 1000:.3g} TB"


def when(time: str | None) -> str:
    """A record's time to the second; the words that fit where it is missing or malformed."""
    try:
        return f"{datetime.fromisoformat(time or ''):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return "at an unknown time"


def who(actor: r.Actor | None) -> str:
    """An actor in words: a person and this software by name, a model by its name."""
    if actor is None:
        return "unknown"
    if actor.kind == "agent":
        return f"the {span(actor.name)} model {span(actor.model)}" if actor.model else f"the {span(actor.name)}"
    if actor.kind == "user":
        return f"{span(actor.name)} (a person)"
    return f"{span(actor.name)} ({'a rule' if actor.kind == 'policy' else 'this software'})"


def tokens(used: r.Tokens) -> str:
    """Tokens of model calls in words."""
    return f"{used.prompt:,} prompt and {used.completion:,} completion tokens"


def cost(dollars: float | None, unknown: int) -> str:
    """US dollars in words. Calls of unknown price are said, never counted as free."""
    known = "" if dollars is None else f"${dollars:.4f}"
    if not unknown:
        return known or "no model call"
    calls = f"{unknown:,} call{'' if unknown == 1 else 's'} of unknown cost"
    return f"{known} and {calls}" if dollars else calls
