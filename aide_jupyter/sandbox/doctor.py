"""Whether programs are contained on this machine, shown by containing one; and what is missing where they are not."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.connect import KernelConnectionInfo

from ..errors import AideError, Refused
from ..records import Model
from .interpreter import interpreter
from .jail import BACKENDS, PROGRAMS, Jail, backend, launch
from .policy import UIDS, JailSpec
from .processes import children
from .seccomp import seccomp_filter
from .supervisor import SUPERVISOR
from .uids import take_uid

OLDEST = {"firejail": (0, 9, 72), "bubblewrap": (0, 8, 0)}
"""The oldest versions that were measured. Older firejails lack restrict-namespaces or ipc-namespace."""
ANSWER_SECONDS = 60.0
KERNEL_THREADS = ("kthreadd", "ksoftirqd", "kworker", "rcu_sched", "rcu_bh")
"""By these among the first ten processes firejail tells a machine from a container."""


class Check(Model):
    """One thing that has to hold: what was seen, and what to do where it does not hold."""

    name: str
    ok: bool
    detail: str
    advice: str = ""


class Report(Model):
    """All that was looked at, in order."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether programs are contained here."""
        return all(check.ok for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {"ok": self.ok, **self.model_dump(mode="json")}


async def doctor(name: str = "firejail") -> Report:
    """Look at what the sandbox needs, then launch a jail, have its kernel answer, and end it. Takes a few seconds.

    Raises nothing for a machine that lacks something: each check says what it saw.
    """
    checks = [_system(), _program(name), _python()]
    if name == "firejail":
        checks.append(_place())
    if os.geteuid() == 0:
        checks.append(_uids())
    checks.append(_processes())
    checks += await _jail(name)
    return Report(checks=tuple(checks))


def _check(name: str, ok: bool, detail: str, advice: str = "") -> Check:
    return Check(name=name, ok=ok, detail=detail, advice="" if ok else advice)


def _system() -> Check:
    machine = f"{os.uname().sysname} {os.uname().release} on {os.uname().machine}"
    try:
        seccomp_filter()
    except AideError as error:
        return _check("system", ok=False, detail=error.message, advice=error.advice)
    return _check("system", ok=os.uname().sysname == "Linux", detail=machine, advice="Use Linux.")


def _program(name: str) -> Check:
    """The backend's program: there, new enough, and allowed to build jails for an ordinary user."""
    try:
        backend(name)
    except Refused as error:
        return _check(name, ok=False, detail=error.message, advice=error.advice)
    path = shutil.which(BACKENDS[name][1], path=PROGRAMS) or ""
    version = _version(path)
    detail = f"{path}, version {'.'.join(map(str, version)) or 'unknown'}"
    if version and version < OLDEST[name]:
        wanted = ".".join(map(str, OLDEST[name]))
        return _check(name, ok=False, detail=detail, advice=f"Install {name} {wanted} or later.")
    state = Path(path).stat()
    needs_setuid = name == "firejail" and os.geteuid() != 0
    if needs_setuid and not (state.st_mode & stat.S_ISUID and state.st_uid == 0):
        return _check(
            name=name,
            ok=False,
            detail=f"{detail}, without the setuid bit, which it needs for an ordinary user",
            advice=f"As root: chown root:root {path} && chmod 4755 {path}",
        )
    return _check(name, ok=True, detail=detail)


def _version(path: str) -> tuple[int, ...]:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
        if found := re.search(r"(?:version|bubblewrap) (\d+)\.(\d+)\.(\d+)", said):
            return tuple(int(part) for part in found.groups())
    return ()


def _place() -> Check:
    """Whether this is a machine, or a container, in which firejail runs programs with no jail at all."""
    names = []
    for pid in range(1, 11):
        with contextlib.suppress(OSError):
            names.append(Path(f"/proc/{pid}/comm").read_text(encoding="ascii", errors="replace").strip())
    if any(name.startswith(KERNEL_THREADS) for name in names):
        return _check("place", ok=True, detail="a machine of its own, not a container")
    return _check(
        name="place",
        ok=False,
        detail="this is a container or another sandbox, where firejail builds no jail",
        advice="Run Jupyter on the machine itself or in a virtual machine.",
    )


def _python() -> Check:
    try:
        python = interpreter()
    except AideError as error:
        return _check("python", ok=False, detail=error.message, advice=error.advice)
    return _check("python", ok=True, detail=python.executable)


def _uids() -> Check:
    try:
        held = take_uid(*UIDS)
    except AideError as error:
        return _check("uids", ok=False, detail=error.message, advice=error.advice)
    held.release()
    return _check("uids", ok=True, detail=f"each kernel gets a uid of its own from {UIDS[0]} to {UIDS[1]}")


def _processes() -> Check:
    """Whether the host can list a process's children, by which a jail's memory is counted."""
    there = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists()
    return _check(
        name="processes",
        ok=there,
        detail=f"/proc lists the children of a process{'' if there else ': it does not'}",
        advice="Use a kernel built with CONFIG_PROC_CHILDREN, as those of all large distributions are.",
    )


async def _jail(name: str) -> list[Check]:
    """A real jail: proven, answering, killed without a rest."""
    began = time.monotonic()
    checks: list[Check] = []
    try:
        async with _launched(name) as jail:
            seconds = time.monotonic() - began
            checks.append(_check("jail", ok=True, detail=f"proven and listening in {seconds:.2f} s, as uid {jail.uid}"))
            checks.append(await _answers(jail))
            checks.append(_watched(jail))
            began = time.monotonic()
            await jail.kill()
            seconds, left = time.monotonic() - began, jail.survivors()
            checks.append(
                _check(
                    name="end",
                    ok=left == 0 and not jail.alive(),
                    detail=f"killed in {seconds:.2f} s, {left} processes left",
                    advice="Report this with the output of `jupyter aide doctor --json`.",
                )
            )
    except (AideError, OSError) as error:
        message, advice = (error.message, error.advice) if isinstance(error, AideError) else (str(error), "")
        checks.append(_check("jail", ok=False, detail=message, advice="" if "doctor" in advice else advice))
    return checks


@contextlib.asynccontextmanager
async def _launched(name: str) -> AsyncIterator[Jail]:
    with tempfile.TemporaryDirectory(prefix="aide-d-") as folder:
        workspace, sockets, data = (Path(folder) / part for part in ("w", "s", "d"))
        for path in (workspace, sockets, data):
            path.mkdir()
        Path(folder).chmod(0o755)
        jail = await launch(JailSpec(workspace=workspace, sockets=sockets, readable=(data,), backend=name))
        try:
            yield jail
        finally:
            await asyncio.shield(jail.kill())


async def _answers(jail: Jail) -> Check:
    """Whether the kernel computes what it is asked. What it says is its own claim, and no proof of anything else."""
    client = AsyncKernelClient()
    client.load_connection_info(cast(KernelConnectionInfo, jail.connection))
    client.start_channels(stdin=False, hb=False)
    began, said = time.monotonic(), ""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await client.wait_for_ready()
            request = client.execute("", user_expressions={"answer": "6 * 7"})
            while True:
                message = await client.get_shell_msg()
                if message["parent_header"].get("msg_id") == request:
                    said = str(message["content"]["user_expressions"]["answer"]["data"]["text/plain"])
                    break
    except (TimeoutError, RuntimeError, KeyError):
        said = ""
    finally:
        client.stop_channels()
    return _check(
        name="kernel",
        ok=said == "42",
        detail=f"answered in {time.monotonic() - began:.2f} s" if said == "42" else "did not answer",
        advice="Repair this Python environment: a kernel of it does not answer.",
    )


def _watched(jail: Jail) -> Check:
    there = SUPERVISOR.pid is not None and SUPERVISOR.pid in children(os.getpid()) and jail.alive()
    return _check(
        name="watcher",
        ok=there,
        detail="a watcher ends every jail when this process ends" if there else "the watcher is not running",
        advice="Report this with the output of `jupyter aide doctor --json`.",
    )
