"""The restricted kernel under Jupyter's own kernel manager."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aide_jupyter.sandbox.provisioner import shown_folder

pytestmark = pytest.mark.sandbox

MANAGER = """
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

def manager(**config):
    specs = scratch()
    (specs / "restricted").mkdir()
    spec = {"argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Restricted",
            "language": "python", "interrupt_mode": "message",
            "metadata": {"kernel_provisioner": {"provisioner_name": "aide-sandbox", "config": config}}}
    (specs / "restricted/kernel.json").write_text(json.dumps(spec))
    return AsyncKernelManager(kernel_name="restricted", kernel_spec_manager=KernelSpecManager(
        kernel_dirs=[str(specs)], ensure_native_kernel=False))

@contextlib.asynccontextmanager
async def started(cwd, **config):
    km = manager(**config)
    await km.start_kernel(cwd=str(cwd))
    client = km.client()
    client.start_channels()
    one = Kernel.__new__(Kernel)
    one.jail, one.client = km.provisioner._jail, client
    try:
        await client.wait_for_ready(timeout=60)
        yield km, one
    finally:
        client.stop_channels()
        if km.has_kernel:
            await km.shutdown_kernel(now=True)
"""


def test_a_kernel_starts_restarts_and_ends_with_nothing_left(server):
    told = server.run(
        MANAGER
        + """
async def main():
    cwd = folders()
    (cwd / "journal.jsonl").unlink()
    async with started(cwd) as (km, one):
        first, provisioner = one.jail, km.provisioner
        workspace, sockets = first.spec.workspace, first.spec.sockets
        file = json.loads(Path(km.connection_file).read_text())
        told = {"transport": file["transport"], "prefix": file["ip"] == str(sockets / "k"), "key": file["key"] != ""}
        await one.ask("import subprocess; p = subprocess.Popen(['setsid', 'sleep', '600'])")
        told["first"] = await one.ask("x = 1; print(x)")
        pids = first.pids()
        await km.restart_kernel()
        second = provisioner._jail
        await one.client.wait_for_ready(timeout=60)
        told["left"] = [p for p in pids if os.path.exists(f"/proc/{p}")]
        told["restarted"] = [second is not first, first.survivors(), workspace.exists(), second.spec.sockets == sockets]
        told["second"] = await one.ask("print('x' in globals())")
        one.client.stop_channels()
        await km.shutdown_kernel()
        told["end"] = [second.survivors(), second.exit_status, await km.is_alive(), sockets.exists(),
                       second.spec.workspace.exists(), os.path.exists(km.connection_file)]
    return told
"""
    )
    assert told == {
        "transport": "ipc",
        "prefix": True,
        "key": True,
        "first": "1",
        "left": [],
        "restarted": [True, 0, False, True],
        "second": "False",
        "end": [0, 0, False, False, False, False],
    }


def test_an_interrupt_reaches_the_program_and_the_kernel_goes_on(server):
    told = server.run(
        MANAGER
        + """
async def main():
    async with started("/") as (km, one):
        await one.ask("x = 5")
        workspace = one.jail.spec.workspace
        request = one.client.execute("open('working', 'w').close()\\nimport time\\nwhile True: time.sleep(0.02)")
        await until((workspace / "working").exists)
        await km.interrupt_kernel()
        while True:
            reply = await one.client.get_shell_msg(timeout=20)
            if reply["parent_header"].get("msg_id") == request:
                break
        said = ""
        while said != "5":
            said = await one.ask("print(x)")
        return [reply["content"]["ename"], said]
"""
    )
    assert told == ["KeyboardInterrupt", "5"]


def test_an_interrupt_by_signal_goes_to_the_kernel_and_not_to_the_jail(server):
    told = server.run(
        MANAGER
        + """
async def main():
    import signal
    async with started("/") as (km, one):
        await km.signal_kernel(signal.SIGINT)
        said = await one.ask("print('alive')")
        await km.signal_kernel(signal.SIGTERM)
        return [said, one.jail.alive(), one.jail.survivors(), await km.is_alive()]
"""
    )
    assert told == ["alive", False, 0, False]


def test_a_kernel_that_dies_is_seen_as_dead(server):
    told = server.run(
        MANAGER
        + """
async def main():
    async with started("/") as (km, one):
        one.client.execute("import os; os._exit(7)")
        await one.jail.wait()
        return [await km.is_alive(), await km.provisioner.poll(), km.has_kernel]
