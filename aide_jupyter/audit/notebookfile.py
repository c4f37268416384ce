"""The notebook's file: read without following links, spelled as nbformat spells it, replaced at once, under a lock."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

LOCK = "notebook.lock"
FileState = tuple[int, ...]


class Changed(Exception):
    """The file was changed by someone else while it was being merged."""


class Locked(Exception):
    """Someone else is writing the notebook."""


def spelled_cell(cell: dict[str, Any]) -> bytes:
    """A cell's JSON as :func:`spelled` puts it between the others."""
    return b"  %b" % _json(cell, "  ").encode()


def _json(value: Any, indent: str) -> str:
    """A value as nbformat spells it, each line but the first indented."""
    text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=1, sort_keys=True)
    return text.replace("\n", f"\n{indent}")


def joined_cells(cells: Sequence[bytes]) -> bytes:
    """The JSON of cells that stand one after the other."""
    return b",\n".join(cells)


def spelled(rest: Mapping[str, Any], cells: Sequence[bytes]) -> list[bytes]:
    """A notebook's bytes, in pieces: what it holds beside its cells, and the JSON of these, of which there is one. Many
    of them may be given as one, joined before."""
    fields = [f" {json.dumps(key)}: {_json(value, ' ')}" for key, value in sorted(rest.items())]
    end = ",\n".join(["\n ]", *fields]) + "\n}\n"
    pieces = [b",\n"] * (2 * len(cells) - 1)
    pieces[::2] = cells
    return [b'{\n "cells": [\n', *pieces, end.encode()]


def read(path: Path) -> tuple[bytes | None, os.stat_result | None]:
    """The file's bytes and state; no bytes where it is not a regular file, neither where it is missing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None, None
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        return None, path.lstat()
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        return (file.read() if stat.S_ISREG(status.st_mode) else None), status


def set_aside(path: Path, *, empty: bool) -> None:
    """Move a broken notebook to ``<name>.broken-<n>.ipynb`` beside it; one without content is removed."""
    if empty:
        path.unlink()
        return
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.stem}.broken-{number}.ipynb")):
        number += 1
    path.rename(aside)


def replace(path: Path, data: Sequence[bytes], before: os.stat_result | None) -> FileState:
    """Replace the file at once, keeping its mode, by these pieces; returns its new state.

    Raises
    ------
    Changed
        It is no longer the file that was read.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.writelines(data)
            file.flush()
            if before is not None:
                os.fchmod(fd, stat.S_IMODE(before.st_mode))
            os.fsync(fd)
            after = state_of(os.fstat(fd))
        if state_of(before) != state_of(status(path)):
            raise Changed
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    return after


def status(path: Path) -> os.stat_result | None:
    """What is at the path now, a link as such; None where there is nothing."""
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def state_of(found: os.stat_result | None) -> FileState:
    """What tells one content of a file from another: who writes to it changes its time, who replaces it its inode."""
    return () if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)


@contextlib.contextmanager
def lock(path: Path, wait: float) -> Iterator[None]:
    """Hold the notebook's lock. Raises Locked where it stays held for ``wait`` seconds."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= end:
                    raise Locked from error
                time.sleep(0.02)
        yield
    finally:
        os.close(fd)
