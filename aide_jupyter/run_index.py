"""The index of runs: one small file a run in ``<Jupyter data>/aide_jupyter/runs/``.

It says where a run's folder and notebook are, and is the anchor of its journal: the head after the last record,
written after every record and never moving back. It is never a source of state.

The anchor is written at once after every record: a lag, however short, would be a time in which the last acknowledged
records could be cut off unnoticed. It is written over the one before, in place and without fsync, so after a power loss
it may name an older head, which still is in the chain; the file is whole even then, for the head stands in its first
sector, and nothing else of it changes. Whoever reads holds a lock, and so never sees half of a head.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field, ValidationError

from .errors import AlteredError, BadRequest, JournalError
from .home import data_home, private_folder
from .records import Model, Sha256

JOURNAL = "journal.jsonl"
_FILE_BYTES = 1 << 16
_RUN = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
_ZEROS = "0" * 64


class Head(Model):
    """The number and hash of a journal's last record; (-1, zeros) before the first."""

    seq: int = Field(-1, ge=-1)
    hash: Sha256 = _ZEROS


class RunEntry(Model):
    """One run of the index. ``key`` is the fingerprint of the key that signs it, ``created`` a record's time.

    ``head`` is None where the run was found by its path and is not in this machine's index.
    """

    run: str
    head: Head | None = Head()
    folder: Path
    notebook: Path | None = None
    key: str = ""
    created: str = ""

    @property
    def slug(self) -> str:
        """The name of the run's folder."""
        return self.folder.name

    def in_folder(self, folder: Path) -> RunEntry:
        """The entry of a run whose folder is ``folder`` now: a notebook that lay in the old one has moved with it."""
        notebook = self.notebook
        if notebook is not None and notebook.is_relative_to(self.folder):
            notebook = folder / notebook.relative_to(self.folder)
        return self.model_copy(update={"folder": folder, "notebook": notebook})

    @property
    def missing(self) -> bool:
        """Whether the run's folder is not (or no longer) where the index says."""
        return not is_run_folder(self.folder)


def is_run_folder(path: Path) -> bool:
    """Whether ``path`` is a folder that holds a journal."""
    try:
        return stat.S_ISREG((path / JOURNAL).lstat().st_mode)
    except OSError:
        return False


