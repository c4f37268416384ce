"""What a person adds to the search while it runs: the next branch, or a program of their own.

Either is a ``chosen`` record of that person, written at once, and comes before what the search would choose. Since it
stands in the journal like any other choice, a resumed run goes on with it.
"""

from __future__ import annotations

import ast
from collections import deque

from . import budget
from . import records as r
from .audit.blobs import Blobs
from .errors import BadRequest
from .review.risks import flags
from .state import Candidate
from .steering import Parts, Steered

PURPOSES: tuple[r.Purpose, ...] = ("search", "export")
"""What a decision covers: the search's execution, and the one that gives the exported solution its outputs."""


class Directed(Steered):
    """A run whose search takes a person's choices; :class:`.engine.Engine` is one."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.blobs = Blobs(parts.folder)
        self._unfinished = deque(self.state.unfinished)

    @property
    def opened(self) -> r.Opened:
        """The run's first record."""
        assert self.state.opened is not None
        return self.state.opened

    def branch(self, parent: str, actor: r.Actor, hint: str = "") -> str:
        """Make the next candidate from ``parent``: a fix where it failed, else an improvement. Returns its id.

        Parameters
        ----------
        hint
            A person's words for the author, recorded as any other hint.

        Raises
        ------
        BadRequest
            There is no such candidate, it has not ended with a program, or the run takes no further step.
        """
        node = self._parent(parent)
        self._must_take_a_step()
        if hint.strip():
            self.hint(hint, actor)
        return self._take_up(node, actor)

    def propose_own(self, plan: str, code: str, parent: str | None, actor: r.Actor) -> str:
        """Take a person's own program into the search, approved by the same act. Returns its id.

        Raises
        ------
        BadRequest
            It is no Python program, holds a secret, the parent does not fit, or the run takes no further step.
        """
        node = None if parent is None else self._parent(parent)
        self._must_be_fit(code)
        self._must_take_a_step()
        # Given to the workers only when all three records stand, since an append never yields to them.
        candidate = self._chosen(node, actor)
        own = self.state.candidates[candidate]
        body = r.Proposed(
            candidate=candidate,
            plan=self.recording.text(plan),
            code=self.journal.text(code),
            tainted=() if node is None else node.tainted,
        )
        self.journal.append(body, actor)
        self._decided(own, "approve", actor, "A person's own program.", self._flags(code))
        self._unfinished.append(candidate)
        self._notify()
        return candidate

    def must_hold_no_secret(self, code: str) -> None:
        """Raises BadRequest where a person's program holds the value of a secret that this process knows."""
        if secret := self.parts.redactor.contains_secret(code):
            raise BadRequest(
                f"The program holds the value of the secret {secret}.",
                "Take it out: programs are recorded as they are, and a restricted kernel reaches no service anyway.",
            )

    def _must_be_fit(self, code: str) -> None:
        try:
            ast.parse(code)
        except SyntaxError as error:
            raise BadRequest(f"The program is not Python: line {error.lineno}: {error.msg}.", "Correct it.") from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise BadRequest(f"The program cannot be read: {error}.", "Correct it.") from error
        self.must_hold_no_secret(code)

    def _parent(self, candidate: str) -> Candidate:
        node = self.state.candidates.get(candidate)
        if node is None:
            raise BadRequest(f"There is no candidate {candidate} in this run.")
        if not node.done or node.error is not None or node.stage in ("rejected", "edited"):
            raise BadRequest(
                f"Nothing can be made from {candidate}: it has not run to its end.", "Choose one that has run."
            )
        return node

    def _must_take_a_step(self) -> None:
        if self._ending is not None or self._leaving or self.state.closed is not None:
            raise BadRequest("The run is ending, and takes no further step.")
        if (spent := budget.reached(self.state)) is not None:
            raise BadRequest(f"The run's budget of {spent[1]:g} {spent[0]} is used up.", "Begin a new run.")

    def _take_up(self, parent: Candidate, actor: r.Actor) -> str:
        candidate = self._chosen(parent, actor)
        self._unfinished.append(candidate)
        self._notify()
        return candidate

    def _chosen(self, parent: Candidate | None, actor: r.Actor) -> str:
        number = len(self.state.candidates) + 1
        candidate = f"c{number:04d}"
        operator: r.Operator = "draft" if parent is None else "debug" if parent.failed else "improve"
        named = None if parent is None else parent.id
        self.journal.append(r.Chosen(candidate=candidate, parent=named, operator=operator, draw=number), actor)
        return candidate

    def _flags(self, code: str) -> tuple[r.Flag, ...]:
        shapes = self.parts.redactor.shapes(code)
        secrets = [r.Flag(rule="secret-shape", line=line, message=f"This looks like {name}.") for name, line in shapes]
        return (*flags(code), *secrets)

    def _decided(
        self,
        node: Candidate,
        decision: r.Decision,
        actor: r.Actor,
        reason: str,
        found: tuple[r.Flag, ...],
    ) -> None:
        approved = decision == "approve"
        body = r.Decided(
            candidate=node.id,
            code=node.code_sha256,
            decision=decision,
            reason=self.recording.words(reason),
            mode=self.state.mode,
            purposes=PURPOSES if approved else (),
            data=self.opened.data.sha256 if approved else None,
            flags=found,
        )
        self.journal.append(body, actor)
