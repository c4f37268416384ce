"""The plan of a program in words: three to five sentences, ending in the recipe's tag."""

from __future__ import annotations

from . import series
from .facts import Facts
from .models import ALL
from .recipe import Recipe

STEPS = {
    "power": "the numbers are made more normal by a power transform",
    "flags": "missing values also become flags of their own",
    "target": "categories are also encoded by the target, cross-fitted",
    "pairs": "products of the strongest numbers are added",
    "pca": "principal components of the numbers are added",
    "clusters": "distances to eight clusters of the rows are added",
    "tune": "its parameters come from a random search",
    "more": "it uses more iterations at a smaller step",
    "bag": "several fits on random parts of the rows are averaged",
    "log": "the logarithm of the target is learned, because the score or the target's long tail calls for it",
    "sums": "sums of related columns and spans between years are added",
    "cut": "the decision threshold is tuned to the metric",
    "lags": "longer lags and windows are added",
    "calendar": "parts of the date are added",
    "others": "past values of the other columns are added",
    "latin": "the files are read as Latin-1",
    "sniff": "the separator is found from the file itself",
    "skip": "lines that do not fit the header are skipped",
    "strip": "spaces around column names are removed",
    "position": "the target is found by its position",
    "find": "the training table is found by its name and size",
    "strings": "values of mixed types are read as text",
    "gaps": "columns with hardly any values are left out",
    "finite": "infinite numbers count as missing",
    "known": "rows without a target are left out",
    "number": "the target is read as a number",
    "kfold": "folds are not stratified, for some classes have too few rows",
    "light": "it is lighter, to stay within the limits",
    "lighter": "it is much lighter, to stay within the limits",
}  # fmt: skip
_MIXES = {
    "average": "The mean of {}",
    "weigh": "Weights chosen on held-out predictions combine {}",
    "stack": "A simple model on held-out predictions combines {}",
}
_ONE = {"linear": "Ridge regression", "bayes": "Bayesian ridge regression", "enet": "Elastic net"}


def title(key: str, facts: Facts) -> str:
    """A family's name in a sentence."""
    if facts.style == "series" and key in series.FAMILIES and key not in ALL:
        return series.FAMILIES[key].title
    if not facts.classification and key in _ONE:
        return _ONE[key][0].lower() + _ONE[key][1:] if key == "enet" else _ONE[key]
    named = {
        "linear": "logistic regression",
        "bayes": "naive Bayes",
        "kernel": "logistic regression on kernel features",
    }
    if facts.classification and key in named:
        return named[key]
    return ALL[key].title if key in ALL else key


def headline(facts: Facts, recipe: Recipe) -> str:
    """The models in one short sentence."""
    names = [title(key, facts) for key in recipe.families]
    if len(names) == 1:
        return names[0][0].upper() + names[0][1:] + "."
    listed = ", ".join(names[:-1]) + " and " + names[-1]
    return _MIXES.get(recipe.mix, "{}").format(listed) + "."


def describe(facts: Facts, recipe: Recipe, before: Recipe | None = None) -> str:
    """The plan without its tag: the models, what is changed or special, and how it is scored.

    Parameters
    ----------
    before
        The recipe that is improved or repaired; what is new then stands first.
    """
    sentences = [headline(facts, recipe)]
    steps = [*recipe.steps, *(step for member in recipe.members for step in member.steps)]
    old = [] if before is None else [*before.steps, *(step for member in before.members for step in member.steps)]
    new = [STEPS[step] for step in dict.fromkeys(steps) if step not in old and step in STEPS]
    kept = [STEPS[step] for step in dict.fromkeys(steps) if step in old and step in STEPS]
    if before is not None and new:
        sentences.insert(0, f"New: {'; '.join(new)}.")
    elif new:
        sentences.append(_sentence(new))
    if before is not None and not new and len(before.members) == 1 < len(recipe.members):
        sentences.insert(0, "New: it is combined with other models.")
    elif before is not None and not new and recipe.mix != before.mix:
        sentences.insert(0, "New: the way the models are combined.")
    elif before is not None and not new and len(recipe.members) > len(before.members):
        sentences.insert(0, "New: a further model beside it.")
    if kept:
        sentences.append(f"As before, {'; '.join(kept)}.")
    sentences.append(_validation(facts))
    if facts.metric_said:
        sentences.append(f"As {facts.metric_said}, it is scored by {facts.metric.title}.")
    return " ".join(sentences)


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts) + "."
    return text[0].upper() + text[1:]


def _validation(facts: Facts) -> str:
    name = facts.metric.title
    if facts.style == "series":
        return f"Scored by {name} on {facts.folds} later blocks, each forecast from what came before it."
    if facts.time:
        return f"Scored by {name} on blocks that come later than the rows they are predicted from."
    by = " in which groups stay together" if facts.group else ""
    return f"Scored by {name} on {facts.folds} folds{by}."
