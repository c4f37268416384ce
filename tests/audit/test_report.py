"""The report: AIDE's sections with numbers from the journal, and models' words as literal claims."""

from __future__ import annotations

import itertools

from markdown_it import MarkdownIt

from aide_jupyter import records as r
from aide_jupyter.audit.report import MOST, report
from tests.audit.builder import Story

PROSE = (
    """# A report

Some opening words.

## Introduction
We predict prices.

## Preprocessing
Nothing to see. ![x](http://127.0.0.1:9/x.png)

## Modellind Methods
Ridge, ```then``` trees.

### Results Discussion
It reached 0.0001, which no record says.

```python
# Future work is not a heading here
```

## Future Work
<script>alert(1)</script> """
    + "More words. " * 20
)


def run() -> Story:
    story = Story(target="SalePrice", direction_source="the metric's name").candidate("c0001", 0.5)
    story.candidate("c0002", 0.25, parent="c0001", plan="Use trees.")
    story.propose("c0003", parent="c0002", operator="debug").spend("c0003", None).decide("c0003").start("c0003")
    error = r.ErrorOutput(name="KeyError", message="'Price'\nmore", traceback="t")
    story.finish("c0003", "error", [error], None).grade("c0003", None, "The program did not end well: error.")
    story.review("c0003", "It names a column that is not there.", failed=True)
    story.propose("c0004", "", plan="", error="The reply holds no program.")
    story.propose("c0005").ask("c0005").decide("c0005", "reject", "no")
    story.add(r.Limited(what="steps", limit=5, value=5))
    return story.close(best="c0002")


def headings(markdown: str) -> list[str]:
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    return [after.content for token, after in itertools.pairwise(tokens) if token.type == "heading_open"]


def test_it_has_the_sections_of_aides_report_and_its_numbers_come_from_the_journal() -> None:
    story = run()
    text = report(story.trail, story.blobs)
    assert headings(text) == [
        "Report of an aide-jupyter run",
        "Introduction",
        "Preprocessing",
        "Modelling methods",
        "Results and discussion",
        "Future work",
        "Decisions",
        "How to verify",
    ]
    for wanted in (
        "| c0002 | improve of c0001 | ok | 0.25 (reported) | 1.2 | 340 MB |",
        "| c0003 | debug of c0002 | error | no number | 1.2 | 340 MB |",
        "| c0005 | draft | rejected |",
        "The best candidate is c0002, with 0.25 (reported). It descends as: c0002 (improve) from c0001 (draft).",
        "Use trees.",
        "c0003  error: The program did not end well: error. [KeyError: 'Price']",
        "c0004  no program: The reply holds no program.",
        "1 call of unknown cost",
        "5 (2 good, 1 failed, 1 without a program, 1 rejected)",
        "| approved | `ada` (a person) | 3 |",
        "| rejected | `ada` (a person) | 1 |",
        "The best number is what the program itself printed",
        "15 of 20 steps were not used",
        "| Target column | `SalePrice` |",
        story.records[-1].hash,
    ):
        assert wanted in text, wanted


def test_the_models_sections_stand_under_ours_as_literal_claims() -> None:
    story = run()
    text = report(story.trail, story.blobs, PROSE)
    assert headings(text)[1:6] == [
        "Introduction",
        "Preprocessing",
        "Modelling methods",
        "Results and discussion",
        "Future work",
    ]
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = {child.type for token in tokens for child in (token, *(token.children or []))}
    assert not kinds & {"image", "link_open", "html_block", "html_inline", "code_block"}
    place = {}
    section = ""
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            section = tokens[index + 1].content
        if token.type == "fence":
            place.setdefault(section, []).append(token.content)
    for section, words in {
        "Introduction": "Some opening words.",
        "Preprocessing": "Nothing to see.",
        "Modelling methods": "Ridge, ```then``` trees.",
        "Results and discussion": "# Future work is not a heading here",
        "Future work": "<script>",
    }.items():
        assert any(words in fenced for fenced in place[section]), section
    assert all(len(line) <= 100 for fences in place.values() for fenced in fences for line in fenced.splitlines())
    assert "(a claim)" in text


def test_a_run_without_a_best_candidate_says_so() -> None:
    story = Story().propose("c0001", "", plan="", error="nothing")
    text = report(story.trail, story.blobs)
    assert "there is no best one" in text and "not closed as of" in text
    assert "No program was decided about." in text
    assert report(Story().trail, story.blobs)


def test_what_others_wrote_in_it_stays_literal() -> None:
    evil = "![x](http://127.0.0.1:9/x) <img src=x> | ``` $$\n# Heading"
    story = Story(goal=evil, metric=evil, direction_source=evil, target=evil)
    story.candidate("c0001", plan=evil).propose("c0002", "", plan="", error=evil)
    story.add(r.Limited(what=evil, limit=1, value=1)).close(evil)
    text = report(story.trail, story.blobs, evil)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = {child.type for token in tokens for child in (token, *(token.children or []))}
    assert not kinds & {"image", "link_open", "html_block", "html_inline"}
    assert "Heading" not in headings(text)


def test_of_a_long_run_the_best_and_the_last_are_listed() -> None:
    story = Story(signed=False)
    for number in range(1, MOST + 51):
        story.candidate(f"c{number:04d}", value=abs(number - 3) + 0.5)
    text = report(story.trail, story.blobs)
    assert "| c0003 |" in text and f"| c{MOST + 50:04d} |" in text
    assert "more candidates stand in the audit notebook" in text
    assert text.count("| draft |") <= MOST
