"""Whole runs from the command line, in real jails."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from .conftest import COMMAND, SHARED, Aide

pytestmark = pytest.mark.sandbox
PLAIN = ("--goal", "Predict the price. Minimize the rmse.", "--review", "auto")
GOAL = (*PLAIN, "--json")


def until(condition: Callable[[], Any], seconds: float = 90) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if found := condition():
                return found
        except (OSError, ValueError):
            """Not there yet."""
        time.sleep(0.02)
    raise AssertionError("it did not come to that")


def asked(base: str) -> tuple[str, ...]:
    return ("--model", "openai/scripted", "--base-url", base)


def survivors(aide: Aide) -> list[str]:
    """Processes that name this test's folder, which every jail of its runs does."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(aide.home).encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(path.read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            """It has just ended."""
    return [line for line in found if "llm_server" not in line]


def test_house_prices_end_with_the_tenth_program_as_best_and_two_failed(aide: Aide, model: Any) -> None:
    base = model(programs=SHARED / "bench" / "programs")
    data = str(SHARED / "data" / "house_prices")
    done = aide("run", "--data", data, *GOAL, *asked(base), "--steps", "12", "--workers", "2", timeout=600)
    assert done.code == 0, done.err
    result = done.json
    assert (result["best"]["id"], result["best"]["source"]) == ("c0010", "reported")
    assert (result["candidates"], result["failed"], result["status"]) == (12, 2, "closed")
    assert aide("verify", str(aide.run)).code == 0
    solution = nbformat.read(aide.run / "best" / "solution.ipynb", as_version=4)
    nbformat.validate(solution)
    assert nbformat.writes(solution) + "\n" == (aide.run / "best" / "solution.ipynb").read_text()
    assert solution.metadata.kernelspec.name == "python3"
    joined = "\n".join(cell.source for cell in solution.cells if cell.cell_type == "code")
    assert joined.strip() == (SHARED / "bench" / "programs" / "10.py").read_text().strip()
    assert "| Reproduced | yes" in solution.cells[0].source
    assert (aide.run / "best" / "submission.csv").read_text().startswith("Id,SalePrice")
    assert list((aide.run / "kernels").iterdir()) == []
    assert "c0010" in aide("report", result["run"]).out
    assert result["run"] in aide("list").out
    assert survivors(aide) == []


def test_the_offline_author_needs_no_model_and_no_network(aide: Aide, data: Path) -> None:
    done = aide("run", "--data", str(data), *GOAL, "--target", "price", "--steps", "3")
    assert done.code == 0, done.err
    assert done.json["llm"]["cost_usd"] == 0
    assert aide("verify", str(aide.run / "audit.ipynb")).code == 0


@pytest.mark.parametrize(
    "fault", ["429:4", "500:4", "drop:5", "badjson:2", "text:2", "nofence:3", "empty:5", "truncate:3"]
)
def test_a_model_that_answers_badly_costs_steps_at_most(aide: Aide, data: Path, model: Any, fault: str) -> None:
    done = aide("run", "--data", str(data), *GOAL, *asked(model(fault)), "--steps", "4", "--no-report")
    assert done.code == 0, done.err
    assert done.json["status"] == "closed"
    assert done.json["candidates"] == 4
    assert aide("verify", str(aide.run)).code == 0


