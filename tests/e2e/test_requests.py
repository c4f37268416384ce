"""What the command line refuses, with which words and exit status, and that nothing is left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aide_jupyter import Experiment
from aide_jupyter.errors import BadRequest

from .conftest import Aide
from .test_run import asked

GOAL = ("--goal", "Predict the price. Minimize the rmse.")
AUTO = ("--review", "auto")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--data", "nowhere", *GOAL, *AUTO), "nowhere"),
        (("--data", "empty", *GOAL, *AUTO), "no file"),
        (("--data", "data", *GOAL), "--review auto"),
        (("--data", "data", *GOAL, *AUTO, "--target", "prize"), "price"),
        (("--data", "data", "--goal", "Look at it.", *AUTO, "--metric", "qqq"), "--minimize"),
        (("--data", "lone", "--goal", "Find something.", *AUTO), "--target"),
        (("--data", "data", "--goal", "  ", *AUTO), "goal"),
        (("--data", "data", *GOAL, *AUTO, "--steps", "0"), "--steps"),
        (("--data", "data", *GOAL, *AUTO, "--policy", "nosuch"), "default"),
        (("--data", "data", *GOAL, *AUTO, "--model", "openai/gpt-4.1"), "OPENAI_API_KEY"),
        (("--data", "data", *GOAL, *AUTO, "--memory", "1K"), "--memory"),
        (("--data", "no\x1b]0;where", *GOAL, *AUTO), "no\\x1b]0;where"),
        (("--data", "data", *GOAL, *AUTO, "--memory", "1e30"), "--memory"),
        (("--data", "data", *GOAL, *AUTO, "--seed", "9" * 20), "--seed"),
        (("--data", "data", *GOAL, *AUTO, "--max-tokens", "9" * 20), "--max-tokens"),
        (("--data", "data", *GOAL, *AUTO, "--price", "-1", "3"), "--price"),
        (("--data", "data", *GOAL, *AUTO, "--temperature", "nan"), "--temperature"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(
    aide: Aide, data: Path, arguments: tuple[str, ...], words: str
) -> None:
    (aide.home / "empty").mkdir()
    (aide.home / "lone").mkdir()
    (aide.home / "lone" / "notes.txt").write_text("nothing to predict here\n")
    done = aide("run", *arguments, OPENAI_API_KEY="", OPENAI_BASE_URL="")
    assert done.code == 2, done.err
    assert words in done.err
    assert "Traceback" not in done.err
    assert not (aide.home / "aide-runs").exists()
    assert aide("list", "--json").json["runs"] == []


def test_what_is_refused_leaves_the_folders_as_they_were(aide: Aide) -> None:
    (aide.home / "mine").mkdir()
    for out in ("mine", "mine/new/newer", "other/new"):
        assert aide("run", "--data", "nowhere", *GOAL, *AUTO, "--out", out).code == 2
    assert list((aide.home / "mine").iterdir()) == []
    assert not (aide.home / "other").exists()


def test_a_data_folder_below_a_run_is_refused(aide: Aide, data: Path, model: Any) -> None:
    assert aide("run", "--data", str(data), *GOAL, *AUTO, *asked(model()), "--steps", "1").code == 0
    done = aide("run", "--data", str(aide.run / "candidates"), *GOAL, *AUTO)
    assert done.code == 2
    assert "run" in done.err


def test_the_current_folder_as_data_leaves_its_runs_out(aide: Aide, data: Path, model: Any) -> None:
    show = "import os\nprint(sorted(os.listdir('input')))\nprint('Validation metric: 1')\n"
    for _ in range(2):
        base = model(programs={"01.py": f"# Look.\n{show}"})
        arguments = ("--data", ".", *GOAL, *AUTO, "--target", "price", *asked(base))
        done = aide("run", *arguments, "--steps", "1", "--json", "--no-report")
        assert done.code == 0, done.err
    records = map(json.loads, Path(done.json["journal"]).read_text().splitlines())
    finished = next(one["data"] for one in records if one["kind"] == "finished")
    assert "'data'" in finished["claimed"]["outputs"][0]["text"]
    assert "aide-runs" not in finished["claimed"]["outputs"][0]["text"]


def test_a_run_that_is_not_known_is_said(aide: Aide) -> None:
    for command in ("resume", "pause", "stop", "export", "report"):
        done = aide(command, "nosuch")
        assert done.code == 2
        assert "nosuch" in done.err


@pytest.mark.parametrize("arguments", [("nowhere",), ("data", "--key", "no-key"), (), ("data", "--kye", "a" * 32)])
def test_that_nothing_was_verified_is_not_taken_for_a_run_that_goes_on(
    aide: Aide, data: Path, arguments: tuple[str, ...]
) -> None:
    done = aide("verify", *arguments)
    assert done.code == 4
    assert "Traceback" not in done.err
    assert "nothing at nowhere" in done.err or "not the fingerprint" in done.err or "usage:" in done.err


PROGRAM = """
from aide_jupyter import Experiment
options = {options}
solution = Experiment(data_dir="data", goal="Predict the price. Minimize the rmse.", **options).run(steps=2)
print(solution.valid_metric, solution.direction, solution.source, len(solution.code) > 0)
"""


def python(aide: Aide, options: dict[str, Any]) -> Any:

    code = PROGRAM.format(options=options)
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=aide.home,
        env=aide.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"goal": None}, "--goal is missing"),
        ({"goal": "  "}, "The goal is empty"),
        ({"memory": "lots"}, "is not a size"),
        ({"memory": "1K"}, "--memory"),
        ({"price": (1,)}, "--price"),
        ({"seed": 10**20}, "--seed"),
        ({"colour": "blue"}, "Unknown option: colour"),
    ],
)
def test_the_python_api_names_what_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest) as error:
        Experiment("data", **{"goal": "Predict the price.", **options})
    assert words in str(error.value)
    assert "data_dir" not in str(error.value)


def test_the_python_api_takes_what_the_command_line_takes() -> None:
    options = {"memory": "2G", "known": "a,b", "price": (0, 1.5), "preview": "off", "policy": "aide", "max_cost": 3}
    request = Experiment("data", "Predict the price.", "RMSE", **options).request
    assert request.settings.limits.memory_bytes == 2 << 30
    assert request.known_columns == ("a", "b")
    assert request.settings.price == (0.0, 1.5)
    assert (request.settings.data_preview, request.settings.policy) == (False, "aide")
    assert (request.evaluation, request.budgets.cost_usd) == ("RMSE", 3.0)


def test_the_python_api_runs_and_returns_the_best(aide: Aide, data: Path, model: Any) -> None:
    done = python(aide, {"review": "auto", "model": "openai/scripted", "base_url": model()})
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0.5", "minimize", "reported", "True"]


def test_the_python_api_names_the_three_choices_where_nobody_can_be_asked(aide: Aide, data: Path) -> None:
    done = python(aide, {})
    assert done.returncode == 1
    for mode in ("every", "flagged", "auto"):
        assert f'"{mode}"' in done.stderr


def test_the_python_api_names_an_unknown_option(aide: Aide, data: Path) -> None:
    done = python(aide, {"reveiw": "auto"})
    assert "reveiw" in done.stderr


def test_a_terminal_of_another_encoding_ends_nothing(aide: Aide) -> None:
    done = aide("run", "--data", "nowhere", *GOAL, *AUTO, PYTHONIOENCODING="latin-1")
    assert (done.code, "Traceback" in done.err) == (2, False), done.err
    assert "Reading the data" in done.out
