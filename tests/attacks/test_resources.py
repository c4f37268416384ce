"""What a program can use up is bounded, judged from the host, and its neighbours and the host do not notice."""

from __future__ import annotations

import os
import resource

import pytest

pytestmark = pytest.mark.sandbox
MEMORY = {"memory_bytes": 512 << 20, "seconds": 40}


def test_one_process_that_hoards_memory_is_ended(attack_as):
    result = attack_as("hoard = []\nwhile True:\n    hoard.append(b'x' * (16 << 20))", limits=MEMORY)
    assert (result.status, result.limit) in {("limit", "memory"), ("error", None)}
    assert result.peak_memory_bytes < 1 << 30


def test_children_that_hoard_memory_together_are_ended(attack_as):
    program = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        hoard = [b'x' * (16 << 20) for _ in range(8)]
        time.sleep(600)
time.sleep(600)
"""
    result = attack_as(program, limits=MEMORY)
    assert (result.status, result.limit) == ("limit", "memory")
    assert result.peak_memory_bytes < 2 << 30


FILLERS = {
    "shared memory files": """
import time
with open('/dev/shm/fill', 'wb', buffering=0) as file:
    for _ in range(128):
        file.write(b'x' * (16 << 20))
time.sleep(600)
""",
    "shared mappings": """
import mmap, time
hoard = []
for _ in range(128):
    hoard.append(mmap.mmap(-1, 16 << 20))
    hoard[-1].write(b'x' * (16 << 20))
time.sleep(600)
""",
    "memory files that are never mapped": """
import os, time
for _ in range(128):
    handle = os.memfd_create('fill')
    os.write(handle, b'x' * (16 << 20))
time.sleep(600)
""",
}


@pytest.mark.parametrize("filler", FILLERS)
def test_memory_outside_of_any_heap_counts_too(attack_as, filler):
    result = attack_as(FILLERS[filler], limits=MEMORY)
    assert result.status in {"limit", "error", "died"}, result
    assert result.status != "limit" or result.limit == "memory"


def test_a_fork_bomb_is_ended_and_its_neighbour_goes_on(attack_as):
    bomb = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    neighbour = """
import os, time
deadline = time.monotonic() + 3
while time.monotonic() < deadline:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
print('unharmed')
"""
    result = attack_as(bomb, limits={"processes": 100, "seconds": 30}, beside=neighbour)
    assert (result.status, result.limit, result.survivors) == ("limit", "processes", 0)
    assert (result.beside.status, result.beside.stdout) == ("ok", "unharmed\n"), result.beside


def test_a_thread_bomb_is_ended(attack):
    program = """
import threading, time
while True:
    try:
        threading.Thread(target=time.sleep, args=(600,)).start()
    except RuntimeError:
        pass
"""
    result = attack(program, limits={"processes": 100, "seconds": 30})
    assert (result.status, result.limit) == ("limit", "processes")


DISK = {"disk_bytes": 64 << 20, "seconds": 40}


def test_one_large_file_is_ended_by_the_limit_on_disk(attack):
    program = "file = open('working/big', 'wb')\nwhile True:\n    file.write(b'x' * (4 << 20))"
    result = attack(program, limits=DISK)
    assert (result.status, result.limit) in {("limit", "disk"), ("error", None)}


def test_many_files_are_ended_by_the_limit_on_disk(attack):
    program = """
import time
for number in range(40):
    with open(f'working/{number}', 'wb') as file:
        file.write(b'x' * (8 << 20))
time.sleep(600)
"""
    result = attack(program, limits=DISK)
    assert (result.status, result.limit) == ("limit", "disk")


def test_empty_files_without_end_are_ended_by_the_limit_on_disk(attack):
    program = "number = 0\nwhile True:\n    open(f'working/{number}', 'w').close()\n    number += 1"
    result = attack(program, limits={"disk_bytes": 8 << 20, "seconds": 40})
    assert (result.status, result.limit) == ("limit", "disk")


def test_sparse_files_cost_what_they_take_and_are_kept_by_their_length(attack):
    program = """
