"""A run's tree as a still picture (SVG) and as plain text, from the state that the widget shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

from ..server.models import Standing

MOST = 80
"""Candidates in the picture; of a longer tree the first, and how many more there are."""
ROW, CHARACTER, MARGIN = 18, 7.3, 10
"""Pixels: the height of a row, the width of a character of the font, the margin."""
LINE = 110
"""Characters of a row."""
MARKS: dict[Standing, str] = {
    "chosen": "…", "proposed": "◌", "waiting": "?", "approved": "◔", "running": "▶", "finished": "◑", "good": "✓",
    "failed": "✕", "rejected": "⊘", "edited": "✎", "no program": "∅",
}  # fmt: skip
"""The marks of ``tree.js``."""


def words(state: Mapping[str, Any]) -> str:
    """The tree as plain text, a line each."""
    return "\n".join([_head(state), *_rows(state)])


def still(state: Mapping[str, Any]) -> str:
    """The tree as an SVG picture without script, link or font of its own. Colours do for both light and dark pages."""
    rows = [_head(state), *_rows(state)]
    width = round(max(map(len, rows)) * CHARACTER) + 2 * MARGIN
    height = len(rows) * ROW + 2 * MARGIN
    texts = "".join(
        f'<text x="{MARGIN}" y="{MARGIN + ROW * index + 13}" xml:space="preserve">{escape(_visible(row))}</text>'
        for index, row in enumerate(rows)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img"><title>{escape(_visible(rows[0]))}</title><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<g font-family="monospace" font-size="12" fill="#1f1f1f">{texts}</g></svg>'
    )


def _head(state: Mapping[str, Any]) -> str:
    nodes = state["nodes"]
    best = next((node for node in nodes if node["best"]), None)
    told = "" if best is None else f", best {best['id']}: {best['value_text']} ({best['source']})"
    return f"Run {state['run']}: {state['phase']}, {len(nodes)} candidate{'' if len(nodes) == 1 else 's'}{told}"


def _rows(state: Mapping[str, Any]) -> Iterator[str]:
    lines = list(_in_order(state["nodes"]))
    for node, depth in lines[:MOST]:
        number = f" {node['value_text']} ({node['source']})" if node["value_text"] else ""
        best = " ★ best" if node["best"] else ""
        mark = MARKS.get(node["standing"], "•")
        row = f"{'  ' * min(depth, 10)}{mark} {node['id']} {node['operator']}{number}{best}: {node['status_words']}"
        yield row if len(row) <= LINE else f"{row[: LINE - 1]}…"
    if len(lines) > MOST:
        yield f"… and {len(lines) - MOST:,} more"


def _in_order(nodes: list[Any]) -> Iterator[tuple[Any, int]]:
    """Depth first, as the page has them; without recursion, since a chain of fixes can be long."""
    known = {node["id"] for node in nodes}
    below: dict[str | None, list[Any]] = {}
    for node in nodes:
        below.setdefault(node["parent"] if node["parent"] in known else None, []).append(node)
    stack = [(node, 0) for node in reversed(below.get(None, []))]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        stack += [(child, depth + 1) for child in reversed(below.get(node["id"], []))]


def _visible(text: str) -> str:
    """Text as XML can hold it: control characters cannot stand in it."""
    return "".join(char if char >= " " and char not in "\x7f\ufffe\uffff" else "\ufffd" for char in text)
