"""How long other requests wait while the preview of a large csv is made, against the same requests to an idle server.

    python benchmarks/preview_delay.py [--gigabytes 1]

A real Jupyter server of its own, with the extension. Asked are the list of runs, the form of a new run and Jupyter's
contents, one after the other; counted are those that began and ended while a run on a csv of that size said that it
measures the data. Prints the ratio of the medians, and what was slowest.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from preview_memory import write_csv

TOKEN = "benchmark"
ASKED = ("aide-jupyter/runs", "aide-jupyter/form", "api/contents/data")
IDLE_ROUNDS = 60
MEASURING = "Measuring the data"


class Server:
    """A server that shows the folder ``home / "root"``."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        folders = {f"JUPYTER_{name.upper()}_DIR": str(home / name) for name in ("config", "data", "runtime")}
        command = [
            sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", f"--port={port}",
            f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={home / 'root'}",
        ]  # fmt: skip
        with (home / "server.log").open("wb") as log:
            self.process = subprocess.Popen(command, env={**os.environ, **folders}, cwd=home, stdout=log, stderr=log)
        end = time.monotonic() + 120
        while not self.answers():
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit((home / "server.log").read_text())
            time.sleep(0.1)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The answer to a request, from JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data, {"Authorization": f"token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())

    def answers(self) -> bool:
        """Whether it is there."""
        try:
            return bool(self.ask("api/status"))
        except OSError:
            return False

    def round(self) -> list[float]:
        """Milliseconds of each request."""
        took = []
        for path in ASKED:
            began = time.perf_counter()
            self.ask(path)
            took.append(1000 * (time.perf_counter() - began))
        return took


def measure(server: Server) -> tuple[list[float], list[float], float]:
    """Milliseconds of requests to the idle server, of those during the preview, and the seconds that it took."""
    server.round()  # The first of each imports and reads what the later ones find.
    idle = [one for _ in range(IDLE_ROUNDS) for one in server.round()]
    asked = {"data": "data", "goal": "Predict the target.", "metric": "log loss", "target": "target", "steps": 1}
    run = server.ask("aide-jupyter/runs", asked)["run"]
    busy, began, ended, was = [], 0.0, 0.0, False
    while not ended:
        took = server.round()
        state = server.ask(f"aide-jupyter/runs/{run}/state")
        now = state["preparing"] == MEASURING
        if now and not was:
            began = time.monotonic()
        elif now:
            busy += took
        elif was:
            ended = time.monotonic()
        elif state["phase"] != "preparing":
            sys.exit(f"The preview was not seen: {state['phase_words']}")
        was = now
    server.ask(f"aide-jupyter/runs/{run}/control", {"verb": "stop-now"})
    return idle, busy, ended - began


def main() -> None:
    """Measure and print."""
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--gigabytes", type=float, default=1.0)
    options = cli.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        (home / "root" / "data").mkdir(parents=True)
        write_csv(home / "root" / "data" / "train.csv", int(options.gigabytes * 1e9))
        server = Server(home)
        try:
            idle, busy, seconds = measure(server)
        finally:
            server.process.terminate()
            server.process.wait()
    print(f"a preview of {options.gigabytes:g} GB in {seconds:.1f} s")
    for name, took in (("idle", idle), ("meanwhile", busy)):
        print(f"{name}: median {statistics.median(took):.1f} ms, worst {max(took):.1f} ms, of {len(took)} requests")
    print(f"ratio: {statistics.median(busy) / statistics.median(idle):.2f}")


if __name__ == "__main__":
    main()
