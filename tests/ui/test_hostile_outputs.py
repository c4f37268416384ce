"""Outputs and files are hostile: nothing that a program, a model or a crafted notebook says runs or is fetched."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .lab import Lab, cell_id, until
from .pages import Notebook, execute, open_lab
from .panel import Panel


class Listener:
    """A web server that remembers what was asked of it. Nothing of a test may ask."""

    def __init__(self) -> None:
        asked = self.asked = []  # type: list[str]

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


@pytest.fixture
def requests(page: Page, lab: Lab) -> list[str]:
    """What the page has asked of anyone but its own server."""
    foreign: list[str] = []
    own = (lab.url, lab.url.replace("http", "ws"), "data:", "blob:", "about:")
    page.on("request", lambda request: None if request.url.startswith(own) else foreign.append(request.url))
    return foreign


def ran(page: Page) -> list[str]:
    """What has run in the page of what should not."""
    return list(page.evaluate("() => window.ran || []"))


def attack(name: str) -> str:
    return f"(window.ran = window.ran || []).push('{name}')"


def bundle(url: str) -> str:
    """A program that displays everything that a page could be made to run or fetch."""
    html = f"<script>{attack('html script')}</script><img src='{url}/html' onerror=\"{attack('html img')}\">"
    html += (
        f"<iframe srcdoc=\"<script>parent.{attack('iframe')}</script>\"></iframe><link rel=stylesheet href='{url}/css'>"
    )
    svg = (
        f"<svg xmlns='http://www.w3.org/2000/svg' onload=\"{attack('svg onload')}\">"
        f"<script>{attack('svg script')}</script><image href='{url}/svg'/></svg>"
    )
    link = "<a data-commandlinker-command='aide:stop-run-now' data-commandlinker-args='{}' href='#'>press here</a>"
    markdown = f"![a]({url}/markdown) {html} {link}"
    displays = {
        "text/html": html + link,
        "application/javascript": attack("javascript"),
        "image/svg+xml": svg,
        "text/markdown": markdown,
        "text/latex": f"\\href{{javascript:{attack('latex')}}}{{x}} \\includegraphics{{{url}/latex}}",
        "application/vnd.jupyter.widget-view+json": {"model_id": "0", "version_major": 2, "version_minor": 0},
        "application/vnd.jupyter.widget-state+json": {"state": {}, "version_major": 2, "version_minor": 0},
        "application/pdf": "JVBERi0xLjQ=",
        "application/geo+json": {"type": "FeatureCollection", "features": []},
        "application/vnd.vegalite.v5+json": {"data": {"url": f"{url}/vega"}, "mark": "bar"},
    }
    return (
        "from IPython.display import display\n"
        f"for kind, data in {displays!r}.items():\n"
        "    display({kind: data, 'text/plain': 'plain of ' + kind}, raw=True,\n"
        "            metadata={'trusted': True, 'isolated': False, kind: {'isolated': False}})\n"
        f"print({html!r}, {svg!r}, {link!r})\n"
        f"print('\\x1b]8;;{url}/osc\\x07a link\\x1b]8;;\\x07', '{url}/bare')\n"
        "print('Validation metric: 0.5')\n"
        f"raise RuntimeError({html!r})\n"
    )


def test_nothing_that_a_program_displays_runs_or_is_fetched(
    lab: Lab, page: Page, listener: Listener, requests: list[str]
) -> None:
    run = lab.run()
    waits = lab.waiting(run)
    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    code = bundle(listener.url)
    plan = f"![plan]({listener.url}/plan) <img src='{listener.url}/tag' onerror=\"{attack('plan')}\">"
    candidate = str(lab.control(run, verb="propose", plan=plan, code=code)["candidate"])
    lab.decide(run, waits, "reject", reason=plan)
    assert lab.ended(run, candidate)["standing"] == "failed"

    notebook.wait_for(
        f"(cells.find(c => c.getId() === '{cell_id(run, f'{candidate}-code')}')?.outputs ?? []).length > 5"
    )
    cell = notebook.cell(f"{candidate}-code")
    expect(cell.locator(".jp-OutputArea-output").first).to_be_visible()
    for index in range(len(notebook.ids())):
        notebook.evaluate("return panel.content.scrollToItem(argument);", index)
    expect(cell).to_contain_text("plain of text/html")
    expect(cell).to_contain_text("<script>")
    kinds = {kind for output in notebook.evaluate(
        "return panel.content.model.sharedModel.cells.find(c => c.getId() === argument).outputs",
        cell_id(run, f"{candidate}-code"),
    ) for kind in output.get("data", {})}  # fmt: skip
    assert kinds <= {"text/plain", "image/png"}
    assert cell.locator("iframe, svg[onload], [data-commandlinker-command]").count() == 0
    assert ran(page) == []
    assert (requests, listener.asked) == ([], [])


LINKS = """\
<a href="#" data-commandlinker-command="{command}" data-commandlinker-args='{arguments}'>press {command}</a>
<button data-commandlinker-command="{command}">press {command}</button>
[press {command}](command:{command}) [press {command}](#){{data-commandlinker-command="{command}"}}
"""
"""A link and a button that name a command, as HTML and as Markdown."""
LONG = 120_000
"""Milliseconds that something may take on a busy machine."""
COMMANDS = ("aide:approve-candidate", "aide:stop-run-now", "aide:pause-run", "notebook:run-all-cells")


def test_a_link_to_a_command_in_a_plan_or_an_output_does_nothing_when_it_is_pressed(lab: Lab, page: Page) -> None:
    run = lab.run()
    waits = lab.waiting(run)
    arguments = json.dumps({"run": run, "candidate": "c0003", "decision": "approve"})
    links = "".join(LINKS.format(command=command, arguments=arguments) for command in COMMANDS)
    code = (
        "from IPython.display import HTML, Markdown, display\n"
        f"links = {links!r}\nprint(links)\ndisplay(HTML(links), Markdown(links))\n"
        "display({'text/markdown': links, 'text/html': links, 'text/plain': links}, raw=True)\n"
        "print('Validation metric: 0.5')\n"
    )
    program = str(lab.control(run, verb="propose", plan=links, code=code)["candidate"])
    lab.decide(run, waits, "reject", reason=links)
    lab.ended(run, program)
    next_one = lab.waiting(run)
    before = lab.state(run)["seq"]

    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    page.evaluate(
        "() => { window.executed = [];"
        " window.jupyterapp.commands.commandExecuted.connect((_, { id }) => window.executed.push(id)); }"
    )
    written: list[str] = []
    page.on(
        "request", lambda one: written.append(one.url) if one.method != "GET" and "/aide-jupyter/" in one.url else None
    )

    def press(place: Locator, least: int) -> None:
        """Press each place of a text that names a command, in the middle of the name, as a person would."""
        for command in COMMANDS:
            boxes = place.evaluate(
                """(place, text) => {
                    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT), found = [];
                    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
                        for (let at = node.data.indexOf(text); at !== -1; at = node.data.indexOf(text, at + 1)) {
                            found.push([node, at]);
                        }
                    }
                    return found.map(([node, at]) => {
                        const range = document.createRange();
                        range.setStart(node, at);
                        range.setEnd(node, at + text.length);
                        const element = node.parentElement;
                        element.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }));
                        return element.closest('a, button, [data-commandlinker-command]') === null;
                    });
                }""",
                f"press {command}",
            )
            assert len(boxes) >= least
            assert all(boxes), "it became a link or a button"

    code_id = cell_id(run, f"{program}-code")
    notebook.wait_for(f"(cells.find(c => c.getId() === '{code_id}')?.outputs ?? []).length > 0", LONG)
    for name in (f"{program}-plan", f"{waits['candidate']}-plan"):
        cell = notebook.cell(name)
        expect(cell.locator(".jp-MarkdownOutput")).to_contain_text("press aide:approve-candidate")
        press(cell, 1)
    cell = notebook.cell(f"{program}-code")
    expect(cell.locator(".jp-OutputArea")).to_contain_text("press aide:approve-candidate")
    press(cell.locator(".jp-OutputArea"), 4)
    cell.locator(".jp-OutputArea").get_by_text("press aide:approve-candidate").first.click()

    panel = Panel(page).show()
    panel.button("Runs").click()
    panel.element.locator(f"[data-run='{run}']").click()
    pane = panel.select(program)
    for tab in ("Plan", "Output", "Record"):
        pane.get_by_role("tab", name=tab).click()
        press(pane, 0)
    assert [one for one in page.evaluate("() => window.executed") if one in COMMANDS] == []
    assert written == []
    assert lab.state(run)["waiting"] == [next_one["candidate"]]
    assert lab.state(run)["seq"] == before
    expect(page.locator(".jp-Dialog")).to_have_count(0)


def test_a_link_to_a_command_that_a_page_does_follow_decides_nothing(lab: Lab, page: Page) -> None:
    """In a cell of the person's own, JupyterLab may follow it, after a question. Then it leads to the card."""
    run = lab.run()
    waits = lab.waiting(run)
    open_lab(page, lab)
    panel = Panel(page).show()
    panel.button("Runs").click()
    panel.element.locator(f"[data-run='{run}']").click()
    card = panel.wait_for_card(waits["candidate"])
    arguments = {"run": run, "candidate": waits["candidate"], "nonce": waits["nonce"], "decision": "approve"}
    page.evaluate(
        """args => {
            const link = document.createElement('a');
            Object.assign(link, { id: 'followed', href: '#', textContent: 'press' });
            link.dataset.commandlinkerCommand = 'aide:approve-candidate';
            link.dataset.commandlinkerArgs = JSON.stringify(args);
            link.style.cssText = 'position: fixed; top: 0; left: 50%; z-index: 1000000';
            document.body.append(link);
        }""",
        arguments,
    )
    page.locator("#followed").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Run", exact=True).click()
    expect(card.get_by_role("heading").first).to_be_focused()
    assert lab.state(run)["waiting"] == [waits["candidate"]]
    assert lab.waiting(run)["nonce"] == waits["nonce"]


