"""Limits judged from the host, with a jail of which only the measures are real."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aide_jupyter.records import Limits
from aide_jupyter.sandbox import watchdog as module
from aide_jupyter.sandbox.watchdog import Watchdog

LIMITS = Limits(memory_bytes=100 << 20, processes=64, disk_bytes=4 << 20)


class Measured:
    """A jail that holds what a test says."""

    def __init__(self, workspace: Path) -> None:
        self.spec = SimpleNamespace(workspace=workspace)
        self.memory = 1 << 20
        self.processes: list[int] = []

    def memory_bytes(self) -> int:
        return self.memory

    def pids(self) -> list[int]:
        return self.processes


@pytest.fixture
def jail(tmp_path: Path) -> Any:
    return Measured(tmp_path)


def test_within_its_limits_a_program_goes_on_and_its_peak_is_kept(jail):
    watchdog = Watchdog(jail, LIMITS, lambda limit: None)
    jail.memory = 90 << 20
    assert watchdog.look() is None
    jail.memory = 10 << 20
    assert watchdog.look() is None
    assert watchdog.peak == 90 << 20


def test_memory_over_the_limit_is_broken(jail):
    jail.memory = (100 << 20) + 1
    assert Watchdog(jail, LIMITS, lambda limit: None).look() == "memory"


def test_threads_count_as_processes(jail):
    jail.processes = [os.getpid()] * 60
    assert Watchdog(jail, LIMITS, lambda limit: None).look() == "processes"


def test_processes_that_vanish_while_they_are_counted_are_none(jail):
    gone = subprocess.Popen(["true"])
    gone.wait()
    jail.processes = [gone.pid] * 100
    assert Watchdog(jail, LIMITS, lambda limit: None).look() is None


def test_bytes_in_the_workspace_are_counted_at_the_first_look(jail, tmp_path):
    (tmp_path / "large").write_bytes(b"x" * (5 << 20))
    assert Watchdog(jail, LIMITS, lambda limit: None).look() == "disk"


def test_a_file_without_a_name_counts_while_it_is_open(jail, tmp_path):
    jail.processes = [os.getpid()]
    with (tmp_path / "gone").open("wb") as file:
        file.write(b"x" * (5 << 20))
        file.flush()
        (tmp_path / "gone").unlink()
        assert Watchdog(jail, LIMITS, lambda limit: None).look() == "disk"


def test_the_workspace_is_counted_early_when_the_disk_empties_fast(jail, tmp_path, monkeypatch):
    free = [10 << 30]
    monkeypatch.setattr(module, "_free_bytes", lambda jail: free[0])
    watchdog = Watchdog(jail, LIMITS, lambda limit: None)
    assert watchdog.look() is None
    watchdog._next_disk = float("inf")
    (tmp_path / "large").write_bytes(b"x" * (5 << 20))
    assert watchdog.look() is None
    free[0] -= 1 << 20
    assert watchdog.look() == "disk"


def test_a_disk_that_is_nearly_full_ends_a_program(jail, monkeypatch):
    free = [10 << 30]
    monkeypatch.setattr(module, "_free_bytes", lambda jail: free[0])
    watchdog = Watchdog(jail, LIMITS, lambda limit: None)
    free[0] = 100 << 20
    assert watchdog.look() == "disk"


def test_where_the_host_runs_short_the_largest_program_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "memory_reserve", lambda: (1, 2))
    ended: list[str] = []

    async def run() -> None:
        small, large = Measured(tmp_path), Measured(tmp_path)
        large.memory = 50 << 20
        dogs = [
            Watchdog(jail, LIMITS, lambda limit, name=name: ended.append(f"{name} {limit}"))  # type: ignore[misc, arg-type]
            for jail, name in ((large, "large"), (small, "small"))
        ]
        dogs[0].look()
        tasks = [asyncio.create_task(dog.run()) for dog in dogs]
        while not ended:
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())
    assert set(ended) == {"large memory"}
    assert not Watchdog._running
