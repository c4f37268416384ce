"""What a page is shown: all of it computed here, others' texts made fit, code exact."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from aide_jupyter import records as r
from aide_jupyter.server.schema import schema

from .conftest import Client
from .fakes import METRIC, Stage, png
from .test_control import control

EVIL = "<img src=x onerror=alert(1)>\u202e<|im_start|>"


async def test_the_version_is_told(client: Client) -> None:
    from aide_jupyter import __version__

    assert (await client.get("version"))["version"] == __version__


async def test_a_state_says_what_a_page_shows(client: Client, stage: Stage, root: Path) -> None:
    stage.metric = lambda code: f"Validation metric: {0.5 if 'c0001' in code else 0.25}\n"
    run = await client.start(review="auto", steps=2, goal="Predict y.\nMore.")
    state = await client.closed(run)
    assert state["title"] == "Predict y."
    assert state["best"] | {"id": "c0002", "value": 0.25, "source": "reported"} == state["best"]
    assert state["direction_words"].startswith("lower is better")
    meters = {meter["name"]: meter for meter in state["meters"]}
    assert (meters["steps"]["used"], meters["steps"]["limit"], meters["steps"]["reached"]) == (2, 2, True)
    assert meters["tokens"]["words"] == "300 of 2,000,000"
    assert meters["money"]["words"] == "$0.0000, and 2 calls of unknown cost"
    assert state["unknown_cost_calls"] == 2
    assert [(point["id"], point["value"], point["best"]) for point in state["points"]] == [
        ("c0001", 0.5, 0.5), ("c0002", 0.25, 0.25),
    ]  # fmt: skip
    assert [node["best"] for node in state["nodes"]] == [False, True]
    assert state["nodes"][0]["plan_line"] == "Plan of c0001."
    assert state["notebook"] == f"{state['folder']}/audit.ipynb"
    assert len(state["key"]) == 32
    row = (await client.get("runs"))["runs"][0]
    assert (row["best"]["id"], row["phase"], row["steps"]) == ("c0002", "closed", 2)


async def test_only_what_changed_is_sent_again(client: Client, stage: Stage) -> None:
    run = await client.start(review="every", steps=3)
    await client.decide(run, await client.question(run), "approve")
    await client.question(run)
    whole = await client.get("runs", run, "state")
    assert (whole["partial"], [node["id"] for node in whole["nodes"]]) == (False, ["c0001", "c0002"])
    nothing = await client.get("runs", run, "state", after=whole["seq"])
    assert (nothing["partial"], nothing["nodes"], nothing["points"]) == (True, [], [])
    stage.metric = lambda code: "Validation metric: 0.1\n"
    await client.decide(run, await client.question(run), "approve")
    await client.until(run, lambda state: state["candidates"] == 3)
    after = await client.get("runs", run, "state", after=whole["seq"])
    assert {node["id"]: node["best"] for node in after["nodes"]} == {"c0001": False, "c0002": True, "c0003": False}
    assert [point["id"] for point in after["points"]] == ["c0002"]
    beyond = await client.get("runs", run, "state", after=10_000)
    assert (beyond["partial"], beyond["candidates"]) == (False, 3)
    await control(client, run, "stop")
    closed = await client.closed(run)
    assert [node["id"] for node in closed["nodes"]] == ["c0001", "c0002", "c0003"]


async def test_texts_of_others_are_shown_as_text_and_code_exactly(client: Client, stage: Stage, root: Path) -> None:
    code = f"# {EVIL}\nprint('x\u200b')\nпривет = 1\n"
    stage.program = lambda candidate: code
    stage.plan = lambda candidate: EVIL
    stage.outputs = lambda code: [
        r.StreamOutput(name="stdout", text=EVIL + "\n" + METRIC),
        r.TextOutput(text=EVIL),
        png(),
        r.ErrorOutput(name=EVIL, message=EVIL, traceback=EVIL),
    ]
    run = await client.start(review="every", steps=1, goal=EVIL)
    question = await client.question(run)
    shown = "<img src=x onerror=alert(1)>\\u202e<\\|im_start|>"
    assert question["plan_shown"] == shown
    assert question["code"]["exact"] == code
    assert [one["line"] for one in question["code"]["hidden"]] == [1, 2]
    assert "\\u202e" in question["code"]["hidden"][0]["shown"]
    assert question["high_risk"]
    assert question["flags"][0]["severity"] == "danger"
    await client.decide(run, question, "approve")
    state = await client.closed(run)
    assert (state["title"], state["nodes"][0]["plan_line"]) == (shown, shown)
    details = await client.get("runs", run, "candidates", "c0001")
    assert details["code"]["exact"] == code
    outputs = details["claimed"]["outputs"]
    assert [one["type"] for one in outputs] == ["stream", "text", "image", "error"]
    assert all("\u202e" not in json.dumps(one, ensure_ascii=False) for one in outputs)
    assert details["observed"]["status"] == "ok"
    assert details["review"]["shown"] == "Learned from c0001."
    assert details["provenance"]["decided_by_kind"] == "user"


async def test_only_a_recorded_picture_is_served_as_one(client: Client, stage: Stage, root: Path) -> None:
    picture, page = png(), "<script>alert(1)</script>" * 300
    stage.outputs = lambda code: [picture, r.StreamOutput(name="stdout", text=page + METRIC)]
    run = await client.start(review="auto", steps=1)
    await client.closed(run)
    outputs = (await client.get("runs", run, "candidates", "c0001"))["claimed"]["outputs"]
    image = await client.raw("GET", "runs", run, "blobs", outputs[0]["image"])
    assert image.headers["Content-Type"] == "image/png"
    assert image.body == picture.png
    (folder,) = root.glob("aide-runs/*/blobs")
    (text,) = [path for path in folder.iterdir() if path.name != outputs[0]["image"]]
    served = await client.raw("GET", "runs", run, "blobs", text.name)
    assert served.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert served.headers["X-Content-Type-Options"] == "nosniff"
    assert served.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    text.write_bytes(b"x" * text.stat().st_size)
    changed = await client.raw("GET", "runs", run, "blobs", text.name)
    assert changed.code == 500
    assert "was changed" in json.loads(changed.body)["message"]


async def test_records_come_in_pages(client: Client, stage: Stage) -> None:
    run = await client.start(review="auto", steps=1)
    await client.closed(run)
    first = await client.get("runs", run, "records", limit=3)
    assert ([one["seq"] for one in first["records"]], first["more"]) == ([0, 1, 2], True)
    assert first["records"][0]["kind"] == "opened"
    rest = await client.get("runs", run, "records", after=2)
    assert (rest["records"][0]["seq"], rest["more"]) == (3, False)
    assert rest["records"][-1]["shown"].startswith("why all steps were taken")


async def test_cells_are_the_notebooks_and_valid(client: Client, stage: Stage, root: Path) -> None:
    stage.outputs = lambda code: [png(), r.StreamOutput(name="stdout", text=METRIC)]
    run = await client.start(review="auto", steps=2)
    state = await client.closed(run)
    cells = await client.get("runs", run, "cells")
    assert cells["order"] == [cell["id"] for cell in cells["cells"]]
    assert cells["head"]["seq"] == state["seq"]
    notebook = {"cells": cells["cells"], "metadata": cells["metadata"], "nbformat": 4, "nbformat_minor": 5}
    nbformat.validate(nbformat.from_dict(notebook))
    outputs = cells["cells"][2]["outputs"]
    assert base64.b64decode(outputs[0]["data"]["image/png"]).startswith(b"\x89PNG")
    assert (await client.get("runs", run, "cells", after=state["seq"]))["cells"] == []


async def test_the_best_program_is_exported_and_downloaded(client: Client, stage: Stage, root: Path) -> None:
    run = await client.start(review="auto", steps=1)
    none = await client.get("runs", run, "export")
    await client.closed(run)
    assert none.status in (200, 400)
    written = await client.post("runs", run, "export")
    assert written["path"].endswith("best/solution.ipynb")
    copied = await client.post("runs", run, "export", path="mine.ipynb")
    assert copied.status == 200
    assert (root / "mine.ipynb").is_file()
    for path in ("mine.ipynb", "../mine.ipynb", "mine.py", ".hidden.ipynb"):
        assert (await client.post("runs", run, "export", path=path)).status == 400
    download = await client.raw("GET", "runs", run, "export")
    assert download.headers["Content-Disposition"] == 'attachment; filename="solution.ipynb"'
    assert json.loads(download.body)["nbformat"] == 4


async def test_a_verdict_is_told_for_a_run_and_for_a_file(client: Client, stage: Stage, root: Path) -> None:
    run = await client.start(review="auto", steps=1)
    state = await client.closed(run)
    notebook = root / state["notebook"]
    await client.until(run, lambda state: state["owner"] == "nobody")
    good = await client.get("verify", path=state["notebook"])
    assert (good["code"], good["verdict"], good["run"]) == (0, "intact", run)
    assert good["words"].startswith("INTACT")
    data = json.loads(notebook.read_text())
    data["cells"][2]["source"] = "print('other')"
    notebook.write_text(json.dumps(data))
    bad = await client.get("runs", run, "verify")
    assert (bad["code"], bad["verdict"]) == (1, "altered")
    assert bad["problems"]
    assert (await client.get("verify", path="../x")).status == 400


async def test_models_say_whether_their_key_is_set_and_how_to_set_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-a-key-at-all")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = await client.get("models")
    assert found["models"][0] | {"name": "offline", "ready": True, "recommended": True} == found["models"][0]
    assert any(one["name"].startswith("anthropic/") and one["price_known"] for one in found["models"])
    providers = {one["name"]: one for one in found["providers"]}
    assert providers["anthropic"]["ready"]
    assert "OPENAI_API_KEY" in providers["openai"]["advice"]
    assert "sk-not-a-key" not in json.dumps(found)
    (one,) = (await client.get("models", name="openai/gpt-4o"))["models"]
    assert (one["ready"], "OPENAI_API_KEY" in one["advice"]) == (False, True)
    (unknown,) = (await client.get("models", name="no-such-model"))["models"]
    assert not unknown["ready"]


async def test_columns_of_a_data_folder_are_offered(client: Client, root: Path) -> None:
    (root / "data" / "test.csv").write_text("x\n1\n2\n")
    (root / "data" / "train.csv").write_text("x,y\u202e\n1,2\n2,3\n")
    found = await client.get("columns", path="data")
    assert found["target"] == "y\u202e"
    assert found["tables"][0]["columns"][1] == {"exact": "y\u202e", "shown": "y\\u202e"}
    assert (await client.get("columns", path="..")).status == 400
    assert (await client.get("columns")).status == 400


async def test_the_form_says_what_can_be_asked(client: Client) -> None:
    form = await client.get("form")
    assert [mode["value"] for mode in form["modes"]] == ["every", "flagged", "auto"]
    numbers = {number["name"]: number for number in form["numbers"]}
    assert (numbers["steps"]["default"], numbers["steps"]["cap"]) == (20, None)
    assert form["user"].startswith("Anonymous")


class TestCaps:
    @pytest.fixture
    def aide_config(self) -> dict[str, Any]:
        return {
            "review_modes": ["every"],
            "max_steps": 4,
            "models": ["offline"],
            "network_hosts": [],
            "preview_levels": ["schema", "off"],
            "max_runs": 1,
        }

    async def test_no_request_lifts_what_the_administrator_sets(self, client: Client, stage: Stage) -> None:
        form = await client.get("form")
        assert [mode["value"] for mode in form["modes"]] == ["every"]
        assert next(one for one in form["numbers"] if one["name"] == "steps") == {
            "name": "steps", "default": 4, "cap": 4, "unit": "steps",
        }  # fmt: skip
        asked = {"data": "data", "goal": "g", "preview": "off", "policy": "aide"}
        for more, words in (
            ({"steps": 5}, "4 steps at most"),
            ({"review": "auto"}, "review mode"),
            ({"model": "openai/gpt-4o"}, "model"),
            ({"base_url": "http://localhost:1"}, "host"),
            ({"preview": "samples"}, "preview level"),
        ):
            refused = await client.post("runs", **{**asked, **more})
            assert (refused.status, words in refused["message"]) == (400, True)
        run = await client.start(steps=None)
        state = await client.get("runs", run, "state")
        assert (state["mode"], state["modes"]) == ("every", ["every"])
        assert state["meters"][0]["limit"] == 4
        assert (await control(client, run, "mode", mode="auto")).status == 400
        second = await client.post("runs", **asked)
        assert (second.status, "as many as this server allows" in second["message"]) == (400, True)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "No data folder"),
        ({"data": "none", "goal": "g"}, "no folder"),
        ({"data": "data"}, "“Goal”"),
        ({"data": "data", "goal": " "}, "goal"),
        ({"data": "data", "goal": "g", "steps": 0}, "“Steps”"),
        ({"data": "data", "goal": "g", "out": "/"}, "out"),
        ({"data": "data", "goal": "g", "minimize": True, "maximize": True}, "exclude"),
        ({"data": "..", "goal": "g"}, "not a path"),
    ],
)
async def test_a_request_that_cannot_be_is_refused_at_once_in_words(
    client: Client, root: Path, asked: dict[str, Any], words: str
) -> None:
    refused = await client.post("runs", **asked)
    assert refused.status == 400
    assert words in refused["message"]
    assert (await client.get("runs"))["runs"] == []


async def test_the_example_is_written_below_the_root_and_run(client: Client, stage: Stage, root: Path) -> None:
    answer = await client.post("runs", example=True, steps=1, review="auto", preview="off")
    state = await client.closed(answer["run"])
    assert (root / "aide-example" / "train.csv").is_file()
    assert "tumour" in state["title"]
    (root / "aide-example" / "train.csv").unlink()
    refused = await client.post("runs", example=True)
    assert (refused.status, "holds something else" in refused["message"]) == (400, True)


def test_the_schema_has_every_model_and_says_what_is_required() -> None:
    models = schema()["$defs"]
    assert set(models["StartRun"].get("required", [])) == set()
    assert "fruitless" not in models["Node"]["properties"]
    assert set(models["Node"]["required"]) == set(models["Node"]["properties"])
    assert len(models["ControlRequest"]["oneOf"]) == 5
    text = json.dumps(models)
    for name in {part.split('"')[0] for part in text.split("#/$defs/")[1:]}:
        assert name in models
