"""Lays out Python source: expressions broken over lines as a formatter would, and the imports that they need.

Names and texts from the data reach a program as Python literals only (:func:`literal`), never as bare source or in a
comment, so that no column name can become code.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

WIDTH = 100


@dataclass(frozen=True)
class Call:
    """``head(args)``, or with other brackets a list or tuple. An argument is source text or a further call."""

    head: str
    args: tuple[Expression, ...] = ()
    brackets: str = "()"

    def named(self, keyword: str) -> Call:
        """The same expression as a keyword argument."""
        return Call(f"{keyword}={self.head}", self.args, self.brackets)


Expression = str | Call


def call(head: str, *args: Expression) -> Call:
    """A call of ``head``."""
    return Call(head, args)


def listed(items: Iterable[Expression]) -> Call:
    """A list display."""
    return Call("", tuple(items), "[]")


def tupled(*items: Expression) -> Call:
    """A tuple of at least two items."""
    return Call("", items)


def flat(expression: Expression) -> str:
    """The expression on one line."""
    if isinstance(expression, str):
        return expression
    inner = ", ".join(flat(arg) for arg in expression.args)
    return f"{expression.head}{expression.brackets[0]}{inner}{expression.brackets[1]}"


def layout(expression: Expression, before: str = "", indent: int = 0, after: str = "") -> str:
    """``before`` and the expression, on one line where it fits in :data:`WIDTH`, else one argument a line."""
    line = " " * indent + before + flat(expression) + after
    if len(line) <= WIDTH or isinstance(expression, str) or not expression.args:
        return line
    rows = [" " * indent + before + expression.head + expression.brackets[0]]
    rows += [layout(arg, "", indent + 4, ",") for arg in expression.args]
    rows.append(" " * indent + expression.brackets[1] + after)
    return "\n".join(rows)


def literal(value: object) -> str:
    """A Python literal in double quotes. Letters outside Latin become escapes, for they can pass for others."""
    if not isinstance(value, str):
        return repr(value)
    text = repr(value) if value.isprintable() and all(ord(char) < 0x250 for char in value) else ascii(value)
    if text.startswith("'") and '"' not in text:
        text = '"' + text[1:-1].replace("\\'", "'") + '"'
    return text


def literals(values: Iterable[object]) -> Call:
    """A list display of literals."""
    return listed(literal(value) for value in values)


@dataclass
class Imports:
    """The imports of one program, collected while it is written."""

    modules: dict[str, str] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def name(self, dotted: str) -> str:
        """The last part of ``dotted``, imported from the rest."""
        module, _, name = dotted.rpartition(".")
        self.names[module].add(name)
        return name

    def module(self, module: str, alias: str) -> str:
        """``alias``, bound to the module."""
        self.modules[module] = alias
        return alias

    def text(self) -> str:
        """The import block: standard library first, then the rest, each sorted."""
        plain = [(module, f"import {module} as {alias}") for module, alias in sorted(self.modules.items())]
        froms = []
        for module, names in sorted(self.names.items()):
            froms.append((module, layout(Call("", tuple(sorted(names))), f"from {module} import ")))
        lines: dict[bool, list[str]] = {True: [], False: []}
        for module, line in [*plain, *froms]:
            bare = line if "\n" in line else line.replace("(", "").replace(")", "")
            lines[module.split(".")[0] in sys.stdlib_module_names].append(bare)
        return "\n\n".join("\n".join(group) for group in (lines[True], lines[False]) if group)
