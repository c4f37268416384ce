"""What a name in a program stands for: ``s.run`` is ``subprocess.run`` after ``import subprocess as s``.

The answer is a set of dotted names, since a name can be bound more than once; the order in which statements run is
not followed. That errs towards finding too much, and dynamic code can still hide from it: this serves a reader, the
jail does the containing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

BUILTINS = frozenset(
    {"eval", "exec", "compile", "__import__", "open", "input", "breakpoint", "getattr", "setattr", "delattr", "globals",
     "locals", "vars", "print", "__builtins__", "get_ipython"}
)  # fmt: skip
_ORDINARY_NAMES = frozenset({"builtins.input", "builtins.compile"})
"""Built-ins whose names are common names of variables: ``x = input`` in a network's ``forward`` means no keyboard."""
_REEXPORTED = frozenset({"os", "sys", "subprocess", "socket", "builtins", "ctypes", "importlib", "pickle", "shutil"})
_ROUNDS = 4
_MOST_MEANINGS = 8


class Aliases:
    """The meanings of the names of one program.

    Parameters
    ----------
    nodes
        All the nodes of its syntax tree, those of a statement after those that it stands in.
    """

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self._bound: dict[str, set[str]] = {}
        self.constants: dict[str, set[ast.expr]] = {}
        self.stars: set[str] = set()
        assigned: list[tuple[str, ast.expr]] = []
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
            else:
                assigned.extend(_assignments(node))
        for name, value in assigned:
            self.constants.setdefault(name, set()).add(value)
        for _ in range(_ROUNDS):
            before = sum(map(len, self._bound.values()))
            for name, value in assigned:
                for meaning in self.of(value) - _ORDINARY_NAMES:
                    self._bind(name, meaning)
            if sum(map(len, self._bound.values())) == before:
                break

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                root = alias.name if alias.asname else alias.name.split(".")[0]
                self._bind(alias.asname or root, root)
            elif alias.name == "*":
                self.stars.add(node.module or "")
            else:
                self._bind(alias.asname or alias.name, f"{node.module or ''}.{alias.name}")

    def _bind(self, name: str, meaning: str) -> None:
        meanings = self._bound.setdefault(name, set())
        if len(meanings) < _MOST_MEANINGS and meaning.count(".") < 12:
            meanings.add(meaning)

    def of(self, node: ast.expr) -> set[str]:
        """Every dotted name that an expression can stand for; empty where none is known."""
        return {short for long in self._of(node) for short in _shortened(long)}

    def _of(self, node: ast.expr) -> set[str]:  # noqa: PLR0911
        if isinstance(node, ast.Name):
            return self._of_name(node.id)
        if isinstance(node, ast.Attribute):
            return {f"{base}.{node.attr}" for base in self._of(node.value)}
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Subscript):
            return self._of_item(node)
        if isinstance(node, ast.NamedExpr):
            return self._of(node.value)
        if isinstance(node, ast.IfExp):
            return self._of(node.body) | self._of(node.orelse)
        return set()

    def _of_name(self, name: str) -> set[str]:
        bound = self._bound.get(name, set())
        starred = {f"{module}.{name}" for module in self.stars}
        # ``from re import compile`` is common; whoever imports something as ``eval`` hides something.
        built_in = name in BUILTINS and (not bound or name in ("eval", "exec", "__import__"))
        return bound | starred | ({f"builtins.{name}"} if built_in else set())

    def _of_call(self, node: ast.Call) -> set[str]:
        called = {short for long in self._of(node.func) for short in _shortened(long)}
        text = literal(node.args[0]) if node.args else None
        if called & {"builtins.__import__", "importlib.import_module", "importlib.__import__"} and text is not None:
            return {text}
        if "builtins.getattr" in called and len(node.args) >= 2 and (name := literal(node.args[1])) is not None:
            return {f"{base}.{name}" for base in self._of(node.args[0])}
        if "builtins.vars" in called and node.args:
            return {f"{base}.__dict__" for base in self._of(node.args[0])}
        return {f"{one}()" for one in called & {"builtins.globals", "builtins.locals", "builtins.vars"}}

    def _of_item(self, node: ast.Subscript) -> set[str]:
        key = literal(node.slice)
        if key is None:
            return set()
        found: set[str] = set()
        for base in self._of(node.value):
            if base.endswith("sys.modules"):
                found.add(key)
            elif base.endswith(".__dict__"):
                found.add(f"{base.removesuffix('.__dict__')}.{key}")
            elif base == "builtins.__builtins__":
                found.add(f"builtins.{key}")
            elif base.endswith("()"):
                found |= self._of_name(key)
        return found


def literal(node: ast.expr) -> str | None:  # noqa: PLR0911
    """The string that an expression is, also where it is put together from literal pieces; None for anything else."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bytes):
            return node.value.decode("latin-1")
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = literal(node.left), literal(node.right)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.JoinedStr):
        return _joined("", node.values)
    if isinstance(node, ast.FormattedValue):
        return literal(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join" and node.args:
        between, pieces = literal(node.func.value), node.args[0]
        if between is not None and isinstance(pieces, (ast.List, ast.Tuple)):
            return _joined(between, pieces.elts)
    return None


def _joined(between: str, pieces: Sequence[ast.expr]) -> str | None:
    parts = [literal(part) for part in pieces]
    known = [part for part in parts if part is not None]
    return between.join(known) if len(known) == len(parts) else None


def _shortened(name: str) -> Iterator[str]:
    """The name, and what it is without a module that only passes another one on (``shutil.os.system``)."""
    yield name
    parts = name.split(".")
    for place, part in enumerate(parts[1:], start=1):
        if part in _REEXPORTED:
            yield ".".join(parts[place:])
        if part == "__builtins__":
            yield ".".join(["builtins", *parts[place + 1 :]])


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Name and value of each plain assignment, and of each name that ``with`` or a default value binds."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _pairs(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        if isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if isinstance(item.optional_vars, ast.Name):
                yield item.optional_vars.id, item.context_expr
    elif isinstance(node, ast.arguments):
        named = [*node.posonlyargs, *node.args]
        for argument, default in zip(named[len(named) - len(node.defaults) :], node.defaults, strict=True):
            yield argument.arg, default
        for argument, keyword_default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
            if keyword_default is not None:
                yield argument.arg, keyword_default


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        for one, part in zip(target.elts, value.elts, strict=False):
            yield from _pairs(one, part)
