"""A run's progress in a terminal, drawn from its state: a tree that is redrawn, or plain lines where nothing can be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from . import records as r
from .audit.words import become
from .state import Candidate, RunState
from .untrusted import Untrusted

PLAN_CHARS = 76
_MARKS = {
    "running": ("▶", "cyan"),
    "waiting": ("?", "yellow"),
    "rejected": ("–", "dim"),
    "edited": ("✎", "dim"),
}


def duration(seconds: float) -> str:
    """``0:01:12``."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def number(value: float | None) -> str:
    """A metric with six significant digits."""
    return "no number" if value is None else f"{value:.6g}"


def spend(state: RunState) -> str:
    """Tokens and money so far; calls of unknown price are said, not guessed."""
    used = state.spend
    words = f"{used.tokens.prompt + used.tokens.completion:,} of {state.budgets.tokens:,} tokens"
    if used.cost or state.budgets.cost_usd:
        words += f", ${used.cost:.4f}" + (f" of ${state.budgets.cost_usd:g}" if state.budgets.cost_usd else "")
    if used.unknown_cost_calls:
        words += f", {used.unknown_cost_calls} calls of unknown cost"
    return words


def outcome(node: Candidate) -> str:
    """What became of a candidate, in a few words, with its number once there is one."""
    words = become(node)
    return words if words or node.grade is None else f"{number(node.value)} {node.grade.source}"


class Progress:
    """Shows records as they come. Used as a context; :meth:`aside` hands the terminal to a question.

    Parameters
    ----------
    state
        Gives the run's state as it is now.
    text
        Resolves a record's text.
    """

    def __init__(self, console: Console, state: Callable[[], RunState], text: Callable[[r.Text], str]) -> None:
        self._console = console
        self._state = state
        self._text = text
        self._started = time.monotonic()
        self._running: dict[str, float] = {}
        self._live = (
            Live(get_renderable=self._draw, console=console, refresh_per_second=4) if console.is_terminal else None
        )

    def __enter__(self) -> Progress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the drawing away while a question is asked."""
        if self._live is not None:
            self._live.stop()
        try:
            yield
        finally:
            if self._live is not None:
                self._live.start()

    def record(self, record: r.Record) -> None:
        """Take note of a record; without a terminal, print its line."""
        candidate = str(record.data.get("candidate", ""))
        if record.kind == "started":
            self._running[candidate] = time.monotonic()
        elif record.kind == "finished":
            self._running.pop(candidate, None)
        if self._live is None and (line := self._line(record)):
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _line(self, record: r.Record) -> str | None:
        state = self._state()
        node = state.candidates.get(str(record.data.get("candidate", "")))
        if node is None:
            words = {"paused": "paused", "resumed": "resumed", "limited": "budget reached", "closed": "closed"}
            why = Untrusted(str(record.data.get("why") or record.data.get("what") or ""), "reason").render(200)
            return f"{words[record.kind]}{': ' + why if why else ''}" if record.kind in words else None
        start = f"{node.id} {node.operator:<8}"
        if record.kind == "started" and record.data.get("purpose") == "export":
            return f"{node.id} runs once more, for the exported solution"
        if record.kind == "proposed":
            return f"{start} {node.error or self._plan(node)}"
        if record.kind in ("asked", "started") or (record.kind == "decided" and node.stage != "approved"):
            reason = node.decided.reason if node.decided is not None and node.stage == "rejected" else ""
            return f"{start} {outcome(node)}{': ' + reason if reason else ''}"
        if record.kind == "reviewed" and node.finished is not None:
            best = "   best so far" if state.best == node.id else ""
            failed = "   found wrong by the reviewer" if node.value is not None and node.failed else ""
            return f"{start} {outcome(node)}   {node.finished.observed.seconds:.1f} s{best}{failed}"
        return None

    def _plan(self, node: Candidate) -> str:
        plan = " ".join(self._text(node.plan).split())
        return Untrusted(plan, "plan").render(PLAN_CHARS, one_line=True)

    def _draw(self) -> Group:
        state = self._state()
        opened = state.opened
        head = Table.grid(padding=(0, 2))
        elapsed = duration(time.monotonic() - self._started)
        head.add_row(
            Text(state.phase(owned=True), style="bold"),
            f"step {state.steps} of {state.budgets.steps}",
            elapsed,
            spend(state),
        )
        best = state.best_candidate()
        if best is not None and best.grade is not None and opened is not None:
            way = "lower is better" if state.minimize else "higher is better"
            best_line = Text(f"best {best.id}: {number(best.value)} ({best.grade.source}, {way})", style="green")
        else:
            best_line = Text("no number yet", style="dim")
        return Group(head, best_line, self._tree(state))

    def _tree(self, state: RunState) -> Tree:
        """The tree's newest part, as much as fits: each shown candidate under its nearest shown ancestor."""
        room = max(5, self._console.height - 6)
        shown = set(list(state.candidates)[-room:]) | ({state.best} if state.best else set())
        left_out = len(state.candidates) - len(shown)
        tree = Tree(Text(f"{left_out} earlier candidates" if left_out > 0 else "candidates", style="dim"))
        branches: dict[str, Tree] = {}
        for node in state.candidates.values():
            if node.id in shown:
                above = next((a.id for a in state.lineage(node.id)[1:] if a.id in branches), None)
                branches[node.id] = (branches[above] if above else tree).add(self._branch(state, node))
        return tree

    def _branch(self, state: RunState, node: Candidate) -> Text:
        mark, style = _MARKS.get(node.stage, ("·", "default"))
        if node.done and node.stage == "finished":
            mark, style = ("✗", "red") if node.failed else ("✔", "green")
        if node.id == state.best:
            style = "bold green"
        text = Text(f"{mark} {node.id} {node.operator} ", style=style, no_wrap=True, overflow="ellipsis")
        text.append(outcome(node), style=style)
        if node.id in self._running:
            text.append(f" {duration(time.monotonic() - self._running[node.id])}", style="cyan")
        if node.plan:
            text.append(f"  {self._plan(node)}", style="dim")
        return text
