"""The report of a run (Markdown): AIDE's sections, with every number from the records.

What the report model wrote stands beside the numbers as literal text and is labelled as its claim. It supplies none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .. import records as r
from ..state import Candidate
from . import words as w
from .headpage import best_words, metric_words, spend_words, standing_words
from .trail import Reader, Trail, standing

MOST = 200
"""Candidates that are listed one by one; of more, the best and the last are."""
_TITLES = {
    "introduction": re.compile(r"introduction|overview"),
    "preprocessing": re.compile(r"pre-?processing|data preparation"),
    "methods": re.compile(r"model+ing|model+ind|methods?"),
    "results": re.compile(r"results?|discussion"),
    "future": re.compile(r"future"),
}
_HEADING = re.compile(r"^ {0,3}(?:#{1,6}[ \t]+|\*\*)(?P<title>[^\n*#]{1,80}?)(?:\*\*)?:?[ \t]*#*$")


def report(trail: Trail, blobs: Reader, prose: str | None = None) -> str:
    """The report.

    Parameters
    ----------
    trail
        The run.
    blobs
        Resolves long texts.
    prose
        What the report model wrote, as Markdown; its sections are put under ours, literally. None where there is none.
    """
    opened = trail.state.opened
    assert opened is not None
    said = _sections(prose or "")
    parts = [
        "# Report of an aide-jupyter run",
        f"Numbers, names of candidates and outcomes are taken from the journal of the run {w.span(trail.state.run)}. "
        "Blocks of fixed-width type hold what others wrote, as it came: the task, and the words of models, which are "
        "claims.",
        "## Introduction",
        f"The goal, as it was given:\n\n{w.block(opened.task.goal, 'goal')}",
        w.table(("What", "As recorded"), _summary(trail, opened)),
        *_claim(said, "introduction"),
        "## Preprocessing",
        _data(opened),
        *_claim(said, "preprocessing"),
        "## Modelling methods",
        *_best_plan(trail, blobs),
        *_claim(said, "methods"),
        "## Results and discussion",
        _results(trail),
        *_failures(trail),
        *_claim(said, "results"),
        "## Future work",
        _future(trail),
        *_claim(said, "future"),
        *_claim(said, "other"),
        "## Decisions",
        _decisions(trail),
        "## How to verify",
        f"`jupyter aide verify` checks the records, the programs and the audit notebook. This report was made from the "
        f"journal up to record {trail.head.seq}, hash `{trail.head.hash}`.",
    ]
    return "\n\n".join(parts) + "\n"


def _sections(prose: str) -> dict[str, str]:
    """The model's text by our sections, as its own headings divide it; what stands under none is the introduction."""
    found: dict[str, list[str]] = {}
    current, fenced = "introduction", False
    for row in prose.splitlines():
        fenced ^= row.lstrip().startswith("```")
        heading = None if fenced else _HEADING.match(row)
        if heading is not None:
            title = heading["title"].lower()
            named = next((name for name, words in _TITLES.items() if words.search(title)), None)
            if named is not None:
                current = named
                continue
            if row.lstrip().startswith("# ") and not found:
                continue
            if row.lstrip().startswith("## "):
                current = "other"
        found.setdefault(current, []).append(row)
    texts = {name: "\n".join(rows).strip() for name, rows in found.items()}
    return {name: text for name, text in texts.items() if text}


def _claim(said: dict[str, str], section: str) -> Iterable[str]:
    if section in said:
        yield f"In the words of the report's model (a claim):\n\n{w.block(said[section], 'report')}"


def _summary(trail: Trail, opened: r.Opened) -> Iterable[tuple[str, str]]:
    state = trail.state
    yield "Best candidate", best_words(trail)
    yield "Metric", metric_words(opened.task)
    yield "Direction comes from", w.span(opened.task.direction_source)
    yield "Candidates", standing_words(trail)
    yield "Steps", f"{state.steps:,} of {state.budgets.steps:,}"
    yield "Run time", f"{w.seconds(state.active_seconds)} of {w.seconds(state.budgets.seconds)}"
    yield "Model calls", spend_words(trail)
    yield "Author model", w.span(opened.settings.code.model)
    yield "Reviewer model", w.span(opened.settings.feedback.model)
    yield "Policy and seed", f"{w.span(opened.policy)}, seed {opened.seed}"
    yield "Review mode", state.mode
    yield "State", _state(trail)


def _state(trail: Trail) -> str:
    closed = trail.state.closed
    return f"not closed as of {w.when(trail.time)}" if closed is None else f"closed: {w.span(closed.why)}"


