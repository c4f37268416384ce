"""The probes of ``../shared/escape/probes.py``, in a restricted kernel and, so that they can fail, outside of it.

Canaries are planted on the host; what counts is the host afterwards: files unchanged, listeners not reached.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.sandbox
PROBES = Path(__file__).parents[3] / "shared" / "escape" / "probes.py"
HOSTS_OWN = {"own_kernel_conn_key", "conn_dir_socket_replace", "special_file_fifo"}
"""What the host must bear, each with tests of its own: test_redirect.py, test_files.py, and test_kernel_wire.py."""
REACHED_OUTSIDE = {
    "read_ssh_canary", "read_aws_canary", "read_audit_notebook", "read_journal", "modify_audit_notebook", "write_data",
    "create_in_data", "chmod_data", "env_api_key", "sees_host_processes", "kill_host_process", "tcp_host_loopback",
    "unix_path_socket_host", "unix_abstract_host", "other_kernel_ipc_socket", "own_kernel_conn_key",
    "conn_dir_socket_replace", "dev_shm_host_file", "symlink_out_of_work", "special_file_fifo", "venv_pth",
    "venv_sitecustomize",
}  # fmt: skip
OUTSIDE_PATHS = [f"{folder}/x" for folder in ("/etc", "/usr", "/usr/local/lib", "/var", "/opt", "", "/srv", "/run")]


class Canaries:
    """Everything that the probes try to reach, planted on the host."""

    def __init__(self, folder: Path, home: Path, stack: ExitStack) -> None:
        self.reached: list[str] = []
        self._stack = stack
        keys = Path(tempfile.mkdtemp(prefix=".aide-canary-", dir=home))
        stack.callback(shutil.rmtree, keys, ignore_errors=True)
        self.data, other, self.sockets = folder / "data", folder / "other", Path(tempfile.mkdtemp(prefix="aide-u-"))
        stack.callback(shutil.rmtree, self.sockets, ignore_errors=True)
        for made in (self.data, other):
            made.mkdir()
        self.files = {
            "ssh": keys / "id",
            "aws": keys / "credentials",
            "audit": folder / "audit.ipynb",
            "journal": folder / "journal.jsonl",
            "train": self.data / "train.csv",
            "kernel": other / "kother.json",
        }
        for path in self.files.values():
            path.write_text("CANARY")
            path.chmod(0o600)
        self.files["train"].chmod(0o644)
        self._plant(Path("/dev/shm/aide-canary"))
        if os.geteuid() == 0:
            self._plant(Path("/root/aide-canary.txt"))
        tcp = self._listen("tcp", socket.AF_INET, ("127.0.0.1", 0))
        self._listen("path", socket.AF_UNIX, str(self.sockets / "u"))
        self._listen("abstract", socket.AF_UNIX, f"\0aide-canary-{os.getpid()}")
        self._listen("other kernel", socket.AF_UNIX, str(other / "kother-1"))
        self.config = {
            "data": str(self.data),
            "home": str(home),
            "ssh": str(self.files["ssh"]),
            "aws": str(self.files["aws"]),
            "audit": str(self.files["audit"]),
            "journal": str(self.files["journal"]),
            "tcp": tcp.getsockname()[1],
            "usock": str(self.sockets / "u"),
            "abs": f"aide-canary-{os.getpid()}",
            "otherk": str(other),
        }

    def _plant(self, path: Path) -> None:
        path.write_text("CANARY")
        self._stack.callback(path.unlink, missing_ok=True)

    def _listen(self, name: str, family: int, address: object) -> socket.socket:
        listener = self._stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        listener.bind(address)  # type: ignore[arg-type]
        listener.listen()
        listener.settimeout(0.1)
        over = threading.Event()

        def accept() -> None:
            while not over.is_set():
                with suppress(TimeoutError):
                    listener.accept()[0].close()
                    self.reached.append(name)

        thread = threading.Thread(target=accept)
        thread.start()
        self._stack.callback(thread.join)
        self._stack.callback(over.set)
        return listener

    def process(self, prefix: list[str]) -> None:
        """Start a process, as the user that the command's prefix makes it, with a secret in its environment."""
        environment = {"PATH": "/usr/bin:/bin", "AIDE_CANARY": "CANARY"}
        process = subprocess.Popen([*prefix, "sleep", "600"], env=environment)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        self.config["hostpid"] = process.pid

    def own(self, uid: int, gid: int) -> None:
        """Give everything that was planted to a user."""
        paths = [self.data, *self.files.values(), *(path.parent for path in self.files.values()), self.sockets]
        paths += [self.sockets / "u", Path(self.config["otherk"]) / "kother-1", Path("/dev/shm/aide-canary")]  # type: ignore[arg-type]
        for path in paths:
            os.chown(path, uid, gid)

    def assert_unharmed(self) -> None:
        """Nothing of the host was changed, and no listener was reached."""
        assert self.reached == []
        assert {name: path.read_text() for name, path in self.files.items()} == dict.fromkeys(self.files, "CANARY")
        assert (self.files["train"].stat().st_mode & 0o777) == 0o644
        assert os.listdir(self.data) == ["train.csv"]
        assert not any(os.path.lexists(path) for path in OUTSIDE_PATHS)


