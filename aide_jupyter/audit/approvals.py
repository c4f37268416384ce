"""Checks that what ran is what was approved: every execution against the decisions before it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import records as r


@dataclass
class Approvals:
    """Takes the records in order, and keeps what is wrong in words. ``executions`` counts those that were started."""

    executions: int = 0
    problems: list[str] = field(default_factory=list)
    _data: str = ""
    _proposed: dict[str, str] = field(default_factory=dict)
    _approved: dict[str, list[r.Decided]] = field(default_factory=dict)
    _started: set[tuple[str, str]] = field(default_factory=set)

    def take(self, record: r.Record) -> None:
        """Check the next record. Raises what pydantic raises for a body that is none of its kind."""
        body = record.body()
        wrong = None
        match body:
            case r.Opened():
                self._data = body.data.sha256
            case r.Proposed():
                self._proposed[body.candidate] = r.text_sha256(body.code)
            case r.Asked():
                wrong = self._other_program(body.candidate, body.code, "asks about")
            case r.Decided():
                wrong = self._other_program(body.candidate, body.code, "decides about")
                if body.decision == "approve":
                    self._approved.setdefault(body.candidate, []).append(body)
            case r.Started():
                wrong = self._start(body)
            case r.Finished() if body.status == "ok" and (body.candidate, body.purpose) not in self._started:
                wrong = f"says that {body.candidate} ran well, but it was never started"
        if wrong is not None:
            self.problems.append(f"Record {record.seq} {wrong}.")

    def _other_program(self, candidate: str, code: str, does: str) -> str | None:
        if self._proposed.get(candidate) == code:
            return None
        return f"{does} another program than the one that was proposed as {candidate}"

    def _start(self, body: r.Started) -> str | None:
        self.executions += 1
        again = (body.candidate, body.purpose) in self._started
        self._started.add((body.candidate, body.purpose))
        if self._proposed.get(body.candidate) != body.code:
            return f"starts another program than the one that was proposed as {body.candidate}"
        if not any(self._covers(decided, body) for decided in self._approved.get(body.candidate, [])):
            return f"starts {body.candidate} for {body.purpose}, which no decision before it approves"
        if again and body.purpose == "search":
            return f"starts {body.candidate} a second time"
        return None

    def _covers(self, decided: r.Decided, body: r.Started) -> bool:
        on_this_data = decided.data is None or decided.data == self._data
        return decided.code == body.code and body.purpose in decided.purposes and on_this_data
