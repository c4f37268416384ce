"""What is around the panel and the notebook: status bar, running sessions, settings, menu, palette, launcher."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .lab import Lab, until
from .pages import Notebook, execute, open_lab
from .panel import ROOT, Panel

SLOW = "import time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.1)\n"
LONG = 120_000
"""Milliseconds that something may take on a busy machine."""


@pytest.fixture
def begin(lab: Lab) -> Iterator[Callable[..., str]]:
    """Begins runs, and ends them with the test: a run under way is shown all over the window."""
    begun: list[str] = []

    def run(**options: Any) -> str:
        begun.append(lab.run(**options))
        return begun[-1]

    yield run
    for each in begun:
        if lab.state(each)["phase"] != "closed":
            lab.control(each, verb="stop-now")
            until(lambda each=each: lab.state(each)["phase"] == "closed", 120)


def button(place: Page | Locator, name: str) -> Locator:
    return place.get_by_role("button", name=name, exact=True)


def dialog(page: Page) -> Locator:
    return page.locator(".jp-Dialog")


def status(page: Page) -> Locator:
    return page.locator(".jp-AideStatus").get_by_role("button")


def test_the_status_bar_says_what_a_run_does_and_leads_to_it(lab: Lab, page: Page, begin: Callable[..., str]) -> None:
    run = begin(steps=2)
    lab.waiting(run)
    open_lab(page, lab)
    expect(status(page)).to_have_text("AIDE: 1 program waits", timeout=LONG)
    assert page.locator(".jp-AideStatus:visible").count() == 1
    status(page).click()
    panel = Panel(page)
    panel.wait_for_card("c0001")

    slow = lab.propose(run, SLOW)
    until(lambda: lab.node(run, slow)["standing"] == "running", 120)
    expect(status(page)).to_have_text(re.compile(r"^AIDE: \d of 2 steps$"), timeout=LONG)
    lab.control(run, verb="stop-now")
    expect(page.locator(".jp-AideStatus:visible")).to_have_count(0, timeout=LONG)


def test_a_run_is_among_the_running_sessions_and_is_stopped_there_after_a_question(
    lab: Lab, page: Page, begin: Callable[..., str]
) -> None:
    run = begin(goal="Predict the first price.")
    lab.waiting(run)
    open_lab(page, lab)
    execute(page, "running:show-panel")
    sessions = page.locator("#jp-running-sessions")
    item = sessions.locator(".jp-RunningSessions-item", has_text="Predict the first price.")
    expect(item).to_contain_text("Waiting for your decision", timeout=LONG)
    item.locator(".jp-RunningSessions-itemLabel").click()
    Panel(page).wait_for_card("c0001")

    item.hover()
    item.locator("[title='Stop']").click()
    expect(dialog(page)).to_contain_text("Stop the run?")
    expect(dialog(page)).to_contain_text("Predict the first price.")
    expect(dialog(page)).to_contain_text("It cannot be resumed.")
    button(dialog(page), "Cancel").click()
    expect(dialog(page)).to_have_count(0)
    assert lab.state(run)["waiting"] == ["c0001"]
    item.hover()
    item.locator("[title='Stop']").click()
    button(dialog(page), "Stop").click()
    until(lambda: lab.state(run)["phase"] == "closed", 120)
    assert lab.node(run, "c0001")["standing"] == "rejected"
    expect(item).to_have_count(0, timeout=LONG)


def test_all_runs_are_stopped_from_the_running_sessions_after_one_question(
    lab: Lab, page: Page, begin: Callable[..., str]
) -> None:
    runs = [begin(), begin()]
    open_lab(page, lab)
    execute(page, "running:show-panel")
    sessions = page.locator("#jp-running-sessions")
    expect(sessions.locator(".jp-RunningSessions-item", has_text="Predict the price.")).to_have_count(2, timeout=LONG)
    button(sessions, "Stop all").click()
    expect(dialog(page)).to_contain_text("Stop all runs? They cannot be resumed.")
    button(dialog(page), "Stop all").click()
    until(lambda: all(lab.state(run)["phase"] == "closed" for run in runs), 120)


def test_a_changed_setting_counts_at_once(lab: Lab, page: Page, begin: Callable[..., str]) -> None:
    open_lab(page, lab)
    execute(page, "settingeditor:open", query="AIDE")
    told = page.get_by_label("A program waits for a decision", exact=True)

    def kept() -> bool:
        settings = lab.api("lab/api/settings/aide-jupyter:plugin")["settings"]
        return settings.get("notify", {}).get("decision", True) is not False

    expect(told).to_be_checked(timeout=LONG)
    told.uncheck()
    until(lambda: not kept())
    first = begin(goal="Predict it silently.")
    lab.waiting(first)
    expect(status(page)).to_have_text("AIDE: 1 program waits", timeout=LONG)

    told.check()
    until(kept)
    second = begin(goal="Predict it aloud.")
    lab.waiting(second)
    toast = page.locator(".Toastify__toast", has_text="A program waits for your decision")
    expect(toast).to_contain_text("Predict it aloud.", timeout=LONG)
    # What was told of the first would be listed too, had there been something.
    expect(page.locator(".jp-Notification-Status")).to_have_text("1")
    button(toast, "Review").click()
    panel = Panel(page)
    panel.wait_for_card("c0001")
    expect(panel.element).to_contain_text("Predict it aloud.")


def test_the_run_menu_has_a_part_for_runs(lab: Lab, page: Page) -> None:
    open_lab(page, lab)
    page.locator(".lm-MenuBar-item", has_text=re.compile("^Run$")).click()
    page.locator(".lm-Menu-item[data-type='submenu']", has_text=re.compile("^AIDE")).hover()
    menu = page.locator(".lm-Menu", has=page.locator("[data-command='aide:new-run']"))
    expect(menu.locator(".lm-Menu-item:not([data-type='separator']) .lm-Menu-itemLabel")).to_have_text([
        "New run…", "Show all runs", "Review the next program", "Pause the run", "Resume the run", "Stop the run…",
        "Stop the run at once…", "Open the audit notebook", "Export best solution", "Verify this log",
        "Check the sandbox",
    ])  # fmt: skip
    menu.locator("[data-command='aide:new-run']").click()
    expect(Panel(page).field("Data folder")).to_be_visible()


class Palette:
    """The command palette, and which commands were chosen in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.chosen: set[str] = set()
        # JupyterLab opens it last of all in a new workspace, and gives it the focus, which closes a palette.
        expect(page.locator(".jp-Launcher")).to_be_visible()

    def choose(self, label: str) -> None:
        """Find a command by its label, as a person types it, and run it."""
        execute(self.page, "apputils:activate-command-palette")
        palette = self.page.locator("#modal-command-palette")
        palette.locator(".lm-CommandPalette-input").fill(label)
        item = palette.locator(
            ".lm-CommandPalette-item[data-command^='aide:']",
            has=self.page.locator(".lm-CommandPalette-itemLabel", has_text=re.compile(f"^{re.escape(label)}$")),
        )
        expect(item).to_have_class(re.compile("lm-mod-active"))
        self.chosen.add(str(item.get_attribute("data-command")))
        self.page.keyboard.press("Enter")
        expect(palette).to_be_hidden()
        # In the next frame JupyterLab gives the focus back to what had it, which closes a palette opened before that.
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_every_command_is_found_in_the_palette_and_does_what_it_says(
    lab: Lab, page: Page, begin: Callable[..., str]
) -> None:
    run = begin()
    question = lab.waiting(run)
    lab.decide(run, question, "approve")
    assert lab.ended(run, "c0001")["standing"] == "good"
    lab.waiting(run)
    open_lab(page, lab)
    palette, panel = Palette(page), Panel(page)

    palette.choose("New run…")
    expect(panel.field("Data folder")).to_be_visible()
    palette.choose("Show all runs")
    panel.element.locator(f"[data-run='{run}']").click()
    card = panel.wait_for_card("c0002")
    page.get_by_role("tab", name="AIDE: runs, candidates and their review").click()
    expect(panel.element).to_be_hidden()
    palette.choose("Show the AIDE panel")
    expect(panel.element).to_be_visible()
    with page.expect_request(lambda one: one.method == "POST" and "/aide-jupyter/doctor" in one.url):
        palette.choose("Check the sandbox")

    # Those about a decision bring the program into sight, and decide nothing.
    panel.element.locator(f"[data-run='{run}']").click()
    for label in ("Review the next program", "Approve the program…"):
        panel.wait_for_card("c0002")
        panel.button("Runs").focus()
        palette.choose(label)
        expect(card.get_by_role("heading").first).to_be_focused()
    palette.choose("Edit the program…")
    expect(card.get_by_role("textbox", name="Your edit of the program")).to_be_visible()
    palette.choose("Reject the program…")
    expect(card.get_by_label("Why? The author is told.")).to_be_visible()
    assert lab.state(run)["waiting"] == ["c0002"]

    palette.choose("Pause the run")
    until(lambda: "resume" in lab.state(run)["actions"], 120)
    expect(button(panel.element, "Resume")).to_be_visible(timeout=LONG)
    palette.choose("Resume the run")
    until(lambda: "pause" in lab.state(run)["actions"], 120)
    expect(button(panel.element, "Pause")).to_be_visible(timeout=LONG)
    palette.choose("Open the audit notebook")
    expect(page.locator(".jp-NotebookPanel .jp-Cell").first).to_be_visible()

    palette.choose("Stop the run…")
    button(dialog(page), "Cancel").click()
    assert lab.state(run)["phase"] == "waiting"
    palette.choose("Stop the run at once…")
    button(dialog(page), "Stop at once").click()
    until(lambda: lab.state(run)["phase"] == "closed", 120)
    until(lambda: lab.api(f"aide-jupyter/runs/{run}/verify")["code"] == 0)
    palette.choose("Verify this log")
    expect(dialog(page).locator(".jp-Aide-verdict")).to_have_attribute("data-verdict", "0")
    button(dialog(page), "Close").click()
    palette.choose("Export best solution")
    expect(page.locator(".lm-TabBar-tabLabel", has_text="solution.ipynb")).to_be_visible(timeout=LONG)

    # A cell's own commands are in its toolbar, and nowhere else: they are about the cell that is active.
    commands = set(
        page.evaluate("() => window.jupyterapp.commands.listCommands().filter(id => id.startsWith('aide:'))")
    )
    assert commands - palette.chosen == {"aide:review-cell", "aide:edit-cell", "aide:reject-cell"}


