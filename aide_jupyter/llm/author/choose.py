"""What to write next: a first program of another family, one change to a program, or a combination of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import recipe, series
from .brief import Brief, Tried
from .facts import Facts
from .families import recognised, suited
from .models import ALL, family_of
from .recipe import Member, Recipe, mixed, single
from .text import CLASSES_ONLY, TEXT

_READING = frozenset(
    {"latin", "sniff", "skip", "strip", "position", "find", "strings", "finite", "gaps", "known", "number", "kfold",
     "light", "lighter", "classes", "numbers", "many"}
)  # fmt: skip
"""Steps that a failed program has shown to be needed; they are kept in all that follows from it."""

_MIXED = 4

_HINTS = {
    "tune": ("tune", "tuning", "hyperparameter", "hyper-parameter", "search"),
    "average": ("blend", "average", "ensemble", "combine"),
    "weigh": ("weigh", "blend"),
    "stack": ("stack",),
    "power": ("skew", "power transform", "yeo", "box-cox", "normalis", "normaliz"),
    "target": ("target encod", "mean encod"),
    "pairs": ("interaction", "product", "polynomial"),
    "pca": ("pca", "principal component"),
    "clusters": ("cluster", "k-means", "kmeans"),
    "flags": ("missing", "indicator"),
    "bag": ("bag", "seeds"),
    "more": ("more trees", "more iterations", "learning rate"),
    "sums": ("sum", "total", "ratio", "new feature"),
    "cut": ("threshold", "cut-off", "cutoff"),
    "lags": ("lag", "window"),
    "calendar": ("calendar", "season", "weekday", "month"),
    "others": ("other column", "volume"),
}
"""Words in a person's hints that ask for a step."""


def families(facts: Facts) -> list[str]:
    """The families that suit the task, in the order in which drafts try them."""
    if facts.style == "series":
        return list(series.FAMILIES)
    if facts.style == "text":
        return [key for key in TEXT if facts.classification or key not in CLASSES_ONLY]
    return suited(facts.rows, facts.classes)


def shared_steps(facts: Facts) -> tuple[str, ...]:
    """The steps that every program of this task begins with."""
    return ("log",) if facts.log else ()


def used(brief: Brief, facts: Facts) -> list[str]:
    """The families that have been tried: said in the assignment, or seen in the memory's plans."""
    able = families(facts)
    found = [key for name in brief.families for key in ([name] if name in able else _recognised(name, able))]
    for one in brief.memory:
        found += _families_of(one.plan, able)
    return list(dict.fromkeys(found))


def _families_of(plan: str, able: Sequence[str]) -> list[str]:
    found = recipe.parse(plan)
    return list(found.families) if found else _recognised(plan, able)[:1]


def _recognised(text: str, able: Sequence[str]) -> list[str]:
    plain = text.lower()
    titled = []
    for key in sorted(able, key=lambda one: -len(_title(one))):  # "gradient boosting" also ends a longer title
        if _title(key) in plain:
            titled.append(key)
            plain = plain.replace(_title(key), " ")
    texts = [key for key in able if key in TEXT and any(word in plain for word in TEXT[key].words)]
    return titled or texts or [key for key in recognised(text) if key in able]


def _title(key: str) -> str:
    return series.FAMILIES[key].title if key in series.FAMILIES and key not in ALL else ALL[key].title


def draft(brief: Brief, facts: Facts, needed: Iterable[str] = ()) -> Recipe:
    """A first program: the next family that has not been tried, without tuning and without mixing.

    Drafts that other workers are writing now take the families before it.
    """
    able = families(facts)
    tried = used(brief, facts)
    fresh = [key for key in able if key not in tried]
    hinted = [key for key in _recognised(brief.hints, able) if key in fresh]
    fresh = [*hinted, *(key for key in fresh if key not in hinted)]
    steps = {*shared_steps(facts), *needed}
    if fresh:
        return single(fresh[brief.ahead % len(fresh)], steps)
    again = Recipe((Member(able[brief.turn % len(able)], ("more",)),), steps=tuple(sorted(steps)))
    return again if again.tag not in _tags(brief) else improved(brief, facts, again) or again


def improved(brief: Brief, facts: Facts, parent: Recipe) -> Recipe | None:
    """One change to ``parent`` that has not been tried; None where none is left.

    Of the two most promising changes the candidate's number decides, so that two authors who see the same memory do
    not write the same program.
    """
    tried = _tags(brief) | {parent.tag}
    options = list(dict.fromkeys(option for option in _changes(brief, facts, parent) if option.tag not in tried))
    hinted = [option for option in options if _asked_for(brief.hints, option, parent)]
    options = hinted or options
    return options[brief.turn % min(2, len(options))] if options else None


def _asked_for(hints: str, option: Recipe, parent: Recipe) -> bool:
    """Whether a person's hints ask for what ``option`` changes in ``parent``."""
    if not hints:
        return False
    now, before = (
        {found.mix, *found.steps, *(s for m in found.members for s in m.steps)} for found in (option, parent)
    )
    words = [word for change in now - before for word in _HINTS.get(change, ())]
    named = set(recognised(hints)) & set(option.families) - set(parent.families)
    return bool(named) or any(word in hints for word in words)


