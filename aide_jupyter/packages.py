"""What is installed here: what a restricted kernel can import, and the versions that a run names."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform

from . import __version__

_USEFUL = {
    "numpy": "numpy", "pandas": "pandas", "scikit-learn": "sklearn", "scipy": "scipy", "statsmodels": "statsmodels",
    "xgboost": "xgboost", "lightgbm": "lightgbm", "catboost": "catboost", "torch": "torch",
    "torchvision": "torchvision", "timm": "timm", "transformers": "transformers", "sentence-transformers":
    "sentence_transformers", "polars": "polars", "pyarrow": "pyarrow", "pillow": "PIL", "opencv-python": "cv2",
    "scikit-image": "skimage", "librosa": "librosa", "nltk": "nltk", "category-encoders": "category_encoders",
    "imbalanced-learn": "imblearn", "optuna": "optuna", "hyperopt": "hyperopt", "prophet": "prophet",
    "sktime": "sktime", "networkx": "networkx", "shap": "shap", "matplotlib": "matplotlib", "seaborn": "seaborn",
    "openpyxl": "openpyxl", "tqdm": "tqdm", "joblib": "joblib",
}  # fmt: skip


def importable() -> tuple[str, ...]:
    """The packages of use to a program that are installed here, most useful first, as ``name version``."""
    found = []
    for name, module in _USEFUL.items():
        if importlib.util.find_spec(module) is not None:
            try:
                found.append(f"{name} {importlib.metadata.version(name)}")
            except importlib.metadata.PackageNotFoundError:
                found.append(name)
    return tuple(found)


def versions(policy: str) -> dict[str, str]:
    """What a run with this search policy runs with, by name."""
    found = {"aide-jupyter": __version__, "python": platform.python_version(), "system": platform.platform()}
    for name in ("ipykernel", "jupyter_client", "litellm", "numpy", "pandas", "scikit-learn"):
        found[name] = importlib.metadata.version(name)
    for point in importlib.metadata.entry_points(group="aide_jupyter.policies", name=policy):
        if point.dist is not None:
            found[f"policy {policy}"] = f"{point.dist.name} {point.dist.version}"
    return found
