"""What the host sees of a jail's processes, read from ``/proc``: as root, and as the ordinary user that owns them.

An ordinary user may not read the namespace links of what firejail started, but may read ``status``; so a process is
placed by its ancestors and by the depth of its pid namespace (``NSpid``).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

INODE_BYTES = 1024
"""What the kernel keeps for one file of a tmpfs, beside its pages (shmem_inode_cache and a dentry, rounded up)."""
RESERVE_SHARE, RESERVE_BYTES = 0.05, 256 << 20
"""What must stay available on the host: the larger of the two."""


@dataclass(frozen=True)
class Process:
    """A process as the host numbers it, told from a later one with the same number by its start time (clock ticks)."""

    pid: int
    started: int


def status(pid: int) -> dict[str, str]:
    """The fields of ``/proc/<pid>/status``; empty where the process is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return {}
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def stat(pid: int) -> tuple[str, int, int] | None:
    """(state, parent, start time in clock ticks), None where the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[1]), int(fields[19])


def identify(pid: int) -> Process | None:
    """The process with this number now, if one is alive."""
    found = stat(pid)
    return Process(pid, found[2]) if found and found[0] not in "ZX" else None


def is_alive(process: Process) -> bool:
    """Whether exactly this process is still there and is not a zombie."""
    return identify(process.pid) == process


def children(pid: int) -> list[int]:
    """The children of all threads of a process."""
    found: list[int] = []
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return found
    for thread in threads:
        try:
            text = (thread / "children").read_text(encoding="ascii")
        except OSError:
            continue
        found += [int(value) for value in text.split()]
    return found


def tree(root: int) -> list[int]:
    """A process and all its descendants. A daemon's parent is the namespace's init, so this is the whole namespace
    where ``root`` is that init."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children(pid)
    return found


def uids_of_processes() -> dict[int, set[int]]:
    """The uids of each process that is alive, by its pid. Read from ``status``: the owner of a process's folder in
    ``/proc`` is root for one that is not dumpable."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            fields = status(int(folder.name))
            if "Uid" in fields and fields.get("State", "Z")[0] not in "ZX":
                found[int(folder.name)] = {int(value) for value in fields["Uid"].split()}
    return found


def pid_depth(fields: dict[str, str]) -> int:
    """How deep a process's pid namespace is below the one that ``/proc`` shows, counted from 1."""
    return len(fields.get("NSpid", "").split())


def namespace_init(pid: int) -> int | None:
    """The init of a process's pid namespace, found by going up; None where the process is in our own."""
    depth = pid_depth(status(pid))
    ours = pid_depth(status(os.getpid()))
    while depth > ours:
        fields = status(pid)
        numbers = fields.get("NSpid", "").split()
        if len(numbers) != depth:
            return None
        if numbers[-1] == "1":
            return pid
        pid = int(fields["PPid"])
    return None


def _kilobytes(fields: dict[str, str], name: str) -> int:
    return int(fields.get(name, "0 kB").split()[0]) * 1024


def resident_bytes(pids: list[int]) -> tuple[int, int]:
    """(anonymous bytes, shared-memory bytes) of all processes. Pages shared after a fork are counted for each."""
    anonymous = shared = 0
    for pid in pids:
        fields = status(pid)
        anonymous += _kilobytes(fields, "RssAnon")
        shared += _kilobytes(fields, "RssShmem")
    return anonymous, shared


def proportional_bytes(pids: list[int]) -> tuple[int, int] | None:
    """As :func:`resident_bytes`, with each shared page counted once. None where the host may not look (not root)."""
    anonymous = shared = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii", errors="replace")
        except PermissionError:
            return None
        except OSError:
            continue
        fields = {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines()[1:])}
        if "Pss_Anon" not in fields:
            return None
        anonymous += _kilobytes(fields, "Pss_Anon")
        shared += _kilobytes(fields, "Pss_Shmem")
    return anonymous, shared


def filesystem_bytes(descriptor: int) -> int:
    """The memory that a tmpfs holds, told by a descriptor of any folder in it: its pages and its files' own."""
    usage = os.fstatvfs(descriptor)
    return (usage.f_blocks - usage.f_bfree) * usage.f_frsize + (usage.f_files - usage.f_ffree) * INODE_BYTES


def memory_reserve() -> tuple[int, int]:
    """(bytes of memory that the host has available, bytes that it must keep).

    The last guard, for memory that no count of a jail's shows (pages of a shared anonymous mapping that were unmapped,
    buffers of sockets): where the first falls below the second, the largest jail has to be killed.
    """
    with Path("/proc/meminfo").open(encoding="ascii") as lines:
        fields = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
    reserve = max(int(_kilobytes(fields, "MemTotal") * RESERVE_SHARE), RESERVE_BYTES)
    return _kilobytes(fields, "MemAvailable"), reserve
