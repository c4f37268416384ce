"""Policies by name."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib.metadata import EntryPoint

import pytest

from aide_jupyter.errors import AideError, BadRequest
from aide_jupyter.search import registry
from aide_jupyter.search.policy import Aide, Choice, Default, Policy
from aide_jupyter.search.registry import load_policy
from aide_jupyter.state import RunState

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


class Nameless:
    """A policy that calls itself nothing, and does what it was made to."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def choose(self, state: RunState, draw: random.Random) -> object:
        return self._act()


def fall() -> object:
    raise ValueError("no idea")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (fall, "failed: ValueError: no idea"),
        (lambda: None, "gave no choice of an operator"),
        (lambda: Choice("dance"), "gave no choice of an operator"),  # type: ignore[arg-type]
        (lambda: Choice("improve"), "which cannot be"),
        (lambda: Choice("improve", "c9999"), "which cannot be"),
        (lambda: Choice("draft", "c9999"), "which cannot be"),
    ],
)
def test_what_an_installed_policy_does_wrong_is_told_as_its_own_fault(act: Callable[[], object], words: str) -> None:
    policy = registry.Installed("own", OWN, Nameless(act))  # type: ignore[arg-type]
    with pytest.raises(AideError, match=words) as error:
        policy.choose(RunState(), random.Random(0))
    assert "“own”" in error.value.message
    assert "resume" in error.value.advice


def test_an_installed_policy_is_recorded_by_the_name_it_was_asked_for(monkeypatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "own_policies", sys.modules[__name__])
    offer(monkeypatch, ("other", "own_policies:Own"))
    policy = load_policy("other", allowed={"other"})
    assert policy.name == "other"