def combined(brief: Brief, facts: Facts, programs: Sequence[Tried]) -> Recipe:
    """The solutions in one program: weighed, and stacked where that has been tried."""
    members: list[Member] = []
    steps = set(shared_steps(facts))
    able = families(facts)
    for one in programs:
        found = recipe.of_program(one.code)
        if found:
            steps |= set(found.steps)
            members += [member for member in found.members if member.family in able]
        else:
            members += [Member(key) for key in _recognised(one.code, able)[:1]]
    members = _distinct(facts, members)
    for key in able:
        if len(members) >= 2:
            break
        members = _distinct(facts, [*members, Member(key)])
    mixes = ("average",) if facts.style == "series" else ("weigh", "average", "stack")
    options = [mixed(members[:_MIXED], mix, steps) for mix in mixes]
    tried = _tags(brief)
    return next((option for option in options if option.tag not in tried), options[0])


def _tags(brief: Brief) -> set[str]:
    texts = [*(one.plan for one in brief.memory), *brief.fixes]
    return {found.tag for text in texts if (found := recipe.parse(text))}


def _distinct(facts: Facts, members: Iterable[Member]) -> list[Member]:
    """One member of each family, the first; without those that see only a small part of many rows."""
    kept: dict[str, Member] = {}
    for member in members:
        if facts.style != "tabular" or family_of(member).most * 3 >= facts.rows:
            kept.setdefault(member.family, member)
    return list(kept.values())


def _best_members(brief: Brief, facts: Facts) -> list[Member]:
    """The members of what has been tried, best score first; then families that have not been tried."""
    scored = [(one.score, found) for one in brief.memory if one.score is not None and (found := recipe.parse(one.plan))]
    sign = 1 if brief.task.get("direction") == "minimize" else -1
    scored.sort(key=lambda pair: sign * pair[0])
    able = families(facts)
    alone = [found.members[0] for _, found in scored if found.mix == "one" and found.members[0].family in able]
    return _distinct(facts, [*alone, *(Member(key) for key in able)])


def _changes(brief: Brief, facts: Facts, parent: Recipe) -> Iterable[Recipe]:
    """Changes to ``parent``, most promising first."""
    if facts.style == "series":
        yield from series.changes(parent, brief.steps - brief.step)
        return
    pool = [member for member in _best_members(brief, facts) if member.family not in parent.families]
    known = len([one for one in brief.memory if one.score is not None and recipe.parse(one.plan)])
    alone = len(parent.members) == 1
    if alone and known >= 3 and pool:
        yield mixed([*parent.members, *pool[:2]], "average", parent.steps)
    if not alone:
        yield from _mixes(parent, pool)
    if facts.style == "tabular" and (facts.sums or facts.spans) and "sums" not in parent.steps:
        yield parent.having("sums")
    for position, member in enumerate(parent.members):
        for step in _member_steps(facts, member)[: 2 if not alone else None]:
            yield parent.with_member(position, member.having(step))
    cuts = facts.kind == "binary" and facts.metric.need == "label"
    cuts = cuts and facts.metric.key not in {"accuracy", "zero_one_loss"}
    if cuts and parent.mix in {"one", "average"} and "cut" not in parent.steps:
        yield parent.having("cut")
    if alone and pool:
        for size in (1, 2, 3):
            yield mixed([*parent.members, *pool[:size]], "average", parent.steps)
    for position, member in enumerate(parent.members):
        for step in _member_steps(facts, member)[2:] if not alone else ():
            yield parent.with_member(position, member.having(step))


def _mixes(parent: Recipe, pool: Sequence[Member]) -> Iterable[Recipe]:
    steps = [step for step in parent.steps if step != "cut"]
    if parent.mix == "average":
        yield mixed(parent.members, "weigh", steps)
    if pool and len(parent.members) < _MIXED:
        yield mixed([*parent.members, pool[0]], parent.mix, parent.steps)
    if parent.mix != "stack":
        yield mixed(parent.members, "stack", steps)
    for position, member in enumerate(pool[:2]):
        if len(parent.members) >= _MIXED:
            yield mixed([*parent.members[: _MIXED - 1 - position], member], parent.mix, parent.steps)


def _member_steps(facts: Facts, member: Member) -> list[str]:
    """The steps that a member can still take, most promising first."""
    family = family_of(member)
    if family.represent is not None:
        order = ["tune", *(["more", "bag"] if family.random else [])]
    elif family.prepared in {"scaled", "dense"}:
        order = ["power", "target", "tune", "flags", "pairs", "clusters", "pca", *(["bag"] if family.random else [])]
    else:
        order = ["target", "more", "pairs", "tune", "bag", "clusters", "pca", "flags"]
    if member.family in {"svm", "kernel", "knn", "linear", "enet"} and "power" in order:
        order.remove("tune")
        order.insert(1, "tune")
    return [step for step in order if step not in member.steps]


def needed(parent: Recipe) -> tuple[str, ...]:
    """The steps of ``parent`` that a new program for the same data needs too."""
    return tuple(step for step in parent.steps if step in _READING)
