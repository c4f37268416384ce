"""A run is steered over REST, by whoever may, and lives on when nobody looks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from aide_jupyter.errors import Refused
from aide_jupyter.owner import is_owned

from .conftest import Client
from .fakes import Stage
from .test_reviews import records


async def control(client: Client, run: str, verb: str, **more: Any) -> Any:
    return await client.post("runs", run, "control", verb=verb, **more)


async def test_a_run_that_is_prepared_says_so_and_can_be_given_up(client: Client, stage: Stage, root: Path) -> None:
    stage.prepare.clear()
    answer = await client.post("runs", data="data", goal="g", preview="off")
    run = answer["run"]
    state = await client.until(run, lambda state: "contained" in state["phase_words"])
    assert (state["phase"], state["actions"], state["seq"]) == ("preparing", ["stop"], -1)
    assert (await client.get("runs"))["runs"][0]["phase"] == "preparing"
    stopped = await control(client, run, "stop")
    assert stopped.status == 200
    assert (await client.get("runs"))["runs"] == []
    assert list(root.glob("aide-runs/*")) == []


async def test_a_run_that_cannot_begin_says_why(client: Client, stage: Stage) -> None:
    stage.refuse = Refused("No jail could be proven.", "Install firejail.")
    run = await client.start()
    state = await client.get("runs", run, "state")
    assert state["phase"] == "failed"
    assert "No jail could be proven" in state["phase_words"]
    assert "Install firejail" in state["problems"][0]
    assert (await client.get("runs"))["runs"][0]["phase"] == "failed"


async def test_pause_starts_nothing_new_and_resume_goes_on(client: Client, stage: Stage, root: Path) -> None:
    stage.hold.clear()
    run = await client.start(review="auto", steps=2)
    await client.until(run, lambda state: stage.running == 1)
    paused = await control(client, run, "pause")
    assert paused["phase"] == "paused"
    stage.hold.set()
    state = await client.until(run, lambda state: state["nodes"][0]["standing"] == "good")
    assert (state["phase"], state["candidates"], "resume" in state["actions"]) == ("paused", 1, True)
    assert (await control(client, run, "resume"))["phase"] == "running"
    await client.closed(run)
    assert [one.actor.kind for one in (*records(root, "paused"), *records(root, "resumed"))] == ["user", "user"]


async def test_stop_rejects_what_waits_and_closes(client: Client, stage: Stage, root: Path) -> None:
    run = await client.start(review="every", steps=5)
    await client.question(run)
    await control(client, run, "stop")
    state = await client.closed(run)
    assert "asked for it" in state["closed_why"]
    assert [(one.data["decision"], one.actor.kind) for one in records(root, "decided")] == [("reject", "system")]
    again = await control(client, run, "pause")
    assert again.status == 400


async def test_stop_now_kills_what_runs(client: Client, stage: Stage, root: Path) -> None:
    stage.hold.clear()
    run = await client.start(review="auto", steps=5)
    await client.until(run, lambda state: stage.running == 1)
    await control(client, run, "stop-now")
    state = await client.closed(run)
    assert state["nodes"][0]["status_words"] == "stopped"


async def test_a_hint_is_told_to_the_author_and_recorded_as_the_persons(
    client: Client, stage: Stage, root: Path
) -> None:
    run = await client.start(review="every", steps=2)
    question = await client.question(run)
    assert (await control(client, run, "hint", text="Try boosting <i>")).status == 200
    await client.decide(run, question, "approve")
    await client.question(run)
    assert "Try boosting" in stage.prompts[-1]
    assert (await client.get("runs", run, "state"))["hints"] == ["Try boosting <i>"]
    (changed,) = records(root, "changed")
    assert changed.actor.kind == "user"
    assert changed.actor.name.startswith("Anonymous ")


async def test_switching_to_auto_lets_go_what_waits(client: Client, stage: Stage, root: Path) -> None:
    run = await client.start(review="every", steps=2)
    await client.question(run)
    assert (await control(client, run, "mode", mode="auto")).status == 200
    state = await client.closed(run)
    assert state["mode"] == "auto"
    assert [(one.actor.kind) for one in records(root, "decided")] == ["policy", "policy"]


async def test_a_branch_is_the_next_candidate(client: Client, stage: Stage, root: Path) -> None:
    run = await client.start(review="every", steps=4)
    await client.decide(run, await client.question(run), "approve")
    second = await client.question(run)
    branched = await control(client, run, "branch", candidate="c0001", hint="deeper")
    assert (branched.status, branched["candidate"]) == (200, "c0003")
    await client.decide(run, second, "approve")
    third = await client.question(run)
    assert third["candidate"] == "c0003"
    assert third["compared_with"] == "c0001"
    assert third["compared_code"]["exact"] == "print('c0001')\n"
    chosen = records(root, "chosen")[2]
    assert (chosen.actor.kind, chosen.data["parent"], chosen.data["operator"]) == ("user", "c0001", "improve")
    assert "deeper" in stage.prompts[-1]


async def test_a_branch_from_what_did_not_run_is_refused(client: Client, stage: Stage) -> None:
    run = await client.start(review="every", steps=4)
    await client.question(run)
    refused = await control(client, run, "branch", candidate="c0001")
    assert (refused.status, "has not run to its end" in refused["message"]) == (400, True)
    assert (await control(client, run, "branch", candidate="c0999")).status == 400


async def test_a_program_of_ones_own_is_approved_by_the_act_and_runs_next(
    client: Client, stage: Stage, root: Path
) -> None:
    run = await client.start(review="every", steps=2)
    question = await client.question(run)
    own = await control(client, run, "propose", plan="Mine.", code="print('own')\n")
    assert (own.status, own["candidate"]) == (200, "c0002")
    await client.decide(run, question, "approve")
    state = await client.closed(run)
    assert "print('own')\n" in stage.ran
    node = state["nodes"][1]
    assert (node["by_person"], node["plan_line"], node["standing"]) == (True, "Mine.", "good")
    details = await client.get("runs", run, "candidates", "c0002")
    assert details["provenance"]["decided_by_kind"] == "user"
    assert details["provenance"]["chosen_by"].startswith("Anonymous ")
    assert (await client.get("runs", run, "verify"))["verdict"] == "intact"


@pytest.mark.parametrize("code", ["print(", "!ls", "x = 1\x00"])
async def test_a_program_of_ones_own_that_is_no_python_is_refused(client: Client, stage: Stage, code: str) -> None:
    run = await client.start(review="every", steps=2)
    await client.question(run)
    refused = await control(client, run, "propose", code=code)
    assert refused.status == 400
    assert (await client.get("runs", run, "state"))["candidates"] == 1


async def test_no_branch_lifts_the_budget(client: Client, stage: Stage) -> None:
    run = await client.start(review="every", steps=1)
    await client.question(run)
    refused = await control(client, run, "propose", code="print(1)")
    assert (refused.status, "1 steps is used up" in refused["message"]) == (400, True)


async def test_when_the_server_ends_runs_are_left_and_resumed_on_request(
    client: Client, stage: Stage, root: Path, jp_serverapp: Any
) -> None:
    stage.hold.clear()
    run = await client.start(review="auto", steps=2)
    await client.until(run, lambda state: stage.running == 1)
    app = jp_serverapp.extension_manager.extension_points["aide_jupyter"].app
    assert app.current_activity() == 1
    await app.stop_extension()
    assert stage.running == 0
    (folder,) = root.glob("aide-runs/*")
    assert not is_owned(folder)

    app.runs = jp_serverapp.web_app.settings["aide_jupyter_runs"] = app.make_runs()
    row = (await client.get("runs"))["runs"][0]
    assert (row["run"], row["phase"], row["actions"]) == (run, "paused", ["resume", "stop"])
    assert "Jupyter server was stopped" in row["phase_words"]
    stage.hold.set()
    assert (await control(client, run, "resume")).status == 200
    state = await client.closed(run)
    assert [node["standing"] for node in state["nodes"]] == ["failed", "good"]


async def test_a_run_whose_server_was_killed_is_listed_as_interrupted_and_asks_again(
    client: Client, stage: Stage, root: Path, jp_serverapp: Any
) -> None:
    run = await client.start(review="every", steps=1)
    before = await client.question(run)
    app = jp_serverapp.extension_manager.extension_points["aide_jupyter"].app
    live = app.runs.live(run)
    live.run.engine.parts.reviews.leave()
    live.run.engine._leaving = True
    await live.wait()
    row = (await client.get("runs"))["runs"][0]
    assert (row["phase"], row["waiting"]) == ("interrupted", 1)
    assert (await client.get("runs", run, "reviews"))["questions"] == []
    refused = await client.decide(run, before, "approve")
    assert refused.status == 409
    assert (await control(client, run, "hint", text="x")).status == 400
    await control(client, run, "resume")
    await client.until(run, lambda state: state["phase"] == "waiting")
    question = await client.question(run)
    assert question["nonce"] != before["nonce"]
    assert (await client.decide(run, before, "approve")).status == 409
    await client.decide(run, question, "approve")
    await client.closed(run)
    assert len(records(root, "asked")) == 1


async def test_an_interrupted_run_can_be_closed_by_a_person(client: Client, stage: Stage, root: Path) -> None:
    run = await client.start(review="every", steps=1)
    await client.question(run)
    await control(client, run, "pause")
    await leave(client, run)
    assert (await control(client, run, "stop")).status == 200
    state = await client.closed(run)
    assert state["owner"] == "nobody"
    assert records(root, "closed")[0].actor.kind == "user"


async def leave(client: Client, run: str) -> None:
    """Let go of a run, as when its server ends."""
    from jupyter_server.serverapp import ServerApp

    app = ServerApp.instance().extension_manager.extension_points["aide_jupyter"].app
    await app.runs.live(run).leave("a test ends it")


async def test_two_runs_live_side_by_side(client: Client, stage: Stage) -> None:
    first, second = await asyncio.gather(
        client.start(review="every", steps=1), client.start(review="every", steps=1, goal="Another.")
    )
    for run in (first, second):
        await client.decide(run, await client.question(run), "approve")
        await client.closed(run)
    titles = {row["title"] for row in (await client.get("runs"))["runs"]}
    assert titles == {"Predict y.", "Another."}
