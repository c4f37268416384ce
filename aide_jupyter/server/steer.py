"""What a person does about a run: control, decisions, the questions that they answer. Each is recorded as theirs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import islice

from .. import records as r
from ..afterwards import close_unowned
from ..audit import words as w
from ..audit.notebook import cell_ids
from ..errors import BadRequest
from ..owner import control
from ..review import gate
from ..run import Run
from . import words
from .candidateview import code_view, compared_with, flag_views, taints
from .looking import NotFound
from .models import (
    Branch,
    ControlReply,
    DecisionReply,
    DecisionRequest,
    Fact,
    Hint,
    Propose,
    Question,
    Questions,
    Simple,
    SwitchMode,
)
from .nodes import Picture
from .runs import Runs
from .runview import Around

Command = Simple | Hint | SwitchMode | Branch | Propose
_ELSEWHERE = "The run is at work in another process, and is answered there (in the terminal that started it)."
_QUICK_SECONDS = 2.0
_QUICK_COUNT = 10
_DONE = {
    "pause": "Paused: what runs finishes, nothing new starts.",
    "resume": "The run goes on.",
    "stop": "The run is closed once what runs has ended.",
    "stop-now": "What ran was ended, and the run is being closed.",
    "hint": "The author is told with the next steps.",
    "mode": "The review mode was changed.",
    "branch": "It comes next.",
    "propose": "Your program was approved by you, and comes next.",
}


async def steer(runs: Runs, run: str, asked: Command, actor: r.Actor) -> ControlReply:
    """Do what a person asks of a run, whoever works at it.

    Raises
    ------
    NotFound
        There is no such run.
    BadRequest
        It cannot be done, and why.
    """
    if isinstance(asked, SwitchMode):
        runs.caps.must_allow_mode(asked.mode)
    live, candidate = runs.live(run), None
    if live is not None and live.run is not None:
        candidate = _steer_own(live.run, asked, actor)
    elif live is not None and live.working:
        if asked.verb not in ("stop", "stop-now"):
            raise BadRequest("The run is still being prepared.", "Wait until it has begun, or stop it.")
        await runs.abandon(run)
        return ControlReply(run=run, phase="failed", words="It was stopped before it began.", candidate=None)
    else:
        await _steer_other(runs, run, asked, actor)
    _, phase = await runs.phase(run)
    return ControlReply(run=run, phase=phase, words=_DONE[asked.verb], candidate=candidate)


def _steer_own(run: Run, asked: Command, actor: r.Actor) -> str | None:
    engine = run.engine
    if engine.state.closed is not None:
        raise BadRequest("The run is closed.", "Begin a new run.")
    match asked:
        case Hint():
            engine.hint(asked.text, actor)
        case SwitchMode():
            engine.switch_mode(asked.mode, actor)
        case Branch():
            return engine.branch(asked.candidate, actor, asked.hint)
        case Propose():
            return engine.propose_own(asked.plan, asked.code, asked.parent, actor)
        case Simple(verb="pause"):
            engine.pause(f"{actor.name} asked for it", actor)
        case Simple(verb="resume"):
            engine.resume(actor)
        case Simple(verb="stop"):
            engine.stop(f"{actor.name} asked for it")
        case Simple():
            engine.stop_now(f"{actor.name} asked for it at once")
    return None


async def _steer_other(runs: Runs, run: str, asked: Command, actor: r.Actor) -> None:
    """A run of another process through its control socket; one of nobody by taking it up, or by closing it."""
    entry = await runs.entry(run)
    if not await runs.off_loop(partial(runs.owned_elsewhere, entry)):
        if asked.verb == "resume":
            await runs.resume(run, actor)
        elif asked.verb in ("stop", "stop-now"):
            await runs.off_loop(partial(close_unowned, run, actor))
        else:
            raise BadRequest("No process works at this run.", "Resume it first.")
        return
    match asked:
        case Branch() | Propose():
            raise BadRequest(
                "The run is at work in another process, which takes no programs or branches from here.",
                "Pause it there, then resume it here.",
            )
        case Hint():
            await control(entry.folder, "hint", text=asked.text, user=actor.name)
        case SwitchMode():
            await control(entry.folder, "mode", mode=asked.mode, user=actor.name)
        case Simple():
            await control(entry.folder, asked.verb, user=actor.name)


async def decide(runs: Runs, run: str, asked: DecisionRequest, actor: r.Actor) -> DecisionReply:
    """Record a person's decision on exactly the program that they saw.

    Raises
    ------
    NotFound
        There is no such run.
    AlreadyDecided
        Another decision was first, or what waits is not what was seen.
    BadRequest
        It cannot be used as it is; the question stays open.
    """
    live = runs.live(run)
    if live is None or live.run is None:
        return await runs.look(run, lambda picture, around: _decided_before(picture, asked))
    engine = live.run.engine
    if asked.edited_code is not None:
        engine.must_hold_no_secret(asked.edited_code)
    verdict = engine.parts.reviews.decide(
        asked.candidate,
        asked.nonce,
        asked.code,
        asked.decision,
        actor,
        asked.reason,
        asked.edited_code,
        data=asked.data,
        purposes=asked.purposes,
    )
    return _decision(asked.candidate, verdict.decision, verdict.actor)


def _decided_before(picture: Picture, asked: DecisionRequest) -> DecisionReply:
    """Of a run that is not at work here, what its records say. The same decision again changes nothing, so it is told
    as it was taken."""
    node = picture.trail.state.candidates.get(asked.candidate)
    if node is None or node.decided is None or node.decided_by is None:
        raise gate.AlreadyDecided("Nothing of this run waits for a decision here.", "Load the run again.")
    decided = node.decided
    reply = _decision(node.id, decided.decision, node.decided_by)
    if (decided.decision, decided.code, asked.edited_code) == (asked.decision, asked.code, None):
        return reply
    raise gate.AlreadyDecided(reply.words, "Load the run again to see where it stands.")


def _decision(candidate: str, decision: r.Decision, actor: r.Actor) -> DecisionReply:
    done = {"approve": "approved", "edit": "edited, and the edit approved", "reject": "rejected"}[decision]
    by = words.who(actor)
    return DecisionReply(candidate=candidate, decision=decision, by=by, words=f"{candidate} was {done} by {by}.")


async def questions(runs: Runs, run: str) -> Questions:
    """What waits for a person, oldest first, with the nonces that answer it.

    Raises
    ------
    NotFound
        There is no such run.
    """
    live = runs.live(run)
    open_questions = [] if live is None or live.run is None else live.run.engine.parts.reviews.waiting()

    def show(picture: Picture, around: Around) -> Questions:
        return Questions(
            run=run,
            seq=picture.trail.head.seq,
            questions=tuple(_question(picture, one) for one in open_questions),
            elsewhere=_ELSEWHERE if around.owner == "elsewhere" and picture.trail.state.waiting else "",
            pace=_pace(picture),
        )

    try:
        return await runs.look(run, show)
    except NotFound:
        if live is None:
            raise
        return Questions(run=run, seq=-1, questions=(), elsewhere="", pace="")


def _question(picture: Picture, asked: gate.Question) -> Question:
    trail, blobs = picture.trail, picture.blobs
    node = trail.state.candidates[asked.candidate]
    code, other = code_view(node, blobs), compared_with(picture, node)
    assert code is not None
    suspicious = taints(picture, node)
    return Question(
        candidate=asked.candidate,
        nonce=asked.nonce,
        data=asked.data,
        purposes=asked.purposes,
        purposes_words=f"An approval covers: {', '.join(asked.purposes)}.",
        why=words.long(asked.reason, "reason", 2000),
        high_risk=bool(suspicious) or bool(code.hidden) or any(flag.severity == "danger" for flag in node.flags),
        flags=flag_views(node.flags),
        taints=suspicious,
        code=code,
        compared_with=None if other is None else other.id,
        compared_code=None if other is None else code_view(other, blobs),
        plan_shown=words.long(words.text_of(blobs, node.plan), "plan"),
        capabilities=tuple(_capabilities(picture)),
        asked_at=node.times.get("asked", ""),
        cell=cell_ids(trail, node.id)[-1],
    )


def _capabilities(picture: Picture) -> Iterator[Fact]:
    """What the program will be able to do, by the run's first record."""
    opened = picture.trail.state.opened
    assert opened is not None
    limits, data = opened.settings.limits, opened.data
    yield Fact(name="Reads", shown=f"./input: {data.files:,} files, {w.size(data.bytes)}, and Python")
    yield Fact(name="Writes", shown=f"./working, up to {w.size(limits.disk_bytes)}")
    yield Fact(name="Network", shown=words.line(", ".join(opened.grants.network) or "none", "host", 400))
    yield Fact(name="Time", shown=f"up to {w.seconds(limits.seconds)}")
    yield Fact(name="Memory", shown=f"up to {w.size(limits.memory_bytes)}")
    yield Fact(name="Processes", shown=f"up to {limits.processes:,}")


def _pace(picture: Picture) -> str:
    """A word of care where the last approvals were quicker than anybody reads."""
    quick = 0
    for node in islice(reversed(picture.trail.state.candidates.values()), 200):
        by_person = node.decided_by is not None and node.decided_by.kind == "user"
        if not by_person or node.decided is None or node.decided.decision != "approve" or "asked" not in node.times:
            continue
        taken = datetime.fromisoformat(node.times["decided"]) - datetime.fromisoformat(node.times["asked"])
        if taken.total_seconds() >= _QUICK_SECONDS:
            return ""
        quick += 1
        if quick == _QUICK_COUNT:
            return f"The last {quick} programs were approved in less than {_QUICK_SECONDS:g} seconds each."
    return ""
