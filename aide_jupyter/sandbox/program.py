"""The run of one program in a kernel that is ready: everything that can end it, and the first that does.

Five things are awaited at once: the reply on the shell socket, the jail's death, a broken limit, the deadline, and a
person's stop. Whichever comes first is the end, and stands. The kernel's messages can end the run; none can extend it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..records import Limits, Status
from . import messages
from .capture import Capture, OnOutput, OnText
from .jail import Jail
from .messages import Failure, Reply, Requests
from .streams import Streams
from .watchdog import Watchdog
from .wire import MESSAGE_BYTES, MessageTooLong, Wire, WireError

IDLE_SECONDS = 2.0
"""How long the server waits, after the reply, for the kernel to say that all it had to show was sent."""
_DEATH_SECONDS = 8.0
"""How long the jail of a kernel that has closed its sockets may take to end by itself and tell its exit status:
firejail was seen to take 2 s. Where the kernel lives on without sockets, it is ended then."""
_MESSAGE_COST = 1024
"""Bytes of output that a message counts as at the least, so that many small ones are not free."""
_LAST_BYTES = 4 << 20
"""More than both pipes hold: what a dead program had written and nobody had read."""
_NO_REPLY = Failure("KernelError", "The kernel ended the program without a reply.", "")


@dataclass(frozen=True)
class End:
    """Why a run is over. ``limit`` is set for ``limit`` and ``timeout``."""

    status: Status
    limit: str | None = None
    reply: Reply | None = None


@dataclass(frozen=True)
class Channels:
    """Everything that connects the server to one kernel."""

    jail: Jail
    requests: Requests
    shell: Wire
    iopub: Wire
    streams: Streams


class ProgramRun:
    """One run. :meth:`to_the_end`, then the caller kills the namespace, then :meth:`drain`.

    Parameters
    ----------
    on_output, on_text
        As :meth:`.kernel.RestrictedKernel.run_cells` says. What they raise ends the run and is raised to its caller.
    """

    def __init__(self, channels: Channels, limits: Limits, on_output: OnOutput | None, on_text: OnText | None) -> None:
        self._channels = channels
        self._limits = limits
        self._on_output = on_output
        self._on_text = on_text
        self._end: asyncio.Future[End] = asyncio.get_running_loop().create_future()
        self._quiet = asyncio.Event()
        self._request = ""
        self._watchdog = Watchdog(channels.jail, limits, lambda limit: self.finish(End("limit", limit)))
        self._began = self._lost = 0.0
        self.captures: list[Capture] = []
        self.output_bytes = 0
        self.seconds = 0.0

    @property
    def end(self) -> End:
        """Why the run is over. Only after :meth:`to_the_end`."""
        return self._end.result()

    @property
    def peak_memory_bytes(self) -> int:
        """The most memory that the watchdog saw."""
        return self._watchdog.peak

    def finish(self, end: End) -> None:
        """The run is over; where it already was, nothing changes but that nobody waits for more output."""
        if end.reply is None:
            self._quiet.set()
        if not self._end.done():
            over = self._lost if end.status == "died" and self._lost else time.monotonic()
            self.seconds = over - self._began if self._began else 0.0
            self._end.set_result(end)

    async def to_the_end(self, cells: Sequence[str]) -> None:
        """Run the cells until the run is over. The kernel may still be alive then."""
        if self._end.done():
            return
        loop = asyncio.get_running_loop()
        streams = self._channels.streams
        self._began = time.monotonic()
        deadline = loop.call_later(self._limits.seconds, self.finish, End("timeout", "seconds"))
        streams.listen(self._take)
        tasks = [
            self._spawn(work) for work in (self._watchdog.run(), self._death(), self._listen(), self._drive(cells))
        ]
        try:
            end = await self._end
            if end.reply is not None:
                await self._wait_for_quiet()
        finally:
            deadline.cancel()
            streams.deafen()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def drain(self) -> None:
        """Take what the program had written when it died."""
        if self.captures:
            if self.output_bytes <= self._limits.output_bytes:
                self._channels.streams.drain(self._take, _LAST_BYTES)
            self.captures[-1].close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._check)
        return task

    def _check(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._break(error)

    def _break(self, error: BaseException) -> None:
        self._quiet.set()
        if not self._end.done():
            self._end.set_exception(error)

    async def _drive(self, cells: Sequence[str]) -> None:
        for number, code in enumerate(cells):
            self._new_capture()
            self._quiet.clear()
            self._request, frames = self._channels.requests.execute(code)
            try:
                await self._channels.shell.send(frames)
                reply = await self._reply(self._request)
            except MessageTooLong:
                self.finish(End("limit", "output"))
                return
            except WireError:
                self._lost = time.monotonic()
                await asyncio.sleep(_DEATH_SECONDS)
                self.finish(End("died"))
                return
            if reply.failure is not None:
                self.captures[-1].fail(reply.failure)
            if reply.status == "error" or number == len(cells) - 1:
                self.finish(End(reply.status, reply=reply))
                return
            await self._wait_for_quiet()
            self._channels.streams.drain(self._take, _LAST_BYTES)
            self.captures[-1].close()

    async def _reply(self, request: str) -> Reply:
        while True:
            message = messages.parse(await self._charged(self._channels.shell))
            if message is not None and message.kind == "execute_reply" and message.parent == request:
                return messages.reply(message)

    async def _listen(self) -> None:
        """Read what the kernel shows. Output streams do not come this way (:mod:`.streams`), nor is an error believed
        here: the reply has it."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                message = messages.parse(await self._charged(self._channels.iopub))
            except MessageTooLong:
                # Losing pictures is better than losing the program, whose reply and streams come another way.
                self._channels.iopub.close()
                self.captures[-1].truncated += MESSAGE_BYTES
                self._quiet.set()
                return
            except WireError:
                self._quiet.set()
                return
            if message is None or message.parent != self._request:
                continue
            if messages.idle(message):
                self._quiet.set()
                loop.call_later(IDLE_SECONDS, self._end_without_reply, self._request)
            elif message.kind in ("display_data", "execute_result") and (shown := messages.shown(message)):
                self.captures[-1].show(shown)

    async def _charged(self, wire: Wire) -> list[bytes]:
        """The next message, counted as output. A flood of messages gives way to everything else in the loop."""
        frames = await wire.receive()
        self._charge(max(_MESSAGE_COST, sum(map(len, frames))))
        await asyncio.sleep(0)
        return frames

    def _end_without_reply(self, request: str) -> None:
        """A program can break its kernel so that it never replies (a ``sys.stdout`` that cannot be flushed)."""
        if request == self._request and not self._end.done():
            self.captures[-1].fail(_NO_REPLY)
            self.finish(End("error"))

    async def _death(self) -> None:
        await self._channels.jail.wait()
        self.finish(End("died"))

    async def _wait_for_quiet(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(IDLE_SECONDS):
                await self._quiet.wait()

    def _new_capture(self) -> None:
        on_output: Callable[[int, str], None] | None = None
        if self._on_output is not None:
            before, tell = sum(capture.chars for capture in self.captures), self._on_output
            on_output = lambda offset, text: tell(before + offset, text)  # noqa: E731
        self.captures.append(Capture(on_output, self._on_text))

    def _take(self, name: str, data: bytes) -> None:
        self._charge(len(data))
        try:
            self.captures[-1].feed(name, data)
        except Exception as error:
            self._channels.streams.deafen()
            self._break(error)

    def _charge(self, count: int) -> None:
        self.output_bytes += count
        if self.output_bytes > self._limits.output_bytes:
            self._channels.streams.deafen()
            self.finish(End("limit", "output"))
