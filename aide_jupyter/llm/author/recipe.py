"""A program in a few words: its models, how they are combined, and its steps. Written into each program and plan.

The tag ``[average linear/power,hgb/tune;log,sums]`` reads: the mean of a linear model on power-transformed numbers and
a tuned histogram gradient boosting, on the logarithm of the target, with sums of related columns. It is short because
a later prompt shows only the last 65 characters of a long plan.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

MIXES = ("one", "average", "weigh", "stack")
_TAG = re.compile(r"\[(one|average|weigh|stack) ([a-z0-9_/,-]+)(?:;([a-z0-9_,-]+))?\]")


@dataclass(frozen=True)
class Member:
    """One model: its family, and the steps that only it takes."""

    family: str
    steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "/".join((self.family, *self.steps))

    def having(self, step: str) -> Member:
        """The same model with one step more."""
        return replace(self, steps=tuple(sorted({*self.steps, step})))


@dataclass(frozen=True)
class Recipe:
    """A whole program. ``mix`` is how the members are combined; ``steps`` are those that all of them share."""

    members: tuple[Member, ...]
    mix: str = "one"
    steps: tuple[str, ...] = ()

    @property
    def tag(self) -> str:
        """The recipe as one short text."""
        return f"[{self.mix} {','.join(map(str, self.members))}{';' if self.steps else ''}{','.join(self.steps)}]"

    @property
    def families(self) -> tuple[str, ...]:
        """The families of the members."""
        return tuple(member.family for member in self.members)

    def having(self, *steps: str) -> Recipe:
        """The same recipe with further shared steps."""
        return replace(self, steps=tuple(sorted({*self.steps, *steps})))

    def with_member(self, position: int, member: Member) -> Recipe:
        """The same recipe with one member replaced."""
        return replace(self, members=(*self.members[:position], member, *self.members[position + 1 :]))


def single(family: str, steps: Iterable[str] = ()) -> Recipe:
    """A recipe of one model."""
    return Recipe((Member(family),), steps=tuple(sorted(steps)))


def mixed(members: Iterable[Member], mix: str, steps: Iterable[str] = ()) -> Recipe:
    """Several models combined; the same model twice counts once."""
    return Recipe(tuple(dict.fromkeys(members)), mix, tuple(sorted(set(steps))))


def without(found: Recipe, step: str) -> Recipe:
    """``found`` without a shared step."""
    return replace(found, steps=tuple(one for one in found.steps if one != step))


def parse(text: str) -> Recipe | None:
    """The recipe of the last tag in ``text``."""
    tags = list(_TAG.finditer(text))
    if not tags:
        return None
    mix, members, steps = tags[-1].groups()
    parts = [one.split("/") for one in members.split(",") if one]
    found = tuple(Member(family, tuple(rest)) for family, *rest in parts)
    return Recipe(found, mix, tuple(steps.split(",")) if steps else ()) if found else None


def of_program(code: str) -> Recipe | None:
    """The recipe in a program's docstring; None for a program that another wrote."""
    try:
        text = ast.get_docstring(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return parse(text or "")


def same_program(left: str, right: str) -> bool:
    """Whether two programs do the same, whatever their comments, layout and docstrings."""
    try:
        return _skeleton(left) == _skeleton(right)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _skeleton(code: str) -> str:
    tree = ast.parse(code)
    if tree.body and isinstance(tree.body[0], ast.Expr) and isinstance(tree.body[0].value, ast.Constant):
        tree.body.pop(0)
    return ast.dump(tree)
