"""Messages of a run's socket, both ways."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...records import CandidateId, Model, Sha256
from .vocabulary import ViewPhase


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
