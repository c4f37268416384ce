"""The audit notebook's file is kept up with its run while that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from aide_jupyter import records as r
from aide_jupyter.audit import writer
from aide_jupyter.audit.chain import read_records
from aide_jupyter.audit.journal import JOURNAL
from aide_jupyter.audit.writer import NOTEBOOK, NotebookWriter
from aide_jupyter.run import Run
from aide_jupyter.run_index import RunEntry

from .conftest import House


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def kept(house: House, mode: r.ReviewMode) -> Run:
    engine = house.begin(mode=mode, steps=2)
    notebook = NotebookWriter(house.folder / NOTEBOOK, house.blobs, read_records(house.folder / JOURNAL))
    house.journal.on_append.append(notebook.note)
    return Run(RunEntry(run=house.journal.state.run, folder=house.folder), engine, notebook, r.SYSTEM)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))


def test_a_question_is_in_the_file_soon_though_the_steps_before_it_could_wait(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LAG", 3600.0)
    monkeypatch.setattr(writer, "EVERY", 0.0)
    house.can_ask = True
    run = kept(house, "every")
    house.model.hold = asyncio.Event()

    async def go() -> None:
        working = asyncio.create_task(run.go())
        await until(lambda: house.model.authored == ["c0001"])
        assert "c0001" not in run.notebook.read_text()
        house.model.hold.set()
        await until(lambda: "c0001" in run.notebook.read_text())
        run.engine.stop_now("enough")
        await working

    asyncio.run(go())


def test_a_program_that_runs_on_is_in_the_file_before_it_ends(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LAG", 0.2)
    monkeypatch.setattr(writer, "EVERY", 0.0)
    run = kept(house, "auto")
    house.kernels.hold = asyncio.Event()

    async def go() -> None:
        working = asyncio.create_task(run.go())
        await until(lambda: house.kernels.running == 1)
        await until(lambda: "c0001" in run.notebook.read_text())
        assert house.kernels.running == 1
        house.kernels.hold.set()
        await working

    asyncio.run(go())
    assert "c0002" in run.notebook.read_text()


def test_a_notebook_that_a_page_lets_go_is_brought_up_at_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LAG", 3600.0)
    monkeypatch.setattr(writer, "EVERY", 0.0)
    run = kept(house, "auto")
    house.kernels.hold = asyncio.Event()

    async def go() -> None:
        working = asyncio.create_task(run.go())
        await until(run.notebook.exists)
        run.may_write = lambda path: False
        await until(lambda: house.kernels.running == 1)
        assert "c0001" not in run.notebook.read_text()
        run.may_write = lambda path: True
        run.notebook_is_free()
        await until(lambda: "c0001" in run.notebook.read_text())
        house.kernels.hold.set()
        await working

    asyncio.run(go())
