"""What a terminal would show of a text, as plain text: the one normalisation of all output.

Carriage returns and backspaces move back and are written over, as a progress bar does; colours and every other control
sequence are dropped. What is left holds no control character but the new line and the tab, and is valid Unicode.
"""

from __future__ import annotations

import re

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # cursor, colour
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # titles, links, device strings
    r"|\x1b[ -/]*[0-~]"
)
_MOVES = re.compile(r"([\r\b])")
_DROPPED = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)])
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def plain(text: str) -> str:
    """``text`` as a terminal would have left it on the page. Takes time in proportion to its length."""
    text = _SURROGATE.sub("\ufffd", text)
    if not _CONTROL.search(text):
        return text
    text = without_sequences(text.replace("\r\n", "\n"))
    if "\r" in text or "\b" in text:
        text = "\n".join(_written_over(line) for line in text.split("\n"))
    return text.translate(_DROPPED)


def without_sequences(text: str) -> str:
    """``text`` without colours and other control sequences; carriage returns stay."""
    return _SEQUENCE.sub("", text) if "\x1b" in text or "\x9b" in text or "\x9d" in text or "\x90" in text else text


def _written_over(line: str) -> str:
    if "\r" not in line and "\b" not in line:
        return line
    cells: list[str] = []
    cursor = 0
    for part in _MOVES.split(line):
        if part == "\r":
            cursor = 0
        elif part == "\b":
            cursor = max(0, cursor - 1)
        else:
            cells[cursor : cursor + len(part)] = part
            cursor += len(part)
    return "".join(cells)
