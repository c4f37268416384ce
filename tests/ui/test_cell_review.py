"""Review in the cell: what a click decides, what decides nothing, and that each program is decided about once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from .lab import Lab, cell_id, until
from .pages import Notebook, execute, open_lab

HIDDEN = ".jp-toastContainer { display: none; }"
"""Notifications come and go above the buttons."""


@pytest.fixture
def opened(lab: Lab, page: Page) -> tuple[str, Notebook]:
    """A run whose first program waits, with its notebook in front."""
    run = lab.run()
    lab.waiting(run)
    open_lab(page, lab)
    page.add_style_tag(content=HIDDEN)
    notebook = Notebook(page, lab, run).open()
    notebook.cell_of("c0001")
    return run, notebook


def button(card: Locator, name: str) -> Locator:
    return card.get_by_role("button", name=name, exact=True)


def test_approving_runs_what_was_shown(lab: Lab, opened: tuple[str, Notebook]) -> None:
    run, notebook = opened
    question = lab.waiting(run)
    card = notebook.card("c0001")
    expect(card).to_contain_text(question["why"])
    expect(card).to_contain_text(question["code"]["sha256"][:8])
    button(card, "Approve").click()
    node = lab.ended(run, "c0001")
    assert node["standing"] == "good", node
    expect(card).to_have_count(0)
    notebook.wait_for(f"cells.find(c => c.getId() === '{cell_id(run, 'c0001-code')}').outputs.length > 0")


def test_an_edit_is_made_in_the_cell_and_is_what_runs(lab: Lab, page: Page, opened: tuple[str, Notebook]) -> None:
    run, notebook = opened
    proposed = lab.waiting(run)["code"]["exact"]
    card = notebook.card("c0001")
    button(card, "Edit…").click()
    assert notebook.evaluate("return panel.content.activeCell.editor.hasFocus() && !panel.content.activeCell.readOnly;")
    page.keyboard.press("Control+a")
    page.keyboard.type("print('Validation metric: 0.125')")
    button(card, "Approve the edit").click()

    until(lambda: len(lab.state(run)["nodes"]) > 1)
    edited = lab.ended(run, "c0002")
    assert (edited["edit_of"], edited["value"], edited["by_person"]) == ("c0001", 0.125, True)
    assert lab.node(run, "c0001")["standing"] == "edited"
    notebook.wait_for_cell("c0002-code")
    notebook.wait_for(f"cells.find(c => c.getId() === '{cell_id(run, 'c0001-code')}').cell_type === 'raw'")
    assert notebook.source(cell_id(run, "c0001-code")) == proposed
    assert not [one for one in notebook.ids() if one.startswith("kept-")]


def test_an_edit_that_is_discarded_leaves_the_program(lab: Lab, page: Page, opened: tuple[str, Notebook]) -> None:
    run, notebook = opened
    card = notebook.card("c0001")
    button(card, "Edit…").click()
    page.keyboard.type("# mine")
    button(card, "Discard the edit").click()
    assert notebook.source(cell_id(run, "c0001-code")) == lab.waiting(run)["code"]["exact"]
    assert notebook.evaluate("return panel.content.activeCell.readOnly;")
    button(card, "Approve").wait_for()


def test_a_rejection_tells_the_author_why(lab: Lab, page: Page, opened: tuple[str, Notebook]) -> None:
    run, notebook = opened
    card = notebook.card("c0001")
    button(card, "Reject…").click()
    reason = card.get_by_label("Why? The author is told.")
    expect(reason).to_be_focused()
    # Keys that mean something to a notebook are text here: dd would cut the cell, z undo, Enter edit it.
    page.keyboard.type("dd xx zz")
    page.keyboard.press("Enter")
    page.keyboard.type("too slow")
    button(card, "Reject the program").click()
    assert lab.ended(run, "c0001")["standing"] == "rejected"
    notebook.wait_for(f"cells.find(c => c.getId() === '{cell_id(run, 'c0001-code')}').cell_type === 'raw'")
    until(lambda: any("dd xx zz\ntoo slow" in source for source in lab.sources(run)))


def test_the_cell_s_own_toolbar_leads_to_its_card(lab: Lab, page: Page, opened: tuple[str, Notebook]) -> None:
    run, notebook = opened
    notebook.evaluate(
        "panel.content.activeCellIndex = panel.content.widgets.findIndex(w => w.model.id === argument);",
        cell_id(run, "c0001-code"),
    )
    card = notebook.card("c0001")
    # JupyterLab hides a cell's toolbar where it would cover the program, so the button may be there and not in sight.
    expect(page.locator(".jp-cell-toolbar [data-command='aide:reject-cell']")).to_have_count(1)
    execute(page, "aide:reject-cell", candidate="c0009")
    expect(card.get_by_label("Why? The author is told.")).to_be_visible()
    assert lab.node(run, "c0001")["standing"] == "waiting"


def test_a_stale_approval_is_refused_in_words(lab: Lab, page: Page, opened: tuple[str, Notebook]) -> None:
    run, notebook = opened
    card = notebook.card("c0001")
    expect(button(card, "Approve")).to_be_enabled()
    held: list[Route] = []
    holding = [True]

    def hold(route: Route) -> None:
        if holding:
            held.append(route)
        else:
            route.continue_()

    page.route(re.compile(rf"/aide-jupyter/runs/{run}/(state|reviews|cells)"), hold)
    lab.decide(run, lab.waiting(run), "reject", reason="Decided elsewhere.")
    button(card, "Approve").click()
    expect(card.get_by_role("alert")).to_contain_text(re.compile("reject", re.IGNORECASE))
    holding.clear()
    for route in held:
        route.continue_()
    # What was said stays until the person has read it, though nothing waits any more.
    expect(page.locator(".jp-AideCell").get_by_role("alert")).to_contain_text(re.compile("reject", re.IGNORECASE))
    assert lab.node(run, "c0001")["standing"] == "rejected"
    page.locator(".jp-AideCell").get_by_role("button", name="Dismiss").click()
    expect(page.locator(".jp-AideCell").filter(has_text="c0001")).to_have_count(0)


def test_a_double_click_and_a_second_tab_decide_once(lab: Lab, page: Page, opened: tuple[str, Notebook]) -> None:
    run, notebook = opened
    other = page.context.new_page()
    open_lab(other, lab)
    second = Notebook(other, lab, run).open()
    second.cell_of("c0001")
    there = button(second.card("c0001"), "Approve")
    there.wait_for()
    expect(there).to_be_enabled()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if "/decisions" in request.url else None)
    button(notebook.card("c0001"), "Approve").dblclick()
    lab.ended(run, "c0001")
    assert len(sent) == 1
    expect(second.card("c0001")).to_have_count(0)
    decided = [one for one in lab.api(f"aide-jupyter/runs/{run}/records?after=-1&limit=200")["records"]
               if one["kind"] == "decided" and one["candidate"] == "c0001"]  # fmt: skip
    assert len(decided) == 1


def test_approve_never_has_the_first_focus_and_takes_no_early_click(
    lab: Lab, page: Page, opened: tuple[str, Notebook]
) -> None:
    _, notebook = opened
    notebook.banner.get_by_role("button", name="Show").click()
    card = notebook.card("c0001")
    expect(card.get_by_role("heading")).to_be_focused()
    expect(card.get_by_role("button", name="Approve")).to_be_enabled()
    expect(card.get_by_role("heading")).to_be_focused()
    order = []
    for _ in range(12):
        page.keyboard.press("Tab")
        order.append(page.evaluate("() => document.activeElement.textContent"))
        if order[-1] == "Approve":
            break
    assert "Approve" in order and order.index("Approve") > order.index("Reject…")
    shown = page.evaluate(
        """candidate => new Promise(done => {
            const card = document.querySelector(`.jp-AideCell .jp-Aide-card[data-candidate="${candidate}"]`);
            const parent = card.parentElement; const cell = parent.closest('.jp-Cell');
            done([...card.querySelectorAll('button')].filter(b => b.autofocus).length);
        })""",
        "c0001",
    )
    assert shown == 0


def test_nothing_in_a_notebook_decides(lab: Lab, page: Page, opened: tuple[str, Notebook]) -> None:
    """Commands, their arguments, links to them, running the cell and copies of it: each leaves the program waiting."""
    run, notebook = opened
    code = cell_id(run, "c0001-code")
    notebook.evaluate(
        "panel.content.activeCellIndex = panel.content.widgets.findIndex(w => w.model.id === argument);", code
    )
    question = lab.waiting(run)
    for command in ("aide:approve-candidate", "aide:review-cell", "aide:approve-cell", "aide:review-next"):
        arguments = {"run": run, "candidate": "c0001", "nonce": question["nonce"], "decision": "approve"}
        if page.evaluate("id => window.jupyterapp.commands.hasCommand(id)", command):
            execute(page, command, **arguments)
    link = (
        "<a href='#' data-commandlinker-command='aide:approve-candidate' "
        'data-commandlinker-args=\'{"candidate": "c0001"}\'>press</a>'
    )
    notebook.evaluate(
        "const shared = panel.content.model.sharedModel;"
        "shared.insertCell(shared.cells.length, {cell_type: 'markdown', id: 'link', source: argument});",
        link,
    )
    # A copy of the waiting cell, as copy and paste make it: its metadata says that it is the agent's, its id does not.
    notebook.evaluate(
        "const shared = panel.content.model.sharedModel;"
        "const cell = shared.cells.find(c => c.getId() === argument).toJSON();"
        "shared.insertCell(shared.cells.length, {...cell, id: 'copy'});",
        code,
    )
    expect(page.locator(".jp-AideCell .jp-Aide-card")).to_have_count(1)
    assert lab.node(run, "c0001")["standing"] == "waiting"
    assert lab.waiting(run)["nonce"] == question["nonce"]


def test_a_cell_that_shows_another_program_is_not_approved(lab: Lab, page: Page, opened: tuple[str, Notebook]) -> None:
    """In a window that does not write, so that the cell is not put right meanwhile."""
    run, _ = opened
    other = page.context.new_page()
    open_lab(other, lab)
    other.add_style_tag(content=HIDDEN)
    second = Notebook(other, lab, run).open()
    expect(second.banner).to_contain_text("Live in another window")
    second.cell_of("c0001")
    second.evaluate(
        "panel.content.model.sharedModel.cells.find(c => c.getId() === argument).setSource('print(\"harmless\")');",
        cell_id(run, "c0001-code"),
    )
    card = second.card("c0001")
    button(card, "Approve").click()
    expect(card.get_by_role("alert")).to_contain_text("does not show the program")
    assert lab.node(run, "c0001")["standing"] == "waiting"
