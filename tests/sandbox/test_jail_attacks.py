"""A suite of hostile probes inside the jail; what they reach is compared with the same probes outside, and the host."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.sandbox

PROBES = Path(__file__).parents[2].parent / "shared/escape/probes.py"

# A kernel has its own connection file and may do what it likes with its own sockets and its own workspace: the host
# never reads either back as anything but bytes of a regular file.
# bubblewrap's init is of the program's own uid for an ordinary user; it holds a sealed file and pipes.
BY_DESIGN = {"own_kernel_conn_key", "conn_dir_socket_replace", "special_file_fifo"}
# These prove something only if the same probe reaches its bait from outside the jail.
NEEDS_BAIT = {
    "dev_shm_host_file",
    "other_kernel_ipc_socket",
    "read_audit_notebook",
    "read_aws_canary",
    "read_journal",
    "read_ssh_canary",
    "tcp_host_loopback",
    "unix_abstract_host",
    "unix_path_socket_host",
}

ATTACK = """
import socket, subprocess

async def main():
    source = Path(PROBES).read_text()
    home = Path.home()
    base = folders()
    bait = folders(home)
    for name in ("ssh", "aws", "audit"):
        (bait / name).write_text("canary of the host")
    other = bait / "k"
    other.mkdir()
    (other / "kother.json").write_text("{}")
    shm = Path("/dev/shm/aide-canary")
    shm.write_text("canary")
    listeners = []
    def listen(family, address):
        one = socket.socket(family, socket.SOCK_STREAM)
        one.bind(address); one.listen(8); listeners.append(one)
        return one.getsockname()
    tcp = listen(socket.AF_INET, ("127.0.0.1", 0))[1]
    listen(socket.AF_UNIX, str(bait / "l")); listen(socket.AF_UNIX, str(other / "kother-1"))
    abstract = f"aide-attack-{os.getpid()}"
    listen(socket.AF_UNIX, chr(0) + abstract)
    victim = subprocess.Popen(["sleep", "600"], env={"KEY": "CANARY"})
    config = dict(
        work=str(base / "w"), data=str(base / "d"), conn=str(base / "s"), home=str(home), ssh=str(bait / "ssh"),
        aws=str(bait / "aws"), audit=str(bait / "audit"), journal=str(base / "journal.jsonl"), hostpid=victim.pid,
        tcp=tcp, usock=str(bait / "l"), abs=abstract, otherk=str(other), inside=True)
    def state():
        return {str(p): (p.read_text(), p.stat().st_mode, p.stat().st_mtime_ns)
                for folder in (base, bait) for p in sorted(folder.rglob("*"))
                if p.is_file() and not p.is_relative_to(base / "w") and not p.is_relative_to(base / "s")}
    before = state()
    try:
        outside = base / "outside"
        outside.mkdir()
        plain = dict(config, work=str(outside), inside=False)
        process = subprocess.run([sys.executable, "-c", source.replace("{}", json.dumps(plain), 1).replace(
            "for f in P:", "for f in [p for p in P if p.__name__ in %r]:" % (BAIT,))], capture_output=True, text=True)
        baseline = {name: contained for name, contained, _ in map(json.loads, process.stdout.splitlines())}
        shutil.rmtree(outside)
        jail = await launch(spec(base, limits=Limits(processes=100), backend=BACKEND))
        one = Kernel(jail)
        await one.client.wait_for_ready(timeout=60)
        said = await one.ask(source.replace("{}", json.dumps(config), 1), timeout=100)
        one.client.stop_channels()
        await jail.kill()
        found = [json.loads(line) for line in said.splitlines() if line.startswith("[")]
        return {"found": found, "baseline": baseline, "survivors": jail.survivors(), "victim": victim.poll(),
                "changed": [name for name, value in state().items() if before.get(name) != value],
                "root": os.path.exists("/x"), "bashrc": "aide-probe" in (home / ".bashrc").read_text()
                if (home / ".bashrc").exists() else False}
    finally:
        victim.kill(); victim.wait()
        for one in listeners: one.close()
        shm.unlink()
        shutil.rmtree(bait, ignore_errors=True); shutil.rmtree(base, ignore_errors=True)
"""


@pytest.mark.skipif(not PROBES.exists(), reason="the suite of probes is not beside this checkout")
@pytest.mark.parametrize("backend", ["firejail", "bubblewrap"])
def test_no_probe_reaches_anything_outside(server, backend):
    if backend == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    suite = Path("/var/tmp") / f"aide-probes-{os.getpid()}.py"
    suite.write_text(PROBES.read_text())
    suite.chmod(0o644)
    try:
        answer = server.run(
            f"PROBES = {str(suite)!r}\nBACKEND = {backend!r}\nBAIT = {sorted(NEEDS_BAIT)!r}\n" + ATTACK, timeout=200
        )
    finally:
        suite.unlink()
    assert answer["baseline"] == dict.fromkeys(NEEDS_BAIT, False), "the bait cannot be reached outside either"
    found = {name: (contained, detail) for name, contained, detail in answer["found"]}
    assert len(found) == PROBES.read_text().count("@probe\n") > 50
    escaped = {name: detail for name, (contained, detail) in found.items() if contained is False}
    own_init = {"proc1_fd_cwd"} if backend == "bubblewrap" and not server.root else set()
    assert set(escaped) <= BY_DESIGN | own_init, json.dumps(escaped, indent=1)
    unproven = {name: detail for name, (contained, detail) in found.items() if contained is None}
    # memfd_create itself is refused, which that probe does not expect.
    assert [name for name, detail in unproven.items() if str(detail).startswith("EXC")] == ["memfd_exec"], unproven
    assert (answer["changed"], answer["root"], answer["bashrc"]) == ([], False, False)
    assert (answer["victim"], answer["survivors"]) == (None, 0)
