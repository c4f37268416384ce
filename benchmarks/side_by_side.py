"""A whole run beside aideml's: the same twelve programs, the same model latency, the same data.

    python benchmarks/side_by_side.py --aideml PYTHON [--latency 1] [--steps 12] [--workers 2] [--times 3]

``PYTHON`` is the interpreter of an environment in which ``aideml`` is installed. Prints the wall time of each, from
start to exit, and the prompt tokens that each sent; both run in turn, some times, since one run can take a third longer
than the next. The ratio is that of the medians (at most 0.5 is asked for with two workers). Both runs are without a
report; ours ends with the exported solution, run once more. Both packages are compiled, as pip does it.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHARED = Path(__file__).parents[1].parent / "shared"
GOAL = "Predict the sales price for each house."
EVALUATION = "Use the RMSE between the logarithms of predicted and observed prices."
AIDEML = """
import aide
experiment = aide.Experiment(data_dir={data!r}, goal={goal!r}, eval={evaluation!r})
experiment.cfg.agent.code.model = experiment.cfg.agent.feedback.model = "scripted"
solution = experiment.run(steps={steps})
print(solution.valid_metric)
"""


@contextmanager
def model(log: Path, latency: float) -> Iterator[str]:
    """A scripted model server; yields its base URL."""
    command = [sys.executable, str(SHARED / "bench" / "llm_server.py"), "--latency", str(latency), "--log", str(log)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()


def timed(command: list[str], folder: Path, env: dict[str, str]) -> float:
    """Wall seconds of a command that must succeed."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return seconds


def prompt_tokens(log: Path) -> int:
    """Characters of all prompts / 4."""
    return sum(json.loads(line)["prompt_chars"] for line in log.read_text().splitlines()) // 4


def main() -> None:
    """Run both in turn, and print the ratio."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--aideml", required=True, metavar="PYTHON")
    cli.add_argument("--latency", type=float, default=1.0)
    cli.add_argument("--steps", type=int, default=12)
    cli.add_argument("--workers", type=int, default=2)
    cli.add_argument("--times", type=int, default=3)
    options = cli.parse_args()
    compileall.compile_dir(Path(__file__).parents[1] / "aide_jupyter", quiet=1)
    both = [pair(options) for _ in range(options.times)]
    theirs, ours = (statistics.median(times) for times in zip(*both, strict=True))
    print(f"medians      {ours:.1f} s against {theirs:.1f} s, ratio {ours / theirs:.2f}")


def pair(options: argparse.Namespace) -> tuple[float, float]:
    """Run both, one after the other; the wall seconds of aideml, and ours."""
    data = str(SHARED / "data" / "house_prices")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with model(folder / "theirs.jsonl", options.latency) as url:
            code = AIDEML.format(goal=GOAL, evaluation=EVALUATION, data=data, steps=options.steps)
            theirs = timed([options.aideml, "-c", code], folder, {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"})
        print(f"aideml       {theirs:6.1f} s  {prompt_tokens(folder / 'theirs.jsonl'):,} prompt tokens", flush=True)
        with model(folder / "ours.jsonl", options.latency) as url:
            command = [sys.executable, "-m", "aide_jupyter", "run", "--data", data, "--goal", GOAL]
            command += ["--eval", EVALUATION, "--review", "auto", "--no-report", "--steps", str(options.steps)]
            command += ["--workers", str(options.workers), "--model", "openai/scripted", "--base-url", url]
            ours = timed(command, folder, {"JUPYTER_DATA_DIR": str(folder / "jupyter")})
        print(f"aide-jupyter {ours:6.1f} s  {prompt_tokens(folder / 'ours.jsonl'):,} prompt tokens", flush=True)
    return theirs, ours


if __name__ == "__main__":
    main()
