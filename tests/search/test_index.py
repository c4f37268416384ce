"""The fields that spare the search from reading the whole run say what reading the whole run would say."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from aide_jupyter.state import RunState, fold


def check(state: RunState) -> None:
    everyone = list(state.candidates.values())
    gone = ("rejected", "edited")
    sign = 1 if state.minimize else -1
    good = sorted((one for one in everyone if one.good), key=lambda one: (sign * (one.value or 0), one.number))
    assert [one for _, _, one in state.ranking] == [one.id for one in good]
    assert (state.ranking[0][2] if state.ranking else None) in (state.best, *_equal_to_best(state))
    assert state.roots == [one.id for one in everyone if one.parent is None and one.stage not in gone]
    assert list(state.unfinished) == [one.id for one in everyone if not one.done]
    leaves = [
        one.id
        for one in everyone
        if one.done and one.failed and one.code and all(state.candidates[child].stage in gone for child in one.children)
    ]
    assert state.failed_leaves == leaves
    by_root: dict[str, list] = {}
    for one in good:
        by_root.setdefault(state.lineage(one.id)[-1].id, []).append(one)
    assert {root: state.candidates[best].value for root, best in state.lines.items()} == {
        root: ones[0].value for root, ones in by_root.items()
    }
    for one in everyone:
        assert one.root == state.lineage(one.id)[-1].id
        tried = [state.candidates[child] for child in one.children]
        ended = [child for child in tried if child.operator == "improve" and child.done and child.stage not in gone]
        gained = [
            child
            for child in ended
            if child.good and (one.value is None or state.better(child.value or 0.0, one.value))
        ]
        assert one.fruitless == len(ended) - len(gained)


def _equal_to_best(state: RunState) -> list[str]:
    best = state.best_candidate()
    return [] if best is None else [one for key, _, one in state.ranking if abs(key) == abs(best.value or 0.0)]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1_000_000), direction=st.sampled_from(["minimize", "maximize"]))
def test_the_search_fields_are_true_whatever_several_workers_do(story, seed: int, direction) -> None:
    draw = random.Random(seed)
    run = story(steps=1000, direction=direction)
    under_way: list[str] = []
    proposed: set[str] = set()
    for step in range(60):
        if len(under_way) < 3 and draw.random() < 0.5:
            parents = [one.id for one in run.state.candidates.values() if one.done and one.code]
            parent = draw.choice(parents) if parents and draw.random() < 0.7 else None
            failed = parent is not None and run.state.candidates[parent].failed
            under_way.append(run.choose("draft" if parent is None else "debug" if failed else "improve", parent))
        elif under_way:
            one = draw.choice(under_way)
            if one not in proposed:
                if draw.random() < 0.1:
                    run.propose(one, code="", error="no program")
                    under_way.remove(one)
                else:
                    run.propose(one)
                    proposed.add(one)
            else:
                under_way.remove(one)
                luck = draw.random()
                if luck < 0.15:
                    run.decide(one, "reject")
                elif luck < 0.25:
                    edit = run.edit(one, "y")
                    proposed.add(edit)
                    under_way.append(edit)
                elif luck < 0.55:
                    run.finish(one, error="mistake")
                else:
                    run.finish(one, float(draw.randrange(6)), failed=draw.random() < 0.1)
        if step % 6 == 0:
            check(run.state)
    check(run.state)
    assert fold(run.records) == run.state
