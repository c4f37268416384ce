"""The tree widget in a notebook: it is live with a kernel, and a click in it reaches Python."""

from __future__ import annotations

import json

from playwright.sync_api import Page, expect

from .lab import Lab, until
from .pages import execute, open_lab

CODE = "from aide_jupyter.widgets import TreeView\nview = TreeView({run!r})\nview"


def test_the_tree_grows_in_a_notebook_and_a_click_reaches_python(lab: Lab, page: Page) -> None:
    run = lab.run()
    lab.waiting(run)
    cells = [
        {"cell_type": "code", "id": name, "source": source, "metadata": {}, "outputs": [], "execution_count": None}
        for name, source in (("make", CODE.format(run=run)), ("ask", "print('selected:', view.selected)"))
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (lab.root / "tree.ipynb").write_text(json.dumps(notebook))
    open_lab(page, lab)
    page.add_style_tag(content=".jp-toastContainer { display: none; }")
    execute(page, "docmanager:open", path="tree.ipynb", factory="Notebook")
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget?.context?.sessionContext?.session?.kernel?.status === 'idle'",
        timeout=60_000,
    )
    execute(page, "notebook:run-cell")
    row = page.locator(".aide-Tree-row[data-candidate='c0001']")
    expect(row).to_be_visible(timeout=60_000)
    expect(row).to_contain_text("waits for a decision")
    program = lab.propose(run, "print('Validation metric: 0.5')\n")
    lab.ended(run, program)
    expect(page.locator(f".aide-Tree-row[data-candidate='{program}']")).to_contain_text("0.5 reported", timeout=30_000)
    row.click()
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1; }")
    execute(page, "notebook:run-cell")
    expect(page.locator(".jp-OutputArea-output", has_text="selected: c0001")).to_be_visible()
    # Saved without its state, the notebook still shows something where there is no kernel.
    execute(page, "docmanager:save")
    shown = until(lambda: json.loads((lab.root / "tree.ipynb").read_text())["cells"][0]["outputs"])
    assert {"text/plain", "image/svg+xml"} <= set(shown[0]["data"])
