"""How long prompts are over a run: flat from the 20th step on, and few tokens in all.

    python benchmarks/prompt_size.py [--steps 100] [--data FOLDER] [--programs FOLDER]

It builds the prompts that a run would send (an author's and a reviewer's at each step), without a model and without
running anything: programs come from ``--programs`` in turn, every sixth of them has failed. Tokens are characters / 4.
The last two lines are the ratio of the 100th author prompt to the 20th (of the same operator), and tokens in all.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from aide_jupyter import records as r
from aide_jupyter.data.preview import preview
from aide_jupyter.llm.prompts import Messages, author_messages, reviewer_messages
from aide_jupyter.preparing import DATA_CHARS
from aide_jupyter.task import Assignment, Attempt, Memory

TASK = r.Task(
    goal="Predict the final price of each home in the test set from its features.",
    evaluation="Root mean squared error between the logarithms of predicted and observed prices.",
    metric="rmse",
    direction="minimize",
    direction_source="the metric",
    target="SalePrice",
    id_column="Id",
)
TRACEBACK = "Traceback (most recent call last)\n" + "  File input.py, line 12, in <module>\n" * 6 + "KeyError: 'Price'"
PACKAGES = ("numpy 2.3", "pandas 3.0", "scikit-learn 1.9", "scipy 1.16", "polars 1.30", "pyarrow 21.0")


def attempt(number: int, programs: list[str]) -> Attempt:
    """The candidate of one step, as a later prompt tells of it."""
    failed = number % 6 == 5
    code = programs[number % len(programs)]
    plan = code.splitlines()[0].lstrip("# ") if code else "Ridge on the numeric columns."
    output = TRACEBACK if failed else f"fold scores ...\nValidation metric: {0.2 - number / 1000}"
    summary = "The run failed." if failed else "The run finished and printed its metric."
    value = None if failed else 0.2 - number / 1000
    return Attempt(f"c{number:04}", "improve", plan, code, output, value, failed, summary)


def author(step: int, steps: int, data: dict[str, object], programs: list[str]) -> Messages:
    """The author's prompt at one step: five drafts, then fixes of what failed and improvements of the best."""
    tried = [attempt(number, programs) for number in range(1, step)]
    memory = tuple(Memory(one.id, one.plan, one.value, one.summary) for one in tried[-12:])
    families = tuple(f"family {number}" for number in range(min(step, 16)))
    last = tried[-1] if tried else None
    if step <= 5 or last is None:
        one = Assignment(f"c{step:04}", "draft", step, steps, memory=memory, families=families)
    elif last.failed:
        one = Assignment(f"c{step:04}", "debug", step, steps, parent=last, fixes=(last,), memory=memory)
    else:
        one = Assignment(f"c{step:04}", "improve", step, steps, parent=last, memory=memory)
    return author_messages(TASK, r.Settings(), one, data=data, packages=PACKAGES)


def characters(messages: Messages) -> int:
    """How long the contents of a request are together."""
    return sum(len(message["content"]) for message in messages)


def main() -> None:
    """Print the sizes."""
    shared = Path(__file__).parents[2] / "shared"
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--steps", type=int, default=100)
    cli.add_argument("--data", type=Path, default=shared / "data" / "house_prices")
    cli.add_argument("--programs", type=Path, default=shared / "bench" / "programs")
    asked = cli.parse_args()
    programs = [path.read_text(encoding="utf-8") for path in sorted(asked.programs.glob("*.py"))]
    data = json.loads(preview(asked.data, "statistics", target=TASK.target, limit=DATA_CHARS).text())
    total = {50: 0, asked.steps: 0}
    sizes: dict[int, int] = {}
    for step in range(1, asked.steps + 1):
        sizes[step] = characters(author(step, asked.steps, data, programs))
        read = reviewer_messages(TASK, attempt(step, programs), status="ok", seconds=3.0)
        for last in total:
            total[last] += sizes[step] + characters(read) if step <= last else 0
    for step in (1, 2, 5, 10, 20, 50, asked.steps):
        if step in sizes:
            print(f"step {step}: {sizes[step]} characters")
    late = max(sizes[step] for step in sizes if step > asked.steps - 6)
    early = max(sizes[step] for step in range(15, 21))
    print(f"prompt of step {asked.steps} / step 20: {late / early:.3f}")
    print("; ".join(f"prompt tokens over {last} steps: {total[last] // 4}" for last in sorted(total)))


if __name__ == "__main__":
    main()
