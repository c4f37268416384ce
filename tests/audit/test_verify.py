"""``verify``: what it finds, what it lets pass, and that no file makes it fail."""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from aide_jupyter import records as r
from aide_jupyter.audit.chain import Anchor
from aide_jupyter.audit.keys import SigningKey
from aide_jupyter.audit.verify import Verdict, verify
from aide_jupyter.audit.writer import update_notebook
from aide_jupyter.errors import BadRequest, JournalError
from tests.audit.builder import CODE, KEY, Memory, Story

KEYS = frozenset({KEY.fingerprint})
CELLS = ["1f3a9c02-head", "1f3a9c02-c0001-plan", "1f3a9c02-c0001-code", "1f3a9c02-c0002-plan", "1f3a9c02-c0002-code"]


@dataclass(frozen=True)
class Entry:
    folder: Path
    notebook: Path
    head: Anchor | None


def whole() -> Story:
    story = Story().candidate("c0001", code=CODE + "# filler\n" * 600)
    story.propose("c0002", parent="c0001").ask("c0002").decide("c0002", "reject", "no")
    return story.close(best="c0001")


def written(folder: Path, story: Story) -> Path:
    story.write(folder)
    update_notebook(folder / "audit.ipynb", iter(story.records), story.blobs)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "run", whole())


def check(path: Path, **more: Any) -> Verdict:
    return verify(path, **{"keys": KEYS} | more)


def notebook(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "audit.ipynb").read_text())  # type: ignore[no-any-return]


def save(folder: Path, value: dict[str, Any]) -> Path:
    (folder / "audit.ipynb").write_text(json.dumps(value))
    return folder


def indexed(folder: Path, story: Story) -> Callable[[str], Entry | None]:
    last = story.records[-1]
    entry = Entry(folder, folder / "audit.ipynb", Anchor(last.seq, last.hash))
    return lambda run: entry if run == story.run else None


@pytest.mark.parametrize("name", ["", "audit.ipynb", "journal.jsonl"])
def test_an_untouched_run_is_intact_by_its_folder_its_notebook_or_its_journal(folder: Path, name: str) -> None:
    verdict = check(folder / name)
    assert verdict.code == 0 and verdict.problems == (), verdict.lines
    assert verdict.lines[-1].startswith("INTACT")
    assert any(KEY.fingerprint in line for line in verdict.lines)
    assert verdict.as_json()["verdict"] == "intact"


def test_a_run_that_has_not_ended_is_not_closed(tmp_path: Path) -> None:
    story = Story().candidate("c0001").propose("c0002").ask("c0002")
    assert check(written(tmp_path, story)).code == 2


def test_a_notebook_that_lags_behind_a_running_journal_is_no_change(tmp_path: Path) -> None:
    story = Story().candidate("c0001")
    written(tmp_path, story)
    story.candidate("c0002").write(tmp_path)
    verdict = check(tmp_path)
    assert verdict.code == 2 and verdict.problems == ()


def test_an_older_copy_of_the_notebook_of_a_closed_run_is_told(tmp_path: Path) -> None:
    story = Story().candidate("c0001")
    written(tmp_path, story)
    story.candidate("c0002").close(best="c0001").write(tmp_path)
    verdict = check(tmp_path)
    assert verdict.code == 2 and "the notebook is of a time before" in verdict.lines[-1]


def test_an_unknown_key_is_not_anchored_until_its_fingerprint_is_given(folder: Path) -> None:
    verdict = check(folder, keys=())
    assert verdict.code == 3 and KEY.fingerprint in verdict.lines[-1]
    spaced = " ".join(KEY.fingerprint.upper()[i : i + 4] for i in range(0, 32, 4))
    assert check(folder, keys=(), key=spaced).code == 0
    assert check(folder, keys=(), key="0" * 32).code == 3


def test_without_a_notebook_or_an_index_nothing_anchors_the_journal(folder: Path) -> None:
    (folder / "audit.ipynb").unlink()
    assert check(folder / "journal.jsonl").code == 3
    assert check(folder / "journal.jsonl", index=indexed(folder, whole())).code == 0
    assert check(folder).code == 1


def test_the_whole_run_signed_again_with_another_key_is_found(tmp_path: Path) -> None:
    story = whole()
    index = indexed(tmp_path / "run", story)
    again = Story(key=SigningKey.generate()).candidate("c0001").close(best="c0001")
    folder = written(tmp_path / "run", again)
    assert check(folder).code == 3
    assert check(folder, index=index).code == 1


