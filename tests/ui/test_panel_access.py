"""What assistive technology finds in each state of the side panel, in a light and in a dark theme."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from .lab import Lab
from .pages import Notebook, execute
from .panel import Panel, problems

SLOW = "import time\nprint('begun')\ntime.sleep(600)\n"
BROKEN = "print('Validation metric: 0.5')\nraise ValueError('It went wrong.')\n"
DOCTOR = {
    "ok": False, "words": "Programs cannot be contained here; none run.", "at": "2026-11-30T19:11:48Z",
    "checks": [
        {"name": "firejail", "ok": False, "detail": "It is not installed.", "advice": "apt-get install firejail"},
        {"name": "memory", "ok": True, "detail": "15 GB", "advice": ""},
    ],
}  # fmt: skip
UNFOLD = "one => one.querySelectorAll('details').forEach(part => { part.open = true; })"

themes = pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])


def answer(route: Route, body: Any, status: int = 200) -> None:
    route.fulfill(status=status, content_type="application/json", body=json.dumps(body))


def open_panel(lab: Lab, page: Page, theme: str) -> Panel:
    panel = Panel(page).open(lab)
    execute(page, "apputils:change-theme", theme=theme)
    page.wait_for_function(
        "light => document.body.dataset.jpThemeLight === light", arg="true" if "Light" in theme else "false"
    )
    return panel


def found(panel: Panel) -> list[str]:
    """What is found with every part unfolded."""
    panel.element.evaluate(UNFOLD)
    return problems(panel.page, ".jp-Aide")


@themes
def test_nothing_serious_before_a_run(lab: Lab, page: Page, theme: str) -> None:
    page.route("**/aide-jupyter/runs?*", lambda route: answer(route, {"version": "0.1.0", "runs": []}))
    page.route("**/aide-jupyter/runs", lambda route: answer(route, {"version": "0.1.0", "runs": []}))
    panel = open_panel(lab, page, theme)
    expect(panel.element.locator(".jp-Aide-welcome")).to_be_visible()
    assert found(panel) == []
    panel.button("New").click()
    expect(panel.field("Goal")).to_be_visible()
    panel.field("Data folder").fill("no-such-folder")
    panel.field("Goal").fill("Anything.")
    expect(panel.element.get_by_role("alert").first).to_be_visible()
    assert found(panel) == []


@themes
def test_nothing_serious_while_a_person_reviews_a_run_goes_on_and_ends(lab: Lab, page: Page, theme: str) -> None:
    run = lab.run(steps=6)
    waits = lab.waiting(run)
    panel = open_panel(lab, page, theme)
    panel.button("Runs").click()
    panel.element.locator(f"[data-run='{run}']").click()
    card = panel.wait_for_card("c0001")
    expect(card.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    assert found(panel) == []
    for begin, end in (("Edit…", "Discard the edit"), ("Reject…", "Cancel")):
        card.get_by_role("button", name=begin, exact=True).click()
        assert found(panel) == []
        card.get_by_role("button", name=end, exact=True).click()

    broken = lab.control(run, verb="propose", plan="It fails.", code=BROKEN)["candidate"]
    slow = lab.control(run, verb="propose", plan="It waits.", code=SLOW)["candidate"]
    lab.decide(run, waits, "reject", reason="Too simple.")
    lab.ended(run, broken)
    pane = panel.select(broken)
    for tab in ("Plan", "Program", "Output", "Record"):
        pane.get_by_role("tab", name=tab).click()
        assert found(panel) == []
    expect(panel.row(slow)).to_have_attribute("data-standing", "running", timeout=120_000)
    panel.select(slow).get_by_role("tab", name="Output").click()
    expect(panel.element.get_by_label("Running output")).to_contain_text("begun")
    assert found(panel) == []

    lab.control(run, verb="pause")
    panel.phase("Paused")
    assert found(panel) == []
    lab.control(run, verb="stop-now")
    panel.phase("Finished")
    panel.button("Verify the log").click()
    expect(panel.element.locator(".jp-Aide-verdict")).to_be_visible(timeout=60_000)
    assert found(panel) == []


@themes
def test_nothing_serious_where_a_program_is_dangerous(lab: Lab, page: Page, theme: str) -> None:
    run = lab.run(steps=2)
    asked = lab.waiting(run)

    def dangerous(route: Route) -> None:
        questions = route.fetch().json()
        for question in questions["questions"]:
            question.update(
                high_risk=True,
                flags=[{"rule": "exec", "line": 4, "message": "It runs text.", "severity": "danger"},
                       {"rule": "os", "line": 1, "message": "It imports os.", "severity": "note"}],
                taints=["It descends from data that looks like instructions."],
                code={**asked["code"], "hidden": [{"line": 3, "shown": "\\u200bos.system"}]},
            )  # fmt: skip
        questions["pace"] = "The last 3 programs were approved in less than 2 seconds each."
        answer(route, questions)

    page.route(f"**/aide-jupyter/runs/{run}/reviews*", dangerous)
    panel = open_panel(lab, page, theme)
    panel.button("Runs").click()
    panel.element.locator(f"[data-run='{run}']").click()
    expect(panel.wait_for_card("c0001")).to_contain_text("Look closely")
    assert found(panel) == []
    notebook = Notebook(page, lab, run).open()
    notebook.cell_of("c0001")
    expect(notebook.card("c0001")).to_contain_text("Look closely")
    page.locator(".jp-AideCell").evaluate(UNFOLD)
    assert problems(page, ".jp-AideCell") == []
    lab.control(run, verb="stop")


@themes
def test_nothing_serious_where_something_is_wrong(lab: Lab, page: Page, theme: str) -> None:
    run = lab.run(steps=1)
    lab.waiting(run)
    page.route("**/aide-jupyter/doctor*", lambda route: answer(route, DOCTOR))
    failing = f"**/aide-jupyter/runs/{run}/state*"
    page.route(failing, lambda route: answer(route, {"message": "It broke.", "advice": "Look at the log."}, 500))
    panel = open_panel(lab, page, theme)
    panel.button("Runs").click()
    expect(panel.element.get_by_text("apt-get install firejail")).to_be_visible()
    assert found(panel) == []
    panel.button("New").click()
    expect(panel.field("Goal")).to_be_visible()
    expect(panel.element.get_by_text("apt-get install firejail")).to_be_visible()
    assert found(panel) == []
    panel.button("Runs").click()
    panel.element.locator(f"[data-run='{run}']").click()
    expect(panel.element.get_by_role("alert")).to_contain_text("It broke.")
    assert found(panel) == []
    # It looks again by itself.
    page.unroute(failing)
    panel.wait_for_card("c0001")
    lab.control(run, verb="stop")
