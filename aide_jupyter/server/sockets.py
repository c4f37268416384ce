"""The sockets of all pages, by the run that they look at and the tab that they are in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Protocol

from .models import LeaseMessage


class Page(Protocol):
    """A socket, as :mod:`.stream` makes one."""

    tab: str
    woken: asyncio.Event

    def lease(self, message: LeaseMessage) -> None:
        """Tell the page about the notebook, in order."""
        ...

    def shut(self) -> None:
        """End it: the server stops."""
        ...


class Sockets:
    """Who is to be told."""

    def __init__(self) -> None:
        self._pages: dict[str, list[Page]] = {}

    def add(self, run: str, page: Page) -> None:
        """A page looks at a run."""
        self._pages.setdefault(run, []).append(page)

    def remove(self, run: str, page: Page) -> None:
        """No longer."""
        left = [one for one in self._pages.get(run, []) if one is not page]
        if left:
            self._pages[run] = left
        else:
            self._pages.pop(run, None)

    def wake(self, run: str) -> None:
        """There is something new about a run."""
        for page in self._pages.get(run, []):
            page.woken.set()

    def tell(self, run: str, tab: str, message: LeaseMessage) -> None:
        """Tell one tab. Of several sockets of a tab, the newest is the one that it reads."""
        pages = [page for page in self._pages.get(run, []) if page.tab == tab]
        if pages:
            pages[-1].lease(message)

    def close(self) -> None:
        """End all of them."""
        for page in tuple(self._all()):
            page.shut()

    def _all(self) -> Iterator[Page]:
        for pages in self._pages.values():
            yield from pages
