"""What a page hears while a run is at work: running output, where it is, and who writes the notebook."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from pathlib import Path
from typing import Any, ClassVar

import pytest

from aide_jupyter.home import data_home
from aide_jupyter.server import notebooks
from aide_jupyter.server.output import KEPT, Outputs

from .conftest import Client
from .fakes import Stage
from .test_control import control, leave

A, B = "tab-aaaa", "tab-bbbb"


def service(jp_serverapp: Any) -> Any:
    return jp_serverapp.web_app.settings["aide_jupyter_runs"]


def head(notebook: Path) -> int:
    return int(json.loads(notebook.read_text())["metadata"]["aide"]["head"]["seq"])


async def until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.02)


def locked(notebook: Path) -> bool:
    fd = os.open(notebook.with_name("notebook.lock"), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


async def test_running_output_reaches_a_page_also_one_that_comes_later(client: Client, stage: Stage) -> None:
    stage.hold.clear()
    stage.prints = "epoch 1\r\nepoch \u202e2\n\x1b[31mred\x1b[0m"
    run = await client.start(review="auto", steps=1)
    await client.until(run, lambda state: stage.running == 1)
    page = await client.live(run, A)
    message = await page.hear("output")
    assert message["candidate"] == "c0001"
    assert message["text"] == "epoch 1\r\nepoch \\u202e2\nred"
    assert (message["offset"], message["end"]) == (0, len(stage.prints))
    stage.hold.set()
    last = await page.hear("head", lambda message: message["phase"] == "closed")
    assert last["seq"] == (await client.get("runs", run, "state"))["seq"]
    page.close()


async def test_a_page_hears_that_a_run_is_prepared_begins_and_fails(client: Client, stage: Stage) -> None:
    stage.prepare.clear()
    run = (await client.post("runs", data="data", goal="g", preview="off", review="every"))["run"]
    page = await client.live(run, A)
    assert await page.hear("head") == {"type": "head", "seq": -1, "phase": "preparing"}
    stage.prepare.set()
    await page.hear("head", lambda message: message["phase"] == "waiting")
    page.close()


async def test_the_event_bus_says_which_run_and_record_and_nothing_else(
    client: Client, stage: Stage, jp_serverapp: Any
) -> None:
    heard = []

    async def listen(logger: Any, schema_id: str, data: dict[str, Any]) -> None:
        heard.append({name: value for name, value in data.items() if not name.startswith("__")})

    jp_serverapp.event_logger.add_listener(schema_id="https://events.jupyter.org/aide_jupyter/run/v1", listener=listen)
    run = await client.start(review="auto", steps=1)
    state = await client.closed(run)
    await until(lambda: any(one["seq"] == state["seq"] for one in heard))
    assert all(one.keys() == {"run", "seq"} and one["run"] == run for one in heard)


@pytest.mark.parametrize("text", ["x", "{}", '{"type": "take", "more": 1}', '{"type": "approve"}', "[" * 20000])
async def test_what_is_no_message_ends_the_socket(client: Client, stage: Stage, text: str) -> None:
    run = await client.start(review="every", steps=1)
    page = await client.live(run, A)
    await page.socket.write_message(text)
    async with asyncio.timeout(10):
        while await page.socket.read_message() is not None:
            pass


# Who writes the notebook.


async def test_without_a_page_the_server_writes_and_with_one_the_page(client: Client, stage: Stage, root: Path) -> None:
    run = await client.start(review="every", steps=3)
    question = await client.question(run)
    notebook = root / (await client.get("runs", run, "state"))["notebook"]
    await until(lambda: head(notebook) >= 4)
    page = await client.live(run, A)
    await page.say("open", path=notebook.relative_to(root).as_posix())
    granted = await page.hear("lease")
    assert (granted["state"], granted["epoch"], granted["reconcile"]) == ("granted", 1, True)
    assert locked(notebook)
    before = notebook.read_bytes()
    await client.decide(run, question, "approve")
    await client.question(run)
    await asyncio.sleep(2.5)
    assert notebook.read_bytes() == before

    cells = await client.get("runs", run, "cells", after=head(notebook))
    assert [cell["id"].split("-", 1)[1] for cell in cells["cells"]] == [
        "head", "c0001-plan", "c0001-code", "c0002-plan", "c0002-code",
    ]  # fmt: skip
    seq, digest = cells["head"]["seq"], cells["head"]["hash"]
    await page.say("written", seq=seq, hash=digest, epoch=1)
    await page.say("close")
    await until(lambda: not locked(notebook))
    await until(lambda: head(notebook) >= seq)
    page.close()


async def test_a_run_ends_well_while_a_page_has_the_notebook_and_the_file_follows(
    client: Client, stage: Stage, root: Path, jp_serverapp: Any
) -> None:
    run = await client.start(review="every", steps=1)
    question = await client.question(run)
    path = (await client.get("runs", run, "state"))["notebook"]
    page = await client.live(run, A)
    await page.say("open", path=path)
    await page.hear("lease")
    await client.decide(run, question, "approve")
    state = await client.closed(run)
    await until(lambda: service(jp_serverapp).live(run) is None)
    assert (await client.get("runs", run, "state"))["problems"] == []
    assert head(root / path) < state["seq"]
    await page.say("close")
    await until(lambda: head(root / path) == state["seq"])
    assert (await client.get("runs", run, "verify"))["verdict"] == "intact"
    page.close()


async def test_that_a_page_writes_the_notebook_in_place_of_the_owner_is_no_problem(
    client: Client, stage: Stage, jp_serverapp: Any
) -> None:
    run = await client.start(review="every", steps=1)
    path = (await client.get("runs", run, "state"))["notebook"]
    page = await client.live(run, A)
    await page.say("open", path=path)
    await page.hear("lease")
    writer = service(jp_serverapp).live(run).run.writer
    writer.problem = "another process is writing it"  # As where a write had begun when the page came.
    assert (await client.get("runs", run, "state"))["problems"] == []
    assert (await client.get("runs"))["runs"][0]["problem"] == ""
    await page.say("close")
    await until(lambda: not writer.problem)
    writer.problem = "another process is writing it"
    assert "another process" in (await client.get("runs", run, "state"))["problems"][0]
    page.close()


async def test_a_second_tab_shows_and_can_go_on(client: Client, stage: Stage) -> None:
    run = await client.start(review="every", steps=1)
    path = (await client.get("runs", run, "state"))["notebook"]
    first, second = await client.live(run, A), await client.live(run, B)
    await first.say("open", path=path)
    await first.hear("lease")
    await second.say("open", path=path)
    held = await second.hear("lease")
    assert (held["state"], held["words"]) == ("held", "Live in another window")
    await second.say("take")
    assert (await first.hear("lease"))["state"] == "revoked"
    granted = await second.hear("lease")
    assert (granted["state"], granted["epoch"], granted["reconcile"]) == ("granted", 2, True)
    await first.say("written", seq=1, hash="0" * 64, epoch=1)
    assert (await first.hear("lease"))["state"] == "revoked"
    for page in (first, second):
        page.close()


async def test_a_lost_socket_keeps_the_lease_and_its_tab_goes_on(
    client: Client, stage: Stage, root: Path, jp_serverapp: Any
) -> None:
    run = await client.start(review="every", steps=1)
    path = (await client.get("runs", run, "state"))["notebook"]
    page = await client.live(run, A)
    await page.say("open", path=path)
    await page.hear("lease")
    seq = head(root / path)
    await page.say("written", seq=seq, hash="0" * 64, epoch=1)
    page.close()
    desk = service(jp_serverapp).notebooks._desks[run]
    await until(lambda: desk.lease.lapses_in is not None)
    assert locked(root / path)
    again = await client.live(run, A)
    await again.say("open", path=path)
    granted = await again.hear("lease")
    assert (granted["state"], granted["epoch"], granted["reconcile"]) == ("granted", 1, False)
    again.close()


async def test_after_ten_minutes_the_owner_writes_again(
    client: Client, stage: Stage, root: Path, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aide_jupyter.server.lease.LOST_SECONDS", 0.2)
    run = await client.start(review="every", steps=1)
    path = (await client.get("runs", run, "state"))["notebook"]
    page = await client.live(run, A)
    await page.say("open", path=path)
    await page.hear("lease")
    await control(client, run, "hint", text="x")
    seq = (await client.get("runs", run, "state"))["seq"]
    page.close()
    await until(lambda: head(root / path) >= seq)
    await until(lambda: not locked(root / path))


async def test_after_a_start_of_the_server_nobody_writes_what_was_leased_until_a_minute_has_passed(
    client: Client, stage: Stage, root: Path, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await client.start(review="every", steps=1)
    await client.question(run)
    path = (await client.get("runs", run, "state"))["notebook"]
    page = await client.live(run, A)
    await page.say("open", path=path)
    await page.hear("lease")
    app = jp_serverapp.extension_manager.extension_points["aide_jupyter"].app
    await app.stop_extension()
    assert (data_home() / "leases" / f"{run}.json").exists()
    assert not locked(root / path)

    app.runs = jp_serverapp.web_app.settings["aide_jupyter_runs"] = app.make_runs()
    await app.runs.notebooks.start()
    assert locked(root / path)
    other = await client.live(run, B)
    await other.say("open", path=path)
    assert (await other.hear("lease"))["state"] == "held"
    back = await client.live(run, A)
    await back.say("open", path=path)
    granted = await back.hear("lease")
    assert (granted["state"], granted["epoch"], granted["reconcile"]) == ("granted", 1, True)
    for one in (other, back):
        one.close()


async def test_a_renamed_notebook_is_followed(client: Client, stage: Stage, root: Path, jp_fetch: Any) -> None:
    run = await client.start(review="every", steps=2)
    question = await client.question(run)
    path = (await client.get("runs", run, "state"))["notebook"]
    await until(lambda: head(root / path) >= 4)
    await jp_fetch("api", "contents", path, method="PATCH", body=json.dumps({"path": "moved.ipynb"}))
    await client.until(run, lambda state: state["notebook"] == "moved.ipynb")
    await client.decide(run, question, "approve")
    await client.question(run)
    seq = (await client.get("runs", run, "state"))["seq"]
    await until(lambda: head(root / "moved.ipynb") >= seq)
    assert not (root / path).exists()
    page = await client.live(run, A)
    await page.say("open", path="moved.ipynb")
    assert (await page.hear("lease"))["state"] == "granted"
    page.close()


async def test_a_notebook_that_was_moved_by_other_means_is_found_when_it_is_opened(
    client: Client, stage: Stage, root: Path
) -> None:
    run = await client.start(review="auto", steps=1)
    await client.closed(run)
    path = (await client.get("runs", run, "state"))["notebook"]
    (root / path).rename(root / "elsewhere.ipynb")
    page = await client.live(run, A)
    await page.say("open", path="elsewhere.ipynb")
    assert (await page.hear("lease"))["state"] == "granted"
    assert (await client.get("runs", run, "state"))["notebook"] == "elsewhere.ipynb"
    page.close()


async def test_a_copy_and_another_file_are_refused(client: Client, stage: Stage, root: Path) -> None:
    run = await client.start(review="auto", steps=1)
    await client.closed(run)
    path = (await client.get("runs", run, "state"))["notebook"]
    await until(lambda: (root / path).exists())
    (root / "copy.ipynb").write_bytes((root / path).read_bytes())
    page = await client.live(run, A)
    for named, words in (("copy.ipynb", "is a copy"), ("data/train.csv", "not the notebook"), ("../x", "not a path")):
        await page.say("open", path=named)
        refused = await page.hear("lease")
        assert refused["state"] == "refused"
        assert words in refused["words"]
    assert not locked(root / path)
    page.close()


async def test_while_another_program_writes_the_file_a_page_waits_for_it(
    client: Client, stage: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebooks, "_LOCK_SECONDS", 0.1)
    monkeypatch.setattr(notebooks, "ROOM_SECONDS", 0.1)
    run = await client.start(review="every", steps=1)
    path = (await client.get("runs", run, "state"))["notebook"]
    fd = os.open((root / path).with_name("notebook.lock"), os.O_RDWR | os.O_CREAT)
    await until(lambda: not locked(root / path))
    fcntl.flock(fd, fcntl.LOCK_EX)
    page = await client.live(run, A)
    await page.say("open", path=path)
    held = await page.hear("lease")
    assert (held["state"], held["words"]) == ("held", "Another program is writing this notebook")
    os.close(fd)
    assert (await page.hear("lease"))["state"] == "granted"
    page.close()


async def test_while_a_collaboration_room_exists_the_owner_does_not_write(
    client: Client, stage: Stage, root: Path, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebooks, "ROOM_SECONDS", 0.1)

    class Server:
        rooms: ClassVar[dict[str, object]] = {"json:notebook:id-1": object()}

    class Ydoc:
        ywebsocket_server = Server()

    class Ids:
        path = ""

        def get_id(self, path: str) -> str | None:
            return "id-1" if path == self.path else None

    run = await client.start(review="every", steps=1)
    await client.question(run)
    path = (await client.get("runs", run, "state"))["notebook"]
    await until(lambda: head(root / path) >= 4)
    Ids.path = path
    settings = jp_serverapp.web_app.settings
    settings["jupyter_server_ydoc"], settings["file_id_manager"] = Ydoc(), Ids()
    before = (root / path).read_bytes()
    await control(client, run, "hint", text="x")
    await asyncio.sleep(2.5)
    assert (root / path).read_bytes() == before
    page = await client.live(run, A)
    await page.say("open", path=path)
    assert (await page.hear("lease"))["state"] == "granted"
    await page.say("close")
    await asyncio.sleep(0.5)
    assert locked(root / path)
    Server.rooms.clear()
    await until(lambda: (root / path).read_bytes() != before)
    page.close()
    await leave(client, run)


# The buffer of running output.


def test_a_page_that_is_too_slow_skips_and_memory_stays_bounded() -> None:
    outputs, seen = Outputs(), {}
    for number in range(100):
        outputs.add("c0001", number * 10_000, "x" * 10_000)
    messages = outputs.since(seen)
    assert messages[0].offset == 1_000_000 - KEPT
    assert messages[-1].end == 1_000_000
    assert [one.end for one in messages[:-1]] == [one.offset for one in messages[1:]]
    assert outputs.since(seen) == []
    outputs.add("c0001", 1_000_000, "y")
    (more,) = outputs.since(seen)
    assert (more.offset, more.text) == (1_000_000, "y")
    assert sum(len(tail.text) for tail in outputs._tails.values()) <= 2 * KEPT


def test_a_second_execution_begins_at_its_beginning() -> None:
    outputs, seen = Outputs(), {}
    outputs.add("c0001", 0, "first")
    outputs.since(seen)
    outputs.end("c0001")
    outputs.add("c0001", 0, "second")
    assert [one.text for one in outputs.since(seen)] == ["second"]


def test_lone_surrogates_can_be_sent() -> None:
    outputs = Outputs()
    outputs.add("c0001", 0, "a\ud800b")
    (message,) = outputs.since({})
    assert message.model_dump_json().encode()
