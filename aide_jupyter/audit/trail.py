"""What the audit views show beyond the run's state: who proposed, every execution, final numbers, what was changed.

A :class:`Trail` folds the same records as :class:`~aide_jupyter.state.RunState`, which it holds, in time that does
not grow with the run.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from .. import records as r
from ..state import Candidate, RunState
from .chain import Anchor


class Reader(Protocol):
    """Who resolves texts and pictures that stand in blobs (:class:`~aide_jupyter.audit.journal.Blobs`)."""

    def read(self, ref: r.BlobRef) -> bytes:
        """The blob's bytes, their hash checked."""
        ...

    def text(self, value: r.Text) -> str:
        """A text, whether it stands in the record or in a blob."""
        ...


@dataclass
class Execution:
    """One execution of a program: as it was started, and as it ended."""

    started: r.Started
    at: str
    finished: r.Finished | None = None


@dataclass(frozen=True)
class Event:
    """Something that happened to the run itself. ``words`` may hold a person's or a model's text."""

    time: str
    actor: r.Actor
    words: str


@dataclass
class Trail:
    """A run as its audit views tell it. ``standings`` counts the candidates by :func:`standing`."""

    state: RunState = field(default_factory=RunState)
    time: str = ""
    last: dict[str, Anchor] = field(default_factory=dict)
    choosers: dict[str, r.Actor] = field(default_factory=dict)
    authors: dict[str, r.Actor] = field(default_factory=dict)
    executions: dict[str, list[Execution]] = field(default_factory=dict)
    finals: dict[str, r.Graded] = field(default_factory=dict)
    network: dict[str, list[r.Network]] = field(default_factory=dict)
    unknown_costs: Counter[str] = field(default_factory=Counter)
    standings: Counter[str] = field(default_factory=Counter)
    events: deque[Event] = field(default_factory=lambda: deque(maxlen=20))
    event_count: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, records: Iterable[r.Record]) -> Trail:
        """The trail that these records leave, from the first on."""
        trail = cls()
        for record in records:
            trail.take(record)
        return trail

    @property
    def head(self) -> Anchor:
        """The last record taken; ``seq`` is -1 before the first."""
        return Anchor(self.state.head_seq, self.state.head_hash)

    def take(self, record: r.Record) -> str | None:
        """Add one record; says which candidate it is about, None where it is about the run."""
        named = record.data.get("candidate")
        candidate = named if isinstance(named, str) else None
        before = self._standing(candidate)
        self.state.take(record)
        self.time = record.time
        self.kinds[record.kind] += 1
        body = record.body()
        if candidate in self.state.candidates:
            self.last[candidate] = Anchor(record.seq, record.hash)
            self._take_about(candidate, body, record)
            after = self._standing(candidate)
            if before != after:
                self.standings[after or ""] += 1
                if before is not None:
                    self.standings[before] -= 1
        elif (words := _event(body)) is not None:
            self.events.append(Event(record.time, record.actor, words))
            self.event_count += 1
        return candidate if candidate in self.last else None

    def _standing(self, candidate: str | None) -> str | None:
        node = self.state.candidates.get(candidate or "")
        return None if node is None else standing(node)

    def _take_about(self, candidate: str, body: r.Body | None, record: r.Record) -> None:
        match body:
            case r.Chosen():
                self.choosers[candidate] = record.actor
            case r.Proposed():
                self.authors[candidate] = record.actor
            case r.Started():
                self.executions.setdefault(candidate, []).append(Execution(body, record.time))
            case r.Finished():
                for execution in reversed(self.executions.get(candidate, [])):
                    if execution.finished is None and execution.started.purpose == body.purpose:
                        execution.finished = body
                        break
            case r.Graded() if body.rows == "final":
                self.finals[candidate] = body
            case r.Network():
                self.network.setdefault(candidate, []).append(body)
            case r.Spent() if body.phase == "settled" and body.cost is None:
                self.unknown_costs[candidate] += 1


def standing(node: Candidate) -> str:
    """Where a candidate has got to, in a word or two."""
    if node.error is not None:
        return "no program"
    if node.stage != "finished":
        return node.stage
    if node.failed:
        return "failed"
    return "good" if node.done else "finished"


def _event(body: r.Body | None) -> str | None:
    words = None
    match body:
        case r.Changed(what="hint"):
            words = f"hint: {body.after}"
        case r.Changed():
            words = f"{body.what} changed: {_change(body.before, body.after)}"
        case r.Limited():
            words = f"budget of {body.limit:g} {body.what} reached (at {body.value:g})"
        case r.Paused():
            words = f"paused: {body.why}"
        case r.Resumed():
            words = "resumed"
        case r.Recovered():
            words = f"recovered after a crash: {body.bytes} bytes of a cut last line were moved to {body.file}"
        case r.Closed():
            words = f"closed: {body.why}"
    return words


def _change(before: JsonValue, after: JsonValue) -> str:
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return f"{before} to {after}"
    names = [name for name in after if after[name] != before.get(name)]
    return ", ".join(f"{name} {before.get(name)} to {after[name]}" for name in names)
