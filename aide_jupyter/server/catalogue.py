"""What a new run can be asked for here: models and their keys, columns of a data folder, the form, the sandbox."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .. import __version__
from ..data.columns import guess_target
from ..data.worker import columns_in_process
from ..errors import ModelUnusable
from ..grading.metrics import METRICS
from ..llm import wire
from ..llm.routes import OFFLINE, Route, key_advice, key_variables, providers_with_keys, route
from ..sandbox.doctor import doctor
from . import models as m
from . import words
from .caps import Caps
from .places import Places

MOST_MODELS = 60
"""Models of one provider that are offered by name; any other can be typed."""
_MODES = {
    "every": ("Every program", "You are asked about each program before it runs."),
    "flagged": ("Flagged programs", "You are asked about the first program and each that has a flag."),
    "auto": ("Only suspicious programs", "You are asked where something may hide or tries what no program has to."),
}
_PREVIEWS = {
    "off": ("Nothing", "Models are told nothing about the data."),
    "schema": ("Schema", "File and column names, and types."),
    "statistics": ("Statistics", "The same, with counts, ranges and frequent values."),
    "samples": ("Samples", "The same, with some rows as they are."),
}
_UNITS = {
    "steps": "steps", "workers": "workers", "timeout": "seconds", "max_time": "seconds", "max_tokens": "tokens",
    "max_cost": "US dollars", "memory": "bytes",
}  # fmt: skip


def form(caps: Caps, places: Places, user: str) -> m.Form:
    """What a new run can be asked for, within the administrator's caps."""
    numbers = []
    for name, unit in _UNITS.items():
        default, cap = caps.number(name)
        numbers.append(m.Cap.model_validate({"name": name, "default": default, "cap": cap, "unit": unit}))
    return m.Form.model_validate(
        {
            "version": __version__,
            "modes": [_choice(mode, _MODES) for mode in _MODES if mode in caps.review_modes],
            "default_mode": caps.default_mode,
            "previews": [_choice(level, _PREVIEWS) for level in _PREVIEWS if level in caps.previews],
            "default_preview": caps.default_preview,
            "policies": caps.policies,
            "metrics": [
                m.Choice(value=name, label=name.replace("_", " "), description=words.WAYS[way])
                for name, way in METRICS.items()
            ],
            "numbers": numbers,
            "default_model": OFFLINE,
            "runs_folder": places.shown(places.runs),
            "data_words": places.data_words(),
            "user": user,
        }
    )


def _choice(value: str, labels: Mapping[str, tuple[str, str]]) -> m.Choice:
    label, description = labels[value]
    return m.Choice(value=value, label=label, description=description)


def columns(places: Places, named: str) -> m.Columns:
    """The columns of a data folder. Blocking: the tables are read in a process of their own.

    Raises
    ------
    BadRequest
        The folder may not be used.
    AideError
        It could not be read.
    """
    folder = places.data_folder(named)
    tables = columns_in_process(folder)
    shown = [
        m.Table(
            shown=words.line(table.path if table.sheet is None else f"{table.path}: {table.sheet}", "file name"),
            columns=tuple(m.Column(exact=name, shown=words.line(name, "column name")) for name in table.names),
        )
        for table in tables
    ]
    return m.Columns(path=places.shown(folder), tables=tuple(shown), target=guess_target(tables))


async def model_list(caps: Caps, environ: Mapping[str, str] = os.environ, *, name: str = "") -> m.Models:
    """The models that are allowed and whose key is set, and what to set for the others; or one, by its name."""
    if name:
        known = (await model_view(name, environ),) if caps.allows_model(name) else ()
        return m.Models(models=known, providers=(), any_allowed="*" in caps.models, allowed_words=_allowed(caps))
    ready = set(providers_with_keys(environ))
    named = [name for name in caps.models if not set("*?[") & set(name)]
    if ready:
        named += await wire.ask(lambda litellm: _priced(litellm, ready))
    names = dict.fromkeys([OFFLINE, *named])
    providers = [
        m.Provider(
            name=one,
            ready=one in ready,
            variable=variable,
            advice="" if one in ready else _set_key(variable),
            prefix=f"{one}/",
        )
        for one, variable in key_variables().items()
    ]
    return m.Models(
        models=tuple([await model_view(one, environ) for one in names if caps.allows_model(one)]),
        providers=tuple(providers),
        any_allowed="*" in caps.models,
        allowed_words=_allowed(caps),
    )


def _allowed(caps: Caps) -> str:
    return "" if "*" in caps.models else f"Allowed here: {', '.join(caps.models) or 'none'}."


async def model_view(name: str, environ: Mapping[str, str] = os.environ) -> m.ModelView:
    """What is known of one model."""
    shown = words.line(name, "model")
    try:
        found = await route(name, base_url=None, price=None, environ=environ)
    except ModelUnusable as error:
        said = f"{error.message} {error.advice}"
        return m.ModelView(
            name=shown, provider="", ready=False, price_known=False, price_words="", advice=said, recommended=False
        )
    return m.ModelView(
        name=shown,
        provider=found.provider,
        ready=not found.missing,
        price_known=found.price is not None,
        price_words=_price(name, found),
        advice=key_advice(found) if found.missing else "",
        recommended=name == OFFLINE,
    )


def _price(name: str, found: Route) -> str:
    if name == OFFLINE:
        return "free: needs no key and no network; not a language model"
    if found.price is None:
        return "price not known: give it, or set a cap on tokens"
    prompt, completion = found.price.prompt * 1e6, found.price.completion * 1e6
    return f"${prompt:.2f} in, ${completion:.2f} out per million tokens"


def _priced(litellm: Any, ready: set[str]) -> list[str]:
    """Chat models of litellm's local price map, by provider."""
    found: dict[str, list[str]] = {provider: [] for provider in sorted(ready)}
    for name, entry in litellm.model_cost.items():
        provider = entry.get("litellm_provider")
        if provider in found and entry.get("mode") == "chat":
            found[provider].append(name if name.startswith(f"{provider}/") else f"{provider}/{name}")
    return [name for names in found.values() for name in sorted(set(names))[:MOST_MODELS]]


def _set_key(variable: str) -> str:
    return f"Set {variable} where the Jupyter server is started, and start it again. Keys never reach a page."


class Sandbox:
    """What doctor found, looked at once unless asked again, by one at a time."""

    def __init__(self) -> None:
        self._found: m.Doctor | None = None
        self._looking: asyncio.Task[m.Doctor] | None = None

    async def state(self, *, again: bool = False) -> m.Doctor:
        """The state of the sandbox."""
        if self._found is not None and not again:
            return self._found
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(lambda task: setattr(self, "_looking", None))
        return await asyncio.shield(self._looking)

    async def _look(self) -> m.Doctor:
        report = await doctor()
        said = (
            "Programs are contained on this machine." if report.ok else "Programs cannot be contained here; none run."
        )
        checks = tuple(m.CheckView(**check.model_dump()) for check in report.checks)
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        self._found = m.Doctor(ok=report.ok, words=said, at=now, checks=checks)
        return self._found
