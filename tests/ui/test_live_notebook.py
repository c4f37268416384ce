"""The audit notebook in JupyterLab while its run goes on: what grows, who writes, and what a person keeps."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, WebSocketRoute, expect

from .lab import Lab, cell_id, until
from .pages import Notebook, execute, open_lab, ready

QUICK = "print('Validation metric: 0.5')\n"
SLOW = "import sys, time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.1)\n"


@pytest.fixture(autouse=True)
def no_dialogs(page: Page, context: BrowserContext) -> object:
    """No page of a test ever asks whether a file has changed, and none has an error of ours."""
    errors: list[str] = []
    context.on("weberror", lambda error: errors.append(str(error.error)))
    yield
    for each in context.pages:
        expect(each.locator(".jp-Dialog", has_text="File Changed")).to_have_count(0)
    assert not [error for error in errors if "aide" in error], errors


def test_it_grows_around_what_a_person_does(lab: Lab, page: Page) -> None:
    run = lab.run()
    lab.waiting(run)
    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    notebook.wait_for_cell("c0001-code")
    notebook.add_cell("mine", "")
    notebook.type_into("mine", "x = 1")

    first = lab.propose(run, QUICK)
    notebook.wait_for_cell(f"{first}-code")
    page.keyboard.type(" + 2")
    lab.ended(run, first)
    until(lambda: "x = 1 + 2" in lab.sources(run), what="the notebook was not saved")

    ids = notebook.ids()
    assert ids[-1] == "mine", "the agent's cells go after the agent's, and a person's are not moved"
    assert ids.index(cell_id(run, f"{first}-plan")) + 1 == ids.index(cell_id(run, f"{first}-code"))
    assert len(set(ids)) == len(ids)
    assert notebook.evaluate("return panel.content.activeCell.editor.hasFocus();"), "the focus stays where it was"
    until(lambda: not notebook.evaluate("return panel.context.model.dirty;"))

    # A person's undo takes back what the person typed, and leaves the agent's cell.
    page.keyboard.press("Control+z")
    notebook.wait_for("cells.find(cell => cell.getId() === 'mine').getSource() !== 'x = 1 + 2'")
    page.keyboard.press("Escape")
    page.keyboard.press("z")
    page.keyboard.press("z")
    assert cell_id(run, f"{first}-code") in notebook.ids()
    assert notebook.source(cell_id(run, f"{first}-code")) == QUICK

    verified = lab.api(f"aide-jupyter/runs/{run}/verify")
    assert verified["verdict"] == "not closed", verified


RENDERED = """
return panel.content.widgets.every(cell => cell.isAttached && !cell.isPlaceholder()
        && (cell.model.type !== 'markdown' || cell.node.querySelector('.jp-RenderedMarkdown')?.offsetHeight > 0))
    && document.querySelectorAll('.jp-AideCell .jp-Aide-card').length === argument;
"""
"""Whether JupyterLab has rendered every cell, which it does one after the other when it has time, and every card is
there."""
PLACE = """
return panel.content.widgets.find(cell => cell.model.id === 'tall').node.getBoundingClientRect().top
    - panel.content.outerNode.getBoundingClientRect().top;
