"""The machine-learning engineer that people trust with their data, for JupyterLab and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .experiment import Experiment, Solution

__version__ = "0.1.0"
__all__ = ["Experiment", "Solution", "__version__"]


def __getattr__(name: str) -> Any:
    if name in ("Experiment", "Solution"):
        from . import experiment

        return getattr(experiment, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "aide-jupyter"}]
