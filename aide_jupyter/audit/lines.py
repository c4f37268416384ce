"""The form of one line of a journal: the canonical JSON (RFC 8785) of a record, and nothing else.

Because the form is canonical, a single other byte in a line is a change, even where it would mean the same.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect
from collections.abc import Mapping
from typing import Any, NoReturn

import rfc8785

from ..records import Record

LINE_BYTES = 16 << 20
"""The longest line that is written or read, its new line included."""
_EXACT = 2**53 - 1
_SEAL = ("hash", "signature")
"""The fields that the hash leaves out, in the order in which they stand among the others."""


def clean(text: str) -> str:
    """``text`` as valid Unicode: each lone surrogate, which a hostile program can print, becomes U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return text


def plain(value: Any) -> Any:
    """JSON data that canonical JSON can say: valid Unicode, and whole numbers beyond 2^53 as floats."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, int) and abs(value) > _EXACT:
        try:
            return float(value)
        except OverflowError:
            return str(value)
    return value


def canonical(value: Any) -> bytes:
    """Canonical JSON. Raises ValueError for what it cannot say: NaN, an infinity, a lone surrogate."""
    try:
        return rfc8785.dumps(value)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


class Spelling:
    """The canonical JSON of a record but for its seal, hash and signature: made once, for the hash and for the line.

    Parameters
    ----------
    fields
        The record's JSON object, sealed or not.

    Raises
    ------
    ValueError
        As :func:`canonical`.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        groups: tuple[dict[str, Any], ...] = ({}, {}, {})
        for name, value in fields.items():
            if name not in _SEAL:
                groups[bisect(_SEAL, name)][name] = value
        self._before, self._between, self._after = (canonical(group)[1:-1] for group in groups)

    @property
    def hash(self) -> str:
        """The record's hash: SHA-256 of its canonical JSON without the seal."""
        return hashlib.sha256(_object(self._before, self._between, self._after)).hexdigest()

    def line(self, seal: Mapping[str, Any]) -> bytes:
        """The canonical JSON of the record with what ``seal`` has of ``hash`` and ``signature``."""
        digest, signature = (canonical({name: seal[name]})[1:-1] if name in seal else b"" for name in _SEAL)
        return _object(self._before, digest, self._between, signature, self._after)


def _object(*members: bytes) -> bytes:
    return b"{%b}" % b",".join(filter(None, members))


def _number(digits: str) -> int | float:
    """A number without a point. Beyond 2^53 it was a float when it was written, and is one again."""
    value = int(digits) if len(digits) < 18 else float(digits)
    return value if abs(value) <= _EXACT else float(value)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def parse(line: bytes) -> dict[str, Any]:
    """The JSON object of one line (without its new line). Raises ValueError with the reason in words."""
    try:
        fields = json.loads(line.decode("utf-8"), parse_int=_number, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    if not isinstance(fields, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - one kind of error for a bad line
    return fields


def record_of(fields: dict[str, Any]) -> Record:
    """The record of a JSON object. Raises ValueError with the reason in words."""
    try:
        return Record.model_validate(fields)
    except ValueError as error:
        raise ValueError("it is not a record") from error
