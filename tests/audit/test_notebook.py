"""The audit notebook's cells, rendered from records."""

from __future__ import annotations

import base64
import time

import nbformat
import pytest

from aide_jupyter import records as r
from aide_jupyter.audit.keys import fingerprint
from aide_jupyter.audit.notebook import cell_order, render_candidate, render_cells, render_head, render_notebook
from aide_jupyter.audit.words import seconds, size
from tests.audit.builder import ADA, CODE, KEY, Story

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
POLICY_AUTO = r.Actor(kind="policy", name="review mode auto")


def plan(story: Story, candidate: str = "c0001") -> str:
    return render_candidate(story.trail, story.blobs, candidate)[0]["source"]


def test_a_whole_run_is_a_valid_notebook_in_the_order_of_the_proposals() -> None:
    story = Story().candidate("c0001").propose("c0002", parent="c0001").decide("c0002", "reject", "too slow")
    story.propose("c0003", "", plan="", error="The reply holds no program.").close(best="c0001")
    notebook = render_notebook(story.trail, story.blobs)
    nbformat.validate(notebook)
    assert [cell["id"] for cell in notebook["cells"]] == cell_order(story.trail)
    assert [(cell["id"][9:], cell["cell_type"]) for cell in notebook["cells"]] == [
        ("head", "markdown"),
        ("c0001-plan", "markdown"),
        ("c0001-code", "code"),
        ("c0002-plan", "markdown"),
        ("c0002-code", "raw"),
        ("c0003-plan", "markdown"),
    ]
    assert notebook["metadata"]["kernelspec"]["name"] == "aide-restricted"
    aide = notebook["metadata"]["aide"]
    assert aide["head"] == {"seq": story.records[-1].seq, "hash": story.records[-1].hash}
    assert (aide["run"], aide["key"]) == (story.run, KEY.public)
    for cell in notebook["cells"]:
        assert cell["metadata"]["editable"] is False and cell["metadata"]["deletable"] is False
        assert "trusted" not in cell["metadata"]


def test_a_candidate_that_was_only_chosen_has_no_cells() -> None:
    story = Story().add(r.Chosen(candidate="c0001", operator="draft"))
    assert render_candidate(story.trail, story.blobs, "c0001") == []
    assert list(render_cells(story.trail, story.blobs)) == ["1f3a9c02-head"]


def test_metadata_names_the_record_the_program_and_the_parent() -> None:
    story = Story().candidate("c0001").candidate("c0002", parent="c0001")
    code = render_candidate(story.trail, story.blobs, "c0002")[1]
    last = story.records[-1]
    assert code["metadata"]["aide"] == {
        "schema": 1,
        "run": story.run,
        "candidate": "c0002",
        "part": "code",
        "seq": last.seq,
        "hash": last.hash,
        "status": "ok",
        "operator": "improve",
        "parent": "c0001",
        "code_sha256": r.sha256_text(CODE),
        "source_sha256": r.sha256_text(CODE),
    }


def test_the_program_stands_in_its_cell_byte_for_byte_also_from_a_blob() -> None:
    program = "x = '\u202e'\n" + "# filler\n" * 1000 + "\tprint('``` </script>')"
    story = Story().propose("c0001", program)
    assert isinstance(story.trail.state.candidates["c0001"].code, r.BlobRef)
    assert render_candidate(story.trail, story.blobs, "c0001")[1]["source"] == program


@pytest.mark.parametrize(
    ("stage", "kind", "status", "words"),
    [
        ("proposed", "code", "proposed", "draft, proposed"),
        ("waiting", "code", "waiting", "waiting for a decision"),
        ("approved", "code", "approved", "draft, approved"),
        ("running", "code", "running", "draft, running"),
        ("rejected", "raw", "rejected", "draft, rejected"),
        ("edited", "raw", "edited", "draft, edited"),
        ("ok", "code", "ok", "ok after 1.2 s, peak memory 340 MB"),
        ("timeout", "code", "timeout", "failed (timeout)"),
        ("unknown", "code", "unknown", "failed (unknown)"),
    ],
)
def test_each_stage_of_a_candidate_shows(stage: str, kind: str, status: str, words: str) -> None:
    story = Story().propose("c0001")
    if stage == "waiting":
        story.ask("c0001")
    elif stage in ("rejected", "edited"):
        story.ask("c0001").decide("c0001", stage.replace("edited", "edit").replace("rejected", "reject"))
    elif stage != "proposed":
        story.decide("c0001")
        if stage != "approved":
            story.start("c0001")
        if stage not in ("approved", "running"):
            story.finish("c0001", stage)  # type: ignore[arg-type]
    page, code = render_candidate(story.trail, story.blobs, "c0001")
    assert code["cell_type"] == kind
    assert code["metadata"]["aide"]["status"] == page["metadata"]["aide"]["status"] == status
    assert words in page["source"]
    nbformat.validate(render_notebook(story.trail, story.blobs))


