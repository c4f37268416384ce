"""What a run tries next."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide_jupyter.search.policy import DRAFT, Aide, Choice, Default

Draws = random.Random


class Coin(random.Random):
    """A generator whose ``random()`` gives the numbers it was told, the last one for ever."""

    def __init__(self, *numbers: float) -> None:
        super().__init__(0)
        self.numbers = list(numbers)

    def random(self) -> float:
        return self.numbers.pop(0) if len(self.numbers) > 1 else self.numbers[0]


HEADS, TAILS = 0.0, 0.999


# --- aide: an independent statement of AIDE's rules, and AIDE itself -----------------------------------------------


@dataclass
class Plain:
    """A node as AIDE's rules need it."""

    id: str
    parent: Plain | None
    value: float | None
    children: list[Plain] = field(default_factory=list)

    def debugs(self) -> int:
        return 0 if self.parent is None or self.parent.value is not None else self.parent.debugs() + 1


def plain_rules(nodes: list[Plain], draw: Draws, drafts: int, probability: float, depth: int) -> tuple[str, str | None]:
    if sum(node.parent is None for node in nodes) < drafts:
        return "draft", None
    if draw.random() < probability:
        leaves = [node for node in nodes if node.value is None and not node.children and node.debugs() <= depth]
        if leaves:
            return "debug", draw.choice(leaves).id
    good = [node for node in nodes if node.value is not None]
    if not good:
        return "draft", None
    best = good[0]
    for node in good[1:]:
        best = node if (node.value or 0) < (best.value or 0) else best
    return "improve", best.id


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    drafts=st.integers(1, 6),
    probability=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    depth=st.integers(0, 3),
    fails=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
)
def test_aide_decides_as_its_rules_say_on_random_trees(story, seed, drafts, probability, depth, fails) -> None:
    world = random.Random(seed)
    run = story(drafts=drafts, debug_probability=probability, debug_depth=depth)
    nodes: dict[str, Plain] = {}
    for step in range(40):
        expected = plain_rules(list(nodes.values()), Draws(f"{seed}:{step}"), drafts, probability, depth)
        choice = Aide().choose(run.state, Draws(f"{seed}:{step}"))
        assert (choice.operator, choice.parent) == expected
        value = None if world.random() < fails else round(world.random(), 1)
        candidate = run.live(choice.operator, choice.parent, value)
        parent = None if choice.parent is None else nodes[choice.parent]
        nodes[candidate] = Plain(candidate, parent, value)
        if parent is not None:
            parent.children.append(nodes[candidate])


def test_aide_decides_as_aideml_itself(story, monkeypatch) -> None:
    pytest.importorskip("aide.agent", reason="aideml is not installed")
    from types import SimpleNamespace

    import aide.agent
    from aide.journal import Journal, Node
    from aide.utils.metric import MetricValue, WorstMetricValue

    for seed in range(20):
        world = random.Random(seed)
        search = SimpleNamespace(num_drafts=4, debug_prob=0.5, max_debug_depth=2)
        journal = Journal()
        agent = SimpleNamespace(acfg=SimpleNamespace(search=search), journal=journal)
        run = story(drafts=4, debug_probability=0.5, debug_depth=2)
        nodes: dict[str, Node] = {}
        for step in range(60):
            draw = Draws(f"{seed}:{step}")
            monkeypatch.setattr(aide.agent, "random", draw)
            theirs = aide.agent.Agent.search_policy(agent)
            choice = Aide().choose(run.state, Draws(f"{seed}:{step}"))
            assert nodes.get(choice.parent or "") is theirs
            value = None if world.random() < 0.5 else round(world.random(), 1)
            node = Node(code="x", plan="p", parent=theirs)
            node.is_buggy = value is None
            node.metric = WorstMetricValue() if value is None else MetricValue(value, maximize=False)
            journal.append(node)
            assert node.stage_name == choice.operator
            nodes[run.live(choice.operator, choice.parent, value)] = node


