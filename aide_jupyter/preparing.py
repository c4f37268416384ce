"""What a run works with, made ready before its first step: data view, preview, proven kernels, models."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import json
import os
import stat
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import records as r
from .audit.journal import Journal
from .audit.redact import Redactor, known_secrets
from .budget import check_call
from .data.shape import Preview
from .data.view import View, build_view, remove_view
from .data.worker import preview_in_process
from .errors import BadRequest
from .home import jupyter_folders
from .llm.gateway import Gateway
from .sandbox.pool import Kernels, Pool
from .search.policy import Policy
from .search.registry import load_policy

VIEW = "view"
OFFLINE = "offline"
OFFLINE_DATA_CHARS = 12_000
"""How long the preview may be in a prompt of the offline author, whose tokens cost nothing."""
DATA_CHARS = 60_000
"""How long the preview may be that prompts for other authors tell in short: a table's 200 columns are some 40,000."""


def account() -> r.Actor:
    """Outside Jupyter a user is the account."""
    return r.Actor(kind="user", name=getpass.getuser())


@dataclass(frozen=True)
class Opening:
    """How this process takes part in a run.

    ``can_ask`` says whether there is anybody to ask; ``tell`` hears what is being prepared; ``on_output`` gets running
    output, masked, as (candidate, number of characters before, text). ``stop`` is asked often while the data is read,
    and ends that where it says so.
    """

    can_ask: bool = False
    actor: r.Actor = field(default_factory=account)
    tell: Callable[[str], None] = field(default=lambda words: None)
    on_output: Callable[[str, int, str], None] = field(default=lambda candidate, offset, text: None)
    stop: Callable[[], bool] = field(default=lambda: False)


@dataclass
class Prepared:
    """All that is ready. The gateway reserves in ``journal``, which is set once there is one."""

    view: View
    pool: Pool
    policy: Policy
    settings: r.Settings
    redactor: Redactor
    first_call: int = 1
    preview: Preview | None = None
    journal: Journal | None = None
    gateway: Gateway = field(init=False)

    def __post_init__(self) -> None:
        self.gateway = Gateway(
            reserve=self._reserve,
            settle=self._settle,
            base_url=self.settings.base_url,
            price=self.settings.price,
            first_call=self.first_call,
            seed=self.settings.seed,
            mask=lambda text: self.redactor.mask(text)[0],
        )

    def _reserve(self, spent: r.Spent) -> None:
        assert self.journal is not None
        check_call(self.journal.state, spent)
        self.journal.append(spent)

    def _settle(self, spent: r.Spent) -> None:
        assert self.journal is not None
        self.journal.append(spent)

    @property
    def offline(self) -> bool:
        """Whether the built-in author writes the programs."""
        return self.settings.code.model == OFFLINE

    async def measure(self, opening: Opening, target: str | None) -> None:
        """Make the preview, where one is wanted. Raises AideError where the data cannot be read."""
        opening.tell("Measuring the data")
        if self.settings.data_preview:
            self.preview = await asyncio.to_thread(
                preview_in_process,
                self.view.root,
                self.settings.preview,
                target=target,
                links=self.view.links,
                stop=opening.stop,
                limit=OFFLINE_DATA_CHARS if self.offline else DATA_CHARS,
            )

    async def check(self, opening: Opening, budgets: r.Budgets) -> None:
        """That the models can be called as asked, and that a program is contained. Raises ModelUnusable, Refused."""
        await self.gateway.check([self.settings.code, self.settings.feedback, self.settings.report], budgets)
        opening.tell("Proving that a restricted kernel is contained")
        await self.pool.prove()

    def shown(self) -> dict[str, Any]:
        """The preview's part of :class:`.steering.Parts`."""
        preview = self.preview
        return {
            "preview": None if preview is None else json.loads(preview.text()),
            "preview_chars": OFFLINE_DATA_CHARS if self.offline else None,
            "preview_taints": () if preview is None else tuple(f"{one.why} ({one.where})" for one in preview.taints),
            "test_rows": _has_test_rows(self.view.root),
        }


async def prepare(
    stack: AsyncExitStack, opening: Opening, folder: Path, view: View, settings: r.Settings, first_call: int = 1
) -> Prepared:
    """Start the kernels, which ``stack`` closes, and load the models' client; both go on while the data is measured."""
    policy = load_policy(settings.policy, allowed={settings.policy})
    cores = max(1, (os.cpu_count() or 1) // settings.workers)
    limits = settings.limits.model_copy(update={"cores": cores})
    pool = Pool(Kernels(folder / "kernels", view.root, view.links, limits), size=settings.workers)
    stack.push_async_callback(pool.close)
    await pool.start(importing=False)
    for note in view.notes:
        opening.tell(note)
    prepared = Prepared(view, pool, policy, settings, Redactor(known_secrets(os.environ)), first_call)
    prepared.gateway.warm()
    return prepared


def make_view(source: Path, folder: Path, stop: Callable[[], bool]) -> View:
    """The data view of a new run, in its folder. Raises as :func:`.data.view.build_view`."""
    forbidden = [folder, *jupyter_folders()]
    return build_view(source, folder / VIEW, forbidden=forbidden, may_link=_kernels_may_read, stop=stop)


def _kernels_may_read(path: Path) -> bool:
    """Whether a kernel's account can read a file where it lies: as root kernels have uids of their own."""
    return bool(path.stat().st_mode & stat.S_IROTH) if os.geteuid() == 0 else os.access(path, os.R_OK)


def view_again(data: r.DataView, folder: Path, stop: Callable[[], bool]) -> View:
    """The same view as when the run began; what is left of the old one is replaced."""
    with contextlib.suppress(FileNotFoundError):
        remove_view(folder / VIEW)
    put_back = "Put it back as it was to resume this run, or begin a new run on the new data."
    try:
        view = make_view(Path(data.source), folder, stop)
    except BadRequest as error:
        raise BadRequest(error.message, put_back) from error
    if view.sha256 != data.sha256:
        raise BadRequest(f"The data in {data.source} is not what it was when the run began.", put_back)
    return view


def _has_test_rows(root: Path) -> bool | None:
    """Whether the view has rows to be predicted, by the names that such files have; None where no name says so."""
    names = (path.name.lower() for path in root.rglob("*") if path.is_file())
    return True if any(name.startswith(("test", "sample_submission")) for name in names) else None
