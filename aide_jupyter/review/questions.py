"""The open questions of a run: programs that wait for a person.

Each question is bound to exactly one program, data view and set of purposes by a nonce that works once. No answer
means no: nothing here ever approves by waiting.
"""

from __future__ import annotations

import ast
import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ..errors import AideError, BadRequest
from ..records import Actor, Purpose, sha256_text

Decision = Literal["approve", "edit", "reject"]
_REMEMBERED = 512


class AlreadyDecided(AideError):
    """Another decision was first, or the question is not the one that was answered (409 for a page)."""


@dataclass(frozen=True)
class Verdict:
    """An answer: what was decided, by whom, and the edited program where it is an edit."""

    decision: Decision
    actor: Actor
    reason: str = ""
    code: str | None = None


@dataclass(frozen=True)
class Question:
    """One program that waits for a person. ``code`` and ``data`` are hashes; ``nonce`` answers it once."""

    candidate: str
    code: str
    data: str
    purposes: tuple[Purpose, ...]
    reason: str
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)


@dataclass(frozen=True)
class _Answered:
    nonce: str
    content: tuple[str, ...]
    verdict: Verdict


class Reviews:
    """The questions of one run, on the event loop of its engine.

    The engine asks and records what comes back; a page or a terminal lists what waits and decides. Nothing here is
    stored: after a restart the engine asks again, with new nonces. ``on_change`` is called when a question is opened
    or closed.
    """

    def __init__(self) -> None:
        self._open: dict[str, tuple[Question, asyncio.Future[Verdict | None]]] = {}
        self._answered: OrderedDict[str, _Answered] = OrderedDict()
        self._stopped: Verdict | None = None
        self._left = False
        self.on_change: list[Callable[[], None]] = []

    async def ask(
        self, candidate: str, *, code: str, data: str, purposes: tuple[Purpose, ...], reason: str
    ) -> Verdict | None:
        """Wait, without a deadline, until somebody decides; None where this process gives the run up first.

        Parameters
        ----------
        code, data
            The SHA-256 of the program and of the data view.
        purposes
            What an approval covers.
        reason
            Why a person is asked, in words.
        """
        if self._left:
            return None
        if self._stopped is not None:
            return self._stopped
        future: asyncio.Future[Verdict | None] = asyncio.get_running_loop().create_future()
        question = Question(candidate, code, data, purposes, reason)
        self._open[candidate] = (question, future)
        self._answered.pop(candidate, None)
        self._tell()
        try:
            return await future
        finally:
            if self._open.get(candidate, (None,))[0] is question:
                del self._open[candidate]
                self._tell()

    def waiting(self) -> list[Question]:
        """The open questions, oldest first. Their nonces go to nobody who may not decide."""
        return [question for question, future in self._open.values() if not future.done()]

    def decide(
        self,
        candidate: str,
        nonce: str,
        code: str,
        decision: Decision,
        actor: Actor,
        reason: str = "",
        edited_code: str | None = None,
        *,
        data: str | None = None,
        purposes: tuple[Purpose, ...] | None = None,
    ) -> Verdict:
        """A person's answer. The engine records it; the same answer sent again returns what the first one did.

        Parameters
        ----------
        nonce, code
            As :meth:`waiting` gave them: ``code`` is the hash of the program that the person saw.
        edited_code
            The whole new program, for an edit.
        data, purposes
            Where given, what the person saw of them; they must be what is asked about.

        Raises
        ------
        AlreadyDecided
            Somebody decided differently before, or the program that waits is not the one that was seen.
        BadRequest
            The answer cannot be used as it is; the question stays open.
        """
        content = (decision, code, reason, "" if edited_code is None else sha256_text(edited_code))
        if candidate not in self._open or self._open[candidate][1].done():
            return self._repeated(candidate, nonce, content)
        question, future = self._open[candidate]
        seen = (
            secrets.compare_digest(nonce.encode(), question.nonce.encode())
            and code == question.code
            and data in (None, question.data)
            and purposes in (None, question.purposes)
        )
        if not seen:
            raise AlreadyDecided(
                f"The program of {candidate} that waits is not the one that this decision is about.",
                "Load the review again, look at the program, and decide about that.",
            )
        _check(candidate, question, decision, actor, edited_code)
        verdict = Verdict(decision, actor, reason, edited_code)
        self._close(question, future, verdict, content)
        return verdict

    def release(self, candidate: str, actor: Actor | None = None) -> None:
        """Let the run's mode approve what waits, since under the new mode nobody would have been asked."""
        if candidate in self._open:
            question, future = self._open[candidate]
            words = "The review mode was changed, and under the new one nobody is asked about this program."
            verdict = Verdict("approve", actor or Actor(kind="policy", name="review mode"), words)
            self._close(question, future, verdict)

    def cancel(self, why: str) -> None:
        """The run stops: reject what waits, and what would be asked from now on, by ``system``."""
        actor = Actor(kind="system", name="aide-jupyter")
        self._stopped = Verdict("reject", actor, f"The run was stopped ({why}) before anybody decided.")
        for question, future in list(self._open.values()):
            self._close(question, future, self._stopped)

    def leave(self) -> None:
        """This process gives the run up: whoever waits learns that nothing was decided."""
        self._left = True
        for _, future in self._open.values():
            if not future.done():
                future.set_result(None)

    def _close(
        self,
        question: Question,
        future: asyncio.Future[Verdict | None],
        verdict: Verdict,
        content: tuple[str, ...] = (),
    ) -> None:
        if future.done():
            return
        future.set_result(verdict)
        self._answered[question.candidate] = _Answered(question.nonce, content, verdict)
        while len(self._answered) > _REMEMBERED:
            self._answered.popitem(last=False)

    def _repeated(self, candidate: str, nonce: str, content: tuple[str, ...]) -> Verdict:
        before = self._answered.get(candidate)
        if before is None:
            raise AlreadyDecided(
                f"No program of {candidate} waits for a decision.", "Load the reviews again to see what waits."
            )
        if before.content == content and secrets.compare_digest(nonce.encode(), before.nonce.encode()):
            return before.verdict
        done = {"approve": "approved", "edit": "edited", "reject": "rejected"}[before.verdict.decision]
        who = f"{before.verdict.actor.kind} {before.verdict.actor.name}"
        raise AlreadyDecided(f"{candidate} was {done} before, by {who}.", "Load the run again to see where it stands.")

    def _tell(self) -> None:
        for observer in self.on_change:
            observer()


def _check(candidate: str, question: Question, decision: Decision, actor: Actor, edited_code: str | None) -> None:
    if actor.kind != "user":
        raise BadRequest(f"Only a person decides about {candidate}, and {actor.kind} {actor.name} is none.")
    if decision not in ("approve", "edit", "reject"):
        raise BadRequest(f"“{decision}” is no decision.", "Decide to approve, edit or reject.")
    if decision != "edit":
        if edited_code is not None:
            raise BadRequest(f"An edited program came with the decision to {decision} {candidate}.", "Decide to edit.")
        return
    if edited_code is None or not edited_code.strip():
        raise BadRequest(f"The edit of {candidate} has no program.", "Send the whole new program.")
    if sha256_text(edited_code) == question.code:
        raise BadRequest(f"The edit of {candidate} changes nothing.", "Approve it, or change it first.")
    try:
        ast.parse(edited_code)
    except SyntaxError as error:
        raise BadRequest(
            f"The edited program of {candidate} is not Python: line {error.lineno}: {error.msg}.",
            "Correct it; it was not accepted, and the question is still open.",
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadRequest(f"The edited program of {candidate} cannot be read: {error}.") from error
