"""The whole story in the side panel, with the offline author, in JupyterLab and in Notebook 7."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from .lab import TOKEN, Lab, until
from .pages import Notebook, execute, ready
from .panel import Panel, problems

EDITED = 'print("the edited program ran")\nprint("Validation metric: 0.321")\n'
OWN = 'print("a program of my own")\nprint("Validation metric: 0.42")\n'
MINE = "mine = 1"


def decide(panel: Panel) -> None:
    """Approve the first program, edit the second, reject the next: c0001 to c0004, of which c0003 is the edit."""
    first = panel.wait_for_card("c0001")
    expect(first.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    panel.picture("review")
    assert problems(panel.page, ".jp-Aide") == []
    first.get_by_role("button", name="Approve", exact=True).click()
    expect(panel.row("c0001")).to_have_attribute("data-standing", "good", timeout=120_000)

    # What was edited runs, as a candidate of its own.
    second = panel.wait_for_card("c0002")
    second.get_by_role("button", name="Edit…").click()
    editor = second.get_by_role("textbox", name="Your edit of the program")
    editor.fill(EDITED)
    second.get_by_role("button", name="Approve the edit").click()
    expect(panel.row("c0002")).to_have_attribute("data-standing", "edited", timeout=60_000)
    expect(panel.row("c0003")).to_have_attribute("data-standing", re.compile("good|failed"), timeout=120_000)
    pane = panel.select("c0003")
    pane.get_by_role("tab", name="Output").click()
    expect(pane).to_contain_text("the edited program ran")
    pane.get_by_role("tab", name="Record").click()
    expect(pane).to_contain_text("Observed by the server")
    expect(pane).to_contain_text("Claimed by the program")

    third = panel.wait_for_card("c0004")
    third.get_by_role("button", name="Reject…").click()
    third.get_by_label("Why? The author is told.").fill("Too simple.")
    third.get_by_role("button", name="Reject the program").click()
    expect(panel.row("c0004")).to_have_attribute("data-standing", "rejected", timeout=60_000)
    pane = panel.select("c0004")
    pane.get_by_role("tab", name="Record").click()
    expect(pane).to_contain_text("Too simple.")


def steer(panel: Panel) -> None:
    """A hint, a branch, a program of one's own, which becomes c0006, and another mode; pause, and go on."""
    element = panel.element
    panel.wait_for_card("c0005")
    element.get_by_text("Steer the search").click()
    panel.field("A hint for the next steps").fill("Try gradient boosting.")
    panel.button("Give the hint").click()
    expect(element.get_by_role("listitem").filter(has_text="Try gradient boosting.")).to_be_visible()
    panel.button("Add a program of your own…").click()
    element.get_by_role("textbox", name="Your program").fill(OWN)
    panel.button("Run it").click()
    expect(panel.row("c0006")).to_have_attribute("data-standing", "approved")
    panel.select("c0001").get_by_role("button", name="Branch from here…").click()
    panel.button("Branch").click()
    expect(element.locator(".jp-Aide-branch")).to_contain_text("It comes next.", timeout=60_000)
    panel.field("Review").select_option("auto")
    panel.confirm("Switch")
    expect(panel.card).to_have_count(0, timeout=60_000)
    # What waited in its worker's place is decided by the new mode; then comes the program of one's own.
    expect(panel.row("c0006")).to_have_attribute("data-standing", "good", timeout=120_000)
    own = panel.select("c0006")
    own.get_by_role("tab", name="Output").click()
    expect(own).to_contain_text("a program of my own")
    element.get_by_text("Steer the search").click()
    element.locator(".jp-Aide-best").scroll_into_view_if_needed()
    panel.picture("run")

    panel.button("Pause").click()
    panel.phase("Paused")
    panel.button("Resume").click()
    panel.phase("Running")


def end(panel: Panel, lab: Lab, run: str) -> None:
    """Stop it, verify the log, export the best."""
    panel.button("Stop…").click()
    panel.confirm("Stop")
    panel.phase("Finished")
    until(lambda: lab.api(f"aide-jupyter/runs/{run}/verify")["code"] == 0)
    panel.button("Verify the log").click()
    expect(panel.element.locator(".jp-Aide-verdict")).to_have_attribute("data-verdict", "0", timeout=60_000)
    panel.button("Export best solution").click()
    exported = panel.element.get_by_role("button", name="Open solution.ipynb")
    expect(exported).to_be_visible(timeout=120_000)
    panel.picture("finished")
    assert problems(panel.page, ".jp-Aide") == []


def tool(page: Page, command: str) -> Locator:
    """A button in the notebook's toolbar, once it can be used."""
    button = page.locator(f".jp-NotebookPanel-toolbar [data-command='{command}']")
    expect(button).to_have_attribute("aria-disabled", "false", timeout=60_000)
    return button


