"""Build a jail, prove that it contains, and only then let the process in it become a kernel.

The order is what matters. The launched process is the probe; it checks everything from inside, reports over a socket
in the socket folder, and waits. The host looks at it from outside, has the watcher hold it, removes the socket, and
says go. Whatever goes wrong before that word, no kernel has ever existed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import resource
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.connect import write_connection_file

from ..errors import Refused
from .canary import canaries
from .firejail import Firejail, refuse_special, whitelisted
from .interpreter import FLAGS, hidden_paths, interpreter, kernel_environment, private_folders, python_folders
from .namespace import Jail, end_launcher, readable
from .policy import Backend, JailSpec, Plan
from .processes import Process, identify, memory_reserve, namespace_init, pid_depth, status
from .seccomp import refused_calls, seccomp_filter
from .supervisor import SUPERVISOR
from .uids import KernelUid, take_uid

__all__ = ["Jail", "JailSpec", "launch", "memory_reserve", "socket_folder"]

PROOF_SECONDS = 30.0
START_SECONDS = 60.0
LONGEST_SOCKETS = 95
"""A unix socket's path is at most 107 bytes; below the folder it needs ``/k-5`` or ``/probe``."""
OPEN_FILES = 1024
NAMESPACES = ("mnt", "pid", "net", "ipc", "uts")
BOOTSTRAP = "import sys;exec(sys.stdin.buffer.read())"
"""The probe comes as text on standard input, so that no file of it has to be seen in the jail."""
DOCTOR = "Run `jupyter aide doctor` to see what is missing on this machine."


def backend(name: str) -> Backend:
    """The backend that configuration names.

    Raises
    ------
    errors.Refused
        Where there is no such backend, or its program is not installed. There is no other to fall back to.
    """
    if name != "firejail":
        raise Refused(f"There is no sandbox backend called {name!r}.", "Set the backend to firejail.")
    program = shutil.which("firejail", path="/usr/local/bin:/usr/bin:/bin")
    if program is None:
        raise Refused("firejail is not installed, so no program can be contained.", "Install it: apt install firejail")
    return Firejail(program)


def make_plan(spec: JailSpec, uid: int, *, drop: bool) -> Plan:
    """The spec with real paths, checked for what a profile cannot express.

    Raises
    ------
    errors.Refused
        For a path that is missing, special to the backend, or in the way of another.
    """
    workspace, sockets = (_real(path, "folder") for path in (spec.workspace, spec.sockets))
    readable_paths = tuple(dict.fromkeys(_real(path, "file or folder") for path in spec.readable))
    if len(os.fsencode(sockets)) > LONGEST_SOCKETS:
        raise Refused(f"The path {sockets} is too long for sockets.", "Use a socket folder with a shorter path.")
    python = python_folders((*private_folders(), workspace, sockets, *readable_paths))
    for path in (workspace, sockets, *readable_paths):
        inside = next((folder for folder in (*python, *SYSTEM) if path.is_relative_to(folder)), None)
        if inside is not None and not (path in readable_paths and inside == Path("/usr")):
            raise Refused(f"{path} lies in {inside}, which belongs to the system or to Python.", "Use another folder.")
        if any(folder.is_relative_to(path) for folder in (*python, *private_folders())):
            raise Refused(
                f"{path} holds Python or Jupyter's own files, so no program may see it.", "Use a folder below."
            )
    for path in readable_paths:
        if path.is_relative_to(workspace) or workspace.is_relative_to(path) or sockets.is_relative_to(path):
            raise Refused(f"{path} and the workspace {workspace} lie in each other.", "Use folders side by side.")
    return Plan(
        workspace=workspace,
        sockets=sockets,
        readable=readable_paths,
        python=python,
        hidden=hidden_paths(python),
        limits=spec.limits,
        lifetime=spec.lifetime,
        uid=uid,
        drop=drop,
        environment=kernel_environment(workspace, spec.limits),
    )


SYSTEM = tuple(Path(f"/{name}") for name in "bin boot dev etc lib lib32 lib64 libx32 proc sbin sys usr".split())


def _real(path: Path, what: str) -> Path:
    real = Path(os.path.realpath(path))
    if not real.exists():
        raise Refused(f"The {what} {path} does not exist.", "Make it, or name another.")
    refuse_special(real)
    return real


def prepare_folders(plan: Plan) -> None:
    """Make the workspace's private folders, close both folders to others, and give them to the kernel's uid."""
    for name in ("home", "tmp", "ipython"):
        (plan.workspace / ".jail" / name).mkdir(parents=True, exist_ok=True)
    plan.workspace.chmod(0o700)
    plan.sockets.chmod(0o700)
    if plan.drop:
        for folder in (plan.workspace, plan.sockets):
            for _, folders, files, descriptor in os.fwalk(folder):
                os.fchown(descriptor, plan.uid, plan.uid)
                for name in (*folders, *files):
                    os.chown(name, plan.uid, plan.uid, dir_fd=descriptor, follow_symlinks=False)


