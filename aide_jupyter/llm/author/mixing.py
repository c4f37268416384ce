"""The part of a program that builds its models, combines them and prints the score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import models
from .facts import Facts
from .recipe import Recipe
from .source import Call, Imports, call, layout, literal, tupled

_STEPS_OF_SELECTION = 20


@dataclass(frozen=True)
class Mixed:
    """``parts`` are the blocks of source; ``final`` gives source of the predictions for a frame of features."""

    parts: list[str]
    final: Callable[[str], str]


def mixing(facts: Facts, recipe: Recipe, rows: int, imports: Imports) -> Mixed:
    """The models of a recipe, their score, and how they predict new rows."""
    probabilities = models.needs_class_probabilities(facts, recipe.mix)
    names: list[str] = []
    parts: list[str] = []
    for member in recipe.members:
        variable = models.family_of(member).variable
        variable = variable if variable not in names else f"{variable}_{len(names) + 1}"
        names.append(variable)
        use = models.setting(facts, recipe.steps, rows, member, probabilities)
        built, bare = models.pipeline(facts, member, use, imports)
        lines = [layout(built, f"{variable} = ")]
        if "tune" in member.steps:
            lines += models.search(facts, member, variable, bare, use, imports)
        parts.append("\n".join(lines))
    score = _score(facts, recipe, probabilities, imports)
    if recipe.mix in {"one", "average"}:
        return _together(facts, recipe, names, parts, score, imports)
    return _apart(facts, recipe, names, parts, score, imports)


def _score(facts: Facts, recipe: Recipe, probabilities: bool, imports: Imports) -> str:
    """The source of ``score(predicted)``."""
    metric = facts.metric
    truth = "y[judged]" if facts.time and facts.classification else "y.iloc[judged]" if facts.time else "y"
    predicted = "predicted"
    expression = metric.expression
    if metric.log and "log" in recipe.steps:
        expression = "root_mean_squared_error({y}, {p})"
        imports.name("sklearn.metrics.root_mean_squared_error")
    else:
        for name in metric.imports:
            imports.name(name)
        if "log" in recipe.steps:
            truth, predicted = (_back(facts, one) for one in (truth, predicted))
    if recipe.mix in {"weigh", "stack"} and facts.classification:
        predicted = {"label": "predicted.argmax(axis=1)", "positive": "predicted[:, 1]"}.get(metric.need, predicted)
    body = expression.format(y=truth, p=predicted)
    title = metric.title[0].upper() + metric.title[1:]
    return f'def score(predicted):\n    """{title} on rows that were held out of training."""\n    return {body}'


def _back(facts: Facts, source: str) -> str:
    return f"np.exp({source})" if facts.log_function == "np.log" else f"np.expm1({source}).clip(min=0)"


def _held_out(facts: Facts, model: str, method: str | None, imports: Imports) -> str:
    """Source of the predictions of ``model`` for the rows that were held out."""
    if facts.time:
        return f"in_time({model})"
    imports.name("sklearn.model_selection.cross_val_predict")
    return f"cross_val_predict({model}, X, y, cv=folds{f', method={literal(method)}' if method else ''})"


def _in_time(facts: Facts, method: str | None) -> list[str]:
    if not facts.time:
        return []
    rows = "y[past]" if facts.classification else "y.iloc[past]"
    return [
        "def in_time(model):\n"
        '    """Predictions for every block but the first, each by a model of the blocks before it."""\n'
        "    return np.concatenate(\n"
        f"        [model.fit(X.iloc[past], {rows}).{method or 'predict'}(X.iloc[block]) for past, block in blocks]\n"
        "    )"
    ]


def _together(facts: Facts, recipe: Recipe, names: list[str], parts: list[str], score: str, imports: Imports) -> Mixed:
    """One model, or one that averages several."""
    method = "predict_proba" if facts.classification and facts.metric.need != "label" else None
    model = names[0]
    if recipe.mix == "average" and len(names) > 1:
        kind = "Classifier" if facts.classification else "Regressor"
        voters = Call("", tuple(tupled(literal(name), name) for name in names), "[]")
        soft = ['voting="soft"'] if facts.classification else []
        model = "model"
        parts.append(layout(call(imports.name(f"sklearn.ensemble.Voting{kind}"), voters, *soft), "model = "))
    if "cut" in recipe.steps and facts.metric.need == "label":
        tuned = imports.name("sklearn.model_selection.TunedThresholdClassifierCV")
        parts.append(f'model = {tuned}({model}, scoring="{facts.metric.scoring}", cv=3, random_state=SEED)')
        model = "model"
    pick = "[:, 1]" if facts.metric.need == "positive" else ""
    held_out = _held_out(facts, model, method, imports)
    run = [f"predicted = {held_out}{pick}", 'print(f"Validation metric: {score(predicted):.6g}")']
    final = [f"{model}.fit(X, y)"] if facts.test or facts.predict else []
    parts = [*parts, score, *_in_time(facts, method), "\n".join(run), *final]
    return Mixed(parts, lambda frame: _output(facts, recipe, f"{model}.{method or 'predict'}({frame})", chosen=False))


def _output(facts: Facts, recipe: Recipe, raw: str, *, chosen: bool) -> str:
    """Source that turns what the models give into what the submission asks for. ``chosen`` says that class
    probabilities must become labels."""
    if not facts.classification:
        return _back(facts, raw) if "log" in recipe.steps else raw
    need = facts.metric.need
    if need == "label":
        return f"encoder.inverse_transform({raw}{'.argmax(axis=1)' if chosen else ''})"
    binary = need == "positive" or (facts.kind == "binary" and not facts.wide)
    return f"{raw}[:, 1]" if binary else raw


def _apart(facts: Facts, recipe: Recipe, names: list[str], parts: list[str], score: str, imports: Imports) -> Mixed:
    """Models whose held-out predictions are weighed, or stacked under a further model."""
    method = "predict_proba" if facts.classification else None
    pairs = ", ".join(f"{literal(name)}: {name}" for name in names)
    each = _held_out(facts, "model", method, imports)
    table = [
        f"models = {{{pairs}}}",
        layout(f"{{name: {each} for name, model in models.items()}}", "held_out = "),
        "for name, predicted in held_out.items():",
        '    print(f"{name}: {score(predicted):.6g}")',
    ]
    parts = [*parts, score, *_in_time(facts, method), "\n".join(table)]
    how = _weighed(facts) if recipe.mix == "weigh" else _stacked(facts, imports)
    parts += how
    fit = ["for model in models.values():\n    model.fit(X, y)"] if facts.test or facts.predict else []
    run = method or "predict"

    def final(frame: str) -> str:
        outputs = f"{{name: model.{run}(new) for name, model in models.items()}}"
        return _output(facts, recipe, f"combined({outputs})".replace("(new)", f"({frame})"), chosen=True)

    return Mixed([*parts, *fit], final)


def _weighed(facts: Facts) -> list[str]:
    best = "min" if facts.metric.minimize else "max"
    combined = (
        "def combined(outputs):\n"
        '    """The mean of the chosen models\' outputs; a model chosen twice counts twice."""\n'
        "    return sum(outputs[name] for name in chosen) / len(chosen)"
    )
    choose = "\n".join(
        [
            "# Greedy selection with repeats (Caruana et al., 2004) on the held-out predictions alone.",
            "chosen = []",
            f"for _ in range({_STEPS_OF_SELECTION}):",
            "    scores = {}",
            "    for name in models:",
            "        members = [*chosen, name]",
            "        scores[name] = score(sum(held_out[member] for member in members) / len(members))",
            f"    chosen.append({best}(scores, key=scores.get))",
            'print("Weights:", {name: chosen.count(name) / len(chosen) for name in models})',
            'print(f"Validation metric: {score(combined(held_out)):.6g}")',
        ]
    )
    return [combined, choose]


