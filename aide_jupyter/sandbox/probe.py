"""The proof that a jail contains, run inside it by the kernel's own process before it becomes the kernel.

This file is handed to the jail as text, on standard input, so it imports the standard library only. What it has to
expect is planned by :mod:`.jail`; see :func:`main`. It ends in one of two ways: every check holds, the host says go,
and the process becomes the kernel; or it exits with 97 and no kernel ever exists.

Where the server is root, the jail is built with three capabilities left. The first stage then proves that it is
contained, makes the jail's own empty folders above the Python passable, and gives up every right for good. The second
stage checks everything as the kernel's uid.
"""

# It works with file descriptors and error numbers, which pathlib hides.
# ruff: noqa: PTH101, PTH108, PTH112, PTH113, PTH114, PTH115, PTH120, PTH123, PTH208, S103, S108, S606

from __future__ import annotations

import array
import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import stat
import struct
import sys
from typing import Any, NoReturn

REFUSED = 97
NO_GO = 98
MAX_PIDS = 10
ADDED_BY_FIREJAIL = {
    "container", "FIREJAIL_QUIET", "FIREJAIL_LOGGING", "PROMPT_COMMAND", "PWD", "OLDPWD", "SHLVL", "_", "SHELL",
    "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "QT_X11_NO_MITSHM", "QML_DISABLE_DISK_CACHE",
    "QTWEBENGINE_DISABLE_SANDBOX", "MOZ_NO_REMOTE", "LC_CTYPE", "KDE_FORK_SLAVES", "MOZ_ASSUME_USER_NS",
    "QT_QPA_PLATFORM",
}  # fmt: skip
SYSTEM_FOLDERS = {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr"}
WRITABLE_KERNEL_FILES = ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger")

libc = ctypes.CDLL(None, use_errno=True)
failures: list[str] = []


def check(name: str, holds: bool, detail: str = "") -> None:
    """Note that a check failed, with what was seen."""
    if not holds:
        failures.append(f"{name}: {detail}" if detail else name)


def status_of_self() -> dict[str, str]:
    """The fields of ``/proc/self/status``."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def check_namespaces(host: dict[str, str]) -> None:
    """Every namespace differs from the server's, and few processes are to be seen."""
    for name, identity in host.items():
        try:
            own = os.readlink(f"/proc/self/ns/{name}")
        except OSError as error:
            check(f"namespace {name}", False, os.strerror(error.errno or 0))
        else:
            check(f"namespace {name}", own != identity, "the same as outside")
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
    check("process namespace", len(pids) < MAX_PIDS, f"{len(pids)} processes are visible")


def names_in(folder: str) -> list[str]:
    """The names in a folder; none where it cannot be listed."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def check_visible(visible: dict[str, list[str]], kept: list[str]) -> None:
    """The folders above what is listed hold nothing else, and every other top-level folder is empty."""
    for name in os.listdir("/"):
        folder = f"/{name}"
        if name not in SYSTEM_FOLDERS and folder not in kept and not os.path.islink(folder):
            visible.setdefault(folder, [])
            if os.path.isfile(folder):
                check("hidden files", not can_read(folder), f"{folder} is readable")
    for folder, allowed in visible.items():
        extra = sorted(set(names_in(folder)) - set(allowed))
        check("hidden folders", not extra, f"{folder} shows {', '.join(extra[:3])}")


def can_read(path: str) -> bool:
    """Whether anything is read from a file, or listed in a folder. What firejail hides is an empty one of its own."""
    if os.path.isdir(path):
        return bool(names_in(path))
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return bool(os.read(descriptor, 1))
    except OSError:
        return False
    finally:
        os.close(descriptor)


def write_error(path: str) -> int:
    """The error number with which writing below or to ``path`` fails; 0 where it succeeds."""
    try:
        if os.path.isdir(path):
            name = f"{path.rstrip('/')}/.aide-{os.getpid()}"
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            os.unlink(name)
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        return error.errno or -1
    return 0


def check_files(expect: dict[str, Any]) -> None:
    """The host's canaries are out of reach, what is read-only is so, and only three folders can be written."""
    for path in expect["unreadable"]:
        check("canary file", not can_read(path), f"{path} is readable")
    for path in expect["hidden"]:
        check("hidden files", not can_read(path), f"{path} is readable")
    for path in expect["read_only"]:
        code = write_error(path)
        # A file of another account's is refused for its mode before its mount is looked at.
        holds = code == errno.EROFS or (code == errno.EACCES and bool(os.statvfs(path).f_flag & os.ST_RDONLY))
        check("read-only", holds, f"{path}: {os.strerror(code) if code else 'written'}")
        check("readable", os.access(path, os.R_OK), f"{path} is not readable")
    for path in expect["writable"]:
        code = write_error(path)
        check("writable", code == 0, f"{path}: {os.strerror(code)}")
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        mounts = {line.split()[4].encode().decode("unicode_escape") for line in lines}
    above = {os.path.dirname(path) for path in (*expect["read_only"], *expect["writable"])}
    folders = mounts | above | {f"/{name}" for name in os.listdir("/")} | {"/", "/var/tmp", "/dev", "/dev/mqueue"}
    for path in sorted(folders - set(expect["writable"])):
        if os.path.isdir(path):
            check("nothing else is writable", write_error(path) != 0, path)
    for path in WRITABLE_KERNEL_FILES:
        check("nothing else is writable", write_error(path) != 0, path)


def connects(family: int, address: Any) -> bool:
    """Whether a listener of the host answers."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(0.5)
            sock.connect(address)
    except OSError:
        return False
    return True


def check_network(expect: dict[str, Any]) -> None:
    """Only the loopback exists, no listener of the host is reached, and only plain socket families can be made."""
    with open("/proc/net/dev", encoding="ascii") as lines:
        devices = [line.split(":")[0].strip() for line in lines if ":" in line]
    check("network", devices == ["lo"], f"devices {', '.join(devices)}")
    check("network", not connects(socket.AF_INET, ("127.0.0.1", expect["tcp"])), "the host's loopback answers")
    check("abstract sockets", not connects(socket.AF_UNIX, "\0" + expect["abstract"]), "the host's is reached")
    for path in expect["sockets"]:
        check("unix sockets", not connects(socket.AF_UNIX, path), f"{path} is reached")
    for name, family, kind in (
        ("netlink", 16, socket.SOCK_RAW),
        ("packet", 17, socket.SOCK_RAW),
        ("alg", 38, socket.SOCK_SEQPACKET),
        ("vsock", 40, socket.SOCK_STREAM),
        ("raw", socket.AF_INET, socket.SOCK_RAW),
    ):
        try:
            socket.socket(family, kind, 1 if name == "raw" else 0).close()
        except OSError:
            continue
        check("socket families", False, f"{name} sockets can be made")


def call(number: int, *arguments: int) -> tuple[int, int]:
    """A raw system call: its result and its error number."""
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
    return int(result), ctypes.get_errno()


def install_filter(program: bytes) -> None:
    """Put a system call filter on this process and all that come from it, for good."""
    instructions = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(instructions))
    check("system call filter", libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0) == 0, "it cannot be installed")


def check_syscalls(calls: list[tuple[str, int, list[int]]]) -> None:
    """The kernel's dangerous doors are shut: each is tried, with arguments that do nothing where it is open."""
    for name, number, arguments in calls:
        result, code = call(number, *arguments)
        if name == "clone" and result == 0:
            os._exit(0)
        check("system calls", result < 0 and code in (errno.EPERM, errno.ENOSYS), f"{name} is allowed")
    if os.uname().machine == "x86_64":
        check("system calls", not runs_32_bit_calls(), "32-bit calls are allowed")


def runs_32_bit_calls() -> bool:
    """Whether ``int 0x80`` reaches the kernel: getpid by it, in a child that may be killed for trying."""
    child = os.fork()
    if child == 0:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20; int 0x80; ret
        function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
        os._exit(0 if function() > 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def check_rights(uid: int, drop: bool) -> None:
    """The final uid, no capabilities, no new privileges, a system call filter."""
    status = status_of_self()
    check("uid", os.getresuid() == (uid, uid, uid) and uid != 0, f"{os.getresuid()} instead of {uid}")
    if drop:
        check("groups", os.getgroups() == [] and os.getresgid() == (uid, uid, uid), f"{os.getgroups()}")
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        check("capabilities", int(status[name], 16) == 0, f"{name} is {status[name]}")
    check("no new privileges", status.get("NoNewPrivs") == "1")
    check("system call filter", status.get("Seccomp") == "2")


def set_limits(limits: dict[str, int]) -> None:
    """Lower the resource limits, for good, and see that they hold. Names are those of :mod:`resource`."""
    for name, value in limits.items():
        which = getattr(resource, f"RLIMIT_{name}")
        try:
            resource.setrlimit(which, (value, value))
        except (OSError, ValueError) as error:
            check("resource limits", False, f"{name}: {error}")
        check("resource limits", resource.getrlimit(which) == (value, value), name)


def make_passable(passages: dict[str, int]) -> None:
    """Let the kernel's uid pass through the jail's own folders above what is listed (/root is 0700 there as well).

    ``passages`` gives each folder's device on the host: where the jail has the same, it is the host's own folder and
    is left as it is.
    """
    for path, device in passages.items():
        try:
            state = os.lstat(path)
            if state.st_dev != device and stat.S_ISDIR(state.st_mode) and not state.st_mode & 0o001:
                os.chmod(path, 0o711)
        except OSError as error:
            check("passage", False, f"{path}: {error.strerror}")


def give_up_rights(uid: int) -> None:
    """From uid 0 with a few capabilities to ``uid`` with none, in all five sets and in the bounding set."""
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    os.setgroups([])
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
    libc.prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    libc.capset(header, (ctypes.c_uint32 * 6)())


def refuse() -> NoReturn:
    """Say what failed on standard error, as one line of JSON, and end."""
    os.write(2, f"aide-refused {json.dumps(failures)}\n".encode())
    os._exit(REFUSED)


def wait_for_go(path: str, nonce: str) -> None:
    """Report to the host, hand it the folders whose memory only a file system can tell, and wait for its word.

    The host looks at this process from outside before it answers. End of file (the host has died, or refuses) ends
    the process.
    """
    folders = array.array("i", [os.open("/dev/shm", os.O_PATH | os.O_DIRECTORY)])
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as host:
        host.connect(path)
        host.sendmsg([nonce.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, folders)])
        if host.recv(64) != b"go " + nonce.encode():
            os._exit(NO_GO)


def become(argv: list[str], environment: dict[str, str], folder: str) -> NoReturn:
    """Become the kernel, with nothing of the probe left: no open file, no signal setting, no variable."""
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    null = os.open("/dev/null", os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    os.closerange(3, 1024)
    os.umask(0o077)
    os.chdir(folder)
    os.execve(argv[0], argv, environment)


def main(expect: dict[str, Any]) -> NoReturn:
    """Prove the jail, then become the kernel.

    ``expect`` holds: ``uid``, ``drop`` (give up root first), ``namespaces`` (the host's), ``passages``, ``visible``
    (folder: names that may be seen in it), ``kept`` (top-level folders that are visible as a whole), ``unreadable``,
    ``hidden``, ``read_only``, ``writable``, ``tcp``, ``abstract`` and ``sockets`` (the host's listeners), ``limits``,
    ``filter`` and ``syscalls`` (see :mod:`.seccomp`), ``report`` (the socket of the host), ``nonce``,
    ``argv``, ``environment`` and ``folder`` (of the kernel).
    """
    try:
        check_namespaces(expect["namespaces"])
        if expect["drop"]:
            check("stage one", os.getuid() == 0, f"started as uid {os.getuid()}")
        check_visible(expect["visible"], expect["kept"])
        if failures:
            refuse()
        if expect["drop"]:
            make_passable(expect["passages"])
            give_up_rights(expect["uid"])
        set_limits(expect["limits"])
        install_filter(bytes.fromhex(expect["filter"]))
        check_rights(expect["uid"], expect["drop"])
        check_files(expect)
        check_network(expect)
        check_syscalls(expect["syscalls"])
        unknown = set(os.environ) - set(expect["environment"]) - ADDED_BY_FIREJAIL
        check("environment", not unknown, ", ".join(sorted(unknown)))
        check("interpreter", os.access(expect["argv"][0], os.X_OK), f"{expect['argv'][0]} cannot be run")
    except Exception as error:
        check("probe", False, f"{type(error).__name__}: {error}")
    if failures:
        refuse()
    sys.stderr.flush()
    wait_for_go(expect["report"], expect["nonce"])
    become(expect["argv"], expect["environment"], expect["folder"])
