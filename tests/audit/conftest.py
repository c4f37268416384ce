"""A signing key, the first record of a small run, and a journal with a few records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aide_jupyter import records as r
from aide_jupyter.audit.journal import Journal, SigningKey

RUN = "20261130t191148-1f3a9c02"
USER = r.Actor(kind="user", name="ada")


def make_opened(key: SigningKey) -> r.Opened:
    return r.Opened(
        task=r.Task(goal="predict the price", direction="minimize", direction_source="--minimize"),
        policy="default",
        seed=0,
        mode="every",
        budgets=r.Budgets(),
        settings=r.Settings(),
        grants=r.Grants(),
        data=r.DataView(source="data", sha256="0" * 64, files=1, bytes=3, manifest="x"),
        versions={"aide-jupyter": "0"},
        key=key.public,
    )


@pytest.fixture
def key() -> SigningKey:
    return SigningKey.generate()


@pytest.fixture(scope="session")
def opened() -> Callable[[SigningKey], r.Opened]:
    return make_opened


@pytest.fixture
def journal(tmp_path: Path, key: SigningKey) -> Iterator[Journal]:
    journal = Journal.create(tmp_path / "run", RUN, key, make_opened(key), USER)
    yield journal
    journal.close()
