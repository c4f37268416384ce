"""One program, one kernel, from its text to its outcome: what ``exec`` runs, and a run without a pool."""

from __future__ import annotations

from pathlib import Path

from ..records import Limits
from .capture import OnOutput, OnText
from .outcome import Execution, check_program, refused
from .pool import Kernels


async def execute_program(
    code: str,
    kernels: Kernels,
    limits: Limits,
    *,
    on_output: OnOutput | None = None,
    on_text: OnText | None = None,
    destination: Path | None = None,
) -> Execution:
    """Start a restricted kernel, run one program in it, kill it, and collect what the program left.

    Parameters
    ----------
    code
        A complete Python script. One that ``ast.parse`` refuses is never sent, and no kernel is started for it.
    kernels
        How the kernel is made: workspaces, data view, modules to import.
    limits
        What the program may use, as the watchdog judges it.
    on_output, on_text, destination
        As :meth:`.kernel.RestrictedKernel.run_cells` says.

    Raises
    ------
    Refused
        Where containment could not be proven: nothing was run.
    AideError
        Where the kernel did not become ready, or the files could not be collected.
    """
    fault = check_program(code)
    if fault is not None:
        return refused(fault, "", destination or kernels.folder)
    kernel = await kernels.start()
    return await kernel.run(code, limits, on_output, on_text, destination)
