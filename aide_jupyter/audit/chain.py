"""How a journal is checked: each record bound to the one before, signed by the run's key, and anchored elsewhere.

The chain alone cannot tell that its tail is missing, or that all of it was written anew; the anchors do that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import AlteredError
from ..records import Record
from .files import open_regular
from .keys import PublicKey
from .lines import LINE_BYTES, Spelling, parse, record_of

JOURNAL = "journal.jsonl"


@dataclass(frozen=True, order=True)
class Anchor:
    """A head that is kept elsewhere: the record of this number has this hash."""

    seq: int
    hash: str


GENESIS = Anchor(-1, "0" * 64)
"""The head of a journal that holds nothing yet. It is in every chain, and so proves nothing."""


class Chain:
    """A chain as far as it has been checked, line by line."""

    def __init__(self) -> None:
        self.run = ""
        self.head = GENESIS
        self.key: PublicKey | None = None

    def take(self, line: bytes) -> Record:
        """Check the next line (without its new line). Raises ValueError with the reason in words."""
        fields = parse(line)
        digest = _content_hash(fields, line)
        record = record_of(fields)
        if record.seq != self.head.seq + 1:
            raise ValueError(f"its number is {record.seq}")
        if record.prev != self.head.hash:
            raise ValueError("it does not follow from the record before")
        if digest != record.hash:
            raise ValueError("its hash is not that of its content")
        key = self._begin(record) if self.key is None else self.key
        if record.run != self.run:
            raise ValueError("it belongs to another run")
        if not key.verify(bytes.fromhex(record.hash), record.signature):
            raise ValueError("its signature is not that of the run's key")
        self.head = Anchor(record.seq, record.hash)
        return record

    def _begin(self, record: Record) -> PublicKey:
        if record.kind != "opened":
            raise ValueError("it does not open a run")
        self.key = PublicKey(str(record.data.get("key")))
        self.run = record.run
        return self.key


def _content_hash(fields: dict[str, Any], line: bytes) -> str:
    """The hash that a record must have. Raises ValueError where its line is not the one way to write it."""
    try:
        spelling = Spelling(fields)
        canonical = spelling.line(fields) == line
    except ValueError as error:
        raise ValueError("it is not in canonical form") from error
    if not canonical:
        raise ValueError("it is not in canonical form")
    return spelling.hash


@dataclass(frozen=True)
class ChainReport:
    """What :func:`check_chain` found.

    ``reason`` says in words what is wrong, empty where nothing is. ``first_bad`` is the number of the first bad record;
    None where nothing is wrong or the tail is missing. ``head`` and ``records`` count what was good before that.
    ``torn`` is the number of bytes after the last whole line: a write that a crash cut off, or one under way.
    ``anchored`` says that at least one anchor was given and all are in the chain. ``key`` is a fingerprint.
    """

    run: str = ""
    head: Anchor = GENESIS
    first_bad: int | None = None
    reason: str = ""
    closed: bool = False
    torn: int = 0
    whole: int = 0
    key: str = ""
    key_known: bool = False
    anchored: bool = False

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong. Says nothing about whose key it is; see ``key_known``."""
        return not self.reason

    @property
    def records(self) -> int:
        """How many records are good."""
        return self.head.seq + 1


def check_chain(path: Path, *, keys: Collection[str], anchors: Collection[Anchor]) -> ChainReport:
    """Check a journal from its first byte to its last. Whatever the file is, this reports and does not raise.

    Parameters
    ----------
    path
        The journal. A link is not followed.
    keys
        Fingerprints of the keys that the verifier already has.
    anchors
        Heads that were kept elsewhere.
    """
    try:
        with open_journal(path) as stream:
            return check_stream(stream, keys, anchors)
    except AlteredError as error:
        return ChainReport(reason=error.message)
    except OSError as error:
        return ChainReport(reason=f"{path} cannot be read: {error.strerror}.")


