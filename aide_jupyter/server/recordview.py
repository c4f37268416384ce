"""Records for the audit view, and the audit notebook's cells for the page that writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import records as r
from ..audit.notebook import cell_order, notebook_metadata, render_candidate, render_head
from ..audit.trail import Reader, Trail
from . import words
from .models import Cells, Head, RecordView

MOST = 500
"""Records that one reply holds."""
_TELLING = ("decision", "status", "operator", "what", "why", "purpose", "phase", "limit", "value", "reason", "error")


def record_view(record: r.Record) -> RecordView:
    """A record, with what it says in a line."""
    candidate = record.data.get("candidate")
    return RecordView(
        seq=record.seq,
        time=record.time,
        kind=record.kind,
        who=words.who(record.actor),
        candidate=candidate if isinstance(candidate, str) else "",
        shown=words.line(", ".join(_said(record.data)), "record", 300),
        data=record.data,
        hash=record.hash,
    )


def _said(data: dict[str, Any]) -> Iterable[str]:
    for name in _TELLING:
        value = data.get(name)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "":
            yield f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"


def cells(trail: Trail, blobs: Reader, after: int) -> Cells:
    """The whole of each agent cell that changed after a record, and the order of all.

    The first cell tells of the whole run, so it is among them whenever anything is.

    Raises
    ------
    AlteredError
        A text or a picture is missing or not what its record names.
    """
    found = []
    if trail.head.seq > after:
        found.append(render_head(trail, blobs))
        for candidate in trail.state.proposed_order:
            if trail.last[candidate].seq > after:
                found += render_candidate(trail, blobs, candidate)
    return Cells.model_validate(
        {
            "run": trail.state.run,
            "head": Head(seq=trail.head.seq, hash=trail.head.hash),
            "metadata": notebook_metadata(trail),
            "order": cell_order(trail),
            "cells": found,
            "closed": trail.state.closed is not None,
        }
    )


def pictures(trail: Trail) -> set[str]:
    """The hashes of all pictures that the run's records name as outputs."""
    return {
        output.png.sha256
        for executions in trail.executions.values()
        for one in executions
        if one.finished is not None
        for output in one.finished.claimed.outputs
        if isinstance(output, r.ImageOutput)
    }
