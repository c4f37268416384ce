"""Kernels that are ready before a program arrives."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from aide_jupyter.errors import AideError, Refused
from aide_jupyter.records import Limits
from aide_jupyter.sandbox import pool as pool_module
from aide_jupyter.sandbox.pool import Kernels, Pool

pytestmark = pytest.mark.sandbox


def _with_pool(folder: Path, use: Callable[[Pool], Awaitable[None]], size: int = 1, max_age: float = 600.0) -> None:
    async def run() -> None:
        pool = Pool(Kernels(folder / "kernels", None, warm=()), size, max_age)
        try:
            await use(pool)
        finally:
            await pool.close()

    asyncio.run(run())


async def _until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def test_a_kernel_that_waits_is_given_at_once_and_replaced(run_folder):
    async def use(pool: Pool) -> None:
        await pool.start()
        await _until(lambda: pool.ready == 1)
        began = time.monotonic()
        kernel = await pool.acquire()
        assert time.monotonic() - began < 0.1
        assert pool.ready == 0
        await _until(lambda: pool.ready == 1)
        other = await pool.acquire()
        assert other.workspace != kernel.workspace and other.kernel_id != kernel.kernel_id
        await kernel.close()
        await other.close()

    _with_pool(run_folder, use)


def test_without_one_that_waits_it_is_waited_for(run_folder):
    async def use(pool: Pool) -> None:
        kernel = await pool.acquire()
        assert (await kernel.run("print(1)", Limits(seconds=20))).text() == "1\n"

    _with_pool(run_folder, use)


def test_no_more_kernels_are_made_ready_than_programs_are_to_come(run_folder):
    async def use(pool: Pool) -> None:
        pool.expect(2)
        first = await pool.acquire()
        await _until(lambda: pool.ready == 1)
        second = await pool.acquire()
        assert (pool.ready, len(list((run_folder / "kernels").iterdir()))) == (0, 2)
        await first.close()
        await second.close()

    _with_pool(run_folder, use, size=3)


def test_proving_waits_for_a_jail_that_contains_and_not_for_what_its_kernel_imports(run_folder, monkeypatch):
    start, may_import = pool_module.RestrictedKernel.start, asyncio.Event()

    async def start_slowly(spec, warm, proven):
        kernel = await start(spec, warm, proven)
        await may_import.wait()
        return kernel

    monkeypatch.setattr(pool_module.RestrictedKernel, "start", start_slowly)

    async def use(pool: Pool) -> None:
        await pool.prove()
        assert pool.ready == 0
        may_import.set()
        await _until(lambda: pool.ready == 1)

    _with_pool(run_folder, use)


def test_a_kernel_that_dies_while_it_waits_is_replaced(run_folder):
    async def use(pool: Pool) -> None:
        await pool.start()
        await _until(lambda: pool.ready == 1)
        first = next(iter(pool._ready))
        await first.jail.kill()
        await _until(lambda: pool.ready == 1 and next(iter(pool._ready)) is not first)
        await _until(lambda: not first.workspace.exists())

    _with_pool(run_folder, use)


def test_a_kernel_that_grows_old_is_replaced(run_folder):
    async def use(pool: Pool) -> None:
        await pool.start()
        await _until(lambda: pool.ready == 1)
        first = next(iter(pool._ready))
        await _until(lambda: not first.jail.alive())
        await _until(lambda: pool.ready == 1)

    _with_pool(run_folder, use, max_age=0.5)


def test_closing_kills_what_waits_and_what_is_on_its_way(run_folder):
    async def run() -> None:
        pool = Pool(Kernels(run_folder / "kernels", None, warm=()), size=2)
        await pool.start()
        await _until(lambda: pool.ready > 0)
        kernels = list(pool._ready)
        await pool.close()
        assert all(not kernel.jail.alive() for kernel in kernels)
        assert list((run_folder / "kernels").iterdir()) == []
        with pytest.raises(AideError, match="closed"):
            await pool.acquire()

    asyncio.run(run())


def test_waiting_for_a_kernel_can_be_cancelled(run_folder):
    async def use(pool: Pool) -> None:
        waiting = asyncio.create_task(pool.acquire())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        kernel = await pool.acquire()
        await kernel.close()

    _with_pool(run_folder, use)


def test_a_refusal_reaches_whoever_waits_and_the_next_call_tries_again(run_folder, monkeypatch):
    tries = []

    async def refuse(spec: object, warm: object, proven: object) -> None:
        tries.append(spec)
        raise Refused("The sandbox does not contain.")

    monkeypatch.setattr(pool_module.RestrictedKernel, "start", refuse)

    async def use(pool: Pool) -> None:
        for attempt in (pool.acquire, pool.prove, pool.acquire):
            with pytest.raises(Refused):
                await attempt()
        assert len(tries) == 3

    _with_pool(run_folder, use)
    assert list((run_folder / "kernels").iterdir()) == []


def test_a_kernel_that_does_not_become_ready_is_tried_again_before_anybody_is_told(run_folder, monkeypatch):
    start, fails = Kernels.start, iter([True, True, False, True, True, True])

    async def start_late(self: Kernels, proven):
        if next(fails):
            raise AideError("A restricted kernel did not become ready within 60 s.")
        return await start(self, proven)

    monkeypatch.setattr(Kernels, "start", start_late)

    async def use(pool: Pool) -> None:
        pool.expect(1)
        kernel = await pool.acquire()
        await kernel.close()
        pool.expect(1)
        with pytest.raises(AideError, match="ready"):
            await pool.acquire()
        pool.expect(0)

    _with_pool(run_folder, use)


def test_waiting_kernels_that_keep_dying_are_not_replaced_for_ever(run_folder, monkeypatch):
    starts = []
    start = Kernels.start

    async def start_dead(self: Kernels, proven):
        kernel = await start(self, proven)
        starts.append(kernel)
        await kernel.jail.kill()
        return kernel

    monkeypatch.setattr(Kernels, "start", start_dead)

    async def use(pool: Pool) -> None:
        await pool.start()
        await _until(lambda: len(starts) == 3 and not pool._ready and not pool._starting)
        await asyncio.sleep(0.1)
        assert len(starts) == 3

    _with_pool(run_folder, use)


def test_workspaces_never_share_a_folder(run_folder):
    async def run() -> None:
        kernels = Kernels(run_folder / "kernels", None, warm=())
        (run_folder / "kernels" / "7").mkdir(parents=True)
        both = await asyncio.gather(kernels.start(), kernels.start())
        names = sorted(kernel.workspace.name for kernel in both)
        await asyncio.gather(*(kernel.close() for kernel in both))
        assert names == ["8", "9"]

    asyncio.run(run())
