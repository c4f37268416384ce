"""Who runs a run: one process at a time, reachable by its account alone."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aide_jupyter import control as control_module
from aide_jupyter.control import LINE_BYTES, Command
from aide_jupyter.errors import BadRequest, JournalError, OwnedElsewhere
from aide_jupyter.home import data_home, private_folder, runtime_home
from aide_jupyter.owner import Owner, control, is_owned


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Jupyter's folders, at a path that leaves room for a socket's."""
    with tempfile.TemporaryDirectory(prefix="o") as folder:
        monkeypatch.setenv("JUPYTER_DATA_DIR", f"{folder}/data")
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", f"{folder}/runtime")
        yield Path(folder)


def serve(folder: Path, client: Any, handler: Any = None) -> Any:
    """Own ``folder``, listen, and return what ``client()`` returns."""

    async def nothing(command: Command) -> dict[str, Any]:
        return {"did": command.model_dump(exclude_none=True)}

    async def main() -> Any:
        with Owner.acquire(folder) as owner:
            await owner.serve(handler or nothing)
            return await client()

    return asyncio.run(main())


def says(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "journal.lock").read_text())


def test_homes_are_private_and_follow_jupyters_settings(short: Path) -> None:
    assert data_home() == short / "data" / "aide_jupyter"
    assert runtime_home() == short / "runtime" / "aide_jupyter"
    assert stat.S_IMODE(data_home().stat().st_mode) == 0o700
    data_home().chmod(0o755)
    assert stat.S_IMODE(data_home().stat().st_mode) == 0o700
    (short / "link").symlink_to(short / "data")
    with pytest.raises(BadRequest, match="not a folder of this account"):
        private_folder(short / "link")
    (short / "file").touch()
    with pytest.raises(BadRequest):
        private_folder(short / "file" / "below")


def test_a_run_has_one_owner_at_a_time(tmp_path: Path) -> None:
    assert not is_owned(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with Owner.acquire(tmp_path) as owner:
        assert is_owned(tmp_path)
        assert says(tmp_path)["pid"] == os.getpid()
        assert stat.S_IMODE((tmp_path / "journal.lock").stat().st_mode) == 0o600
        with pytest.raises(OwnedElsewhere, match=f"process {os.getpid()}"):
            Owner.acquire(tmp_path)
        assert is_owned(tmp_path)
    assert not is_owned(tmp_path)
    owner.release()
    Owner.acquire(tmp_path).release()


def test_asking_whether_a_run_is_owned_does_not_keep_an_owner_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks shares the lock for a moment; an owner that comes in that moment tries again."""
    Owner.acquire(tmp_path).release()
    asking = os.open(tmp_path / "journal.lock", os.O_RDONLY)
    fcntl.flock(asking, fcntl.LOCK_SH)
    monkeypatch.setattr(time, "sleep", lambda seconds: os.close(asking))
    Owner.acquire(tmp_path).release()


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_a_lock_that_is_no_regular_file_is_refused(tmp_path: Path, kind: str) -> None:
    lock = tmp_path / "journal.lock"
    if kind == "link":
        lock.symlink_to(tmp_path / "elsewhere")
    elif kind == "fifo":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    with pytest.raises(JournalError, match="lock"):
        Owner.acquire(tmp_path)
    assert not (tmp_path / "elsewhere").exists()
    assert not is_owned(tmp_path)


_OWNS = """
import asyncio, sys
from pathlib import Path
from aide_jupyter.owner import Owner
async def main():
    owner = Owner.acquire(Path(sys.argv[1]))
    async def handler(command): return {"asked": command.verb}
    await owner.serve(handler)
    print(flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@contextlib.contextmanager
def other_owner(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", _OWNS, str(folder)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def test_another_process_is_reached_and_its_death_frees_the_run(tmp_path: Path) -> None:
    with other_owner(tmp_path) as process:
        assert is_owned(tmp_path)
        assert asyncio.run(control(tmp_path, "ping")) == {"pid": process.pid}
        assert asyncio.run(control(tmp_path, "stop-now")) == {"asked": "stop-now"}
        with pytest.raises(OwnedElsewhere, match=f"process {process.pid}"):
            Owner.acquire(tmp_path)
        left = Path(says(tmp_path)["socket"])
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not is_owned(tmp_path)
    assert left.is_socket()
    with pytest.raises(BadRequest, match="No process runs"):
        asyncio.run(control(tmp_path, "pause"))
    with Owner.acquire(tmp_path):
        assert not left.exists()


def test_only_a_socket_of_ours_is_removed_as_stale(tmp_path: Path, short: Path) -> None:
    for name in ("precious.sock", "other"):
        target = short / name
        if name == "other":
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(str(target))
        else:
            target.write_text("keep")
        (tmp_path / "journal.lock").write_text(json.dumps({"pid": 1, "started": "", "socket": str(target)}))
        Owner.acquire(tmp_path).release()
        assert target.exists()


def test_the_socket_is_private_and_gone_after_release(tmp_path: Path) -> None:
    async def client() -> Path:
        path = Path(says(tmp_path)["socket"])
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert path.parent == runtime_home()
        return path

    assert not serve(tmp_path, client).exists()
    assert (tmp_path / "journal.lock").read_text() == ""


def test_a_long_runtime_folder_is_avoided(tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(short / ("r" * 100)))

    async def client() -> Path:
        assert await control(tmp_path, "ping") == {"pid": os.getpid()}
        path = Path(says(tmp_path)["socket"])
        assert len(str(path)) <= 107
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        return path

    assert not serve(tmp_path, client).parent.exists()


def test_where_no_socket_can_be_made_it_says_what_to_set(
    tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(short / ("r" * 100)))
    (short / ("t" * 100)).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(short / ("t" * 100)))

    async def client() -> None:
        """Never reached."""

    with pytest.raises(JournalError, match="JUPYTER_RUNTIME_DIR"):
        serve(tmp_path, client)
    assert not is_owned(tmp_path)
    assert list((short / ("t" * 100)).iterdir()) == []


# --- commands ---------------------------------------------------------------------------------------------------------


def test_commands_arrive_typed_and_are_answered(tmp_path: Path) -> None:
    async def client() -> list[Any]:
        return [
            (await control(tmp_path, "hint", text="try trees", user="ada"))["did"],
            (await control(tmp_path, "mode", mode="auto"))["did"],
            (await control(tmp_path, "pause"))["did"],
        ]

    assert serve(tmp_path, client) == [
        {"verb": "hint", "text": "try trees", "user": "ada"},
        {"verb": "mode", "mode": "auto"},
        {"verb": "pause"},
    ]


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("shutdown", {}),
        ("hint", {}),
        ("hint", {"text": ""}),
        ("hint", {"text": "x" * 9000}),
        ("mode", {"mode": "never"}),
        ("pause", {"text": "x"}),
        ("pause", {"force": True}),
    ],
)
def test_what_is_no_command_is_never_sent(tmp_path: Path, verb: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="No command"):
        asyncio.run(control(tmp_path, verb, **arguments))


