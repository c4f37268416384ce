"""The prompt tokens of a whole run beside aideml's, with the same programs in the same order.

    python benchmarks/prompt_tokens.py --aideml PYTHON [--steps 50] [--one-line]

``PYTHON`` is the interpreter of an environment in which ``aideml`` is installed. The programs are the twelve of the
scripted model server, varied and on 100 rows so that they are quick; two in twelve fail. Their plans are four
sentences, as both prompts ask for three to five, or with ``--one-line`` one; the server's reviews are one. Every
request of either run is counted, its tool's definition too, with the tokenizer of GPT-4o that litellm carries. Prints
tokens after 12 steps and after all, and the ratios (over 50 steps at most 1 is asked for).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

SHARED = Path(__file__).parents[1].parent / "shared"
GOAL = "Predict the sales price for each house."
EVALUATION = "Use the RMSE between the logarithms of predicted and observed prices."
AIDEML = """
import random, aide
random.seed(0)
experiment = aide.Experiment(data_dir={data!r}, goal={goal!r}, eval={evaluation!r})
experiment.cfg.agent.code.model = experiment.cfg.agent.feedback.model = "scripted"
experiment.run(steps={steps})
"""
PLAN = (
    " Missing numbers are filled with the median and missing categories with the commonest, inside each fold."
    " The logarithm of the price is modelled, since the score compares logarithms."
    " Out-of-fold predictions of five shuffled folds give the score, and the model is then fitted on all rows."
)
READ = 'pd.read_csv("./input/train.csv")'
SHORT = 'pd.read_csv("./input/train.csv", nrows=100).dropna(axis=1, thresh=80)'
FOLDS = "KFold(5, shuffle=True, random_state=0)"


def write_programs(folder: Path, count: int, *, one_line: bool) -> None:
    """The programs, in name order: each of the twelve again and again, with folds and a plan of its own."""
    given = [path.read_text() for path in sorted((SHARED / "bench" / "programs").glob("*.py"))]
    folder.mkdir()
    for number in range(count):
        plan, code = given[number % len(given)].split("\n", 1)
        if READ not in code or FOLDS not in code:
            raise SystemExit("The programs of the scripted server are not those that this benchmark knows.")
        code = code.replace(READ, SHORT).replace(FOLDS, FOLDS.replace("0)", f"{number})"))
        plan += f" Variation {number}." + ("" if one_line else PLAN)
        (folder / f"{number:03}.py").write_text(f"{plan}\n{code}")


@contextmanager
def model(programs: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The scripted model server; yields its base URL and the bodies of the requests that it has got."""
    spec = importlib.util.spec_from_file_location("llm_server", SHARED / "bench" / "llm_server.py")
    assert spec is not None and spec.loader is not None
    script: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    got: list[dict[str, Any]] = []

    class Recording(script.Handler):  # type: ignore[misc]
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            got.append(json.loads(body))
            whole, self.rfile = self.rfile, BytesIO(body)
            super().do_POST()
            self.rfile = whole

    Recording.script = script.Script(
        argparse.Namespace(
            programs=programs, fault=[], log=None, log_prompts=False, latency=0.0, hang=0.0, lower_is_better=True
        )
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recording)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", got
    finally:
        server.shutdown()
        server.server_close()


def requests(programs: Path, command: list[str], folder: Path, steps: int) -> list[dict[str, Any]]:
    """What a run asked the model: a proposal and a review at each step."""
    with model(programs) as (url, got):
        env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "JUPYTER_DATA_DIR": str(folder / "jupyter")}
        command = [word.replace("{url}", url) for word in command]
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, check=False
        )
    if done.returncode != 0 or len(got) != 2 * steps:
        raise SystemExit(f"{command[0]} made {len(got)} requests:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return got


def tokens(request: dict[str, Any]) -> int:
    """Tokens of a request's messages and of the tool that it offers."""
    import litellm

    texts = [str(message["content"]) for message in request["messages"]]
    if request.get("tools"):
        texts.append(json.dumps(request["tools"], separators=(",", ":")))
    return sum(litellm.token_counter(model="gpt-4o", text=text) for text in texts)


def main() -> None:
    """Run both, one after the other, and print what they sent."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--aideml", required=True, metavar="PYTHON")
    cli.add_argument("--steps", type=int, default=50)
    cli.add_argument("--one-line", action="store_true", help="plans of one sentence")
    asked = cli.parse_args()
    data = str(SHARED / "data" / "house_prices")
    code = AIDEML.format(goal=GOAL, evaluation=EVALUATION, data=data, steps=asked.steps)
    command = [sys.executable, "-m", "aide_jupyter", "run", "--data", data, "--goal", GOAL, "--eval", EVALUATION]
    command += ["--review", "auto", "--steps", str(asked.steps), "--workers", "1", "--no-report"]
    command += ["--model", "openai/scripted", "--base-url", "{url}"]
    with tempfile.TemporaryDirectory() as name:
        folder, programs = Path(name), Path(name) / "programs"
        write_programs(programs, asked.steps, one_line=asked.one_line)
        theirs = [tokens(one) for one in requests(programs, [asked.aideml, "-c", code], folder, asked.steps)]
        ours = [tokens(one) for one in requests(programs, command, folder, asked.steps)]
    for steps in sorted({min(12, asked.steps), asked.steps}):
        mine, other = sum(ours[: 2 * steps]), sum(theirs[: 2 * steps])
        print(f"{steps:3} steps  aideml {other:9,}  aide-jupyter {mine:9,}  ratio {mine / other:.2f}")


if __name__ == "__main__":
    main()
