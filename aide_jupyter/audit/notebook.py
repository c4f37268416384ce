"""The audit notebook: records → cells, as pure functions. Who writes them into a file is :mod:`.merge`.

A candidate is two cells: what was planned, decided and observed (Markdown), and its program with the outputs that the
kernel claimed. One that is waiting, running or finished is a code cell; a program that was rejected, or replaced by a
person's edit, is a raw cell. Rendering one candidate costs the same however long the run is.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from .. import __version__
from .. import records as r
from ..state import Candidate
from .headpage import head_page
from .planpage import plan_page
from .trail import Reader, Trail, standing

SCHEMA = 1
"""The version of what ``metadata.aide`` holds."""
KERNELSPEC = {"display_name": "Python 3 (restricted)", "language": "python", "name": "aide-restricted"}

RAW = "text/plain"
"""The format of raw cells. Without one nbconvert puts a raw cell into HTML as it is: a rejected program is no HTML."""


class Cell(TypedDict):
    """A notebook cell of nbformat 4.5, its texts as single strings."""

    id: str
    cell_type: str
    metadata: dict[str, Any]
    source: str
    outputs: NotRequired[list[dict[str, Any]]]
    execution_count: NotRequired[int | None]


def cell_prefix(run: str) -> str:
    """What the ids of a run's agent cells begin with: the last 8 characters of the run's id."""
    return f"{run[-8:]}-"


def cell_ids(trail: Trail, candidate: str) -> list[str]:
    """The ids of a candidate's cells, in order; none before its program was proposed."""
    node = trail.state.candidates[candidate]
    if "proposed" not in node.seqs:
        return []
    prefix = cell_prefix(trail.state.run)
    parts = ["plan"] if node.error is not None else ["plan", "code"]
    return [f"{prefix}{candidate}-{part}" for part in parts]


def cell_order(trail: Trail) -> list[str]:
    """The ids of all agent cells, in the order of the notebook."""
    order = [f"{cell_prefix(trail.state.run)}head"]
    for candidate in trail.state.proposed_order:
        order += cell_ids(trail, candidate)
    return order


def notebook_metadata(trail: Trail) -> dict[str, Any]:
    """The notebook's own metadata: its kernel, and in ``aide`` the run and the head that anchors the journal."""
    assert trail.state.opened is not None
    return {
        "kernelspec": dict(KERNELSPEC),
        "language_info": {"name": "python"},
        "aide": {
            "schema": SCHEMA,
            "version": __version__,
            "run": trail.state.run,
            "head": {"seq": trail.head.seq, "hash": trail.head.hash},
            "key": trail.state.opened.key,
        },
    }


def render_notebook(trail: Trail, blobs: Reader) -> dict[str, Any]:
    """The whole notebook, as nbformat 4.5."""
    return {
        "cells": list(render_cells(trail, blobs).values()),
        "metadata": notebook_metadata(trail),
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def render_cells(trail: Trail, blobs: Reader) -> dict[str, Cell]:
    """All the agent's cells by id, in the order of the notebook.

    Raises
    ------
    AlteredError
        A blob is missing or not what its record names.
    """
    cells = [render_head(trail, blobs)]
    for candidate in trail.state.proposed_order:
        cells += render_candidate(trail, blobs, candidate)
    return {cell["id"]: cell for cell in cells}


def render_head(trail: Trail, blobs: Reader) -> Cell:
    """The first cell: what was asked, on what data, under which rules, what it cost and what came of it."""
    aide = {"part": "head", "seq": trail.head.seq, "hash": trail.head.hash, "status": _run_status(trail)}
    return _cell(trail, "head", "markdown", head_page(trail, blobs), aide)


def render_candidate(trail: Trail, blobs: Reader, candidate: str) -> list[Cell]:
    """A candidate's cells: none before it was proposed, one where there is no program, else two."""
    node = trail.state.candidates[candidate]
    if "proposed" not in node.seqs:
        return []
    aide: dict[str, Any] = {
        "candidate": candidate,
        "seq": trail.last[candidate].seq,
        "hash": trail.last[candidate].hash,
        "status": _status(node),
        "operator": node.operator,
        "parent": node.parent,
    }
    plan = _cell(trail, f"{candidate}-plan", "markdown", plan_page(trail, blobs, node), {**aide, "part": "plan"})
    if node.error is not None:
        return [plan]
    kind = "raw" if node.stage in ("rejected", "edited") else "code"
    code = _cell(
        trail,
        f"{candidate}-code",
        kind,
        blobs.text(node.code),
        {**aide, "part": "code", "code_sha256": node.code_sha256},
    )
    if kind == "raw":
        code["metadata"]["raw_mimetype"] = RAW
    else:
        code["execution_count"] = None
        code["outputs"] = [] if node.finished is None else outputs(node.finished.claimed.outputs, blobs)
    return [plan, code]


def outputs(items: Sequence[r.Output], blobs: Reader) -> list[dict[str, Any]]:
    """What a kernel claimed, as notebook outputs: text, errors and PNG pictures, nothing else."""
    return [_output(item, blobs) for item in items]


def _output(item: r.Output, blobs: Reader) -> dict[str, Any]:
    match item:
        case r.StreamOutput():
            return {"output_type": "stream", "name": item.name, "text": blobs.text(item.text)}
        case r.ErrorOutput():
            traceback = blobs.text(item.traceback)
            return {
                "output_type": "error",
                "ename": item.name,
                "evalue": blobs.text(item.message),
                "traceback": traceback.split("\n") if traceback else [],
            }
        case r.ImageOutput():
            data = {"image/png": base64.b64encode(blobs.read(item.png)).decode()}
        case r.TextOutput():
            data = {"text/plain": blobs.text(item.text)}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _cell(trail: Trail, name: str, kind: str, source: str, aide: dict[str, Any]) -> Cell:
    own = {"schema": SCHEMA, "run": trail.state.run, **aide, "source_sha256": r.sha256_text(source)}
    return {
        "id": f"{cell_prefix(trail.state.run)}{name}",
        "cell_type": kind,
        "metadata": {"aide": own, "deletable": False, "editable": False},
        "source": source,
    }


def _run_status(trail: Trail) -> str:
    if trail.state.closed is not None:
        return "closed"
    return "open" if trail.state.paused is None else "paused"


def _status(node: Candidate) -> str:
    return node.finished.status if node.finished is not None else standing(node)
