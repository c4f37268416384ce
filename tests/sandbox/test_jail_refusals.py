"""Nothing runs where containment is not proven: no jail, half a jail, a probe that lies, a path that cannot be told."""

from __future__ import annotations

import asyncio
import os
import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from aide_jupyter.errors import Refused
from aide_jupyter.sandbox import firejail as backend_module
from aide_jupyter.sandbox import jail as jail_module
from aide_jupyter.sandbox.jail import JailSpec, launch
from aide_jupyter.sandbox.plan import make_plan
from aide_jupyter.sandbox.proof import Mount, seen_at

pytestmark = pytest.mark.sandbox

LAUNCH = """
async def main():
    base = folders()
    try:
        jail = await launch(spec(base))
        await jail.kill()
        return "launched"
    finally:
        assert not (base / "s/k-1").exists() and not (base / "s/k.json").exists(), "a kernel was started"
"""

NESTS = {
    "pid namespace": ["unshare", "--mount-proc", "-pf"],
    "user namespace": ["unshare", "-Urmpf", "--mount-proc"],
    "bubblewrap": ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc"],
    "firejail": ["firejail", "--quiet", "--noprofile"],
    "firejail default": ["firejail", "--quiet", "--noprofile", "--caps.drop=all", "--nonewprivs"],
}


@pytest.mark.parametrize("nest", NESTS)
def test_where_firejail_would_run_programs_with_no_jail_the_launch_is_refused(server, nest):
    wrapper = NESTS[nest]
    if shutil.which(wrapper[0]) is None:
        pytest.skip(f"{wrapper[0]} is not installed")
    if not server.root and nest == "pid namespace":
        pytest.skip("needs root")
    answer = server.run(LAUNCH, *wrapper)
    assert "refused" in answer and "sandbox" in answer["refused"]
    assert "jupyter aide doctor" in answer["refused"]


@pytest.fixture
def spec(run_folder) -> JailSpec:
    for name in ("w", "s", "d"):
        (run_folder / name).mkdir()
    (run_folder / "journal.jsonl").write_text("{}")
    run_folder.chmod(0o755)
    return JailSpec(workspace=run_folder / "w", sockets=run_folder / "s", readable=(run_folder / "d",))


async def _launch_and_end(spec: JailSpec) -> None:
    await (await launch(spec)).kill()


def refusal(spec: JailSpec) -> str:
    with pytest.raises(Refused) as caught:
        asyncio.run(_launch_and_end(spec))
    assert not list(spec.sockets.glob("k*")), "a kernel was started"
    assert caught.value.exit_code == 97
    return str(caught.value)


WEAKER = {
    "net ": "namespace net",
    "whitelist ": "hidden folders",
    "private-dev": "canary file",
    "read-only ": "read-only",
    "read-only /tmp": "nothing else is writable",
    "blacklist /": "hidden",
    "read-write ": "writable",
}
WEAKER_FOR_A_USER = {
    "ipc-namespace": "namespace ipc",
    "noroot": "namespace user",
}


def test_each_part_of_the_jail_is_missed_where_it_is_left_out(server):
    parts = WEAKER if server.root else {**WEAKER, **WEAKER_FOR_A_USER}
    if Path(sys.prefix).is_relative_to("/tmp"):
        parts = {**parts, "whitelist ": "The sandbox"}  # without it there is no Python in the jail, so no probe
    said = server.run(f"""
from aide_jupyter.sandbox import firejail

async def main():
    whole, said = firejail.profile, {{}}
    for part in {list(parts)!r}:
        firejail.profile = lambda plan: chr(10).join(
            line for line in whole(plan).splitlines() if not line.startswith(part))
        base = folders()
        try:
            jail = await launch(spec(base))
        except Refused as error:
            assert not list((base / "s").glob("k*")), "a kernel was started"
            said[part] = error.message
        else:
            await jail.kill()
    return said
""")
    assert {part: words in said.get(part, "") for part, words in parts.items()} == dict.fromkeys(parts, True), said


def test_a_system_call_that_no_filter_stops_is_found(monkeypatch, spec):
    """firejail 0.9.72 knows neither of these two names; without our own filter they are open."""
    allow_all = struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)
    monkeypatch.setattr(jail_module, "seccomp_filter", lambda: allow_all)
    said = refusal(spec)
    assert "memfd_secret is allowed" in said and "mount_setattr is allowed" in said
    whole = backend_module.profile
    monkeypatch.setattr(backend_module, "profile", lambda plan: whole(plan).replace("protocol ", "#"))
    assert "netlink sockets can be made" in refusal(spec)


@pytest.mark.root
def test_capabilities_that_are_not_given_up_are_seen_by_the_host(monkeypatch, spec):
    source = Path(jail_module.__file__).with_name("probe.py").read_text()
    lying = source.replace("libc.prctl(24, capability, 0, 0, 0)", "pass")
    lying = lying.replace("    failures.append(", "    str(").replace("libc.prctl(38, 1, 0, 0, 0)", "pass")
    assert lying.count("str(f") > source.count("str(f")
    monkeypatch.setattr(Path, "read_text", _answering("probe.py", lying))
    assert "CapBnd" in refusal(spec)