import os
for name in 'ab':
    os.truncate(os.open(f'working/{name}', os.O_RDWR | os.O_CREAT), 12 << 20)
"""
    result = attack(program, limits={"disk_bytes": 16 << 20, "seconds": 40})
    assert (result.status, result.files_left_out) == ("ok", 1)
    assert result.files == {"working/a": 12 << 20, "working/b": 12 << 20}
    assert len(os.listdir(f"{result.workspace}/working")) == 1


@pytest.mark.root
def test_files_that_are_open_without_a_name_count_too(attack):
    program = """
import os, time
handles = []
for _ in range(20):
    handles.append(os.open('working/gone', os.O_RDWR | os.O_CREAT))
    os.unlink('working/gone')
    os.write(handles[-1], b'x' * (8 << 20))
time.sleep(600)
"""
    result = attack(program, limits=DISK)
    assert (result.status, result.limit) == ("limit", "disk")


def test_folders_nested_beyond_counting_are_ended(attack):
    program = """
import os, time
os.chdir('working')
for _ in range(2000):
    os.mkdir('d')
    os.chdir('d')
time.sleep(600)
"""
    result = attack(program, limits=DISK)
    assert (result.status, result.limit, result.files) == ("limit", "disk", {})


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@pytest.mark.parametrize(
    "program",
    [
        "line = 'x' * 1023\nfor _ in range(1 << 20):\n    print(line)",
        "import sys\nfor _ in range(64):\n    sys.stdout.write('x' * (16 << 20))",
        "import os\nwhile True:\n    os.write(1, b'x' * 65536)",
        "import subprocess\nsubprocess.run(['yes'])",
        "from IPython.display import display\nwhile True:\n    display({'text/plain': 'x' * 100000}, raw=True)",
    ],
    ids=["lines", "without lines", "file descriptor", "subprocess", "displays"],
)
def test_endless_output_is_ended_and_the_host_keeps_little_of_it(attack, program):
    before = _peak()
    result = attack(program, limits={"output_bytes": 16 << 20, "seconds": 60})
    assert (result.status, result.limit) == ("limit", "output")
    assert result.output_bytes <= 20 << 20
    assert len(result.stdout) < 1 << 20
    assert _peak() - before < 100 << 20


def test_a_metric_after_600_000_lines_is_found_in_bounded_memory(attack):
    program = """
for step in range(600_000):
    print('step', step)
print('Validation metric: 0.875')
"""
    before = _peak()
    result = attack(program, limits={"seconds": 120})
    assert (result.status, result.metric) == ("ok", "0.875")
    assert result.stdout.startswith("step 0\nstep 1\n") and result.stdout.endswith("Validation metric: 0.875\n")
    assert result.truncated > 6_000_000
    assert _peak() - before < 100 << 20


def test_a_single_line_of_five_megabytes_is_no_obstacle(attack):
    result = attack("print('x' * 5_000_000)\nprint('Validation metric: 2')")
    assert (result.status, result.metric) == ("ok", "2.0")


def test_raw_frames_without_end_on_the_kernels_own_sockets_cost_the_host_little(attack):
    """The program writes past its kernel's library, onto the connections themselves: one message that never ends."""
    program = """
import os, socket, stat, struct, time
frame = b'\\x03' + struct.pack('>Q', 1 << 20) + bytes(1 << 20)
ends = []
for number in range(3, 200):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            ends.append(socket.socket(fileno=os.dup(number)))
    except OSError:
        pass
deadline, sent = time.monotonic() + 4, 0
while time.monotonic() < deadline:
    for end in ends:
        try:
            end.setblocking(False)
            sent += end.send(frame)
        except OSError:
            pass
print(len(ends), 'sockets')
"""
    before = _peak()
    result = attack(program, limits={"seconds": 30})
    assert result.status in {"limit", "died", "error"}
    assert result.seconds < 20
    assert _peak() - before < 100 << 20
