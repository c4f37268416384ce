"""Whether a collaboration room exists for a file: then the file is the room's, and others must not write it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .places import Places


def room_exists(settings: Mapping[str, Any], places: Places, path: Path) -> bool:
    """Ask jupyter-collaboration, where it is at work; without it there are no rooms.

    Parameters
    ----------
    settings
        Of the web application: where ``jupyter_server_ydoc`` and the file id service register themselves.
    """
    shown = places.relative(path)
    extension, ids = settings.get("jupyter_server_ydoc"), settings.get("file_id_manager")
    rooms = getattr(getattr(extension, "ywebsocket_server", None), "rooms", None)
    if not rooms or ids is None or shown is None:
        return False
    file_id = ids.get_id(shown)
    return file_id is not None and any(str(room).rsplit(":", 1)[-1] == str(file_id) for room in rooms)
