"""Answers a prompt as a model would: a plan and a program, a review, or a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import brief as briefs
from . import choose, facts, foreign, plans, recall, recipe, repair, reporter, reviewer, series, tabular
from .brief import Brief
from .facts import Facts
from .recipe import Recipe
from .roles import CannotWrite


def reply(messages: Sequence[dict[str, Any]]) -> str:
    """The text of the answer to a conversation: to a review prompt JSON, to a report prompt Markdown, else a plan
    and a program in a fence. Where no program can be written it says why, without one."""
    users = [_words(message.get("content")) for message in messages if message.get("role") == "user"]
    text = next((one for one in users if "\n# Assignment\n" in f"\n{one}"), users[0] if users else "")
    try:
        brief = briefs.read(text)
    except ValueError:
        return "The prompt holds JSON that cannot be read, so there is nothing to answer."
    if brief.operator == "review":
        return reviewer.review(brief)
    if brief.operator == "report":
        return reporter.report(brief)
    try:
        plan, code = _program(brief)
    except CannotWrite as why:
        return f"No program can be written by rules for this data. {why}"
    return f"{plan}\n\n```python\n{code.rstrip()}\n```\n"


def _words(content: object) -> str:
    """The text of a message's content, which some clients send as a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def write(known: Facts, chosen: Recipe, plan: str) -> str:
    """The program of a recipe."""
    template = series.program if known.style == "series" else tabular.program
    return template(known, chosen, plan)


def _program(brief: Brief) -> tuple[str, str]:
    if brief.operator == "debug" and brief.parent is not None:
        return _repaired(brief)
    if brief.operator == "improve" and brief.parent is not None:
        return _improved(brief)
    known = facts.understand(brief)
    if brief.operator != "ensemble":
        return _written(choose.draft(brief, known), known)
    own = _own(brief)
    programs = [*([brief.parent] if brief.parent else []), *brief.others]
    known = own[1] if own else known
    return _written(choose.combined(brief, known, programs), known)


def _facts(brief: Brief, chosen: Recipe) -> Facts:
    """The facts, where a recipe's repairs have shown what the target is."""
    steps = set(chosen.steps)
    kind = "numbers" if {"numbers", "number"} & steps else "classes" if "classes" in steps else None
    return facts.understand(brief, kind=kind, many="many" in steps)


def _written(chosen: Recipe, known: Facts, before: Recipe | None = None, why: str = "") -> tuple[str, str]:
    if known.classification:
        chosen = recipe.without(chosen, "log")
    plan = " ".join(part for part in (why, plans.describe(known, chosen, before)) if part)
    return f"{plan} {chosen.tag}", write(known, chosen, plan)


def _own(brief: Brief) -> tuple[Recipe, Facts] | None:
    """The parent's recipe, and what it was written for, where it is this author's program and unchanged."""
    found = recipe.of_program(brief.parent.code) if brief.parent else None
    if brief.parent is None or found is None:
        return None
    known = recall.recalled(_facts(brief, found), brief.parent.code, found)
    return (found, known) if recipe.same_program(write(known, found, ""), brief.parent.code) else None


def _improved(brief: Brief) -> tuple[str, str]:
    assert brief.parent is not None
    own = _own(brief)
    if own is None:
        edit = foreign.varied(brief.parent.code, [one.plan for one in brief.memory], brief.turn)
        if edit is not None:
            return f"The program is kept as it was written, with one change: {edit.words}.", edit.code
        known = facts.understand(brief)
        why = "The program holds no setting that these rules know how to change, so this is another one."
        return _written(choose.draft(brief, known), known, why=why)
    parent, known = own
    chosen = choose.improved(brief, known, parent)
    if chosen is None:
        chosen = choose.draft(brief, known, choose.needed(parent))
        return _written(chosen, known, why="Every change to the program has been tried, so this is another one.")
    return _written(chosen, known, parent)


def _repaired(brief: Brief) -> tuple[str, str]:
    assert brief.parent is not None
    own = _own(brief)
    if own is not None:
        parent, known = own
        found = repair.repaired(parent, brief.parent.output, brief.fixes)
        if found is not None:
            chosen, cause = found
            again = _facts(brief, chosen)
            known = known if again.kind == known.kind else again
            return _written(chosen, known, parent, f"The last program failed: {cause}.")
        chosen = choose.draft(brief, known, choose.needed(parent))
        return _written(chosen, known, why="The failed program is replaced by another one.")
    if not brief.fixes:
        names = [column.name for table in brief.tables or () for column in table.columns if column.exact]
        asked = brief.task.get("target")
        names += [asked] if isinstance(asked, str) else []
        edit = foreign.mended(brief.parent.code, brief.parent.output, names)
        if edit is not None:
            return f"The program is kept as it was written, with one repair: {edit.words}.", edit.code
    known = facts.understand(brief)
    return _written(choose.draft(brief, known), known, why="The failed program is replaced by another one.")
