"""A state with candidates at every point of their lives, without an engine."""

from __future__ import annotations

import pytest

from aide_jupyter import records as r
from aide_jupyter.state import Candidate, RunState

USER = r.Actor(kind="user", name="ada")


class Town:
    """Candidates by hand; ``at`` counts the records."""

    def __init__(self) -> None:
        self.state = RunState()
        self.at = 0

    def add(self, parent: str | None = None, *, tainted: tuple[str, ...] = (), code: str = "x") -> Candidate:
        number = len(self.state.candidates) + 1
        node = Candidate(id=f"c{number:04d}", parent=parent, operator="draft", depth=0, debug_depth=0)
        node.code, node.tainted = code, tainted
        self.state.candidates[node.id] = node
        return node

    def decide(
        self, node: Candidate, decision: str = "approve", actor: r.Actor = USER, flags: tuple[r.Flag, ...] = ()
    ) -> None:
        node.decided = r.Decided.model_validate(
            {"candidate": node.id, "code": node.code_sha256, "decision": decision, "mode": "auto"}
        )
        node.decided_by, node.flags = actor, flags
        node.seqs["decided"] = self._next()

    def finish(self, node: Candidate, status: r.Status = "ok", **observed: object) -> None:
        seen = r.Observed.model_validate({"seconds": 1, **observed})
        node.finished = r.Finished(candidate=node.id, status=status, observed=seen)
        node.seqs["finished"] = self._next()

    def _next(self) -> int:
        self.at += 1
        return self.at


@pytest.fixture
def town() -> Town:
    return Town()
