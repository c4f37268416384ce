"""The first page of an audit notebook: what was asked, on what data, under which rules, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable

from .. import records as r
from ..untrusted import Untrusted
from . import words as w
from .keys import fingerprint
from .trail import Reader, Trail

_STANDINGS = (
    ("good", "good"), ("failed", "failed"), ("no program", "without a program"), ("rejected", "rejected"),
    ("edited", "replaced by an edit"), ("waiting", "waiting for a decision"),
)  # fmt: skip


def head_page(trail: Trail, blobs: Reader) -> str:
    """The head cell's Markdown."""
    opened = trail.state.opened
    assert opened is not None
    parts = [
        "# Audit notebook of an aide-jupyter run",
        "Each program that the agent wrote stands below with its plan, who decided about it and what came of it. The "
        "run's journal holds the records from which these cells are made; the words of models, programs and data stand "
        "as they came, in blocks of fixed-width type. Cells that you add are yours.",
        w.table((f"Run {w.span(trail.state.run, 'run id')}", _status(trail)), _summary(trail)),
        f"**Goal**\n\n{w.block(opened.task.goal, 'goal')}",
    ]
    if opened.task.evaluation:
        parts.append(f"**How it is evaluated**\n\n{w.block(opened.task.evaluation, 'evaluation')}")
    if given := list(_task(opened.task)):
        parts.append(f"**Task**\n\n{w.lines(given, 'task')}")
    parts.append(f"## Data and rules\n\n{w.table(('What', 'As recorded when the run began'), _rules(opened, trail))}")
    if opened.data.left_out:
        parts.append(f"**Left out of the data that programs see**\n\n{_left_out(opened.data)}")
    if trail.events:
        parts.append(f"**What happened to the run**\n\n{_events(trail)}")
    parts.append(_how_to_verify(trail, opened))
    return "\n\n".join(parts)


def metric_words(task: r.Task) -> str:
    """The metric and what is better, in words."""
    better = "lower" if task.direction == "minimize" else "higher"
    return f"{w.span(task.metric, 'metric') if task.metric else 'as the goal says'}, {better} is better"


def best_words(trail: Trail) -> str:
    """The best candidate and its number, with the label that says where the number comes from."""
    best = trail.state.best_candidate()
    if best is None:
        return "none yet" if trail.state.closed is None else "none"
    final = trail.finals.get(best.id)
    return f"{best.id}: {w.score(best.grade)}" + (f"; {w.score(final)}" if final is not None else "")


def standing_words(trail: Trail) -> str:
    """How many candidates there are, and how they stand."""
    found = [f"{trail.standings[key]:,} {words}" for key, words in _STANDINGS if trail.standings[key]]
    active = len(trail.state.candidates) - sum(trail.standings[key] for key, _ in _STANDINGS)
    if active:
        found.append(f"{active:,} under way")
    return f"{len(trail.state.candidates):,}" + (f" ({', '.join(found)})" if found else "")


def spend_words(trail: Trail) -> str:
    """What model calls used, in words."""
    spend = trail.state.spend
    open_calls = f", {len(spend.reserved):,} not settled" if spend.reserved else ""
    calls = "1 call" if spend.calls == 1 else f"{spend.calls:,} calls"
    return f"{calls}, {w.tokens(spend.tokens)}, {w.cost(spend.cost, spend.unknown_cost_calls)}{open_calls}"


def _status(trail: Trail) -> str:
    if trail.state.closed is not None:
        return f"closed, {w.when(trail.time)}"
    return f"{'paused' if trail.state.paused else 'not closed'} as of {w.when(trail.time)}"


