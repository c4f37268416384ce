"""Text from data, files and kernels, and the one way to show it or put it in a prompt.

File names, column names, cell values, outputs, tracebacks and earlier summaries can hold anything: control codes,
invisible or direction-changing characters, a model's special tokens, sentences written to a model. They travel as
:class:`Untrusted`, which refuses to be formatted, and leave through :meth:`Untrusted.render` alone.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NoReturn

_SPECIAL = re.compile(r"<\|(?=[a-zA-Z_/])|<(?=/?(?:s|INST|SYS|start_of_turn|end_of_turn)>)|\[(?=/?INST\])")
_INJECTION = re.compile(
    r"(?:ignore|disregard|forget)\s+(?:\w+\s+){0,3}(?:previous|prior|above|earlier|your)\s+(?:\w+\s+){0,2}"
    r"(?:instruction|prompt|rule|context|direction)s?"
    r"|you\s+are\s+now\s+(?:a|an|the|in)\b|new\s+instructions?\s*:|system\s+prompt"
    r"|(?:do\s+not|don't)\s+(?:tell|inform|mention|reveal)|<\|im_start\|>|\[/?INST\]|BEGIN\s+SYSTEM",
    re.IGNORECASE,
)
_KEPT = "\n\t"
_PERHAPS_INVISIBLE = re.compile(r"[^ -~\n\t]")
"""All but the plain characters of which most texts consist, so that only the others are looked at one by one."""


def is_invisible(char: str) -> bool:
    """Whether a character draws nothing or changes how others are drawn: controls, format characters (bidirectional
    marks, zero-width characters, tags), separators other than the space, surrogates and private use."""
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} and char not in _KEPT


def visible(text: str) -> str:
    """``text`` with each invisible character written as an escape such as ``\\u202e``; new lines and tabs stay.

    A carriage return before a new line is dropped; one elsewhere becomes an escape like any other control.
    """
    return _PERHAPS_INVISIBLE.sub(_shown, text.replace("\r\n", "\n"))


def _shown(found: re.Match[str]) -> str:
    char = found.group()
    if not is_invisible(char):
        return char
    point = ord(char)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


class Untrusted:
    """A text that nothing here may obey, and the name of where it came from.

    Parameters
    ----------
    text
        The text as it came.
    source
        Where it came from, in this package's own words (``"column name"``, ``"program output"``).
    """

    __slots__ = ("_text", "source")

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self.source = source

    def __str__(self) -> NoReturn:
        raise TypeError("untrusted text is shown through render() only")

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("untrusted text is shown through render() only")

    def __repr__(self) -> str:
        return f"<Untrusted {self.source}, {len(self._text)} characters>"

    def __len__(self) -> int:
        return len(self._text)

    def render(self, limit: int, *, one_line: bool = False) -> str:
        """The text, fit to be shown to a person or a model.

        Invisible characters become escapes and a model's special tokens are broken up. Text over ``limit``
        characters keeps its beginning and its end, with the number of characters left out said between.

        Parameters
        ----------
        limit
            The most characters to keep (the note about what was left out comes on top).
        one_line
            Write new lines and tabs as ``\\n`` and ``\\t``, for names and other short things.
        """
        text = self._text
        if len(text) > limit:
            head = (limit + 1) // 2
            tail = limit - head
            note = f" … {len(text) - limit} characters left out … "
            text = text[:head] + (note if one_line else f"\n{note.strip()}\n") + (text[-tail:] if tail else "")
        text = _SPECIAL.sub(lambda found: found.group()[0] + "\\" + found.group()[1:], visible(text))
        return text.replace("\n", "\\n").replace("\t", "\\t") if one_line else text

    def taints(self) -> tuple[str, ...]:
        """Why this text is suspicious, in words; empty where it is not. A signal for review, never a boundary."""
        folded = unicodedata.normalize("NFKC", self._text)
        plain = _PERHAPS_INVISIBLE.sub(lambda found: "" if is_invisible(found.group()) else found.group(), folded)
        reasons = []
        marks = (found.group() for found in _PERHAPS_INVISIBLE.finditer(self._text))
        if any(unicodedata.category(c) == "Cf" and c not in "\u00ad\ufeff\u200c\u200d" for c in marks):
            reasons.append(f"invisible or direction-changing characters in a {self.source}")
        if found := _INJECTION.search(plain):
            words = " ".join(found.group().split())[:60]
            reasons.append(f"words addressed to a model in a {self.source}: “{words}”")
        return tuple(reasons)


def fence(text: str, info: str = "") -> str:
    """``text`` in a Markdown fence longer than any run of backticks in it, so that it stays literal."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{info}\n{text}\n{ticks}"
