"""The installed command, as a person runs it: real jails, a scripted model, a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).parents[2].parent / "shared"
COMMAND = [sys.executable, "-m", "aide_jupyter"]
QUICK = {
    "01.py": "# Guess the mean.\nprint('Validation metric: 0.5')\n",
    "02.py": "# Fail.\nraise ValueError('no luck')\n",
    "03.py": "# Guess the median.\nprint('Validation metric: 0.4')\n",
    "04.py": "# Guess better.\nprint('Validation metric:', 0.3)\n",
}


@dataclass
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out.splitlines()[-1])  # type: ignore[no-any-return]


class Aide:
    """Runs the command in a folder, with Jupyter's own folders below it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.started: list[subprocess.Popen[str]] = []
        self.env = {
            **os.environ,
            "JUPYTER_DATA_DIR": str(home / "jupyter-data"),
            "JUPYTER_RUNTIME_DIR": str(home / "jupyter-runtime"),
            "JUPYTER_CONFIG_DIR": str(home / "jupyter-config"),
            "PYTHONWARNINGS": "default",
        }

    def __call__(self, *arguments: str, timeout: float = 240, **env: str) -> Done:
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.home,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.home,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    @property
    def run(self) -> Path:
        """The one run's folder."""
        (folder,) = (self.home / "aide-runs").iterdir()
        return folder

    def records(self) -> list[dict[str, Any]]:
        lines = (self.run / "journal.jsonl").read_bytes().split(b"\n")[:-1]
        return [json.loads(line) for line in lines]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [one["data"] for one in self.records() if one["kind"] == kind]


@pytest.fixture
def aide(tmp_path: Path) -> Iterator[Aide]:
    aide = Aide(tmp_path)
    yield aide
    for process in aide.started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    rows = "".join(f"{n},{n * 2 % 7},{n / 3:.3f}\n" for n in range(40))
    (folder / "train.csv").write_text(f"id,a,price\n{rows}")
    (folder / "test.csv").write_text("id,a\n100,3\n")
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts a scripted model server and returns its base URL; programs by name, faults as ``kind:every``."""
    servers = []

    def start(*faults: str, programs: dict[str, str] | Path = QUICK, **options: str) -> str:
        folder = programs
        if isinstance(programs, dict):
            folder = tmp_path / f"programs{len(servers)}"
            folder.mkdir()
            for name, code in programs.items():
                (folder / name).write_text(code)
        arguments = [f"--{name}={value}" for name, value in options.items()]
        arguments += [part for fault in faults for part in ("--fault", fault)]
        server = subprocess.Popen(
            [sys.executable, str(SHARED / "bench" / "llm_server.py"), "--programs", str(folder), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        servers.append(server)
        assert server.stdout is not None
        return server.stdout.readline().strip()

    yield start
    for server in servers:
        server.kill()
        server.communicate()
