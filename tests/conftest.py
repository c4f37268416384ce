"""For all tests: nothing asks the network; folders with short paths; an ordinary user to run as."""

from __future__ import annotations

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

import pytest

# litellm asks for its price map over the network when it is imported, unless this is set before.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

REPOSITORY = Path(__file__).parents[1]


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
