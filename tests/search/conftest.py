"""A run written record by record, without an engine."""

from __future__ import annotations

import pytest

from aide_jupyter import records as r
from aide_jupyter.state import RunState


class Story:
    """Writes the records that an engine would write, and folds them."""

    def __init__(self, *, steps: int = 100, direction: r.Direction = "minimize", **settings: object) -> None:
        self.state = RunState()
        self.records: list[r.Record] = []
        task = r.Task(goal="g", direction=direction, direction_source="s")
        data = r.DataView(source="s", sha256="0" * 64, files=0, bytes=0, manifest="")
        self.write(
            r.Opened(
                task=task,
                policy="p",
                seed=0,
                mode="auto",
                budgets=r.Budgets(steps=steps),
                settings=r.Settings.model_validate(settings),
                grants=r.Grants(),
                data=data,
                versions={},
                key="k",
            )
        )

    def write(self, body: r.Body, actor: r.Actor = r.SYSTEM) -> None:
        record = r.Record(
            run="run",
            seq=self.state.head_seq + 1,
            time="2026-01-01T00:00:00.000000Z",
            kind=body.kind,
            actor=actor,
            data=r.body_data(body),
            prev="0" * 64,
            hash="0" * 64,
            signature="",
        )
        self.records.append(record)
        self.state.take(record)

    def choose(self, operator: r.Operator = "draft", parent: str | None = None) -> str:
        candidate = f"c{len(self.state.candidates) + 1:04d}"
        self.write(r.Chosen(candidate=candidate, parent=parent, operator=operator))
        return candidate

    def propose(self, candidate: str, code: str = "x", plan: str = "a plan", **more: object) -> None:
        self.write(r.Proposed.model_validate({"candidate": candidate, "plan": plan, "code": code, **more}))

    def decide(self, candidate: str, decision: str, flags: tuple[r.Flag, ...] = ()) -> None:
        sha = self.state.candidates[candidate].code_sha256
        body = {"candidate": candidate, "code": sha, "decision": decision, "mode": "every", "flags": flags}
        self.write(r.Decided.model_validate(body))

    def finish(
        self,
        candidate: str,
        value: float | None = None,
        *,
        error: str | None = None,
        status: r.Status | None = None,
        output: str = "",
        failed: bool | None = None,
        name: str = "ValueError",
        limit: str | None = None,
    ) -> None:
        outputs: list[r.Output] = [r.StreamOutput(name="stdout", text=output)] if output else []
        if error is not None:
            outputs.append(r.ErrorOutput(name=name, message=error, traceback=f"Traceback\n{name}: {error}"))
        status = status or ("error" if error is not None else "ok")
        claimed = r.Claimed(reply="ok", outputs=tuple(outputs))
        observed = r.Observed(seconds=1, limit=limit)
        self.write(r.Finished(candidate=candidate, status=status, observed=observed, claimed=claimed))
        self.write(r.Graded(candidate=candidate, source="reported", value=value))
        failed = value is None or status != "ok" if failed is None else failed
        self.write(r.Reviewed(candidate=candidate, failed=failed, summary=f"summary of {candidate}"))

    def live(
        self, operator: r.Operator = "draft", parent: str | None = None, value: float | None = None, **more: object
    ) -> str:
        """A whole life: chosen, proposed, finished. Without a value it fails."""
        candidate = self.choose(operator, parent)
        code, plan = more.pop("code", "x"), more.pop("plan", "a plan")
        self.propose(candidate, str(code), str(plan))
        if value is None and not {"error", "status"} & set(more):
            more["error"] = f"mistake of {candidate}"
        self.finish(candidate, value, **more)  # type: ignore[arg-type]
        return candidate

    def edit(self, candidate: str, code: str) -> str:
        """A person's edit: a new candidate with the same parent."""
        self.decide(candidate, "edit")
        before = self.state.candidates[candidate]
        edit = self.choose(before.operator, before.parent)
        self.propose(edit, code, edit_of=candidate)
        return edit


@pytest.fixture(scope="session")
def story() -> type[Story]:
    return Story
