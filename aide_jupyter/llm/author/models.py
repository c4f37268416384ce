"""One member of a recipe as source: what prepares its inputs, then the model, in a pipeline."""

from __future__ import annotations

from collections.abc import Mapping

from .facts import Facts
from .families import FAMILIES, Family, Setting, searched
from .recipe import Member
from .source import Call, Expression, Imports, call, layout, literal, tupled
from .text import NAIVE_BAYES_RATIO, TEXT

_PRE = "sklearn.preprocessing."
ALL: Mapping[str, Family] = {**FAMILIES, **TEXT}

SHORT = 120
"""Seconds of time limit below which programs use half the rows and half the effort."""

EFFORTS = {"light": 0.4, "lighter": 0.15}


def family_of(member: Member) -> Family:
    """The member's family; the linear one where a tag names an unknown one."""
    return ALL.get(member.family, FAMILIES["linear"])


def setting(facts: Facts, steps: tuple[str, ...], rows: int, member: Member, probabilities: bool) -> Setting:
    """What a member is built for: less effort where rows are many or time was short, more where the recipe says so."""
    effort = min(1.0, 40_000 / max(rows, 1)) if rows > 20_000 else 1.0
    effort *= 2.0 if "more" in member.steps else 1.0
    effort *= 0.5 if facts.seconds < SHORT else 1.0
    for step, factor in EFFORTS.items():
        effort *= factor if step in steps else 1.0
    return Setting(not facts.classification, probabilities, rows, facts.classes, max(effort, 0.08))


def pipeline(facts: Facts, member: Member, use: Setting, imports: Imports) -> tuple[Call, Call]:
    """A member's pipeline, and the bare model at its end."""
    family = family_of(member)
    imports.name("sklearn.pipeline.make_pipeline")
    bare = family.build(use, imports)
    model = bare
    if "bag" in member.steps:
        kind = "BaggingRegressor" if use.regression else "BaggingClassifier"
        model = call(imports.name(f"sklearn.ensemble.{kind}"), model, "n_estimators=4", "max_samples=0.85",
                     "bootstrap=False", "random_state=SEED")  # fmt: skip
    if family.standard_target and use.regression:
        scaler = f"transformer={imports.name(_PRE + 'StandardScaler')}()"
        model = call(imports.name("sklearn.compose.TransformedTargetRegressor"), model, scaler)
    return call("make_pipeline", _prepared(facts, family, member, use, imports), model), bare


def _prepared(facts: Facts, family: Family, member: Member, use: Setting, imports: Imports) -> Call:
    """The column transformer: numbers, categories, text, and the parts that steps add."""
    parts: list[Expression] = []
    if family.represent is not None:
        parts += [tupled(family.represent(use, imports), literal(column.name)) for column in facts.text]
        nonnegative = member.family == "cnb"
        numbers = (
            f"{imports.name(_PRE + 'MinMaxScaler')}(clip=True)"
            if nonnegative
            else f"{imports.name(_PRE + 'StandardScaler')}()"
        )
        parts.append(tupled(call("make_pipeline", _imputer(member, imports), numbers), "numeric"))
        parts.append(tupled(_one_hot(facts, use, imports, dense=False), "categorical"))
        return call(imports.name("sklearn.compose.make_column_transformer"), *parts)
    if family.prepared in {"scaled", "dense"}:
        scaler = imports.name(_PRE + ("PowerTransformer" if "power" in member.steps else "StandardScaler")) + "()"
        parts.append(tupled(call("make_pipeline", _imputer(member, imports), scaler), "numeric"))
        parts.append(tupled(_one_hot(facts, use, imports, dense=family.prepared == "dense"), "categorical"))
        if "target" in member.steps:
            parts.append(
                tupled(
                    call("make_pipeline", _target(facts, imports), f"{imports.name(_PRE + 'StandardScaler')}()"),
                    "categorical",
                )
            )
    else:
        gaps = family.prepared == "native" and "flags" not in member.steps
        parts.append(tupled('"passthrough"' if gaps else _imputer(member, imports), "numeric"))
        parts.append(tupled(_target(facts, imports) if "target" in member.steps else _ordinal(imports), "categorical"))
    parts += _added(facts, member, imports)
    parts += [tupled(_words(family, imports), literal(column.name)) for column in facts.text]
    return call(imports.name("sklearn.compose.make_column_transformer"), *parts)


def _words(family: Family, imports: Imports) -> Call:
    """Text beside other columns: as words, or for models that want few dense columns as twenty topics of them."""
    if family.prepared == "scaled":
        name = imports.name("sklearn.feature_extraction.text.TfidfVectorizer")
        return call(name, "sublinear_tf=True", "max_features=5_000")
    hashed = call(imports.name("sklearn.feature_extraction.text.HashingVectorizer"), "n_features=2**12")
    topics = call(imports.name("sklearn.decomposition.TruncatedSVD"), "20", "random_state=SEED")
    return call("make_pipeline", hashed, topics)


