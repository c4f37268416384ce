"""Fixtures for tests against the real jail: run folders outside any home, and an ordinary user to run as."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]

PRELUDE = """
import asyncio, contextlib, json, os, shutil, sys, tempfile, time
from pathlib import Path
from jupyter_client.asynchronous.client import AsyncKernelClient
from aide_jupyter.errors import Refused
from aide_jupyter.records import Limits
from aide_jupyter.sandbox.jail import JailSpec, launch

def folders(parent=None):
    base = Path(tempfile.mkdtemp(prefix="aide-t-", dir=parent))
    base.chmod(0o755)
    for name in ("w", "s", "d"):
        (base / name).mkdir()
    (base / "w/working").mkdir()
    (base / "w/input").symlink_to(base / "d")
    (base / "d/train.csv").write_text("a,b\\n1,2\\n")
    (base / "journal.jsonl").write_text("{}")
    return base

def spec(base, **options):
    return JailSpec(workspace=base / "w", sockets=base / "s", readable=(base / "d",), **options)

class Kernel:
    def __init__(self, jail):
        self.jail, self.client = jail, AsyncKernelClient()
        self.client.load_connection_info(jail.connection)
        self.client.start_channels()

    async def ask(self, code, timeout=60):
        texts = []
        def note(message):
            content = message["content"]
            texts.append(content.get("text") or chr(10).join(content.get("traceback", [])))
        await self.client.execute_interactive(code, timeout=timeout, allow_stdin=False, output_hook=note)
        return "".join(texts).strip()

@contextlib.asynccontextmanager
async def kernel(parent=None, **options):
    base = folders(parent)
    jail = await launch(spec(base, **options))
    one = Kernel(jail)
    try:
        await one.client.wait_for_ready(timeout=60)
        yield one
    finally:
        one.client.stop_channels()
        await jail.kill()
        shutil.rmtree(base, ignore_errors=True)

async def until(holds, seconds=20):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to be"
        await asyncio.sleep(0.01)
"""
EPILOGUE = """
try:
    print(json.dumps({"value": asyncio.run(main())}))
except Refused as error:
    print(json.dumps({"refused": str(error)}))
    sys.exit(97)
