"""One candidate of a run: a program with all that has become of it so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from . import records as r

Stage = Literal["chosen", "proposed", "waiting", "approved", "running", "finished", "rejected", "edited"]


@dataclass
class Candidate:
    """One node of the tree, as far as its life has come.

    ``root`` is the draft from which it descends; ``fruitless`` how many improvements of it have ended without a
    better number.
    """

    id: str
    parent: str | None
    operator: r.Operator
    depth: int
    debug_depth: int
    root: str = ""
    draw: int = 0
    stage: Stage = "chosen"
    plan: r.Text = ""
    code: r.Text = ""
    error: str | None = None
    model: str | None = None
    edit_of: str | None = None
    tainted: tuple[str, ...] = ()
    flags: tuple[r.Flag, ...] = ()
    decided: r.Decided | None = None
    decided_by: r.Actor | None = None
    finished: r.Finished | None = None
    grade: r.Graded | None = None
    review: r.Reviewed | None = None
    children: list[str] = field(default_factory=list)
    fruitless: int = 0
    tokens: r.Tokens = field(default_factory=r.Tokens)
    cost: float | None = None
    seqs: dict[str, int] = field(default_factory=dict)
    times: dict[str, str] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """Its place in the order of ``chosen``, from 1."""
        return int(self.id[1:])

    @property
    def code_sha256(self) -> str:
        """The hash by which decisions name this program."""
        return r.text_sha256(self.code)

    @property
    def done(self) -> bool:
        """Whether nothing more will happen to it."""
        if self.error is not None or self.stage in ("rejected", "edited"):
            return True
        return self.finished is not None and "graded" in self.seqs and "reviewed" in self.seqs

    @property
    def failed(self) -> bool:
        """Whether it has failed: no program, no clean execution, no finite metric, or a reviewer who found a bug.

        A rejected program has not failed; it was never tried.
        """
        if self.error is not None:
            return True
        if self.finished is None:
            return False
        if self.finished.status != "ok" or (self.grade is not None and self.grade.value is None):
            return True
        return self.review is not None and self.review.failed

    @property
    def good(self) -> bool:
        """Whether it ran cleanly, has a number and was not found to be wrong."""
        return self.value is not None and self.done and not self.failed

    @property
    def value(self) -> float | None:
        """The number that drives the search; None where there is none."""
        return None if self.grade is None else self.grade.value
