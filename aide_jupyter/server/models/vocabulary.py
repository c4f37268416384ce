"""Words that several models use, and the line of a table."""

from __future__ import annotations

from typing import Literal

from ...records import Model

ViewPhase = Literal[
    "preparing", "failed", "running", "waiting", "paused", "interrupted", "closed", "missing", "unreadable"
]
"""``preparing``: the data is measured and a jail proven; ``failed``: that did not work, and there is no run."""
OwnerWord = Literal["server", "elsewhere", "nobody"]
Standing = Literal[
    "chosen", "proposed", "waiting", "approved", "running", "finished", "good", "failed", "rejected", "edited",
    "no program",
]  # fmt: skip
Verb = Literal["pause", "resume", "stop", "stop-now", "hint", "mode", "branch", "propose"]
NumberSource = Literal["final", "selection", "reported"]


class Fact(Model):
    """A line of a table: a name in this package's words, and a value as text."""

    name: str
    shown: str
