"""The kernel's doors that a restricted program never needs, and the filter that shuts them.

The filter is classic BPF, made here and installed by the probe on top of the backend's own. firejail ignores names
that are younger than it (0.9.72 let ``memfd_secret`` and ``mount_setattr`` through) and numbers as well. The probe then
tries each call, so that what is listed here is also what is proven.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator

from ..errors import Refused

NEW_NAMESPACES = 0x7E020080
"""CLONE_NEW{TIME,NS,CGROUP,UTS,IPC,USER,PID,NET}."""
NEW_USER_NAMESPACE = 0x10000000
FIRST_UNKNOWN = 457
"""System calls from here on (statmount is the first; Linux 6.8) are answered as if the host's kernel did not have
them: nobody has looked yet at what they open, and every library copes with a kernel that is older."""

# Architecture: (its number for seccomp, the column of the table below).
ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}
X32 = 0x40000000

# name: number on x86_64, number in the generic table, arguments with which the call does nothing where it is allowed
# and then fails with another error than "not permitted", or succeeds.
TABLE: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "acct": (163, 89, (-1,)),
    "add_key": (248, 217, (0, 0, 0, 0, 0)),
    "bpf": (321, 280, (0, 0, 0)),
    "chroot": (161, 51, (0,)),
    "clone3": (435, 435, (0, 0)),
    "fanotify_init": (300, 262, (-1, 0)),
    "fsconfig": (431, 431, (-1, 0, 0, 0, 0)),
    "fsmount": (432, 432, (-1, 0, 0)),
    "fsopen": (430, 430, (0, 0)),
    "fspick": (433, 433, (-1, 0, 0)),
    "init_module": (175, 105, (0, 0, 0)),
    "io_setup": (206, 0, (0, 0)),
    "io_uring_enter": (426, 426, (-1, 0, 0, 0, 0, 0)),
    "io_uring_register": (427, 427, (-1, 0, 0, 0)),
    "io_uring_setup": (425, 425, (0, 0)),
    "kcmp": (312, 272, (0, 0, 0, 0, 0)),
    "kexec_load": (246, 104, (0, 0, 0, 0)),
    "keyctl": (250, 219, (0, -3, 0)),
    "memfd_create": (319, 279, (0, 0)),
    "memfd_secret": (447, 447, (-1,)),
    "mount": (165, 40, (0, 0, 0, 0, 0)),
    "mount_setattr": (442, 442, (-1, 0, 0, 0, 0)),
    "move_mount": (429, 429, (-1, 0, -1, 0, 0)),
    "mq_open": (240, 180, (0, 0, 0, 0)),
    "msgget": (68, 186, (0, 0)),
    "name_to_handle_at": (303, 264, (-1, 0, 0, 0, 0)),
    "open_by_handle_at": (304, 265, (-1, 0, 0)),
    "open_tree": (428, 428, (-1, 0, 0)),
    "open_tree_attr": (467, 467, (-1, 0, 0, 0, 0)),
    "perf_event_open": (298, 241, (0, 0, -1, -1, 0)),
    "personality": (135, 92, (0xFFFFFFFF,)),
    "pidfd_getfd": (438, 438, (-1, -1, 0)),
    "pivot_root": (155, 41, (0, 0)),
    "process_vm_readv": (310, 270, (0, 0, 0, 0, 0, 0)),
    "process_vm_writev": (311, 271, (0, 0, 0, 0, 0, 0)),
    "ptrace": (101, 117, (16, 0, 0, 0)),
    "quotactl": (179, 60, (0, 0, 0, 0)),
    "quotactl_fd": (443, 443, (-1, 0, 0, 0)),
    "request_key": (249, 218, (0, 0, 0, 0)),
    "setns": (308, 268, (-1, 0)),
    "shmget": (29, 194, (0, 0, 0)),
    "swapon": (167, 224, (0, 0)),
    "syslog": (103, 116, (-1, 0, 0)),
    "umount2": (166, 39, (0, 0)),
    "unshare": (272, 97, (NEW_USER_NAMESPACE,)),
    "userfaultfd": (323, 282, (0,)),
    "vmsplice": (278, 75, (-1, 0, 0, 0)),
}
CLONE = (56, 220)
SOCKET = (41, 198)
FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET and AF_INET6. Another is answered with EOPNOTSUPP: at EAFNOSUPPORT libzmq aborts."""


def _architecture() -> tuple[int, int]:
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise Refused(f"The sandbox's filter is not written for {machine}.", f"Use {', '.join(ARCHITECTURES)}.")
    return ARCHITECTURES[machine]


def refused_calls() -> list[tuple[str, int, tuple[int, ...]]]:
    """(name, number on this machine, harmless arguments) of each call that the probe has to find shut."""
    _, column = _architecture()
    calls = [(name, (x86, generic)[column], arguments) for name, (x86, generic, arguments) in TABLE.items()]
    return [*calls, ("clone", CLONE[column], (NEW_USER_NAMESPACE | 17, 0, 0, 0, 0))]


def _instructions() -> Iterator[tuple[int, int, int, int]]:
    """The filter, as (code, jump if true, jump if false, value). Codes are those of linux/bpf_common.h."""
    load, equal, greater, some, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, no, unknown = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
    architecture, column = _architecture()
    yield load, 0, 0, 4  # seccomp_data.arch: 32-bit calls have other numbers, and are none of ours
    yield equal, 1, 0, architecture
    yield answer, 0, 0, no
    yield load, 0, 0, 0  # seccomp_data.nr
    yield greater, 0, 1, FIRST_UNKNOWN  # x32 numbers begin at 0x40000000, and are unknown as well
    yield answer, 0, 0, unknown
    for name, (x86, generic, _) in TABLE.items():
        yield equal, 0, 1, (x86, generic)[column]
        # glibc makes threads with clone3, and falls back to clone only where it does not exist.
        yield answer, 0, 0, unknown if name == "clone3" else no
    yield equal, 0, len(FAMILIES) + 3, SOCKET[column]
    yield load, 0, 0, 16  # the low half of seccomp_data.args[0]: the family
    for left, family in enumerate(reversed(FAMILIES), 1):
        yield equal, len(FAMILIES) - left + 1, 0, family
    yield answer, 0, 0, 0x00050000 | errno.EOPNOTSUPP
    yield answer, 0, 0, allow
    yield equal, 1, 0, CLONE[column]
    yield answer, 0, 0, allow
    yield load, 0, 0, 16  # the low half of seccomp_data.args[0]: the flags
    yield some, 0, 1, NEW_NAMESPACES
    yield answer, 0, 0, no
    yield answer, 0, 0, allow


def seccomp_filter() -> bytes:
    """The filter as an array of ``struct sock_filter``."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in _instructions())
