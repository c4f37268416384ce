"""Secrets kept out of what is stored and sent: known values in their usual spellings, and shapes by named pattern.

Text is masked; code never is (a program that holds a known value is refused, one that has a secret's shape is
flagged). Nothing is judged by entropy alone, so hashes, numbers and base64 data stay as they are.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote, urlsplit

from ..records import Flag

SHORTEST = 12
"""Values with fewer characters are not masked: they would be found in innocent text."""

_NAMES = re.compile(
    r"(?:_KEY|^KEY|_KEY_ID|API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|_PWD|_PAT|CREDENTIALS?)$", re.IGNORECASE
)
_START, _END = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_-])"
_PEM_LABEL = r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"

_SHAPES: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (name, literal, re.compile(pattern))
    for name, literal, pattern in (
        ("Anthropic key", "sk-ant-", _START + r"sk-ant-[A-Za-z0-9_-]{20,}"),
        ("OpenRouter key", "sk-or-", _START + r"sk-or-(?:v\d-)?[0-9a-f]{32,}"),
        ("OpenAI key", "sk-", _START + r"sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})"),
        ("AWS access key", "AKIA", _START + r"AKIA[A-Z0-9]{16}" + _END),
        ("AWS access key", "ASIA", _START + r"ASIA[A-Z0-9]{16}" + _END),
        ("GitHub token", "gh", _START + r"gh[pousr]_[A-Za-z0-9]{36,255}"),
        ("GitHub token", "github_pat_", _START + r"github_pat_[A-Za-z0-9_]{22,255}"),
        ("GitLab token", "glpat-", _START + r"glpat-[A-Za-z0-9_.-]{20,}"),
        ("Google key", "AIza", _START + r"AIza[A-Za-z0-9_-]{35}" + _END),
        ("Slack token", "xox", _START + r"xox[abeoprs]-\d[A-Za-z0-9-]{9,}"),
        ("Hugging Face token", "hf_", _START + r"hf_[A-Za-z0-9]{30,}"),
        ("Stripe key", "_live_", _START + r"[rs]k_live_[A-Za-z0-9]{20,}"),
        ("JSON web token", "eyJ", _START + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
        (
            "private key",
            "PRIVATE KEY",
            # Possessive and atomic, so that a text full of such lines takes linear time.
            r"-----BEGIN " + _PEM_LABEL + r"[\s\\nr]*+(?>[A-Za-z-]{1,30}: ?[A-Za-z0-9,.-]{1,200}[\s\\nr]*){0,4}+"
            r"(?>(?:[A-Za-z0-9+/=]{40,}[\s\\]*)+)(?:[A-Za-z0-9+/=]{1,79}[\s\\nr]*)?(?:-----END " + _PEM_LABEL + r")?",
        ),
    )
)
"""Name, a text that every match holds (its absence spares the search), pattern. Sources: each provider's own
documentation of its keys, as collected in GitHub's list of secret scanning patterns and in gitleaks' rules."""


def known_secrets(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The secrets of an environment: variables whose names say so, and passwords in the URLs of any.

    Parameters
    ----------
    environ
        By default this process's. A value that is the path of an existing file is not a secret itself.
    """
    found = {}
    for name, value in (os.environ if environ is None else environ).items():
        plain = value.strip()
        password = _password(plain)
        if password is not None:
            found[name] = plain
            found[f"password of {name}"] = password
        elif _NAMES.search(name) and not _is_path(plain):
            found[name] = plain
    return {name: value for name, value in found.items() if len(value) >= SHORTEST}


def _password(value: str) -> str | None:
    try:
        return urlsplit(value).password if "://" in value and "@" in value else None
    except ValueError:
        return None


def _is_path(value: str) -> bool:
    try:
        return value.startswith(("/", "~")) and Path(value).expanduser().exists()
    except (OSError, ValueError, RuntimeError):
        return False


class Redactor:
    """Finds and masks secrets.

    Parameters
    ----------
    secrets
        Name to value (:func:`known_secrets`). Values of fewer than ``SHORTEST`` characters are ignored.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._forms = tuple(
            (form, name) for name, value in secrets.items() if len(value) >= SHORTEST for form in _spellings(value)
        )

    def mask(self, text: str) -> tuple[str, int]:
        """``text`` with each secret as ``[masked: NAME]``, and how many there were. Linear in the text:
        64 MB of a log and 12 known values took 2.7 s (measured on one core)."""
        spans = deque(sorted((*self._known(text), *_shaped(text)), key=lambda span: (span[0], -span[1])))
        parts: list[str] = []
        done, count = 0, 0
        while spans:
            start, end, name = spans.popleft()
            while spans and spans[0][0] < end:
                end = max(end, spans.popleft()[1])
            parts += (text[done:start], f"[masked: {name}]")
            done, count = end, count + 1
        return ("".join((*parts, text[done:])), count) if count else (text, 0)

    def contains_secret(self, code: str) -> str | None:
        """The name of the first known secret whose value stands in ``code``, plainly or encoded; None without one."""
        return next((name for _, _, name in self._known(code)), None)

    def held(self, text: str) -> int:
        """How many of the last characters of ``text`` may be the beginning of a known secret that goes on."""
        most = 0
        for form, _ in self._forms:
            longest = min(len(form) - 1, len(text))
            most = max(most, next((size for size in range(longest, most, -1) if text.endswith(form[:size])), 0))
        return most

    def shapes(self, code: str) -> list[tuple[str, int]]:
        """What in ``code`` has a secret's shape: the pattern's name and the line (from 1), in order."""
        return [(name, code.count("\n", 0, start) + 1) for start, _, name in sorted(_shaped(code))]

    def flags(self, code: str) -> tuple[Flag, ...]:
        """:meth:`shapes`, as a reviewer sees them."""
        return tuple(
            Flag(rule="secret", line=line, message=f"This has the shape of a secret ({name}).", severity="danger")
            for name, line in self.shapes(code)
        )

    def _known(self, text: str) -> Iterator[tuple[int, int, str]]:
        for form, name in self._forms:
            start = text.find(form)
            while start >= 0:
                end = start + len(form)
                if not (form.isdecimal() and _within_number(text, start, end)):
                    yield start, end, name
                start = text.find(form, end)


def _within_number(text: str, start: int, end: int) -> bool:
    """Whether digits at this place are a part of a longer number, such as a metric, and so no secret."""
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return any(char.isdecimal() or char == "." for char in around)


def _shaped(text: str) -> Iterator[tuple[int, int, str]]:
    for name, literal, pattern in _SHAPES:
        if literal in text:
            for found in pattern.finditer(text):
                yield found.start(), found.end(), name


def _spellings(value: str) -> tuple[str, ...]:
    """A value as it may stand in a text: plain, escaped, quoted for a URL, in hexadecimal, in base64."""
    data = value.encode("utf-8", "surrogatepass")
    forms = {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
        unquote(value),
        data.hex(),
        data.hex().upper(),
    }
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for before in range(3):
            # Within a longer encoded text, the characters that depend on this value alone are these.
            first, last = -(-8 * before // 6), 8 * (before + len(data)) // 6
            forms.add(encode(bytes(before) + data + bytes(2))[first:last].decode())
    return tuple(sorted((form for form in forms if len(form) >= SHORTEST), key=len, reverse=True))
