"""The audit notebook: records → cells, as pure functions. Who writes them into a file is :mod:`.merge`.

A candidate is two cells: what was planned, decided and observed (Markdown), and its program with the outputs that the
kernel claimed. One that is waiting, running or finished is a code cell; a program that was rejected, or replaced by a
person's edit, is a raw cell. Rendering one candidate costs the same however long the run is.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any, NotRequired, TypedDict

from .. import __version__
from .. import records as r
from ..state import Candidate
from ..untrusted import Untrusted
from . import words as w
from .headpage import head_page
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


def render_cells(trail: Trail, blobs: Reader, changed: Iterable[str] | None = None) -> dict[str, Cell]:
    """The head cell and the cells of these candidates, by id.

    Parameters
    ----------
    trail
        The run.
    blobs
        Resolves long texts and pictures.
    changed
        The candidates to render; None means all, in the order of the notebook.

    Raises
    ------
    AlteredError
        A blob is missing or not what its record names.
    """
    cells = [render_head(trail, blobs)]
    for candidate in trail.state.proposed_order if changed is None else changed:
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


# The plan cell.


def plan_page(trail: Trail, blobs: Reader, node: Candidate) -> str:
    """What was planned for a candidate, who decided about it, and what came of it."""
    facts = w.table((f"Candidate {node.id}", _origin(node)), _facts(trail, node))
    parts = [f"### {node.id}: {_headline(node)}", facts]

    def tell(title: str, text: str) -> None:
        parts.append(f"**{title}**\n\n{text}")

    if node.error is not None:
        tell("Why there is no program", w.block(node.error, "error"))
    if plan := blobs.text(node.plan):
        tell("Plan, in the author's words", w.block(plan, "plan"))
    if node.flags:
        tell("Flags", w.lines([_flag(flag) for flag in node.flags], "flag"))
    if node.tainted:
        tell("Suspicious input that it descends from", w.lines(node.tainted, "taint"))
    if node.decided is not None and node.decided.reason:
        tell("Reason given with the decision", w.block(node.decided.reason, "reason"))
    if node.grade is not None and node.grade.error:
        tell("Why there is no number", w.block(node.grade.error, "grading"))
    if node.review is not None:
        verdict = "it found a fault" if node.review.failed else "it found no fault"
        tell(f"Review: {verdict} (a model's claim)", w.block(blobs.text(node.review.summary), "review"))
    if node.finished is not None and node.finished.observed.files:
        tell("Files left in `./working`", w.lines(_files(node.finished.observed), "file name"))
    if node.id in trail.network:
        tell("Network requests", w.lines([_request(one) for one in trail.network[node.id]], "host name"))
    return "\n\n".join(parts)


def _origin(node: Candidate) -> str:
    if node.edit_of is not None:
        return f"a person's edit of {node.edit_of}"
    return node.operator if node.parent is None else f"{node.operator} of {node.parent}"


def _headline(node: Candidate) -> str:
    if node.error is not None:
        return f"{_origin(node)}, no program"
    if node.stage == "waiting":
        return f"{_origin(node)}, waiting for a decision"
    if node.finished is None:
        return f"{_origin(node)}, {node.stage}"
    if node.finished.status != "ok":
        return f"{_origin(node)}, failed ({node.finished.status})"
    if node.failed:
        why = "no number" if node.value is None else f"{w.score(node.grade)}, but the review found a fault"
        return f"{_origin(node)}, {why}"
    return f"{_origin(node)}, ran" if node.grade is None else f"{_origin(node)}, {w.score(node.grade)}"


def _facts(trail: Trail, node: Candidate) -> Iterable[tuple[str, str]]:
    if node.grade is not None:
        final = trail.finals.get(node.id)
        yield "Number", w.score(node.grade) + (f"; {w.score(final)}" if final is not None else "")
    if node.finished is not None:
        yield "Outcome", _outcome(node.finished)
    if node.finished is not None and (claimed := node.finished.claimed).truncated + claimed.masks:
        yield "Output", f"{w.size(claimed.truncated)} not kept, {claimed.masks:,} secrets masked"
    for execution in trail.executions.get(node.id, []):
        if execution.started.purpose != "search":
            end = "not finished" if execution.finished is None else _outcome(execution.finished)
            yield f"Run for {execution.started.purpose}", end
    yield "Proposed", f"by {w.who(trail.authors.get(node.id))}, {w.when(node.times.get('proposed'))}"
    used = node.tokens.prompt + node.tokens.completion
    unknown = trail.unknown_costs[node.id]
    if used or node.cost is not None or unknown:
        yield "Model calls", f"{w.tokens(node.tokens)}, {w.cost(node.cost, unknown)}"
    if node.decided is not None:
        yield "Decision", _decision(node.decided, node.decided_by, node.times.get("decided"))
    elif node.stage == "waiting":
        yield "Decision", f"asked {w.when(node.times.get('asked'))}, not given yet"
    if node.error is None:
        yield "Program", f"sha256 `{node.code_sha256}`"


def _outcome(finished: r.Finished) -> str:
    observed = finished.observed
    words = f"{finished.status} after {w.seconds(observed.seconds)}, peak memory {w.size(observed.peak_memory_bytes)}"
    if observed.limit is not None:
        words += f", ended by the limit on {w.span(observed.limit)}"
    if observed.exit is not None:
        words += f", exit status {observed.exit}"
    if observed.survivors:
        words += f", {observed.survivors} processes survived"
    return words


def _decision(decided: r.Decided, actor: r.Actor | None, time: str | None) -> str:
    done = {"approve": "approved", "edit": "replaced by an edit", "reject": "rejected"}[decided.decision]
    purposes = f", for {', '.join(decided.purposes)}" if decided.purposes else ""
    return f"{done} by {w.who(actor)}, {w.when(time)}, review mode {decided.mode}{purposes}"


def _flag(flag: r.Flag) -> str:
    place = f"line {flag.line}" if flag.line else "whole program"
    return f"{place:<14}{flag.severity:<8}{flag.message} ({flag.rule})"


def _files(observed: r.Observed) -> Iterable[str]:
    for file in observed.files:
        digest = "too large to keep" if file.sha256 is None else f"sha256 {file.sha256[:16]}…"
        name = Untrusted(file.path, "file name").render(w.SHORT, one_line=True)
        yield f"{w.size(file.bytes):>12}  {digest:<24}  {name}"
    if observed.files_left_out:
        yield f"{observed.files_left_out:,} more files were not kept"


def _request(one: r.Network) -> str:
    host = Untrusted(one.host, "host name").render(w.SHORT, one_line=True)
    return f"{'allowed' if one.allowed else 'denied '} {host}:{one.port}  {w.size(one.bytes)}"
