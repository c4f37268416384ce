"""The exported solution: the best program as an ordinary notebook, which needs nothing of this package to run."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import records as r
from ..errors import AlteredError, BadRequest
from ..state import Candidate
from . import words as w
from .headpage import metric_words
from .notebook import outputs
from .split import split_program
from .trail import Reader, Trail

CLOSE = 1e-6
"""The relative difference up to which a number counts as reproduced: sums in floating point depend on their order,
and so on the number of threads."""


@dataclass(frozen=True)
class Rerun:
    """What running the cells again gave, one item of ``outputs`` for each cell that was reached.

    ``value`` is the number taken in the same way as the recorded one; ``status`` how the execution ended.
    """

    status: r.Status
    outputs: tuple[tuple[r.Output, ...], ...] = ()
    value: float | None = None


RunCells = Callable[[Sequence[str]], Awaitable[Rerun]]
"""Runs cells one by one in one restricted kernel, until one fails; its execution is a record with purpose export."""


async def export_notebook(
    trail: Trail, blobs: Reader, run_cells: RunCells | None = None, candidate: str | None = None
) -> dict[str, Any]:
    """The best program, or another approved one, as a notebook of nbformat 4.5 for an ordinary kernel.

    Parameters
    ----------
    trail
        The run.
    blobs
        Resolves long texts and pictures.
    run_cells
        Runs the cells, so that they carry outputs and the number can be compared. It is called only where the decision
        on the program covers the purpose ``export``.
    candidate
        The candidate; None means the best.

    Raises
    ------
    BadRequest
        There is no such candidate, no best one, or its program was not approved.
    AlteredError
        The stored program is not the one that was approved.
    """
    node = _chosen(trail, candidate)
    decided = node.decided
    assert decided is not None
    code = blobs.text(node.code)
    if not r.sha256_text(code) == decided.code == node.code_sha256:
        raise AlteredError(f"The stored program of {node.id} is not the one that was approved.")
    cells = split_program(code)
    rerun = None
    if run_cells is not None and "export" in decided.purposes:
        rerun = await run_cells(cells)
    page = {
        "cell_type": "markdown",
        "id": "about",
        "metadata": {},
        "source": _page(trail, blobs, node, rerun, asked=run_cells is not None),
    }
    return {
        "cells": [page, *_code_cells(cells, rerun, blobs)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _chosen(trail: Trail, candidate: str | None) -> Candidate:
    name = candidate if candidate is not None else trail.state.best
    if name is None:
        raise BadRequest(
            "The run has no best candidate yet, so there is nothing to export.", "Let it run on, or name one."
        )
    node = trail.state.candidates.get(name)
    if node is None:
        raise BadRequest(f"The run has no candidate {name}.")
    if node.decided is None or node.decided.decision != "approve" or node.error is not None:
        raise BadRequest(
            f"The program of {name} was not approved, so it is not exported.", "Name an approved candidate."
        )
    return node


def _code_cells(cells: Sequence[str], rerun: Rerun | None, blobs: Reader) -> Iterable[dict[str, Any]]:
    ran = () if rerun is None else rerun.outputs
    for number, cell in enumerate(cells, 1):
        reached = number <= len(ran)
        yield {
            "cell_type": "code",
            "id": f"cell-{number:03d}",
            "metadata": {},
            "source": cell,
            "execution_count": number if reached else None,
            "outputs": outputs(ran[number - 1], blobs) if reached else [],
        }


def _page(trail: Trail, blobs: Reader, node: Candidate, rerun: Rerun | None, *, asked: bool) -> str:
    opened = trail.state.opened
    assert opened is not None
    final = trail.finals.get(node.id)
    number = w.score(node.grade) + (f"; {w.score(final)}" if final is not None else "")
    rows = [
        ("Number", number),
        ("Metric", metric_words(opened.task)),
        ("Reproduced", reproduced(node.value, rerun) if rerun is not None else _not_run(asked=asked)),
        ("Run and candidate", f"{w.span(trail.state.run)}, {node.id}, journal up to record {trail.head.seq}"),
        ("Written by", w.who(trail.authors.get(node.id))),
        ("Approved by", f"{w.who(node.decided_by)}, {w.when(node.times.get('decided'))}"),
        ("Program", f"sha256 `{node.code_sha256}`"),
        ("Data", f"{opened.data.files:,} files, {w.size(opened.data.bytes)}, sha256 `{opened.data.sha256}`"),
    ]
    return "\n\n".join(
        [
            "# A solution found by an aide-jupyter run",
            "**This notebook runs with your rights.** It names an ordinary kernel: here nothing confines the program, "
            "as it was confined when it was tried. Read it before you run it.",
            w.table(("What", "As recorded"), rows),
            f"**Goal**\n\n{w.block(opened.task.goal, 'goal')}",
            "**How to run it.** Beside this notebook, the folder `input` must hold the data and the folder `working`, "
            "empty at first, takes what the program writes. The cells joined by a new line are byte for byte the "
            "program that was approved. The data had these files:",
            w.lines(_files(blobs.text(opened.data.manifest)), "file name", most=10),
        ]
    )


def _files(manifest: str) -> list[str]:
    """The names and sizes of a manifest's lines (``sha256  bytes  path``)."""
    rows = [row.split(maxsplit=2) for row in manifest.split("\n") if row]
    named = [f"{w.size(int(row[1])):>12}  {row[2]}" for row in rows if len(row) == 3 and row[1].isdecimal()]
    return named or ["(not listed)"]


def _not_run(*, asked: bool) -> str:
    if asked:
        return "not run again: the approval does not cover a run for the export"
    return "not run again for this export"


def reproduced(recorded: float | None, rerun: Rerun) -> str:
    """Whether running the program again gave the recorded number, in words."""
    if rerun.status != "ok":
        return f"no: run again, cell by cell, it ended with status {rerun.status}"
    if rerun.value is None or recorded is None:
        return "no: run again, it gave no number to compare"
    if rerun.value == recorded:
        return f"yes: run again, it gave exactly {w.number(rerun.value)}"
    scale = max(abs(recorded), abs(rerun.value))
    difference = abs(rerun.value - recorded) / scale
    if math.isclose(rerun.value, recorded, rel_tol=CLOSE):
        return (
            f"yes: run again, it gave {w.number(rerun.value)}, equal up to {difference:.1g} of its size (up to "
            f"{CLOSE:g} counts as equal, since sums in floating point depend on their order)"
        )
    return (
        f"no: run again, it gave {w.number(rerun.value)} instead of {w.number(recorded)}, a difference of "
        f"{100 * difference:.2g} %; programs that draw random numbers or measure time may do that"
    )