def test_an_owner_that_does_not_listen_yet_is_said_to(tmp_path: Path) -> None:
    with Owner.acquire(tmp_path), pytest.raises(BadRequest, match="does not listen"):
        asyncio.run(control(tmp_path, "ping"))


def test_what_the_handler_refuses_is_told_and_what_it_breaks_on_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(command: Command) -> dict[str, Any]:
        if command.verb == "resume":
            raise BadRequest("The run is closed.", "Start another.")
        raise RuntimeError("inner detail")

    async def client() -> None:
        with pytest.raises(BadRequest, match="The run is closed") as refused:
            await control(tmp_path, "resume")
        assert refused.value.advice == "Start another."
        with pytest.raises(BadRequest, match="log says why") as broken:
            await control(tmp_path, "stop")
        assert "inner detail" not in str(broken.value)
        assert await control(tmp_path, "ping")

    serve(tmp_path, client, handler)
    assert "inner detail" in caplog.text


async def _raw(folder: Path, data: bytes) -> list[bytes]:
    reader, writer = await asyncio.open_unix_connection(says(folder)["socket"], limit=1 << 20)
    with contextlib.suppress(OSError):
        writer.write(data)
        await writer.drain()
    answers = []
    with contextlib.suppress(OSError):
        while line := await reader.readline():
            answers.append(line)
            if len(answers) == data.count(b"\n"):
                break
    writer.close()
    return answers


def test_hostile_lines_are_answered_and_the_next_client_is_served(tmp_path: Path) -> None:
    async def client() -> None:
        lines = [b"", b"[]", b"\xff", b'{"verb":"stop"', b'{"verb":"stop","verb":3}', b"[" * 50_000]
        for answer in await _raw(tmp_path, b"\n".join(lines) + b"\n"):
            assert json.loads(answer)["ok"] is False
        for answer in await _raw(tmp_path, b'{"verb":"' + b"x" * (2 * LINE_BYTES)):
            assert "at most" in json.loads(answer)["error"]
        assert (
            await _raw(tmp_path, b'{"verb":"ping"}\n' * 3)
            == [json.dumps({"ok": True, "pid": os.getpid()}).encode() + b"\n"] * 3
        )
        assert await control(tmp_path, "ping")

    async def handler(command: Command) -> dict[str, Any]:
        raise AssertionError("nothing of this is a command")

    serve(tmp_path, client, handler)


def test_connections_are_limited_and_slow_ones_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_module, "CONNECTIONS", 2)

    async def client() -> None:
        path = says(tmp_path)["socket"]
        held = [await asyncio.open_unix_connection(path) for _ in range(2)]
        for reader, writer in held:
            writer.write(b'{"verb":"ping"}\n')
            assert await reader.readline()
        with pytest.raises(BadRequest, match="does not answer"):
            await control(tmp_path, "ping")
        held[0][1].close()
        await held[0][1].wait_closed()
        monkeypatch.setattr(control_module, "SECONDS", 0.05)
        reader, writer = held[1]
        writer.write(b'{"verb":"ping"}\n')
        assert await reader.readline()
        assert await reader.read() == b""
        writer.close()

    serve(tmp_path, client)


def test_another_account_is_neither_served_nor_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def as_stranger() -> None:
        monkeypatch.setattr(control_module, "peer_uid", lambda connection: 4242)
        assert await _raw(tmp_path, b'{"verb":"ping"}\n') == []
        with pytest.raises(BadRequest, match="Another account"):
            await control(tmp_path, "ping")

    serve(tmp_path, as_stranger)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another account")
def test_the_kernel_says_who_the_other_side_is(short: Path, tmp_path: Path) -> None:
    path = short / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        short.chmod(0o711)
        path.chmod(0o777)
        code = (
            "import os, socket, sys; os.setgid(65534); os.setuid(65534)\n"
            "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(1)"
        )
        with subprocess.Popen([sys.executable, "-c", code, str(path)]) as other:
            connection, _ = listener.accept()
            with connection:
                assert control_module.peer_uid(connection) == 65534
            other.wait()