def test_a_plan_cell_says_who_decided_when_in_which_mode_and_why() -> None:
    story = Story(mode="flagged").propose("c0001").ask("c0001", [r.Flag(rule="process", line=3, message="starts one")])
    page = plan(story.decide("c0001", "reject", "It starts a process."))
    assert "rejected by `ada` (a person), 2026-11-30 19:00:04 UTC, review mode flagged" in page
    assert "**Reason given with the decision**\n\n```text\nIt starts a process.\n```" in page
    assert "line 3" in page and "starts one (process)" in page
    by_rule = plan(Story(mode="auto").propose("c0001").decide("c0001", actor=POLICY_AUTO))
    assert "approved by `review mode auto` (a rule)" in by_rule and "for search, export" in by_rule


def test_an_edit_names_the_person_and_the_original() -> None:
    story = Story().propose("c0001").ask("c0001").decide("c0001", "edit")
    story.propose("c0002", CODE + "# mine\n", edit_of="c0001", actor=ADA).decide("c0002")
    page = plan(story, "c0002")
    assert "a person's edit of c0001" in page and "by `ada` (a person)" in page


def test_every_number_has_its_label_and_a_final_one_its_interval() -> None:
    story = Story().candidate("c0001", 0.123456789)
    story.grade("c0001", 0.25, source="graded", rows="final", interval=(0.2, 0.3)).close(best="c0001")
    wanted = "0.123457 (reported); 0.25 (final, 95 % interval 0.2 to 0.3)"
    assert wanted in plan(story) and wanted in render_head(story.trail, story.blobs)["source"]
    selected = (
        Story().propose("c0001").decide("c0001").start("c0001").finish("c0001").grade("c0001", 0.5, source="graded")
    )
    assert "0.5 (selection)" in plan(selected)


def test_what_was_observed_shows_limit_exit_and_files() -> None:
    story = Story().propose("c0001").decide("c0001").start("c0001")
    files = (r.ProducedFile(path="submission.csv", bytes=12_345, sha256="a" * 64),)
    story.finish("c0001", "limit", value=None, limit="memory", exit=137, files=files, files_left_out=2)
    page = plan(story.grade("c0001", None, "The program did not end well: limit."))
    assert "ended by the limit on `memory`, exit status 137" in page
    assert "12.3 kB" in page and "submission.csv" in page and "2 more files were not kept" in page
    assert "**Why there is no number**\n\n```text\nThe program did not end well: limit.\n```" in page


def test_an_unknown_cost_is_said_and_never_shown_as_free() -> None:
    assert "1,204 prompt and 511 completion tokens, 1 call of unknown cost" in plan(
        Story().propose("c0001").spend("c0001", None)
    )
    both = Story().propose("c0001").spend("c0001", None).spend("c0001", 0.5)
    assert "$0.5000 and 1 call of unknown cost" in plan(both)
    head = render_head(both.trail, both.blobs)["source"]
    assert "2 calls" in head and "$0.5000 and 1 call of unknown cost" in head


def test_a_review_is_labelled_as_a_models_claim() -> None:
    story = Story().candidate("c0001").review("c0001", "It leaks the target.", failed=True)
    assert "**Review: it found a fault (a model's claim)**\n\n```text\nIt leaks the target.\n```" in plan(story)
    assert "but the review found a fault" in plan(story)


def test_each_kind_of_output_becomes_its_kind_in_the_notebook() -> None:
    story = Story().propose("c0001").decide("c0001").start("c0001")
    items: list[r.Output] = [
        r.StreamOutput(name="stdout", text=story.blobs.text_of("a line\n" * 2000)),
        r.StreamOutput(name="stderr", text="\x1b[31mred\x1b[0m"),
        r.TextOutput(text="<b>42</b>"),
        r.ImageOutput(png=story.blobs.put(PNG)),
        r.ErrorOutput(name="ValueError", message="<img src=x>", traceback="Traceback\nValueError: <img src=x>"),
    ]
    story.finish("c0001", "error", items)
    notebook = render_notebook(story.trail, story.blobs)
    nbformat.validate(notebook)
    found = notebook["cells"][2]["outputs"]
    assert [output["output_type"] for output in found] == ["stream", "stream", "display_data", "display_data", "error"]
    assert found[0]["text"] == "a line\n" * 2000
    assert found[2]["data"] == {"text/plain": "<b>42</b>"}
    assert base64.b64decode(found[3]["data"]["image/png"]) == PNG
    assert found[4]["traceback"] == ["Traceback", "ValueError: <img src=x>"]
    kinds = {kind for output in found for kind in output.get("data", {})}
    assert kinds == {"text/plain", "image/png"}


