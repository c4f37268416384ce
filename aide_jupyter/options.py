"""The options of a run by their one set of names, from the command line and from Python, to a :class:`Request`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .errors import BadRequest
from .records import Limits
from .task import Request

OPTIONS = {
    "data", "goal", "eval", "metric", "minimize", "maximize", "target", "id", "group", "time", "known", "model",
    "temperature", "feedback_model", "feedback_temperature", "report_model", "report_temperature", "base_url", "price",
    "policy", "preview", "steps", "workers", "review", "timeout", "max_time", "max_tokens", "max_cost", "memory",
    "seed", "out", "folds", "expose_prediction", "drafts", "debug_probability", "debug_depth", "generate_report",
}  # fmt: skip


MOST = 2**53 - 1
"""The largest whole number that canonical JSON (RFC 8785), and so a record, can hold."""


def request_from_options(options: Mapping[str, Any]) -> Request:
    """Build a request. An option that is None is as if it had not been given.

    ``memory`` may be in words (``4G``), and ``known`` one string with commas, as on the command line.

    Raises
    ------
    BadRequest
        Naming the option that is unknown or cannot be, and what it takes.
    """
    if unknown := sorted(set(options) - OPTIONS):
        raise BadRequest(f"Unknown option: {', '.join(unknown)}.", f"The options are: {', '.join(sorted(OPTIONS))}.")
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(given.get("memory"), str):
        given["memory"] = bytes_from_words(given["memory"])
    if isinstance(given.get("known"), str):
        given["known"] = given["known"].split(",")
    _must_fit(given)
    if given.get("minimize") and given.get("maximize"):
        raise BadRequest("--minimize and --maximize exclude each other.", "Give the one that the metric needs.")
    model = str(given.get("model", "offline"))
    preview = given.get("preview", "statistics")
    limits = _present(seconds=given.get("timeout"), memory_bytes=given.get("memory"))
    settings = _present(
        policy=given.get("policy"),
        seed=given.get("seed"),
        workers=given.get("workers"),
        drafts=given.get("drafts"),
        debug_probability=given.get("debug_probability"),
        debug_depth=given.get("debug_depth"),
        folds=given.get("folds"),
        expose_prediction=given.get("expose_prediction"),
        generate_report=given.get("generate_report"),
        data_preview=preview != "off",
        preview="statistics" if preview == "off" else preview,
        base_url=given.get("base_url"),
        price=given.get("price"),
        code={"model": model, "temperature": given.get("temperature", 0.5)},
        feedback={
            "model": given.get("feedback_model", model),
            "temperature": given.get("feedback_temperature", 0.5),
        },
        report={"model": given.get("report_model", model), "temperature": given.get("report_temperature", 1.0)},
        limits=limits,
    )
    budgets = _present(
        steps=given.get("steps"),
        seconds=given.get("max_time"),
        tokens=given.get("max_tokens"),
        cost_usd=given.get("max_cost"),
    )
    whole = _present(
        data_dir=given.get("data"),
        goal=given.get("goal"),
        evaluation=given.get("eval"),
        metric=given.get("metric"),
        direction="minimize" if given.get("minimize") else "maximize" if given.get("maximize") else None,
        target=given.get("target"),
        id_column=given.get("id"),
        group_column=given.get("group"),
        time_column=given.get("time"),
        known_columns=tuple(given.get("known", ())),
        mode=given.get("review"),
        out=Path(given["out"]) if "out" in given else None,
        budgets=budgets,
        settings=settings,
    )
    try:
        request = Request.model_validate(whole)
    except ValidationError as error:
        raise BadRequest(*_in_words(error)) from error
    if request.settings.price is not None and min(request.settings.price) < 0:
        raise BadRequest("--price cannot be below zero: it would undo --max-cost.", "Give what the model costs.")
    return request


def limits_from_options(seconds: float | None, memory_bytes: int | None) -> Limits:
    """The limits of a single program, which has all cores to itself. Raises BadRequest as above."""
    _must_fit(_present(memory=memory_bytes))
    given = _present(seconds=seconds, memory_bytes=memory_bytes, cores=os.cpu_count())
    try:
        return Limits.model_validate(given)
    except ValidationError as error:
        raise BadRequest(*_in_words(error)) from error


def _must_fit(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if isinstance(value, int) and abs(value) > MOST:
            raise BadRequest(f"--{name.replace('_', '-')} cannot be {value}.", f"The most is {MOST}.")


def _present(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


_FIELD_OPTIONS = {
    "data_dir": "data", "evaluation": "eval", "id_column": "id", "group_column": "group", "time_column": "time",
    "known_columns": "known", "mode": "review", "budgets.seconds": "max-time", "budgets.tokens": "max-tokens",
    "budgets.cost_usd": "max-cost", "budgets.steps": "steps", "settings.limits.seconds": "timeout",
    "settings.limits.memory_bytes": "memory", "seconds": "timeout", "memory_bytes": "memory",
    "settings.code.model": "model", "settings.code.temperature": "temperature",
    "settings.price.0": "price", "settings.price.1": "price",
}  # fmt: skip


def _in_words(error: ValidationError) -> tuple[str, str]:
    """The first thing that pydantic minds, by the option's name."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    option = _FIELD_OPTIONS.get(place, place.removeprefix("settings.").replace(".", "-").replace("_", "-"))
    message = str(first["msg"]).removeprefix("Value error, ")
    if not place:
        return f"{message[0].upper()}{message[1:]}.", "Give what it asks for."
    what = f"--{option}"
    if first["type"] == "missing" and len(first["loc"]) == 1:
        return f"{what} is missing.", f"Give {what}."
    return f"{what} cannot be {first['input']!r}: {message[0].lower()}{message[1:]}.", f"Give {what} another value."


def bytes_from_words(words: str) -> int:
    """``4G``, ``512M``, ``2GiB`` or a plain number, in bytes (units of 1024).

    Raises
    ------
    BadRequest
        Where it is none of these.
    """
    text = words.strip().lower().removesuffix("ib").removesuffix("b")
    factor = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}.get(text[-1:], 1)
    try:
        return int(float(text if factor == 1 else text[:-1]) * factor)
    except (ValueError, OverflowError):
        raise BadRequest(f"{words!r} is not a size.", "Write bytes, or a number with K, M, G or T: 4G.") from None