def open_journal(path: Path) -> BinaryIO:
    """The journal, open for reading. Raises AlteredError where it is not a regular file that can be read."""
    try:
        return open_regular(path)
    except FileNotFoundError as error:
        raise AlteredError(f"{path} is missing.") from error
    except OSError as error:
        why = "it is a link" if path.is_symlink() else error.strerror
        raise AlteredError(f"{path} cannot be read: {why}.") from error


@dataclass
class _Anchors:
    """Which of the anchored heads the chain has been seen to hold."""

    wanted: dict[int, set[str]] = field(default_factory=dict)

    def contradict(self, record: Record) -> bool:
        hashes = self.wanted.pop(record.seq, None)
        return hashes is not None and hashes != {record.hash}

    def last_missing(self) -> int | None:
        return max(self.wanted, default=None)


def check_stream(
    stream: BinaryIO,
    keys: Collection[str],
    anchors: Collection[Anchor],
    each: Callable[[Record], None] | None = None,
) -> ChainReport:
    """As :func:`check_chain`, over an open file. ``each`` is called with every good record, in order.

    What ``each`` raises and what reading raises (OSError) goes through.
    """
    chain, head, whole, torn, closed = Chain(), GENESIS, 0, 0, False
    first_bad, reason = None, ""
    open_anchors = _Anchors()
    for anchor in anchors:
        if anchor != GENESIS:
            open_anchors.wanted.setdefault(anchor.seq, set()).add(anchor.hash)
    anchored = bool(open_anchors.wanted)
    for line in iter(lambda: stream.readline(LINE_BYTES + 1), b""):
        number = head.seq + 1
        if len(line) > LINE_BYTES:
            first_bad, reason = number, f"Record {number} is bad: it is longer than {LINE_BYTES} bytes."
            break
        if not line.endswith(b"\n"):
            torn = len(line)
            break
        try:
            record = chain.take(line[:-1])
        except ValueError as error:
            first_bad, reason = number, f"Record {number} is bad: {error}."
            break
        if open_anchors.contradict(record):
            first_bad, reason = number, f"Record {number} is not the one that was anchored: the journal was rewritten."
            break
        head, whole = chain.head, whole + len(line)
        closed = closed or record.kind == "closed"
        if each is not None:
            each(record)
    missing = open_anchors.last_missing()
    if not reason and missing is not None:
        last = f"ends with record {head.seq}" if head.seq >= 0 else "holds no record"
        reason = f"The tail is missing: the journal {last}, but record {missing} was anchored."
    if not reason and head.seq < 0:
        reason = "The journal is empty." if torn == 0 else "The journal holds no whole record."
    return ChainReport(
        run=chain.run,
        head=head,
        first_bad=first_bad,
        reason=reason,
        closed=closed,
        torn=torn,
        whole=whole,
        key="" if chain.key is None else chain.key.fingerprint,
        key_known=chain.key is not None and chain.key.is_among(keys),
        anchored=anchored and not reason,
    )


def read_records(path: Path, after: int = -1) -> Iterator[Record]:
    """The records after number ``after``, for a reader who does not own the run.

    Reads up to the last whole line; signatures are not checked (:func:`check_chain` does that).

    Raises
    ------
    AlteredError
        The file cannot be read, or a whole line is no record or not the one that its place says.
    """
    with open_journal(path) as stream:
        for number, line in enumerate(iter(lambda: stream.readline(LINE_BYTES + 1), b"")):
            if not line.endswith(b"\n"):
                if len(line) > LINE_BYTES:
                    raise AlteredError(f"Record {number} of {path} is longer than {LINE_BYTES} bytes.", number)
                return
            if number <= after:
                continue
            try:
                record = record_of(parse(line[:-1]))
            except ValueError as error:
                raise AlteredError(f"Record {number} of {path} is bad: {error}.", number) from error
            if record.seq != number:
                raise AlteredError(f"Record {number} of {path} is bad: its number is {record.seq}.", number)
            yield record
