"""A uid of its own for each kernel of a server that is root."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from aide_jupyter.errors import Refused
from aide_jupyter.sandbox.uids import take_uid, uids_in_use

pytestmark = pytest.mark.root


def test_no_two_holders_have_the_same_uid_and_a_released_one_is_free_again(tmp_path):
    locks = tmp_path / "run/uids"
    held = [take_uid(64900, 64902, locks) for _ in range(3)]
    assert sorted(one.uid for one in held) == [64900, 64901, 64902]
    with pytest.raises(Refused, match="No uid from 64900 to 64902"):
        take_uid(64900, 64902, locks)
    held[1].release()
    held[1].release()
    again = take_uid(64900, 64902, locks)
    assert again.uid == held[1].uid
    for one in (held[0], held[2], again):
        one.release()


def test_a_uid_is_held_against_other_processes_and_free_when_its_holder_was_killed(tmp_path):
    locks = tmp_path / "run/uids"
    code = (
        "import sys, pathlib\nfrom aide_jupyter.sandbox.uids import take_uid\n"
        f"one = take_uid(64900, 64900, pathlib.Path({str(locks)!r}))\nprint(one.uid, flush=True)\nsys.stdin.read()"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline().strip() == "64900"
    with pytest.raises(Refused):
        take_uid(64900, 64900, locks)
    holder.kill()
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    take_uid(64900, 64900, locks).release()


def test_a_uid_with_a_process_or_an_account_is_passed_over(tmp_path):
    locks = tmp_path / "run/uids"
    process = subprocess.Popen(["setpriv", "--reuid=64901", "sleep", "60"])
    try:
        while 64901 not in uids_in_use():
            assert process.poll() is None
        one = take_uid(64901, 64902, locks)
        assert one.uid == 64902
        one.release()
    finally:
        process.kill()
        process.wait()
    with pytest.raises(Refused):
        take_uid(65534, 65534, locks)
    with pytest.raises(Refused):
        take_uid(0, 999, locks)


def test_a_folder_of_locks_that_others_may_write_is_not_used(tmp_path):
    locks = tmp_path / "run/uids"
    locks.mkdir(parents=True)
    os.chmod(locks, 0o777)
    with pytest.raises(Refused, match="can be written by others"):
        take_uid(64900, 64902, locks)
