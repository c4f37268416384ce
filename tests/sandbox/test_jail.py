"""A launched jail, as root and as an ordinary user: what a kernel has, what it lacks, and how it ends."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.sandbox


def test_a_kernel_answers_under_a_uid_that_is_never_root(server):
    found = server.run("""
async def main():
    async with kernel() as one:
        code = "import os, json; print(json.dumps([os.getuid(), os.getgid(), os.getgroups()]))"
        return {"inside": json.loads(await one.ask(code)), "uid": one.jail.uid, "server": os.getuid(),
                "pids": len(one.jail.pids())}
""")
    uid, gid, groups = found["inside"]
    assert uid == found["uid"] != 0
    if server.root:
        assert 64100 <= uid <= 64899 and gid == uid and groups == []
    else:
        assert uid == found["server"]
    assert found["pids"] >= 2


def test_two_kernels_of_root_have_different_uids(server):
    if not server.root:
        pytest.skip("an ordinary user has one uid")
    first, second = server.run("""
async def main():
    async with kernel() as one, kernel() as two:
        return [one.jail.uid, two.jail.uid]
""")
    assert first != second


def test_a_program_sees_its_workspace_its_data_and_python_alone(server):
    seen = server.run(
        """
os.environ["CANARY_KEY"] = "a secret of the server"

async def main():
    code = '''
import json, os, pathlib
def names(path):
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []
print(json.dumps({
    "run": names(".."), "home": names(%r), "data": open("input/train.csv").read(), "tmp": names("/tmp"),
    "environment": sorted(os.environ), "secret": os.environ.get("CANARY_KEY"), "sockets": names("../s"),
    "root": names("/root"), "mnt": names("/mnt"), "var": names("/var"),
    "own": __import__("importlib.util").util.find_spec("aide_jupyter") is not None}))
''' % str(Path.home())
    async with kernel() as one:
        seen = json.loads(await one.ask(code))
        python = [Path(os.path.realpath(prefix)) for prefix in (sys.prefix, sys.base_prefix, *sys.path)]
        tops = (Path.home(), Path("/root"), Path("/tmp"))
        seen["python"] = [path.relative_to(top).parts[0] for path in python for top in tops
                          if path.is_relative_to(top) and path != top]
        return seen
"""
    )
    assert seen["run"] == ["d", "s", "w"]
    skeleton = {".bashrc", ".inputrc", *seen["python"]}
    assert not set(seen["home"]) - skeleton
    assert seen["data"] == "a,b\n1,2\n"
    assert len(set(seen["tmp"]) - set(seen["python"])) == 1, "the folder of the sockets"
    assert seen["secret"] is None and not any("CANARY" in name for name in seen["environment"])
    assert not set(seen["root"]) - skeleton
    assert seen["mnt"] == seen["var"] == []
    assert set(seen["sockets"]) == {"k.json", "k-1", "k-2", "k-3", "k-4", "k-5"}
    assert seen["own"] is False


def test_only_the_workspace_the_sockets_and_shared_memory_can_be_written(server):
    refused = server.run("""
async def main():
    code = '''
import json, os, sys
found = {}
for path in ("input/x", "input/train.csv", "../x", "/x", "/tmp/x", "/var/tmp/x", "/run/x", "/etc/x", "/usr/x", "/dev/x",
             sys.prefix + "/x", os.path.dirname(os.__file__) + "/x", %r + "/x",
             "working/x", "../s/x", "/dev/shm/x", os.environ["TMPDIR"] + "/x", os.environ["HOME"] + "/x"):
    try:
        open(path, "ab").close()
    except OSError as error:
        found[path] = error.strerror
    else:
        found[path] = ""
print(json.dumps(found))
''' % str(Path.home())
    async with kernel() as one:
        found = json.loads(await one.ask(code))
        base = one.jail.spec.workspace.parent
        found["host"] = sorted(os.listdir(base)) + sorted(os.listdir(base / "d"))
        return found