def resource_limits(plan: Plan) -> dict[str, int]:
    """The limits of each process, by their names in :mod:`resource`; none above what the server itself may have.

    The address space is a cheap fuse for one process between two looks of the watchdog. It is wide, since interpreters
    and thread pools reserve far more than they use.
    """
    wanted = {
        "CORE": 0,
        "MSGQUEUE": 0,
        "NOFILE": OPEN_FILES,
        "NPROC": plan.limits.processes,
        "FSIZE": plan.limits.disk_bytes,
        "AS": max(8 << 30, 4 * plan.limits.memory_bytes),
    }
    for name, value in wanted.items():
        hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
        if hard != resource.RLIM_INFINITY:
            wanted[name] = min(value, hard)
    return wanted


def passages(plan: Plan) -> tuple[dict[str, int], dict[str, list[str]]]:
    """The folders above what is listed: (their devices on the host, the names that may be seen in each)."""
    listed = whitelisted(plan)
    devices: dict[str, int] = {}
    names: dict[str, set[str]] = {"/run": {"firejail"}}
    home = Path(os.path.realpath(Path.home()))
    for path in (*listed, home):
        for child, parent in zip((path, *path.parents), path.parents, strict=False):
            if parent == Path("/") or any(parent.is_relative_to(folder) for folder in listed):
                continue
            devices[str(parent)] = parent.stat().st_dev
            names.setdefault(str(parent), set()).add(child.name)
    if not any(home.is_relative_to(folder) for folder in listed):
        names.setdefault(str(home), set()).update(SKELETON)
    return devices, {folder: sorted(found) for folder, found in names.items()}


SKELETON = {".bashrc", ".zshrc", ".cshrc", ".inputrc", ".Xauthority", ".asoundrc"}
"""firejail puts fresh copies from /etc/skel into a home folder that it has emptied."""


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
            "namespaces": {name: os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES},
            "passages": devices,
            "visible": visible,
            "kept": top,
            "unreadable": [*map(str, planted.files), str(self.scratch), "/etc/shadow", "/proc/kcore"],
            "hidden": [str(path) for path in plan.hidden],
            "read_only": [str(path) for path in (*plan.readable, *plan.python)],
            "writable": [str(plan.workspace), str(plan.sockets), "/dev/shm"],
            "tcp": planted.tcp,
            "abstract": planted.abstract,
            "sockets": [str(path) for path in planted.paths],
            "limits": resource_limits(plan),
            "filter": seccomp_filter().hex(),
            "syscalls": refused_calls(),
            "report": str(self.report),
            "nonce": self.nonce,
            "argv": [interpreter().executable, *FLAGS, "-m", "ipykernel_launcher", "-f", str(plan.sockets / "k.json")],
            "environment": plan.environment,
            "folder": str(plan.workspace),
        }
        source = Path(__file__).with_name("probe.py").read_text(encoding="utf-8")
        return f"{source}\nmain(json.loads({json.dumps(expect)!r}))\n".encode()

    def write_connection(self) -> None:
        """Write the connection file for the kernel, and give it to the kernel's uid."""
        ports = {f"{name}_port": number for number, name in enumerate(PORTS, 1)}
        path, _ = write_connection_file(
            str(self.plan.sockets / "k.json"),
            ip=self.connection["ip"],
            key=self.connection["key"],
            transport="ipc",
            signature_scheme=self.connection["signature_scheme"],
            **ports,
        )
        if self.plan.drop:
            os.chown(path, self.plan.uid, self.plan.uid)


PORTS = ("shell", "iopub", "stdin", "hb", "control")


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
        prepare_folders(plan)
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
    with (
        tempfile.TemporaryFile() as payload,
        tempfile.TemporaryFile() as errors,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener,
    ):
        payload.write(attempt.payload())
        payload.seek(0)
        listener.bind(str(attempt.report))
        attempt.report.chmod(0o600)
        if plan.drop:
            os.chown(attempt.report, plan.uid, plan.uid)
        listener.listen(1)
        listener.setblocking(False)
        launcher = subprocess.Popen(
            command,
            stdin=payload,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=plan.environment,
            cwd="/",
            # No terminal, and no signal to the server's group reaches it.
            start_new_session=True,
        )
        try:
            jail = await _prove(attempt, launcher, listener, errors)
        except BaseException:
            end_launcher(launcher)
            raise
        finally:
            attempt.report.unlink(missing_ok=True)
    try:
        await _sockets_exist(jail)
    except BaseException:
        await jail.kill()
        raise
    return jail


