"""Chromium, and JupyterLab servers to look at with it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from .lab import Lab

expect.set_options(timeout=30_000)  # Of a loaded machine: what goes well does not wait for it.
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--disable-features=Translate,OptimizationHints,MediaRouter",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A window of its own: another person's, or the same person's on another machine."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(30_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """One server for the tests of a module, which use runs of their own."""
    with tempfile.TemporaryDirectory(prefix="aide-ui-") as folder:
        lab = Lab(Path(folder).resolve())
        yield lab
        lab.stop()


@pytest.fixture
def own_lab() -> Iterator[Lab]:
    """A server that a test may kill."""
    with tempfile.TemporaryDirectory(prefix="aide-ui-") as folder:
        lab = Lab(Path(folder).resolve())
        yield lab
        lab.stop()
