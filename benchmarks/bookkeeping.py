"""What keeping a run's books costs per candidate, and that it does not grow with the run.

    python benchmarks/bookkeeping.py [--aideml PYTHON] [--candidates 1000]

Ours is all that happens per candidate beside the model and the program: choosing, the assignment, the records (signed,
on disk, anchored), the state, the notebook's cells and its file. aideml's is what it does per step for the same
purpose: its search policy, its summary, and saving the run. Prints milliseconds around the 100th candidate and the
last, and the ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from aide_jupyter import records as r
from aide_jupyter.audit.blobs import Blobs
from aide_jupyter.audit.journal import Journal, SigningKey
from aide_jupyter.audit.writer import NotebookWriter
from aide_jupyter.run_index import RunEntry, RunIndex
from aide_jupyter.search.operators import assignment
from aide_jupyter.search.policy import Default

CODE = "import pandas as pd\nfrom sklearn.linear_model import Ridge\n" + "x = 1  # a line of a program\n" * 60
AIDEML = """
import sys, time, statistics, tempfile, random
from pathlib import Path
from types import SimpleNamespace
import aide
from aide.journal import Journal, Node
from aide.utils.metric import MetricValue
from aide.utils.config import save_run, prep_cfg, _load_cfg
import os
folder = tempfile.mkdtemp(); os.chdir(folder); os.mkdir("data"); open("data/a.csv", "w").write("a\\n1\\n")
experiment = aide.Experiment(data_dir="data", goal="g")
agent, journal, cfg = experiment.agent, experiment.journal, experiment.cfg
code, times, total = {code!r}, [], int(sys.argv[1])
for number in range(total):
    measure = number >= total - 10 or 90 <= number < 100
    began = time.perf_counter()
    parent = agent.search_policy() if measure else None
    if measure:
        journal.generate_summary()
    node = Node(plan="a plan of a few sentences " * 8, code=code, parent=journal.nodes[-1] if number > 5 else None)
    node._term_out, node.exec_time, node.analysis = ["Validation metric: 0.5\\n"], 1.0, "what was learned " * 10
    node.is_buggy, node.metric = False, MetricValue(1.0 / (number + 1), maximize=False)
    journal.append(node)
    if measure:
        save_run(cfg, journal)
        times.append(1000 * (time.perf_counter() - began))
print(statistics.median(times[:10]), statistics.median(times[10:]))
"""


class Books:
    """A run whose model and programs take no time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        key = SigningKey.generate()
        opened = r.Opened(
            task=r.Task(goal="g", metric="rmse", direction="minimize", direction_source="test"),
            policy="default",
            seed=0,
            mode="auto",
            budgets=r.Budgets(steps=100_000),
            settings=r.Settings(),
            grants=r.Grants(),
            data=r.DataView(source="d", sha256="a" * 64, files=1, bytes=1, manifest=""),
            versions={},
            key=key.public,
        )
        run = "20261130t000000-0a0b0c0d"
        index = RunIndex(folder / "index")
        index.add(RunEntry(run=run, folder=folder))
        self.journal = Journal.create(folder / "run", run, key, opened, r.SYSTEM)
        self.blobs = Blobs(folder / "run")
        self.writer = NotebookWriter(folder / "run" / "audit.ipynb", self.blobs)
        index.anchor(run, self.journal.head.seq, self.journal.head.hash)
        self.writer.note(next(iter(_first(self.journal))))
        self.journal.on_append.append(lambda one: index.anchor(run, one.seq, one.hash))
        self.journal.on_append.append(self.writer.note)
        self.policy = Default()

    def candidate(self, number: int) -> None:
        """One whole life."""
        import random

        journal = self.journal
        choice = self.policy.choose(journal.state, random.Random(number))
        name, sha = f"c{number:04d}", r.sha256_text(CODE)
        tokens = r.Tokens(prompt=1000, completion=500)
        journal.append(r.Chosen(candidate=name, parent=choice.parent, operator=choice.operator, draw=number))
        assignment(journal.state, name, self.blobs.text)
        for call, purpose in ((2 * number, "author"), (2 * number + 1, "review")):
            for phase in ("reserved", "settled"):
                spent = {"call": call, "phase": phase, "purpose": purpose, "model": "m", "tokens": tokens, "cost": 0.0}
                journal.append(r.Spent.model_validate({**spent, "candidate": name}))
        journal.append(r.Proposed(candidate=name, plan="a plan of a few sentences " * 8, code=journal.text(CODE)))
        journal.append(
            r.Decided(candidate=name, code=sha, decision="approve", mode="auto", purposes=("search",), data="a" * 64)
        )
        journal.append(r.Started(candidate=name, code=sha, kernel="k", limits=r.Limits()))
        output = r.StreamOutput(name="stdout", text="Validation metric: 0.5\n")
        claimed = r.Claimed(reply="ok", metric=1 / number, outputs=(output,))
        journal.append(r.Finished(candidate=name, status="ok", observed=r.Observed(seconds=1), claimed=claimed))
        journal.append(r.Graded(candidate=name, source="reported", value=1 / number))
        journal.append(r.Reviewed(candidate=name, failed=False, summary="what was learned " * 10))


def _first(journal: Journal) -> list[r.Record]:
    from aide_jupyter.audit.chain import read_records

    return list(read_records(journal.folder / "journal.jsonl"))


async def ours(candidates: int) -> tuple[float, float]:
    """Median milliseconds per candidate around the 100th and at the end, the notebook's file written each time."""
    times = []
    with tempfile.TemporaryDirectory() as name:
        books = Books(Path(name))
        for number in range(1, candidates + 1):
            began = time.perf_counter()
            books.candidate(number)
            measured = number > candidates - 10 or 90 < number <= 100
            if measured or number == candidates - 10:
                await books.writer.flush_in_thread(force=True)
            if measured:
                times.append(1000 * (time.perf_counter() - began))
        books.journal.close()
    return statistics.median(times[:10]), statistics.median(times[10:])


def main() -> None:
    """Measure and print."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--aideml", metavar="PYTHON")
    cli.add_argument("--candidates", type=int, default=1000)
    options = cli.parse_args()
    early, late = asyncio.run(ours(options.candidates))
    print(f"aide-jupyter {early:8.1f} ms at 100, {late:8.1f} ms at {options.candidates}: grew by {late / early:.2f}")
    if options.aideml:
        command = [options.aideml, "-c", AIDEML.format(code=CODE), str(options.candidates)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        print(f"aideml       {float(said[-2]):8.1f} ms at 100, {float(said[-1]):8.1f} ms at {options.candidates}")
        print(f"ratio at {options.candidates}: {late / float(said[-1]):.3f}")


if __name__ == "__main__":
    main()