def test_a_tampered_notebook_is_put_right_before_anything_of_it_runs(
    lab: Lab, page: Page, listener: Listener, requests: list[str]
) -> None:
    """Its trusted flags count for nothing, and the agent's cells show what was recorded again."""
    run = lab.run()
    lab.waiting(run)
    path = lab.root / lab.notebook_path(run)
    until(lambda: len(lab.notebook(run)["cells"]) == 3)
    notebook_json = json.loads(path.read_text())
    html = f"<img src='{listener.url}/x' onerror=\"{attack('trusted html')}\"><script>{attack('script')}</script>"
    for cell in notebook_json["cells"]:
        cell["metadata"]["trusted"] = True
        if cell["cell_type"] == "code":
            cell["outputs"] = [
                {"output_type": "display_data", "data": {"text/html": html}, "metadata": {}},
                {"output_type": "display_data", "data": {"application/javascript": attack("js")}, "metadata": {}},
            ]
    path.write_text(json.dumps(notebook_json))

    open_lab(page, lab)
    notebook = Notebook(page, lab, run).open()
    code = cell_id(run, "c0001-code")
    notebook.wait_for(f"cells.find(c => c.getId() === '{code}').outputs.length === 0")
    notebook.cell_of("c0001")
    until(lambda: all(not cell.get("outputs") for cell in lab.notebook(run)["cells"]))
    assert ran(page) == []
    assert [url for url in requests if "script" in url] == []


