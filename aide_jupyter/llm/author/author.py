"""Answers a prompt as a model would: a plan and a program, a review, or a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import brief as briefs
from . import choose, facts, foreign, plans, recipe, repair, reporter, reviewer, series, tabular
from .brief import Brief
from .facts import CannotWrite, Facts
from .recipe import Recipe


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
    if brief.operator == "ensemble":
        known = facts.understand(brief)
        programs = [*([brief.parent] if brief.parent else []), *brief.others]
        return _written(brief, choose.combined(brief, known, programs), None)
    if brief.parent is None or brief.operator == "draft":
        return _written(brief, choose.draft(brief, facts.understand(brief)), None)
    return _repaired(brief) if brief.operator == "debug" else _improved(brief)


def _facts(brief: Brief, chosen: Recipe | None) -> Facts:
    steps = chosen.steps if chosen else ()
    kind = "numbers" if {"numbers", "number"} & set(steps) else "classes" if "classes" in steps else None
    return facts.understand(brief, kind=kind, many="many" in steps)


def _written(brief: Brief, chosen: Recipe, before: Recipe | None, why: str = "") -> tuple[str, str]:
    known = _facts(brief, chosen)
    if known.classification or not known.log:
        chosen = recipe.without(chosen, "log") if known.classification else chosen
    plan = " ".join(part for part in (why, plans.describe(known, chosen, before)) if part)
    return f"{plan} {chosen.tag}", write(known, chosen, plan)


def _own(brief: Brief) -> Recipe | None:
    """The parent's recipe where the parent is this author's program, unchanged."""
    assert brief.parent is not None
    found = recipe.of_program(brief.parent.code)
    if found is None:
        return None
    return found if recipe.same_program(write(_facts(brief, found), found, ""), brief.parent.code) else None


def _improved(brief: Brief) -> tuple[str, str]:
    assert brief.parent is not None
    parent = _own(brief)
    if parent is None:
        edit = foreign.varied(brief.parent.code, [one.plan for one in brief.memory], brief.turn)
        if edit is not None:
            return f"The program is kept as it was written, with one change: {edit.words}.", edit.code
        known = facts.understand(brief)
        why = "The program holds no setting that these rules know how to change, so this is another one."
        return _written(brief, choose.draft(brief, known), None, why)
    known = _facts(brief, parent)
    chosen = choose.improved(brief, known, parent)
    if chosen is None:
        return _written(brief, choose.draft(brief, known, choose.needed(parent)), None, "Every change has been tried.")
    return _written(brief, chosen, parent)


def _repaired(brief: Brief) -> tuple[str, str]:
    assert brief.parent is not None
    parent = recipe.of_program(brief.parent.code)
    output = brief.parent.output
    if parent is not None:
        found = repair.repaired(parent, output, brief.fixes)
        if found is not None:
            chosen, cause = found
            return _written(brief, chosen, parent, f"The last program failed: {cause}.")
    elif not brief.fixes:
        names = [column.name for table in brief.tables or () for column in table.columns if column.exact]
        named = brief.task.get("target")
        edit = foreign.mended(brief.parent.code, output, [*names, *([named] if isinstance(named, str) else [])])
        if edit is not None:
            return f"The program is kept as it was written, with one repair: {edit.words}.", edit.code
    known = _facts(brief, parent)
    needed = choose.needed(parent) if parent else ()
    return _written(brief, choose.draft(brief, known, needed), None, "The failed program is replaced by a simpler one.")
