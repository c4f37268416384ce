"""What an own program shows of the data, where the prompt around it tells less than the one it was written for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from .brief import Column, Table
from .facts import Facts
from .recipe import Recipe
from .text import TEXT

_FORMATS = {"read_parquet": "parquet", "read_excel": "xlsx", "read_json": "json", "read_csv": "csv"}


def recalled(facts: Facts, code: str, recipe: Recipe) -> Facts:
    """``facts`` with the columns, tables and names that stand in a program of this author's."""
    tree = ast.parse(code)
    names = {name: value for name in ("TARGET", "ID", "GROUP", "TIME") if (value := _text(tree, name)) is not None}
    series = _assigned(tree, "SEASON") is not None
    features = _assigned(tree, "features")
    summed = "sums" in recipe.steps
    logs = [name for name in ("np.log1p", "np.log") if f"{name}(" in code]
    return replace(
        facts,
        train=_table(facts.train, _assigned(tree, "train")) or facts.train,
        test=_table(facts.test, _assigned(tree, "test")),
        target_name=facts.target_name if "position" in recipe.steps else names.get("TARGET"),
        id_name=names.get("ID"),
        group=names.get("GROUP"),
        time=names.get("TIME"),
        style="series" if series else "text" if set(recipe.families) & TEXT.keys() else "tabular",
        text=tuple(Column(name, "string") for name in _texts(tree)),
        dates=facts.dates if series else tuple(Column(name, "datetime") for name in _dates(tree)),
        folds=_number(tree, "FOLDS") or _number(tree, "BLOCKS") or facts.folds,
        empty=tuple(_left_out(features)),
        counted=features is None or "dropna" not in ast.unparse(features),
        mixed="mixed = frame.select_dtypes" in code and "strings" not in recipe.steps,
        infinite="frame.replace([np.inf" in code and "finite" not in recipe.steps,
        gaps="train.dropna(subset=[TARGET])" in code and "known" not in recipe.steps,
        worded="pd.to_numeric(train[TARGET]" in code and "number" not in recipe.steps,
        sums=tuple(_sums(tree)) if summed else facts.sums,
        spans=tuple(_spans(tree)) if summed else facts.spans,
        season=_number(tree, "SEASON") or facts.season,
        asked_name=_asked_name(tree),
        wide="columns=encoder.classes_" in code,
        log_function=logs[0] if logs else facts.log_function,
    )


def _assigned(tree: ast.Module, name: str) -> ast.expr | None:
    """The first value that is assigned to ``name``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return node.value
    return None


def _text(tree: ast.Module, name: str) -> str | None:
    value = _assigned(tree, name)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _number(tree: ast.Module, name: str) -> int | None:
    value = _assigned(tree, name)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, int) else None


def _table(shown: Table | None, value: ast.expr | None) -> Table | None:
    """The table that a program reads, with the columns that the prompt shows of it."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    place = value.args[0]
    path = place.right.value if isinstance(place, ast.BinOp) and isinstance(place.right, ast.Constant) else ""
    base = shown if shown and path in {shown.path, ""} else Table(str(path), "csv", 0, None, (), False)
    options = {one.arg: one.value.value for one in value.keywords if isinstance(one.value, ast.Constant)}
    kind = _FORMATS.get(value.func.attr, "csv")
    sheet, encoding, separator = (options.get(name) for name in ("sheet_name", "encoding", "sep"))
    skip = options.get("skiprows")
    return replace(
        base,
        format="jsonl" if kind == "json" and options.get("lines") else kind,
        encoding=encoding if isinstance(encoding, str) else None,
        separator=separator if isinstance(separator, str) else ",",
        sheet=sheet if isinstance(sheet, str) else None,
        header="header" not in options,
        skip=skip if isinstance(skip, int) else 0,
        decimal=options.get("decimal") == ",",
    )


def _calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
            yield node


def _key(node: ast.expr) -> str | None:
    """The name in ``frame["name"]``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return node.slice.value
    return None


def _dates(tree: ast.Module) -> Iterator[str]:
    for call in _calls(tree, "to_datetime"):
        if name := _key(call.args[0]):
            yield name


def _texts(tree: ast.Module) -> Iterator[str]:
    for call in _calls(tree, "fillna"):
        if isinstance(call.func, ast.Attribute) and (name := _key(call.func.value)):
            yield name


def _left_out(features: ast.expr | None) -> Iterator[str]:
    """The names that ``features`` leaves out by literal."""
    if isinstance(features, ast.Call) and features.args and isinstance(features.args[0], ast.List):
        for one in features.args[0].elts:
            if isinstance(one, ast.Constant):
                yield str(one.value)


def _sums(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and (name := _key(node.targets[0])) and isinstance(node.value, ast.Call):
            summed = node.value.func.value if isinstance(node.value.func, ast.Attribute) else None
            if isinstance(summed, ast.Subscript) and isinstance(summed.slice, ast.List):
                yield name, tuple(str(one.value) for one in summed.slice.elts if isinstance(one, ast.Constant))


def _spans(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Sub):
            later, earlier = _key(node.value.left), _key(node.value.right)
            if later and earlier and _key(node.targets[0]) == f"{later} minus {earlier}":
                yield later, earlier


def _asked_name(tree: ast.Module) -> str | None:
    """The literal name of the predictions in ``submission``."""
    value = _assigned(tree, "submission")
    for node in ast.walk(value) if value is not None else ():
        if isinstance(node, ast.Dict) and node.keys and isinstance(node.keys[-1], ast.Constant):
            return str(node.keys[-1].value)
    return None
