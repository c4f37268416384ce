"""One candidate as a page shows it: its program and its parent's, what was observed and claimed, and who decided."""

from __future__ import annotations

from collections.abc import Iterator

from .. import records as r
from ..audit import words as w
from ..audit.trail import Reader
from ..review.characters import suspicious
from ..state import Candidate
from ..untrusted import Untrusted, visible
from . import words
from .looking import NotFound
from .models import (
    CandidateView,
    ClaimedView,
    Code,
    Fact,
    FlagView,
    GradeView,
    HiddenCharacters,
    ObservedView,
    OutputView,
    Provenance,
    ReviewerView,
)
from .nodes import Picture

_HIDDEN_LINES = 200
_DONE = {"approve": "approved", "edit": "replaced by an edit", "reject": "rejected"}


def candidate_view(picture: Picture, candidate: str) -> CandidateView:
    """All about one candidate.

    Raises
    ------
    NotFound
        The run has no such candidate.
    """
    trail, blobs = picture.trail, picture.blobs
    node = trail.state.candidates.get(candidate)
    if node is None:
        raise NotFound(f"There is no candidate {candidate} in this run.")
    shown = picture.node(node)
    parent = compared_with(picture, node)
    return CandidateView(
        run=trail.state.run,
        seq=trail.head.seq,
        node=shown,
        headline=f"{node.id}, {_origin(node)}" + ("" if shown.standing == "good" else f": {shown.status_words}"),
        plan_shown=words.long(words.text_of(blobs, node.plan), "plan"),
        error_shown=words.long(node.error or "", "error"),
        code=code_view(node, blobs),
        parent_code=None if parent is None else code_view(parent, blobs),
        parent_words="" if parent is None else f"compared with {parent.id}",
        flags=flag_views(node.flags),
        taints=taints(picture, node),
        observed=None if node.finished is None else _observed(node.finished),
        claimed=None if node.finished is None else _claimed(node.finished.claimed, blobs),
        grade=_grade(node.grade),
        final=_grade(trail.finals.get(node.id)),
        review=_review(picture, node),
        provenance=_provenance(picture, node),
        facts=tuple(_facts(picture, node)),
    )


def compared_with(picture: Picture, node: Candidate) -> Candidate | None:
    """The program that a diff shows beside this one's: the one it is an edit of, else its parent's."""
    other = picture.trail.state.candidates.get(node.edit_of or node.parent or "")
    return None if other is None or other.error is not None else other


def code_view(node: Candidate, blobs: Reader) -> Code | None:
    """A candidate's program, exact, with the lines in which something does not meet the eye; None without one.

    Raises
    ------
    AlteredError
        The program is gone or changed: nothing is shown in its place.
    """
    if node.error is not None or "proposed" not in node.seqs:
        return None
    exact = blobs.text(node.code)
    return Code(sha256=node.code_sha256, exact=exact, hidden=tuple(_hidden(exact)))


def _hidden(code: str) -> Iterator[HiddenCharacters]:
    named = {flag.line for flag in suspicious(code)}
    found = 0
    for number, row in enumerate(code.replace("\r\n", "\n").split("\n"), start=1):
        if number in named or visible(row) != row:
            found += 1
            if found > _HIDDEN_LINES:
                return
            plain = row.encode("ascii", "backslashreplace").decode("ascii")
            yield HiddenCharacters(line=number, shown=Untrusted(plain, "program").render(400, one_line=True))


def flag_views(flags: tuple[r.Flag, ...]) -> tuple[FlagView, ...]:
    """Flags, those that are dangers first."""
    ordered = sorted(flags, key=lambda flag: (flag.severity != "danger", flag.line))
    return tuple(
        FlagView(rule=flag.rule, line=flag.line, message=words.line(flag.message, "flag", 400), severity=flag.severity)
        for flag in ordered
    )


def taints(picture: Picture, node: Candidate) -> tuple[str, ...]:
    """Why this candidate, or one that it descends from, was written after suspicious text."""
    found = [reason for one in picture.trail.state.lineage(node.id) for reason in one.tainted]
    return tuple(words.line(reason, "taint", 400) for reason in dict.fromkeys(found))


def _origin(node: Candidate) -> str:
    if node.edit_of is not None:
        return f"a person's edit of {node.edit_of}"
    return node.operator if node.parent is None else f"{node.operator} of {node.parent}"


