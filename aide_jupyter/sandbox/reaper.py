"""The watcher that ends every jail when the server ends. Started by :mod:`.supervisor` as a program of its own.

It imports the standard library only, and is handed to the interpreter as text. It reads one JSON object a line from
standard input and answers ``ok``; standard input ends when the server does, and a pidfd says so too where a forked
child of the server still holds the pipe.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import sys
from pathlib import Path
from typing import Any


def start_time(pid: int) -> int | None:
    """When a process was started, in clock ticks since the boot; None where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19])


class Reaper:
    """The jails to end, by pid and start time, each with a pidfd that no later process can take over."""

    def __init__(self) -> None:
        self.jails: dict[tuple[int, int], int] = {}
        self.folders: set[str] = set()

    def watch(self, pid: int, started: int) -> None:
        """Hold a pidfd of a jail's init. One that has ended meanwhile needs no watching."""
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        # The pidfd is of this number now; that it was of the same process before is told by the start time.
        if start_time(pid) == started:
            self.jails[pid, started] = descriptor
        else:
            os.close(descriptor)

    def forget(self, pid: int, started: int) -> None:
        """A jail has ended by other hands."""
        descriptor = self.jails.pop((pid, started), None)
        if descriptor is not None:
            os.close(descriptor)

    def obey(self, line: bytes) -> None:
        """Do what one line of the server says."""
        message: dict[str, Any] = json.loads(line)
        if "watch" in message:
            self.watch(*message["watch"])
        elif "forget" in message:
            self.forget(*message["forget"])
        elif "remove" in message:
            self.folders.add(message["remove"])

    def end_all(self) -> None:
        """Kill every jail that is left, and remove what the server had planted."""
        for descriptor in self.jails.values():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Watch until the server, whose pid is the argument, has ended."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    reaper = Reaper()
    try:
        server = os.pidfd_open(int(sys.argv[1]))
    except ProcessLookupError:
        return
    waiting = b""
    while True:
        ready, _, _ = select.select([0, server], [], [])
        data = os.read(0, 65536) if 0 in ready else b""
        if not data:
            break
        *lines, waiting = (waiting + data).split(b"\n")
        for line in lines:
            reaper.obey(line)
            with contextlib.suppress(BrokenPipeError):
                os.write(1, b"ok\n")
    reaper.end_all()


if __name__ == "__main__":
    main()
