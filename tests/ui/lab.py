"""A real JupyterLab server for browser tests, with Jupyter folders of its own, and what tests ask of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOKEN = "t0ken-of-a-test"
TITANIC = "id,size,rooms,price\n" + "".join(f"{n},{n % 17 + 30},{n % 5 + 1},{n % 17 * 3 + n % 5}\n" for n in range(60))


def until(holds: Callable[[], Any], seconds: float = 60.0, what: str = "it did not come about") -> Any:
    """Wait for a state of the server, not for a time. Returns what is true in the end."""
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < end, what
        time.sleep(0.05)


class Lab:
    """One server. ``root`` is what it shows; everything of Jupyter's own is in ``home``."""

    def __init__(self, home: Path, *more: str, app: str = "jupyterlab", env: dict[str, str] | None = None) -> None:
        self.home, self.root = home, home / "root"
        self.root.mkdir()
        data = self.root / "data"
        data.mkdir()
        (data / "train.csv").write_text(TITANIC)
        settings = home / "settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = {
            **os.environ,
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            **(env or {}),
        }
        self.log = home / "server.log"
        self._command = [
            sys.executable, "-m", app, "--no-browser", "--allow-root", f"--port={self.port}",
            "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={self.root}",
            "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", *more,
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start the server, or start it again, and wait until it answers."""
        with self.log.open("ab") as log:  # The server has a handle of its own.
            self._process = subprocess.Popen(self._command, env=self.env, cwd=self.home, stdout=log, stderr=log)
        until(self._answers, 60, f"the server did not start; {self.log} says why")

    def kill(self) -> None:
        """End it as a crash would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def _answers(self) -> bool:
        try:
            return bool(self.api("api/status"))
        except OSError:
            assert self._process is not None and self._process.poll() is None, self.log.read_text()
            return False

    def api(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """Ask the server; an answer that is no success raises ``urllib.error.HTTPError``."""
        request = urllib.request.Request(
            f"{self.url}/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {TOKEN}", "Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            error.add_note(error.read().decode(errors="replace"))
            raise
        return json.loads(text) if text else None

    # --- runs

    def run(self, **options: Any) -> str:
        """Begin a run on the little table, and wait until it is at work."""
        asked = {"data": "data", "goal": "Predict the price.", "metric": "rmse", "target": "price", "steps": 9}
        run = self.api("aide-jupyter/runs", {**asked, "workers": 1, "seed": 1, **options})["run"]
        until(lambda: self.state(run)["phase"] not in ("preparing",), 120)
        assert self.state(run)["phase"] != "failed", self.state(run)["phase_words"]
        return str(run)

    def state(self, run: str) -> dict[str, Any]:
        return dict(self.api(f"aide-jupyter/runs/{run}/state"))

    def waiting(self, run: str) -> dict[str, Any]:
        """The question that has waited longest, once there is one."""
        until(lambda: self.state(run)["waiting"], 120, "nothing waits")
        return dict(self.api(f"aide-jupyter/runs/{run}/reviews")["questions"][0])

    def control(self, run: str, **request: Any) -> dict[str, Any]:
        return dict(self.api(f"aide-jupyter/runs/{run}/control", request))

    def propose(self, run: str, code: str) -> str:
        """A program of the test's own, which runs at once: sending it is approving it. What waits is rejected, since
        it holds the place of the run's one worker."""
        waits = self.waiting(run)
        candidate = str(self.control(run, verb="propose", plan="A test.", code=code)["candidate"])
        self.decide(run, waits, "reject", reason="A test goes first.")
        return candidate

    def decide(self, run: str, question: dict[str, Any], decision: str, **more: Any) -> dict[str, Any]:
        body = {
            "candidate": question["candidate"], "nonce": question["nonce"], "code": question["code"]["sha256"],
            "data": question["data"], "purposes": question["purposes"], "decision": decision,
        }  # fmt: skip
        return dict(self.api(f"aide-jupyter/runs/{run}/decisions", {**body, **more}))

    def node(self, run: str, candidate: str) -> dict[str, Any]:
        return next(dict(node) for node in self.state(run)["nodes"] if node["id"] == candidate)

    def ended(self, run: str, candidate: str) -> dict[str, Any]:
        """A candidate, once nothing more happens to it."""
        final = ("good", "failed", "rejected", "edited", "no program")
        return dict(until(lambda: next((n for n in [self.node(run, candidate)] if n["standing"] in final), None), 120))

    def notebook_path(self, run: str) -> str:
        return str(self.state(run)["notebook"])

    def notebook(self, run: str) -> dict[str, Any]:
        """The notebook's file, as soon as it is whole: Jupyter writes it in place."""
        path = self.root / self.notebook_path(run)
        return dict(until(lambda: _whole(path.read_text())))

    def sources(self, run: str) -> list[str]:
        return ["".join(cell["source"]) for cell in self.notebook(run)["cells"]]


def cell_id(run: str, name: str) -> str:
    """The id of an agent's cell."""
    return f"{run[-8:]}-{name}"


def _whole(text: str) -> dict[str, Any] | None:
    try:
        return dict(json.loads(text))
    except ValueError:
        return None
