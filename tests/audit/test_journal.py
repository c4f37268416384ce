"""The journal: what an append promises, what opening checks, repairs and refuses."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aide_jupyter import records as r
from aide_jupyter.audit import journal as journal_module
from aide_jupyter.audit.chain import GENESIS, Anchor, check_chain, read_records
from aide_jupyter.audit.journal import Blobs, Journal, SigningKey, clean
from aide_jupyter.errors import AlteredError, JournalError
from aide_jupyter.state import fold

RUN = "20261130t191148-1f3a9c02"
LIMITS = r.Limits()


def lines(journal: Journal) -> list[bytes]:
    return (journal.folder / "journal.jsonl").read_bytes().splitlines(keepends=True)


def started(purpose: str = "search") -> r.Started:
    return r.Started(candidate="c0001", code="0" * 64, kernel="k1", limits=LIMITS, purpose=purpose)


def begin_candidate(journal: Journal) -> None:
    journal.append(r.Chosen(candidate="c0001", operator="draft"))
    journal.append(r.Proposed(candidate="c0001", plan="try", code="print(1)\n"))


def reopen(journal: Journal, key: SigningKey, *anchors: Anchor) -> Journal:
    journal.close()
    return Journal.open(journal.folder, key, anchors or [journal.head])


@pytest.fixture
def closing(monkeypatch: pytest.MonkeyPatch):
    """Closes what a test leaves open."""
    made: list[Journal] = []
    plain = Journal.open.__func__  # type: ignore[attr-defined]

    def open_(cls: type[Journal], *args: object) -> Journal:
        journal: Journal = plain(cls, *args)
        made.append(journal)
        return journal

    monkeypatch.setattr(Journal, "open", classmethod(open_))
    yield
    for journal in made:
        journal.close()


pytestmark = pytest.mark.usefixtures("closing")


def test_what_is_appended_is_what_readers_get_and_what_the_state_tells(journal: Journal) -> None:
    begin_candidate(journal)
    read = list(read_records(journal.folder / "journal.jsonl"))
    assert [record.kind for record in read] == ["opened", "chosen", "proposed"]
    assert [record.seq for record in read_records(journal.folder / "journal.jsonl", after=1)] == [2]
    assert fold(read) == journal.state
    assert journal.head == Anchor(2, read[-1].hash)
    assert read[0].actor.name == "ada"
    assert read[1].actor == r.SYSTEM


def test_append_returns_the_record_as_it_is_read_later(journal: Journal) -> None:
    returned = journal.append(r.Limited(what="tokens", limit=1e17, value=3.0))
    assert list(read_records(journal.folder / "journal.jsonl"))[-1] == returned


def test_observers_see_a_record_only_once_a_reader_could_read_it(journal: Journal) -> None:
    seen = []

    def observe(record: r.Record) -> None:
        on_disk = list(read_records(journal.folder / "journal.jsonl"))[-1]
        seen.append((on_disk == record, journal.state.head_seq == record.seq))

    journal.on_append.append(observe)
    journal.append(r.Paused(why="asked"))
    assert seen == [(True, True)]


def test_files_are_private_whatever_the_umask(tmp_path: Path, key: SigningKey, opened: Callable) -> None:
    old = os.umask(0)
    try:
        (tmp_path / "run").mkdir(0o755)
        journal = Journal.create(tmp_path / "run", RUN, key, opened(key), r.SYSTEM)
        ref = journal.blob(b"data")
    finally:
        os.umask(old)
    journal.close()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (journal.folder, *journal.folder.rglob("*"))}
    assert modes == {"run": 0o700, "journal.jsonl": 0o600, "blobs": 0o700, ref.sha256: 0o600}


def test_create_never_takes_over_a_file_or_follows_a_link(tmp_path: Path, key: SigningKey, opened: Callable) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "journal.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JournalError, match="cannot be made"):
        Journal.create(folder, RUN, key, opened(key), r.SYSTEM)
    assert not (tmp_path / "elsewhere").exists()
    (tmp_path / "link").symlink_to(tmp_path / "target", target_is_directory=True)
    (tmp_path / "target").mkdir()
    with pytest.raises(JournalError, match="cannot be made"):
        Journal.create(tmp_path / "link", RUN, key, opened(key), r.SYSTEM)
    assert list((tmp_path / "target").iterdir()) == []


def test_create_never_goes_on_with_a_journal_that_exists(journal: Journal, key: SigningKey, opened: Callable) -> None:
    content = lines(journal)
    with pytest.raises(JournalError, match="File exists"):
        Journal.create(journal.folder, RUN, key, opened(key), r.SYSTEM)
    assert lines(journal) == content


def test_create_refuses_a_first_record_that_names_another_key(
    tmp_path: Path, key: SigningKey, opened: Callable
) -> None:
    with pytest.raises(JournalError, match="another key"):
        Journal.create(tmp_path / "run", RUN, key, opened(SigningKey.generate()), r.SYSTEM)


def test_time_never_goes_back(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    before = journal.append(r.Resumed()).time
    monkeypatch.setattr(journal_module, "_now", lambda: "2001-01-01T00:00:00.000000Z")
    assert journal.append(r.Resumed()).time == before


def test_lone_surrogates_and_huge_numbers_survive_as_valid_json(journal: Journal) -> None:
    journal.append(r.Changed.model_validate({"what": "hint", "from": 2**70, "to": {"a": ["b\udfffc"]}}))
    journal.append(r.Changed.model_validate({"what": "hint", "from": 10**400, "to": None}))
    journal.append(r.Paused(why="x\ud83d"), r.Actor(kind="user", name="n\udc00"))
    read = list(read_records(journal.folder / "journal.jsonl"))
    assert read[1].data["to"] == {"a": ["b\ufffdc"]}
    assert read[1].data["from"] == 2.0**70
    assert read[3].data["why"] == "x\ufffd"
    assert read[3].actor.name == "n\ufffd"
    report = check_chain(journal.folder / "journal.jsonl", keys=[], anchors=[journal.head])
    assert report.intact
    assert report.anchored
    assert clean("plain \U0001f600") == "plain \U0001f600"


def test_a_body_that_cannot_be_a_record_is_refused_and_the_journal_goes_on(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "LINE_BYTES", 2000)
    with pytest.raises(JournalError, match="longer than 2000"):
        journal.append(r.Paused(why="x" * 2000))
    with pytest.raises(JournalError, match="canonical JSON cannot say"):
        journal.append(r.Limited.model_construct(what="tokens", limit=float("inf"), value=1.0))
    assert journal.append(r.Paused(why="x")).seq == 1


def test_a_record_that_does_not_fit_the_run_is_taken_back(journal: Journal, key: SigningKey) -> None:
    with pytest.raises(JournalError, match="could not be written"):
        journal.append(r.Reviewed(candidate="c0009", failed=False, summary=""))
    assert len(lines(journal)) == 1
    assert reopen(journal, key).state.head_seq == 0


# --- texts and blobs --------------------------------------------------------------------------------------------------


def test_long_texts_are_blobs_and_short_ones_stand_in_the_record(journal: Journal) -> None:
    assert journal.text("é" * 2048) == "é" * 2048
    ref = journal.text("é" * 2048 + "a\ud800")
    assert isinstance(ref, r.BlobRef)
    assert Blobs(journal.folder).text(ref) == "é" * 2048 + "a\ufffd"
    assert Blobs(journal.folder).text("inline") == "inline"


def test_a_blob_is_kept_once_and_a_damaged_one_is_written_again(journal: Journal) -> None:
    ref = journal.blob(b"x" * 100)
    path = journal.folder / "blobs" / ref.sha256
    inode = path.stat().st_ino
    assert journal.blob(b"x" * 100) == ref
    assert path.stat().st_ino == inode
    path.write_bytes(b"y" * 100)
    journal.blob(b"x" * 100)
    assert Blobs(journal.folder).read(ref) == b"x" * 100
    assert [entry.name for entry in path.parent.iterdir()] == [ref.sha256]


@pytest.mark.parametrize("damage", ["changed", "longer", "missing", "link", "fifo", "folder link"])
def test_a_blob_that_is_not_what_the_record_names_is_never_read(journal: Journal, damage: str, tmp_path: Path) -> None:
    ref = journal.blob(b"x" * 100)
    path = journal.folder / "blobs" / ref.sha256
    same = tmp_path / "same"
    same.write_bytes(b"x" * 100)
    if damage == "changed":
        path.write_bytes(b"x" * 99 + b"y")
    elif damage == "longer":
        path.write_bytes(b"x" * 101)
    elif damage == "folder link":
        path.parent.rename(tmp_path / "moved")
        path.parent.symlink_to(tmp_path / "moved")
    else:
        path.unlink()
        if damage == "link":
            path.symlink_to(same)
        elif damage == "fifo":
            os.mkfifo(path)
    with pytest.raises(AlteredError, match="blob"):
        Blobs(journal.folder).read(ref)


def test_a_blob_is_on_disk_before_the_record_that_names_it(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("fsync", "fdatasync", "rename"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, _n=name, _r=real, **k: (calls.append(_n), _r(*a, **k))[1])
    journal.text("x" * 5000)
    journal.append(r.Resumed())
    assert calls == ["fsync", "rename", "fsync", "fdatasync"]


# --- failures while writing -------------------------------------------------------------------------------------------


def test_a_short_write_is_taken_back_and_every_further_append_is_refused(
    journal: Journal, key: SigningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lines(journal)
    real = os.write
    seen: list[r.Record] = []
    journal.on_append.append(seen.append)
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:20]))
    with pytest.raises(JournalError, match="only 20 of"):
        journal.append(r.Paused(why="asked"))
    monkeypatch.undo()
    assert lines(journal) == before
    assert (seen, journal.state.paused, journal.head.seq) == ([], None, 0)
    with pytest.raises(JournalError, match="takes no more records"):
        journal.append(r.Paused(why="asked"))
    assert reopen(journal, key).append(r.Resumed()).seq == 1


def test_a_failed_fdatasync_is_not_an_acknowledged_record(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(JournalError, match="Input/output error"):
        journal.append(r.Paused(why="asked"))
    assert journal.state.paused is None
    monkeypatch.undo()
    assert len(lines(journal)) == 1
    with pytest.raises(JournalError, match="takes no more"):
        journal.append(r.Resumed())


def test_where_even_the_undo_fails_the_torn_line_is_moved_aside_at_the_next_opening(
    journal: Journal, key: SigningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:20]))

    def fail(fd: int, length: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "ftruncate", fail)
    with pytest.raises(JournalError):
        journal.append(r.Paused(why="asked"))
    monkeypatch.undo()
    again = reopen(journal, key)
    assert (again.folder / "journal.torn-1").stat().st_size == 20
    assert again.state.head_seq == 1


_FULL = """
import resource, sys
from pathlib import Path
from aide_jupyter import records as r
from aide_jupyter.audit.journal import Journal, SigningKey
from aide_jupyter.errors import JournalError
folder, keyfile, limit = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
key = SigningKey.load_or_create(keyfile)
opened = r.Opened(
    task=r.Task(goal="g", direction="minimize", direction_source="x"), policy="default", seed=0, mode="every",
    budgets=r.Budgets(), settings=r.Settings(), grants=r.Grants(),
    data=r.DataView(source="d", sha256="0" * 64, files=0, bytes=0, manifest=""), versions={}, key=key.public)
