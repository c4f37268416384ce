"""The index of runs: how a run is found by a person's word for it, and an anchor that never moves back."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from aide_jupyter.errors import AlteredError, BadRequest, JournalError
from aide_jupyter.run_index import Head, RunEntry, RunIndex, is_run_folder, run_of


@pytest.fixture
def index(tmp_path: Path) -> RunIndex:
    return RunIndex(tmp_path / "runs")


def make(index: RunIndex, folder: Path, run: str, created: str = "2026-01-01T00:00:00.000000Z") -> RunEntry:
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_text(json.dumps({"run": run, "seq": 0}) + "\n")
    entry = RunEntry(run=run, folder=folder, notebook=folder / "audit.ipynb", key="f" * 32, created=created)
    index.add(entry)
    return entry


def digest(number: int) -> str:
    return f"{number:064x}"


def test_the_index_is_below_jupyters_data_folder_unless_said_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    make(RunIndex(), tmp_path / "a", "run-1")
    path = tmp_path / "data" / "aide_jupyter" / "runs" / "run-1.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_new_run_is_anchored_before_its_first_record_and_after_each(index: RunIndex, tmp_path: Path) -> None:
    entry = make(index, tmp_path / "a", "run-1")
    assert index.get("run-1") == entry
    assert entry.head == Head(seq=-1, hash="0" * 64)
    for number in range(3):
        index.anchor("run-1", number, digest(number))
        assert RunIndex(tmp_path / "runs").get("run-1") == entry.model_copy(
            update={"head": Head(seq=number, hash=digest(number))}
        )
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["run-1.json"]
    with pytest.raises(BadRequest, match="already"):
        index.add(entry)


def test_an_anchor_never_moves_back_or_aside(index: RunIndex, tmp_path: Path) -> None:
    make(index, tmp_path / "a", "run-1")
    index.anchor("run-1", 5, digest(5))
    index.anchor("run-1", 5, digest(5))
    for seq, name in ((4, digest(4)), (5, digest(6)), (-1, "0" * 64)):
        with pytest.raises(AlteredError, match="does not go back"):
            index.anchor("run-1", seq, name)
    assert index.get("run-1").head == Head(seq=5, hash=digest(5))  # type: ignore[union-attr]
    with pytest.raises(JournalError, match="not in the index"):
        index.anchor("run-2", 0, digest(0))


def test_a_rename_seen_by_another_process_never_puts_an_older_anchor_back(index: RunIndex, tmp_path: Path) -> None:
    make(index, tmp_path / "a", "run-1")
    code = (
        "import sys; from pathlib import Path; from aide_jupyter.run_index import RunIndex\n"
        "index = RunIndex(Path(sys.argv[1])); print(flush=True)\n"
        "for number in range(100): index.moved('run-1', notebook=Path(f'/n/{number}.ipynb'))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "runs")], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        number = 0
        while other.poll() is None or number < 100:
            index.anchor("run-1", number, digest(number))
            assert index.get("run-1").head == Head(seq=number, hash=digest(number))  # type: ignore[union-attr]
            number += 1
    assert other.returncode == 0
    assert index.get("run-1").notebook == Path("/n/99.ipynb")  # type: ignore[union-attr]


def test_a_full_disk_leaves_the_old_anchor_whole(
    index: RunIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(index, tmp_path / "a", "run-1")
    index.anchor("run-1", 9, digest(1))

    def fail(fd: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(JournalError, match="No space left"):
        index.anchor("run-1", 10, digest(2))
    monkeypatch.undo()
    assert index.get("run-1").head == Head(seq=9, hash=digest(1))  # type: ignore[union-attr]
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["run-1.json"]


def test_a_head_is_written_over_the_one_before_in_the_first_sector_and_nothing_else_changes(
    index: RunIndex, tmp_path: Path
) -> None:
    make(index, tmp_path / ("a" * 200), "run-1")
    index.anchor("run-1", 10, digest(10))
    path = tmp_path / "runs" / "run-1.json"
    before, inode = path.read_bytes(), path.stat().st_ino
    index.anchor("run-1", 11, digest(11))
    after = path.read_bytes()
    assert path.stat().st_ino == inode
    changed = [place for place, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert changed and max(changed) < 512
    index.anchor("run-1", 100, digest(100))
    assert path.stat().st_ino != inode, "another length: the whole file is replaced"


def test_who_reads_waits_for_a_head_that_is_being_written(index: RunIndex, tmp_path: Path) -> None:
    make(index, tmp_path / "a", "run-1")
    fd = os.open(tmp_path / "runs", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(index.get, "run-1")
        assert not wait([reading], 0.2).done
        os.close(fd)
        assert reading.result(60) is not None


def test_runs_are_listed_newest_first_gone_and_damaged_ones_too_as_far_as_they_can_be(
    index: RunIndex, tmp_path: Path
) -> None:
    make(index, tmp_path / "a", "run-1", "2026-01-01T00:00:00.000000Z")
    make(index, tmp_path / "b", "run-2", "2026-01-03T00:00:00.000000Z")
    make(index, tmp_path / "c", "run-3", "2026-01-02T00:00:00.000000Z")
    (tmp_path / "c" / "journal.jsonl").unlink()
    (tmp_path / "runs" / "broken.json").write_text("{")
    (tmp_path / "runs" / "link.json").symlink_to(tmp_path / "runs" / "run-1.json")
    (tmp_path / "runs" / "od d.json").write_text("{}")
    assert [(entry.run, entry.missing) for entry in index.list()] == [
        ("run-2", False),
        ("run-3", True),
        ("run-1", False),
    ]


@pytest.mark.parametrize("damage", ["cut", "link", "another run"])
def test_a_damaged_anchor_is_an_error_and_never_an_absent_one(index: RunIndex, tmp_path: Path, damage: str) -> None:
    make(index, tmp_path / "a", "run-1")
    path = tmp_path / "runs" / "run-1.json"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-10])
    elif damage == "link":
        path.rename(tmp_path / "moved")
        path.symlink_to(tmp_path / "moved")
    else:
        make(index, tmp_path / "b", "run-2")
        (tmp_path / "runs" / "run-2.json").replace(path)
    with pytest.raises(JournalError, match=r"run-1\.json"):
        index.get("run-1")
    with pytest.raises(JournalError):
        index.anchor("run-1", 0, digest(0))
    assert index.get("run-9") is None


@pytest.mark.parametrize("run", ["", "../run-1", "a/b", ".hidden", "x" * 101, "a\n"])
def test_a_name_that_could_leave_the_index_is_no_id(index: RunIndex, tmp_path: Path, run: str) -> None:
    with pytest.raises(BadRequest):
        index.get(run)
    with pytest.raises(BadRequest):
        index.add(RunEntry(run=run, folder=tmp_path))


def test_a_run_is_found_by_id_folder_name_beginning_and_path(
    index: RunIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(index, tmp_path / "house-prices-1f3a", "20261130t1911-1f3a")
    make(index, tmp_path / "out" / "spam-2b00", "20261201t0900-2b00")
    monkeypatch.chdir(tmp_path / "out")
    for name in (
        "20261130t1911-1f3a",
        "house-prices-1f3a",
        "20261130",
        "../house-prices-1f3a",
        str(tmp_path / "house-prices-1f3a"),
        str(tmp_path / "house-prices-1f3a" / "audit.ipynb"),
    ):
        assert index.resolve(name).run == "20261130t1911-1f3a", name
    assert index.resolve("spam-2b00").run == "20261201t0900-2b00"
    assert index.resolve("./spam-2b00").folder == tmp_path / "out" / "spam-2b00"
    for name in ("", "house", "nothing", str(tmp_path), "x" * 300):
        with pytest.raises(BadRequest, match="There is no run"):
            index.resolve(name)


def test_an_ambiguous_word_names_the_runs_it_could_mean(index: RunIndex, tmp_path: Path) -> None:
    make(index, tmp_path / "x" / "spam", "2026a")
    make(index, tmp_path / "y" / "spam", "2026b")
    for word in ("spam", "2026"):
        with pytest.raises(BadRequest, match="means 2 runs") as error:
            index.resolve(word)
        assert "2026a" in error.value.message
        assert str(tmp_path / "y" / "spam") in error.value.message
    assert index.resolve("2026b").folder == tmp_path / "y" / "spam"


def test_a_moved_folder_keeps_its_anchor_and_a_copy_does_not_take_it(index: RunIndex, tmp_path: Path) -> None:
    make(index, tmp_path / "a", "run-1")
    index.anchor("run-1", 7, digest(7))
    make_copy = tmp_path / "copy"
    make_copy.mkdir()
    (make_copy / "journal.jsonl").write_bytes((tmp_path / "a" / "journal.jsonl").read_bytes())
    found = index.resolve(str(make_copy))
    assert (found.folder, found.head) == (make_copy, Head(seq=7, hash=digest(7)))
    with pytest.raises(BadRequest, match="is a copy"):
        index.moved("run-1", folder=make_copy)
    (tmp_path / "a").rename(tmp_path / "b")
    with pytest.raises(BadRequest, match="by its new path"):
        index.resolve("run-1")
    assert index.resolve(str(tmp_path / "b")).head == Head(seq=7, hash=digest(7))
    index.moved("run-1", folder=tmp_path / "b")
    assert index.resolve("b").run == "run-1"


def test_the_notebook_of_a_moved_folder_moves_with_it_and_one_elsewhere_stays(index: RunIndex, tmp_path: Path) -> None:
    for run, notebook in (("run-1", tmp_path / "a" / "audit.ipynb"), ("run-2", tmp_path / "elsewhere.ipynb")):
        folder = tmp_path / "a" if run == "run-1" else tmp_path / "c"
        make(index, folder, run)
        index.moved(run, notebook=notebook)
        folder.rename(tmp_path / run)
        wanted = tmp_path / run / "audit.ipynb" if run == "run-1" else notebook
        assert index.resolve(str(tmp_path / run)).notebook == wanted
        index.moved(run, folder=tmp_path / run)
        entry = index.get(run)
        assert entry is not None
        assert (entry.folder, entry.notebook) == (tmp_path / run, wanted)


def test_a_run_that_this_machine_does_not_know_is_found_by_its_path_without_anchor(
    index: RunIndex, tmp_path: Path
) -> None:
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "journal.jsonl").write_text('{"run":"foreign-1"}\n')
    assert index.resolve(str(folder)) == RunEntry(run="foreign-1", folder=folder, head=None)
    for content in ("", "[]", '{"run":3}', '{"run":"../x"}', "\x00"):
        (folder / "journal.jsonl").write_text(content)
        assert run_of(folder) is None
        with pytest.raises(BadRequest, match="does not say whose run"):
            index.resolve(str(folder))


def test_a_run_folder_is_told_by_its_journal(tmp_path: Path) -> None:
    assert not is_run_folder(tmp_path)
    assert not is_run_folder(tmp_path / "none")
    (tmp_path / "journal.jsonl").mkdir()
    assert not is_run_folder(tmp_path)
    (tmp_path / "journal.jsonl").rmdir()
    (tmp_path / "journal.jsonl").touch()
    assert is_run_folder(tmp_path)
