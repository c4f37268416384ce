"""What `jupyter aide doctor` says, where all is well and where something is missing."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from aide_jupyter.sandbox import doctor as module
from aide_jupyter.sandbox import firejail
from aide_jupyter.sandbox import jail as jail_module
from aide_jupyter.sandbox.doctor import doctor

pytestmark = pytest.mark.sandbox


def test_a_machine_that_contains_is_told_so_by_a_real_jail(server):
    report = server.run("""
async def main():
    from aide_jupyter.sandbox.doctor import doctor
    return (await doctor()).as_json()
""")
    names = [check["name"] for check in report["checks"]]
    assert report["ok"], report
    assert names[-4:] == ["jail", "kernel", "watcher", "end"]
    assert ("uids" in names) == server.root
    assert not any(check["advice"] for check in report["checks"])


def test_the_other_backend_is_proven_in_the_same_way(server):
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    report = server.run("""
async def main():
    from aide_jupyter.sandbox.doctor import doctor
    return (await doctor("bubblewrap")).as_json()
""")
    assert report["ok"], report
    assert report["checks"][1]["name"] == "bubblewrap" and "0.8" in report["checks"][1]["detail"]


def failing() -> dict[str, str]:
    report = asyncio.run(doctor())
    assert not report.ok
    return {check.name: f"{check.detail} {check.advice}" for check in report.checks if not check.ok}


def test_a_missing_program_is_told_with_how_to_install_it(monkeypatch):
    monkeypatch.setattr(module.shutil, "which", lambda *arguments, **options: None)
    failed = failing()
    assert set(failed) == {"firejail", "jail"}
    assert "apt install firejail" in failed["firejail"]


def test_a_jail_that_leaks_is_told_with_the_part_that_does(monkeypatch):
    whole = firejail.profile
    monkeypatch.setattr(firejail, "profile", lambda plan: whole(plan).replace("net none\n", ""))
    failed = failing()
    assert set(failed) == {"jail"}
    assert "namespace net" in failed["jail"]


def test_a_kernel_that_does_not_start_is_told(monkeypatch):
    monkeypatch.setattr(jail_module, "FLAGS", ("-c", "raise SystemExit(5)"))
    assert "exit status 5" in failing()["jail"]


def test_an_old_version_is_told_with_the_one_that_is_needed(monkeypatch):
    monkeypatch.setattr(module, "_version", lambda path: (0, 9, 58))
    assert "0.9.72 or later" in failing()["firejail"]


def test_a_container_is_told_as_such(server):
    checks = server.run(
        """
async def main():
    from aide_jupyter.sandbox.doctor import doctor
    report = await doctor()
    assert not report.ok
    return {check.name: [check.ok, check.advice] for check in report.checks}
""",
        "firejail",
        "--quiet",
        "--noprofile",
    )
    assert checks["place"][0] is False and "virtual machine" in checks["place"][1]
    assert checks["jail"][0] is False
