"""One run with real jails: what its programs print is seen in a page, and they end when a person says so."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from aide_jupyter import preparing

from . import fakes
from .conftest import Client
from .test_control import control

pytestmark = pytest.mark.sandbox
WAITS = """\
import subprocess, sys, time
print("I wait", flush=True)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
time.sleep(600)
"""


@pytest.fixture
def author(root: Path, monkeypatch: pytest.MonkeyPatch, jp_asyncio_loop: Any) -> fakes.Stage:
    """A model that writes what the test says; the kernels are real."""
    stage = fakes.Stage()
    monkeypatch.setattr(preparing, "Gateway", lambda **parts: fakes.Model(stage, **parts))
    return stage


def sleepers() -> list[int]:
    """Processes of this machine that wait as the program's child does."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if "import time; time.sleep(600)" in (process.info["cmdline"] or []):
            found.append(process.pid)
    return found


async def start(client: Client, **options: Any) -> str:
    asked = {"data": "data", "goal": "g", "metric": "rmse", "target": "y", "preview": "off", "steps": 1}
    answer = await client.post("runs", **{**asked, **options})
    assert answer.status == 201, answer
    return str(answer["run"])


async def test_a_program_that_prints_and_then_waits_is_seen_and_ended(
    client: Client, author: fakes.Stage, root: Path
) -> None:
    author.program = lambda candidate: WAITS
    before = set(sleepers())
    run = await start(client, review="every")
    question = await client.question(run)
    page = await client.live(run, "tab-aaaa")
    await client.decide(run, question, "approve")
    message = await page.hear("output", lambda message: "I wait" in message["text"])
    assert message["candidate"] == "c0001"
    assert (await client.get("runs", run, "state"))["nodes"][0]["standing"] == "running"
    assert (await control(client, run, "stop-now")).status == 200
    state = await client.until(run, lambda state: state["phase"] == "closed", 60)
    assert state["nodes"][0]["status_words"] == "stopped"
    details = await client.get("runs", run, "candidates", "c0001")
    assert "I wait" in details["claimed"]["outputs"][0]["shown"]
    assert set(sleepers()) <= before


async def test_nothing_of_a_run_survives_the_end_of_the_server(
    client: Client, author: fakes.Stage, root: Path, jp_serverapp: Any
) -> None:
    author.program = lambda candidate: WAITS
    before = set(sleepers())
    run = await start(client, review="auto")
    page = await client.live(run, "tab-aaaa")
    question = asyncio.create_task(client.question(run))
    await page.hear("head", lambda message: message["phase"] in ("waiting", "running"))
    await client.decide(run, await question, "approve")
    await page.hear("output", lambda message: "I wait" in message["text"])
    app = jp_serverapp.extension_manager.extension_points["aide_jupyter"].app
    await app.stop_extension()
    assert set(sleepers()) <= before
    (folder,) = root.glob("aide-runs/*")
    kinds = [json.loads(line)["kind"] for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert "finished" in kinds
    assert "paused" in kinds
    assert not os.listdir(folder / "kernels")