def test_a_refused_key_ends_the_run_at_once_with_what_to_set_and_can_be_resumed(
    aide: Aide, data: Path, model: Any
) -> None:
    done = aide("run", "--data", str(data), *GOAL, *asked(model("401:1")), "--steps", "3")
    assert done.code == 2
    assert "OPENAI_API_KEY" in done.err
    assert "Traceback" not in done.err
    (run,) = aide("list", "--json").json["runs"]
    assert run["status"] == "paused"
    first = aide.of_kind("opened")[0]["settings"]["base_url"]
    second = model("401:1")
    assert aide("resume", run["run"], "--base-url", second, "--price", "1", "2").code == 2
    assert aide("resume", run["run"]).code == 2
    assert "OPENAI_API_KEY" in aide("resume", run["run"]).err
    third = model()
    again = aide("resume", run["run"], "--base-url", third, "--json")
    assert again.code == 0, again.err
    assert again.json["candidates"] == 3
    assert [(one["what"], one["from"], one["to"]) for one in aide.of_kind("changed")] == [
        ("grant", {"base_url": first, "price": None}, {"base_url": second, "price": [1, 2]}),
        ("grant", {"base_url": second, "price": [1, 2]}, {"base_url": third, "price": [1, 2]}),
    ]
    assert aide("verify", str(aide.run)).code == 0
    assert third in (aide.run / "audit.ipynb").read_text()


def test_a_run_without_any_number_ends_with_1(aide: Aide, data: Path, model: Any) -> None:
    base = model(programs={"01.py": "# Fail.\nraise SystemExit(3)\n"})
    done = aide("run", "--data", str(data), *GOAL, *asked(base), "--steps", "2")
    assert done.code == 1
    assert done.json["best"] is None
    assert done.json["failed"] == 2


SLOW = {"01.py": "# Wait.\nimport time\nprint('begun', flush=True)\ntime.sleep(2)\nprint('Validation metric: 1')\n"}
ENDLESS = {"01.py": "# Wait.\nimport time\ntime.sleep(1000)\n"}


def test_a_run_whose_data_is_gone_or_changed_is_not_resumed_until_it_is_put_back(
    aide: Aide, data: Path, model: Any
) -> None:
    assert aide("run", "--data", str(data), *GOAL, *asked(model("401:1")), "--steps", "1").code == 2
    (run,) = aide("list", "--json").json["runs"]
    aside = data.with_name("aside")
    data.rename(aside)
    gone = aide("resume", run["run"])
    assert gone.code == 2 and "does not exist" in gone.err and "Put it back" in gone.err and "--data" not in gone.err
    shutil.copytree(aside, data)
    (data / "more.csv").write_text("a\n1\n")
    changed = aide("resume", run["run"])
    assert changed.code == 2 and "is not what it was" in changed.err and "Put it back" in changed.err
    (data / "more.csv").unlink()
    assert aide("resume", run["run"], "--base-url", model()).code == 0


def test_interrupted_once_it_lets_finish_what_runs_and_resume_goes_on(aide: Aide, data: Path, model: Any) -> None:
    process = aide.start("run", "--data", str(data), *GOAL, *asked(model(programs=SLOW)), "--steps", "2", "--no-report")
    until(lambda: aide.of_kind("started"))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=90)
    assert process.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["status"] == "paused"
    assert [one["status"] for one in aide.of_kind("finished")] == ["ok"]
    done = aide("resume", str(aide.run), "--json")
    assert done.code == 0, done.err
    assert done.json["candidates"] == 2
    assert survivors(aide) == []


def test_interrupted_twice_it_kills_what_runs_and_leaves_the_run_to_be_resumed(
    aide: Aide, data: Path, model: Any
) -> None:
    process = aide.start("run", "--data", str(data), *GOAL, *asked(model(programs=ENDLESS)), "--steps", "2")
    until(lambda: aide.of_kind("started"))
    process.send_signal(signal.SIGINT)
    until(lambda: aide.of_kind("paused"))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert [one["status"] for one in aide.of_kind("finished")] == ["stopped"]
    assert aide("verify", str(aide.run)).code == 2
    assert survivors(aide) == []


def test_interrupted_while_it_is_prepared_it_leaves_nothing_behind(aide: Aide, data: Path) -> None:
    with (data / "train.csv").open("a") as file:
        file.writelines(f"{n},{n},{n}\n" for n in range(1_000_000))
    process = aide.start("run", "--data", str(data), *GOAL)
    until(lambda: [path for path in (aide.home / "aide-runs").iterdir() if (path / "view").exists()])
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "nothing was started" in err
    assert not (aide.home / "aide-runs").exists()
    assert survivors(aide) == []


