"""A run's tree in a notebook: live where there is a kernel, a still picture and plain text where there is none."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import anywidget
import traitlets

from ..errors import AideError, BadRequest
from ..owner import is_owned
from ..run_index import RunIndex
from ..server.followed import Followed, size_of
from ..server.nodes import Picture
from .picture import still, words

EVERY = 0.5
"""Seconds between two looks at the journal's size. Only a journal that has grown is read."""
FIELDS = {
    "id", "parent", "operator", "standing", "status_words", "value_text", "source", "best", "flags", "tainted",
    "by_person", "plan_line",
}  # fmt: skip
"""What the page shows of a node; the rest of :class:`~aide_jupyter.server.models.Node` is not sent."""


@runtime_checkable
class HasFolder(Protocol):
    """A run by another name: a :class:`~aide_jupyter.run.Run`, a :class:`~aide_jupyter.experiment.Solution`, an entry
    of the index."""

    @property
    def folder(self) -> Path:
        """The run's folder."""
        ...


class TreeView(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
    """The tree of a run's candidates, which grows as the run does, whoever runs it.

    It reads the run's journal and never writes. It follows until the run is closed, the widget is, or the kernel ends.

    Parameters
    ----------
    run
        The run: its id, the beginning of its id, the name or path of its folder, or anything with a ``folder``, such
        as what :meth:`aide_jupyter.experiment.Experiment.run` returns.

    Attributes
    ----------
    selected
        The id of the selected candidate, None before one is selected. To be set and observed.
    state
        What is shown: ``run``, ``phase``, ``minimize``, ``best`` and ``nodes`` (fields :data:`FIELDS` of
        :class:`aide_jupyter.server.models.Node`).

    Raises
    ------
    BadRequest
        ``run`` means no run, or more than one.
    AlteredError, JournalError
        Its journal cannot be read.
    """

    _esm = Path(__file__).with_name("tree.js")

    state = traitlets.Dict().tag(sync=True)
    selected = traitlets.Unicode(None, allow_none=True).tag(sync=True)

    def __init__(self, run: str | Path | HasFolder, **kwargs: Any) -> None:
        self._ended = threading.Event()
        self._folder = _folder_of(run)
        self._followed = Followed(self._folder)
        super().__init__(state=self._look(), **kwargs)
        if self.state["phase"] != "closed":
            threading.Thread(target=self._follow, name="aide-tree", daemon=True).start()

    def refresh(self) -> None:
        """Read what is new in the journal now."""
        self.state = self._look()

    def close(self) -> None:
        """Follow the run no longer, and take the tree off the page."""
        self._ended.set()
        super().close()

    def _look(self) -> dict[str, Any]:
        return self._followed.look(lambda picture: _state(picture, owned=is_owned(self._folder)))

    def _follow(self) -> None:
        seen: tuple[Any, ...] = ()
        while not self._ended.wait(EVERY) and self.state["phase"] != "closed":
            now = (size_of(self._folder), is_owned(self._folder))
            if now != seen:
                seen = now
                try:
                    self.refresh()
                except AideError:
                    # The folder was moved, or the journal is being repaired. What is shown stays; the next look
                    # tries again.
                    seen = ()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The widget, and for where it cannot be shown (no kernel, an export, a plain terminal) what stands for it."""
        made = super()._repr_mimebundle_(**kwargs)
        data, metadata = made if isinstance(made, tuple) else (made or {}, {})
        return {**data, "text/plain": words(self.state), "image/svg+xml": still(self.state)}, metadata


def _state(picture: Picture, *, owned: bool) -> dict[str, Any]:
    state = picture.trail.state
    return {
        "run": state.run,
        "phase": state.phase(owned=owned),
        "minimize": state.minimize,
        "best": state.best,
        "nodes": [node.model_dump(mode="json", include=FIELDS) for node in picture.nodes()],
    }


def _folder_of(run: object) -> Path:
    if isinstance(run, (str, Path)):
        return RunIndex().resolve(str(run)).folder
    if isinstance(run, HasFolder):
        return Path(run.folder)
    raise BadRequest(
        f"A {type(run).__name__} is not a run.", "Give its id, its folder, or what Experiment.run has returned."
    )
