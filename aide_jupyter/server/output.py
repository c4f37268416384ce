"""Running output for pages: its end is kept, and each page takes what it has not seen when it is ready for more.

However fast a program prints, what is held is bounded, and a slow page skips rather than falls behind.
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field

from ..audit.lines import clean
from ..sandbox.terminal import without_sequences
from ..untrusted import visible
from .models import OutputMessage

KEPT = 200_000
"""Characters that are kept of each running program's output."""
SENT = 50_000
"""Characters of one message."""
Seen = dict[str, tuple[int, int]]
"""What a page has seen: of each candidate, which execution and how many characters of it."""


@dataclass
class _Tail:
    """The end of one execution's output: ``start`` is the number of characters before it."""

    number: int
    start: int = 0
    text: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def add(self, offset: int, text: str) -> None:
        """Masking can change a length; then the place that the program's own count gives is where it goes on."""
        if offset > self.end:
            self.start, self.text = offset, ""
        self.text += text
        if len(self.text) > 2 * KEPT:
            self.start += len(self.text) - KEPT
            self.text = self.text[-KEPT:]


@dataclass
class Outputs:
    """What the running programs of one run have printed."""

    _tails: dict[str, _Tail] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _listeners: set[asyncio.Event] = field(default_factory=set)

    def listen(self, woken: asyncio.Event) -> None:
        """Set this event whenever there is more."""
        self._listeners.add(woken)

    def deafen(self, woken: asyncio.Event) -> None:
        """No longer."""
        self._listeners.discard(woken)

    def add(self, candidate: str, offset: int, text: str) -> None:
        """A program has printed this, after ``offset`` characters."""
        if candidate not in self._tails:
            self._tails[candidate] = _Tail(next(self._numbers))
        self._tails[candidate].add(offset, text)
        for woken in self._listeners:
            woken.set()

    def end(self, candidate: str) -> None:
        """It has ended: what is recorded of its output stands in its record."""
        self._tails.pop(candidate, None)

    def since(self, seen: Seen) -> list[OutputMessage]:
        """What a page has not seen, which is then noted in ``seen``."""
        for gone in seen.keys() - self._tails.keys():
            del seen[gone]
        found = []
        for candidate, tail in self._tails.items():
            number, place = seen.get(candidate, (tail.number, 0))
            start = max(place if number == tail.number else 0, tail.end - KEPT, tail.start)
            while start < tail.end:
                piece = tail.text[start - tail.start : start - tail.start + SENT]
                end = start + len(piece)
                found.append(OutputMessage(candidate=candidate, offset=start, end=end, text=_shown(piece)))
                start = end
            seen[candidate] = (tail.number, tail.end)
        return found


def _shown(text: str) -> str:
    """Without colours and with what cannot be seen as escapes, but for the characters that move back."""
    parts = without_sequences(clean(text)).split("\r")
    return "\r".join("\b".join(visible(part) for part in one.split("\b")) for one in parts)
