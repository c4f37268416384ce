"""What can be done with a run that this process does not work at: its report, its best program, its end."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import records as r
from .anchoring import notebook_of, open_journal
from .audit.blobs import Blobs
from .audit.chain import JOURNAL, Anchor, read_records
from .audit.export import export_notebook
from .audit.journal import Journal
from .audit.keys import known_fingerprints
from .audit.report import report
from .audit.trail import Trail
from .audit.verify import Verdict, verify
from .audit.writer import NotebookWriter
from .errors import BadRequest
from .finish import REPORT, write_notebook
from .home import keys_folder
from .owner import Owner
from .preparing import account
from .run_index import RunEntry, RunIndex


def check_run(path: Path, key: str | None = None) -> Verdict:
    """Verify a run with the keys and the index of this machine. Raises as :func:`.audit.verify.verify`."""
    entries = RunIndex().list()
    listed = [*(entry.folder for entry in entries), *(notebook_of(entry) for entry in entries)]
    return verify(path, key=key, keys=known_fingerprints(keys_folder()), index=_known, listed=listed)


@dataclass(frozen=True)
class _Known:
    folder: Path
    notebook: Path
    head: Anchor | None


def _known(run: str) -> _Known | None:
    entry = RunIndex().get(run)
    if entry is None:
        return None
    head = None if entry.head is None else Anchor(entry.head.seq, entry.head.hash)
    return _Known(entry.folder, notebook_of(entry), head)


def report_text(which: str) -> str:
    """A run's report in Markdown: as it was written at its end, else made from its records so far."""
    entry = RunIndex().resolve(which)
    trail = Trail.of(read_records(entry.folder / JOURNAL))
    written = entry.folder / REPORT
    if trail.state.closed is not None and written.is_file():
        return written.read_text(encoding="utf-8")
    return report(trail, Blobs(entry.folder))


async def export_best(which: str, out: Path | None) -> Path:
    """Write the best program as a notebook; returns its path.

    A closed run has one already, with the outputs of the execution that its journal records. Of a run that goes on,
    the best so far is written without running it again.

    Raises
    ------
    BadRequest
        There is no best program, or ``out`` cannot be written.
    """
    entry = RunIndex().resolve(which)
    trail = Trail.of(read_records(entry.folder / JOURNAL))
    written = entry.folder / "best" / "solution.ipynb"
    target = out or written
    try:
        if trail.state.closed is not None and written.is_file():
            if out is not None:
                await asyncio.to_thread(shutil.copyfile, written, out)
        else:
            notebook = await export_notebook(trail, Blobs(entry.folder))
            target.parent.mkdir(parents=True, exist_ok=True)
            await asyncio.to_thread(write_notebook, notebook, target)
    except OSError as error:
        raise BadRequest(f"{target} cannot be written: {error.strerror}.", "Name another file with --out.") from error
    return target


def close_unowned(which: str, actor: r.Actor | None = None) -> None:
    """End a run that no process works at: what waits is rejected, and the run is closed.

    Parameters
    ----------
    actor
        Who ends it, where that is not this account.

    Raises
    ------
    BadRequest
        The run is closed already.
    AlteredError
        The journal is not what was anchored.
    """
    entry = RunIndex().resolve(which)
    with Owner.acquire(entry.folder):
        journal = open_journal(entry)
        try:
            _close(entry, journal, actor or account())
        finally:
            journal.close()


def _close(entry: RunEntry, journal: Journal, actor: r.Actor) -> None:
    if journal.state.closed is not None:
        raise BadRequest(f"The run {entry.run} is closed already.")
    blobs = Blobs(entry.folder)
    writer = NotebookWriter(notebook_of(entry), blobs, read_records(entry.folder / JOURNAL))
    journal.on_append.append(writer.note)
    journal.settle_unknown()
    for candidate, asked in tuple(journal.state.waiting.items()):
        body = r.Decided(
            candidate=candidate,
            code=asked.code,
            decision="reject",
            reason="The run was stopped.",
            mode=journal.state.mode,
            flags=asked.flags,
        )
        journal.append(body, r.SYSTEM)
    journal.append(r.Closed(why="a person stopped it", best=journal.state.best), actor)
    (entry.folder / REPORT).write_text(report(writer.trail, blobs), encoding="utf-8")
    writer.flush(force=True)
