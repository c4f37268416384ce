"""A spec made ready for a backend: real paths, checked; folders given to the kernel; what the probe has to expect."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from ..errors import Refused
from .firejail import home_folder, refuse_special, whitelisted
from .interpreter import hidden_paths, kernel_environment, private_folders, python_folders
from .policy import JailSpec, Plan

LONGEST_SOCKETS = 95
"""A unix socket's path is at most 107 bytes; below the folder it needs ``/k-5`` or ``/probe``."""
OPEN_FILES = 1024
SYSTEM = tuple(
    Path(f"/{name}")
    for name in ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr")
)
"""What no path of a spec may lie in, but for readable ones below /usr."""
SKELETON = {".bashrc", ".zshrc", ".cshrc", ".inputrc", ".Xauthority", ".asoundrc"}
"""firejail puts fresh copies from /etc/skel into a home folder that it has emptied."""


def make_plan(spec: JailSpec, uid: int, *, drop: bool) -> Plan:
    """The spec with real paths, checked for what a profile cannot express.

    Raises
    ------
    errors.Refused
        For a path that is missing, special to the backend, or in the way of another.
    """
    workspace, sockets = (_real(path, "folder") for path in (spec.workspace, spec.sockets))
    readable_paths = tuple(dict.fromkeys(_real(path, "file or folder") for path in spec.readable))
    folder = workspace if spec.folder is None else _real(spec.folder, "folder")
    if not any(folder.is_relative_to(path) for path in (workspace, *readable_paths)):
        raise Refused(f"The kernel cannot start in {folder}, which it may not see.", "Make it readable.")
    hidden = tuple(_real(path, "file or folder") for path in spec.hidden)
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
        folder=folder,
        readable=readable_paths,
        python=python,
        hidden=tuple(dict.fromkeys((*hidden_paths(python), *hidden))),
        limits=spec.limits,
        lifetime=spec.lifetime,
        uid=uid,
        drop=drop,
        environment=kernel_environment(workspace, spec.limits),
    )


def _real(path: Path, what: str) -> Path:
    real = Path(os.path.realpath(path))
    if not real.exists():
        raise Refused(f"The {what} {path} does not exist.", "Make it, or name another.")
    refuse_special(real)
    return real


def prepare_folders(plan: Plan) -> None:
    """Make the workspace's private folders, close both folders to others, and give them to the kernel's uid."""
    if any(plan.sockets.iterdir()):
        raise Refused(f"The socket folder {plan.sockets} is not empty.", "Use a fresh folder for each kernel.")
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
    home = home_folder()
    for path in (*listed, home):
        for child, parent in zip((path, *path.parents), path.parents, strict=False):
            if parent == Path("/") or any(parent.is_relative_to(folder) for folder in listed):
                continue
            devices[str(parent)] = parent.stat().st_dev
            names.setdefault(str(parent), set()).add(child.name)
    if not any(home.is_relative_to(folder) for folder in listed):
        names.setdefault(str(home), set()).update(SKELETON)
    return devices, {folder: sorted(found) for folder, found in names.items()}
