"""Where this package keeps its own files: below Jupyter's data and runtime folders, for their owner's eyes only.

Both are asked of Jupyter at each call, so that ``JUPYTER_DATA_DIR`` and ``JUPYTER_RUNTIME_DIR`` count.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir, jupyter_runtime_dir

from .errors import BadRequest

_NAME = "aide_jupyter"


def data_home() -> Path:
    """``<Jupyter data>/aide_jupyter``: keys, the index of runs, blind targets. Made where it is not there."""
    return private_folder(Path(jupyter_data_dir()) / _NAME)


def runtime_home() -> Path:
    """``<Jupyter runtime>/aide_jupyter``: control sockets. Made where it is not there."""
    return private_folder(Path(jupyter_runtime_dir()) / _NAME)


def keys_folder() -> Path:
    """Where this machine's signing keys are."""
    return private_folder(data_home() / "keys")


def private_folder(path: Path) -> Path:
    """``path`` as a folder of mode 0700 that belongs to this account.

    Raises
    ------
    BadRequest
        It is a link or a file, belongs to another account, or cannot be made.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise BadRequest(
                f"{path} is not a folder of this account.",
                "Move it away, or set JUPYTER_DATA_DIR and JUPYTER_RUNTIME_DIR.",
            )
        if status.st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise BadRequest(
            f"The folder {path} cannot be made: {error.strerror}.", "Set JUPYTER_DATA_DIR and JUPYTER_RUNTIME_DIR."
        ) from error
    return path


def jupyter_folders() -> list[Path]:
    """Jupyter's data, runtime and configuration folders, of which no data view holds anything."""
    return [Path(folder) for folder in (jupyter_data_dir(), jupyter_runtime_dir(), jupyter_config_dir())]
