"""The model families for tables: how each is built, what its inputs must look like, and where it is searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from .source import Call, Expression, Imports, call

Prepared = Literal["scaled", "dense", "ordinal", "native", "text"]
_ENSEMBLE = "sklearn.ensemble."
_LINEAR = "sklearn.linear_model."
_SEED = "random_state=SEED"


@dataclass(frozen=True)
class Setting:
    """What a model is built for. ``effort`` scales the number of trees and the like: 1 as usual, less where time or
    rows are a problem, 2 for the step ``more``."""

    regression: bool
    probabilities: bool
    rows: int
    classes: int | None
    effort: float

    def count(self, usual: int, least: int = 20) -> int:
        """A number of trees or iterations, scaled and round."""
        return max(least, round(usual * self.effort / 10) * 10)

    def for_classes(self, usual: int) -> int:
        """A number of iterations, fewer where each fits one tree for each of many classes."""
        return usual if self.regression or not self.classes else max(60, usual * 2 // max(self.classes, 2))


@dataclass(frozen=True)
class Family:
    """A family of models.

    ``title`` names it in a plan, and ``variable`` in a program. ``prepared`` is the form of input: scaled and one-hot
    (``scaled``, or ``dense`` where sparse input is not accepted), ordinal codes without gaps (``ordinal``), or ordinal
    codes with gaps (``native``). ``search`` maps parameters to source of lists or distributions. ``most`` is the
    largest number of training rows that it is given; ``classes`` the largest number of classes. ``represent`` turns
    text into numbers, for the families that are made for text.
    """

    key: str
    title: str
    variable: str
    prepared: Prepared
    build: Callable[[Setting, Imports], Call]
    search: Mapping[str, str]
    most: int
    classes: int = 1000
    random: bool = False
    standard_target: bool = False
    words: tuple[str, ...] = ()
    represent: Callable[[Setting, Imports], Call] | None = None


def _linear(use: Setting, imports: Imports) -> Call:
    if use.regression:
        return call(imports.name(_LINEAR + "Ridge"), "alpha=10")
    return call(imports.name(_LINEAR + "LogisticRegression"), "C=0.3", "max_iter=1000")


def _enet(use: Setting, imports: Imports) -> Call:
    if use.regression:
        return call(imports.name(_LINEAR + "ElasticNet"), "alpha=0.003", "l1_ratio=0.5", "max_iter=5000")
    loss = '"log_loss"'
    return call(
        imports.name(_LINEAR + "SGDClassifier"),
        f"loss={loss}",
        'penalty="elasticnet"',
        "alpha=0.001",
        "l1_ratio=0.3",
        _SEED,
    )


def _hgb(use: Setting, imports: Imports) -> Call:
    name = imports.name(
        _ENSEMBLE + ("HistGradientBoostingRegressor" if use.regression else "HistGradientBoostingClassifier")
    )
    leaf = "min_samples_leaf=10" if use.rows >= 500 else "min_samples_leaf=5"
    rate = "learning_rate=0.03" if use.effort > 1 else "learning_rate=0.06"
    return call(
        name, f"max_iter={use.count(use.for_classes(250))}", rate, "max_leaf_nodes=15", leaf, "l2_regularization=1.0",
        "max_features=0.3", "early_stopping=False", _SEED,
    )  # fmt: skip


def _gbm(use: Setting, imports: Imports) -> Call:
    name = imports.name(_ENSEMBLE + ("GradientBoostingRegressor" if use.regression else "GradientBoostingClassifier"))
    rate = "learning_rate=0.025" if use.effort > 1 else "learning_rate=0.05"
    return call(
        name, f"n_estimators={use.count(use.for_classes(400))}", rate, "max_depth=4", "subsample=0.7",
        "max_features=0.2", _SEED,
    )  # fmt: skip


def _trees(kind: str) -> Callable[[Setting, Imports], Call]:
    def build(use: Setting, imports: Imports) -> Call:
        name = imports.name(f"{_ENSEMBLE}{kind}{'Regressor' if use.regression else 'Classifier'}")
        features = ["max_features=0.33"] if use.regression else []
        leaf = ["min_samples_leaf=2"] if use.rows >= 500 else []
        return call(name, f"n_estimators={use.count(250)}", *features, *leaf, "n_jobs=-1", _SEED)

    return build


def _svm(use: Setting, imports: Imports) -> Call:
    if use.regression:
        return call(imports.name("sklearn.svm.SVR"), "C=1.0", "epsilon=0.1", 'gamma="auto"')
    svc = call(imports.name("sklearn.svm.SVC"), "C=2.0", 'gamma="auto"')
    if not use.probabilities:
        return svc
    return call(imports.name("sklearn.calibration.CalibratedClassifierCV"), svc, "cv=3", "ensemble=False")


def _knn(use: Setting, imports: Imports) -> Call:
    name = imports.name("sklearn.neighbors." + ("KNeighborsRegressor" if use.regression else "KNeighborsClassifier"))
    return call(name, f"n_neighbors={10 if use.rows >= 200 else 5}", 'weights="distance"')


def _mlp(use: Setting, imports: Imports) -> Call:
    name = imports.name("sklearn.neural_network." + ("MLPRegressor" if use.regression else "MLPClassifier"))
    return call(
        name, "hidden_layer_sizes=(64,)", "alpha=3.0", "learning_rate_init=0.003", f"max_iter={use.count(60)}",
        "n_iter_no_change=50", _SEED,
    )  # fmt: skip


def _kernel(use: Setting, imports: Imports) -> Call:
    if use.regression:
        return call(imports.name("sklearn.kernel_ridge.KernelRidge"), "alpha=0.3", 'kernel="rbf"', "gamma=0.001")
    return call(
        "make_pipeline",
        call(imports.name("sklearn.kernel_approximation.Nystroem"), "gamma=0.005", "n_components=200", _SEED),
        call(imports.name(_LINEAR + "LogisticRegression"), "C=3.0", "max_iter=1000"),
    )


def _bayes(use: Setting, imports: Imports) -> Call:
    if use.regression:
        return call(imports.name(_LINEAR + "BayesianRidge"))
    return call(imports.name("sklearn.naive_bayes.GaussianNB"), "var_smoothing=0.01")


_UNIFORM = "loguniform({}, {})"
FAMILIES: dict[str, Family] = {
    family.key: family
    for family in (
        Family("linear", "linear model with an L2 penalty", "linear", "scaled", _linear,
               {"alpha": _UNIFORM.format(0.5, 200), "C": _UNIFORM.format(0.01, 10)}, 200_000,
               words=("ridge", "logistic", "linear regression", "linear model with an l2")),
        Family("hgb", "histogram gradient boosting", "boosting", "native", _hgb,
               {"learning_rate": _UNIFORM.format(0.02, 0.15), "max_leaf_nodes": "[7, 15, 31]",
                "min_samples_leaf": "[5, 10, 20, 40]", "l2_regularization": _UNIFORM.format(0.1, 30),
                "max_features": "[0.15, 0.3, 0.6]"}, 200_000, 40, True,
               words=("hist", "lightgbm", "lgbm", "catboost")),
        Family("trees", "extremely randomised trees", "extra_trees", "ordinal", _trees("ExtraTrees"),
               {"max_features": "[0.2, 0.33, 0.5, 0.8]", "min_samples_leaf": "[1, 2, 4]"}, 25_000, random=True,
               words=("extra trees", "extratrees", "extremely random")),
        Family("svm", "support vector machine", "svm", "scaled", _svm,
               {"C": _UNIFORM.format(0.2, 20), "gamma": _UNIFORM.format(0.0005, 0.03)}, 8_000, 60,
               standard_target=True, words=("support vector", "svr", "svc", "svm")),
        Family("gbm", "gradient boosting", "gradient_boosting", "ordinal", _gbm,
               {"learning_rate": _UNIFORM.format(0.02, 0.1), "max_depth": "[3, 4, 5]",
                "max_features": "[0.1, 0.2, 0.4]",
                "min_samples_leaf": "[1, 3, 8]"}, 20_000, 12, True,
               words=("gradientboosting", "gradient boosting", "xgb")),
        Family("mlp", "neural network", "network", "scaled", _mlp,
               {"alpha": _UNIFORM.format(0.1, 10), "hidden_layer_sizes": "[(32,), (64,), (64, 32)]"}, 30_000,
               random=True, standard_target=True, words=("mlp", "neural", "perceptron")),
        Family("forest", "random forest", "forest", "ordinal", _trees("RandomForest"),
               {"max_features": "[0.2, 0.33, 0.5]", "min_samples_leaf": "[1, 2, 4]"}, 15_000, random=True,
               words=("random forest", "randomforest")),
        Family("kernel", "kernel ridge", "kernel", "scaled", _kernel,
               {"alpha": _UNIFORM.format(0.03, 3), "gamma": _UNIFORM.format(0.0003, 0.01)}, 6_000, 100,
               standard_target=True, words=("kernel ridge", "kernelridge", "nystroem", "gaussian process")),
        Family("knn", "nearest neighbours", "neighbours", "scaled", _knn,
               {"n_neighbors": "[3, 5, 8, 12, 20, 35]", "p": "[1, 2]"}, 30_000,
               words=("neighbo", "knn")),
        Family("enet", "linear model with L1 and L2 penalties", "elastic_net", "scaled", _enet,
               {"alpha": _UNIFORM.format(0.0003, 0.1), "l1_ratio": "[0.1, 0.3, 0.5, 0.9]"}, 200_000,
               standard_target=True, words=("elastic", "lasso", "l1 and l2")),
        Family("bayes", "Bayesian model", "bayes", "dense", _bayes,
               {"var_smoothing": _UNIFORM.format(0.0001, 0.3)}, 100_000,
               words=("naive bayes", "bayes", "gaussiannb")),
    )
}  # fmt: skip


def suited(rows: int, classes: int | None) -> list[str]:
    """The families for a task, in the order in which drafts try them: simple first, then the likely best.

    Kernels come last where there are many rows, for they see only a sample of them.
    """
    able = [family for family in FAMILIES.values() if (classes or 2) <= family.classes]
    return [family.key for family in sorted(able, key=lambda family: family.most < rows / 3)]


def recognised(text: str) -> list[str]:
    """The families whose names or classes occur in a plan, a program or a list of families, without repeats."""
    plain = text.lower()
    found = [key for key, family in FAMILIES.items() if any(word in plain for word in family.words)]
    if "histgradient" in plain.replace(" ", "") or "histogram gradient" in plain:
        rest = plain.replace("histgradientboosting", "").replace("histogram gradient boosting", "")
        if not any(word in rest for word in FAMILIES["gbm"].words):
            found = [key for key in found if key != "gbm"]
    return found


def searched(family: Family, built: Expression) -> dict[str, str]:
    """The parameters of ``family.search`` that this model has, by the name that it was built with or may be given."""
    head = built.head if isinstance(built, Call) else ""
    allowed = {
        "Ridge": {"alpha"}, "LogisticRegression": {"C"}, "SVC": {"C", "gamma"}, "SVR": {"C", "gamma"},
        "KernelRidge": {"alpha", "gamma"}, "SGDClassifier": {"alpha", "l1_ratio"}, "GaussianNB": {"var_smoothing"},
        "make_pipeline": set(), "CalibratedClassifierCV": set(), "BayesianRidge": set(),
    }.get(head)  # fmt: skip
    return {name: values for name, values in family.search.items() if allowed is None or name in allowed}