"""


def place(notebook: Notebook, cards: int) -> float:
    """Where the tall cell of :func:`reading` is in its notebook, once nothing above it is still to be rendered."""
    seen: list[float] = []

    def at_rest() -> bool:
        seen.append(notebook.evaluate(PLACE))
        return bool(notebook.evaluate(RENDERED, cards)) and len(seen) > 10 and len(set(seen[-10:])) == 1

    until(at_rest)
    return seen[-1]


def reading(lab: Lab, page: Page, run: str) -> tuple[Notebook, float]:
    """A person in the middle of a tall cell of their own, below a program that waits; and where that cell is."""
    lab.waiting(run)
    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    notebook.wait_for_cell("c0001-code")
    notebook.add_cell("tall", "\n".join(f"# line {number}" for number in range(120)))
    place(notebook, 1)
    notebook.evaluate("return panel.content.scrollToItem(argument);", len(notebook.ids()) - 1)
    page.locator(".jp-Cell", has_text="# line 0").wait_for()
    notebook.evaluate("panel.content.outerNode.scrollTop += 400;")
    return notebook, place(notebook, 1)


def test_what_a_person_reads_stays_in_its_place(lab: Lab, page: Page) -> None:
    run = lab.run()
    notebook, before = reading(lab, page, run)
    first = lab.propose(run, QUICK)
    notebook.wait_for_cell(f"{first}-code")
    lab.ended(run, first)
    # The next one waits, with a card of its own.
    notebook.wait_for_cell("c0003-code")
    assert abs(place(notebook, 1) - before) < 40


def test_a_card_that_goes_leaves_what_a_person_reads_in_its_place(lab: Lab, page: Page) -> None:
    run = lab.run()
    notebook, before = reading(lab, page, run)
    page.route(f"**/aide-jupyter/runs/{run}/cells*", lambda route: route.abort())
    # As when the person has scrolled: nothing is still being put right for what came before.
    notebook.evaluate("panel.content.outerNode.dispatchEvent(new Event('wheel'));")
    lab.decide(run, lab.waiting(run), "reject", reason="The card goes before the cell is changed.")
    expect(notebook.card("c0001")).to_have_count(0)
    assert abs(place(notebook, 0) - before) < 40


def test_running_output_is_shown_and_not_saved(lab: Lab, page: Page) -> None:
    run = lab.run()
    lab.waiting(run)
    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    notebook.wait_for_cell("c0001-code")

    slow = lab.propose(run, SLOW)
    notebook.wait_for_cell(f"{slow}-code")
    notebook.cell(f"{slow}-code")
    expect(page.locator(".jp-AideCell-output pre")).to_have_text("begun\n")
    execute(page, "docmanager:save")
    assert "begun" not in str([cell.get("outputs") for cell in lab.notebook(run)["cells"]])

    lab.control(run, verb="stop-now")
    until(lambda: lab.state(run)["phase"] == "closed")
    until(lambda: "begun" in str([cell.get("outputs") for cell in lab.notebook(run)["cells"]]))
    expect(page.locator(".jp-AideCell")).to_have_count(0)


def test_it_is_closed_reopened_and_renamed_while_the_run_goes_on(lab: Lab, page: Page) -> None:
    run = lab.run()
    lab.waiting(run)
    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    notebook.wait_for_cell("c0001-code")
    notebook.add_cell("mine", "mine = 1")
    execute(page, "docmanager:save")

    execute(page, "application:close")
    expect(page.locator(".jp-NotebookPanel")).to_have_count(0)
    first = lab.propose(run, QUICK)
    lab.ended(run, first)
    until(lambda: QUICK in lab.sources(run), what="the owner did not write the closed notebook")
    notebook.open()
    notebook.wait_for_cell(f"{first}-code")
    assert notebook.ids()[-1] == "mine"

    renamed = notebook.path.replace("audit.ipynb", "my audit.ipynb")
    page.evaluate(
        "([from, to]) => window.jupyterapp.serviceManager.contents.rename(from, to)", [notebook.path, renamed]
    )
    notebook.path = renamed
    second = lab.propose(run, QUICK.replace("0.5", "0.4"))
    lab.ended(run, second)
    notebook.wait_for_cell(f"{second}-code")
    until(lambda: lab.notebook_path(run) == renamed)
    until(lambda: QUICK.replace("0.5", "0.4") in lab.sources(run))
    assert not (lab.root / notebook.path.replace("my audit", "audit")).exists()


def test_of_two_tabs_one_writes_and_a_person_can_continue_in_the_other(
    lab: Lab, page: Page, context: BrowserContext
) -> None:
    run = lab.run()
    lab.waiting(run)
    open_lab(page, lab)
    first = Notebook(page, lab, run).open()
    first.wait_for_cell("c0001-code")
    other = context.new_page()
    open_lab(other, lab)
    second = Notebook(other, lab, run).open()
    expect(second.banner).to_contain_text("Live in another window")
    expect(first.banner).not_to_contain_text("another window")

    # What was typed and not saved in the first stays there; the second writes from now on.
    first.add_cell("typed", "typed = 'in the first'")
    second.banner.get_by_role("button", name="Continue here").click()
    expect(first.banner).to_contain_text("Another window goes on with this notebook")
    expect(first.banner).to_contain_text("not saved yet")
    second.add_cell("theirs", "theirs = 'in the second'")
    program = lab.propose(run, QUICK)
    lab.ended(run, program)
    until(lambda: "theirs = 'in the second'" in lab.sources(run))
    assert cell_id(run, f"{program}-code") not in first.ids()

    # The first edit moves it back, and nothing of either is lost.
    first.type_into("typed", "# ")
    first.wait_for_cell(f"{program}-code")
    expect(second.banner).to_contain_text("Another window goes on with this notebook")
    until(lambda: any("in the first" in source for source in lab.sources(run)))
    sources = lab.sources(run)
    assert sum("in the first" in one for one in sources) == 1
    assert sum("in the second" in one for one in sources) == 1
    assert sources.count(QUICK) == 1
    ids = [cell["id"] for cell in lab.notebook(run)["cells"]]
    assert len(set(ids)) == len(ids)


def test_what_is_written_while_a_program_is_edited_is_as_recorded_and_the_draft_survives(lab: Lab, page: Page) -> None:
    run = lab.run()
    proposed = lab.waiting(run)["code"]["exact"]
    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    code = cell_id(run, "c0001-code")
    notebook.cell_of("c0001")
    notebook.card("c0001").get_by_role("button", name="Edit…").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("# half a thought\n")
    execute(page, "docmanager:save")
    assert "# half a thought" in str(notebook.source(code))

    verified = lab.api(f"aide-jupyter/runs/{run}/verify")
    assert verified["verdict"] == "not closed", verified
    cells = lab.notebook(run)["cells"]
    place = next(place for place, cell in enumerate(cells) if cell["id"] == code)
    assert "".join(cells[place]["source"]) == proposed
    draft = "".join(cells[place + 1]["source"])
    assert draft == f"# half a thought\n{proposed}"
    assert "aide" not in cells[place + 1]["metadata"]

    # Whoever loads the page again has both: the program that waits, and below it what they had made of it.
    page.reload()
    ready(page)
    notebook.open()
    notebook.wait_for_cell("c0001-code")
    ids = notebook.ids()
    assert notebook.source(code) == proposed
    assert notebook.source(ids[ids.index(code) + 1]) == draft
    lab.control(run, verb="stop")
    until(lambda: lab.state(run)["phase"] == "closed")
    until(lambda: lab.api(f"aide-jupyter/runs/{run}/verify")["verdict"] == "intact")
    assert draft in lab.sources(run)


def test_an_edited_cell_that_is_saved_before_the_decision_has_no_copy_after_it(lab: Lab, page: Page) -> None:
    run = lab.run()
    lab.waiting(run)
    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    notebook.cell_of("c0001")
    card = notebook.card("c0001")
    card.get_by_role("button", name="Edit…").click()
    page.keyboard.press("Control+a")
    page.keyboard.type("print('Validation metric: 0.125')")
    execute(page, "docmanager:save")
    until(lambda: len(lab.notebook(run)["cells"]) == 4)
    card.get_by_role("button", name="Approve the edit").click()
    until(lambda: len(lab.state(run)["nodes"]) > 1)
    assert lab.ended(run, "c0002")["value"] == 0.125
    until(lambda: lab.sources(run).count("print('Validation metric: 0.125')") == 1 and cell_id(run, "c0002-code") in [
        cell["id"] for cell in lab.notebook(run)["cells"]
    ])  # fmt: skip
    assert not [one for one in notebook.ids() if one.startswith("kept-")]


def test_it_goes_on_after_a_reload(lab: Lab, page: Page) -> None:
    run = lab.run()
    lab.waiting(run)
    open_lab(page, lab, "kept")
    notebook = Notebook(page, lab, run).open()
    notebook.wait_for_cell("c0001-code")
    notebook.evaluate("return window.jupyterapp.restored;")
    page.reload()
    ready(page)
    notebook.open()
    program = lab.propose(run, QUICK)
    notebook.wait_for_cell(f"{program}-code")
    expect(notebook.banner).not_to_contain_text("another window")
    lab.ended(run, program)
    until(lambda: QUICK in lab.sources(run))
    ids = notebook.ids()
    assert len(set(ids)) == len(ids)


def test_after_a_reload_it_is_there_again_and_neither_starts_a_kernel_nor_asks_for_one(lab: Lab, page: Page) -> None:
    run = lab.run()
    lab.waiting(run)
    open_lab(page, lab, "restored")
    notebook = Notebook(page, lab, run).open()
    notebook.wait_for_cell("c0001-code")
    until(lambda: notebook.path in json.dumps(lab.api("lab/api/workspaces/restored")), what="the layout was not kept")
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if one.method == "POST" and "/api/" in one.url else None)

    page.reload()
    ready(page)
    notebook.shown()
    notebook.wait_for_cell("c0001-code")
    # By then JupyterLab has decided about a kernel, and has started it or asked for it where it does that.
    notebook.evaluate("return panel.sessionContext.ready.then(() => true);")
    assert notebook.evaluate("return [panel.sessionContext.hasNoKernel, panel.sessionContext.isReady];") == [True, True]
    assert lab.api("api/kernels") == []
    assert [url for url in asked if "/api/sessions" in url or "/api/kernels" in url] == []
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    program = lab.propose(run, QUICK)
    notebook.wait_for_cell(f"{program}-code")


def test_it_catches_up_after_a_lost_connection(lab: Lab, page: Page) -> None:
    sockets: list[WebSocketRoute] = []
    refuse: list[bool] = []

    def through(socket: WebSocketRoute) -> None:
        if refuse:
            socket.close()
        else:
            socket.connect_to_server()
            sockets.append(socket)

    page.route_web_socket(re.compile(r"/aide-jupyter/.*/live"), through)
    page.route(re.compile(r"/aide-jupyter/"), lambda route: route.abort() if refuse else route.fallback())
    run = lab.run()
    lab.waiting(run)
    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    notebook.wait_for_cell("c0001-code")
    notebook.add_cell("mine", "mine = 1")

    refuse.append(True)
    for socket in sockets:
        socket.close()
    expect(notebook.banner).to_contain_text("cannot be reached")
    program = lab.propose(run, QUICK)
    lab.ended(run, program)
    assert cell_id(run, f"{program}-code") not in notebook.ids()
    refuse.clear()

    notebook.wait_for_cell(f"{program}-code")
    expect(notebook.banner).not_to_contain_text("cannot be reached")
    until(lambda: QUICK in lab.sources(run))
    assert "mine = 1" in lab.sources(run)


def test_a_server_that_was_killed_is_found_again_and_nothing_is_there_twice(own_lab: Lab, page: Page) -> None:
    lab = own_lab
    run = lab.run()
    lab.waiting(run)
    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    notebook.wait_for_cell("c0001-code")
    program = lab.propose(run, SLOW)
    notebook.wait_for_cell(f"{program}-code")
    notebook.add_cell("mine", "mine = 1")

    lab.kill()
    expect(notebook.banner).to_contain_text("cannot be reached")
    lab.start()
    until(lambda: lab.state(run)["phase"] == "interrupted")
    expect(notebook.banner).not_to_contain_text("cannot be reached", timeout=60_000)
    lab.control(run, verb="resume")
    until(lambda: lab.state(run)["phase"] in ("running", "waiting"), 120)
    assert lab.ended(run, program)["standing"] == "failed"
    waits = lab.waiting(run)
    notebook.wait_for_cell(f"{waits['candidate']}-code")
    assert "mine" in notebook.ids()
    ids = notebook.ids()
    assert len(set(ids)) == len(ids)
    lab.control(run, verb="stop")
    until(lambda: lab.state(run)["phase"] == "closed")
    until(lambda: lab.api(f"aide-jupyter/runs/{run}/verify")["verdict"] == "intact")
    assert "mine = 1" in lab.sources(run)


@pytest.fixture
def command(lab: Lab) -> object:
    """Runs the command line beside the server, with the same Jupyter folders."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        with (lab.home / "cli.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "aide_jupyter", *arguments],
                cwd=lab.root, env=lab.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_a_run_of_a_terminal_is_live_in_an_open_notebook(
    lab: Lab, page: Page, command: Callable[..., subprocess.Popen[bytes]]
) -> None:
    known = {run["run"] for run in lab.api("aide-jupyter/runs")["runs"]}
    process = command(
        "run", "--data", "data", "--goal", "Predict the price.", "--metric", "rmse", "--target", "price",
        "--steps", "4", "--review", "auto", "--seed", "3",
    )  # fmt: skip

    def begun() -> str | None:
        fresh = [run for run in lab.api("aide-jupyter/runs")["runs"] if run["run"] not in known]
        return str(fresh[0]["run"]) if fresh and fresh[0]["notebook"] and fresh[0]["steps"] else None

    run = until(begun, 120)
    until(lambda: (lab.root / lab.notebook_path(run)).exists())
    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    notebook.add_cell("mine", "mine = 1")
    notebook.wait_for_cell("c0002-code")
    lab.control(run, verb="stop-now")
    assert until(lambda: process.poll() is not None, 120)
    assert process.returncode == 0, (lab.home / "cli.log").read_text()
    until(lambda: lab.api(f"aide-jupyter/runs/{run}/verify")["verdict"] == "intact", 30)
    until(lambda: "mine = 1" in lab.sources(run))
    notebook.wait_for("cells[0].getMetadata('aide').status === 'closed'")
