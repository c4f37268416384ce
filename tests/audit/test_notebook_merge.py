"""Merging the agent's cells into a notebook in which a person writes too."""

from __future__ import annotations

import copy
import json
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aide_jupyter.audit.cellfile import essence, source_of
from aide_jupyter.audit.merge import is_notebook, merge_cells
from aide_jupyter.audit.notebook import Cell, render_cells
from tests.audit.builder import RUN, Story

STORY = Story().candidate("c0001").candidate("c0002", parent="c0001").close(best="c0001")
WANTED = render_cells(STORY.trail, STORY.blobs)
HEAD, PLAN1, CODE1, PLAN2, CODE2 = WANTED


def note(name: str, text: str = "my note", kind: str = "markdown") -> dict[str, Any]:
    return {"cell_type": kind, "id": name, "metadata": {}, "source": text}


def on_disk(*extra: tuple[int, dict[str, Any]]) -> list[dict[str, Any]]:
    cells = merge_cells(RUN, [], WANTED)
    for place, cell in extra:
        cells.insert(place, cell)
    return json.loads(json.dumps(cells))  # type: ignore[no-any-return]


def ids(cells: list[dict[str, Any]]) -> list[str]:
    return [cell["id"] for cell in cells]


def upto(story: Story, count: int) -> dict[str, Cell]:
    part = Story()
    part.records = story.records[:count]
    return render_cells(part.trail, story.blobs)


def test_merging_what_is_right_changes_nothing_not_even_an_object() -> None:
    cells = on_disk((2, note("mine")))
    merged = merge_cells(RUN, cells, WANTED)
    assert len(merged) == len(cells) and all(a is b for a, b in zip(merged, cells, strict=True))


def test_a_new_pair_goes_right_after_the_agents_cell_before_it_wherever_that_stands() -> None:
    first = {one: WANTED[one] for one in (HEAD, PLAN1, CODE1)}
    cells = merge_cells(RUN, [], first)
    moved = [note("top"), cells[2], note("below code"), cells[0], cells[1], note("end")]
    merged = merge_cells(RUN, moved, WANTED)
    assert ids(merged) == ["top", CODE1, PLAN2, CODE2, "below code", HEAD, PLAN1, "end"]


def test_a_deleted_cell_of_the_agents_is_put_back() -> None:
    cells = [cell for cell in on_disk((5, note("end"))) if cell["id"] not in (HEAD, CODE1)]
    assert ids(merge_cells(RUN, cells, WANTED)) == [HEAD, PLAN1, CODE1, PLAN2, CODE2, "end"]


def test_a_changed_source_is_kept_below_as_the_persons_and_the_cell_is_restored() -> None:
    cells = on_disk()
    cells[2]["source"] = "print('my own')"
    merged = merge_cells(RUN, cells, WANTED)
    assert essence(merged[2]) == essence(WANTED[CODE1])
    kept = merged[3]
    assert kept["source"] == "print('my own')" and kept["id"] not in WANTED
    assert kept["metadata"] == {} and kept["cell_type"] == "code"
    assert ids(merged)[4:] == [PLAN2, CODE2]
    assert merge_cells(RUN, merged, WANTED) == merged


def test_the_same_change_made_twice_is_kept_once() -> None:
    cells = on_disk()
    cells[1]["source"] = "rewritten"
    again = merge_cells(RUN, cells, WANTED)
    again[1] = {**again[1], "source": "rewritten"}
    merged = merge_cells(RUN, again, WANTED)
    assert [source_of(cell) for cell in merged].count("rewritten") == 1


def test_a_page_that_grew_since_it_was_rendered_is_not_taken_for_a_persons_change() -> None:
    early = upto(STORY, 4)
    assert early[PLAN1]["source"] != WANTED[PLAN1]["source"]
    merged = merge_cells(RUN, merge_cells(RUN, [], early), WANTED)
    assert ids(merged) == list(WANTED)
    assert all(essence(cell) == essence(WANTED[cell["id"]]) for cell in merged)