def _stacked(facts: Facts, imports: Imports) -> list[str]:
    join = "np.hstack" if facts.classification else "np.column_stack"
    if facts.classification:
        judge = f"{imports.name('sklearn.linear_model.LogisticRegression')}(max_iter=1000)"
        run = "predict_proba"
    else:
        judge, run = f"{imports.name('sklearn.linear_model.RidgeCV')}(np.logspace(-3, 3, 13))", "predict"
    if facts.time:
        half = "y[judged]" if facts.classification else "y.iloc[judged]"
        checked = f"judge.fit(level, {half}).{run}(level)"
        note = "# The judge has few weights, so it is scored on the rows that it was fitted to."
    else:
        method = ', method="predict_proba"' if facts.classification else ""
        checked = f"cross_val_predict(judge, level, y, cv=folds{method})"
        note = "# The judge sees only held-out predictions, and is itself scored on rows held out of it."
    fitted = "y[judged]" if facts.time and facts.classification else "y.iloc[judged]" if facts.time else "y"
    lines = [
        note,
        f"level = {join}(list(held_out.values()))",
        f"judge = {judge}",
        f"predicted = {checked}",
        f"judge.fit(level, {fitted})",
        'print(f"Validation metric: {score(predicted):.6g}")',
    ]
    combined = (
        "def combined(outputs):\n"
        '    """The judge\'s answer to the outputs of the models."""\n'
        f"    return judge.{run}({join}(list(outputs.values())))"
    )
    return ["\n".join(lines), *([combined] if facts.test or facts.predict else [])]
