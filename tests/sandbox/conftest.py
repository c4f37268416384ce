"""Programs for tests against the real jail, each run as root or as an ordinary user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]

PRELUDE = """
import asyncio, atexit, contextlib, json, os, shutil, sys, tempfile, time
from pathlib import Path
from jupyter_client.asynchronous.client import AsyncKernelClient
from aide_jupyter.errors import Refused
from aide_jupyter.records import Limits
from aide_jupyter.sandbox.jail import JailSpec, launch

def scratch(parent=None):
    folder = Path(tempfile.mkdtemp(prefix="aide-t-", dir=parent))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder

def folders(parent=None):
    base = scratch(parent)
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
    user = request.getfixturevalue("ordinary_user")
    return Server(False, user.command(str(user.python)), user.home)
