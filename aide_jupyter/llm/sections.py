"""Takes a user message of :mod:`aide_jupyter.llm.prompts` apart again, whatever its fences hold.

A ``# Title`` line counts only outside fences, and everything that others wrote stands in fences or on one line.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_FENCE = re.compile(r"^(`{3,})([^`]*)$")
_DATA = re.compile(r"^<(DATA-[0-9a-f]{12})>\n(.*?)\n</\1>$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: its info string (``goal``, ``json``, ``python``, ``output``) and its text."""

    info: str
    text: str


def sections(user_text: str) -> dict[str, str]:
    """Title → body of each section, in order. A title that comes twice keeps its first body."""
    found: dict[str, str] = {}
    title: str | None = None
    body: list[str] = []
    for line, fenced in _lines(user_text):
        if not fenced and line.startswith("# "):
            if title is not None:
                found.setdefault(title, "\n".join(body).strip("\n"))
            title, body = line[2:].strip(), []
        else:
            body.append(line)
    if title is not None:
        found.setdefault(title, "\n".join(body).strip("\n"))
    return found


def blocks(section: str) -> list[Block]:
    """The fenced blocks of a section, in order; one that is never closed ends with the section."""
    found: list[Block] = []
    ticks, info = "", ""
    body: list[str] = []
    for line in section.split("\n"):
        fence = _FENCE.match(line)
        if not ticks and fence:
            ticks, info, body = fence[1], fence[2].strip(), []
        elif ticks and line.rstrip() == ticks:
            found.append(Block(info, "\n".join(body)))
            ticks = ""
        elif ticks:
            body.append(line)
    return [*found, Block(info, "\n".join(body))] if ticks else found


def block(section: str, info: str) -> str | None:
    """The text of the first block with this info string."""
    return next((one.text for one in blocks(section) if one.info == info), None)


def task_json(user_text: str) -> dict[str, Any]:
    """The task: ``goal``, ``direction``, and where set ``evaluation, metric, target, id, group, time,
    known_in_advance``."""
    section = sections(user_text).get("Task", "")
    task = _object(block(section, "json"))
    for name in ("goal", "evaluation"):
        if (text := block(section, name)) is not None:
            task[name] = text
    return task


def data_json(user_text: str) -> dict[str, Any] | None:
    """The data preview; None where the message has none. Long lists may be shortened (``left_out_of_prompt``)."""
    found = _DATA.search(sections(user_text).get("Data", ""))
    return None if found is None else _object(found[2])


def assignment_json(user_text: str) -> dict[str, Any]:
    """What is to be done: ``operator`` (draft, improve, debug, ensemble, review, report), ``candidate``, for an author
    ``step, steps, seed``, for a draft ``families_used`` and ``drafts_ahead`` where there are any, with a parent
    ``parent, parent_score``. An author that is no program is told neither ``operator``, ``candidate`` nor ``seed``."""
    return _object(block(sections(user_text).get("Assignment", ""), "json"))


def _lines(text: str) -> list[tuple[str, bool]]:
    """Each line, and whether it belongs to a fenced block."""
    found = []
    ticks = ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        found.append((line, bool(ticks) or fence is not None))
        if ticks:
            ticks = "" if line.rstrip() == ticks else ticks
        elif fence:
            ticks = fence[1]
    return found


def _object(text: str | None) -> dict[str, Any]:
    value = json.loads(text) if text else {}
    return value if isinstance(value, dict) else {}
