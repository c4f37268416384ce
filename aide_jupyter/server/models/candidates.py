"""One candidate: its program, what came of it, and who had a part in it."""

from __future__ import annotations

from typing import Literal

from ...records import Model, Purpose, ReviewMode, Sha256
from .runs import Node
from .vocabulary import Fact, NumberSource


class HiddenCharacters(Model):
    """A line of code with characters that cannot be seen, or pass for others. ``shown`` has them as escapes."""

    line: int
    shown: str


class Code(Model):
    """A program, byte for byte, with what an eye would miss in it."""

    sha256: Sha256
    exact: str
    hidden: tuple[HiddenCharacters, ...]


class FlagView(Model):
    """A reason to look. ``line`` is 0 for the whole program."""

    rule: str
    line: int
    message: str
    severity: Literal["note", "danger"]


class OutputView(Model):
    """One output as it was recorded: a claim of the program. ``image`` is a blob with a checked PNG."""

    type: Literal["stream", "text", "error", "image"]
    name: str
    shown: str
    image: Sha256 | None
    image_bytes: int


class ObservedView(Model):
    """What the server saw for itself."""

    status: str
    seconds: float
    peak_memory_bytes: int
    limit: str | None
    exit: int | None
    output_bytes: int
    files: tuple[Fact, ...]
    facts: tuple[Fact, ...]


class ClaimedView(Model):
    """What came out of the kernel, all of which a program can forge."""

    reply: str
    metric: float | None
    metric_text: str
    truncated_bytes: int
    masks: int
    outputs: tuple[OutputView, ...]


class GradeView(Model):
    """A number, or why there is none."""

    value: float | None
    words: str
    source: NumberSource
    interval: tuple[float, float] | None
    error: str


class ReviewerView(Model):
    """What the reviewer model made of it: a model's claim."""

    failed: bool
    shown: str
    by: str


class Provenance(Model):
    """Who wrote it, what that used, who decided, when and why."""

    author: str
    author_kind: Literal["user", "agent", "policy", "system", "unknown"]
    model: str
    chosen_by: str
    proposed_at: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    unknown_cost_calls: int
    cost_words: str
    decision: Literal["approve", "edit", "reject"] | None
    decided_by: str
    decided_by_kind: Literal["user", "agent", "policy", "system", "unknown"]
    decided_at: str
    decided_mode: ReviewMode | None
    decided_purposes: tuple[Purpose, ...]
    reason_shown: str


class CandidateView(Model):
    """``GET runs/<id>/candidates/<cid>``: all about one candidate. ``seq`` is the record up to which this is so."""

    run: str
    seq: int
    node: Node
    headline: str
    plan_shown: str
    error_shown: str
    code: Code | None
    parent_code: Code | None
    parent_words: str
    flags: tuple[FlagView, ...]
    taints: tuple[str, ...]
    observed: ObservedView | None
    claimed: ClaimedView | None
    grade: GradeView | None
    final: GradeView | None
    review: ReviewerView | None
    provenance: Provenance
    facts: tuple[Fact, ...]
