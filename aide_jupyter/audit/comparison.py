"""Compares a notebook with what the records render: the agent's cells, and what the notebook says of its run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..untrusted import Untrusted
from .cellfile import aide_of, essence, id_of
from .chain import Anchor
from .merge import is_notebook
from .notebook import KERNELSPEC, SCHEMA, Cell, cell_prefix
from .notebookfile import read


@dataclass(frozen=True)
class NotebookFile:
    """A notebook as it was read. ``broken`` says in words why it cannot be compared; empty where it can."""

    path: Path
    value: Mapping[str, Any] = field(default_factory=dict)
    run: str = ""
    head: Anchor | None = None
    key: str = ""
    broken: str = ""

    @property
    def cells(self) -> list[dict[str, Any]]:
        """All cells, a person's too."""
        return list(self.value.get("cells", []))

    @property
    def unrestricted_kernel(self) -> bool:
        """Whether the notebook names another kernel than the restricted one."""
        spec = self.value.get("metadata", {}).get("kernelspec")
        return not isinstance(spec, dict) or spec.get("name") != KERNELSPEC["name"]


def read_notebook(path: Path) -> NotebookFile:
    """Read a notebook, whatever the file holds. A link is not followed."""
    try:
        data, _ = read(path)
    except OSError as error:
        return NotebookFile(path, broken=f"it cannot be read: {error.strerror}")
    if data is None:
        return NotebookFile(path, broken="it is not a regular file")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return NotebookFile(path, broken="it is empty" if not data else "it is not JSON")
    if not is_notebook(value):
        return NotebookFile(path, broken="it is not a notebook of format 4")
    return _named(path, value)


def _named(path: Path, value: dict[str, Any]) -> NotebookFile:
    aide = aide_of(value)
    if not isinstance(aide, dict):
        return NotebookFile(path, value, broken="its metadata does not name its run")
    if aide.get("schema") != SCHEMA or isinstance(aide.get("schema"), bool):
        return NotebookFile(path, value, broken="another version of aide-jupyter made it; verify it with that version")
    head, run, key = aide.get("head"), aide.get("run"), aide.get("key")
    seq, digest = (head.get("seq"), head.get("hash")) if isinstance(head, dict) else (None, None)
    if not (isinstance(run, str) and isinstance(key, str) and isinstance(digest, str)) or type(seq) is not int:
        return NotebookFile(path, value, broken="its metadata does not name the run's head")
    return NotebookFile(path, value, run, Anchor(seq, digest), key)


@dataclass(frozen=True)
class Comparison:
    """What a comparison found: problems in words, and how many cells are the agent's and a person's."""

    problems: tuple[str, ...]
    agents: int
    persons: int


def compare(notebook: NotebookFile, run: str, wanted: Mapping[str, Cell]) -> Comparison:
    """Compare each of the agent's cells by id: that it is there once, and its type, source, outputs and metadata.

    Parameters
    ----------
    notebook
        A notebook that is not broken.
    run
        The run's id.
    wanted
        The agent's cells as the records up to the notebook's head render them.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    persons = 0
    for cell in notebook.cells:
        name = id_of(cell)
        if name is not None and (name in wanted or name.startswith(cell_prefix(run))):
            found.setdefault(name, []).append(cell)
        else:
            persons += 1
    problems = [_difference(name, found.get(name, []), right) for name, right in wanted.items()]
    problems += [f"The cell {shown(name)} is none that the records make." for name in found if name not in wanted]
    return Comparison(tuple(filter(None, problems)), len(wanted), persons)


def _difference(name: str, cells: list[dict[str, Any]], right: Cell) -> str:
    if not cells:
        return f"The cell {name} is missing."
    if len(cells) > 1:
        return f"There are {len(cells)} cells with the id {name}."
    try:
        there = essence(cells[0])
    except (RecursionError, ValueError):
        return f"The cell {name} was changed: it cannot be read."
    parts = [part for part, value in essence(right).items() if there[part] != value]
    return f"The cell {name} was changed: its {', '.join(parts)}." if parts else ""


def shown(text: str) -> str:
    """A name from a file, fit for a terminal."""
    return Untrusted(text, "notebook").render(80, one_line=True)