def _observed(finished: r.Finished) -> ObservedView:
    seen = finished.observed
    files = [
        Fact(name=w.size(one.bytes), shown=Untrusted(one.path, "file name").render(200, one_line=True))
        for one in seen.files[:200]
    ]
    rows = [
        ("Ended", finished.status if seen.limit is None else f"{finished.status}, by its limit of {seen.limit}"),
        ("Time", w.seconds(seen.seconds)),
        ("Peak memory", w.size(seen.peak_memory_bytes)),
        ("Printed", w.size(seen.output_bytes)),
        ("Files left in ./working", f"{len(seen.files) + seen.files_left_out:,}"),
    ]
    if seen.exit is not None:
        rows.append(("Exit status", str(seen.exit)))
    if seen.survivors:
        rows.append(("Processes that outlived the jail", str(seen.survivors)))
    return ObservedView(
        status=finished.status,
        seconds=seen.seconds,
        peak_memory_bytes=seen.peak_memory_bytes,
        limit=seen.limit,
        exit=seen.exit,
        output_bytes=seen.output_bytes,
        files=tuple(files),
        facts=tuple(Fact(name=name, shown=shown) for name, shown in rows),
    )


def _claimed(claimed: r.Claimed, blobs: Reader) -> ClaimedView:
    return ClaimedView(
        reply=claimed.reply,
        metric=claimed.metric,
        metric_text=words.line(claimed.metric_text or "", "metric"),
        truncated_bytes=claimed.truncated,
        masks=claimed.masks,
        outputs=tuple(_output(one, blobs) for one in claimed.outputs),
    )


def _output(one: r.Output, blobs: Reader) -> OutputView:
    name, shown, image = "", "", None
    match one:
        case r.ImageOutput():
            name, image = "picture", one.png
        case r.StreamOutput():
            name, shown = one.name, words.text_of(blobs, one.text)
        case r.TextOutput():
            name, shown = "value", words.text_of(blobs, one.text)
        case r.ErrorOutput():
            name = words.line(one.name, "error name")
            told = words.text_of(blobs, one.traceback)
            shown = told or f"{one.name}: {words.text_of(blobs, one.message)}"
    return OutputView(
        type=one.type,
        name=name,
        shown=words.long(shown, "program output"),
        image=None if image is None else image.sha256,
        image_bytes=0 if image is None else image.bytes,
    )


def _grade(grade: r.Graded | None) -> GradeView | None:
    if grade is None:
        return None
    source = words.source_of(grade)
    said = "no number" if grade.value is None else f"{w.number(grade.value)}, {words.SOURCES[source]}"
    if grade.interval is not None:
        said += f" (95 % interval {w.number(grade.interval[0])} to {w.number(grade.interval[1])})"
    return GradeView(
        value=grade.value,
        words=said,
        source=source,
        interval=grade.interval,
        error=words.long(grade.error or "", "grading", 2000),
    )


def _review(picture: Picture, node: Candidate) -> ReviewerView | None:
    if node.review is None:
        return None
    model = picture.trail.state.opened.settings.feedback.model if picture.trail.state.opened else ""
    return ReviewerView(
        failed=node.review.failed,
        shown=words.long(words.text_of(picture.blobs, node.review.summary), "review"),
        by=words.line(model, "model"),
    )


def _provenance(picture: Picture, node: Candidate) -> Provenance:
    author, decided, by = picture.trail.authors.get(node.id), node.decided, node.decided_by
    unknown = picture.trail.unknown_costs[node.id]
    return Provenance(
        author=words.who(author),
        author_kind="unknown" if author is None else author.kind,
        model=words.line(node.model or "", "model"),
        chosen_by=words.who(picture.trail.choosers.get(node.id)),
        proposed_at=node.times.get("proposed", ""),
        prompt_tokens=node.tokens.prompt,
        completion_tokens=node.tokens.completion,
        cost_usd=node.cost,
        unknown_cost_calls=unknown,
        cost_words=w.cost(node.cost, unknown),
        decision=None if decided is None else decided.decision,
        decided_by=words.who(by) if by is not None else "",
        decided_by_kind="unknown" if by is None else by.kind,
        decided_at=node.times.get("decided", ""),
        decided_mode=None if decided is None else decided.mode,
        decided_purposes=() if decided is None else decided.purposes,
        reason_shown="" if decided is None else words.long(decided.reason, "reason", 4000),
    )


def _facts(picture: Picture, node: Candidate) -> Iterator[Fact]:
    if node.decided is not None:
        decided = node.decided
        what = f"{_DONE[decided.decision]} by {words.who(node.decided_by)}, {w.when(node.times.get('decided'))}"
        yield Fact(name="Decision", shown=f"{what}, review mode {decided.mode}")
    elif node.stage == "waiting":
        yield Fact(name="Decision", shown=f"asked {w.when(node.times.get('asked'))}, not given yet")
    if node.error is None and "proposed" in node.seqs:
        yield Fact(name="Program", shown=f"sha256 {node.code_sha256}")
    for one in picture.trail.executions.get(node.id, []):
        end = "not finished" if one.finished is None else one.finished.status
        yield Fact(name=f"Run for {one.started.purpose}", shown=f"{w.when(one.at)}: {end}")
    for request in picture.trail.network.get(node.id, []):
        host = Untrusted(request.host, "host name").render(200, one_line=True)
        allowed = "allowed" if request.allowed else "denied"
        yield Fact(name="Network request", shown=f"{allowed} {host}:{request.port}, {w.size(request.bytes)}")
