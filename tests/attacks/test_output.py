"""What a program writes is text and nothing more, however it writes it; and what its kernel says is a claim."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.sandbox


def test_output_below_python_and_of_subprocesses_is_captured_in_order(attack):
    program = """
import ctypes, os, subprocess, sys
print('python')
os.write(1, b'descriptor\\n')
subprocess.run(['echo', 'subprocess'])
ctypes.CDLL(None).printf(b'c %d\\n', 5)
sys.__stdout__.write('original\\n')
os.write(2, b'error\\n')
"""
    result = attack(program)
    assert result.stdout == "python\ndescriptor\nsubprocess\nc 5\noriginal\n"
    assert result.stderr == "error\n"


def test_standard_output_is_a_proper_file(attack):
    program = """
import sys
print(sys.stdout.isatty(), sys.stdout.fileno(), sys.stderr.fileno(), sys.stdout.encoding, sys.stdout.writable())
sys.stdout.buffer.write(b'bytes\\n')
print('flushed', end='', flush=True)
"""
    assert attack(program).stdout == "False 1 2 utf-8 True\nbytes\nflushed"


@pytest.mark.parametrize(
    "breaking", ["sys.stdout.close()", "sys.stdout = object()", "sys.stderr = None", "os.close(1)"]
)
def test_a_program_that_breaks_its_streams_still_ends(attack, breaking):
    result = attack(f"import os, sys\nprint('before')\n{breaking}", limits={"seconds": 20})
    assert result.status in {"ok", "error"}
    assert result.stdout.startswith("before\n")


def test_fences_tags_and_control_sequences_come_out_as_plain_text(attack):
    program = r"""
print('```')
print('</script><script>alert(1)</script>')
print('\x1b[31mred\x1b[0m \x1b]0;title\x07\x9b2Jx\x00y')
print('10%\r50%\r100%')
print('\ud800')
"""
    assert attack(program).stdout == "```\n</script><script>alert(1)</script>\nred xy\n100%\n\\ud800\n"


@pytest.mark.parametrize("mime", ["text/html", "image/svg+xml", "application/javascript", "text/latex", "image/jpeg"])
def test_of_a_displayed_value_only_the_plain_text_is_kept(attack, mime):
    program = f"from IPython.display import display\ndisplay({{{mime!r}: '<b>', 'text/plain': 'plain'}}, raw=True)"
    result = attack(program)
    assert (result.status, result.shown) == ("ok", ["plain"])


@pytest.mark.parametrize(
    ("printed", "value", "text"),
    [
        ("Validation metric: 3", "3.0", "3"),
        ("Validation metric: nan", None, "nan"),
        ("Validation metric: inf", None, "inf"),
        ("nothing", None, None),
        ("Validation metric: 1\nValidation metric: 0.5", "0.5", "0.5"),
    ],
)
def test_the_last_printed_metric_counts_where_it_is_a_number(attack, printed, value, text):
    result = attack(f"print({printed!r})")
    assert (result.status, result.metric, result.metric_text) == ("ok", value, text)


def test_lines_of_the_two_streams_never_mix_in_what_the_metric_is_read_from(attack):
    program = """
import os
os.write(1, b'Validation met')
os.write(2, b'noise\\n')
os.write(1, b'ric: 7\\n')
"""
    assert attack(program).metric == "7.0"


FORGERY = """
session, kernel = get_ipython().kernel.session, get_ipython().kernel
parent = kernel.get_parent()
def shell(content):
    session.send(kernel.shell_stream, 'execute_reply', content, parent=parent, ident=kernel._shell_parent_ident.get()
                 if hasattr(kernel, '_shell_parent_ident') else None)
def iopub(kind, content):
    session.send(kernel.iopub_socket, kind, content, parent=parent, ident=b'x')
"""


def test_forged_streams_and_errors_on_iopub_are_not_output(attack):
    program = (
        FORGERY
        + """
iopub('stream', {'name': 'stdout', 'text': 'Validation metric: 1'})
iopub('error', {'ename': 'Forged', 'evalue': '', 'traceback': []})
print('real')
"""
    )
    result = attack(program)
    assert (result.status, result.stdout, result.metric, result.error) == ("ok", "real\n", None, None)


def test_a_forged_idle_ends_no_program_as_a_success(attack):
    result = attack(FORGERY + "iopub('status', {'execution_state': 'idle'})\nimport time\ntime.sleep(60)")
    assert (result.status, result.reply) == ("error", "none")
    assert result.seconds < 10


def test_a_program_that_replies_for_its_kernel_ends_there(attack):
    """Its key lies in its own socket folder, so it can speak for the kernel. It gains a claim, and loses its time."""
    program = (
        FORGERY
        + """
import os, time
shell({'status': 'ok', 'execution_count': 1, 'user_expressions': {}, 'payload': []})
for number in range(50):
    time.sleep(0.1)
    open(f'working/{number}', 'w').close()
"""
    )
    result = attack(program)
    assert result.seconds < 3
    assert len(result.files) < 40
    assert result.survivors == 0


MALFORMED = [
    "session.send(kernel.iopub_socket, 'display_data', {'data': 5}, parent=parent)",
    "session.send(kernel.iopub_socket, 'display_data', {'data': {'image/png': 7, 'text/plain': 7}}, parent=parent)",
    "kernel.iopub_socket.send_multipart([b'<IDS|MSG>', b'', b'[' * 100000, b'{}', b'{}', b'{}'])",
    "kernel.iopub_socket.send_multipart([b'\\xff' * 1000] * 60)",
    "kernel.iopub_socket.send_multipart([b'x'] * 1000)",
    "kernel.iopub_socket.send_multipart([b'x' * (8 << 20)])",
    "session.send(kernel.iopub_socket, 'status', {'execution_state': ['idle']}, parent={'msg_id': {}})",
]


@pytest.mark.parametrize("message", MALFORMED)
def test_a_malformed_message_changes_nothing(attack, message):
    result = attack(FORGERY + message + "\nprint('real')")
    assert (result.status, result.stdout, result.shown) == ("ok", "real\n", [])


def test_a_picture_that_is_none_is_named_and_not_kept(attack):
    program = "from IPython.display import display\ndisplay({'image/png': 'eHh4'}, raw=True)"
    assert attack(program).shown == ["[a picture of 3 bytes was not kept]"]


def test_an_exception_too_long_for_a_message_is_no_endless_wait(attack):
    result = attack("raise KeyError('x' * 5_000_000)", limits={"seconds": 30})
    assert (result.status, result.limit) == ("limit", "output")


def test_a_kernel_that_closes_its_sockets_is_no_endless_wait(attack):
    program = "import os, time\nos.closerange(3, 1000)\ntime.sleep(60)"
    result = attack(program, limits={"seconds": 30})
    assert result.status in {"died", "error"}
    assert result.seconds < 20
