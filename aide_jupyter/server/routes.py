"""The REST interface below ``/aide-jupyter/``: a class for each resource, a line or two for each verb."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jupyter_server.auth.decorator import authorized
from tornado.web import authenticated

from .. import __version__
from . import catalogue, results
from .candidateview import candidate_view
from .handlers import Handler
from .models import ControlRequest, DecisionRequest, ExportRequest, RunStarted, StartRun, Version
from .recordview import MOST, cells
from .steer import decide, questions, steer
from .stream import LiveSocket

RUNS, MODELS, DATA, SANDBOX = (f"aide_jupyter:{name}" for name in ("runs", "models", "data", "sandbox"))
SANDBOX_STATE = "aide_jupyter_sandbox"


class VersionHandler(Handler):
    """``version``."""

    @authenticated
    @authorized("read", resource=RUNS)
    async def get(self) -> None:
        """The package's version, which a page compares with its own."""
        await self.reply(Version(version=__version__))


class RunsHandler(Handler):
    """``runs``."""

    @authenticated
    @authorized("read", resource=RUNS)
    async def get(self) -> None:
        """All runs, newest first."""
        await self.reply(await self.runs.list())

    @authenticated
    @authorized("execute", resource=RUNS)
    async def post(self) -> None:
        """Begin a run."""
        run = await self.runs.start(self.body(StartRun), self.actor)
        await self.reply(RunStarted(run=run), 201)


class StateHandler(Handler):
    """``runs/<id>/state?after=``."""

    @authenticated
    @authorized("read", resource=RUNS)
    async def get(self, run: str) -> None:
        """The run, or what changed since a record."""
        await self.reply(await self.runs.state(run, self.number("after", -1)))


class CandidateHandler(Handler):
    """``runs/<id>/candidates/<cid>``."""

    @authenticated
    @authorized("read", resource=RUNS)
    async def get(self, run: str, candidate: str) -> None:
        """One candidate in full."""
        await self.reply(await self.runs.look(run, lambda picture, around: candidate_view(picture, candidate)))


class RecordsHandler(Handler):
    """``runs/<id>/records?after=&limit=``."""

    @authenticated
    @authorized("read", resource=RUNS)
    async def get(self, run: str) -> None:
        """The records after one."""
        entry = await self.runs.entry(run)
        after, limit = self.number("after", -1), self.number("limit", MOST, MOST)
        await self.reply(await self.runs.off_loop(partial(results.records, entry, after, limit)))


class CellsHandler(Handler):
    """``runs/<id>/cells?after=``."""

    @authenticated
    @authorized("read", resource=RUNS)
    async def get(self, run: str) -> None:
        """The agent's cells that changed since a record."""
        after = self.number("after", -1)
        await self.reply(await self.runs.look(run, lambda picture, _: cells(picture.trail, picture.blobs, after)))


class BlobHandler(Handler):
    """``runs/<id>/blobs/<sha256>``: no browser takes it for anything but text, or a picture that was checked."""

    @property
    def content_security_policy(self) -> str:
        """Nothing may run or be fetched, wherever this is shown."""
        return "sandbox; default-src 'none'"

    @authenticated
    @authorized("read", resource=RUNS)
    async def get(self, run: str, digest: str) -> None:
        """A blob."""
        data, kind = await results.blob(self.runs, run, digest)
        self.set_header("X-Content-Type-Options", "nosniff")
        await self.finish(data, set_content_type=kind)

    def finish(self, *args: Any, **kwargs: Any) -> Any:
        """With the same headers for an error."""
        self.set_header("X-Content-Type-Options", "nosniff")
        return super().finish(*args, **kwargs)


class ReviewsHandler(Handler):
    """``runs/<id>/reviews``."""

    @authenticated
    @authorized("execute", resource=RUNS)
    async def get(self, run: str) -> None:
        """What waits, with the nonces that decide it."""
        self.set_header("Cache-Control", "no-store")
        await self.reply(await questions(self.runs, run))


class DecisionsHandler(Handler):
    """``runs/<id>/decisions``."""

    @authenticated
    @authorized("execute", resource=RUNS)
    async def post(self, run: str) -> None:
        """Approve, edit or reject what was seen."""
        await self.reply(await decide(self.runs, run, self.body(DecisionRequest), self.actor))


class ControlHandler(Handler):
    """``runs/<id>/control``."""

    @authenticated
    @authorized("execute", resource=RUNS)
    async def post(self, run: str) -> None:
        """Steer the run."""
        await self.reply(await steer(self.runs, run, self.body(ControlRequest), self.actor))