async def _prove(attempt: Attempt, launcher: subprocess.Popen[bytes], listener: socket.socket, errors: Any) -> Jail:
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
            await asyncio.wait_for(readable(connection.fileno()), PROOF_SECONDS)
            said, descriptors, _, _ = socket.recv_fds(connection, 256, 4)
            pid, uid, _ = _peer(connection)
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
                attempt.spec, attempt.plan, attempt.connection, launcher, init, pid, tuple(descriptors),
                on_death=attempt.uid.release if attempt.uid else _nothing,
            )  # fmt: skip
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


def _peer(connection: socket.socket) -> tuple[int, int, int]:
    """(pid, uid, gid) of the process at the other end, as the host numbers them."""
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, uid, gid = (int.from_bytes(packed[start : start + 4], sys.byteorder) for start in (0, 4, 8))
    return pid, uid, gid


def _refusal(launcher: subprocess.Popen[bytes], errors: Any, *, ended: bool) -> Refused:
    """What a launch that never reported says about itself."""
    errors.seek(0)
    text = errors.read(65536).decode("utf-8", "replace").strip()
    for line in text.splitlines():
        if line.startswith("aide-refused "):
            failed = json.loads(line.removeprefix("aide-refused "))
            return Refused(f"The sandbox does not contain: {'; '.join(failed)}.", DOCTOR)
    if not ended:
        return Refused(f"The sandbox was not proven within {PROOF_SECONDS:.0f} seconds. {text[-500:]}", DOCTOR)
    return Refused(f"The sandbox could not be built (exit status {launcher.wait()}): {text[-500:]}", DOCTOR)


def judge(plan: Plan, launcher: int, pid: int, uid: int) -> tuple[Process | None, list[str]]:
    """What the host sees of the probe from outside: (the namespace's init, what is wrong).

    A probe that lies, or one that was started with no jail at all, is caught here.
    """
    failures: list[str] = []
    fields = status(pid)
    if uid != plan.uid or set(fields.get("Uid", "").split()) != {str(plan.uid)} or plan.uid == 0:
        failures.append(f"it runs as uid {fields.get('Uid', '?').split()[0]} and not {plan.uid}")
    failures += [f"{name} is {fields.get(name)}" for name in CAPABILITIES if int(fields.get(name, "1"), 16) != 0]
    for name, wanted in (("NoNewPrivs", "1"), ("Seccomp", "2")):
        if fields.get(name) != wanted:
            failures.append(f"{name} is {fields.get(name)}")
    if pid_depth(fields) <= pid_depth(status(os.getpid())):
        failures.append("it has no process namespace of its own")
    failures += _mounts_not_read_only(plan, pid)
    if plan.drop:
        for name in NAMESPACES:
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(f"/proc/{pid}/ns/{name}") == os.readlink(f"/proc/self/ns/{name}"):
                    failures.append(f"it shares the {name} namespace")
    found = namespace_init(pid)
    init = identify(found) if found is not None else None
    if init is None or not _descends(init.pid, launcher):
        failures.append("its namespace's init was not found below the launcher")
    return init, failures


CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def _mounts_not_read_only(plan: Plan, pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        return [f"its mounts cannot be read ({error.strerror})"]
    mounts = [Mount.read(line) for line in text.splitlines()]
    paths = (Path("/"), *plan.readable, *plan.python)
    return [f"{path} is not read-only" for path in paths if not seen_at(mounts, path).read_only]


@dataclass(frozen=True)
class Mount:
    """A line of a process's ``mountinfo``."""

    number: int
    parent: int
    point: Path
    read_only: bool

    @classmethod
    def read(cls, line: str) -> Mount:
        """The mount that a line describes; its point's blanks and backslashes are written in octal."""
        fields = line.split()
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[4])
        return cls(int(fields[0]), int(fields[1]), Path(point), "ro" in fields[5].split(","))


def seen_at(mounts: list[Mount], path: Path) -> Mount:
    """The mount that a path leads to: from the root downwards, each time to what is mounted upon the mount so far.

    What firejail stacks upon the root itself is passed by, as it is by a process whose root is the lower one.
    """
    current = next(mount for mount in mounts if mount.point == Path("/"))
    while True:
        upon = [
            mount
            for mount in mounts
            if mount.parent == current.number and mount.point != Path("/") and path.is_relative_to(mount.point)
        ]
        if not upon:
            return current
        current = min(upon, key=lambda mount: len(mount.point.parts))


def _descends(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        pid = int(status(pid).get("PPid", "0"))
    return False


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
