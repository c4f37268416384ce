"""From a request, or from a run's folder, to a run that this process owns: all that comes before the first step."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import json
import os
import shutil
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from . import records as r
from .audit.blobs import Blobs, BlobWriter
from .audit.chain import JOURNAL, Anchor, read_records
from .audit.journal import Journal
from .audit.keys import SigningKey
from .audit.redact import Redactor, known_secrets
from .audit.writer import NOTEBOOK, NotebookWriter, notebook_anchor
from .budget import check_call
from .data.shape import Preview
from .data.view import View, build_view, remove_view
from .data.worker import preview_in_process
from .engine import Engine
from .errors import BadRequest
from .finish import finish
from .home import jupyter_folders, keys_folder
from .llm.gateway import Gateway
from .llm.prompts import DATA_CHARS
from .objective import task_of
from .owner import Owner
from .packages import importable, versions
from .review.gate import Reviews
from .run import Run
from .run_index import RunEntry, RunIndex
from .sandbox.pool import Kernels, Pool
from .search.policy import Policy
from .search.registry import load_policy
from .steering import Parts
from .task import Request, new_run_id, slug

KEY = "signing.pem"
VIEW = "view"
OFFLINE = "offline"
OFFLINE_DATA_CHARS = 12_000
"""How long the preview may be in a prompt of the offline author, whose tokens cost nothing."""


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
class _Prepared:
    """What a run works with, ready before its first step. The gateway reserves in the journal once there is one."""

    view: View
    preview: Preview | None
    pool: Pool
    policy: Policy
    gateway: Gateway
    redactor: Redactor
    journal: Journal | None = None

    def reserve(self, spent: r.Spent) -> None:
        assert self.journal is not None
        check_call(self.journal.state, spent)
        self.journal.append(spent)

    def settle(self, spent: r.Spent) -> None:
        assert self.journal is not None
        self.journal.append(spent)


@asynccontextmanager
async def new_run(request: Request, opening: Opening, run: str | None = None) -> AsyncIterator[Run]:
    """Prepare a run: its folder, data view, preview, direction, models and a proven jail; then its first record.

    Parameters
    ----------
    run
        The run's id (:func:`.task.new_run_id`), where who asks has to know it beforehand.

    Raises
    ------
    BadRequest
        What was asked for cannot be. Nothing is left behind.
    ModelUnusable
        A model cannot be called as asked. Nothing is left behind.
    Refused
        No jail could be proven to contain. Nothing is left behind.
    """
    mode = request.mode or "every"
    _somebody_can_answer(mode, opening)
    now = datetime.now(UTC)
    run = run or new_run_id(now)
    async with AsyncExitStack() as stack:
        folder, begun = stack.enter_context(_run_folder(request.out, slug(request.goal, run)))
        owner = stack.enter_context(Owner.acquire(folder))
        opening.tell(f"Reading the data in {request.data_dir}")
        view = await asyncio.to_thread(_view, request.data_dir, folder, opening.stop)
        task = await asyncio.to_thread(task_of, request, view)
        prepared = await _prepare(stack, opening, folder, view, request.settings, request.budgets, task.target)
        key = SigningKey.load_or_create(keys_folder() / KEY)
        entry = RunEntry(
            run=run,
            folder=folder,
            notebook=folder / NOTEBOOK,
            key=key.fingerprint,
            created=f"{now:%Y-%m-%dT%H:%M:%S.%fZ}",
        )
        opened = r.Opened(
            task=task,
            policy=prepared.policy.name,
            seed=request.settings.seed,
            mode=mode,
            budgets=request.budgets,
            settings=request.settings,
            grants=request.grants,
            data=view.data(_keep(folder, view.manifest)),
            versions=versions(request.settings.policy),
            key=key.public,
        )
        RunIndex().add(entry)
        begun()
        journal = Journal.create(folder, run, key, opened, opening.actor)
        stack.callback(journal.close)
        _anchored(entry, journal)
        yield await _owned(stack, opening, owner, entry, journal, prepared)


@asynccontextmanager
async def resume_run(
    which: str,
    opening: Opening,
    *,
    mode: r.ReviewMode | None = None,
    base_url: str | None = None,
    price: tuple[float, float] | None = None,
) -> AsyncIterator[Run]:
    """Take a run up again from its journal.

    Parameters
    ----------
    which
        A run's id, the beginning of it, its folder's name, or a path.
    mode, base_url, price
        Replace what the run began with.

    Raises
    ------
    AlteredError
        The journal is not what was anchored: it can be verified, and not resumed.
    BadRequest
        The run is closed, or its data has changed.
    """
    entry = RunIndex().resolve(which)
    async with AsyncExitStack() as stack:
        owner = stack.enter_context(Owner.acquire(entry.folder))
        journal = open_journal(entry)
        stack.callback(journal.close)
        state = journal.state
        if state.opened is None or state.closed is not None:
            raise BadRequest(f"The run {entry.run} is closed; nothing can be added to it.", "Begin a new run.")
        _somebody_can_answer(mode or state.mode, opening)
        opening.tell("Reading the data again")
        view = await asyncio.to_thread(_view_again, state.opened.data, entry.folder, opening.stop)
        settings = state.opened.settings
        settings = settings.model_copy(
            update={"base_url": base_url or settings.base_url, "price": price or settings.price}
        )
        target, calls = state.opened.task.target, state.spend.calls
        prepared = await _prepare(stack, opening, entry.folder, view, settings, state.budgets, target, calls)
        run = await _owned(stack, opening, owner, entry, journal, prepared)
        journal.settle_unknown()
        _settle_calls(journal)
        if mode is not None:
            run.engine.switch_mode(mode, opening.actor)
        run.engine.resume(opening.actor)
        yield run


async def _prepare(
    stack: AsyncExitStack,
    opening: Opening,
    folder: Path,
    view: View,
    settings: r.Settings,
    budgets: r.Budgets,
    target: str | None,
    calls: int = 0,
) -> _Prepared:
    """Start the pool first, since its jails are proven while the data is read."""
    policy = load_policy(settings.policy, allowed={settings.policy})
    cores = max(1, (os.cpu_count() or 1) // settings.workers)
    limits = settings.limits.model_copy(update={"cores": cores})
    pool = Pool(Kernels(folder / "kernels", view.root, view.links, limits), size=settings.workers)
    stack.push_async_callback(pool.close)
    await pool.start()
    for note in view.notes:
        opening.tell(note)
    opening.tell("Measuring the data")
    preview = None
    if settings.data_preview:
        preview = await asyncio.to_thread(
            preview_in_process,
            view.root,
            settings.preview,
            target=target,
            links=view.links,
            stop=opening.stop,
            limit=OFFLINE_DATA_CHARS if settings.code.model == OFFLINE else DATA_CHARS,
        )
    redactor = Redactor(known_secrets(os.environ))
    prepared = _Prepared(view, preview, pool, policy, None, redactor)  # type: ignore[arg-type]
    prepared.gateway = Gateway(
        reserve=prepared.reserve,
        settle=prepared.settle,
        base_url=settings.base_url,
        price=settings.price,
        first_call=calls + 1,
        seed=settings.seed,
        mask=lambda text: redactor.mask(text)[0],
    )
    await prepared.gateway.check([settings.code, settings.feedback, settings.report], budgets)
    opening.tell("Proving that a restricted kernel is contained")
    await pool.prove()
    return prepared


async def _owned(
    stack: AsyncExitStack, opening: Opening, owner: Owner, entry: RunEntry, journal: Journal, prepared: _Prepared
) -> Run:
    prepared.journal = journal
    writer = NotebookWriter(notebook_of(entry), Blobs(entry.folder), read_records(entry.folder / JOURNAL))
    journal.on_append.append(writer.note)
    preview, opened = prepared.preview, journal.state.opened
    assert opened is not None
    parts = Parts(
        folder=entry.folder,
        journal=journal,
        trail=writer.trail,
        policy=prepared.policy,
        gateway=prepared.gateway,
        pool=prepared.pool,
        reviews=Reviews(),
        redactor=prepared.redactor,
        preview=None if preview is None else json.loads(preview.text()),
        preview_chars=OFFLINE_DATA_CHARS if opened.settings.code.model == OFFLINE else None,
        preview_taints=() if preview is None else tuple(f"{taint.why} ({taint.where})" for taint in preview.taints),
        packages=importable(),
        test_rows=_has_test_rows(prepared.view.root),
        check_data=prepared.view.check_links,
        can_ask=opening.can_ask,
        on_output=opening.on_output,
    )
    run = Run(entry, Engine(parts, finish), writer, opening.actor)
    await owner.serve(run.control)
    stack.callback(_remove_view_of_closed, journal, prepared.view.root)
    return run


def _somebody_can_answer(mode: r.ReviewMode, opening: Opening) -> None:
    if mode == "every" and not opening.can_ask:
        raise BadRequest(
            "The review mode is “every”, and here nobody can be asked.",
            "Choose --review auto (only suspicious programs are held back) or --review flagged (the first program and "
            "every flagged one are held back), or use a terminal or JupyterLab, where you are asked.",
        )


@contextlib.contextmanager
def _run_folder(out: Path, name: str) -> Iterator[tuple[Path, Callable[[], None]]]:
    """A new folder, which is removed again unless the run comes to its first record: the second value says so."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder = out.resolve() / name
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise BadRequest(
            f"The run's folder cannot be made in {out}: {error.strerror}.", "Name another folder with --out."
        ) from error
    begun = False

    def begin() -> None:
        nonlocal begun
        begun = True

    try:
        yield folder, begin
    finally:
        if not begun:
            with contextlib.suppress(OSError):
                remove_view(folder / VIEW)
            shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                out.rmdir()


