"""Output as it comes: read to the last byte, kept in bounded size.

The whole of both streams passes through here, in pieces: to ``on_text`` (a reader of the metric) in whole lines, to
``on_output`` (a live view) at once. What is kept for the record is the beginning and the end.
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable, Iterable
from itertools import groupby

from ..records import ErrorOutput, StreamOutput, TextOutput
from .messages import Failure, Shown
from .outcome import Picture, RawOutput
from .pictures import written_anew
from .terminal import plain, without_sequences

KEPT_CHARS = 256 << 10
"""Characters of text kept from the beginning, and as many from the end."""
PICTURES = 20
PICTURE_BYTES = 8 << 20
"""The most pictures that one program may leave, and their bytes in all."""
_DISPLAYS = 200
_LINE_CHARS = 64 << 10
_PIECE_CHARS = 4 << 10
_SHORT_CHARS = 64 << 10
"""Characters kept of one displayed value, and of an exception's message and traceback."""

OnOutput = Callable[[int, str], None]
"""Called with the number of characters that came before, and the new ones."""
OnText = Callable[[str], object]
"""Called with the whole output, in order, a piece at a time, each ending at the end of a line."""


class Capture:
    """The output of one cell.

    Parameters
    ----------
    on_output, on_text
        Who hears of it while it comes. Lines of the two streams never mix in what ``on_text`` gets; a carriage
        return counts there as the end of a line. A line of more than 64 k characters is passed on in parts.
    """

    def __init__(self, on_output: OnOutput | None = None, on_text: OnText | None = None) -> None:
        self._on_output = on_output
        self._on_text = on_text
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        self._unfinished = {"stdout": "", "stderr": ""}
        self._head: list[_Item] = []
        self._between: list[_Item] = []
        self._tail: deque[_Item] = deque()
        self._room = KEPT_CHARS
        self._tail_chars = 0
        self._cut = 0
        self._displays = 0
        self._displayed_chars = 0
        self._pictures = 0
        self._picture_bytes = 0
        self.chars = 0
        """Characters that came."""
        self._failure: Failure | None = None
        self.truncated = 0
        """Bytes of output that were not kept."""

    def feed(self, name: str, data: bytes) -> None:
        """Take the next bytes of a stream."""
        self._text(name, self._decoders[name].decode(data))

    def show(self, shown: Shown) -> None:
        """Take a displayed value. One over the limits is counted as left out."""
        text, size = _shortened(shown.text), len(shown.png or b"")
        pictures = shown.png is not None
        if (
            self._displays >= _DISPLAYS
            or self._displayed_chars + len(text) > KEPT_CHARS
            or (pictures and (self._pictures >= PICTURES or self._picture_bytes + size > PICTURE_BYTES))
        ):
            self.truncated += size + len(shown.text)
            return
        self._displays += 1
        self._displayed_chars += len(text)
        self._pictures += pictures
        self._picture_bytes += size
        (self._head if self._room else self._tail).append(Shown(text, shown.png))

    def fail(self, failure: Failure) -> None:
        """Take the exception that ended the cell."""
        self._failure = failure

    def close(self) -> None:
        """The streams are at their end: pass on what stood in an unfinished line."""
        for name, decoder in self._decoders.items():
            self._text(name, decoder.decode(b"", final=True))
            if self._on_text is not None and self._unfinished[name]:
                self._on_text(without_sequences(self._unfinished[name]) + "\n")
                self._unfinished[name] = ""

    def outputs(self) -> list[RawOutput]:
        """What was kept, normalised: the beginning, a line that says what is missing, the end. Decodes pictures."""
        items = _finished(self._head)
        if self._cut:
            items.append(StreamOutput(name="stdout", text=f"\n[{self._cut} bytes of output were not kept]\n"))
        items += _finished(self._between) + _finished(self._tail)
        if self._failure is not None:
            message, traceback = (_shortened(text) for text in (self._failure.message, self._failure.traceback))
            items.append(ErrorOutput(name=self._failure.name, message=message, traceback=traceback))
        return items

    def _text(self, name: str, text: str) -> None:
        if not text:
            return
        if self._on_output is not None:
            self._on_output(self.chars, text)
        self.chars += len(text)
        if self._on_text is not None:
            self._pass_on(name, text)
        head, rest = text[: self._room], text[self._room :]
        if head:
            self._room -= len(head)
            _append(self._head, name, head)
        if rest:
            self._tail_chars += len(rest)
            _append(self._tail, name, rest)
            self._trim()

    def _pass_on(self, name: str, text: str) -> None:
        text = self._unfinished[name] + text.replace("\r", "\n")
        end = text.rfind("\n") + 1 or (len(text) if len(text) > _LINE_CHARS else 0)
        self._unfinished[name] = text[end:]
        if end and self._on_text is not None:
            self._on_text(without_sequences(text[:end]))

    def _trim(self) -> None:
        while self._tail:
            first = self._tail[0]
            if isinstance(first, Shown):
                self._between.append(first)
            elif self._tail_chars - len(first[1]) >= KEPT_CHARS:
                left_out = len(first[1].encode("utf-8", "replace"))
                self._cut += left_out
                self.truncated += left_out
                self._tail_chars -= len(first[1])
            else:
                return
            self._tail.popleft()


_Item = tuple[str, str] | Shown


def _append(items: list[_Item] | deque[_Item], name: str, text: str) -> None:
    """Join small pieces, so that a program that writes byte by byte costs no more than one that does not."""
    last = items[-1] if items else None
    if isinstance(last, tuple) and last[0] == name and len(last[1]) < _PIECE_CHARS:
        items[-1] = (name, last[1] + text)
    else:
        items.append((name, text))


def _finished(items: Iterable[_Item]) -> list[RawOutput]:
    finished: list[RawOutput] = []
    for is_stream, group in groupby(items, key=lambda item: item[0] if isinstance(item, tuple) else None):
        if is_stream is None:
            for item in group:
                finished += _displayed(item) if isinstance(item, Shown) else []
        elif text := plain("".join(item[1] for item in group if isinstance(item, tuple))):
            finished.append(StreamOutput(name="stderr" if is_stream == "stderr" else "stdout", text=text))
    return finished


def _displayed(shown: Shown) -> list[RawOutput]:
    """A picture where there is one that can be kept, else the text that stands for it."""
    if shown.png is not None:
        png = written_anew(shown.png)
        return [Picture(png) if png else TextOutput(text=f"[a picture of {len(shown.png)} bytes was not kept]")]
    return [TextOutput(text=shown.text)]


def _shortened(text: str) -> str:
    if len(text) <= _SHORT_CHARS:
        return text
    half = _SHORT_CHARS // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters were not kept]\n{text[-half:]}"
