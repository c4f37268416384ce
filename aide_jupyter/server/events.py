"""Tells every page, over Jupyter's event bus, that a run has come to a record. Nothing else is ever said there: anybody
who may use the server can read the bus, and write to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

SCHEMA = "https://events.jupyter.org/aide_jupyter/run/v1"
SCHEMA_FILE = Path(__file__).parent / "run_event.yaml"
CONTENTS = "https://events.jupyter.org/jupyter_server/contents_service/v1"
CALM_SECONDS = 0.1


class Bell:
    """Rings once for what happens together.

    Parameters
    ----------
    emit
        ``EventLogger.emit``.
    """

    def __init__(self, emit: Callable[..., Any]) -> None:
        self._emit = emit
        self._waiting: dict[str, int] = {}

    def __call__(self, run: str, seq: int) -> None:
        """A run has come to this record; -1 before its first."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(CALM_SECONDS, self._ring)
        self._waiting[run] = seq

    def _ring(self) -> None:
        told, self._waiting = self._waiting, {}
        for run, seq in told.items():
            self._emit(schema_id=SCHEMA, data={"run": run, "seq": seq})