def _view(source: Path, folder: Path, stop: Callable[[], bool]) -> View:
    return build_view(source, folder / VIEW, forbidden=[folder, *jupyter_folders()], stop=stop)


def _view_again(data: r.DataView, folder: Path, stop: Callable[[], bool]) -> View:
    """The same view as when the run began; what is left of the old one is replaced."""
    with contextlib.suppress(FileNotFoundError):
        remove_view(folder / VIEW)
    view = _view(Path(data.source), folder, stop)
    if view.sha256 != data.sha256:
        raise BadRequest(
            f"The data in {data.source} is not what it was when the run began.",
            "Put it back as it was to resume this run, or begin a new run on the new data.",
        )
    return view


def _remove_view_of_closed(journal: Journal, root: Path) -> None:
    """A closed run needs its view no more; one that may be resumed finds the same data again."""
    with contextlib.suppress(OSError):
        remove_view(root)


def _keep(folder: Path, text: str) -> r.Text:
    """``text`` as a record holds it, for the first record, before which there is no journal."""
    data = text.encode()
    if len(data) <= r.INLINE_BYTES:
        return text
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with contextlib.closing(BlobWriter(descriptor)) as blobs:
            return blobs.put(data)
    finally:
        os.close(descriptor)


def notebook_of(entry: RunEntry) -> Path:
    """Where a run's audit notebook is, or belongs."""
    return entry.notebook or entry.folder / NOTEBOOK