def test_a_probe_that_lies_with_no_jail_around_it_is_caught_from_outside(monkeypatch, spec):
    """A backend that builds nothing, and a probe whose every check passes: what a silent failure would look like."""

    class NoJail:
        name = "none"

        def command(self, plan, argv, scratch):
            return argv

    source = Path(jail_module.__file__).with_name("probe.py").read_text()
    lying = source.replace("    failures.append(", "    str(").replace("os.chmod(path, 0o711)", "pass")
    monkeypatch.setattr(Path, "read_text", _answering("probe.py", lying))
    monkeypatch.setattr(jail_module, "backend", lambda name: NoJail())
    said = refusal(spec)
    assert "no process namespace of its own" in said
    assert "/ is not read-only" in said


def test_a_probe_with_no_jail_around_it_refuses_by_itself(monkeypatch, spec):
    class NoJail:
        name = "none"

        def command(self, plan, argv, scratch):
            return argv

    monkeypatch.setattr(jail_module, "backend", lambda name: NoJail())
    said = refusal(spec)
    for word in ("namespace mnt", "namespace net", "hidden folders"):
        assert word in said


def _answering(name: str, text: str):
    read = Path.read_text

    def read_text(self, *arguments, **options):
        return text if self.name == name else read(self, *arguments, **options)

    return read_text


def test_a_launcher_that_fails_is_told_with_its_own_words(monkeypatch, spec):
    whole = backend_module.profile
    monkeypatch.setattr(backend_module, "profile", lambda plan: whole(plan) + "no-such-word\n")
    assert "is invalid" in refusal(spec)


def test_a_kernel_that_cannot_start_is_refused_and_leaves_nothing(monkeypatch, spec):
    monkeypatch.setattr(jail_module, "FLAGS", ("-c", "raise SystemExit(5)"))
    with pytest.raises(Refused, match="exit status 5"):
        asyncio.run(_launch_and_end(spec))


@pytest.mark.parametrize(
    "name", [*(f"a{char}b" for char in ',*?[]#;&!<>%^|`"\\\n'), "${HOME}", "a ", "a\u202eb", "{a}"]
)
def test_a_path_that_a_profile_cannot_hold_is_refused_with_what_to_rename(spec, run_folder, name):
    folder = run_folder / name
    folder.mkdir()
    said = refusal(replace(spec, readable=(folder,)))
    assert "Rename" in said


@pytest.mark.parametrize("name", [" a b", "Kurven äöü", "a(1)", "a'b", "a$b", "a~b", "-a", "a=b:c@d+e"])
def test_a_path_that_only_looks_difficult_works(spec, run_folder, name):
    folder = run_folder / name
    folder.mkdir()
    for path in (spec.workspace, spec.readable[0]):
        path.rename(folder / path.name)
    asyncio.run(_launch_and_end(replace(spec, workspace=folder / "w", readable=(folder / "d",))))


def test_paths_that_cannot_be_are_refused(spec, run_folder, monkeypatch):
    (run_folder / "w/inner").mkdir()
    long = run_folder / ("x" * 90)
    long.mkdir()
    assert "does not exist" in refusal(replace(spec, readable=(run_folder / "missing",)))
    assert "lie in each other" in refusal(replace(spec, readable=(run_folder / "w/inner",)))
    assert "lie in each other" in refusal(replace(spec, readable=(run_folder,)))
    assert "too long" in refusal(replace(spec, sockets=long))
    assert "belongs to the system" in refusal(replace(spec, readable=(Path("/etc"),)))
    assert "Jupyter's own files" in refusal(replace(spec, readable=(Path.home(),)))
    assert "may not see" in refusal(replace(spec, folder=run_folder))
    assert "no sandbox backend" in refusal(replace(spec, backend="docker"))
    (spec.sockets / "left").touch()
    assert "not empty" in refusal(spec)
    monkeypatch.setattr(jail_module.shutil, "which", lambda *a, **k: None)
    assert "apt install firejail" in refusal(spec)


def test_a_plan_never_shows_the_checkout_of_this_package(spec):
    plan = make_plan(spec, 64100, drop=True)
    repository = Path(os.path.realpath(__file__)).parents[2]
    assert repository not in plan.python
    assert not any(repository.is_relative_to(path) for path in plan.python)


def test_the_mount_that_shows_at_a_path_is_found_among_stacked_ones():
    mounts = [
        Mount(1, 0, Path("/"), True),
        Mount(2, 1, Path("/a"), False),
        Mount(3, 2, Path("/a/b"), True),
        Mount(4, 1, Path("/"), False),
        Mount(5, 4, Path("/a"), False),
        Mount(6, 3, Path("/a/b"), False),
    ]
    assert [seen_at(mounts, Path(path)).number for path in ("/", "/a", "/a/x", "/a/b/c", "/ab")] == [1, 2, 2, 6, 1]
    line = "7 1 8:1 / /with\\040blank ro,nosuid - ext4 /dev/sda rw"
    assert Mount.read(line) == Mount(7, 1, Path("/with blank"), True)


def test_the_program_of_the_kernel_is_not_seen_on_a_command_line(spec):
    """The probe comes on standard input: nothing of what it expects is shown to other users of the machine."""

    async def look() -> str:
        jail = await launch(spec)
        try:
            parent = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
            return parent.stdout
        finally:
            await jail.kill()

    shown = asyncio.run(look())
    assert "ipykernel_launcher" in shown and "aide-canary" not in shown
