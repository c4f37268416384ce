"""``jupyter aide exec``: one program in a restricted kernel, without a run."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from .audit.redact import Redactor, known_secrets
from .data.view import build_view, remove_view
from .errors import AideError, BadRequest
from .grading.metrics import MetricReader
from .home import jupyter_folders
from .options import limits_from_options
from .recording import LiveOutput
from .sandbox.execution import execute_program
from .sandbox.outcome import Execution
from .sandbox.pool import Kernels
from .untrusted import visible

EXIT = {"ok": 0, "error": 1, "timeout": 124, "died": 1, "limit": 3, "refused": 97, "stopped": 130}


async def run_one(
    program: Path,
    *,
    data: Path | None,
    seconds: float | None,
    memory_bytes: int | None,
    keep: Path | None,
    as_json: bool,
) -> int:
    """Run a program file and print what it printed; returns the exit status (0, 1, 3, 97, 124).

    Raises
    ------
    BadRequest
        The program cannot be read, or the data folder cannot be used.
    Refused
        No jail could be proven to contain it; it did not run.
    """
    try:
        code = program.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"{program} cannot be read: {error}.", "Name a Python file in UTF-8.") from error
    if keep is not None:
        _must_be_free(keep)
    limits = limits_from_options(seconds, memory_bytes)
    place = Path(tempfile.mkdtemp(prefix="aide-exec-"))
    try:
        view = None if data is None else build_view(data, place / "view", forbidden=jupyter_folders())
        kernels = Kernels(
            place / "kernels",
            None if view is None else view.root,
            readable=() if view is None else view.links,
            limits=limits,
            warm=(),
        )
        metric = MetricReader()
        redactor = Redactor(known_secrets())
        shown = LiveOutput(redactor, _ignore if as_json else _show)
        execution = await execute_program(code, kernels, limits, on_output=shown.feed, on_text=metric.feed)
        shown.end()
        if keep is not None:
            _keep(execution.workspace / "working", keep)
        result = _result(execution, metric, redactor)
    finally:
        if (place / "view").exists():
            remove_view(place / "view")
        shutil.rmtree(place, ignore_errors=True)
    if as_json:
        print(json.dumps(result))
    elif execution.status != "ok":
        print(f"jupyter aide: {visible(result['error'] or execution.status)}", file=sys.stderr)
    return EXIT[execution.status]


def _must_be_free(keep: Path) -> None:
    """Makes the folder, before the program runs and its work could be lost."""
    try:
        keep.mkdir(parents=True, exist_ok=True)
        free = not any(keep.iterdir())
    except OSError as error:
        raise BadRequest(f"{keep} cannot be a folder: {error.strerror}.", "Name another with --keep.") from error
    if not free:
        raise BadRequest(f"The folder {keep} is not empty.", "Name a new folder with --keep.")


def _keep(working: Path, keep: Path) -> None:
    try:
        shutil.copytree(working, keep, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise AideError(f"What the program left could not be copied to {keep}: {error}.", "Make room there.") from error


def _show(offset: int, text: str) -> None:
    """Prints running output as it comes. A terminal obeys nothing in it but returns, new lines and tabs."""
    sys.stdout.write("\r".join(map(visible, text.split("\r"))) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def _ignore(offset: int, text: str) -> None:
    """With ``--json`` the output is in the object."""


def _result(execution: Execution, metric: MetricReader, redactor: Redactor) -> dict[str, Any]:
    error = execution.error
    words = None if error is None else f"{error.name}: {error.message}"
    if words is None and execution.status != "ok":
        words = f"{execution.status}" + (f": {execution.limit}" if execution.limit else "")
    return {
        "status": execution.status,
        "stdout": redactor.mask(execution.text())[0],
        "error": None if words is None else redactor.mask(words)[0],
        "metric": metric.value,
        "seconds": round(execution.seconds, 3),
        "peak_memory_bytes": execution.peak_memory_bytes,
        "files": [file.model_dump() for file in execution.files],
        "survivors": execution.survivors,
    }
