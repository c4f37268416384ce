"""The page of one candidate in the audit notebook: its plan, who decided about it, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable

from .. import records as r
from ..state import Candidate
from ..untrusted import Untrusted
from . import words as w
from .trail import Reader, Trail


def plan_page(trail: Trail, blobs: Reader, node: Candidate) -> str:
    """What was planned for a candidate, who decided about it, and what came of it."""
    facts = w.table((f"Candidate {node.id}", _origin(node)), _facts(trail, node))
    parts = [f"### {node.id}: {_headline(node)}", facts]

    def tell(title: str, text: str) -> None:
        parts.append(f"**{title}**\n\n{text}")

    if node.error is not None:
        tell("Why there is no program", w.block(node.error, "error"))
    if plan := blobs.text(node.plan):
        tell("Plan, in the author's words", w.block(plan, "plan"))
    if node.flags:
        tell("Flags", w.lines([_flag(flag) for flag in node.flags], "flag"))
    if node.tainted:
        tell("Suspicious input that it descends from", w.lines(node.tainted, "taint"))
    if node.decided is not None and node.decided.reason:
        tell("Reason given with the decision", w.block(node.decided.reason, "reason"))
    if node.grade is not None and node.grade.error:
        tell("Why there is no number", w.block(node.grade.error, "grading"))
    if node.review is not None:
        verdict = "it found a fault" if node.review.failed else "it found no fault"
        tell(f"Review: {verdict} (a model's claim)", w.block(blobs.text(node.review.summary), "review"))
    if node.finished is not None and node.finished.observed.files:
        tell("Files left in `./working`", w.lines(_files(node.finished.observed), "file name"))
    if node.id in trail.network:
        tell("Network requests", w.lines([_request(one) for one in trail.network[node.id]], "host name"))
    return "\n\n".join(parts)


def _origin(node: Candidate) -> str:
    if node.edit_of is not None:
        return f"a person's edit of {node.edit_of}"
    return node.operator if node.parent is None else f"{node.operator} of {node.parent}"


def _headline(node: Candidate) -> str:
    if node.error is not None:
        return f"{_origin(node)}, no program"
    if node.stage == "waiting":
        return f"{_origin(node)}, waiting for a decision"
    if node.finished is None:
        return f"{_origin(node)}, {node.stage}"
    if node.finished.status != "ok":
        return f"{_origin(node)}, failed ({node.finished.status})"
    if node.failed:
        why = "no number" if node.value is None else f"{w.score(node.grade)}, but the review found a fault"
        return f"{_origin(node)}, {why}"
    return f"{_origin(node)}, ran" if node.grade is None else f"{_origin(node)}, {w.score(node.grade)}"


def _facts(trail: Trail, node: Candidate) -> Iterable[tuple[str, str]]:
    if node.grade is not None:
        final = trail.finals.get(node.id)
        yield "Number", w.score(node.grade) + (f"; {w.score(final)}" if final is not None else "")
    if node.finished is not None:
        yield "Outcome", _outcome(node.finished)
    if node.finished is not None and (claimed := node.finished.claimed).truncated + claimed.masks:
        yield "Output", f"{w.size(claimed.truncated)} not kept, {claimed.masks:,} secrets masked"
    for execution in trail.executions.get(node.id, []):
        if execution.started.purpose != "search":
            end = "not finished" if execution.finished is None else _outcome(execution.finished)
            yield f"Run for {execution.started.purpose}", end
    yield "Proposed", f"by {w.who(trail.authors.get(node.id))}, {w.when(node.times.get('proposed'))}"
    used = node.tokens.prompt + node.tokens.completion
    unknown = trail.unknown_costs[node.id]
    if used or node.cost is not None or unknown:
        yield "Model calls", f"{w.tokens(node.tokens)}, {w.cost(node.cost, unknown)}"
    if node.decided is not None:
        yield "Decision", _decision(node.decided, node.decided_by, node.times.get("decided"))
    elif node.stage == "waiting":
        yield "Decision", f"asked {w.when(node.times.get('asked'))}, not given yet"
    if node.error is None:
        yield "Program", f"sha256 `{node.code_sha256}`"


def _outcome(finished: r.Finished) -> str:
    observed = finished.observed
    words = f"{finished.status} after {w.seconds(observed.seconds)}, peak memory {w.size(observed.peak_memory_bytes)}"
    if observed.limit is not None:
        words += f", ended by the limit on {w.span(observed.limit)}"
    if observed.exit is not None:
        words += f", exit status {observed.exit}"
    if observed.survivors:
        words += f", {observed.survivors} processes survived"
    return words


def _decision(decided: r.Decided, actor: r.Actor | None, time: str | None) -> str:
    done = {"approve": "approved", "edit": "replaced by an edit", "reject": "rejected"}[decided.decision]
    purposes = f", for {', '.join(decided.purposes)}" if decided.purposes else ""
    return f"{done} by {w.who(actor)}, {w.when(time)}, review mode {decided.mode}{purposes}"


def _flag(flag: r.Flag) -> str:
    place = f"line {flag.line}" if flag.line else "whole program"
    return f"{place:<14}{flag.severity:<8}{flag.message} ({flag.rule})"


def _files(observed: r.Observed) -> Iterable[str]:
    for file in observed.files:
        digest = "too large to keep" if file.sha256 is None else f"sha256 {file.sha256[:16]}…"
        name = Untrusted(file.path, "file name").render(w.SHORT, one_line=True)
        yield f"{w.size(file.bytes):>12}  {digest:<24}  {name}"
    if observed.files_left_out:
        yield f"{observed.files_left_out:,} more files were not kept"


def _request(one: r.Network) -> str:
    host = Untrusted(one.host, "host name").render(w.SHORT, one_line=True)
    return f"{'allowed' if one.allowed else 'denied '} {host}:{one.port}  {w.size(one.bytes)}"
