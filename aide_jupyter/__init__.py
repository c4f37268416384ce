"""The machine-learning engineer that people trust with their data, for JupyterLab and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .experiment import Experiment, Solution

__version__ = "0.1.0"
__all__ = ["Experiment", "Solution", "__version__"]


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    """Called by Jupyter Server where the extension is enabled."""
    from .server.app import AideApp

    return [{"module": "aide_jupyter", "app": AideApp}]


def __getattr__(name: str) -> Any:
    if name in ("Experiment", "Solution"):
        from . import experiment

        return getattr(experiment, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "aide-jupyter"}]
