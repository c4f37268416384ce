"""What a program leaves behind is read without following it anywhere."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

pytestmark = pytest.mark.sandbox


def test_a_pipe_a_socket_and_links_are_left_out_and_never_opened(attack, run_folder):
    secret = run_folder / "secret"
    secret.write_text("CANARY")
    program = f"""
import os, socket
os.mkfifo('working/pipe')
socket.socket(socket.AF_UNIX).bind('working/socket')
os.symlink({str(secret)!r}, 'working/link')
os.symlink('/', 'working/root')
os.symlink('loop', 'working/loop')
os.mkdir('working/folder')
os.mkfifo('working/folder/pipe')
open('working/kept', 'w').write('kept')
try:
    os.mknod('working/device', 0o666 | 0o020000, os.makedev(1, 1))
except OSError as error:
    print(error.strerror)
"""
    result = attack(program)
    assert result.stdout == "Operation not permitted\n"
    assert (result.status, result.files, result.files_left_out) == ("ok", {"working/kept": 4}, 6)
    left = [path for path in Path(result.workspace).rglob("*") if not path.is_dir()]
    assert left == [Path(result.workspace) / "working" / "kept"]


def test_a_replaced_input_link_leads_nobody_anywhere(attack, run_folder):
    private = run_folder / "private"
    private.mkdir()
    (private / "notes").write_text("CANARY")
    program = f"import os\nos.rename('input', 'moved')\nos.symlink({str(private)!r}, 'input')"
    result = attack(program)
    assert (result.status, result.files) == ("ok", {})
    assert os.listdir(result.workspace) == ["working"]
    assert (private / "notes").read_text() == "CANARY"


def test_working_replaced_by_a_link_leads_nobody_anywhere(attack, run_folder):
    private = run_folder / "private"
    private.mkdir(mode=0o755)
    (private / "notes").write_text("CANARY")
    program = f"import os\nos.rmdir('working')\nos.symlink({str(private)!r}, 'working')"
    result = attack(program)
    assert (result.status, result.files) == ("ok", {})
    assert (Path(result.workspace) / "working").is_dir() and not (Path(result.workspace) / "working").is_symlink()
    assert stat.S_IMODE(private.stat().st_mode) == 0o755
    assert (private / "notes").read_text() == "CANARY"


def test_files_come_out_owned_by_the_server_without_rights_to_run(attack):
    program = """
import os
os.mkdir('working/models')
open('working/models/tool', 'w').write('#!/bin/sh')
os.chmod('working/models/tool', 0o4777)
os.chmod('working/models', 0o000)
"""
    result = attack(program)
    tool = Path(result.workspace) / "working/models/tool"
    assert result.files == {"working/models/tool": 9}
    assert stat.S_IMODE(tool.stat().st_mode) == 0o600
    assert (tool.stat().st_uid, tool.stat().st_gid) == (os.geteuid(), os.getegid())
    assert stat.S_IMODE(tool.parent.stat().st_mode) == 0o700


def test_the_data_is_the_same_after_a_program_that_writes_to_it(attack, run_folder):
    view = run_folder / "view"
    view.mkdir()
    (view / "train.csv").write_text("a\n1\n")
    program = """
import os
for action in (lambda: open('input/train.csv', 'a'), lambda: os.unlink('input/train.csv'),
               lambda: open('input/new', 'w'), lambda: os.chmod('input/train.csv', 0o777)):
    try:
        action()
        print('done')
    except OSError as error:
        print('refused')
"""
    result = attack(program, view=str(view))
    assert result.stdout == "refused\n" * 4
    assert os.listdir(view) == ["train.csv"] and (view / "train.csv").read_text() == "a\n1\n"
