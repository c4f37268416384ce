"""Every error that this package raises on purpose: one base class; each says what happened and what to do.

``exit_code`` is what the command line ends with when the error reaches it.
"""

from __future__ import annotations


class AideError(Exception):
    """What went wrong, and what to do about it.

    Parameters
    ----------
    message
        What happened, naming the file, setting or record.
    advice
        What the person can do; shown on a line of its own.
    """

    exit_code = 1

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message, advice)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message}\n{self.advice}" if self.advice else self.message


class BadRequest(AideError):
    """What was asked for cannot be done as asked: a wrong option, a missing folder, an unknown metric."""

    exit_code = 2


class Refused(AideError):
    """The sandbox could not be proven to contain a program, so nothing was run."""

    exit_code = 97


class JournalError(AideError):
    """A record could not be written, or the journal is not what was anchored: the run stops."""


class AlteredError(JournalError):
    """The journal was changed after it was written; ``seq`` is the first bad record, None where the tail is missing."""

    def __init__(self, message: str, seq: int | None = None, advice: str = "") -> None:
        super().__init__(message, advice)
        self.seq = seq

    def __reduce__(self) -> tuple[type[AlteredError], tuple[str, int | None, str]]:
        return type(self), (self.message, self.seq, self.advice)


class OwnedElsewhere(AideError):
    """Another process holds the run's lock."""

    exit_code = 2


class ModelError(AideError):
    """A model call ended without a usable answer. The step fails; the run goes on."""


class ModelUnusable(ModelError):
    """No call to this model can succeed (wrong key, unknown model, unknown price): the run stops at once."""

    exit_code = 2


class BudgetSpent(AideError):
    """The next model call could exceed a budget, so it was not sent. ``what`` names the budget."""

    def __init__(self, what: str, limit: float, needed: float) -> None:
        super().__init__(
            f"The budget of {limit:g} {what} is reached: the next call could bring it to {needed:g}.",
            f"The run ends with it. Begin a new one with a larger budget ({what}).",
        )
        self.what, self.limit, self.needed = what, limit, needed

    def __reduce__(self) -> tuple[type[BudgetSpent], tuple[str, float, float]]:
        return type(self), (self.what, self.limit, self.needed)
