"""Makes the records of runs for tests: a true chain under a throw-away key, and where wanted the run's folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from aide_jupyter import records as r
from aide_jupyter.audit.keys import SigningKey
from aide_jupyter.audit.lines import Spelling, canonical
from aide_jupyter.audit.trail import Trail

KEY = SigningKey.generate()
RUN = "20261130t191148-1f3a9c02"
AUTHOR = r.Actor(kind="agent", name="author", model="offline")
REVIEWER = r.Actor(kind="agent", name="reviewer", model="offline")
ADA = r.Actor(kind="user", name="ada")
POLICY = r.Actor(kind="policy", name="default")
CODE = "import pandas as pd\n\nprint('Validation metric: 0.5')\n"
DATA = hashlib.sha256(b"view").hexdigest()
PURPOSES: tuple[r.Purpose, ...] = ("search", "export")


class Memory(dict[str, bytes]):
    """Blobs in memory, with the reading side of ``Blobs``."""

    def put(self, data: bytes) -> r.BlobRef:
        digest = hashlib.sha256(data).hexdigest()
        self[digest] = data
        return r.BlobRef(sha256=digest, bytes=len(data))

    def text_of(self, text: str) -> r.Text:
        data = text.encode()
        return text if len(data) <= r.INLINE_BYTES else self.put(data)

    def read(self, ref: r.BlobRef) -> bytes:
        return self[ref.sha256]

    def text(self, value: r.Text) -> str:
        return value if isinstance(value, str) else self[value.sha256].decode()


class Story:
    """A run told record by record, one second apart. Methods return the story, so that calls can be chained.

    ``signed=False`` gives records fake hashes and no lines: for long runs whose chain nobody checks.
    """

    def __init__(
        self, *, run: str = RUN, key: SigningKey = KEY, mode: r.ReviewMode = "every", signed: bool = True, **task: Any
    ) -> None:
        self.signed = signed
        self.run, self.key, self.mode = run, key, mode
        self.records: list[r.Record] = []
        self.lines: list[bytes] = []
        self.blobs = Memory()
        self.codes: dict[str, str] = {}
        self.calls = 0
        self.second = 0
        about = {"goal": "Predict the price.", "metric": "rmse", "direction": "minimize", "direction_source": "metric"}
        view = {"source": "houses", "sha256": DATA, "files": 2, "bytes": 340_000_000, "manifest": ""}
        view |= task.pop("data", {})
        settings = task.pop("settings", r.Settings())
        self.add(
            r.Opened(
                task=r.Task.model_validate(about | task), policy="default", seed=7, mode=mode, budgets=r.Budgets(),
                settings=settings, grants=r.Grants(), data=r.DataView.model_validate(view),
                versions={"aide-jupyter": "0.1.0"}, key=key.public,
            )
        )  # fmt: skip

    def add(self, body: r.Body, actor: r.Actor = r.SYSTEM) -> Story:
        return self.add_raw(body.kind, r.body_data(body), actor)

    def add_raw(self, kind: str, data: dict[str, Any], actor: r.Actor = r.SYSTEM) -> Story:
        fields: dict[str, Any] = {
            "v": 1,
            "run": self.run,
            "seq": len(self.records),
            "time": f"{datetime(2026, 11, 30, 19) + timedelta(seconds=self.second):%Y-%m-%dT%H:%M:%S.000000Z}",
            "kind": kind,
            "actor": actor.model_dump(mode="json"),
            "data": data,
            "prev": self.records[-1].hash if self.records else "0" * 64,
        }
        if self.signed:
            fields["hash"] = Spelling(fields).hash
            fields["signature"] = self.key.sign(bytes.fromhex(fields["hash"]))
            self.lines.append(canonical(fields))
        else:
            fields |= {"hash": f"{len(self.records):064x}", "signature": ""}
        self.records.append(r.Record.model_validate(fields))
        self.second += 1
        return self

    def propose(
        self, candidate: str, code: str = CODE, *, plan: str = "Fit a ridge.", parent: str | None = None, **more: Any
    ) -> Story:
        operator = more.pop("operator", "draft" if parent is None else "improve")
        actor = more.pop("actor", AUTHOR)
        self.add(r.Chosen(candidate=candidate, parent=parent, operator=operator), POLICY)
        self.codes[candidate] = r.sha256_text(code)
        texts = {"plan": self.blobs.text_of(plan), "code": self.blobs.text_of(code)}
        return self.add(r.Proposed(candidate=candidate, **texts, **more), actor)

    def spend(self, candidate: str, cost: float | None = 0.0012, prompt: int = 1204, completion: int = 511) -> Story:
        call, self.calls = self.calls, self.calls + 1
        for phase in ("reserved", "settled"):
            tokens = r.Tokens(prompt=prompt, completion=completion)
            body = r.Spent.model_validate(
                {"call": call, "phase": phase, "purpose": "code", "model": "m", "tokens": tokens, "cost": cost,
                 "candidate": candidate}
            )  # fmt: skip
            self.add(body)
        return self

    def ask(self, candidate: str, flags: Sequence[r.Flag] = ()) -> Story:
        return self.add(r.Asked(candidate=candidate, code=self.codes[candidate], flags=tuple(flags)))

    def decide(self, candidate: str, decision: str = "approve", reason: str = "", **more: Any) -> Story:
        actor = more.pop("actor", ADA)
        body = {
            "candidate": candidate, "code": self.codes[candidate], "decision": decision, "reason": reason,
            "mode": self.mode, "purposes": PURPOSES if decision == "approve" else (),
            "data": DATA if decision == "approve" else None,
        }  # fmt: skip
        return self.add(r.Decided.model_validate(body | more), actor)

    def start(self, candidate: str, purpose: r.Purpose = "search", code: str | None = None) -> Story:
        digest = code or self.codes[candidate]
        return self.add(r.Started(candidate=candidate, code=digest, kernel="k1", limits=r.Limits(), purpose=purpose))

    def finish(
        self,
        candidate: str,
        status: r.Status = "ok",
        outputs: Sequence[r.Output] = (),
        value: float | None = 0.5,
        **more: Any,
    ) -> Story:
        purpose = more.pop("purpose", "search")
        observed = {"seconds": 1.234, "peak_memory_bytes": 340_000_000} | more
        claimed = r.Claimed(reply="ok" if status == "ok" else "error", outputs=tuple(outputs), metric=value)
        body = {"candidate": candidate, "status": status, "observed": observed, "claimed": claimed, "purpose": purpose}
        return self.add(r.Finished.model_validate(body))

    def grade(self, candidate: str, value: float | None = 0.5, error: str | None = None, **more: Any) -> Story:
        body = {"candidate": candidate, "source": "reported", "metric": "rmse", "value": value, "error": error}
        return self.add(r.Graded.model_validate(body | more))

    def review(self, candidate: str, summary: str = "It works.", *, failed: bool = False) -> Story:
        body = r.Reviewed(candidate=candidate, failed=failed, summary=self.blobs.text_of(summary))
        return self.add(body, REVIEWER)

    def candidate(self, candidate: str, value: float | None = 0.5, **more: Any) -> Story:
        """The whole life of a candidate that ran cleanly and printed ``value``."""
        outputs = [r.StreamOutput(name="stdout", text=f"Validation metric: {value}\n")]
        self.propose(candidate, **more).spend(candidate).decide(candidate).start(candidate)
        return self.finish(candidate, "ok", outputs, value).grade(candidate, value).review(candidate)

    def close(self, why: str = "steps", best: str | None = None) -> Story:
        return self.add(r.Closed(why=why, best=best))

    @property
    def trail(self) -> Trail:
        return Trail.of(self.records)

    def write(self, folder: Path) -> Path:
        """The journal and its blobs as files in ``folder``; returns the folder."""
        (folder / "blobs").mkdir(parents=True, exist_ok=True)
        (folder / "journal.jsonl").write_bytes(b"".join(line + b"\n" for line in self.lines))
        os.chmod(folder / "journal.jsonl", 0o600)
        for digest, data in self.blobs.items():
            (folder / "blobs" / digest).write_bytes(data)
        return folder
