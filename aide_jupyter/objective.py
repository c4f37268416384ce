"""From a request and the columns of its data to the task of a run: checked names, a target, a metric, a direction."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from . import records as r
from .data.columns import TableColumns
from .data.view import View
from .data.worker import survey_in_process
from .errors import BadRequest
from .grading.metrics import TargetKind, resolve_direction
from .task import Request
from .untrusted import Untrusted

_KINDS: dict[str, TargetKind] = {"binary": "binary", "multiclass": "multiclass", "regression": "regression"}


def task_of(request: Request, view: View) -> r.Task:
    """The task. Blocks for some seconds while the data's columns are read, in a process of its own.

    Raises
    ------
    BadRequest
        A named column is in no table, or nothing says which way is better.
    """
    survey = survey_in_process(view.root, request.target, links=view.links)
    named = {
        "--target": request.target,
        "--id": request.id_column,
        "--group": request.group_column,
        "--time": request.time_column,
        **{f"--known ({name})": name for name in request.known_columns},
    }
    for option, name in named.items():
        if name is not None:
            _must_exist(option, name, survey.tables)
    kind = _KINDS.get(survey.kind or "")
    objective = resolve_direction(request.metric, request.goal, request.evaluation, request.direction, kind)
    return r.Task(
        goal=request.goal,
        evaluation=request.evaluation,
        metric=objective.metric,
        direction=objective.direction,
        direction_source=objective.source,
        target=survey.target,
        id_column=request.id_column,
        group_column=request.group_column,
        time_column=request.time_column,
        known_columns=request.known_columns,
    )


def _must_exist(option: str, name: str, tables: Sequence[TableColumns]) -> None:
    columns = [column for table in tables for column in table.names]
    if name in columns:
        return
    near = difflib.get_close_matches(name, columns, n=3) or columns[:12]
    shown = ", ".join(dict.fromkeys(Untrusted(column, "column name").render(40, one_line=True) for column in near))
    raise BadRequest(
        f"{option}: no table of the data has a column {Untrusted(name, 'column name').render(80, one_line=True)}.",
        f"Columns that it has: {shown}." if shown else "No table could be read in the data folder.",
    )