@contextmanager
def _canaries(folder: Path, home: Path) -> Iterator[Canaries]:
    with ExitStack() as stack:
        yield Canaries(folder, home, stack)


def _program(config: dict[str, object], *, inside: bool) -> str:
    """The probes with their configuration. A kernel's own folders are known only inside."""
    text = PROBES.read_text()
    assert text.count("CONFIG = r'''{}'''") == 1
    if not inside:
        return text.replace("CONFIG = r'''{}'''", f"CONFIG = {json.dumps(config)!r}")
    start = (
        "import json, os\nfrom ipykernel.connect import get_connection_file\n"
        f"CONFIG = json.dumps({{**json.loads({json.dumps(config)!r}), 'inside': True, 'work': os.getcwd(),\n"
        "                     'conn': os.path.dirname(get_connection_file())})"
    )
    return text.replace("CONFIG = r'''{}'''", start)


def _verdicts(output: str) -> dict[str, tuple[bool | None, object]]:
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("[")]
    return {name: (contained, detail) for name, contained, detail in lines}


def _assert_contained(result: SimpleNamespace) -> None:
    assert result.status == "ok", result
    verdicts = _verdicts(result.stdout)
    assert len(verdicts) == PROBES.read_text().count("@probe\n")
    escaped = {name: detail for name, (contained, detail) in verdicts.items() if contained is False}
    assert set(escaped) <= HOSTS_OWN, escaped
    broken = {name: detail for name, (_, detail) in verdicts.items() if str(detail).startswith("EXC")}
    assert set(broken) <= {"memfd_exec"}, broken  # the call itself is refused


@pytest.fixture(autouse=True)
def _needs_the_probes() -> None:
    if not PROBES.exists():
        pytest.skip("the probes are not on this machine")


def test_every_probe_is_contained_for_the_servers_user(attack, run_folder):
    with _canaries(run_folder, Path.home()) as canaries:
        canaries.process([])
        _assert_contained(attack(_program(canaries.config, inside=True), view=str(canaries.data)))
        canaries.assert_unharmed()


def test_every_probe_is_contained_for_an_ordinary_user(ordinary_user, user_folder):
    folder = user_folder("p")
    driver = (Path(__file__).parent / "driver.py").read_text()
    bashrc = ordinary_user.home / ".bashrc"
    before = bashrc.read_bytes()
    with _canaries(folder, ordinary_user.home) as canaries:
        canaries.process(["setpriv", f"--reuid={ordinary_user.uid}", "--clear-groups", f"--regid={ordinary_user.gid}"])
        canaries.own(ordinary_user.uid, ordinary_user.gid)
        program = _program(canaries.config, inside=True)
        request = {"folder": str(folder), "program": program, "view": str(canaries.data)}
        script = folder / "driver.py"
        script.write_text(driver)
        (folder / "request.json").write_text(json.dumps(request))
        call = "import json, runpy; execute = runpy.run_path('{0}/driver.py')['execute']\n"
        call += "print(json.dumps(execute(json.load(open('{0}/request.json')))))"
        done = ordinary_user.run(call.format(folder))
        assert done.returncode == 0, done.stderr
        _assert_contained(SimpleNamespace(**json.loads(done.stdout.splitlines()[-1])))
        canaries.assert_unharmed()
    assert bashrc.read_bytes() == before


def test_outside_the_jail_the_same_probes_reach_their_canaries(ordinary_user, user_folder):
    """As a throw-away user, without those that would harm: a probe that reaches nothing here proves nothing inside."""
    folder = user_folder("o")
    work, conn = folder / "work", folder / "conn"
    for path in (work, conn):
        path.mkdir()
        os.chown(path, ordinary_user.uid, ordinary_user.gid)
    (conn / "k.json").write_text("{}")
    site = next((ordinary_user.home / "venv/lib").glob("python3.*/site-packages"))
    bashrc = ordinary_user.home / ".bashrc"
    before = bashrc.read_bytes()
    try:
        with _canaries(folder, ordinary_user.home) as canaries:
            canaries.process(
                ["setpriv", f"--reuid={ordinary_user.uid}", "--clear-groups", f"--regid={ordinary_user.gid}"]
            )
            canaries.own(ordinary_user.uid, ordinary_user.gid)
            config = {**canaries.config, "work": str(work), "conn": str(conn), "inside": False}
            (work / "probes.py").write_text(_program(config, inside=False))
            command = ordinary_user.command("AIDE_KEY=CANARY", str(ordinary_user.python), str(work / "probes.py"))
            done = subprocess.run(command, cwd=work, text=True, capture_output=True, timeout=120, check=False)
            verdicts = _verdicts(done.stdout)
            reached = {name for name, (contained, _) in verdicts.items() if contained is False}
            assert REACHED_OUTSIDE - reached == set(), {n: verdicts.get(n) for n in REACHED_OUTSIDE - reached}
            assert set(canaries.reached) >= {"tcp", "path", "abstract", "other kernel"}
            assert "#aide-probe" in canaries.files["train"].read_text()
    finally:
        for name in ("aide_evil.pth", "sitecustomize.py"):
            (site / name).unlink(missing_ok=True)
        bashrc.write_bytes(before)
