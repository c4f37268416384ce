"""Runs: the list of them, and the state of one."""

from __future__ import annotations

from typing import Literal

from ...records import CandidateId, Direction, Model, Operator, ReviewMode
from .vocabulary import Fact, NumberSource, OwnerWord, Standing, Verb, ViewPhase


class Best(Model):
    """The best candidate and where its number comes from."""

    id: CandidateId
    value: float
    value_text: str
    metric: str
    source: NumberSource
    source_words: str


class RunSummary(Model):
    """A row of the list of runs."""

    run: str
    title: str
    phase: ViewPhase
    phase_words: str
    owner: OwnerWord
    created: str
    steps: int
    steps_max: int
    best: Best | None
    waiting: int
    folder: str
    notebook: str | None
    actions: tuple[Verb, ...]
    problem: str


class RunList(Model):
    """``GET runs``, newest first."""

    version: str
    runs: tuple[RunSummary, ...]


class RunStarted(Model):
    """``POST runs``: the run's id. Its state tells how preparing it gets on."""

    run: str


class Node(Model):
    """A candidate in the tree. ``number`` counts from 1 in the order of ``chosen``; ``changed`` is the record at which
    something about this node last changed. ``dangers`` counts the flags that are dangers."""

    id: CandidateId
    number: int
    parent: CandidateId | None
    depth: int
    operator: Operator
    standing: Standing
    status_words: str
    value: float | None
    value_text: str
    source: NumberSource | None
    best: bool
    failed: bool
    flags: int
    dangers: int
    tainted: bool
    edit_of: CandidateId | None
    by_person: bool
    plan_line: str
    seconds: float | None
    changed: int


class Point(Model):
    """A number of the score over time. ``best`` is the best number of good candidates so far; None before the first."""

    id: CandidateId
    number: int
    value: float
    best: float | None
    source: NumberSource
    good: bool


class Meter(Model):
    """Something used against its cap, as numbers and in words. ``limit`` is None where none is set."""

    name: Literal["steps", "time", "tokens", "money"]
    label: str
    used: float
    limit: float | None
    words: str
    reached: bool


class RunEvent(Model):
    """Something that happened to the run itself."""

    time: str
    who: str
    shown: str


class RunState(Model):
    """``GET runs/<id>/state?after=``: the run as its records tell it.

    ``nodes`` are all candidates in order, ``points`` all numbers in the order in which they came; with ``after`` only
    those that changed since that record, and ``partial`` is True: the page puts them in by ``id``.
    ``elapsed_seconds`` is run time at the moment of the reply and goes on by the clock while ``ticking``.
    """

    version: str
    run: str
    seq: int
    hash: str
    title: str
    phase: ViewPhase
    phase_words: str
    preparing: str
    owner: OwnerWord
    owner_words: str
    actions: tuple[Verb, ...]
    goal: str
    evaluation: str
    facts: tuple[Fact, ...]
    mode: ReviewMode
    modes: tuple[ReviewMode, ...]
    metric: str
    direction: Direction | None
    direction_words: str
    elapsed_seconds: float
    ticking: bool
    meters: tuple[Meter, ...]
    calls: int
    unknown_cost_calls: int
    best: Best | None
    partial: bool
    nodes: tuple[Node, ...]
    candidates: int
    failed: int
    points: tuple[Point, ...]
    waiting: tuple[CandidateId, ...]
    hints: tuple[str, ...]
    limits_reached: tuple[str, ...]
    problems: tuple[str, ...]
    events: tuple[RunEvent, ...]
    folder: str
    notebook: str | None
    key: str
    created: str
    closed_why: str
    report: str | None
    solution: str | None


class ControlReply(Model):
    """What was done. ``candidate`` is the one that branch and propose have begun."""

    run: str
    phase: ViewPhase
    words: str
    candidate: CandidateId | None
