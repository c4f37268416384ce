"""The tree widget from Python: what it is told, how it follows a run, and what stands for it without a kernel."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from aide_jupyter import records as r
from aide_jupyter.audit.journal import Journal, SigningKey
from aide_jupyter.errors import AideError, BadRequest
from aide_jupyter.widgets import TreeView
from aide_jupyter.widgets.picture import MOST, still, words
from aide_jupyter.widgets.tree import FIELDS

RUN = "20261130t191148-1f3a9c02"
AUTHOR = r.Actor(kind="agent", name="author", model="offline")


def opened(key: SigningKey) -> r.Opened:
    return r.Opened(
        task=r.Task(goal="predict the price", direction="minimize", direction_source="--minimize"),
        policy="default",
        seed=0,
        mode="every",
        budgets=r.Budgets(),
        settings=r.Settings(),
        grants=r.Grants(),
        data=r.DataView(source="data", sha256="0" * 64, files=1, bytes=3, manifest="x"),
        versions={"aide-jupyter": "0"},
        key=key.public,
    )


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    key = SigningKey.generate()
    journal = Journal.create(tmp_path / "run", RUN, key, opened(key), r.Actor(kind="user", name="ada"))
    yield journal
    journal.close()


def propose(journal: Journal, candidate: str, parent: str | None = None, plan: str = "Fit a ridge.") -> None:
    operator = "draft" if parent is None else "improve"
    journal.append(r.Chosen(candidate=candidate, parent=parent, operator=operator))
    journal.append(r.Proposed(candidate=candidate, plan=plan, code="print(1)\n"), AUTHOR)


def until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for a state, not for a time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def following() -> int:
    return sum(thread.name == "aide-tree" for thread in threading.enumerate())


def test_a_view_shows_the_candidates_of_a_run_folder(journal: Journal, tmp_path: Path) -> None:
    propose(journal, "c0001")
    propose(journal, "c0002", "c0001", "More trees.\nAnd fewer.")

    view = TreeView(tmp_path / "run")

    assert [(node["id"], node["parent"], node["plan_line"]) for node in view.state["nodes"]] == [
        ("c0001", None, "Fit a ridge."),
        ("c0002", "c0001", "More trees."),
    ]
    assert set(view.state["nodes"][0]) == FIELDS
    assert view.state["run"] == RUN
    json.dumps(view.state)
    view.close()


def test_a_view_grows_with_the_run_of_another_and_ends_with_it(journal: Journal, tmp_path: Path) -> None:
    view = TreeView(tmp_path / "run")
    assert view.state["nodes"] == []

    propose(journal, "c0001")
    until(lambda: len(view.state["nodes"]) == 1)
    journal.append(r.Closed(why="steps"))
    until(lambda: view.state["phase"] == "closed")

    until(lambda: following() == 0)
    view.close()


def test_a_view_that_was_closed_follows_no_longer(journal: Journal, tmp_path: Path) -> None:
    view = TreeView(tmp_path / "run")
    assert following() == 1
    view.close()
    until(lambda: following() == 0)


def test_a_folder_that_is_moved_leaves_what_is_shown(journal: Journal, tmp_path: Path) -> None:
    propose(journal, "c0001")
    view = TreeView(tmp_path / "run")
    (tmp_path / "run").rename(tmp_path / "elsewhere")

    with pytest.raises(AideError):
        view.refresh()

    assert len(view.state["nodes"]) == 1
    (tmp_path / "elsewhere").rename(tmp_path / "run")
    propose(journal, "c0002")
    until(lambda: len(view.state["nodes"]) == 2)
    view.close()


def test_anything_with_a_folder_is_a_run_and_nothing_else(journal: Journal, tmp_path: Path) -> None:
    view = TreeView(SimpleNamespace(folder=tmp_path / "run"))
    assert view.state["run"] == RUN
    view.close()
    with pytest.raises(BadRequest, match="A int is not a run"):
        TreeView(3)  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="There is no run"):
        TreeView("no-such-run")


def test_without_a_kernel_there_is_a_picture_and_plain_text(journal: Journal, tmp_path: Path) -> None:
    propose(journal, "c0001", plan="<script>alert(1)</script>")
    view = TreeView(tmp_path / "run")

    data, _ = view._repr_mimebundle_()

    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"].splitlines()[1] == "◌ c0001 draft: in review"
    assert ElementTree.fromstring(data["image/svg+xml"]).tag.endswith("svg")
    view.close()


def node(number: int, **more: object) -> dict[str, object]:
    return {
        "id": f"c{number:04}", "parent": None, "operator": "draft", "standing": "good", "status_words": "reported",
        "value_text": "", "source": None, "best": False,
    } | more  # fmt: skip


def state(*nodes: dict[str, object]) -> dict[str, object]:
    return {"run": RUN, "phase": "running", "nodes": list(nodes)}


def test_the_picture_holds_others_texts_as_text_and_is_valid_xml() -> None:
    hostile = "</text><script>x</script>&\x00\x1b[31m\ufffe"

    picture = still(state(node(1, status_words=hostile)))

    tree = ElementTree.fromstring(picture)
    assert {element.tag.rpartition("}")[2] for element in tree.iter()} == {"svg", "title", "rect", "g", "text"}
    assert "<script>x</script>" in "".join(tree.itertext())


def test_a_long_tree_says_how_much_of_it_is_not_shown() -> None:
    lines = words(state(*(node(number) for number in range(1, MOST + 8)))).splitlines()
    assert len(lines) == 1 + MOST + 1
    assert lines[-1] == "… and 7 more"


def test_a_chain_of_a_thousand_fixes_is_drawn() -> None:
    chain = [node(1), *(node(number, parent=f"c{number - 1:04}") for number in range(2, 1001))]
    assert words(state(*chain)).count("\n") == MOST + 1


def test_a_number_is_shown_with_where_it_comes_from() -> None:
    best = node(1, value_text="0.81", source="selection", best=True)
    head, row = words(state(best)).splitlines()
    assert head.endswith("best c0001: 0.81 (selection)")
    assert "0.81 (selection) ★ best" in row