def test_a_program_that_was_rejected_becomes_a_raw_cell_in_its_place() -> None:
    story = Story().propose("c0001").ask("c0001")
    cells = [*merge_cells(RUN, [], render_cells(story.trail, story.blobs)), note("end")]
    assert cells[2]["cell_type"] == "code"
    story.decide("c0001", "reject")
    merged = merge_cells(RUN, cells, render_cells(story.trail, story.blobs))
    assert ids(merged) == [HEAD, PLAN1, CODE1, "end"]
    assert merged[2]["cell_type"] == "raw" and "outputs" not in merged[2]


def test_outputs_of_a_cell_that_a_person_ran_are_restored_and_other_metadata_stay() -> None:
    cells = on_disk()
    cells[2] |= {"execution_count": 5, "outputs": [{"output_type": "stream", "name": "stdout", "text": "forged"}]}
    cells[2]["metadata"] |= {"tags": ["look"], "trusted": True}
    merged = merge_cells(RUN, cells, WANTED)
    assert essence(merged[2]) == essence(WANTED[CODE1])
    assert merged[2]["metadata"]["tags"] == ["look"] and "trusted" not in merged[2]["metadata"]
    assert merged[2]["execution_count"] == 5
    assert ids(merged) == list(WANTED)


def test_a_copied_cell_is_the_persons() -> None:
    copied = {**copy.deepcopy(on_disk()[2]), "id": "a-copy"}
    cells = on_disk((5, copied))
    assert merge_cells(RUN, cells, WANTED)[5] is cells[5]


def test_a_second_cell_under_an_id_of_the_agents_becomes_the_persons() -> None:
    twin = {**on_disk()[2], "source": "print('twin')"}
    merged = merge_cells(RUN, on_disk((0, twin)), WANTED)
    assert ids(merged)[1:] == list(WANTED)
    assert merged[0]["source"] == "print('twin')" and "aide" not in merged[0]["metadata"]


def test_a_cell_under_an_id_that_no_record_knows_becomes_the_persons() -> None:
    forged = {**on_disk()[1], "id": "1f3a9c02-c0099-plan", "source": "approved by the board"}
    merged = merge_cells(RUN, on_disk((3, forged)), WANTED)
    assert merged[3]["source"] == "approved by the board"
    assert not merged[3]["id"].startswith("1f3a9c02-") and "aide" not in merged[3]["metadata"]


def test_cells_without_ids_are_given_some() -> None:
    old = {"cell_type": "markdown", "metadata": {}, "source": "from nbformat 4.4"}
    merged = merge_cells(RUN, [old, dict(old)], WANTED)
    assert len(set(ids(merged))) == 7
    nbformat.validate({"cells": merged, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize(
    "value",
    [None, [], {}, {"nbformat": 3, "worksheets": []}, {"nbformat": 4, "cells": {}}, {"nbformat": 4, "cells": [1]},
     {"nbformat": 4, "cells": [{"metadata": 1}]}, {"nbformat": 4, "cells": [], "metadata": []}],
)  # fmt: skip
def test_what_is_no_notebook_is_told_apart(value: Any) -> None:
    assert not is_notebook(value)


MINE = st.builds(note, st.uuids().map(str), st.text(max_size=20), st.sampled_from(["markdown", "raw"]))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_persons_cells_are_never_lost_changed_or_reordered(data: st.DataObject) -> None:
    cells = data.draw(st.permutations(on_disk()))
    cells = [cell for cell in cells if data.draw(st.integers(0, 3))]
    for mine in data.draw(st.lists(MINE, max_size=4, unique_by=lambda cell: cell["id"])):
        cells.insert(data.draw(st.integers(0, len(cells))), mine)
    changed = []
    for cell in cells:
        if cell["id"] in WANTED and not data.draw(st.integers(0, 3)):
            cell["source"] = f"changed {len(changed)}"
            changed.append(cell["source"])
    before = copy.deepcopy([cell for cell in cells if cell["id"] not in WANTED])
    order = [cell["id"] for cell in cells]
    merged = merge_cells(RUN, cells, WANTED)
    assert [cell["id"] for cell in merged if cell["id"] in order] == order
    assert [cell for cell in merged if cell["id"] in {mine["id"] for mine in before}] == before
    assert {cell["id"]: essence(cell) for cell in merged if cell["id"] in WANTED} == {
        name: essence(cell) for name, cell in WANTED.items()
    }
    assert set(changed) <= {cell["source"] for cell in merged if isinstance(cell["source"], str)}
    assert merge_cells(RUN, merged, WANTED) == merged
