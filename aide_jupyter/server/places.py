"""Where things are, as a page names them, and which of them it may name.

A path from a page is relative to the server's root, as the file browser has it; data may also be named by an absolute
path below one of the folders that the administrator lists. Links are resolved first: what lies outside in the end is
refused, wherever the link stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..errors import BadRequest


@dataclass(frozen=True)
class Places:
    """The server's root, the further folders that may hold data, and the folder in which runs are made.

    All are absolute and resolved (:meth:`of`).
    """

    root: Path
    data_roots: tuple[Path, ...]
    runs: Path
    hidden: bool = False

    @classmethod
    def of(cls, root: str, data_roots: tuple[str, ...], runs: str, *, hidden: bool = False) -> Places:
        """The places, from settings. ``runs`` is relative to the root unless absolute."""
        real = Path(root).expanduser().resolve()
        others = tuple(Path(one).expanduser().resolve() for one in data_roots)
        return cls(real, others, (real / Path(runs).expanduser()).resolve(), hidden)

    def data_folder(self, named: str) -> Path:
        """The data folder that a page named, its links resolved.

        Raises
        ------
        BadRequest
            It is missing, no folder, hidden, or outside every folder that may hold data.
        """
        path = self._beneath(named)
        if Path(named).is_absolute() and not path.is_dir():
            path = Path(named).resolve()
        allowed = (self.root, *self.data_roots)
        inside = [folder for folder in allowed if path.is_relative_to(folder)]
        if not inside:
            raise BadRequest(
                f"The data folder “{named}” lies outside the folders that may hold data.", self.data_words()
            )
        if not any(self._plain(path, folder) for folder in inside):
            raise BadRequest(f"The data folder “{named}” is hidden, or in a hidden folder.", "Choose another one.")
        if not path.is_dir():
            raise BadRequest(f"There is no folder “{named}”.", "Choose a folder with the file browser.")
        return path

    def file(self, named: str) -> Path:
        """A path below the root that a page named; what is there, if anything, is left to who asks.

        Raises
        ------
        BadRequest
            It is outside the root, or hidden.
        """
        path = self._beneath(named)
        if not path.is_relative_to(self.root) or not self._plain(path, self.root):
            raise BadRequest(f"“{named}” is not a file that this server shows.", "Choose one in the file browser.")
        return path

    def relative(self, path: Path) -> str | None:
        """``path`` as the file browser has it; None where it does not lie below the root."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else None

    def shown(self, path: Path) -> str:
        """``path`` relative to the root, or absolute where it is outside."""
        return self.relative(path) or str(path)

    def _beneath(self, named: str) -> Path:
        parts = PurePosixPath(named.strip("/")).parts
        if ".." in parts or "\x00" in named:
            raise BadRequest(f"“{named}” is not a path below the server's root.", "Choose one in the file browser.")
        return self.root.joinpath(*parts).resolve()

    def _plain(self, path: Path, folder: Path) -> bool:
        return self.hidden or not any(part.startswith(".") for part in path.relative_to(folder).parts)

    def data_words(self) -> str:
        """Where data may be."""
        if not self.data_roots:
            return (
                "Choose one below the server's root, or ask the administrator to list its folder in AideApp.data_roots."
            )
        return f"Choose one below the server's root or one of: {', '.join(map(str, self.data_roots))}."
