"""What a run leaves behind: the best program as a notebook that needs nothing of this package, and the report."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import records as r
from .audit.cellfile import file_cell
from .audit.export import Rerun, export_notebook
from .audit.notebookfile import spelled, spelled_cell
from .audit.report import report
from .engine import Engine
from .errors import AideError
from .llm.prompts import report_messages
from .search.operators import attempt, story
from .state import Candidate

SUBMISSION = "submission.csv"
REPORT = "report.md"


async def finish(engine: Engine, why: str) -> None:
    """Write ``best/``, the run's last record, and ``report.md``, which tells of that record too."""
    best = engine.state.best_candidate()
    if best is not None:
        await write_best(engine, best)
    prose = await _prose(engine)
    engine.journal.append(r.Closed(why=why, best=engine.state.best))
    text = report(engine.parts.trail, engine.blobs, prose)
    (engine.parts.folder / REPORT).write_text(text, encoding="utf-8")


async def write_best(engine: Engine, best: Candidate, path: Path | None = None) -> Path:
    """The best program as ``solution.py``, with its submission, and as a notebook; returns the notebook's path.

    The notebook's cells are run once more in a restricted kernel, so that it carries outputs and says whether the
    number was reproduced.
    """
    folder = engine.parts.folder / "best"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "solution.py").write_text(engine.blobs.text(best.code), encoding="utf-8")
    submission = engine.parts.folder / "candidates" / best.id / "working" / SUBMISSION
    if submission.is_file() and not submission.is_symlink():
        shutil.copyfile(submission, folder / SUBMISSION)

    async def run_cells(cells: Sequence[str]) -> Rerun:
        return await engine.rerun(best, cells)

    notebook = await export_notebook(engine.parts.trail, engine.blobs, None if engine.killed else run_cells, best.id)
    target = path or folder / "solution.ipynb"
    await asyncio.to_thread(write_notebook, notebook, target)
    return target


def write_notebook(notebook: dict[str, Any], path: Path) -> None:
    """Write a notebook as nbformat does, replacing the file at once. Raises OSError where it cannot."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    rest = {key: value for key, value in notebook.items() if key != "cells"}
    with draft.open("wb") as file:
        file.writelines(spelled(rest, [spelled_cell(file_cell(cell)) for cell in notebook["cells"]]))
    draft.replace(path)


async def _prose(engine: Engine) -> str | None:
    """The report model's words; None where none are asked for or none come."""
    settings, state = engine.opened.settings, engine.state
    if not settings.generate_report or engine.killed:
        return None
    best = state.best_candidate()
    told = None if best is None else attempt(best, engine.blobs.text)
    messages = report_messages(engine.opened.task, told, story(state, engine.blobs.text))
    try:
        return engine.recording.masked(await engine.parts.gateway.report(settings.report, messages))
    except AideError:
        return None
