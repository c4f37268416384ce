"""What a person installs: a source distribution and a wheel that carry the built front end and need no Node.

The front end is not built again here: what `make` has built is packed. The environment is fresh but for the packages
that this one depends on, which it takes from the environment of the tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from aide_jupyter import __version__

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "aide_jupyter" / "labextension" / "package.json"

pytestmark = [
    pytest.mark.skipif(not BUILT.exists(), reason="the front end is not built"),
    pytest.mark.timeout(900),
]


def run(argv: list[str | Path], env: dict[str, str], cwd: Path) -> str:
    """The output of a command, standard error included; it must succeed."""
    done = subprocess.run(
        argv, env=env, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    assert done.returncode == 0, f"{argv}\n{done.stdout}"
    return done.stdout


def without_node(folder: Path, bin_folder: Path) -> dict[str, str]:
    """An environment in which only the programs of ``bin_folder`` are found; Jupyter's folders are below ``folder``."""
    env = {"PATH": str(bin_folder), "HOME": str(folder), "LANG": "C.UTF-8", "JUPYTER_PLATFORM_DIRS": "1"}
    assert not any(shutil.which(name, path=env["PATH"]) for name in ("node", "npm", "jlpm"))
    return env


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sdist")
    env = {**os.environ, "SKIP_JUPYTER_BUILDER": "1"}  # It is built; nothing is run by this but packing.
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", out], env, ROOT)
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made from the source distribution, as `pip install` makes it where there is no wheel: also without Node."""
    out = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    (out / "bin").mkdir()
    run([*pip, "--wheel-dir", out / "made", sdist], without_node(out, out / "bin"), out)
    (made,) = (out / "made").iterdir()
    return made


@dataclass(frozen=True)
class Environment:
    """A virtual environment and what its commands see."""

    prefix: Path
    env: dict[str, str]

    def python(self, *arguments: str) -> str:
        return run([self.prefix / "bin" / "python", *arguments], self.env, self.prefix)


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    prefix = tmp_path_factory.mktemp("fresh")
    run([sys.executable, "-m", "venv", "--without-pip", prefix], dict(os.environ), prefix)
    env = without_node(prefix / "home", prefix / "bin")
    pip = [sys.executable, "-m", "pip", "--python", prefix / "bin" / "python", "install", "--quiet"]
    run([*pip, "--no-deps", "--no-index", wheel], env, prefix)
    packages = sysconfig.get_path("purelib", vars={"base": str(prefix)})
    (Path(packages) / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Environment(prefix, env)


def test_the_source_distribution_carries_the_built_front_end_and_none_of_what_a_checkout_makes(sdist: Path) -> None:
    with tarfile.open(sdist) as packed:
        names = {name.split("/", 1)[1] for name in packed.getnames()}
    assert "aide_jupyter/labextension/package.json" in names
    assert any(name.startswith("aide_jupyter/labextension/static/remoteEntry.") for name in names)
    assert not [name for name in names if "node_modules" in name or "__pycache__" in name or name.startswith(".venv")]


def test_a_fresh_environment_imports_what_was_installed(fresh: Environment) -> None:
    where = fresh.python("-c", "import aide_jupyter; print(aide_jupyter.__file__)")
    assert Path(where.strip()).is_relative_to(fresh.prefix)


def test_extension_kernelspec_and_configuration_are_in_place(fresh: Environment) -> None:
    share = fresh.prefix / "share" / "jupyter"
    built = json.loads((share / "labextensions" / "aide-jupyter" / "package.json").read_text())
    assert (share / "labextensions" / "aide-jupyter" / built["jupyterlab"]["_build"]["load"]).is_file()
    assert (share / "labextensions" / "aide-jupyter" / "schemas" / "aide-jupyter" / "plugin.json").is_file()
    installed = json.loads((share / "labextensions" / "aide-jupyter" / "install.json").read_text())
    assert installed["packageName"] == "aide-jupyter"
    kernel = json.loads((share / "kernels" / "aide-restricted" / "kernel.json").read_text())
    assert kernel["metadata"]["kernel_provisioner"]["provisioner_name"] == "aide-sandbox"
    enabling = fresh.prefix / "etc" / "jupyter" / "jupyter_server_config.d" / "aide_jupyter.json"
    assert json.loads(enabling.read_text())["ServerApp"]["jpserver_extensions"] == {"aide_jupyter": True}


def test_jupyter_lists_both_halves_as_enabled(fresh: Environment) -> None:
    lab = fresh.python("-m", "jupyterlab.labextensions", "list")
    assert f"aide-jupyter v{__version__} enabled OK" in _plain(lab)
    server = _plain(fresh.python("-m", "jupyter_server.extension.serverextension", "list"))
    assert "aide_jupyter enabled" in server
    assert f"aide_jupyter {__version__} OK" in server


def test_jupyter_lists_the_restricted_kernel(fresh: Environment) -> None:
    listed = json.loads(fresh.python("-m", "jupyter_client.kernelspecapp", "list", "--json"))["kernelspecs"]
    assert Path(listed["aide-restricted"]["resource_dir"]).is_relative_to(fresh.prefix)
    assert listed["aide-restricted"]["spec"]["display_name"] == "Python 3 (restricted)"


def test_the_command_runs_and_has_the_version_of_the_front_end(fresh: Environment) -> None:
    assert fresh.python("-m", "jupyter", "aide", "--version").strip() == __version__
    assert json.loads(BUILT.read_text())["version"] == __version__


def _plain(text: str) -> str:
    """Without colours, with single spaces."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())
