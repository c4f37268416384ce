"""From a request, or from a run's folder, to a run that this process owns: all that comes before the first step."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from . import records as r
from .anchoring import anchored, notebook_of, open_journal, settle_calls, signing_key
from .audit.blobs import Blobs, BlobWriter
from .audit.chain import JOURNAL, read_records
from .audit.journal import Journal
from .audit.split import split_program
from .audit.writer import NOTEBOOK, NotebookWriter
from .data.view import remove_view
from .engine import Engine
from .errors import BadRequest
from .finish import finish
from .objective import task_of
from .owner import Owner
from .packages import importable, versions
from .preparing import VIEW, Opening, Prepared, make_view, prepare, view_again
from .review.gate import Reviews
from .run import Run
from .run_index import RunEntry, RunIndex
from .steering import Parts
from .task import Request, new_run_id, slug

__all__ = ["Opening", "new_run", "resume_run"]


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
        view = await asyncio.to_thread(make_view, request.data_dir, folder, opening.stop)
        prepared = await prepare(stack, opening, folder, view, request.settings)
        task = await asyncio.to_thread(task_of, request, view)
        await prepared.measure(opening, task.target)
        await prepared.check(opening, request.budgets)
        key = signing_key()
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
        anchored(entry, journal)
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
        Replace what the run has; its journal says so, and a later resume goes on with them.

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
        view = await asyncio.to_thread(view_again, state.opened.data, entry.folder, opening.stop)
        served = {"base_url": base_url or state.base_url, "price": price or state.price}
        settings = state.opened.settings.model_copy(update=served)
        prepared = await prepare(stack, opening, entry.folder, view, settings, state.spend.calls + 1)
        await prepared.measure(opening, state.opened.task.target)
        await prepared.check(opening, state.budgets)
        run = await _owned(stack, opening, owner, entry, journal, prepared)
        journal.settle_unknown()
        settle_calls(journal)
        _note_where_the_model_is(journal, settings, opening.actor)
        if mode is not None:
            run.engine.switch_mode(mode, opening.actor)
        run.engine.resume(opening.actor)
        yield run


def _note_where_the_model_is(journal: Journal, settings: r.Settings, actor: r.Actor) -> None:
    """What of the data goes to a model goes there from now on, and at that price; a later resume goes on with it."""
    before = {"base_url": journal.state.base_url, "price": journal.state.price}
    after = {"base_url": settings.base_url, "price": settings.price}
    if after != before:
        journal.append(r.Changed(what="grant", before=_json(before), after=_json(after)), actor)


def _json(given: dict[str, Any]) -> dict[str, JsonValue]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


async def _owned(
    stack: AsyncExitStack, opening: Opening, owner: Owner, entry: RunEntry, journal: Journal, prepared: Prepared
) -> Run:
    prepared.journal = journal
    writer = NotebookWriter(notebook_of(entry), Blobs(entry.folder), read_records(entry.folder / JOURNAL))
    journal.on_append.append(writer.note)
    parts = Parts(
        folder=entry.folder,
        journal=journal,
        trail=writer.trail,
        policy=prepared.policy,
        gateway=prepared.gateway,
        pool=prepared.pool,
        reviews=Reviews(),
        redactor=prepared.redactor,
        packages=importable(),
        check_data=prepared.view.check_links,
        can_ask=opening.can_ask,
        on_output=opening.on_output,
        **prepared.shown(),
    )
    run = Run(entry, Engine(parts, finish, split_program), writer, opening.actor)
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
    made = [one for one in (out, *out.parents) if not os.path.lexists(one)]
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
                for one in made:
                    one.rmdir()


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
