"""States of the side panel: empty, loading, wrong, narrow, dark; the form; the keyboard."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from .lab import Lab, until
from .pages import execute, open_lab, ready
from .panel import Panel, problems

LONG = "Predict_" + "antidisestablishmentarianism_" * 12 + " <img src=x onerror=alert(1)>"

SOCKETS = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
    constructor(...given) { super(...given); window.sockets.push(this); }
};
"""
"""Keeps the page's sockets, so that a test can lose one."""
WATCH = """
button => {
    window.watched = button;
    const look = () => { window.held ||= button.ariaDisabled === 'true'; };
    new MutationObserver(look).observe(button, { attributes: true });
}
"""
"""Tells whether a button takes no click for a moment."""


def answer(route: Route, body: Any, status: int = 200) -> None:
    route.fulfill(status=status, content_type="application/json", body=json.dumps(body))


@pytest.mark.screenshots
def test_a_new_run_is_filled_in_begun_and_remembered(lab: Lab, page: Page) -> None:
    panel = Panel(page).open(lab, "form")
    panel.button("New").click()
    panel.button("Choose…").click()
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_text("data", exact=True).click()
    dialog.get_by_role("button", name="Select").click()
    expect(panel.field("Data folder")).to_have_value("data")
    target = panel.field("Column to predict")
    expect(target.locator("option")).to_have_text(
        ["none: scores are then only reported", "id", "size", "rooms", "price"]
    )
    target.select_option("price")
    panel.field("Goal").fill("Predict the price of a flat.")
    panel.field("Metric").select_option("rmse")
    panel.field("Review").select_option("auto")
    panel.field("Steps").fill("1")
    panel.picture("form")
    assert problems(page, ".jp-Aide") == []
    panel.button("Start").click()
    panel.phase("Finished")
    run = lab.api("aide-jupyter/runs")["runs"][0]["run"]
    state = lab.state(run)
    assert (state["goal"], state["metric"], state["mode"]) == ("Predict the price of a flat.", "rmse", "auto")

    page.reload()
    ready(page)
    panel.show().button("New").click()
    expect(panel.field("Goal")).to_have_value("Predict the price of a flat.")
    expect(panel.field("Data folder")).to_have_value("data")
    expect(panel.field("Column to predict")).to_have_value("price")
    # Being asked about less is chosen each time anew.
    expect(panel.field("Review")).to_have_value("every")


def test_who_has_not_begun_a_run_is_shown_the_panel_once(own_lab: Lab, page: Page) -> None:
    open_lab(page, own_lab, "first")
    panel = Panel(page)
    expect(panel.element.locator(".jp-Aide-welcome")).to_be_visible()
    page.get_by_role("tab", name="AIDE: runs, candidates and their review").click()
    expect(panel.element).to_be_hidden()
    until(lambda: own_lab.api("lab/api/workspaces/first")["data"].get("aide-jupyter:welcomed"))
    page.reload()
    ready(page)
    expect(panel.element).to_be_hidden()


def test_a_request_that_the_server_refuses_is_explained_in_the_form(lab: Lab, page: Page) -> None:
    panel = Panel(page).open(lab)
    panel.button("New").click()
    panel.field("Data folder").fill("no-such-folder")
    panel.field("Goal").fill("Anything.")
    panel.field("Metric").select_option("rmse")
    panel.button("Start").click()
    expect(panel.element.get_by_role("alert").first).to_be_visible()
    expect(panel.field("Goal")).to_have_value("Anything.")


def test_a_model_without_a_key_says_how_to_set_one(lab: Lab, page: Page) -> None:
    panel = Panel(page).open(lab)
    panel.button("New").click()
    model = panel.field("Model")
    expect(model.locator("option", has_text="✓ offline")).to_have_count(1)
    model.select_option(label="Another one…")
    panel.field("Name of the model").fill("openai/gpt-4o")
    expect(panel.element.get_by_role("status").filter(has_text="OPENAI_API_KEY")).to_be_visible()
    panel.element.get_by_text("How to use a model of a provider").click()
    expect(panel.element.get_by_text("ANTHROPIC_API_KEY")).to_be_visible()


