"""What the administrator allows. No request lifts it: what is left open is filled in within the caps, what asks for
more is refused in words."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from .. import records as r
from ..errors import BadRequest

STRICTEST: tuple[r.ReviewMode, ...] = ("every", "flagged", "auto")
_ASK = "Ask for less, or ask the administrator of this server."
_DEFAULTS = {
    "steps": r.Budgets().steps,
    "max_time": r.Budgets().seconds,
    "max_tokens": r.Budgets().tokens,
    "max_cost": None,
    "timeout": r.Limits().seconds,
    "memory": r.Limits().memory_bytes,
    "workers": r.Settings().workers,
}
_WORDS = {
    "steps": "steps",
    "max_time": "seconds of run time",
    "max_tokens": "tokens",
    "max_cost": "US dollars",
    "timeout": "seconds for one program",
    "memory": "bytes of memory for one program",
    "workers": "workers",
}


class Caps(r.Model):
    """The administrator's caps; None where there is none. Patterns are of shells (``openai/*``)."""

    review_modes: tuple[r.ReviewMode, ...] = STRICTEST
    previews: tuple[str, ...] = ("off", "schema", "statistics", "samples")
    models: tuple[str, ...] = ("*",)
    policies: tuple[str, ...] = ("default", "aide")
    network_hosts: tuple[str, ...] = ("*",)
    steps: int | None = None
    max_time: float | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    timeout: float | None = None
    memory: int | None = None
    workers: int | None = None
    running: int | None = None

    def number(self, name: str) -> tuple[float | None, float | None]:
        """A number's value unless it is set, and its cap."""
        cap: float | None = getattr(self, name)
        default = _DEFAULTS[name]
        return (cap if default is None else default if cap is None else min(default, cap)), cap

    @property
    def default_mode(self) -> r.ReviewMode:
        """The strictest mode that is allowed."""
        return next(mode for mode in STRICTEST if mode in self.review_modes)

    @property
    def default_preview(self) -> str:
        """The usual level where it is allowed, else the one that tells least."""
        return "statistics" if "statistics" in self.previews else next(iter(self.previews), "off")

    def options(self, given: dict[str, Any]) -> dict[str, Any]:
        """The options of a new run within the caps.

        Parameters
        ----------
        given
            As :func:`aide_jupyter.options.request_from_options` takes them.

        Raises
        ------
        BadRequest
            Something asks for more than is allowed.
        """
        options = {name: value for name, value in given.items() if value is not None}
        for name in _DEFAULTS:
            default, cap = self.number(name)
            if name in options:
                self._within(name, options[name], cap)
            elif default is not None:
                options[name] = default
        self.must_allow_mode(options.setdefault("review", self.default_mode))
        preview = options.setdefault("preview", self.default_preview)
        if preview not in self.previews:
            raise _refused(f"The preview level “{preview}” is not allowed here", self.previews)
        self._must_allow(options)
        return options

    def must_allow_mode(self, mode: r.ReviewMode) -> None:
        """Raises BadRequest where the review mode is not allowed."""
        if mode not in self.review_modes:
            raise _refused(f"The review mode “{mode}” is not allowed here", self.review_modes)

    def must_allow_run(self, opened: r.Opened, mode: r.ReviewMode, budgets: r.Budgets, base_url: str | None) -> None:
        """Whether a run that began elsewhere, or before the caps were set, may go on in this server.

        Raises
        ------
        BadRequest
            It asks for more than is allowed.
        """
        settings = opened.settings
        self.must_allow_mode(mode)
        if settings.data_preview and settings.preview not in self.previews:
            raise _refused(f"The run's preview level “{settings.preview}” is not allowed here", self.previews)
        self._within("max_time", budgets.seconds, self.max_time)
        self._within("steps", budgets.steps, self.steps)
        self._within("max_tokens", budgets.tokens, self.max_tokens)
        self._within("max_cost", budgets.cost_usd, self.max_cost)
        self._within("timeout", settings.limits.seconds, self.timeout)
        self._within("memory", settings.limits.memory_bytes, self.memory)
        self._within("workers", settings.workers, self.workers)
        options = {
            "model": settings.code.model,
            "feedback_model": settings.feedback.model,
            "report_model": settings.report.model,
            "policy": settings.policy,
            "base_url": base_url,
        }
        self._must_allow({name: value for name, value in options.items() if value is not None})
        for host in opened.grants.network:
            self._must_allow_host(host, "The run's programs may reach the host")

    def allows_model(self, name: str) -> bool:
        """Whether a run may use a model."""
        return _matches(name, self.models)

    def _must_allow(self, options: dict[str, Any]) -> None:
        model = str(options.get("model", "offline"))
        for name in dict.fromkeys(
            (model, *(str(options.get(f"{part}_model", model)) for part in ("feedback", "report")))
        ):
            if not self.allows_model(name):
                raise _refused(f"The model “{name[:200]}” is not allowed here", self.models)
        policy = str(options.get("policy", "default"))
        if policy not in self.policies:
            raise _refused(f"The search policy “{policy[:100]}” is not allowed here", self.policies)
        if (base_url := options.get("base_url")) is not None:
            self._must_allow_host(_host(str(base_url)), "A model server at the host")

    def _must_allow_host(self, host: str, what: str) -> None:
        if not _matches(host, self.network_hosts):
            raise _refused(f"{what} “{host[:200]}”, which is not allowed here", self.network_hosts)

    def _within(self, name: str, value: float | None, cap: float | None) -> None:
        if cap is not None and (value is None or value > cap):
            asked = "no limit" if value is None else f"{value:g}"
            raise BadRequest(f"This server allows {cap:g} {_WORDS[name]} at most, and {asked} was asked for.", _ASK)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _host(url: str) -> str:
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    if not host:
        raise BadRequest(f"“{url[:200]}” is not the address of a server.", "Give it with its scheme: https://…")
    return host


def _refused(what: str, allowed: Iterable[str]) -> BadRequest:
    return BadRequest(f"{what}.", f"Allowed: {', '.join(allowed) or 'none'}.")
