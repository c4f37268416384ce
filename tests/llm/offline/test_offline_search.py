"""The author on real data: each family runs, and a small search gets better."""

import numpy as np
import pandas as pd

GOAL = (
    "Predict the final sales price of each home. Submissions are evaluated on the RMSE between the logarithm of the "
    "predicted value and the logarithm of the observed sales price."
)


def test_search_on_house_prices_drafts_different_families_and_ends_better_than_it_began(lab_for, shared):
    lab = lab_for(shared / "house_prices", goal=GOAL, target="SalePrice", folds=3)
    tried = []

    def step(operator, **more):
        ran = lab.attempt(operator, memory=lab.memory(tried), **more)
        assert ran.metric is not None, ran.output
        assert list(ran.submission.columns) == ["Id", "SalePrice"]
        assert ran.submission.shape == (1459, 2)
        assert ran.submission["Id"].iloc[0] == "1461"
        tried.append(lab.told(ran, f"c{lab.count:04d}", operator))
        return ran

    drafts = [step("draft") for _ in range(8)]
    families = [ran.recipe.families[0] for ran in drafts]
    assert len(set(families)) == 8
    assert families[0] == "linear"

    best = min(tried, key=lambda one: one.value)
    for _ in range(2):
        step("improve", parent=best)
        best = min(tried, key=lambda one: one.value)
    others = [one for one in sorted(tried, key=lambda one: one.value) if one is not best][:2]
    step("ensemble", parent=best, others=tuple(others))

    best = min(tried, key=lambda one: one.value)
    assert best.value < 0.145
    assert best.value < tried[0].value - 0.01
    assert len({one.code for one in tried}) == len(tried)


def test_bitcoin_is_forecast_from_the_past_alone(lab_for, shared):
    goal = "Build a time series forecasting model for the bitcoin close price."
    lab = lab_for(shared / "bitcoin_price", goal=goal, evaluation="RMSLE", folds=4)
    tried = []
    for _ in range(4):
        ran = lab.attempt("draft", memory=lab.memory(tried))
        assert ran.metric is not None, ran.output
        tried.append(lab.told(ran, f"c{lab.count:04d}"))
    assert 'TARGET = "Close"' in tried[1].code
    assert "TimeSeriesSplit" in tried[1].code
    # Seeing the same row's High and Low would bring the error near 0.02; the last value alone gives about 0.10.
    assert all(0.08 < one.value < 0.2 for one in tried)
    better = lab.attempt("improve", memory=lab.memory(tried), parent=tried[1])
    assert better.metric is not None, better.output


def test_a_forecast_does_not_change_when_the_future_does(lab_for):
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=140).astype(str)
    values = 50 + np.cumsum(rng.normal(size=140))
    train = pd.DataFrame({"day": days[:120], "y": values[:120], "other": rng.normal(size=120)})
    test = pd.DataFrame({"day": days[120:], "other": rng.normal(size=20)})
    made = []
    for change in (0.0, 1e6):
        lab = lab_for({"train.csv": train, "test.csv": test.assign(other=test["other"] + change)}, goal="Forecast y",
                      metric="rmse", target="y", time_column="day")  # fmt: skip
        ran = lab.attempt("draft", families=("naive",))
        assert ran.metric is not None, ran.output
        assert list(ran.submission.columns) == ["day", "y"]
        made.append(ran.submission)
    pd.testing.assert_frame_equal(*made)
