"""A notebook's file as this process last wrote it: where each cell stands, and its JSON.

Kept so that the next write costs what has changed, and not what there is: as long as nobody else has changed the file,
its other cells are neither read, compared nor spelled again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .merge import merge_cells, merge_metadata, put_right
from .notebook import Cell
from .notebookfile import FileState, joined_cells, spelled, spelled_cell

_BLOCK = 32
"""Cells whose JSON is kept joined too: so much of it that nothing new of the size of the file is made at each write."""


class WrittenNotebook:
    """A notebook with all the agent's cells in it.

    Parameters
    ----------
    run
        The run's id.
    found
        The notebook in the file as JSON; empty where there is none.
    wanted
        All the agent's cells by id, in the order of the notebook; the first is never missing.

    Attributes
    ----------
    state
        The file's, once this was written to it.

    Raises
    ------
    RecursionError
        What was found nests too deeply.
    """

    def __init__(self, run: str, found: Mapping[str, Any], wanted: dict[str, Cell]) -> None:
        self.state: FileState = ()
        minor = found.get("nbformat_minor")
        self._rest = {key: value for key, value in found.items() if key != "cells"}
        self._rest |= {"nbformat": 4, "nbformat_minor": max(5, minor if isinstance(minor, int) else 0)}
        self._cells = merge_cells(run, found.get("cells", []), wanted)
        self._texts = [spelled_cell(cell) for cell in self._cells]
        self._blocks: dict[int, bytes] = {}
        self._places = {cell["id"]: place for place, cell in enumerate(self._cells) if cell["id"] in wanted}
        self._last = next(reversed(wanted))

    def put(self, changed: Mapping[str, Cell]) -> None:
        """Put right what has changed, and put in what is new, as :func:`.merge.merge_cells` does.

        Parameters
        ----------
        changed
            Some of the agent's cells, in the order of the notebook. New ones come after all others of the agent.
        """
        for name, right in changed.items():
            place = self._places.get(name)
            if place is None:
                self._insert(self._places[self._last] + 1, name, right)
            else:
                cell = put_right(self._cells[place], right)
                if cell is not self._cells[place]:
                    self._cells[place], self._texts[place] = cell, spelled_cell(cell)
                    self._blocks.pop(place // _BLOCK, None)

    def _insert(self, place: int, name: str, right: Cell) -> None:
        cell = put_right(None, right)
        if place < len(self._cells):
            self._places = {other: there + (there >= place) for other, there in self._places.items()}
        self._cells.insert(place, cell)
        self._texts.insert(place, spelled_cell(cell))
        self._places[name], self._last = place, name
        self._blocks = {block: text for block, text in self._blocks.items() if block < place // _BLOCK}

    def spelled(self, metadata: Mapping[str, Any]) -> list[bytes]:
        """The file's bytes, in pieces, with the run's part of the notebook's metadata."""
        self._rest["metadata"] = merge_metadata(self._rest.get("metadata", {}), metadata)
        starts = range(0, len(self._texts), _BLOCK)
        for block, start in enumerate(starts):
            if block not in self._blocks:
                self._blocks[block] = joined_cells(self._texts[start : start + _BLOCK])
        return spelled(self._rest, [self._blocks[block] for block in range(len(starts))])
