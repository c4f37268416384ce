"""Metrics: their names, which way is better, and how a task's direction is found.

No model decides a direction. It comes from a flag, from a name in the table below, or from the words of the task;
where none of these says, from the kind of the target, and the task then says so.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from typing import Literal, NamedTuple

from ..errors import BadRequest
from ..records import Direction
from .reader import MetricReader

__all__ = [
    "ALIASES",
    "METRICS",
    "MetricReader",
    "Objective",
    "TargetKind",
    "canonical",
    "direction_of",
    "normalise",
    "resolve_direction",
]

TargetKind = Literal["regression", "binary", "multiclass"]

# Canonical name → aliases, as `normalise` writes them. The canonical name is an alias too.
_NUMERIC_ERRORS = {
    "rmse": ["root mean squared error", "root mean square error", "rms error", "rmsd"],
    "rmsle": [
        "root mean squared logarithmic error",
        "root mean square logarithmic error",
        "root mean squared log error",
    ],
    "nrmse": ["normalized root mean squared error", "normalised root mean squared error"],
    "mse": ["mean squared error", "mean square error", "squared error"],
    "msle": ["mean squared logarithmic error", "mean squared log error"],
    "mae": ["mean absolute error", "mean absolute deviation", "absolute error", "l1 error"],
    "median_absolute_error": ["medae", "median ae"],
    "mape": ["mean absolute percentage error", "percentage error"],
    "smape": ["symmetric mean absolute percentage error", "symmetric mape"],
    "wape": ["wmape", "weighted absolute percentage error", "weighted mean absolute percentage error"],
    "mase": ["mean absolute scaled error"],
    "rmspe": ["root mean squared percentage error", "root mean square percentage error"],
    "rmsse": ["root mean squared scaled error", "wrmsse"],
    "max_error": ["maximum error", "maximum absolute error", "maximum residual error"],
    "pinball_loss": ["pinball", "quantile loss", "mean pinball loss"],
    "crps": ["continuous ranked probability score"],
    "huber_loss": ["huber"],
    "poisson_deviance": ["mean poisson deviance"],
    "gamma_deviance": ["mean gamma deviance"],
    "tweedie_deviance": ["mean tweedie deviance"],
}
_NUMERIC_SCORES = {
    "r2": ["r2 score", "r squared", "coefficient of determination"],
    "adjusted_r2": ["adjusted r squared"],
    "explained_variance": ["explained variance score"],
    "spearman": ["spearmanr", "spearman correlation", "spearman rank correlation", "rank correlation", "spearman rho"],
    "pearson": ["pearsonr", "pearson correlation", "pearson correlation coefficient", "correlation coefficient"],
    "kendall_tau": ["kendall", "kendalltau", "kendall rank correlation"],
    "concordance_index": ["c index", "concordance", "harrell c", "harrells c"],
}
_CLASS_ERRORS = {
    "log_loss": ["logloss", "logarithmic loss", "cross entropy", "cross entropy loss", "crossentropy",
                 "binary cross entropy", "binary crossentropy", "categorical cross entropy", "categorical crossentropy",
                 "multi class log loss", "multiclass log loss", "mlogloss", "mcll", "negative log likelihood", "nll",
                 "bce"],
    "brier": ["brier score", "brier score loss", "brier loss"],
    "hamming_loss": ["hamming"],
    "hinge_loss": ["hinge"],
    "zero_one_loss": ["0 1 loss", "zero one error", "misclassification rate", "misclassification error",
                      "classification error", "error rate", "misclassification"],
    "ece": ["expected calibration error", "calibration error"],
    "eer": ["equal error rate"],
}  # fmt: skip
_CLASS_SCORES = {
    "accuracy": ["acc", "accuracy score", "classification accuracy", "categorization accuracy", "percent correct",
                 "fraction correct"],
    "balanced_accuracy": ["balanced accuracy score", "bacc", "mean per class accuracy", "average class accuracy"],
    "top_k_accuracy": ["top k accuracy", "top 1 accuracy", "top 3 accuracy", "top 5 accuracy", "top 10 accuracy"],
    "f1": ["f1 score", "f score", "f measure", "f1 measure", "f1 binary", "binary f1"],
    "f1_macro": ["macro f1", "macro f1 score", "macro averaged f1", "macro averaged f1 score", "f1 score macro"],
    "f1_micro": ["micro f1", "micro f1 score", "micro averaged f1", "micro averaged f1 score", "mean f1",
                 "mean f1 score"],
    "f1_weighted": ["weighted f1", "weighted f1 score", "f1 score weighted"],
    "f1_samples": ["samples f1"],
    "fbeta": ["f beta", "f beta score", "f2", "f2 score", "f0.5", "f0.5 score"],
    "roc_auc": ["auc", "auroc", "auc roc", "roc", "roc auc score", "area under the roc curve", "area under roc curve",
                "area under the curve", "area under the receiver operating characteristic curve", "roc auc ovr",
                "roc auc ovo", "auc score"],
    "average_precision": ["average precision score", "pr auc", "auc pr", "auprc",
                          "area under the precision recall curve", "precision recall auc", "ap score"],
    "gini": ["gini coefficient", "normalized gini", "normalised gini", "normalized gini coefficient"],
    "kappa": ["cohen kappa", "cohens kappa", "cohen s kappa", "cohen kappa score"],
    "qwk": ["quadratic weighted kappa", "quadratic kappa", "weighted kappa"],
    "mcc": ["matthews correlation coefficient", "matthews correlation", "matthews corrcoef", "phi coefficient"],
    "precision": ["precision score", "precision macro", "macro precision", "positive predictive value"],
    "recall": ["recall score", "sensitivity", "true positive rate", "recall macro", "macro recall"],
    "specificity": ["true negative rate"],
    "jaccard": ["iou", "jaccard index", "jaccard score", "intersection over union", "miou", "mean iou"],
    "dice": ["dice coefficient", "dice score", "dice similarity coefficient"],
    "youden": ["youden index", "youden j", "informedness"],
}  # fmt: skip
_OTHER_ERRORS = {
    "perplexity": ["ppl"],
    "wer": ["word error rate"],
    "cer": ["character error rate"],
    "edit_distance": ["levenshtein", "levenshtein distance", "mean levenshtein distance"],
    "davies_bouldin": ["davies bouldin index", "davies bouldin score"],
    "fid": ["frechet inception distance"],
    "kl_divergence": ["kullback leibler divergence", "kld"],
    "haversine_distance": ["mean haversine distance"],
}
_OTHER_SCORES = {
    "map": ["mean average precision"],
    "ndcg": ["dcg", "normalized discounted cumulative gain", "normalised discounted cumulative gain", "ndcg score"],
    "mrr": ["mean reciprocal rank", "reciprocal rank"],
    "hit_rate": ["hit ratio", "hits", "hit"],
    "bleu": ["bleu score", "sacrebleu"],
    "rouge": ["rouge 1", "rouge 2", "rouge l", "rouge score"],
    "meteor": ["meteor score"],
    "exact_match": ["exact match ratio", "em score"],
    "silhouette": ["silhouette score", "silhouette coefficient"],
    "calinski_harabasz": ["calinski harabasz score", "calinski harabasz index"],
    "adjusted_rand": ["ari", "adjusted rand index", "adjusted rand score", "rand index"],
    "nmi": ["normalized mutual information", "normalised mutual information", "mutual information"],
    "v_measure": ["v measure score"],
    "psnr": ["peak signal to noise ratio"],
    "ssim": ["structural similarity", "structural similarity index"],
    "sharpe_ratio": ["sharpe"],
}

_TABLES: tuple[tuple[dict[str, list[str]], Direction, str], ...] = (
    (_NUMERIC_ERRORS, "minimize", "numbers"),
    (_NUMERIC_SCORES, "maximize", "numbers"),
    (_CLASS_ERRORS, "minimize", "classes"),
    (_CLASS_SCORES, "maximize", "classes"),
    (_OTHER_ERRORS, "minimize", "any"),
    (_OTHER_SCORES, "maximize", "any"),
)
METRICS: dict[str, Direction] = {name: direction for table, direction, _ in _TABLES for name in table}
"""Canonical name → which way is better."""
_OF = {name: of for table, _, of in _TABLES for name in table}
ALIASES: dict[str, str] = {
    alias: name
    for table, _, _ in _TABLES
    for name, others in table.items()
    for alias in (name.replace("_", " "), *others)
}
"""Every spelling that is known, as :func:`normalise` writes it → canonical name."""
_NAMED = re.compile(
    rf"(?<![a-z0-9.])(?:{'|'.join(map(re.escape, sorted(ALIASES, key=len, reverse=True)))})(?![a-z0-9])"
)

# Ordinary words of a goal ("precision medicine", "product recall", "map the risk", "a hit"): in a goal they are a
# metric only right after a word that asks for one.
_ORDINARY = {
    "map", "precision", "recall", "dice", "hit", "hits", "hit rate", "acc", "roc", "hinge", "hamming", "kendall",
    "huber", "concordance", "sensitivity", "specificity", "meteor", "rouge", "ari", "em score", "sharpe",
    "mutual information", "correlation coefficient", "perplexity", "squared error", "absolute error", "gini",
    "f2", "bce", "misclassification",
}  # fmt: skip
_ASKED_FOR = re.compile(
    r"(?:\b(?:evaluat\w+|measur\w+|scor\w+|judged|metric|maximi[sz]\w+|minimi[sz]\w+|optimi[sz]\w+|high\w*|best|good|low\w*)"
    r"\b(?: \w+){0,2} ?:?)\s*$"
)
# Of several names the one that is said to be the metric counts, else the first ("predict error rates. Metric: R2").
_SAID_TO_BE = re.compile(
    r"\b(?:evaluat\w+|scor\w+|judged|metric)\b(?: (?:is|are|by|with|on|as|using|the|a|an)){0,3} ?:? ?$"
)
_LOWER = re.compile(
    r"\b(?:minimi[sz]\w*|(?:lower|smaller|less) (?:is|are|means) better|lowest|as (?:low|small) as possible)\b"
)
_HIGHER = re.compile(
    r"\b(?:maximi[sz]\w*|(?:higher|larger|more|greater) (?:is|are|means) better|highest|as high as possible)\b"
)
_GENERIC = (
    r"(?:error|errors|loss|losses|deviance|deviation|distance|residuals|penalty|score|metric|likelihood|correlation)\b"
)
_VERB_IN_GOAL = re.compile(rf"\b(minimi[sz]\w*|maximi[sz]\w*)\b(?: \w+){{0,4}} {_GENERIC}")
_GENERIC_ERROR = re.compile(r"\b(?:error|errors|loss|deviance|deviation|distance|penalty|divergence)\b")
_GENERIC_SCORE = re.compile(r"\b(?:score|accuracy|auc|gain|correlation|likelihood|similarity|agreement)\b")


class Objective(NamedTuple):
    """What a run optimises: the metric where one is named, which way is better, and who says so, in words."""

    metric: str | None
    direction: Direction
    source: str


def normalise(text: str) -> str:
    """Metric names as the table spells them: lower case, one space between words, no ``@k``, ``R²`` as ``r2``."""
    text = unicodedata.normalize("NFKC", text).lower().replace("^", "").replace("’", "").replace("'", "")
    text = re.sub(r"\s?@\s?(?:k\b|\d[\d.:]*)", " ", text)
    return re.sub(r"[\s_\-–—/]+", " ", text).strip()


def canonical(name: str) -> str | None:
    """The table's name for ``name``; None where it is not known. scikit-learn's ``neg_…`` scorers keep their sign."""
    plain = normalise(name)
    found = ALIASES.get(plain)
    if found is None and plain.startswith("neg "):
        found = ALIASES.get(plain.removeprefix("neg "))
        return f"neg_{found}" if found is not None and METRICS[found] == "minimize" else None
    return found


def direction_of(metric: str) -> Direction | None:
    """Which way is better for a canonical name; None where the table does not know it."""
    return "maximize" if metric.startswith("neg_") else METRICS.get(metric)


def resolve_direction(
    metric: str | None = None,
    goal: str = "",
    evaluation: str | None = None,
    explicit: Direction | None = None,
    target_kind: TargetKind | None = None,
) -> Objective:
    """Which metric a run optimises and which way is better.

    The first that says wins: the flag ``--minimize`` or ``--maximize``; the name given by ``--metric``; the words of
    the evaluation; the words of the goal; the kind of the target.

    Parameters
    ----------
    metric
        What ``--metric`` said, in any known spelling, or a name of one's own.
    goal, evaluation
        The person's words. A goal is mostly about other things, so an ordinary word in it (“recall”, “loss”) counts
        only where it is asked for as a metric.
    explicit
        The flag, where one was given.
    target_kind
        What the target column holds; None where no target is known.

    Raises
    ------
    BadRequest
        Where nothing says which way is better.
    """
    texts = [("evaluation", normalise(evaluation or "")), ("goal", normalise(goal))]
    name, said_by = _named(metric, texts, target_kind)
    known = None if name is None else direction_of(name)
    if explicit is not None:
        note = f"; the table says that {name} is {known}d" if known is not None and known != explicit else ""
        return Objective(name, explicit, f"as asked{note}")
    if known is not None:
        return Objective(name, known, f"{name}, {said_by}")
    from_words = _in_words(metric, texts)
    if from_words is not None:
        return Objective(name, *from_words)
    if metric is not None:
        near = difflib.get_close_matches(normalise(metric), ALIASES, n=3)
        meant = f" Names that look like it: {', '.join(sorted({ALIASES[one] for one in near}))}." if near else ""
        raise BadRequest(
            f"The metric “{name}” is not in the table of known ones, and nothing says which way is better.",
            f"Give --minimize or --maximize.{meant}",
        )
    if target_kind is None:
        raise BadRequest(
            "Neither the goal nor the evaluation names a metric, and no target column is known to choose one by.",
            "Give --metric (for example rmse), or --minimize or --maximize, or name the target column with --target.",
        )
    if target_kind == "regression":
        return Objective("rmse", "minimize", "the default for a numeric target; nothing in the task names a metric")
    classes = "two classes" if target_kind == "binary" else "classes"
    return Objective(
        "accuracy", "maximize", f"the default for a target of {classes}; nothing in the task names a metric"
    )


def _named(metric: str | None, texts: list[tuple[str, str]], target_kind: TargetKind | None) -> tuple[str | None, str]:
    """The metric, by its canonical name where it has one, and where it is named."""
    if metric is not None:
        return canonical(metric) or " ".join(metric.split()), "as asked"
    for where, text in texts:
        first = None
        for found in _NAMED.finditer(text):
            name, before = ALIASES[found.group()], text[: found.start()]
            if where == "goal":
                if target_kind == "regression" and _OF[name] == "classes":
                    continue
                if found.group() in _ORDINARY and not _ASKED_FOR.search(before):
                    continue
            if _SAID_TO_BE.search(before):
                return name, f"named in the {where}"
            first = first or name
        if first is not None:
            return first, f"named in the {where}"
    return None, ""


def _in_words(metric: str | None, texts: list[tuple[str, str]]) -> tuple[Direction, str] | None:
    """Which way is better by the words around a metric that the table does not know, or that has no name."""
    (_, evaluation), (_, goal) = texts
    own = normalise(metric or "")
    for text, where in ((evaluation, "in the evaluation"), (own, "in the metric's name")):
        lower, higher = bool(_LOWER.search(text)), bool(_HIGHER.search(text))
        if lower != higher:
            return ("minimize", f"words {where}") if lower else ("maximize", f"words {where}")
        if where == "in the metric's name" and (inner := list(_NAMED.finditer(text))):
            name = ALIASES[inner[-1].group()]
            return METRICS[name], f"{name}, a part of the metric's name"
        if _GENERIC_ERROR.search(text) and not higher:
            return "minimize", f"an error or loss {where}"
        if _GENERIC_SCORE.search(text) and not lower:
            return "maximize", f"a score {where}"
    if verb := _VERB_IN_GOAL.search(goal):
        return ("minimize" if verb.group(1).startswith("min") else "maximize"), "words in the goal"
    return None
