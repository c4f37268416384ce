"""The log of a run: its records, its cells, whether it is as it was written, and what is exported from it."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from ...records import Model, Sha256


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
