"""The server extension: what an administrator sets, and how its parts are put together."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from jupyter_server.extension.application import ExtensionApp
from traitlets import Enum, Float, Int, List, TraitError, Unicode, validate

from .caps import STRICTEST, Caps
from .catalogue import Sandbox
from .events import CONTENTS, SCHEMA_FILE, Bell
from .places import Places
from .rooms import room_exists
from .routes import ROUTES, SANDBOX_STATE
from .runs import Runs
from .stream import RUNS


class AideApp(ExtensionApp):
    """aide-jupyter in a Jupyter server. Everything here caps what a page can ask for, and no request lifts it."""

    name = "aide_jupyter"
    app_name = "aide-jupyter"
    description = "A machine-learning agent whose every program is reviewed, contained and recorded."
    load_other_extensions = True

    review_modes = List(
        Enum(STRICTEST), default_value=list(STRICTEST), minlen=1, help="The review modes that a run may have."
    ).tag(config=True)
    preview_levels = List(
        Enum(("off", "schema", "statistics", "samples")),
        default_value=["off", "schema", "statistics", "samples"],
        minlen=1,
        help="How much of the data a model may be told.",
    ).tag(config=True)
    models = List(
        Unicode(), default_value=["*"], help="The models that a run may use, as patterns: openai/*, offline."
    ).tag(config=True)
    policies = List(
        Unicode(), default_value=["default", "aide"], help="The search policies that may be loaded, by name."
    ).tag(config=True)
    network_hosts = List(
        Unicode(),
        default_value=["*"],
        help="The hosts that a run may be pointed at: model servers by base URL, and grants of its programs.",
    ).tag(config=True)
    runs_dir = Unicode("aide-runs", help="Where runs are made, relative to the server's root.").tag(config=True)
    data_roots = List(
        Unicode(), help="Folders outside the server's root that may hold data, beside the root itself."
    ).tag(config=True)
    max_steps = Int(None, allow_none=True, min=1, help="The most steps of a run.").tag(config=True)
    max_seconds = Float(None, allow_none=True, min=1, help="The most seconds of run time.").tag(config=True)
    max_tokens = Int(None, allow_none=True, min=1, help="The most tokens of a run.").tag(config=True)
    max_cost = Float(None, allow_none=True, help="The most US dollars of a run.").tag(config=True)
    max_program_seconds = Float(None, allow_none=True, min=1, help="The most seconds of one program.").tag(config=True)
    max_memory = Int(None, allow_none=True, min=64 << 20, help="The most bytes of memory of one program.").tag(
        config=True
    )
    max_workers = Int(None, allow_none=True, min=1, help="The most programs of a run at a time.").tag(config=True)
    max_runs = Int(None, allow_none=True, min=1, help="The most runs at work in this server.").tag(config=True)

    runs: Runs

    @validate("max_cost")
    def _positive(self, proposal: Any) -> Any:
        if proposal["value"] is not None and proposal["value"] <= 0:
            raise TraitError("AideApp.max_cost must be above 0; None means that there is no cap.")
        return proposal["value"]

    @property
    def caps(self) -> Caps:
        """What the administrator allows."""
        return Caps(
            review_modes=tuple(self.review_modes),
            previews=tuple(self.preview_levels),
            models=tuple(self.models),
            policies=tuple(self.policies),
            network_hosts=tuple(self.network_hosts),
            steps=self.max_steps,
            max_time=self.max_seconds,
            max_tokens=self.max_tokens,
            max_cost=self.max_cost,
            timeout=self.max_program_seconds,
            memory=self.max_memory,
            workers=self.max_workers,
            running=self.max_runs,
        )

    def initialize_settings(self) -> None:
        """Called by Jupyter."""
        server = self.serverapp
        assert server is not None and server.event_logger is not None
        server.event_logger.register_event_schema(SCHEMA_FILE)
        self.runs = self.make_runs()
        self.settings.update({RUNS: self.runs, SANDBOX_STATE: Sandbox()})

    def make_runs(self) -> Runs:
        """The one service that all handlers use."""
        server = self.serverapp
        assert server is not None and server.event_logger is not None
        hidden = bool(server.contents_manager.allow_hidden)
        places = Places.of(server.root_dir, tuple(self.data_roots), self.runs_dir, hidden=hidden)
        in_a_room = partial(room_exists, server.web_app.settings, places)
        return Runs(places, self.caps, Bell(server.event_logger.emit), in_a_room)

    def initialize_handlers(self) -> None:
        """Called by Jupyter."""
        self.handlers.extend(ROUTES)

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """Called by Jupyter once its loop runs."""
        await self.runs.notebooks.start()
        serverapp.event_logger.add_listener(schema_id=CONTENTS, listener=self._contents_changed)

    async def _contents_changed(self, logger: Any, schema_id: str, data: dict[str, Any]) -> None:
        """Follow a run's notebook where it is renamed. The bus can be written by others: only what is true on disk
        counts."""
        if data.get("action") == "rename" and data.get("source_path"):
            root = self.runs.places.root
            old, new = (root / Path(str(data[name]).strip("/")) for name in ("source_path", "path"))
            await self.runs.notebooks.moved(old, new)

    def current_activity(self) -> int | None:
        """Called by Jupyter before it ends itself for want of use: a run at work is use."""
        return self.runs.working or None

    async def stop_extension(self) -> None:
        """Called by Jupyter at its end: runs are left so that they can be resumed, and no program survives."""
        await self.runs.close()