"""


@pytest.fixture(autouse=True)
def _needs_firejail(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("sandbox") and not shutil.which("firejail"):
        pytest.skip("firejail is not installed")
    if request.node.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def run_folder() -> Iterator[Path]:
    """A folder with a short path, as a run's folder is; the kernel's sockets fit below it."""
    folder = Path(tempfile.mkdtemp(prefix="aide-t-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class OrdinaryUser:
    """A throw-away account with a virtual environment that has this package and all that it needs."""

    name: str
    uid: int
    gid: int
    home: Path
    python: Path

    def command(self, *argv: str) -> list[str]:
        """``argv`` as a command that root runs as this user, with an environment of the user's own."""
        drop = ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups", "--inh-caps=-all"]
        env = ["env", "-i", f"HOME={self.home}", f"USER={self.name}", f"LOGNAME={self.name}", "LANG=C.UTF-8"]
        return [*drop, *env, "PATH=/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1", *argv]

    def run(self, code: str, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run Python code as this user, in its home, with warnings as errors in our own code."""
        argv = self.command(str(self.python), "-c", code, *arguments)
        return subprocess.run(argv, cwd=self.home, text=True, capture_output=True, timeout=timeout, check=False)


def _venv(user: pwd.struct_passwd) -> Path:
    """A virtual environment of the system's Python, which needs to be the version that runs the tests."""
    home = Path(user.pw_dir)
    python = home / "venv/bin/python"
    system = "/usr/bin/python3"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = subprocess.run(
        [system, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], text=True, capture_output=True, check=False
    ).stdout.strip()
    if found != version:
        pytest.skip(f"{system} is Python {found or 'missing'} and the tests run on {version}")
    subprocess.run([system, "-m", "venv", "--without-pip", "--symlinks", home / "venv"], check=True)
    packages = Path(sysconfig.get_paths()["purelib"])
    site = home / f"venv/lib/python{version}/site-packages"
    reachable = subprocess.run(
        [
            "setpriv",
            f"--reuid={user.pw_uid}",
            "--clear-groups",
            f"--regid={user.pw_gid}",
            "test",
            "-r",
            packages / "zmq",
        ],
        check=False,
    )
    if reachable.returncode == 0:
        (site / "project.pth").write_text(f"{packages}\n{REPOSITORY}\n")
    else:
        subprocess.run(["cp", "-a", "--reflink=auto", f"{packages}/.", site], check=True)
        subprocess.run(["cp", "-a", REPOSITORY / "aide_jupyter", site], check=True)
    subprocess.run(["chown", "-R", f"{user.pw_uid}:{user.pw_gid}", home], check=True)
    return python


@pytest.fixture(scope="session")
def ordinary_user() -> Iterator[OrdinaryUser]:
    """An account made for these tests by root, and removed after them."""
    if os.geteuid() != 0 or not shutil.which("useradd"):
        pytest.skip("needs root and useradd to make an ordinary user")
    name = f"aidetest{os.getpid() % 100000}"
    home = Path(tempfile.mkdtemp(prefix="u", dir="/home")) / name
    home.parent.chmod(0o755)
    subprocess.run(["useradd", "--create-home", "--home-dir", home, "--shell", "/usr/sbin/nologin", name], check=True)
    try:
        user = pwd.getpwnam(name)
        yield OrdinaryUser(name, user.pw_uid, user.pw_gid, home, _venv(user))
    finally:
        subprocess.run(["userdel", "--force", name], check=False, capture_output=True)
        shutil.rmtree(home.parent, ignore_errors=True)


@dataclass(frozen=True)
class Server:
    """Who launches jails in a test: root, or an ordinary user. Each test body is a process of its own."""

    root: bool
    python: list[str]
    home: Path

    def command(self, body: str, *wrapper: str) -> list[str]:
        """The command that runs ``body``, an ``async def main()``, with the words of ``PRELUDE`` at hand."""
        program = [*wrapper, self.python[-1], "-c", PRELUDE + body + EPILOGUE]
        return [*self.python[:-1], *program]

    def run(self, body: str, *wrapper: str, timeout: float = 120) -> Any:
        """What ``main()`` returned, or ``{"refused": message}`` for an exit status of 97."""
        process = subprocess.run(
            self.command(body, *wrapper), cwd=self.home, text=True, capture_output=True, timeout=timeout, check=False
        )
        lines = process.stdout.splitlines()
        if process.returncode not in (0, 97) or not lines:
            pytest.fail(f"exit status {process.returncode}\n{process.stdout[-3000:]}\n{process.stderr[-6000:]}")
        answer = json.loads(lines[-1])
        assert ("refused" in answer) == (process.returncode == 97)
        return answer if "refused" in answer else answer["value"]


@pytest.fixture(params=["root", "user"])
def server(request: pytest.FixtureRequest) -> Server:
    """Root where the tests run as root, and an ordinary user in any case."""
    if request.param == "root":
        if os.geteuid() != 0:
            pytest.skip("needs root")
        return Server(True, [sys.executable], REPOSITORY)
    if os.geteuid() != 0:
        return Server(False, [sys.executable], REPOSITORY)
    user: OrdinaryUser = request.getfixturevalue("ordinary_user")
    return Server(False, user.command(str(user.python)), user.home)


@pytest.fixture
def user_folder(ordinary_user: OrdinaryUser) -> Iterator[Callable[[str], Path]]:
    """Makes folders that belong to the ordinary user, in its home."""
    made: list[Path] = []

    def make(name: str) -> Path:
        folder = Path(tempfile.mkdtemp(prefix=name, dir=ordinary_user.home))
        os.chown(folder, ordinary_user.uid, ordinary_user.gid)
        made.append(folder)
        return folder

    yield make
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)
