"""The tree in a real browser: what one more of 1,000 candidates changes in the page, and in what time."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

TREE = Path(__file__).parents[2] / "aide_jupyter" / "widgets" / "tree.js"
SETUP = """
async ([source, count]) => {
    const module = await import('data:text/javascript;charset=utf-8,' + encodeURIComponent(source));
    const name = number => 'c' + String(number).padStart(4, '0');
    const node = number => ({
        id: name(number), parent: number % 7 === 1 ? null : name(number - 1), operator: 'improve', standing: 'good',
        status_words: 'graded on hidden rows', value_text: '0.5', source: 'selection',
        best: false, flags: 0, tainted: false, by_person: false, plan_line: 'Fit a ridge <b>once</b> more.'
    });
    const listeners = {};
    const values = {state: {nodes: Array.from({length: count}, (_, index) => node(index + 1))}, selected: null};
    const model = {
        get: name => values[name], set: (name, value) => { values[name] = value; }, save_changes: () => {},
        on: (name, listener) => (listeners[name] ??= []).push(listener), off: () => {}
    };
    document.body.replaceChildren();
    const el = document.body.appendChild(document.createElement('div'));
    module.default.render({model, el});
    window.tree = {el, values, node, show: nodes => {
        values.state = {nodes}; listeners['change:state'].forEach(listener => listener());
    }};
}
"""
ADD = """
() => {
    const {el, values, node, show} = window.tree;
    const observer = new MutationObserver(() => {});
    observer.observe(el, {subtree: true, childList: true, attributes: true, characterData: true});
    const begun = performance.now();
    show([...values.state.nodes, {...node(values.state.nodes.length + 1), parent: 'c0001'}]);
    el.querySelector('[role=tree]').getBoundingClientRect();
    const milliseconds = performance.now() - begun;
    const count = (sum, one) => sum + 1 + one.addedNodes.length + one.removedNodes.length;
    const changes = observer.takeRecords().reduce(count, 0);
    return {changes, milliseconds, rows: el.querySelectorAll('[role=treeitem]').length};
}
"""


@pytest.fixture
def blank(page: Page) -> Page:
    page.goto("about:blank")
    return page


def test_one_more_of_a_thousand_candidates_changes_as_much_as_one_more_of_fifty(blank: Page) -> None:
    found = {}
    for count in (50, 1000):
        blank.evaluate(SETUP, [TREE.read_text(), count])
        found[count] = blank.evaluate(ADD)
    assert found[1000]["changes"] <= found[50]["changes"] + 10, found
    assert found[1000]["changes"] < 300
    assert 10 < found[1000]["rows"] <= 200


def test_it_is_walked_through_with_the_keyboard_alone(blank: Page) -> None:
    blank.evaluate(SETUP, [TREE.read_text(), 1000])
    blank.keyboard.press("Tab")
    for key in ("End", "ArrowUp", "ArrowLeft", "ArrowLeft", "Home", "PageDown", "Enter"):
        blank.keyboard.press(key)
    seen = blank.evaluate(
        """() => { const row = document.activeElement.getBoundingClientRect();
            const tree = document.querySelector('[role=tree]').getBoundingClientRect();
            return [document.activeElement.dataset.candidate, window.tree.values.selected, row.top >= tree.top - 1,
                    row.bottom <= tree.bottom + 1, document.querySelectorAll('[role=treeitem]').length]; }"""
    )
    assert seen[0] == seen[1] != "c0001"
    assert seen[2] and seen[3] and seen[4] <= 200


def test_texts_of_models_are_text(blank: Page) -> None:
    blank.evaluate(SETUP, [TREE.read_text(), 3])
    assert blank.locator("b").count() == 0
    assert blank.get_by_text("<b>once</b>").count() == 3


def test_rows_are_as_high_as_they_are_placed(blank: Page) -> None:
    blank.evaluate(SETUP, [TREE.read_text(), 40])
    heights = blank.evaluate("() => [...document.querySelectorAll('[role=treeitem]')].map(row => row.offsetHeight)")
    assert set(heights) == {28}
    assert blank.evaluate("() => document.querySelector('[role=tree]').clientHeight") <= 420


def test_a_narrow_tree_shows_which_is_the_best_and_where_its_number_comes_from(blank: Page) -> None:
    blank.evaluate(SETUP, [TREE.read_text(), 3])
    blank.evaluate(
        """() => { const {el, values, show} = window.tree; el.style.width = '300px';
            show(values.state.nodes.map((node, place) => ({...node, best: place === 2, operator: 'ensemble',
                parent: place ? values.state.nodes[place - 1].id : null, value_text: '0.0837658', source: 'reported',
                status_words: 'reported by the program itself'}))); }"""
    )
    row = blank.locator(".aide-Tree-row[data-candidate=c0003]")
    star, value = row.locator(".aide-Tree-best"), row.locator(".aide-Tree-value")
    assert (star.text_content(), value.text_content()) == ("★", "0.0837658 reported")
    edge = "one => one.getBoundingClientRect().right"
    assert star.evaluate(edge) < value.evaluate(edge) <= row.evaluate(edge)
    assert value.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert row.locator(".aide-Tree-name").evaluate("one => one.clientWidth") >= 40
    assert row.get_attribute("aria-label") == (
        "c0003 ensemble, reported by the program itself, 0.0837658 reported, best, Fit a ridge <b>once</b> more."
    )
