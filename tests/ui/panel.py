"""The side panel, as a person uses it."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from .lab import Lab
from .pages import execute, open_lab

ROOT = Path(__file__).parents[2]
PICTURES = os.environ.get("AIDE_SCREENSHOTS")
_STILL = "*, *::before, *::after { animation: none !important; transition: none !important; caret-color: transparent; }"


class Panel:
    """The panel of a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.element = page.locator(".jp-Aide")

    def open(self, lab: Lab, workspace: str | None = None) -> Panel:
        open_lab(self.page, lab, workspace)
        return self.show()

    def show(self) -> Panel:
        execute(self.page, "aide:open-panel")
        expect(self.element).to_be_visible()
        return self

    def settled(self) -> Panel:
        """Wait until JupyterLab, a moment after it is restored, has opened its launcher, which takes the focus."""
        self.page.wait_for_function("() => document.activeElement?.closest('.jp-Launcher')", timeout=60_000)
        return self

    def button(self, name: str) -> Locator:
        return self.element.get_by_role("button", name=name, exact=True)

    def field(self, label: str) -> Locator:
        return self.element.get_by_label(label, exact=True)

    @property
    def card(self) -> Locator:
        """The program that waits."""
        return self.element.locator(".jp-Aide-card")

    def wait_for_card(self, candidate: str) -> Locator:
        card = self.element.locator(f".jp-Aide-card[data-candidate={candidate}]")
        expect(card).to_be_visible(timeout=120_000)
        return card

    def row(self, candidate: str) -> Locator:
        """The candidate in the tree."""
        return self.element.locator(f"[role=treeitem][data-candidate={candidate}]")

    def select(self, candidate: str) -> Locator:
        """Select a candidate, and give the part that shows it."""
        self.row(candidate).click()
        pane = self.element.locator(f".jp-Aide-candidate[aria-label='Candidate {candidate}']")
        expect(pane).to_be_visible()
        return pane

    def confirm(self, button: str) -> None:
        """Say yes to a question."""
        dialog = self.page.locator(".jp-Dialog")
        dialog.get_by_role("button", name=button, exact=True).click()
        expect(dialog).to_be_hidden()

    def phase(self, words: str) -> None:
        """Wait until the run says that it does this."""
        expect(self.element.locator(".jp-Aide-head .jp-Aide-phase")).to_contain_text(words, timeout=120_000)

    def widen(self, width: int) -> None:
        """Draw the panel's edge until it has this width, in pixels."""
        box = self.element.bounding_box()
        handle = self.page.locator("#jp-main-split-panel > .lm-SplitPanel-handle:not(.lm-mod-hidden)").last
        edge = handle.bounding_box()
        assert box is not None
        assert edge is not None
        x, y = edge["x"] + edge["width"] / 2, edge["y"] + edge["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x - (width - box["width"]), y, steps=4)
        self.page.mouse.up()
        self.page.wait_for_function(
            "width => document.querySelector('.jp-Aide').getBoundingClientRect().width > width - 40", arg=width
        )

    def picture(self, name: str) -> None:
        """Keep a picture of the page, where pictures are wanted."""
        if PICTURES is None:
            return
        folder = ROOT / PICTURES
        folder.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=folder / f"{name}.png", style=_STILL, animations="disabled")


def problems(page: Page, selector: str) -> list[str]:
    """What axe-core finds that is serious or worse, in a part of the page."""
    if page.evaluate("() => typeof axe === 'undefined'"):
        page.add_script_tag(path=ROOT / "node_modules" / "axe-core" / "axe.min.js")
    found = page.evaluate("selector => axe.run(selector, { resultTypes: ['violations'] })", selector)
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:200] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
