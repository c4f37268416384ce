"""Images of a folder, by their headers: no picture is ever decoded."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from PIL import Image, UnidentifiedImageError

from .copying import Stop, check
from .shape import Images

SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"}
MEASURED = 60
"""Headers read in each group of images."""

MAX_GROUPS = 6
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
_HOSTILE = (
    UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError, KeyError, IndexError,
    TypeError, OverflowError, EOFError, ZeroDivisionError, MemoryError,
)  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Images of a folder and, where there were too many folders, of those below it."""

    folder: PurePosixPath
    files: tuple[PurePosixPath, ...]
    folders: tuple[str, ...]


def groups(files: Iterable[PurePosixPath]) -> list[Group]:
    """The images by folder; folders are joined to the one above until there are few."""
    found: dict[PurePosixPath, list[PurePosixPath]] = {}
    for path in files:
        found.setdefault(path.parent, []).append(path)
    while len(found) > MAX_GROUPS:
        deepest = max(len(folder.parts) for folder in found)
        if deepest == 0:
            break
        joined: dict[PurePosixPath, list[PurePosixPath]] = {}
        for folder, inner in found.items():
            joined.setdefault(folder.parent if len(folder.parts) == deepest else folder, []).extend(inner)
        found = joined
    return [
        Group(
            folder, tuple(sorted(inner)), tuple(sorted({path.parent.name for path in inner if path.parent != folder}))
        )
        for folder, inner in sorted(found.items())
    ]


def measure(
    path: str, root: Path, group: Group, *, size: int, folder_names: Sequence[str], stop: Stop | None = None
) -> Images:
    """What is told of a group. ``path`` and ``folder_names`` are fit to be shown; ``size`` is in bytes."""
    step = max(1, len(group.files) // MEASURED)
    widths, heights, modes, unreadable = [], [], Counter[str](), 0
    for file in group.files[::step][:MEASURED]:
        check(stop)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with Image.open(root / file, formats=_FORMATS) as image:
                    widths.append(image.width)
                    heights.append(image.height)
                    modes[image.mode] += 1
        except _HOSTILE:
            unreadable += 1
    return Images(
        path=path,
        count=len(group.files),
        bytes=size,
        formats=dict(sorted(Counter(file.suffix.lower().lstrip(".") for file in group.files).items())),
        folders=len(group.folders) or None,
        folder_names=tuple(folder_names),
        measured=len(widths),
        width=(min(widths), max(widths)) if widths else None,
        height=(min(heights), max(heights)) if heights else None,
        modes=dict(sorted(modes.items())) or None,
        unreadable=unreadable or None,
    )
