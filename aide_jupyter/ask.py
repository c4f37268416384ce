"""Review in a terminal: what changed, why it is asked about, the program, then approve, edit or reject.

What a model or data wrote is shown with its invisible characters made visible. An empty line decides nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from . import records as r
from .errors import AideError
from .progress import Progress
from .review.gate import Question
from .run import Run
from .untrusted import Untrusted

CODE_CHARS = 200_000
_HELP = "[a]pprove  [e]dit  [r]eject  [c]ode  [d]iff  [p]ause the run and leave"


@contextlib.asynccontextmanager
async def watched(run: Run, console: Console) -> AsyncIterator[None]:
    """Show a run's progress while it works, and ask in the same terminal where somebody can answer."""
    engine = run.engine
    progress = Progress(console, lambda: engine.state, engine.blobs.text)
    engine.journal.on_append.append(progress.record)
    with progress:
        async with Questions(run, console, progress) if engine.parts.can_ask else contextlib.nullcontext():
            yield


class Questions:
    """Asks about each program that waits, one at a time. Used as an async context around a run."""

    def __init__(self, run: Run, console: Console, progress: Progress) -> None:
        self._run = run
        self._console = console
        self._progress = progress
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Questions:
        self._run.engine.parts.reviews.on_change.append(self._changed.set)
        self._task = asyncio.create_task(self._ask_all())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _ask_all(self) -> None:
        reviews = self._run.engine.parts.reviews
        while True:
            self._changed.clear()
            if waiting := reviews.waiting():
                with self._progress.aside():
                    await self._ask(waiting[0], len(waiting) - 1)
            else:
                await self._changed.wait()

    async def _ask(self, question: Question, more: int) -> None:
        """One question, until it is decided here or elsewhere."""
        self._show(question, more)
        engine = self._run.engine
        while question in engine.parts.reviews.waiting():
            self._console.print(f"{question.candidate}: {_HELP} > ", end="", markup=False)
            answer = await self._line(question)
            try:
                match answer.strip().lower():
                    case "a" | "approve":
                        self._decide(question, "approve")
                    case "r" | "reject":
                        self._console.print("Why (the agent is told) > ", end="")
                        self._decide(question, "reject", (await self._line(question)).strip())
                    case "e" | "edit":
                        self._decide(question, "edit", code=await self._edited(question))
                    case "c" | "code":
                        self._code(question)
                    case "d" | "diff":
                        self._diff(question)
                    case "p" | "pause":
                        engine.leave("paused from the terminal", self._run.actor)
            except AideError as error:
                self._console.print(str(error), style="red", markup=False)

    def _decide(self, question: Question, decision: r.Decision, reason: str = "", code: str | None = None) -> None:
        secret = None if code is None else self._run.engine.parts.redactor.contains_secret(code)
        if secret is not None:
            raise AideError(
                f"The edited program holds the value of the secret {secret}.", "Take it out, then edit again."
            )
        self._run.engine.parts.reviews.decide(
            question.candidate, question.nonce, question.code, decision, self._run.actor, reason, code
        )

    def _show(self, question: Question, more: int) -> None:
        engine = self._run.engine
        node = engine.state.candidates[question.candidate]
        title = f"{node.id} waits for your decision" + (f" ({more} more wait)" if more else "")
        risky = any(flag.severity == "danger" for flag in node.flags)
        self._console.rule(title, style="bold red" if risky else "yellow")
        parent = f" of {node.parent}" if node.parent else ""
        self._print(f"{node.operator}{parent} · runs in a restricted kernel for at most {self._seconds():g} s")
        self._print(f"sha256 of what will run: {question.code}", "dim")
        self._diff(question) if node.parent else self._code(question)
        self._print(f"Why you are asked: {question.reason}", "yellow")
        for flag in node.flags:
            self._print(f"  line {flag.line}: {flag.message}", "bold red" if flag.severity == "danger" else "yellow")
        plan = Untrusted(engine.blobs.text(node.plan), "plan").render(2000)
        self._print(f"The model's own words: {plan}", "dim")

    def _seconds(self) -> float:
        return self._run.engine.opened.settings.limits.seconds

    def _code(self, question: Question) -> None:
        for number, line in enumerate(self._lines(question.candidate), 1):
            self._print(f"{number:4} {line}")

    def _diff(self, question: Question) -> None:
        parent = self._run.engine.state.candidates[question.candidate].parent
        if parent is None:
            return self._code(question)
        before, after = self._lines(parent), self._lines(question.candidate)
        for line in difflib.unified_diff(before, after, parent, question.candidate, lineterm="", n=3):
            self._print(line, {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], ""))
        return None

    def _lines(self, candidate: str) -> list[str]:
        engine = self._run.engine
        code = engine.blobs.text(engine.state.candidates[candidate].code)
        return Untrusted(code, "program").render(CODE_CHARS).split("\n")

    async def _edited(self, question: Question) -> str:
        """The program as the person leaves it in their editor."""
        engine = self._run.engine
        editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        with tempfile.TemporaryDirectory(prefix="aide-edit-") as folder:
            path = Path(folder) / f"{question.candidate}.py"
            path.write_text(engine.blobs.text(engine.state.candidates[question.candidate].code), encoding="utf-8")
            try:
                process = await asyncio.create_subprocess_exec(*editor, str(path))
            except OSError as error:
                raise AideError(
                    f"The editor {editor[0]} cannot be started: {error.strerror}.", "Set EDITOR to one that is there."
                ) from error
            await process.wait()
            return path.read_text(encoding="utf-8")

    async def _line(self, question: Question) -> str:
        """A line from the terminal; empty as soon as the question is closed elsewhere."""
        loop = asyncio.get_running_loop()
        typed: asyncio.Future[str] = loop.create_future()

        def read() -> None:
            line = sys.stdin.readline()
            if not typed.done():
                typed.set_result(line or "p\n")

        loop.add_reader(sys.stdin, read)
        try:
            while not typed.done() and question in self._run.engine.parts.reviews.waiting():
                self._changed.clear()
                changed = asyncio.ensure_future(self._changed.wait())
                waits: list[asyncio.Future[Any]] = [typed, changed]
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
            return typed.result() if typed.done() else ""
        finally:
            loop.remove_reader(sys.stdin)

    def _print(self, words: str, style: str = "") -> None:
        self._console.print(Text(words, style=style), soft_wrap=True, highlight=False)
