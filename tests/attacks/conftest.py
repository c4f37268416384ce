"""What every attack needs: somewhere to run, and a way to run it as the server's user and as an ordinary one."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import psutil
import pytest


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


HERE = Path(__file__).parent
driver = _load("aide_attack_driver", HERE / "driver.py")

Attack = Callable[..., SimpleNamespace]


def _namespace(result: dict[str, Any]) -> SimpleNamespace:
    beside = result.pop("beside")
    return SimpleNamespace(**result, beside=beside and SimpleNamespace(**beside))


@pytest.fixture
def attack(run_folder: Path) -> Attack:
    """Run a program as the user who runs the tests, and leave the host as it was."""

    def run(program: str, **request: Any) -> SimpleNamespace:
        before = {child.pid for child in psutil.Process().children(recursive=True)}
        result = driver.execute({"folder": str(run_folder), "program": program, **request})
        left = {child.pid for child in psutil.Process().children(recursive=True)} - before
        assert result["survivors"] == 0
        assert not [pid for pid in left if "ipykernel" in _command(pid)]
        return _namespace(result)

    return run


def _command(pid: int) -> str:
    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ""


@pytest.fixture(params=["server", "ordinary"])
def attack_as(request: pytest.FixtureRequest, run_folder: Path) -> Attack:
    """As ``attack``, once as the user who runs the tests and once as an ordinary user."""
    if request.param == "server":
        found: Attack = request.getfixturevalue("attack")
        return found
    user = request.getfixturevalue("ordinary_user")

    def run(program: str, **options: Any) -> SimpleNamespace:
        folder = tempfile.mkdtemp(prefix="a", dir=user.home)
        Path(folder).chmod(0o777)
        text = (HERE / "driver.py").read_text()
        done = user.run(text, json.dumps({"folder": folder, "program": program, **options}), timeout=200)
        assert done.returncode == 0, done.stderr
        return _namespace(json.loads(done.stdout.splitlines()[-1]))

    return run
