"""What a model, a program or a data set wrote stays literal text in the notebook: no markup, no link, no request."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from nbconvert import HTMLExporter

from aide_jupyter import records as r
from aide_jupyter.audit.notebook import render_notebook
from aide_jupyter.audit.words import block, lines, span, table
from aide_jupyter.untrusted import Untrusted
from tests.audit.builder import Story

PLAIN = {"paragraph", "inline", "text", "softbreak", "code_inline", "fence", "heading", "table", "thead", "tbody", "tr",
         "th", "td", "strong"}  # fmt: skip


def hostile(address: str) -> str:
    return "\n".join(
        [
            f"![x]({address}/plan.png)",
            f'<img src="{address}/tag.png" onerror="alert(1)">',
            f"[link]({address}/link)",
            f"<{address}/auto>",
            "</script><script>alert(1)</script>",
            "```",
            "````text",
            "# A heading of its own",
            "a | b",
            "--|--",
            "$$ \\href{javascript:alert(1)}{x} $$ and $y$ and \\[ z \\]",
            "$$",
            "\\begin{equation} q",
            "~~~",
            "<!-- ",
            "\x1b[31mred\x1b[0m \u202eright to left\u202c \u200b \ufeff \x00 \x85 \u2028 end",
            "<|im_start|>system",
            "===",
            "    indented",
            "[ref]: http://example.invalid/x",
        ]
    )


def everywhere(text: str) -> Story:
    """A run in which every field that may hold another's text holds ``text``."""
    name = text.replace("\x00", "")
    view = {"source": name, "left_out": [{"path": name, "why": "hidden"}], "left_out_count": 1}
    person = r.Actor(kind="user", name=name)
    settings_ = r.Settings(code=r.ModelChoice(model=name), feedback=r.ModelChoice(model=name))
    story = Story(
        goal=text, evaluation=text, metric=name, direction_source=text, target=name, known_columns=(name,), data=view,
        settings=settings_,
    )  # fmt: skip
    story.propose("c0001", "print(1)", plan=text, tainted=(text,), actor=r.Actor(kind="agent", name=name, model=name))
    story.ask("c0001", [r.Flag(rule=name, line=1, message=text, severity="danger")])
    story.decide("c0001", "approve", text, actor=person).start("c0001")
    files = (r.ProducedFile(path=name, bytes=1, sha256="a" * 64),)
    outputs: list[r.Output] = [
        r.StreamOutput(name="stdout", text=text),
        r.TextOutput(text=text),
        r.ErrorOutput(name=name, message=text, traceback=text),
    ]
    story.finish("c0001", "error", outputs, limit=name, files=files)
    story.add(r.Network(candidate="c0001", host=name, port=443, allowed=False))
    story.grade("c0001", None, text).review("c0001", text)
    story.propose("c0002", "", plan="", error=text)
    for candidate, decision in (("c0003", "reject"), ("c0004", "edit"), ("c0005", "approve")):
        story.propose(candidate, text).decide(candidate, decision)
    story.add(r.Changed.model_validate({"what": "hint", "from": None, "to": text}), person)
    return story.add(r.Paused(why=text)).close(text)


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_hostile_plan_causes_no_request_and_no_markup_in_html(listener: tuple[str, list[str]]) -> None:
    address, asked = listener
    story = everywhere(hostile(address))
    notebook = render_notebook(story.trail, story.blobs)
    nbformat.validate(notebook)
    page, _ = HTMLExporter(embed_images=True).from_notebook_node(nbformat.from_dict(notebook))
    soup = BeautifulSoup(page, "html.parser")
    body = soup.body
    assert body is not None
    for tag in body.find_all(["img", "iframe", "object", "embed", "form", "link", "video", "svg", "base"]):
        raise AssertionError(str(tag))
    for link in body.find_all("a"):
        assert str(link["href"]).startswith("#"), link
    assert not [script for script in body.find_all("script") if "alert(1)" in script.text]
    assert not [tag for tag in body.find_all(True) if any(name.startswith("on") for name in tag.attrs)]
    assert "plan.png" in body.text
    for heading in body.find_all(["h1", "h2", "h3", "h4"]):
        assert "of its own" not in heading.text
    for place in body.find_all(string=lambda text: address in text):
        assert place.find_parent(["pre", "code"]) is not None, place
    assert asked == []


def kinds(markdown: str) -> set[str]:
    found = set()
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        for one in [token, *(token.children or [])]:
            found.add(one.type.removesuffix("_open").removesuffix("_close"))
    return found


def test_in_commonmark_every_page_is_our_own_headings_tables_and_literal_text() -> None:
    story = everywhere(hostile("http://127.0.0.1:9"))
    for cell in render_notebook(story.trail, story.blobs)["cells"]:
        if cell["cell_type"] == "markdown":
            assert kinds(cell["source"]) <= PLAIN
            for token in MarkdownIt("commonmark").enable("table").parse(cell["source"]):
                if token.type == "inline" and not token.children:
                    assert "127.0.0.1" not in token.content


TEXT = st.text(st.characters(codec=None) | st.sampled_from("`|\\$<>[]()!#*_~\n\r\t \u202e\ud800"), max_size=60)


@settings(max_examples=150, deadline=None)
@given(TEXT)
def test_any_text_stays_literal(text: str) -> None:
    fenced = block(text, "test") + "\n\nend"
    tokens = MarkdownIt("commonmark").parse(fenced)
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content.rstrip("\n") == Untrusted(text, "test").render(20_000).rstrip("\n")
    assert kinds(lines([text, text], "test")) == {"fence"}
    row = MarkdownIt("commonmark").enable("table").parse(table(("a", "b"), [(span(text), "own")]))
    cells = [token for token in row if token.type == "inline"]
    assert len(cells) == 4 and cells[3].content == "own"
    name = Untrusted(text, "test").render(200, one_line=True).replace("|", "\\x7c").strip()
    shown = [(child.type, child.content) for child in cells[2].children or []]
    assert shown == [("code_inline", name) if name else ("text", "(empty)")]


def test_text_with_lone_surrogates_and_controls_is_shown_as_escapes() -> None:
    shown = block("a\ud800b\x1b[31m\u202e", "test")
    assert shown == "```text\na\\ud800b\\x1b[31m\\u202e\n```"
    shown.encode()


def test_long_lines_of_prose_are_broken_and_nothing_is_lost() -> None:
    text = "word " * 60 + "\n    indented " + "x" * 150
    shown = block(text, "test").split("\n")[1:-1]
    assert all(len(line) <= 100 or "x" * 150 in line for line in shown)
    assert " ".join(" ".join(shown).split()) == " ".join(text.split())
