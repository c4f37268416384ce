"""``python -m aide_jupyter`` is ``jupyter aide``."""

from __future__ import annotations

from .cli import entry_point

entry_point()
