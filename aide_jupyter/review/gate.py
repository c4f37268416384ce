"""Who decides about a program before it runs: a person, or the run's mode."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from ..records import Flag, ReviewMode
from ..state import Candidate, RunState
from .questions import AlreadyDecided, Question, Reviews, Verdict
from .risks import CONFUSABLE, INVISIBLE, UNPARSABLE

__all__ = ["AlreadyDecided", "Question", "Reviews", "Verdict", "needs_person", "violation"]

_SECCOMP_EXITS = frozenset({159, -31})
"""How a process ends that seccomp kills: SIGSYS, as a shell and as Python write it."""
_RECENT = 256


def needs_person(state: RunState, candidate: Candidate, flags: Sequence[Flag], mode: ReviewMode) -> str | None:
    """Why a person must see a program before it runs, in words; None where the mode decides.

    ``every``: each program. ``flagged``: the first that is decided about, each that has a flag (a program that does not
    parse fails without being run, so that alone is no question), and what ``auto`` asks about. ``auto``: programs from
    a suspicious lineage; characters that hide something; a dangerous construct until a person has approved one of its
    kind in this run (a rejection teaches the run nothing, so the next one is asked about again); and the program that
    is decided about next after another one tried to get out.
    """
    if mode == "every":
        return "In this run a person decides about each program."
    if mode == "flagged":
        telling = [flag for flag in flags if flag.rule != UNPARSABLE or flag.severity == "danger"]
        if telling:
            return f"It has {_listed(telling)}."
        if all(other.decided is None or other is candidate for other in state.candidates.values()):
            return "It is the first program of this run."
    return _needed_in_auto(state, candidate, flags)


def _needed_in_auto(state: RunState, candidate: Candidate, flags: Sequence[Flag]) -> str | None:
    tainted = next((one for one in state.lineage(candidate.id) if one.tainted), None)
    if tainted is not None:
        whose = "It" if tainted is candidate else f"Its ancestor {tainted.id}"
        return f"{whose} was written after suspicious text: {tainted.tainted[0]}."
    hidden = [flag for flag in flags if flag.rule in (INVISIBLE, CONFUSABLE)]
    if hidden:
        return f"It has {_listed(hidden)}."
    dangerous = [flag for flag in flags if flag.severity == "danger"]
    if dangerous:
        known = _approved_rules(state, candidate)
        new = [flag for flag in dangerous if flag.rule not in known]
        if new:
            return f"It has {_listed(new)}; no person has approved such a thing in this run."
    return _after_violation(state)


def _approved_rules(state: RunState, candidate: Candidate) -> set[str]:
    """The rules of dangerous flags that a person has let pass in this run."""
    return {
        flag.rule
        for other in state.candidates.values()
        if other is not candidate and other.decided is not None and other.decided.decision == "approve"
        if other.decided_by is not None and other.decided_by.kind == "user"
        for flag in other.flags
        if flag.severity == "danger"
    }


def _after_violation(state: RunState) -> str | None:
    """Whether a program tried to get out and nothing was decided since. Workers are few, so the latest suffice."""
    recent = [state.candidates[one] for one in islice(reversed(state.candidates), _RECENT)]
    decided = max((one.seqs.get("decided", -1) for one in recent), default=-1)
    for one in recent:
        if one.seqs.get("finished", -1) > decided and (what := violation(one)):
            return f"The program before it, {one.id}, {what}."
    return None


def violation(candidate: Candidate) -> str | None:
    """What a program did that looks like an attempt to get out of its jail, as the server saw it; None if nothing."""
    finished = candidate.finished
    if finished is None:
        return None
    if finished.status == "refused":
        return "was refused by the sandbox"
    if finished.observed.survivors:
        return "left processes behind that outlived their jail"
    if finished.observed.exit in _SECCOMP_EXITS:
        return "was killed for a forbidden system call"
    if finished.observed.limit == "processes":
        return "started more processes than it may"
    return None


def _listed(flags: Sequence[Flag]) -> str:
    shown = "; ".join(f"line {flag.line}: {flag.message}" for flag in flags[:3])
    more = f"; and {len(flags) - 3} more" if len(flags) > 3 else ""
    return f"{len(flags)} flag{'' if len(flags) == 1 else 's'} ({shown}{more})"
