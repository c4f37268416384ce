"""A client that hostile bytes cannot exhaust, redirect or keep waiting, against a server that sends them."""

from __future__ import annotations

import asyncio
import json
import struct
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import psutil
import pytest
import zmq
import zmq.asyncio

from aide_jupyter.sandbox import messages
from aide_jupyter.sandbox.messages import Failure, Message, Reply, Requests, Shown
from aide_jupyter.sandbox.wire import MESSAGE_BYTES, MessageTooLong, Wire, WireError

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x05READY\x0bSocket-Type" + struct.pack(">I", 6) + b"ROUTER"
HELLO = GREETING + bytes([4, len(READY)]) + READY


async def _closed(server: asyncio.Server) -> None:
    """Close the server, and wait until every connection of the test is over."""
    server.close()
    while len(asyncio.all_tasks()) > 1:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0)


async def _hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


def _against(send: Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]) -> Any:
    """What ``receive`` gives, or raises, where the other side sends this after a proper greeting."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO)
        try:
            await send(writer)
            await reader.read()
        except ConnectionError:
            pass
        writer.transport.abort()

    async def run() -> list[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            server = await asyncio.start_unix_server(serve, Path(folder) / "s")
            wire = await Wire.connect(Path(folder) / "s", "DEALER")
            try:
                return await asyncio.wait_for(wire.receive(), 10)
            finally:
                wire.close()
                await _closed(server)

    return asyncio.run(run())


def test_it_speaks_with_the_library_that_kernels_use():
    async def run() -> None:
        context = zmq.asyncio.Context()
        with (
            tempfile.TemporaryDirectory() as folder,
            context.socket(zmq.ROUTER) as shell,
            context.socket(zmq.XPUB) as pub,
        ):
            shell.bind(f"ipc://{folder}/1")
            pub.bind(f"ipc://{folder}/2")
            dealer, sub = (
                await Wire.connect(Path(folder) / "1", "DEALER"),
                await Wire.connect(Path(folder) / "2", "SUB"),
            )
            assert await pub.recv() == b"\x01"
            await dealer.send([b"a", b"b" * 300, b""])
            identity, *frames = await shell.recv_multipart()
            assert frames == [b"a", b"b" * 300, b""]
            await shell.send_multipart([identity, b"answer", b"x" * 100_000])
            assert await dealer.receive() == [b"answer", b"x" * 100_000]
            await pub.send_multipart([b"topic", b"news"])
            assert await sub.receive() == [b"topic", b"news"]
            dealer.close()
            sub.close()
        context.term()

    asyncio.run(run())


def test_one_message_of_endlessly_many_frames_is_given_up_at_once():
    async def endless(writer: asyncio.StreamWriter) -> None:
        frame = b"\x03" + struct.pack(">Q", 1 << 20) + bytes(1 << 20)
        for _ in range(300):
            writer.write(frame)
            await writer.drain()

    before = psutil.Process().memory_info().rss
    with pytest.raises(MessageTooLong):
        _against(endless)
    assert psutil.Process().memory_info().rss - before < 40 << 20


@pytest.mark.parametrize(
    "data",
    [
        b"\x02" + struct.pack(">Q", MESSAGE_BYTES + 1),
        b"\x02" + struct.pack(">Q", (1 << 64) - 1),
        b"\x01\x00" * 1000,
    ],
    ids=["one byte more", "all bytes of the world", "empty frames without end"],
)
def test_a_message_over_the_limit_is_given_up(data):
    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    with pytest.raises(MessageTooLong):
        _against(send)


def test_commands_after_the_greeting_and_a_closed_socket_end_the_connection():
    async def ping(writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x04\x07\x04PING\x00\x00" * 10)

    async def close(writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\x10half")
        await writer.drain()
        writer.transport.abort()

    for send in (ping, close):
        with pytest.raises(WireError):
            _against(send)


def test_a_link_and_a_file_are_no_sockets():
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            server = await asyncio.start_unix_server(_hang_up, Path(folder) / "real")
            (Path(folder) / "link").symlink_to("real")
            (Path(folder) / "file").touch()
            for name, why in (("link", "not a socket"), ("file", "not a socket"), ("missing", "cannot be opened")):
                with pytest.raises(WireError, match=why):
                    await Wire.connect(Path(folder) / name, "DEALER")
            await _closed(server)

    asyncio.run(run())


def test_something_that_does_not_speak_the_protocol_is_no_kernel():
    async def run() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\n" * 10)
            await reader.read()
            writer.transport.abort()

        with tempfile.TemporaryDirectory() as folder:
            server = await asyncio.start_unix_server(serve, Path(folder) / "s")
            with pytest.raises(WireError):
                await Wire.connect(Path(folder) / "s", "DEALER")
            await _closed(server)

    asyncio.run(run())


def _frames(header: object, parent: object, content: object) -> list[bytes]:
    return [b"topic", b"<IDS|MSG>", b"", *(json.dumps(part).encode() for part in (header, parent, {}, content))]


def test_a_message_is_parsed_whoever_signed_it():
    frames = _frames({"msg_type": "status"}, {"msg_id": "m"}, {"execution_state": "idle"})
    message = messages.parse(frames)
    assert message == Message("status", "m", {"execution_state": "idle"})
    assert messages.idle(message)


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [b"<IDS|MSG>"],
        [b"\xff" * 100] * 7,
        [b"<IDS|MSG>", b"", b"[" * 1_000_000, b"{}", b"{}", b"{}"],
        [b"<IDS|MSG>", b"", b"1" * 1_000_000, b"{}", b"{}", b"{}"],
        [b"<IDS|MSG>", b"", b"\xff\xfe", b"{}", b"{}", b"{}"],
        _frames([], {}, {}),
        _frames({"msg_type": 5}, {}, {}),
        _frames({"msg_type": "status"}, 5, {}),
        _frames({"msg_type": "status"}, {}, "idle"),
    ],
)
def test_what_is_no_message_is_none(frames):
    assert messages.parse(frames) is None


def test_a_parent_of_the_wrong_type_answers_nothing():
    message = messages.parse(_frames({"msg_type": "status"}, {"msg_id": ["m"]}, {}))
    assert message is not None and message.parent == ""


def _reply(**content: object) -> Reply:
    return messages.reply(Message("execute_reply", "m", content))


@pytest.mark.parametrize("value", ["", "None", "0"])
def test_leaving_with_success_is_success(value):
    assert _reply(status="error", ename="SystemExit", evalue=value) == Reply("ok")


def test_everything_but_a_clear_success_is_an_error():
    assert _reply(status="ok") == Reply("ok")
    assert _reply() == Reply("error", Failure("KernelError", "", ""))
    assert _reply(status=["ok"]).status == "error"
    assert _reply(status="error", ename="SystemExit", evalue="1").status == "error"
    failure = _reply(status="error", ename=5, evalue={"a": 1}, traceback="text").failure
    assert failure == Failure("KernelError", "", "")
    failure = _reply(status="error", ename="E" * 9999, evalue="v\x1b[31m", traceback=["a", 5, "\x00b"]).failure
    assert failure == Failure("E" * 200, "v", "a\n\nb")


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"text/plain": "t", "text/html": "<b>"}, Shown("t", None)),
        ({"text/html": "<b>"}, None),
        ({"image/png": "eA=="}, Shown("", b"x")),
        ({"image/png": "é"}, None),
        ({"image/png": 5, "text/plain": ["t"]}, None),
        ("text", None),
    ],
)
def test_of_a_display_only_text_and_png_are_taken(data, shown):
    assert messages.shown(Message("display_data", "m", {"data": data})) == shown


def test_requests_are_signed_and_may_not_ask_for_input():
    identity, frames = Requests(b"key").execute("print(1)")
    header, content = json.loads(frames[2]), json.loads(frames[5])
    assert header["msg_id"] == identity and len(frames[1]) == 64
    assert content["code"] == "print(1)" and content["allow_stdin"] is False