def test_an_older_copy_of_journal_and_notebook_is_found_by_the_index(tmp_path: Path) -> None:
    story = Story().candidate("c0001")
    folder = written(tmp_path / "run", story)
    index = indexed(folder, whole())
    verdict = check(folder, index=index)
    assert verdict.code == 1 and "tail is missing" in verdict.problems[0]


@pytest.mark.parametrize(
    "change", ["edit", "delete", "swap", "cut", "half", "empty", "append", "remove", "link", "twice"]
)
def test_any_single_change_to_the_journal_is_altered(folder: Path, change: str) -> None:
    path = folder / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    if change == "edit":
        lines[5] = lines[5].replace(b"2026", b"2025")
    elif change == "delete":
        del lines[5]
    elif change == "swap":
        lines[5], lines[6] = lines[6], lines[5]
    elif change == "cut":
        del lines[-1]
    elif change == "half":
        lines[-1] = lines[-1][:-5]
    elif change == "empty":
        lines = []
    elif change == "append":
        lines.append(b"{")
    elif change == "twice":
        lines.append(lines[-1])
    path.write_bytes(b"".join(lines))
    if change in ("remove", "link"):
        path.rename(folder / "elsewhere")
    if change == "link":
        path.symlink_to(folder / "elsewhere")
    verdict = check(folder)
    assert verdict.code == 1, verdict.lines
    if change in ("edit", "delete", "swap"):
        assert verdict.first_bad == 5
        assert any("Record 5 is bad" in line for line in verdict.lines)


@pytest.mark.parametrize("change", ["edit", "remove", "link"])
def test_a_changed_blob_is_altered(folder: Path, change: str) -> None:
    (blob,) = (folder / "blobs").iterdir()
    data = blob.read_bytes()
    blob.unlink()
    if change == "edit":
        blob.write_bytes(data.replace(b"filler", b"filled"))
    elif change == "link":
        (folder / "copy").write_bytes(data)
        blob.symlink_to(folder / "copy")
    verdict = check(folder)
    assert verdict.code == 1 and any(blob.name in problem for problem in verdict.problems)


def test_a_text_that_no_cell_shows_is_checked_too(tmp_path: Path) -> None:
    blobs = Memory()
    manifest = blobs.put(b"x" * 5000)
    story = Story(data={"manifest": manifest})
    story.blobs = blobs
    story.candidate("c0001").close(best="c0001")
    folder = written(tmp_path, story)
    assert check(folder).code == 0
    (folder / "blobs" / manifest.sha256).write_bytes(b"y" * 5000)
    assert check(folder).code == 1 and manifest.sha256 in check(folder).problems[0]


def test_a_notebooks_head_that_is_not_in_the_journal_is_named(folder: Path) -> None:
    value = notebook(folder)
    value["metadata"]["aide"]["head"]["hash"] = "0" * 64
    assert "is not in the journal" in check(save(folder, value)).problems[0]


@pytest.mark.parametrize("name", CELLS)
def test_a_deleted_cell_of_the_agents_is_altered_and_named(folder: Path, name: str) -> None:
    value = notebook(folder)
    value["cells"] = [cell for cell in value["cells"] if cell["id"] != name]
    verdict = check(save(folder, value))
    assert verdict.code == 1 and verdict.problems == (f"The cell {name} is missing.",)


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("field", ["source", "cell_type", "id", "outputs", "aide", "hash", "twin"])
def test_any_change_of_an_agents_cell_is_altered_and_named(folder: Path, name: str, field: str) -> None:
    value = notebook(folder)
    (cell,) = [cell for cell in value["cells"] if cell["id"] == name]
    if field == "source":
        cell["source"] = "".join(cell["source"]) + " "
    elif field == "cell_type":
        cell["cell_type"] = "raw" if cell["cell_type"] != "raw" else "code"
    elif field == "id":
        cell["id"] = "mine"
    elif field == "outputs":
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "0.99"}]
    elif field == "aide":
        del cell["metadata"]["aide"]
    elif field == "hash":
        cell["metadata"]["aide"]["hash"] = "0" * 64
    else:
        value["cells"].append(copy.deepcopy(cell))
    verdict = check(save(folder, value))
    assert verdict.code == 1 and name in verdict.problems[0], verdict.lines


