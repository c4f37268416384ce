"""Reading hostile data in a process of its own, whose memory and time are limited, and which can be killed.

A parser that crashes, hangs or eats memory takes only that process down. The file that it was reading is then left out,
with words, and the rest is read again.
"""

from __future__ import annotations

import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ..errors import AideError
from ..records import PreviewLevel
from ..untrusted import Untrusted
from .columns import TableColumns, TargetKind, guess_target
from .copying import Stop, check
from .fit import LIMIT
from .listing import BUDGET, LEAST
from .shape import Preview

MEMORY = 4 << 30
"""Bytes of address space; a preview of a gigabyte of csv has 2 GB mapped, and under 500 MB of them in memory."""

SECONDS = 180.0
ATTEMPTS = 4
_MOST_OUTPUT = 16 << 20
_READING = "reading "


@dataclass(frozen=True)
class Survey:
    """What the columns of a view say of the task; ``kind`` is None where no target is known."""

    tables: list[TableColumns]
    target: str | None
    kind: TargetKind | None


def preview_in_process(
    root: Path,
    level: PreviewLevel,
    *,
    target: str | None = None,
    links: Collection[Path] = (),
    limit: int = LIMIT,
    memory: int = MEMORY,
    seconds: float = SECONDS,
    stop: Stop | None = None,
) -> Preview:
    """:func:`aide_jupyter.data.preview.preview` in a process of its own.

    Parameters
    ----------
    root, level, target, links, limit
        As there.
    memory
        Bytes of address space of the process.
    seconds
        For each attempt, of which there are at most four.
    stop
        Asked ten times a second; the process is killed when it says so.

    Raises
    ------
    AideError
        Where the data could not be read within the limits, even without the files that were at fault.
    """
    request = {"root": str(root), "level": level, "target": target, "limit": limit, "links": [str(p) for p in links]}
    reply = _asked("preview", request | {"budget": BUDGET}, memory, seconds, stop)
    return Preview.model_validate_json(reply)


def columns_in_process(
    root: Path, *, links: Collection[Path] = (), seconds: float = SECONDS, stop: Stop | None = None
) -> list[TableColumns]:
    """:func:`aide_jupyter.data.targets.columns` in a process of its own. Raises :class:`AideError` as above."""
    reply = _asked("columns", {"root": str(root), "links": [str(p) for p in links]}, MEMORY, seconds, stop)
    return _tables(json.loads(reply))


def survey_in_process(
    root: Path, target: str | None, *, links: Collection[Path] = (), seconds: float = SECONDS, stop: Stop | None = None
) -> Survey:
    """The columns of a view, the target (the given one, else the one that is plain) and its kind, in a process of its
    own. Raises :class:`AideError` as above."""
    request = {"root": str(root), "target": target, "links": [str(p) for p in links]}
    said = json.loads(_asked("survey", request, MEMORY, seconds, stop))
    return Survey(_tables(said["tables"]), said["target"], said["kind"])


def _tables(said: list[dict[str, Any]]) -> list[TableColumns]:
    return [TableColumns(item["path"], item["sheet"], tuple(item["names"])) for item in said]


def _asked(what: str, request: dict[str, Any], memory: int, seconds: float, stop: Stop | None) -> str:
    """The process's reply. The file that it died of is left out of the next attempt; where it was only too slow with
    large files, it reads less of them."""
    root = Path(request["root"])
    skip: dict[str, str] = {}
    for _ in range(ATTEMPTS):
        attempt = _Attempt(json.dumps({"what": what, "memory": memory, "skip": skip, **request}), seconds)
        reply = attempt.run(stop)
        if reply is not None:
            return reply
        if what != "preview" or attempt.reading is None or attempt.reading in skip:
            break
        if attempt.late and request["budget"] > LEAST and _size(root, attempt.reading) > LEAST:
            request["budget"] = LEAST
        else:
            skip[attempt.reading] = attempt.why
    where = "" if attempt.reading is None else Untrusted(attempt.reading, "file name").render(120, one_line=True)
    raise AideError(
        f"The data could not be read{f' at {where}' if where else ''}: {attempt.why}.",
        "Look at that file, or take it out of the data folder.",
    )