def grown(notebook: Notebook) -> None:
    """The notebook has every program so far, around a cell of the person's, in its page and in its file."""
    for number in range(1, 7):
        notebook.wait_for_cell(f"c000{number}-code")
    ids = notebook.ids()
    assert ids[-1] == "mine"
    assert len(set(ids)) == len(ids)
    until(lambda: {MINE, EDITED, OWN} <= set(notebook.lab.sources(notebook.run)), what="the notebook was not saved")


@pytest.mark.screenshots
@pytest.mark.timeout(900)
def test_a_person_tries_the_example_reviews_steers_and_ends_it_and_finds_everything_again(lab: Lab, page: Page) -> None:
    panel = Panel(page).open(lab, "story")
    element = panel.element
    expect(element.locator(".jp-Aide-welcome")).to_be_visible()
    expect(element.locator(".jp-Aide-sandbox summary")).to_contain_text("contained", timeout=60_000)
    panel.picture("welcome")
    panel.button("Try the example").click()
    panel.wait_for_card("c0001")
    run = lab.api("aide-jupyter/runs")["runs"][0]["run"]
    notebook = Notebook(page, lab, run).shown()
    notebook.wait_for_cell("c0001-code")

    decide(panel)
    notebook.add_cell("mine", MINE)
    steer(panel)
    grown(notebook)
    end(panel, lab, run)

    # Load the page again: the panel is where it was, with the run in it, and so is the notebook.
    page.reload()
    ready(page)
    expect(element).to_be_visible()
    panel.phase("Finished")
    expect(panel.row("c0004")).to_have_attribute("data-standing", "rejected")
    expect(element.locator(".jp-Aide-best")).to_contain_text(re.compile(r"Best: c\d{4}"))
    grown(notebook)
    panel.button("Runs").click()
    expect(element.locator(".jp-Aide-runRow")).to_have_count(1)
    panel.picture("runs")


@pytest.fixture(scope="module")
def notebook7() -> Iterator[Lab]:
    with tempfile.TemporaryDirectory(prefix="aide-ui-") as folder:
        lab = Lab(Path(folder).resolve(), app="notebook")
        yield lab
        lab.stop()


@pytest.mark.timeout(900)
def test_in_notebook_7_the_same_is_done_beside_the_notebook_in_a_tab_of_its_own(
    notebook7: Lab, context: BrowserContext, page: Page
) -> None:
    lab = notebook7
    page.goto(f"{lab.url}/tree?token={TOKEN}")
    ready(page)
    start = Panel(page).show()
    expect(start.element.locator(".jp-Aide-welcome")).to_be_visible()
    with context.expect_page(timeout=120_000) as opened:
        start.button("Try the example").click()
    page = opened.value
    ready(page)
    run = lab.api("aide-jupyter/runs")["runs"][0]["run"]
    notebook = Notebook(page, lab, run).shown()
    notebook.wait_for_cell("c0001-code")
    panel = Panel(page).show()

    def choose() -> None:
        panel.button("Runs").click()
        panel.element.locator(f"[data-run='{run}']").click()

    choose()
    decide(panel)
    notebook.add_cell("mine", MINE)
    steer(panel)
    grown(notebook)
    end(panel, lab, run)
    tool(page, "aide:verify-log").click()
    expect(page.locator(".jp-Dialog .jp-Aide-verdict")).to_have_attribute("data-verdict", "0")

    # Load both pages again. Notebook 7 restores no panel; the run is in it as soon as it is shown.
    for reloaded in (page, start.page):
        reloaded.reload()
        ready(reloaded)
        panel = Panel(reloaded).show()
        choose()
        panel.phase("Finished")
        expect(panel.row("c0004")).to_have_attribute("data-standing", "rejected")
        expect(panel.element.locator(".jp-Aide-best")).to_contain_text(re.compile(r"Best: c\d{4}"))
    grown(notebook)


def test_the_toolbar_of_a_notebook_verifies_its_log_and_shows_the_verdict(lab: Lab, page: Page) -> None:
    run = lab.run(steps=1, review="auto")
    until(lambda: lab.state(run)["phase"] == "closed", 180)
    panel = Panel(page).open(lab)
    execute(page, "docmanager:open", path=lab.notebook_path(run), kernelPreference={"shouldStart": False})
    tool(page, "aide:verify-log").click()
    verdict = page.locator(".jp-Dialog .jp-Aide-verdict")
    expect(verdict).to_have_attribute("data-verdict", "0")
    page.locator(".jp-Dialog").get_by_role("button", name="Close").click()
    tool(page, "aide:export-best").click()
    expect(page.locator(".lm-TabBar-tabLabel", has_text="solution.ipynb")).to_be_visible(timeout=120_000)
    assert panel.page is page
