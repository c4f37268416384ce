"""Changes to programs that others wrote: one number or one option at a time, everything else left as it stands."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .source import literal

_ROUND = 4


@dataclass(frozen=True)
class Edit:
    """A program with one change, and the change in words."""

    code: str
    words: str


def _times(factor: float) -> Callable[[float], float]:
    return lambda value: value * factor


CHANGES: dict[str, Callable[[float], float]] = {
    "n_estimators": _times(2),
    "max_iter": _times(2),
    "learning_rate": _times(0.5),
    "alpha": _times(3),
    "C": _times(3),
    "n_neighbors": _times(1.5),
    "max_depth": lambda value: value + 2,
    "min_samples_leaf": lambda value: value + 2,
    "max_leaf_nodes": _times(1.5),
    "num_leaves": _times(1.5),
    "l2_regularization": lambda value: 3 * value + 1,
    "max_features": _times(0.7),
    "min_frequency": _times(2),
}
"""What a known hyper-parameter becomes, in the order in which they are tried."""


def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def varied(code: str, tried: Sequence[str], turn: int) -> Edit | None:
    """``code`` with one known hyper-parameter changed; None where it has none left to change.

    Parameters
    ----------
    tried
        Plans of earlier programs: a change that one of them tells of is not made again.
    turn
        Chooses between the two most promising changes.
    """
    tree = _parsed(code)
    if tree is None:
        return None
    options: list[tuple[int, Edit]] = []
    order = list(CHANGES)
    for node in ast.walk(tree):
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            node_value = keyword.value
            old = node_value.value if isinstance(node_value, ast.Constant) else None
            if keyword.arg not in CHANGES or not isinstance(old, (int, float)) or isinstance(old, bool):
                continue
            new = _rounded(CHANGES[keyword.arg](old), whole=isinstance(old, int))
            words = f"{keyword.arg} is {new!r} instead of {old!r}"
            if new != old and not any(words in plan for plan in tried):
                options.append((order.index(keyword.arg), Edit(_replaced(code, node_value, repr(new)), words)))
    options.sort(key=lambda option: option[0])
    return options[turn % min(2, len(options))][1] if options else None


def _rounded(value: float, *, whole: bool) -> int | float:
    return round(value) if whole else float(f"{value:.{_ROUND}g}")


def _replaced(code: str, node: ast.expr, text: str) -> str:
    """``code`` with the source of ``node`` replaced; columns of the syntax tree count UTF-8 bytes."""
    lines = code.split("\n")
    assert node.end_lineno is not None and node.end_col_offset is not None
    first, last = lines[node.lineno - 1].encode(), lines[node.end_lineno - 1].encode()
    joined = first[: node.col_offset] + text.encode() + last[node.end_col_offset :]
    return "\n".join([*lines[: node.lineno - 1], joined.decode(), *lines[node.end_lineno :]])


def mended(code: str, output: str, names: Sequence[str]) -> Edit | None:
    """``code`` with the cause of a simple failure taken away: a misspelt column, an encoding, bad lines.

    Parameters
    ----------
    names
        The columns of the data, as far as they are known.
    """
    tree = _parsed(code)
    if tree is None:
        return None
    missing = re.findall(r"KeyError: [\"']?(?:\[?[\"'])?([^\"'\]\n]+)", output)
    if missing:
        return _renamed(code, tree, missing[-1], names)
    if re.search(r"UnicodeDecodeError|codec can't decode", output):
        return _with_option(code, tree, "encoding", "latin-1", "the files are read as Latin-1")
    if re.search(r"Error tokenizing data|ParserError", output):
        return _with_option(code, tree, "on_bad_lines", "skip", "lines that do not fit the header are skipped")
    return None


def _renamed(code: str, tree: ast.Module, missing: str, names: Sequence[str]) -> Edit | None:
    lower = {name.lower(): name for name in names}
    inside = [name for low, name in lower.items() if missing.lower() in low]
    close = difflib.get_close_matches(missing.lower(), lower, n=1, cutoff=0.6)
    right = lower[close[0]] if close else inside[0] if len(inside) == 1 else None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value == missing]
    if right is None or not nodes:
        return None
    for node in sorted(nodes, key=lambda one: (one.lineno, one.col_offset), reverse=True):
        code = _replaced(code, node, literal(right))
    return Edit(code, f"the column is called {literal(right)}, not {literal(missing)}")


def _with_option(code: str, tree: ast.Module, option: str, value: str, words: str) -> Edit | None:
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "read_csv"
        and node.args
        and not any(keyword.arg == option for keyword in node.keywords)
    ]
    if not calls:
        return None
    for node in sorted(calls, key=lambda one: (one.lineno, one.col_offset), reverse=True):
        first = node.args[0]
        source = ast.get_source_segment(code, first) or ""
        code = _replaced(code, first, f'{source}, {option}="{value}"') if len(node.args) == 1 else code
    return Edit(code, words) if any(len(node.args) == 1 for node in calls) else None