def test_aide_counts_drafts_under_way_and_failed_ones(story) -> None:
    run = story(drafts=3)
    run.live()
    run.choose()
    assert Aide().choose(run.state, Coin(TAILS)) == DRAFT
    run.choose()
    assert Aide().choose(run.state, Coin(HEADS)) == Choice("debug", "c0001")


def test_aide_does_not_count_what_was_rejected_or_replaced_by_an_edit(story) -> None:
    run = story(drafts=2)
    rejected = run.choose()
    run.propose(rejected)
    run.decide(rejected, "reject")
    edited = run.choose()
    run.propose(edited)
    edit = run.edit(edited, "y")
    assert Aide().choose(run.state, Coin(TAILS)) == DRAFT
    run.finish(edit, 0.5)
    run.live(value=0.9)
    assert Aide().choose(run.state, Coin(TAILS)) == Choice("improve", edit)


@pytest.mark.parametrize("policy", [Aide(), Default()])
def test_two_workers_do_not_fix_the_same_failure(story, policy) -> None:
    run = story(drafts=1)
    failed = run.live()
    assert policy.choose(run.state, Coin(HEADS)) == Choice("debug", failed)
    run.choose("debug", failed)
    assert policy.choose(run.state, Coin(HEADS)).parent != failed


@pytest.mark.parametrize("policy", [Aide(), Default()])
def test_a_failure_whose_fix_was_rejected_can_be_fixed_again(story, policy) -> None:
    run = story(drafts=1)
    failed = run.live()
    fix = run.choose("debug", failed)
    run.propose(fix)
    run.decide(fix, "reject")
    assert policy.choose(run.state, Coin(HEADS)) == Choice("debug", failed)


@pytest.mark.parametrize("policy", [Aide(), Default()])
def test_two_workers_do_not_improve_the_same_candidate(story, policy) -> None:
    run = story(drafts=2)
    second, best = run.live(value=0.9), run.live(value=0.1)
    assert policy.choose(run.state, Coin(TAILS)) == Choice("improve", best)
    run.choose("improve", best)
    assert policy.choose(run.state, Coin(TAILS)) == Choice("improve", second)


@pytest.mark.parametrize("policy", [Aide(), Default()])
def test_a_step_without_a_program_is_a_draft_but_is_never_fixed(story, policy) -> None:
    run = story(drafts=1)
    run.propose(run.choose(), code="", error="the model gave no program")
    assert len(run.state.roots) == 1
    assert policy.choose(run.state, Coin(HEADS)) == DRAFT


@pytest.mark.parametrize("policy", [Aide(), Default()])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_direction_says_what_is_best(story, policy, direction) -> None:
    run = story(drafts=2, direction=direction)
    low, high = run.live(value=-1.0), run.live(value=2.0)
    assert policy.choose(run.state, Coin(TAILS)).parent == (low if direction == "minimize" else high)


@pytest.mark.parametrize("policy", [Aide(), Default()])
def test_the_same_state_and_seed_give_the_same_choice(story, policy) -> None:
    def tell():
        run = story(drafts=3)
        for step in range(30):
            choice = policy.choose(run.state, Draws(f"7:{step}"))
            run.live(choice.operator, choice.parent, None if step % 3 == 0 else 1 / (step + 1))
        return [(one.operator, one.parent) for one in run.state.candidates.values()]

    assert tell() == tell()


# --- default ---------------------------------------------------------------------------------------------------------


def test_default_keeps_half_of_a_short_run_for_more_than_drafts(story) -> None:
    run = story(steps=4, drafts=5)
    run.live(value=0.5)
    assert Default().choose(run.state, Coin(TAILS)) == DRAFT
    run.live(value=0.4)
    assert Default().choose(run.state, Coin(TAILS)) != DRAFT


def test_default_fixes_failed_drafts_before_it_improves(story) -> None:
    run = story(drafts=2)
    run.live(value=0.5)
    failed = run.live()
    assert Default().choose(run.state, Coin(TAILS)) == Choice("debug", failed)