def test_killed_in_mid_program_nothing_survives_and_resume_finishes_without_running_it_again(
    aide: Aide, data: Path, model: Any
) -> None:
    process = aide.start(
        "run", "--data", str(data), *GOAL, *asked(model(programs=ENDLESS)), "--steps", "2", "--no-report"
    )
    until(lambda: aide.of_kind("started"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: survivors(aide) == [], 10)
    assert aide("verify", str(aide.run)).code == 2
    done = aide("resume", str(aide.run), "--base-url", model(), "--json")
    assert done.code == 0, done.err
    assert aide.of_kind("finished")[0]["status"] == "unknown"
    assert max(Counter(one["candidate"] for one in aide.of_kind("started") if one["purpose"] == "search").values()) == 1
    assert aide("verify", str(aide.run)).code == 0


NOTEBOOK = """
import asyncio
from aide_jupyter import Experiment

async def cell():
    options = {{"review": "auto", "model": "openai/scripted", "base_url": {base!r}}}
    Experiment("data", goal="Predict the price. Minimize the rmse.", **options).run(steps=3)

asyncio.new_event_loop().run_until_complete(cell())
"""


def test_an_interrupt_of_a_notebook_ends_the_run_there_and_it_can_be_resumed(
    aide: Aide, data: Path, model: Any
) -> None:
    code = NOTEBOOK.format(base=model(programs=ENDLESS))
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=aide.home, env=aide.env, stderr=subprocess.PIPE, text=True
    )
    aide.started.append(process)
    until(lambda: aide.of_kind("started"))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=90)
    assert "KeyboardInterrupt" in err
    assert survivors(aide) == []
    assert aide("list", "--json").json["runs"][0]["status"] == "interrupted"
    assert aide("resume", str(aide.run), "--base-url", model(), "--json").json["candidates"] == 3


def test_a_reader_that_goes_away_leaves_a_run_that_can_be_resumed(aide: Aide, data: Path, model: Any) -> None:
    process = aide.start("run", "--data", str(data), *PLAIN, *asked(model(programs=SLOW)), "--steps", "3")
    until(lambda: aide.of_kind("started"))
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=90) == 130
    assert process.stderr.read() == ""
    assert len(aide.of_kind("finished")) == 1
    assert aide.of_kind("paused")
    assert aide("resume", str(aide.run), "--base-url", model(), "--json").json["candidates"] == 3


def test_a_run_goes_on_where_its_log_can_no_longer_be_written(aide: Aide, data: Path, model: Any) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "run", "--data", str(data), *PLAIN, *asked(model()), "--steps", "2"],
            cwd=aide.home, env=aide.env, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert aide.of_kind("closed")


def test_another_process_pauses_resumes_and_stops_a_run(aide: Aide, data: Path, model: Any) -> None:
    process = aide.start(
        "run", "--data", str(data), *GOAL, *asked(model(programs=SLOW)), "--steps", "50", "--no-report"
    )
    until(lambda: aide.of_kind("started"))
    run = str(aide.run)
    assert aide("pause", run).code == 0
    until(lambda: aide.of_kind("reviewed"))
    assert len(aide.of_kind("chosen")) == 1
    assert aide("list", "--json").json["runs"][0]["status"] == "paused"
    refused = aide("resume", run, "--base-url", "http://127.0.0.1:9/v1")
    assert (refused.code, "--base-url" in refused.err) == (2, True)
    assert len(aide.of_kind("resumed")) == 0
    resumed = aide("resume", run, "--review", "flagged", "--json")
    assert resumed.code == 0
    assert resumed.json["status"] == "running"
    assert resumed.json["dir"] == run
    assert [one["to"] for one in aide.of_kind("changed")] == ["flagged"]
    until(lambda: len(aide.of_kind("chosen")) > 1)
    assert aide("stop", run).code == 0
    process.communicate(timeout=90)
    assert process.returncode == 0
    assert aide.of_kind("closed")


