"""What a person does in JupyterLab, and what they see there."""

from __future__ import annotations

import itertools
from typing import Any

from playwright.sync_api import Locator, Page, expect

from .lab import TOKEN, Lab, cell_id

_names = itertools.count()


def open_lab(page: Page, lab: Lab, workspace: str | None = None) -> None:
    """JupyterLab in a workspace of its own, once it is there."""
    name = workspace or f"w{next(_names)}"
    page.goto(f"{lab.url}/lab/workspaces/{name}?token={TOKEN}")
    ready(page)


def ready(page: Page) -> None:
    """Wait until JupyterLab is restored."""
    page.wait_for_function("() => !!window.jupyterapp")
    page.evaluate("() => window.jupyterapp.restored.then(() => true)")


def execute(page: Page, command: str, **arguments: Any) -> Any:
    """Run one of JupyterLab's commands."""
    script = "async ([id, args]) => { await window.jupyterapp.commands.execute(id, args); }"
    return page.evaluate(script, [command, arguments])


class Notebook:
    """A run's notebook in a page."""

    def __init__(self, page: Page, lab: Lab, run: str, path: str | None = None) -> None:
        self.page, self.lab, self.run = page, lab, run
        self.path = path or lab.notebook_path(run)

    def open(self) -> Notebook:
        execute(
            self.page, "docmanager:open", path=self.path, factory="Notebook", kernelPreference={"shouldStart": False}
        )
        return self.shown()

    def shown(self) -> Notebook:
        """Wait until it is there. Before its file has come JupyterLab has a cell of its own in it, below a spinner."""
        self.page.wait_for_function(
            "path => [...window.jupyterapp.shell.widgets('main')]"
            ".some(one => one.context && one.context.path === path && one.context.isReady && one.isRevealed)",
            arg=self.path,
        )
        expect(self.page.locator(".jp-NotebookPanel .jp-Cell").first).to_be_visible()
        return self

    def evaluate(self, body: str, argument: Any = None) -> Any:
        """JavaScript in which ``panel`` is the notebook's panel."""
        script = (
            "([path, argument]) => { const panel = [...window.jupyterapp.shell.widgets('main')]"
            ".find(one => one.context && one.context.path === path); " + body + " }"
        )
        return self.page.evaluate(script, [self.path, argument])

    def ids(self) -> list[str]:
        return list(self.evaluate("return panel.content.model.sharedModel.cells.map(cell => cell.getId());"))

    def source(self, identifier: str) -> str | None:
        found = self.evaluate(
            "return panel.content.model.sharedModel.cells.find(c => c.getId() === argument)?.getSource() ?? null;",
            identifier,
        )
        return None if found is None else str(found)

    def wait_for_cell(self, name: str) -> None:
        """Wait until the notebook has an agent's cell."""
        self.wait_for(f"cells.some(cell => cell.getId() === '{cell_id(self.run, name)}')")

    def wait_for(self, condition: str, timeout: float = 60_000) -> None:
        """Wait until something is true of the notebook's ``cells``."""
        self.page.wait_for_function(
            "path => { const panel = [...window.jupyterapp.shell.widgets('main')]"
            ".find(one => one.context && one.context.path === path);"
            f" if (!panel || !panel.content.model) return false; const cells = panel.content.model.sharedModel.cells;"
            f" return {condition}; }}",
            arg=self.path,
            timeout=timeout,
        )

    def cell(self, name: str) -> Locator:
        """An agent's cell in the page, brought into view."""
        place = self.ids().index(cell_id(self.run, name))
        self.evaluate("return panel.content.scrollToItem(argument);", place)
        return self.page.locator(f".jp-NotebookPanel .jp-Cell[data-windowed-list-index='{place}']")

    def cell_of(self, candidate: str) -> Locator:
        """A candidate's program, once it is there, in view."""
        self.wait_for_cell(f"{candidate}-code")
        return self.cell(f"{candidate}-code")

    def card(self, candidate: str) -> Locator:
        """A waiting program's card in its cell."""
        return self.page.locator(f".jp-AideCell .jp-Aide-card[data-candidate='{candidate}']")

    def add_cell(self, identifier: str, source: str) -> None:
        """A cell of the person's, at the end, as if they had added it."""
        self.evaluate(
            "const shared = panel.content.model.sharedModel;"
            "shared.insertCell(shared.cells.length, {cell_type: 'code', id: argument[0], source: argument[1]});",
            [identifier, source],
        )

    def type_into(self, identifier: str, text: str) -> None:
        """Type into a cell with the keyboard."""
        self.evaluate(
            "const place = panel.content.widgets.findIndex(w => w.model.id === argument);"
            "panel.content.activeCellIndex = place; panel.content.mode = 'edit';"
            "return panel.content.scrollToItem(place).then(() => panel.content.widgets[place].ready)"
            ".then(() => panel.content.widgets[place].editor.focus());",
            identifier,
        )
        self.page.keyboard.type(text)

    @property
    def banner(self) -> Locator:
        return self.page.locator(".jp-AideBanner")