""")
    assert refused.pop("host") == ["d", "journal.jsonl", "s", "w", "train.csv"]
    written = [path for path, error in refused.items() if not error]
    assert written[:3] == ["working/x", "../s/x", "/dev/shm/x"] and len(written) == 5


WORKING = {
    "pool": (
        "import multiprocessing as m\ndef f(x): return x * x\nwith m.Pool(2) as p: print(p.map(f, [2, 3]))",
        "[4, 9]",
    ),
    "manager": ("import multiprocessing as m\nwith m.Manager() as s: d = s.dict(a=1); print(dict(d))", "{'a': 1}"),
    "queue": ("q = m.Queue(); p = m.Process(target=q.put, args=(3,)); p.start(); print(q.get())", "3"),
    "shared memory": (
        "from multiprocessing import shared_memory as s\nm = s.SharedMemory(create=True, size=9); m.buf[0] = 7\n"
        "n = s.SharedMemory(m.name); print(n.buf[0]); n.close(); m.close(); m.unlink()",
        "7",
    ),
    "executor": (
        "from concurrent.futures import ProcessPoolExecutor as P\nwith P(2) as p: print(list(p.map(abs, [-1, 2])))",
        "[1, 2]",
    ),
    "loky": (
        "from joblib import Parallel, delayed as d\nprint(Parallel(n_jobs=2)(d(abs)(i) for i in (-1, 2)))",
        "[1, 2]",
    ),
    "forest": (
        "import numpy as np, pandas as pd\nfrom sklearn.ensemble import RandomForestClassifier as R\n"
        "x = pd.DataFrame(np.arange(40).reshape(20, 2)); print(len(R(n_jobs=2).fit(x, [0, 1] * 10).predict(x)))",
        "20",
    ),
    "polars": ("import polars as pl; print(pl.thread_pool_size(), pl.DataFrame({'a': [1]}).height)", "2 1"),
    "temporary": ("import os, tempfile; print(tempfile.gettempdir() == os.environ['TMPDIR'])", "True"),
}


def test_what_programs_of_this_field_use_works_in_the_jail(server):
    said = server.run(f"""
async def main():
    async with kernel(limits=Limits(cores=2)) as one:
        return {{name: await one.ask(code) for name, (code, _) in {WORKING!r}.items()}}
""")
    assert {name: text.splitlines()[-1] for name, text in said.items()} == {
        name: printed for name, (_, printed) in WORKING.items()
    }


def test_data_sets_bundled_in_packages_are_hidden(server):
    said = server.run("""
async def main():
    async with kernel() as one:
        await one.ask("from sklearn.datasets import load_iris")
        return await one.ask("try: load_iris()\\nexcept OSError as e: print(type(e).__name__)")
""")
    assert said == "PermissionError"


def test_two_kernels_hash_alike(server):
    first, second = server.run("""
async def main():
    async with kernel() as one, kernel() as two:
        return [await one.ask("print(hash('a'))"), await two.ask("print(hash('a'))")]
""")
    assert first == second


def test_limits_of_each_process_hold(server):
    found = server.run("""
async def main():
    limits = Limits(processes=100, disk_bytes=8 << 20)
    code = '''
import json, os, resource, time
children = 0
try:
    while children < 300:
        if os.fork() == 0:
            time.sleep(30); os._exit(0)
        children += 1
except OSError:
    pass
try:
    with open("working/x", "wb") as f:
        f.write(bytes(16 << 20))
except OSError as error:
    core = resource.getrlimit(resource.RLIMIT_CORE)
    print(json.dumps([children, error.strerror, core, os.path.getsize("working/x")]))
'''
    async with kernel(limits=limits) as one:
        return json.loads((await one.ask(code)).splitlines()[-1])
""")
    children, error, core, size = found
    assert 10 < children < 100
    assert (error, core, size) == ("File too large", [0, 0], 8 << 20)


HOSTILE = """
import os, signal, subprocess, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: time.sleep(1)
        os._exit(0)
open("working/ready", "w").close()
while True: time.sleep(1)
"""


def test_a_kill_leaves_nothing_of_daemons_that_ignore_signals(server):
    found = server.run(f"""
async def main():
    async with kernel() as one:
        one.client.execute({HOSTILE!r})
        await until((one.jail.spec.workspace / "working/ready").exists)
        looks = [[]]
        await until(lambda: looks.append(sorted(one.jail.pids())) or 7 <= len(looks[-1]) and looks[-1] == looks[-2])
        pids = looks[-1]
        began = time.monotonic()
        await one.jail.kill()
        left = [pid for pid in pids if os.path.exists(f"/proc/{{pid}}")]
        return [len(pids), left, one.jail.survivors(), one.jail.alive(), one.jail.exit_status, time.monotonic() - began]
""")
    before, left, survivors, alive, status, seconds = found
    assert before >= 7
    assert (left, survivors, alive, status) == ([], 0, False, None)
    assert seconds < 2


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import os; os._exit(3)", 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("import os, subprocess; subprocess.Popen(['setsid', 'sleep', '60']); os._exit(4)", 4),
    ],
    ids=["exit", "signal", "daemon"],
)
def test_a_kernel_that_dies_by_itself_tells_its_exit_status_and_leaves_nothing(server, code, status):
    found = server.run(f"""
