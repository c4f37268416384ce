"""All models by their direction, from which the page's types are made."""

from __future__ import annotations

from ...records import BlobRef
from .candidates import CandidateView
from .choices import Columns, Form, Models
from .log import Cells, Exported, Records, VerifyReply
from .messages import CloseMessage, HeadMessage, LeaseMessage, OpenMessage, OutputMessage, TakeMessage, WrittenMessage
from .requests import Branch, DecisionRequest, ExportRequest, Hint, Propose, Simple, StartRun, SwitchMode
from .reviews import DecisionReply, Questions
from .runs import ControlReply, RunList, RunStarted, RunState
from .service import Doctor, ErrorReply, Version

REQUESTS = (StartRun, DecisionRequest, Simple, Hint, SwitchMode, Branch, Propose, ExportRequest)
"""Sent by a page. Fields with defaults may be left out."""
PAGE_MESSAGES = (OpenMessage, TakeMessage, CloseMessage, WrittenMessage)
REPLIES = (
    BlobRef, ErrorReply, Version, RunList, RunStarted, RunState, CandidateView, Questions, DecisionReply, ControlReply,
    Records, Cells, Models, Columns, Form, Doctor, VerifyReply, Exported,
)  # fmt: skip
"""Sent by the server, always with all their fields."""
SERVER_MESSAGES = (OutputMessage, LeaseMessage, HeadMessage)
