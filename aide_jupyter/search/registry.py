"""The policies that a run can use, by name: those of this package, and those that are installed and allowed.

A policy from an entry point runs with the server's rights. So nothing is imported but what is asked for, and a policy
of another package only where the configuration lists its name.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from ..errors import BadRequest
from .policy import Aide, Default, Policy

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
        return cast(Policy, offers[0].load()())
    except Exception as error:
        raise BadRequest(
            f"The search policy “{name}” ({offers[0].value}) could not be loaded: {type(error).__name__}: {error}",
            f"Repair or update its package, or use one of these: {known}.",
        ) from error


def installed() -> dict[str, list[EntryPoint]]:
    """The policies that other packages offer, by name, without importing any of them."""
    found: dict[str, list[EntryPoint]] = {}
    for offer in entry_points(group=GROUP):
        if offer.name not in BUILT_IN:
            found.setdefault(offer.name, []).append(offer)
    return found


def version_of(name: str) -> str | None:
    """``package version`` of an installed policy, for the run's first record; None for this package's own."""
    offers = installed().get(name, ())
    dist = offers[0].dist if offers else None
    return None if dist is None else f"{dist.name} {dist.version}"