def _size(root: Path, name: str) -> int:
    try:
        return (root / name).stat().st_size
    except OSError:
        return 0


@dataclass
class _Attempt:
    """One process. ``reading`` is the file that it was at last, ``why`` what became of it, in words; ``late`` that it
    was not done in time."""

    request: str
    seconds: float
    reading: str | None = None
    why: str = ""
    late: bool = False
    output: bytearray = field(default_factory=bytearray)

    def run(self, stop: Stop | None) -> str | None:
        """Its reply; None where it gave none. Raises :class:`Stopped`."""
        path = os.pathsep.join(entry for entry in sys.path if entry)
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL", "TZ") if name in os.environ}
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "aide_jupyter.data.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept | {"PYTHONPATH": path, "POLARS_MAX_THREADS": "2", "OMP_NUM_THREADS": "1"},
            start_new_session=True,
            cwd="/",
        )
        try:
            assert process.stdin is not None and process.stdout is not None
            with process.stdin as stdin, process.stdout as stdout:
                self._send(stdin)
                finished = self._listen(stdout, stop)
        finally:
            if process.poll() is None:
                _kill(process)
            process.wait()
        lines = self.output.decode("utf-8", "replace").splitlines()
        begun = [line.removeprefix(_READING) for line in lines if line.startswith(_READING)]
        self.reading = json.loads(begun[-1]) if begun else None
        if finished and process.returncode == 0 and lines and lines[-1].startswith("reply "):
            return lines[-1].removeprefix("reply ")
        self.why = self.why or _ended(process.returncode)
        return None

    def _send(self, stdin: IO[bytes]) -> None:
        try:
            stdin.write(self.request.encode())
            stdin.close()
        except BrokenPipeError:
            self.why = "the process that reads it did not start"

    def _listen(self, stdout: IO[bytes], stop: Stop | None) -> bool:
        """Read to the end of the process's output; False where a limit came first."""
        end = time.monotonic() + self.seconds
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while True:
                check(stop)
                if time.monotonic() > end:
                    self.late = True
                    self.why = f"it took more than {self.seconds:.0f} seconds"
                    return False
                if not selector.select(0.1):
                    continue
                block = os.read(stdout.fileno(), 1 << 16)
                self.output += block
                if not block:
                    return True
                if len(self.output) > _MOST_OUTPUT:
                    self.why = "there is too much in it"
                    return False


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _ended(code: int) -> str:
    if code in (-signal.SIGABRT, 3):
        return "it took more memory than is allowed"
    if code == -signal.SIGXCPU:
        return "it took more time than is allowed"
    return "the process that reads it was killed" if code == -signal.SIGKILL else f"its reader crashed ({code})"


def main() -> int:
    """Read one request from standard input, and write its reply as the last line of standard output."""
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        reply = _reply(request)
    except MemoryError:
        return 3
    sys.stdout.write(f"reply {reply}\n")
    return 0


def _told(tables: list[TableColumns]) -> list[dict[str, Any]]:
    return [{"path": item.path, "sheet": item.sheet, "names": item.names} for item in tables]


def _reply(request: dict[str, Any]) -> str:
    root, links = Path(request["root"]), [Path(path) for path in request["links"]]
    if request["what"] == "columns":
        from .targets import columns

        return json.dumps(_told(columns(root, links=links)))
    if request["what"] == "survey":
        from .targets import columns, target_kind

        found = columns(root, links=links)
        target = request["target"] or guess_target(found)
        kind = None if target is None else target_kind(root, target, links=links)
        return json.dumps({"tables": _told(found), "target": target, "kind": kind})
    from .preview import preview

    def reading(path: str) -> None:
        sys.stdout.write(f"{_READING}{json.dumps(path)}\n")
        sys.stdout.flush()

    told = preview(
        root,
        request["level"],
        target=request["target"],
        links=links,
        limit=request["limit"],
        budget=request["budget"],
        skip=request["skip"],
        reading=reading,
    )
    return told.model_dump_json()


if __name__ == "__main__":
    sys.exit(main())