def _summary(trail: Trail) -> Iterable[tuple[str, str]]:
    state = trail.state
    assert state.opened is not None
    budgets = state.budgets
    yield "Best candidate", best_words(trail)
    yield "Metric", metric_words(state.opened.task)
    yield "Candidates", standing_words(trail)
    yield "Steps", f"{state.steps:,} of {budgets.steps:,}"
    yield "Run time", f"{w.seconds(state.active_seconds)} of {w.seconds(budgets.seconds)}"
    yield "Model calls", spend_words(trail)
    cost = "no cap on cost" if budgets.cost_usd is None else f"${budgets.cost_usd:g}"
    yield "Budget of model calls", f"{budgets.tokens:,} tokens, {cost}"


def _task(task: r.Task) -> Iterable[str]:
    rows = {
        "Metric": task.metric,
        "Direction": f"{task.direction} ({task.direction_source})",
        "Target column": task.target,
        "Id column": task.id_column,
        "Group column": task.group_column,
        "Time column": task.time_column,
        "Known columns": ", ".join(task.known_columns) or None,
    }
    return (f"{name + ':':<16}{value}" for name, value in rows.items() if value is not None)


def _rules(opened: r.Opened, trail: Trail) -> Iterable[tuple[str, str]]:
    settings, data, limits = opened.settings, opened.data, opened.settings.limits
    left = f", {data.left_out_count:,} left out" if data.left_out_count else ", nothing left out"
    yield "Data that programs see", f"{data.files:,} files, {w.size(data.bytes)}{left}"
    yield "Data folder", w.span(data.source, "path")
    yield "Data hash", f"sha256 `{data.sha256}`"
    changed = "" if trail.state.mode == opened.mode else f", changed to {trail.state.mode}"
    yield "Review mode", f"{opened.mode}{changed}"
    yield "Policy and seed", f"{w.span(opened.policy, 'policy')}, seed {opened.seed}"
    yield "Author model", w.span(settings.code.model, "model")
    yield "Reviewer model", w.span(settings.feedback.model, "model")
    preview = settings.preview if settings.data_preview else "none"
    yield "Data shown to models", f"preview level {preview}"
    yield (
        "Limits of one program",
        f"{w.seconds(limits.seconds)}, {w.size(limits.memory_bytes)} of memory, {limits.processes:,} processes, "
        f"{w.size(limits.disk_bytes)} written, {w.size(limits.output_bytes)} printed, cores: {limits.cores}",
    )
    hosts = ", ".join(w.span(host, "host") for host in opened.grants.network[:10]) or "none"
    yield "Network granted", hosts
    yield "GPU granted", "yes" if opened.grants.gpu else "no"
    versions = ", ".join(w.span(f"{name} {version}") for name, version in sorted(opened.versions.items())[:20])
    yield "Versions", versions or "not recorded"


def _left_out(data: r.DataView) -> str:
    names = [(Untrusted(one.path, "file name").render(w.SHORT, one_line=True), one.why) for one in data.left_out]
    rows = [f"{name}: {why}" for name, why in names]
    more = data.left_out_count - len(rows)
    return w.lines([*rows, f"{more:,} more"] if more > 0 else rows, "file name")


def _events(trail: Trail) -> str:
    rows = [f"{w.when(event.time)}  {event.actor.name}: {event.words}" for event in trail.events]
    earlier = trail.event_count - len(rows)
    return w.lines([f"… {earlier:,} earlier", *rows] if earlier else rows, "event")


def _how_to_verify(trail: Trail, opened: r.Opened) -> str:
    try:
        key = f"`{fingerprint(opened.key)}`"
    except ValueError:
        key = "not readable"
    return (
        "## How to verify\n\n"
        "`jupyter aide verify` with the path of this notebook or of its folder checks every record, every program and "
        f"every cell of the agent. These cells show the journal up to record {trail.head.seq}:\n\n"
        + w.table(
            ("What", "Value"),
            (
                ("Head of the journal", f"record {trail.head.seq}, hash `{trail.head.hash}`"),
                ("Fingerprint of the signing key", key),
            ),
        )
        + "\n\nA signature counts only under a key that you already know: compare the fingerprint with the one that "
        "was shown at the end of the run. On another machine, give it with `--key`."
    )
