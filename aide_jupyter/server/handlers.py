"""What all REST handlers share: the person who asks, typed bodies and replies, and errors in words.

Each verb is authenticated and authorized on its own concrete class, with action and resource given: ``@authorized``
keeps those of its first call for good, so a verb that classes share would be judged by another's.
"""

from __future__ import annotations

import logging
from typing import Any, TypeVar

from jupyter_server.base.handlers import APIHandler
from jupyter_server.extension.handler import ExtensionHandlerMixin
from pydantic import BaseModel, TypeAdapter, ValidationError
from tornado import web

from .. import records as r
from ..errors import AideError, BadRequest, ModelUnusable, OwnedElsewhere
from ..review.gate import AlreadyDecided
from . import words
from .looking import NotFound
from .models import ErrorReply
from .runs import Runs
from .stream import RUNS

T = TypeVar("T")
_log = logging.getLogger(__name__)
_STATUS: tuple[tuple[type[AideError], int], ...] = (
    (NotFound, 404), (AlreadyDecided, 409), (OwnedElsewhere, 409), (BadRequest, 400), (ModelUnusable, 400),
)  # fmt: skip


class Handler(ExtensionHandlerMixin, APIHandler):
    """A handler of this extension. It holds no logic: it asks the :class:`.runs.Runs` and sends what they say."""

    @property
    def runs(self) -> Runs:
        """The service."""
        runs: Runs = self.settings[RUNS]
        return runs

    @property
    def actor(self) -> r.Actor:
        """The person who asks, by the identity provider, for the records."""
        return r.Actor(kind="user", name=person(self.current_user))

    def body(self, kind: Any) -> Any:
        """The request's body as this model, or one of this union.

        Raises
        ------
        BadRequest
            It is not one.
        """
        try:
            return TypeAdapter(kind).validate_json(self.request.body or b"{}")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise BadRequest(f"The request cannot be read: {place}: {first['msg']}.".replace(": : ", ": ")) from error

    def number(self, name: str, default: int, most: int | None = None) -> int:
        """A whole number of the query. Raises BadRequest."""
        given = self.get_query_argument(name, str(default))
        try:
            value = int(given)
        except ValueError as error:
            raise BadRequest(f"{name} must be a whole number.") from error
        return value if most is None else max(1, min(value, most))

    async def reply(self, model: BaseModel, status: int = 200) -> None:
        """Send a model. It is spelled in a thread: that of a thousand candidates takes some milliseconds."""
        text = await self.runs.off_loop(model.model_dump_json)
        self.set_status(status)
        await self.finish(text)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Every failure as an :class:`.models.ErrorReply`. What is not meant for a person goes to the log alone."""
        error = (kwargs.get("exc_info") or (None, None, None))[1]
        reason = self._reason
        if isinstance(error, AideError):
            status_code = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
            message, advice = error.message, error.advice
            if isinstance(error, BadRequest):
                message, advice = words.in_form(message), words.in_form(advice)
            reply = ErrorReply(message=message, advice=advice, reason=type(error).__name__)
            self.set_status(status_code)
        elif isinstance(error, web.HTTPError):
            reply = ErrorReply(message=error.log_message or reason, reason=reason)
        else:
            reply = ErrorReply(message="Something unexpected happened. The server's log says what.", reason=reason)
        self.finish(reply.model_dump_json())

    def log_exception(self, typ: Any, value: BaseException | None, tb: Any) -> None:
        """An error that is told in words needs no trace."""
        if isinstance(value, AideError):
            _log.info("%s %s: %s", self.request.method, self.request.path, value.message)
        else:
            super().log_exception(typ, value, tb)


def person(user: Any) -> str:
    """A user of the identity provider by display name and user name; a recorded identity, not a proof of one."""
    username = words.line(str(getattr(user, "username", "") or ""), "user name", 80)
    shown = str(getattr(user, "display_name", "") or getattr(user, "name", "") or "")
    shown = words.line(shown, "user name", 80)
    if not shown or shown == username:
        return username or "unknown"
    return f"{shown} ({username})"