def test_the_head_cell_says_what_was_asked_and_under_which_rules() -> None:
    left = {"left_out": [{"path": ".env", "why": "hidden"}], "left_out_count": 3}
    story = Story(goal="Predict the price.", target="SalePrice", direction_source="the metric's name", data=left)
    story.candidate("c0001").add(r.Changed.model_validate({"what": "hint", "from": None, "to": "try trees"}), ADA)
    head = render_head(story.trail, story.blobs)["source"]
    for wanted in (
        "```text\nPredict the price.\n```",
        "minimize (the metric's name)",
        "SalePrice",
        "2 files, 340 MB, 3 left out",
        ".env: hidden",
        "c0001: 0.5 (reported)",
        "jupyter aide verify",
        fingerprint(KEY.public),
        "not closed as of 2026-11-30",
        "ada: hint: try trees",
        "1 of 20",
        "1 (1 good)",
    ):
        assert wanted in head, wanted
    assert "| closed, 2026-11-30" in render_head(story.close().trail, story.blobs)["source"]


def test_a_candidate_counts_once_where_it_stands_now() -> None:
    story = Story().propose("c0001").ask("c0001").propose("c0002").ask("c0002")
    assert "2 (2 waiting for a decision)" in render_head(story.trail, story.blobs)["source"]
    story.decide("c0001", "reject").decide("c0002").start("c0002")
    assert "2 (1 rejected, 1 under way)" in render_head(story.trail, story.blobs)["source"]
    story.finish("c0002").grade("c0002").review("c0002", failed=True)
    assert "2 (1 failed, 1 rejected)" in render_head(story.trail, story.blobs)["source"]


def test_what_happened_to_the_run_is_told_in_words() -> None:
    story = Story()
    for data in (
        {"what": "mode", "from": "every", "to": "auto"},
        {"what": "budget", "from": r.Budgets().model_dump(), "to": r.Budgets(steps=40).model_dump()},
    ):
        story.add(r.Changed.model_validate(data), ADA)
    story.add(r.Limited(what="tokens", limit=100, value=120)).add(r.Paused(why="Ctrl+C"), ADA)
    head = render_head(story.trail, story.blobs)["source"]
    for wanted in (
        "ada: mode changed: every to auto",
        "ada: budget changed: steps 20 to 40\n",
        "budget of 100 tokens reached (at 120)",
        "ada: paused: Ctrl+C",
        "| paused as of",
        "every, changed to auto",
        "0 of 40",
    ):
        assert wanted in head, wanted
    story.add(r.Resumed()).add(r.Recovered(bytes=7, sha256="a" * 64, file="torn-1"))
    for _ in range(30):
        story.add(r.Paused(why="again")).add(r.Resumed())
    head = render_head(story.trail, story.blobs)["source"]
    assert "… 46 earlier" in head and head.count("again") == 10


def test_a_record_of_an_unknown_kind_changes_nothing_but_the_head() -> None:
    story = Story().candidate("c0001")
    before = render_candidate(story.trail, story.blobs, "c0001")
    story.add_raw("sang", {"candidate": 7, "song": ["la"]})
    assert render_candidate(story.trail, story.blobs, "c0001") == before


def test_rendering_one_candidate_costs_the_same_at_a_thousand() -> None:
    story = Story(signed=False)
    trail = story.trail
    taken = len(story.records)
    costs = {}
    for number in range(1, 1001):
        story.candidate(f"c{number:04d}", parent=f"c{number - 1:04d}" if number > 1 else None)
        if number not in (10, 1000):
            continue
        for record in story.records[taken:]:
            trail.take(record)
        taken = len(story.records)
        rounds = []
        for _ in range(30):
            began = time.process_time()
            render_head(trail, story.blobs)
            render_candidate(trail, story.blobs, f"c{number:04d}")
            rounds.append(time.process_time() - began)
        costs[number] = min(rounds)
    assert costs[1000] < 3 * costs[10]


def test_seconds_and_sizes_are_readable() -> None:
    assert [seconds(value) for value in (0.25, 1.234, 59.97, 123, 3720)] == [
        "0.25 s",
        "1.2 s",
        "1 min 00 s",
        "2 min 03 s",
        "1 h 02 min",
    ]
    assert [size(value) for value in (512, 12_345, 340_000_000, 4_294_967_296, 2 * 10**15)] == [
        "512 bytes",
        "12.3 kB",
        "340 MB",
        "4.29 GB",
        "2e+03 TB",
    ]
