"""The model families for text: a representation of words or characters, and a model that suits it."""

from __future__ import annotations

from collections.abc import Callable

from .families import FAMILIES, Family, Setting
from .source import Call, Imports, call

_TEXT = "sklearn.feature_extraction.text."

NAIVE_BAYES_RATIO = '''
class NaiveBayesRatio(TransformerMixin, BaseEstimator):
    """Scales each term by its log-count ratio between the classes (Wang and Manning, 2012)."""

    def fit(self, X, y):
        y = np.asarray(y)
        positive = 1 + np.asarray(X[y == y.max()].sum(axis=0)).ravel()
        negative = 1 + np.asarray(X[y != y.max()].sum(axis=0)).ravel()
        self.ratio_ = np.log((positive / positive.sum()) / (negative / negative.sum()))
        return self

    def transform(self, X):
        return X.multiply(self.ratio_).tocsr()
'''


def _words(use: Setting, imports: Imports) -> Call:
    options = ["ngram_range=(1, 2)", "sublinear_tf=True", "max_features=100_000"]
    return call(imports.name(_TEXT + "TfidfVectorizer"), *options, *_rare(use))


def _chars(use: Setting, imports: Imports) -> Call:
    options = ['analyzer="char_wb"', "ngram_range=(2, 5)", "sublinear_tf=True", "max_features=100_000"]
    return call(imports.name(_TEXT + "TfidfVectorizer"), *options, *_rare(use))


def _single_words(use: Setting, imports: Imports) -> Call:
    return call(imports.name(_TEXT + "TfidfVectorizer"), "sublinear_tf=True", "max_features=50_000", *_rare(use))


def _hashed(use: Setting, imports: Imports) -> Call:
    return call(
        imports.name(_TEXT + "HashingVectorizer"), "n_features=2**18", "ngram_range=(1, 2)", "alternate_sign=False"
    )


def _topics(use: Setting, imports: Imports) -> Call:
    components = round((100 if use.rows >= 2000 else 30) * min(use.effort, 1))
    svd = call(imports.name("sklearn.decomposition.TruncatedSVD"), str(components), "random_state=SEED")
    return call("make_pipeline", _words(use, imports), svd)


def _rare(use: Setting) -> list[str]:
    return ["min_df=2"] if use.rows >= 200 else []


def _linear(use: Setting, imports: Imports) -> Call:
    if use.regression:
        return call(imports.name("sklearn.linear_model.Ridge"), "alpha=1.0")
    return call(imports.name("sklearn.linear_model.LogisticRegression"), "C=10.0", "max_iter=1000")


def _margin(use: Setting, imports: Imports) -> Call:
    if use.regression:
        return call(imports.name("sklearn.svm.LinearSVR"), "C=1.0", "max_iter=5000", "random_state=SEED")
    svc = call(imports.name("sklearn.svm.LinearSVC"), "C=0.5", "random_state=SEED")
    if not use.probabilities:
        return svc
    return call(imports.name("sklearn.calibration.CalibratedClassifierCV"), svc, "cv=3", "ensemble=False")


def _naive_margin(use: Setting, imports: Imports) -> Call:
    imports.name("sklearn.base.BaseEstimator")
    imports.name("sklearn.base.TransformerMixin")
    logistic = call(imports.name("sklearn.linear_model.LogisticRegression"), "C=10.0", "max_iter=1000")
    model = call("make_pipeline", "NaiveBayesRatio()", logistic)
    return model if use.classes == 2 else call(imports.name("sklearn.multiclass.OneVsRestClassifier"), model)


def _complement(use: Setting, imports: Imports) -> Call:
    return call(imports.name("sklearn.naive_bayes.ComplementNB"), "alpha=0.3")


def _sgd(use: Setting, imports: Imports) -> Call:
    kind = "SGDRegressor" if use.regression else "SGDClassifier"
    loss = [] if use.regression else ['loss="log_loss"']
    return call(imports.name(f"sklearn.linear_model.{kind}"), *loss, "alpha=0.00001", "random_state=SEED")


def _of(key: str) -> Callable[[Setting, Imports], Call]:
    return FAMILIES[key].build


_TREES, _HGB, _MLP, _KNN = (FAMILIES[key].search for key in ("trees", "hgb", "mlp", "knn"))
_C = {"C": "loguniform(0.1, 50)", "alpha": "loguniform(0.05, 20)"}
TEXT: dict[str, Family] = {
    family.key: family
    for family in (
        Family("words", "linear model on word n-grams", "words", "text", _linear, _C, 200_000,
               words=("word n-grams", "ridge or logistic"), represent=_words),
        Family("chars", "linear margin on character n-grams", "characters", "text", _margin, {"C": _C["C"]}, 60_000,
               words=("character n-grams", "support vector"), represent=_chars),
        Family("nbsvm", "linear model on naive Bayes log-count ratios", "naive_margin", "text", _naive_margin, {},
               200_000, words=("log-count", "nbsvm"), represent=_words),
        Family("cnb", "complement naive Bayes on words", "complement", "text", _complement,
               {"alpha": "loguniform(0.01, 3)"}, 200_000, words=("complement", "naive bayes"), represent=_single_words),
        Family("hash", "stochastic gradient descent on hashed words", "hashed", "text", _sgd,
               {"alpha": "loguniform(0.000001, 0.001)"}, 500_000, words=("hashed", "hashing"), represent=_hashed),
        Family("lsatrees", "extremely randomised trees on latent topics", "topic_trees", "text", _of("trees"), _TREES,
               30_000, random=True, words=("trees on latent", "extra trees"), represent=_topics),
        Family("lsahgb", "histogram gradient boosting on latent topics", "topic_boosting", "text", _of("hgb"), _HGB,
               50_000, 40, True, words=("boosting on latent", "histogram gradient"), represent=_topics),
        Family("lsamlp", "neural network on latent topics", "topic_network", "text", _of("mlp"), _MLP, 50_000,
               random=True, standard_target=True, words=("network on latent", "neural network"), represent=_topics),
        Family("lsaknn", "nearest neighbours on latent topics", "topic_neighbours", "text", _of("knn"), _KNN, 50_000,
               words=("neighbours on latent", "nearest neighbours"), represent=_topics),
    )
}  # fmt: skip
CLASSES_ONLY = frozenset({"nbsvm", "cnb"})
