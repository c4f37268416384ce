"""What one jail may see and use, in words that every backend understands.

A caller describes a jail with :class:`JailSpec`. :mod:`.jail` resolves it to a :class:`Plan`, in which every path is
real and the kernel's uid is known, and a :class:`Backend` turns the plan into the command line that builds the jail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..records import Limits

DAY = 24 * 3600.0
UIDS = (64100, 64899)
"""Where the server runs as root, each kernel has a uid of its own from this range, both ends included."""


@dataclass(frozen=True)
class JailSpec:
    """What one jail may see and use. All paths exist, and belong to this jail alone where they are writable.

    Parameters
    ----------
    workspace
        The kernel's working directory, writable. The caller makes it, with ``input`` (a symbolic link to a folder in
        ``readable``) and ``working``. Where the server is root, it and all in it is given to the kernel's uid.
    sockets
        An empty folder, writable, mode 0700, for the connection file and the kernel's sockets. Its path is at most
        95 bytes long, since a socket's path is at most 107.
    readable
        Files and folders that are seen read-only, at the paths that they have outside.
    limits
        What the program may use. Seconds, memory, disk and output are judged by the watchdog; the jail itself binds
        processes, the size of one file and the address space of one process.
    backend
        Which program builds the jail. Chosen by configuration, never by fallback.
    lifetime
        Seconds after which the jail ends whatever happens, as a backstop; a warm kernel waits within it. 0 is never.
        A backend may know a longest time (firejail: under 100 hours).
    folder
        Where the kernel starts: the workspace, or a folder in ``readable``.
    hidden
        Files and folders below ``readable`` that the kernel must not see.
    uids
        The range of uids for kernels, used where the server runs as root.
    start
        What starts the kernel: arguments of its Python, before those that name its connection file.
    """

    workspace: Path
    sockets: Path
    readable: tuple[Path, ...] = ()
    limits: Limits = field(default_factory=Limits)
    backend: str = "firejail"
    lifetime: float = 4 * DAY
    folder: Path | None = None
    hidden: tuple[Path, ...] = ()
    uids: tuple[int, int] = UIDS
    start: tuple[str, ...] = ("-m", "ipykernel_launcher")


@dataclass(frozen=True)
class Plan:
    """A spec made ready for a backend: paths are real, and were checked for what a profile cannot express.

    Parameters
    ----------
    python
        Folders that hold the interpreter and its packages; seen read-only. What lies below ``/usr`` is left out.
    hidden
        Paths below visible folders that the kernel must not see: data sets bundled in packages, this package, and
        Jupyter's own folders.
    uid
        Whom the kernel runs as. ``drop`` says that the jail is built as root and the probe changes to this uid.
    environment
        The whole environment of the kernel.
    """

    workspace: Path
    sockets: Path
    folder: Path
    readable: tuple[Path, ...]
    python: tuple[Path, ...]
    hidden: tuple[Path, ...]
    limits: Limits
    lifetime: float
    uid: int
    drop: bool
    environment: dict[str, str]


class Backend(Protocol):
    """A program that builds jails."""

    name: str

    def command(self, plan: Plan, argv: list[str], scratch: Path) -> list[str]:
        """The command line that runs ``argv`` in the jail. Called by :func:`.jail.launch`, once per launch.

        ``scratch`` is an empty folder of mode 0700 for files that the backend reads as it starts; the jail does not
        see it, and it is gone soon after the probe has answered.
        """
        ...
