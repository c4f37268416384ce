"""Build a jail, prove that it contains, and only then let the process in it become a kernel.

The order is what matters. The launched process is the probe; it checks everything from inside, reports over a socket
in the socket folder, and waits. The host looks at it from outside, has the watcher hold it, removes the socket, and
says go. Whatever goes wrong before that word, no kernel has ever existed.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import secrets
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from jupyter_client.connect import write_connection_file

from ..errors import Refused
from .bubblewrap import Bubblewrap
from .canary import canaries
from .firejail import Firejail
from .interpreter import FLAGS, interpreter
from .namespace import Jail, end_launcher, readable
from .plan import make_plan, passages, prepare_folders, resource_limits
from .policy import Backend, JailSpec, Plan
from .processes import memory_reserve
from .proof import host_namespaces, judge, peer
from .seccomp import refused_calls, seccomp_filter
from .supervisor import SUPERVISOR
from .uids import KernelUid, take_uid

__all__ = ["Jail", "JailSpec", "launch", "memory_reserve", "socket_folder"]

PROOF_SECONDS = 60.0
START_SECONDS = 60.0
BOOTSTRAP = "import sys;exec(sys.stdin.buffer.read())"
"""The probe comes as text on standard input, so that no file of it has to be seen in the jail."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108  the jail's own, on a file system of its own
BACKENDS: dict[str, tuple[Callable[[str], Backend], str]] = {
    "firejail": (Firejail, "firejail"),
    "bubblewrap": (Bubblewrap, "bwrap"),
}
"""Each backend, and its program."""
SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
"""Where the programs of backends are looked for, whatever ``PATH`` says."""
PORTS = ("shell", "iopub", "stdin", "hb", "control")
DOCTOR = "Run `jupyter aide doctor` to see what is missing on this machine."


def backend(name: str) -> Backend:
    """The backend that configuration names.

    Raises
    ------
    errors.Refused
        Where there is no such backend, or its program is not installed. There is no other to fall back to.
    """
    if name not in BACKENDS:
        raise Refused(f"There is no sandbox backend called {name!r}.", f"Set it to {' or '.join(BACKENDS)}.")
    make, command = BACKENDS[name]
    program = shutil.which(command, path=PROGRAMS)
    if program is None:
        raise Refused(f"{name} is not installed, so no program can be contained.", f"Install it: apt install {name}")
    return make(program)


@dataclass
class Attempt:
    """One launch: what has to be cleaned up where it fails."""

    spec: JailSpec
    plan: Plan
    uid: KernelUid | None
    connection: dict[str, Any]
    scratch: Path
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def report(self) -> Path:
        """The socket over which the probe reports."""
        return self.plan.sockets / "probe"

    def payload(self) -> bytes:
        """The probe and what it has to expect, as the program of the jail's first process."""
        plan, planted = self.plan, canaries()
        devices, visible = passages(plan)
        top = [str(path) for path in (*plan.readable, *plan.python) if len(path.parts) == 2]
        expect = {
            "uid": plan.uid,
            "drop": plan.drop,
            "namespaces": host_namespaces(drop=plan.drop),
            "passages": devices,
            "visible": visible,
            "kept": top,
            "unreadable": [*map(str, planted.files), str(self.scratch), "/etc/shadow", "/proc/kcore"],
            "hidden": [str(path) for path in plan.hidden],
            "read_only": [str(path) for path in (*plan.readable, *plan.python)],
            "writable": [str(plan.workspace), str(plan.sockets), SHARED_MEMORY],
            "tcp": planted.tcp,
            "abstract": planted.abstract,
            "sockets": [str(path) for path in planted.paths],
            "limits": resource_limits(plan),
            "filter": seccomp_filter().hex(),
            "syscalls": refused_calls(),
            "report": str(self.report),
            "nonce": self.nonce,
            "argv": [interpreter().executable, *FLAGS, *self.spec.start, "-f", str(plan.sockets / "k.json")],
            "environment": plan.environment,
            "folder": str(plan.folder),
        }
        source = Path(__file__).with_name("probe.py").read_text(encoding="utf-8")
        return f"{source}\nmain(json.loads({json.dumps(expect)!r}))\n".encode()

    def write_connection(self) -> None:
        """Write the connection file for the kernel, and give it to the kernel's uid."""
        path, _ = write_connection_file(str(self.plan.sockets / "k.json"), **self.connection)
        if self.plan.drop:
            os.chown(path, self.plan.uid, self.plan.uid)