def test_a_notebook_s_toolbar_can_be_used_as_soon_as_it_is_there(
    lab: Lab, page: Page, begin: Callable[..., str]
) -> None:
    run = begin(steps=1, review="auto")
    until(lambda: lab.state(run)["phase"] == "closed", 180)
    open_lab(page, lab)
    execute(page, "aide:show-runs")
    expect(Panel(page).element.locator(f"[data-run='{run}']")).to_be_visible(timeout=LONG)
    # The page hears nothing more of runs, so only the notebook itself can say what can be done with it.
    page.route(re.compile(r"/aide-jupyter/runs(\?|$)"), lambda _: None)
    notebook = Notebook(page, lab, run).open()
    for command in ("aide:export-best", "aide:verify-log"):
        button = page.locator(f".jp-NotebookPanel-toolbar [data-command='{command}']")
        expect(button).to_have_attribute("aria-disabled", "false", timeout=LONG)
    page.locator(".jp-NotebookPanel-toolbar [data-command='aide:verify-log']").click()
    expect(dialog(page).locator(".jp-Aide-verdict")).to_have_attribute("data-verdict", "0")
    assert notebook.evaluate("return panel.sessionContext.hasNoKernel;")


PROBING = """\
import os
from pathlib import Path

for place in {kept}:
    try:
        print("reached", Path(place).read_text())
    except OSError:
        print("kept out")
print("read", Path("data/train.csv").read_text()[:7])
try:
    Path("made.txt").write_text("x")
except OSError:
    print("read only")
print("not root" if os.getuid() else "root")
"""


