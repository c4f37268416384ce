"""A run of another process is shown from its journal, steered through its owner, and not written by two."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aide_jupyter.opening import new_run
from aide_jupyter.options import request_from_options
from aide_jupyter.preparing import Opening
from aide_jupyter.run import Run

from .conftest import Client
from .fakes import Stage
from .test_control import control
from .test_live import A, head, locked, until
from .test_reviews import records


@asynccontextmanager
async def elsewhere(root: Path, mode: str, steps: int = 2) -> AsyncIterator[Run]:
    """A run that this server knows nothing of but its folder, its lock and its socket, as of a terminal."""
    options = {"data": root / "data", "goal": "Of a terminal.", "steps": steps, "preview": "off", "review": mode}
    request = request_from_options({**options, "out": root / "aide-runs", "policy": "aide", "drafts": 2})
    async with new_run(request, Opening(can_ask=True)) as run:
        task = asyncio.create_task(run.go())
        yield run
        run.engine.stop("the test ends")
        run.engine.kill()
        await task


async def test_it_is_listed_and_shown_while_it_goes_on(client: Client, stage: Stage, root: Path) -> None:
    stage.hold.clear()
    async with elsewhere(root, "auto") as run:
        name = run.entry.run
        state = await client.until(name, lambda state: stage.running == 1)
        assert (state["phase"], state["owner"]) == ("running", "elsewhere")
        assert "branch" not in state["actions"]
        page = await client.live(name, A)
        stage.hold.set()
        await page.hear("head", lambda message: message["phase"] == "closed")
        after = await client.get("runs", name, "state", after=state["seq"])
        assert after["partial"]
    row = (await client.get("runs"))["runs"][0]
    assert (row["phase"], row["owner"], row["title"]) == ("closed", "nobody", "Of a terminal.")


async def test_it_is_steered_through_its_owner_as_the_person_who_asks(client: Client, stage: Stage, root: Path) -> None:
    stage.hold.clear()
    async with elsewhere(root, "auto", steps=5) as run:
        name = run.entry.run
        await client.until(name, lambda state: stage.running == 1)
        assert (await control(client, name, "pause"))["phase"] == "paused"
        assert (await control(client, name, "hint", text="words")).status == 200
        assert (await control(client, name, "mode", mode="every")).status == 200
        for verb, more in (("propose", {"code": "print(1)"}), ("branch", {"candidate": "c0001"})):
            refused = await control(client, name, verb, **more)
            assert (refused.status, "another process" in refused["message"]) == (400, True)
        assert (await control(client, name, "resume")).status == 200
        assert (await control(client, name, "stop-now")).status == 200
        await client.closed(name)
    by = {one.actor.name for kind in ("paused", "resumed", "changed") for one in records(root, kind)}
    assert len(by) >= 1
    assert all(name.startswith("Anonymous ") for name in by)


async def test_what_waits_there_is_answered_there(client: Client, stage: Stage, root: Path) -> None:
    async with elsewhere(root, "every") as run:
        name = run.entry.run
        await client.until(name, lambda state: state["waiting"] == ["c0001"])
        found = await client.get("runs", name, "reviews")
        assert found["questions"] == []
        assert "in the terminal" in found["elsewhere"]
        question = run.engine.parts.reviews.waiting()[0]
        asked = {
            "candidate": "c0001",
            "nonce": question.nonce,
            "code": {"sha256": question.code},
            "data": question.data,
            "purposes": list(question.purposes),
        }
        assert (await client.decide(name, asked, "approve")).status == 409


async def test_its_open_notebook_is_written_by_the_page_and_by_its_owner_afterwards(
    client: Client, stage: Stage, root: Path
) -> None:
    async with elsewhere(root, "every", steps=1) as run:
        name = run.entry.run
        await client.until(name, lambda state: state["waiting"] == ["c0001"])
        notebook = run.notebook
        await until(lambda: head(notebook) >= 4)
        page = await client.live(name, A)
        await page.say("open", path=notebook.relative_to(root).as_posix())
        assert (await page.hear("lease"))["state"] == "granted"
        before = notebook.read_bytes()
        assert locked(notebook)
        question = run.engine.parts.reviews.waiting()[0]
        run.engine.parts.reviews.decide("c0001", question.nonce, question.code, "approve", run.actor)
        state = await client.closed(name)
        await asyncio.sleep(2.2)
        assert notebook.read_bytes() == before
        await page.say("close")
        await until(lambda: head(notebook) == state["seq"])
    assert (await client.get("runs", name, "verify"))["verdict"] == "intact"


async def test_one_that_left_is_resumed_here(client: Client, stage: Stage, root: Path) -> None:
    stage.hold.clear()
    async with elsewhere(root, "auto", steps=2) as run:
        name = run.entry.run
        await client.until(name, lambda state: stage.running == 1)
        run.engine.leave("the terminal ends it", run.actor)
        run.engine.kill()
        await client.until(name, lambda state: state["nodes"][0]["failed"])
        run.engine.journal.close()
    stage.hold.set()
    state = await client.get("runs", name, "state")
    assert (state["phase"], state["owner"]) == ("paused", "nobody")
    assert (await control(client, name, "resume")).status == 200
    assert len((await client.closed(name))["nodes"]) == 2