def test_stop_now_kills_what_runs_and_closes(aide: Aide, data: Path, model: Any) -> None:
    process = aide.start("run", "--data", str(data), *GOAL, *asked(model(programs=ENDLESS)), "--steps", "5")
    until(lambda: aide.of_kind("started"))
    assert aide("stop", "--now", str(aide.run)).code == 0
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert [one["status"] for one in aide.of_kind("finished")] == ["stopped"]
    assert aide("verify", str(aide.run)).code == 0
    assert survivors(aide) == []


def test_a_stopped_run_that_nobody_owns_is_closed_and_never_resumed(aide: Aide, data: Path, model: Any) -> None:
    process = aide.start("run", "--data", str(data), *GOAL, *asked(model(programs=ENDLESS)), "--steps", "5")
    until(lambda: aide.of_kind("started"))
    process.kill()
    process.wait()
    assert aide("stop", str(aide.run)).code == 0
    assert aide("verify", str(aide.run)).code == 0
    again = aide("resume", str(aide.run))
    assert again.code == 2
    assert "closed" in again.err


def test_a_run_whose_folder_was_moved_goes_on_there(aide: Aide, data: Path, model: Any) -> None:
    process = aide.start("run", "--data", str(data), *GOAL, *asked(model(programs=ENDLESS)), "--steps", "5")
    until(lambda: aide.of_kind("started"))
    process.kill()
    process.wait()
    moved = aide.run.rename(aide.home / "moved")
    done = aide("resume", str(moved), "--base-url", model(), "--json")
    assert done.code == 0, done.err
    assert done.json["notebook"] == str(moved / "audit.ipynb")
    assert aide("verify", str(moved)).code == 0


@pytest.mark.parametrize("change", ["edit", "cut", "older"])
def test_resume_refuses_a_changed_journal_instead_of_laundering_it(
    aide: Aide, data: Path, model: Any, change: str
) -> None:
    process = aide.start("run", "--data", str(data), *GOAL, *asked(model(programs=ENDLESS)), "--steps", "5")
    until(lambda: aide.of_kind("started"))
    process.kill()
    process.wait()
    journal = aide.run / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    changed = {
        "edit": b"".join(lines).replace(b'"minimize"', b'"maximize"'),
        "cut": b"".join(lines[:-1]),
        "older": b"".join(lines[:2]),
    }[change]
    journal.write_bytes(changed)
    assert aide("verify", str(aide.run)).code == 1
    done = aide("resume", str(aide.run))
    assert done.code == 1
    assert journal.read_bytes() == changed


def test_the_disk_being_full_stops_the_run_with_words_and_nothing_recorded_is_lost(
    aide: Aide, data: Path, model: Any, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("making a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    mounted = os.system(f"mount -t tmpfs -o size=1m,mode=700 tmpfs {small}")
    assert mounted == 0
    try:
        noise = "print('x' * 60000)\n" * 4
        base = model(programs={"01.py": f"# Fill.\nimport os\n{noise}print('Validation metric: 1')\n"})
        (small / "ballast").write_bytes(b"0" * 700_000)
        done = aide("run", "--data", str(data), *GOAL, *asked(base), "--steps", "30", "--out", str(small / "runs"))
        assert done.code == 1
        assert "Traceback" not in done.err
        assert "No space left" in done.err
        (small / "ballast").unlink()
        assert os.system(f"mount -o remount,size=40m {small}") == 0
        (run,) = (small / "runs").iterdir()
        assert aide("verify", str(run)).code == 2
        assert aide("resume", str(run), "--json").json["candidates"] > 0
    finally:
        os.system(f"umount {small}")
