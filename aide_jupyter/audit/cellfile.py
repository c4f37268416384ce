"""How cells stand in a notebook file, and what of an agent's cell is the agent's.

A file is written by others too, so everything here takes any JSON value and never raises for what it finds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .notebook import Cell


def file_cell(cell: Cell) -> dict[str, Any]:
    """A rendered cell as a file holds it: its texts as lists of lines, so that a diff shows lines."""
    form: dict[str, Any] = {**cell, "source": _lines(cell["source"])}
    if "outputs" in cell:
        form["outputs"] = [_file_output(output) for output in cell["outputs"]]
    return form


def _file_output(output: Mapping[str, Any]) -> dict[str, Any]:
    form = dict(output)
    if isinstance(form.get("text"), str):
        form["text"] = _lines(form["text"])
    if "data" in form:
        form["data"] = {
            kind: _lines(value) if kind.startswith("text/") else value for kind, value in form["data"].items()
        }
    return form


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def joined(value: Any) -> Any:
    """A text that stands as one string or as a list of lines, as one string; any other value as it is."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "".join(value)
    return value


def source_of(cell: Any) -> str:
    """A cell's source; empty where it has none that is text."""
    source = joined(cell.get("source")) if isinstance(cell, dict) else ""
    return source if isinstance(source, str) else ""


def id_of(cell: Any) -> str | None:
    """A cell's id, where it has one that is text."""
    found = cell.get("id") if isinstance(cell, dict) else None
    return found if isinstance(found, str) else None


def aide_of(cell: Any) -> Any:
    """A cell's or a notebook's ``metadata.aide``; None where there is none."""
    metadata = cell.get("metadata") if isinstance(cell, dict) else None
    return metadata.get("aide") if isinstance(metadata, dict) else None


def essence(cell: Mapping[str, Any]) -> dict[str, str]:
    """What makes an agent's cell the agent's: type, source, outputs and ``metadata.aide``, each in one spelling.

    Two cells differ where one of these strings differs. The rest is a person's own: position, execution counts, and
    other metadata.
    """
    return {
        "type": _spelled(cell.get("cell_type")),
        "source": _spelled(joined(cell.get("source"))),
        "outputs": _spelled(_outputs(cell.get("outputs"))),
        "metadata.aide": _spelled(aide_of(cell)),
    }


def _outputs(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [_output(output) if isinstance(output, dict) else output for output in value]


def _output(output: dict[str, Any]) -> dict[str, Any]:
    plain = dict(output)
    if "text" in plain:
        plain["text"] = joined(plain["text"])
    if isinstance(plain.get("data"), dict):
        plain["data"] = {kind: joined(value) for kind, value in plain["data"].items()}
    return plain


def _spelled(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
