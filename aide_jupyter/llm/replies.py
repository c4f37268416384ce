"""What is read from a model's reply: a plan with one program, or a review.

Models fence programs in many ways, forget to, answer in several blocks, or are cut off. What can be read without
guessing is read; anything else is a :class:`BadReply` that says what was wrong, so that one repair can be asked for.
Nothing here runs or changes code. A review holds no number and no direction: those never come from a model.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import warnings
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..errors import ModelError

PROGRAM_BYTES = 256_000
REPLY_CHARS = 1_000_000
PLAN_CHARS = 4_000
SUMMARY_CHARS = 2_000
_BLOCKS = 64
_CLOSERS = 8
_STARTS = 40

_METRIC = "Validation metric"
_OPEN = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^`]*)$")
_PYTHON = {"", "python", "python3", "py", "py3", "ipython", "ipython3"}
_THOUGHT = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>[ \t]*$", re.MULTILINE | re.IGNORECASE)
_START = re.compile(
    r"(?:import |from \S+ import |#|\"\"\"|'''|def |class |async |@\w|\w+ *=|if |for |with |try:|print\()"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_IMPORT = re.compile(r"(?:import \w[\w.]*|from [\w.]+ import )")
_MAGIC = re.compile(r"^\s*[%!]\S")
_FAILED = re.compile(r'"failed"\s*:\s*"?(true|false)', re.IGNORECASE)
_SUMMARY = re.compile(r'"summary"\s*:\s*"((?:[^"\\]|\\.)*)', re.DOTALL)


REVIEW_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "failed": {"type": "boolean"},
        "summary": {"type": "string"},
    },
    "required": ["failed", "summary"],
    "additionalProperties": False,
}
"""What a reviewer answers. The prompt says what its two parts mean, since not every form of asking carries this."""


class BadReply(ModelError):
    """A reply that holds no usable program or review. ``message`` is fit to be told to the model."""


@dataclass(frozen=True)
class Program:
    """What an author proposes. ``code`` is as the model wrote it; both are untrusted."""

    plan: str
    code: str


@dataclass(frozen=True)
class Review:
    """What a reviewer says of an execution. ``failed`` is None where it did not say; both are a model's claim."""

    failed: bool | None
    summary: str


@dataclass(frozen=True)
class _Block:
    start: int
    language: str
    code: str
    closed: bool
    tree: ast.Module | None
    problem: str


def parse_program(text: str, *, cut: bool = False) -> Program:
    """The plan and the program of a reply.

    Of several blocks that are Python, the last that is complete by itself and prints the metric is taken; where none
    is, they are parts of one program and are joined in order.

    Parameters
    ----------
    cut
        Whether the provider said that the reply was cut off by its length limit. A program whose fence was not
        closed is then refused even where what is left of it is valid Python.

    Raises
    ------
    BadReply
        There is no program, it is not Python, it is cut off, or it is over ``PROGRAM_BYTES``.
    """
    if len(text) > REPLY_CHARS:
        raise BadReply(f"it is over {REPLY_CHARS:,} characters long.")
    text = _without_thoughts(_valid_text(text))
    if not text.strip():
        raise BadReply("it was cut off by its length limit before the program." if cut else "it is empty.")
    lines = text.split("\n")
    found = _blocks(lines)
    if not found:
        return _unfenced(lines, cut)
    valid = _distinct([one for one in found if one.tree is not None and one.language in _PYTHON])
    if not valid:
        valid = _distinct([one for one in found if one.tree is not None and _does_something(one.tree)])
    if not valid:
        raise BadReply(_why_none(found, cut))
    code = _chosen([one for one in valid if one.closed or not cut])
    if cut and _METRIC not in code:
        raise BadReply("it was cut off by its length limit inside the program. Write a shorter one, complete.")
    plan = "\n".join(lines[: found[0].start]).strip() or _first_comment(code)
    return _checked(plan, code)


def parse_review(text: str, arguments: str | None = None) -> Review:
    """The review in a tool call's arguments, else in JSON in the text, else the text itself as a summary.

    JSON that was cut off is read as far as it goes. Extra fields are ignored.

    Raises
    ------
    BadReply
        There is neither a verdict nor a summary.
    """
    text = _without_thoughts(_valid_text(text[:REPLY_CHARS]))
    for source in (arguments, text):
        if source and (review := _json_review(_valid_text(source[:REPLY_CHARS]))) is not None:
            return review
    if not text.strip():
        raise BadReply("it holds no review.")
    return Review(None, text.strip()[:SUMMARY_CHARS])


def prose(text: str) -> str:
    """A reply that is read as words: without its reasoning and without what is not valid Unicode.

    Raises
    ------
    BadReply
        Nothing is left.
    """
    text = _without_thoughts(_valid_text(text[:REPLY_CHARS])).strip()
    if not text:
        raise BadReply("The model's reply is empty.")
    return text


def _valid_text(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text).replace("\r\n", "\n")


def _without_thoughts(text: str) -> str:
    """The reply without its reasoning. Some chat templates drop the opening tag and leave only the closing one."""
    text = _THOUGHT.sub("", text, count=1)
    ends = list(_THOUGHT_END.finditer(text))
    return text[ends[-1].end() :] if ends else text