class RunIndex:
    """The runs of this account on this machine.

    Parameters
    ----------
    folder
        Where the files are; by default ``<Jupyter data>/aide_jupyter/runs``.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = private_folder(data_home() / "runs" if folder is None else folder)

    def add(self, entry: RunEntry) -> None:
        """Enter a new run, before its journal is made. Raises BadRequest where there is one of that id."""
        with self._changing() as folder_fd:
            if self._path(entry.run).exists():
                raise BadRequest(f"There is a run {entry.run} already.", "Start the run again to get another id.")
            self._write(entry.model_copy(update={"folder": entry.folder.absolute()}))
            os.fsync(folder_fd)

    def get(self, run: str) -> RunEntry | None:
        """The run of this id; None where there is none. Raises JournalError where its file is damaged."""
        with self._locked(fcntl.LOCK_SH):
            return self._read(run)

    def _read(self, run: str) -> RunEntry | None:
        path = self._path(run)
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                entry = RunEntry.model_validate_json(file.read(_FILE_BYTES))
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise JournalError(
                f"{path}, which anchors a run's journal, is damaged.", "The run can be verified, but not resumed."
            ) from error
        if entry.run != run:
            raise JournalError(f"{path} speaks of another run ({entry.run}).", "Move it away.")
        return entry

    def anchor(self, run: str, seq: int, digest: str) -> None:
        """Keep the head of a run's journal, after the record it names. Only the run's owner calls this.

        Raises
        ------
        AlteredError
            The head that is kept is further on, or is another one of the same number.
        JournalError
            It could not be written.
        """
        with self._changing():
            entry = self._known(run)
            kept = entry.head or Head()
            if (seq, digest) == (kept.seq, kept.hash):
                return
            if seq <= kept.seq:
                raise AlteredError(
                    f"The anchor of run {run} is at record {kept.seq} and does not go back to record {seq}.", seq
                )
            self._set_head(entry, Head(seq=seq, hash=digest))

    def moved(self, run: str, *, folder: Path | None = None, notebook: Path | None = None) -> None:
        """Follow a rename of a run's folder or notebook.

        Raises
        ------
        BadRequest
            ``folder`` is a copy: the run's own folder is still where it was.
        """
        with self._changing():
            entry = self._known(run)
            if folder is not None and folder.absolute() != entry.folder:
                if run_of(entry.folder) == run and not _same(folder, entry.folder):
                    raise BadRequest(
                        f"{folder} is a copy of the run {run}, whose own folder is {entry.folder}.",
                        "Go on with that one. A copy can be verified and read.",
                    )
                entry = entry.in_folder(folder.absolute())
            if notebook is not None:
                entry = entry.model_copy(update={"notebook": notebook.absolute()})
            self._write(entry)

    def list(self) -> tuple[RunEntry, ...]:
        """All runs, newest first, those included whose folder is gone. A damaged file is passed over."""
        found = []
        for path in self._folder.glob("*.json"):
            with contextlib.suppress(JournalError, BadRequest):
                entry = self.get(path.stem)
                if entry is not None:
                    found.append(entry)
        return tuple(sorted(found, key=lambda entry: (entry.created, entry.run), reverse=True))

    def resolve(self, name: str) -> RunEntry:
        """The run that a person means: by id, by the name of its folder, by the beginning of its id, or by a path.

        A path may be the run's folder or a file in it; the entry then has that folder, also where it is a copy.

        Raises
        ------
        BadRequest
            It means no run, more than one (they are named), or one whose folder is gone.
        """
        entries = self.list()
        for matches in (
            [entry for entry in entries if entry.run == name],
            [entry for entry in entries if entry.slug == name],
            [entry for entry in entries if name and entry.run.startswith(name)],
        ):
            if len(matches) == 1 and matches[0].missing:
                raise BadRequest(
                    f"The run {matches[0].run} is not in its folder {matches[0].folder} any more.",
                    "Where the folder was moved or renamed, name the run by its new path.",
                )
            if len(matches) == 1:
                return matches[0]
            if matches:
                named = "\n".join(f"  {entry.run}  {entry.folder}" for entry in matches[:20])
                raise BadRequest(f"“{name}” means {len(matches)} runs:\n{named}", "Give the whole id, or the path.")
        path = Path(name).expanduser().absolute()
        for folder in (path, path.parent):
            if name and is_run_folder(folder):
                return self._at(folder)
        raise BadRequest(f"There is no run “{name}”.", "`jupyter aide list` shows the runs of this machine.")

    def _at(self, folder: Path) -> RunEntry:
        run = run_of(folder)
        if run is None:
            raise BadRequest(
                f"{folder / JOURNAL} does not say whose run it is.", f"`jupyter aide verify {folder}` says more."
            )
        entry = self.get(run)
        return RunEntry(run=run, folder=folder, head=None) if entry is None else entry.in_folder(folder)

    def _changing(self) -> contextlib.AbstractContextManager[int]:
        """Reading and writing an entry as one step, so that no other process puts an older anchor back."""
        return self._locked(fcntl.LOCK_EX)

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[int]:
        fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, how)
            yield fd
        finally:
            os.close(fd)

    def _set_head(self, entry: RunEntry, head: Head) -> None:
        """Write the head over the one before; where the file's length changes by it, the whole file anew."""
        text, path = _spelled(entry.model_copy(update={"head": head})), self._path(entry.run)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if os.fstat(fd).st_size == len(text):
                    os.pwrite(fd, text, 0)
                    return
            finally:
                os.close(fd)
        except OSError as error:
            raise JournalError(
                f"The anchor {path} could not be written: {error.strerror}.", "Make room, then resume."
            ) from error
        self._write(entry.model_copy(update={"head": head}))

    def _known(self, run: str) -> RunEntry:
        entry = self._read(run)
        if entry is None:
            raise JournalError(
                f"The run {run} is not in the index {self._folder}.", "It can be verified, but not resumed."
            )
        return entry

    def _path(self, run: str) -> Path:
        if not _RUN.fullmatch(run):
            raise BadRequest(f"“{run[:80]}” is not the id of a run.")
        return self._folder / f"{run}.json"

    def _write(self, entry: RunEntry) -> None:
        path = self._path(entry.run)
        draft = path.with_name(f".{entry.run}.{os.getpid()}")
        try:
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(_spelled(entry))
                file.flush()
                os.fsync(fd)
            draft.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise JournalError(
                f"The anchor {path} could not be written: {error.strerror}.", "Make room, then resume."
            ) from error


def _spelled(entry: RunEntry) -> bytes:
    return entry.model_dump_json(indent=1).encode()


def run_of(folder: Path) -> str | None:
    """The id of the run that ``folder`` holds, by the first record of its journal, unchecked; None without one."""
    try:
        fd = os.open(folder / JOURNAL, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            first = json.loads(file.readline(1 << 24))
    except (OSError, ValueError, RecursionError):
        return None
    run = first.get("run") if isinstance(first, dict) else None
    return run if isinstance(run, str) and _RUN.fullmatch(run) else None


def _same(left: Path, right: Path) -> bool:
    try:
        return left.samefile(right)
    except OSError:
        return False
