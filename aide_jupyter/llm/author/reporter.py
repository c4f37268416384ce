"""The prose of a report, with no number but those in the prompt."""

from __future__ import annotations

import re

from . import recipe
from .brief import Brief, Tried
from .families import recognised
from .models import ALL
from .plans import STEPS


def report(brief: Brief) -> str:
    """Markdown under the five usual headings."""
    best_id = brief.assignment.get("best")
    scored = [one for one in brief.memory if one.score is not None]
    failed = len(brief.memory) - len(scored)
    best = next((one for one in brief.memory if one.id == best_id), None)
    own = recipe.of_program(brief.parent.code) if brief.parent else None
    return "\n\n".join(
        [
            f"## Introduction\n\n{_introduction(brief)}",
            f"## Preprocessing\n\n{_preprocessing(own)}",
            f"## Modelling\n\n{_modelling(brief, own)}",
            f"## Results\n\n{_results(brief, best, scored, failed)}",
            f"## Future work\n\n{_future(brief, own)}",
        ]
    )


def _introduction(brief: Brief) -> str:
    goal = " ".join(str(brief.task.get("goal", "")).split())
    shown = goal if len(goal) <= 400 else goal[:400].rsplit(" ", 1)[0] + " …"
    metric = brief.task.get("metric")
    score = f" The score is {metric}," if metric else " The score"
    way = "lower" if brief.task.get("direction") == "minimize" else "higher"
    return f"The goal of this run was: {shown}{score} {'where' if metric else 'is such that'} {way} is better."


def _preprocessing(own: recipe.Recipe | None) -> str:
    if own is None:
        return "How the best program prepares its data can be read in its code."
    steps = [*own.steps, *(step for member in own.members for step in member.steps)]
    told = [STEPS[step] for step in dict.fromkeys(steps) if step in STEPS and step not in {"tune", "more", "bag"}]
    base = "Missing numbers are filled or passed on as the model needs, and categories are encoded."
    return f"{base} In the best program, {'; '.join(told)}." if told else base


def _modelling(brief: Brief, own: recipe.Recipe | None) -> str:
    seen: list[str] = []
    for one in brief.memory:
        found = recipe.parse(one.plan)
        seen += list(found.families) if found else recognised(one.plan)
    names = [ALL[key].title for key in dict.fromkeys(seen) if key in ALL]
    tried = (
        f"The families that were tried are: {', '.join(names)}."
        if names
        else "The programs that were tried are listed in the notebook."
    )
    if own is None:
        return tried
    members = " and ".join(ALL[key].title for key in own.families if key in ALL)
    how = {"one": "is", "average": "averages", "weigh": "weighs", "stack": "stacks"}[own.mix]
    return f"{tried} The best program {how} {members}." if members else tried


def _results(brief: Brief, best: Tried | None, scored: list[Tried], failed: int) -> str:
    parts = []
    if best is not None and best.score is not None:
        parts.append(f"The best candidate is {best.id} with a score of {best.score:.6g}.")
    elif brief.assignment.get("best"):
        parts.append(f"The best candidate is {brief.assignment['best']}.")
    else:
        parts.append("No candidate gave a usable score.")
    sign = 1 if brief.task.get("direction") == "minimize" else -1
    others = sorted((one for one in scored if one is not best), key=lambda one: sign * (one.score or 0.0))[:3]
    if others:
        listed = ", ".join(f"{one.id} ({one.score:.6g})" for one in others)
        parts.append(f"Next in the list that was shown for this report: {listed}.")
    if failed:
        parts.append("Some candidates failed; their errors are in the notebook.")
    if brief.parent and (named := re.findall(r"^([a-z_]+): (-?[\d.e+-]+)$", brief.parent.output, re.MULTILINE)):
        parts.append("Its models alone: " + ", ".join(f"{name} {value}" for name, value in named[:6]) + ".")
    return " ".join(parts)


def _future(brief: Brief, own: recipe.Recipe | None) -> str:
    ideas = []
    if own is None or len(own.members) == 1:
        ideas.append("combining models of several families")
    if own is None or not any("tune" in member.steps for member in own.members):
        ideas.append("a longer search over the parameters of the best model")
    ideas.append("features made with knowledge of the field, and a look at the rows with the largest errors")
    return f"What may help next: {'; '.join(ideas)}."