def _parsed(code: str) -> tuple[ast.Module | None, str]:
    if len(code.encode("utf-8", "replace")) > PROGRAM_BYTES:
        return None, f"the program is over {PROGRAM_BYTES:,} bytes."
    if "\0" in code:
        return None, "the program holds a NUL character."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code), ""
    except SyntaxError as error:
        line = (code.split("\n")[error.lineno - 1 : error.lineno] or [""])[0] if error.lineno else ""
        if _MAGIC.match(line):
            return None, f"line {error.lineno} of the program is a notebook magic or shell escape, which is not Python."
        return None, f"the program is not valid Python: {error.msg}, line {error.lineno}."
    except (ValueError, RecursionError, MemoryError):
        return None, "the program is nested too deeply to be read."


def _blocks(lines: list[str]) -> list[_Block]:
    """The fenced blocks. Where code itself holds a fence, the block ends at the first closing that makes it Python."""
    found: list[_Block] = []
    at = 0
    while at < len(lines) and len(found) < _BLOCKS:
        opening = _OPEN.match(lines[at])
        if opening is None:
            at += 1
            continue
        block, at = _block(lines, at, opening)
        found.append(block)
    return found


def _block(lines: list[str], at: int, opening: re.Match[str]) -> tuple[_Block, int]:
    closing = re.compile(rf"^[ \t]*{re.escape(opening[1][0])}{{{len(opening[1])},}}[ \t]*$")
    ends = list(islice((number for number in range(at + 1, len(lines)) if closing.match(lines[number])), _CLOSERS))
    words = re.findall(r"[\w+-]+", opening[2].lower())
    language = words[0] if words else ""
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    first: _Block | None = None
    for end in ends or [len(lines)]:
        body = [line.removeprefix(indent) for line in lines[at + 1 : end]]
        code = "\n".join(body)
        tree, problem = _parsed(code)
        block = _Block(at, language, code, bool(ends), tree, problem)
        if tree is not None:
            return block, end + 1
        first = first or block
    assert first is not None
    return first, (ends[0] if ends else len(lines)) + 1


def _distinct(found: list[_Block]) -> list[_Block]:
    return list({one.code.strip(): one for one in found if one.tree is not None and one.tree.body}.values())


def _chosen(valid: list[_Block]) -> str:
    complete = [one for one in valid if _METRIC in one.code and not _undefined(one.tree)]
    if complete:
        return complete[-1].code
    return "\n\n".join(one.code for one in valid)


def _undefined(tree: ast.Module | None) -> set[str]:
    """Names that a program reads but binds nowhere; scopes are ignored, so a name bound anywhere counts as bound."""
    read: set[str] = set()
    bound = {*dir(builtins), "__file__"}
    for node in ast.walk(tree or ast.Module([], [])):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            if node.name == "*":
                return set()
            bound.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            bound.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.add(node.rest)
    return read - bound


def _does_something(tree: ast.Module) -> bool:
    """Whether it imports or calls anything: a word or a number alone is valid Python and no program."""
    return any(isinstance(node, (ast.Import, ast.ImportFrom, ast.Call)) for node in ast.walk(tree))


def _unfenced(lines: list[str], cut: bool) -> Program:
    """The program of a reply without fences: the first line from which all that follows is Python."""
    problem = ""
    starts = [number for number, line in enumerate(lines) if _START.match(line)][:_STARTS]
    for start in starts:
        code = "\n".join(lines[start:])
        tree, why = _parsed(code)
        if tree is not None and _does_something(tree) and not cut:
            return _checked("\n".join(lines[:start]).strip() or _first_comment(code), code)
        problem = problem or (why if _IMPORT.match(lines[start]) else "")
    if cut:
        raise BadReply("it was cut off by its length limit. Write a shorter program.")
    raise BadReply(problem or "it holds no Python program in a ```python block.")


def _why_none(found: list[_Block], cut: bool) -> str:
    last = max(found, key=lambda one: len(one.code))
    if cut or not last.closed:
        return "it was cut off inside the program. Write a shorter one, complete."
    return last.problem or "it holds no Python program in a ```python block."


def _first_comment(code: str) -> str:
    for line in code.split("\n"):
        if line.strip():
            return line.lstrip("#\"' ").rstrip("\"' ") if line.startswith(("#", '"""', "'''")) else ""
    return ""


def _checked(plan: str, code: str) -> Program:
    tree, problem = _parsed(code)
    if tree is None:
        raise BadReply(problem)
    return Program(plan[:PLAN_CHARS], code.strip("\n") + "\n")


def _json_review(text: str) -> Review | None:
    """The first JSON object in ``text`` that is a review, else what can be salvaged of one."""
    for brace in islice(re.finditer(r"\{", text), _BLOCKS):
        try:
            value: Any = json.JSONDecoder(strict=False).raw_decode(text, brace.start())[0]
        except (ValueError, RecursionError):
            continue
        failed, summary = value.get("failed"), value.get("summary")
        if isinstance(failed, str) and failed.lower() in ("true", "false"):
            failed = failed.lower() == "true"
        summary = summary.strip()[:SUMMARY_CHARS] if isinstance(summary, str) else ""
        if isinstance(failed, bool) or summary:
            return Review(failed if isinstance(failed, bool) else None, summary)
    return _salvaged(text)


def _salvaged(text: str) -> Review | None:
    """A review from JSON that is cut off or otherwise broken, if its verdict can still be read."""
    failed = _FAILED.search(text)
    if failed is None:
        return None
    found = _SUMMARY.search(text)
    summary = found[1] if found else ""
    try:
        summary = json.loads(f'"{summary}"', strict=False)
    except ValueError:
        summary = summary.replace('\\"', '"')
    return Review(failed[1].lower() == "true", summary.strip()[:SUMMARY_CHARS])
