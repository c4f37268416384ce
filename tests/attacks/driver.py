"""Runs one program in a restricted kernel and tells what came of it, as JSON: in the test's own process, or as the text
of a program that an ordinary user runs."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def execute(request: dict[str, Any]) -> dict[str, Any]:
    """Keys of a request: folder, program, limits, and beside (a second program that runs at the same time)."""
    from aide_jupyter.grading.reader import MetricReader
    from aide_jupyter.records import Limits, StreamOutput, TextOutput
    from aide_jupyter.sandbox.execution import execute_program
    from aide_jupyter.sandbox.pool import Kernels

    folder = Path(tempfile.mkdtemp(prefix="a", dir=request["folder"]))
    view = Path(request["view"]) if "view" in request else folder / "view"
    if "view" not in request:
        view.mkdir()
        (view / "train.csv").write_text("a,b\n1,2\n")
    limits = Limits(**{"seconds": 30.0, "processes": 256, **request.get("limits", {})})
    kernels = Kernels(folder / "kernels", view, limits=limits, warm=())

    async def one(program: str, name: str) -> dict[str, Any]:
        reader, began = MetricReader(), time.monotonic()
        result = await execute_program(
            program, kernels, limits, on_text=reader.feed, destination=folder / "candidates" / name
        )
        found = {field: getattr(result, field) for field in FIELDS}
        return {
            **found,
            "all_seconds": time.monotonic() - began,
            "workspace": str(result.workspace),
            "stdout": result.text("stdout"),
            "stderr": result.text("stderr"),
            "error": result.error and {"name": result.error.name, "message": result.error.message},
            "shown": [str(item.text) for item in result.outputs if isinstance(item, TextOutput)],
            "streams": sum(isinstance(item, StreamOutput) for item in result.outputs),
            "files": {file.path: file.bytes for file in result.files},
            "metric": reader.value if reader.value is None else str(reader.value),
            "metric_text": reader.text,
        }

    async def all_of_it() -> list[dict[str, Any]]:
        programs = [request["program"], *([request["beside"]] if "beside" in request else [])]
        return list(await asyncio.gather(*(one(program, f"c{n}") for n, program in enumerate(programs))))

    results = asyncio.run(all_of_it())
    return {**results[0], "beside": results[1] if len(results) > 1 else None}


FIELDS = (
    "status", "reply", "seconds", "truncated", "output_bytes", "peak_memory_bytes", "exit", "limit", "files_left_out",
    "survivors",
)  # fmt: skip

if __name__ == "__main__":
    print(json.dumps(execute(json.loads(sys.argv[1]))))
