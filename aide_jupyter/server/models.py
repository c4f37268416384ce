"""Every request, reply and socket message, as pydantic models. The page's TypeScript types are made from these.

A page shows what a reply says and computes nothing from records. Texts of models, programs and data are named for what
was done to them: ``shown`` and ``…_line`` went through :meth:`aide_jupyter.untrusted.Untrusted.render`; ``exact`` is
byte for byte what runs. All of them are plain text, to be put into a page with ``textContent``.

Units: seconds, bytes, US dollars, tokens. Times are UTC in ISO 8601. Paths are relative to the server's root, with
``/``, where a file browser could show them; a path outside it is absolute.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from ..records import (
    BlobRef,
    CandidateId,
    Direction,
    Model,
    Operator,
    PreviewLevel,
    Purpose,
    ReviewMode,
    Sha256,
)

ViewPhase = Literal[
    "preparing", "failed", "running", "waiting", "paused", "interrupted", "closed", "missing", "unreadable"
]
"""``preparing``: the data is measured and a jail proven; ``failed``: that did not work, and there is no run."""
OwnerWord = Literal["server", "elsewhere", "nobody"]
Standing = Literal[
    "chosen", "proposed", "waiting", "approved", "running", "finished", "good", "failed", "rejected", "edited",
    "no program",
]  # fmt: skip
Verb = Literal["pause", "resume", "stop", "stop-now", "hint", "mode", "branch", "propose"]
NumberSource = Literal["final", "selection", "reported"]
Title = Annotated[str, Field(max_length=400)]


# --- what a page asks ------------------------------------------------------------------------------------------------


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


# --- what the server answers -----------------------------------------------------------------------------------------


class ErrorReply(Model):
    """Any answer that is no success. ``decided`` says who decided before (409)."""

    message: str
    advice: str = ""
    reason: str = ""


class Version(Model):
    """``GET version``. ``version`` is the package's; a page built for another one says so."""

    version: str


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


class Fact(Model):
    """A line of a table: a name in this package's words, and a value as text."""

    name: str
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


class ControlReply(Model):
    """What was done. ``candidate`` is the one that branch and propose have begun."""

    run: str
    phase: ViewPhase
    words: str
    candidate: CandidateId | None


class RecordView(Model):
    """A record for the audit view. ``data`` is its body as it stands in the journal; ``shown`` says it in a line."""

    seq: int
    time: str
    kind: str
    who: str
    candidate: str
    shown: str
    data: dict[str, JsonValue]
    hash: Sha256


class Records(Model):
    """``GET runs/<id>/records?after=&limit=``. ``more`` says that there are further ones."""

    run: str
    records: tuple[RecordView, ...]
    more: bool


class Head(Model):
    """The last record that a reply tells of."""

    seq: int
    hash: str


class Cells(Model):
    """``GET runs/<id>/cells?after=``: the whole of each agent cell that changed since, the order of all, and the
    notebook's metadata, as nbformat 4.5 has them."""

    run: str
    head: Head
    metadata: dict[str, JsonValue]
    order: tuple[str, ...]
    cells: tuple[dict[str, JsonValue], ...]
    closed: bool


class ModelView(Model):
    """A model that a run can use. ``ready`` says that it could be called; ``advice`` what to set where it could not."""

    name: str
    provider: str
    ready: bool
    price_known: bool
    price_words: str
    advice: str
    recommended: bool


class Provider(Model):
    """A well-known provider, and whether its key is set."""

    name: str
    ready: bool
    variable: str
    advice: str
    prefix: str


class Models(Model):
    """``GET models``; with ``?name=`` what is known of that one. ``any_allowed``: a name may be typed freely."""

    models: tuple[ModelView, ...]
    providers: tuple[Provider, ...]
    any_allowed: bool
    allowed_words: str


class Column(Model):
    """A column: its exact name, to send back, and the same to show."""

    exact: str
    shown: str


class Table(Model):
    """A table of the data folder."""

    shown: str
    columns: tuple[Column, ...]


class Columns(Model):
    """``GET columns?path=``. ``target`` is the column that is plainly to be predicted, None where that is not plain."""

    path: str
    tables: tuple[Table, ...]
    target: str | None


