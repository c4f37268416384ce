"""What one more candidate costs the page: added to 1,000 against added to 10, in the tree of the panel and the widget.

    python benchmarks/tree_update.py [--candidates 1000] [--times 30]

The real ``tree.js`` in headless Chromium. The new one is a child of the first, so it comes into view and moves all rows
below. Timed is what the page does when a new state comes, its layout included. Counted are the changes in the document,
by a MutationObserver, and the rows that are in it. Prints the ratio of the medians.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

TREE = Path(__file__).parents[1] / "aide_jupyter" / "widgets" / "tree.js"
FEW = 10
IN_A_ROW = 10
"""Additions timed together: Chromium's clock shows tenths of a millisecond."""
SHOW = """
async ([source, count]) => {
    const module = await import('data:text/javascript;charset=utf-8,' + encodeURIComponent(source));
    const name = number => 'c' + String(number).padStart(4, '0');
    const node = number => ({
        id: name(number), parent: number % 7 === 1 ? null : name(number - 1), operator: 'improve', standing: 'good',
        status_words: 'graded on hidden rows', value_text: '0.123456', source: 'selection', best: false, flags: 0,
        tainted: false, by_person: false, plan_line: 'Fit a ridge regression once more, with other features.'
    });
    let state = {nodes: Array.from({length: count}, (_, at) => node(at + 1))};
    let changed = () => {};
    const model = {
        get: trait => trait === 'state' ? state : null, set: () => {}, save_changes: () => {}, off: () => {},
        on: (event, listener) => { if (event === 'change:state') changed = listener; }
    };
    document.body.replaceChildren();
    const el = document.body.appendChild(document.createElement('div'));
    module.default.render({model, el});
    const layout = () => el.querySelector('[role=tree]').getBoundingClientRect();
    layout();
    window.add = times => {
        const states = [];
        for (let nodes = state.nodes; states.length < times; states.push({nodes})) {
            nodes = [...nodes, {...node(nodes.length + 1), parent: 'c0001'}];
        }
        const observer = new MutationObserver(() => {});
        observer.observe(el, {subtree: true, childList: true, attributes: true, characterData: true});
        const begun = performance.now();
        for (state of states) {
            changed();
            layout();
        }
        const milliseconds = (performance.now() - begun) / times;
        const touched = (sum, one) => sum + (one.addedNodes.length + one.removedNodes.length || 1);
        const changes = observer.takeRecords().reduce(touched, 0) / times;
        observer.disconnect();
        return [milliseconds, changes, el.querySelectorAll('[role=treeitem]').length];
    };
}
"""


def measure(page: Page, candidates: int, times: int) -> tuple[float, float, int]:
    """Medians over fresh trees of the milliseconds and the changes of one addition, and the most rows in the page."""
    found = []
    for _ in range(times):
        page.evaluate(SHOW, [TREE.read_text(), candidates])
        found.append(page.evaluate("times => window.add(times)", IN_A_ROW))
    milliseconds, changes, rows = zip(*found, strict=True)
    return statistics.median(milliseconds), statistics.median(changes), max(rows)


def main() -> None:
    """Measure and print."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--candidates", type=int, default=1000)
    cli.add_argument("--times", type=int, default=30)
    options = cli.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    medians = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto("about:blank")
        measure(page, FEW, 3)  # What the browser compiles and lays out for the first time is not counted.
        for count in (FEW, options.candidates):
            medians[count], changes, rows = measure(page, count, options.times)
            print(f"one more of {count:5,}: {medians[count]:.2f} ms, {changes:.1f} changes, {rows} rows in the page")
        browser.close()
    print(f"ratio: {medians[options.candidates] / medians[FEW]:.2f}")


if __name__ == "__main__":
    main()
