"""A review of an execution, by what its output shows."""

from __future__ import annotations

import json
import math
import re

from . import metrics, repair
from .brief import Brief

_METRIC = re.compile(r"Validation metric:\s*(\S+)", re.IGNORECASE)
_PART = re.compile(r"^([a-z_ ]{3,30}): (-?\d[\d.e+-]*)$", re.MULTILINE)
_PERFECT_LOSS = 1e-9
_PERFECT_GAIN = 1 - 1e-9


def review(brief: Brief) -> str:
    """``{"failed": …, "summary": …}`` as JSON."""
    failed, summary = judged(brief)
    return json.dumps({"failed": failed, "summary": summary}, ensure_ascii=False)


def judged(brief: Brief) -> tuple[bool, str]:
    """Whether an execution failed, and what was learned, in at most three sentences."""
    output = brief.parent.output if brief.parent else ""
    status = str(brief.assignment.get("status", "ok"))
    error = repair.error_line(output)
    if status != "ok" or "Traceback (most recent call last)" in output:
        cause = repair.cause(output if status in {"ok", "error"} else f"{output}\n{_ended(brief, status)}")
        parts = [f"It ended with {error}." if error else f"It ended as {status}: {_ended(brief, status)}."]
        if cause is not None:
            parts.append(f"The cause may be that {cause.words}.")
        return True, " ".join(parts)
    found = _METRIC.findall(output)
    if not found:
        return True, "It ran to its end but printed no line `Validation metric: <number>`, so it has no score."
    value = _number(found[-1])
    if value is None or not math.isfinite(value):
        return True, f"Its validation metric is {found[-1][:20]}, which is not a finite number."
    if suspicion := _too_good(brief, value):
        return True, suspicion
    return False, _learned(brief, output, value)


def _ended(brief: Brief, status: str) -> str:
    limit = brief.assignment.get("limit")
    ways = {
        "timeout": "it was killed at the time limit",
        "died": "its process died without a Python error",
        "limit": f"it reached the limit on {limit}" if limit else "it reached a limit",
        "refused": "it was not allowed to run",
        "stopped": "the run was stopped",
    }
    return ways.get(status, "an error")


def _too_good(brief: Brief, value: float) -> str:
    """Why a score cannot be trusted; empty where it can. A perfect score nearly always means leakage."""
    metric = metrics.asked(str(brief.task.get("metric") or ""), brief.words)
    loss = brief.task.get("direction") == "minimize" or (metric is not None and metric.negated)
    bounded = metric is not None and not metric.minimize
    if (loss and abs(value) < _PERFECT_LOSS) or (not loss and bounded and value > _PERFECT_GAIN):
        return f"The score of {value:g} is perfect, which nearly always means that the target leaks into the features."
    return ""


def _learned(brief: Brief, output: str, value: float) -> str:
    parts = [f"It ran and scored {value:.6g}."]
    named = [(name, number) for name, text in _PART.findall(output) if (number := _number(text)) is not None]
    if len(named) > 1:
        sign = 1 if brief.task.get("direction") == "minimize" else -1
        named.sort(key=lambda pair: sign * pair[1])
        parts.append(
            f"Alone, {named[0][0]} was best ({named[0][1]:.6g}) and {named[-1][0]} worst ({named[-1][1]:.6g})."
        )
    if best := re.search(r"Best parameters: \{(.{1,150})\}", output):
        plain = re.sub(r"np\.float64\(([^)]*)\)", r"\1", re.sub(r"'\w*?__(\w+)'", r"\1", best[1]))
        parts.append(f"The search chose {plain[:100]}.")
    if "ConvergenceWarning" in output:
        parts.append("A model stopped before it converged, so more iterations may help.")
    return " ".join(parts)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
