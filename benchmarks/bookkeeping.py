"""What keeping a run's books costs per candidate, and that it does not grow with the run.

    python benchmarks/bookkeeping.py [--aideml PYTHON] [--candidates 1000]

The real engine, search, prompts, review, journal, index and notebook, with a model and programs that take no time. What
is measured is all that happens between a program's end and the next program's start. The notebook is written once for
each candidate, when it has come to its end, as long as its calls and its program take less than the 20 s after which
its steps are written too; then up to three times, which is measured as well. In a run it is written by a thread while
they go on; here it counts.

aideml's is its own step, with a model and programs that take no time either, and the saving that its
``Experiment.run`` does after each. Both have the same made-up numbers, of which every sixth program has none.

Prints medians of 20 candidates, in milliseconds, up to the 100th and the last, and the ratios. Ours waits for the disk
after each record, aideml never does; so on a machine whose disk others use, the processor's time tells more.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aide_jupyter import records as r
from aide_jupyter.audit.chain import read_records
from aide_jupyter.audit.journal import JOURNAL, Blobs, Journal, SigningKey
from aide_jupyter.audit.redact import Redactor
from aide_jupyter.audit.writer import NotebookWriter
from aide_jupyter.engine import Engine
from aide_jupyter.llm.replies import Program, Review
from aide_jupyter.review.gate import Reviews
from aide_jupyter.run_index import RunEntry, RunIndex
from aide_jupyter.sandbox.outcome import CellRun, Execution
from aide_jupyter.search.policy import Default
from aide_jupyter.steering import Parts

WINDOW = 20
RUN = "20261130t000000-0a0b0c0d"
CODE = "import pandas as pd\nfrom sklearn.linear_model import Ridge\n" + "x = 1  # a line of a program\n" * 60
PLAN = "a plan of a few sentences " * 8
LEARNED = "what was learned " * 10
AIDEML = """
import os, random, statistics, sys, time
import aide, aide.agent
from aide.interpreter import ExecutionResult
from aide.utils.config import save_run
total, window, code, plan, learned = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
os.mkdir("data")
open("data/a.csv", "w").write("a\\n1\\n")
experiment = aide.Experiment(data_dir="data", goal="g")
number, times, cpu = 0, [], []
def execute(program, reset):
    return ExecutionResult(["Validation metric: 0.5\\n"], 1.0, None if number % 6 else "ValueError")
def review(**prompt):
    value = random.Random(number).random()
    return {"is_bug": number % 6 == 0, "summary": learned, "metric": value, "lower_is_better": True}
aide.agent.query = review
experiment.agent.plan_and_code_query = lambda prompt: (plan, f"{code}# {number}\\n")
for number in range(1, total + 1):
    began, worked = time.perf_counter(), time.process_time()
    experiment.agent.step(exec_callback=execute)
    if number > total - window or 100 - window < number <= 100:
        save_run(experiment.cfg, experiment.journal)
        times.append(1000 * (time.perf_counter() - began))
        cpu.append(1000 * (time.process_time() - worked))
