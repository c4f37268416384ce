"""Words for a page: names of people, and which way is better."""

from __future__ import annotations

import pytest

from aide_jupyter import records as r
from aide_jupyter.server import words

ID = "b2b0610096b94d4187b86bf116f3ef9e"


def test_an_anonymous_user_is_told_with_a_short_form_of_the_id() -> None:
    drawn = r.Actor(kind="user", name=f"Anonymous Eirene ({ID})")
    assert words.who(drawn) == "Anonymous Eirene (b2b061…)"
    assert words.short(f"Anonymous Eirene ({ID}) asked for it") == "Anonymous Eirene (b2b061…) asked for it"


@pytest.mark.parametrize("name", ["Ada Lovelace (ada)", f"{ID}", f"Ada ({ID}0)", f"Ada ({ID.upper()})"])
def test_any_other_name_is_told_whole(name: str) -> None:
    assert words.who(r.Actor(kind="user", name=name)) == name


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("log_loss, named by --metric", "lower is better (log_loss, as asked)"),
        ("--minimize", "lower is better (as asked)"),
        (
            "--minimize; the table says that accuracy is maximized",
            "lower is better (as asked; the table says that accuracy is maximized)",
        ),
        ("rmse, named in the goal", "lower is better (rmse, named in the goal)"),
    ],
)
def test_a_page_is_not_told_of_flags_of_the_command_line(source: str, said: str) -> None:
    task = r.Task(goal="g", metric="m", direction="minimize", direction_source=source)
    assert words.direction(task) == said
