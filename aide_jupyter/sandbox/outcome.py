"""What one execution comes to: what the server saw for itself, and what the kernel claims."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..records import ErrorOutput, Observed, ProducedFile, Status, StreamOutput, TextOutput


@dataclass(frozen=True)
class Picture:
    """A picture that a program displayed, written anew by us: the bytes of a PNG."""

    png: bytes


RawOutput = StreamOutput | TextOutput | ErrorOutput | Picture
"""One output as it stands before secrets are masked: texts are plain and whole, in the order in which they came."""
_LIMITS = {"memory": "memory", "processes": "processes", "disk": "bytes on disk", "output": "printed bytes"}


@dataclass(frozen=True)
class Execution:
    """How the run of one program ended. Its kernel is dead, and nothing writes to ``workspace`` any more.

    Observed by the server: ``seconds`` from the sending of the program to its end, ``peak_memory_bytes`` of the whole
    tree, ``exit`` (the jail's status where the kernel died by itself), ``limit`` (seconds, memory, processes, disk or
    output), ``output_bytes``, ``files``, ``files_left_out``, ``survivors``. Claimed by the kernel: ``reply``,
    ``outputs``. ``truncated`` counts the bytes of output that were not kept.
    """

    status: Status
    kernel_id: str
    workspace: Path
    seconds: float
    reply: Literal["ok", "error", "none"] = "none"
    outputs: tuple[RawOutput, ...] = ()
    truncated: int = 0
    output_bytes: int = 0
    peak_memory_bytes: int = 0
    exit: int | None = None
    limit: str | None = None
    files: tuple[ProducedFile, ...] = ()
    files_left_out: int = 0
    survivors: int = 0

    @property
    def observed(self) -> Observed:
        """What the server saw for itself, as a record holds it."""
        return Observed(
            seconds=self.seconds,
            peak_memory_bytes=self.peak_memory_bytes,
            exit=self.exit,
            limit=self.limit,
            output_bytes=self.output_bytes,
            files=self.files,
            files_left_out=self.files_left_out,
            survivors=self.survivors,
        )

    @property
    def explanation(self) -> str | None:
        """What ended the program, in a sentence; None where it ended by itself."""
        if self.status == "timeout":
            return f"The program was ended after {self.seconds:.0f} s, its time limit."
        if self.status == "limit":
            return f"The program was ended because it reached its limit of {_LIMITS.get(self.limit or '', self.limit)}."
        if self.status == "stopped":
            return "The program was stopped."
        if self.status == "died":
            how = "" if self.exit is None else f" with status {self.exit}"
            how = how if self.exit is None or self.exit <= 128 else f" by signal {self.exit - 128}"
            return f"The program ended its process{how} before it was done."
        return None

    @property
    def error(self) -> ErrorOutput | None:
        """The last exception among the outputs."""
        return next((item for item in reversed(self.outputs) if isinstance(item, ErrorOutput)), None)

    def text(self, *streams: str) -> str:
        """What was written to these streams (``stdout``, ``stderr``; both where none is named), in order."""
        wanted = streams or ("stdout", "stderr")
        return "".join(
            str(item.text) for item in self.outputs if isinstance(item, StreamOutput) and item.name in wanted
        )


@dataclass(frozen=True)
class CellRun:
    """How the run of several cells in one kernel ended, with the outputs of each. Cells that never ran have none."""

    execution: Execution
    outputs: list[list[RawOutput]]


def check_program(code: str) -> str | None:
    """Why ``code`` is no Python program, in a line; None where it is one.

    Magics and shell escapes are no Python, so a program that has them is never sent to a kernel.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except SyntaxError as error:
        return f"SyntaxError: {error.msg} (line {error.lineno})"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"SyntaxError: {error}" if isinstance(error, ValueError) else "SyntaxError: the program nests too deeply"
    return None


def refused(code_error: str, kernel_id: str, workspace: Path) -> Execution:
    """The outcome of a program that was never sent, because :func:`check_program` found fault with it."""
    name, _, message = code_error.partition(": ")
    failure = ErrorOutput(name=name, message=message, traceback=code_error)
    return Execution("error", kernel_id, workspace, 0.0, outputs=(failure,))