def test_default_ends_a_chain_of_fixes_when_the_same_error_comes_back(story) -> None:
    run = story(drafts=1)
    failed = run.live(error="Found array with 1460 samples at 0x7f3a")
    other = run.live("debug", failed, error="something else")
    assert Default().choose(run.state, Coin(HEADS)) == Choice("debug", other)
    run.live("debug", other, error="Found array with 730 samples at 0x7f00")
    assert Default().choose(run.state, Coin(HEADS)) == DRAFT


def test_default_goes_on_fixing_when_another_column_is_missing(story) -> None:
    run = story(drafts=1)
    failed = run.live(error="'Price'", name="KeyError")
    again = run.live("debug", failed, error="'Cost'", name="KeyError")
    assert Default().choose(run.state, Coin(HEADS)) == Choice("debug", again)


@pytest.mark.parametrize("status", ["timeout", "died", "limit"])
def test_default_does_not_fix_a_second_program_that_ran_into_the_same_limit(story, status) -> None:
    run = story(drafts=1)
    failed = run.live(status=status, limit="memory")
    again = run.live("debug", failed, status=status, limit="memory")
    assert run.state.failed_leaves == [again]
    assert Default().choose(run.state, Coin(HEADS)) == DRAFT


def test_default_does_not_fix_what_was_not_at_fault(story) -> None:
    run = story(drafts=1)
    run.live(status="unknown")
    assert Default().choose(run.state, Coin(HEADS)) == DRAFT
    assert Aide().choose(run.state, Coin(HEADS)) == Choice("debug", "c0001")


def test_default_stops_at_the_debug_depth(story) -> None:
    run = story(drafts=1, debug_depth=1)
    node = run.live()
    for _ in range(2):
        assert Default().choose(run.state, Coin(HEADS)) == Choice("debug", node)
        node = run.live("debug", node)
    assert Default().choose(run.state, Coin(HEADS)) == DRAFT


def test_default_gives_up_a_failure_after_a_person_rejected_two_fixes(story) -> None:
    run = story(drafts=1)
    failed = run.live()
    for _ in range(2):
        fix = run.choose("debug", failed)
        run.propose(fix)
        run.decide(fix, "reject")
    assert Default().choose(run.state, Coin(HEADS)) == DRAFT


def test_default_fixes_failed_improvements_of_the_leader_only(story) -> None:
    run = story(drafts=2)
    old, best = run.live(value=0.9), run.live(value=0.5)
    run.live("improve", old)
    assert Default().choose(run.state, Coin(HEADS, TAILS)).operator == "improve"
    failed = run.live("improve", best)
    assert Default().choose(run.state, Coin(HEADS)) == Choice("debug", failed)
    assert Default().choose(run.state, Coin(TAILS)).operator == "improve"


def test_default_leaves_a_leader_that_gains_nothing(story) -> None:
    run = story(drafts=2)
    other, best = run.live(value=0.9), run.live(value=0.5)
    for _ in range(4):
        run.live("improve", best, value=0.6)
    assert run.state.candidates[best].fruitless == 4
    assert Default().choose(run.state, Coin(0.49, TAILS)) == DRAFT
    assert Default().choose(run.state, Coin(0.49, HEADS)) == Choice("improve", other)
    assert Default().choose(run.state, Coin(0.51)) == Choice("improve", best)


def test_default_blends_in_the_last_tenth_where_three_lines_are_good(story) -> None:
    run = story(steps=20, drafts=3)
    for value in (0.9, 0.5, 0.7):
        run.live(value=value)
    while run.state.steps < 18:
        assert Default().choose(run.state, Coin(TAILS)).operator != "ensemble"
        run.live("improve", "c0002", value=0.6)
    assert Default().choose(run.state, Coin(TAILS)) == Choice("ensemble", "c0002")


def test_default_does_not_blend_two_lines(story) -> None:
    run = story(steps=4, drafts=2)
    run.live(value=0.9)
    run.live(value=0.5)
    run.live("improve", "c0002", value=0.4)
    assert Default().choose(run.state, Coin(TAILS)).operator == "improve"


def test_default_drafts_while_everything_else_is_taken(story) -> None:
    run = story(drafts=1)
    best = run.live(value=0.5)
    run.choose("improve", best)
    assert Default().choose(run.state, Coin(TAILS)) == DRAFT
