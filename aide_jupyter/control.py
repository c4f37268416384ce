"""How a run is reached from another process: one JSON line each way over a unix socket of its owner.

The socket is 0600 in a 0700 folder, and each side asks the kernel who the other is. A command is small, typed, and
answered; what it does is the engine's matter.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue, ValidationError, model_validator

from .errors import AideError, BadRequest
from .records import Model, ReviewMode

Verb = Literal["ping", "pause", "resume", "stop", "stop-now", "hint", "mode"]
LINE_BYTES = 1 << 16
SECONDS = 10.0
"""How long one side waits for the other's line."""
CONNECTIONS = 16
ADDRESS_BYTES = 107
"""The longest path of a unix socket on Linux."""

_log = logging.getLogger(__name__)


class Command(Model):
    """What is asked of a run. ``user`` is who asks, where that is not this account (Jupyter's current user)."""

    verb: Verb
    text: str | None = Field(None, min_length=1, max_length=8000)
    mode: ReviewMode | None = None
    user: str | None = Field(None, min_length=1, max_length=200)

    @model_validator(mode="after")
    def _complete(self) -> Command:
        if (self.verb == "hint") != (self.text is not None):
            raise ValueError("`text` belongs to `hint`, and to nothing else")
        if (self.verb == "mode") != (self.mode is not None):
            raise ValueError("`mode` belongs to `mode`, and to nothing else")
        return self


Handler = Callable[[Command], Awaitable[Mapping[str, JsonValue]]]
"""Does what a command says and returns the answer. An AideError is told to who asked."""


class ControlSocket:
    """The owner's end.

    Parameters
    ----------
    path
        Where the socket is made; nothing is there. At most ``ADDRESS_BYTES`` bytes long.
    handler
        Called with one command at a time per connection.
    """

    def __init__(self, path: Path, handler: Handler) -> None:
        self.path = path
        self._handler = handler
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen. Raises OSError where the socket cannot be made."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(str(self.path))
            self.path.chmod(0o600)
            self._server = await asyncio.start_unix_server(self._connected, sock=listener, limit=LINE_BYTES)
        except BaseException:
            listener.close()
            raise

    def close(self) -> None:
        """Stop listening, drop who is connected, and remove the socket."""
        if self._server is not None:
            self._server.close()
            self._server = None
            with contextlib.suppress(FileNotFoundError):
                self.path.unlink()
        for task in self._serving:
            task.cancel()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            if len(self._serving) <= CONNECTIONS and peer_uid(writer.get_extra_info("socket")) in (0, os.geteuid()):
                await self._serve(reader, writer)
        except (OSError, TimeoutError, asyncio.CancelledError):
            """The other side went away or was too slow, or the run has ended."""
        finally:
            self._serving.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                async with asyncio.timeout(SECONDS):
                    line = await reader.readline()
            except ValueError:
                return await _send(writer, {"ok": False, "error": f"A command is at most {LINE_BYTES} bytes."})
            if not line.endswith(b"\n"):
                return None
            await _send(writer, await self._answer(line))

    async def _answer(self, line: bytes) -> dict[str, JsonValue]:
        try:
            command = Command.model_validate_json(line)
        except ValidationError as error:
            return {"ok": False, "error": f"Not a command: {error.errors()[0]['msg']}."}
        if command.verb == "ping":
            return {"ok": True, "pid": os.getpid()}
        try:
            return {"ok": True, **await self._handler(command)}
        except AideError as error:
            return {"ok": False, "error": error.message, "advice": error.advice}
        except Exception:
            _log.exception("The command %s failed.", command.verb)
            return {"ok": False, "error": f"The command {command.verb} failed; the owner's log says why."}


async def send(path: Path, command: Command, *, owner: int) -> dict[str, Any]:
    """Send one command to the run that listens at ``path`` and return its answer.

    Parameters
    ----------
    owner
        The uid that the other side must have; root will do too.

    Raises
    ------
    BadRequest
        Nobody answers there, it is somebody else, or the answer is no.
    """
    silent = "The process that runs it may have just ended, or hangs: try again, or look at its log."
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_unix_connection(str(path), limit=LINE_BYTES)
            try:
                if peer_uid(writer.get_extra_info("socket")) not in (owner, 0):
                    raise BadRequest(f"Another account than the run's listens at {path}.")
                writer.write(command.model_dump_json(exclude_none=True).encode() + b"\n")
                await writer.drain()
                answer = json.loads(await reader.readline())
                if not isinstance(answer, dict):
                    raise ValueError("no answer")  # noqa: TRY004 - one kind of error for a bad line
            finally:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
    except (OSError, ValueError, TimeoutError) as error:
        raise BadRequest(f"The run does not answer at {path} ({type(error).__name__}).", silent) from error
    if answer.pop("ok", False) is not True:
        raise BadRequest(str(answer.get("error", "The run refused.")), str(answer.get("advice", "")))
    return answer


def peer_uid(connection: Any) -> int:
    """The uid of the process at the other end of a unix socket, as the kernel says (SO_PEERCRED)."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
    return int(struct.unpack("iII", credentials)[1])


async def _send(writer: asyncio.StreamWriter, answer: Mapping[str, JsonValue]) -> None:
    writer.write(json.dumps(answer).encode() + b"\n")
    async with asyncio.timeout(SECONDS):
        await writer.drain()
