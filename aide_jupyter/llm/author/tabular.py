"""Writes a program for rows of a table: features, folds, models, score, submission."""

from __future__ import annotations

import textwrap
from itertools import pairwise

from . import models, reading
from .facts import Facts
from .mixing import Mixed, mixing
from .preparing import prepare
from .recipe import Recipe
from .source import Imports, call, layout, listed, literal

_FOLDS_MANY_ROWS = 100_000


def program(facts: Facts, recipe: Recipe, plan: str) -> str:
    """The whole program.

    Parameters
    ----------
    plan
        What it does, in this package's own words; it becomes the docstring, with the recipe's tag below.
    """
    imports = Imports()
    imports.name("pathlib.Path")
    imports.module("pandas", "pd")
    imports.name("sklearn.model_selection.cross_val_predict")
    prepared = prepare(facts, recipe.steps)
    data = _data(facts, recipe, bool(prepared), imports)
    folds = _folds(facts, recipe, imports)
    mix = mixing(facts, recipe, rows_used(facts, recipe), imports)
    body = [
        _constants(facts, recipe),
        models.helpers(recipe.members).strip("\n"),
        prepared,
        *data,
        folds,
        *mix.parts,
        _predict(facts, mix, bool(prepared)) if facts.predict else "",
        _submission(facts, recipe, mix, bool(prepared)),
    ]
    text = "\n\n".join(part for part in body if part)
    for alias, module in (("np", "numpy"), ("pd", "pandas")):
        if f"{alias}." in text:
            imports.module(module, alias)
    words = textwrap.fill(plan, 96)
    return _spaced(f'"""{words}\n\nRecipe: {recipe.tag}\n"""\n\n{imports.text()}\n\n{text}\n')


def rows_used(facts: Facts, recipe: Recipe) -> int:
    """How many training rows the program uses: at most what its slowest member is good for."""
    most = min(models.family_of(member).most for member in recipe.members)
    if facts.seconds < models.SHORT:
        most //= 2
    for step, share in models.EFFORTS.items():
        most = int(most * share) if step in recipe.steps else most
    return min(facts.rows, max(most, 1000))


def _spaced(code: str) -> str:
    """Two blank lines around functions and classes, as the style guide has it."""
    parts = code.split("\n\n")
    out = [parts[0]]
    for before, after in pairwise(parts):
        body = before.lstrip("\n").startswith(("def ", "class ", "    "))
        wide = after.lstrip("\n").startswith(("def ", "class ")) or (body and not after.startswith("    "))
        out.append(("\n" if wide else "") + after.lstrip("\n"))
    return "\n\n".join(out)


def _constants(facts: Facts, recipe: Recipe) -> str:
    rows = rows_used(facts, recipe)
    lines = ['INPUT = Path("input")', 'WORKING = Path("working")']
    if reading.reads_by_name(facts, recipe.steps):
        lines.append(f"TARGET = {reading.target(facts, recipe.steps)}")
    if facts.id_name:
        lines.append(f"ID = {literal(facts.id_name)}")
    if facts.group:
        lines.append(f"GROUP = {literal(facts.group)}")
    if facts.time:
        lines.append(f"TIME = {literal(facts.time)}")
    lines += [f"SEED = {facts.seed}", f"FOLDS = {min(facts.folds, 3) if rows > _FOLDS_MANY_ROWS else facts.folds}"]
    if rows < facts.rows:
        lines.append(f"ROWS = {rows}  # of about {facts.rows}, so that the models are fitted in about a minute")
    return "\n".join(lines)


def _data(facts: Facts, recipe: Recipe, prepared: bool, imports: Imports) -> list[str]:
    steps = recipe.steps
    lines = []
    if "find" in steps:
        lines.append('tables = sorted(INPUT.rglob("*.csv"), key=lambda path: path.stat().st_size)')
        lines.append('source = next((path for path in tables if "train" in path.stem), tables[-1])')
    lines.append(f"train = {reading.read(facts.train, facts, steps, 'source' if 'find' in steps else None)}")
    if facts.test:
        lines.append(f"test = {reading.read(facts.test, facts, steps)}")
    for frame, table in (("train", facts.train), *((("test", facts.test),) if facts.test else ())):
        if reading.names_to_text(table):
            lines.append(f"{frame}.columns = {frame}.columns.astype(str)")
    if "strip" in steps:
        for frame in ["train", *(["test"] if facts.test else [])]:
            lines.append(f"{frame}.columns = {frame}.columns.str.strip()")
    if not reading.reads_by_name(facts, steps):
        lines.append(f"TARGET = {reading.target(facts, steps)}")
    if "number" in steps or facts.worded:
        lines.append('train[TARGET] = pd.to_numeric(train[TARGET], errors="coerce")')
    if facts.gaps or facts.worded or {"known", "number"} & set(steps):
        lines.append("train = train.dropna(subset=[TARGET])")
    rows = rows_used(facts, recipe)
    if facts.time:
        lines.append("train = train.sort_values(TIME)")
        lines += ["train = train.tail(ROWS)"] if rows < facts.rows else []
    elif rows < facts.rows:
        lines.append("train = train.sample(min(ROWS, len(train)), random_state=SEED)")
    return ["\n".join(lines), _features(facts, recipe, prepared, imports)]


