"""One restricted kernel, from its start to its death: it runs one program, and its namespace is then killed.

The program ends at its shell reply, with the id of our request, or at the kernel's death; nothing that it sends can
make the server wait longer, connect again, or keep more than a bounded amount. Its deadline is on the server's clock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from ..errors import AideError
from ..records import Limits
from . import messages, warmup
from .capture import OnOutput, OnText
from .collect import Caps, collect
from .jail import Jail, launch
from .messages import Message, Requests
from .outcome import CellRun, Execution, check_program, refused
from .policy import JailSpec
from .program import Channels, End, ProgramRun
from .streams import Streams
from .tree import remove
from .wire import Wire

READY_SECONDS = 60.0


class RestrictedKernel:
    """A kernel in a jail of its own, ready to run one program. Made by :meth:`start`; for one event loop.

    Attributes
    ----------
    jail
        The jail, which proved that it contains before the kernel started.
    workspace
        The kernel's working directory, with ``input`` and ``working``.
    started
        ``time.monotonic()`` when it became ready.
    """

    def __init__(self, jail: Jail, shell: Wire, iopub: Wire) -> None:
        self.jail = jail
        self.workspace: Path = jail.spec.workspace
        self.started = time.monotonic()
        self._requests = Requests(jail.connection["key"])
        self._shell = shell
        self._iopub = iopub
        self._streams: Streams | None = None
        self._run: ProgramRun | None = None
        self._used = False
        self._stopped = False

    @property
    def kernel_id(self) -> str:
        """A name for this kernel, unique on this machine."""
        return self.jail.kernel_id

    @classmethod
    async def start(
        cls, spec: JailSpec, warm: Sequence[str] = (), proven: Callable[[], Awaitable[None]] | None = None
    ) -> Self:
        """Launch a jail, connect to the kernel in it, and import the modules ``warm``.

        Parameters
        ----------
        proven
            Awaited when the jail has been proven to contain, before the imports, which take longer.

        Raises
        ------
        Refused
            Where containment could not be proven.
        AideError
            Where the kernel did not become ready. Its jail is dead then, and its folders are left to the caller.
        """
        jail = await launch(replace(spec, start=("-c", warmup.START)))
        wires: list[Wire] = []
        try:
            if proven is not None:
                await proven()
            async with asyncio.timeout(READY_SECONDS):
                prefix, ports = jail.connection["ip"], jail.connection
                wires.append(await Wire.connect(Path(f"{prefix}-{ports['shell_port']}"), "DEALER"))
                wires.append(await Wire.connect(Path(f"{prefix}-{ports['iopub_port']}"), "SUB"))
                kernel = cls(jail, *wires)
                await kernel._warm_up(warm)
        except BaseException as error:
            for wire in wires:
                wire.close()
            await asyncio.shield(jail.kill())
            if isinstance(error, TimeoutError):
                raise AideError(f"A restricted kernel did not become ready within {READY_SECONDS:g} s.") from error
            raise
        return kernel

    async def _warm_up(self, modules: Sequence[str]) -> None:
        await self._run_own(warmup.prepare(self.jail.spec.sockets))
        self._streams = Streams(self.jail.spec.sockets)
        self._streams.listen(lambda name, data: None)
        await self._run_own(warmup.imports(modules))
        self._streams.deafen()
        self._streams.drain(lambda name, data: None, 1 << 20)
        self.started = time.monotonic()

    async def _run_own(self, code: str) -> None:
        """Run a cell of ours, to its end and the message that says so, which also proves that iopub is connected."""
        identity, frames = self._requests.execute(code)
        await self._shell.send(frames)
        answer = messages.reply(await _answer(self._shell, identity))
        if answer.failure is not None:
            raise AideError(
                f"A restricted kernel could not be prepared: {answer.failure.name}: {answer.failure.message}"
            )
        while True:
            message = messages.parse(await self._iopub.receive())
            if message is not None and message.parent == identity and messages.idle(message):
                return

    async def run(
        self,
        code: str,
        limits: Limits,
        on_output: OnOutput | None = None,
        on_text: OnText | None = None,
        destination: Path | None = None,
    ) -> Execution:
        """Run one program as one cell. See :meth:`run_cells`."""
        return (await self.run_cells([code], limits, on_output, on_text, destination)).execution

    async def run_cells(
        self,
        cells: Sequence[str],
        limits: Limits,
        on_output: OnOutput | None = None,
        on_text: OnText | None = None,
        destination: Path | None = None,
    ) -> CellRun:
        """Run cells one after the other, to the first that fails, then kill the namespace and collect the files.

        Parameters
        ----------
        limits
            For all cells together. They are the ones that the watchdog judges; what the jail itself binds was fixed
            when it was launched.
        on_output
            Called with (number of characters before, new text) while the program runs. The text is as it came.
        on_text
            Called with the whole output in pieces of whole lines, for a reader of the metric.
        destination
            Where the workspace is moved when the namespace is dead. None: it stays.

        Raises
        ------
        AideError
            Where the kernel was used before, or the files could not be collected. Whatever a program does is an
            :class:`Execution`, never an error.
        """
        if self._used:
            raise AideError("A restricted kernel runs one program and is never used again.")
        self._used = True
        fault = next((fault for cell in cells if (fault := check_program(cell)) is not None), None)
        if fault is not None:
            await self.close()
            found = await asyncio.to_thread(collect, self.workspace, destination, Caps.of(limits))
            return CellRun(refused(fault, self.kernel_id, found.folder), [[] for _ in cells])
        run = ProgramRun(self._channels(), limits, on_output, on_text)
        self._run = run
        if self._stopped:
            run.finish(End("stopped"))
        try:
            try:
                await run.to_the_end(cells)
            finally:
                await asyncio.shield(self.jail.kill())
            run.drain()
        finally:
            await self.close()
        survivors = self.jail.survivors()
        outputs = await asyncio.to_thread(lambda: [capture.outputs() for capture in run.captures])
        found = await asyncio.to_thread(collect, self.workspace, destination, Caps.of(limits))
        end = run.end
        execution = Execution(
            status=end.status,
            kernel_id=self.kernel_id,
            workspace=found.folder,
            seconds=run.seconds,
            reply=end.reply.status if end.reply is not None else "none",
            outputs=tuple(item for cell in outputs for item in cell),
            truncated=sum(capture.truncated for capture in run.captures),
            output_bytes=run.output_bytes,
            peak_memory_bytes=run.peak_memory_bytes,
            exit=self.jail.exit_status if end.status == "died" else None,
            limit=end.limit,
            files=found.files,
            files_left_out=found.left_out,
            survivors=survivors,
        )
        return CellRun(execution, outputs + [[] for _ in cells[len(outputs) :]])

    def stop(self) -> None:
        """End what runs, now; its status is ``stopped``. A program that was not yet sent is never sent."""
        self._stopped = True
        if self._run is not None:
            self._run.finish(End("stopped"))

    async def wait(self) -> None:
        """Wait until the kernel is dead, by itself or killed."""
        await self.jail.wait()

    async def close(self) -> None:
        """Kill the namespace and everything that connects to it. The workspace stays. Harmless when it is closed."""
        self._shell.close()
        self._iopub.close()
        await asyncio.shield(self.jail.kill())
        if self._streams is not None:
            self._streams.close()
        remove(self.jail.spec.sockets)

    def _channels(self) -> Channels:
        if self._streams is None:
            raise AideError("A restricted kernel was asked to run a program before it was ready.")
        return Channels(self.jail, self._requests, self._shell, self._iopub, self._streams)


async def _answer(wire: Wire, request: str) -> Message:
    while True:
        message = messages.parse(await wire.receive())
        if message is not None and message.parent == request and message.kind == "execute_reply":
            return message