def test_a_server_without_the_other_half_is_said_so_and_can_be_tried_again(lab: Lab, page: Page) -> None:
    page.route("**/aide-jupyter/runs*", lambda route: answer(route, {"message": "Not Found", "advice": ""}, 404))
    panel = Panel(page).open(lab)
    expect(panel.element.get_by_role("alert")).to_contain_text("Not Found")
    page.unroute("**/aide-jupyter/runs*")
    panel.button("Try again").click()
    expect(panel.element.get_by_role("alert")).to_have_count(0)


def test_a_page_of_another_version_than_the_server_says_so(lab: Lab, page: Page) -> None:
    page.route("**/aide-jupyter/runs*", lambda route: answer(route, {"version": "9.9.9", "runs": []}))
    panel = Panel(page).open(lab)
    expect(panel.element.get_by_text("This page and the server have different versions")).to_be_visible()
    expect(panel.element).to_contain_text("9.9.9")


@pytest.mark.screenshots
def test_a_sandbox_that_does_not_hold_is_shown_with_what_to_do(lab: Lab, page: Page) -> None:
    doctor = {
        "ok": False,
        "words": "Programs cannot be contained here; none run.",
        "at": "2026-11-30T19:11:48Z",
        "checks": [
            {
                "name": "firejail",
                "ok": False,
                "detail": "firejail is not installed.",
                "advice": "apt-get install firejail",
            },
            {"name": "memory", "ok": True, "detail": "15 GB", "advice": ""},
        ],
    }
    page.route("**/aide-jupyter/doctor*", lambda route: answer(route, doctor))
    panel = Panel(page).open(lab)
    panel.button("Runs").click()
    expect(panel.element.locator(".jp-Aide-sandbox")).to_have_attribute("open", "")
    expect(panel.element.get_by_text("apt-get install firejail")).to_be_visible()
    panel.picture("sandbox")
    assert problems(page, ".jp-Aide") == []


@pytest.mark.screenshots
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_long_and_hostile_text_is_shown_as_it_is_in_every_theme_and_a_narrow_panel(
    lab: Lab, page: Page, theme: str
) -> None:
    run = lab.run(goal=LONG, steps=2)
    lab.waiting(run)
    page.set_viewport_size({"width": 900, "height": 800})
    panel = Panel(page).open(lab)
    execute(page, "apputils:change-theme", theme=theme)
    panel.button("Runs").click()
    panel.element.locator(f"[data-run='{run}']").click()
    panel.wait_for_card("c0001")
    # What cannot be broken is broken; nothing has to be scrolled sideways, and nothing of it became an element.
    sideways = "one => [one.scrollWidth, one.clientWidth]"
    wide, room = panel.element.locator(".jp-Aide-page").evaluate(sideways)
    assert wide <= room
    assert panel.element.locator("img:not(.cm-widgetBuffer)").count() == 0
    assert problems(page, ".jp-Aide") == []
    expect(page.locator(".jp-DirListing-item").first).to_be_visible()
    expect(page.locator(".jp-Launcher")).to_be_visible()
    panel.picture(
        {"L": "narrow-light", "D": "narrow-dark", "H": "narrow-contrast"}["H" if "High" in theme else theme[11]]
    )
    lab.control(run, verb="stop")


def test_everything_can_be_done_with_the_keyboard_and_approve_has_no_focus_by_itself(lab: Lab, page: Page) -> None:
    run = lab.run(steps=2)
    lab.waiting(run)
    panel = Panel(page).open(lab).settled()
    panel.button("Runs").focus()
    page.keyboard.press("Enter")
    panel.element.locator(f"[data-run='{run}']").focus()
    page.keyboard.press("Enter")
    card = panel.wait_for_card("c0001")
    # The row is gone, and what it lay in has the focus.
    expect(panel.element.locator(".jp-Aide-page")).to_be_focused()
    page.keyboard.press("Alt+Shift+Y")
    expect(card.get_by_role("heading").first).to_be_focused()
    approve = card.get_by_role("button", name="Approve", exact=True)
    expect(approve).not_to_be_focused()
    page.keyboard.press("Enter")
    assert lab.state(run)["waiting"] == ["c0001"]
    expect(approve).to_be_enabled()
    for _ in range(12):
        page.keyboard.press("Tab")
        if approve.evaluate("one => one === document.activeElement"):
            break
    expect(approve).to_be_focused()
    page.keyboard.press("Enter")
    expect(panel.row("c0001")).to_have_attribute("data-standing", "good", timeout=120_000)
    expect(panel.element.locator(".jp-Aide-queue")).to_be_focused()
    panel.row("c0001").focus()
    page.keyboard.press("ArrowDown")
    lab.control(run, verb="stop")


