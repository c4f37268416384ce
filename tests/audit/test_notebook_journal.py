"""The notebook follows a real journal, anchors it, and verifies with this machine's index of runs."""

from __future__ import annotations

from pathlib import Path

from aide_jupyter import records as r
from aide_jupyter.audit.journal import Anchor, Blobs, Journal, SigningKey, read_records
from aide_jupyter.audit.keys import known_fingerprints
from aide_jupyter.audit.verify import verify
from aide_jupyter.audit.writer import NotebookWriter, notebook_anchor
from aide_jupyter.run_index import RunEntry, RunIndex
from tests.audit.builder import ADA, AUTHOR, CODE, RUN, Story


def test_a_run_is_written_resumed_and_verified(tmp_path: Path) -> None:
    folder, path = tmp_path / "run", tmp_path / "run" / "audit.ipynb"
    key = SigningKey.load_or_create(tmp_path / "keys" / "key.pem")
    index = RunIndex(tmp_path / "index")
    index.add(RunEntry(run=RUN, folder=folder, notebook=path, key=key.fingerprint))
    opened = Story(key=key).records[0].body()
    assert isinstance(opened, r.Opened)
    journal = Journal.create(folder, RUN, key, opened, ADA)

    def follow(journal: Journal) -> NotebookWriter:
        writer = NotebookWriter(path, Blobs(folder), read_records(folder / "journal.jsonl"))
        journal.on_append.append(lambda record: index.anchor(RUN, record.seq, record.hash))
        journal.on_append.append(writer.note)
        return writer

    writer = follow(journal)
    writer.flush(force=True)
    journal.append(r.Chosen(candidate="c0001", operator="draft"))
    code = CODE + "# filler\n" * 600
    journal.append(r.Proposed(candidate="c0001", plan="p", code=journal.text(code)), AUTHOR)
    writer.flush(force=True)
    journal.close()
    keys = known_fingerprints(tmp_path / "keys")
    assert verify(folder, keys=keys, index=index.get).code == 2

    kept, entry = notebook_anchor(path), index.get(RUN)
    assert kept is not None and entry is not None and entry.head is not None
    assert kept == (RUN, Anchor(entry.head.seq, entry.head.hash))
    journal = Journal.open(folder, key, [kept[1]])
    writer = follow(journal)
    digest = r.sha256_text(code)
    journal.append(
        r.Decided(candidate="c0001", code=digest, decision="approve", mode="every", purposes=("search",)), ADA
    )
    journal.append(r.Started(candidate="c0001", code=digest, kernel="k", limits=r.Limits()))
    output = r.StreamOutput(name="stdout", text=journal.text("a\ud800b\n" * 2000))
    claimed = r.Claimed(reply="ok", metric=0.5, outputs=(output,))
    journal.append(r.Finished(candidate="c0001", status="ok", observed=r.Observed(seconds=1.5), claimed=claimed))
    journal.append(r.Graded(candidate="c0001", source="reported", value=0.5))
    journal.append(r.Reviewed(candidate="c0001", failed=False, summary="fine"))
    journal.append(r.Closed(why="steps", best="c0001"))
    writer.flush(force=True)
    journal.close()
    for place in (folder, path, folder / "journal.jsonl"):
        verdict = verify(place, keys=keys, index=index.get)
        assert verdict.code == 0, verdict.lines
    assert writer.trail.state.best == "c0001"