def new_connection(sockets: Path) -> dict[str, Any]:
    """A kernel's connection over sockets in a folder, with a key of its own."""
    ports = {f"{name}_port": number for number, name in enumerate(PORTS, 1)}
    key = secrets.token_hex(32).encode()
    return {"transport": "ipc", "ip": str(sockets / "k"), "key": key, "signature_scheme": "hmac-sha256", **ports}


def socket_folder() -> Path:
    """A new folder of mode 0700 with a short path, fit to be a jail's ``sockets``. The caller removes it."""
    return Path(tempfile.mkdtemp(prefix="aide-k-"))


async def launch(spec: JailSpec, *, key: bytes | None = None) -> Jail:
    """Build a jail, prove that it contains, and start a restricted kernel in it.

    When this returns, the kernel's five sockets exist (``<sockets>/k-1`` to ``k-5``) and no program has run yet.
    ``key`` is the kernel's signing key where the caller has one already.

    Raises
    ------
    errors.Refused
        Where the jail could not be built or proven; the kernel was never started.
    """
    try:
        return await _launch(spec, key)
    except OSError as error:
        # A full disk, a folder that may not be written, a user namespace in which no uid can be given away.
        raise Refused(f"The sandbox could not be built: {error}.", DOCTOR) from error


async def _launch(spec: JailSpec, key: bytes | None) -> Jail:
    builder = backend(spec.backend)
    root = os.geteuid() == 0
    held = await asyncio.to_thread(take_uid, *spec.uids) if root else None
    scratch = Path(tempfile.mkdtemp(prefix="aide-jail-"))
    try:
        plan = await asyncio.to_thread(make_plan, spec, held.uid if held else os.getuid(), drop=root)
        connection = new_connection(plan.sockets)
        if key is not None:
            connection["key"] = key
        attempt = Attempt(spec, plan, held, connection, scratch)
        await asyncio.to_thread(canaries)
        await asyncio.to_thread(prepare_folders, plan)
        return await _start(attempt, builder)
    except BaseException:
        if held is not None:
            held.release()
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


async def _start(attempt: Attempt, builder: Backend) -> Jail:
    plan = attempt.plan
    inner = [interpreter().executable, "-I", "-c", BOOTSTRAP]
    command = builder.command(plan, inner, attempt.scratch)
    with contextlib.ExitStack() as opened:
        payload = opened.enter_context(_sealed(attempt.payload()))
        listener = opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        errors, writable = os.pipe()
        opened.callback(os.close, writable)
        listener.bind(str(attempt.report))
        attempt.report.chmod(0o600)
        if plan.drop:
            os.chown(attempt.report, plan.uid, plan.uid)
        listener.listen(1)
        listener.setblocking(False)
        launcher = subprocess.Popen(  # noqa: ASYNC220  returns at once; its end is awaited through a pidfd
            command,
            stdin=payload,
            stdout=subprocess.DEVNULL,
            stderr=writable,
            env=plan.environment,
            cwd="/",
            # No terminal, and no signal to the server's group reaches it.
            start_new_session=True,
        )
        try:
            jail = await _prove(attempt, launcher, listener, errors)
        except BaseException:
            end_launcher(launcher)
            os.close(errors)
            raise
        finally:
            attempt.report.unlink(missing_ok=True)
    try:
        await _sockets_exist(jail)
    except BaseException:
        await jail.kill()
        raise
    return jail


