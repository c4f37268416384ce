"""Reading ``Validation metric: <number>`` out of a program's output, however long and however it arrives.

A program can print whatever it likes there, so what is read is a claim. It is read from the whole stream before
anything of it is masked or cut.
"""

from __future__ import annotations

import math
import re

_LABEL = re.compile(
    r"validation[ \t_-]{1,4}metric[ \t*]{0,4}(?:\([^():=\n\r]{1,40}\)[ \t*]{0,4})?[:=]", re.IGNORECASE | re.ASCII
)
_LABEL_LENGTH = 10 + 4 + 6 + 4 + 42 + 4 + 1
_REST_LENGTH = 200
_TEXT_LENGTH = 60
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|[()][0-9A-Z]|[=>78cDEHM])")
_ESCAPE_LENGTH = 40
_NUMBER = re.compile(
    r"""[\s*`'"\[({=]*                                         # Markdown, quotes and brackets before it
    (?:(?:np\.|numpy\.|torch\.)?(?:float|int|tensor|array)\d{0,3}\(\[?)?   # np.float64(0.5), tensor(0.5)
    (?P<number>[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)(?P<percent>\s?%)?
    (?=[)\]}"'*`.,;|]*(?:\s|$|±|\+/-))                          # and nothing that would make it another number
    """,
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)


class MetricReader:
    """Finds the last ``Validation metric:`` of one stream of text, in memory that does not grow with the stream.

    Any split of the stream into chunks gives the same answer. A carriage return ends a line as a new line does, so a
    progress bar hides nothing. Terminal colours are ignored. Streams that interleave (stdout, stderr) need a reader
    each, since a piece of one may fall into the middle of a line of the other.
    """

    def __init__(self) -> None:
        self._raw = ""
        self._tail = ""
        self._rest: str | None = None
        self._open = False

    def feed(self, text: str) -> None:
        """Read on. ``text`` may end anywhere: in the middle of a word, of a number, of a colour code."""
        raw = self._raw + text
        last = raw.rfind("\x1b", max(0, len(raw) - _ESCAPE_LENGTH))
        if last >= 0 and _ESCAPE.match(raw, last) is None:
            raw, self._raw = raw[:last], raw[last:]
        else:
            self._raw = ""
        self._read(raw)

    def _read(self, raw: str) -> None:
        new = _ESCAPE.sub("", raw).replace("\x1b", "") if "\x1b" in raw else raw
        text = self._tail + new
        # The search is eight times slower than this test, and most output has no label.
        labels = list(_LABEL.finditer(text)) if "validation" in text.lower() else []
        if labels:
            self._rest, self._open = "", True
            text = new = text[labels[-1].end() :]
        if self._open and self._rest is not None:
            line = re.split(r"[\n\r]", new, maxsplit=1)
            self._rest = (self._rest + line[0])[:_REST_LENGTH]
            self._open = len(line) == 1 and len(self._rest) < _REST_LENGTH
        self._tail = text[-_LABEL_LENGTH:]

    def _final_rest(self) -> str | None:
        if not self._raw:
            return self._rest
        copy = MetricReader()
        copy._tail, copy._rest, copy._open = self._tail, self._rest, self._open
        copy._read(self._raw)
        return copy._rest

    @property
    def text(self) -> str | None:
        """What stands behind the last label, at most 60 characters of it; None where there is no label.

        It is the program's text: mask it before it is stored.
        """
        rest = self._final_rest()
        return None if rest is None else rest.strip()[:_TEXT_LENGTH]

    @property
    def value(self) -> float | None:
        """The last number; None where no label was printed or what stands there is not a finite number.

        ``93.1%`` is 0.931. Thousands separators and decimal commas are no numbers: ``1,234`` must not become 1.
        """
        rest = self._final_rest()
        if rest is None:
            return None
        if len(rest) == _REST_LENGTH:
            rest = rest[: -len(rest.split()[-1])] if rest.split() else ""
        found = _NUMBER.match(rest.replace("\N{MINUS SIGN}", "-"))
        if found is None:
            return None
        try:
            value = float(found["number"])
        except ValueError:
            return None
        value = value / 100 if found["percent"] else value
        return value if math.isfinite(value) else None
