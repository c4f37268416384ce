"""Writing the audit notebook's file: seldom, at once, and healing what is broken."""

from __future__ import annotations

import asyncio
import fcntl
import importlib
import json
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aide_jupyter.audit import notebookfile, written
from aide_jupyter.audit.chain import Anchor
from aide_jupyter.audit.merge import merge_cells
from aide_jupyter.audit.notebook import render_cells, render_notebook
from aide_jupyter.audit.writer import NotebookWriter, notebook_anchor, update_notebook
from aide_jupyter.errors import JournalError
from tests.audit.builder import Story


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def texts(path: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(path, as_version=4).cells]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that notebooks of a few cells are already of several blocks."""
    monkeypatch.setattr(written, "_BLOCK", 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.ipynb"


def test_the_file_is_what_the_records_render_valid_and_private(path: Path) -> None:
    story = Story().candidate("c0001", code="print('ü')\n\nx = 1").close(best="c0001")
    update_notebook(path, iter(story.records), story.blobs)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook == nbformat.from_dict(render_notebook(story.trail, story.blobs))
    assert path.stat().st_mode & 0o777 == 0o600
    assert nbformat.writes(notebook) + "\n" == path.read_text()


def test_writes_are_at_least_two_seconds_apart_and_coalesced(path: Path) -> None:
    story, clock = Story(), Clock()
    writer = NotebookWriter(path, story.blobs, iter(story.records), clock)
    assert writer.wait == 0.0 and writer.flush() and writer.wait is None
    assert not writer.flush()
    for record in story.candidate("c0001").records[1:]:
        writer.note(record)
    assert writer.wait == 2.0 and not writer.flush()
    clock.now += 2.0
    assert writer.flush() and len(load(path)["cells"]) == 3
    writer.note(story.close().records[-1])
    assert writer.wait == 0.0 and writer.flush()


def test_the_steps_of_a_candidate_wait_for_its_end_or_for_twenty_seconds(path: Path) -> None:
    story, clock = Story(), Clock()
    writer = NotebookWriter(path, story.blobs, iter(story.records), clock)
    assert writer.flush()
    clock.now += 5.0
    steps = story.candidate("c0001").records[1:]
    end = next(place for place, record in enumerate(steps) if record.kind == "reviewed")
    for record in steps[:end]:
        writer.note(record)
        clock.now += 0.125
    assert writer.wait == 20.0 - 0.125 * end
    writer.note(steps[end])
    assert writer.wait == 0.0 and writer.flush() and "c0001" in path.read_text()

    for record in story.candidate("c0002").records[1 + len(steps) :]:
        if record.kind not in ("asked", "reviewed"):
            writer.note(record)
    clock.now += 19.0
    assert not writer.flush()
    clock.now += 1.0
    assert writer.flush() and "c0002" in path.read_text()


def test_what_a_person_waits_for_is_written_soon(path: Path) -> None:
    story, clock = Story(), Clock()
    writer = NotebookWriter(path, story.blobs, iter(story.records), clock)
    assert writer.flush()
    for record in story.propose("c0001").ask("c0001").records[1:]:
        writer.note(record)
    assert writer.wait == 2.0


def test_a_forced_write_does_not_wait(path: Path) -> None:
    story = Story()
    writer = NotebookWriter(path, story.blobs, iter(story.records), Clock())
    assert writer.flush() and writer.flush(force=True)


def test_a_person_may_write_in_the_file_between_two_writes(path: Path) -> None:
    story = Story().candidate("c0001")
    writer = NotebookWriter(path, story.blobs, iter(story.records))
    writer.flush(force=True)
    notebook = load(path)
    notebook["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {"tags": ["x"]}, "source": "mine"})
    notebook["cells"][1]["source"] = ["gone\n", "over"]
    notebook["metadata"]["title"] = "kept"
    path.write_text(json.dumps(notebook))
    path.chmod(0o640)
    for record in story.candidate("c0002").records[writer.trail.head.seq + 1 :]:
        writer.note(record)
    writer.flush(force=True)
    after = load(path)
    assert after["metadata"]["title"] == "kept"
    assert after["cells"][-1] == {"cell_type": "markdown", "id": "mine", "metadata": {"tags": ["x"]}, "source": "mine"}
    assert "gone\nover" in texts(path) and len(after["cells"]) == 7
    assert path.stat().st_mode & 0o777 == 0o640
    nbformat.validate(nbformat.read(path, as_version=4))


def test_a_kernel_that_leaves_the_jail_is_put_right(path: Path) -> None:
    story = Story()
    writer = NotebookWriter(path, story.blobs, iter(story.records))
    writer.flush(force=True)
    notebook = load(path)
    notebook["metadata"]["kernelspec"]["name"] = "python3"
    path.write_text(json.dumps(notebook))
    writer.flush(force=True)
    assert load(path)["metadata"]["kernelspec"]["name"] == "aide-restricted"


@pytest.mark.parametrize(
    "broken",
    [b'{"cells": [', b"\xff\xfe", b"[]", b'{"nbformat": 3, "worksheets": []}', b"[" * 100_000,
     b'{"nbformat":4,"cells":[],"metadata":{"aide":{"run":"another"}}}']
)  # fmt: skip
def test_a_broken_notebook_is_rebuilt_and_kept_aside(path: Path, broken: bytes) -> None:
    story = Story().candidate("c0001")
    for number in (1, 2):
        path.write_bytes(broken)
        update_notebook(path, iter(story.records), story.blobs)
        assert len(texts(path)) >= 3
        assert path.with_name(f"audit.broken-{number}.ipynb").read_bytes() == broken
    nbformat.validate(nbformat.read(path, as_version=4))


def test_an_empty_or_missing_notebook_is_rebuilt_and_leaves_nothing_aside(path: Path) -> None:
    story = Story().candidate("c0001")
    path.write_bytes(b"")
    update_notebook(path, iter(story.records), story.blobs)
    path.unlink()
    update_notebook(path, iter(story.records), story.blobs)
    assert sorted(one.name for one in path.parent.iterdir()) == ["audit.ipynb", "notebook.lock"]
    assert len(texts(path)) == 3


def test_a_link_in_the_notebooks_place_is_not_written_through(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    path.symlink_to(target)
    story = Story()
    update_notebook(path, iter(story.records), story.blobs)
    assert target.read_text() == "precious"
    assert not path.is_symlink() and path.with_name("audit.broken-1.ipynb").is_symlink()


def test_an_older_format_is_raised_to_4_5(path: Path) -> None:
    old = {"nbformat": 4, "nbformat_minor": 2, "metadata": {}, "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": "old"}]}  # fmt: skip
    path.write_text(json.dumps(old))
    story = Story()
    update_notebook(path, iter(story.records), story.blobs)
    notebook = load(path)
    assert notebook["nbformat_minor"] == 5
    assert "old" in texts(path)
    nbformat.validate(notebook)


def test_lone_surrogates_of_a_person_survive(path: Path) -> None:
    mine = {"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "\ud800"}
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [mine]}))
    story = Story()
    update_notebook(path, iter(story.records), story.blobs)
    assert load(path)["cells"][-1] == mine


def test_while_another_process_writes_the_file_waits_and_is_written_later(path: Path) -> None:
    story, clock = Story(), Clock()
    writer = NotebookWriter(path, story.blobs, iter(story.records), clock)
    fd = os.open(path.with_name("notebook.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    assert not writer.flush() and "another process" in writer.problem
    assert not path.exists() and writer.wait is not None
    os.close(fd)
    clock.now += 10
    assert writer.flush() and writer.problem == "" and path.exists()


def test_a_file_that_changes_while_it_is_merged_is_merged_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    update_notebook(path, iter(story.records), story.blobs)
    calls = []

    def meddling(*given: Any) -> Any:
        merged = merge_cells(*given)
        if not calls:
            notebook = load(path)
            notebook["cells"].append({"cell_type": "raw", "id": "late", "metadata": {}, "source": "just saved"})
            path.write_text(json.dumps(notebook))
        calls.append(1)
        return merged

    monkeypatch.setattr("aide_jupyter.audit.written.merge_cells", meddling)
    update_notebook(path, iter(story.candidate("c0001").records), story.blobs)
    assert len(calls) == 2 and "just saved" in texts(path) and len(texts(path)) == 4


def test_where_it_cannot_be_written_a_forced_write_says_so_and_another_tries_again(tmp_path: Path) -> None:
    story, clock = Story(), Clock()
    folder = tmp_path / "later"
    writer = NotebookWriter(folder / "audit.ipynb", story.blobs, iter(story.records), clock)
    assert not writer.flush() and writer.problem == "No such file or directory"
    with pytest.raises(JournalError, match=r"later/audit.ipynb could not be written: No such file"):
        writer.flush(force=True)
    folder.mkdir()
    clock.now += 10
    assert writer.flush() and (folder / "audit.ipynb").exists()


def test_records_may_come_while_a_thread_writes(path: Path) -> None:
    story = Story().candidate("c0001")
    writer = NotebookWriter(path, story.blobs, iter(story.records))

    async def run() -> None:
        writing = asyncio.create_task(writer.flush_in_thread(force=True))
        await asyncio.sleep(0)
        for record in story.candidate("c0002").records[writer.trail.head.seq + 1 :]:
            writer.note(record)
        assert await writing
        assert writer.wait is not None
        await writer.flush_in_thread(force=True)

    asyncio.run(run())
    assert len(texts(path)) == 5


def test_a_write_that_is_cancelled_ends_first_and_the_next_one_lacks_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story().candidate("c0001")
    writer = NotebookWriter(path, story.blobs, iter(story.records))
    at_work, go_on = threading.Event(), threading.Event()
    replace = notebookfile.replace

    def slow(*given: Any) -> Any:
        at_work.set()
        assert go_on.wait(60)
        return replace(*given)

    async def run() -> None:
        writer.flush(force=True)
        monkeypatch.setattr("aide_jupyter.audit.writer.replace", slow)
        first = asyncio.create_task(writer.flush_in_thread(force=True))
        await asyncio.to_thread(at_work.wait, 60)
        first.cancel()
        for record in story.candidate("c0002").records[writer.trail.head.seq + 1 :]:
            writer.note(record)
        second = asyncio.create_task(writer.flush_in_thread(force=True))
        for _ in range(5):
            await asyncio.sleep(0)
        go_on.set()
        assert await second
        assert first.cancelled()

    asyncio.run(run())
    assert len(texts(path)) == 5


def test_the_anchor_in_a_notebook_is_read_and_a_broken_one_is_none(path: Path) -> None:
    story = Story().candidate("c0001")
    update_notebook(path, iter(story.records), story.blobs)
    last = story.records[-1]
    assert notebook_anchor(path) == (story.run, Anchor(last.seq, last.hash))
    for broken in ("", "{", "{}", '{"metadata":{"aide":{"run":1,"head":[]}}}', "[" * 10_000):
        path.write_text(broken)
        assert notebook_anchor(path) is None
    path.unlink()
    assert notebook_anchor(path) is None


@pytest.mark.parametrize("candidates", [20, 400])
def test_a_write_reads_compares_and_spells_only_what_changed_however_long_the_run(
    path: Path, monkeypatch: pytest.MonkeyPatch, candidates: int
) -> None:
    story = Story(signed=False)
    for number in range(1, candidates + 1):
        story.candidate(f"c{number:04d}")
    writer = NotebookWriter(path, story.blobs, iter(story.records))
    writer.flush(force=True)
    taken = len(story.records)
    counts: Counter[str] = Counter()

    def counted(module: str, name: str) -> None:
        inner = getattr(importlib.import_module(f"aide_jupyter.audit.{module}"), name)

        def count(*given: Any) -> Any:
            counts[name] += 1
            return inner(*given)

        monkeypatch.setattr(f"aide_jupyter.audit.{module}.{name}", count)

    for module, name in (("written", "spelled_cell"), ("merge", "essence"), ("writer", "read"), ("merge", "file_cell")):
        counted(module, name)
    story.candidate("c9000")
    for record in story.records[taken:]:
        writer.note(record)
    writer.flush(force=True)
    assert len(load(path)["cells"]) == 2 * candidates + 3
    assert counts == {"spelled_cell": 3, "essence": 2, "file_cell": 3}, "the head, and the new pair"


def test_a_change_of_the_same_length_in_the_same_file_is_seen(path: Path) -> None:
    story = Story().candidate("c0001")
    writer = NotebookWriter(path, story.blobs, iter(story.records))
    writer.flush(force=True)
    before, right = path.stat(), path.read_bytes()
    with path.open("r+b") as file:
        file.write(right.replace(b"Validation", b"Falsifying", 1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert path.stat().st_ino == before.st_ino and path.stat().st_size == before.st_size
    writer.flush(force=True)
    assert load(path)["cells"][:3] == json.loads(right)["cells"]


def test_new_cells_go_in_and_old_ones_are_put_right_wherever_a_person_has_moved_them(path: Path) -> None:
    """Each write but the one after the move builds on the one before."""
    story = Story().propose("c0001")
    writer = NotebookWriter(path, story.blobs, iter(story.records))
    writer.flush(force=True)
    change(path, "note", 1, 9)
    change(path, "move", 2, 2)
    for number in (2, 3, 4):
        story.propose(f"c000{number}").decide("c0001")
        for record in story.records[writer.trail.head.seq + 1 :]:
            writer.note(record)
        found = load(path)["cells"]
        writer.flush(force=True)
        assert load(path)["cells"] == merge_cells(story.run, found, render_cells(story.trail, story.blobs))
    order = [cell["id"].removeprefix("1f3a9c02-") for cell in load(path)["cells"]]
    assert order[::2] == ["c0001-code", "c0002-code", "c0003-code", "c0004-code", "c0001-plan"]
    assert order[-3:] == ["head", "c0001-plan", "n1"]


STEPS = st.lists(st.sampled_from(["propose", "finish", "note", "move", "edit", "delete"]), max_size=10)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, data=st.data())
def test_whatever_a_person_does_between_two_writes_each_is_what_merging_anew_makes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("notebook") / "audit.ipynb"
    story, taken = Story(), 0
    writer = NotebookWriter(path, story.blobs)
    for number, step in enumerate(["begin", *steps]):
        if step == "propose":
            story.propose(f"c{len(story.codes) + 1:04d}")
        elif step == "finish" and story.codes:
            story.decide(min(story.codes)).start(min(story.codes)).finish(min(story.codes))
        elif step in ("note", "move", "edit", "delete"):
            change(path, step, number, data.draw(st.integers(0, 20)))
        if data.draw(st.integers(0, 2)):
            for record in story.records[taken:]:
                writer.note(record)
            taken = len(story.records)
            found = load(path)["cells"] if path.exists() else []
            writer.flush(force=True)
            assert load(path)["cells"] == merge_cells(story.run, found, render_cells(story.trail, story.blobs))


def change(path: Path, what: str, number: int, at: int) -> None:
    """What a person may do to a notebook, saved as another file in its place."""
    notebook = load(path) if path.exists() else {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}
    cells = notebook["cells"]
    at = min(at, len(cells) - 1)
    if what == "note" or not cells:
        cells.insert(at + 1, {"cell_type": "raw", "id": f"n{number}", "metadata": {}, "source": "mine"})
    elif what == "move":
        cells.insert(0, cells.pop(at))
    elif what == "edit":
        cells[at]["source"] = f"edited {number}"
    else:
        del cells[at]
    path.with_name("saved").write_text(json.dumps(notebook))
    path.with_name("saved").replace(path)


def test_written_record_by_record_it_is_at_each_the_same_as_rendered_at_once(path: Path) -> None:
    story = Story().candidate("c0001").propose("c0002", parent="c0001").ask("c0002").decide("c0002", "edit")
    story.propose("c0003", "print(3)", edit_of="c0002").decide("c0003").start("c0003").finish("c0003", "unknown")
    story.grade("c0003", None, "unknown").review("c0003", failed=True).spend("c0001")
    story.grade("c0001", 0.4, source="graded", rows="final").start("c0001", "export").finish("c0001", purpose="export")
    story.close(best="c0001")
    writer, part = NotebookWriter(path, story.blobs), Story()
    for count, record in enumerate(story.records, 1):
        writer.note(record)
        writer.flush(force=True)
        part.records = story.records[:count]
        assert nbformat.read(path, as_version=4) == nbformat.from_dict(render_notebook(part.trail, story.blobs))
