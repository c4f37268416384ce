"""Collecting what a hostile program left: only regular files, however the tree is shaped."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest

from aide_jupyter.errors import AideError
from aide_jupyter.sandbox.collect import Caps, collect
from aide_jupyter.sandbox.tree import DEPTH, disk_bytes, remove, walk


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "kernels" / "1"
    (folder / "working").mkdir(parents=True)
    return folder


def test_files_are_listed_with_their_hashes_and_the_folder_is_moved(workspace, tmp_path):
    (workspace / "working/a").mkdir()
    (workspace / "working/a/b.csv").write_bytes(b"id,y\n1,2\n")
    found = collect(workspace, tmp_path / "candidates" / "c0001")
    assert [(file.path, file.bytes, file.sha256) for file in found.files] == [
        ("working/a/b.csv", 9, hashlib.sha256(b"id,y\n1,2\n").hexdigest())
    ]
    assert not workspace.exists()
    assert (tmp_path / "candidates/c0001/working/a/b.csv").read_bytes() == b"id,y\n1,2\n"
    assert found.left_out == 0


def test_a_destination_that_exists_is_never_replaced(workspace, tmp_path):
    destination = tmp_path / "taken"
    destination.symlink_to(tmp_path)
    with pytest.raises(AideError, match="exists already"):
        collect(workspace, destination)
    assert workspace.exists()


def test_links_and_special_files_are_removed_and_what_they_point_to_is_not(workspace, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "secret").write_text("CANARY")
    (workspace / "input").symlink_to(outside)
    (workspace / "working/link").symlink_to(outside / "secret")
    (workspace / "working/folder").symlink_to(outside)
    os.mkfifo(workspace / "working/pipe")
    found = collect(workspace)
    assert (found.files, found.left_out) == ((), 3)
    assert os.listdir(workspace) == ["working"] and os.listdir(workspace / "working") == []
    assert (outside / "secret").read_text() == "CANARY"
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755


def test_a_file_with_two_names_is_left_out(workspace, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("CANARY")
    outside.chmod(0o644)
    os.link(outside, workspace / "working/hard")
    found = collect(workspace)
    assert (found.files, found.left_out) == ((), 1)
    assert outside.read_text() == "CANARY" and stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_what_lies_beside_working_is_removed(workspace):
    (workspace / "json.py").write_text("evil")
    (workspace / ".jail/home").mkdir(parents=True)
    collect(workspace)
    assert os.listdir(workspace) == ["working"]


def test_names_that_cannot_stand_in_a_record_are_left_out(workspace):
    for name in (b"new\nline", b"\xff\xfe", b"\x1b[31m", "\u202egnp".encode()):
        Path(os.fsdecode(bytes(workspace / "working") + b"/" + name)).write_text("x")
    found = collect(workspace)
    assert (found.files, found.left_out) == ((), 4)
    assert os.listdir(workspace / "working") == []


def test_too_large_files_are_named_without_a_hash_and_gone(workspace):
    (workspace / "working/large").write_bytes(b"x" * 100)
    (workspace / "working/small").write_bytes(b"x" * 10)
    with (workspace / "working/sparse").open("wb") as file:
        file.truncate(1 << 40)
    found = collect(workspace, caps=Caps(file_bytes=50, total_bytes=1000))
    assert {file.path: file.sha256 is None for file in found.files} == {
        "working/large": True,
        "working/small": False,
        "working/sparse": True,
    }
    assert os.listdir(workspace / "working") == ["small"]


def test_no_more_files_and_bytes_are_kept_than_the_caps_say(workspace):
    for number in range(10):
        (workspace / f"working/{number}").write_bytes(b"x" * 10)
    assert len(collect(workspace, caps=Caps(files=8)).files) == 8
    assert len(os.listdir(workspace / "working")) == 8
    found = collect(workspace, caps=Caps(total_bytes=35))
    assert sum(file.sha256 is not None for file in found.files) == 3


def test_no_more_folders_are_kept_than_files_may_be(workspace):
    for number in range(10):
        (workspace / f"working/{number}").mkdir()
    found = collect(workspace, caps=Caps(files=8))
    assert (found.left_out, len(os.listdir(workspace / "working"))) == (2, 8)


def _nest(folder: Path, depth: int) -> None:
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(os.open("deepest", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)


def test_a_tree_too_deep_for_any_path_is_walked_counted_and_removed(workspace):
    _nest(workspace / "working", 3000)
    assert sum(1 for _ in walk(workspace / "working")) == DEPTH
    assert disk_bytes(workspace, 1 << 30) > 1 << 30
    found = collect(workspace)
    assert (found.files, found.left_out) == ((), 1)
    (workspace / "again").mkdir()
    _nest(workspace / "again", 3000)
    remove(workspace)
    assert not workspace.exists()


def test_removing_follows_no_link_and_needs_no_rights_that_a_program_took(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    doomed = tmp_path / "doomed"
    (doomed / "closed" / "inner").mkdir(parents=True)
    (doomed / "closed" / ".removed-1").mkdir()
    (doomed / ".removed-1").symlink_to(outside)
    (doomed / "closed" / "link").symlink_to(outside)
    (doomed / "closed" / "inner").chmod(0)
    (doomed / "closed").chmod(0)
    remove(doomed)
    assert os.listdir(tmp_path) == ["outside"] and os.listdir(outside) == ["kept"]
    remove(doomed)


def test_disk_is_counted_in_blocks_with_a_price_for_each_entry(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    for number in range(9):
        (tmp_path / str(number)).touch()
    assert 40_000 <= disk_bytes(tmp_path, 1 << 30) <= 60_000
    assert disk_bytes(tmp_path, 5000) > 5000


def test_a_folder_swapped_for_a_link_while_it_is_walked_is_not_entered(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").touch()
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    seen = []
    for entry in walk(root):
        seen.append(entry.path)
        (root / "folder").rmdir()
        (root / "folder").symlink_to(outside)
    assert seen == ["folder"]
