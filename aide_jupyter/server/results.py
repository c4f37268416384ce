"""What a run leaves: its records, blobs, exported solution, and the verdict about its files. All of it blocks."""

from __future__ import annotations

import asyncio
from itertools import islice
from pathlib import Path

from ..afterwards import check_run, export_best
from ..audit.blobs import FOLDER, Blobs
from ..audit.chain import JOURNAL, read_records
from ..errors import BadRequest
from ..records import BlobRef
from ..run_index import RunEntry
from .looking import NotFound
from .models import Exported, Records, VerifyReply
from .places import Places
from .recordview import pictures, record_view
from .runs import Runs

_NAME = "solution.ipynb"
TEXT, PICTURE = "text/plain; charset=utf-8", "image/png"


def records(entry: RunEntry, after: int, limit: int) -> Records:
    """At most ``limit`` records after one."""
    found = list(islice(read_records(entry.folder / JOURNAL, after), limit + 1))
    shown = tuple(record_view(record) for record in found[:limit])
    return Records(run=entry.run, records=shown, more=len(found) > limit)


async def blob(runs: Runs, run: str, digest: str) -> tuple[bytes, str]:
    """A blob's bytes and how a browser may take them: as a picture only where a record names it as one.

    Raises
    ------
    NotFound
        The run has no such blob.
    AlteredError
        It is not what its name says.
    """
    entry = await runs.entry(run)
    is_picture = await runs.look(run, lambda picture, around: digest in pictures(picture.trail))
    data = await runs.off_loop(lambda: _blob(entry.folder, digest))
    return data, PICTURE if is_picture else TEXT


def _blob(folder: Path, digest: str) -> bytes:
    try:
        size = (folder / FOLDER / digest).lstat().st_size
    except OSError as error:
        raise NotFound("The run has no such text or picture.") from error
    return Blobs(folder).read(BlobRef(sha256=digest, bytes=size))


def verdict(path: Path, key: str | None) -> VerifyReply:
    """Verify a run. Raises BadRequest where there is none at ``path``."""
    found = check_run(path, key)
    lines = found.lines
    return VerifyReply.model_validate(
        {
            "code": found.code,
            "verdict": found.as_json()["verdict"],
            "words": lines[-1] if lines else "",
            "run": found.run,
            "records": found.records,
            "first_bad": found.first_bad,
            "problems": found.problems,
            "lines": lines,
            "key": found.key,
        }
    )


def exported(run: str, folder: Path) -> bytes:
    """The best program as a notebook's bytes, written into a folder of ours first. Raises as export_best."""
    return asyncio.run(export_best(run, folder / _NAME)).read_bytes()


def export(places: Places, run: str, named: str | None) -> Exported:
    """Write the best program as a notebook: where it was asked for, else beside the run's other results.

    Raises
    ------
    BadRequest
        There is none, or something is at that place already.
    """
    target = None if named is None else places.file(named)
    if target is not None and target.suffix != ".ipynb":
        raise BadRequest(f"“{named}” is not the name of a notebook.", "End it with .ipynb.")
    if target is not None and target.exists():
        raise BadRequest(f"There is a file “{named}” already.", "Choose another name.")
    written = asyncio.run(export_best(run, target))
    shown = places.shown(written)
    return Exported(
        path=shown, words=f"The best program was written to {shown}. It runs with the rights of its reader."
    )
