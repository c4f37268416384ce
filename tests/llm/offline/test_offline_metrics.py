"""The number that an offline program prints: the metric that was asked for, better in the task's direction, or said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics

from aide_jupyter import records as r
from aide_jupyter.grading.metrics import METRICS, canonical, direction_of
from aide_jupyter.llm.author import brief, facts, metrics, plans, recipe
from aide_jupyter.llm.prompts import author_messages
from aide_jupyter.task import Assignment

NUMBERS = {"dtype": "float", "nulls": 0, "unique": 900, "min": 1.0, "max": 9.0, "mean": 4.0}
TWO = {"dtype": "string", "nulls": 0, "unique": 2, "length": {"mean": 3}}
FIVE = {"dtype": "string", "nulls": 0, "unique": 5, "length": {"mean": 3}}
NAMES = [*METRICS, *(f"neg_{name}" for name, direction in METRICS.items() if direction == "minimize")]


def known(
    metric: str | None, direction: r.Direction, target: dict[str, object], goal: str = "Predict y."
) -> facts.Facts:
    columns = [{"name": "y", **target}, {"name": "a", "dtype": "float", "nulls": 0, "unique": 900}]
    file = {"kind": "table", "path": "train.csv", "format": "csv", "bytes": 9000, "rows": 900, "columns": columns}
    task = r.Task(goal=goal, metric=metric, direction=direction, direction_source="test", target="y")
    data = {"level": "statistics", "files": [file]}
    asked = author_messages(task, r.Settings(), Assignment("c0001", "draft", 1, 9), data=data, data_chars=9_000)
    return facts.understand(brief.read(asked[-1]["content"]))


def value(metric: metrics.Metric, y: np.ndarray, p: np.ndarray) -> float:
    names = {name.rpartition(".")[2]: getattr(sklearn.metrics, name.rpartition(".")[2]) for name in metric.imports}
    return float(eval(metric.expression.format(y="y", p="p"), {"np": np, "y": y, "p": p, **names}))


@pytest.mark.parametrize("target", [NUMBERS, TWO, FIVE], ids=["numbers", "two classes", "five classes"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_printed_is_better_in_the_tasks_direction_and_said_where_it_is_another_metric(name, target) -> None:
    direction = direction_of(name)
    assert direction is not None
    found = known(name, direction, target)
    assert found.metric.minimize == (direction == "minimize")
    form = (name, found.metric.key) == ("f1", "f1_macro")
    if not form and not metrics.is_exactly(name, found.metric):
        assert found.metric_said
        plan = plans.describe(found, recipe.single("linear"))
        assert f"As {found.metric_said}, it is scored by {found.metric.title}." in plan


@pytest.mark.parametrize("target", [NUMBERS, TWO, FIVE], ids=["numbers", "two classes", "five classes"])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("name", [None, "my own score", "sharpe_ratio", "wer"])
def test_in_place_of_an_unknown_metric_comes_one_that_is_better_in_the_tasks_direction(name, direction, target) -> None:
    found = known(name, direction, target)
    assert found.metric.minimize == (direction == "minimize")
    assert found.metric_said == (
        "these rules cannot compute the metric that was asked for" if name else "no metric was named"
    )


def test_words_of_a_goal_do_not_turn_the_direction_round() -> None:
    found = known(None, "minimize", TWO, goal="Predict y with good accuracy, as low a loss as possible.")
    assert found.metric.key == "log_loss"
    assert "the task says to minimize the score" in found.metric_said


def test_a_metric_that_is_named_is_printed_as_it_is_also_where_its_direction_is_turned_round() -> None:
    found = known("accuracy", "minimize", TWO)
    assert found.metric.key == "accuracy"
    assert found.metric_said == "the task names it and says to minimize it"


def test_the_nearest_metric_is_not_passed_off_as_the_one_that_was_asked_for() -> None:
    for name, near in (("smape", "mape"), ("adjusted_r2", "r2")):
        found = known(name, direction_of(name) or "minimize", NUMBERS)
        assert (found.metric.key, bool(found.metric_said)) == (near, True)
    assert known("top_k_accuracy", "maximize", FIVE).metric_said


@pytest.mark.parametrize("name", ["rmse", "R2", "mean absolute error", "median_absolute_error", "RMSLE", "spearman"])
def test_a_known_metric_for_numbers_needs_no_words(name) -> None:
    given = canonical(name)
    assert given is not None
    assert not known(given, direction_of(given) or "minimize", NUMBERS).metric_said


def test_a_negated_error_is_printed_with_its_sign() -> None:
    found = known("neg_mse", "maximize", NUMBERS)
    y, p = np.array([1.0, 2.0]), np.array([1.0, 4.0])
    assert value(found.metric, y, p) == -2.0
    assert not found.metric_said


def test_the_multiclass_forms_are_the_metrics_that_they_are_named_for() -> None:
    draw = np.random.default_rng(0)
    y = draw.integers(0, 4, 300)
    p = draw.dirichlet(np.ones(4), 300)
    precision = metrics.for_classes(metrics.METRICS["average_precision"], binary=False)
    assert value(precision, y, p) == pytest.approx(sklearn.metrics.average_precision_score(y, p))
    brier = metrics.for_classes(metrics.METRICS["brier"], binary=False)
    assert value(brier, y, p) == pytest.approx(sklearn.metrics.brier_score_loss(y, p, scale_by_half=False))
    assert value(brier, y, np.eye(4)[y]) == 0


@pytest.mark.parametrize("metric", metrics.METRICS.values(), ids=lambda one: one.key)
def test_no_form_of_a_metric_turns_its_direction_round(metric) -> None:
    for binary in (True, False):
        assert metrics.for_classes(metric, binary).minimize == metric.minimize


@pytest.mark.parametrize(
    ("name", "direction", "low", "high"),
    [("average_precision", "maximize", 0.5, 1.0), ("brier", "minimize", 0.0, 0.6), ("neg_log_loss", "maximize", -1, 0)],
)
def test_a_program_for_three_classes_prints_the_metric_that_was_asked_for(lab_for, name, direction, low, high) -> None:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"a": draw.normal(size=150), "b": draw.normal(size=150)})
    frame["kind"] = pd.cut(frame["a"] + 0.3 * frame["b"], 3, labels=list("xyz")).astype(str)
    lab = lab_for({"train.csv": frame}, goal="Predict kind.", target="kind", metric=name, direction=direction, folds=2)
    ran = lab.attempt()
    assert ran.metric is not None, ran.output
    assert low < ran.metric < high
    assert "it is scored by" not in ran.plan
