"""From what an execution gave to what a record may hold: secrets masked, long texts and pictures kept as blobs."""

from __future__ import annotations

from collections.abc import Callable

from . import records as r
from .audit.journal import Journal
from .audit.redact import Redactor
from .grading.metrics import MetricReader
from .sandbox.outcome import Execution, Picture, RawOutput
from .untrusted import Untrusted


class Recording:
    """Writes untrusted texts into a journal, masked."""

    def __init__(self, journal: Journal, redactor: Redactor) -> None:
        self._journal = journal
        self._redactor = redactor

    def masked(self, text: str) -> str:
        """``text`` without secrets."""
        return self._redactor.mask(text)[0]

    def text(self, text: str) -> r.Text:
        """``text`` as a record holds it."""
        return self._journal.text(self.masked(text))

    def words(self, text: str, limit: int = 2000) -> str:
        """A short text, fit to be shown as it stands."""
        return Untrusted(self.masked(text), "text").render(limit)

    def finished(
        self, candidate: str, execution: Execution, metric: MetricReader | None, purpose: r.Purpose
    ) -> r.Finished:
        """An execution as a record: what was observed, and what was claimed. The metric was read before masking."""
        outputs, masks = self.outputs(execution.outputs)
        claimed = r.Claimed(
            reply=execution.reply,
            metric=None if metric is None else metric.value,
            metric_text=None if metric is None or metric.text is None else self.words(metric.text, 80),
            outputs=outputs,
            truncated=execution.truncated,
            masks=masks,
        )
        return r.Finished(
            candidate=candidate,
            status=execution.status,
            observed=execution.observed,
            claimed=claimed,
            purpose=purpose,
        )

    def outputs(self, raw: tuple[RawOutput, ...] | list[RawOutput]) -> tuple[tuple[r.Output, ...], int]:
        """Outputs as records hold them, and how many secrets were masked in them."""
        masks = 0

        def kept(text: r.Text) -> r.Text:
            nonlocal masks
            masked, count = self._redactor.mask(str(text))
            masks += count
            return self._journal.text(masked)

        def output(one: RawOutput) -> r.Output:
            match one:
                case Picture(png=png):
                    return r.ImageOutput(png=self._journal.blob(png))
                case r.StreamOutput():
                    return r.StreamOutput(name=one.name, text=kept(one.text))
                case r.TextOutput():
                    return r.TextOutput(text=kept(one.text))
                case r.ErrorOutput():
                    message, traceback = kept(one.message), kept(one.traceback)
                    return r.ErrorOutput(name=self.words(one.name, 200), message=message, traceback=traceback)

        return tuple(output(one) for one in raw), masks


class LiveOutput:
    """Hands on running output as it comes, but for what may be the beginning of a secret that the next piece ends.

    Parameters
    ----------
    redactor
        Masks secrets, and knows how they begin.
    hand_on
        Called with (number of characters handed on before, text).
    """

    def __init__(self, redactor: Redactor, hand_on: Callable[[int, str], None]) -> None:
        self._redactor = redactor
        self._hand_on = hand_on
        self._kept = ""
        self._sent = 0

    def feed(self, offset: int, text: str) -> None:
        """The next piece; ``offset`` is the sandbox's own count, before masking."""
        self._kept += text
        self._send(len(self._kept) - self._redactor.held(self._kept))

    def end(self) -> None:
        """No more comes."""
        self._send(len(self._kept))

    def _send(self, cut: int) -> None:
        if cut:
            masked = self._redactor.mask(self._kept[:cut])[0]
            self._kept = self._kept[cut:]
            self._hand_on(self._sent, masked)
            self._sent += len(masked)
