"""Says whether a run's journal, blobs and notebook are as they were written; the command ``jupyter aide verify``.

Whatever the files hold, the answer is a :class:`Verdict` and never a traceback. The notebook is read before the
journal, so that a run which goes on meanwhile is not taken for a changed one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import records as r
from ..errors import AideError, AlteredError
from .approvals import Approvals
from .blobs import Blobs, references
from .chain import JOURNAL, Anchor, ChainReport, check_stream, open_journal
from .comparison import NotebookFile, compare, read_notebook, shown
from .keys import normal_fingerprint
from .notebook import Cell, render_cells
from .place import Known, Place, find
from .trail import Trail

INTACT, ALTERED, NOT_CLOSED, NOT_ANCHORED = 0, 1, 2, 3
_MOST = 20
"""Problems that are listed one by one."""
_HOSTILE = (
    AideError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RecursionError,
)
"""What folding or rendering may raise for a record whose chain is good but whose content makes no sense."""


@dataclass(frozen=True)
class Verdict:
    """The exit code and what to tell: what was checked, what is wrong and where."""

    code: int
    lines: tuple[str, ...]
    run: str = ""
    records: int = 0
    first_bad: int | None = None
    problems: tuple[str, ...] = ()
    key: str = ""

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        words = {INTACT: "intact", ALTERED: "altered", NOT_CLOSED: "not closed", NOT_ANCHORED: "not anchored"}
        return {
            "code": self.code,
            "verdict": words[self.code],
            "run": self.run,
            "records": self.records,
            "first_bad": self.first_bad,
            "problems": list(self.problems),
            "key": self.key,
        }


def verify(
    path: Path,
    *,
    key: str | None = None,
    keys: Collection[str] = (),
    index: Callable[[str], Known | None] = lambda run: None,
    listed: Collection[Path] = (),
) -> Verdict:
    """Check a run against its records.

    Parameters
    ----------
    path
        A run's folder, its notebook or its ``journal.jsonl``.
    key
        The fingerprint of a key to trust besides ``keys``.
    keys
        The fingerprints that this machine has.
    index
        What this machine knows of a run, by its id; None where it does not know it.
    listed
        The folders and notebooks of the runs that this machine knows.

    Returns
    -------
    Verdict
        ``code`` 0 intact, 1 altered, 3 not anchored or under an unknown key, 2 not closed; of several the first named.

    Raises
    ------
    BadRequest
        There is nothing of a run at ``path``, or ``key`` is no fingerprint.
    """
    trusted = {*keys, normal_fingerprint(key)} if key else set(keys)
    place = find(path, index, listed)
    notebook = None if place.notebook is None else read_notebook(place.notebook)
    return _Check(place, notebook, trusted).verdict()


@dataclass
class _Check:
    """One verification. Records go through :meth:`_take` in order, once."""

    place: Place
    notebook: NotebookFile | None
    trusted: set[str]
    problems: list[str] = field(default_factory=list)
    trail: Trail = field(default_factory=Trail)
    approvals: Approvals = field(default_factory=Approvals)
    blobs: set[r.BlobRef] = field(default_factory=set)
    hashes: list[str] = field(default_factory=list)
    closed_at: int | None = None
    wanted: dict[str, Cell] | None = None
    senseless: str = ""
    senseless_at: int | None = None

    def verdict(self) -> Verdict:
        report = self._chain()
        lines = [self._say_journal(report)]
        altered = [report.reason] if report.reason else []
        if self.senseless:
            altered.append(self.senseless)
        if report.closed and report.torn:
            altered.append(f"{report.torn} bytes stand after the journal's last record.")
        altered += [*self._check_blobs(), *self.approvals.problems]
        lines += [self._say_blobs(), f"decisions  {self.approvals.executions:,} executions were started"]
        found, told = self._check_notebook(report)
        altered += found
        lines += told
        in_index = self.place.anchor is not None and self.place.anchor.seq >= 0
        anchored = in_index or (self.notebook is not None and self.notebook.head is not None)
        lines.append(self._say_anchors())
        code, last = self._judge(report, altered, anchored=anchored)
        lines += [f"  wrong: {problem}" for problem in altered[:_MOST]]
        if len(altered) > _MOST:
            lines.append(f"  and {len(altered) - _MOST:,} more")
        first_bad = self.senseless_at if report.first_bad is None else report.first_bad
        return Verdict(code, (*lines, last), report.run, report.records, first_bad, tuple(altered), report.key)

    def _judge(self, report: ChainReport, altered: list[str], *, anchored: bool) -> tuple[int, str]:
        if altered:
            return ALTERED, "ALTERED: what is listed above is not as it was written."
        if unanchored := self._unanchored(report, anchored=anchored):
            return NOT_ANCHORED, f"NOT ANCHORED: the records are consistent, but {unanchored}"
        if not report.closed:
            return NOT_CLOSED, "NOT CLOSED: everything is as it was written so far; the run has not ended."
        if self._behind():
            return NOT_CLOSED, "NOT CLOSED: the journal is intact; the notebook is of a time before the run was closed."
        return INTACT, "INTACT: everything is as it was written."

    def _unanchored(self, report: ChainReport, *, anchored: bool) -> str:
        if not report.key_known:
            return (
                f"the key {report.key} is none that this machine has. If it is the fingerprint that was shown at the "
                "end of the run, give it with --key."
            )
        if self.place.index_problem:
            return f"this machine's index of runs is damaged: {self.place.index_problem}"
        return (
            ""
            if anchored
            else "no head of this run is kept elsewhere, so it cannot be told whether later records are missing."
        )

    # The journal.

    def _chain(self) -> ChainReport:
        anchors = [] if self.place.anchor is None else [self.place.anchor]
        try:
            with open_journal(self.place.folder / JOURNAL) as stream:
                return check_stream(stream, self.trusted, anchors, self._take)
        except AlteredError as error:
            return ChainReport(reason=error.message)
        except OSError as error:
            return ChainReport(reason=f"{JOURNAL} cannot be read: {error.strerror}.")

    def _take(self, record: r.Record) -> None:
        self.hashes.append(record.hash)
        if record.kind == "closed":
            self.closed_at = record.seq
        if self.senseless:
            return
        try:
            self.blobs.update(references(record.data))
            self.approvals.take(record)
            self.trail.take(record)
        except _HOSTILE as error:
            self.senseless_at = record.seq
            self.senseless = f"Record {record.seq} makes no sense where it stands ({type(error).__name__})."
            return
        if self.notebook is not None and self.notebook.head == Anchor(record.seq, record.hash):
            try:
                self.wanted = render_cells(self.trail, Blobs(self.place.folder))
            except _HOSTILE as error:
                why = error.message if isinstance(error, AideError) else type(error).__name__
                self.problems.append(f"The notebook's cells cannot be rendered from the records: {why}")

    def _check_blobs(self) -> list[str]:
        problems = []
        blobs = Blobs(self.place.folder)
        for ref in sorted(self.blobs, key=lambda ref: ref.sha256):
            try:
                blobs.read(ref)
            except AideError as error:
                problems.append(error.message)
        return problems

    # The notebook.

    def _check_notebook(self, report: ChainReport) -> tuple[list[str], list[str]]:
        """What is wrong with the notebook, and what to tell of it."""
        notebook = self.notebook
        if notebook is None:
            missing = ["The run's notebook is missing."] if self.place.notebook_wanted and report.closed else []
            return missing, ["notebook   none was found; only the journal was checked"]
        if notebook.broken:
            return [f"The notebook {notebook.path} is not as it was written: {notebook.broken}."], []
        wrong = self._notebook_names(notebook, report)
        if wrong or self.wanted is None:
            unread = [] if report.reason or self.senseless else ["The notebook could not be compared with the records."]
            return wrong or self.problems or unread, []
        found = compare(notebook, report.run, self.wanted)
        told = [f"notebook   {found.agents:,} cells of the agent compared; {found.persons:,} of a person's own"]
        if self._behind():
            told.append(f"           it shows the run up to record {notebook.head.seq if notebook.head else -1}")
        if notebook.unrestricted_kernel:
            told.append("           note: it names another kernel than the restricted one")
        return list(found.problems), told

    def _notebook_names(self, notebook: NotebookFile, report: ChainReport) -> list[str]:
        """Whether the notebook names this run, its key and a head that is in the journal."""
        head = notebook.head
        if head is None or not self.hashes:
            return []
        if notebook.run != report.run:
            return [f"The notebook belongs to another run, {shown(notebook.run)}."]
        if head.seq >= len(self.hashes) and not report.reason:
            return [
                f"The notebook names record {head.seq}, and the journal ends with record {len(self.hashes) - 1}: "
                "the journal's tail is missing, or the notebook's head was changed."
            ]
        if not 0 <= head.seq < len(self.hashes) or self.hashes[head.seq] != head.hash:
            return [f"The head that the notebook names (record {shown(str(head.seq))}) is not in the journal."]
        if self.trail.state.opened is not None and notebook.key != self.trail.state.opened.key:
            return ["The notebook names another key than the journal."]
        return []

    def _behind(self) -> bool:
        """Whether the notebook is of a time before the run was closed."""
        if self.notebook is None or self.notebook.head is None or self.closed_at is None:
            return False
        return self.notebook.head.seq < self.closed_at

    # What is told.

    def _say_journal(self, report: ChainReport) -> str:
        known = "known" if report.key_known else "not known on this machine"
        state = "closed" if report.closed else "not closed"
        torn = f", then {report.torn} bytes of a record that was cut off or is being written" if report.torn else ""
        key = f"; signed by {report.key} ({known})" if report.key else ""
        return f"journal    {report.records:,} good records, {state}{torn}{key}"

    def _say_blobs(self) -> str:
        return f"texts      {len(self.blobs):,} long texts and pictures that records name by hash"

    def _say_anchors(self) -> str:
        found = []
        if self.place.anchor is not None:
            found.append(f"record {self.place.anchor.seq} in this machine's index")
        if self.notebook is not None and self.notebook.head is not None:
            found.append(f"record {shown(str(self.notebook.head.seq))} in the notebook")
        return f"anchors    {' and '.join(found) or 'none'}"