journal = Journal.create(folder, "run-1", key, opened, r.SYSTEM)
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    while True:
        journal.append(r.Paused(why="x" * 1500))
        print(journal.head.seq, journal.head.hash, flush=True)
except JournalError as error:
    print(error.message, file=sys.stderr)
"""


def _fill(folder: Path, keyfile: Path, limit: int) -> tuple[Anchor, str]:
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(folder), str(keyfile), str(limit)], capture_output=True, text=True, check=True
    )
    seq, digest = done.stdout.split("\n")[-2].split()
    return Anchor(int(seq), digest), done.stderr


def _goes_on(folder: Path, keyfile: Path, head: Anchor) -> None:
    journal = Journal.open(folder, SigningKey.load_or_create(keyfile), [head])
    assert journal.head == head
    assert not list(folder.glob("journal.torn-*"))
    journal.append(r.Resumed())
    assert check_chain(folder / "journal.jsonl", keys=[], anchors=[head, journal.head]).intact


def test_a_file_size_limit_stops_the_run_without_a_torn_line(tmp_path: Path) -> None:
    head, error = _fill(tmp_path / "run", tmp_path / "keys" / "k.pem", 12_345)
    assert "bytes were written" in error or "File too large" in error
    _goes_on(tmp_path / "run", tmp_path / "keys" / "k.pem", head)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_stops_the_run_without_a_torn_line(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        head, error = _fill(disk / "run", tmp_path / "keys" / "k.pem", 0)
        assert "No space left" in error or "bytes were written" in error
        subprocess.run(["mount", "-o", "remount,size=256k", str(disk)], check=True)
        _goes_on(disk / "run", tmp_path / "keys" / "k.pem", head)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.parametrize("change", ["grown", "cut", "replaced", "removed"])
def test_a_journal_that_something_else_changes_meanwhile_takes_no_more_records(journal: Journal, change: str) -> None:
    path = journal.folder / "journal.jsonl"
    content = path.read_bytes()
    if change == "grown":
        path.write_bytes(content + content)
    elif change == "cut":
        os.truncate(path, len(content) - 1)
    else:
        path.unlink()
        if change == "replaced":
            path.write_bytes(content)
    with pytest.raises(JournalError, match="could not be written"):
        journal.append(r.Resumed())
    if change == "replaced":
        assert path.read_bytes() == content


# --- opening ----------------------------------------------------------------------------------------------------------


def test_a_run_goes_on_where_it_was(journal: Journal, key: SigningKey) -> None:
    begin_candidate(journal)
    again = reopen(journal, key)
    assert again.state == journal.state
    assert again.append(r.Resumed()).seq == 3
    assert check_chain(again.folder / "journal.jsonl", keys=[key.fingerprint], anchors=[again.head]).intact


def test_a_torn_last_line_is_moved_aside_and_said(journal: Journal, key: SigningKey) -> None:
    begin_candidate(journal)
    path = journal.folder / "journal.jsonl"
    torn = lines(journal)[-1][:50]
    for number in (1, 2):
        with path.open("ab") as file:
            file.write(torn)
        journal = reopen(journal, key)
        last = list(read_records(path))[-1].body()
        assert isinstance(last, r.Recovered)
        assert (last.bytes, last.file) == (50, f"journal.torn-{number}")
        assert (journal.folder / last.file).read_bytes() == torn
        assert stat.S_IMODE((journal.folder / last.file).stat().st_mode) == 0o600
    assert check_chain(path, keys=[], anchors=[journal.head]).intact


@pytest.mark.parametrize(
    ("damage", "seq", "words"),
    [
        ("edit", 1, "Record 1 is bad"),
        ("delete", 1, "Record 1 is bad: its number is 2"),
        ("swap", 1, "Record 1 is bad"),
        ("cut", None, "ends with record 1, but record 2 was anchored"),
        ("cut inside", None, "ends with record 1, but record 2 was anchored"),
        ("cut new line", None, "ends with record 1, but record 2 was anchored"),
        ("bad last line", 2, "Record 2 is bad"),
        ("extra line", 3, "Record 3 is bad"),
        ("empty", None, "holds no record, but record 2"),
        ("missing", None, "No such file"),
        ("link", None, "cannot be opened"),
        ("fifo", None, "not a regular file"),
    ],
)
def test_an_altered_journal_is_refused_and_left_as_it_is(
    journal: Journal, key: SigningKey, damage: str, seq: int | None, words: str, tmp_path: Path
) -> None:
    begin_candidate(journal)
    path, own = journal.folder / "journal.jsonl", lines(journal)
    changed = {
        "edit": [own[0], own[1].replace(b"draft", b"debug"), own[2]],
        "delete": [own[0], own[2]],
        "swap": [own[0], own[2], own[1]],
        "cut": own[:2],
        "cut inside": [*own[:2], own[2][:30]],
        "cut new line": [*own[:2], own[2][:-1]],
        "bad last line": [*own[:2], own[2][:30] + b"\n"],
        "extra line": [*own, b"{}\n"],
        "empty": [],
    }.get(damage)
    if changed is not None:
        path.write_bytes(b"".join(changed))
    else:
        path.rename(tmp_path / "moved")
        if damage == "link":
            path.symlink_to(tmp_path / "moved")
        elif damage == "fifo":
            os.mkfifo(path)
    with pytest.raises(AlteredError, match=words) as caught:
        reopen(journal, key)
    assert caught.value.seq == seq
    assert "not resumed" in caught.value.advice
    if changed is not None:
        assert path.read_bytes() == b"".join(changed)
    assert not list(journal.folder.glob("journal.torn-*"))


def test_a_journal_signed_with_another_key_is_refused(journal: Journal) -> None:
    with pytest.raises(AlteredError, match=f"signed by the key {journal._key.fingerprint}") as caught:
        reopen(journal, SigningKey.generate())
    assert caught.value.seq == 0


def test_a_rewritten_journal_of_the_same_key_is_refused(
    journal: Journal, key: SigningKey, tmp_path: Path, opened: Callable
) -> None:
    journal.append(r.Paused(why="true"))
    forged = Journal.create(tmp_path / "forged", RUN, key, opened(key), r.SYSTEM)
    forged.append(r.Paused(why="false"))
    forged.close()
    (journal.folder / "journal.jsonl").write_bytes((forged.folder / "journal.jsonl").read_bytes())
    with pytest.raises(AlteredError, match="not the one that was anchored") as caught:
        reopen(journal, key)
    assert caught.value.seq == 1


def test_each_anchor_counts(journal: Journal, key: SigningKey) -> None:
    first = journal.head
    journal.append(r.Resumed())
    with pytest.raises(AlteredError, match="record 9 was anchored"):
        reopen(journal, key, first, journal.head, Anchor(9, "0" * 64))
    assert Journal.open(journal.folder, key, [first]).state.head_seq == 1
    assert Journal.open(journal.folder, key, [GENESIS]).state.head_seq == 1


def test_a_run_that_is_anchored_nowhere_is_not_resumed(journal: Journal, key: SigningKey) -> None:
    journal.close()
    with pytest.raises(JournalError, match="anchored"):
        Journal.open(journal.folder, key, [])


def test_nothing_follows_closed_and_a_closed_run_is_never_repaired(journal: Journal, key: SigningKey) -> None:
    journal.append(r.Closed(why="steps"))
    with pytest.raises(JournalError, match="is closed"):
        journal.append(r.Resumed())
    path = journal.folder / "journal.jsonl"
    with path.open("ab") as file:
        file.write(b"torn")
    content = path.read_bytes()
    again = reopen(journal, key)
    assert again.state.closed is not None
    assert path.read_bytes() == content


def test_what_started_and_was_not_seen_to_finish_is_unknown_for_every_purpose(
    journal: Journal, key: SigningKey
) -> None:
    begin_candidate(journal)
    finished = r.Finished(candidate="c0001", status="ok", observed=r.Observed(seconds=1.0))
    journal.append(started())
    journal.append(finished)
    journal.append(finished.model_copy(update={"purpose": "refit", "status": "stopped"}))
    journal.append(started("refit"))
    journal.append(started("rescore"))
    journal.append(finished.model_copy(update={"purpose": "rescore"}))
    again = reopen(journal, key)
    written = again.settle_unknown()
    assert [(record.data["status"], record.data["purpose"]) for record in written] == [("unknown", "refit")]
    assert again.settle_unknown() == ()
    assert again.state.candidates["c0001"].finished.status == "ok"
