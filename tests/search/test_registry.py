"""Policies by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from aide_jupyter.errors import BadRequest
from aide_jupyter.search import registry
from aide_jupyter.search.policy import Aide, Default, Policy
from aide_jupyter.search.registry import load_policy

OWN = f"{__name__}:Own"


class Own(Aide):
    name = "own"


def offer(monkeypatch, *offers: tuple[str, str]) -> None:
    found = [EntryPoint(name=name, value=value, group=registry.GROUP) for name, value in offers]
    monkeypatch.setattr(registry, "entry_points", lambda group: found)


def test_the_built_in_policies_need_no_configuration() -> None:
    assert isinstance(load_policy("default"), Default)
    policy: Policy = load_policy("aide")
    assert policy.name == "aide"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadRequest, match="aide, default"):
        load_policy("greedy")


def test_an_installed_policy_is_not_imported_before_the_configuration_lists_it(monkeypatch) -> None:
    offer(monkeypatch, ("own", "no_such_module_at_all:Own"))
    with pytest.raises(BadRequest, match="configuration does not list it"):
        load_policy("own")
    with pytest.raises(BadRequest, match="could not be loaded: ModuleNotFoundError"):
        load_policy("own", allowed=["own"])


def test_an_allowed_policy_is_loaded(monkeypatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "own_policies", sys.modules[__name__])
    offer(monkeypatch, ("own", "own_policies:Own"))
    assert load_policy("own", allowed={"own"}).name == "own"


def test_a_package_cannot_take_over_a_built_in_name(monkeypatch) -> None:
    offer(monkeypatch, ("default", OWN))
    assert type(load_policy("default", allowed={"default"})) is Default


def test_two_packages_with_one_name_are_refused(monkeypatch) -> None:
    offer(monkeypatch, ("own", "one:Own"), ("own", "two:Own"))
    with pytest.raises(BadRequest, match="one:Own, two:Own"):
        load_policy("own", allowed={"own"})
