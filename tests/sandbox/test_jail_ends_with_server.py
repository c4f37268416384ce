"""No jail outlives the process that launched it, and what that process had planted is removed with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from aide_jupyter.sandbox.processes import identify, is_alive
from aide_jupyter.sandbox.supervisor import Supervisor

pytestmark = pytest.mark.sandbox

WAITING = """
async def main():
    from aide_jupyter.sandbox.canary import canaries
    from aide_jupyter.sandbox.supervisor import SUPERVISOR
    async with kernel() as one, kernel() as two:
        one.client.execute("import os, time\\nfor _ in range(3):\\n  if os.fork() == 0: os.setsid(); time.sleep(600)")
        await until(lambda: len(one.jail.pids()) >= 5)
        print(json.dumps({
            "pid": os.getpid(), "jails": [*one.jail.pids(), *two.jail.pids()], "watcher": SUPERVISOR.pid,
            "planted": [str(path.parent) for path in canaries().files]}), flush=True)
        await asyncio.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "terminate"])
def test_every_jail_is_gone_soon_after_its_server_is_killed(server, number):
    process = subprocess.Popen(server.command(WAITING), cwd=server.home, stdout=subprocess.PIPE, text=True)
    try:
        told = json.loads(process.stdout.readline())
        jails = [identify(pid) for pid in told["jails"]]
        assert len(jails) >= 7 and None not in jails
        assert all(Path(folder).exists() for folder in told["planted"])
        os.kill(told["pid"], number)
        process.wait(10)
        ended = time.monotonic()
        watcher = identify(told["watcher"])
        while any(is_alive(jail) for jail in jails) or (watcher and is_alive(watcher)):
            assert time.monotonic() - ended < 10
            time.sleep(0.01)
        print(f"\neverything was gone {time.monotonic() - ended:.3f} s after the server")
        assert time.monotonic() - ended < 2
        assert not any(Path(folder).exists() for folder in told["planted"])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_an_interrupt_of_the_terminal_does_not_reach_the_watcher_or_a_jail(server):
    told = server.run("""
async def main():
    import signal
    from aide_jupyter.sandbox.supervisor import SUPERVISOR
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setpgrp()
    async with kernel() as one:
        os.killpg(0, signal.SIGINT)
        return [await one.ask("print('alive')"), os.path.exists(f"/proc/{SUPERVISOR.pid}")]
""")
    assert told == ["alive", True]


def test_a_watcher_that_was_killed_is_replaced_and_told_of_all_jails(server):
    told = server.run("""
async def main():
    import signal
    from aide_jupyter.sandbox.processes import identify
    from aide_jupyter.sandbox.supervisor import SUPERVISOR
    async with kernel() as one:
        first = SUPERVISOR.pid
        os.kill(first, signal.SIGKILL)
        await until(lambda: identify(first) is None)
        async with kernel() as two:
            second = SUPERVISOR.pid
            init = [one.jail.init_pid, two.jail.init_pid]
            held = [os.readlink(f"/proc/{second}/fd/{fd}") for fd in os.listdir(f"/proc/{second}/fd")]
            SUPERVISOR.close()
            await until(lambda: not one.jail.alive() and not two.jail.alive())
            return [first != second, sum("pidfd" in name for name in held)]
""")
    assert told == [True, 3]


def test_a_pid_that_was_given_to_another_process_is_not_killed(tmp_path):
    """A jail's init that ended before it was watched, and whose number is now someone else's."""
    bystander = subprocess.Popen(["sleep", "60"])
    supervisor = Supervisor()
    try:
        there = identify(bystander.pid)
        assert there is not None
        supervisor.watch(type(there)(there.pid, there.started - 1))
        supervisor.remove_at_end(tmp_path / "planted")
        (tmp_path / "planted").mkdir()
        supervisor.close()
        assert bystander.poll() is None
        assert not (tmp_path / "planted").exists()
    finally:
        supervisor.close()
        bystander.kill()
        bystander.wait()


def test_a_jail_has_a_last_deadline_of_its_own(server):
    told = server.run("""
async def main():
    async with kernel(lifetime=5) as one:
        ended = await asyncio.wait_for(one.jail.wait(), 30)
        return [ended is not None, time.monotonic() - one.jail.started, one.jail.survivors()]
""")
    ended, seconds, survivors = told
    assert ended and survivors == 0 and seconds < 15
