"""Review in a real terminal (a pseudo-terminal), as a person types."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import COMMAND, Aide
from .test_run import asked

pytestmark = pytest.mark.sandbox
GOAL = ("--goal", "Predict the price. Minimize the rmse.", "--steps", "1", "--no-report")


class Terminal:
    """A command in a pseudo-terminal: what it shows, and what is typed."""

    def __init__(self, aide: Aide, *arguments: str, **env: str) -> None:
        self._fd, theirs = pty.openpty()
        env = {**aide.env, "TERM": "xterm", "COLUMNS": "120", "LINES": "40", **env}
        command = [sys.executable, *arguments] if arguments[0] == "-c" else [*COMMAND, *arguments]
        self.process = subprocess.Popen(
            command, cwd=aide.home, env=env, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
        )
        os.close(theirs)
        self.seen = ""

    def wait_for(self, words: str, seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while words not in self.seen:
            assert time.monotonic() < end, self.seen[-3000:]
            self._read(0.2)

    def type(self, words: str) -> None:
        self.seen = ""
        os.write(self._fd, words.encode())

    def end(self, seconds: float = 120) -> int:
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            self._read(0.2)
        return self.process.wait(1)

    def _read(self, seconds: float) -> None:
        if select.select([self._fd], [], [], seconds)[0]:
            try:
                self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(self._fd, 65536).decode(errors="replace"))
            except OSError:
                """The other side has closed it."""

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._fd)


@pytest.fixture
def terminal(aide: Aide) -> Iterator[Any]:
    opened: list[Terminal] = []

    def start(*arguments: str, **env: str) -> Terminal:
        opened.append(Terminal(aide, *arguments, **env))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_what_a_person_approves_runs(aide: Aide, data: Path, model: Any, terminal: Any) -> None:
    shell = terminal("run", "--data", str(data), *GOAL, *asked(model()))
    shell.wait_for("waits for your decision")
    shell.wait_for("[a]pprove")
    assert "print('Validation metric: 0.5')" in shell.seen
    assert re.search(r"sha256 of what will run: [0-9a-f]{64}", shell.seen)
    shell.type("\n")
    shell.wait_for("[a]pprove")
    assert not aide.of_kind("decided")
    shell.type("a\n")
    shell.wait_for("Best: c0001")
    assert shell.end() == 0
    (decided,) = [one for one in aide.records() if one["kind"] == "decided"]
    assert (decided["actor"]["kind"], decided["data"]["decision"]) == ("user", "approve")


def test_a_rejection_asks_why_and_the_reason_is_recorded(aide: Aide, data: Path, model: Any, terminal: Any) -> None:
    shell = terminal("run", "--data", str(data), *GOAL, *asked(model()))
    shell.wait_for("[a]pprove")
    shell.type("r\n")
    shell.wait_for("Why")
    shell.type("it guesses\n")
    assert shell.end() == 1
    assert aide.of_kind("decided")[0]["reason"] == "it guesses"
    assert not aide.of_kind("started")


def test_an_edit_opens_the_editor_and_what_was_written_there_runs(
    aide: Aide, data: Path, model: Any, terminal: Any
) -> None:
    editor = aide.home / "editor"
    editor.write_text('#!/bin/sh\nprintf \'print("Validation metric: 0.125")\\n\' > "$1"\n')
    editor.chmod(0o755)
    shell = terminal("run", "--data", str(data), *GOAL, *asked(model()), EDITOR=str(editor), VISUAL="")
    shell.wait_for("[a]pprove")
    shell.type("e\n")
    shell.wait_for("Best: c0002 with 0.125")
    assert shell.end() == 0


def test_pausing_leaves_the_question_open_for_the_next_time(aide: Aide, data: Path, model: Any, terminal: Any) -> None:
    shell = terminal("run", "--data", str(data), *GOAL, *asked(model()))
    shell.wait_for("[a]pprove")
    shell.type("p\n")
    assert shell.end() == 130
    again = terminal("resume", str(aide.run))
    again.wait_for("[a]pprove")
    again.type("a\n")
    assert again.end() == 0


def test_a_program_cannot_hide_what_it_is_from_the_terminal(aide: Aide, data: Path, model: Any, terminal: Any) -> None:
    hidden = "# ok \u202e\u200b\nprint('\x1b[2J\x1b[8m Validation metric: 1')\n"
    shell = terminal("run", "--data", str(data), *GOAL, *asked(model(programs={"01.py": hidden})))
    shell.wait_for("[a]pprove")
    assert "\\u202e" in shell.seen
    assert "\\x1b[2J" in shell.seen
    shell.type("r\n\n")
    shell.wait_for("Why")


API = """
from aide_jupyter import Experiment
options = {{"model": "openai/scripted", "base_url": {base!r}, "generate_report": False}}
solution = Experiment("data", goal="Predict the price. Minimize the rmse.", **options).run(steps=1)
print("it gave", solution.valid_metric)
"""


def test_the_python_api_asks_in_the_terminal_too(aide: Aide, data: Path, model: Any, terminal: Any) -> None:
    screen = terminal("-c", API.format(base=model()))
    screen.wait_for("leave > ")
    assert not aide.of_kind("started")
    screen.type("a\n")
    screen.wait_for("it gave 0.5")
    assert screen.end() == 0
    assert [one["decision"] for one in aide.of_kind("decided")] == ["approve"]


def test_a_run_of_the_python_api_that_is_left_says_how_to_go_on(
    aide: Aide, data: Path, model: Any, terminal: Any
) -> None:
    screen = terminal("-c", API.format(base=model()))
    screen.wait_for("leave > ")
    screen.type("p\n")
    screen.wait_for("Go on with: jupyter aide resume")
    assert screen.end() == 1
    assert not aide.of_kind("closed")