async def main():
    async with kernel() as one:
        pids = one.jail.pids()
        one.client.execute({code!r})
        ended = await asyncio.wait_for(one.jail.wait(), 20)
        return [ended, one.jail.exit_status, one.jail.survivors(), [p for p in pids if os.path.exists(f"/proc/{{p}}")]]
""")
    assert found == [status, status, 0, []]


def test_memory_is_seen_from_the_host_whatever_form_it_takes(server):
    sizes = server.run("""
async def main():
    steps = {
        "idle": "pass",
        "anonymous": "x = bytearray(b'1') * (200 << 20)",
        "freed": "del x",
        "shared file": "import os\\nf = open('/dev/shm/f', 'wb')\\nfor _ in range(100): f.write(bytes(1 << 20))",
        "unlinked": "os.unlink('/dev/shm/f')",
        "mapped": "f.close()\\nimport mmap\\nm = mmap.mmap(-1, 100 << 20)\\nm[:] = b'1' * (100 << 20)",
    }
    sizes = {}
    async with kernel() as one:
        for name, code in steps.items():
            await one.ask(code)
            sizes[name] = one.jail.memory_bytes() >> 20
    return sizes
""")
    idle = sizes["idle"]
    assert 10 < idle < 120
    assert 195 < sizes["anonymous"] - idle < 230
    assert sizes["freed"] - idle < 30
    assert 95 < sizes["shared file"] - idle < 130
    assert 95 < sizes["unlinked"] - idle < 130
    assert 95 < sizes["mapped"] - idle < 230


def test_pages_shared_after_a_fork_count_once_where_the_host_may_look(server):
    limit, found = server.run("""
async def main():
    limits = Limits(memory_bytes=400 << 20)
    code = '''
import os, time
x = bytearray(b"1") * (200 << 20)
for _ in range(3):
    if os.fork() == 0:
        time.sleep(60); os._exit(0)
print("forked")
'''
    async with kernel(limits=limits) as one:
        await one.ask(code)
        return [limits.memory_bytes, one.jail.memory_bytes()]
""")
    assert (found < limit) == server.root


def test_nothing_of_a_launch_is_left_behind(server):
    left = server.run("""
async def main():
    tempfile.tempdir = str(scratch())
    async with kernel():
        during = [name for name in os.listdir(tempfile.tempdir) if name.startswith("aide-jail-")]
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(2):
        async with kernel():
            pass
    return [sorted(during), len(os.listdir("/proc/self/fd")) - descriptors]
""")
    assert left == [[], 0]


def test_folders_anywhere_that_the_server_may_use_can_be_jailed(server):
    where = server.run("""
async def main():
    found = []
    for parent in (Path.home(), "/var/tmp"):
        async with kernel(parent) as one:
            found.append(await one.ask("import os; print(open('input/train.csv').readline(), len(os.listdir('..')))"))
    return found
""")
    assert where == ["a,b\n 3"] * 2


def test_many_kernels_start_at_once(server):
    told = server.run("""
async def main():
    async def one():
        async with kernel() as made:
            return [made.jail.uid, await made.ask("print(1)")]
    return await asyncio.gather(*(one() for _ in range(6)))
""")
    assert [said for _, said in told] == ["1"] * 6
    assert len({uid for uid, _ in told}) == (6 if server.root else 1)


def test_a_launch_that_is_cancelled_leaves_nothing(server):
    told = server.run("""
async def main():
    from aide_jupyter.sandbox.processes import tree
    from aide_jupyter.sandbox.supervisor import SUPERVISOR
    async with kernel():
        pass
    left = []
    for pause in (0.02, 0.1, 0.2, 0.3, 0.4):
        base = folders()
        task = asyncio.create_task(launch(spec(base)))
        await asyncio.sleep(pause)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await task).kill()
        await until(lambda: not set(tree(os.getpid())) - {os.getpid(), SUPERVISOR.pid})
        left += [name for name in os.listdir(base / "s") if name == "probe"]
    return left
""")
    assert told == []


def test_a_single_file_can_be_shown_without_its_folder(server):
    said = server.run("""
async def main():
    base = folders()
    (base / "d/other.csv").write_text("not for this program")
    jail = await launch(JailSpec(workspace=base / "w", sockets=base / "s", readable=(base / "d/train.csv",)))
    one = Kernel(jail)
    try:
        await one.client.wait_for_ready(timeout=60)
        return await one.ask("import os; print(os.listdir('input'), open('input/train.csv').readline())")
    finally:
        one.client.stop_channels()
        await jail.kill()
""")
    assert said == "['train.csv'] a,b"
