"""Reading in a process of its own: a hostile file takes nothing down but that process."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from aide_jupyter.data import worker
from aide_jupyter.data.copying import Stopped
from aide_jupyter.data.preview import preview
from aide_jupyter.data.shape import Other
from aide_jupyter.data.worker import columns_in_process, preview_in_process, survey_in_process
from aide_jupyter.errors import AideError


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.csv").write_text("id,y\n" + "".join(f"{n},{n % 2}\n" for n in range(100)))
    (folder / "test.csv").write_text("id\n1\n")
    return folder


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the worker's path; a ``sitecustomize`` in it makes reading ``evil.csv`` do what ``evil.py`` says."""
    folder = tmp_path / "patch"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import aide_jupyter.data.tables as tables\n"
        "real = tables.open_tables\n"
        "def open_tables(path, name, stop=None, **more):\n"
        "    if name.name == 'evil.csv':\n"
        "        import evil\n"
        "        getattr(evil, 'read', dict)(**more)\n"
        "    return real(path, name, stop, **more)\n"
        "tables.open_tables = open_tables\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    return folder


BEFORE: set[psutil.Process] = set()


@pytest.fixture(autouse=True)
def _what_runs_already() -> None:
    """Other tests in this process may have left the sandbox's watcher running."""
    BEFORE.clear()
    BEFORE.update(psutil.Process().children(recursive=True))


def children() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True)) - BEFORE


def test_it_tells_what_the_preview_tells(data: Path) -> None:
    assert preview_in_process(data, "statistics", target="y") == preview(data, "statistics", target="y")
    assert [table.names for table in columns_in_process(data)] == [("id", "y"), ("id",)]
    assert survey_in_process(data, "y").kind == "binary"


def test_no_secret_of_the_server_is_in_its_environment(
    data: Path, failing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    (data / "evil.csv").write_text("a\n1\n")
    (failing / "evil.py").write_text("import os\nif 'OPENAI_API_KEY' in os.environ: raise RuntimeError\n")
    assert {file.kind for file in preview_in_process(data, "statistics").files} == {"table"}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os; os.abort()", "memory"),
        ("import ctypes; ctypes.string_at(0)", "crashed"),
        ("x = bytearray(8 << 30)", "MemoryError"),
        ("import os; os.write(os.memfd_create('x'), b'x')", "OSError"),
    ],
)
def test_a_file_that_kills_its_reader_is_left_out_with_words(data: Path, failing: Path, code: str, words: str) -> None:
    (data / "evil.csv").write_text("a\n1\n")
    (failing / "evil.py").write_text(code)
    told = preview_in_process(data, "statistics", target="y")
    (evil,) = (file for file in told.files if file.path == "evil.csv")
    assert isinstance(evil, Other) and words in str(evil.why)
    assert {file.path for file in told.files} == {"train.csv", "test.csv", "evil.csv"}
    assert not children()


def test_a_reader_that_hangs_is_killed_and_its_file_left_out(data: Path, failing: Path) -> None:
    (data / "evil.csv").write_text("a\n1\n")
    (failing / "evil.py").write_text(
        "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.fork()\nwhile True: pass\n"
    )
    told = preview_in_process(data, "statistics", seconds=8)
    (evil,) = (file for file in told.files if file.path == "evil.csv")
    assert isinstance(evil, Other) and "seconds" in str(evil.why)
    assert not children()


def test_of_a_large_file_that_takes_too_long_less_is_read(
    data: Path, failing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "LEAST", 10)
    (data / "evil.csv").write_text("a\n1\n2\n3\n4\n5\n")
    (failing / "evil.py").write_text("def read(most_bytes):\n    while most_bytes > 64 << 20: pass\n")
    told = preview_in_process(data, "statistics", seconds=8)
    assert {file.kind for file in told.files} == {"table"}


def test_a_reader_that_never_works_is_a_clear_error(data: Path, failing: Path) -> None:
    (failing / "sitecustomize.py").write_text("import os; os._exit(9)")
    with pytest.raises(AideError, match="could not be read") as raised:
        preview_in_process(data, "statistics")
    assert raised.value.advice


def test_it_stops_when_it_is_asked_to(data: Path, failing: Path) -> None:
    (data / "evil.csv").write_text("a\n1\n")
    (failing / "evil.py").write_text("while True: pass\n")
    begin = time.monotonic()
    with pytest.raises(Stopped):
        preview_in_process(data, "statistics", stop=lambda: time.monotonic() > begin + 1)
    assert not children()


def test_too_much_output_is_refused(data: Path, failing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_MOST_OUTPUT", 1000)
    (data / "evil.csv").write_text("a\n1\n")
    (failing / "evil.py").write_text("import os\nos.write(1, b'x' * 100_000)\n")
    told = preview_in_process(data, "statistics")
    assert any(isinstance(file, Other) and "too much" in str(file.why) for file in told.files)


def test_names_that_are_not_utf_8_do_not_disturb_it(data: Path) -> None:
    (data / os.fsdecode(b"bad\xff.csv")).write_text("a\n1\n")
    (data / "new\nline.csv").write_text("a\n1\n")
    assert "new\\nline.csv" in {file.path for file in preview_in_process(data, "schema").files}
