"""The few lines of ZMTP that the server speaks to a restricted kernel: one connection, bounded in everything.

A kernel runs a hostile program, so it can send any bytes. libzmq's own limits do not hold against that: with MAXMSGSIZE
of 4 MiB and RCVHWM of 100, one message of endlessly many frames grew the receiving process by 600 MB in as many
frames, since both limits count frames and whole messages, never the bytes of a message under way. It also connects
again by itself, to whatever then stands at the path. This client reads a message only when asked, counts its bytes as
they come, and has no way to connect twice. It needs the NULL mechanism and the DEALER and SUB roles, no more.

Protocol: ZMTP 3.0, https://rfc.zeromq.org/spec/23/.
"""

from __future__ import annotations

import asyncio
import os
import stat
import struct
from pathlib import Path
from typing import Literal, Self

from ..errors import AideError

MESSAGE_BYTES = 4 << 20
"""The most bytes that one message may have, over all of its frames."""
MESSAGE_FRAMES = 64
_MORE, _LONG, _COMMAND = 1, 2, 4
_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)


class WireError(AideError):
    """The connection to a kernel is over: closed by the other side, or broken by bytes that are no such protocol."""


class MessageTooLong(WireError):
    """The kernel sent a message over the limit, so the connection was given up."""


class Wire:
    """One connection to one socket of a kernel. Made by :meth:`connect`; for one event loop.

    Parameters
    ----------
    reader, writer
        The streams of a connected socket, before the handshake.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, path: Path, kind: Literal["DEALER", "SUB"]) -> Self:
        """Connect to the socket at ``path``, which must be a socket itself and no link to one.

        Raises
        ------
        WireError
            Where there is no socket, or what answers does not speak the protocol.
        """
        try:
            handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise WireError(f"The kernel's socket {path.name} cannot be opened: {error.strerror}.") from error
        try:
            if not stat.S_ISSOCK(os.fstat(handle).st_mode):
                raise WireError(f"The kernel's socket {path.name} is not a socket.")
            reader, writer = await asyncio.open_unix_connection(f"/proc/self/fd/{handle}")
        except OSError as error:
            raise WireError(f"The kernel's socket {path.name} does not answer: {error.strerror}.") from error
        finally:
            os.close(handle)
        wire = cls(reader, writer)
        try:
            await wire._shake_hands(kind)
        except BaseException:
            wire.close()
            raise
        return wire

    async def _shake_hands(self, kind: str) -> None:
        self._writer.write(_GREETING)
        greeting = await self._exactly(len(_GREETING))
        if greeting[0] != 0xFF or greeting[9] != 0x7F or greeting[10] < 3 or greeting[12:32] != _GREETING[12:32]:
            raise WireError("The kernel's socket does not speak ZMTP 3 without encryption.")
        role = kind.encode()
        ready = b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", len(role)) + role
        ready += b"\x08Identity" + bytes(4)
        self._writer.write(bytes([_COMMAND, len(ready)]) + ready)
        flags, body = await self._frame(1 << 12)
        if not flags & _COMMAND or not body.startswith(b"\x05READY"):
            raise WireError("The kernel's socket refused the connection.")
        if kind == "SUB":
            await self.send([b"\x01"])

    async def send(self, frames: list[bytes]) -> None:
        """Send one message."""
        last = len(frames) - 1
        for index, frame in enumerate(frames):
            flags = (_MORE if index < last else 0) | (_LONG if len(frame) > 255 else 0)
            self._writer.write(bytes([flags]) + struct.pack(">Q" if flags & _LONG else ">B", len(frame)) + frame)
        try:
            await self._writer.drain()
        except OSError as error:
            raise WireError("The kernel closed its socket.") from error

    async def receive(self) -> list[bytes]:
        """The frames of the next message.

        Raises
        ------
        MessageTooLong
            Where the message has more than :data:`MESSAGE_BYTES` bytes or :data:`MESSAGE_FRAMES` frames.
        WireError
            Where the connection is over.
        """
        frames: list[bytes] = []
        room = MESSAGE_BYTES
        while True:
            flags, body = await self._frame(room)
            room -= len(body)
            if flags & _COMMAND:
                raise WireError("The kernel's socket sent a command that nobody asked for.")
            frames.append(body)
            if not flags & _MORE:
                return frames
            if len(frames) >= MESSAGE_FRAMES:
                raise MessageTooLong(f"The kernel sent a message of more than {MESSAGE_FRAMES} frames.")

    async def _frame(self, room: int) -> tuple[int, bytes]:
        flags, size = await self._exactly(2)
        if flags & _LONG:
            size = struct.unpack(">Q", bytes([size]) + await self._exactly(7))[0]
        if size > room:
            raise MessageTooLong(f"The kernel sent a message of more than {MESSAGE_BYTES} bytes.")
        return flags, await self._exactly(size)

    async def _exactly(self, count: int) -> bytes:
        try:
            return await self._reader.readexactly(count)
        except (OSError, asyncio.IncompleteReadError) as error:
            raise WireError("The kernel closed its socket.") from error

    def close(self) -> None:
        """End the connection. Harmless when it is over."""
        self._writer.transport.abort()
