"""Decisions over REST: bound to what was seen, made once, recorded as the person's."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from aide_jupyter.audit.chain import read_records
from aide_jupyter.records import Record, sha256_text

from .conftest import Client
from .fakes import Stage


def records(root: Path, kind: str) -> list[Record]:
    (journal,) = root.glob("aide-runs/*/journal.jsonl")
    return [one for one in read_records(journal) if one.kind == kind]


async def test_a_run_is_reviewed_to_its_end_by_approving_editing_and_rejecting(
    client: Client, stage: Stage, root: Path
) -> None:
    run = await client.start(review="every", steps=3)
    first = await client.question(run)
    assert first["code"]["exact"] == "print('c0001')\n"
    assert first["cell"].endswith("c0001-code")
    assert stage.ran == []
    approved = await client.decide(run, first, "approve")
    assert (approved.status, approved["decision"]) == (200, "approve")

    second = await client.question(run)
    edited = await client.decide(run, second, "edit", edited_code="print('mine')\n", reason="simpler")
    assert edited.status == 200, edited

    third = await client.question(run)
    rejected = await client.decide(run, third, "reject", reason="No <b>good</b>.")
    assert rejected.status == 200, rejected

    state = await client.closed(run)
    assert stage.ran[:2] == ["print('c0001')\n", "print('mine')\n"]
    assert [(node["id"], node["standing"]) for node in state["nodes"]] == [
        ("c0001", "good"), ("c0002", "edited"), ("c0003", "good"), ("c0004", "rejected"),
    ]  # fmt: skip
    decided = [(one.data["candidate"], one.data["decision"], one.actor.kind) for one in records(root, "decided")]
    assert decided == [
        ("c0001", "approve", "user"), ("c0002", "edit", "user"), ("c0003", "approve", "user"),
        ("c0004", "reject", "user"),
    ]  # fmt: skip
    assert records(root, "decided")[-1].data["reason"] == "No <b>good</b>."


async def test_what_runs_is_what_was_seen(client: Client, stage: Stage, root: Path) -> None:
    run = await client.start(review="every", steps=1)
    question = await client.question(run)
    assert question["code"]["sha256"] == sha256_text(question["code"]["exact"])
    await client.decide(run, question, "approve")
    await client.closed(run)
    (started, _) = records(root, "started")
    assert started.data["code"] == question["code"]["sha256"]


@pytest.mark.parametrize(
    "stale",
    [
        {"nonce": "x" * 32},
        {"code": "0" * 64},
        {"data": "0" * 64},
        {"purposes": ["search"]},
    ],
)
async def test_a_decision_about_something_else_is_refused_in_words(
    client: Client, stage: Stage, stale: dict[str, Any]
) -> None:
    run = await client.start(review="every", steps=1)
    question = await client.question(run)
    answer = await client.decide(run, question, "approve", **stale)
    assert answer.status == 409
    assert "not the one that this decision is about" in answer["message"]
    assert stage.ran == []
    assert (await client.question(run))["nonce"] == question["nonce"]


async def test_a_double_click_decides_once(client: Client, stage: Stage, root: Path) -> None:
    run = await client.start(review="every", steps=1)
    question = await client.question(run)
    answers = await asyncio.gather(*(client.decide(run, question, "approve") for _ in range(5)))
    assert [answer.status for answer in answers] == [200] * 5
    await client.closed(run)
    assert len(records(root, "decided")) == 1


async def test_a_second_window_is_told_who_decided(client: Client, stage: Stage, root: Path) -> None:
    run = await client.start(review="every", steps=1)
    question = await client.question(run)
    await client.decide(run, question, "reject", reason="no")
    late = await client.decide(run, question, "approve")
    assert late.status == 409
    assert "was rejected" in late["message"]
    assert "Anonymous" in late["message"]
    await client.closed(run)
    after_the_end = await client.decide(run, question, "approve")
    assert after_the_end.status == 409
    assert "was rejected" in after_the_end["message"]
    again = await client.decide(run, question, "reject", reason="no")
    assert (again.status, again["decision"]) == (200, "reject")
    assert [one.data["decision"] for one in records(root, "decided")] == ["reject"]
    assert stage.ran == []


async def test_an_edit_that_is_no_python_leaves_the_question_open(client: Client, stage: Stage) -> None:
    run = await client.start(review="every", steps=1)
    question = await client.question(run)
    answer = await client.decide(run, question, "edit", edited_code="print(")
    assert (answer.status, answer["reason"]) == (400, "BadRequest")
    assert "line 1" in answer["message"]
    assert (await client.question(run))["nonce"] == question["nonce"]


async def test_an_edit_that_holds_a_secret_is_refused(
    client: Client, stage: Stage, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "correct-horse-battery-staple")
    run = await client.start(review="every", steps=1)
    question = await client.question(run)
    answer = await client.decide(run, question, "edit", edited_code="key = 'correct-horse-battery-staple'\n")
    assert answer.status == 400
    assert "OPENAI_API_KEY" in answer["message"]
    (journal,) = root.glob("aide-runs/*/journal.jsonl")
    assert b"correct-horse" not in journal.read_bytes()


async def test_a_malformed_decision_says_which_field(client: Client, stage: Stage) -> None:
    run = await client.start(review="every", steps=1)
    answer = await client.post("runs", run, "decisions", candidate="c0001", nonce="n", decision="approve")
    assert answer.status == 400
    assert "code" in answer["message"]
    again = await client.raw("POST", "runs", run, "decisions", body="not json")
    assert again.code == 400
    assert "message" in json.loads(again.body)


async def test_quick_approvals_are_remarked_on(client: Client, stage: Stage) -> None:
    run = await client.start(review="every", steps=12)
    for _ in range(11):
        question = await client.question(run)
        await client.decide(run, question, "approve")
    await client.question(run)
    answer = await client.get("runs", run, "reviews")
    assert "in less than 2 seconds each" in answer["pace"]
