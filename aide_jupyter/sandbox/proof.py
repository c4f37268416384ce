"""What the host sees of a jail from outside, before the process in it may become a kernel."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from .policy import Plan
from .processes import Process, identify, namespace_init, pid_depth, status

NAMESPACES = ("mnt", "pid", "net", "ipc", "uts")
CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def host_namespaces(*, drop: bool) -> dict[str, str]:
    """The identities of this process's namespaces that a kernel must not share: an ordinary user's kernel has a user
    namespace of its own too, by which limits on processes count per kernel."""
    names = NAMESPACES if drop else (*NAMESPACES, "user")
    return {name: str(Path(f"/proc/self/ns/{name}").readlink()) for name in names}


def peer(connection: socket.socket) -> tuple[int, int, int]:
    """(pid, uid, gid) of the process at the other end, as the host numbers them."""
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, uid, gid = (int.from_bytes(packed[start : start + 4], sys.byteorder) for start in (0, 4, 8))
    return pid, uid, gid


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
    if not plan.drop and _same_users(pid):
        failures.append("it has no user namespace of its own")
    if plan.drop:
        for name, identity in host_namespaces(drop=True).items():
            with contextlib.suppress(FileNotFoundError):
                if str(Path(f"/proc/{pid}/ns/{name}").readlink()) == identity:
                    failures.append(f"it shares the {name} namespace")
    found = namespace_init(pid)
    init = identify(found) if found is not None else None
    if init is None or not _descends(init.pid, launcher):
        failures.append("its namespace's init was not found below the launcher")
    return init, failures


def _same_users(pid: int) -> bool:
    """Whether a process counts users as this one does. The namespace itself is hidden from an ordinary user."""
    own, other = (Path(f"/proc/{name}/uid_map").read_text(encoding="ascii").split() for name in ("self", str(pid)))
    return own == other


def _mounts_not_read_only(plan: Plan, pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        return [f"its mounts cannot be read ({error.strerror})"]
    mounts = [Mount.read(line) for line in text.splitlines()]
    paths = (*([Path("/")] if plan.drop else []), *plan.readable, *plan.python)
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