def test_two_programs_that_changed_places_are_altered(tmp_path: Path) -> None:
    story = Story().candidate("c0001").candidate("c0002", code="print(2)").close(best="c0001")
    folder = written(tmp_path, story)
    value = notebook(folder)
    one, two = value["cells"][2], value["cells"][4]
    one["source"], two["source"] = two["source"], one["source"]
    assert len(check(save(folder, value)).problems) == 2


def test_a_forged_cell_under_an_id_of_the_agents_is_altered(folder: Path) -> None:
    value = notebook(folder)
    value["cells"].append({**value["cells"][1], "id": "1f3a9c02-c0099-plan"})
    assert check(save(folder, value)).code == 1


def test_what_is_a_persons_own_is_no_change(folder: Path) -> None:
    value = notebook(folder)
    copied = {**copy.deepcopy(value["cells"][2]), "id": "a-copy", "source": "changed"}
    value["cells"].insert(0, {"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "# Mine"})
    value["cells"].append(copied)
    value["cells"].reverse()
    for cell in value["cells"]:
        cell["metadata"] |= {"tags": ["seen"], "editable": True}
        if cell["cell_type"] == "code":
            cell["execution_count"] = 7
            cell["source"] = "".join(cell["source"])
            for output in cell["outputs"]:
                output["text"] = "".join(output["text"])
    value["metadata"]["title"] = "mine"
    verdict = check(save(folder, value))
    assert verdict.code == 0, verdict.lines
    assert any("2 of a person's own" in line for line in verdict.lines)


def test_another_kernel_is_noted(folder: Path) -> None:
    value = notebook(folder)
    value["metadata"]["kernelspec"]["name"] = "python3"
    verdict = check(save(folder, value))
    assert verdict.code == 0 and any("another kernel" in line for line in verdict.lines)


@pytest.mark.parametrize(
    "change",
    [
        lambda aide: aide.clear(),
        lambda aide: aide.update(run="20261130t191148-00000000"),
        lambda aide: aide.update(key="0" * 64),
        lambda aide: aide.update(schema=True),
        lambda aide: aide.update(schema=99),
        lambda aide: aide["head"].update(seq=3),
        lambda aide: aide["head"].update(seq=10**6),
        lambda aide: aide["head"].update(seq=-1),
        lambda aide: aide["head"].update(hash="0" * 64),
        lambda aide: aide.update(head=None),
        lambda aide: aide.pop("run"),
    ],
)
def test_a_notebook_that_no_longer_names_its_run_and_head_is_altered(
    folder: Path, change: Callable[[Any], Any]
) -> None:
    value = notebook(folder)
    change(value["metadata"]["aide"])
    assert check(save(folder, value)).code == 1


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b"[" * 50_000, b'{"nbformat": 3}'])
def test_a_broken_notebook_is_altered(folder: Path, data: bytes) -> None:
    (folder / "audit.ipynb").write_bytes(data)
    verdict = check(folder)
    assert verdict.code == 1 and "audit.ipynb" in verdict.problems[0]


def test_a_renamed_notebook_is_found(folder: Path) -> None:
    (folder / "audit.ipynb").rename(folder / "my audit.ipynb")
    assert check(folder).code == 0 and check(folder / "my audit.ipynb").code == 0


def test_a_notebook_moved_elsewhere_is_found_by_the_index(folder: Path, tmp_path: Path) -> None:
    story = whole()
    moved = tmp_path / "moved.ipynb"
    shutil.move(folder / "audit.ipynb", moved)
    last = story.records[-1]
    entry = Entry(folder, moved, Anchor(last.seq, last.hash))
    assert check(folder, index=lambda run: entry).code == 0
    assert check(moved, index=lambda run: entry).code == 0


def test_a_damaged_index_is_not_anchored(folder: Path) -> None:
    def damaged(run: str) -> Entry | None:
        raise JournalError("runs/x.json is damaged.")

    verdict = check(folder, index=damaged)
    assert verdict.code == 3 and "runs/x.json is damaged" in verdict.lines[-1]


def test_an_execution_that_no_decision_covers_is_altered(tmp_path: Path) -> None:
    cases = {
        "never approved": Story().propose("c0001").start("c0001"),
        "rejected": Story().propose("c0001").decide("c0001", "reject").start("c0001"),
        "approved later": Story().propose("c0001").start("c0001").decide("c0001"),
        "another purpose": Story().propose("c0001").decide("c0001").start("c0001", "refit"),
        "another program": Story().propose("c0001").decide("c0001").start("c0001", code="a" * 64),
        "approval of another program": Story().propose("c0001").decide("c0001", code="a" * 64).start("c0001"),
        "other data": Story().propose("c0001").decide("c0001", data="a" * 64).start("c0001"),
        "twice": Story().propose("c0001").decide("c0001").start("c0001").finish("c0001").start("c0001"),
        "never started": Story().propose("c0001").decide("c0001").finish("c0001"),
    }
    for name, story in cases.items():
        verdict = check(written(tmp_path / name, story))
        assert verdict.code == 1 and "Record " in verdict.problems[0], (name, verdict.lines)


