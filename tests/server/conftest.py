"""A Jupyter server with this extension, and a client that speaks its interface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from jupyter_server.auth.authorizer import Authorizer
from pytest_jupyter.jupyter_server import *  # noqa: F403  for these tests alone: as a plugin, it acts on every test
from tornado.httpclient import HTTPClientError
from traitlets.config import Config

from aide_jupyter import opening, preparing

from . import fakes


class Recording(Authorizer):
    """Allows everything that is not in ``refused``, and remembers what was asked."""

    asked: ClassVar[list[tuple[str, str, str]]] = []
    refused: ClassVar[set[tuple[str, str]]] = set()

    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        if resource.startswith("aide_jupyter"):
            self.asked.append((handler.request.method, action, resource))
        return (action, resource) not in self.refused


@pytest.fixture
def recording() -> Iterator[type[Recording]]:
    Recording.asked, Recording.refused = [], set()
    yield Recording
    Recording.asked, Recording.refused = [], set()


@pytest.fixture
def aide_config() -> dict[str, Any]:
    """What an administrator sets; tests override it."""
    return {}


@pytest.fixture
def jp_server_config(aide_config: dict[str, Any], recording: type[Recording]) -> Config:
    return Config(
        {
            "ServerApp": {
                "jpserver_extensions": {"aide_jupyter": True, "jupyter_server_terminals": False},
                "allow_unauthenticated_access": False,
                "authorizer_class": recording,
            },
            "AideApp": aide_config,
        }
    )


class Answer(dict[str, Any]):
    """A reply's JSON, with its status."""

    status: int


class Client:
    """The interface below ``/aide-jupyter/``."""

    def __init__(self, fetch: Callable[..., Any], connect: Callable[..., Any]) -> None:
        self._fetch, self._connect = fetch, connect
        self.pages: list[Page] = []

    async def raw(self, method: str, *parts: str, **options: Any) -> Any:
        """The response, whatever its status."""
        try:
            return await self._fetch("aide-jupyter", *parts, method=method, **{"request_timeout": 120, **options})
        except HTTPClientError as error:
            if error.response is None:
                raise
            return error.response

    async def get(self, *parts: str, **params: Any) -> Answer:
        return _answer(await self.raw("GET", *parts, params=params))

    async def post(self, *parts: str, **body: Any) -> Answer:
        return _answer(await self.raw("POST", *parts, body=json.dumps(body)))

    async def live(self, run: str, tab: str) -> Page:
        page = Page(await self._connect("aide-jupyter", "runs", run, "live", params={"tab": tab}))
        self.pages.append(page)
        return page

    async def start(self, **options: Any) -> str:
        """Begin a run on the data folder, and wait until it has begun."""
        asked = {"data": "data", "goal": "Predict y.", "steps": 3, "preview": "off", "policy": "aide", "drafts": 2}
        answer = await self.post("runs", **{**asked, **options})
        assert answer.status == 201, answer
        await self.until(answer["run"], lambda state: state["phase"] != "preparing")
        return str(answer["run"])

    async def until(self, run: str, condition: Callable[[Answer], bool], seconds: float = 30) -> Answer:
        """The first state of a run for which this holds."""
        state = Answer()
        try:
            async with asyncio.timeout(seconds):
                while True:
                    state = await self.get("runs", run, "state")
                    if state.status == 200 and condition(state):
                        return state
                    assert not state.get("problems"), state
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"it never came: {state}") from None

    async def closed(self, run: str) -> Answer:
        return await self.until(run, lambda state: state["phase"] == "closed")

    async def question(self, run: str) -> Answer:
        """The first open question."""
        await self.until(run, lambda state: bool(state["waiting"]))
        async with asyncio.timeout(30):
            while not (found := (await self.get("runs", run, "reviews"))["questions"]):
                await asyncio.sleep(0.05)
        return Answer(found[0])

    async def decide(self, run: str, question: dict[str, Any], decision: str, **more: Any) -> Answer:
        """Answer a question as a page does."""
        body = {
            "candidate": question["candidate"],
            "nonce": question["nonce"],
            "code": question["code"]["sha256"],
            "data": question["data"],
            "purposes": question["purposes"],
            "decision": decision,
        }
        return await self.post("runs", run, "decisions", **{**body, **more})


class Page:
    """A page's socket."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket

    async def say(self, kind: str, **body: Any) -> None:
        await self.socket.write_message(json.dumps({"type": kind, **body}))

    async def hear(self, kind: str, condition: Callable[[dict[str, Any]], bool] = lambda message: True) -> Any:
        """The next message of a kind for which this holds; others are passed over."""
        async with asyncio.timeout(30):
            while True:
                text = await self.socket.read_message()
                assert text is not None, "the socket was closed"
                message = json.loads(text)
                if message["type"] == kind and condition(message):
                    return message

    def close(self) -> None:
        self.socket.close()


def _answer(response: Any) -> Answer:
    answer = Answer(json.loads(response.body))
    answer.status = response.code
    return answer


@pytest.fixture
def client(
    jp_fetch: Callable[..., Any], jp_ws_fetch: Callable[..., Any], jp_serverapp: Any, jp_asyncio_loop: Any
) -> Iterator[Client]:
    jp_asyncio_loop.run_until_complete(jp_serverapp.extension_manager.start_all_extensions())
    client = Client(jp_fetch, jp_ws_fetch)
    yield client
    for page in client.pages:
        page.close()


@pytest.fixture
def root(jp_root_dir: Path) -> Path:
    """The server's root, with a data folder."""
    data = jp_root_dir / "data"
    data.mkdir()
    (data / "train.csv").write_text("x,y\n1,2\n3,4\n")
    return jp_root_dir


@pytest.fixture
def stage(root: Path, monkeypatch: pytest.MonkeyPatch, jp_asyncio_loop: Any) -> fakes.Stage:
    """Runs with models and kernels that do as the test says."""
    stage = fakes.Stage()
    monkeypatch.setattr(preparing, "Pool", lambda *parts, **more: fakes.Kernels(stage))
    monkeypatch.setattr(preparing, "Gateway", lambda **parts: fakes.Model(stage, **parts))
    monkeypatch.setattr(opening, "task_of", fakes.task_of)
    return stage
