"""Every request, reply and socket message, as pydantic models. The page's TypeScript types are made from these.

A page shows what a reply says and computes nothing from records. Texts of models, programs and data are named for what
was done to them: ``shown`` and ``…_line`` went through :meth:`aide_jupyter.untrusted.Untrusted.render`; ``exact`` is
byte for byte what runs. All of them are plain text, to be put into a page with ``textContent``.

Units: seconds, bytes, US dollars, tokens. Times are UTC in ISO 8601. Paths are relative to the server's root, with
``/``, where a file browser could show them; a path outside it is absolute.
"""

from .candidates import (
    CandidateView,
    ClaimedView,
    Code,
    FlagView,
    GradeView,
    HiddenCharacters,
    ObservedView,
    OutputView,
    Provenance,
    ReviewerView,
)
from .choices import Cap, Choice, Column, Columns, Form, Models, ModelView, Provider, Table
from .interface import PAGE_MESSAGES, REPLIES, REQUESTS, SERVER_MESSAGES
from .log import Cells, Exported, Head, Records, RecordView, VerifyReply
from .messages import (
    CloseMessage,
    HeadMessage,
    LeaseMessage,
    OpenMessage,
    OutputMessage,
    PageMessage,
    ServerMessage,
    TakeMessage,
    WrittenMessage,
)
from .requests import (
    Branch,
    ControlRequest,
    DecisionRequest,
    ExportRequest,
    Hint,
    Propose,
    Simple,
    StartRun,
    SwitchMode,
)
from .reviews import DecisionReply, Question, Questions
from .runs import Best, ControlReply, Meter, Node, Point, RunEvent, RunList, RunStarted, RunState, RunSummary
from .service import CheckView, Doctor, ErrorReply, Version
from .vocabulary import Fact, NumberSource, OwnerWord, Standing, Verb, ViewPhase

__all__ = [
    "PAGE_MESSAGES",
    "REPLIES",
    "REQUESTS",
    "SERVER_MESSAGES",
    "Best",
    "Branch",
    "CandidateView",
    "Cap",
    "Cells",
    "CheckView",
    "Choice",
    "ClaimedView",
    "CloseMessage",
    "Code",
    "Column",
    "Columns",
    "ControlReply",
    "ControlRequest",
    "DecisionReply",
    "DecisionRequest",
    "Doctor",
    "ErrorReply",
    "ExportRequest",
    "Exported",
    "Fact",
    "FlagView",
    "Form",
    "GradeView",
    "Head",
    "HeadMessage",
    "HiddenCharacters",
    "Hint",
    "LeaseMessage",
    "Meter",
    "ModelView",
    "Models",
    "Node",
    "NumberSource",
    "ObservedView",
    "OpenMessage",
    "OutputMessage",
    "OutputView",
    "OwnerWord",
    "PageMessage",
    "Point",
    "Propose",
    "Provenance",
    "Provider",
    "Question",
    "Questions",
    "RecordView",
    "Records",
    "ReviewerView",
    "RunEvent",
    "RunList",
    "RunStarted",
    "RunState",
    "RunSummary",
    "ServerMessage",
    "Simple",
    "Standing",
    "StartRun",
    "SwitchMode",
    "Table",
    "TakeMessage",
    "Verb",
    "VerifyReply",
    "Version",
    "ViewPhase",
    "WrittenMessage",
]