def test_the_launcher_offers_the_restricted_kernel_for_notebooks_of_one_s_own(lab: Lab, page: Page) -> None:
    secret = secrets.token_hex(16)
    (lab.home / "secret.txt").write_text(secret)
    open_lab(page, lab)
    page.locator(".jp-LauncherCard[data-category='Notebook'][title='Python 3 (restricted)']").click()
    notebook = Notebook(page, lab, "", "Untitled.ipynb").shown()
    page.wait_for_function(
        "() => { const kernel = window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel;"
        " return kernel?.name === 'aide-restricted' && kernel.status === 'idle'; }",
        timeout=LONG,
    )
    kept = [str(lab.home / "secret.txt"), str(lab.home / "data"), "/etc/shadow"]
    notebook.evaluate("panel.content.model.sharedModel.cells[0].setSource(argument);", PROBING.format(kept=kept))
    execute(page, "notebook:run-cell")
    notebook.wait_for("JSON.stringify(cells[0].outputs).includes('root')", LONG)
    outputs = notebook.evaluate("return panel.content.model.sharedModel.cells[0].outputs;")
    printed = "".join("".join(output["text"]) for output in outputs)
    assert printed.splitlines() == ["kept out", "kept out", "kept out", "read id,size", "read only", "not root"]
    assert secret not in printed
    assert not (lab.root / "made.txt").exists()