def _features(facts: Facts, recipe: Recipe, prepared: bool, imports: Imports) -> str:
    steps = recipe.steps
    left_out = [*(["ID"] if facts.id_name else []), "TARGET", *(["GROUP"] if facts.group and not facts.time else [])]
    left_out += [literal(name) for name in facts.empty]
    inputs = "train.columns"
    if "gaps" in steps:
        inputs = 'train.dropna(axis="columns", thresh=len(train) // 20).columns'
    elif not facts.counted:
        inputs = 'train.dropna(axis="columns", how="all").columns'
    inputs += ".intersection(test.columns)" if facts.test else ""
    lines = [layout(call(f"{inputs}.difference", listed(left_out), "sort=False"), "features = ")]
    lines.append(f"X = {'prepare(train[features])' if prepared else 'train[features]'}")
    lines += [f"y = {_target_values(facts, recipe)}"] if not facts.classification else []
    if facts.classification:
        values = "train[TARGET].astype(str)" if "strings" in steps else "train[TARGET]"
        lines.append(f"encoder = {imports.name('sklearn.preprocessing.LabelEncoder')}()")
        lines.append(f"y = encoder.fit_transform({values})")
    others = [literal(column.name) for column in facts.text]
    lines.append('numeric = X.select_dtypes("number").columns')
    rest = f"numeric.append(pd.Index([{', '.join(others)}]))" if others else "numeric"
    lines.append(f"categorical = X.columns.difference({rest}, sort=False)")
    return "\n".join(lines)


def _target_values(facts: Facts, recipe: Recipe) -> str:
    return f"{facts.log_function}(train[TARGET])" if "log" in recipe.steps else "train[TARGET]"


def _folds(facts: Facts, recipe: Recipe, imports: Imports) -> str:
    few = facts.classification and facts.classes is not None and facts.rows / max(facts.classes, 1) < facts.folds
    plain = "kfold" in recipe.steps or few
    if facts.time:
        split = imports.name("sklearn.model_selection.TimeSeriesSplit")
        return "\n".join(
            [
                "# Each block is predicted from the blocks before it, as it will be when the models are used.",
                f"blocks = list({split}(FOLDS).split(X))",
                "judged = np.concatenate([block for _, block in blocks])",
            ]
        )
    if facts.group:
        stratified = facts.classification and not plain
        name = imports.name("sklearn.model_selection." + ("StratifiedGroupKFold" if stratified else "GroupKFold"))
        options = "FOLDS, shuffle=True, random_state=SEED"
        note = "# Rows of one group are never in both parts, as new groups are what the models will meet."
        return f"{note}\nfolds = list({name}({options}).split(X, y, train[GROUP]))"
    kind = "StratifiedKFold" if facts.classification and not plain else "KFold"
    return f"folds = {imports.name(f'sklearn.model_selection.{kind}')}(FOLDS, shuffle=True, random_state=SEED)"


def _frame(frame: str, prepared: bool) -> str:
    return f"prepare({frame}[features])" if prepared else f"{frame}[features]"


def _predict(facts: Facts, mix: Mixed, prepared: bool) -> str:
    what = "Classes" if facts.classification and facts.metric.need == "label" else "Predictions"
    return "\n".join(
        [
            "def predict(rows):",
            f'    """{what} for a data frame of new rows that has the columns of the training data."""',
            f"    return {mix.final(_frame('rows', prepared))}",
        ]
    )


def _submission(facts: Facts, recipe: Recipe, mix: Mixed, prepared: bool) -> str:
    if not facts.test:
        return ""
    outputs = mix.final(_frame("test", prepared))
    multiple = facts.metric.need == "probabilities" and not (facts.kind == "binary" and not facts.wide)
    path = 'submission.to_csv(WORKING / "submission.csv", index=False)'
    if multiple:
        lines = [f"submission = pd.DataFrame({outputs}, columns=encoder.classes_)"]
        lines += ["submission.insert(0, ID, test[ID])"] if facts.id_name else []
        return "\n".join([*lines, path])
    name = literal(facts.asked_name) if facts.asked_name else "TARGET"
    items = [*(["ID: test[ID]"] if facts.id_name else []), f"{name}: {outputs}"]
    return layout(f"pd.DataFrame({{{', '.join(items)}}})", "submission = ") + f"\n{path}"
