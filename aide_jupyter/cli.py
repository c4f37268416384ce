"""``jupyter aide …``: the command line. What it prints and how it ends is a contract (docs/command-line.md)."""

from __future__ import annotations

import argparse
import asyncio
import gc
import io
import json
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import __version__
from .errors import AideError, BadRequest
from .options import bytes_from_words
from .untrusted import visible

REVIEW_MODES = ("every", "flagged", "auto")
NOTHING_VERIFIED = 4
"""The exit status of `verify` where it could not look; 2, as for other requests, would say that the run goes on."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. The entry point of ``jupyter aide``."""
    _print_whatever_comes()
    arguments = _parse(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(
        level=logging.DEBUG if arguments.debug else logging.WARNING, format="%(levelname)s: %(message)s"
    )
    try:
        return int(arguments.run_command(arguments))
    except AideError as error:
        if arguments.debug:
            logging.getLogger(__name__).debug("where it came from", exc_info=error)
        print(f"jupyter aide: {visible(str(error))}", file=sys.stderr)
        if getattr(arguments, "json", False):
            print(json.dumps({"status": "refused" if error.exit_code == 97 else "error", "error": error.message}))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 141


def _print_whatever_comes() -> None:
    """What a terminal's encoding has no sign for is escaped, as Python does it on standard error, and never an end."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def entry_point() -> None:
    """What the installed script calls."""
    status = main()
    gc.freeze()  # litellm leaves so many objects that collecting them at exit takes a second
    sys.exit(status)


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    try:
        return _parser().parse_args(argv)
    except SystemExit as end:
        if end.code == BadRequest.exit_code and list(argv[:1]) == ["verify"]:
            raise SystemExit(NOTHING_VERIFIED) from None
        raise


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jupyter aide",
        description="A machine-learning agent whose every program is reviewed, contained and recorded.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], help_text: str) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=help_text, description=help_text[0].upper() + help_text[1:] + ".")
        one.add_argument("--debug", action="store_true", help="log what happens inside, to standard error")
        one.set_defaults(run_command=run)
        return one

    run = command("run", _run, "search for the best program for a data folder, a goal and a metric")
    _run_options(run)
    demo = command("demo", _demo, "run the example: real data, the offline author, a few minutes")
    demo.add_argument("--out", metavar="DIR", help="the folder in which the run's folder is made (default: aide-runs)")
    demo.add_argument("--steps", type=int, default=8, metavar="N")
    demo.add_argument("--workers", type=int, default=2, metavar="N")
    demo.add_argument("--json", action="store_true")

    one = command("exec", _exec, "run one program in a restricted kernel")
    one.add_argument("program", metavar="PROGRAM.py", type=Path)
    one.add_argument("--data", metavar="DIR", type=Path, help="what the program sees as ./input")
    one.add_argument("--timeout", type=_positive, metavar="S", help="seconds before it is killed (default: 3600)")
    one.add_argument("--memory", type=_size, metavar="BYTES", help="memory of all its processes, such as 4G")
    one.add_argument("--keep", metavar="DIR", type=Path, help="copy what it left in ./working into this folder")
    one.add_argument("--json", action="store_true", help="print one JSON object as the last line")

    verify = command("verify", _verify, "check that a run's journal and notebook are as they were written")
    verify.add_argument("path", metavar="PATH", type=Path, help="a run's folder, its journal.jsonl or its audit.ipynb")
    verify.add_argument("--key", metavar="FINGERPRINT", help="the key to trust, as shown at the end of the run")
    verify.add_argument("--json", action="store_true")

    doctor = command("doctor", _doctor, "prove that programs are contained on this machine, and say what is missing")
    doctor.add_argument("--json", action="store_true")

    for name, function, help_text in (
        ("resume", _resume, "go on with a run that was paused or interrupted"),
        ("pause", _pause, "let a run finish what it is at, and start nothing new"),
        ("stop", _stop, "end a run: reject what waits, finish what runs, and close"),
        ("export", _export, "write the best program as a notebook that needs nothing of this package"),
        ("report", _report, "print the run's report (Markdown)"),
    ):
        on_run = command(name, function, help_text)
        on_run.add_argument("which", metavar="RUN", help="a run's id, its beginning, its folder's name, or a path")
        if name == "resume":
            on_run.add_argument("--review", choices=REVIEW_MODES, help="change the review mode")
            on_run.add_argument("--json", action="store_true")
            on_run.add_argument("--base-url", metavar="URL", help="where the model is served now")
            on_run.add_argument("--price", nargs=2, type=_price, metavar=("IN", "OUT"))
        elif name == "stop":
            on_run.add_argument("--now", action="store_true", help="kill what runs first")
        elif name == "export":
            on_run.add_argument(
                "--out", metavar="FILE", type=Path, help="where to write it (default: best/ in the run)"
            )
    command("list", _list, "list the runs that this account knows").add_argument("--json", action="store_true")
    return parser


def _run_options(run: argparse.ArgumentParser) -> None:
    task = run.add_argument_group("what is asked")
    task.add_argument("--data", required=True, metavar="DIR", type=Path, help="the data folder; it is never written")
    task.add_argument("--goal", required=True, metavar="TEXT", help="what is to be predicted")
    task.add_argument("--eval", metavar="TEXT", help="how solutions are evaluated, in words")
    task.add_argument("--metric", metavar="M", help="a metric by name: rmse, accuracy, roc auc, log loss, …")
    better = task.add_mutually_exclusive_group()
    better.add_argument("--minimize", action="store_true", default=None, help="a lower number is better")
    better.add_argument("--maximize", action="store_true", default=None, help="a higher number is better")
    for name, help_text in (
        ("target", "the column to predict"),
        ("id", "the column that names a row"),
        ("group", "rows of one group stay together in validation"),
        ("time", "the column by which rows are ordered"),
    ):
        task.add_argument(f"--{name}", metavar="COL", help=help_text)
    task.add_argument("--known", metavar="COL,…", type=lambda s: tuple(s.split(",")), help="columns known in advance")

    how = run.add_argument_group("how")
    how.add_argument("--review", choices=REVIEW_MODES, help="who decides about each program (default: every)")
    how.add_argument("--model", metavar="M", help="the author model by its litellm name (default: offline)")
    how.add_argument("--temperature", type=float, metavar="T")
    how.add_argument("--feedback-model", metavar="M", help="the reviewer model (default: the author model)")
    how.add_argument("--feedback-temperature", type=float, metavar="T")
    how.add_argument("--report-model", metavar="M", help="the report's model (default: the author model)")
    how.add_argument("--report-temperature", type=float, metavar="T")
    how.add_argument("--no-report", dest="generate_report", action="store_false", default=None)
    how.add_argument(
        "--base-url", metavar="URL", help="an OpenAI-compatible server: Ollama, vLLM, LM Studio, a gateway"
    )
    how.add_argument("--price", nargs=2, type=_price, metavar=("IN", "OUT"), help="US dollars per million tokens")
    how.add_argument("--policy", metavar="P", help="the search policy: default, aide, or one that is installed")
    how.add_argument(
        "--preview", choices=("off", "schema", "statistics", "samples"), help="what a model sees of the data"
    )
    how.add_argument("--folds", type=int, metavar="K", help="cross-validation folds to ask for (default: 5; 1: none)")
    how.add_argument("--expose-prediction", action="store_true", default=None, help="ask for a predict() function")
    how.add_argument("--drafts", type=int, metavar="N", help="first solutions before improving (default: 5)")
    how.add_argument(
        "--debug-probability", type=float, metavar="P", help="how often a failure is debugged (default: 0.5)"
    )
    how.add_argument("--debug-depth", type=int, metavar="N", help="fixes in a row before giving up (default: 3)")
    how.add_argument("--seed", type=int, metavar="N")

    caps = run.add_argument_group("caps")
    caps.add_argument("--steps", type=int, metavar="N", help="candidates to try (default: 20)")
    caps.add_argument("--workers", type=int, metavar="N", help="candidates at a time (default: 1)")
    caps.add_argument("--timeout", type=_positive, metavar="S", help="seconds for one program (default: 3600)")
    caps.add_argument("--max-time", type=_positive, metavar="S", help="seconds for the run (default: 21600)")
    caps.add_argument("--max-tokens", type=int, metavar="N", help="tokens for the run (default: 2000000)")
    caps.add_argument("--max-cost", type=_positive, metavar="USD", help="US dollars for the run")
    caps.add_argument("--memory", type=_size, metavar="BYTES", help="memory of one program's processes (default: 4G)")

    run.add_argument("--out", metavar="DIR", help="the folder in which the run's folder is made (default: aide-runs)")
    run.add_argument("--json", action="store_true", help="print one JSON object as the last line")


def _positive(words: str) -> float:
    value = float(words)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{words} is not a positive number")
    return value


def _price(words: str) -> float:
    value = float(words)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{words} is not a price")
    return value


def _size(words: str) -> int:
    try:
        return bytes_from_words(words)
    except BadRequest as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _run(arguments: argparse.Namespace) -> int:
    from .options import OPTIONS, request_from_options
    from .terminal import run_in_terminal

    given = {name: value for name, value in vars(arguments).items() if name in OPTIONS}
    return run_in_terminal(request_from_options(given), as_json=arguments.json)


def _demo(arguments: argparse.Namespace) -> int:
    from .example import GOAL, METRIC, TARGET, write_example
    from .options import request_from_options
    from .terminal import run_in_terminal

    out = Path(arguments.out or "aide-runs")
    data = write_example(out.parent / "aide-example")
    print(f"The example: {GOAL} Data: {data}\n")
    request = request_from_options(
        {
            "data": data,
            "goal": GOAL,
            "metric": METRIC,
            "target": TARGET,
            "id": "id",
            "steps": arguments.steps,
            "workers": arguments.workers,
            "review": "auto",
            "timeout": 300,
            "out": out,
        }
    )
    return run_in_terminal(request, as_json=arguments.json, verify=True)


def _resume(arguments: argparse.Namespace) -> int:
    from .owner import is_owned
    from .run_index import RunIndex
    from .terminal import resume_in_terminal

    if is_owned(RunIndex().resolve(arguments.which).folder):
        return _resume_elsewhere(arguments)
    return resume_in_terminal(
        arguments.which,
        mode=arguments.review,
        base_url=arguments.base_url,
        price=None if arguments.price is None else (arguments.price[0], arguments.price[1]),
        as_json=arguments.json,
    )


def _resume_elsewhere(arguments: argparse.Namespace) -> int:
    """Ask the process that has the run to go on with it."""
    from .listing import run_now
    from .run_index import RunIndex

    if arguments.base_url is not None or arguments.price is not None:
        raise BadRequest(
            "Another process has the run, and goes on with the address and the price that it was given.",
            "`jupyter aide pause` it, end that process, then resume here; or leave out --base-url and --price.",
        )
    if arguments.review is not None:
        _control(arguments.which, "mode", mode=arguments.review)
    _control(arguments.which, "resume")
    print("The process that has the run goes on with it.")
    if arguments.json:
        print(json.dumps(run_now(RunIndex().resolve(arguments.which))))
    return 0


def _exec(arguments: argparse.Namespace) -> int:
    from .execute import run_one

    async def work() -> int:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await run_one(
            arguments.program,
            data=arguments.data,
            seconds=arguments.timeout,
            memory_bytes=arguments.memory,
            keep=arguments.keep,
            as_json=arguments.json,
        )

    try:
        return asyncio.run(work())
    except asyncio.CancelledError:
        return 128 + signal.SIGTERM


def _verify(arguments: argparse.Namespace) -> int:
    from .afterwards import check_run

    try:
        verdict = check_run(arguments.path, arguments.key)
    except BadRequest as error:
        error.exit_code = NOTHING_VERIFIED
        raise
    for line in verdict.lines:
        print(line)
    if arguments.json:
        print(json.dumps(verdict.as_json()))
    return verdict.code


def _doctor(arguments: argparse.Namespace) -> int:
    from .sandbox.doctor import doctor

    report = asyncio.run(doctor())
    for check in report.checks:
        print(f"{'ok     ' if check.ok else 'MISSING'}  {check.name}: {check.detail}")
        if not check.ok and check.advice:
            print(f"         {check.advice}")
    print(
        "Programs are contained on this machine." if report.ok else "Programs cannot be contained here; none will run."
    )
    if arguments.json:
        print(json.dumps(report.as_json()))
    return 0 if report.ok else 1


def _control(which: str, verb: str, **more: Any) -> dict[str, Any]:
    from .owner import control
    from .run_index import RunIndex

    return asyncio.run(control(RunIndex().resolve(which).folder, verb, **more))


def _pause(arguments: argparse.Namespace) -> int:
    _control(arguments.which, "pause")
    print("Paused: what runs finishes, nothing new starts. `jupyter aide resume` goes on.")
    return 0


def _stop(arguments: argparse.Namespace) -> int:
    from .owner import is_owned
    from .run_index import RunIndex

    if is_owned(RunIndex().resolve(arguments.which).folder):
        _control(arguments.which, "stop-now" if arguments.now else "stop")
        print("Stopping: the run closes once what runs has ended.")
        return 0
    from .afterwards import close_unowned

    close_unowned(arguments.which)
    print("The run is closed.")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from .listing import list_runs

    runs = list_runs()
    for run in runs:
        best = "no number yet" if run["best"] is None else f"{run['best']['metric']:.6g} ({run['best']['source']})"
        print(f"{run['run']}  {run['status']:<12} {run['candidates']:>4} candidates  {best}  {run['dir']}")
    if not runs and not arguments.json:
        print("No runs yet. `jupyter aide demo` makes one.")
    if arguments.json:
        print(json.dumps({"runs": runs}))
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from .afterwards import export_best

    print(asyncio.run(export_best(arguments.which, arguments.out)))
    return 0


def _report(arguments: argparse.Namespace) -> int:
    from .afterwards import report_text

    print(report_text(arguments.which))
    return 0