FAULTS_OF_JUPYTERLAB = {
    "aria-allowed-attr": "jp-button",  # A button that is not one to press says whether it is pressed.
    "aria-input-field-name": ".jp-InputArea-editor .cm-content",  # A cell's editor has no name.
    "aria-prohibited-attr": ".jp-Cell",  # A cell has a name and no role.
    "aria-required-children": ".jp-WindowedPanel-viewport",  # A feed whose cells are no articles.
    "button-name": ".jp-collapseHeadingButton",
}
"""What axe-core finds in a page with any notebook, by its rule: the elements that are JupyterLab's own."""


def faults(page: Page) -> list[str]:
    """What axe-core finds in the whole page that is serious or worse, and not JupyterLab's."""
    if page.evaluate("() => typeof axe === 'undefined'"):
        page.add_script_tag(path=ROOT / "node_modules" / "axe-core" / "axe.min.js")
    found = page.evaluate(
        """async known => {
            const { violations } = await axe.run(document, { resultTypes: ['violations'] });
            return violations
              .filter(({ impact }) => impact === 'serious' || impact === 'critical')
              .flatMap(({ id, nodes }) => nodes
                .filter(({ target }) => !(known[id] && document.querySelector(target[0]).matches(known[id])))
                .map(({ html }) => `${id}: ${html.slice(0, 200)}`));
        }""",
        FAULTS_OF_JUPYTERLAB,
    )
    return list(found)


def test_the_live_notebook_is_accessible_while_a_program_waits_and_when_all_is_over(
    lab: Lab, page: Page, begin: Callable[..., str]
) -> None:
    run = begin()
    lab.waiting(run)
    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    notebook.cell_of("c0001")
    expect(button(notebook.card("c0001"), "Approve")).to_be_enabled()
    assert faults(page) == []
    button(notebook.card("c0001"), "Edit…").click()
    expect(button(notebook.card("c0001"), "Approve the edit")).to_be_visible()
    assert faults(page) == []
    button(notebook.card("c0001"), "Discard the edit").click()
    button(notebook.card("c0001"), "Approve").click()
    assert lab.ended(run, "c0001")["standing"] == "good"
    lab.control(run, verb="stop")
    notebook.wait_for("cells[0].getMetadata('aide').status === 'closed'")
    notebook.wait_for("cells.some(cell => cell.outputs?.length > 0)")
    expect(page.locator(".jp-AideCell")).to_have_count(0)
    assert faults(page) == []
