"""While something slow is done for one page, the server answers everybody else."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from aide_jupyter import preparing
from aide_jupyter.server import catalogue

from .conftest import Client
from .fakes import Stage


async def hundred(client: Client) -> None:
    async with asyncio.timeout(20):
        for _ in range(20):
            answers = await asyncio.gather(
                client.get("version"), client.get("runs"), client.get("form"), client.get("runs"), client.get("version")
            )
            assert [answer.status for answer in answers] == [200] * 5


async def test_while_columns_are_read_a_hundred_other_requests_complete(
    client: Client, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, barrier = threading.Semaphore(0), threading.Event()

    def held(folder: Path) -> list[Any]:
        reading.release()
        assert barrier.wait(60)
        return []

    monkeypatch.setattr(catalogue, "columns_in_process", held)
    slow = [asyncio.create_task(client.get("columns", path="data")) for _ in range(5)]
    try:
        await asyncio.to_thread(reading.acquire)
        await hundred(client)
        assert not any(task.done() for task in slow)
    finally:
        barrier.set()
    assert [answer.status for answer in await asyncio.gather(*slow)] == [200] * 5


async def test_while_previews_are_made_a_hundred_other_requests_complete(
    client: Client, stage: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, barrier = threading.Semaphore(0), threading.Event()

    def held(*arguments: Any, **options: Any) -> None:
        reading.release()
        assert barrier.wait(60)

    monkeypatch.setattr(preparing, "preview_in_process", held)
    asked = {"data": "data", "goal": "g", "preview": "schema", "review": "auto", "steps": 1, "policy": "aide"}
    runs = [(await client.post("runs", **asked))["run"] for _ in range(8)]
    try:
        await asyncio.to_thread(reading.acquire)
        await hundred(client)
        states = [await client.get("runs", run, "state") for run in runs]
        assert {state["phase"] for state in states} == {"preparing"}
        assert any("Measuring the data" in state["preparing"] for state in states)
    finally:
        barrier.set()
    for run in runs:
        await client.closed(run)
