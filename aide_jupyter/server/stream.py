"""A page's socket: running output, where the run is, and who writes the notebook."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from jupyter_server.extension.handler import ExtensionHandlerMixin
from pydantic import TypeAdapter, ValidationError
from tornado import web
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from ..errors import AideError
from .live import LiveRun
from .looking import NotFound
from .models import HeadMessage, LeaseMessage, OpenMessage, PageMessage
from .output import Seen
from .runs import Runs

RUNS = "aide_jupyter_runs"
"""Where the web application's settings hold the :class:`.runs.Runs`."""
LOOK_SECONDS = 1.0
"""How often the journal of a run that lives elsewhere is looked at."""
CALM_SECONDS = 0.1
"""Seconds between two bursts of messages, so that what comes quickly is sent together."""
MESSAGE_BYTES = 16_384
_TAB = re.compile(r"[A-Za-z0-9_-]{8,64}")
_message: TypeAdapter[PageMessage] = TypeAdapter(PageMessage)


class LiveSocket(ExtensionHandlerMixin, WebSocketMixin, WebSocketHandler, JupyterHandler):
    """``WS runs/<id>/live?tab=``. Looking needs the right to read runs, writing the notebook the one to write them."""

    auth_resource = "aide_jupyter:runs"

    def initialize(self, name: str = "aide_jupyter", *args: Any, **kwargs: Any) -> None:
        """Called by tornado before anything else."""
        super().initialize(name, *args, **kwargs)
        self.tab = ""
        self.woken = asyncio.Event()
        self._mail: deque[LeaseMessage] = deque()
        self._pumping: asyncio.Task[None] | None = None
        self._listening: LiveRun | None = None
        self._run = ""
        self._may_write = False

    @ws_authenticated
    async def get(self, run: str) -> None:
        """Open the socket."""
        if not await self._authorized("read"):
            raise web.HTTPError(403, "Not authorized to read aide_jupyter:runs.")
        self._may_write = await self._authorized("write")
        tab = self.get_query_argument("tab", "")
        if _TAB.fullmatch(tab) is None:
            raise web.HTTPError(400, "The socket needs ?tab=, an id that the page made when it was loaded.")
        try:
            await self._runs.phase(run)
        except NotFound as error:
            raise web.HTTPError(404, error.message) from error
        except AideError as error:
            raise web.HTTPError(409, error.message) from error
        self._run, self.tab = run, tab
        upgrade = super().get(run)
        if upgrade is not None:
            await upgrade

    def open(self, *args: Any, **kwargs: Any) -> None:
        """The page is there."""
        super().open(*args, **kwargs)
        self._runs.sockets.add(self._run, self)
        self._runs.notebooks.connected(self._run, self.tab)
        self._pumping = asyncio.create_task(self._pump())

    async def on_message(self, message: str | bytes) -> None:
        """The page says something about the notebook."""
        if len(message) > MESSAGE_BYTES:
            self.close(1009, "too long")
            return
        try:
            said = _message.validate_json(message)
        except ValidationError:
            self.close(1003, "not a message of this protocol")
            return
        if self._may_write:
            await self._runs.notebooks.take(self._run, self.tab, said)
        elif isinstance(said, OpenMessage):
            words = "You may look at this run, not write its notebook."
            self.lease(LeaseMessage(state="refused", epoch=0, path=said.path, words=words, reconcile=False))

    def on_close(self) -> None:
        """The page is gone."""
        if self._pumping is None:
            return
        self._pumping.cancel()
        if self._listening is not None:
            self._listening.outputs.deafen(self.woken)
        self._runs.sockets.remove(self._run, self)
        self._runs.notebooks.lost(self._run, self.tab)

    def lease(self, message: LeaseMessage) -> None:
        """Tell the page about the notebook; called by :class:`.sockets.Sockets`."""
        self._mail.append(message)
        self.woken.set()

    def shut(self) -> None:
        """The server stops."""
        self.close(1001, "the server stops")

    async def _pump(self) -> None:
        """Send what is new; wait until more is. A slow page is waited for, and nothing is piled up for it."""
        told, seen = None, Seen()
        with contextlib.suppress(WebSocketClosedError):
            while True:
                self.woken.clear()
                while self._mail:
                    await self._send(self._mail.popleft().model_dump_json())
                live = self._listen()
                for message in [] if live is None else live.outputs.since(seen):
                    await self._send(message.model_dump_json())
                with contextlib.suppress(AideError):
                    seq, phase = await self._runs.phase(self._run)
                    if told != (seq, phase):
                        told = (seq, phase)
                        await self._send(HeadMessage(seq=seq, phase=phase).model_dump_json())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self.woken.wait()
                await asyncio.sleep(CALM_SECONDS)

    def _listen(self) -> LiveRun | None:
        """The run, where it lives here; a run that was resumed is another one than before."""
        live = self._runs.live(self._run)
        if live is not self._listening:
            if self._listening is not None:
                self._listening.outputs.deafen(self.woken)
            if live is not None:
                live.outputs.listen(self.woken)
            self._listening = live
        return live

    async def _send(self, message: str) -> None:
        await self.write_message(message)

    async def _authorized(self, action: str) -> bool:
        user = self.current_user
        return bool(await ensure_async(self.authorizer.is_authorized(self, user, action, self.auth_resource)))

    @property
    def _runs(self) -> Runs:
        runs: Runs = self.settings[RUNS]
        return runs
