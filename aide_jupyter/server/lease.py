"""Who writes a run's notebook: nobody's page, or one. A state machine without a clock, a socket or a file of its own.

A page is a tab, by an id that it makes when it loads, so a tab that lost its socket is known again. The lease goes to
the first tab that opens the notebook; it ends when that tab closes it, moves when a person says so in another, and
lapses ten minutes after its tab was last connected. Each time it begins anew its epoch rises, and what was written
under an older one does not count.

After a start of the server a notebook that was leased is written by nobody for a minute, so that its tab can come back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from ..records import Model

LOST_SECONDS = 600.0
"""How long a tab whose socket is gone keeps the lease."""
START_SECONDS = 60.0
"""How long after a start of the server a lease from before it is kept for its tab."""

State = Literal["granted", "held", "revoked"]


class Kept(Model):
    """What of a lease outlives the server."""

    epoch: int = Field(0, ge=0)
    tab: str | None = None
    written: int = -1


@dataclass(frozen=True)
class Told:
    """What one tab is to be told. ``reconcile``: somebody else may have written since this tab last did."""

    tab: str
    state: State
    reconcile: bool = False


class Lease:
    """The lease of one run's notebook. ``written_seq`` is the record up to which the holder has written.

    Parameters
    ----------
    clock
        Seconds, monotonic.
    kept
        As it was when the server ended, if it was leased then.

    Every method that changes who writes returns who is to be told what, in order: who lost it first.
    """

    def __init__(self, clock: Callable[[], float], kept: Kept | None = None) -> None:
        self._clock = clock
        self._sockets: dict[str, int] = {}
        self._opened: dict[str, None] = {}
        self._until: float | None = None
        self.epoch = 0 if kept is None else kept.epoch
        self.holder = None if kept is None else kept.tab
        self.written_seq = -1 if kept is None else kept.written
        if self.holder is not None:
            self._until = clock() + START_SECONDS

    @property
    def kept(self) -> Kept:
        """What to keep for the next start of the server."""
        return Kept(epoch=self.epoch, tab=self.holder, written=self.written_seq)

    @property
    def free(self) -> bool:
        """Whether the owner of the run may write the file."""
        return self.holder is None

    @property
    def lapses_in(self) -> float | None:
        """Seconds until :meth:`lapse` has something to do; None where nothing runs out."""
        return None if self._until is None else max(0.0, self._until - self._clock())

    def connected(self, tab: str) -> None:
        """A socket of this tab is there. Of an old one and its successor either may end first."""
        self._sockets[tab] = self._sockets.get(tab, 0) + 1

    def lost(self, tab: str) -> None:
        """A socket of this tab is gone. With its last one, time begins to run."""
        left = self._sockets.get(tab, 0) - 1
        if left > 0:
            self._sockets[tab] = left
            return
        self._sockets.pop(tab, None)
        if tab == self.holder:
            self._until = self._clock() + LOST_SECONDS
        else:
            self._opened.pop(tab, None)

    def open(self, tab: str) -> list[Told]:
        """This tab has opened the notebook, or says again that it has it open."""
        told = self.lapse()
        self._opened[tab] = None
        if self.holder is None:
            return [*told, self._give(tab)]
        if self.holder == tab:
            self._until = None
            return [*told, Told(tab, "granted")]
        return [*told, Told(tab, "held")]

    def take(self, tab: str) -> list[Told]:
        """A person goes on in this tab. Nothing happens where it has not opened the notebook."""
        told = self.lapse()
        if tab not in self._opened or self.holder == tab:
            return [*told, Told(tab, "granted" if self.holder == tab else "held")]
        before = self.holder
        lost = [Told(before, "revoked")] if before is not None else []
        return [*told, *lost, self._give(tab)]

    def close(self, tab: str) -> list[Told]:
        """This tab has closed the notebook. The next tab that has it open, if any, goes on."""
        told = self.lapse()
        self._opened.pop(tab, None)
        if self.holder != tab:
            return told
        return [*told, *self._pass_on()]

    def written(self, tab: str, epoch: int, seq: int) -> list[Told]:
        """This tab says that the file now shows the run up to a record. Under an older epoch that does not count."""
        told = self.lapse()
        if self.holder == tab and self.epoch == epoch:
            self.written_seq = seq
            return told
        return [*told, Told(tab, "revoked")]

    def lapse(self) -> list[Told]:
        """Let the lease go whose time has run out. To be called when :attr:`lapses_in` is over."""
        before = self.holder
        if not self._lapse_if_due():
            return []
        told = [] if before is None or before not in self._sockets else [Told(before, "revoked")]
        return [*told, *self._pass_on()]

    def _lapse_if_due(self) -> bool:
        if self._until is None or self._clock() < self._until:
            return False
        self._opened.pop(self.holder or "", None)
        self.holder, self._until = None, None
        return True

    def _pass_on(self) -> list[Told]:
        self.holder, self._until = None, None
        following = next((tab for tab in self._opened if tab in self._sockets), None)
        if following is None:
            self.epoch += 1
            return []
        return [self._give(following)]

    def _give(self, tab: str) -> Told:
        """The file, or another page, may be further than this page: it puts the two together before it writes."""
        self.epoch += 1
        self.holder, self._until, self.written_seq = tab, None, -1
        return Told(tab, "granted", reconcile=True)
