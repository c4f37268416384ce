"""Characters that make a program look like another one: invisible ones, and letters that pass for others.

See Boucher and Anderson, "Trojan Source" (2021), and Unicode Technical Standard 39 for the confusable letters. Only
letters that are drawn like a Latin one are listed, so that ``Δt`` and a comment in Russian raise nothing.
"""

from __future__ import annotations

import builtins
import io
import keyword
import re
import tokenize
import unicodedata

from ..records import Flag
from ..untrusted import is_invisible

INVISIBLE, CONFUSABLE = "unicode-invisible", "unicode-confusable"

_LOOKALIKES = dict(
    zip(
        "асԁеցһіјкӏոорԛѕսхуԝАВЕԌЅІЈКМНОРСТУХԜԚ" + "ικνορυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "ɑɡı",
        "acdeghijklnopqsuxywABEGSIJKMHOPCTYXWQ" + "ikvopuxABEZHIKMNOPTYX" + "agi",
        strict=True,
    )
)
_OTHER_SCRIPTS = ("CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET")
# Drawn as nothing, or as a space that is none, though Unicode counts them as letters, marks or symbols.
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f")
_WORD = re.compile(r"[^\W\d_]{2,}")
_KNOWN = frozenset([*dir(builtins), *keyword.kwlist])
_MOST_LINES = 20


def suspicious(code: str) -> list[Flag]:
    """A flag for each line that holds such characters, in names, comments or strings. The code must parse."""
    if code.isascii() and not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", code.replace("\r\n", "\n")):
        return []
    found: list[Flag] = []
    names = _names(code)
    spelled = {name for on_line in names.values() for name in on_line if name.isascii()} | _KNOWN
    for number, line in enumerate(code.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), start=1):
        if hidden := _hidden(line):
            words = "Characters that cannot be seen, so that the line may not do what it seems to"
            found.append(
                Flag(
                    rule=INVISIBLE,
                    line=number,
                    message=f"{words}: {', '.join(hidden[:3])}",
                    severity="danger",
                )
            )
        if not line.isascii() and (alike := _alike(line, names.get(number, []), spelled)):
            found.append(
                Flag(
                    rule=CONFUSABLE,
                    line=number,
                    message=f"Letters that look like others: {'; '.join(alike[:3])}",
                    severity="danger",
                )
            )
    return found[:_MOST_LINES]


def _hidden(line: str) -> list[str]:
    hidden = [char for place, char in enumerate(line) if _is_hidden(line, place)]
    return [f"U+{ord(char):04X} {unicodedata.name(char, 'control character')}" for char in dict.fromkeys(hidden)]


def _is_hidden(line: str, place: int) -> bool:
    char = line[place]
    if char.isascii():
        return is_invisible(char)
    if "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        # One selector behind a symbol chooses how it is drawn; anything more can carry hidden text.
        return place == 0 or unicodedata.category(line[place - 1]) not in ("So", "Sm", "Po", "Nd")
    return is_invisible(char) or char in _BLANK


def _names(code: str) -> dict[int, list[str]]:
    """The names on each line as they are written; Python itself reads them in their NFKC form."""
    found: dict[int, list[str]] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(code.removeprefix("\ufeff")).readline):
            if token.type == tokenize.NAME:
                found.setdefault(token.start[0], []).append(token.string)
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def _alike(line: str, names: list[str], spelled: set[str] | frozenset[str]) -> list[str]:
    found = []
    for name in names:
        plain = unicodedata.normalize("NFKC", name)
        if plain != name and plain.isascii():
            found.append(f"“{name}” is read as “{plain}”")
        elif not name.isascii() and len(name) > 1 and (skeleton := _skeleton(name)) in spelled:
            found.append(f"“{name}” is not “{skeleton}”")
    for word in _WORD.findall(line):
        foreign = [char for char in word if not char.isascii() and _passes_for_latin(char)]
        if foreign and any(char.isascii() for char in word):
            which = ", ".join(unicodedata.name(char, "?").lower() for char in dict.fromkeys(foreign[:2]))
            found.append(f"“{word}” mixes alphabets ({which})")
    return list(dict.fromkeys(found))


def _passes_for_latin(char: str) -> bool:
    return char in _LOOKALIKES or unicodedata.name(char, "").startswith(_OTHER_SCRIPTS)


def _skeleton(word: str) -> str:
    return "".join(_LOOKALIKES.get(char, char) for char in word)
