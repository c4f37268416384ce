"""Jupyter messages as a server reads them from a kernel that may be hostile: each is a claim, checked by type and size.

The key that signs messages lies in the jail, where the program can read it, so a signature proves nothing about what
comes back. None is checked. A message that is not what it should be is nothing: it is never repaired or guessed at.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from .terminal import plain

TEXT_CHARS = 1 << 20
"""The most characters of one text in a message that are looked at; what is kept of them is less."""
_NAME_CHARS = 200
_TRACEBACK_LINES = 1000
_DELIMITER = b"<IDS|MSG>"


@dataclass(frozen=True)
class Message:
    """One message from a kernel: its type, the id of the request that it says it answers, and its content."""

    kind: str
    parent: str
    content: dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """An exception as a kernel reported it. All texts are plain."""

    name: str
    message: str
    traceback: str


@dataclass(frozen=True)
class Reply:
    """What a kernel says about the end of a cell. ``failure`` is set where ``status`` is ``error``."""

    status: Literal["ok", "error"]
    failure: Failure | None = None


@dataclass(frozen=True)
class Shown:
    """A displayed value: its plain text, and a picture's bytes as they came, not yet looked at."""

    text: str
    png: bytes | None


class Requests:
    """Builds the requests to one kernel, signed with its key.

    Parameters
    ----------
    key
        The key of the kernel's connection, as the server knows it.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._session = secrets.token_hex(16)

    def build(self, kind: str, content: Mapping[str, Any]) -> tuple[str, list[bytes]]:
        """The id and the frames of a new request."""
        identity = secrets.token_hex(16)
        header = {
            "msg_id": identity,
            "session": self._session,
            "username": "aide",
            "date": datetime.now(UTC).isoformat(),
            "msg_type": kind,
            "version": "5.3",
        }
        parts = [json.dumps(part).encode() for part in (header, {}, {}, dict(content))]
        digest = hmac.new(self._key, digestmod=hashlib.sha256)
        for part in parts:
            digest.update(part)
        return identity, [_DELIMITER, digest.hexdigest().encode(), *parts]

    def execute(self, code: str, *, silent: bool = False) -> tuple[str, list[bytes]]:
        """A request to run ``code`` as one cell, which may not ask for input."""
        content = {
            "code": code,
            "silent": silent,
            "store_history": False,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
        }
        return self.build("execute_request", content)


def parse(frames: list[bytes]) -> Message | None:
    """The message in these frames; None where they are none. Never raises, whatever the bytes are."""
    try:
        start = frames.index(_DELIMITER)
        header, parent, _metadata, content = (json.loads(part) for part in frames[start + 2 : start + 6])
    except (ValueError, RecursionError):
        return None
    if not (isinstance(header, dict) and isinstance(parent, dict) and isinstance(content, dict)):
        return None
    kind, answered = header.get("msg_type"), parent.get("msg_id")
    return Message(kind, answered if isinstance(answered, str) else "", content) if isinstance(kind, str) else None


def reply(message: Message) -> Reply:
    """What an ``execute_reply`` says. Anything but a clear ``ok`` is an error; leaving with status 0 is ``ok``."""
    if message.content.get("status") == "ok":
        return Reply("ok")
    name = _text(message.content.get("ename"), _NAME_CHARS) or "KernelError"
    value = _text(message.content.get("evalue"))
    if name == "SystemExit" and value in ("", "None", "0", "False"):
        return Reply("ok")
    lines = message.content.get("traceback")
    kept = lines[:_TRACEBACK_LINES] if isinstance(lines, list) else []
    return Reply("error", Failure(name, value, "\n".join(_text(line) for line in kept)))


def shown(message: Message) -> Shown | None:
    """What a ``display_data`` or ``execute_result`` shows: its text and its PNG. Every other type in it is dropped."""
    data = message.content.get("data")
    if not isinstance(data, dict):
        return None
    encoded = data.get("image/png")
    png = None
    if isinstance(encoded, str):
        try:
            png = binascii.a2b_base64(encoded.encode("ascii"))
        except (ValueError, UnicodeEncodeError):
            png = None
    text = _text(data.get("text/plain"))
    return Shown(text, png) if text or png else None


def idle(message: Message) -> bool:
    """Whether a message says that the kernel has nothing more to do."""
    return message.kind == "status" and message.content.get("execution_state") == "idle"


def _text(value: object, limit: int = TEXT_CHARS) -> str:
    return plain(value[:limit]) if isinstance(value, str) else ""
