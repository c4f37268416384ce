"""The firejail backend: a plan written as a profile.

The profile is a file of its own for each launch, since a command line is limited to 127 arguments, and it includes
nothing, so that it means the same on every distribution. firejail ignores much in silence (an unknown system call, a
missing path, a whole profile cut short, and in a container it builds no jail at all); so nothing here is trusted
before the probe has proven it.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable
from pathlib import Path

from ..errors import Refused
from .policy import Plan
from .seccomp import TABLE

SYSTEM_FOLDERS = frozenset(
    {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "tmp", "usr"}
)
NOTHING = ".aide-none"
"""A name that exists nowhere: to whitelist it hides all the rest of its top-level folder, even the names."""
SPECIAL = '#,*?[]{};&!<>%^|`"\\\n\r\t'
"""Characters that firejail refuses in a path, expands, or takes for the end of a line's words."""
LONGEST_TIMEOUT = 99 * 3600 + 59 * 60 + 59
"""firejail 0.9.72 takes two digits of hours."""

ETC = (
    "alternatives",
    "fonts",
    "group",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "passwd",
    "timezone",
)
"""All of /etc that a kernel sees."""

STATIC = """\
quiet
deterministic-exit-code
deterministic-shutdown
net none
ipc-namespace
nonewprivs
seccomp.block-secondary
restrict-namespaces
protocol unix,inet,inet6
private-tmp
keep-var-tmp
private-dev
no3d
nosound
novideo
noinput
nou2f
noprinters
notv
nodvd
dbus-user none
dbus-system none
x11 none
machine-id
rmenv JPY_PARENT_PID
hostname aide
"""

# Beyond firejail's own list. clone3 is left to restrict-namespaces, which answers that it does not exist: glibc then
# makes threads with clone. The probe puts a filter of ours on top: firejail ignores names younger than it.
SYSCALLS = ",".join(name for name in TABLE if name not in ("clone3", "open_tree_attr"))
KERNEL_FILES = (
    *(
        f"/sys/{name}"
        for name in ("block", "bus", "class", "dev", "firmware", "fs", "hypervisor", "kernel", "module", "power")
    ),
    *(
        f"/proc/{name}"
        for name in ("cmdline", "config.gz", "driver", "kallsyms", "keys", "key-users", "modules", "timer_list")
    ),
    "/usr/src",
    "/usr/local/src",
)


def refuse_special(path: Path | str) -> str:
    """The path as text, where a profile can express it.

    Raises
    ------
    errors.Refused
        For a path with characters to which firejail gives a meaning, or which a profile's lines cannot hold.
    """
    text = str(path)
    found = [char for char in SPECIAL if char in text]
    if found or text != text.strip() or " " in Path(text).name[-1:] or not text.isprintable():
        what = f"the character {found[0]!r}" if found else "a leading, trailing or invisible character"
        raise Refused(
            f"The path {text!r} holds {what}, to which the sandbox gives a meaning of its own.",
            "Rename that folder or file, or work in another folder.",
        )
    return text


def home_folder() -> Path:
    """The home folder as firejail knows it: that of the account, whatever ``HOME`` says."""
    return Path(os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))


def top_level(path: Path) -> str:
    """The top-level folder that a path lies in."""
    return path.parts[1] if len(path.parts) > 1 else ""


def whitelisted(plan: Plan) -> tuple[Path, ...]:
    """What is listed, writable or not. Below ``/usr`` everything is visible as it is."""
    listed = (plan.workspace, plan.sockets, *plan.readable, *plan.python)
    return tuple(dict.fromkeys(path for path in listed if top_level(path) != "usr" and len(path.parts) > 2))


def kept(plan: Plan) -> set[str]:
    """Names of top-level entries that are listed as they are, and so cannot be whitelisted beneath."""
    return {top_level(path) for path in (*plan.readable, *plan.python) if len(path.parts) == 2}


def hide_the_rest(plan: Plan) -> Iterable[str]:
    """Lines that hide every top-level folder in which nothing is listed, and the home folder."""
    listed = whitelisted(plan)
    home = home_folder()
    # A home folder is a top-level folder of its own to firejail: what is listed in it hides nothing around it.
    used = {top_level(path) for path in listed if not path.is_relative_to(home)}
    if home != Path("/") and home.is_dir() and not any(path.is_relative_to(home) for path in listed):
        yield f"whitelist {refuse_special(home / NOTHING)}"
    for entry in sorted(os.scandir("/"), key=lambda entry: entry.name):
        if entry.name in SYSTEM_FOLDERS | used | kept(plan) or entry.is_symlink():
            continue
        if entry.name in {"run", "var", "home", top_level(home)} and Path(entry.path) != home:
            yield f"whitelist /{entry.name}/{NOTHING}"
        elif Path(entry.path) != home:
            yield f"blacklist {refuse_special(entry.path)}"


def profile(plan: Plan) -> str:
    """The profile's text."""
    lines = [STATIC + f"private-etc {','.join(ETC)}", f"seccomp {SYSCALLS}"]
    if plan.drop:
        # The probe needs these three to become the kernel's uid; it gives them up, and proves it, before the kernel.
        lines += ["caps.keep setuid,setgid,setpcap"]
    else:
        lines += ["caps.drop all", "noroot", "nogroups"]
    if plan.lifetime:
        hours, rest = divmod(int(min(plan.lifetime, LONGEST_TIMEOUT)), 3600)
        lines += [f"timeout {hours:02d}:{rest // 60:02d}:{rest % 60:02d}"]
    # As root, /root stays writable for root alone: the probe has to open it for the kernel's uid to pass through. As
    # an ordinary user `read-only /` would cost the user namespace: with a mount upon the root, unshare(CLONE_NEWUSER)
    # fails and firejail goes on without (measured, 0.9.72). There the files' own permissions protect what is left.
    lines += ["read-only /tmp", "read-only /" if plan.drop else "read-only ${HOME}"]
    lines += [f"whitelist {refuse_special(path)}" for path in whitelisted(plan)]
    lines += [f"read-write {path}" for path in (plan.workspace, plan.sockets)]
    lines += [f"read-only {refuse_special(path)}" for path in (*plan.readable, *plan.python)]
    lines += [f"blacklist {refuse_special(path)}" for path in plan.hidden]
    lines += hide_the_rest(plan)
    lines += [f"blacklist {path}" for path in KERNEL_FILES if Path(path).exists()]
    return "\n".join([*lines, "private-cwd /", ""])


class Firejail:
    """Builds jails with firejail, 0.9.72 or later."""

    name = "firejail"

    def __init__(self, program: str) -> None:
        self.program = program

    def command(self, plan: Plan, argv: list[str], scratch: Path) -> list[str]:
        """See :meth:`.policy.Backend.command`."""
        path = scratch / "jail.profile"
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(profile(plan))
        # Without "--": with it, firejail 0.9.72 starts the program through the account's login shell, which an account
        # of a service does not have.
        return [self.program, f"--profile={path}", *argv]
