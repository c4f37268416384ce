"""What a page asks in the body of a request."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...records import CandidateId, Model, Purpose, ReviewMode, Sha256


class StartRun(Model):
    """``POST runs``. The options of ``jupyter aide run`` by their names; None is as if it had not been given.

    With ``example`` the data, goal, metric and target are the example's; everything else still counts.
    """

    example: bool = False
    data: str | None = None
    goal: str | None = Field(None, max_length=20_000)
    eval: str | None = Field(None, max_length=20_000)
    metric: str | None = Field(None, max_length=200)
    minimize: bool | None = None
    maximize: bool | None = None
    target: str | None = None
    id: str | None = None
    group: str | None = None
    time: str | None = None
    known: tuple[str, ...] | None = None
    model: str | None = Field(None, max_length=200)
    temperature: float | None = None
    feedback_model: str | None = Field(None, max_length=200)
    feedback_temperature: float | None = None
    report_model: str | None = Field(None, max_length=200)
    report_temperature: float | None = None
    base_url: str | None = Field(None, max_length=2000)
    price: tuple[float, float] | None = None
    policy: str | None = Field(None, max_length=100)
    preview: Literal["off", "schema", "statistics", "samples"] | None = None
    steps: int | None = None
    workers: int | None = None
    review: ReviewMode | None = None
    timeout: float | None = None
    max_time: float | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    memory: int | None = None
    seed: int | None = None
    folds: int | None = None
    drafts: int | None = None
    debug_probability: float | None = None
    debug_depth: int | None = None
    expose_prediction: bool | None = None
    generate_report: bool | None = None


class DecisionRequest(Model):
    """``POST runs/<id>/decisions``: an answer to one question of ``GET runs/<id>/reviews``, which gave every hash."""

    candidate: CandidateId
    nonce: str = Field(max_length=200)
    code: Sha256
    data: Sha256
    purposes: tuple[Purpose, ...]
    decision: Literal["approve", "edit", "reject"]
    reason: str = Field("", max_length=8000)
    edited_code: str | None = Field(None, max_length=2_000_000)


class Simple(Model):
    """Pause, resume (also of a run that nobody works at), stop, or stop at once."""

    verb: Literal["pause", "resume", "stop", "stop-now"]


class Hint(Model):
    """A person's words for the next steps."""

    verb: Literal["hint"]
    text: str = Field(min_length=1, max_length=8000)


class SwitchMode(Model):
    """Another review mode."""

    verb: Literal["mode"]
    mode: ReviewMode


class Branch(Model):
    """The next candidate is to be made from this one. ``hint`` is told to the author."""

    verb: Literal["branch"]
    candidate: CandidateId
    hint: str = Field("", max_length=8000)


class Propose(Model):
    """A candidate of one's own, approved by the act of sending it."""

    verb: Literal["propose"]
    plan: str = Field("", max_length=20_000)
    code: str = Field(min_length=1, max_length=2_000_000)
    parent: CandidateId | None = None


ControlRequest = Annotated[Simple | Hint | SwitchMode | Branch | Propose, Field(discriminator="verb")]


class ExportRequest(Model):
    """``POST runs/<id>/export``: write the best program as a notebook. Without ``path`` beside the audit notebook."""

    path: str | None = Field(None, max_length=4000)
