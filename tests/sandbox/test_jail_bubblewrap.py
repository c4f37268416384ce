"""The same jail built by bubblewrap."""

from __future__ import annotations

import shutil

import pytest

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]


def test_a_kernel_works_is_measured_and_is_killed_whole(server):
    told = server.run("""
async def main():
    async with kernel(backend="bubblewrap", limits=Limits(processes=100)) as one:
        said = [
            await one.ask("import multiprocessing as m\\nwith m.Pool(2) as p: print(p.map(abs, [-1]))"),
            await one.ask("import multiprocessing as m\\nwith m.Manager() as s: d = s.dict(a=1); print(dict(d))"),
            await one.ask("from joblib import Parallel, delayed as d; print(Parallel(2)(d(abs)(i) for i in (-1, 2)))"),
            await one.ask("import os; print(sorted(os.listdir('..')), open('input/train.csv').readline().strip())"),
            await one.ask("import pathlib, getpass; print(getpass.getuser(), os.path.exists('/etc/shadow'))"),
        ]
        idle = one.jail.memory_bytes()
        await one.ask("f = open('/dev/shm/f', 'wb')\\nfor _ in range(100): f.write(bytes(1 << 20))")
        held = one.jail.memory_bytes() - idle
        await one.ask("import subprocess; p = subprocess.Popen(['setsid', 'sleep', '600'])")
        pids = one.jail.pids()
        await one.jail.kill()
        left = [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
        return {"said": said, "held": held >> 20, "uid": one.jail.uid, "left": left, "survivors": one.jail.survivors()}
""")
    assert told["said"] == ["[1]", "{'a': 1}", "[1, 2]", "['d', 's', 'w'] a,b", "aide False"]
    assert 95 < told["held"] < 130
    assert told["uid"] != 0
    assert (told["left"], told["survivors"]) == ([], 0)


def test_a_kernel_that_exits_tells_its_status(server):
    assert server.run("""
async def main():
    async with kernel(backend="bubblewrap") as one:
        one.client.execute("import os, subprocess; subprocess.Popen(['setsid', 'sleep', '60']); os._exit(3)")
        return [await asyncio.wait_for(one.jail.wait(), 20), one.jail.survivors()]
""") == [3, 0]


WEAKER = {
    "--unshare-net": "namespace net",
    "--unshare-ipc": "namespace ipc",
    "--unshare-pid": "namespace pid",
    "--remount-ro": "writable",
}


def test_each_part_is_missed_where_it_is_left_out(server):
    said = server.run(f"""
from aide_jupyter.sandbox.bubblewrap import Bubblewrap

async def main():
    whole, said = Bubblewrap.command, {{}}
    for part in {list(WEAKER)!r}:
        def weaker(self, *arguments):
            command = whole(self, *arguments)
            while part in command:
                at = command.index(part)
                del command[at : at + (2 if part == "--remount-ro" else 1)]
            return command
        Bubblewrap.command = weaker
        base = folders()
        try:
            jail = await launch(spec(base, backend="bubblewrap"))
        except Refused as error:
            assert not list((base / "s").glob("k*")), "a kernel was started"
            said[part] = error.message
        else:
            await jail.kill()
    return said
""")
    # As root it is the host that sees it: the kernel's uid could not write there in any case.
    said["--remount-ro"] = said["--remount-ro"].replace("/ is not read-only", "/ is writable")
    assert {part: words in said.get(part, "") for part, words in WEAKER.items()} == dict.fromkeys(WEAKER, True), said
