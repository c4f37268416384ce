"""The life of a candidate, as one function: :meth:`Living.live`.

Each step of that life writes its record before or as its effect happens, and is skipped where its record exists. So
resuming after a crash is the same function, called for the candidates that the journal has left unfinished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from . import records as r
from .audit.export import Rerun
from .audit.lines import clean
from .directing import PURPOSES, Directed
from .errors import BudgetSpent, ModelError, ModelUnusable
from .grading.metrics import MetricReader
from .llm.prompts import author_messages, reviewer_messages
from .llm.replies import Program
from .recording import LiveOutput
from .review.gate import Verdict, needs_person
from .sandbox.outcome import CellRun, check_program
from .sandbox.tree import remove
from .search.operators import assignment, attempt
from .state import Candidate
from .steering import Cancelled, Leaving, Parts
from .task import Attempt
from .untrusted import Untrusted


class Living(Directed):
    """A run whose candidates can be lived through; :class:`.engine.Engine` is one, and says which and when.

    No more programs run at once than the run has workers. ``reviewing`` are the reviews that are out.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.reviewing: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(self.opened.settings.workers)
        self._export_begun = False
        self._unwanted: set[str] = set()

    async def live(self, candidate: str) -> None:
        """All that happens to one candidate, from wherever its records have left it.

        The review is begun, and stands in ``reviewing`` until it is done: the worker need not wait for it.
        """
        node = self.state.candidates[candidate]
        if "proposed" not in node.seqs:
            await self.propose(node)
        if node.error is not None:
            return
        if node.decided is None:
            await self.decide(node)
        if node.stage in ("rejected", "edited"):
            return
        if node.finished is None:
            await self.execute(node)
        if node.grade is None:
            self.grade(node)
        if node.review is None:
            review = asyncio.create_task(self.guarded(self.review(node)))
            self.reviewing.add(review)
            review.add_done_callback(self.reviewing.discard)

    async def propose(self, node: Candidate) -> None:
        """Ask the author for a plan and a program."""
        settings = self.opened.settings
        author = r.Actor(kind="agent", name="author", model=settings.code.model)
        work = assignment(self.state, node.id, self.blobs.text)
        messages = author_messages(
            self.opened.task,
            settings,
            work,
            data=self.parts.preview,
            data_chars=self.parts.preview_chars,
            packages=self.parts.packages,
            grants=self.opened.grants,
            test_rows=self.parts.test_rows,
        )
        try:
            if self._ending is not None:
                raise Cancelled(self._ending)
            program = await self._call(self.parts.gateway.author(settings.code, messages, candidate=node.id))
        except ModelUnusable:
            raise
        except (BudgetSpent, ModelError) as error:
            self._note_budget(error)
            self._no_program(node, error.message, author)
        except Cancelled as why:
            self._no_program(node, f"The run was stopped before a program was written: {why}.", r.SYSTEM)
        else:
            parent = () if work.parent is None else (work.parent,)
            self._proposed(node, program, author, (*parent, *work.fixes, *work.others))

    def _proposed(self, node: Candidate, program: Program, author: r.Actor, shown: tuple[Attempt, ...]) -> None:
        """Record the program. One that holds a secret is refused: only its hash and the reason are recorded.

        ``shown`` are the candidates that the author was shown; what is suspicious about them taints the program.
        """
        code = clean(program.code)
        if secret := self.parts.redactor.contains_secret(code):
            digest = r.sha256_text(code)
            why = f"The program (sha256 {digest}) holds the value of the secret {secret}. It was refused."
            return self._no_program(node, why, author)
        inherited = [reason for one in shown for reason in self.state.candidates[one.id].tainted]
        printed = [reason for one in shown for reason in Untrusted(one.output, "program output").taints()]
        reasons = (*self.parts.preview_taints, *inherited, *printed)
        body = r.Proposed(
            candidate=node.id,
            plan=self.recording.text(program.plan),
            code=self.journal.text(code),
            tainted=tuple(dict.fromkeys(reasons))[:8],
        )
        self.journal.append(body, author)
        return None

    async def decide(self, node: Candidate) -> None:
        """Flag risks; ask a person, or let the run's mode decide. Records what was decided about these bytes."""
        found = self._flags(self.blobs.text(node.code))
        reason = needs_person(self.state, node, found, self.state.mode)
        if self._ending is not None:
            self._decided(node, "reject", r.SYSTEM, f"The run was stopped: {self._ending}.", found)
        elif reason is None:
            mode = r.Actor(kind="policy", name=f"review mode {self.state.mode}")
            self._decided(node, "approve", mode, "", found)
        elif not self.parts.can_ask:
            nobody = r.Actor(kind="policy", name="nobody can be asked")
            self._decided(node, "reject", nobody, f"A person must decide, and nobody can be asked. {reason}", found)
        else:
            if node.stage != "waiting":
                self.journal.append(r.Asked(candidate=node.id, code=node.code_sha256, flags=found))
            verdict = await self.parts.reviews.ask(
                node.id, code=node.code_sha256, data=self.opened.data.sha256, purposes=PURPOSES, reason=reason
            )
            if verdict is None:
                raise Leaving
            await self._take_verdict(node, verdict, found)

    async def execute(self, node: Candidate) -> None:
        """Run the approved bytes in a fresh restricted kernel."""
        code = self.blobs.text(node.code)
        async with self._slots:
            await self._wait_out_a_pause()
            if self._ending is not None:
                body = r.Finished(candidate=node.id, status="stopped", observed=r.Observed(seconds=0))
            elif problem := check_program(code):
                error = r.ErrorOutput(name="SyntaxError", message=self.recording.text(problem), traceback="")
                seen = r.Observed(seconds=0)
                body = r.Finished(candidate=node.id, status="error", observed=seen, claimed=r.Claimed(outputs=(error,)))
            else:
                metric = MetricReader()
                ran = await self._run_cells(node, [code], "search", metric)
                body = self.recording.finished(node.id, ran.execution, metric, "search")
            self.journal.append(body)

    def grade(self, node: Candidate) -> None:
        """Record the number: the last ``Validation metric:`` of a program that ended well."""
        assert node.finished is not None
        claimed, status = node.finished.claimed, node.finished.status
        value, error = (claimed.metric if status == "ok" else None), None
        if status != "ok":
            error = f"The program did not end well: {status}."
        elif value is None and claimed.metric_text is not None:
            error = f"The printed metric is no finite number: {claimed.metric_text}"
        elif value is None:
            error = "The program printed no line “Validation metric: <number>”."
        metric = self.opened.task.metric
        self.journal.append(r.Graded(candidate=node.id, source="reported", metric=metric, value=value, error=error))

    async def review(self, node: Candidate) -> None:
        """Ask the reviewer what was learned. Its words can mark a candidate as failed; they never give a number."""
        assert node.finished is not None
        settings, finished = self.opened.settings, node.finished
        failed, summary, actor = finished.status != "ok" or node.value is None, "", r.SYSTEM
        messages = reviewer_messages(
            self.opened.task,
            attempt(node, self.blobs.text),
            status=finished.status,
            seconds=finished.observed.seconds,
            limit=finished.observed.limit,
        )
        try:
            if self.killed or finished.status in ("stopped", "unknown"):
                raise Cancelled(f"its execution ended as {finished.status}")
            found = await self._call(self.parts.gateway.review(settings.feedback, messages, candidate=node.id))
        except ModelUnusable:
            raise
        except (BudgetSpent, ModelError) as error:
            self._note_budget(error)
            summary = f"Not reviewed: {error.message}"
        except Cancelled as why:
            summary = f"Not reviewed: {why}."
        else:
            failed, summary = failed or bool(found.failed), found.summary
            actor = r.Actor(kind="agent", name="reviewer", model=settings.feedback.model)
        body = r.Reviewed(candidate=node.id, failed=failed, summary=self.recording.text(summary))
        self.journal.append(body, actor)

    async def run_again(self, node: Candidate, cells: Sequence[str]) -> Rerun:
        """Run an approved program once more, cell by cell, for the exported solution."""
        metric = MetricReader()
        self._export_begun = True
        async with self._slots:
            ran = await self._run_cells(node, cells, "export", metric)
        await asyncio.to_thread(remove, ran.execution.workspace)
        self.journal.append(self.recording.finished(node.id, ran.execution, metric, "export"))
        outputs = tuple(self.recording.outputs(one)[0] for one in ran.outputs)
        value = metric.value if ran.execution.status == "ok" else None
        return Rerun(ran.execution.status, outputs, value)

    # The small parts.

    async def _take_verdict(self, node: Candidate, verdict: Verdict, found: tuple[r.Flag, ...]) -> None:
        """Record a person's decision. An edit is a new candidate of theirs, approved by the same act."""
        if verdict.code is None:
            return self._decided(node, verdict.decision, verdict.actor, verdict.reason, found)
        if secret := self.parts.redactor.contains_secret(verdict.code):
            why = f"The edited program holds the value of the secret {secret}. It was refused."
            return self._decided(node, "reject", verdict.actor, why, found)
        edited = f"c{len(self.state.candidates) + 1:04d}"
        self.journal.append(r.Chosen(candidate=edited, parent=node.parent, operator=node.operator), verdict.actor)
        code = self.journal.text(verdict.code)
        body = r.Proposed(candidate=edited, plan=node.plan, code=code, edit_of=node.id, tainted=node.tainted)
        self.journal.append(body, verdict.actor)
        self._decided(node, "edit", verdict.actor, verdict.reason, found)
        again = self._flags(self.blobs.text(code))
        self._decided(self.state.candidates[edited], "approve", verdict.actor, verdict.reason, again)
        return await self.live(edited)

    def _no_program(self, node: Candidate, why: str, actor: r.Actor) -> None:
        body = r.Proposed(candidate=node.id, plan="", code="", error=self.recording.words(why))
        self.journal.append(body, actor)

    async def _run_cells(
        self, node: Candidate, cells: Sequence[str], purpose: r.Purpose, metric: MetricReader
    ) -> CellRun:
        """One execution. ``started`` is on disk before the code is sent, and names the code that was decided on."""
        self.parts.check_data()
        self.parts.pool.expect(self._programs_to_come(purpose))
        kernel = await self.parts.pool.acquire()
        self._kernels[node.id] = kernel
        if self.killed or node.id in self._unwanted:
            kernel.stop()
        try:
            limits = self._limits()
            code, name = node.code_sha256, kernel.kernel_id
            started = r.Started(candidate=node.id, code=code, kernel=name, limits=limits, purpose=purpose)
            self.journal.append(started)

            live = LiveOutput(self.parts.redactor, lambda at, text: self.parts.on_output(node.id, at, text))
            keep = self.parts.folder / "candidates" / node.id if purpose == "search" else None
            ran = await kernel.run_cells(cells, limits, live.feed, metric.feed, keep)
            live.end()
            return ran
        finally:
            del self._kernels[node.id]
            await kernel.close()

    def _programs_to_come(self, purpose: r.Purpose) -> int:
        """How many programs may still be run, the one that is about to start and the export's included."""
        steps = 0 if self._ending is not None else max(0, self.state.budgets.steps - self.state.steps)
        begun = sum("started" not in self.state.candidates[one].seqs for one in self.state.unfinished)
        export = purpose == "export" or not self._export_begun
        return steps + begun + export

    def _limits(self) -> r.Limits:
        """The program's limits. Its seconds never exceed what is left of the run's time."""
        limits = self.opened.settings.limits
        left = self.state.budgets.seconds - self.state.active_seconds
        return limits.model_copy(update={"seconds": max(1.0, min(limits.seconds, left))})

    def _note_budget(self, error: Exception) -> None:
        if isinstance(error, BudgetSpent) and self._ending is None:
            self.journal.append(r.Limited(what=error.what, limit=error.limit, value=error.needed))
            self.stop(f"the budget of {error.limit:g} {error.what} was reached")