"""
    )
    assert told == [False, 7, True]


def test_a_kernel_that_takes_too_much_memory_is_ended(server):
    told = server.run(
        MANAGER
        + """
async def main():
    async with started("/", memory_bytes=300 << 20) as (km, one):
        one.client.execute("x = bytearray(b'1') * (600 << 20)\\nimport time; time.sleep(60)")
        ended = await asyncio.wait_for(one.jail.wait(), 30)
        return [ended, one.jail.survivors(), await km.is_alive()]
"""
    )
    assert told == [None, 0, False]


def test_a_program_sees_its_notebooks_folder_read_only_without_what_is_hidden_or_a_run(server):
    told = server.run(
        MANAGER
        + """
async def main():
    cwd = folders()
    (cwd / "journal.jsonl").unlink()
    (cwd / ".env").write_text("KEY=secret")
    (cwd / "aide-runs/one").mkdir(parents=True)
    (cwd / "aide-runs/one/journal.jsonl").write_text("{}")
    code = '''
import os, json
def read(path):
    try:
        return open(path).read()
    except OSError as error:
        return type(error).__name__
def write(path):
    try:
        return open(path, "w").close()
    except OSError as error:
        return error.strerror
print(json.dumps([os.getcwd(), read("d/train.csv"), read(".env"), read("aide-runs/one/journal.jsonl"), write("x")]))
'''
    async with started(cwd) as (km, one):
        found = json.loads(await one.ask(code))
        return [found[0] == str(cwd), *found[1:]]
"""
    )
    assert told == [True, "a,b\n1,2\n", "PermissionError", "PermissionError", "Read-only file system"]


def test_a_notebook_in_a_runs_folder_or_in_the_home_folder_sees_none_of_it(server):
    told = server.run(
        MANAGER
        + """
async def main():
    run = folders()
    seen = []
    for cwd in (run, run / "d", Path.home(), Path("/")):
        async with started(cwd) as (km, one):
            seen.append(await one.ask("import os; print(sorted(os.listdir('.')))"))
            assert str(run) not in await one.ask("print(os.getcwd(), open('/proc/self/mountinfo').read())")
    return seen
"""
    )
    assert told == ["['.jail']"] * 4


def test_a_kernel_of_another_language_is_refused(server):
    told = server.run(
        MANAGER
        + """
async def main():
    km = manager()
    km.kernel_spec.argv = ["R", "--slave"]
    try:
        await km.start_kernel()
    except Refused as error:
        return error.message
"""
    )
    assert "not a Python kernel" in told


def test_folders_that_may_not_be_shown(run_folder):
    run_folder.chmod(0o755)
    shown = run_folder / "shown"
    (shown / ".git").mkdir(parents=True)
    (shown / "deep/run").mkdir(parents=True)
    (shown / "deep/run/journal.jsonl").touch()
    (shown / "link").symlink_to("/etc")
    assert shown_folder(shown) == (shown, (shown / ".git", shown / "deep/run"))
    assert shown_folder(shown / "deep/run") is None
    assert shown_folder(Path("/usr")) is None
    assert shown_folder(run_folder / "missing") is None
    assert shown_folder(Path(os.path.realpath(Path.home())).parent) is None
    if os.geteuid() == 0:
        shown.chmod(0o700)
        assert shown_folder(shown) is None


def test_a_manager_that_blocks_can_use_it_too_and_its_kernel_is_watched(server):
    told = server.run(
        MANAGER
        + """
from jupyter_client.manager import KernelManager

async def main():
    return await asyncio.to_thread(blocking)

def blocking():
    specs = manager(memory_bytes=300 << 20).kernel_spec_manager
    km = KernelManager(kernel_name="restricted", kernel_spec_manager=specs)
    km.start_kernel(cwd="/")
    client = km.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    said = []
    client.execute_interactive("print(1)", timeout=30, output_hook=lambda m: said.append(m["content"].get("text")))
    jail = km.provisioner._jail
    client.execute("x = bytearray(b'1') * (600 << 20)\\nimport time; time.sleep(60)")
    end = time.monotonic() + 30
    while km.is_alive() and time.monotonic() < end:
        time.sleep(0.01)
    alive = km.is_alive()
    client.stop_channels()
    km.shutdown_kernel(now=True)
    return ["1\\n" in said, alive, jail.survivors()]
"""
    )
    assert told == [True, False, 0]
