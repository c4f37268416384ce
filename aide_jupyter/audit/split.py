"""Splits a program into notebook cells by its own structure, such that the cells joined are that program again."""

from __future__ import annotations

import ast
import itertools
import warnings
from collections.abc import Sequence

JOINT = "\n"
"""What the cells are joined with: ``JOINT.join(split_program(code)) == code``, byte for byte."""
ENOUGH = 3
"""Lines after which a blank line begins a new cell."""


def split_program(code: str) -> list[str]:
    """The cells of a program: its imports, each function and class, each section or paragraph.

    A cell holds whole top-level statements; comments go with the statement that follows them, blank lines stay at the
    end of the cell before. A program that cannot be split with certainty is one cell.

    Returns
    -------
    list of str
        At least one cell. ``"\\n".join(cells)`` is ``code``, and the cells run one after another are that program.
    """
    body = _statements(code)
    if body is None:
        return [code]
    if "\r" in code or len(body) < 2:
        return [code]
    rows = code.split("\n")
    starts = _starts(body, rows)
    cells = [JOINT.join(rows[start:end]) for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)]
    return cells if _is_same(cells, body) else [code]


def _statements(code: str) -> list[ast.stmt] | None:
    """The top-level statements; None where this is no program. What Python warns about is the program's affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(code).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _starts(body: Sequence[ast.stmt], rows: Sequence[str]) -> list[int]:
    """The lines, from 0, at which cells begin."""
    starts = [0]
    for before, node in itertools.pairwise(body):
        first, end = _first_line(node), before.end_lineno or before.lineno
        if first <= end:
            continue
        start = _with_comments(rows, end, first - 1)
        if _begins_cell(before, node, rows, starts[-1], start):
            starts.append(start)
    return starts


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _with_comments(rows: Sequence[str], end: int, first: int) -> int:
    """Where the statement on line ``first`` begins with its comments, down to the statement that ended at ``end``."""
    start = first
    for line in range(first - 1, end - 1, -1):
        if rows[line].lstrip().startswith("#"):
            start = line
    return start


def _begins_cell(before: ast.stmt, node: ast.stmt, rows: Sequence[str], cell: int, start: int) -> bool:
    kinds = _kind(before), _kind(node)
    if kinds == ("import", "import"):
        return False
    if kinds[0] != kinds[1] or kinds[1] in ("definition", "main"):
        return True
    if start == 0 or rows[start - 1].strip():
        return False
    return rows[start].lstrip().startswith("#") or start - cell >= ENOUGH


def _kind(node: ast.stmt) -> str:
    match node:
        case ast.Import() | ast.ImportFrom():
            return "import"
        case ast.Expr(value=ast.Constant(value=str())):
            return "import"
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return "definition"
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return "main"
        case _:
            return "statement"


def _is_same(cells: Sequence[str], body: Sequence[ast.stmt]) -> bool:
    """Whether each cell is a program of its own, and all of them together have the statements of the whole."""
    parts = [_statements(cell) for cell in cells]
    try:
        found = [ast.dump(node) for part in parts for node in part or ()]
        return None not in parts and found == [ast.dump(node) for node in body]
    except RecursionError:
        return False