async def _prove(attempt: Attempt, launcher: subprocess.Popen[bytes], listener: socket.socket, errors: int) -> Jail:
    """Wait for the probe's report, judge the probe from outside, and say go."""
    loop = asyncio.get_running_loop()
    accepting = asyncio.ensure_future(loop.sock_accept(listener))
    pidfd = os.pidfd_open(launcher.pid)
    ending = asyncio.ensure_future(readable(pidfd))
    descriptors: list[int] = []
    try:
        done, _ = await asyncio.wait({accepting, ending}, timeout=PROOF_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if accepting not in done:
            raise _refusal(launcher, errors, ended=ending in done)
        connection, _ = accepting.result()
        with connection:
            async with asyncio.timeout(PROOF_SECONDS):
                await readable(connection.fileno())
            said, descriptors, _, _ = socket.recv_fds(connection, 256, 4)
            pid, uid, _ = peer(connection)
            init, failures = judge(attempt.plan, launcher.pid, pid, uid)
            if said != attempt.nonce.encode() or len(descriptors) != 1:
                failures.append("the report is not from this launch's probe")
            if canaries().reached():
                failures.append("a listener of the host was reached from inside")
            if failures or init is None:
                raise Refused(f"The sandbox does not contain: {'; '.join(failures)}.", DOCTOR)
            await asyncio.to_thread(SUPERVISOR.watch, init)
            attempt.write_connection()
            jail = Jail(
                spec=attempt.spec,
                plan=attempt.plan,
                connection=attempt.connection,
                launcher=launcher,
                init=init,
                kernel_pid=pid,
                tmpfs=tuple(descriptors),
                errors=errors,
                on_death=attempt.uid.release if attempt.uid else _nothing,
            )
            descriptors = []
            attempt.report.unlink()
            connection.send(b"go " + attempt.nonce.encode())
            return jail
    except TimeoutError:
        raise Refused(f"The sandbox was not proven within {PROOF_SECONDS:.0f} seconds.", DOCTOR) from None
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
        for task in (accepting, ending):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await task
        os.close(pidfd)


def _nothing() -> None:
    """An ordinary user's jail holds no uid."""


def _sealed(data: bytes) -> BinaryIO:
    """Bytes as an open file that nobody can change: a jail's init holds it, and a program may open what its init holds
    where it has the same uid and the backend does not forbid it."""
    descriptor = os.memfd_create("probe", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(descriptor, data)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.fdopen(descriptor, "rb")


def _refusal(launcher: subprocess.Popen[bytes], errors: int, *, ended: bool) -> Refused:
    """What a launch that never reported says about itself."""
    os.set_blocking(errors, False)
    try:
        text = os.read(errors, 65536).decode("utf-8", "replace").strip()
    except BlockingIOError:
        text = ""
    for line in text.splitlines():
        if line.startswith("aide-refused "):
            failed = json.loads(line.removeprefix("aide-refused "))
            return Refused(f"The sandbox does not contain: {'; '.join(failed)}.", DOCTOR)
    if not ended:
        return Refused(f"The sandbox was not proven within {PROOF_SECONDS:.0f} seconds. {text[-500:]}", DOCTOR)
    return Refused(f"The sandbox could not be built (exit status {launcher.wait()}): {text[-500:]}", DOCTOR)


async def _sockets_exist(jail: Jail) -> None:
    """Wait until the kernel listens on all its sockets."""
    deadline = asyncio.get_running_loop().time() + START_SECONDS
    paths = [Path(f"{jail.connection['ip']}-{number}") for number in range(1, len(PORTS) + 1)]
    while True:
        if not jail.alive():
            ended = await jail.wait()
            raise Refused(f"The kernel ended before it listened (exit status {ended}).", DOCTOR)
        if all(_is_socket(path) for path in paths):
            return
        if asyncio.get_running_loop().time() > deadline:
            raise Refused(f"The kernel did not listen within {START_SECONDS:.0f} seconds.", DOCTOR)
        await asyncio.sleep(0.01)


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:
        return False
