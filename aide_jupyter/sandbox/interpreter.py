"""Which Python a jail holds, what of it is hidden, and the environment of a kernel.

The kernel is the interpreter that runs this process. It is asked, once, what a kernel of its will import from; that is
exact where reading ``sys.path`` of a server, which holds its own additions, is not.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir, jupyter_runtime_dir

from ..errors import Refused
from ..records import Limits

FLAGS = ("-P", "-s", "-B")
"""What ``-I`` means, but for ignoring PYTHON* variables: the environment is built from nothing, and it has to fix
PYTHONHASHSEED, without which two runs of one program differ in the order of a set of strings. -B: no bytecode."""

BUNDLED_DATA = (
    "aeon/datasets/data", "bokeh/sampledata/_data", "bokeh_sampledata/_data", "darts/datasets/data", "gapminder",
    "geopandas/datasets", "lifelines/datasets/*.csv", "mlxtend/data/data", "nltk_data", "palmerpenguins/data",
    "plotly/package_data/datasets", "plotnine/data", "pmlb/*.tsv", "pycaret/datasets", "pydataset/resources.tar.gz",
    "seaborn/data", "shap/cached_data", "skimage/data/*.*[!y]", "sklearn/datasets/data", "sklearn/datasets/images",
    "sklearn/datasets/tests/data", "sktime/datasets/data", "statsmodels/datasets/*/*.csv",
    "statsmodels/datasets/*/*.dat",
    "tslearn/.cached_datasets", "vega_datasets/_data", "yellowbrick/datasets/fixtures",
)  # fmt: skip
"""Data sets inside Python packages, relative to their folder: a program that finds the answers there learns nothing."""

THREADED = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB", "RAYON")
_QUESTION = """
import importlib.util, json, sys
found = importlib.util.find_spec("ipykernel_launcher") is not None
print(json.dumps([sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, sys.path, found]))
"""


@dataclass(frozen=True)
class Interpreter:
    """The Python of a jail: its executable, the folders of its installation, and what else it imports from."""

    executable: str
    prefixes: tuple[Path, ...]
    additions: tuple[Path, ...]
    packages: tuple[Path, ...]


def _within(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


@functools.cache
def interpreter() -> Interpreter:
    """The Python of this process as a kernel will have it; asked once.

    Raises
    ------
    errors.Refused
        Where a kernel of this Python could not import ipykernel.
    """
    # The folder is made real, the file's own link is not followed: a virtual environment is known by where it lies.
    executable = Path(os.path.realpath(Path(sys.executable).parent)) / Path(sys.executable).name
    answer = subprocess.run(
        [str(executable), *FLAGS, "-c", _QUESTION], env={}, cwd="/", capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise Refused(
            f"{executable} cannot be started as a kernel: {answer.stderr.strip()[-300:]}", "Repair this environment."
        )
    *prefixes, path, found = json.loads(answer.stdout)
    if not found:
        raise Refused(
            f"{executable} has no ipykernel of its own (packages installed with `pip install --user` are not used).",
            "Install aide-jupyter in a virtual environment and start Jupyter from there.",
        )
    real = tuple(dict.fromkeys(Path(os.path.realpath(prefix)) for prefix in prefixes))
    visible = (*real, Path("/usr"))
    entries = tuple(dict.fromkeys(Path(os.path.realpath(entry)) for entry in path if Path(entry).is_dir()))
    return Interpreter(
        str(executable),
        tuple(prefix for prefix in real if not prefix.is_relative_to("/usr")),
        tuple(entry for entry in entries if not _within(entry, visible)),
        entries,
    )


def _is_source_tree(folder: Path) -> bool:
    """Whether a folder holds this package as a checkout, not as an installed distribution."""
    ours = Path(os.path.realpath(Path(__file__).parents[2]))
    return ours.is_relative_to(folder) and not any(ours.glob("*.dist-info"))


def jupyter_folders() -> tuple[Path, ...]:
    """Jupyter's data, runtime and configuration folders."""
    folders = (jupyter_data_dir(), jupyter_runtime_dir(), jupyter_config_dir())
    return tuple(Path(os.path.realpath(folder)) for folder in folders)


def private_folders() -> tuple[Path, ...]:
    """Folders that no jail shows as a whole: Jupyter's own, and the home folder."""
    return (*jupyter_folders(), Path(os.path.realpath(Path.home())))


def python_folders(private: tuple[Path, ...]) -> tuple[Path, ...]:
    """What of the file system a kernel needs as its Python; folders below ``/usr`` are left out, being visible.

    A folder that a ``.pth`` file adds is left out where it is this package's own checkout, or where something in
    ``private`` (a run, a data view, Jupyter's folders) lies in it.
    """
    python = interpreter()
    additions = (
        folder
        for folder in python.additions
        if not _is_source_tree(folder) and not any(path.is_relative_to(folder) for path in private)
    )
    return (*python.prefixes, *additions)


def _hidden(visible: tuple[Path, ...]) -> Iterator[Path]:
    yield Path(os.path.realpath(Path(__file__).parents[1]))
    yield from jupyter_folders()
    for packages in interpreter().packages:
        if _within(packages, visible):
            for pattern in BUNDLED_DATA:
                yield from packages.glob(pattern)


def hidden_paths(python: tuple[Path, ...]) -> tuple[Path, ...]:
    """What has to be hidden inside the visible Python: this package, Jupyter's own folders, and bundled data sets."""
    visible = (*python, Path("/usr"))
    return tuple(dict.fromkeys(path for path in _hidden(visible) if _within(path, visible) and path.exists()))


def kernel_environment(workspace: Path, limits: Limits) -> dict[str, str]:
    """The whole environment of a kernel. Home and temporary files lie in the workspace, so that they count."""
    private = workspace / ".jail"
    cores = str(limits.cores)
    return {
        "PATH": f"{Path(interpreter().executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(private / "home"),
        "TMPDIR": str(private / "tmp"),
        "IPYTHONDIR": str(private / "ipython"),
        "USER": "aide",
        "LOGNAME": "aide",
        "SHELL": "/bin/sh",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHON_CPU_COUNT": cores,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "LOKY_MAX_CPU_COUNT": cores,
        "POLARS_MAX_THREADS": cores,
        "NUMEXPR_MAX_THREADS": cores,
        **{f"{name}_NUM_THREADS": cores for name in THREADED},
    }
