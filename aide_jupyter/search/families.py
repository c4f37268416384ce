"""Which family of models a program uses, as far as its names tell: so that the next draft can be told to differ."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from ..records import Text, text_sha256

# The first that is found counts, so the list runs from the distinctive to what also serves as a helper.
_FAMILIES: tuple[tuple[str, str], ...] = (
    ("blend", r"Voting(?:Regressor|Classifier)|Stacking(?:Regressor|Classifier)"),
    ("CatBoost", r"catboost|CatBoost\w*"),
    ("LightGBM", r"lightgbm|lgb|LGBM\w*"),
    ("XGBoost", r"xgboost|xgb|XGB\w*"),
    ("histogram gradient boosting", r"HistGradientBoosting\w*"),
    ("gradient boosting", r"GradientBoosting(?:Regressor|Classifier)|AdaBoost\w*"),
    ("transformer", r"transformers|AutoModel\w*|TransformerEncoder\w*|MultiheadAttention"),
    ("recurrent network", r"LSTM|GRU|RNN|LSTMCell|GRUCell"),
    ("convolutional network", r"Conv[123]d|timm|torchvision|resnet\w*|efficientnet\w*"),
    ("neural network", r"MLP(?:Regressor|Classifier)|torch|keras|tensorflow|TabNet\w*"),
    ("random forest", r"RandomForest\w*|Bagging(?:Regressor|Classifier)"),
    ("extra trees", r"ExtraTrees\w*"),
    ("support vector machine", r"(?:Linear|Nu)?SV[CR]"),
    ("kernel method (Gaussian process)", r"KernelRidge|GaussianProcess\w*|Nystroem|RBFSampler"),
    ("nearest neighbours", r"(?:KNeighbors|RadiusNeighbors)(?:Regressor|Classifier)|NearestCentroid"),
    ("naive Bayes", r"(?:Gaussian|Multinomial|Complement|Bernoulli|Categorical)NB"),
    ("time series model", r"(?:Auto)?ARIMA|SARIMAX|ExponentialSmoothing|\w*ETS|Prophet|prophet|statsmodels"),
    ("discriminant analysis", r"(?:Linear|Quadratic)DiscriminantAnalysis"),
    ("lasso or elastic net", r"(?:Multi\w*)?(?:Lasso|ElasticNet)\w*|Lars\w*"),
    ("generalised linear model", r"(?:Poisson|Gamma|Tweedie|Quantile|Huber|TheilSen)Regressor"),
    ("ridge or logistic regression", r"(?:Bayesian)?Ridge\w*|LogisticRegression\w*|LinearRegression"),
    ("linear model by gradient descent", r"SGD(?:Classifier|Regressor)|PassiveAggressive\w+|Perceptron"),
    ("partial least squares", r"PLS(?:Regression|Canonical)"),
    ("decision tree", r"(?:Decision|Extra)Tree(?:Regressor|Classifier)"),
    ("constant guess", r"Dummy(?:Regressor|Classifier)"),
)  # fmt: skip
_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _FAMILIES)
_KNOWN: dict[str, str] = {}
_MOST_KNOWN = 4096


def family(code: str) -> str:
    """The family of the program's main model in a few words; empty where no known name occurs in its code.

    Only names count, not comments or strings.
    """
    names = _names(code)
    for title, pattern in _PATTERNS:
        if any(pattern.fullmatch(name) for name in names):
            return title
    return ""


def stored_family(code: Text, read: Callable[[Text], str]) -> str:
    """The family of a program as a record holds it. Each is parsed once, then known by its hash."""
    digest = text_sha256(code)
    if digest not in _KNOWN:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[digest] = family(read(code))
    return _KNOWN[digest]


def _names(code: str) -> set[str]:
    """Every identifier of a program, with the parts of imported modules; by pattern where it does not parse."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"[A-Za-z_]\w*", code))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.alias):
            names.update(node.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            names.update((node.module or "").split("."))
    return names
