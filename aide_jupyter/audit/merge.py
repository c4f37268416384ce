"""Merges the agent's cells into a notebook that a person also writes in: by cell id, and never touching their cells.

Pure functions over notebooks as JSON; :mod:`.writer` reads and writes the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from .. import records as r
from .cellfile import aide_of, essence, file_cell, id_of, source_of
from .notebook import Cell, cell_prefix


def is_notebook(value: Any) -> bool:
    """Whether a JSON value is a notebook of format 4 whose cells can be kept as they are."""
    return (
        isinstance(value, dict)
        and value.get("nbformat") == 4
        and isinstance(value.get("metadata", {}), dict)
        and isinstance(value.get("cells"), list)
        and all(isinstance(cell, dict) and isinstance(cell.get("metadata", {}), dict) for cell in value["cells"])
    )


def run_of(notebook: Mapping[str, Any]) -> str | None:
    """The run whose notebook this says it is; None where it does not say."""
    aide = aide_of(notebook)
    run = aide.get("run") if isinstance(aide, dict) else None
    return run if isinstance(run, str) else None


def merge_metadata(existing: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The notebook's metadata: a person's own keys stay, the kernel and ``aide`` are the run's."""
    language = existing.get("language_info")
    keep = isinstance(language, dict) and language.get("name") == wanted["language_info"]["name"]
    return {**existing, **wanted, "language_info": language if keep else wanted["language_info"]}


def put_right(cell: dict[str, Any] | None, right: Cell) -> dict[str, Any]:
    """An agent's cell in a file as it must be: the very object given where that is so, None where there is none."""
    if cell is None:
        return file_cell(right)
    return cell if essence(cell) == essence(right) else _restored(cell, right)


def merge_cells(run: str, existing: Sequence[dict[str, Any]], wanted: Mapping[str, Cell]) -> list[dict[str, Any]]:
    """The cells of a notebook after the agent's have been put in or put right.

    A person's cells are the very objects given, in their order. So is an agent's cell that needs no change. An agent's
    missing cell goes right after the agent's cell before it. Where a person changed the source of an agent's cell,
    their text is kept below it as a cell of theirs. A cell under an id of the agent's that the records do not know, or
    a second one under the same id, gets a new id and so becomes a person's.

    Parameters
    ----------
    run
        The run's id.
    existing
        The notebook's cells. Cells without an id, as before nbformat 4.5, are given one.
    wanted
        All the agent's cells by id, in the order of the notebook.
    """
    ours = _ours(existing, wanted)
    missing = _missing(set(ours), wanted)
    taken = {found for cell in existing if (found := id_of(cell)) is not None} | wanted.keys()
    merged = [file_cell(wanted[one]) for one in missing.get(None, [])]
    for index, cell in enumerate(existing):
        name = id_of(cell)
        if name is None:
            merged.append({**cell, "id": _new_id("cell", f"{index}{source_of(cell)}", taken)})
        elif ours.get(name) == index:
            merged.append(put_right(cell, wanted[name]))
            if merged[-1] is not cell and _changed_by_a_person(cell, wanted[name]):
                merged += _kept(cell, taken)
            merged += [file_cell(wanted[one]) for one in missing.get(name, [])]
        elif name in wanted or name.startswith(cell_prefix(run)):
            merged.append(_given_away(cell, _new_id("kept", f"{index}{name}{source_of(cell)}", taken)))
        else:
            merged.append(cell)
    return merged


def _ours(existing: Sequence[dict[str, Any]], wanted: Mapping[str, Cell]) -> dict[str, int]:
    """Where the agent's cells stand. Of several under one id, the first whose source is right, else the first."""
    found: dict[str, int] = {}
    for index, cell in enumerate(existing):
        name = id_of(cell)
        if name is None or name not in wanted:
            continue
        first = found.setdefault(name, index)
        right = wanted[name]["source"]
        if first != index and source_of(existing[first]) != right and source_of(cell) == right:
            found[name] = index
    return found


def _missing(present: set[str], wanted: Mapping[str, Cell]) -> dict[str | None, list[str]]:
    """The ids that are missing, by the present id that they follow."""
    missing: dict[str | None, list[str]] = {}
    before = None
    for name in wanted:
        if name in present:
            before = name
        else:
            missing.setdefault(before, []).append(name)
    return missing


def _restored(cell: dict[str, Any], right: Cell) -> dict[str, Any]:
    form = file_cell(right)
    own = {key: value for key, value in cell.get("metadata", {}).items() if key != "trusted"}
    form["metadata"] = {**own, **right["metadata"]}
    count = cell.get("execution_count")
    if "execution_count" in form and isinstance(count, int) and not isinstance(count, bool):
        form["execution_count"] = count
    return form


def _changed_by_a_person(cell: dict[str, Any], right: Cell) -> bool:
    """Whether the source is neither what it must be nor, for a page that grows, what was rendered before."""
    source = source_of(cell)
    if not source.strip() or source.replace("\r\n", "\n") == right["source"].replace("\r\n", "\n"):
        return False
    aide = aide_of(cell)
    if right["cell_type"] != "markdown" or not isinstance(aide, dict):
        return True
    return aide.get("source_sha256") != r.sha256_text(source)


def _kept(cell: dict[str, Any], taken: set[str]) -> list[dict[str, Any]]:
    """What a person made of an agent's cell, as a cell of theirs; nothing where the same is kept already."""
    name = _digest("kept", f"{id_of(cell)}{source_of(cell)}")
    if name in taken:
        return []
    taken.add(name)
    return [_given_away(cell, name)]


def _given_away(cell: dict[str, Any], name: str) -> dict[str, Any]:
    own = {
        key: value
        for key, value in cell.get("metadata", {}).items()
        if key not in ("aide", "editable", "deletable", "trusted")
    }
    return {**cell, "id": name, "metadata": own}


def _new_id(kind: str, seed: str, taken: set[str]) -> str:
    name, number = _digest(kind, seed), 0
    while name in taken:
        number += 1
        name = _digest(kind, f"{number}{seed}")
    taken.add(name)
    return name


def _digest(kind: str, seed: str) -> str:
    return f"{kind}-{hashlib.sha256(seed.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
