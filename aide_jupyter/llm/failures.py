"""What went wrong with one model call, in this package's words: from litellm's exceptions to a :class:`Failure`.

A provider's message is text from outside: it is masked, made visible and cut before it is kept. What it says about a
key is never kept at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from ..untrusted import Untrusted

Kind = Literal["key", "model", "rejected", "length", "policy", "quota", "busy", "connection", "timeout", "odd"]
TRANSIENT: frozenset[Kind] = frozenset({"busy", "connection", "timeout", "odd"})
MESSAGE_CHARS = 240

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_KEY_SHAPE = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|AIza|AKIA|r8)[-_]?[A-Za-z0-9_*.\-]{6,}|(?i:bearer\s+\S+)"
    r"|(?i:api[-_ ]?key\W{1,4})[A-Za-z0-9_*.\-]{6,}|\S*\*{4,}\S*"
)
_NEVER_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "ClientConnectorError",
               "ClientConnectorDNSError", "ConnectionRefusedError", "gaierror"}  # fmt: skip
_LOST = {"ReadError", "WriteError", "RemoteProtocolError", "ReadTimeout", "WriteTimeout", "APIConnectionError",
         "APITimeoutError", "Timeout", "ServerDisconnectedError", "ClientOSError", "ClientPayloadError",
         "ReplyTooLong", "ConnectionResetError", "TimeoutError"}  # fmt: skip
_LENGTH = re.compile(
    r"context[ _](?:length|window|size)|maximum context|max_(?:completion_)?tokens|too many tokens", re.I
)
_TRY_AGAIN = {408, 409, 425, 429}
_UPSTREAM_LOST = {408, 502, 504, 520, 521, 522, 523, 524}


class ReplyTooLong(Exception):
    """A reply went on past the most bytes that one may have; the connection was closed."""


class Failure(Exception):
    """One call failed.

    Parameters
    ----------
    kind
        What the gateway may do about it; those in :data:`TRANSIENT` are tried again.
    message
        What happened, masked and short.
    charged
        Whether the provider may have worked for it, so that the reservation is charged.
    retry_after
        Seconds that the provider asks to wait.
    """

    def __init__(self, kind: Kind, message: str, *, charged: bool = False, retry_after: float | None = None) -> None:
        super().__init__(kind, message)
        self.kind: Kind = kind
        self.message = message
        self.charged = charged
        self.retry_after = retry_after


def failure_of(error: Exception, environ: Mapping[str, str]) -> Failure:
    """What an exception from litellm means. ``environ`` holds the keys that must not be repeated.

    litellm calls most of what it cannot name an internal server error (status 500), a refused connection too. So the
    exceptions behind it are looked at first, by name: they come from httpx, httpx2, aiohttp or openai by provider.
    """
    chain = list(_chain(error))
    names = {type(one).__name__ for one in chain}
    if "ReplyTooLong" in names:
        return Failure("odd", "the reply went on without end", charged=True)
    if names & _NEVER_SENT:
        return Failure("connection", "the server could not be reached")
    text = masked(str(getattr(error, "message", "") or error), environ)
    answered = any("HTTPStatusError" in name for name in names) or any(
        type(one).__module__.startswith("openai.") and getattr(one, "status_code", None) for one in chain
    )
    if not answered and names & _LOST:
        late = any("Timeout" in name for name in names)
        said = "no answer in time" if late else "the connection was lost"
        return Failure("timeout" if late else "connection", said, charged=True)
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or (status >= 500 and not answered) or status < 300:
        return Failure("odd", text, charged=True)
    return _by_status(status, type(error).__name__, text, _retry_after(chain))


def _by_status(status: int, name: str, text: str, retry_after: float | None) -> Failure:
    if status in (401, 403):
        return Failure("key", f"the provider refused the key (HTTP {status})")
    out_of_money = status == 402 or "insufficient_quota" in text or "credit balance" in text.lower()
    if not out_of_money and (status in _TRY_AGAIN or status >= 500):
        charged = status in _UPSTREAM_LOST
        return Failure("busy", f"HTTP {status}: {text}", charged=charged, retry_after=retry_after)
    kind: Kind = "model" if status in (404, 410) else "rejected"
    if out_of_money:
        kind = "quota"
    elif name == "ContextWindowExceededError" or _LENGTH.search(text):
        kind = "length"
    elif name == "ContentPolicyViolationError":
        kind = "policy"
    return Failure(kind, f"HTTP {status}: {text}")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and those behind it, outermost first."""
    one: BaseException | None = error
    for _ in range(16):
        if one is None:
            return
        yield one
        one = one.__cause__ or one.__context__


def _retry_after(chain: list[BaseException]) -> float | None:
    """The seconds that a Retry-After header asks for; it may hold a number or a date."""
    for one in chain:
        response: Any = getattr(one, "response", None)
        for headers in (getattr(one, "litellm_response_headers", None), getattr(response, "headers", None)):
            value = headers.get("retry-after") if headers else None
            if value:
                return _seconds(str(value))
    return None


def _seconds(value: str) -> float | None:
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def masked(text: str, environ: Mapping[str, str]) -> str:
    """A provider's message without anything that is or looks like a key, on one line, cut and made visible."""
    for name, value in environ.items():
        if len(value) >= 8 and _SECRET_NAME.search(name):
            text = text.replace(value, "[key]")
    text = _KEY_SHAPE.sub("[key]", text)
    return Untrusted(" ".join(text.split()), "provider message").render(MESSAGE_CHARS, one_line=True)
