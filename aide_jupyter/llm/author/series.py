"""Writes a forecast of a series: features from the past alone, and a validation that repeats what is asked.

Every model forecasts the change from the last known value. A test table of n rows asks for 1 to n rows ahead, so the
models learn from examples of all those distances, and each validation block is forecast from its own beginning.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from . import reading
from .facts import Facts
from .families import FAMILIES as TABULAR
from .families import Family, Setting
from .recipe import Member, Recipe, mixed
from .source import Call, Imports, call, flat, layout, literal, literals, tupled

_MOST_ROWS = 50_000
_SEASONAL = "change since a season ago"


def _naive(use: Setting, imports: Imports) -> Call:
    return call(imports.name("sklearn.dummy.DummyRegressor"), 'strategy="constant"', "constant=0.0")


def _drift(use: Setting, imports: Imports) -> Call:
    return call(imports.name("sklearn.dummy.DummyRegressor"), 'strategy="mean"')


def _seasonal(use: Setting, imports: Imports) -> Call:
    imports.name("sklearn.pipeline.make_pipeline")
    chosen = call(imports.name("sklearn.compose.make_column_transformer"), tupled('"passthrough"', f'["{_SEASONAL}"]'))
    return call("make_pipeline", chosen, f"{imports.name('sklearn.linear_model.LinearRegression')}()")


FAMILIES: dict[str, Family] = {
    family.key: family
    for family in (
        Family("naive", "last known value", "last_value", "native", _naive, {}, _MOST_ROWS),
        *(TABULAR[key] for key in ("linear", "hgb")),
        Family("seasonal", "value a season ago, shrunk", "seasonal", "native", _seasonal, {}, _MOST_ROWS),
        *(TABULAR[key] for key in ("trees", "svm", "gbm", "knn", "mlp", "forest", "kernel")),
        Family("drift", "mean drift", "drift", "native", _drift, {}, _MOST_ROWS),
    )
}


def changes(parent: Recipe, left: int) -> Iterable[Recipe]:
    """Changes to a forecast, most promising first; combinations early where few steps are left."""
    if len(parent.members) == 1:
        first = parent.members[0]
        partner = "naive" if first.family not in {"naive", "drift"} else "linear"
        if left <= 3:
            yield mixed([first, Member(partner)], "average", parent.steps)
        for step in ("lags", "calendar", "others"):
            if step not in parent.steps and first.family not in {"naive", "drift", "seasonal"}:
                yield parent.having(step)
        yield mixed([first, Member(partner)], "average", parent.steps)
        if TABULAR.get(first.family) and TABULAR[first.family].random and "bag" not in first.steps:
            yield parent.with_member(0, first.having("bag"))
    for key in ("linear", "trees", "hgb", "svm", "naive", "seasonal"):
        if key not in parent.families and len(parent.members) < 4:
            yield mixed([*parent.members, Member(key)], "average", parent.steps)
    for step in ("lags", "calendar", "others"):
        if step not in parent.steps:
            yield parent.having(step)
    for position, member in enumerate(parent.members):
        if TABULAR.get(member.family) and TABULAR[member.family].random and "bag" not in member.steps:
            yield parent.with_member(position, member.having("bag"))


def program(facts: Facts, recipe: Recipe, plan: str) -> str:
    """The whole program; ``plan`` becomes its docstring."""
    imports = Imports()
    imports.name("pathlib.Path")
    imports.module("numpy", "np")
    imports.module("pandas", "pd")
    imports.name("sklearn.model_selection.TimeSeriesSplit")
    blocks = [
        _constants(facts, recipe),
        _read(facts, recipe),
        _known(facts, recipe),
        _examples(facts, recipe),
        _forecast(facts),
        *_models(facts, recipe, imports),
        _validate(facts, recipe, imports),
        _submit(facts, recipe),
    ]
    words = textwrap.fill(plan, 96)
    text = "\n\n".join(block for block in blocks if block)
    return f'"""{words}\n\nRecipe: {recipe.tag}\n"""\n\n{imports.text()}\n\n{text}\n'


def _constants(facts: Facts, recipe: Recipe) -> str:
    ahead = facts.test.rows or 1 if facts.test else 1
    blocks = facts.folds
    while blocks > 2 and ahead * (blocks + 1) > facts.rows:
        blocks -= 1
    long = "lags" in recipe.steps
    lines = ['INPUT = Path("input")', 'WORKING = Path("working")']
    if reading.reads_by_name(facts, recipe.steps):
        lines.append(f"TARGET = {reading.target(facts, recipe.steps)}")
    lines += [f"ID = {literal(facts.id_name)}"] if facts.id_name else []
    lines += [f"TIME = {literal(facts.time)}", f"SEED = {facts.seed}", f"BLOCKS = {blocks}"]
    lines.append(f"SEASON = {facts.season}  # rows")
    lines.append(f"LAGS = {'(1, 2, 3, 4, 5, 6, 7, 10, 14, 21, 28, 56, 91)' if long else '(1, 2, 3, 7, 14, 28)'}")
    lines.append(f"WINDOWS = {'(3, 7, 14, 28, 91)' if long else '(7, 28)'}")
    return "\n".join(lines)


def _read(facts: Facts, recipe: Recipe) -> str:
    lines = [f"train = {reading.read(facts.train, facts, recipe.steps)}"]
    if facts.test:
        lines.append(f"test = {reading.read(facts.test, facts, recipe.steps)}")
    if not reading.reads_by_name(facts, recipe.steps):
        lines.append(f"TARGET = {reading.target(facts, recipe.steps)}")
    if facts.test and facts.id_name in {None, facts.time}:
        lines.append("keys = test[TIME]")
    for frame in ("train", *(["test"] if facts.test else [])):
        lines.append(f"{frame}[TIME] = pd.to_datetime({frame}[TIME])")
    if facts.gaps or "known" in recipe.steps:
        lines.append("train = train.dropna(subset=[TARGET])")
    cut = f".tail({_MOST_ROWS})" if facts.rows > _MOST_ROWS else ""
    lines.append(f"train = train.sort_values(TIME){cut}")
    if facts.test:
        lines.append("test = test.sort_values(TIME)")
        lines.append('data = pd.concat([train, test.drop(columns=TARGET, errors="ignore")], ignore_index=True)')
    else:
        lines.append("data = train.reset_index(drop=True)")
    return "\n".join(lines)


def _known(facts: Facts, recipe: Recipe) -> str:
    level = f"{facts.log_function}(data[TARGET])" if "log" in recipe.steps else "data[TARGET].astype(float)"
    lines = [
        "# What is known at the end of each row. The forecast of a later row uses nothing else but its date.",
        f"level = {level}",
        "known = pd.DataFrame(",
        '    {f"change over {lag}": level.diff(lag) for lag in LAGS}',
        '    | {f"gap to mean of {w}": level.rolling(w, min_periods=1).mean() - level for w in WINDOWS}',
        '    | {f"spread of {w}": level.diff().rolling(w, min_periods=2).std() for w in WINDOWS}',
        ")",
    ]
    if "others" in recipe.steps:
        lines.append('for name in train.select_dtypes("number").columns.difference([TARGET]):')
        lines.append("    typical = data[name].rolling(28, min_periods=1).mean()")
        lines.append('    known[f"{name} against its mean"] = data[name] / typical - 1')
    lines.append("known = known.replace([np.inf, -np.inf], np.nan).fillna(0.0)")
    lines.append("level = level.to_numpy()")
    return "\n".join(lines)


def _examples(facts: Facts, recipe: Recipe) -> str:
    lines = [
        "def examples(targets, ahead):",
        '    """Features of the rows `targets`, as they are known `ahead` rows before each."""',
        "    rows = known.iloc[targets - ahead].reset_index(drop=True)",
        "    season_ago = np.maximum(targets - SEASON * np.ceil(ahead / SEASON).astype(int), 0)",
        f'    rows["{_SEASONAL}"] = level[season_ago] - level[targets - ahead]',
    ]
    if facts.test:
        lines.append('    rows["rows ahead"] = ahead')
    if "calendar" in recipe.steps:
        lines.append("    when = data[TIME].dt")
        lines.append('    for part in ("month", "day", "day_of_week", "hour"):')
        lines.append("        rows[part] = getattr(when, part).to_numpy()[targets]")
    if facts.known:
        lines.append(f"    for name in {flat(literals(facts.known))}:")
        lines.append('        rows[name] = pd.to_numeric(data[name], errors="coerce").fillna(0.0).to_numpy()[targets]')
    return "\n" + "\n".join([*lines, "    return rows"])


def _forecast(facts: Facts) -> str:
    if facts.test:
        draw = "np.minimum(np.random.default_rng(SEED).integers(1, len(test) + 1, len(past)), past)"
        ahead = "np.arange(1, len(block) + 1)"
    else:
        draw, ahead = "np.ones(len(past), dtype=int)", "np.ones(len(block), dtype=int)"
    return "\n" + "\n".join(
        [
            "def forecast(model, past, block):",
            '    """The level of each row in `block`, by a model of the rows in `past`."""',
            f"    ahead = {draw}",
            "    model.fit(examples(past, ahead), level[past] - level[past - ahead])",
            f"    ahead = {ahead}",
            "    return level[block - ahead] + model.predict(examples(block, ahead))",
        ]
    )


def _models(facts: Facts, recipe: Recipe, imports: Imports) -> list[str]:
    found, names = [], []
    for position, member in enumerate(recipe.members):
        family = FAMILIES.get(member.family, TABULAR["linear"])
        use = Setting(True, False, facts.rows, None, min(1.0, 8_000 / facts.rows) if facts.rows > 8_000 else 1.0)
        model = family.build(use, imports)
        if "bag" in member.steps:
            model = call(imports.name("sklearn.ensemble.BaggingRegressor"), model, "n_estimators=5", "max_samples=0.8",
                         "bootstrap=False", "random_state=SEED")  # fmt: skip
        if family.standard_target:
            scaler = imports.name("sklearn.preprocessing.StandardScaler")
            model = call(imports.name("sklearn.compose.TransformedTargetRegressor"), model, f"transformer={scaler}()")
        if family.prepared == "scaled":
            imports.name("sklearn.pipeline.make_pipeline")
            model = call("make_pipeline", f"{imports.name('sklearn.preprocessing.StandardScaler')}()", model)
        names.append(family.variable if family.variable not in names else f"{family.variable}_{position + 1}")
        found.append(layout(model, f"{names[-1]} = "))
    found[0] = "\n" + found[0]
    if len(names) == 1:
        return [*found[:-1], f"{found[-1]}\nmodel = {names[0]}"]
    voters = Call("", tuple(tupled(literal(name), name) for name in names), "[]")
    return [*found, layout(call(imports.name("sklearn.ensemble.VotingRegressor"), voters), "model = ")]


def _back(facts: Facts, recipe: Recipe, source: str) -> str:
    if "log" not in recipe.steps:
        return source
    return f"np.exp({source})" if facts.log_function == "np.log" else f"np.expm1({source}).clip(min=0)"


def _validate(facts: Facts, recipe: Recipe, imports: Imports) -> str:
    for name in facts.metric.imports:
        imports.name(name)
    size = ", test_size=min(len(test), len(train) // (BLOCKS + 1))" if facts.test else ""
    score = facts.metric.expression.format(y="actual", p="predicted")
    return "\n".join(
        [
            "actual, predicted = [], []",
            f"for past, block in TimeSeriesSplit(BLOCKS{size}).split(train):",
            "    actual.append(data[TARGET].to_numpy()[block])",
            f"    predicted.append({_back(facts, recipe, 'forecast(model, past[1:], block)')})",
            "actual, predicted = np.concatenate(actual), np.concatenate(predicted)",
            f'print(f"Validation metric: {{{score}:.6g}}")',
        ]
    )


def _submit(facts: Facts, recipe: Recipe) -> str:
    if not facts.test:
        return ""
    values = _back(facts, recipe, "forecast(model, np.arange(1, len(train)), np.arange(len(train), len(data)))")
    key = "TIME: keys[test.index]" if facts.id_name in {None, facts.time} else "ID: test[ID]"
    name = literal(facts.asked_name) if facts.asked_name else "TARGET"
    return "\n".join(
        [
            f"values = {values}",
            f"submission = pd.DataFrame({{{key}, {name}: values}}).sort_index()",
            'submission.to_csv(WORKING / "submission.csv", index=False)',
        ]
    )