class VerifyRunHandler(Handler):
    """``runs/<id>/verify?key=``."""

    @authenticated
    @authorized("read", resource=RUNS)
    async def get(self, run: str) -> None:
        """Whether the run's files are as they were written."""
        entry = await self.runs.entry(run)
        key = self.get_query_argument("key", "") or None
        await self.reply(await self.runs.off_loop(partial(results.verdict, entry.folder, key)))


class VerifyFileHandler(Handler):
    """``verify?path=&key=``."""

    @authenticated
    @authorized("read", resource=RUNS)
    async def get(self) -> None:
        """Whether an audit notebook or a run's folder is as it was written."""
        path = self.runs.places.file(self.get_query_argument("path"))
        key = self.get_query_argument("key", "") or None
        await self.reply(await self.runs.off_loop(partial(results.verdict, path, key)))


class ExportHandler(Handler):
    """``runs/<id>/export``."""

    @authenticated
    @authorized("read", resource=RUNS)
    async def get(self, run: str) -> None:
        """The best program as a notebook, to be downloaded."""
        await self.runs.entry(run)
        with TemporaryDirectory(prefix="aide-export-") as folder:
            data = await self.runs.off_loop(partial(results.exported, run, Path(folder)))
        self.set_header("Content-Disposition", 'attachment; filename="solution.ipynb"')
        self.set_header("X-Content-Type-Options", "nosniff")
        await self.finish(data, set_content_type="application/x-ipynb+json")

    @authenticated
    @authorized("write", resource=RUNS)
    async def post(self, run: str) -> None:
        """Write it below the server's root."""
        await self.runs.entry(run)
        asked = self.body(ExportRequest)
        await self.reply(await self.runs.off_loop(partial(results.export, self.runs.places, run, asked.path)))


class ModelsHandler(Handler):
    """``models``, and ``models?name=`` for one."""

    @authenticated
    @authorized("read", resource=MODELS)
    async def get(self) -> None:
        """The models that can be used, and how to set what is missing."""
        name = self.get_query_argument("name", "")
        await self.reply(await catalogue.model_list(self.runs.caps, name=name[:200]))


class ColumnsHandler(Handler):
    """``columns?path=``."""

    @authenticated
    @authorized("read", resource=DATA)
    async def get(self) -> None:
        """The columns of a data folder."""
        path = self.get_query_argument("path")
        await self.reply(await self.runs.off_data(partial(catalogue.columns, self.runs.places, path)))


class FormHandler(Handler):
    """``form``."""

    @authenticated
    @authorized("read", resource=RUNS)
    async def get(self) -> None:
        """What a new run can be asked for."""
        await self.reply(catalogue.form(self.runs.caps, self.runs.places, self.actor.name))


class DoctorHandler(Handler):
    """``doctor``."""

    @authenticated
    @authorized("read", resource=SANDBOX)
    async def get(self) -> None:
        """The state of the sandbox as it was seen last."""
        await self.reply(await self.settings[SANDBOX_STATE].state())

    @authenticated
    @authorized("execute", resource=SANDBOX)
    async def post(self) -> None:
        """Look again: builds a jail and ends it."""
        await self.reply(await self.settings[SANDBOX_STATE].state(again=True))


_RUN = r"aide-jupyter/runs/([0-9A-Za-z][0-9A-Za-z_-]{0,99})"
ROUTES: list[tuple[str, type[Any]]] = [
    (r"aide-jupyter/version", VersionHandler),
    (r"aide-jupyter/runs", RunsHandler),
    (rf"{_RUN}/state", StateHandler),
    (rf"{_RUN}/candidates/(c\d{{4,}})", CandidateHandler),
    (rf"{_RUN}/records", RecordsHandler),
    (rf"{_RUN}/cells", CellsHandler),
    (rf"{_RUN}/blobs/([0-9a-f]{{64}})", BlobHandler),
    (rf"{_RUN}/reviews", ReviewsHandler),
    (rf"{_RUN}/decisions", DecisionsHandler),
    (rf"{_RUN}/control", ControlHandler),
    (rf"{_RUN}/verify", VerifyRunHandler),
    (rf"{_RUN}/export", ExportHandler),
    (rf"{_RUN}/live", LiveSocket),
    (r"aide-jupyter/verify", VerifyFileHandler),
    (r"aide-jupyter/models", ModelsHandler),
    (r"aide-jupyter/columns", ColumnsHandler),
    (r"aide-jupyter/form", FormHandler),
    (r"aide-jupyter/doctor", DoctorHandler),
]
"""Every path with the class that answers it."""
