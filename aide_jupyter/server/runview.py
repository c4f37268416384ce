"""A run as a page shows it: records to view models, with what the server knows beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from .. import __version__
from .. import records as r
from ..anchoring import notebook_of
from ..audit import words as w
from ..audit.trail import Trail
from ..finish import REPORT
from ..run_index import RunEntry
from ..state import RunState
from . import models as m
from . import words
from .models import Fact, OwnerWord, RunEvent, RunSummary, Verb, ViewPhase
from .nodes import Picture
from .places import Places

_STEERED: tuple[Verb, ...] = ("stop", "stop-now", "hint", "mode")


@dataclass(frozen=True)
class Around:
    """What the records do not say: who runs the run, what is being prepared, and what went wrong."""

    entry: RunEntry
    owner: OwnerWord
    places: Places
    modes: tuple[r.ReviewMode, ...] = ()
    preparing: str = ""
    problems: Sequence[str] = field(default_factory=tuple)


def run_state(picture: Picture, around: Around, after: int = -1) -> m.RunState:
    """The whole run, or with ``after`` what changed in its tree since that record."""
    trail, entry, places = picture.trail, around.entry, around.places
    state, opened = trail.state, trail.state.opened
    assert opened is not None
    now = phase_of(trail, around)
    ticking = now == "running"
    elapsed = state.active_seconds + (_since(trail.time) if ticking else 0.0)
    partial = picture.knows(after)
    since = after if partial else -1
    task = opened.task
    return m.RunState(
        version=__version__,
        run=state.run,
        seq=trail.head.seq,
        hash=trail.head.hash,
        title=words.first_line(task.goal, "goal"),
        phase=now,
        phase_words=words.phase(state, now, ""),
        preparing=around.preparing,
        owner=around.owner,
        owner_words="" if now == "closed" else words.OWNERS[around.owner],
        actions=_actions(now, around.owner),
        goal=words.long(task.goal, "goal"),
        evaluation=words.long(task.evaluation or "", "evaluation"),
        facts=tuple(_facts(opened)),
        mode=state.mode,
        modes=around.modes,
        metric=words.metric(state),
        direction=task.direction,
        direction_words=words.direction(task),
        elapsed_seconds=round(elapsed, 3),
        ticking=ticking,
        meters=words.meters(state, elapsed),
        calls=state.spend.calls,
        unknown_cost_calls=state.spend.unknown_cost_calls,
        best=words.best(state, trail.finals.get(state.best or "")),
        partial=partial,
        nodes=picture.nodes(since),
        candidates=len(state.candidates),
        failed=sum(node.failed for node in state.candidates.values()),
        points=picture.points(since),
        waiting=tuple(state.waiting),
        hints=tuple(words.long(hint, "hint", 8000) for hint in state.hints),
        limits_reached=tuple(_limit(one) for one in state.limited),
        problems=tuple(around.problems),
        events=tuple(
            RunEvent(time=one.time, who=words.who(one.actor), shown=words.short(words.long(one.words, "event", 2000)))
            for one in trail.events
        ),
        folder=places.shown(entry.folder),
        notebook=places.relative(notebook_of(entry)),
        key=entry.key,
        created=entry.created,
        closed_why="" if state.closed is None else words.short(words.line(state.closed.why, "reason", 2000)),
        report=_there(entry.folder / REPORT, places) if state.closed is not None else None,
        solution=_there(entry.folder / "best" / "solution.ipynb", places) if state.closed is not None else None,
    )


def run_summary(trail: Trail, around: Around) -> RunSummary:
    """A row of the list."""
    state, entry = trail.state, around.entry
    assert state.opened is not None
    now = phase_of(trail, around)
    return RunSummary(
        run=state.run,
        title=words.first_line(state.opened.task.goal, "goal"),
        phase=now,
        phase_words=words.phase(state, now, ""),
        owner=around.owner,
        created=entry.created,
        steps=state.steps,
        steps_max=state.budgets.steps,
        best=words.best(state, trail.finals.get(state.best or "")),
        waiting=len(state.waiting),
        folder=around.places.shown(entry.folder),
        notebook=around.places.relative(notebook_of(entry)),
        actions=_actions(now, around.owner),
        problem=next(iter(around.problems), ""),
    )


def phase_of(trail: Trail, around: Around) -> ViewPhase:
    """What the run is doing."""
    if around.preparing and trail.state.closed is None:
        return "preparing"
    return trail.state.phase(owned=around.owner != "nobody")


def without_records(run: str, title: str, phase: ViewPhase, around: Around) -> RunSummary:
    """A row for a run that has no records, or none that can be read."""
    problem = next(iter(around.problems), "")
    return RunSummary(
        run=run,
        title=words.first_line(title, "goal"),
        phase=phase,
        phase_words=around.preparing or words.phase(RunState(), phase, problem),
        owner=around.owner,
        created=around.entry.created,
        steps=0,
        steps_max=0,
        best=None,
        waiting=0,
        folder=around.places.shown(around.entry.folder),
        notebook=None,
        actions=("stop",) if phase == "preparing" else (),
        problem=problem,
    )


def _actions(now: ViewPhase, owner: OwnerWord) -> tuple[Verb, ...]:
    """What can be asked of the run now. Only a run of this server takes programs and branches."""
    own: tuple[Verb, ...] = ("branch", "propose") if owner == "server" else ()
    match now:
        case "preparing":
            return ("stop",)
        case "running" | "waiting":
            return ("pause", *_STEERED, *own)
        case "paused" if owner != "nobody":
            return ("resume", *_STEERED, *own)
        case "paused" | "interrupted":
            return ("resume", "stop")
        case _:
            return ()


def _facts(opened: r.Opened) -> Iterator[Fact]:
    data, settings, task = opened.data, opened.settings, opened.task
    left_out = f", {data.left_out_count:,} left out" if data.left_out_count else ""
    rows: list[tuple[str, str | None]] = [
        ("Data", data.source),
        ("What programs see", f"{data.files:,} files, {w.size(data.bytes)}{left_out}"),
        ("Target", task.target),
        ("Id column", task.id_column),
        ("Group column", task.group_column),
        ("Time column", task.time_column),
        ("Known columns", ", ".join(task.known_columns) or None),
        ("Author model", settings.code.model),
        ("Reviewer model", settings.feedback.model),
        ("What a model sees of the data", settings.preview if settings.data_preview else "nothing"),
        ("Search policy", opened.policy),
        ("Workers", str(settings.workers)),
        ("Seconds for one program", w.seconds(settings.limits.seconds)),
        ("Memory for one program", w.size(settings.limits.memory_bytes)),
        ("Seed", str(opened.seed)),
        ("Network of programs", ", ".join(opened.grants.network) or "none"),
    ]
    for name, value in rows:
        if value is not None:
            yield Fact(name=name, shown=words.line(value, "setting", 400))


def _limit(one: r.Limited) -> str:
    return f"The budget of {one.limit:,g} {words.line(one.what, 'budget')} was reached."


def _there(path: Path, places: Places) -> str | None:
    return places.relative(path) if path.is_file() else None


def _since(time: str) -> float:
    try:
        return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds())
    except ValueError:
        return 0.0


def unopened_state(run: str, goal: str, mode: r.ReviewMode, around: Around) -> m.RunState:
    """A run that has no record yet: it is being prepared, or could not begin."""
    now: ViewPhase = "preparing" if around.preparing else "failed"
    problem = next(iter(around.problems), "it was stopped before it began")
    empty = RunState()
    return m.RunState(
        version=__version__,
        run=run,
        seq=-1,
        hash="",
        title=words.first_line(goal, "goal"),
        phase=now,
        phase_words=around.preparing or words.phase(empty, now, problem),
        preparing=around.preparing,
        owner=around.owner if around.preparing else "nobody",
        owner_words=words.OWNERS[around.owner if around.preparing else "nobody"],
        actions=_actions(now, around.owner),
        goal=words.long(goal, "goal"),
        evaluation="",
        facts=(),
        mode=mode,
        modes=around.modes,
        metric="",
        direction=None,
        direction_words="",
        elapsed_seconds=0.0,
        ticking=False,
        meters=(),
        calls=0,
        unknown_cost_calls=0,
        best=None,
        partial=False,
        nodes=(),
        candidates=0,
        failed=0,
        points=(),
        waiting=(),
        hints=(),
        limits_reached=(),
        problems=tuple(around.problems),
        events=(),
        folder=around.places.shown(around.entry.folder),
        notebook=None,
        key="",
        created=around.entry.created,
        closed_why="",
        report=None,
        solution=None,
    )
