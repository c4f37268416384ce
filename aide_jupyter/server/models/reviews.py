"""The programs that wait for a person, and what was decided."""

from __future__ import annotations

from typing import Literal

from ...records import CandidateId, Model, Purpose, Sha256
from .candidates import Code, FlagView
from .vocabulary import Fact


class Question(Model):
    """A program that waits for a person: what it is, why they are asked, and what an approval covers.

    ``compared_with`` is the program that a diff shows at its left: the parent's. ``plan_shown`` is the model's claim.
    ``high_risk`` cards look different. ``capabilities`` says what the program will be able to do.
    """

    candidate: CandidateId
    nonce: str
    data: Sha256
    purposes: tuple[Purpose, ...]
    purposes_words: str
    why: str
    high_risk: bool
    flags: tuple[FlagView, ...]
    taints: tuple[str, ...]
    code: Code
    compared_with: CandidateId | None
    compared_code: Code | None
    plan_shown: str
    capabilities: tuple[Fact, ...]
    asked_at: str
    cell: str


class Questions(Model):
    """``GET runs/<id>/reviews``, oldest first. ``elsewhere`` says where a run of another process is answered."""

    run: str
    seq: int
    questions: tuple[Question, ...]
    elsewhere: str
    pace: str


class DecisionReply(Model):
    """The decision that stands: the one sent, or the same one sent before."""

    candidate: CandidateId
    decision: Literal["approve", "edit", "reject"]
    by: str
    words: str
