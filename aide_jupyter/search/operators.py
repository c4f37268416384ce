"""What the author is asked to write, from the tree: one :class:`~aide_jupyter.task.Assignment` of bounded size.

What is read for it does not grow with the run: the parent, the chain of fixes before it, and a dozen lines of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from ..records import ErrorOutput, ImageOutput, Output, StreamOutput, Text
from ..state import Candidate, RunState
from ..task import Assignment, Attempt, Memory
from .failures import error_text
from .families import stored_family
from .policy import fixed_before

Read = Callable[[Text], str]
"""Gives the text of a record's field, whether it stands there or in a blob."""

CODE_CHARS = 40_000
OUTPUT_HEAD, OUTPUT_TAIL = 1_500, 6_500
FIX_OUTPUT_CHARS = 1_500
WORDS_CHARS = 1_200
MEMORY_LINES = 12
MEMORY_CHARS = 400
FIXES = 3
OTHERS = 3
FAMILIES = 16
HINTS = 8
_LOOKED_AT = 48


def assignment(state: RunState, candidate: str, read: Read) -> Assignment:
    """What the author model is told for a candidate that has been chosen.

    Parameters
    ----------
    state
        The run, with the candidate's ``chosen`` in it.
    read
        Gives the text of a record's field.
    """
    node = state.candidates[candidate]
    parent = None if node.parent is None else state.candidates[node.parent]
    fixes = fixed_before(state, parent) if parent is not None and node.operator == "debug" else []
    others = _others(state, parent) if parent is not None and node.operator == "ensemble" else []
    told = {candidate, node.parent, *(one.id for one in (*fixes, *others))}
    return Assignment(
        candidate=candidate,
        operator=node.operator,
        step=min(state.steps, state.budgets.steps),
        steps=state.budgets.steps,
        parent=None if parent is None else attempt(parent, read),
        fixes=tuple(_fix(one, read) for one in reversed(fixes[:FIXES])),
        others=tuple(attempt(one, read) for one in others),
        memory=tuple(_memory_line(one, read) for one in _remembered(state, node, told)),
        families=tuple(_families(state, read)) if node.operator == "draft" else (),
        drafts_ahead=_drafts_ahead(state, node) if node.operator == "draft" else 0,
        hints=tuple(hint[:WORDS_CHARS] for hint in state.hints[-HINTS:]),
    )


