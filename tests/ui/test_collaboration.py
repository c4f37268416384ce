"""With jupyter-collaboration: the notebook is a room, and two windows are live in it at once.

Where it is installed everything is a room, so it is not in the environment of the other tests but in a folder beside,
made by ``pip install --no-deps --target .venv/collaboration`` with the packages of :data:`PACKAGES`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from .lab import Lab, until
from .pages import Notebook, open_lab

FOLDER = Path(sys.prefix) / "collaboration"
PACKAGES = (
    "jupyter-collaboration", "jupyter-collaboration-ui", "jupyter-docprovider", "jupyter-server-ydoc",
    "jupyter-server-fileid", "jupyter-ydoc", "pycrdt", "pycrdt-store", "pycrdt-websocket", "sqlite-anyio",
)  # fmt: skip
QUICK = "print('Validation metric: 0.5')\n"

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"needs pip install --no-deps --target {FOLDER} {' '.join(PACKAGES)}"
)


@pytest.fixture
def room() -> Iterator[Lab]:
    with tempfile.TemporaryDirectory(prefix="aide-ui-") as folder:
        home = Path(folder).resolve()
        (home / "config").mkdir()
        extensions = {
            "ServerApp": {"jpserver_extensions": {"jupyter_server_ydoc": True, "jupyter_server_fileid": True}}
        }
        (home / "config" / "jupyter_server_config.json").write_text(json.dumps(extensions))
        lab = Lab(home, env={"PYTHONPATH": str(FOLDER), "JUPYTER_PATH": str(FOLDER / "share" / "jupyter")})
        yield lab
        lab.stop()


def test_two_windows_are_live_in_one_room(room: Lab, page: Page, context: BrowserContext) -> None:
    lab = room
    run = lab.run()
    lab.waiting(run)
    open_lab(page, lab)
    first = Notebook(page, lab, run).open()
    assert first.evaluate("return panel.context.model.collaborative;"), "this test is about a room"
    first.wait_for_cell("c0001-code")
    first.add_cell("mine", "mine = 1")
    other = context.new_page()
    open_lab(other, lab)
    second = Notebook(other, lab, run).open()
    second.wait_for("cells.some(cell => cell.getId() === 'mine')")
    second.add_cell("theirs", "theirs = 1")

    program = lab.propose(run, QUICK)
    for notebook in (first, second):
        notebook.wait_for_cell(f"{program}-code")
        expect(notebook.banner).not_to_contain_text("another window")
    lab.ended(run, program)
    first.wait_for("cells.some(cell => cell.getId() === 'theirs')")
    lab.control(run, verb="stop")
    until(lambda: lab.state(run)["phase"] == "closed")
    until(lambda: lab.api(f"aide-jupyter/runs/{run}/verify")["verdict"] == "intact")
    for notebook in (first, second):
        assert len(set(notebook.ids())) == len(notebook.ids())
    until(lambda: {"mine = 1", "theirs = 1", QUICK} <= set(lab.sources(run)))
