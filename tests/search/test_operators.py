"""What the author is told about the run so far."""

from __future__ import annotations

import time
from dataclasses import asdict

import pytest

from aide_jupyter import records as r
from aide_jupyter.search.failures import signature
from aide_jupyter.search.operators import assignment, attempt

RIDGE = "from sklearn.linear_model import Ridge\nRidge()"
FOREST = "from sklearn.ensemble import RandomForestRegressor\nRandomForestRegressor()"


def read(text: r.Text) -> str:
    assert isinstance(text, str)
    return text


def test_a_draft_is_told_the_families_that_are_used_also_by_failed_drafts_and_drafts_under_way(story) -> None:
    run = story()
    run.live(value=0.5, code=RIDGE)
    run.live(code=FOREST)
    waiting = run.choose()
    run.propose(waiting, "import lightgbm as lgb")
    told = assignment(run.state, run.choose(), read)
    assert told.families == ("ridge or logistic regression", "random forest", "LightGBM")
    assert told.parent is None


def test_an_improvement_is_told_its_parents_code_and_output(story) -> None:
    run = story()
    best = run.live(value=0.5, code=RIDGE, output="fold 1 0.51\nValidation metric: 0.5\n")
    told = assignment(run.state, run.choose("improve", best), read)
    assert told.parent is not None
    assert (told.parent.id, told.parent.code, told.parent.value) == (best, RIDGE, 0.5)
    assert "fold 1 0.51" in told.parent.output
    assert told.families == ()


def test_a_fix_is_told_the_failure_and_the_failed_fixes_before_it_without_their_code(story) -> None:
    run = story()
    first = run.live(code="A" * 100, error="first mistake")
    second = run.live("debug", first, error="second mistake", plan="try another way")
    third = run.live("debug", second, error="third mistake")
    told = assignment(run.state, run.choose("debug", third), read)
    assert told.parent is not None and told.parent.id == third
    assert "third mistake" in told.parent.output
    assert [fix.id for fix in told.fixes] == [first, second]
    assert [fix.code for fix in told.fixes] == ["", ""]
    assert "second mistake" in told.fixes[1].output
    assert told.fixes[1].plan == "try another way"


def test_a_fix_is_told_of_three_earlier_failures_at_most(story) -> None:
    run = story(debug_depth=10)
    node = run.live()
    for _ in range(6):
        node = run.live("debug", node)
    told = assignment(run.state, run.choose("debug", node), read)
    assert [fix.id for fix in told.fixes] == ["c0004", "c0005", "c0006"]


def test_a_fix_of_a_failed_improvement_is_not_told_of_the_good_program_as_a_failure(story) -> None:
    run = story()
    good = run.live(value=0.5)
    failed = run.live("improve", good)
    assert assignment(run.state, run.choose("debug", failed), read).fixes == ()


def test_a_blend_gets_the_best_of_each_other_line(story) -> None:
    run = story()
    first, second, third = (run.live(value=value) for value in (0.9, 0.5, 0.7))
    better = run.live("improve", first, value=0.6)
    told = assignment(run.state, run.choose("ensemble", second), read)
    assert told.parent is not None and told.parent.id == second
    assert [other.id for other in told.others] == [better, third]


@pytest.mark.parametrize(("status", "limit"), [("timeout", "seconds"), ("limit", "memory"), ("died", None)])
def test_the_author_learns_why_the_server_ended_a_program(story, status, limit) -> None:
    run = story()
    node = run.live(status=status, limit=limit, output="working\n")
    output = attempt(run.state.candidates[node], read).output
    assert f"ended as {status} after 1 s" in output
    assert (limit or "") in output


def test_long_output_keeps_its_beginning_and_more_of_its_end(story) -> None:
    run = story()
    text = "BEGIN\n" + "noise\n" * 10_000 + "the cause"
    node = run.live(error="KeyError", output=text)
    output = attempt(run.state.candidates[node], read).output
    assert len(output) < 8_200
    assert output.startswith("BEGIN") and "the cause" in output and "characters left out" in output