def test_executions_under_a_covering_decision_are_intact(tmp_path: Path) -> None:
    story = Story().candidate("c0001").start("c0001", "export").finish("c0001", purpose="export")
    story.propose("c0002").decide("c0002").finish("c0002", "stopped", value=None)
    assert check(written(tmp_path, story.close(best="c0001"))).code == 0


def test_a_record_of_an_unknown_kind_is_checked_and_passed_over(tmp_path: Path) -> None:
    story = Story().candidate("c0001").add_raw("sang", {"candidate": "c0001", "song": {"sha256": "x", "la": 1}})
    assert check(written(tmp_path, story.close(best="c0001"))).code == 0


def test_well_signed_nonsense_is_altered_and_names_its_record(tmp_path: Path) -> None:
    story = Story().candidate("c0001")
    update_notebook(tmp_path / "audit.ipynb", iter(story.records), story.blobs)
    story.add_raw("decided", {"candidate": "c0077", "code": 5})
    verdict = check(story.write(tmp_path))
    assert verdict.code == 1 and verdict.first_bad == len(story.records) - 1


@pytest.mark.parametrize("left", ["journal.jsonl", "audit.ipynb", "journal.lock", "blobs", "renamed.ipynb", "listed"])
def test_what_is_left_of_a_run_is_altered_and_what_is_no_run_is_not_called_so(
    folder: Path, tmp_path: Path, left: str
) -> None:
    other = tmp_path / "data"
    other.mkdir()
    (other / "train.csv").write_text("a,b\n1,2\n")
    (other / "mine.ipynb").write_text('{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}')
    for path in (other, other / "train.csv", other / "mine.ipynb"):
        with pytest.raises(BadRequest, match="of a run"):
            check(path)
    match left:
        case "renamed.ipynb":
            (folder / "audit.ipynb").rename(other / left)
        case "journal.lock":
            (other / left).touch()
        case "blobs":
            (other / left).mkdir()
        case "journal.jsonl":
            (other / left).write_text("")
        case "audit.ipynb":
            (other / left).write_text("{}")
    assert check(other, listed=[other] if left == "listed" else []).code == 1


def test_a_path_where_nothing_is_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="There is nothing at"):
        check(tmp_path / "nowhere")
    with pytest.raises(BadRequest, match="not the fingerprint"):
        check(tmp_path, key="xyz")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] + [place for key, item in items for place in places(item, (*path, key))]


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("fuzz") / "run", whole())


FUZZ = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(st.data())
def test_whatever_the_notebook_holds_there_is_a_verdict(shared_folder: Path, data: st.DataObject) -> None:
    original = (shared_folder / "audit.ipynb").read_bytes()
    value = json.loads(original)
    place = data.draw(st.sampled_from([place for place in places(value) if place]))
    node = value
    for key in place[:-1]:
        node = node[key]
    before = copy.deepcopy(node[place[-1]])
    node[place[-1]] = after = data.draw(JSON)
    try:
        verdict = check(save(shared_folder, value))
    finally:
        (shared_folder / "audit.ipynb").write_bytes(original)
    assert verdict.code in (0, 1, 2)
    in_cell = place[0] == "cells" and len(place) > 2
    whose = place[2:4] if in_cell else ()
    agents = in_cell and (whose[0] in ("source", "cell_type", "id", "outputs") or whose == ("metadata", "aide"))
    if agents and place[-1] != "execution_count" and json.dumps(before) != json.dumps(after):
        assert verdict.code == 1, (place, before, after)


