"""The name of a run's folder."""

from __future__ import annotations

from aide_jupyter.task import slug

RUN = "20261130t191148-1f3a9c02"


def test_runs_with_the_same_long_goal_have_folders_of_their_own() -> None:
    goal = "Predict_" + "antidisestablishmentarianism" * 9
    assert slug(goal, RUN).endswith("-1f3a9c02")
    assert slug(goal, RUN) != slug(goal, RUN[:-1] + "3")
    assert len(slug(goal, RUN)) <= 60


def test_a_folder_is_named_for_the_first_words_of_the_goal() -> None:
    assert slug("Prédire le prix, s'il vous plaît!", RUN) == "predire-le-prix-s-il-1f3a9c02"
    assert slug("価格", RUN) == "1f3a9c02"
