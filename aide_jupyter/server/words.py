"""How a run's records are said to a page: phases, numbers, names, and texts of others made fit to be shown."""

from __future__ import annotations

import re

from .. import records as r
from ..audit import words as w
from ..audit.trail import Reader, standing
from ..errors import AideError
from ..state import Candidate, RunState
from ..untrusted import Untrusted
from .models import Best, Meter, NumberSource, OwnerWord, ViewPhase

LINE = 160
"""Characters of a text that is shown on one line."""
LONG = 100_000
"""Characters of a text that is shown whole."""
WAYS = {"minimize": "lower is better", "maximize": "higher is better"}
SOURCES: dict[NumberSource, str] = {
    "reported": "reported by the program itself",
    "selection": "graded on hidden rows",
    "final": "graded once, on rows kept for the end",
}
OWNERS: dict[OwnerWord, str] = {
    "server": "It runs in this Jupyter server.",
    "elsewhere": "Another process (a terminal or another server) runs it. It can be paused and stopped here.",
    "nobody": "No process runs it.",
}
_FIELDS = {
    "data": "Data folder", "goal": "Goal", "target": "Column to predict", "metric": "Metric", "model": "Model",
    "steps": "Steps", "workers": "Programs at the same time", "timeout": "Time of one program",
    "max-time": "Time of the run", "max-tokens": "Tokens", "max-cost": "Money", "memory": "Memory of one program",
    "review": "Review", "preview": "What models are told about the data", "minimize": "lower is better",
    "maximize": "higher is better",
}  # fmt: skip
"""What the panel's form calls the options of the command line."""
_OPTION = re.compile(rf"(?<![\w-])--({'|'.join(_FIELDS)})(?![\w-])")
_ANONYMOUS = re.compile(r"\(([0-9a-f]{6})[0-9a-f]{26}\)")
"""The user name that Jupyter's own identity provider draws for somebody who only has the token, as
:func:`.handlers.person` writes it."""


def line(text: str, source: str, limit: int = LINE) -> str:
    """A text of others on one line."""
    return Untrusted(" ".join(text.split()), source).render(limit, one_line=True)


def long(text: str, source: str, limit: int = LONG) -> str:
    """A text of others, as it came but for what cannot be seen."""
    return Untrusted(text, source).render(limit)


def text_of(blobs: Reader, text: r.Text) -> str:
    """A record's text; in place of one that is gone or changed, what is wrong."""
    try:
        return blobs.text(text)
    except AideError as error:
        return f"[{error.message}]"


def first_line(text: str, source: str) -> str:
    """The first line of a text that says something."""
    return line(next((row for row in text.split("\n") if row.strip()), ""), source)


def short(text: str) -> str:
    """A text with the ids of anonymous users cut short; the records have the whole of them."""
    return _ANONYMOUS.sub(r"(\1…)", text)


def who(actor: r.Actor | None) -> str:
    """An actor, as plain text."""
    if actor is None:
        return "unknown"
    name = short(line(actor.name, "name", 200))
    if actor.kind == "agent":
        return f"{name} model {line(actor.model, 'model', 200)}" if actor.model else name
    return f"{name} (a rule)" if actor.kind == "policy" else name


def status(node: Candidate) -> str:
    """What has become of a candidate, in a few words."""
    words = w.become(node)
    if words or node.grade is None:
        return words
    if node.value is None:
        return "no number"
    return "a fault was found" if standing(node) == "failed" else SOURCES[source_of(node.grade)]


def source_of(grade: r.Graded) -> NumberSource:
    """Where a number comes from."""
    return "reported" if grade.source == "reported" else grade.rows


def best(state: RunState, final: r.Graded | None) -> Best | None:
    """The best candidate. Where its number was computed once more at the end, that one is told."""
    node = state.best_candidate()
    if node is None or node.grade is None:
        return None
    grade = final if final is not None and final.value is not None else node.grade
    assert grade.value is not None
    source = source_of(grade)
    return Best(
        id=node.id,
        value=grade.value,
        value_text=w.number(grade.value),
        metric=metric(state),
        source=source,
        source_words=SOURCES[source],
    )


def metric(state: RunState) -> str:
    """The metric's name, or that the goal says it."""
    named = None if state.opened is None else state.opened.task.metric
    return line(named, "metric") if named else "score"


def direction(task: r.Task) -> str:
    """Which way is better, and what says so. An older journal names flags of the command line."""
    source = line(task.direction_source, "direction")
    asked = re.sub(r"named by --metric$|^--(min|max)imize\b", "as asked", source)
    return f"{WAYS[task.direction]} ({asked})"


def in_form(text: str) -> str:
    """What an error says of options, as a person reads it who has a form before them. A command keeps its options."""
    return text if "jupyter aide " in text else _OPTION.sub(lambda found: f"“{_FIELDS[found[1]]}”", text)


def phase(state: RunState, now: ViewPhase, problem: str) -> str:
    """What a run is doing, in words."""
    count = len(state.waiting)
    paused = "" if state.paused is None else short(line(state.paused.why, "reason"))
    closed = "" if state.closed is None else short(line(state.closed.why, "reason"))
    said: dict[ViewPhase, str] = {
        "preparing": "Preparing",
        "failed": f"Could not begin: {problem}",
        "running": "Running",
        "waiting": f"Waiting for your decision on {count} program{'' if count == 1 else 's'}",
        "paused": f"Paused: {paused}" if paused else "Paused",
        "interrupted": "Interrupted: the process that ran it has ended. Resume goes on with it.",
        "closed": f"Finished: {closed}" if closed else "Finished",
        "missing": "Its folder is not where it was",
        "unreadable": f"Cannot be read: {problem}",
    }
    return said[now]


def meters(state: RunState, elapsed: float) -> tuple[Meter, ...]:
    """What is used of each budget."""
    budgets, spend = state.budgets, state.spend
    used = spend.tokens.prompt + spend.tokens.completion
    found = [
        _meter("steps", "Steps", state.steps, budgets.steps, f"{state.steps:,} of {budgets.steps:,}"),
        _meter("time", "Run time", elapsed, budgets.seconds, f"{w.seconds(elapsed)} of {w.seconds(budgets.seconds)}"),
        _meter("tokens", "Tokens", used, budgets.tokens, f"{used:,} of {budgets.tokens:,}"),
    ]
    cost = f"${spend.cost:.4f}" + ("" if budgets.cost_usd is None else f" of ${budgets.cost_usd:g}")
    if spend.unknown_cost_calls:
        count = spend.unknown_cost_calls
        cost += f", and {count:,} call{'' if count == 1 else 's'} of unknown cost"
    return (*found, _meter("money", "Money", spend.cost, budgets.cost_usd, cost))


def _meter(name: str, label: str, used: float, limit: float | None, words: str) -> Meter:
    reached = limit is not None and used >= limit
    return Meter.model_validate(
        {"name": name, "label": label, "used": used, "limit": limit, "words": words, "reached": reached}
    )
