"""The vocabulary of a run: every kind of record that its journal may hold, as pydantic models.

A journal line is a :class:`Record`, the envelope; what it says is its body, one of the classes in
:data:`BODIES`, found by ``kind``. Nothing here reads or writes a file, and nothing of this package is imported.

Units: seconds, bytes, US dollars, tokens. Times are UTC in ISO 8601 with microseconds and ``Z``.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

VERSION = 1
INLINE_BYTES = 4096
"""Text up to this many UTF-8 bytes stands in the record itself; longer text is a blob."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
CandidateId = Annotated[str, Field(pattern=r"^c\d{4,}$")]
Direction = Literal["minimize", "maximize"]
ReviewMode = Literal["every", "flagged", "auto"]
PreviewLevel = Literal["schema", "statistics", "samples"]
Operator = Literal["draft", "debug", "improve", "ensemble"]
Decision = Literal["approve", "edit", "reject"]
Purpose = Literal["search", "rescore", "refit", "export"]
Status = Literal["ok", "error", "timeout", "died", "limit", "refused", "stopped", "unknown"]
Rows = Literal["selection", "final"]
Source = Literal["graded", "reported"]


def sha256_text(text: str) -> str:
    """The SHA-256 of ``text`` as UTF-8, in hexadecimal: how code is named in every decision.

    Lone surrogates, which a hostile program can print, are hashed as the bytes that they came from.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Model(BaseModel):
    """Frozen, and strict about unknown fields, so that a misspelt one is an error and not a silence."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class BlobRef(Model):
    """Text or bytes too long for a record, kept under ``blobs/<sha256>`` in the run's folder."""

    sha256: Sha256
    bytes: int


Text = str | BlobRef


def text_sha256(text: Text) -> str:
    """The SHA-256 of a text, whether it stands in the record or in a blob."""
    return text.sha256 if isinstance(text, BlobRef) else sha256_text(text)


class Actor(Model):
    """Who did it. ``user`` is Jupyter's current user or the account; ``policy`` a rule; ``system`` this software."""

    kind: Literal["user", "agent", "policy", "system"]
    name: str
    model: str | None = None


SYSTEM = Actor(kind="system", name="aide-jupyter")


class Flag(Model):
    """One reason to look at a program: which rule, which line (from 1; 0 is the whole program), in words."""

    rule: str
    line: int
    message: str
    severity: Literal["note", "danger"] = "note"


# --- what is asked -------------------------------------------------------------------------------------------------


class Task(Model):
    """What a run is asked to do. ``direction_source`` says where the direction came from, in words."""

    goal: str
    evaluation: str | None = None
    metric: str | None = None
    direction: Direction
    direction_source: str
    target: str | None = None
    id_column: str | None = None
    group_column: str | None = None
    time_column: str | None = None
    known_columns: tuple[str, ...] = ()


class Budgets(Model):
    """The caps of a run, which always exist: steps, seconds of run time, tokens, and money where a cap is set."""

    steps: int = Field(20, ge=1)
    seconds: float = Field(6 * 3600.0, gt=0)
    tokens: int = Field(2_000_000, ge=1)
    cost_usd: float | None = Field(None, gt=0)


class Limits(Model):
    """What one program may use: wall seconds, bytes of memory of the whole tree, processes and threads, bytes
    written to its workspace, bytes printed, and its share of the cores."""

    seconds: float = Field(3600.0, gt=0)
    memory_bytes: int = Field(4 << 30, ge=64 << 20)
    processes: int = Field(512, ge=16)
    disk_bytes: int = Field(4 << 30, ge=1 << 20)
    output_bytes: int = Field(64 << 20, ge=1 << 10)
    cores: int = Field(1, ge=1)


class ModelChoice(Model):
    """A model by its litellm name, and the temperature to ask it at (None: the provider's own)."""

    model: str = "offline"
    temperature: float | None = None


class Settings(Model):
    """How the agent goes about it; most have a counterpart in AIDE's configuration (docs/from-aide.md).

    ``price`` is (prompt, completion) in US dollars per million tokens, for a model whose price is not known.
    """

    policy: str = "default"
    seed: int = 0
    workers: int = Field(1, ge=1, le=64)
    drafts: int = Field(5, ge=1)
    debug_probability: float = Field(0.5, ge=0, le=1)
    debug_depth: int = Field(3, ge=0)
    folds: int = Field(5, ge=1)
    expose_prediction: bool = False
    data_preview: bool = True
    preview: PreviewLevel = "statistics"
    code: ModelChoice = ModelChoice(temperature=0.5)
    feedback: ModelChoice = ModelChoice(temperature=0.5)
    report: ModelChoice = ModelChoice(temperature=1.0)
    generate_report: bool = True
    base_url: str | None = None
    price: tuple[float, float] | None = None
    limits: Limits = Limits()