print(*(statistics.median(part) for all in (times, cpu) for part in (all[:window], all[window:])))
"""


class Books:
    """A run, and what stands for its models and kernels. It keeps the time that passes between two programs.

    Attributes
    ----------
    between, working, writing
        Milliseconds between the last program's end and this one's start, the processor's time of that, and how much of
        the first was the notebook's writing, by the number of the program; where that is measured.
    """

    kernel_id = "k"

    def __init__(self, folder: Path, candidates: int, *, slow: bool) -> None:
        key = SigningKey.generate()
        opened = r.Opened(
            task=r.Task(goal="g", metric="rmse", direction="minimize", direction_source="test"),
            policy="default",
            seed=0,
            mode="auto",
            budgets=r.Budgets(steps=candidates, tokens=10**12, seconds=1e9),
            settings=r.Settings(),
            grants=r.Grants(),
            data=r.DataView(source="d", sha256="a" * 64, files=1, bytes=1, manifest=""),
            versions={},
            key=key.public,
        )
        index = RunIndex(folder / "index")
        index.add(RunEntry(run=RUN, folder=folder))
        self.journal = Journal.create(folder / "run", RUN, key, opened, r.SYSTEM)
        blobs = Blobs(folder / "run")
        records = read_records(folder / "run" / JOURNAL)
        self.writer = NotebookWriter(folder / "run" / "audit.ipynb", blobs, records)
        index.anchor(RUN, self.journal.head.seq, self.journal.head.hash)
        self.journal.on_append.append(lambda one: index.anchor(RUN, one.seq, one.hash))
        self.journal.on_append.append(self.writer.note)
        self.candidates, self.folder, self.slow = candidates, folder / "run", slow
        self.programs = self.calls = 0
        self.between: dict[int, float] = {}
        self.working: dict[int, float] = {}
        self.writing: dict[int, float] = {}
        self._ended = self._worked = self._wrote = 0.0

    async def go(self) -> None:
        """The whole run."""
        parts = Parts(
            folder=self.folder,
            journal=self.journal,
            trail=self.writer.trail,
            policy=Default(),
            gateway=self,  # type: ignore[arg-type]
            pool=self,  # type: ignore[arg-type]
            reviews=Reviews(),
            redactor=Redactor({"SOME_KEY": "correct-horse-battery-staple"}),
        )
        await Engine(parts, _no_finish).run()

    def _measured(self) -> bool:
        """Whether the time up to the next program counts; the write before the first such is not for it."""
        return self.programs + 1 > self.candidates - WINDOW or 100 - WINDOW < self.programs + 1 <= 100

    async def _write(self) -> None:
        if self._measured():
            began = time.perf_counter()
            await self.writer.flush_in_thread(force=True)
            self._wrote += 1000 * (time.perf_counter() - began)

    # What the engine asks of a gateway.

    async def author(self, choice: r.ModelChoice, messages: Any, *, candidate: str) -> Program:
        """A program."""
        await self._spend(candidate, "author")
        return Program(PLAN, f"{CODE}# {self.programs + 1}\n")

    async def review(self, choice: r.ModelChoice, messages: Any, *, candidate: str) -> Review:
        """What was learned."""
        await self._spend(candidate, "review")
        return Review(self.programs % 6 == 0, LEARNED)

    async def _spend(self, candidate: str, purpose: str) -> None:
        self.calls += 1
        spent = r.Spent(
            call=self.calls,
            phase="reserved",
            purpose=purpose,
            model="m",
            tokens=r.Tokens(prompt=1000, completion=500),
            cost=0.0,
            candidate=candidate,
        )
        self.journal.append(spent)
        if self.slow or purpose == "author":
            await self._write()
        self.journal.append(spent.model_copy(update={"phase": "settled"}))

    # What the engine asks of a pool and a kernel.

    def expect(self, programs: int) -> None:
        """No kernel has to be ready."""

    async def acquire(self) -> Books:
        """The one kernel."""
        return self

    async def close(self) -> None:
        """It goes on."""

    async def run_cells(
        self, cells: Sequence[str], limits: r.Limits, on_output: Any, on_text: Callable[[str], None], keep: Any
    ) -> CellRun:
        """A program that takes no time."""
        if self.slow:
            await self._write()
        counted = self._measured()
        self.programs += 1
        if counted:
            self.between[self.programs] = 1000 * (time.perf_counter() - self._ended)
            self.working[self.programs] = 1000 * (time.process_time() - self._worked)
            self.writing[self.programs] = self._wrote
        text = f"Validation metric: {random.Random(self.programs).random()}\n"
        outputs: list[Any] = [r.StreamOutput(name="stdout", text=text)]
        if self.programs % 6 == 0:
            outputs.append(r.ErrorOutput(name="ValueError", message="no", traceback="Traceback\nValueError: no\n"))
        on_text(text)
        execution = Execution("ok" if self.programs % 6 else "error", "k", Path("none"), 1.0, "ok", tuple(outputs))
        self._wrote, self._ended, self._worked = 0.0, time.perf_counter(), time.process_time()
        return CellRun(execution, [outputs])


async def _no_finish(engine: Engine, why: str) -> None:
    """The export and the report are made once."""


@dataclass(frozen=True)
class Cost:
    """Median milliseconds per candidate, up to the 100th and up to the last."""

    early: float
    late: float

    @classmethod
    def of(cls, times: Sequence[float]) -> Cost:
        """The cost of two windows."""
        return cls(statistics.median(times[:WINDOW]), statistics.median(times[WINDOW:]))

    def told(self, name: str) -> str:
        """In a line."""
        grew = self.late / self.early
        return f"{name:<42}{self.early:8.1f} ms at 100 {self.late:8.1f} ms at the end, grew by {grew:.2f}"


def ours(candidates: int, *, slow: bool) -> tuple[Cost, Cost, Cost]:
    """What the books cost: all, without the writing of the notebook, and the processor's time of all."""
    with tempfile.TemporaryDirectory() as name:
        books = Books(Path(name), candidates, slow=slow)
        asyncio.run(books.go())
        books.journal.close()
    rest = [whole - books.writing[number] for number, whole in books.between.items()]
    return Cost.of(list(books.between.values())), Cost.of(rest), Cost.of(list(books.working.values()))


def theirs(python: str, candidates: int) -> tuple[Cost, Cost]:
    """What aideml's books cost, and the processor's time of that."""
    given = [str(candidates), str(WINDOW), CODE, PLAN, LEARNED]
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([python, "-c", AIDEML, *given], capture_output=True, text=True, check=False, cwd=folder)
    if ran.returncode:
        raise SystemExit(f"aideml failed:\n{ran.stderr[-2000:]}")
    early, late, early_work, late_work = (float(word) for word in ran.stdout.split()[-4:])
    return Cost(early, late), Cost(early_work, late_work)


def main() -> None:
    """Measure and print."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--aideml", metavar="PYTHON")
    cli.add_argument("--candidates", type=int, default=1000)
    options = cli.parse_args()
    whole, rest, work = ours(options.candidates, slow=False)
    print(whole.told("aide-jupyter"))
    print(rest.told("  but for the notebook"))
    print(work.told("  the processor's time of all"))
    thrice = ours(options.candidates, slow=True)[0]
    print(thrice.told("  with three writes of the notebook"))
    if options.aideml:
        aideml, their_work = theirs(options.aideml, options.candidates)
        print(aideml.told("aideml"))
        print(their_work.told("  the processor's time of all"))
        print(f"ratio at the end: {whole.late / aideml.late:.3f}, but for the notebook {rest.late / aideml.late:.3f}")
        print(f"ratio with three writes of the notebook: {thrice.late / aideml.late:.3f}")
        print(f"ratio of the processor's time at the end: {work.late / their_work.late:.3f}")


if __name__ == "__main__":
    main()