def attempt(node: Candidate, read: Read) -> Attempt:
    """A candidate as a prompt tells of it: its code, and its output with more of the end than of the beginning."""
    return Attempt(
        id=node.id,
        operator=node.operator,
        plan=_cut(read(node.plan), WORDS_CHARS, 0),
        code=_cut(read(node.code), CODE_CHARS // 2, CODE_CHARS // 2),
        output=_cut(_output(node, read), OUTPUT_HEAD, OUTPUT_TAIL),
        value=node.value,
        failed=node.failed,
        summary=_summary(node, read),
    )


def story(state: RunState, read: Read, most: int = 2 * MEMORY_LINES) -> tuple[Memory, ...]:
    """The run in at most ``most`` lines, for its report: the best candidates and the newest, oldest first."""
    best = _usable(state, (one for _, _, one in state.ranking[: most // 2]))
    newest = _usable(state, islice(reversed(state.candidates), most))
    kept = {one.id: one for one in best}
    for one in newest:
        if len(kept) < most:
            kept[one.id] = one
    return tuple(_memory_line(one, read) for one in sorted(kept.values(), key=lambda one: one.number))


def _fix(node: Candidate, read: Read) -> Attempt:
    """A failed program before the one that is to be fixed: what was tried and what came of it, without its code."""
    told = attempt(node, read)
    return Attempt(
        id=told.id,
        operator=told.operator,
        plan=told.plan,
        code="",
        output=told.output[-FIX_OUTPUT_CHARS:],
        value=told.value,
        failed=told.failed,
        summary=told.summary,
    )


def _output(node: Candidate, read: Read) -> str:
    """What the program printed, then what the server saw, which alone says why a program was ended."""
    finished = node.finished
    if finished is None:
        return node.error or ""
    printed = "".join(_printed(output, read) for output in finished.claimed.outputs)
    if finished.claimed.truncated:
        printed += f"\n[{finished.claimed.truncated} bytes of output were not kept]"
    if finished.status not in ("ok", "error"):
        limit = f", limit: {finished.observed.limit}" if finished.observed.limit else ""
        printed += f"\n[ended as {finished.status} after {finished.observed.seconds:.0f} s{limit}]"
    elif finished.status == "ok" and node.grade is not None and node.grade.error:
        printed += f"\n[{node.grade.error}]"
    return printed


def _printed(output: Output, read: Read) -> str:
    if isinstance(output, StreamOutput):
        return read(output.text)
    if isinstance(output, ErrorOutput):
        traceback, message = read(output.traceback), read(output.message)
        return f"\n{traceback}" if message in traceback else f"\n{traceback}\n{output.name}: {message}"
    return "" if isinstance(output, ImageOutput) else f"{read(output.text)}\n"


def _summary(node: Candidate, read: Read) -> str:
    if node.stage in ("rejected", "edited") and node.decided is not None:
        return f"Not run; rejected: {_cut(node.decided.reason or 'no reason given', WORDS_CHARS, 0)}"
    words = "" if node.review is None else read(node.review.summary).strip()
    if not words and not node.done:
        return "Under way."
    return _cut(words or (error_text(node) if node.failed else ""), WORDS_CHARS, 0)


def _others(state: RunState, parent: Candidate) -> list[Candidate]:
    """The best of each line but the parent's, best first: what a blend can gain from."""
    bests = [state.candidates[best] for root, best in state.lines.items() if root != parent.root]
    bests.sort(key=lambda one: ((one.value or 0.0) * (1 if state.minimize else -1), one.number))
    return bests[:OTHERS]


def _remembered(state: RunState, node: Candidate, told: set[str | None]) -> list[Candidate]:
    """At most a dozen candidates that help to write this one, oldest first.

    A third each: what was last tried on the same parent, what is best, what is newest. Where one kind has fewer, the
    newest fill up. What the prompt shows anyway is left out, as are repeated plans and edits' originals. A fix, which
    is told the failed fixes beside this, is told half as many.
    """
    lines = MEMORY_LINES // 2 if node.operator == "debug" else MEMORY_LINES
    siblings = state.candidates[node.parent].children if node.parent is not None else state.roots
    kinds = (
        _usable(state, islice(reversed(siblings), _LOOKED_AT)),
        _usable(state, (one for _, _, one in state.ranking[:_LOOKED_AT])),
        _usable(state, islice(reversed(state.candidates), _LOOKED_AT)),
    )
    kept: dict[str, Candidate] = {}
    plans: set[str] = set()
    for share, kind in enumerate(kinds, start=1):
        most = lines * share // len(kinds)
        for one in kind:
            if len(kept) >= most:
                break
            plan = one.plan[:MEMORY_CHARS] if isinstance(one.plan, str) else one.plan.sha256
            if one.id not in told and one.id not in kept and plan not in plans:
                kept[one.id] = one
                plans.add(plan)
    return sorted(kept.values(), key=lambda one: one.number)


def _usable(state: RunState, ids: Iterator[str]) -> Iterator[Candidate]:
    return (one for one in map(state.candidates.__getitem__, ids) if one.plan and one.stage != "edited")


def _memory_line(node: Candidate, read: Read) -> Memory:
    value = None if node.failed else node.value
    plan, summary = read(node.plan)[:MEMORY_CHARS], _summary(node, read)[:MEMORY_CHARS]
    return Memory(id=node.id, plan=plan, value=value, summary=summary)


def _families(state: RunState, read: Read) -> list[str]:
    """The families of the latest drafts, oldest first, also of those that failed or are under way."""
    found: dict[str, None] = {}
    for one in islice(reversed(state.roots), _LOOKED_AT):
        code = state.candidates[one].code
        if code and (name := stored_family(code, read)) and len(found) < FAMILIES:
            found[name] = None
    return list(reversed(found))


def _drafts_ahead(state: RunState, node: Candidate) -> int:
    """How many earlier drafts have no program yet, so that nobody can tell their families."""
    others = map(state.candidates.__getitem__, state.unfinished)
    return sum(one.operator == "draft" and one.stage == "chosen" and one.number < node.number for one in others)


def _cut(text: str, head: int, tail: int) -> str:
    if len(text) <= head + tail:
        return text
    left_out = f"… {len(text) - head - tail} characters left out …"
    return f"{text[:head]}\n{left_out}\n{text[-tail:]}" if tail else f"{text[:head]} {left_out}"