def damaged(original: bytes, data: st.DataObject) -> bytes:
    """A journal after one change of any kind, anywhere."""
    lines = original.splitlines(keepends=True)
    kind = data.draw(st.sampled_from(["byte", "insert", "remove", "cut", "delete", "swap", "repeat", "replace"]))
    at = data.draw(st.integers(0, len(original) - 1))
    line, other = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    if kind == "byte":
        return original[:at] + bytes([data.draw(st.integers(0, 255))]) + original[at + 1 :]
    if kind == "insert":
        return original[:at] + data.draw(st.binary(min_size=1, max_size=3)) + original[at:]
    if kind == "remove":
        return original[:at] + original[at + data.draw(st.integers(1, 200)) :]
    if kind == "cut":
        return original[:at]
    if kind == "delete":
        del lines[line : line + data.draw(st.integers(1, 3))]
    elif kind == "swap":
        lines[line], lines[other] = lines[other], lines[line]
    elif kind == "repeat":
        lines.insert(other, lines[line])
    else:
        lines[line] = lines[other]
    return b"".join(lines)


@FUZZ
@given(st.data())
def test_any_single_damage_to_a_closed_journal_is_altered(shared_folder: Path, data: st.DataObject) -> None:
    path = shared_folder / "journal.jsonl"
    original = path.read_bytes()
    change = damaged(original, data)
    assume(change != original)
    try:
        path.write_bytes(change)
        verdict = check(shared_folder)
    finally:
        path.write_bytes(original)
    assert verdict.code == 1, verdict.lines


def rearranged(cells: list[dict[str, Any]], data: st.DataObject) -> list[dict[str, Any]]:
    """The cells after a person has worked with them: moved any, copied any, added and changed their own."""
    cells = data.draw(st.permutations(cells))
    for number in range(data.draw(st.integers(0, 3))):
        own = copy.deepcopy(data.draw(st.sampled_from(cells)))
        if data.draw(st.booleans()):
            own |= {"source": data.draw(st.text(max_size=9)), "metadata": data.draw(st.sampled_from([{}, {"a": 1}]))}
        cells.insert(data.draw(st.integers(0, len(cells))), {**own, "id": f"own-{number}"})
    for cell in cells:
        if cell["cell_type"] == "code" and data.draw(st.booleans()):
            cell["execution_count"] = data.draw(st.none() | st.integers(1, 99))
        cell["metadata"]["tags"] = data.draw(st.lists(st.text(max_size=4), max_size=2))
    return cells


@FUZZ
@given(st.data())
def test_what_a_person_does_with_cells_is_no_change_and_one_change_to_the_agents_among_it_is(
    shared_folder: Path, data: st.DataObject
) -> None:
    original = (shared_folder / "audit.ipynb").read_bytes()
    value = json.loads(original)
    value["cells"] = rearranged(value["cells"], data)
    agents = [cell for cell in value["cells"] if cell["id"] in CELLS]
    try:
        verdict = check(save(shared_folder, value))
        assert verdict.code == 0, verdict.lines
        cell = data.draw(st.sampled_from(agents))
        aide = cell["metadata"]["aide"]
        change = data.draw(st.sampled_from(["delete", "double", "rename", "type", "source", "output", *sorted(aide)]))
        if change == "delete":
            value["cells"].remove(cell)
        elif change == "double":
            value["cells"].append({**cell, "source": "a second one under its id"})
        elif change == "rename":
            cell["id"] = "another"
        elif change == "type":
            kinds = {"code", "markdown", "raw"} - {cell["cell_type"]}
            cell["cell_type"] = data.draw(st.sampled_from(sorted(kinds)))
        elif change == "source":
            source = "".join(cell["source"])
            at = data.draw(st.integers(0, len(source)))
            cell["source"] = source[:at] + data.draw(st.sampled_from([" ", "\n", "x", "\u200b"])) + source[at:]
        elif change == "output":
            cell.setdefault("outputs", []).append({"output_type": "stream", "name": "stdout", "text": ""})
        else:
            aide[change] = data.draw(JSON.filter(lambda other: json.dumps(other) != json.dumps(aide[change])))
        verdict = check(save(shared_folder, value))
    finally:
        (shared_folder / "audit.ipynb").write_bytes(original)
    assert verdict.code == 1, (change, verdict.lines)


def test_verify_changes_nothing(folder: Path) -> None:
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}
    names = sorted(os.listdir(folder))
    check(folder)
    assert before == {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}
    assert names == sorted(os.listdir(folder))


def test_the_lines_of_a_verdict_name_each_problem(folder: Path) -> None:
    value = notebook(folder)
    value["cells"][2]["source"] = "print(1)"
    verdict = check(save(folder, value))
    assert "  wrong: The cell 1f3a9c02-c0001-code was changed: its source." in verdict.lines
    assert r.sha256_text(CODE) not in " ".join(verdict.lines)
