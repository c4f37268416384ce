"""Where a run's direction comes from."""

from __future__ import annotations

import pytest

from aide_jupyter.errors import BadRequest
from aide_jupyter.grading.metrics import ALIASES, METRICS, canonical, normalise, resolve_direction


def test_every_alias_is_written_as_it_is_looked_up() -> None:
    assert [alias for alias in ALIASES if normalise(alias) != alias] == []


def test_no_alias_names_two_metrics() -> None:
    from aide_jupyter.grading import metrics

    seen: dict[str, str] = {}
    for table, _, _ in metrics._TABLES:
        for name, aliases in table.items():
            for alias in {name.replace("_", " "), *aliases}:
                assert seen.setdefault(alias, name) == name


@pytest.mark.parametrize(
    ("spelling", "name", "direction"),
    [
        ("RMSE", "rmse", "minimize"),
        ("root_mean_squared_error", "rmse", "minimize"),
        ("Root-Mean-Squared-Error", "rmse", "minimize"),
        ("neg_root_mean_squared_error", "neg_rmse", "maximize"),
        ("R²", "r2", "maximize"),
        ("R^2", "r2", "maximize"),
        ("ROC-AUC", "roc_auc", "maximize"),
        ("AUROC", "roc_auc", "maximize"),
        ("PR AUC", "average_precision", "maximize"),
        ("F1", "f1", "maximize"),
        ("f1_macro", "f1_macro", "maximize"),
        ("macro-averaged F1-Score", "f1_macro", "maximize"),
        ("log-loss", "log_loss", "minimize"),
        ("cross entropy", "log_loss", "minimize"),
        ("Cohen's kappa", "kappa", "maximize"),
        ("quadratic weighted kappa", "qwk", "maximize"),
        ("MAP@5", "map", "maximize"),
        ("NDCG@10", "ndcg", "maximize"),
        ("recall@k", "recall", "maximize"),
        ("mAP@0.5:0.95", "map", "maximize"),
        ("Brier score", "brier", "minimize"),
        ("max error", "max_error", "minimize"),
        ("WER", "wer", "minimize"),
        ("SMAPE", "smape", "minimize"),
    ],
)
def test_metric_names_are_known_in_common_spellings(spelling: str, name: str, direction: str) -> None:
    assert canonical(spelling) == name
    found = resolve_direction(metric=spelling)
    assert (found.metric, found.direction) == (name, direction)
    assert found.source == f"{name}, as asked"


def test_the_flag_wins_and_a_contradiction_is_said() -> None:
    found = resolve_direction(metric="rmse", explicit="maximize")
    assert found.direction == "maximize"
    assert "table says that rmse is minimized" in found.source
    assert "table" not in resolve_direction(metric="rmse", explicit="minimize").source


def test_the_flag_alone_is_enough() -> None:
    assert resolve_direction(explicit="minimize") == (None, "minimize", "as asked")


@pytest.mark.parametrize(
    ("goal", "evaluation", "kind", "expected"),
    [
        ("Predict the sales price", "RMSE between log price and log prediction", None, ("rmse", "minimize")),
        ("Predict the sales price. Evaluate with root mean squared error.", None, None, ("rmse", "minimize")),
        ("Classify reviews, balanced accuracy counts", None, "multiclass", ("balanced_accuracy", "maximize")),
        ("Predict churn; maximise AUC", None, "binary", ("roc_auc", "maximize")),
        ("Predict churn with log loss", "use area under the ROC curve", "binary", ("roc_auc", "maximize")),
        ("Forecast demand", "the custom score, lower is better", None, (None, "minimize")),
        ("Forecast demand", "agreement with experts, higher is better", None, (None, "maximize")),
        ("Forecast demand", "the error on the last month", None, (None, "minimize")),
        ("Forecast demand and minimise the average forecast error", None, None, (None, "minimize")),
        ("Predict which trips are recalled: evaluated by recall", None, "binary", ("recall", "maximize")),
        ("Find the best ranking", "mean average precision at 10", None, ("map", "maximize")),
        ("Predict the error rate of machines. Metric: R2", None, None, ("r2", "maximize")),
        ("Predict the accuracy of gauges, scored by MAE.", None, None, ("mae", "minimize")),
        ("Report the AUC too. The metric is the log loss.", None, "binary", ("log_loss", "minimize")),
        ("Predict churn (AUC). Good models have high accuracy.", None, "binary", ("roc_auc", "maximize")),
    ],
)
def test_the_words_of_the_task_are_understood(goal: str, evaluation: str | None, kind, expected: tuple) -> None:
    assert resolve_direction(goal=goal, evaluation=evaluation, target_kind=kind)[:2] == expected


@pytest.mark.parametrize(
    ("goal", "kind", "expected"),
    [
        ("Predict house prices with high accuracy", "regression", ("rmse", "minimize")),
        ("Precision medicine: predict relapse", "binary", ("accuracy", "maximize")),
        ("Predict product recall", "binary", ("accuracy", "maximize")),
        ("Predict the loss of each customer", "binary", ("accuracy", "maximize")),
        ("Map the risk of floods", "binary", ("accuracy", "maximize")),
        ("Predict churn so as to minimise costs", "binary", ("accuracy", "maximize")),
        ("Maximise profit by predicting the bid", "regression", ("rmse", "minimize")),
        ("Predict the macaroni order", "multiclass", ("accuracy", "maximize")),
    ],
)
def test_ordinary_words_of_a_goal_are_not_taken_for_metrics(goal: str, kind, expected: tuple) -> None:
    found = resolve_direction(goal=goal, target_kind=kind)
    assert found[:2] == expected
    assert "default" in found.source


def test_a_metric_of_ones_own_takes_its_direction_from_its_name_or_from_words() -> None:
    assert resolve_direction(metric="weighted_rmse")[:2] == ("weighted_rmse", "minimize")
    assert resolve_direction(metric="cost error")[:2] == ("cost error", "minimize")
    assert resolve_direction(metric="business value", evaluation="higher is better")[:2] == (
        "business value",
        "maximize",
    )


def test_an_unknown_metric_is_refused_with_what_to_add() -> None:
    with pytest.raises(BadRequest, match="--minimize or --maximize") as refused:
        resolve_direction(metric="acuracy", target_kind="binary")
    assert "accuracy" in refused.value.advice


def test_without_any_word_or_target_the_request_is_refused() -> None:
    with pytest.raises(BadRequest, match="--target"):
        resolve_direction(goal="Find structure in these data")


def test_the_table_has_both_directions_for_each_kind_of_task() -> None:
    assert set(METRICS.values()) == {"minimize", "maximize"}
    assert len(METRICS) > 60