def test_memory_says_that_and_why_a_program_was_rejected(story) -> None:
    run = story()
    node = run.choose()
    run.propose(node, plan="read the password file")
    body = r.Decided(
        candidate=node,
        code=run.state.candidates[node].code_sha256,
        decision="reject",
        reason="it opens /etc/passwd",
        mode="every",
    )
    run.write(body)
    (line,) = assignment(run.state, run.choose(), read).memory
    assert line.summary == "Not run; rejected: it opens /etc/passwd"
    assert line.value is None


def test_memory_has_the_best_the_newest_and_what_was_tried_on_the_same_parent(story) -> None:
    run = story()
    best = run.live(value=0.1, plan="the best")
    run.live(value=0.2, plan="second best")
    sibling = run.live("improve", best, value=0.9, plan="tried on the best")
    for number in range(30):
        run.live(value=0.5 + number, plan=f"plan {number}")
    memory = assignment(run.state, run.choose("improve", best), read).memory
    ids = [line.id for line in memory]
    assert len(ids) == 12
    assert ids == sorted(ids)
    assert {"c0002", sibling, "c0033"} <= set(ids)
    assert best not in ids


def test_a_fix_is_told_half_as_much_of_the_rest_as_it_is_told_the_failed_fixes(story) -> None:
    run = story()
    for number in range(30):
        run.live(value=0.5 + number, plan=f"plan {number}")
    failed = run.live(plan="fails")
    fix = run.live("debug", failed, plan="fails again")
    memory = assignment(run.state, run.choose("debug", failed), read).memory
    assert len(memory) == 6
    assert fix in {line.id for line in memory}


def test_memory_does_not_repeat_a_plan(story) -> None:
    run = story()
    for _ in range(10):
        run.live(value=0.5, plan="ridge again")
    assert len(assignment(run.state, run.choose(), read).memory) == 1


def test_a_persons_hints_are_passed_on_newest_last_and_bounded(story) -> None:
    run = story()
    for number in range(12):
        run.write(r.Changed(what="hint", before=None, after=f"hint {number} " + "x" * 5000))
    hints = assignment(run.state, run.choose(), read).hints
    assert len(hints) == 8
    assert hints[-1].startswith("hint 11")
    assert max(map(len, hints)) <= 1200


def _long_run(story, count: int):
    run = story(steps=5000)
    for number in range(count):
        parent = None if number % 5 == 0 else f"c{number - number % 5 + 1:04d}"
        value = None if number % 7 == 3 else 1 / (number + 2)
        operator = "draft" if parent is None else "improve"
        output = "line of output\n" * 100
        run.live(operator, parent, value, code=RIDGE + "#" * 3000, plan=f"plan {number}" * 20, output=output)
    return run


def test_the_size_of_an_assignment_does_not_grow_with_the_run(story) -> None:
    def size(count: int) -> int:
        run = _long_run(story, count)
        return len(str(asdict(assignment(run.state, run.choose("improve", run.state.best), read))))

    assert size(400) <= 1.1 * size(20)


def test_the_time_of_a_choice_and_an_assignment_does_not_grow_with_the_run(story) -> None:
    import random

    from aide_jupyter.search.policy import Default

    run = _long_run(story, 1000)
    node = run.choose("improve", run.state.best)
    assignment(run.state, node, read)
    took = []
    for number in range(5):
        begin = time.perf_counter()
        Default().choose(run.state, random.Random(number))
        assignment(run.state, node, read)
        took.append(time.perf_counter() - begin)
    assert min(took) < 0.01


def test_the_signature_of_an_error_ignores_numbers_and_addresses_but_not_names(story) -> None:
    run = story()

    def of(**more) -> str:
        return signature(run.state.candidates[run.live(**more)])

    assert of(error="shape (10, 3) at 0x7fff") == of(error="shape (20, 4) at 0x7ffa")
    assert of(error="'Price'", name="KeyError") != of(error="'Cost'", name="KeyError")
    assert of(error="x", name="KeyError") != of(error="x", name="ValueError")
    assert of(error="col1") != of(error="col2")
    assert of(status="timeout") != of(status="died")
    assert of(status="ok") == "no metric"
    assert of(value=0.5, failed=True) == "reviewer"