def test_a_notebook_that_says_it_is_a_run_s_is_not_written_and_decides_nothing(lab: Lab, page: Page) -> None:
    """A copy, or a file that was made up: it names the run and the ids of its cells, and shows another program."""
    run = lab.run()
    waits = lab.waiting(run)
    until(lambda: len(lab.notebook(run)["cells"]) == 3)
    forged = lab.notebook(run)
    forged["cells"][2]["source"] = "print('harmless')"
    forged["cells"].append({
        "cell_type": "markdown", "id": "evil", "metadata": {"trusted": True},
        "source": f"<img src='x' onerror=\"{attack('trusted markdown')}\">",
    })  # fmt: skip
    (lab.root / "forged.ipynb").write_text(json.dumps(forged))

    open_lab(page, lab)
    notebook = Notebook(page, lab, run, "forged.ipynb").open()
    expect(notebook.banner).to_contain_text("copy")
    lab.propose(run, "print('Validation metric: 0.5')\n")
    lab.waiting(run)
    expect(page.locator(".jp-AideCell")).to_have_count(0)
    assert notebook.source(cell_id(run, "c0001-code")) == "print('harmless')"
    assert json.loads((lab.root / "forged.ipynb").read_text()) == forged
    assert lab.node(run, waits["candidate"])["standing"] == "rejected"
    assert ran(page) == []


