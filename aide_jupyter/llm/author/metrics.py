"""The metrics that the author knows: how each is called in words, computed in a program, and searched for."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

Need = Literal["value", "label", "positive", "probabilities"]
_SK = "sklearn.metrics."


@dataclass(frozen=True)
class Metric:
    """A metric.

    ``expression`` computes it from ``{y}`` (truth) and ``{p}`` (what ``need`` says a model must give: a value, a label,
    the positive class's probability, all probabilities); its names are imported from ``imports``. ``scoring`` is
    scikit-learn's name of the scorer to tune by. ``log`` says that it compares logarithms.
    """

    key: str
    title: str
    need: Need
    expression: str
    imports: tuple[str, ...]
    scoring: str
    minimize: bool = False
    log: bool = False

    @property
    def regression(self) -> bool:
        """Whether it compares numbers."""
        return self.need == "value"

    @property
    def negated(self) -> bool:
        """Whether it is an error with its sign turned round, so that it is best at nought and better when higher."""
        return self.expression.startswith("-")


def _value(key: str, title: str, function: str, scoring: str, **more: bool) -> Metric:
    return Metric(key, title, "value", f"{function}({{y}}, {{p}})", (_SK + function,), scoring, **more)


def _label(key: str, title: str, function: str, scoring: str, options: str = "", **more: bool) -> Metric:
    return Metric(key, title, "label", f"{function}({{y}}, {{p}}{options})", (_SK + function,), scoring, **more)


_RMSE = "neg_root_mean_squared_error"
_ALL = (
    _value("rmse", "root mean squared error", "root_mean_squared_error", _RMSE, minimize=True),
    _value("rmsle", "root mean squared logarithmic error", "root_mean_squared_log_error", _RMSE,
           minimize=True, log=True),
    Metric(
        "log_rmse", "root mean squared error of logarithms", "value",
        "root_mean_squared_error(np.log({y}), np.log({p}))", (_SK + "root_mean_squared_error",), _RMSE, True, True,
    ),
    _value("mse", "mean squared error", "mean_squared_error", "neg_mean_squared_error", minimize=True),
    _value("mae", "mean absolute error", "mean_absolute_error", "neg_mean_absolute_error", minimize=True),
    _value("medae", "median absolute error", "median_absolute_error", "neg_median_absolute_error", minimize=True),
    _value("mape", "mean absolute percentage error", "mean_absolute_percentage_error",
           "neg_mean_absolute_percentage_error", minimize=True),
    _value("r2", "R²", "r2_score", "r2"),
    Metric("spearman", "Spearman's rank correlation", "value", "spearmanr({y}, {p}).statistic",
           ("scipy.stats.spearmanr",), "r2"),
    Metric("pearson", "Pearson's correlation", "value", "pearsonr({y}, {p}).statistic",
           ("scipy.stats.pearsonr",), "r2"),
    _label("accuracy", "accuracy", "accuracy_score", "accuracy"),
    _label("balanced_accuracy", "balanced accuracy", "balanced_accuracy_score", "balanced_accuracy"),
    _label("f1", "F1", "f1_score", "f1"),
    _label("f1_macro", "macro-averaged F1", "f1_score", "f1_macro", ', average="macro"'),
    _label("f1_micro", "micro-averaged F1", "f1_score", "f1_micro", ', average="micro"'),
    _label("f1_weighted", "weighted F1", "f1_score", "f1_weighted", ', average="weighted"'),
    _label("precision", "precision", "precision_score", "precision"),
    _label("recall", "recall", "recall_score", "recall"),
    _label("mcc", "Matthews correlation coefficient", "matthews_corrcoef", "matthews_corrcoef"),
    _label("qwk", "quadratic weighted kappa", "cohen_kappa_score", "accuracy", ', weights="quadratic"'),
    _label("zero_one_loss", "the share of wrong classes", "zero_one_loss", "accuracy", minimize=True),
    _label("kappa", "Cohen's kappa", "cohen_kappa_score", "accuracy"),
    Metric("auc", "area under the ROC curve", "positive", "roc_auc_score({y}, {p})", (_SK + "roc_auc_score",),
           "roc_auc"),
    Metric("average_precision", "average precision", "positive", "average_precision_score({y}, {p})",
           (_SK + "average_precision_score",), "average_precision"),
    Metric("brier", "Brier score", "positive", "brier_score_loss({y}, {p})", (_SK + "brier_score_loss",),
           "neg_brier_score", True),
    Metric("log_loss", "log loss", "probabilities", "log_loss({y}, {p}, labels=np.arange({p}.shape[1]))",
           (_SK + "log_loss",), "neg_log_loss", True),
)  # fmt: skip
METRICS = {metric.key: metric for metric in _ALL}

_MULTICLASS = {
    "auc": Metric("auc", "area under the ROC curve, one against the rest", "probabilities",
                  'roc_auc_score({y}, {p}, multi_class="ovr")', (_SK + "roc_auc_score",), "roc_auc_ovr"),
    "f1": METRICS["f1_macro"],
    "precision": _label("precision", "macro-averaged precision", "precision_score", "precision_macro",
                        ', average="macro", zero_division=0'),
    "recall": _label("recall", "macro-averaged recall", "recall_score", "recall_macro", ', average="macro"'),
    "average_precision": Metric("average_precision", "average precision, each class against the rest", "probabilities",
                                "average_precision_score(np.eye({p}.shape[1])[{y}], {p})",
                                (_SK + "average_precision_score",), "roc_auc_ovr"),
    "brier": Metric("brier", "Brier score, summed over the classes", "probabilities",
                    "np.mean(np.sum((np.eye({p}.shape[1])[{y}] - {p}) ** 2, axis=1))", (), "neg_log_loss", True),
}  # fmt: skip
"""The forms for more than two classes. Every form of a metric is better in the same direction."""

_USUAL = {(True, True): "rmse", (True, False): "r2", (False, True): "log_loss", (False, False): "accuracy"}
_NAMES = {"median_absolute_error": "medae", "roc_auc": "auc"}
_NEGATED = re.compile(r"neg[\s_-]+")

_LOG = (
    r"(?:logarithms?|log)\s+of\s+(?:the\s+)?(?:predict|observ|true|actual)|between\s+(?:the\s+)?log|"
    r"(?:rmse|squared?\s+error)\s+(?:of|on|in)\s+(?:the\s+)?log(?:s|arithms?|ged)?\b"
)
_WORDS = (
    ("rmsle", r"rmsle|root[\s_-]*mean[\s_-]*squared?[\s_-]*log\w*"),
    ("rmse", r"rmse|root[\s_-]*mean[\s_-]*squared?"),
    ("mape", r"s?mape|mean[\s_-]*absolute[\s_-]*percentage"),
    ("medae", r"medae|median[\s_-]*absolute"),
    ("mae", r"mae|mean[\s_-]*absolute"),
    ("mse", r"mse|mean[\s_-]*squared?"),
    ("r2", r"r2|r²|r\^2|r[\s_-]squared?|r2[\s_-]score|coefficient of determination"),
    ("spearman", r"spearman\w*"),
    ("pearson", r"pearson\w*"),
    ("qwk", r"qwk|quadratic[\s_-]*(?:weighted[\s_-]*)?(?:cohen\W*s?[\s_-]*)?kappa"),
    ("zero_one_loss", r"zero[\s_-]*one[\s_-]*loss|error[\s_-]*rate|misclassification(?:[\s_-]*(?:rate|error))?"),
    ("kappa", r"(?:cohen\W*s?[\s_-]*)?kappa"),
    ("mcc", r"mcc|matthews\w*"),
    ("log_loss", r"log[\s_-]*loss|logloss|cross[\s_-]*entropy"),
    ("average_precision", r"average[\s_-]*precision|pr[\s_-]?auc|auprc|area under the precision"),
    (
        "auc",
        r"(?:roc[\s_-]*)?auc(?:[\s_-]*roc)?|auroc|roc[\s_-]*auc[\s_-]*(?:score|ovr)|area under the (?:roc|receiver)",
    ),
    ("brier", r"brier\w*"),
    ("balanced_accuracy", r"balanced[\s_-]*accuracy"),
    ("f1_macro", r"macro[\s_-]*(?:averaged[\s_-]*)?f1|f1[\s_-]*macro"),
    ("f1_micro", r"micro[\s_-]*(?:averaged[\s_-]*)?f1|f1[\s_-]*micro"),
    ("f1_weighted", r"weighted[\s_-]*f1|f1[\s_-]*weighted"),
    ("f1", r"f1|f[\s_-]1|f1[\s_-]*score"),
    ("precision", r"precision"),
    ("recall", r"recall|sensitivity"),
    ("accuracy", r"accuracy|acc"),
)


def named(text: str) -> str | None:
    """The key of the metric that ``text`` names; the one of the longest name where it names several."""
    for key, pattern in _WORDS:
        if re.search(rf"(?<![a-z0-9])(?:{pattern})(?:[\s_-]*(?:score|error))?(?![a-z0-9])", text.lower()):
            return key
    return None


def asked(metric: str | None, words: str) -> Metric | None:
    """The metric of a task: the one of this name, or of a known name in it; where none is given, by the goal's words.

    None where these rules cannot compute it; scikit-learn's ``neg_…`` scorers keep their sign.
    """
    key = named(metric if metric else words)
    if key == "rmse" and re.search(_LOG, words):
        key = "log_rmse"
    found = METRICS[key] if key else None
    if found is not None and metric and found.minimize and _NEGATED.match(metric.lower()):
        return _negative(found)
    return found


def _negative(metric: Metric) -> Metric:
    """The same, better when higher: by its sign."""
    return replace(metric, title=f"the negative of {metric.title}", expression=f"-{metric.expression}", minimize=False)


def is_exactly(metric: str, found: Metric) -> bool:
    """Whether ``found`` is what this name stands for, and not only the nearest that these rules can compute."""
    plain = _NEGATED.sub("", metric.lower(), count=1)
    if _NAMES.get(plain, plain) == found.key:
        return True
    written = next((pattern for key, pattern in _WORDS if key == found.key.replace("log_rmse", "rmse")), "")
    return "smape" not in plain and re.fullmatch(rf"(?:{written})(?:[\s_-]*(?:score|error))?", plain) is not None


def usual(*, regression: bool, minimize: bool) -> Metric:
    """The metric that is chosen where the one that is asked for cannot be computed: better in the same direction."""
    return METRICS[_USUAL[regression, minimize]]


def for_classes(metric: Metric, binary: bool) -> Metric:
    """The form of a classification metric for two classes or for more."""
    found = metric if binary else _MULTICLASS.get(metric.key, metric)
    return _negative(found) if found.minimize and not metric.minimize else found
