from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).parents[2].parent / "shared"


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[Callable[..., Scripted]]:
    """Start the scripted model server with some faults; what it was asked can be read back."""
    running: list[subprocess.Popen[str]] = []

    def start(*faults: str, hang: float = 30) -> Scripted:
        log = tmp_path / f"requests{len(running)}.jsonl"
        command = [sys.executable, str(SHARED / "bench" / "llm_server.py"), "--log", str(log), "--log-prompts"]
        command += ["--hang", str(hang), *(word for fault in faults for word in ("--fault", fault))]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        return Scripted(process.stdout.readline().strip(), log)

    yield start
    for process in running:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


class Scripted:
    def __init__(self, url: str, log: Path) -> None:
        self.url, self.log = url, log

    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


Answering = Callable[[dict[str, Any], "Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer: Answering

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            type(self).answer(body, self)
        except OSError:
            self.close_connection = True

    def reply(self, status: int, body: dict[str, Any], **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def say(self, content: str | None, **more: Any) -> None:
        finish = more.pop("finish_reason", "stop")
        message = {"role": "assistant", "content": content, **more.pop("message", {})}
        choices = [{"index": 0, "message": message, "finish_reason": finish}]
        self.reply(
            200, {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, **more}
        )


@pytest.fixture
def server() -> Iterator[Callable[[Answering], str]]:
    """Start a model server that answers as the given function does; returns its base URL."""
    running: list[ThreadingHTTPServer] = []

    def start(answer: Answering) -> str:
        kind = type("One", (Handler,), {"answer": staticmethod(answer)})
        one = ThreadingHTTPServer(("127.0.0.1", 0), kind)
        one.daemon_threads = True
        threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        running.append(one)
        return f"http://127.0.0.1:{one.server_port}/v1"

    yield start
    for one in running:
        one.shutdown()
        one.server_close()
