"""Runs as other programs read them: the JSON of ``--json``, and the list of all runs that this account knows."""

from __future__ import annotations

from typing import Any

from .audit.chain import JOURNAL, read_records
from .errors import AideError
from .owner import is_owned
from .run_index import RunEntry, RunIndex
from .state import Candidate, RunState, fold


def source_of(node: Candidate) -> str | None:
    """``final``, ``selection`` or ``reported``: where a candidate's number comes from."""
    if node.grade is None:
        return None
    return "reported" if node.grade.source == "reported" else node.grade.rows


def run_json(state: RunState, entry: RunEntry, *, owned: bool) -> dict[str, Any]:
    """A run as ``run``, ``resume`` and ``list`` print it with ``--json``. Seconds are of run time; cost is None where
    a call's price is unknown."""
    best = state.best_candidate()
    spend = state.spend
    return {
        "run": entry.run,
        "status": state.phase(owned=owned),
        "dir": str(entry.folder),
        "notebook": None if entry.notebook is None else str(entry.notebook),
        "journal": str(entry.folder / JOURNAL),
        "candidates": len(state.candidates),
        "failed": sum(node.failed for node in state.candidates.values()),
        "best": None if best is None else {"id": best.id, "metric": best.value, "source": source_of(best)},
        "llm": {
            "calls": spend.calls,
            "prompt_tokens": spend.tokens.prompt,
            "completion_tokens": spend.tokens.completion,
            "cost_usd": None if spend.unknown_cost_calls else spend.cost,
        },
        "seconds": round(state.active_seconds, 3),
    }


def run_now(entry: RunEntry) -> dict[str, Any]:
    """:func:`run_json` of a run as its journal and its lock tell it now. Raises as reading the journal does."""
    return run_json(fold(read_records(entry.folder / JOURNAL)), entry, owned=is_owned(entry.folder))


def list_runs() -> list[dict[str, Any]]:
    """All runs of this account on this machine, newest first. One that cannot be read says so in ``status``."""
    return [_listed(entry) for entry in RunIndex().list()]


def _listed(entry: RunEntry) -> dict[str, Any]:
    status = "missing"
    if not entry.missing:
        try:
            return run_now(entry)
        except (AideError, ValueError, KeyError) as error:
            status = f"unreadable ({type(error).__name__})"
    return {"run": entry.run, "status": status, "dir": str(entry.folder), "candidates": 0, "best": None}
