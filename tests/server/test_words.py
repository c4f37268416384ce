"""Words for a page: names of people, and which way is better."""

from __future__ import annotations

import re
from pathlib import Path

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
        ("rmse, as asked", "lower is better (rmse, as asked)"),
        ("as asked", "lower is better (as asked)"),
        ("rmse, named in the goal", "lower is better (rmse, named in the goal)"),
    ],
)
def test_a_page_is_not_told_of_flags_of_the_command_line(source: str, said: str) -> None:
    task = r.Task(goal="g", metric="m", direction="minimize", direction_source=source)
    assert words.direction(task) == said


def test_an_error_names_the_fields_of_the_form_in_a_page() -> None:
    assert words.in_form("Give --metric (for example rmse), or --minimize or --maximize.") == (
        "Give “Metric” (for example rmse), or “lower is better” or “higher is better”."
    )
    assert words.in_form("--target: no table of the data has a column x.") == (
        "“Column to predict”: no table of the data has a column x."
    )
    assert words.in_form("--max-time cannot be 0.") == "“Time of the run” cannot be 0."


def test_the_fields_are_called_as_the_form_calls_them() -> None:
    panel = Path(__file__).parents[2] / "labextension" / "src" / "panel"
    form = "".join(path.read_text(encoding="utf-8") for path in panel.glob("*.tsx"))
    assert [name for name in words._FIELDS.values() if not re.search(rf"{name}(?: \([\w ]+\))?'", form)] == []


@pytest.mark.parametrize("text", ["Run jupyter aide resume RUN --max-tokens 5.", "a--metric", "--metrics", "--known"])
def test_commands_and_what_the_form_does_not_have_stay_as_they_are(text: str) -> None:
    assert words.in_form(text) == text
