"""What went wrong with a candidate, in a form that can be compared: has the same error come back?"""

from __future__ import annotations

import re

from ..records import ErrorOutput, Finished, text_sha256
from ..state import Candidate

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"(?<!\w)\d+(?:\.\d+)?(?:e[-+]?\d+)?")

NOT_ITS_FAULT = frozenset({"refused", "stopped", "unknown"})
"""Signatures of programs that were never seen to fail: the sandbox refused, a person stopped it, the server died."""


def signature(candidate: Candidate) -> str:
    """The error of a failed candidate without what changes from run to run.

    A timeout, a limit or a death is one by its kind. An exception is its name and its message, with addresses and
    numbers taken out (row counts and shapes differ while the mistake stays); quoted names stay, since
    ``KeyError: 'Price'`` and ``KeyError: 'Id'`` are two mistakes. A message too long to stand in the record is compared
    by its hash.
    """
    finished = candidate.finished
    if finished is None:
        return "no program"
    if finished.status != "ok":
        return _of_execution(finished)
    if candidate.value is None:
        return "no metric"
    return "reviewer"


def _of_execution(finished: Finished) -> str:
    if finished.status == "limit":
        return f"limit {finished.observed.limit}"
    if finished.status != "error":
        return finished.status
    errors = [output for output in finished.claimed.outputs if isinstance(output, ErrorOutput)]
    if not errors:
        return "error"
    last = errors[-1]
    message = last.message if isinstance(last.message, str) else text_sha256(last.message)
    return f"{last.name}: {_NUMBER.sub('#', _ADDRESS.sub('#', message))}"


def error_text(candidate: Candidate) -> str:
    """The error in a line, for a prompt: name and message where they stand in the record, else what kind it was."""
    finished = candidate.finished
    if candidate.error is not None:
        return candidate.error
    if finished is not None and finished.status == "error":
        for output in reversed(finished.claimed.outputs):
            if isinstance(output, ErrorOutput):
                return f"{output.name}: {output.message if isinstance(output.message, str) else '(a long message)'}"
    return signature(candidate)
