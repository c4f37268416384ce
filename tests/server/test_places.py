"""Which files a page may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from aide_jupyter.errors import BadRequest
from aide_jupyter.server.places import Places


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("root/data", "root/.ssh", "root/aide-runs", "shared/sets", "private"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "root/out").symlink_to(tmp_path / "private")
    (tmp_path / "root/in").symlink_to(tmp_path / "root/data")
    (tmp_path / "root/far").symlink_to(tmp_path / "shared/sets")
    (tmp_path / "root/file.csv").write_text("x")
    return tmp_path


def places(tree: Path, *roots: str) -> Places:
    return Places.of(str(tree / "root"), tuple(str(tree / one) for one in roots), "aide-runs")


def test_a_folder_below_the_root_is_named_as_the_file_browser_does(tree: Path) -> None:
    for named in ("data", "/data", "data/", "in", str(tree / "root/data")):
        assert places(tree).data_folder(named) == tree / "root/data"


@pytest.mark.parametrize(
    "named", ["../private", "data/../../private", "out", "far", ".ssh", "none", "file.csv", "a\x00"]
)
def test_what_is_outside_hidden_or_no_folder_is_refused(tree: Path, named: str) -> None:
    with pytest.raises(BadRequest):
        places(tree).data_folder(named)


def test_a_link_that_leads_out_is_refused_also_as_an_absolute_path(tree: Path) -> None:
    for named in ("root/out", "private", "shared/sets"):
        with pytest.raises(BadRequest, match="outside"):
            places(tree).data_folder(str(tree / named))


def test_further_folders_count_where_the_administrator_lists_them(tree: Path) -> None:
    there = places(tree, "shared")
    assert there.data_folder(str(tree / "shared/sets")) == tree / "shared/sets"
    assert there.data_folder("far") == tree / "shared/sets"
    with pytest.raises(BadRequest):
        there.data_folder(str(tree / "private"))
    with pytest.raises(BadRequest):
        there.data_folder(str(tree / "shared/../private"))


def test_files_are_below_the_root_and_not_hidden(tree: Path) -> None:
    there = places(tree, "shared")
    assert there.file("new.ipynb") == tree / "root/new.ipynb"
    for named in ("../x", "out/x", "far/x", ".ssh/x"):
        with pytest.raises(BadRequest):
            there.file(named)


def test_paths_are_shown_relative_to_the_root(tree: Path) -> None:
    there = places(tree)
    assert there.shown(tree / "root/data") == "data"
    assert there.shown(tree / "private") == str(tree / "private")
    assert there.relative(tree / "private") is None
