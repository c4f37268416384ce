"""Records → the state of a run. Every face (search, notebook, sidebar, command line) shows this and computes nothing.

:func:`fold` builds a state from all records; :meth:`RunState.take` adds one, in time that does not grow with the run.
Texts stay as they stand in the records (:data:`~aide_jupyter.records.Text`); who shows them resolves the blobs.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from . import records as r
from .candidate import Candidate

__all__ = ["Candidate", "Phase", "RunState", "Spend", "fold"]

Phase = Literal["running", "waiting", "paused", "interrupted", "closed"]


@dataclass
class Spend:
    """What model calls have used. A call that is under way counts with what it reserved."""

    calls: int = 0
    tokens: r.Tokens = field(default_factory=r.Tokens)
    cost: float = 0.0
    unknown_cost_calls: int = 0
    reserved: dict[int, r.Spent] = field(default_factory=dict)

    @property
    def worst_tokens(self) -> int:
        """Tokens used, and those that calls under way may still use."""
        open_tokens = sum(spent.tokens.prompt + spent.tokens.completion for spent in self.reserved.values())
        return self.tokens.prompt + self.tokens.completion + open_tokens

    @property
    def worst_cost(self) -> float:
        """US dollars used, and those that calls under way may still use."""
        return self.cost + sum(spent.cost or 0.0 for spent in self.reserved.values())


@dataclass
class RunState:
    """A run as its records tell it.

    Five fields spare the search from reading the whole run at each step. ``ranking`` holds the good candidates, best
    first, as (sort key, number, id); ``lines`` the best good candidate of each draft's descendants, by the draft;
    ``failed_leaves`` those that failed with a program and have no child that was tried or may yet be, in order of
    number; ``unfinished`` those to which more will happen. ``roots`` are the drafts, without those that were
    rejected or replaced by an edit.
    """

    run: str = ""
    opened: r.Opened | None = None
    candidates: dict[str, Candidate] = field(default_factory=dict)
    proposed_order: list[str] = field(default_factory=list)
    head_seq: int = -1
    head_hash: str = "0" * 64
    mode: r.ReviewMode = "every"
    budgets: r.Budgets = field(default_factory=r.Budgets)
    base_url: str | None = None  # this and the price: where the model is served now, and what it costs there
    price: tuple[float, float] | None = None
    hints: list[str] = field(default_factory=list)
    spend: Spend = field(default_factory=Spend)
    paused: r.Paused | None = None
    limited: list[r.Limited] = field(default_factory=list)
    closed: r.Closed | None = None
    best: str | None = None
    waiting: dict[str, r.Asked] = field(default_factory=dict)
    steps: int = 0
    roots: list[str] = field(default_factory=list)
    ranking: list[tuple[float, int, str]] = field(default_factory=list)
    lines: dict[str, str] = field(default_factory=dict)
    failed_leaves: list[str] = field(default_factory=list)
    unfinished: dict[str, None] = field(default_factory=dict)
    active_seconds: float = 0.0
    _last_time: datetime | None = None
    _holding: set[str] = field(default_factory=set)

    def take(self, record: r.Record) -> None:
        """Add one record. Records come in order of ``seq``; one of an unknown kind moves only the head."""
        if record.seq != self.head_seq + 1:
            raise ValueError(f"record {record.seq} after {self.head_seq}")
        self._count_time(record)
        self.run, self.head_seq, self.head_hash = record.run, record.seq, record.hash
        body = record.body()
        if body is not None:
            getattr(self, f"_take_{record.kind}")(body, record)

    def best_candidate(self) -> Candidate | None:
        """The good candidate with the best number; the earlier one where two are equal."""
        return None if self.best is None else self.candidates[self.best]

    def better(self, left: float, right: float) -> bool:
        """Whether ``left`` is a strictly better number than ``right`` for this task."""
        return left < right if self.minimize else left > right

    @property
    def minimize(self) -> bool:
        """Whether a lower number is better."""
        return self.opened is not None and self.opened.task.direction == "minimize"

    def phase(self, *, owned: bool) -> Phase:
        """What the run is doing. ``owned`` says whether a living process holds its lock."""
        if self.closed is not None:
            return "closed"
        if not owned:
            return "paused" if self.paused is not None else "interrupted"
        if self.paused is not None:
            return "paused"
        return "waiting" if self.waiting and not self._holding else "running"

    def lineage(self, candidate: str) -> list[Candidate]:
        """The candidate and its ancestors, itself first."""
        found = []
        next_id: str | None = candidate
        while next_id is not None:
            found.append(self.candidates[next_id])
            next_id = self.candidates[next_id].parent
        return found

    # How each kind of record changes the state. ``take`` calls these by name.

    def _count_time(self, record: r.Record) -> None:
        """Run time counts from record to record, except while paused, unowned, or only waiting for a person."""
        now = datetime.fromisoformat(record.time)
        idle = self.paused is not None or record.kind == "resumed" or (self.waiting and not self._holding)
        if self._last_time is not None and not idle:
            self.active_seconds += max(0.0, (now - self._last_time).total_seconds())
        self._last_time = now

    def _mark(self, candidate: str, record: r.Record) -> Candidate:
        node = self.candidates[candidate]
        node.seqs[record.kind] = record.seq
        node.times[record.kind] = record.time
        return node

    def _take_opened(self, body: r.Opened, record: r.Record) -> None:
        self.opened, self.mode, self.budgets = body, body.mode, body.budgets
        self.base_url, self.price = body.settings.base_url, body.settings.price

    def _take_chosen(self, body: r.Chosen, record: r.Record) -> None:
        parent = None if body.parent is None else self.candidates[body.parent]
        self.candidates[body.candidate] = Candidate(
            id=body.candidate,
            parent=body.parent,
            operator=body.operator,
            depth=0 if parent is None else parent.depth + 1,
            debug_depth=parent.debug_depth + 1 if parent is not None and body.operator == "debug" else 0,
            root=body.candidate if parent is None else parent.root,
            draw=body.draw,
        )
        self.unfinished[body.candidate] = None
        if parent is None:
            self.roots.append(body.candidate)
        else:
            parent.children.append(body.candidate)
            self._place_leaf(parent)
        self.steps += 1
        self._holding.add(body.candidate)
        self._mark(body.candidate, record)

    def _take_proposed(self, body: r.Proposed, record: r.Record) -> None:
        node = self._mark(body.candidate, record)
        node.plan, node.code, node.error, node.edit_of = body.plan, body.code, body.error, body.edit_of
        node.tainted, node.model = body.tainted, record.actor.model
        node.stage = "proposed"
        if body.edit_of is not None:
            self.steps -= 1
        if body.error is not None:
            node.stage = "finished"
            self._holding.discard(node.id)
            self._end(node)
        self.proposed_order.append(node.id)

    def _take_asked(self, body: r.Asked, record: r.Record) -> None:
        node = self._mark(body.candidate, record)
        node.stage, node.flags = "waiting", body.flags
        self.waiting[node.id] = body
        self._holding.discard(node.id)

    def _take_decided(self, body: r.Decided, record: r.Record) -> None:
        node = self._mark(body.candidate, record)
        self.waiting.pop(node.id, None)
        node.decided, node.decided_by = body, record.actor
        node.flags = node.flags or body.flags
        node.stage = {"approve": "approved", "edit": "edited", "reject": "rejected"}[body.decision]  # type: ignore[assignment]
        if body.decision == "approve":
            self._holding.add(node.id)
        else:
            self._holding.discard(node.id)
            self._end(node)

    def _take_started(self, body: r.Started, record: r.Record) -> None:
        if body.purpose == "search":
            self._mark(body.candidate, record).stage = "running"

    def _take_finished(self, body: r.Finished, record: r.Record) -> None:
        if body.purpose == "search":
            node = self._mark(body.candidate, record)
            node.finished, node.stage = body, "finished"

    def _take_graded(self, body: r.Graded, record: r.Record) -> None:
        if body.rows == "selection":
            self._mark(body.candidate, record).grade = body
            self._settle(body.candidate)

    def _take_reviewed(self, body: r.Reviewed, record: r.Record) -> None:
        self._mark(body.candidate, record).review = body
        self._settle(body.candidate)

    def _settle(self, candidate: str) -> None:
        node = self.candidates[candidate]
        if node.done:
            self._holding.discard(candidate)
            self._end(node)
        best = self.best_candidate()
        if node.good and (best is None or self.better(node.value or 0.0, best.value or 0.0)):
            self.best = candidate

    def _end(self, node: Candidate) -> None:
        """Enter a candidate to which nothing more will happen into the fields that the search reads."""
        if node.id not in self.unfinished:
            return
        del self.unfinished[node.id]
        parent = None if node.parent is None else self.candidates[node.parent]
        if node.stage in ("rejected", "edited"):
            if parent is None:
                self.roots.remove(node.id)
            else:
                self._place_leaf(parent)
            return
        gained = False
        if node.good and node.value is not None:
            insort(self.ranking, (node.value if self.minimize else -node.value, node.number, node.id))
            best = self.lines.get(node.root)
            if best is None or self.better(node.value, self.candidates[best].value or 0.0):
                self.lines[node.root] = node.id
            gained = parent is None or parent.value is None or self.better(node.value, parent.value)
        if parent is not None and node.operator == "improve" and not gained:
            parent.fruitless += 1
        self._place_leaf(node)

    def _place_leaf(self, node: Candidate) -> None:
        """Keep ``failed_leaves`` true for a candidate that ended, or one of whose children came or went."""
        leaf = node.done and node.failed and node.code != "" and not self._tried(node)
        place = bisect_left(self.failed_leaves, node.number, key=lambda one: self.candidates[one].number)
        there = self.failed_leaves[place : place + 1] == [node.id]
        if leaf and not there:
            self.failed_leaves.insert(place, node.id)
        elif there and not leaf:
            del self.failed_leaves[place]

    def _tried(self, node: Candidate) -> bool:
        return any(self.candidates[child].stage not in ("rejected", "edited") for child in reversed(node.children))

    def _take_spent(self, body: r.Spent, record: r.Record) -> None:
        spend = self.spend
        if body.phase == "reserved":
            spend.calls += 1
            spend.reserved[body.call] = body
            return
        spend.reserved.pop(body.call, None)
        spend.tokens = _plus(spend.tokens, body.tokens)
        if body.cost is None:
            spend.unknown_cost_calls += 1
        else:
            spend.cost += body.cost
        if body.candidate in self.candidates:
            node = self.candidates[body.candidate]
            node.tokens = _plus(node.tokens, body.tokens)
            node.cost = node.cost if body.cost is None else (node.cost or 0.0) + body.cost

    def _take_changed(self, body: r.Changed, record: r.Record) -> None:
        if body.what == "mode":
            self.mode = body.after  # type: ignore[assignment]
        elif body.what == "hint":
            self.hints.append(str(body.after))
        elif body.what == "budget":
            self.budgets = r.Budgets.model_validate(body.after)
        elif isinstance(body.after, dict):
            given = {name: body.after[name] for name in ("base_url", "price") if name in body.after}
            now = r.Settings.model_validate({"base_url": self.base_url, "price": self.price, **given})
            self.base_url, self.price = now.base_url, now.price

    def _take_network(self, body: r.Network, record: r.Record) -> None:
        self._mark(body.candidate, record)

    def _take_limited(self, body: r.Limited, record: r.Record) -> None:
        self.limited.append(body)

    def _take_paused(self, body: r.Paused, record: r.Record) -> None:
        self.paused = body

    def _take_resumed(self, body: r.Resumed, record: r.Record) -> None:
        self.paused = None

    def _take_recovered(self, body: r.Recovered, record: r.Record) -> None:
        """Nothing but the head moves: the cut line was never acted on."""

    def _take_closed(self, body: r.Closed, record: r.Record) -> None:
        self.closed = body
        self.waiting.clear()
        self._holding.clear()


def _plus(left: r.Tokens, right: r.Tokens) -> r.Tokens:
    return r.Tokens(prompt=left.prompt + right.prompt, completion=left.completion + right.completion)


def fold(records: Iterable[r.Record]) -> RunState:
    """The state that these records tell, from the first on."""
    state = RunState()
    for record in records:
        state.take(record)
    return state
