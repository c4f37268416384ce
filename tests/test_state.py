"""The fold: what the records of a run say about it."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from aide_jupyter import records as r
from aide_jupyter.state import RunState, fold

CODE = "print('Validation metric: 0.5')"
CODE_SHA = r.sha256_text(CODE)
AGENT = r.Actor(kind="agent", name="author", model="m")
USER = r.Actor(kind="user", name="ada")


class Story:
    """Records in order, one second apart unless said otherwise."""

    def __init__(self, **opened: Any) -> None:
        self.records: list[r.Record] = []
        self.second = 0.0
        task = r.Task(goal="g", direction=opened.pop("direction", "minimize"), direction_source="test")
        view = r.DataView(source="d", sha256="0" * 64, files=1, bytes=1, manifest="")
        self.add(
            r.Opened(
                task=task, policy="aide", seed=0, mode="every", budgets=r.Budgets(), settings=r.Settings(),
                grants=r.Grants(), data=view, versions={}, key="k",
            )
        )  # fmt: skip

    def add(self, body: r.Body, actor: r.Actor = r.SYSTEM, after: float = 1.0) -> Story:
        self.second += after
        seq = len(self.records)
        digest = hashlib.sha256(str(seq).encode()).hexdigest()
        prev = self.records[-1].hash if self.records else "0" * 64
        time = f"2026-11-30T{int(self.second // 3600):02d}:{int(self.second // 60 % 60):02d}:{self.second % 60:09.6f}Z"
        self.records.append(
            r.Record(
                run="run", seq=seq, time=time, kind=body.kind, actor=actor, data=r.body_data(body), prev=prev,
                hash=digest, signature="",
            )
        )  # fmt: skip
        return self

    def chosen(self, candidate: str, parent: str | None = None, operator: r.Operator = "draft") -> Story:
        return self.add(r.Chosen(candidate=candidate, parent=parent, operator=operator))

    def proposed(self, candidate: str, **more: Any) -> Story:
        return self.add(r.Proposed(candidate=candidate, plan="p", code=CODE, **more), AGENT)

    def decided(self, candidate: str, decision: str = "approve") -> Story:
        body = {"candidate": candidate, "code": CODE_SHA, "decision": decision, "mode": "every"}
        return self.add(r.Decided.model_validate(body), USER)

    def ran(self, candidate: str, value: float | None, *, failed: bool = False, after: float = 1.0) -> Story:
        self.add(r.Started(candidate=candidate, code=CODE_SHA, kernel="k1", limits=r.Limits()))
        status: r.Status = "error" if failed else "ok"
        self.add(r.Finished(candidate=candidate, status=status, observed=r.Observed(seconds=1)), after=after)
        self.add(r.Graded(candidate=candidate, source="reported", value=value))
        return self.add(r.Reviewed(candidate=candidate, failed=failed, summary="s"), AGENT)

    def whole(self, candidate: str, value: float | None, **more: Any) -> Story:
        return self.chosen(candidate, **more).proposed(candidate).decided(candidate).ran(candidate, value)

    @property
    def state(self) -> RunState:
        return fold(self.records)


@pytest.mark.parametrize(("direction", "best"), [("minimize", "c0002"), ("maximize", "c0001")])
def test_the_best_follows_the_direction_of_the_task(direction: str, best: str) -> None:
    story = Story(direction=direction).whole("c0001", 0.5).whole("c0002", 0.4)
    assert story.state.best == best


def test_of_two_equal_numbers_the_earlier_stays_best() -> None:
    assert Story().whole("c0001", 0.5).whole("c0002", 0.5).state.best == "c0001"


def test_a_candidate_that_a_reviewer_found_wrong_is_never_best() -> None:
    story = Story().whole("c0001", 0.5).chosen("c0002").proposed("c0002").decided("c0002")
    story.ran("c0002", 0.1, failed=True)
    assert story.state.best == "c0001"
    assert story.state.candidates["c0002"].failed


def test_a_candidate_without_a_number_has_failed() -> None:
    state = Story().whole("c0001", None).state
    assert state.candidates["c0001"].failed
    assert state.best is None


def test_an_edit_is_a_candidate_of_its_own_and_costs_no_step() -> None:
    story = Story().chosen("c0001").proposed("c0001").decided("c0001", "edit")
    story.chosen("c0002").proposed("c0002", edit_of="c0001").decided("c0002").ran("c0002", 0.3)
    state = story.state
    assert (state.steps, state.best) == (1, "c0002")
    assert state.candidates["c0001"].stage == "edited"
    assert not state.candidates["c0001"].failed


def test_debug_depth_counts_consecutive_fixes() -> None:
    story = Story().whole("c0001", None)
    story.whole("c0002", None, parent="c0001", operator="debug").whole("c0003", 0.5, parent="c0002", operator="debug")
    story.whole("c0004", 0.4, parent="c0003", operator="improve")
    depths = {c.id: (c.depth, c.debug_depth) for c in story.state.candidates.values()}
    assert depths == {"c0001": (0, 0), "c0002": (1, 1), "c0003": (2, 2), "c0004": (3, 0)}
    assert [c.id for c in story.state.lineage("c0004")] == ["c0004", "c0003", "c0002", "c0001"]


def test_waiting_for_a_person_does_not_count_as_run_time() -> None:
    story = Story().chosen("c0001").proposed("c0001")
    story.add(r.Asked(candidate="c0001", code=CODE_SHA))
    before = story.state.active_seconds
    assert story.state.phase(owned=True) == "waiting"
    story.add(r.Decided(candidate="c0001", code=CODE_SHA, decision="approve", mode="every"), USER, after=3000)
    assert story.state.active_seconds == before
    story.ran("c0001", 0.5, after=50)
    assert story.state.active_seconds == pytest.approx(before + 53)


def test_a_pause_does_not_count_as_run_time_and_ends_with_resumed() -> None:
    story = Story().whole("c0001", 0.5)
    before = story.state.active_seconds
    story.add(r.Paused(why="asked"))
    assert story.state.phase(owned=True) == "paused"
    assert story.state.phase(owned=False) == "paused"
    story.add(r.Resumed(), after=500)
    assert story.state.active_seconds == before + 1
    assert story.state.phase(owned=True) == "running"


def test_a_run_without_an_owner_is_interrupted_until_it_is_closed() -> None:
    story = Story().whole("c0001", 0.5)
    assert story.state.phase(owned=False) == "interrupted"
    story.add(r.Closed(why="steps", best="c0001"))
    assert story.state.phase(owned=False) == "closed"


def test_a_call_under_way_counts_with_its_reservation_and_then_with_its_use() -> None:
    def spent(phase: str, prompt: int, cost: float | None) -> r.Spent:
        tokens = {"prompt": prompt, "completion": 0}
        return r.Spent.model_validate(
            {"call": 1, "phase": phase, "purpose": "draft", "model": "m", "tokens": tokens, "cost": cost}
        )

    story = Story().add(spent("reserved", 1000, 0.5))
    assert (story.state.spend.worst_tokens, story.state.spend.worst_cost) == (1000, 0.5)
    story.add(spent("settled", 100, None))
    assert (story.state.spend.worst_tokens, story.state.spend.worst_cost) == (100, 0.0)
    assert story.state.spend.unknown_cost_calls == 1


def test_a_record_of_an_unknown_kind_moves_only_the_head() -> None:
    story = Story().whole("c0001", 0.5)
    last = story.records[-1]
    story.records.append(last.model_copy(update={"seq": last.seq + 1, "kind": "from-the-future", "hash": "a" * 64}))
    assert story.state.best == "c0001"
    assert story.state.head_hash == "a" * 64


def test_a_gap_in_the_records_is_refused() -> None:
    story = Story().whole("c0001", 0.5)
    with pytest.raises(ValueError, match="record 3 after 1"):
        fold(story.records[:2] + story.records[3:])
