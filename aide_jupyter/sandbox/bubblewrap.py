"""The bubblewrap backend: a plan written as a command line. Chosen by configuration, never by fallback.

The jail's file system begins empty and holds what is named here, and bubblewrap is not setuid: an ordinary user needs
a host that allows user namespaces. For that user the namespace's init is of the program's own uid, so a program can
look into it: it holds nothing of the host's, but an exit status can be forged. bubblewrap knows no longest time, so
``lifetime`` has no effect. As with firejail, nothing here is trusted before the probe has proven it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .firejail import ETC, KERNEL_FILES
from .policy import Plan

LINKED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
ROOT_KEEPS = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
"""What the probe needs to become the kernel's uid; it gives them up, and proves it, before the kernel."""


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name in LINKED:
        path = Path("/") / name
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--perms", "0755", "--dir", "/etc")
    for name in ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev")  # noqa: S108
    yield from ("--perms", "0755", "--dir", "/tmp")  # noqa: S108  empty, and read-only with the root


def _listed(plan: Plan) -> Iterator[str]:
    """The folders and files of the plan, shallow ones first, below folders that every uid may pass."""
    writable = (plan.workspace, plan.sockets)
    made: set[Path] = {Path("/")}
    for path in sorted({*writable, *plan.readable, *plan.python}, key=lambda path: len(path.parts)):
        if path.is_relative_to("/usr"):
            continue
        for parent in reversed(path.parents):
            if parent not in made and not any(parent.is_relative_to(one) for one in plan.python):
                yield from ("--perms", "0755", "--dir", str(parent))
                made.add(parent)
        yield from ("--bind" if path in writable else "--ro-bind", str(path), str(path))


def _hidden(plan: Plan) -> Iterator[str]:
    for path in (*plan.hidden, *(Path(name) for name in KERNEL_FILES)):
        if not path.exists() or path.is_relative_to("/sys"):
            continue
        if path.is_dir():
            yield from ("--perms", "0000", "--tmpfs", str(path), "--remount-ro", str(path))
        else:
            yield from ("--ro-bind", "/dev/null", str(path))


class Bubblewrap:
    """Builds jails with bubblewrap, 0.8 or later."""

    name = "bubblewrap"

    def __init__(self, program: str) -> None:
        self.program = program

    def command(self, plan: Plan, argv: list[str], scratch: Path) -> list[str]:
        """See :meth:`.policy.Backend.command`."""
        options = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        options += ["--new-session", "--hostname", "aide", "--cap-drop", "ALL"]
        if plan.drop:
            for name in ROOT_KEEPS:
                options += ["--cap-add", name]
        else:
            options += ["--unshare-user"]
        options += [*_system(), *_listed(plan), *_hidden(plan)]
        if plan.drop:
            options += ["--ro-bind", "/proc/sys", "/proc/sys"]
        options += ["--remount-ro", "/", "--chdir", "/"]
        return [self.program, *options, "--", *argv]
