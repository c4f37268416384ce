"""A run's journal on this machine: the key that signs it, where its head is anchored, and how it is taken up again."""

from __future__ import annotations

from pathlib import Path

from .audit.chain import Anchor
from .audit.journal import Journal
from .audit.keys import SigningKey
from .audit.writer import NOTEBOOK, notebook_anchor
from .home import keys_folder
from .run_index import RunEntry, RunIndex

KEY = "signing.pem"


def signing_key() -> SigningKey:
    """This machine's key; made where there is none."""
    return SigningKey.load_or_create(keys_folder() / KEY)


def notebook_of(entry: RunEntry) -> Path:
    """Where a run's audit notebook is, or belongs."""
    return entry.notebook or entry.folder / NOTEBOOK


def open_journal(entry: RunEntry) -> Journal:
    """A run's journal, checked against the heads that are kept elsewhere, and anchored from now on.

    The caller holds the run's lock; the index is read again under it.

    Raises
    ------
    AlteredError
        The journal is not what was anchored.
    """
    index = RunIndex()
    index.moved(entry.run, folder=entry.folder)
    entry = index.get(entry.run) or entry
    anchors = [] if entry.head is None else [Anchor(entry.head.seq, entry.head.hash)]
    named = notebook_anchor(notebook_of(entry))
    if named is not None and named[0] == entry.run:
        anchors.append(named[1])
    journal = Journal.open(entry.folder, signing_key(), anchors)
    anchored(entry, journal)
    return journal


def anchored(entry: RunEntry, journal: Journal) -> None:
    """Anchor the journal's head in the index, now and after each record."""
    index = RunIndex()
    index.anchor(entry.run, journal.head.seq, journal.head.hash)
    journal.on_append.append(lambda record: index.anchor(record.run, record.seq, record.hash))


def settle_calls(journal: Journal) -> None:
    """A call that was under way when the last owner died is charged what it had reserved."""
    for spent in list(journal.state.spend.reserved.values()):
        update = {"phase": "settled", "estimated": True, "error": "the process ended while the call was under way"}
        journal.append(spent.model_copy(update=update))
