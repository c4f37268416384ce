"""The policies that a run can use, by name: those of this package, and those that are installed and allowed.

A policy from an entry point runs with the server's rights. So nothing is imported but what is asked for, and a policy
of another package only where the configuration lists its name.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from importlib.metadata import EntryPoint, entry_points
from typing import get_args

from ..errors import AideError, BadRequest
from ..records import Operator
from ..state import RunState
from .policy import Aide, Choice, Default, Policy

GROUP = "aide_jupyter.policies"
BUILT_IN: dict[str, type[Policy]] = {"default": Default, "aide": Aide}


def load_policy(name: str, allowed: Collection[str] = ()) -> Policy:
    """The policy of that name.

    Parameters
    ----------
    name
        As in ``--policy``. The names of this package's own policies cannot be taken over by another package.
    allowed
        The names of installed policies that the configuration lists.

    Raises
    ------
    BadRequest
        Where there is no such policy, it is not allowed, two packages offer it, or it cannot be loaded.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]()
    offers = installed().get(name, ())
    known = ", ".join(sorted({*BUILT_IN, *(one for one in installed() if one in allowed)}))
    if not offers:
        raise BadRequest(f"There is no search policy “{name}”.", f"The policies that can be used: {known}.")
    if name not in allowed:
        raise BadRequest(
            f"The search policy “{name}” ({offers[0].value}) is installed, but the configuration does not list it.",
            f"It would run with the server's rights. List it in the configuration, or use one of these: {known}.",
        )
    if len({offer.value for offer in offers}) > 1:
        places = ", ".join(sorted({offer.value for offer in offers}))
        raise BadRequest(f"Several packages offer the search policy “{name}”: {places}.", "Uninstall all but one.")
    try:
        return Installed(name, offers[0].value, offers[0].load()())
    except Exception as error:
        raise BadRequest(
            f"The search policy “{name}” ({offers[0].value}) could not be loaded: {type(error).__name__}: {error}",
            f"Repair or update its package, or use one of these: {known}.",
        ) from error


class Installed:
    """A policy of another package. It is recorded under the name that it was asked for by, whatever it calls itself,
    and what it does wrong is told as its own fault."""

    def __init__(self, name: str, value: str, policy: Policy) -> None:
        self.name = name
        self._value = value
        self._policy = policy

    def choose(self, state: RunState, draw: random.Random) -> Choice:
        """The next thing to try.

        Raises
        ------
        AideError
            The policy raised, or what it chose cannot be.
        """
        try:
            choice: object = self._policy.choose(state, draw)
        except Exception as error:
            raise self._fault(f"failed: {type(error).__name__}: {error}") from error
        if not isinstance(choice, Choice) or choice.operator not in get_args(Operator):
            raise self._fault(f"gave no choice of an operator, but {choice!r:.200}")
        parent = None if choice.parent is None else state.candidates.get(choice.parent)
        if (choice.parent is None) != (choice.operator == "draft") or (parent is None) != (choice.parent is None):
            raise self._fault(f"chose “{choice.operator}” of {choice.parent!r:.200}, which cannot be")
        if parent is not None and (not parent.done or parent.error or parent.stage in ("rejected", "edited")):
            raise self._fault(f"chose “{choice.operator}” of {parent.id}, which has not run to its end")
        return choice

    def _fault(self, what: str) -> AideError:
        return AideError(
            f"The search policy “{self.name}” ({self._value}) {what}.",
            "Repair its package, then resume the run; nothing that was done is lost.",
        )


def installed() -> dict[str, list[EntryPoint]]:
    """The policies that other packages offer, by name, without importing any of them."""
    found: dict[str, list[EntryPoint]] = {}
    for offer in entry_points(group=GROUP):
        if offer.name not in BUILT_IN:
            found.setdefault(offer.name, []).append(offer)
    return found