class Choice(Model):
    """A value of a choice, and its label."""

    value: str
    label: str
    description: str


class Cap(Model):
    """A number of the form: what it is unless set, and the administrator's cap (None: none)."""

    name: Literal["steps", "workers", "timeout", "max_time", "max_tokens", "max_cost", "memory"]
    default: float | None
    cap: float | None
    unit: str


class Form(Model):
    """``GET form``: what a new run can be asked for here, within the administrator's caps."""

    version: str
    modes: tuple[Choice, ...]
    default_mode: ReviewMode
    previews: tuple[Choice, ...]
    default_preview: PreviewLevel | Literal["off"]
    policies: tuple[str, ...]
    metrics: tuple[Choice, ...]
    numbers: tuple[Cap, ...]
    default_model: str
    runs_folder: str
    data_words: str
    user: str


class CheckView(Model):
    """One thing that doctor looked at."""

    name: str
    ok: bool
    detail: str
    advice: str


class Doctor(Model):
    """``GET doctor`` (as last looked), ``POST doctor`` (looks again)."""

    ok: bool
    words: str
    at: str
    checks: tuple[CheckView, ...]


class VerifyReply(Model):
    """``GET runs/<id>/verify`` and ``GET verify?path=``."""

    code: Literal[0, 1, 2, 3]
    verdict: Literal["intact", "altered", "not closed", "not anchored"]
    words: str
    run: str
    records: int
    first_bad: int | None
    problems: tuple[str, ...]
    lines: tuple[str, ...]
    key: str


class Exported(Model):
    """``POST runs/<id>/export``: where the solution is."""

    path: str
    words: str


# --- the socket ------------------------------------------------------------------------------------------------------


class OutputMessage(Model):
    """Running output of a program, masked. ``offset`` and ``end`` count characters of its whole output: text between
    two messages that do not meet was skipped, since the page was too slow for it."""

    type: Literal["output"] = "output"
    candidate: CandidateId
    offset: int
    end: int
    text: str


class LeaseMessage(Model):
    """Who writes the notebook. ``granted``: this page; it sends ``epoch`` back with what it has written. ``held``: it
    shows and does not write. ``revoked``: it did, and may no more. ``refused``: this file is not the run's notebook.

    ``reconcile``: before writing, put the file and the page together (an older epoch may have written meanwhile)."""

    type: Literal["lease"] = "lease"
    state: Literal["granted", "held", "revoked", "refused"]
    epoch: int
    path: str
    words: str
    reconcile: bool


class HeadMessage(Model):
    """There is more to fetch: the run has come to this record, or another phase."""

    type: Literal["head"] = "head"
    seq: int
    phase: ViewPhase


ServerMessage = Annotated[OutputMessage | LeaseMessage | HeadMessage, Field(discriminator="type")]


class OpenMessage(Model):
    """The page has opened the run's notebook, at this path (again, after a rename)."""

    type: Literal["open"]
    path: str = Field(max_length=4000)


class TakeMessage(Model):
    """Continue here: the page wants to be the one that writes."""

    type: Literal["take"]


class CloseMessage(Model):
    """The page has closed the notebook."""

    type: Literal["close"]


class WrittenMessage(Model):
    """The page has saved the notebook, which now shows the run up to this record."""

    type: Literal["written"]
    seq: int = Field(ge=0)
    hash: Sha256
    epoch: int


PageMessage = Annotated[OpenMessage | TakeMessage | CloseMessage | WrittenMessage, Field(discriminator="type")]

REQUESTS = (StartRun, DecisionRequest, Simple, Hint, SwitchMode, Branch, Propose, ExportRequest)
"""Sent by a page. Fields with defaults may be left out."""
PAGE_MESSAGES = (OpenMessage, TakeMessage, CloseMessage, WrittenMessage)
REPLIES = (
    BlobRef, ErrorReply, Version, RunList, RunStarted, RunState, CandidateView, Questions, DecisionReply, ControlReply,
    Records, Cells, Models, Columns, Form, Doctor, VerifyReply, Exported,
)  # fmt: skip
"""Sent by the server, always with all their fields."""
SERVER_MESSAGES = (OutputMessage, LeaseMessage, HeadMessage)
