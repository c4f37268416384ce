"""What is asked: of a run, by a person (:class:`Request`); of the author model, at one step (:class:`Assignment`)."""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import Field, model_validator

from .records import Budgets, Direction, Grants, Model, Operator, ReviewMode, Settings


class Request(Model):
    """A run as a person asks for it, from the command line, Python or a page. Relative paths are as given.

    ``direction`` is set only where the person said ``--minimize`` or ``--maximize``.
    """

    data_dir: Path
    goal: str = Field(min_length=1)
    evaluation: str | None = None
    metric: str | None = None
    direction: Direction | None = None
    target: str | None = None
    id_column: str | None = None
    group_column: str | None = None
    time_column: str | None = None
    known_columns: tuple[str, ...] = ()
    mode: ReviewMode | None = None
    budgets: Budgets = Budgets()
    settings: Settings = Settings()
    grants: Grants = Grants()
    out: Path = Path("aide-runs")

    @model_validator(mode="after")
    def _goal_says_something(self) -> Request:
        if not self.goal.strip():
            raise ValueError("the goal is empty: say in a sentence what is to be predicted and from what")
        return self


@dataclass(frozen=True)
class Attempt:
    """A candidate as a later prompt tells of it. All texts are untrusted."""

    id: str
    operator: Operator
    plan: str
    code: str
    output: str
    value: float | None
    failed: bool
    summary: str


@dataclass(frozen=True)
class Memory:
    """One line of what has been tried: no code, no output."""

    id: str
    plan: str
    value: float | None
    summary: str


@dataclass(frozen=True)
class Assignment:
    """What the author is asked to write next, in bounded size.

    ``parent`` is what is improved or debugged. ``fixes`` are the failed fixes before it, oldest first (debug only).
    ``others`` are further solutions to combine (ensemble only). ``families`` are the model families that drafts have
    already used, so that the next draft differs; ``drafts_ahead`` counts those that other workers are writing now.
    ``hints`` are a person's words, newest last.
    """

    candidate: str
    operator: Operator
    step: int
    steps: int
    parent: Attempt | None = None
    fixes: tuple[Attempt, ...] = ()
    others: tuple[Attempt, ...] = ()
    memory: tuple[Memory, ...] = ()
    families: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    drafts_ahead: int = 0


def new_run_id(now: datetime) -> str:
    """A run's id: sortable by time, unique, and safe in file names and cell ids (``20261130t191148-1f3a9c02``)."""
    return f"{now:%Y%m%dt%H%M%S}-{secrets.token_hex(4)}"


def slug(goal: str, run: str) -> str:
    """The name of a run's folder: the goal's first words, then the end of the run's id."""
    plain = unicodedata.normalize("NFKD", goal).encode("ascii", "ignore").decode().lower()
    words = "-".join(re.findall(r"[a-z0-9]+", plain)[:5])[:50].strip("-")
    return "-".join(part for part in (words, run[-8:]) if part)
