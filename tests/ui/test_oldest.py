"""In the oldest JupyterLab that is declared, with the Jupyter server and notebook of its time: one short story.

It lies beside the environment of the other tests, in a folder put before it: ``make .venv/oldest`` makes it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .lab import Lab, until
from .pages import Notebook
from .panel import ROOT, Panel

FOLDER = Path(sys.prefix) / "oldest"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"needs `make .venv/oldest`, which makes {FOLDER}")


@pytest.fixture(scope="module")
def oldest() -> Iterator[Lab]:
    share = FOLDER / "share" / "jupyter"
    with tempfile.TemporaryDirectory(prefix="aide-ui-") as folder:
        home = Path(folder).resolve()
        # As a wheel installs it: this JupyterLab does not follow the link of a development install.
        mine = home / "share"
        shutil.copytree(ROOT / "aide_jupyter" / "labextension", mine / "labextensions" / "aide-jupyter")
        env = {
            "PYTHONPATH": str(FOLDER),
            "JUPYTER_PATH": f"{mine}{os.pathsep}{share}",
            "JUPYTERLAB_DIR": str(share / "lab"),
        }
        lab = Lab(home, env=env)
        yield lab
        lab.stop()


def floor(text: str, pattern: str) -> tuple[int, ...]:
    """The lower bound that ``pattern`` finds, as three numbers."""
    found = re.search(pattern, text)
    assert found is not None, pattern
    numbers = tuple(int(one) for one in found[1].split("."))
    return numbers + (0,) * (3 - len(numbers))


def test_these_are_the_oldest_versions_that_are_declared() -> None:
    declared = (ROOT / "pyproject.toml").read_text()
    found = distributions(path=[str(FOLDER)])
    here = {one.name.lower().replace("-", "_"): floor(one.version, r"(.*)") for one in found}
    assert here["jupyterlab"] == floor(declared, r'lab = \["jupyterlab>=([\d.]+)')
    assert here["jupyter_server"] == floor(declared, r'"jupyter_server>=([\d.]+)')
    assert here["notebook"] == floor(declared, r'"notebook>=([\d.]+)')
    packages = json.loads((ROOT / "package.json").read_text())["dependencies"]
    for name in ("application", "cells", "notebook", "docmanager", "filebrowser", "settingregistry"):
        assert packages[f"@jupyterlab/{name}"] == "^4.4.0"


def test_the_example_is_tried_approved_watched_stopped_and_verified(oldest: Lab, page: Page) -> None:
    lab, errors = oldest, []
    page.on("pageerror", lambda error: errors.append(str(error)))
    panel = Panel(page).open(lab, "oldest")
    assert page.evaluate("() => window.jupyterapp.version") == "4.4.0"
    panel.button("Try the example").click()
    first = panel.wait_for_card("c0001")
    run = lab.api("aide-jupyter/runs")["runs"][0]["run"]
    notebook = Notebook(page, lab, run).shown()
    notebook.wait_for_cell("c0001-code")
    notebook.add_cell("mine", "mine = 1")

    first.get_by_role("button", name="Approve", exact=True).click()
    expect(panel.row("c0001")).to_have_attribute("data-standing", "good", timeout=120_000)
    panel.wait_for_card("c0002")
    notebook.cell_of("c0002")
    expect(notebook.card("c0002")).to_be_visible()
    assert "mine" in notebook.ids()
    page.get_by_role("tab", name="Running Terminals and Kernels").click()
    expect(page.locator("#jp-running-sessions")).to_contain_text("AIDE runs")

    panel.button("Stop…").click()
    panel.confirm("Stop")
    panel.phase("Finished")
    until(lambda: lab.api(f"aide-jupyter/runs/{run}/verify")["code"] == 0)
    panel.button("Verify the log").click()
    expect(panel.element.locator(".jp-Aide-verdict")).to_have_attribute("data-verdict", "0", timeout=60_000)
    until(lambda: "mine = 1" in lab.sources(run))
    assert not [error for error in errors if "aide" in error], errors