def open_journal(entry: RunEntry) -> Journal:
    """A run's journal, checked against the heads that are kept elsewhere, and anchored from now on.

    The caller holds the run's lock; the index is read again under it.

    Raises
    ------
    AlteredError
        The journal is not what was anchored.
    """
    index = RunIndex()
    index.moved(entry.run, folder=entry.folder)
    entry = index.get(entry.run) or entry
    anchors = [] if entry.head is None else [Anchor(entry.head.seq, entry.head.hash)]
    named = notebook_anchor(notebook_of(entry))
    if named is not None and named[0] == entry.run:
        anchors.append(named[1])
    journal = Journal.open(entry.folder, SigningKey.load_or_create(keys_folder() / KEY), anchors)
    _anchored(entry, journal)
    return journal


def _anchored(entry: RunEntry, journal: Journal) -> None:
    """Anchor the journal's head in the index, now and after each record."""
    index = RunIndex()
    index.anchor(entry.run, journal.head.seq, journal.head.hash)
    journal.on_append.append(lambda record: index.anchor(record.run, record.seq, record.hash))


def _settle_calls(journal: Journal) -> None:
    """A call that was under way when the last owner died is charged what it had reserved."""
    for spent in list(journal.state.spend.reserved.values()):
        update = {"phase": "settled", "estimated": True, "error": "the process ended while the call was under way"}
        journal.append(spent.model_copy(update=update))


def _has_test_rows(root: Path) -> bool | None:
    """Whether the view has rows to be predicted, by the names that such files have; None where no name says so."""
    names = (path.name.lower() for path in root.rglob("*") if path.is_file())
    return True if any(name.startswith(("test", "sample_submission")) for name in names) else None
