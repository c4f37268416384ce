"""The server itself: its version, its errors, and whether programs are contained."""

from __future__ import annotations

from ...records import Model


class ErrorReply(Model):
    """Any answer that is no success. ``decided`` says who decided before (409)."""

    message: str
    advice: str = ""
    reason: str = ""


class Version(Model):
    """``GET version``. ``version`` is the package's; a page built for another one says so."""

    version: str


class CheckView(Model):
    """One thing that doctor looked at."""

    name: str
    ok: bool
    detail: str
    advice: str


class Doctor(Model):
    """``GET doctor`` (as last looked), ``POST doctor`` (looks again)."""

    ok: bool
    words: str
    at: str
    checks: tuple[CheckView, ...]