def test_questions_that_are_asked_anew_leave_the_focus_where_it_is(lab: Lab, page: Page) -> None:
    page.add_init_script(SOCKETS)
    run = lab.run(steps=2)
    lab.waiting(run)
    panel = Panel(page).open(lab).settled()
    panel.button("Runs").click()
    panel.element.locator(f"[data-run='{run}']").click()
    approve = panel.wait_for_card("c0001").get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_enabled()
    approve.focus()

    def anew(route: Route) -> None:
        questions = route.fetch().json()
        questions["questions"][0]["nonce"] = "another"
        answer(route, questions)

    # As after the server was started again: the socket is lost, and what waits has other nonces.
    page.route(f"**/aide-jupyter/runs/{run}/reviews*", anew)
    approve.evaluate(WATCH)
    page.evaluate("() => window.sockets.filter(one => one.url.includes('/live')).forEach(one => one.close())")
    page.wait_for_function("() => window.held")
    expect(approve).to_be_enabled()
    assert page.evaluate("() => document.activeElement === window.watched")
    lab.control(run, verb="stop")


def test_a_notebook_that_opens_by_itself_takes_no_focus_from_the_panel(own_lab: Lab, page: Page) -> None:
    panel = Panel(page).open(own_lab).settled()
    panel.button("Try the example").focus()
    page.keyboard.press("Enter")
    panel.wait_for_card("c0001")
    expect(page.locator(".jp-NotebookPanel .jp-Cell").first).to_be_visible(timeout=60_000)
    page.wait_for_function(
        "() => [...window.jupyterapp.shell.widgets('main')].some(one => one.context?.isReady && one.content.model)"
    )
    assert page.evaluate("() => document.activeElement.closest('.jp-Aide') !== null")


def test_a_decision_made_elsewhere_takes_the_card_away_and_a_stale_click_is_refused_with_words(
    lab: Lab, page: Page
) -> None:
    run = lab.run(steps=2)
    question = lab.waiting(run)
    panel = Panel(page).open(lab)
    panel.button("Runs").click()
    panel.element.locator(f"[data-run='{run}']").click()
    card = panel.wait_for_card("c0001")
    # The page is told of nothing while it is away.
    page.route("**/aide-jupyter/runs/*/state*", lambda route: route.abort())
    lab.decide(run, question, "reject", reason="From another window.")
    expect(card.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    card.get_by_role("button", name="Approve", exact=True).click()
    expect(panel.element.locator(".jp-Aide-queue").get_by_role("alert")).to_be_visible()
    page.unroute("**/aide-jupyter/runs/*/state*")
    expect(panel.row("c0001")).to_have_attribute("data-standing", "rejected", timeout=60_000)
    lab.control(run, verb="stop")


@pytest.mark.screenshots
def test_a_wide_panel_shows_the_tree_and_the_candidate_side_by_side(lab: Lab, page: Page) -> None:
    run = lab.run(steps=4, review="auto")
    until(lambda: lab.state(run)["phase"] == "closed", 180)
    page.set_viewport_size({"width": 1700, "height": 900})
    panel = Panel(page).open(lab)
    panel.button("Runs").click()
    panel.element.locator(f"[data-run='{run}']").click()
    panel.phase("Finished")
    panel.widen(880)
    pane = panel.select("c0004")
    pane.get_by_role("tab", name="Program").click()
    expect(pane.locator(".cm-content")).to_be_visible()
    tree, shown = panel.element.locator(".jp-Aide-tree").bounding_box(), pane.bounding_box()
    assert tree is not None
    assert shown is not None
    assert shown["x"] >= tree["x"] + tree["width"]
    assert shown["y"] < tree["y"] + tree["height"]
    assert problems(page, ".jp-Aide") == []
    panel.picture("wide")
