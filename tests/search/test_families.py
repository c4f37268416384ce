"""Which family of models a program uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from aide_jupyter.search.families import family, stored_family

PROGRAMS = Path(__file__).parents[2].parent / "shared" / "bench" / "programs"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import lightgbm as lgb\nlgb.train({}, None)", "LightGBM"),
        ("from xgboost import XGBRegressor as M\nM()", "XGBoost"),
        ("from sklearn.ensemble import HistGradientBoostingClassifier as H", "histogram gradient boosting"),
        ("import torch.nn as nn\nnn.Linear(2, 3)", "neural network"),
        ("import torch\ntorch.nn.LSTM(2, 3)", "recurrent network"),
        ("from sklearn import linear_model\nlinear_model.Ridge()", "ridge or logistic regression"),
        ("from sklearn.linear_model import SGDClassifier", "linear model by gradient descent"),
        ("from sklearn.linear_model import SGDRegressor", "linear model by gradient descent"),
        ("from sklearn.linear_model import SGDRegressor, Ridge", "ridge or logistic regression"),
        ("import torch\ntorch.optim.SGD([])", "neural network"),
        ("from sklearn.dummy import DummyClassifier", "constant guess"),
        ("from sklearn.dummy import DummyRegressor\nfrom sklearn.svm import SVR", "support vector machine"),
        ("from sklearn.tree import ExtraTreeRegressor", "decision tree"),
        ("from sklearn.ensemble import ExtraTreesRegressor", "extra trees"),
        ("from sklearn.cross_decomposition import PLSRegression", "partial least squares"),
        ("from sklearn.linear_model import LassoCV", "lasso or elastic net"),
        ("from sklearn.kernel_ridge import KernelRidge", "kernel method (Gaussian process)"),
        ("from sklearn.ensemble import VotingRegressor, RandomForestRegressor", "blend"),
        ("# better than XGBRegressor\nprint('RandomForestClassifier')", ""),
        ("def broken(:\n  RandomForestClassifier()", "random forest"),
        ("print(1)", ""),
    ],
)
def test_a_program_is_known_by_the_names_it_uses(code: str, name: str) -> None:
    assert family(code) == name


def test_a_stored_program_is_read_once() -> None:
    calls = []

    def read(text):
        calls.append(text)
        return text

    for _ in range(3):
        assert stored_family("from sklearn.svm import SVR  # read once", read) == "support vector machine"
    assert len(calls) == 1


@pytest.mark.skipif(not PROGRAMS.is_dir(), reason="the shared programs are not here")
def test_ordinary_programs_have_a_family() -> None:
    found = {path.name: family(path.read_text()) for path in sorted(PROGRAMS.glob("*.py"))}
    assert all(found.values())
    assert len(set(found.values())) >= 7