class LeftOut(Model):
    """A file of the data folder that no kernel sees, and why."""

    path: str
    why: str


class DataView(Model):
    """What kernels see as ``./input``: the manifest (one ``sha256  bytes  path`` line a file) and what was left out."""

    source: str
    sha256: Sha256
    files: int
    bytes: int
    manifest: Text
    left_out: tuple[LeftOut, ...] = ()
    left_out_count: int = 0


class Grants(Model):
    """What this run's programs may reach beyond their own files."""

    network: tuple[str, ...] = ()
    gpu: bool = False


# --- the bodies ----------------------------------------------------------------------------------------------------


class Body(Model):
    """What one record says. ``kind`` names it in the envelope."""

    kind: ClassVar[str]


class Opened(Body):
    """The first record: everything that is fixed when a run begins, and the public key that signs it."""

    kind: ClassVar[str] = "opened"
    task: Task
    policy: str
    seed: int
    mode: ReviewMode
    budgets: Budgets
    settings: Settings
    grants: Grants
    data: DataView
    versions: dict[str, str]
    key: str


class Chosen(Body):
    """The search has decided what to try next. Written before the model is asked."""

    kind: ClassVar[str] = "chosen"
    candidate: CandidateId
    parent: CandidateId | None = None
    operator: Operator
    draw: int = 0


class Proposed(Body):
    """A program exists. ``edit_of`` names the candidate of which this is a person's edit. Where the model gave no
    usable program, ``code`` is empty and ``error`` says why: the candidate has failed."""

    kind: ClassVar[str] = "proposed"
    candidate: CandidateId
    plan: Text
    code: Text
    edit_of: CandidateId | None = None
    tainted: tuple[str, ...] = ()
    error: str | None = None


class Asked(Body):
    """A person is asked about a program, with the flags that they see."""

    kind: ClassVar[str] = "asked"
    candidate: CandidateId
    code: Sha256
    flags: tuple[Flag, ...] = ()


class Decided(Body):
    """A decision on exactly these bytes of code, for these purposes and this data view."""

    kind: ClassVar[str] = "decided"
    candidate: CandidateId
    code: Sha256
    decision: Decision
    reason: str = ""
    mode: ReviewMode
    purposes: tuple[Purpose, ...] = ()
    data: Sha256 | None = None
    flags: tuple[Flag, ...] = ()


class Started(Body):
    """Written before the code is sent to a kernel."""

    kind: ClassVar[str] = "started"
    candidate: CandidateId
    code: Sha256
    kernel: str
    limits: Limits
    purpose: Purpose = "search"


class ProducedFile(Model):
    """A regular file that a program left under ``./working``. ``sha256`` is None where it was too large to keep."""

    path: str
    bytes: int
    sha256: Sha256 | None = None


class Observed(Model):
    """What the server saw for itself. ``exit`` is the jail's exit status where the kernel died by itself;
    ``limit`` the limit that ended it (seconds, memory, processes, disk, output)."""

    seconds: float
    peak_memory_bytes: int = 0
    exit: int | None = None
    limit: str | None = None
    output_bytes: int = 0
    files: tuple[ProducedFile, ...] = ()
    files_left_out: int = 0
    survivors: int = 0


class StreamOutput(Model):
    """Text that a program wrote to a stream."""

    type: Literal["stream"] = "stream"
    name: Literal["stdout", "stderr"]
    text: Text


class TextOutput(Model):
    """The plain text of a displayed value."""

    type: Literal["text"] = "text"
    text: Text


class ImageOutput(Model):
    """A PNG picture, size-checked and re-encoded when it was recorded."""

    type: Literal["image"] = "image"
    png: BlobRef


class ErrorOutput(Model):
    """An exception as the kernel reported it."""

    type: Literal["error"] = "error"
    name: str
    message: Text
    traceback: Text


Output = Annotated[StreamOutput | TextOutput | ImageOutput | ErrorOutput, Field(discriminator="type")]


