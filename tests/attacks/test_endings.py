"""However a program ends, or refuses to, its run ends: recorded as what it was, and with nothing left behind."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.sandbox


def test_os_exit_is_a_death_with_its_status_and_the_output_before_it(attack):
    result = attack("import os\nprint('before')\nos._exit(3)")
    assert (result.status, result.exit, result.reply) == ("died", 3, "none")
    assert result.stdout == "before\n"


def test_a_segfault_is_a_death_by_signal_11(attack):
    result = attack("import ctypes\nprint('before')\nctypes.string_at(0)")
    assert (result.status, result.exit) == ("died", 139)
    assert result.stdout == "before\n"


def test_killing_itself_is_a_death_by_signal_9(attack):
    result = attack("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert (result.status, result.exit) == ("died", 137)


def test_killing_every_process_in_sight_ends_only_itself(attack_as):
    program = "import os\ntry:\n    os.kill(-1, 9)\nfinally:\n    os.kill(os.getpid(), 9)"
    result = attack_as(program, beside="print('unharmed')")
    assert result.status == "died"
    assert (result.beside.status, result.beside.stdout) == ("ok", "unharmed\n")


def test_a_loop_that_ignores_every_signal_ends_at_its_deadline(attack):
    program = """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
print('deaf')
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""
    result = attack(program, limits={"seconds": 1.5})
    assert (result.status, result.limit, result.stdout) == ("timeout", "seconds", "deaf\n")
    assert 1.5 <= result.seconds < 2.5
    assert result.all_seconds < 15


@pytest.mark.parametrize("ending", ["sys.exit()", "sys.exit(0)", "sys.exit(None)", "exit()", "raise SystemExit"])
def test_leaving_with_success_is_success(attack, ending):
    result = attack(f"import sys\nprint('done')\n{ending}\nprint('never')")
    assert (result.status, result.stdout, result.stderr, result.error) == ("ok", "done\n", "", None)


def test_leaving_with_a_status_is_an_error(attack):
    result = attack("import sys\nsys.exit(3)")
    assert (result.status, result.error["name"], result.error["message"]) == ("error", "SystemExit", "3")


def test_an_exception_is_an_error_with_its_traceback(attack):
    result = attack("print('before')\n1 / 0")
    assert (result.status, result.reply, result.error["name"]) == ("error", "error", "ZeroDivisionError")
    assert result.stdout == "before\n"


def test_the_main_guard_runs_and_can_use_processes(attack):
    program = """
from multiprocessing import Pool

def square(x):
    return x * x

if __name__ == "__main__":
    with Pool(2) as pool:
        print(pool.map(square, [1, 2, 3]))
"""
    assert attack(program).stdout == "[1, 4, 9]\n"


def test_a_changed_directory_changes_nothing_of_what_is_collected(attack):
    result = attack("import os\nopen('working/a', 'w').write('1')\nos.chdir('/tmp')\nprint(os.getcwd())")
    assert (result.status, result.files) == ("ok", {"working/a": 1})


def test_asking_for_input_is_an_error_and_no_endless_wait(attack):
    result = attack("input('name? ')", limits={"seconds": 20})
    assert (result.status, result.error["name"]) == ("error", "StdinNotImplementedError")


@pytest.mark.parametrize("code", ["!ls", "%time 1", "x = 1\0", "def f(:", "print('a'"])
def test_what_is_not_python_is_never_sent(attack, code):
    result = attack(code)
    assert (result.status, result.error["name"], result.seconds) == ("error", "SyntaxError", 0.0)


def test_daemons_do_not_outlive_the_program(attack_as):
    program = """
import os, signal, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            open(f'working/{os.getpid()}', 'w').close()
            while True:
                time.sleep(60)
        os._exit(0)
while len(os.listdir('working')) < 3:
    time.sleep(0.01)
print('left')
"""
    result = attack_as(program)
    assert (result.status, result.stdout, result.survivors) == ("ok", "left\n", 0)
