"""One program in a restricted kernel: exit status, JSON, what is kept, and where it must refuse."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from .conftest import COMMAND, Aide

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize(
    ("code", "status", "exit_status"),
    [
        ("print('Validation metric: 0.25')", "ok", 0),
        ("import sys; sys.exit(0)", "ok", 0),
        ("raise ValueError('no')", "error", 1),
        ("import time; time.sleep(100)", "timeout", 124),
        ("import os; os._exit(3)", "died", 1),
        ("print('x' * (80 << 20))", "limit", 3),
        ("!ls", "error", 1),
    ],
)
def test_each_end_has_its_status_and_exit_status(aide: Aide, code: str, status: str, exit_status: int) -> None:
    (aide.home / "program.py").write_text(code)
    done = aide("exec", "program.py", "--timeout", "8", "--json")
    assert done.code == exit_status, done.err
    assert done.json["status"] == status
    assert done.json["survivors"] == 0
    assert done.json["metric"] == (0.25 if "metric" in code else None)


def test_what_a_program_prints_is_shown_and_what_it_leaves_is_kept(aide: Aide, data: Path) -> None:
    code = (
        "n = len(open('input/train.csv').readlines())\nprint('rows', n)\nopen('working/out.txt', 'w').write('kept')\n"
    )
    (aide.home / "program.py").write_text(code)
    done = aide("exec", "program.py", "--data", str(data), "--keep", "left")
    assert (done.code, done.out) == (0, "rows 41\n")
    assert (aide.home / "left" / "out.txt").read_text() == "kept"


def test_a_folder_that_cannot_be_kept_to_is_refused_before_the_program_runs(aide: Aide) -> None:
    (aide.home / "program.py").write_text("print('it ran')")
    (aide.home / "file").write_text("")
    (aide.home / "full").mkdir()
    (aide.home / "full" / "mine.txt").write_text("mine")
    for keep in ("file", "file/below", "full"):
        done = aide("exec", "program.py", "--keep", keep)
        assert (done.code, done.out) == (2, ""), done.err
        assert keep in done.err
        assert "Traceback" not in done.err
    assert (aide.home / "full" / "mine.txt").read_text() == "mine"


def test_a_known_secret_is_masked_in_what_is_shown_as_in_the_object(aide: Aide) -> None:
    secret = "sk-ant-0123456789abcdefghij"
    (aide.home / "program.py").write_text(
        f"import sys\nfor c in {secret!r}:\n    print(c, end='', flush=True)\nprint()"
    )
    for more in ((), ("--json",)):
        done = aide("exec", "program.py", *more, ANTHROPIC_API_KEY=secret)
        assert done.code == 0
        assert secret not in done.out
        assert "ANTHROPIC_API_KEY" in done.out


def test_a_terminal_is_not_led_by_what_a_program_prints(aide: Aide) -> None:
    (aide.home / "program.py").write_text(
        "print('1%\\r2% \\x1b]0;owned\\x07 \\u202e', 'é')\nraise ValueError('\\x1b[31m')"
    )
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [*COMMAND, "exec", "program.py"], cwd=aide.home, env=aide.env, stdout=theirs, stderr=theirs
        )
        shown = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 1
    assert shown.startswith("1%\r2% \\x1b]0;owned\\x07 \\u202e é\r\n")
    assert "\x1b" not in shown


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_end_from_outside_leaves_no_process_and_no_copy_of_the_data(
    aide: Aide, data: Path, how: signal.Signals, status: int
) -> None:
    place = aide.home / "tmp"
    place.mkdir()
    aide.env["TMPDIR"] = str(place)
    (aide.home / "program.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(1000)")
    process = aide.start("exec", "program.py", "--data", str(data))
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    assert list(place.glob("aide-exec-*/view/*"))
    process.send_signal(how)
    assert process.wait(timeout=60) == status
    assert list(place.glob("aide-exec-*")) == []


def test_a_missing_program_is_said(aide: Aide) -> None:
    done = aide("exec", "nowhere.py")
    assert done.code == 2
    assert "nowhere.py" in done.err


def test_without_a_sandbox_nothing_runs_and_it_says_so(aide: Aide) -> None:
    mark = aide.home / "ran"
    (aide.home / "program.py").write_text(f"open({str(mark)!r}, 'w')")
    inside = subprocess.run(
        ["unshare", "-pf", "--mount-proc", *COMMAND, "exec", "program.py", "--json"],
        cwd=aide.home,
        env=aide.env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert inside.returncode == 97, inside.stderr
    assert '"status": "refused"' in inside.stdout
    assert "doctor" in inside.stderr
    assert not mark.exists()


def test_the_doctor_finds_this_machine_fit(aide: Aide) -> None:
    done = aide("doctor", "--json")
    assert done.code == 0, done.out
    assert done.json["ok"]
