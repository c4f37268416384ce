"""Zip archives in a data folder: unpacked as AIDE does, and never to anyone's harm."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from aide_jupyter.data.view import View, build_view


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def pack(path: Path | io.BytesIO, members: dict[str, bytes | str]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def seen(view: View) -> dict[str, bytes]:
    return {
        str(path.relative_to(view.root)): path.read_bytes() for path in sorted(view.root.rglob("*")) if path.is_file()
    }


def test_archives_are_unpacked_where_a_program_written_for_aide_looks(data: Path, tmp_path: Path) -> None:
    pack(data / "train.csv.zip", {"train.csv": "a\n1\n"})
    pack(data / "images.zip", {"images/1.png": "x", "images/cats/2.png": "y"})
    pack(data / "more.zip", {"one.txt": "1", "two/three.txt": "3"})
    view = build_view(data, tmp_path / "view")
    assert seen(view) == {
        "train.csv": b"a\n1\n",
        "images/1.png": b"x",
        "images/cats/2.png": b"y",
        "more/one.txt": b"1",
        "more/two/three.txt": b"3",
    }
    assert view.files == 5 and len(view.manifest.splitlines()) == 5
    assert {item.path for item in view.left_out} == {"train.csv.zip", "images.zip", "more.zip"}
    for path in view.root.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o555 if path.is_dir() else 0o444)


def test_archives_within_archives_are_unpacked_too(data: Path, tmp_path: Path) -> None:
    inner = io.BytesIO()
    pack(inner, {"train.csv": "a\n1\n"})
    pack(data / "competition.zip", {"train.csv.zip": inner.getvalue(), "readme.txt": "hi"})
    assert seen(build_view(data, tmp_path / "view")) == {
        "competition/train.csv": b"a\n1\n",
        "competition/readme.txt": b"hi",
    }


def test_what_is_unpacked_already_is_not_overwritten(data: Path, tmp_path: Path) -> None:
    (data / "train.csv").write_text("mine\n")
    pack(data / "train.csv.zip", {"train.csv": "theirs\n"})
    view = build_view(data, tmp_path / "view")
    assert set(seen(view)) == {"train.csv", "train.csv.zip"} and seen(view)["train.csv"] == b"mine\n"
    assert "lies beside it" in view.notes[0]


def test_paths_that_lead_out_links_and_hidden_names_stay_out(data: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(data / "slip.zip", "w") as archive:
        archive.writestr("good.txt", "good")
        for name in ("../evil.txt", "/abs.txt", "a/../../evil2.txt", "..\\evil3.txt", "C:\\evil4.txt", ".bashrc"):
            archive.writestr(name, "canary")
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("link/through.txt", "canary")
        archive.writestr("good.txt/below", "canary")
        archive.writestr("__MACOSX/x", "canary")
    before = {path for path in tmp_path.rglob("*") if "view" not in path.parts}
    view = build_view(data, tmp_path / "view")
    assert seen(view) == {"slip/good.txt": b"good", "slip/link/through.txt": b"canary"}
    assert {path for path in tmp_path.rglob("*") if "view" not in path.parts and path.name != "view"} == before
    assert not any(path.is_symlink() for path in view.root.rglob("*"))
    assert view.left_out_count == 10
    said = [item.why for item in view.left_out if "evil" in item.path or "abs" in item.path]
    assert said == ["its path leads out of the archive"] * 5


def test_a_bomb_stays_packed(data: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(data / "bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        block = bytes(1 << 20)
        with archive.open("zeros.csv", "w") as member:
            for _ in range(100):
                member.write(block)
    view = build_view(data, tmp_path / "view")
    assert set(seen(view)) == {"bomb.zip"} and "bomb" in view.notes[0]


def test_a_member_that_is_larger_than_it_says_is_never_written_beyond_that(data: Path, tmp_path: Path) -> None:
    packed = io.BytesIO()
    pack(packed, {"x.csv": "1\n" * 50_000})
    raw = bytearray(packed.getvalue())
    at = raw.rfind(b"PK\x01\x02")
    raw[at + 24 : at + 28] = struct.pack("<I", 10)
    raw[22:26] = struct.pack("<I", 10)
    (data / "liar.zip").write_bytes(raw)
    view = build_view(data, tmp_path / "view")
    assert set(seen(view)) == {"liar.zip"}, view.notes


@pytest.mark.parametrize("how", ["cut", "garbage", "empty", "crc", "encrypted", "lzma"])
def test_a_broken_or_encrypted_archive_is_kept_as_it_is_and_nothing_of_it_stays(
    data: Path, tmp_path: Path, how: str
) -> None:
    packed = io.BytesIO()
    pack(packed, {"a.txt": "fine", "b.txt": os.urandom(1000)})
    raw = bytearray(packed.getvalue())
    if how == "cut":
        raw = raw[: len(raw) // 2]
    elif how == "garbage":
        raw = bytearray(b"not a zip")
    elif how == "empty":
        raw = bytearray()
    elif how == "crc":
        raw[raw.find(b"b.txt") + 100] ^= 0xFF
    elif how == "encrypted":
        raw[raw.rfind(b"PK\x01\x02") + 8] |= 1
    else:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr("a.txt", "x")
        raw = bytearray(packed.getvalue())
    (data / "x.zip").write_bytes(raw)
    view = build_view(data, tmp_path / "view")
    assert seen(view) == {"x.zip": bytes(raw)}
    assert list(view.root.iterdir()) == [view.root / "x.zip"]
    assert view.notes[0].startswith("x.zip was not unpacked: it")


def test_an_archive_with_too_many_files_or_a_huge_directory_stays_packed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(data / "many.zip", {f"{number}.txt": "" for number in range(300)})
    monkeypatch.setattr("aide_jupyter.data.archives.MAX_DIRECTORY", 10_000)
    view = build_view(data, tmp_path / "view")
    assert set(seen(view)) == {"many.zip"} and "more files than" in view.notes[0]


def test_two_archives_that_unpack_to_one_name_do_not_meet(data: Path, tmp_path: Path) -> None:
    pack(data / "x.ZIP", {"a": "upper"})
    pack(data / "x.zip", {"a": "lower"})
    view = build_view(data, tmp_path / "view")
    assert seen(view)["x/a"] == b"upper" and "x.zip" in seen(view)