PROBING = """\
import os
from pathlib import Path


def attempt(what):
    try:
        print(what())
    except OSError as error:
        print("kept out", error.errno)


for place in {written}:
    attempt(lambda: Path(place).write_text("x"))
for place in {read}:
    attempt(lambda: Path(place).read_text())
print("uid", os.getuid())
print("Validation metric: 0.5")
"""


def test_run_all_touches_nothing_of_the_host(lab: Lab, page: Page, tmp_path: Path) -> None:
    """Whatever a notebook's programs say, running them from the notebook stays in a jail; a rejected one is no code."""
    secret, touched = secrets.token_hex(16), lab.root / "touched.txt"
    (lab.home / "secret.txt").write_text(secret)
    run = lab.run()
    written = [str(touched), str(tmp_path / "touched"), "/root/touched", "/var/tmp/touched"]
    read = [str(lab.home / "secret.txt"), str(lab.home / "data"), "/etc/shadow"]
    code = PROBING.format(written=written, read=read)
    waits = lab.waiting(run)
    program = lab.propose(run, code)
    lab.ended(run, program)
    lab.control(run, verb="stop")
    until(lambda: lab.state(run)["phase"] == "closed")
    until(lambda: code in lab.sources(run))

    open_lab(page, lab)
    notebook = Notebook(page, lab, run)
    execute(page, "docmanager:open", path=notebook.path, factory="Notebook")
    notebook.shown()
    assert (
        notebook.evaluate(
            "return panel.context.sessionContext.ready.then(() => panel.context.sessionContext.kernelPreference.name);"
        )
        == "aide-restricted"
    )
    page.wait_for_function(
        "path => { const panel = [...window.jupyterapp.shell.widgets('main')].find(p => p.context?.path === path);"
        " return panel.context.sessionContext.session?.kernel?.status === 'idle'; }",
        arg=notebook.path, timeout=90_000,
    )  # fmt: skip
    notebook.evaluate("panel.content.model.sharedModel.cells.forEach(c => c.cell_type === 'code' && c.setOutputs([]));")
    execute(page, "notebook:run-all-cells")
    place = cell_id(run, f"{program}-code")
    notebook.wait_for(f"JSON.stringify(cells.find(c => c.getId() === '{place}').outputs).includes('uid')", 90_000)
    shown = json.dumps(notebook.evaluate("return panel.content.model.sharedModel.toJSON();"))
    assert secret not in shown
    assert not touched.exists()
    assert not (tmp_path / "touched").exists()
    assert not Path("/root/touched").exists() and not Path("/var/tmp/touched").exists()
    assert "uid 0\\n" not in shown
    rejected = notebook.evaluate(
        "return panel.content.model.sharedModel.cells.find(c => c.getId() === argument).cell_type;",
        cell_id(run, f"{waits['candidate']}-code"),
    )
    assert rejected == "raw"