def _added(facts: Facts, member: Member, imports: Imports) -> list[Expression]:
    """Parts that steps add from the numbers: products of the strongest, principal components, distances to clusters."""
    parts: list[Expression] = []
    scaled = ('SimpleImputer(strategy="median")', "StandardScaler()")
    if {"pairs", "pca", "clusters"} & set(member.steps):
        imports.name("sklearn.impute.SimpleImputer")
        imports.name(_PRE + "StandardScaler")
    if "pairs" in member.steps:
        score = imports.name("sklearn.feature_selection." + ("f_classif" if facts.classification else "f_regression"))
        best = call(imports.name("sklearn.feature_selection.SelectKBest"), score, "k=6")
        products = call(imports.name(_PRE + "PolynomialFeatures"), "degree=2", "include_bias=False")
        parts.append(tupled(call("make_pipeline", *scaled, best, products), "numeric"))
    if "pca" in member.steps:
        pca = call(imports.name("sklearn.decomposition.PCA"), "n_components=0.8", "random_state=SEED")
        parts.append(tupled(call("make_pipeline", *scaled, pca), "numeric"))
    if "clusters" in member.steps:
        means = call(imports.name("sklearn.cluster.KMeans"), "n_clusters=8", "n_init=3", "random_state=SEED")
        parts.append(tupled(call("make_pipeline", *scaled, means), "numeric"))
    return parts


def _imputer(member: Member, imports: Imports) -> Call:
    flags = ["add_indicator=True"] if "flags" in member.steps else []
    return call(imports.name("sklearn.impute.SimpleImputer"), 'strategy="median"', *flags)


def _one_hot(facts: Facts, use: Setting, imports: Imports, *, dense: bool) -> Call:
    rare = 10 if use.rows >= 1000 else 3
    options = [f"min_frequency={rare}", 'handle_unknown="infrequent_if_exist"']
    return call(imports.name(_PRE + "OneHotEncoder"), *options, *(["sparse_output=False"] if dense else []))


def _ordinal(imports: Imports) -> Call:
    name = imports.name(_PRE + "OrdinalEncoder")
    return call(name, 'handle_unknown="use_encoded_value"', "unknown_value=-1", "encoded_missing_value=-1")


def _target(facts: Facts, imports: Imports) -> Call:
    name = imports.name(_PRE + "TargetEncoder")
    kind = ['target_type="continuous"'] if not facts.classification else []
    if facts.sklearn < (1, 9):  # from 1.9 on the seed is given with the folds, and giving it alone is deprecated
        return call(name, *kind, "random_state=SEED")
    folds = call(imports.name("sklearn.model_selection.KFold"), "5", "shuffle=True", "random_state=SEED")
    return call(name, *kind, folds.named("cv"))


def search(facts: Facts, member: Member, variable: str, bare: Call, use: Setting, imports: Imports) -> list[str]:
    """Lines that tune a member's pipeline on folds of their own and put the best in its place."""
    family = family_of(member)
    inside = [bare.head.lower()]
    if "bag" in member.steps:
        inside = ["baggingregressor" if use.regression else "baggingclassifier", "estimator"]
    if family.standard_target and use.regression:
        inside = ["transformedtargetregressor", "regressor", *(["estimator"] if "bag" in member.steps else [])]
    ranges = {f"{'__'.join(inside)}__{name}": values for name, values in searched(family, bare).items()}
    if not ranges:
        return []
    if any("loguniform" in values for values in ranges.values()):
        imports.name("scipy.stats.loguniform")
    tries = max(4, min(12, round((6 if family.random else 12) * use.effort)))
    space = Call("", tuple(f"{literal(name)}: {values}" for name, values in ranges.items()), "{}")
    imports.name("sklearn.model_selection.RandomizedSearchCV")
    found = call("RandomizedSearchCV", variable, space, f"n_iter={tries}", f'scoring="{facts.metric.scoring}"', "cv=3",
                 "random_state=SEED")  # fmt: skip
    return [
        layout(found, "search = "),
        "search.fit(X, y)",
        f"{variable} = search.best_estimator_",
        'print("Best parameters:", search.best_params_)',
    ]


def helpers(members: tuple[Member, ...]) -> str:
    """Classes that a program must define for its members."""
    return NAIVE_BAYES_RATIO if any(member.family == "nbsvm" for member in members) else ""


def needs_class_probabilities(facts: Facts, mix: str) -> bool:
    """Whether each member must give probabilities: for the metric, or to be averaged."""
    return facts.classification and (facts.metric.need != "label" or mix != "one")