class Claimed(Model):
    """Whatever came out of the kernel; a kernel can forge all of it. ``metric`` is the last
    ``Validation metric:`` in the whole output, None where that is no finite number; ``metric_text`` what stood there.
    ``truncated`` counts the bytes of output that were not kept, ``masks`` the secrets that were masked."""

    reply: Literal["ok", "error", "none"] = "none"
    metric: float | None = None
    metric_text: str | None = None
    outputs: tuple[Output, ...] = ()
    truncated: int = 0
    masks: int = 0


class Finished(Body):
    """An execution has ended, however it ended."""

    kind: ClassVar[str] = "finished"
    candidate: CandidateId
    status: Status
    observed: Observed
    claimed: Claimed = Claimed()
    purpose: Purpose = "search"


class Graded(Body):
    """A number for a candidate, and where it comes from. ``interval`` is a 95 % interval (low, high)."""

    kind: ClassVar[str] = "graded"
    candidate: CandidateId
    rows: Rows = "selection"
    source: Source
    metric: str | None = None
    value: float | None = None
    interval: tuple[float, float] | None = None
    error: str | None = None


class Reviewed(Body):
    """What the reviewer model makes of an execution. Its words are a model's claim."""

    kind: ClassVar[str] = "reviewed"
    candidate: CandidateId
    failed: bool
    summary: Text


class Tokens(Model):
    """Tokens of one model call."""

    prompt: int = 0
    completion: int = 0


class Spent(Body):
    """A model call: reserved at its worst cost before it is sent, settled after. ``cost`` in US dollars is None
    where the price is unknown; ``estimated`` says that the provider reported no usage."""

    kind: ClassVar[str] = "spent"
    call: int
    phase: Literal["reserved", "settled"]
    purpose: str
    model: str
    tokens: Tokens
    cost: float | None = None
    candidate: CandidateId | None = None
    estimated: bool = False
    error: str | None = None


class Changed(Body):
    """Something about the run was changed while it ran."""

    kind: ClassVar[str] = "changed"
    model_config = ConfigDict(populate_by_name=True, frozen=True, extra="forbid")
    what: Literal["mode", "hint", "grant", "budget"]
    before: JsonValue = Field(None, alias="from")
    after: JsonValue = Field(None, alias="to")


class Network(Body):
    """One decision of the network proxy."""

    kind: ClassVar[str] = "network"
    candidate: CandidateId
    host: str
    port: int
    allowed: bool
    bytes: int = 0


class Limited(Body):
    """A budget of the run was reached."""

    kind: ClassVar[str] = "limited"
    what: str
    limit: float
    value: float


class Paused(Body):
    """Nothing new starts; what runs finishes."""

    kind: ClassVar[str] = "paused"
    why: str


class Resumed(Body):
    """The run goes on."""

    kind: ClassVar[str] = "resumed"


class Recovered(Body):
    """The journal's last line was cut off by a crash; its bytes were moved aside to ``file``."""

    kind: ClassVar[str] = "recovered"
    bytes: int
    sha256: Sha256
    file: str


class Closed(Body):
    """The last record."""

    kind: ClassVar[str] = "closed"
    why: str
    best: CandidateId | None = None


BODIES: dict[str, type[Body]] = {
    body.kind: body
    for body in (
        Opened, Chosen, Proposed, Asked, Decided, Started, Finished, Graded, Reviewed, Spent,
        Changed, Network, Limited, Paused, Resumed, Recovered, Closed,
    )
}  # fmt: skip


class Record(Model):
    """One line of a journal. ``hash`` is the SHA-256 of the canonical JSON (RFC 8785) of all fields but ``hash`` and
    ``signature``; ``prev`` the hash of the record before (64 zeros for the first); ``signature`` Ed25519 over the
    hash's 32 bytes, in hexadecimal."""

    v: int = VERSION
    run: str
    seq: int = Field(ge=0)
    time: str
    kind: str
    actor: Actor
    data: dict[str, JsonValue]
    prev: Sha256
    hash: Sha256
    signature: str

    def body(self) -> Body | None:
        """The typed body; None for a kind that this version does not know."""
        model = BODIES.get(self.kind)
        return None if model is None else model.model_validate(self.data)


def body_data(body: Body) -> dict[str, Any]:
    """A body as plain JSON data, as it stands in a record."""
    return body.model_dump(mode="json", by_alias=True)