def _data(opened: r.Opened) -> str:
    data = opened.data
    given = [("Target", opened.task.target), ("Id", opened.task.id_column), ("Group", opened.task.group_column)]
    given += [("Time", opened.task.time_column)]
    rows = [
        ("Data that programs saw", f"{data.files:,} files, {w.size(data.bytes)}, {data.left_out_count:,} left out"),
        ("Hash of the data", f"sha256 `{data.sha256}`"),
        *((f"{name} column", w.span(value)) for name, value in given if value),
    ]
    told = "How the features were prepared is part of each program; the best one's plan stands in the next section."
    return f"{w.table(('What', 'As recorded'), rows)}\n\n{told}"


def _best_plan(trail: Trail, blobs: Reader) -> Iterable[str]:
    best = trail.state.best_candidate()
    if best is None:
        yield "No candidate ended with a number, so there is no best one."
        return
    lineage = " from ".join(f"{node.id} ({node.operator})" for node in trail.state.lineage(best.id))
    yield f"The best candidate is {best.id}, with {w.score(best.grade)}. It descends as: {lineage}."
    if plan := blobs.text(best.plan):
        yield f"Its plan, in its author's words:\n\n{w.block(plan, 'plan')}"
    yield f"Its program has the sha256 `{best.code_sha256}`."


def _results(trail: Trail) -> str:
    nodes = list(trail.state.candidates.values())
    listed = nodes
    if len(nodes) > MOST:
        ranked = sorted((n for n in nodes if n.good), key=lambda n: n.value or 0.0, reverse=not trail.state.minimize)
        keep = {node.id for node in (*ranked[: MOST // 2], *nodes[-MOST // 2 :])}
        listed = [node for node in nodes if node.id in keep]
    head = ("Candidate", "Made by", "Outcome", "Number", "Seconds", "Peak memory")
    told = w.table(head, (_row(node) for node in listed))
    if len(listed) < len(nodes):
        told += f"\n\n{len(nodes) - len(listed):,} more candidates stand in the audit notebook."
    return told


def _row(node: Candidate) -> tuple[str, ...]:
    made = node.operator if node.parent is None else f"{node.operator} of {node.parent}"
    made = made if node.edit_of is None else f"a person's edit of {node.edit_of}"
    if node.finished is None:
        return node.id, made, standing(node), "", "", ""
    observed = node.finished.observed
    outcome = "failed by its review" if node.finished.status == "ok" and node.failed else node.finished.status
    number = "" if node.grade is None else w.score(node.grade)
    return node.id, made, outcome, number, f"{observed.seconds:.1f}", w.size(observed.peak_memory_bytes)


def _failures(trail: Trail) -> Iterable[str]:
    rows = []
    for node in trail.state.candidates.values():
        if node.error is not None:
            rows.append(f"{node.id}  no program: {node.error}")
        elif node.failed and node.finished is not None:
            limit = f" (limit: {node.finished.observed.limit})" if node.finished.observed.limit else ""
            why = node.grade.error if node.grade is not None and node.grade.error else "its review found a fault"
            rows.append(f"{node.id}  {node.finished.status}{limit}: {why}{_exception(node)}")
    if rows:
        told = "What failed, and why (exceptions are what the program claimed):"
        yield f"{told}\n\n{w.lines(rows, 'failure', most=MOST)}"


def _exception(node: Candidate) -> str:
    claimed = () if node.finished is None else node.finished.claimed.outputs
    for item in reversed(claimed):
        if isinstance(item, r.ErrorOutput):
            message = item.message if isinstance(item.message, str) else ""
            return f" [{item.name}: {message.splitlines()[0][:200] if message else ''}]"
    return ""


def _future(trail: Trail) -> str:
    state = trail.state
    left = max(0, state.budgets.steps - state.steps)
    told = [f"- {left:,} of {state.budgets.steps:,} steps were not used."] if left else []
    told += [f"- The budget of {limit.limit:g} {w.span(limit.what)} was reached." for limit in state.limited]
    leaves = [node for node in state.candidates.values() if node.failed and not node.children and node.error is None]
    if leaves:
        told.append(f"- Failed programs that were not taken up again: {len(leaves):,}.")
    best = state.best_candidate()
    if best is not None and best.grade is not None and w.label(best.grade) == "reported":
        told.append("- The best number is what the program itself printed; no hidden rows have confirmed it.")
    elif best is not None and best.id not in trail.finals:
        told.append("- The best number was measured on the rows by which candidates were selected, so it flatters.")
    return "\n".join(told) or "The records leave nothing open."


def _decisions(trail: Trail) -> str:
    counts: dict[tuple[str, str], int] = {}
    for node in trail.state.candidates.values():
        if node.decided is not None:
            key = (
                {"approve": "approved", "edit": "edited", "reject": "rejected"}[node.decided.decision],
                w.who(node.decided_by),
            )
            counts[key] = counts.get(key, 0) + 1
    if not counts:
        return "No program was decided about."
    rows = [(done, by, f"{count:,}") for (done, by), count in sorted(counts.items())]
    return w.table(("Programs", "By", "How many"), rows)
