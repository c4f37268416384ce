"""What became of a candidate, in the words that a page and a terminal share."""

from __future__ import annotations

import pytest

from aide_jupyter.audit.words import become
from aide_jupyter.progress import outcome
from aide_jupyter.server.words import status
from aide_jupyter.state import Candidate, fold

from .builder import Story


@pytest.fixture
def story() -> Story:
    return Story(signed=False)


def node(story: Story) -> Candidate:
    return fold(story.records).candidates["c0001"]


def test_what_is_under_way_is_said_by_its_stage(story: Story) -> None:
    said = []
    for step in (story.propose, story.ask, story.decide, story.start, story.finish):
        step("c0001")
        said.append(become(node(story)))
    assert said == ["in review", "waits for a decision", "approved", "running", "ended, not graded yet"]


def test_what_ended_otherwise_says_how(story: Story) -> None:
    story.propose("c0001").decide("c0001").start("c0001").finish("c0001", "limit", limit="memory")
    assert become(node(story)) == "limit (memory)"
    refused = Story(signed=False).propose("c0001").ask("c0001").decide("c0001", "reject", "No.")
    assert become(node(refused)) == "rejected"


def test_a_graded_program_is_said_by_its_number_in_a_terminal_and_by_its_source_in_a_page(story: Story) -> None:
    ended = node(story.candidate("c0001", 0.25))
    assert become(ended) == ""
    assert outcome(ended) == "0.25 reported"
    assert status(ended) == "reported by the program itself"
    assert status(node(Story(signed=False).candidate("c0001", None))) == "no number"
